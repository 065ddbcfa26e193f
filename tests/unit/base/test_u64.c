// SPDX-License-Identifier: GPL-2.0
/* test_u64.c - arithmetic on times and bounds at its limits. */
#include "suites.h"

#include "base/u64.h"

START_TEST(sums_and_products_end_at_the_largest_number)
{
	ck_assert_uint_eq(xvt_u64_sum(UINT64_MAX - 1, 1), UINT64_MAX);
	ck_assert_uint_eq(xvt_u64_sum(UINT64_MAX, UINT64_MAX), UINT64_MAX);
	ck_assert_uint_eq(xvt_u64_scale(UINT64_MAX, 3, 3), UINT64_MAX);
	ck_assert_uint_eq(xvt_u64_scale(UINT64_MAX, 4, 3), UINT64_MAX);
	ck_assert_uint_eq(xvt_u64_scale(UINT64_MAX, UINT64_MAX, 1), UINT64_MAX);
}
END_TEST

START_TEST(scaling_rounds_down_and_does_not_wrap_in_between)
{
	ck_assert_uint_eq(xvt_u64_scale(7, 3, 2), 10);
	ck_assert_uint_eq(xvt_u64_scale(0, UINT64_MAX, 1), 0);
	ck_assert_uint_eq(xvt_u64_scale(1ull << 63, 6, 1ull << 62), 12);
	ck_assert_uint_eq(xvt_ticks_ns(5192272688ull, 2596136344), 2000000000);
	/* a hundred years of ticks, whose product with 10^9 has 93 bits */
	ck_assert_uint_eq(xvt_ticks_ns(3155760000ull * 3000000000ull, 3000000000),
			  3155760000ull * 1000000000);
}
END_TEST

/* Numbers of all lengths, and quotients that are whole or just below. */
START_TEST(a_share_is_the_scaled_number)
{
	uint64_t x = 88172645463325252ull;

	for (int i = 0; i < 1000000; i++) {
		uint64_t a, b, c;

		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		b = (x * 0x9e3779b97f4a7c15ull) >> (13 + i % 50);
		c = ((x ^ i) * 0xbf58476d1ce4e5b9ull >> (13 + i / 50 % 50)) + 1;
		a = x % c;
		if (i % 3 == 0 && b > 1 && b < c) {
			/* a * b is a multiple of c, or one less */
			c = c / b * b;
			a = c / b * (x % b);
			a -= a && i % 2;
		}
		ck_assert_msg(xvt_u64_share(a, b, c) == xvt_u64_scale(a, b, c),
			      "%llu * %llu / %llu", (unsigned long long)a, (unsigned long long)b,
			      (unsigned long long)c);
	}
}
END_TEST

Suite *u64_suite(void)
{
	Suite *s = suite_create("u64");
	TCase *t = tcase_create("u64");

	tcase_add_test(t, sums_and_products_end_at_the_largest_number);
	tcase_add_test(t, scaling_rounds_down_and_does_not_wrap_in_between);
	tcase_add_test(t, a_share_is_the_scaled_number);
	suite_add_tcase(s, t);
	return s;
}
