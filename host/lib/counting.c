// SPDX-License-Identifier: GPL-2.0
/* counting.c - see counting.h. */
#include "lib/counting.h"

#include <errno.h>
#include <stdlib.h>

#include "base/u64.h"
#include "trace/note.h"
#include "trace/set.h"

/* Count the run of events of a ring that have the same bound. Returns 0 or -ENOMEM. */
static int end_run(struct xvt_counting *c, uint32_t ring)
{
	const struct xvtrace_ring *of = xvt_lib_ring(c->trace, ring);
	struct xvt_counting_ring *r = &c->rings[ring];
	uint64_t count = r->run;

	r->run = 0;
	if (!of || !count)
		return 0;
	if (r->run_ns < XVTRACE_NO_BOUND)
		return xvt_spread_add(&c->spreads[xvt_counting_machine(c, ring)], r->run_ns, count);
	c->machines[xvt_counting_machine(c, ring)].unbounded += count;
	return 0;
}

/* Returns 0 or -ENOMEM. */
static int add_time(struct xvt_counting *c, uint32_t ring, const struct xvt_event_hdr *h)
{
	struct xvt_counting_ring *r = &c->rings[ring];
	uint64_t ns;
	int err;

	if (ring >= c->ring_count)
		return 0;
	if (c->reclock && xvt_likely(xvt_reclock_goes_on(c->reclock, h))) {
		r->run++;
		return 0;
	}
	ns = xvt_bound_by_time_ns(c->bounds, h);
	if (!(h->ring_flags & XVT_EVENT_F_UNCONFIRMED)) {
		if (ns < XVTRACE_NO_BOUND)
			r->bound_ns_max = xvt_u64_larger(r->bound_ns_max, ns);
	} else if (!(h->ring_flags & XVT_EVENT_F_CLOCK)) {
		r->guess_ns_max = xvt_u64_larger(r->guess_ns_max, ns);
	}
	if (c->reclock)
		xvt_reclock_place_ns(c->reclock, h, &ns);
	if (xvt_likely(ns == r->run_ns)) {
		r->run++;
		return 0;
	}
	err = end_run(c, ring);
	r->run_ns = ns;
	r->run = 1;
	return err;
}

/* Counts an event that is earlier than the one before it in its lane; LATE has no order, and LOOSE
 * one for each ring. */
static void check_order(struct xvt_counting *c, struct xvt_counting_ring *r,
			const struct xvt_event_hdr *h, bool loose)
{
	uint64_t *last_ns = loose ? &r->last_loose_ns : &c->last_main_ns;

	if (h->ring_flags & XVT_EVENT_F_LATE)
		return;
	c->order_violations += h->host_ns < *last_ns;
	*last_ns = h->host_ns;
}

bool xvt_count_record(struct xvtrace_counts *c, struct xvt_lost *recorded,
		      const struct xvt_event_hdr *h, const uint8_t *payload)
{
	const uint32_t f = h->ring_flags;

	if (xvt_unlikely(!xvt_is_event(h))) {
		struct xvt_lost lost;

		if (h->id != XVT_ID_LOST || !xvt_lost_get(h, payload, &lost))
			return false;
		for (int i = 0; i < XVT_LOST_CAUSES; i++)
			recorded->lost[i] += lost.lost[i];
		recorded->overwritten += lost.overwritten;
		recorded->dropped += lost.dropped;
		return false;
	}
	if (!c->events || h->host_ns < c->first_ns)
		c->first_ns = h->host_ns;
	if (h->host_ns > c->last_ns)
		c->last_ns = h->host_ns;
	c->events++;
	if (xvt_likely(!(f & ~XVT_EVENT_RING_MASK)))
		return true;
	/* Events from before the attach may be out of order: do not count them as late. */
	if (f & XVT_EVENT_F_BACKLOG)
		c->backlog++;
	else if (f & XVT_EVENT_F_LATE)
		c->late++;
	c->unconfirmed += !!(f & XVT_EVENT_F_UNCONFIRMED);
	c->recovered += !!(f & XVT_EVENT_F_RECOVERED);
	return true;
}

static void add_nameless(struct xvt_counting *c, const struct xvt_event *ev)
{
	if (!xvt_is_nameless(xvt_decoder_of(&c->ds, ev), ev))
		return;
	c->machines[xvt_counting_machine(c, xvt_event_ring(ev))].nameless++;
	c->nameless++;
}

/* Returns 0 or -ENOMEM. */
static int add_event(struct xvt_counting *c, const struct xvt_event *ev, bool loose)
{
	const struct xvt_event_hdr *h = ev->hdr;
	uint32_t ring = h->ring_flags & XVT_EVENT_RING_MASK;
	struct xvt_counting_ring *r;

	ring = ring < c->ring_count ? ring : c->ring_count;
	r = &c->rings[ring];
	check_order(c, r, h, loose);
	if (!xvt_count_record(&r->pub.counts, &r->recorded, h, ev->payload))
		return 0;
	if (h->id == XVT_ID_FTRACE)
		add_nameless(c, ev);
	return add_time(c, ring, h);
}

static int add_events(struct xvt_counting *c, const struct xvt_chunk_buf *b,
		      const struct xvt_chunk_ref *ref)
{
	struct xvt_event ev;
	int got = xvt_events_begin(&c->it, &c->raws.base, b, ref->seq), err = 0;

	if (got)
		return got;
	while (!err && (got = xvt_events_next(&c->it, &ev)) > 0)
		err = add_event(c, &ev, ref->type == XVT_CHUNK_LOOSE);
	return err ? err : got;
}

static void add_state(struct xvt_counting *c, const struct xvt_note_parts *p)
{
	const uint32_t vm = p->note.vm, kind = p->note.kind;
	struct xvtrace_machine_stat *m = &c->machines[vm];
	const bool begins = kind == XVT_NOTE_PAUSED;

	/* The note of the begin may be missing: notes are limited. */
	if (!c->paused[vm] && (begins || (kind == XVT_NOTE_RUNS && p->state.since_ns)))
		m->pauses++;
	if (kind == XVT_NOTE_ENDED || kind == XVT_NOTE_CRASHED) {
		m->ended_ns = p->state.at_ns;
		m->panicked |= kind == XVT_NOTE_CRASHED;
	} else if (begins || kind == XVT_NOTE_RUNS || kind == XVT_NOTE_RESET) {
		m->ended_ns = 0;
		m->panicked &= begins;
	}
	if (begins || kind == XVT_NOTE_RUNS || xvt_note_is_end(kind))
		c->paused[vm] = begins;
}

/*
 * The next chunk is of that file of a set. A recorder that begins anew, after one that was killed,
 * takes what was left in the rings, which may be older than what that one has in its last file.
 */
static void begin_part(struct xvt_counting *c, size_t part)
{
	if (part == c->part)
		return;
	c->part = part;
	if (xvt_set_goes_on(c->t, part))
		return;
	c->last_main_ns = 0;
	for (uint32_t i = 0; i <= c->ring_count; i++)
		c->rings[i].last_loose_ns = 0;
}

static void add_note(struct xvt_counting *c, const struct xvt_chunk_buf *b)
{
	struct xvt_note_parts p;

	if (!xvt_note_get(b, &p))
		return;
	c->notes[p.note.level < 3 ? p.note.level : 2]++;
	if (p.note.vm < c->machine_count)
		add_state(c, &p);
}

static int walk(struct xvt_counting *c)
{
	const uint32_t types = 1u << XVT_CHUNK_ORDER | 1u << XVT_CHUNK_LATE |
			       1u << XVT_CHUNK_LOOSE | 1u << XVT_CHUNK_NOTE;
	struct xvt_chunk_buf b = { 0 };
	int err = 0, more;

	xvt_trace_raws_init(&c->raws, c->t);
	for (size_t i = 0; !err && (more = xvt_trace_next(c->t, types, &i, &b)); i++) {
		struct xvt_chunk_ref *ref = &c->t->chunks[i];

		if (more < 0) {
			err = more;
		} else if (ref->type == XVT_CHUNK_NOTE) {
			add_note(c, &b);
		} else {
			begin_part(c, xvt_set_part(c->t, i));
			err = add_events(c, &b, ref);
			if (err == -EBADMSG)
				xvt_trace_note_damage(c->t, ref->offset, ref->len,
						      "an event reaches past its chunk");
		}
		if (err == -EBADMSG)
			err = 0;
	}
	for (uint32_t i = 0; i < c->ring_count && !err; i++)
		err = end_run(c, i);
	xvt_events_end(&c->it);
	xvt_trace_raws_fini(&c->raws);
	xvt_chunk_buf_free(&b);
	return err;
}

int xvt_counting_all(struct xvt_counting *c, unsigned int flags)
{
	int err = xvt_decoders_new(&c->ds, c->t);

	if (!err && flags & XVTRACE_RECLOCK)
		err = xvt_reclock_new(&c->reclock, c->t);
	return err ? err : walk(c);
}

int xvt_counting_init(struct xvt_counting *c, const struct xvtrace *trace)
{
	*c = (struct xvt_counting){
		.trace = trace,
		.t = trace->t,
		.ring_count = trace->ring_count,
		.machine_count = trace->machine_count,
	};
	c->rings = calloc((size_t)c->ring_count + 1, sizeof(*c->rings));
	c->machines = calloc((size_t)c->machine_count + 1, sizeof(*c->machines));
	c->spreads = calloc((size_t)c->machine_count + 1, sizeof(*c->spreads));
	c->paused = calloc((size_t)c->machine_count + 1, sizeof(*c->paused));
	return c->rings && c->machines && c->spreads && c->paused ? 0 : -ENOMEM;
}

void xvt_counting_close(struct xvt_counting *c)
{
	xvt_bounds_free(c->bounds);
	xvt_reclock_free(c->reclock);
	xvt_decoders_fini(&c->ds);
	c->bounds = NULL;
	c->reclock = NULL;
}

void xvt_counting_fini(struct xvt_counting *c)
{
	xvt_counting_close(c);
	for (uint32_t i = 0; c->spreads && i <= c->machine_count; i++)
		xvt_spread_free(&c->spreads[i]);
	free(c->spreads);
	free(c->paused);
	free(c->rings);
	free(c->machines);
}
