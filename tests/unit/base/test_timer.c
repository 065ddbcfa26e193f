// SPDX-License-Identifier: GPL-2.0
/* test_timer.c - timers of a loop whose clock is a number. */
#include "suites.h"

#include <stdio.h>
#include <string.h>

#include "base/container.h"
#include "base/timer.h"

#define TIMERS 4u

/* A timer with a name, which may do something when it is called. */
struct named {
	struct xvt_timer timer;
	char name;
	void (*then)(struct named *n, uint64_t now_ns);
};

static struct xvt_timers list;
static struct named named[TIMERS];
static char called[64];

static void due(struct xvt_timer *t, uint64_t now_ns)
{
	struct named *n = container_of(t, struct named, timer);
	const size_t len = strlen(called);

	snprintf(called + len, sizeof(called) - len, "%c", n->name);
	if (n->then)
		n->then(n, now_ns);
}

static void setup(void)
{
	list = (struct xvt_timers){ .first = NULL };
	for (unsigned int i = 0; i < TIMERS; i++) {
		named[i] = (struct named){ .name = (char)('a' + i) };
		xvt_timer_add(&list, &named[i].timer, due);
	}
}

/* The timers that a run calls, by name. */
static const char *run(uint64_t now_ns)
{
	called[0] = '\0';
	xvt_timers_run(&list, now_ns);
	return called;
}

static void arm(unsigned int i, uint64_t from_ns, uint64_t by_ns)
{
	xvt_timer_arm(&named[i].timer, from_ns, by_ns);
}

START_TEST(a_timer_is_called_once_and_not_before_its_time)
{
	ck_assert_str_eq(run(UINT64_MAX), "");
	arm(0, 100, 100);
	ck_assert_str_eq(run(99), "");
	ck_assert_str_eq(run(100), "a");
	ck_assert_str_eq(run(101), "");
	arm(0, 0, XVT_TIMER_NEVER);
	ck_assert_str_eq(run(0), "a");
	ck_assert_str_eq(run(UINT64_MAX), "");
}
END_TEST

START_TEST(the_order_is_that_of_the_list_and_not_of_the_times)
{
	arm(2, 10, 10);
	arm(3, 30, 30);
	arm(0, 20, 20);
	ck_assert_str_eq(run(25), "ac");
	ck_assert_str_eq(run(30), "d");
}
END_TEST

START_TEST(a_timer_that_is_armed_again_has_the_later_time_alone)
{
	arm(0, 10, 10);
	arm(0, 50, 60);
	ck_assert_str_eq(run(49), "");
	ck_assert_uint_eq(xvt_timers_sleep_ns(&list, 49, 1000), 11);
	xvt_timer_disarm(&named[0].timer);
	ck_assert_str_eq(run(60), "");
	ck_assert_uint_eq(xvt_timers_sleep_ns(&list, 60, 1000), 1000);
}
END_TEST

START_TEST(a_sleep_ends_with_the_first_span)
{
	ck_assert_uint_eq(xvt_timers_sleep_ns(&list, 7, UINT64_MAX), UINT64_MAX);
	/* The loop does not wake up for it. */
	arm(0, 10, XVT_TIMER_NEVER);
	ck_assert_uint_eq(xvt_timers_sleep_ns(&list, 7, UINT64_MAX), UINT64_MAX);
	arm(1, 0, 300);
	arm(2, 200, 200);
	ck_assert_uint_eq(xvt_timers_sleep_ns(&list, 7, UINT64_MAX), 193);
	ck_assert_uint_eq(xvt_timers_sleep_ns(&list, 7, 192), 192);
	ck_assert_uint_eq(xvt_timers_sleep_ns(&list, 200, UINT64_MAX), 0);
	ck_assert_uint_eq(xvt_timers_sleep_ns(&list, 250, UINT64_MAX), 0);
}
END_TEST

/* Else the loop would wake up, find nothing due, and wake up again. */
START_TEST(a_span_that_ends_before_it_begins_ends_where_it_begins)
{
	arm(0, 100, 50);
	ck_assert_uint_eq(xvt_timers_sleep_ns(&list, 60, UINT64_MAX), 40);
	ck_assert_str_eq(run(99), "");
	ck_assert_str_eq(run(100), "a");
}
END_TEST

static void again_at_once(struct named *n, uint64_t now_ns)
{
	xvt_timer_arm(&n->timer, 0, now_ns);
}

START_TEST(a_timer_that_arms_itself_waits_for_the_next_run)
{
	named[0].then = again_at_once;
	arm(0, 0, 0);
	ck_assert_str_eq(run(5), "a");
	ck_assert_uint_eq(xvt_timers_sleep_ns(&list, 5, UINT64_MAX), 0);
	ck_assert_str_eq(run(5), "a");
}
END_TEST

static void remove_all(struct named *n, uint64_t now_ns)
{
	(void)n;
	(void)now_ns;
	for (unsigned int i = 0; i < TIMERS; i++) {
		xvt_timer_remove(&named[i].timer);
		/* Its owner may free it. */
		memset(&named[i], 0x5a, sizeof(named[i]));
	}
}

static void remove_next(struct named *n, uint64_t now_ns)
{
	(void)now_ns;
	xvt_timer_remove(&n[1].timer);
}

START_TEST(a_call_may_remove_timers)
{
	for (unsigned int i = 0; i < TIMERS; i++)
		arm(i, 0, 0);
	named[0].then = remove_next;
	named[2].then = remove_all;
	ck_assert_str_eq(run(1), "ac");
	ck_assert_ptr_null(list.first);
	ck_assert_str_eq(run(2), "");
}
END_TEST

static void add_last(struct named *n, uint64_t now_ns)
{
	xvt_timer_remove(&n[3].timer);
	xvt_timer_add(&list, &n[3].timer, due);
	xvt_timer_arm(&n[3].timer, 0, now_ns);
}

START_TEST(a_call_may_add_a_timer)
{
	named[0].then = add_last;
	arm(0, 0, 0);
	arm(1, 0, 0);
	ck_assert_str_eq(run(1), "abd");
}
END_TEST

START_TEST(a_timer_on_no_list_is_not_removed)
{
	struct xvt_timer none = { .list = NULL };

	xvt_timer_remove(&none);
	xvt_timer_remove(&named[3].timer);
	xvt_timer_remove(&named[3].timer);
	for (unsigned int i = 0; i < TIMERS - 1; i++)
		arm(i, 0, 0);
	ck_assert_str_eq(run(0), "abc");
}
END_TEST

Suite *timer_suite(void)
{
	Suite *s = suite_create("timer");
	TCase *t = tcase_create("timer");

	tcase_add_checked_fixture(t, setup, NULL);
	tcase_add_test(t, a_timer_is_called_once_and_not_before_its_time);
	tcase_add_test(t, the_order_is_that_of_the_list_and_not_of_the_times);
	tcase_add_test(t, a_timer_that_is_armed_again_has_the_later_time_alone);
	tcase_add_test(t, a_sleep_ends_with_the_first_span);
	tcase_add_test(t, a_span_that_ends_before_it_begins_ends_where_it_begins);
	tcase_add_test(t, a_timer_that_arms_itself_waits_for_the_next_run);
	tcase_add_test(t, a_call_may_remove_timers);
	tcase_add_test(t, a_call_may_add_a_timer);
	tcase_add_test(t, a_timer_on_no_list_is_not_removed);
	suite_add_tcase(s, t);
	return s;
}
