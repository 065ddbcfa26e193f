// SPDX-License-Identifier: GPL-2.0
/* A thread that leaves its CPU runs on another one, and may return to it. */
#define _GNU_SOURCE
#include <check.h>
#include <sched.h>

#include "base/cpu.h"
#include "suites.h"

static cpu_set_t before;
static struct xvt_cpu_away c;

static void setup(void)
{
	c = (struct xvt_cpu_away){ 0 };
	ck_assert_int_eq(sched_getaffinity(0, sizeof(before), &before), 0);
}

static void teardown(void)
{
	ck_assert_int_eq(sched_setaffinity(0, sizeof(before), &before), 0);
}

static cpu_set_t allowed(void)
{
	cpu_set_t now;

	ck_assert_int_eq(sched_getaffinity(0, sizeof(now), &now), 0);
	return now;
}

START_TEST(it_leaves_its_cpu_and_comes_back)
{
	cpu_set_t now;
	int here, i;

	if (CPU_COUNT(&before) < 2)
		return; /* the test below is for this */
	for (i = 0; i < 3; i++) {
		here = sched_getcpu();
		ck_assert(xvt_cpu_leave(&c));
		now = allowed();
		ck_assert(!CPU_ISSET((size_t)here, &now));
		/* Only that one: the CPU that it left before is allowed again. */
		ck_assert_int_eq(CPU_COUNT(&now), CPU_COUNT(&before) - 1);
		ck_assert_int_ne(sched_getcpu(), here);
	}
	xvt_cpu_back(&c);
	now = allowed();
	ck_assert(CPU_EQUAL(&now, &before));
}
END_TEST

START_TEST(an_only_cpu_is_kept)
{
	cpu_set_t one, now;

	CPU_ZERO(&one);
	CPU_SET((size_t)sched_getcpu(), &one);
	ck_assert_int_eq(sched_setaffinity(0, sizeof(one), &one), 0);
	ck_assert(!xvt_cpu_leave(&c));
	now = allowed();
	ck_assert(CPU_EQUAL(&now, &one));
	/* Nothing is to be undone: what the thread was allowed meanwhile stays. */
	ck_assert_int_eq(sched_setaffinity(0, sizeof(before), &before), 0);
	xvt_cpu_back(&c);
	now = allowed();
	ck_assert(CPU_EQUAL(&now, &before));
}
END_TEST

Suite *cpu_suite(void)
{
	Suite *suite = suite_create("cpu");
	TCase *tc = tcase_create("all");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, it_leaves_its_cpu_and_comes_back);
	tcase_add_test(tc, an_only_cpu_is_kept);
	suite_add_tcase(suite, tc);
	return suite;
}
