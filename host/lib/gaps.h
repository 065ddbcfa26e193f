/* SPDX-License-Identifier: GPL-2.0 */
/*
 * gaps.h - private to lib/: switches of tasks that the reader makes where a machine stands still,
 * so that programs which add up how long tasks ran do not count the pause.
 */
#ifndef XVT_LIB_GAPS_H
#define XVT_LIB_GAPS_H

#include "decode/decode.h"
#include "lib/states.h"

/* Longest record of a switch that is kept. */
#define XVT_GAP_RECORD 256u
/* Name of the task that runs in a gap; its number is 0. */
#define XVT_GAP_COMM   "paused"

/* The last switch of a ring. */
struct xvt_gap_ring {
	struct xvt_event_hdr hdr;
	struct xvt_event_class *class;
	bool out; /* a made switch from its task was the last one */
	uint8_t record[XVT_GAP_RECORD];
};

struct xvt_gaps {
	struct xvt_gap_ring **rings; /* by number; NULL: no switch of it was seen */
	uint32_t count;
	bool active; /* the rings from `at` on may get a switch */
	bool out;    /* away from the task; else back to it */
	uint32_t at;
	uint32_t machine;
	uint64_t ns;
	struct xvt_event_hdr hdr; /* of the one that is given */
	uint8_t record[XVT_GAP_RECORD];
};

/* Returns 0 or -ENOMEM. */
int xvt_gaps_init(struct xvt_gaps *g, uint32_t rings);
void xvt_gaps_fini(struct xvt_gaps *g);

/* Learn from an event of that ring, if it is a switch. Returns 0 or -ENOMEM. */
int xvt_gaps_learn(struct xvt_gaps *g, uint32_t ring, struct xvt_event_class *c,
		   const struct xvt_event *ev);
/* A state was passed: it may begin or end a gap. */
void xvt_gaps_state(struct xvt_gaps *g, const struct xvt_state *state);
/* Make the next switch. Returns its class; NULL: there is none, and the gap is no more active. */
struct xvt_event_class *xvt_gaps_next(struct xvt_gaps *g, struct xvt_trace *t,
				      struct xvt_event *ev);

#endif /* XVT_LIB_GAPS_H */
