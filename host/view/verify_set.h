/* SPDX-License-Identifier: GPL-2.0 */
/* verify_set.h - checks the border between two files of a set: no event in both, none missing. */
#ifndef XVT_VERIFY_SET_H
#define XVT_VERIFY_SET_H

#include "trace/read.h"

/* A ring at the end of a file. */
struct xvt_set_ring {
	uint64_t events; /* of it in all files so far: delivered, dropped, overwritten */
	uint64_t doubt;	 /* by so many the next file may begin earlier or later */
	bool has_stats;
};

/* What the next file is compared with. Zeros: there was no file yet. */
struct xvt_set_end {
	bool any;
	bool exact; /* it has an end, and no damage: `rings` holds */
	uint8_t set[16];
	uint32_t number;
	uint64_t last_ns; /* of the main lane */
	struct xvt_set_ring *rings;
	uint32_t ring_count;
};

/* Replaces *end by that of this file. Returns 0, -ENOMEM or a read error. */
int xvt_set_end_take(struct xvt_set_end *end, struct xvt_trace *t);
void xvt_set_end_fini(struct xvt_set_end *end);

/*
 * Compares the begin of a file with the end of the file before it. Calls `line` with a text for
 * each violation, at most XVT_BORDER_LINES times. Returns their number. *checked: the two are files
 * of one recording, one behind the other, and the events of their rings were compared.
 */
#define XVT_BORDER_LINES 16u
uint64_t xvt_verify_border(const struct xvt_set_end *end, const struct xvt_trace *t, bool *checked,
			   void (*line)(void *arg, const char *text), void *arg);

#endif /* XVT_VERIFY_SET_H */
