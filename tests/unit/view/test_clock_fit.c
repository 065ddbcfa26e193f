// SPDX-License-Identifier: GPL-2.0
/* test_clock_fit.c - the hulls against all lines there are, and what refuses an explanation. */
#include "suites.h"

#include <math.h>

#include "view/fit.h"

static uint64_t seed;

static uint64_t below(uint64_t n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed % n;
}

START_TEST(two_exact_samples_are_a_line)
{
	struct xvt_fit_sample s[] = { { 300, 1600, 1600 }, { 100, 1200, 1200 } };
	struct xvt_fit_span a, b;
	struct xvt_clock_fit f;

	ck_assert_int_eq(xvt_clock_fit_init(&f, s, 2, false), 0);
	ck_assert(f.line && !f.gain);
	xvt_clock_fit_between(&f, 100, 300, &a, &b);
	ck_assert(a.lo == 1200 && a.hi == 1200 && b.lo == 1600 && b.hi == 1600);
	ck_assert_int_eq(xvt_clock_fit_middle(&f, 200), 1400);
	ck_assert_int_eq(xvt_clock_fit_middle(&f, 0), 1000);
	xvt_clock_fit_fini(&f);
}
END_TEST

START_TEST(what_no_line_crosses_is_no_line)
{
	/* The clock gained 50 between the second and the third. */
	struct xvt_fit_sample gains[] = {
		{ 0, 0, 4 }, { 100, 100, 104 }, { 250, 200, 204 }, { 350, 300, 304 }
	};
	struct xvt_fit_sample loses[] = {
		{ 0, 0, 4 }, { 100, 100, 104 }, { 150, 200, 204 }, { 250, 300, 304 }
	};
	struct xvt_fit_span a, b;
	struct xvt_clock_fit f;

	ck_assert_int_eq(xvt_clock_fit_init(&f, gains, 4, true), 0);
	ck_assert(!f.line && f.gain);
	xvt_clock_fit_between(&f, 100, 250, &a, &b);
	ck_assert(a.lo == 50 && a.hi == 104 && b.lo == 200 && b.hi == 254);
	xvt_clock_fit_fini(&f);
	ck_assert_int_eq(xvt_clock_fit_init(&f, gains, 4, false), 0);
	ck_assert(!xvt_clock_fit_any(&f));
	xvt_clock_fit_fini(&f);
	ck_assert_int_eq(xvt_clock_fit_init(&f, loses, 4, true), 0);
	ck_assert(!xvt_clock_fit_any(&f));
	xvt_clock_fit_fini(&f);
}
END_TEST

/* Against all lines through two ends of samples, tried one by one. */
START_TEST(hulls_are_what_all_lines_give)
{
	seed = 19088743 + (uint64_t)_i;
	for (int round = 0; round < 200; round++) {
		struct xvt_fit_sample s[12];
		struct xvt_fit_span at, same;
		struct xvt_clock_fit f;
		size_t n = 2 + below(11);
		double hi = -1e300, lo = 1e300;
		int64_t x = (int64_t)below(3000) - 1000;
		bool any = false;

		for (size_t i = 0; i < n; i++) {
			int64_t w = (int64_t)below(120);

			s[i].x = (int64_t)(i * 80 + below(80));
			s[i].lo = s[i].x * 3 / 2 - (int64_t)below((uint64_t)w + 1);
			s[i].hi = s[i].lo + w + (below(20) ? 0 : -(w / 2));
		}
		ck_assert_int_eq(xvt_clock_fit_init(&f, s, n, false), 0);
		for (size_t k = 0; k < 4 * n * n; k++) {
			const struct xvt_fit_sample *a = &s[k / 4 / n], *b = &s[k / 4 % n];
			double ya = (double)(k & 1 ? a->lo : a->hi), y;
			double yb = (double)(k & 2 ? b->lo : b->hi), slope;
			bool all = a->x < b->x;

			slope = all ? (yb - ya) / (double)(b->x - a->x) : 0;
			for (size_t i = 0; i < n && all; i++) {
				y = ya + slope * (double)(s[i].x - a->x);
				all = y >= (double)s[i].lo - 1e-6 && y <= (double)s[i].hi + 1e-6;
			}
			if (!all)
				continue;
			any = true;
			y = ya + slope * (double)(x - a->x);
			hi = y > hi ? y : hi;
			lo = y < lo ? y : lo;
		}
		ck_assert_msg(any == f.line, "round %d: %d", round, f.line);
		if (any) {
			xvt_clock_fit_between(&f, x, x, &at, &same);
			ck_assert_msg(fabs((double)at.hi - hi) < 1.001 &&
					      fabs((double)at.lo - lo) < 1.001 &&
					      (double)at.hi >= hi - 1e-6 &&
					      (double)at.lo <= lo + 1e-6,
				      "round %d: [%lld, %lld], not [%f, %f]", round,
				      (long long)at.lo, (long long)at.hi, lo, hi);
		}
		xvt_clock_fit_fini(&f);
	}
}
END_TEST

START_TEST(nonsense_is_no_explanation)
{
	struct xvt_fit_sample s[3] = { { 0, 0, 10 }, { 1000, 1000, 1010 } };
	const struct xvt_fit_sample bad[] = {
		{ INT64_MAX, 500, 510 }, { 500, 510, 500 },    { 500, INT64_MIN, 510 },
		{ 500, 500, INT64_MAX }, { 1000, 2000, 2010 },
	};
	struct xvt_clock_fit f;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct xvt_fit_sample with[3] = { s[0], s[1], bad[i] };

		ck_assert_int_eq(xvt_clock_fit_init(&f, with, 3, true), 0);
		ck_assert_msg(!xvt_clock_fit_any(&f), "%zu", i);
		xvt_clock_fit_fini(&f);
	}
	ck_assert_int_eq(xvt_clock_fit_init(&f, s, 1, true), 0);
	ck_assert(!xvt_clock_fit_any(&f));
	xvt_clock_fit_fini(&f);
	ck_assert_int_eq(xvt_clock_fit_init(&f, s, 0, true), 0);
	ck_assert(!xvt_clock_fit_any(&f));
	xvt_clock_fit_fini(&f);
}
END_TEST

Suite *clock_fit_suite(void)
{
	Suite *s = suite_create("clock_fit");
	TCase *fit = tcase_create("fit");

	tcase_add_test(fit, two_exact_samples_are_a_line);
	tcase_add_test(fit, what_no_line_crosses_is_no_line);
	tcase_add_loop_test(fit, hulls_are_what_all_lines_give, 0, 4);
	tcase_add_test(fit, nonsense_is_no_explanation);
	suite_add_tcase(s, fit);
	return s;
}
