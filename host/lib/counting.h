/* SPDX-License-Identifier: GPL-2.0 */
/* counting.h - private to lib/: the events and notes of a trace, counted for its statistics. */
#ifndef XVT_LIB_COUNTING_H
#define XVT_LIB_COUNTING_H

#include "lib/parts.h"

/* Events whose order is checked: those of the main lane, or a ring's in LOOSE chunks. */
struct xvt_counting_order {
	bool any;
	uint64_t first_ns; /* of the first; UINT64_MAX: the order begins anew before it */
	uint64_t last_ns;  /* of the newest; 0: the order begins anew behind it */
};

/*
 * The first events of a ring's lane in a part of the trace. Their new times depend on the events
 * before the part, so they are counted when those were. `behind`: where the lane is behind them, if
 * they are XVT_COUNTING_HELD, as far as the part knows.
 */
#define XVT_COUNTING_HELD 8u
struct xvt_counting_held {
	uint32_t count;
	struct xvt_event_hdr first[XVT_COUNTING_HELD];
	struct xvt_reclock_place behind;
};

struct xvt_counting_ring {
	struct xvtrace_ring_stat pub;
	struct xvt_lost recorded; /* sums of the LOST records */
	uint64_t bound_ns_max;	  /* largest bound of an event */
	uint64_t guess_ns_max;	  /* the same of unconfirmed events */
	uint64_t run;		  /* number of the last events whose bound is run_ns */
	uint64_t run_ns;
	struct xvt_counting_order loose;
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
	struct xvt_counting_order main;
	size_t file;			     /* of a set: that of the last events */
	bool is_anew;			     /* the order began anew with a file */
	struct xvt_counting_held (*held)[2]; /* by ring: not late, late; NULL: none is held */
	struct xvt_events_iter it;
	struct xvt_trace_raws raws;
};

/* Make tables of zeros for the trace's rings and machines. Returns 0 or -ENOMEM. */
int xvt_counting_init(struct xvt_counting *c, const struct xvtrace *trace);
/* Free what the counting alone needed. */
void xvt_counting_close(struct xvt_counting *c);
void xvt_counting_fini(struct xvt_counting *c);

/* Read what the counting needs beside the bounds, which are there. Of the flags, XVTRACE_RECLOCK
 * counts. Returns 0, -ENOMEM or a read error. */
int xvt_counting_begin(struct xvt_counting *c, unsigned int flags);

/* Count the chunks of these types (bits 1u << XVT_CHUNK_*) with begin <= number < end. Returns 0,
 * -ENOMEM or a read error. */
#define XVT_COUNTING_EVENTS (1u << XVT_CHUNK_ORDER | 1u << XVT_CHUNK_LATE | 1u << XVT_CHUNK_LOOSE)
#define XVT_COUNTING_NOTES  (1u << XVT_CHUNK_NOTE)
int xvt_counting_walk(struct xvt_counting *c, uint32_t types, size_t begin, size_t end);

/* After xvt_counting_begin(): events of a part of the trace will be counted, those of the chunks
 * from `begin` on. Returns 0 or -ENOMEM. */
int xvt_counting_is_part(struct xvt_counting *c, size_t begin);

/*
 * Add what the next part counted, which then is of no further use. Returns 0; -EAGAIN: the new
 * times of events of that part are others than it could know, and what was added is of no use; or
 * -ENOMEM.
 */
int xvt_counting_add(struct xvt_counting *c, const struct xvt_counting *next);

/* -- by several threads, counting_parts.c --------------------------------------------- */

/* Events of a part, at least. Tests make it smaller. */
extern uint64_t xvt_counting_part_events;

/*
 * Count all of the trace in parts, each in a thread; `bounds` are there. Returns 1; 0: nothing was
 * counted, and it has to be done without parts, since the trace is small or damaged, or the parts
 * may not give what one reader gives; or -ENOMEM or a read error.
 */
int xvt_counting_by_parts(struct xvt_counting *c, unsigned int flags, struct xvtrace *trace,
			  const struct xvtrace_threads *threads);

/* Add numbers that are spread. Returns 0 or -ENOMEM. */
int xvt_counting_add_spread(struct xvt_spread *to, const struct xvt_spread *of);

/* The number in the file of a ring's machine; machine_count: it has none. */
static inline uint32_t xvt_counting_machine(const struct xvt_counting *c, uint32_t ring)
{
	const uint32_t vm = xvt_ring_vm(c->t, ring);

	return vm < c->machine_count ? vm : c->machine_count;
}

#endif /* XVT_LIB_COUNTING_H */
