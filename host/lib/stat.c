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
#include "lib/counting.h"
#include "trace/names.h"

struct stat {
	struct xvtrace_stat pub;
	struct xvt_counting c;
	const struct xvtrace *trace;
	struct xvtrace_stat **members; /* of several traces: theirs */
};

static struct stat *stat_of(const struct xvtrace_stat *stat)
{
	return (struct stat *)stat;
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

static void conclude_clock(struct xvt_counting_ring *r, const struct xvt_bound_ring *b)
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
	for (uint32_t i = 0; i < s->c.machine_count; i++) {
		struct xvtrace_machine_stat *m = &s->c.machines[i];
		const struct xvt_spread *spread = &s->c.spreads[i];

		m->bound_ns_median = spread->count ? xvt_spread_median(spread) : XVTRACE_NO_BOUND;
		m->bound_ns_max = spread->count ? xvt_u64_larger(m->bound_ns_max, spread->largest)
						: XVTRACE_NO_BOUND;
	}
}

static void conclude(struct stat *s, bool reclocked)
{
	static const struct xvt_bound_ring unknown;
	bool clocked = false;

	s->pub.nameless = s->c.nameless;
	s->pub.order_violations = s->c.order_violations;
	for (int i = 0; i < 3; i++)
		s->pub.notes[i] = s->c.notes[i];
	for (uint32_t i = 0; i <= s->c.ring_count; i++) {
		const struct xvt_bound_ring *b =
			i < s->c.ring_count ? &s->c.bounds->rings[i] : &unknown;
		struct xvt_counting_ring *r = &s->c.rings[i];

		r->pub.paused_ns = b->last.paused_ns;
		r->pub.clock_violations = b->last.clock_violations;
		r->pub.bad_bytes = b->last.bad_bytes;
		xvt_conclude_counts(s->c.t, &r->pub.counts, &r->recorded, b);
		conclude_clock(r, b);
		add_counts(&s->pub.counts, &r->pub.counts);
		clocked |= r->pub.clocked && r->pub.counts.events;
	}
	/* Rings without a clock have no host time. If there are no others, as after salvage, use
	 * the guest's own times. */
	for (uint32_t i = 0; i <= s->c.ring_count; i++)
		if (s->c.rings[i].pub.clocked || !clocked)
			add_times(&s->pub.counts, &s->c.rings[i].pub.counts);
	for (uint32_t i = 0; i < s->c.ring_count; i++) {
		struct xvtrace_machine_stat *m = &s->c.machines[xvt_counting_machine(&s->c, i)];

		if (!xvt_lib_ring(s->trace, i))
			continue;
		add_counts(&m->counts, &s->c.rings[i].pub.counts);
		add_times(&m->counts, &s->c.rings[i].pub.counts);
		m->paused_ns = xvt_u64_larger(m->paused_ns, s->c.rings[i].pub.paused_ns);
		if (!reclocked)
			conclude_bound(m, &s->c.rings[i].pub);
	}
	conclude_spreads(s);
}

/* -- of several traces -------------------------------------------------------------- */

/* Adds what a member says of a machine. Returns 0 or -ENOMEM. */
static int add_machine(struct stat *s, uint32_t machine, const struct stat *of, uint32_t number)
{
	const struct xvtrace_machine_stat *m = &of->c.machines[number];
	struct xvtrace_machine_stat *to = &s->c.machines[machine];

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
	if (of->c.spreads[number].count)
		to->bound_ns_max = xvt_u64_larger(to->bound_ns_max, m->bound_ns_max);
	return xvt_counting_add_spread(&s->c.spreads[machine], &of->c.spreads[number]);
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
	for (uint32_t i = 0; i <= of->c.machine_count && !err; i++)
		err = add_machine(s, of->trace->in_whole[i], of, i);
	return err;
}

static int stat_several(struct stat *s, struct xvtrace *whole, unsigned int flags,
			const struct xvtrace_threads *threads)
{
	int err = 0;

	s->members = calloc(whole->member_count, sizeof(struct xvtrace_stat *));
	if (!s->members)
		return -ENOMEM;
	for (size_t i = 0; i < whole->member_count && !err; i++) {
		err = xvtrace_stat_new_by(&s->members[i], whole->members[i], flags, threads);
		if (!err)
			err = add_member(s, stat_of(s->members[i]));
	}
	if (!err)
		conclude_spreads(s);
	return err;
}

/* -- the face ----------------------------------------------------------------------- */

/* Counts one trace. */
static int count(struct stat *s, struct xvtrace *trace, unsigned int flags,
		 const struct xvtrace_threads *threads)
{
	int err = xvt_bounds_new(&s->c.bounds, s->c.t), counted = 0;

	if (!err) {
		counted = xvt_counting_by_parts(&s->c, flags, trace, threads);
		err = counted < 0 ? counted : 0;
	}
	if (!err && !counted)
		err = xvt_counting_begin(&s->c, flags);
	if (!err && !counted)
		err = xvt_counting_walk(&s->c, XVT_COUNTING_EVENTS | XVT_COUNTING_NOTES, 0,
					s->c.t->chunk_count);
	if (!err)
		err = xvt_trace_check_rest(s->c.t);
	if (!err)
		conclude(s, flags & XVTRACE_RECLOCK);
	xvt_counting_close(&s->c);
	return err;
}

int xvtrace_stat_new_by(struct xvtrace_stat **out, struct xvtrace *trace, unsigned int flags,
			const struct xvtrace_threads *threads)
{
	struct stat *s = calloc(1, sizeof(*s));
	int err;

	*out = NULL;
	if (!s)
		return -ENOMEM;
	s->trace = trace;
	err = xvt_counting_init(&s->c, trace);
	if (!err)
		err = trace->part ? -EINVAL : 0;
	if (!err)
		err = trace->members ? stat_several(s, trace, flags, threads)
				     : count(s, trace, flags, threads);
	if (err) {
		xvtrace_stat_free(&s->pub);
		return err;
	}
	*out = &s->pub;
	return 0;
}

int xvtrace_stat_new(struct xvtrace_stat **out, struct xvtrace *trace, unsigned int flags)
{
	return xvtrace_stat_new_by(out, trace, flags, NULL);
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
	xvt_counting_fini(&s->c);
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
	return !s->members && xvt_lib_ring(s->trace, ring) ? &s->c.rings[ring].pub : NULL;
}

const struct xvtrace_machine_stat *xvtrace_stat_machine(const struct xvtrace_stat *stat,
							unsigned int machine)
{
	const struct stat *s = stat_of(stat);

	return xvtrace_machine(s->trace, machine) ? &s->c.machines[machine] : NULL;
}
