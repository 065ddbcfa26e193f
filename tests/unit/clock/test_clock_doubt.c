// SPDX-License-Identifier: GPL-2.0
/*
 * test_clock_doubt.c - a rate that is expected of a clock and that no measurement excludes. Clocks
 * that have it and are set back, or stand still, all the time, and clocks that never had it: each
 * time between two measurements lies within the bound of its segment. Exchanges are so far apart
 * that none shows a rate.
 *
 *	XVT_BOUNDS=n     histories in all, 2,000 if it is not set
 *	XVT_SEED_BASE=n  of the first one
 */
#include "suites.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "clock/map.h"
#include "clock/rate.h"
#include "history.h"
#include "trace/nodes.h"

#define MS	  1000000ull
#define START	  (1000 * MS)
#define SECONDS	  8
#define GUEST	  (1ull << 40)
#define STEPS_MAX 500000
#define NODES_MAX 2000
#define POINTS	  16 /* of a segment */
#define ROUNDING  100

enum kind {
	FALSE_CLAIM, /* it never had the rate that its guest claims */
	SET_BACK,    /* it has that rate, and is set back by as much in each period */
	IN_STEP,     /* the same by stops, and each measurement is at the end of one */
	HOSTS_KIND,  /* as SET_BACK, and the rate is the host's */
	KINDS,
};

/* The clock is behind by lost_ns from `ns + takes_ns` on, and stands still until then. */
struct step {
	double ns, takes_ns, lost_ns;
};

struct measured {
	struct xvt_clock_node node;
	double ns;   /* when the clock had that value */
	bool placed; /* events before it were placed by a rate that stays */
	uint64_t doubt_ppb;
};

static struct {
	uint64_t random;
	enum kind kind;
	double hz; /* of the clock between two steps */
	double part;
	double period_ns;
	double width_ns; /* of an exchange */
	double gap_ns;
	double jitter_ns;
	unsigned int pace;
	struct step steps[STEPS_MAX];
	size_t nr_steps;
	struct measured measured[NODES_MAX];
	size_t count;
	struct xvt_clock_map map;
	struct xvt_clock_rate rate;
} w;

static struct {
	uint64_t points, outside, seed;
	double gaps_ns, doubt_ns, bound_ns;
} judged;

static double uniform(double from, double to)
{
	return from + (to - from) * (double)(history_random(&w.random) >> 11) * 0x1p-53;
}

/* Each magnitude as often. */
static double magnitude(double least, double most)
{
	return least * pow(most / least, uniform(0, 1));
}

static unsigned int one_of(unsigned int n)
{
	return (unsigned int)(history_random(&w.random) % n);
}

/* -- the clock ---------------------------------------------------------------------- */

static void add_steps(double first_ns)
{
	const double lost = w.period_ns * w.part;

	for (double ns = first_ns; ns < SECONDS * 1e9 && w.nr_steps < STEPS_MAX; ns += w.period_ns)
		w.steps[w.nr_steps++] = (struct step){ w.kind == IN_STEP ? ns - lost : ns,
						       w.kind == IN_STEP ? lost : 0,
						       (double)(w.nr_steps + 1) * lost };
}

static double lost_at(double ns)
{
	size_t lo = 0, hi = w.nr_steps;
	const struct step *s;

	while (lo < hi) {
		const size_t mid = (lo + hi) / 2;

		if (w.steps[mid].ns <= ns)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo)
		return 0;
	s = &w.steps[lo - 1];
	if (ns >= s->ns + s->takes_ns)
		return s->lost_ns;
	return s->lost_ns - s->takes_ns + ns - s->ns;
}

static uint64_t guest_at(double ns)
{
	return GUEST + (uint64_t)((ns - lost_at(ns)) * w.hz * 1e-9);
}

static void make_clock(void)
{
	uint64_t host_hz = 0, claim_hz;

	w.nr_steps = w.count = 0;
	w.hz = magnitude(1e7, 3e9);
	/* Not near 1/32: what two gaps exclude (clock/rate.c). */
	w.part = magnitude(1 / 20., 0.3);
	w.period_ns = w.kind == IN_STEP ? magnitude(5e6, 150e6) : magnitude(20e3, 100e6);
	w.width_ns = magnitude(200, 2e6);
	w.gap_ns = magnitude(6e6, 200e6);
	w.jitter_ns = magnitude(1e3, 5e6);
	w.pace = one_of(4);
	claim_hz = (uint64_t)w.hz;
	if (w.kind == FALSE_CLAIM)
		claim_hz = (uint64_t)(w.hz * (1 + (one_of(2) ? w.part : -w.part)));
	else
		add_steps(w.kind == IN_STEP ? w.period_ns : w.period_ns * uniform(0, 1));
	if (w.kind == HOSTS_KIND)
		host_hz = claim_hz;
	xvt_clock_map_init(&w.map, claim_hz);
	w.map.host_hz = host_hz ? host_hz : 2600000000;
	w.map.host_ticks = host_hz;
	xvt_clock_rate_init(&w.rate, host_hz, host_hz ? 0 : claim_hz);
}

/* -- the recorder ------------------------------------------------------------------- */

/* A while behind the end of a stop: by up to a tenth of a millisecond, or all of the jitter. */
static double next_in_step(double ns)
{
	const double periods = 1 + !one_of(4) + !one_of(8);
	const double late = w.pace == 0 ? 0 : w.pace == 1 ? w.jitter_ns / 10 : w.jitter_ns;

	return (floor(ns / w.period_ns + 1e-9) + periods) * w.period_ns + late * uniform(0, 1);
}

static double next_moment(double ns)
{
	if (w.kind == IN_STEP)
		return next_in_step(ns);
	switch (w.pace) {
	case 0:
		return ns + w.gap_ns * uniform(0.9, 1.1);
	case 1:
		return ns + magnitude(5e6, 3 * w.gap_ns);
	case 2:
		return ns + w.gap_ns * (one_of(3) ? 1 : 2);
	default:
		return ns + 100e6 * uniform(1, 1.3);
	}
}

/* As session/clocks.c does it. */
static void measure(double ns)
{
	const double width = w.width_ns * (one_of(5) ? 1 : magnitude(1, 4));
	const bool known = w.rate.hz;
	struct measured *x = &w.measured[w.count];
	const struct xvt_rate_gap none = { 0 };
	bool changed;

	*x = (struct measured){
		.node = { .source = XVT_SOURCE_HANDSHAKE,
			  .guest = guest_at(ns),
			  .host_ns = START + (uint64_t)(ns + width * uniform(-0.5, 0.5)),
			  .bound_ns = (uint64_t)(width / 2) + 1 },
		.ns = ns,
		.doubt_ppb = w.rate.doubt_ppb,
	};
	if (xvt_clock_map_add(&w.map, &x->node))
		return;
	changed = xvt_clock_rate_add(&w.rate, &x->node, &none, false);
	x->placed = known && !changed && !(x->node.flags & XVT_NODE_F_FIRST);
	w.count++;
	if (!w.rate.hz)
		return;
	if (changed)
		memset(w.map.gains, 0, sizeof(w.map.gains));
	w.map.hz = w.rate.hz;
	w.map.hz_doubt_ppb = w.rate.doubt_ppb;
}

/* -- the judge ---------------------------------------------------------------------- */

static void judge_point(const struct xvt_clock_node *a, const struct xvt_clock_node *b, double ns,
			uint64_t seed)
{
	const uint64_t guest = guest_at(ns), truth = START + (uint64_t)ns;
	uint64_t line;

	/* Another segment has a value that a set-back brought here. */
	if (guest < a->guest || guest > b->guest)
		return;
	line = xvt_clock_line(a, b, guest);
	judged.points++;
	if ((line > truth ? line - truth : truth - line) <= b->segment_bound_ns + ROUNDING)
		return;
	judged.outside++;
	judged.seed = seed;
}

static void judge_segment(const struct measured *a, const struct measured *b, uint64_t seed)
{
	const double gap = b->ns - a->ns;

	judged.gaps_ns += gap;
	judged.doubt_ns += gap * (double)b->doubt_ppb * 1e-9;
	judged.bound_ns += (double)b->node.segment_bound_ns;
	for (unsigned int i = 1; i < POINTS; i++)
		judge_point(&a->node, &b->node, a->ns + gap * i / POINTS, seed);
}

static void one_history(enum kind kind, uint64_t seed)
{
	static struct xvt_clock_node nodes[NODES_MAX];

	w.random = seed;
	w.kind = kind;
	make_clock();
	for (double ns = 10e6; ns < SECONDS * 1e9 && w.count < NODES_MAX; ns = next_moment(ns))
		measure(ns);
	for (size_t i = 0; i < w.count; i++)
		nodes[i] = w.measured[i].node;
	ck_assert_int_eq(xvt_nodes_settle(nodes, w.count), 0);
	for (size_t i = 0; i < w.count; i++)
		w.measured[i].node = nodes[i];
	for (size_t i = 1; i < w.count; i++)
		if (w.measured[i].placed)
			judge_segment(&w.measured[i - 1], &w.measured[i], seed);
	xvt_clock_map_fini(&w.map);
}

static uint64_t number_of(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 0) : otherwise;
}

START_TEST(a_rate_that_no_measurement_excludes_makes_no_bound_false)
{
	static const char *const names[] = { "a false claim", "set back", "set back in step",
					     "of the host's kind, set back" };
	const uint64_t count = number_of("XVT_BOUNDS", 2000) / KINDS;
	const uint64_t base = number_of("XVT_SEED_BASE", 0);

	memset(&judged, 0, sizeof(judged));
	for (uint64_t i = 0; i < count; i++)
		one_history((enum kind)_i, base + i * KINDS + (uint64_t)_i);
	printf("%s: of the time between measurements, %.4f is in doubt and %.4f is the bound; "
	       "%" PRIu64 " of %" PRIu64 " points outside\n",
	       names[_i], judged.doubt_ns / judged.gaps_ns, judged.bound_ns / judged.gaps_ns,
	       judged.outside, judged.points);
	ck_assert_msg(!judged.outside,
		      "%s: outside of its bound, XVT_BOUNDS=4 XVT_SEED_BASE=%" PRIu64, names[_i],
		      judged.seed - (uint64_t)_i);
	ck_assert_uint_gt(judged.points, 10000);
	/* What even gaps say is used: else a bound is more than the doubt. */
	if (_i == FALSE_CLAIM)
		ck_assert(judged.bound_ns < judged.doubt_ns);
}
END_TEST

/* -- by hand ------------------------------------------------------------------------ */

/* Adds a node of a clock of 1 GHz, measured to 1 us. Returns the bound of its segment. */
static uint64_t add(uint64_t gap_ns, int64_t off_ns)
{
	struct xvt_clock_node n = { .source = XVT_SOURCE_HANDSHAKE, .bound_ns = 1000 };
	const struct xvt_clock_node *last = xvt_clock_map_last(&w.map);

	n.guest = (last ? last->guest : GUEST) + gap_ns;
	n.host_ns = (last ? last->host_ns : START) + gap_ns + (uint64_t)off_ns;
	ck_assert_int_eq(xvt_clock_map_add(&w.map, &n), 0);
	return n.segment_bound_ns;
}

static void begin_even(void)
{
	xvt_clock_map_fini(&w.map);
	xvt_clock_map_init(&w.map, 1000000000);
	w.map.hz_doubt_ppb = 100000000; /* a tenth */
	add(100 * MS, 0);
}

/* 100 ms and 101 ms: the losses of a clock that is a tenth faster differ by 0.1 ms, which is a step
 * or more. */
START_TEST(even_gaps_of_two_lengths_bound_a_step)
{
	uint64_t bound = 0;
	int i;

	begin_even();
	for (i = 0; i < 8; i++)
		ck_assert_uint_ge(add((100 + (uint64_t)(i == 3)) * MS, 0), 10 * MS);
	bound = add(100 * MS, 0);
	ck_assert_uint_ge(bound, MS / 10);
	ck_assert_uint_lt(bound, MS / 5);
	/* As much in a segment of any length, but for how well the gaps show the rate. */
	bound = add(400 * MS, 0);
	ck_assert_uint_ge(bound, MS / 10 + 20000);
	ck_assert_uint_lt(bound, MS / 5);
	/* And never more than the doubt. */
	ck_assert_uint_lt(add(MS / 2, 0), MS / 10);
}
END_TEST

START_TEST(gaps_that_say_nothing_of_a_step)
{
	int i;

	/* Of one length, but for what is less than they are known to: as measured in step. */
	begin_even();
	for (i = 0; i < 20; i++)
		ck_assert_uint_ge(add(100 * MS + (uint64_t)(i % 2) * 20000, 0), 10 * MS);
	/* One that does not agree with the rate, until eight do again. */
	begin_even();
	for (i = 0; i < 9; i++)
		add((100 + (uint64_t)(i % 2)) * MS, 0);
	add(100 * MS, 100000);
	for (i = 0; i < 8; i++)
		ck_assert_uint_ge(add((100 + (uint64_t)(i % 2)) * MS, 0), 10 * MS);
	ck_assert_uint_lt(add(100 * MS, 0), MS);
	/* A clock that was changed, as is reported, has other steps. */
	xvt_clock_map_reported(&w.map, xvt_clock_map_last(&w.map)->host_ns + 50 * MS, 1000);
	ck_assert_uint_ge(add(100 * MS, 0), MS / 10);
	for (i = 0; i < 8; i++)
		ck_assert_uint_ge(add((100 + (uint64_t)(i % 2)) * MS, 0), 10 * MS);
}
END_TEST

/* Where measurements are wide beside a gap, it goes on: eight of 0.1 ms are four of 0.2 ms. */
START_TEST(wide_measurements_make_longer_gaps)
{
	int i;

	begin_even();
	for (i = 0; i < 8; i++)
		add(MS / 10, 0);
	for (i = 0; i < 4; i++)
		ck_assert_uint_ge(add((100 + (uint64_t)(i % 2)) * MS, 0), 10 * MS);
	ck_assert_uint_lt(add(100 * MS, 0), MS);
	xvt_clock_map_fini(&w.map);
}
END_TEST

Suite *clock_doubt_suite(void)
{
	Suite *s = suite_create("clock_doubt");
	TCase *t = tcase_create("histories");

	tcase_set_timeout(t, 600); /* for a hang, not for a slow machine */
	tcase_add_loop_test(t, a_rate_that_no_measurement_excludes_makes_no_bound_false, 0, KINDS);
	suite_add_tcase(s, t);
	t = tcase_create("steps");
	tcase_add_test(t, even_gaps_of_two_lengths_bound_a_step);
	tcase_add_test(t, gaps_that_say_nothing_of_a_step);
	tcase_add_test(t, wide_measurements_make_longer_gaps);
	suite_add_tcase(s, t);
	return s;
}
