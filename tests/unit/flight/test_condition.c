// SPDX-License-Identifier: GPL-2.0
/* test_condition.c - conditions of snapshots: which texts are one, and when it holds. */
#include "suites.h"

#include <errno.h>
#include <string.h>

#include "base/time.h"
#include "flight/condition.h"
#include "options/opt.h"
#include "said.h"
#include "session/session.h"

static int parse(struct xvt_condition *c, const char *text)
{
	return xvt_condition_parse(c, &(struct xvt_opt_value){ "when", 0, text, NULL });
}

static const struct {
	const char *text;
	enum xvt_condition_kind kind;
	const char *machine, *event, *filter;
	uint64_t ns;
} good[] = {
	{ "crash", XVT_CONDITION_CRASH, NULL, NULL, NULL, 0 },
	{ "crash g1", XVT_CONDITION_CRASH, "g1", NULL, NULL, 0 },
	{ "  crash   web-*  ", XVT_CONDITION_CRASH, "web-*", NULL, NULL, 0 },
	{ "loss", XVT_CONDITION_LOSS, NULL, NULL, NULL, 0 },
	{ "loss g?", XVT_CONDITION_LOSS, "g?", NULL, NULL, 0 },
	{ "still 2", XVT_CONDITION_STILL, NULL, NULL, NULL, 2 * SECOND_NS },
	{ "still 0.5 g1", XVT_CONDITION_STILL, "g1", NULL, NULL, SECOND_NS / 2 },
	{ "event boom", XVT_CONDITION_EVENT, NULL, "boom", NULL, 0 },
	{ "event xvt:text", XVT_CONDITION_EVENT, NULL, "xvt:text", NULL, 0 },
	{ "event g1:xvt:text", XVT_CONDITION_EVENT, "g1", "xvt:text", NULL, 0 },
	{ "event *:sched:* prev_pid == 7", XVT_CONDITION_EVENT, "*", "sched:*", "prev_pid == 7",
	  0 },
	{ "event text  text == \"a  b\"", XVT_CONDITION_EVENT, NULL, "text", "text == \"a  b\"",
	  0 },
};

static void same(const char *a, const char *b, const char *text)
{
	ck_assert_msg(a && b ? !strcmp(a, b) : a == b, "%s: %s, not %s", text, a ? a : "none",
		      b ? b : "none");
}

START_TEST(texts_are_conditions)
{
	struct xvt_condition c;

	ck_assert_int_eq(parse(&c, good[_i].text), 0);
	ck_assert_int_eq(c.kind, good[_i].kind);
	same(c.machine, good[_i].machine, good[_i].text);
	same(c.event, good[_i].event, good[_i].text);
	same(c.filter, good[_i].filter, good[_i].text);
	ck_assert_uint_eq(c.ns, good[_i].ns);
	ck_assert_ptr_nonnull(strstr(good[_i].text, xvt_condition_word(&c)));
	xvt_condition_free(&c);
	ck_assert_str_eq(said(), "");
}
END_TEST

static const struct {
	const char *text, *words;
} bad[] = {
	{ "", "a condition is: event GLOB" },
	{ " ", "a condition is: event GLOB" },
	{ "bomb", "a condition is: event GLOB" },
	{ "crashed", "a condition is: event GLOB" },
	{ "crash g1 g2", "a condition is: event GLOB" },
	{ "loss g1 g2", "a condition is: event GLOB" },
	{ "still", "a condition is: event GLOB" },
	{ "still g1", "a condition is: event GLOB" },
	{ "still 0", "a condition is: event GLOB" },
	{ "still -1", "a condition is: event GLOB" },
	{ "still 1 g1 g2", "a condition is: event GLOB" },
	{ "event", "a condition is: event GLOB" },
	{ "event text text ==", "filter: " },
	{ "event text (", "filter: " },
};

START_TEST(other_texts_are_told_what_one_is)
{
	struct xvt_condition c;
	const char *words;

	ck_assert_int_eq(parse(&c, bad[_i].text), -EINVAL);
	words = said();
	ck_assert_msg(strstr(words, bad[_i].words), "%s: %s", bad[_i].text, words);
	ck_assert_ptr_null(c.text);
}
END_TEST

START_TEST(names_are_globs)
{
	struct xvt_condition c;

	ck_assert_int_eq(parse(&c, "crash web-*"), 0);
	ck_assert(xvt_condition_is_for(&c, "web-1"));
	ck_assert(xvt_condition_is_for(&c, "web-"));
	ck_assert(!xvt_condition_is_for(&c, "web"));
	ck_assert(!xvt_condition_is_for(&c, "a-web-1"));
	xvt_condition_free(&c);
	ck_assert_int_eq(parse(&c, "crash"), 0);
	ck_assert(xvt_condition_is_for(&c, "anything"));
	xvt_condition_free(&c);
}
END_TEST

/* What has happened to a machine, and which conditions hold by it. */
static const struct {
	const char *text, *machine;
	struct xvt_vm_changes changes;
	bool holds;
	const char *what;
	uint64_t ago_ns;
} cases[] = {
	{ "crash", "g1", { .crashed = true }, true, "g1 crashed", 0 },
	{ "crash g1", "g1", { .crashed = true }, true, "g1 crashed", 0 },
	{ "crash g1", "g2", { .crashed = true }, false, "", 0 },
	{ "crash", "g1", { .lost = 5 }, false, "", 0 },
	{ "loss", "g1", { .lost = 5 }, true, "g1 lost 5 events", 0 },
	{ "loss", "g1", { .lost = 0 }, false, "", 0 },
	{ "loss", "g1", { .crashed = true }, false, "", 0 },
	{ "still 2",
	  "g1",
	  { .still_ns = 2 * SECOND_NS },
	  true,
	  "g1 had no event for 2.000 s",
	  2 * SECOND_NS },
	{ "still 2",
	  "g1",
	  { .still_ns = 2345678901, .was_still_ns = 2 * SECOND_NS - 1 },
	  true,
	  "g1 had no event for 2.345 s",
	  2345678901 },
	{ "still 2", "g1", { .still_ns = 2 * SECOND_NS - 1 }, false, "", 0 },
	/* A standstill is a moment once. */
	{ "still 2",
	  "g1",
	  { .still_ns = 3 * SECOND_NS, .was_still_ns = 2 * SECOND_NS },
	  false,
	  "",
	  0 },
	/* Events are looked for in the trace. */
	{ "event text", "g1", { .crashed = true, .lost = 1, .still_ns = SECOND_NS }, false, "", 0 },
};

START_TEST(conditions_hold_by_what_happened)
{
	struct xvt_condition c;
	char what[128] = "";
	uint64_t ago_ns = 1;
	bool holds;

	ck_assert_int_eq(parse(&c, cases[_i].text), 0);
	holds = xvt_condition_holds(&c, cases[_i].machine, &cases[_i].changes, what, sizeof(what),
				    &ago_ns);
	ck_assert_msg(holds == cases[_i].holds, "%s, %s", cases[_i].text, what);
	if (holds) {
		ck_assert_str_eq(what, cases[_i].what);
		ck_assert_uint_eq(ago_ns, cases[_i].ago_ns);
	}
	xvt_condition_free(&c);
}
END_TEST

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

Suite *condition_suite(void)
{
	Suite *s = suite_create("condition");
	TCase *t = tcase_create("condition");

	tcase_add_checked_fixture(t, said_setup, NULL);
	tcase_add_loop_test(t, texts_are_conditions, 0, COUNT(good));
	tcase_add_loop_test(t, other_texts_are_told_what_one_is, 0, COUNT(bad));
	tcase_add_test(t, names_are_globs);
	tcase_add_loop_test(t, conditions_hold_by_what_happened, 0, COUNT(cases));
	suite_add_tcase(s, t);
	return s;
}
