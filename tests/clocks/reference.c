// SPDX-License-Identifier: GPL-2.0
#include "reference.h"

#include <stdlib.h>

#define BURST_NS   60000000 /* exchanges less apart are of one burst: so long the recorder waits */
#define CLOSE_NS   1000000  /* between exchanges less apart, a clock's rate is right within */
#define CLOSE_RATE 30	    /* 1/30 */
#define WANDER	   2000000  /* between measurements it wanders by up to their distance / WANDER */

struct span {
	int64_t lo;
	int64_t hi;
};

static bool is_empty(struct span s)
{
	return s.lo > s.hi;
}

static struct span meet(struct span a, struct span b)
{
	return (struct span){ a.lo > b.lo ? a.lo : b.lo, a.hi < b.hi ? a.hi : b.hi };
}

/* The smallest span that holds both. */
static struct span join(struct span a, struct span b)
{
	if (is_empty(a))
		return b;
	if (is_empty(b))
		return a;
	return (struct span){ a.lo < b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi };
}

static const struct span nothing = { INT64_MAX, INT64_MIN };

/* (to - from) ticks in ns, by the nominal rate. */
static int64_t ticks_ns(uint64_t from, uint64_t to, double hz)
{
	return (int64_t)((long double)(int64_t)(to - from) * 1e9L / hz);
}

/* -- segments ----------------------------------------------------------------------- */

/*
 * When the clock was g, if it moved in one direction against a clock of rate hz between the samples
 * a and b, but for its wander: between the lines of that rate through a and through b.
 */
static struct span between(const struct sample *a, const struct sample *b, uint64_t g, double hz)
{
	const int64_t from_a = ticks_ns(a->guest, g, hz), from_b = ticks_ns(b->guest, g, hz);
	const int64_t wander = (b->lo - a->hi) / WANDER;
	const struct span by_a = { a->lo + from_a, a->hi + from_a };
	const struct span by_b = { b->lo + from_b, b->hi + from_b };
	const struct span all = join(by_a, by_b);

	return meet((struct span){ all.lo - wander, all.hi + wander },
		    (struct span){ a->lo, b->hi });
}

/* A TSC that should be faster is set forward at exits: it moves so against the host's rate. */
static struct span of_pair(const struct facts *f, const struct ring_facts *r, size_t i, size_t j,
			   uint64_t g)
{
	const struct sample *a = &r->samples[i], *b = &r->samples[j];
	struct span s = between(a, b, g, b->hz);

	if (r->clock_id == XVT_CLOCK_TSC && b->hz > facts_host_hz(f))
		s = join(s, between(a, b, g, facts_host_hz(f)));
	return s;
}

/* Sample k + 1 was requested right after the answer of sample k. */
static bool follows(const struct ring_facts *r, size_t k)
{
	const struct sample *a = &r->samples[k], *b = &r->samples[k + 1];

	return a->epoch == b->epoch && b->lo - a->hi < BURST_NS && b->guest >= a->guest;
}

/* The first sample of the burst of sample k. */
static size_t burst_of(const struct ring_facts *r, size_t k)
{
	while (k > 0 && follows(r, k - 1))
		k--;
	return k;
}

/* When the clock was g, by its distance to sample s. */
static struct span by_rate(const struct sample *s, uint64_t g, double hz)
{
	const int64_t d = ticks_ns(s->guest, g, hz), slack = llabs(d) / CLOSE_RATE + 1;

	return (struct span){ s->lo + d - slack, s->hi + d + slack };
}

/* Between two exchanges of a burst; all times if they are not close. */
static struct span in_burst(const struct ring_facts *r, size_t k, uint64_t g)
{
	const struct sample *a = &r->samples[k], *b = &r->samples[k + 1];

	if (!follows(r, k) || b->lo - a->hi > CLOSE_NS ||
	    ticks_ns(a->guest, b->guest, b->hz) > CLOSE_NS)
		return (struct span){ INT64_MIN, INT64_MAX };
	return meet(by_rate(a, g, b->hz), by_rate(b, g, b->hz));
}

/*
 * In the segment between the neighbours k and k + 1. A measurement is a burst of exchanges, of
 * which the first one is often wide and the next ones are not. So the clock moves in one direction
 * from each exchange of the measurement before to each one behind, and all of them together say
 * when.
 */
static struct span in_segment(const struct facts *f, const struct ring_facts *r, size_t k,
			      uint64_t g)
{
	struct span all = in_burst(r, k, g);
	size_t from = burst_of(r, k), to = k + 1;

	/* Inside a burst: the measurement before is the burst before. */
	if (follows(r, k) && from > 0 && r->samples[from - 1].epoch == r->samples[k].epoch)
		from = burst_of(r, from - 1);
	while (to + 1 < r->nr_samples && follows(r, to))
		to++;
	for (size_t i = from; i <= k; i++)
		for (size_t j = k + 1; j <= to; j++)
			all = meet(all, of_pair(f, r, i, j, g));
	/* They contradict each other: the neighbours alone. */
	return is_empty(all) ? of_pair(f, r, k, k + 1, g) : all;
}

/* The samples show that the clock lost time: it may have been set back, to values before them. */
static bool may_go_back(const struct ring_facts *r, size_t k)
{
	const struct sample *a = &r->samples[k], *b = &r->samples[k + 1];

	return b->lo - a->hi > ticks_ns(a->guest, b->guest, b->hz);
}

static bool holds(const struct ring_facts *r, size_t k, uint64_t g)
{
	return g >= r->samples[k].guest && g <= r->samples[k + 1].guest;
}

/* -- looks -------------------------------------------------------------------------- */

/* What the looks say of an event. */
struct seen {
	struct span when; /* all times without a look */
	bool looked;
	bool beside; /* the event is beside all segments */
};

/* Of several looks that may have found the event, one did. A guess has looks of its own. */
static struct seen looks_of(const struct ring_facts *r, uint64_t ns, bool guess)
{
	struct seen seen = { .when = nothing };

	for (size_t i = 0; i < r->nr_looks; i++) {
		const struct xvt_clock_look *l = &r->looks[i];

		if (ns < l->first_ns || ns > l->last_ns || guess != !!(l->flags & XVT_LOOK_F_GUESS))
			continue;
		seen.looked = true;
		seen.beside |= l->flags & XVT_LOOK_F_BESIDE;
		seen.when = join(seen.when, (struct span){ (int64_t)l->lo_ns, (int64_t)l->hi_ns });
	}
	if (!seen.looked)
		seen.when = (struct span){ INT64_MIN, INT64_MAX };
	return seen;
}

static struct reference result(enum reference_by by, struct span s)
{
	if (is_empty(s))
		by = REFERENCE_NONE;
	return (struct reference){ .by = by, .lo = s.lo, .hi = s.hi };
}

/* The segments that may hold an event. */
struct segments {
	struct span when;
	bool held; /* by the samples of at least one */
	double hz; /* of that one */
	int64_t gap_ns;
	unsigned int epochs; /* how many, 2: or more */
	uint32_t epoch;
};

static void take_segment(struct segments *all, uint32_t epoch, struct span s)
{
	if (is_empty(s))
		return;
	if (!all->epochs)
		all->epochs = 1;
	else if (all->epoch != epoch)
		all->epochs = 2;
	all->epoch = epoch;
	all->when = join(all->when, s);
}

static struct segments segments_of(const struct facts *f, const struct ring_facts *r,
				   uint64_t guest, struct span seen)
{
	struct segments all = { .when = nothing };

	for (size_t k = 0; k + 1 < r->nr_samples; k++) {
		struct span s = nothing;

		if (r->samples[k].epoch != r->samples[k + 1].epoch || !r->samples[k + 1].hz)
			continue;
		if (holds(r, k, guest)) {
			s = in_segment(f, r, k, guest);
			all.hz = r->samples[k + 1].hz;
			all.gap_ns = r->samples[k + 1].lo - r->samples[k].hi;
		} else if (may_go_back(r, k)) {
			s = of_pair(f, r, k, k + 1, guest);
		}
		all.held |= holds(r, k, guest);
		take_segment(&all, r->samples[k].epoch, meet(s, seen));
	}
	return all;
}

struct reference reference_of(const struct facts *f, unsigned int ring, uint64_t guest,
			      uint64_t recorded_ns, bool guess)
{
	const struct ring_facts *r;
	struct reference by_samples;
	struct segments all;
	struct seen seen;

	if (ring >= f->nr_rings)
		return result(REFERENCE_NONE, nothing);
	r = &f->rings[ring];
	seen = looks_of(r, recorded_ns, guess);
	if (seen.beside)
		return result(REFERENCE_LOOKS, seen.when);
	all = segments_of(f, r, guest, seen.when);
	/* Values that two epochs have, or none: only the looks can say. */
	if (all.held && all.epochs == 1) {
		by_samples = result(REFERENCE_SAMPLES, all.when);
		by_samples.hz = all.hz;
		by_samples.gap_ns = all.gap_ns;
		return by_samples;
	}
	if (!seen.looked)
		return result(REFERENCE_NONE, nothing);
	return result(REFERENCE_LOOKS, all.held && all.epochs ? all.when : seen.when);
}
