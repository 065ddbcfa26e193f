/* SPDX-License-Identifier: GPL-2.0 */
/*
 * bound.h - how far an event's time may be off, from the clock nodes of its ring. Memory: 48 bytes
 * a node.
 */
#ifndef XVT_BOUND_H
#define XVT_BOUND_H

#include "trace/read.h"
#include "view/looks.h"

/* The nodes of one ring, in order of time. */
struct xvt_bound_ring {
	struct xvt_clock_node *nodes;
	size_t node_count;
	size_t node_room;
	uint32_t epochs;
	uint32_t source;		 /* of the newest node that a clock source made; 0: none */
	uint64_t slack_ns;		 /* of a stamp, in each bound */
	uint64_t segment_ns_max;	 /* largest bound of a segment between two nodes */
	struct xvt_bounding_looks looks; /* of times that no segment bounds */
	/* The segment that xvt_bound_by_time_ns() used last, within one epoch, and its bound. */
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

/* Read all NODE and LOOKS chunks of the trace, and its STATS. Returns 0, -ENOMEM or a read error.
 */
int xvt_bounds_new(struct xvt_bounds **out, struct xvt_trace *t);
void xvt_bounds_free(struct xvt_bounds *b);

/*
 * The error bound of one event's time in ns; XVT_NO_BOUND: there is none. The result is the bound
 * of the segment whose line gives the time; else the distance to the far end of what the drain
 * proves; else nothing is known. Fast if the events of a ring come about in order of time.
 */
uint64_t xvt_bound_ns(struct xvt_bounds *b, const struct xvt_event_hdr *h);
/* The same without the check that the event's clock value leads to its time. */
uint64_t xvt_bound_by_time_ns(struct xvt_bounds *b, const struct xvt_event_hdr *h);

/* Times of a ring whose bound is one segment's, or that of a ring without nodes, and no look's. */
struct xvt_bound_span {
	uint64_t from_ns;
	uint64_t until_ns;		  /* first time behind it */
	const struct xvt_clock_node *end; /* of the segment, which begins at end[-1]; or NULL */
	uint64_t bound_ns;
};

/* Get the span around a time. Returns false where it is not simple like that. */
bool xvt_bound_span_at(struct xvt_bounds *b, uint32_t ring, uint64_t ns,
		       struct xvt_bound_span *span);

/* Returns whether the event may be one to which no line gives its time. */
static inline bool xvt_bound_is_beside(struct xvt_bounds *b, const struct xvt_event_hdr *h)
{
	const uint32_t ring = h->ring_flags & XVT_EVENT_RING_MASK;
	struct xvt_look_span span;

	return ring < b->ring_count &&
	       xvt_look_list_find(xvt_bounding_looks_of(&b->rings[ring].looks, h->ring_flags),
				  h->host_ns, &span) &&
	       span.flags & XVT_LOOK_F_BESIDE;
}

#endif /* XVT_BOUND_H */
