// SPDX-License-Identifier: GPL-2.0
/*
 * stat.c - counts of a trace; see xvtrace.h. Events and flags are counted in the events. Attempted,
 * lost and clocks come from the last STATS of the recorder. A trace without an end has old STATS,
 * so newer values are derived from the events.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/u64.h"
#include "lib/parts.h"
#include "trace/names.h"
#include "trace/note.h"
#include "trace/set.h"

struct ring {
	struct xvtrace_ring_stat pub;
	struct xvt_lost recorded; /* sums of the LOST records */
	uint64_t bound_ns_max;	  /* largest bound of an event */
	uint64_t guess_ns_max;	  /* the same of unconfirmed events */
	uint64_t run;		  /* number of the last events whose bound is run_ns */
	uint64_t run_ns;
	uint64_t last_loose_ns; /* time of the newest event in a LOOSE chunk */
};

struct stat {
	struct xvtrace_stat pub;
	struct xvt_trace *t;
	struct xvt_bounds *bounds;
	struct xvt_reclock *reclock; /* with XVTRACE_RECLOCK, else NULL */
	struct ring *rings;	     /* by ring; the last is for events of unknown rings */
	struct xvtrace_machine_stat *machines;
	struct xvt_spread *spreads; /* of the events' bounds, by machine */
	bool *paused;		    /* by machine: by the notes so far */
	uint32_t ring_count;
	uint32_t machine_count;
	const struct xvtrace *trace;
	struct xvt_decoders ds;
	uint64_t last_main_ns;
	size_t part; /* of a set: the file of the last events */
	struct xvt_events_iter it;
	struct xvt_trace_raws raws;
	struct xvtrace_stat **members; /* of several traces: theirs */
};

static struct stat *stat_of(const struct xvtrace_stat *stat)
{
	return (struct stat *)stat;
}

/* The number in the file of a ring's machine. */
static uint32_t machine_of(const struct stat *s, uint32_t ring)
{
	const uint32_t vm = xvt_ring_vm(s->t, ring);

	return vm < s->machine_count ? vm : s->machine_count;
}

XVT_ASSERT((int)XVTRACE_LOST_RETRY == (int)XVT_LOST_RETRY &&
		   (int)XVTRACE_LOST_OVERWRITTEN == (int)XVT_LOST_CAUSES,
	   "causes of the ring come first");

const char *xvtrace_cause_name(unsigned int cause)
{
	if (cause < XVT_LOST_CAUSES)
		return xvt_lost_name(cause);
	if (cause == XVTRACE_LOST_OVERWRITTEN)
		return "overwritten";
	if (cause == XVTRACE_LOST_DROPPED)
		return "dropped";
	return cause == XVTRACE_LOST_DAMAGED ? "damaged" : NULL;
}

const char *xvtrace_source_name(unsigned int source)
{
	return source < XVT_CLOCK_SOURCES ? xvt_clock_source_name(source) : NULL;
}

/* -- counting ----------------------------------------------------------------------- */

/* Count the run of events of a ring that have the same bound. Returns 0 or -ENOMEM. */
static int end_run(struct stat *s, uint32_t ring)
{
	const struct xvtrace_ring *of = xvt_lib_ring(s->trace, ring);
	struct ring *r = &s->rings[ring];
	uint64_t count = r->run;

	r->run = 0;
	if (!of || !count)
		return 0;
	if (r->run_ns < XVTRACE_NO_BOUND)
		return xvt_spread_add(&s->spreads[machine_of(s, ring)], r->run_ns, count);
	s->machines[machine_of(s, ring)].unbounded += count;
	return 0;
}

/* Returns 0 or -ENOMEM. */
static int add_time(struct stat *s, uint32_t ring, const struct xvt_event_hdr *h)
{
	struct ring *r = &s->rings[ring];
	uint64_t ns;
	int err;

	if (ring >= s->ring_count)
		return 0;
	if (s->reclock && xvt_likely(xvt_reclock_goes_on(s->reclock, h))) {
		r->run++;
		return 0;
	}
	ns = xvt_bound_by_time_ns(s->bounds, h);
	if (!(h->ring_flags & XVT_EVENT_F_UNCONFIRMED)) {
		if (ns < XVTRACE_NO_BOUND)
			r->bound_ns_max = xvt_u64_larger(r->bound_ns_max, ns);
	} else if (!(h->ring_flags & XVT_EVENT_F_CLOCK)) {
		r->guess_ns_max = xvt_u64_larger(r->guess_ns_max, ns);
	}
	if (s->reclock)
		xvt_reclock_place_ns(s->reclock, h, &ns);
	if (xvt_likely(ns == r->run_ns)) {
		r->run++;
		return 0;
	}
	err = end_run(s, ring);
	r->run_ns = ns;
	r->run = 1;
	return err;
}

/* Counts an event that is earlier than the one before it in its lane; LATE has no order, and LOOSE
 * one for each ring. */
static void check_order(struct stat *s, struct ring *r, const struct xvt_event_hdr *h, bool loose)
{
	uint64_t *last_ns = loose ? &r->last_loose_ns : &s->last_main_ns;

	if (h->ring_flags & XVT_EVENT_F_LATE)
		return;
	s->pub.order_violations += h->host_ns < *last_ns;
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

static void add_nameless(struct stat *s, const struct xvt_event *ev)
{
	if (!xvt_is_nameless(xvt_decoder_of(&s->ds, ev), ev))
		return;
	s->machines[machine_of(s, xvt_event_ring(ev))].nameless++;
	s->pub.nameless++;
}

/* Returns 0 or -ENOMEM. */
static int add_event(struct stat *s, const struct xvt_event *ev, bool loose)
{
	const struct xvt_event_hdr *h = ev->hdr;
	uint32_t ring = h->ring_flags & XVT_EVENT_RING_MASK;
	struct ring *r;

	ring = ring < s->ring_count ? ring : s->ring_count;
	r = &s->rings[ring];
	check_order(s, r, h, loose);
	if (!xvt_count_record(&r->pub.counts, &r->recorded, h, ev->payload))
		return 0;
	if (h->id == XVT_ID_FTRACE)
		add_nameless(s, ev);
	return add_time(s, ring, h);
}

static int add_events(struct stat *s, const struct xvt_chunk_buf *b,
		      const struct xvt_chunk_ref *ref)
{
	struct xvt_event ev;
	int got = xvt_events_begin(&s->it, &s->raws.base, b, ref->seq), err = 0;

	if (got)
		return got;
	while (!err && (got = xvt_events_next(&s->it, &ev)) > 0)
		err = add_event(s, &ev, ref->type == XVT_CHUNK_LOOSE);
	return err ? err : got;
}

static void add_state(struct stat *s, const struct xvt_note_parts *p)
{
	const uint32_t vm = p->note.vm, kind = p->note.kind;
	struct xvtrace_machine_stat *m = &s->machines[vm];
	const bool begins = kind == XVT_NOTE_PAUSED;

	/* The note of the begin may be missing: notes are limited. */
	if (!s->paused[vm] && (begins || (kind == XVT_NOTE_RUNS && p->state.since_ns)))
		m->pauses++;
	if (kind == XVT_NOTE_ENDED || kind == XVT_NOTE_CRASHED) {
		m->ended_ns = p->state.at_ns;
		m->panicked |= kind == XVT_NOTE_CRASHED;
	} else if (begins || kind == XVT_NOTE_RUNS || kind == XVT_NOTE_RESET) {
		m->ended_ns = 0;
		m->panicked &= begins;
	}
	if (begins || kind == XVT_NOTE_RUNS || xvt_note_is_end(kind))
		s->paused[vm] = begins;
}

/*
 * The next chunk is of that file of a set. A recorder that begins anew, after one that was killed,
 * takes what was left in the rings, which may be older than what that one has in its last file.
 */
static void begin_part(struct stat *s, size_t part)
{
	if (part == s->part)
		return;
	s->part = part;
	if (xvt_set_goes_on(s->t, part))
		return;
	s->last_main_ns = 0;
	for (uint32_t i = 0; i <= s->ring_count; i++)
		s->rings[i].last_loose_ns = 0;
}

static void add_note(struct stat *s, const struct xvt_chunk_buf *b)
{
	struct xvt_note_parts p;

	if (!xvt_note_get(b, &p))
		return;
	s->pub.notes[p.note.level < 3 ? p.note.level : 2]++;
	if (p.note.vm < s->machine_count)
		add_state(s, &p);
}

static int walk(struct stat *s)
{
	const uint32_t types = 1u << XVT_CHUNK_ORDER | 1u << XVT_CHUNK_LATE |
			       1u << XVT_CHUNK_LOOSE | 1u << XVT_CHUNK_NOTE;
	struct xvt_chunk_buf b = { 0 };
	int err = 0, more;

	xvt_trace_raws_init(&s->raws, s->t);
	for (size_t i = 0; !err && (more = xvt_trace_next(s->t, types, &i, &b)); i++) {
		struct xvt_chunk_ref *ref = &s->t->chunks[i];

		if (more < 0) {
			err = more;
		} else if (ref->type == XVT_CHUNK_NOTE) {
			add_note(s, &b);
		} else {
			begin_part(s, xvt_set_part(s->t, i));
			err = add_events(s, &b, ref);
			if (err == -EBADMSG)
				xvt_trace_note_damage(s->t, ref->offset, ref->len,
						      "an event reaches past its chunk");
		}
		if (err == -EBADMSG)
			err = 0;
	}
	for (uint32_t i = 0; i < s->ring_count && !err; i++)
		err = end_run(s, i);
	xvt_events_end(&s->it);
	xvt_trace_raws_fini(&s->raws);
	xvt_chunk_buf_free(&b);
	return err;
}

/* -- conclusions -------------------------------------------------------------------- */

/* True if the last STATS of a ring that is there is the last one that was written. */
static bool is_final(const struct xvt_trace *t)
{
	return t->ended && !t->damage_count;
}

/* A count of STATS; of a LOST record where that is newer and higher. */
static uint64_t newer(const struct xvt_trace *t, uint64_t last, uint64_t recorded)
{
	return is_final(t) ? last : xvt_u64_larger(last, recorded);
}

/* Events that were in the file when STATS was written, and cannot be read. */
static uint64_t unreadable(const struct xvt_trace *t, uint64_t written, uint64_t events)
{
	return t->damage_count && written > events ? written - events : 0;
}

void xvt_conclude_counts(const struct xvt_trace *t, struct xvtrace_counts *c,
			 const struct xvt_lost *recorded, const struct xvt_bound_ring *b)
{
	const struct xvt_ring_stats *last = &b->last;
	uint64_t known;

	c->discarded = last->discarded;
	c->overwritten_doubt = last->overwritten_doubt;
	for (int i = 0; i < XVT_LOST_CAUSES; i++)
		c->lost_by[i] = newer(t, last->lost[i], recorded->lost[i]);
	c->lost_by[XVTRACE_LOST_OVERWRITTEN] = newer(t, last->overwritten, recorded->overwritten);
	c->lost_by[XVTRACE_LOST_DROPPED] = newer(t, last->dropped, recorded->dropped);
	c->lost_by[XVTRACE_LOST_DAMAGED] = unreadable(t, last->events, c->events);
	for (int i = 0; i < XVTRACE_CAUSES_MAX; i++)
		c->lost += c->lost_by[i];
	known = c->events + c->discarded + c->lost;
	if (is_final(t) && b->has_stats) {
		c->attempted = last->attempted;
		c->in_flight = last->in_flight;
	} else {
		c->attempted = xvt_u64_larger(last->attempted, known);
		c->in_flight = c->attempted - known;
	}
}

static void conclude_clock(struct ring *r, const struct xvt_bound_ring *b)
{
	struct xvtrace_ring_stat *p = &r->pub;
	uint32_t source = b->last.source ? b->last.source : b->source;

	p->epochs = b->has_stats && b->last.epochs > b->epochs ? b->last.epochs : b->epochs;
	p->source = xvt_clock_source_name(source);
	p->rejected = b->last.rejected;
	/* The bound by the nodes; the recorder may have measured a larger one. */
	p->unconfirmed_bound_ns_max = r->guess_ns_max;
	p->bound_ns_max = xvt_u64_larger(xvt_u64_larger(b->segment_ns_max, r->bound_ns_max),
					 b->last.bound_ns_max);
	p->clocked = source != XVT_SOURCE_NONE;
	/* Without a clock the times are the guest's own, with no bound to the host's clock. */
	if (!p->clocked)
		p->bound_ns_max = XVTRACE_NO_BOUND;
}

/* Extend a range of time. */
static void add_times(struct xvtrace_counts *to, const struct xvtrace_counts *c)
{
	if (!c->events)
		return;
	if (!to->last_ns || c->first_ns < to->first_ns)
		to->first_ns = c->first_ns;
	if (c->last_ns > to->last_ns)
		to->last_ns = c->last_ns;
}

static void add_counts(struct xvtrace_counts *to, const struct xvtrace_counts *c)
{
	to->attempted += c->attempted;
	to->events += c->events;
	to->lost += c->lost;
	for (int i = 0; i < XVTRACE_CAUSES_MAX; i++)
		to->lost_by[i] += c->lost_by[i];
	to->overwritten_doubt += c->overwritten_doubt;
	to->discarded += c->discarded;
	to->late += c->late;
	to->backlog += c->backlog;
	to->unconfirmed += c->unconfirmed;
	to->recovered += c->recovered;
	to->in_flight += c->in_flight;
}

/* A machine's events are within what its rings say, if they have a bound. Guesses are counted one
 * by one. */
static void conclude_bound(struct xvtrace_machine_stat *m, const struct xvtrace_ring_stat *r)
{
	if (r->counts.events > r->counts.unconfirmed && r->bound_ns_max < XVTRACE_NO_BOUND)
		m->bound_ns_max = xvt_u64_larger(m->bound_ns_max, r->bound_ns_max);
}

static void conclude_spreads(struct stat *s)
{
	for (uint32_t i = 0; i < s->machine_count; i++) {
		struct xvtrace_machine_stat *m = &s->machines[i];
		const struct xvt_spread *spread = &s->spreads[i];

		m->bound_ns_median = spread->count ? xvt_spread_median(spread) : XVTRACE_NO_BOUND;
		m->bound_ns_max = spread->count ? xvt_u64_larger(m->bound_ns_max, spread->largest)
						: XVTRACE_NO_BOUND;
	}
}

static void conclude(struct stat *s)
{
	static const struct xvt_bound_ring unknown;
	bool clocked = false;

	for (uint32_t i = 0; i <= s->ring_count; i++) {
		const struct xvt_bound_ring *b =
			i < s->ring_count ? &s->bounds->rings[i] : &unknown;
		struct ring *r = &s->rings[i];

		r->pub.paused_ns = b->last.paused_ns;
		r->pub.clock_violations = b->last.clock_violations;
		r->pub.bad_bytes = b->last.bad_bytes;
		xvt_conclude_counts(s->t, &r->pub.counts, &r->recorded, b);
		conclude_clock(r, b);
		add_counts(&s->pub.counts, &r->pub.counts);
		clocked |= r->pub.clocked && r->pub.counts.events;
	}
	/* Rings without a clock have no host time. If there are no others, as after salvage, use
	 * the guest's own times. */
	for (uint32_t i = 0; i <= s->ring_count; i++)
		if (s->rings[i].pub.clocked || !clocked)
			add_times(&s->pub.counts, &s->rings[i].pub.counts);
	for (uint32_t i = 0; i < s->ring_count; i++) {
		struct xvtrace_machine_stat *m = &s->machines[machine_of(s, i)];

		if (!xvt_lib_ring(s->trace, i))
			continue;
		add_counts(&m->counts, &s->rings[i].pub.counts);
		add_times(&m->counts, &s->rings[i].pub.counts);
		m->paused_ns = xvt_u64_larger(m->paused_ns, s->rings[i].pub.paused_ns);
		if (!s->reclock)
			conclude_bound(m, &s->rings[i].pub);
	}
	conclude_spreads(s);
}

/* -- of several traces -------------------------------------------------------------- */

/* Returns 0 or -ENOMEM. */
static int add_spread(struct xvt_spread *to, const struct xvt_spread *of)
{
	const uint64_t largest = xvt_u64_larger(to->largest, of->largest);
	int err = 0;

	for (size_t i = 0; i < of->bucket_count && !err; i++)
		err = xvt_spread_add(to, of->buckets[i].most, of->buckets[i].count);
	to->largest = largest;
	return err;
}

/* Adds what a member says of a machine. Returns 0 or -ENOMEM. */
static int add_machine(struct stat *s, uint32_t machine, const struct stat *of, uint32_t number)
{
	const struct xvtrace_machine_stat *m = &of->machines[number];
	struct xvtrace_machine_stat *to = &s->machines[machine];

	add_counts(&to->counts, &m->counts);
	add_times(&to->counts, &m->counts);
	to->paused_ns += m->paused_ns;
	to->pauses += m->pauses;
	to->unbounded += m->unbounded;
	to->nameless += m->nameless;
	if (m->ended_ns || m->counts.events) {
		to->ended_ns = m->ended_ns;
		to->panicked = m->panicked;
	}
	if (of->spreads[number].count)
		to->bound_ns_max = xvt_u64_larger(to->bound_ns_max, m->bound_ns_max);
	return add_spread(&s->spreads[machine], &of->spreads[number]);
}

static int add_member(struct stat *s, const struct stat *of)
{
	int err = 0;

	add_counts(&s->pub.counts, &of->pub.counts);
	add_times(&s->pub.counts, &of->pub.counts);
	s->pub.order_violations += of->pub.order_violations;
	s->pub.nameless += of->pub.nameless;
	for (int i = 0; i < 3; i++)
		s->pub.notes[i] += of->pub.notes[i];
	for (uint32_t i = 0; i <= of->machine_count && !err; i++)
		err = add_machine(s, of->trace->in_whole[i], of, i);
	return err;
}

static int stat_several(struct stat *s, struct xvtrace *whole, unsigned int flags)
{
	int err = 0;

	s->members = calloc(whole->member_count, sizeof(struct xvtrace_stat *));
	if (!s->members)
		return -ENOMEM;
	for (size_t i = 0; i < whole->member_count && !err; i++) {
		err = xvtrace_stat_new(&s->members[i], whole->members[i], flags);
		if (!err)
			err = add_member(s, stat_of(s->members[i]));
	}
	if (!err)
		conclude_spreads(s);
	return err;
}

/* -- the face ----------------------------------------------------------------------- */

/* Counts one trace. */
static int count(struct stat *s, unsigned int flags)
{
	int err = xvt_bounds_new(&s->bounds, s->t);

	if (!err)
		err = xvt_decoders_new(&s->ds, s->t);
	if (!err && flags & XVTRACE_RECLOCK)
		err = xvt_reclock_new(&s->reclock, s->t);
	if (!err)
		err = walk(s);
	if (!err)
		err = xvt_trace_check_rest(s->t);
	if (!err)
		conclude(s);
	xvt_bounds_free(s->bounds);
	xvt_reclock_free(s->reclock);
	xvt_decoders_fini(&s->ds);
	s->bounds = NULL;
	s->reclock = NULL;
	return err;
}

int xvtrace_stat_new(struct xvtrace_stat **out, struct xvtrace *trace, unsigned int flags)
{
	struct stat *s = calloc(1, sizeof(*s));
	int err = -ENOMEM;

	*out = NULL;
	if (!s)
		return -ENOMEM;
	s->t = trace->t;
	s->trace = trace;
	s->ring_count = trace->ring_count;
	s->machine_count = trace->machine_count;
	s->rings = calloc((size_t)s->ring_count + 1, sizeof(*s->rings));
	s->machines = calloc((size_t)s->machine_count + 1, sizeof(*s->machines));
	s->spreads = calloc((size_t)s->machine_count + 1, sizeof(*s->spreads));
	s->paused = calloc((size_t)s->machine_count + 1, sizeof(*s->paused));
	if (s->rings && s->machines && s->spreads && s->paused)
		err = trace->part ? -EINVAL : 0;
	err = err ? err : trace->members ? stat_several(s, trace, flags) : count(s, flags);
	if (err) {
		xvtrace_stat_free(&s->pub);
		return err;
	}
	*out = &s->pub;
	return 0;
}

void xvtrace_stat_free(struct xvtrace_stat *stat)
{
	struct stat *s;

	if (!stat)
		return;
	s = stat_of(stat);
	for (size_t i = 0; s->members && i < s->trace->member_count; i++)
		xvtrace_stat_free(s->members[i]);
	free(s->members);
	for (uint32_t i = 0; s->spreads && i <= s->machine_count; i++)
		xvt_spread_free(&s->spreads[i]);
	free(s->spreads);
	free(s->paused);
	free(s->rings);
	free(s->machines);
	free(stat);
}

const struct xvtrace_ring_stat *xvtrace_stat_ring(const struct xvtrace_stat *stat,
						  unsigned int ring)
{
	const struct stat *s = stat_of(stat);

	for (size_t i = 0; s->members && i < s->trace->member_count; i++) {
		const struct xvtrace *of = s->trace->members[i];

		if (of == xvt_several_of_ring(s->trace, ring))
			return xvtrace_stat_ring(s->members[i], ring - of->first_ring);
	}
	return !s->members && xvt_lib_ring(s->trace, ring) ? &s->rings[ring].pub : NULL;
}

const struct xvtrace_machine_stat *xvtrace_stat_machine(const struct xvtrace_stat *stat,
							unsigned int machine)
{
	const struct stat *s = stat_of(stat);

	return xvtrace_machine(s->trace, machine) ? &s->machines[machine] : NULL;
}
