// SPDX-License-Identifier: GPL-2.0
/* counting.c - see counting.h. */
#include "lib/counting.h"

#include <errno.h>
#include <stdlib.h>

#include "base/u64.h"
#include "trace/note.h"
#include "trace/set.h"

/* -- events and notes ----------------------------------------------------------------- */

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

/* The part's first events of the lane are known: place them, to know where the lane is. */
static void place_held(struct xvt_counting *c, uint32_t ring, bool late)
{
	struct xvt_counting_held *held = &c->held[ring][late];

	for (uint32_t i = 0; i < held->count; i++) {
		uint64_t ns = xvt_bound_by_time_ns(c->bounds, &held->first[i]);

		xvt_reclock_place_ns(c->reclock, &held->first[i], &ns);
	}
	held->behind = xvt_reclock_lane(c->reclock, ring, late);
	/* The next event goes on with none that was counted. */
	xvt_reclock_lane_set(c->reclock, ring, late, &held->behind);
}

/* Returns whether the event is to be counted in the part: it is not of the first ones of its lane,
 * which are held. */
static __attribute__((noinline)) bool is_behind_held(struct xvt_counting *c, uint32_t ring,
						     const struct xvt_event_hdr *h)
{
	const bool late = h->ring_flags & XVT_EVENT_F_LATE;
	struct xvt_counting_held *held = &c->held[ring][late];

	if (held->count == XVT_COUNTING_HELD)
		return true;
	held->first[held->count++] = *h;
	if (held->count == XVT_COUNTING_HELD)
		place_held(c, ring, late);
	return false;
}

/* Returns 0 or -ENOMEM. */
xvt_inline int add_time(struct xvt_counting *c, uint32_t ring, const struct xvt_event_hdr *h)
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
	if (xvt_unlikely(c->held) && !is_behind_held(c, ring, h))
		return 0;
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

/* Counts an event that is earlier than the one before it in its order; LATE has none. */
xvt_inline void check_order(struct xvt_counting *c, struct xvt_counting_order *o,
			    const struct xvt_event_hdr *h)
{
	if (h->ring_flags & XVT_EVENT_F_LATE)
		return;
	c->order_violations += h->host_ns < o->last_ns;
	o->last_ns = h->host_ns;
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

xvt_inline void add_nameless(struct xvt_counting *c, const struct xvt_event *ev)
{
	if (!xvt_is_nameless(xvt_decoder_of(&c->ds, ev), ev))
		return;
	c->machines[xvt_counting_machine(c, xvt_event_ring(ev))].nameless++;
	c->nameless++;
}

/* Returns 0 or -ENOMEM. */
xvt_inline int add_event(struct xvt_counting *c, const struct xvt_event *ev, bool loose)
{
	const struct xvt_event_hdr *h = ev->hdr;
	uint32_t ring = h->ring_flags & XVT_EVENT_RING_MASK;
	struct xvt_counting_ring *r;

	ring = ring < c->ring_count ? ring : c->ring_count;
	r = &c->rings[ring];
	check_order(c, loose ? &r->loose : &c->main, h);
	if (!xvt_count_record(&r->pub.counts, &r->recorded, h, ev->payload))
		return 0;
	if (h->id == XVT_ID_FTRACE)
		add_nameless(c, ev);
	return add_time(c, ring, h);
}

/* The same of an event that is in a LOOSE chunk, which has an order for each ring, or may be the
 * first one of the main lane. */
static __attribute__((noinline)) int add_unusual(struct xvt_counting *c, const struct xvt_event *ev,
						 bool loose)
{
	const uint32_t ring = xvt_event_ring(ev);
	struct xvt_counting_order *o = &c->main;

	if (loose)
		o = &c->rings[ring < c->ring_count ? ring : c->ring_count].loose;
	if (!o->any && !(ev->hdr->ring_flags & XVT_EVENT_F_LATE)) {
		o->any = true;
		o->first_ns = c->is_anew ? UINT64_MAX : ev->hdr->host_ns;
	}
	return add_event(c, ev, loose);
}

static int add_events(struct xvt_counting *c, const struct xvt_chunk_buf *b,
		      const struct xvt_chunk_ref *ref)
{
	const bool loose = ref->type == XVT_CHUNK_LOOSE;
	struct xvt_event ev;
	int got = xvt_events_begin(&c->it, &c->raws.base, b, ref->seq), err = 0;

	if (got)
		return got;
	if (loose || !c->main.any) {
		while (!err && (got = xvt_events_next(&c->it, &ev)) > 0)
			err = add_unusual(c, &ev, loose);
		return err ? err : got;
	}
	while (!err && (got = xvt_events_next(&c->it, &ev)) > 0)
		err = add_event(c, &ev, false);
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
static void begin_file(struct xvt_counting *c, size_t file)
{
	if (file == c->file)
		return;
	c->file = file;
	if (xvt_set_goes_on(c->t, file))
		return;
	c->is_anew = true;
	c->main.last_ns = 0;
	for (uint32_t i = 0; i <= c->ring_count; i++)
		c->rings[i].loose.last_ns = 0;
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

/* Returns 0, -EBADMSG if the rest of the chunk is damaged, which was noted, or another -errno. */
static int take_chunk(struct xvt_counting *c, size_t chunk, const struct xvt_chunk_buf *b)
{
	const struct xvt_chunk_ref *ref = &c->t->chunks[chunk];
	int err;

	if (ref->type == XVT_CHUNK_NOTE) {
		add_note(c, b);
		return 0;
	}
	begin_file(c, xvt_set_part(c->t, chunk));
	err = add_events(c, b, ref);
	if (err == -EBADMSG)
		xvt_trace_note_damage(c->t, ref->offset, ref->len,
				      "an event reaches past its chunk");
	return err;
}

int xvt_counting_walk(struct xvt_counting *c, uint32_t types, size_t begin, size_t end)
{
	struct xvt_chunk_buf b = { 0 };
	int err = 0;

	for (size_t i = begin; i < end && !err; i++) {
		const uint16_t type = c->t->chunks[i].type;

		if (type > 31 || !(types >> type & 1))
			continue;
		err = xvt_trace_load(c->t, i, &b);
		if (!err)
			err = take_chunk(c, i, &b);
		if (err == -EBADMSG)
			err = 0;
	}
	for (uint32_t i = 0; i < c->ring_count && !err; i++)
		err = end_run(c, i);
	xvt_events_end(&c->it);
	xvt_chunk_buf_free(&b);
	return err;
}

int xvt_counting_begin(struct xvt_counting *c, unsigned int flags)
{
	int err = xvt_decoders_new(&c->ds, c->t);

	if (!err)
		err = xvt_named_lend(c->trace->named, &c->ds);
	if (!err && flags & XVTRACE_RECLOCK)
		err = xvt_reclock_new(&c->reclock, c->t);
	xvt_trace_raws_init(&c->raws, c->t);
	return err;
}

/* -- a part --------------------------------------------------------------------------- */

int xvt_counting_is_part(struct xvt_counting *c, size_t begin)
{
	while (begin-- > 0)
		if (xvt_chunk_of_events(c->t->chunks[begin].type)) {
			c->file = xvt_set_part(c->t, begin);
			break;
		}
	if (!c->reclock)
		return 0;
	c->held = calloc((size_t)c->ring_count + 1, sizeof(*c->held));
	return c->held ? 0 : -ENOMEM;
}

/* Count the events that the part held. Returns 0, -EAGAIN if its lane then is not where the part
 * has it, or -ENOMEM. */
static int add_held(struct xvt_counting *c, const struct xvt_counting *next, uint32_t ring,
		    bool late)
{
	const struct xvt_counting_held *held = &next->held[ring][late];
	struct xvt_reclock_place at;
	int err = 0;

	for (uint32_t i = 0; i < held->count && !err; i++)
		err = add_time(c, ring, &held->first[i]);
	if (err || held->count < XVT_COUNTING_HELD)
		return err;
	at = xvt_reclock_lane(c->reclock, ring, late);
	if (at.epoch != held->behind.epoch || at.rec_ns != held->behind.rec_ns ||
	    at.now_ns != held->behind.now_ns)
		return -EAGAIN;
	at = xvt_reclock_lane(next->reclock, ring, late);
	xvt_reclock_lane_set(c->reclock, ring, late, &at);
	return 0;
}

static void add_order(struct xvt_counting *c, struct xvt_counting_order *o,
		      const struct xvt_counting_order *next, bool anew)
{
	if (next->any) {
		c->order_violations += o->any && next->first_ns < o->last_ns;
		o->any = true;
		o->last_ns = next->last_ns;
	} else if (anew) {
		o->last_ns = 0;
	}
}

static void add_events_of(struct xvtrace_counts *c, const struct xvtrace_counts *next)
{
	if (!next->events)
		return;
	if (!c->events || next->first_ns < c->first_ns)
		c->first_ns = next->first_ns;
	c->last_ns = xvt_u64_larger(c->last_ns, next->last_ns);
	c->events += next->events;
	c->backlog += next->backlog;
	c->late += next->late;
	c->unconfirmed += next->unconfirmed;
	c->recovered += next->recovered;
}

static void add_lost(struct xvt_lost *l, const struct xvt_lost *next)
{
	for (int i = 0; i < XVT_LOST_CAUSES; i++)
		l->lost[i] += next->lost[i];
	l->overwritten += next->overwritten;
	l->dropped += next->dropped;
}

static int add_ring(struct xvt_counting *c, const struct xvt_counting *next, uint32_t ring)
{
	const struct xvt_counting_ring *of = &next->rings[ring];
	struct xvt_counting_ring *r = &c->rings[ring];
	int err = 0;

	add_events_of(&r->pub.counts, &of->pub.counts);
	add_lost(&r->recorded, &of->recorded);
	add_order(c, &r->loose, &of->loose, next->is_anew);
	r->bound_ns_max = xvt_u64_larger(r->bound_ns_max, of->bound_ns_max);
	r->guess_ns_max = xvt_u64_larger(r->guess_ns_max, of->guess_ns_max);
	if (!next->reclock || ring == c->ring_count)
		return 0;
	for (int late = 0; late < 2 && !err; late++)
		err = add_held(c, next, ring, late);
	return err ? err : end_run(c, ring);
}

int xvt_counting_add_spread(struct xvt_spread *to, const struct xvt_spread *of)
{
	const uint64_t largest = xvt_u64_larger(to->largest, of->largest);
	int err = 0;

	for (size_t i = 0; i < of->bucket_count && !err; i++)
		err = xvt_spread_add(to, of->buckets[i].most, of->buckets[i].count);
	to->largest = largest;
	return err;
}

int xvt_counting_add(struct xvt_counting *c, const struct xvt_counting *next)
{
	int err = 0;

	c->nameless += next->nameless;
	c->order_violations += next->order_violations;
	add_order(c, &c->main, &next->main, next->is_anew);
	for (uint32_t i = 0; i <= c->ring_count && !err; i++)
		err = add_ring(c, next, i);
	for (uint32_t i = 0; i <= c->machine_count && !err; i++) {
		c->machines[i].unbounded += next->machines[i].unbounded;
		c->machines[i].nameless += next->machines[i].nameless;
		err = xvt_counting_add_spread(&c->spreads[i], &next->spreads[i]);
	}
	return err;
}

/* -- the tables ----------------------------------------------------------------------- */

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
	if (c->raws.t)
		xvt_trace_raws_fini(&c->raws);
	free(c->held);
	c->bounds = NULL;
	c->reclock = NULL;
	c->held = NULL;
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
