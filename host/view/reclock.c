// SPDX-License-Identifier: GPL-2.0
/* reclock.c - see reclock.h. */
#include "view/reclock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/u64.h"
#include "base/vec.h"
#include "trace/cursor.h"
#include "view/bound.h"

#define WARM_UP	     3	/* times reach_ns: how far before a part its reading begins */
#define EPOCHS_TRIED 64 /* epochs of a ring that are tried to be sure of an event's */
#define EPOCHS_NEAR  3	/* epochs tried on each side of an event's likely epoch */
#define NODES_BACK   64 /* nodes tried as the last node when an unconfirmed event was placed */

size_t xvt_reclock_waiting_most = 64u << 20;

struct waiting;

/*
 * The usual events of a ring around its newest one: they lie on one line of the recorded map and on
 * one of the new map, and no look is at their times. Then the new time and its bound need no
 * search. A ring without a map keeps its times.
 */
struct stretch {
	uint64_t from_ns; /* recorded times [from_ns, from_ns + len_ns); empty: no stretch */
	uint64_t len_ns;
	uint64_t bound_ns; /* of a recorded time */
	bool has_map;
	bool moves;	       /* the ring's new map moves times */
	uint64_t now_bound_ns; /* of a time by the new map, at most XVT_NO_BOUND */
	struct xvt_reclock_lines lines;
};

/*
 * State of a ring at its newest event. In the order of the cursor the lanes of a ring are one, in
 * the order in which the events were written. A caller that takes them by their chunks (stat) has
 * each lane in that order.
 */
struct lane {
	size_t epoch;
	uint64_t rec_ns;   /* recorded time of the newest event */
	uint64_t now_ns;   /* the new time */
	bool is_known;	   /* in a part: the events before it cannot change anything any more */
	uint64_t doubt_ns; /* till then: no new time of an event before is behind this */
	bool in_stretch;
	uint64_t line_ns; /* in a stretch: what the new map gives */
	/* The stretch gives its next events the bounds that the newest one has; see
	 * xvt_reclock_goes_on(). */
	bool is_steady;
	bool has_gone_on;     /* since then now_ns is not that of the newest event */
	uint64_t guest_clock; /* of the newest event */
	struct stretch stretch;
	struct waiting *newest; /* the end of the chain to which the next event comes, or NULL */
};

/* An event that waits. */
struct waiting {
	struct waiting *next; /* of its chain, or of the list of free blocks */
	uint64_t number;      /* position in the order of reading */
	uint32_t size;	      /* of the block, bytes */
	uint32_t left;	      /* as in struct xvt_event */
	uint64_t chunk_seq;
	uint64_t bound_ns;	  /* with bounds */
	struct xvt_event_hdr hdr; /* with the new time; the payload follows */
};
XVT_ASSERT(sizeof(struct waiting) % 8 == 0, "payloads are aligned");

/* Blocks of waiting events are used again; those of a size have a list. */
#define BLOCK_STEP 128u
#define BLOCKS	   8u

/* A chain of waiting events of one ring, in order of their times: its first event, and what the
 * order of events is decided by. */
struct chain {
	uint64_t ns;
	uint32_t vm;
	uint32_t ring;
	uint64_t number;
	struct waiting *first;
};

struct xvt_reclock {
	struct xvt_trace *t;
	struct xvt_reclock_ring *rings;
	struct lane (*lanes)[2];
	struct xvt_bounds *bounds; /* of the recorded times */
	bool want_bounds;
	uint64_t reach_ns; /* the most that any event is moved */
	uint64_t from_ns;
	uint64_t to_ns;
	struct xvt_cursor in;
	bool begun;
	/* Of a part that is read alone. */
	uint64_t begin_ns; /* events from this recorded time on are read */
	bool is_part;
	bool unsure;	/* the time of an event of the part depends on events before begin_ns */
	uint64_t given; /* events */
	uint64_t again; /* of them: to be passed, because the part was begun again */
	bool in_done;
	uint64_t in_ns;	 /* recorded time of the last event that was read */
	uint64_t due_ns; /* no unread event is earlier than this by its new time */
	/* The first chain's events before this come next, whatever waits or is read. */
	uint64_t run_ns;
	uint64_t read;
	/* The chains of the events that wait: a heap. A ring has one chain. */
	struct chain *heap;
	size_t count;
	size_t room;
	size_t waiting_bytes;
	struct waiting *blocks[BLOCKS]; /* free ones of up to (i + 1) * BLOCK_STEP bytes */
	struct waiting *out;		/* the event that the last call returned */
	uint64_t out_bound_ns;
};

/* -- one event's time --------------------------------------------------------------- */

/* Limit a time after the end of epoch e to the begin of the next epoch. */
static uint64_t till_border(const struct xvt_reclock_ring *r, size_t e, uint64_t ns, bool recorded)
{
	const struct xvt_reclock_epoch *next = &r->epochs[e + 1];
	uint64_t border;

	if (e + 1 >= r->epoch_count)
		return ns;
	border = recorded ? r->nodes[next->first].host_ns : r->knots[next->knot_first].host_ns;
	return ns < border ? ns : border;
}

/*
 * The recorder placed an unconfirmed event by extrapolation from the last node that it had. Nodes
 * between that node and the event may have come later. If the event lies within the epoch's nodes,
 * the new map gives its time; else it moves with its node.
 */
static bool unconfirmed(const struct xvt_reclock_ring *r, size_t e, const struct xvt_event_hdr *h,
			uint64_t *ns)
{
	struct xvt_reclock_epoch *epoch = &r->epochs[e];
	size_t n = epoch->end;

	while (n > epoch->first + 1 && r->nodes[n - 1].guest > h->guest_clock)
		n--;
	for (int i = 0; i < NODES_BACK && n-- > epoch->first; i++) {
		const struct xvt_clock_node *node = &r->nodes[n];
		uint64_t rec = xvt_reclock_extrapolate(r, node, h->guest_clock);

		if (till_border(r, e, rec, true) != h->host_ns)
			continue;
		if (h->guest_clock <= r->nodes[epoch->end - 1].guest)
			rec = xvt_reclock_new_at(r, epoch, h->guest_clock);
		else
			rec += xvt_reclock_new_at(r, epoch, node->guest) - node->host_ns;
		*ns = till_border(r, e, rec, false);
		return true;
	}
	return false;
}

/* Returns whether this epoch's recorded map gives the event's recorded time. *ns: the new time. */
static bool in_epoch(const struct xvt_reclock_ring *r, size_t e, const struct xvt_event_hdr *h,
		     uint64_t *ns)
{
	uint64_t rec = xvt_reclock_recorded_at(r, &r->epochs[e], h->guest_clock);

	if (till_border(r, e, rec, true) == h->host_ns) {
		rec = xvt_reclock_new_at(r, &r->epochs[e], h->guest_clock);
		*ns = till_border(r, e, rec, false);
		return true;
	}
	return (h->ring_flags & XVT_EVENT_F_UNCONFIRMED) && unconfirmed(r, e, h, ns);
}

/* The last epoch that begins at or before that recorded time; the first one, if none does. */
static size_t epoch_at(const struct xvt_reclock_ring *r, uint64_t ns)
{
	size_t lo = 0, hi = r->epoch_count;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (r->nodes[r->epochs[mid].first].host_ns <= ns)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo ? lo - 1 : 0;
}

static bool by_map(const struct xvt_reclock_ring *r, struct lane *lane,
		   const struct xvt_event_hdr *h, uint64_t *ns)
{
	size_t e;

	/* The event's clock contradicts the map, or its ring has no map (the host's). */
	if (h->ring_flags & XVT_EVENT_F_CLOCK || !r->epoch_count)
		return false;
	if (in_epoch(r, lane->epoch, h, ns))
		return true;
	e = epoch_at(r, h->host_ns);
	e = e > EPOCHS_NEAR ? e - EPOCHS_NEAR : 0;
	for (size_t last = e + 2 * EPOCHS_NEAR; e <= last && e < r->epoch_count; e++) {
		if (e == lane->epoch || !in_epoch(r, e, h, ns))
			continue;
		lane->epoch = e;
		return true;
	}
	return false;
}

/* The lane of an event; NULL: its ring is unknown. */
static inline struct lane *lane_of(const struct xvt_reclock *rc, const struct xvt_event_hdr *h)
{
	const uint32_t ring = h->ring_flags & XVT_EVENT_RING_MASK;
	const bool late = !rc->begun && h->ring_flags & XVT_EVENT_F_LATE;

	return ring < rc->t->ring_count ? &rc->lanes[ring][late] : NULL;
}

static bool too_far(const struct xvt_reclock *rc, uint64_t rec_ns, uint64_t ns)
{
	return (ns > rec_ns ? ns - rec_ns : rec_ns - ns) > rc->reach_ns;
}

static uint64_t limited(uint64_t bound)
{
	return bound < XVT_NO_BOUND ? bound : XVT_NO_BOUND;
}

/* The bound of a new time, from those of the recorded time and of the new map: the time cannot be
 * further off than the recorded one and the way between the two; the new map may know better. */
static uint64_t bound_by(const struct xvt_event_hdr *h, uint64_t ns, uint64_t bound,
			 uint64_t by_new)
{
	bound = xvt_u64_sum(bound, xvt_u64_apart(ns, h->host_ns));
	return limited(by_new < bound ? by_new : bound);
}

/* The bound of a new time `ns`, from that of the recorded time. */
static uint64_t bound_of(const struct xvt_reclock *rc, const struct xvt_event_hdr *h, uint64_t ns,
			 uint64_t bound)
{
	uint32_t ring = h->ring_flags & XVT_EVENT_RING_MASK;
	const struct xvt_reclock_ring *r;
	const struct lane *lane;
	uint64_t by_new = UINT64_MAX;

	if (bound == XVT_NO_BOUND || ring >= rc->t->ring_count)
		return XVT_NO_BOUND;
	if (xvt_unlikely(xvt_bound_is_beside(rc->bounds, h)))
		return bound_by(h, ns, bound, UINT64_MAX);
	r = &rc->rings[ring];
	lane = lane_of(rc, h);
	if (r->epoch_count && !(h->ring_flags & XVT_EVENT_F_UNCONFIRMED))
		by_new = xvt_reclock_bound_at(r, &r->epochs[lane->epoch], h->guest_clock, ns);
	return bound_by(h, ns, bound, by_new);
}

/* The usual case: the ring's map moves no time, or the event lies between two nodes and two knots
 * of the ring's only epoch. */
static bool by_segment(const struct xvt_reclock_ring *r, const struct xvt_event_hdr *h,
		       uint64_t *ns)
{
	if (h->ring_flags & (XVT_EVENT_F_CLOCK | XVT_EVENT_F_UNCONFIRMED) || r->epoch_count != 1)
		return false;
	return !r->moved_ns || xvt_reclock_move(r, r->epochs, h->guest_clock, h->host_ns, ns);
}

/* Returns whether the event is of the stretch. */
xvt_inline bool is_in_stretch(const struct stretch *s, const struct xvt_event_hdr *h)
{
	const struct xvt_reclock_lines *l = &s->lines;

	if (xvt_unlikely(h->ring_flags & (XVT_EVENT_F_CLOCK | XVT_EVENT_F_UNCONFIRMED) ||
			 h->host_ns - s->from_ns >= s->len_ns))
		return false;
	return !s->has_map ||
	       (xvt_likely(h->guest_clock > l->after && h->guest_clock < l->before) &&
		xvt_likely(xvt_clock_segment_ns(&l->recorded, h->guest_clock) == h->host_ns));
}

/* Time of an event of the stretch by the new map. */
xvt_inline uint64_t stretch_ns(const struct stretch *s, uint64_t guest_clock, uint64_t rec_ns)
{
	return s->has_map ? xvt_clock_segment_ns(&s->lines.now, guest_clock) : rec_ns;
}

/* Returns whether the recorded map's line is the segment that ends at this node. */
static bool is_segment(const struct xvt_clock_segment *line, const struct xvt_clock_node *end)
{
	return end && line->guest == end[-1].guest && line->host_ns == end[-1].host_ns &&
	       line->guest_end == end->guest && line->host_ns + line->rise == end->host_ns;
}

/* Find the stretch of an event that was not in the lane's. */
static void find_stretch(struct xvt_reclock *rc, struct lane *lane, const struct xvt_event_hdr *h)
{
	const uint32_t ring = h->ring_flags & XVT_EVENT_RING_MASK;
	const struct xvt_reclock_ring *r = &rc->rings[ring];
	struct stretch *s = &lane->stretch;
	struct xvt_bound_span span;

	s->len_ns = 0;
	if (h->ring_flags & (XVT_EVENT_F_CLOCK | XVT_EVENT_F_UNCONFIRMED) || r->epoch_count > 1 ||
	    !xvt_bound_span_at(rc->bounds, ring, h->host_ns, &span))
		return;
	s->has_map = r->epoch_count;
	if (s->has_map && (!xvt_reclock_lines_at(r, r->epochs, h->guest_clock, &s->lines) ||
			   !is_segment(&s->lines.recorded, span.end)))
		return;
	s->from_ns = span.from_ns;
	s->len_ns = span.until_ns - span.from_ns;
	s->bound_ns = span.bound_ns;
	s->now_bound_ns = limited(s->lines.bound_ns);
	s->moves = r->moved_ns;
}

/* As bound_of(), in a stretch. No sum overflows: no bound is above XVT_NO_BOUND, and no time is
 * moved further than the reach. */
xvt_inline uint64_t bound_in_stretch(const struct lane *lane, const struct xvt_event_hdr *h,
				     uint64_t ns, uint64_t bound)
{
	const struct stretch *s = &lane->stretch;
	const uint64_t off = xvt_u64_apart(lane->line_ns, ns);

	if (xvt_unlikely(bound >= XVT_NO_BOUND))
		return XVT_NO_BOUND;
	bound += xvt_u64_apart(ns, h->host_ns);
	if (s->has_map && off <= 1 && s->now_bound_ns + off < bound)
		bound = s->now_bound_ns + off;
	return limited(bound);
}

/* The new time by all that is known of the ring. */
static __attribute__((noinline)) uint64_t search_place(struct xvt_reclock *rc, struct lane *lane,
						       const struct xvt_event_hdr *h)
{
	const struct xvt_reclock_ring *r = &rc->rings[h->ring_flags & XVT_EVENT_RING_MASK];
	uint64_t ns = h->host_ns;

	find_stretch(rc, lane, h);
	/* No map knows more of an event beside all segments than the looks at its ring. */
	if (!xvt_bound_is_beside(rc->bounds, h) && !by_segment(r, h, &ns) &&
	    (!by_map(r, lane, h, &ns) || too_far(rc, h->host_ns, ns)))
		ns = h->host_ns + (lane->now_ns - lane->rec_ns);
	return ns;
}

/* Returns whether one epoch alone gives the event's time, and is found from any other. */
static bool in_one_epoch(const struct xvt_reclock_ring *r, const struct xvt_event_hdr *h,
			 uint64_t *ns)
{
	const size_t at = epoch_at(r, h->host_ns), first = at > EPOCHS_NEAR ? at - EPOCHS_NEAR : 0;
	size_t found = 0;
	bool is_near = false;
	uint64_t by_epoch;

	if (r->epoch_count > EPOCHS_TRIED)
		return false;
	for (size_t e = 0; e < r->epoch_count; e++) {
		if (!in_epoch(r, e, h, &by_epoch))
			continue;
		found++;
		is_near = e >= first && e <= first + 2 * EPOCHS_NEAR;
		*ns = by_epoch;
	}
	return found == 1 && is_near;
}

/* Returns whether the event's new time *ns depends on no event before it, but that it is not before
 * theirs. *epoch: nor does the epoch. */
static bool is_certain(const struct xvt_reclock *rc, const struct xvt_event_hdr *h, uint64_t *ns,
		       bool *epoch)
{
	const struct xvt_reclock_ring *r = &rc->rings[h->ring_flags & XVT_EVENT_RING_MASK];
	const bool beside = xvt_bound_is_beside(rc->bounds, h);

	*ns = h->host_ns;
	*epoch = !beside || r->epoch_count <= 1;
	if (beside || !r->epoch_count)
		return true;
	if (h->ring_flags & XVT_EVENT_F_CLOCK)
		return false;
	return by_segment(r, h, ns) || (in_one_epoch(r, h, ns) && !too_far(rc, h->host_ns, *ns));
}

/*
 * In a part that is read alone: may the event's time be another one after the events of its ring
 * that were not read? They were recorded before begin_ns, and no event is moved further than
 * reach_ns. Once an event is certain and behind all that may be before it, so are all behind it.
 */
static void doubt(struct xvt_reclock *rc, struct lane *lane, const struct xvt_event_hdr *h)
{
	const uint64_t latest = xvt_u64_sum(h->host_ns, rc->reach_ns);
	const uint64_t before = xvt_u64_larger(lane->doubt_ns, rc->begin_ns + rc->reach_ns);
	bool epoch;
	uint64_t ns;

	lane->doubt_ns = before;
	if (!is_certain(rc, h, &ns, &epoch)) {
		lane->doubt_ns = xvt_u64_larger(before, latest);
	} else if (ns >= before) {
		lane->is_known = epoch;
		lane->doubt_ns = ns;
		return;
	}
	rc->unsure |= latest >= rc->from_ns;
}

/* Returns the event's new time; h->host_ns is the recorded one. */
xvt_inline uint64_t place(struct xvt_reclock *rc, struct lane *lane, const struct xvt_event_hdr *h)
{
	uint64_t ns = h->host_ns;

	if (xvt_unlikely(!lane))
		return ns;
	lane->in_stretch = is_in_stretch(&lane->stretch, h);
	if (xvt_likely(lane->in_stretch))
		lane->line_ns = stretch_ns(&lane->stretch, h->guest_clock, h->host_ns);
	if (xvt_unlikely(!lane->in_stretch))
		ns = search_place(rc, lane, h);
	else if (lane->stretch.moves)
		ns = lane->line_ns;
	if (h->host_ns >= lane->rec_ns && ns < lane->now_ns)
		ns = lane->now_ns;
	/* Recorded times go back only in a damaged lane, and then by any amount. */
	if (too_far(rc, h->host_ns, ns))
		ns = h->host_ns;
	if (xvt_unlikely(rc->is_part && !lane->is_known))
		doubt(rc, lane, h);
	lane->rec_ns = h->host_ns;
	lane->now_ns = ns;
	return ns;
}

/* The bound of an event's new time `ns`, which place() gave last. */
xvt_inline uint64_t place_bound(struct xvt_reclock *rc, const struct lane *lane,
				const struct xvt_event_hdr *h, uint64_t ns)
{
	if (xvt_likely(lane && lane->in_stretch))
		return bound_in_stretch(lane, h, ns, lane->stretch.bound_ns);
	return bound_of(rc, h, ns, xvt_bound_ns(rc->bounds, h));
}

/* -- in order again ----------------------------------------------------------------- */

static inline bool before(const struct chain *a, const struct chain *b)
{
	if (a->ns != b->ns)
		return a->ns < b->ns;
	if (a->vm != b->vm)
		return a->vm < b->vm;
	if (a->ring != b->ring)
		return a->ring < b->ring;
	return a->number < b->number;
}

/* Begin a chain. */
static int push(struct xvt_reclock *rc, const struct chain *c)
{
	struct chain *heap;
	size_t i = rc->count;

	if (xvt_grow(&rc->heap, &rc->room, rc->count + 1, sizeof(*rc->heap)))
		return -ENOMEM;
	heap = rc->heap;
	rc->count++;
	for (; i && before(c, &heap[(i - 1) / 2]); i = (i - 1) / 2)
		heap[i] = heap[(i - 1) / 2];
	heap[i] = *c;
	return 0;
}

/* Put a chain into the heap, whose first one was taken out. */
static void sift(struct xvt_reclock *rc, const struct chain *moving)
{
	struct chain *heap = rc->heap;
	size_t i = 0;

	for (;;) {
		size_t child = 2 * i + 1;

		if (child >= rc->count)
			break;
		if (child + 1 < rc->count && before(&heap[child + 1], &heap[child]))
			child++;
		if (!before(&heap[child], moving))
			break;
		heap[i] = heap[child];
		i = child;
	}
	heap[i] = *moving;
}

/* Put the first chain where it belongs, after events of it were taken. */
static void settle(struct xvt_reclock *rc)
{
	struct chain top;

	if (rc->count < 2)
		return;
	top = rc->heap[0];
	sift(rc, &top);
}

/* Take the event that is first, of a chain without another one. */
static __attribute__((noinline)) void end_chain(struct xvt_reclock *rc, const struct waiting *w)
{
	struct lane *lane = lane_of(rc, &w->hdr);

	if (lane && lane->newest == w)
		lane->newest = NULL;
	rc->heap[0] = rc->heap[--rc->count];
	rc->run_ns = 0;
}

/* Take the event that is first. The heap must be settled after that. */
static inline struct waiting *pop(struct xvt_reclock *rc)
{
	struct chain *top = &rc->heap[0];
	struct waiting *w = top->first;

	rc->waiting_bytes -= w->size;
	top->first = w->next;
	if (xvt_unlikely(!w->next)) {
		end_chain(rc, w);
		return w;
	}
	top->ns = w->next->hdr.host_ns;
	top->number = w->next->number;
	__builtin_prefetch(w->next->next);
	return w;
}

/* Room for an event of that length. NULL: out of memory. */
static inline struct waiting *get_block(struct xvt_reclock *rc, uint32_t len)
{
	uint32_t size = (uint32_t)sizeof(struct waiting) + len, list = (size - 1) / BLOCK_STEP;
	struct waiting *w;

	if (list < BLOCKS) {
		w = rc->blocks[list];
		size = (list + 1) * BLOCK_STEP;
		if (w) {
			rc->blocks[list] = w->next;
			return w;
		}
	}
	w = malloc(size);
	if (w)
		w->size = size;
	return w;
}

static void put_block(struct xvt_reclock *rc, struct waiting *w)
{
	uint32_t list;

	if (!w)
		return;
	list = (w->size - 1) / BLOCK_STEP;
	if (list >= BLOCKS) {
		free(w);
		return;
	}
	w->next = rc->blocks[list];
	rc->blocks[list] = w;
}

/* Begin a chain with the event. */
static __attribute__((noinline)) int begin_chain(struct xvt_reclock *rc, struct lane *lane,
						 struct waiting *w)
{
	struct chain c = { .ns = w->hdr.host_ns, .number = w->number, .first = w };
	int err;

	c.ring = w->hdr.ring_flags & XVT_EVENT_RING_MASK;
	c.vm = xvt_ring_vm(rc->t, c.ring);
	err = push(rc, &c);
	if (!err && lane)
		lane->newest = w;
	return err;
}

/* Append the event to its lane's chain, or begin another chain. */
xvt_inline int enqueue(struct xvt_reclock *rc, struct lane *lane, struct waiting *w)
{
	rc->waiting_bytes += w->size;
	if (xvt_unlikely(!lane || !lane->newest || lane->newest->hdr.host_ns > w->hdr.host_ns))
		return begin_chain(rc, lane, w);
	lane->newest->next = w;
	lane->newest = w;
	return 0;
}

xvt_inline int take(struct xvt_reclock *rc, const struct xvt_event *ev)
{
	const uint32_t ring = ev->hdr->ring_flags & XVT_EVENT_RING_MASK;
	struct lane *lane = ring < rc->t->ring_count ? &rc->lanes[ring][0] : NULL;
	struct waiting *w = get_block(rc, ev->hdr->len);
	int err;

	if (!w)
		return -ENOMEM;
	w->next = NULL;
	w->number = rc->read++;
	w->chunk_seq = ev->chunk_seq;
	w->left = ev->left;
	w->hdr = *ev->hdr;
	w->hdr.host_ns = place(rc, lane, ev->hdr);
	w->bound_ns =
		rc->want_bounds ? place_bound(rc, lane, ev->hdr, w->hdr.host_ns) : XVT_NO_BOUND;
	memcpy(w + 1, ev->payload, ev->hdr->len);
	rc->in_ns = ev->hdr->host_ns;
	rc->due_ns = rc->in_ns > rc->reach_ns ? rc->in_ns - rc->reach_ns : 0;
	err = enqueue(rc, lane, w);
	if (err)
		free(w);
	return err;
}

/* Returns whether no unread event can come before the first of the queue. */
static inline bool top_is_next(const struct xvt_reclock *rc)
{
	return (rc->count && rc->heap[0].ns < rc->due_ns) || xvt_unlikely(rc->in_done) ||
	       xvt_unlikely(rc->waiting_bytes > xvt_reclock_waiting_most);
}

/* Forget the events that wait, and where the lanes are. */
static void end(struct xvt_reclock *rc)
{
	while (rc->count) {
		put_block(rc, pop(rc));
		settle(rc);
	}
	put_block(rc, rc->out);
	rc->out = NULL;
	memset(rc->lanes, 0, ((size_t)rc->t->ring_count + 1) * sizeof(*rc->lanes));
	rc->in_ns = rc->due_ns = rc->run_ns = 0;
}

/* Begin to read events with these recorded times. Returns as xvt_cursor_init(). */
static int begin_reading(struct xvt_reclock *rc, uint64_t from_ns, uint64_t to_ns)
{
	int err;

	if (rc->begun)
		xvt_cursor_fini(&rc->in);
	rc->in_done = false;
	err = xvt_cursor_init(&rc->in, rc->t, from_ns, to_ns);
	rc->begun = !err;
	return err;
}

static uint64_t last_read_ns(const struct xvt_reclock *rc)
{
	return rc->to_ns < UINT64_MAX - rc->reach_ns ? rc->to_ns + rc->reach_ns : UINT64_MAX;
}

/* Place all events before the part, and begin the part again with what they tell of the lanes. The
 * events that were given are passed, since they were certain. */
static int begin_again(struct xvt_reclock *rc)
{
	struct xvt_event ev;
	int got;

	end(rc);
	rc->is_part = rc->unsure = false;
	rc->again = rc->given;
	got = begin_reading(rc, 0, rc->begin_ns - 1);
	if (got)
		return got;
	while ((got = xvt_cursor_next(&rc->in, &ev)) > 0)
		place(rc, lane_of(rc, ev.hdr), ev.hdr);
	return got ? got : begin_reading(rc, rc->begin_ns, last_read_ns(rc));
}

/* Take the events behind the last one for which nothing must be read. Those of a lane that goes
 * back (a damaged one) are left: of those before them, the ones that are next are given first. */
static int take_decoded(struct xvt_reclock *rc)
{
	struct xvt_event ev;
	int err = 0;

	while (!err && xvt_cursor_decoded(&rc->in, rc->in_ns, &ev) &&
	       rc->waiting_bytes <= xvt_reclock_waiting_most && !rc->unsure) {
		xvt_cursor_pass(&rc->in);
		err = take(rc, &ev);
	}
	return err;
}

/* How far the first chain may be followed. */
static uint64_t run_till(const struct xvt_reclock *rc)
{
	uint64_t ns = rc->in_done ? UINT64_MAX : rc->due_ns;

	if (rc->waiting_bytes > xvt_reclock_waiting_most)
		return 0;
	for (size_t i = 1; i < 3 && i < rc->count; i++)
		ns = rc->heap[i].ns < ns ? rc->heap[i].ns : ns;
	return ns;
}

/* Read events until the first of the queue is the next one. Returns 1; 0: there is none; or
 * -errno. */
static __attribute__((noinline)) int read_ahead(struct xvt_reclock *rc, struct xvt_event *ev)
{
	int got;

	settle(rc);
	while (!top_is_next(rc)) {
		got = xvt_cursor_next(&rc->in, ev);
		if (got < 0)
			return got;
		rc->in_done = got == 0;
		got = got ? take(rc, ev) : 0;
		if (!got && !rc->in_done)
			got = take_decoded(rc);
		if (!got && xvt_unlikely(rc->unsure))
			got = begin_again(rc);
		if (got)
			return got;
	}
	rc->run_ns = run_till(rc);
	return rc->count > 0;
}

int xvt_reclock_next(struct xvt_reclock *rc, struct xvt_event *ev)
{
	struct waiting *w;
	int got;

	do {
		put_block(rc, rc->out);
		rc->out = NULL;
		if (xvt_unlikely(!rc->count || rc->heap[0].ns >= rc->run_ns)) {
			got = read_ahead(rc, ev);
			if (got <= 0)
				return got;
		}
		w = rc->out = pop(rc);
	} while (xvt_unlikely(w->hdr.host_ns < rc->from_ns || w->hdr.host_ns > rc->to_ns ||
			      (rc->again && rc->again--)));
	rc->given += rc->is_part;
	rc->out_bound_ns = w->bound_ns;
	ev->hdr = &w->hdr;
	ev->payload = (const uint8_t *)(w + 1);
	ev->chunk_seq = w->chunk_seq;
	ev->left = w->left;
	return 1;
}

/* -- the whole ---------------------------------------------------------------------- */

int xvt_reclock_new(struct xvt_reclock **out, struct xvt_trace *t)
{
	struct xvt_reclock *rc = calloc(1, sizeof(*rc));
	int err;

	*out = NULL;
	if (!rc)
		return -ENOMEM;
	rc->t = t;
	rc->lanes = calloc((size_t)t->ring_count + 1, sizeof(*rc->lanes));
	err = rc->lanes ? xvt_reclock_maps_new(&rc->rings, t) : -ENOMEM;
	if (!err)
		err = xvt_bounds_new(&rc->bounds, t);
	if (err) {
		xvt_reclock_free(rc);
		return err;
	}
	for (uint32_t i = 0; i < t->ring_count; i++)
		if (rc->rings[i].moved_ns > rc->reach_ns)
			rc->reach_ns = rc->rings[i].moved_ns;
	rc->reach_ns += 2; /* between two knots both maps are rounded down */
	*out = rc;
	return 0;
}

const uint64_t *xvt_reclock_want_bounds(struct xvt_reclock *rc)
{
	rc->want_bounds = true;
	rc->out_bound_ns = XVT_NO_BOUND;
	return &rc->out_bound_ns;
}

const struct xvt_bounds *xvt_reclock_bounds(const struct xvt_reclock *rc)
{
	return rc->bounds;
}

/* Returns whether the next events of the stretch, in order and with this bound of their recorded
 * times, have the bound that the newest one has, which is placed at `ns`. */
static bool is_steady(const struct lane *lane, const struct xvt_event_hdr *h, uint64_t ns,
		      uint64_t bound)
{
	const struct stretch *s = &lane->stretch;

	if (!lane->in_stretch || bound != s->bound_ns)
		return false;
	if (!s->has_map || !s->moves)
		return ns == h->host_ns && (!s->has_map || s->now_bound_ns >= bound);
	return ns == lane->line_ns && s->now_bound_ns <= bound;
}

/* The new time of the lane's newest event. */
static uint64_t newest_ns(const struct lane *lane)
{
	if (!lane->has_gone_on)
		return lane->now_ns;
	return lane->stretch.moves ? stretch_ns(&lane->stretch, lane->guest_clock, lane->rec_ns)
				   : lane->rec_ns;
}

static void end_steady(struct xvt_reclock *rc, uint32_t ring)
{
	rc->lanes[ring][0].is_steady = false;
	rc->lanes[ring][1].is_steady = false;
}

struct xvt_reclock_place xvt_reclock_lane(const struct xvt_reclock *rc, uint32_t ring, bool late)
{
	const struct lane *lane = &rc->lanes[ring][late];

	return (struct xvt_reclock_place){ lane->epoch, lane->rec_ns, newest_ns(lane) };
}

void xvt_reclock_lane_set(struct xvt_reclock *rc, uint32_t ring, bool late,
			  const struct xvt_reclock_place *place)
{
	struct lane *lane = &rc->lanes[ring][late];

	lane->epoch = (size_t)place->epoch;
	lane->rec_ns = place->rec_ns;
	lane->now_ns = place->now_ns;
	lane->has_gone_on = false;
	end_steady(rc, ring);
}

uint64_t xvt_reclock_place_ns(struct xvt_reclock *rc, const struct xvt_event_hdr *h,
			      uint64_t *bound_ns)
{
	struct lane *lane = lane_of(rc, h);
	const uint64_t bound = *bound_ns;
	uint64_t ns;

	if (xvt_unlikely(!lane)) {
		*bound_ns = bound_of(rc, h, h->host_ns, bound);
		return h->host_ns;
	}
	lane->now_ns = newest_ns(lane);
	lane->has_gone_on = false;
	ns = place(rc, lane, h);
	*bound_ns = xvt_likely(lane->in_stretch) ? bound_in_stretch(lane, h, ns, bound)
						 : bound_of(rc, h, ns, bound);
	lane->guest_clock = h->guest_clock;
	end_steady(rc, h->ring_flags & XVT_EVENT_RING_MASK);
	lane->is_steady = is_steady(lane, h, ns, bound);
	return ns;
}

bool xvt_reclock_goes_on(struct xvt_reclock *rc, const struct xvt_event_hdr *h)
{
	struct lane *lane = lane_of(rc, h);

	if (xvt_unlikely(!lane || !lane->is_steady || h->host_ns < lane->rec_ns ||
			 h->guest_clock < lane->guest_clock) ||
	    xvt_unlikely(!is_in_stretch(&lane->stretch, h)))
		return false;
	lane->rec_ns = h->host_ns;
	lane->guest_clock = h->guest_clock;
	lane->has_gone_on = true;
	return true;
}

void xvt_reclock_free(struct xvt_reclock *rc)
{
	if (!rc)
		return;
	while (rc->count) {
		free(pop(rc));
		settle(rc);
	}
	for (size_t i = 0; i < BLOCKS; i++) {
		while (rc->blocks[i]) {
			struct waiting *w = rc->blocks[i];

			rc->blocks[i] = w->next;
			free(w);
		}
	}
	free(rc->heap);
	free(rc->out);
	free(rc->lanes);
	if (rc->begun)
		xvt_cursor_fini(&rc->in);
	xvt_reclock_maps_free(rc->rings, rc->t->ring_count);
	xvt_bounds_free(rc->bounds);
	free(rc);
}

static int begin(struct xvt_reclock *rc, uint64_t from_ns, uint64_t to_ns, uint64_t begin_ns)
{
	if (rc->begun)
		end(rc);
	rc->from_ns = from_ns;
	rc->to_ns = to_ns;
	rc->begin_ns = begin_ns;
	rc->is_part = rc->unsure = false;
	rc->given = rc->again = 0;
	return begin_reading(rc, begin_ns, last_read_ns(rc));
}

int xvt_reclock_begin(struct xvt_reclock *rc, uint64_t from_ns, uint64_t to_ns)
{
	return begin(rc, from_ns, to_ns, from_ns > rc->reach_ns ? from_ns - rc->reach_ns : 0);
}

int xvt_reclock_begin_part(struct xvt_reclock *rc, uint64_t from_ns, uint64_t to_ns)
{
	const uint64_t way = WARM_UP * rc->reach_ns;
	int err = begin(rc, from_ns, to_ns, from_ns > way ? from_ns - way : 0);

	rc->is_part = rc->begin_ns;
	return err;
}

const struct xvt_reclock_ring *xvt_reclock_ring(const struct xvt_reclock *rc, uint32_t ring)
{
	return &rc->rings[ring];
}
