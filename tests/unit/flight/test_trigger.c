// SPDX-License-Identifier: GPL-2.0
/* test_trigger.c - events that conditions are about, in traces that overlap: each counts once. */
#include "suites.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "flight/trigger.h"
#include "options/opt.h"
#include "said.h"
#include "story.h"

#define CONDITIONS 4

static struct xvt_condition conditions[CONDITIONS];
static size_t nr_conditions;
static struct xvt_trigger *trigger;
static struct xvt_trigger_look look;
static struct xvt_error why;

/* Begin with these conditions; NULL ends them. */
static void begin(const char *first, const char *second, uint64_t from_ns)
{
	const char *const texts[] = { first, second };

	for (size_t i = 0; i < 2 && texts[i]; i++) {
		const struct xvt_opt_value value = { "when", i, texts[i], NULL };

		ck_assert_int_eq(xvt_condition_parse(&conditions[nr_conditions++], &value), 0);
	}
	ck_assert_int_eq(xvt_trigger_new(&trigger, conditions, nr_conditions, from_ns), 0);
}

static void end(void)
{
	xvt_trigger_free(trigger);
	while (nr_conditions)
		xvt_condition_free(&conditions[--nr_conditions]);
	trigger = NULL;
}

/* Look at a trace of this story. Returns how many events are new. */
static uint64_t events_of(const char *story)
{
	const char *path = scratch_path("trigger.xvt");
	int err;

	story_make(story, path);
	err = xvt_trigger_look(trigger, path, 0, &look, &why);
	ck_assert_msg(!err, "%d: %s", err, why.text);
	return look.events;
}

#define HEAD "guest g1 2 1000\nguest g2 1 1000\n"

START_TEST(an_event_counts_once)
{
	begin("event xvt:text", NULL, 0);
	ck_assert_uint_eq(events_of(HEAD "10 g1:0 mark a\n"), 1);
	ck_assert_uint_eq(events_of(HEAD "10 g1:0 mark a\n"), 0);
	ck_assert_uint_eq(events_of(HEAD "10 g1:0 mark a\n20 g1:0 mark b\n"), 1);
	ck_assert_uint_eq(events_of(HEAD "10 g1:0 mark a\n20 g1:0 mark b\n30 g1:0 mark c\n"
					 "40 g1:0 mark d\n"),
			  2);
	/* The oldest ones may be gone by then. */
	ck_assert_uint_eq(events_of(HEAD "40 g1:0 mark d\n50 g1:0 mark e\n"), 1);
}
END_TEST

START_TEST(rings_are_told_apart)
{
	begin("event xvt:text", NULL, 0);
	ck_assert_uint_eq(events_of(HEAD "10 g1:0 mark a\n"), 1);
	ck_assert_uint_eq(events_of(HEAD "10 g1:0 mark a\n10 g1:1 mark b\n"), 1);
	ck_assert_uint_eq(events_of(HEAD "10 g1:0 mark a\n10 g1:1 mark b\n11 g2:0 mark c\n"), 1);
	ck_assert_str_eq(look.machine, "g2");
}
END_TEST

START_TEST(two_events_of_one_time_are_two)
{
	begin("event xvt:text", NULL, 0);
	ck_assert_uint_eq(events_of(HEAD "10 g1:0 mark a\n"), 1);
	ck_assert_uint_eq(events_of(HEAD "10 g1:0 mark a\n10 g1:0 mark b\n"), 1);
	ck_assert_uint_eq(events_of(HEAD "10 g1:0 mark a\n10 g1:0 mark b\n"), 0);
}
END_TEST

static void first_is(const char *machine, const char *text, uint64_t us)
{
	ck_assert_str_eq(look.machine, machine);
	ck_assert_msg(strstr(look.first, text) != NULL, "%s", look.first);
	ck_assert_uint_eq(look.first_ns, STORY_BEGIN_NS + us * 1000);
}

/* The first event of a look is the first that is new, not one that was counted before. */
START_TEST(an_event_of_a_known_time_is_described)
{
	begin("event xvt:text", NULL, 0);
	ck_assert_uint_eq(events_of(HEAD "10 g1:0 mark a\n20 g1:0 mark b\n"), 2);
	first_is("g1", "g1 xvt:text: a", 10);
	ck_assert_uint_eq(events_of(HEAD "10 g1:0 mark a\n20 g1:0 mark b\n20 g1:0 mark c\n"), 1);
	first_is("g1", "g1 xvt:text: c", 20);
	ck_assert_uint_eq(events_of(HEAD "20 g1:0 mark b\n20 g1:0 mark c\n20 g1:0 mark d\n"
					 "20 g1:0 mark e\n30 g1:0 mark f\n"),
			  3);
	first_is("g1", "g1 xvt:text: d", 20);
}
END_TEST

/* Without the remembered event the ring has begun anew, if it has older ones. */
START_TEST(a_ring_that_began_anew_is_all_new)
{
	begin("event xvt:text", NULL, 0);
	ck_assert_uint_eq(events_of(HEAD "50 g1:0 mark a\n"), 1);
	ck_assert_uint_eq(events_of(HEAD "10 g1:0 mark b\n20 g1:0 mark c\n"), 2);
	first_is("g1", "g1 xvt:text: b", 10);
	ck_assert_uint_eq(events_of(HEAD "10 g1:0 mark b\n20 g1:0 mark c\n"), 0);
	ck_assert_str_eq(look.first, "");
}
END_TEST

START_TEST(the_first_of_all_rings_is_described)
{
	begin("event xvt:text", NULL, 0);
	ck_assert_uint_eq(events_of(HEAD "50 g1:0 mark a\n"), 1);
	/* One ring goes on, one begins anew before that, and one is new. */
	ck_assert_uint_eq(events_of(HEAD "30 g1:0 mark b\n40 g2:0 mark c\n60 g1:1 mark d\n"), 3);
	first_is("g1", "g1 xvt:text: b", 30);
	ck_assert_uint_eq(events_of(HEAD "40 g2:0 mark c\n70 g2:0 mark e\n80 g1:0 mark f\n"), 2);
	first_is("g2", "g2 xvt:text: e", 70);
}
END_TEST

/* Of two conditions the earlier event is the first one, whichever is looked for first. */
START_TEST(the_first_of_all_conditions_is_described)
{
	begin("event xvt:text text == \"b\"", "event xvt:text text == \"a\"", 0);
	ck_assert_uint_eq(events_of(HEAD "10 g2:0 mark a\n20 g1:0 mark b\n"), 2);
	first_is("g2", "g2 xvt:text: a", 10);
}
END_TEST

START_TEST(the_first_event_is_described)
{
	begin("event xvt:text", NULL, 0);
	ck_assert_uint_eq(events_of(HEAD "10 g1:1 mark boom\n20 g1:0 mark a\n"), 2);
	ck_assert_str_eq(look.machine, "g1");
	ck_assert_msg(strstr(look.first, "g1 xvt:text") && strstr(look.first, "boom"), "%s",
		      look.first);
	ck_assert_uint_eq(look.first_ns, STORY_BEGIN_NS + 10000);
	ck_assert_uint_ge(look.last_ns, STORY_BEGIN_NS + 20000);
}
END_TEST

START_TEST(a_condition_may_name_a_machine)
{
	begin("event g2:xvt:text", NULL, 0);
	ck_assert_uint_eq(events_of(HEAD "10 g1:0 mark a\n"), 0);
	ck_assert_uint_eq(events_of(HEAD "10 g1:0 mark a\n20 g2:0 mark b\n"), 1);
}
END_TEST

START_TEST(filters_choose)
{
	begin("event xvt:text text == \"boom\"", NULL, 0);
	ck_assert_uint_eq(events_of(HEAD "10 g1:0 mark a\n20 g1:0 mark boom\n"), 1);
	ck_assert_uint_eq(look.first_ns, STORY_BEGIN_NS + 20000);
	ck_assert_str_eq(look.note, "");
}
END_TEST

/* A field that no event has is a note, once. */
START_TEST(a_filter_without_a_field_is_noted_once)
{
	begin("event xvt:text txet == \"boom\"", NULL, 0);
	ck_assert_uint_eq(events_of(HEAD "10 g1:0 mark boom\n"), 0);
	ck_assert_msg(strstr(look.note, "event xvt:text txet"), "%s", look.note);
	ck_assert_uint_eq(events_of(HEAD "10 g1:0 mark boom\n"), 0);
	ck_assert_str_eq(look.note, "");
}
END_TEST

START_TEST(events_before_the_begin_do_not_count)
{
	begin("event xvt:text", NULL, STORY_BEGIN_NS + 20000);
	ck_assert_uint_eq(events_of(HEAD "10 g1:0 mark a\n19 g1:1 mark b\n20 g1:0 mark c\n"), 1);
	ck_assert_uint_eq(look.first_ns, STORY_BEGIN_NS + 20000);
}
END_TEST

START_TEST(two_conditions_count_on_their_own)
{
	begin("event xvt:text text == \"a\"", "event xvt:text text == \"b\"", 0);
	ck_assert_uint_eq(events_of(HEAD "10 g1:0 mark a\n20 g1:0 mark b\n30 g1:0 mark c\n"), 2);
	ck_assert_uint_eq(events_of(HEAD "20 g1:0 mark b\n30 g1:0 mark c\n40 g1:0 mark a\n"), 1);
}
END_TEST

START_TEST(what_is_no_trace_says_why)
{
	const char *path = scratch_path("none.xvt");
	FILE *f = fopen(path, "w");

	ck_assert_ptr_nonnull(f);
	fputs("no trace", f);
	fclose(f);
	begin("event xvt:text", NULL, 0);
	ck_assert_int_eq(xvt_trigger_look(trigger, path, 0, &look, &why), -EIO);
	ck_assert_str_ne(why.text, "");
	ck_assert_uint_eq(look.events, 0);
	/* The next trace is looked at as if nothing had been. */
	ck_assert_uint_eq(events_of(HEAD "10 g1:0 mark a\n"), 1);
}
END_TEST

Suite *trigger_suite(void)
{
	Suite *s = suite_create("trigger");
	TCase *t = tcase_create("trigger");

	tcase_add_checked_fixture(t, said_setup, end);
	tcase_add_test(t, an_event_counts_once);
	tcase_add_test(t, rings_are_told_apart);
	tcase_add_test(t, two_events_of_one_time_are_two);
	tcase_add_test(t, an_event_of_a_known_time_is_described);
	tcase_add_test(t, a_ring_that_began_anew_is_all_new);
	tcase_add_test(t, the_first_of_all_rings_is_described);
	tcase_add_test(t, the_first_of_all_conditions_is_described);
	tcase_add_test(t, the_first_event_is_described);
	tcase_add_test(t, a_condition_may_name_a_machine);
	tcase_add_test(t, filters_choose);
	tcase_add_test(t, a_filter_without_a_field_is_noted_once);
	tcase_add_test(t, events_before_the_begin_do_not_count);
	tcase_add_test(t, two_conditions_count_on_their_own);
	tcase_add_test(t, what_is_no_trace_says_why);
	suite_add_tcase(s, t);
	return s;
}
