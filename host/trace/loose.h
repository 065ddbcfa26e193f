/* SPDX-License-Identifier: GPL-2.0 */
/*
 * loose.h - the events of a trace's LOOSE chunks in order of time. A recorder wrote them when it
 * had no time to merge the rings, so the merge is done here: a chunk is opened when the order
 * reaches its first time, and closed behind its last event. Memory: the open chunks, at most
 * XVT_LOOSE_BUDGET, and one struct xvt_trace_raws.
 */
#ifndef XVT_LOOSE_H
#define XVT_LOOSE_H

#include "trace/event_key.h"
#include "trace/raws.h"

#define XVT_LOOSE_BUDGET (256u << 20)

struct xvt_loose_place;
struct xvt_loose_chunk;
struct xvt_loose_ring;

struct xvt_loose {
	struct xvt_trace *t;
	uint64_t from_ns;
	uint64_t to_ns;
	struct xvt_trace_raws *raws; /* NULL: the trace has no LOOSE chunks in the range */
	/* Chunks that are not open yet, from `next` on, by their first time. */
	struct xvt_loose_place *places;
	size_t nr_places;
	size_t next;
	/* The rings of the open chunks, as a heap: the ring with the earliest event is the first.
	 */
	struct xvt_loose_ring **heap;
	size_t nr_heap;
	size_t heap_room;
	struct xvt_loose_chunk *open;
	size_t held;	/* bytes of the open chunks */
	uint32_t *last; /* scratch: 1 + the last item of each ring in the chunk that is opened */
	size_t last_room;
	/* The iterator of the first ring's event, if that was given to the caller; else NULL. */
	const struct xvt_events_iter *given;
};

/* Returns 0 or -ENOMEM. */
int xvt_loose_init(struct xvt_loose *l, struct xvt_trace *t, uint64_t from_ns, uint64_t to_ns);
void xvt_loose_fini(struct xvt_loose *l);

/* Returns 1 and fills ev and its key; 0: no more events; -ENOMEM or a read error. The event holds
 * until the next call. Damaged chunks are skipped and noted in the trace. */
int xvt_loose_next(struct xvt_loose *l, struct xvt_event *ev, struct xvt_event_key *key);

#endif /* XVT_LOOSE_H */
