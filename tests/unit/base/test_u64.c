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

Suite *u64_suite(void)
{
	Suite *s = suite_create("u64");
	TCase *t = tcase_create("u64");

	tcase_add_test(t, sums_and_products_end_at_the_largest_number);
	tcase_add_test(t, scaling_rounds_down_and_does_not_wrap_in_between);
	suite_add_tcase(s, t);
	return s;
}
