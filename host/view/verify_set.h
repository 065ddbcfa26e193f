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

/* State of the file before, with which the next one is compared. Zeros: there was no file yet. */
struct xvt_set_end {
	bool any;
	bool exact; /* that file has an end, and no damage: `rings` holds */
	uint8_t set[16];
	uint32_t number;
	uint64_t last_ns; /* of the main lane */
	struct xvt_set_ring *rings;
	uint32_t ring_count;
	struct xvt_timebase *lines; /* of the host's clock */
	size_t line_count;
	struct xvt_clock_node *nodes; /* by ring, epoch and guest's clock */
	size_t node_count;
	size_t node_room;
};

/* Replaces *end by that of this file. Returns 0, -ENOMEM or a read error. */
int xvt_set_end_take(struct xvt_set_end *end, struct xvt_trace *t);
void xvt_set_end_fini(struct xvt_set_end *end);

/*
 * Compares the begin of a file with the end of the file before it: counts of events, order, the
 * host's clock, and the nodes of the rings' clocks that are in both. Calls `line` with a text for
 * each violation, at most XVT_BORDER_LINES times. *count: their number. *checked: the two are files
 * of one recording, one behind the other, and the events of their rings were compared. Returns 0,
 * -ENOMEM or a read error.
 */
#define XVT_BORDER_LINES 16u
int xvt_verify_border(const struct xvt_set_end *end, struct xvt_trace *t, bool *checked,
		      uint64_t *count, void (*line)(void *arg, const char *text), void *arg);

#endif /* XVT_VERIFY_SET_H */
