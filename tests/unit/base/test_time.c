// SPDX-License-Identifier: GPL-2.0
/* test_time.c - times of the kernel as nanoseconds, and back. */
#include "suites.h"

#include <sys/resource.h>

#include "base/out.h"
#include "base/time.h"

START_TEST(seconds_and_nanoseconds)
{
	/* Beyond 32 bits of either. */
	const struct timespec t = { .tv_sec = 5000000000, .tv_nsec = 999999999 };
	const struct timespec back = xvt_timespec(5000000000999999999ull);

	ck_assert_uint_eq(xvt_timespec_ns(&t), 5000000000999999999ull);
	ck_assert_int_eq(back.tv_sec, t.tv_sec);
	ck_assert_int_eq(back.tv_nsec, t.tv_nsec);
	ck_assert_int_eq(xvt_timespec(SECOND_NS).tv_sec, 1);
	ck_assert_int_eq(xvt_timespec(SECOND_NS).tv_nsec, 0);
}
END_TEST

START_TEST(clocks_go_on)
{
	const uint64_t before = xvt_monotonic_ns(), used = xvt_cpu_ns(RUSAGE_SELF);
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	ck_assert_uint_le(before, xvt_timespec_ns(&t));
	ck_assert_uint_le(xvt_timespec_ns(&t), xvt_monotonic_ns());
	/* CPU time is counted in microseconds. */
	while (xvt_cpu_ns(RUSAGE_SELF) < used + 1000000)
		;
	ck_assert_uint_eq(xvt_cpu_ns(RUSAGE_SELF) % 1000, 0);
}
END_TEST

START_TEST(a_uuid_of_zeros_is_none)
{
	uint8_t uuid[16] = { 0 };

	ck_assert(xvt_uuid_is_none(uuid));
	for (unsigned int i = 0; i < 16; i++) {
		uuid[i] = 0x80;
		ck_assert(!xvt_uuid_is_none(uuid));
		uuid[i] = 0;
	}
}
END_TEST

Suite *time_suite(void)
{
	Suite *s = suite_create("time");
	TCase *t = tcase_create("time");

	tcase_add_test(t, seconds_and_nanoseconds);
	tcase_add_test(t, clocks_go_on);
	tcase_add_test(t, a_uuid_of_zeros_is_none);
	suite_add_tcase(s, t);
	return s;
}
