/* SPDX-License-Identifier: GPL-2.0 */
/* counting.h - private to lib/: the events and notes of a trace, counted for its statistics. */
#ifndef XVT_LIB_COUNTING_H
#define XVT_LIB_COUNTING_H

#include "lib/parts.h"

struct xvt_counting_ring {
	struct xvtrace_ring_stat pub;
	struct xvt_lost recorded; /* sums of the LOST records */
	uint64_t bound_ns_max;	  /* largest bound of an event */
	uint64_t guess_ns_max;	  /* the same of unconfirmed events */
	uint64_t run;		  /* number of the last events whose bound is run_ns */
	uint64_t run_ns;
	uint64_t last_loose_ns; /* time of the newest event in a LOOSE chunk */
};

struct xvt_counting {
	const struct xvtrace *trace;
	struct xvt_trace *t;
	uint32_t ring_count;
	uint32_t machine_count;
	struct xvt_bounds *bounds;
	struct xvt_reclock *reclock;	 /* with XVTRACE_RECLOCK, else NULL */
	struct xvt_counting_ring *rings; /* by ring; the last is for events of unknown rings */
	struct xvtrace_machine_stat *machines; /* by their numbers in the file; likewise */
	struct xvt_spread *spreads;	       /* of the events' bounds, by machine */
	bool *paused;			       /* by machine: by the notes so far */
	uint64_t nameless;
	uint64_t order_violations;
	uint64_t notes[3]; /* see struct xvtrace_stat */
	struct xvt_decoders ds;
	uint64_t last_main_ns;
	size_t part; /* of a set: the file of the last events */
	struct xvt_events_iter it;
	struct xvt_trace_raws raws;
};

/* Make tables of zeros for the trace's rings and machines. Returns 0 or -ENOMEM. */
int xvt_counting_init(struct xvt_counting *c, const struct xvtrace *trace);
/* Free what the counting alone needed. */
void xvt_counting_close(struct xvt_counting *c);
void xvt_counting_fini(struct xvt_counting *c);

/* Count all. `bounds` are there. Of the flags, XVTRACE_RECLOCK counts. Returns 0, -ENOMEM or a read
 * error. */
int xvt_counting_all(struct xvt_counting *c, unsigned int flags);

/* The number in the file of a ring's machine; machine_count: it has none. */
static inline uint32_t xvt_counting_machine(const struct xvt_counting *c, uint32_t ring)
{
	const uint32_t vm = xvt_ring_vm(c->t, ring);

	return vm < c->machine_count ? vm : c->machine_count;
}

#endif /* XVT_LIB_COUNTING_H */
