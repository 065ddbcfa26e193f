/* SPDX-License-Identifier: GPL-2.0 */
/*
 * bound.h - how far an event's time may be off, from the clock nodes of its ring. Memory: 48 bytes
 * a node.
 */
#ifndef XVT_BOUND_H
#define XVT_BOUND_H

#include "trace/read.h"

/* The nodes of one ring, in order of time. */
struct xvt_bound_ring {
	struct xvt_clock_node *nodes;
	size_t node_count;
	size_t node_room;
	uint32_t epochs;
	uint32_t source;	 /* of the newest node that a clock source made; 0: none */
	uint64_t segment_ns_max; /* largest bound of a segment between two nodes */
	/* The segment that xvt_bound_beyond_ns() used last, within one epoch, and its bound. */
	uint64_t from_ns, until_ns, until_bound_ns;
	size_t at; /* number of nodes at or before the last time that was looked up */
	struct xvt_ring_stats last; /* newest STATS; zeros if there are none */
	/* Of a set of files: the last STATS of the files before `part`. */
	struct xvt_ring_stats before;
	size_t part;
	bool has_stats;
};

struct xvt_bounds {
	uint32_t ring_count;
	struct xvt_bound_ring rings[];
};

/* Read all NODE chunks of the trace, and its STATS. Returns 0, -ENOMEM or a read error. */
int xvt_bounds_new(struct xvt_bounds **out, struct xvt_trace *t);
void xvt_bounds_free(struct xvt_bounds *b);

/* What is to be added, in ns, to a segment's bound for a confirmed event at that time: 0 between
 * two nodes of one epoch, else the creep of a clock since the nearest node. */
uint64_t xvt_bound_beyond_ns(struct xvt_bound_ring *r, uint64_t ns);

/*
 * The same for an unconfirmed time, which was extrapolated from an older node. If later nodes
 * enclose its clock value, the error is known; else it is the creep from the nearest node.
 */
uint64_t xvt_bound_guess_ns(struct xvt_bound_ring *r, const struct xvt_event_hdr *h);

/* The error bound of one event's time in ns; XVT_NO_BOUND: there is none. Fast if the events of a
 * ring come about in order of time. */
uint64_t xvt_bound_ns(struct xvt_bounds *b, const struct xvt_event_hdr *h);

#endif /* XVT_BOUND_H */
