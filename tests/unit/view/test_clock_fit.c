// SPDX-License-Identifier: GPL-2.0
/*
 * test_clock_fit.c - what samples prove between them against clocks that keep the promise, and the
 * path through them.
 */
#include "suites.h"

#include <string.h>

#include "view/fit.h"

#define SAMPLES 24
#define STEP	1000000 /* ticks between two samples */

static const struct xvt_fit_clock usual = { .burst = 1000 }, narrow = { .burst = 10 };

static uint64_t seed;

static uint64_t below(uint64_t n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed % n;
}

START_TEST(both_samples_limit_what_lies_between)
{
	/* The clock gained between 40 and 60 from the one to the other. */
	struct xvt_fit_sample s[] = { { 1050, 1000, 1010 }, { 0, 0, 10 } };
	struct xvt_fit_span a, b;
	struct xvt_clock_fit f;

	ck_assert_int_eq(xvt_clock_fit_init(&f, s, 2, &narrow), 0);
	ck_assert(f.any && f.straight);
	xvt_clock_fit_between(&f, 0, 1050, &a, &b);
	ck_assert(a.lo == -50 && a.hi == 10 && b.lo == 1000 && b.hi == 1060);
	xvt_clock_fit_between(&f, 200, 300, &a, &b);
	ck_assert(a.lo == 150 && a.hi == 210 && b.lo == 250 && b.hi == 310);
	/* Not beyond them, and not across one. */
	xvt_clock_fit_between(&f, -100, 0, &a, &b);
	ck_assert(a.lo == INT64_MIN && b.hi == INT64_MAX);
	xvt_clock_fit_between(&f, 200, 1051, &a, &b);
	ck_assert(a.lo == INT64_MIN && b.hi == INT64_MAX);
	xvt_clock_fit_fini(&f);
}
END_TEST

START_TEST(samples_of_one_burst_limit_each_other)
{
	struct xvt_fit_sample s[] = { { 0, 0, 300 }, { 30, -200, 40 }, { 100000, 100000, 100010 } };
	struct xvt_fit_span a, b;
	struct xvt_clock_fit f;

	ck_assert_int_eq(xvt_clock_fit_init(&f, s, 3, &usual), 0);
	xvt_clock_fit_between(&f, 30, 100000, &a, &b);
	/* At least 0 - 2 by the first sample and the rate's error, at most 10 by both others. */
	ck_assert_int_eq(a.lo, 30 - 2);
	ck_assert_int_eq(a.hi, 30 + 10);
	xvt_clock_fit_fini(&f);
	/* Contradicting each other, each stands for itself, and is wider by what the next gap does
	 * not show: there are no more. */
	s[0] = (struct xvt_fit_sample){ 0, 0, 10 };
	s[1] = (struct xvt_fit_sample){ 30, 130, 140 };
	s[2] = (struct xvt_fit_sample){ 100000, 100100, 100110 };
	ck_assert_int_eq(xvt_clock_fit_init(&f, s, 3, &usual), 0);
	xvt_clock_fit_between(&f, 0, 30, &a, &b);
	ck_assert_int_eq(a.lo, 0 - 88);
	ck_assert_int_eq(a.hi, 110 + 88);
	xvt_clock_fit_fini(&f);
}
END_TEST

/* A machine may have stood still between them, which shows in neither if both are wide. */
START_TEST(samples_that_are_far_apart_do_not_limit_each_other)
{
	/* By their moments; and by how long they took, although they begin at nearly one. */
	struct xvt_fit_sample far[] = { { 0, 0, 100000 }, { 1000000, 1050000, 1050010 } };
	struct xvt_fit_sample wide[] = { { 0, 0, 900 }, { 300, 400, 1250 } };
	struct xvt_fit_span a, b;
	struct xvt_clock_fit f;

	ck_assert_int_eq(xvt_clock_fit_init(&f, far, 2, &usual), 0);
	xvt_clock_fit_between(&f, 0, 1000000, &a, &b);
	ck_assert(a.lo == 0 && a.hi == 100000);
	xvt_clock_fit_fini(&f);
	ck_assert_int_eq(xvt_clock_fit_init(&f, wide, 2, &usual), 0);
	xvt_clock_fit_between(&f, 0, 300, &a, &b);
	ck_assert(a.lo == 0 && a.hi == 950);
	xvt_clock_fit_fini(&f);
}
END_TEST

START_TEST(an_error_of_the_rate_widens_limits_with_their_distance)
{
	const struct xvt_fit_clock doubtful = { .burst = 1000, .doubt_ppb = 1000000 };
	struct xvt_fit_sample s[] = { { 0, 0, 10 },
				      { STEP, STEP, STEP + 10 },
				      { 4 * STEP, 4 * STEP, 4 * STEP + 10 } };
	struct xvt_fit_span a, b;
	struct xvt_clock_fit f;

	ck_assert_int_eq(xvt_clock_fit_init(&f, s, 3, &doubtful), 0);
	xvt_clock_fit_between(&f, 0, STEP, &a, &b);
	ck_assert(a.lo == -STEP / 1000 && a.hi == 10 + STEP / 1000);
	xvt_clock_fit_between(&f, STEP, 4 * STEP, &a, &b);
	ck_assert_int_eq(a.lo, STEP - 3 * STEP / 1000 - 1); /* and its wander */
	ck_assert_int_eq(a.hi, STEP + 10 + 3 * STEP / 1000 + 1);
	xvt_clock_fit_fini(&f);
}
END_TEST

/* It gains 5 % in three gaps, and nothing in the one behind them, or before them: it may have
 * gained as before, and stood still for as long. */
START_TEST(a_rate_that_changes_widens_its_gap)
{
	static struct xvt_fit_sample s[5];
	const int64_t still = _i ? 0 : 3;
	struct xvt_fit_span a, b;
	struct xvt_clock_fit f;
	int64_t off = 0;

	for (int64_t i = 0; i < 5; i++) {
		s[i] = (struct xvt_fit_sample){ i * STEP, i * STEP + off, i * STEP + off + 10 };
		off -= i == still ? 0 : STEP / 20;
	}
	ck_assert_int_eq(xvt_clock_fit_init(&f, s, 5, &usual), 0);
	xvt_clock_fit_between(&f, still * STEP, (still + 1) * STEP, &a, &b);
	ck_assert_int_ge(a.hi - a.lo, 2 * (STEP / 20 - 50));
	ck_assert_int_le(a.hi - a.lo, 2 * STEP / 20 + 100);
	xvt_clock_fit_fini(&f);
}
END_TEST

START_TEST(samples_that_contradict_each_other_prove_nothing)
{
	struct xvt_fit_sample s[] = { { 5, 10, 20 }, { 5, 30, 40 }, { 700, 700, 710 } };
	struct xvt_clock_fit f;

	ck_assert_int_eq(xvt_clock_fit_init(&f, s, 3, &usual), 0);
	ck_assert(!f.any);
	xvt_clock_fit_fini(&f);
	s[0] = s[1] = s[2] = (struct xvt_fit_sample){ 5, 10, 20 };
	ck_assert_int_eq(xvt_clock_fit_init(&f, s, 3, &usual), 0);
	ck_assert(!f.any); /* one moment */
	xvt_clock_fit_fini(&f);
}
END_TEST

/* -- clocks whose truth is known ---------------------------------------------------- */

enum clock {
	STRAIGHT, /* at another rate than the nominal one */
	STOPS,	  /* stands still now and then */
	GAINS,	  /* a little at a time */
	SAW,	  /* ticks too slowly, and is set forward */
	CLOCKS,
};

/* host - x at each tick / RESOLUTION */
#define RESOLUTION 10000
static int64_t offset[SAMPLES * STEP / RESOLUTION + 1];

static void make_clock(enum clock how)
{
	int64_t y = 0;

	for (size_t i = 0; i < sizeof(offset) / sizeof(offset[0]); i++) {
		if (how == STRAIGHT)
			y += 3;
		if (how == STOPS && !below(300))
			y += (int64_t)below(20000);
		if (how == GAINS && !below(5))
			y -= (int64_t)below(40);
		if (how == SAW) /* behind a rate that is 1 % faster, by up to 37 steps */
			y = (int64_t)(i % 37) * RESOLUTION / 100;
		offset[i] = y;
	}
}

static size_t measure(struct xvt_fit_sample *s)
{
	size_t n = 0;

	for (size_t i = 0; i < SAMPLES; i++) {
		const int64_t x = (int64_t)(i * STEP + RESOLUTION * below(20));
		const int64_t y = x + offset[x / RESOLUTION],
			      width = (int64_t)below(i % 4 ? 300 : 9000);

		s[n].x = x;
		s[n].lo = y - (int64_t)below((uint64_t)width + 1);
		s[n].hi = s[n].lo + width;
		n += s[n].hi >= y;
	}
	return n;
}

START_TEST(the_truth_lies_within_the_limits)
{
	const struct xvt_fit_clock saw = { .burst = 1000, .forward = 1, .unit = 100 };
	static struct xvt_fit_sample s[SAMPLES];
	struct xvt_clock_fit f;

	seed = 19088743 + (uint64_t)_i;
	for (int round = 0; round < 60; round++) {
		make_clock((enum clock)_i);
		ck_assert_int_eq(xvt_clock_fit_init(&f, s, measure(s), _i == SAW ? &saw : &usual),
				 0);
		ck_assert(f.any);
		for (size_t i = 0; i + 1 < f.count; i++) {
			struct xvt_fit_span a, b;

			ck_assert(f.path[i] >= f.samples[i].lo - 1 &&
				  f.path[i] <= f.samples[i].hi + 1);
			for (int64_t x = f.samples[i].x; x < f.samples[i + 1].x; x += RESOLUTION) {
				const int64_t y = x + offset[x / RESOLUTION];

				xvt_clock_fit_between(&f, x, x, &a, &b);
				ck_assert_msg(a.lo <= y && y <= a.hi,
					      "round %d at %ld: %ld of %ld to %ld", round, (long)x,
					      (long)y, (long)a.lo, (long)a.hi);
			}
		}
		xvt_clock_fit_fini(&f);
	}
}
END_TEST

START_TEST(a_straight_clock_has_a_straight_path)
{
	static struct xvt_fit_sample s[SAMPLES];
	struct xvt_clock_fit f;

	seed = 8;
	make_clock(STRAIGHT);
	ck_assert_int_eq(xvt_clock_fit_init(&f, s, measure(s), &usual), 0);
	ck_assert(f.straight);
	/* Nearer to the truth than what each sample alone says. */
	for (int64_t x = 0; x < (SAMPLES - 2) * STEP; x += STEP / 7) {
		const int64_t off = xvt_clock_fit_middle(&f, x) - x - offset[x / RESOLUTION];

		ck_assert_int_le(off < 0 ? -off : off, 310);
	}
	xvt_clock_fit_fini(&f);
	make_clock(STOPS);
	ck_assert_int_eq(xvt_clock_fit_init(&f, s, measure(s), &usual), 0);
	ck_assert(!f.straight);
	xvt_clock_fit_fini(&f);
}
END_TEST

/* One step in a gap widens that gap, and not those beside it. */
START_TEST(a_step_widens_its_own_gap_only)
{
	static struct xvt_fit_sample s[8];
	struct xvt_fit_span a, b;
	struct xvt_clock_fit f;

	for (int64_t i = 0; i < 8; i++)
		s[i] = (struct xvt_fit_sample){ i * STEP, i * STEP + (i > 3 ? 50000 : 0),
						i * STEP + (i > 3 ? 50000 : 0) + 10 };
	ck_assert_int_eq(xvt_clock_fit_init(&f, s, 8, &usual), 0);
	for (int64_t i = 0; i < 7; i++) {
		xvt_clock_fit_between(&f, i * STEP, (i + 1) * STEP, &a, &b);
		ck_assert_int_le(a.hi - a.lo, i == 3 ? 150020 : 20);
	}
	xvt_clock_fit_fini(&f);
}
END_TEST

Suite *clock_fit_suite(void)
{
	Suite *s = suite_create("clock_fit");
	TCase *limits = tcase_create("limits");

	tcase_add_test(limits, both_samples_limit_what_lies_between);
	tcase_add_test(limits, samples_of_one_burst_limit_each_other);
	tcase_add_test(limits, samples_that_are_far_apart_do_not_limit_each_other);
	tcase_add_test(limits, an_error_of_the_rate_widens_limits_with_their_distance);
	tcase_add_loop_test(limits, a_rate_that_changes_widens_its_gap, 0, 2);
	tcase_add_test(limits, samples_that_contradict_each_other_prove_nothing);
	tcase_add_loop_test(limits, the_truth_lies_within_the_limits, 0, CLOCKS);
	tcase_add_test(limits, a_straight_clock_has_a_straight_path);
	tcase_add_test(limits, a_step_widens_its_own_gap_only);
	suite_add_tcase(s, limits);
	return s;
}
