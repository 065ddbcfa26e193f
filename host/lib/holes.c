// SPDX-License-Identifier: GPL-2.0
/*
 * holes.c - when events of rings were lost, known before the events are read; see xvtrace.h. A LOST
 * record comes at the end of its hole, and so behind what other rings say of the time in it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/u64.h"
#include "base/vec.h"
#include "lib/parts.h"
#include "trace/note.h"

/* Holes of a ring, in its order. Those that have no room become one with the one before. */
#define HOLES_MOST 65536u

struct ring_holes {
	struct xvtrace_hole *v;
	size_t count, room;
	uint64_t bound_most_ns;
	/* The pass: */
	bool may_have;			 /* as far as the counters say */
	bool is_open;			 /* the time of the last one's end is not known so far */
	bool waits;			 /* no record behind the end of the range was read */
	uint64_t last_ns, last_bound_ns; /* of the last record whose time is known */
};

struct xvtrace_holes {
	struct ring_holes *rings; /* by number; NULL: there are none */
	unsigned int ring_count;
	unsigned int waiting; /* rings */
	size_t count;
};

/* -- the counters ---------------------------------------------------------------------- */

static bool counts_losses(const struct xvt_ring_stats *s)
{
	uint64_t lost = s->overwritten | s->dropped | s->bad_bytes;

	for (int i = 0; i < XVT_LOST_CAUSES; i++)
		lost |= s->lost[i];
	return lost;
}

/* The recorder's last counters of a trace that ended are those of all of it. */
static int ask_counters(struct xvtrace_holes *h, const struct xvtrace_reader *r)
{
	const struct xvt_trace *t = r->trace->t;
	const bool whole = t->ended && !t->damage_count;
	const struct xvt_bounds *b =
		r->fetch.reclock ? xvt_reclock_bounds(r->fetch.reclock) : r->fetch.bounds;
	struct xvt_bounds *own = NULL;
	int err = b || !whole ? 0 : xvt_bounds_new(&own, r->trace->t);

	b = b ? b : own;
	for (uint32_t i = 0; i < r->trace->ring_count && !err; i++) {
		const uint32_t ring = r->trace->first_ring + i;

		if (ring >= h->ring_count || !xvt_lib_ring(r->trace, i))
			continue;
		h->rings[ring].may_have = !whole || i >= b->ring_count || !b->rings[i].has_stats ||
					  counts_losses(&b->rings[i].last);
		h->rings[ring].waits = h->rings[ring].may_have;
		h->waiting += h->rings[ring].may_have;
	}
	xvt_bounds_free(own);
	return err;
}

static bool tells_rollback(const struct xvtrace_item *item)
{
	return item->machine && item->text_len == strlen(XVT_NOTE_WENT_BACK) &&
	       memcmp(item->text, XVT_NOTE_WENT_BACK, item->text_len) == 0;
}

/* A machine's rings are other ones behind a rollback, each from its LOST record on, though its
 * counters tell no loss. */
static int ask_notes(struct xvtrace_holes *h, struct xvtrace *trace)
{
	const struct xvtrace_item *item;
	struct xvtrace_items *items;
	int got = xvtrace_items_new(&items, trace, XVTRACE_NOTE);

	while (!got && (got = xvtrace_items_next(items, &item)) > 0) {
		for (uint32_t i = 0; i < h->ring_count && tells_rollback(item); i++) {
			const struct xvtrace_ring *ring = xvtrace_ring(trace, i);

			if (!ring || ring->machine != item->machine || h->rings[i].may_have)
				continue;
			h->rings[i].may_have = h->rings[i].waits = true;
			h->waiting++;
		}
		got = 0;
	}
	xvtrace_items_free(items);
	return got;
}

/* -- the pass -------------------------------------------------------------------------- */

static bool is_sure(const struct xvtrace_event *ev)
{
	return ev->bound_ns < XVTRACE_NO_BOUND &&
	       !(ev->flags & (XVTRACE_UNCONFIRMED | XVTRACE_CLOCK));
}

/* At the record; NULL: at none that is known. */
static void end_hole(struct ring_holes *r, const struct xvtrace_event *ev)
{
	struct xvtrace_hole *hole = &r->v[r->count - 1];

	r->is_open = !ev;
	hole->end_ns = ev ? ev->ns : UINT64_MAX;
	hole->end_bound_ns = ev ? ev->bound_ns : 0;
	r->bound_most_ns = xvt_u64_larger(r->bound_most_ns, hole->end_bound_ns);
	/* One without a length is behind the record at its begin. */
	if (ev && hole->end_ns <= hole->begin_ns)
		hole->end_ns = hole->begin_ns + 1;
}

static int add_hole(struct xvtrace_holes *h, struct ring_holes *r, const struct xvtrace_event *ev)
{
	const bool goes_on = r->count && (r->is_open || r->count == HOLES_MOST ||
					  r->v[r->count - 1].end_ns > r->last_ns);

	if (!goes_on) {
		if (xvt_grow(&r->v, &r->room, r->count + 1, sizeof(*r->v)))
			return -ENOMEM;
		r->v[r->count++] = (struct xvtrace_hole){ .ring = ev->ring,
							  .begin_ns = r->last_ns,
							  .begin_bound_ns = r->last_bound_ns };
		h->count++;
	}
	end_hole(r, is_sure(ev) ? ev : NULL);
	return 0;
}

static int take(struct xvtrace_holes *h, const struct xvtrace_event *ev, uint64_t to_ns)
{
	struct ring_holes *r = &h->rings[ev->ring->number];
	int err = 0;

	if (!r->may_have)
		return 0;
	if (ev->kind == XVTRACE_LOST)
		err = add_hole(h, r, ev);
	else if (r->is_open && is_sure(ev))
		end_hole(r, ev);
	if (is_sure(ev) && ev->ns >= r->last_ns) {
		r->last_ns = ev->ns;
		r->last_bound_ns = ev->bound_ns;
		r->bound_most_ns = xvt_u64_larger(r->bound_most_ns, ev->bound_ns);
	}
	if (r->waits && ev->ns > to_ns) {
		r->waits = false;
		h->waiting--;
	}
	return err;
}

struct watched {
	const struct xvtrace_reader *of;
	bool stopped;
};

/* The caller's reader stays where it is. */
static bool watch(void *arg, uint64_t ns)
{
	struct watched *w = arg;
	const struct xvtrace_reader *at = w->of->several.members ? w->of->several.current : w->of;

	(void)ns;
	w->stopped = !w->of->watch.call(w->of->watch.arg, at ? at->event.pub.ns : 0);
	return !w->stopped;
}

static int read_all(struct xvtrace_holes *h, struct xvtrace_reader *of)
{
	struct watched watched = { .of = of };
	const bool by_wall = of->choice.wall_to_ns != UINT64_MAX;
	const struct xvtrace_event *ev;
	struct xvtrace_reader *r;
	int err = xvtrace_reader_new(&r, of->trace), got = 0;

	if (err)
		return err;
	err = xvtrace_reader_flags(r, XVTRACE_BOUND | (of->choice.flags & XVTRACE_RECLOCK));
	if (!err)
		err = xvtrace_reader_from(r, of->choice.from_ns, XVTRACE_MONOTONIC);
	if (!err)
		err = xvtrace_reader_from(r, of->choice.wall_from_ns, XVTRACE_WALL);
	if (!err)
		err = xvtrace_reader_watch(r, of->watch.flag, of->watch.call ? watch : NULL,
					   &watched);
	while (!err && h->waiting && (got = xvtrace_next(r, &ev)) > 0)
		if (ev->ring && ev->ring->number < h->ring_count)
			err = take(h, ev, by_wall ? UINT64_MAX : of->choice.to_ns);
	xvtrace_reader_free(r);
	if (watched.stopped && of->last == 1)
		of->last = 0; /* its reading has ended, too */
	return err ? err : got < 0 ? got : 0;
}

int xvtrace_holes_new(struct xvtrace_holes **out, struct xvtrace_reader *r)
{
	struct xvtrace_holes *h = calloc(1, sizeof(*h));
	int err;

	*out = NULL;
	if (!h)
		return -ENOMEM;
	h->ring_count = r->trace->ring_count;
	h->rings = calloc((size_t)h->ring_count + 1, sizeof(*h->rings));
	err = h->rings ? xvt_reader_begin(r) : -ENOMEM;
	for (size_t i = 0; i < r->several.count && !err; i++)
		err = ask_counters(h, r->several.members[i]);
	if (!err && !r->several.members)
		err = ask_counters(h, r);
	if (!err)
		err = ask_notes(h, r->trace);
	if (!err && h->waiting)
		err = read_all(h, r);
	if (err) {
		xvtrace_holes_free(h);
		return err;
	}
	*out = h;
	return 0;
}

void xvtrace_holes_free(struct xvtrace_holes *h)
{
	if (!h)
		return;
	for (unsigned int i = 0; h->rings && i < h->ring_count; i++)
		free(h->rings[i].v);
	free(h->rings);
	free(h);
}

/* -- what is asked --------------------------------------------------------------------- */

static uint64_t earliest(uint64_t ns, uint64_t bound_ns)
{
	return ns > bound_ns ? ns - bound_ns : 0;
}

static uint64_t latest(uint64_t ns, uint64_t bound_ns)
{
	return ns + bound_ns < ns ? UINT64_MAX : ns + bound_ns;
}

/* Records of one ring have their order without a clock. */
static bool is_before(const struct xvtrace_hole *hole, const struct xvtrace_point *from)
{
	return hole->ring == from->ring ? hole->end_ns <= from->ns
					: latest(hole->end_ns, hole->end_bound_ns) <=
						  earliest(from->ns, from->bound_ns);
}

static bool is_behind(const struct xvtrace_hole *hole, const struct xvtrace_point *to)
{
	return hole->ring == to->ring ? hole->begin_ns >= to->ns
				      : earliest(hole->begin_ns, hole->begin_bound_ns) >=
						latest(to->ns, to->bound_ns);
}

static const struct xvtrace_hole *first_of(const struct ring_holes *r,
					   const struct xvtrace_point *from,
					   const struct xvtrace_point *to)
{
	const uint64_t end_ns = earliest(earliest(from->ns, from->bound_ns), r->bound_most_ns);
	const uint64_t begin_ns = latest(latest(to->ns, to->bound_ns), r->bound_most_ns);
	/* Those before it end earlier than anything that may matter. */
	size_t i = end_ns ? XVT_COUNT_TO(r->v, r->count, end_ns, end_ns - 1) : 0;

	for (; i < r->count && r->v[i].begin_ns <= begin_ns; i++)
		if (!is_before(&r->v[i], from) && !is_behind(&r->v[i], to))
			return &r->v[i];
	return NULL;
}

const struct xvtrace_hole *xvtrace_hole_between(const struct xvtrace_holes *h,
						const struct xvtrace_machine *machine,
						const struct xvtrace_ring *ring,
						const struct xvtrace_point *from,
						const struct xvtrace_point *to)
{
	const struct xvtrace_hole *first = NULL, *hole;

	if (!h->count)
		return NULL;
	if (ring)
		return first_of(&h->rings[ring->number], from, to);
	for (unsigned int i = 0; i < h->ring_count; i++) {
		const struct ring_holes *r = &h->rings[i];

		if (!r->count || r->v[0].ring->machine != machine)
			continue;
		hole = first_of(r, from, to);
		if (hole && (!first || hole->begin_ns < first->begin_ns))
			first = hole;
	}
	return first;
}
