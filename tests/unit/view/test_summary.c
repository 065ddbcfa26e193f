// SPDX-License-Identifier: GPL-2.0
/* test_summary.c - the figures of a summary: events over time, busiest tasks, run time. */
#include "suites.h"

#include <string.h>

#include "view/busy.h"
#include "view/strip.h"

static struct xvt_strip strip;
static char text[XVT_STRIP_TEXT];

static void add(uint64_t ns, unsigned int count)
{
	while (count--)
		xvt_strip_add(&strip, ns);
}

static void shows(bool utf8, const char *wanted)
{
	ck_assert_uint_eq(xvt_strip_text(&strip, utf8, text), strlen(wanted));
	ck_assert_str_eq(text, wanted);
}

START_TEST(a_strip_has_levels_pauses_and_an_end)
{
	ck_assert_int_eq(xvt_strip_init(&strip, 1000, 1999, 10), 0);
	ck_assert_uint_eq(strip.cell_ns, 100);
	add(1000, 1);
	add(1099, 6);
	add(1100, 1);
	add(1250, 4);
	add(1399, 6);
	xvt_strip_pause(&strip, 1450, 1599);
	ck_assert_uint_eq(strip.paused_ns[4], 50);
	ck_assert_uint_eq(strip.paused_ns[5], 99);
	add(1700, 7);
	strip.ended_ns = 1701;
	ck_assert_uint_eq(xvt_strip_most(&strip), 7);
	shows(false, "8257  .x  ");
	shows(true, "█▂▅▇  ·×  ");
	xvt_strip_fini(&strip);
}
END_TEST

START_TEST(the_ends_of_a_strip_are_in_it)
{
	ck_assert_int_eq(xvt_strip_init(&strip, 7, 7, 3), 0);
	add(7, 1);
	shows(false, "8..");
	xvt_strip_fini(&strip);
	/* The last time is in the last cell, whatever the remainder. */
	for (uint64_t last = 0; last < 50; last++) {
		ck_assert_int_eq(xvt_strip_init(&strip, 0, last, 7), 0);
		add(last, 1);
		ck_assert_uint_eq(xvt_strip_most(&strip), 1);
		ck_assert_uint_ge(strip.until_ns, last + 1);
		xvt_strip_fini(&strip);
	}
}
END_TEST

/* Times of a hostile trace. */
START_TEST(times_outside_have_the_nearest_cell)
{
	ck_assert_int_eq(xvt_strip_init(&strip, UINT64_MAX - 10, UINT64_MAX, 4), 0);
	add(0, 1);
	add(UINT64_MAX, 1);
	add(UINT64_MAX, 1);
	xvt_strip_pause(&strip, 0, UINT64_MAX);
	xvt_strip_pause(&strip, UINT64_MAX, 0);
	shows(false, "4  8");
	xvt_strip_fini(&strip);
	ck_assert_int_eq(xvt_strip_init(&strip, 5, 0, 2), 0);
	add(UINT64_MAX, 2);
	add(3, 1);
	shows(false, "48");
	xvt_strip_fini(&strip);
	ck_assert_int_eq(xvt_strip_init(&strip, 0, UINT64_MAX, 5000), 0);
	ck_assert_uint_eq(strip.cells, XVT_STRIP_CELLS_MAX);
	add(UINT64_MAX, UINT16_MAX);
	xvt_strip_pause(&strip, 0, UINT64_MAX);
	ck_assert_uint_eq(xvt_strip_text(&strip, true, text), XVT_STRIP_CELLS_MAX + 2);
	xvt_strip_fini(&strip);
}
END_TEST

START_TEST(the_busiest_tasks_come_first)
{
	struct xvt_busy b = { 0 };
	struct xvt_busy_task top[4];

	ck_assert_uint_eq(xvt_busy_top(&b, top, 4), 0);
	for (int32_t pid = 1; pid <= 1000; pid++)
		ck_assert_int_eq(xvt_busy_add(&b, pid, 10), 0);
	for (int32_t pid = 900; pid >= 500; pid -= 100)
		ck_assert_int_eq(xvt_busy_add(&b, pid, (uint64_t)pid), 0);
	ck_assert_int_eq(xvt_busy_add(&b, -7, 600), 0);
	ck_assert_uint_eq(b.count, 1001);
	ck_assert_uint_eq(xvt_busy_top(&b, top, 4), 4);
	ck_assert_int_eq(top[0].pid, 900);
	ck_assert_uint_eq(top[0].value, 910);
	ck_assert_int_eq(top[1].pid, 800);
	ck_assert_int_eq(top[2].pid, 700);
	ck_assert_int_eq(top[3].pid, 600);
	ck_assert_uint_eq(top[3].value, 610);
	ck_assert_uint_eq(b.forgotten_most, 0);
	xvt_busy_clear(&b);
	ck_assert_int_eq(xvt_busy_add(&b, 5, 1), 0);
	ck_assert_uint_eq(xvt_busy_top(&b, top, 4), 1);
	xvt_busy_clear(&b);
}
END_TEST

START_TEST(memory_for_tasks_is_bounded_and_what_is_forgotten_is_counted)
{
	struct xvt_busy b = { 0 };
	struct xvt_busy_task top[2];

	for (int32_t pid = 1; pid <= 500000; pid++) {
		ck_assert_int_eq(xvt_busy_add(&b, pid, 2), 0);
		ck_assert_int_eq(xvt_busy_add(&b, 77, 5), 0);
	}
	ck_assert_uint_le(b.count, XVT_BUSY_TASKS);
	ck_assert_uint_le(b.room, 4 * XVT_BUSY_TASKS);
	ck_assert_uint_eq(xvt_busy_top(&b, top, 2), 2);
	ck_assert_int_eq(top[0].pid, 77);
	ck_assert_uint_eq(top[0].value, 2500002);
	ck_assert_uint_gt(b.forgotten_most, 0);
	ck_assert_uint_le(b.forgotten_most, 40);
	xvt_busy_clear(&b);
}
END_TEST

START_TEST(run_time_is_between_two_switches_that_fit)
{
	struct xvt_pauses none = { 0 };
	struct xvt_running r = { 0 };

	ck_assert_uint_eq(xvt_running_switch(&r, 100, 1, 2, &none),
			  0); /* since when is not known */
	ck_assert_uint_eq(xvt_running_switch(&r, 150, 2, 0, &none), 50);
	ck_assert_uint_eq(xvt_running_switch(&r, 151, 2, 0, &none),
			  0); /* once more, by another probe */
	ck_assert_uint_eq(xvt_running_switch(&r, 170, 0, 3, &none), 20);
	ck_assert_uint_eq(xvt_running_switch(&r, 190, 4, 5, &none), 0); /* one is missing before */
	ck_assert_uint_eq(xvt_running_switch(&r, 180, 5, 6, &none), 0); /* its time goes back */
	ck_assert_uint_eq(xvt_running_switch(&r, 185, 6, 6, &none), 5);
}
END_TEST

START_TEST(a_task_does_not_run_in_a_pause)
{
	struct xvt_running r = { .known = true, .pid = 1, .since_ns = 100 };
	struct xvt_pauses p = { 0 };

	ck_assert_int_eq(xvt_pauses_add(&p, 200, 300), 0);
	ck_assert_int_eq(xvt_pauses_add(&p, 50, 110), 0);
	ck_assert_int_eq(xvt_pauses_add(&p, 250, 320), 0); /* told twice */
	ck_assert_int_eq(xvt_pauses_add(&p, 400, 390), 0);
	xvt_pauses_sort(&p);
	ck_assert_uint_eq(p.count, 2);
	ck_assert_uint_eq(xvt_pauses_between(&p, 0, 1000), 180);
	ck_assert_uint_eq(xvt_pauses_between(&p, 0, 50), 0);
	ck_assert_uint_eq(xvt_pauses_between(&p, 60, 210), 60);
	ck_assert_uint_eq(xvt_pauses_between(&p, 320, 1000), 0);
	ck_assert_uint_eq(xvt_pauses_between(&p, 300, 250), 0);
	ck_assert_uint_eq(xvt_running_switch(&r, 210, 1, 1, &p), 90);
	ck_assert_uint_eq(xvt_running_switch(&r, 330, 1, 0, &p), 10);
	xvt_pauses_fini(&p);
}
END_TEST

Suite *summary_suite(void)
{
	Suite *s = suite_create("summary");
	TCase *t = tcase_create("strip");

	tcase_add_test(t, a_strip_has_levels_pauses_and_an_end);
	tcase_add_test(t, the_ends_of_a_strip_are_in_it);
	tcase_add_test(t, times_outside_have_the_nearest_cell);
	suite_add_tcase(s, t);
	t = tcase_create("tasks");
	tcase_add_test(t, the_busiest_tasks_come_first);
	tcase_add_test(t, memory_for_tasks_is_bounded_and_what_is_forgotten_is_counted);
	tcase_add_test(t, a_task_does_not_run_in_a_pause);
	tcase_add_test(t, run_time_is_between_two_switches_that_fit);
	suite_add_tcase(s, t);
	return s;
}
