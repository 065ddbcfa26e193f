/* SPDX-License-Identifier: GPL-2.0 */
/*
 * merge.h - many rings, one order: (host time, VM, ring, position). Emits exactly what lies
 * below the smallest bound of all rings, so the output is a function of the ring data and of
 * the recorded clock nodes, never of when anybody looked.
 */
#ifndef XVT_MERGE_H
#define XVT_MERGE_H

#include "ring.h"

struct xvt_merge {
	struct xvt_ring **heap;
	size_t count;
	size_t room;
	uint64_t last_ns;   /* of the newest event in the main lane */
	uint64_t limit_ns;  /* nothing of a later time goes out, whoever claims it: the present */
	uint64_t watermark; /* everything below is out */
	uint64_t emitted;
	uint64_t late;
};

/* Takes an event; returns 0 or -errno, which ends the pass. */
typedef int (*xvt_emit_fn)(void *arg, const struct xvt_event_hdr *hdr, const void *payload,
			   struct xvt_ring *ring);

void xvt_merge_init(struct xvt_merge *m);
void xvt_merge_fini(struct xvt_merge *m);

/* Emit all that may go out now. Returns how many records, or -errno. */
int64_t xvt_merge_pass(struct xvt_merge *m, struct xvt_ring *const *rings, size_t count,
		       xvt_emit_fn emit, void *arg);

#endif /* XVT_MERGE_H */
