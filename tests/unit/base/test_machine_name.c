// SPDX-License-Identifier: GPL-2.0
/* test_machine_name.c - the two spellings of a machine's name. */
#include "suites.h"

#include "base/machine_name.h"

START_TEST(a_trace_shows_a_name_as_one_word)
{
	char text[8];

	xvt_machine_shown(text, sizeof(text), "g \xc3\xa4:\x7f");
	ck_assert_str_eq(text, "g_____");
	xvt_machine_shown(text, sizeof(text), "!web-1.a,b=c");
	ck_assert_str_eq(text, "!web-1.");
	xvt_machine_shown(text, sizeof(text), "");
	ck_assert_str_eq(text, "");
}
END_TEST

START_TEST(both_spellings_are_one_name)
{
	ck_assert(xvt_machine_same("g \xc3\xa4", "g___"));
	ck_assert(xvt_machine_same("a b", "a:b"));
	ck_assert(!xvt_machine_same("a b", "a-b"));
	ck_assert(!xvt_machine_same("g_", "g"));
	ck_assert(!xvt_machine_same("g", "g_"));
	ck_assert(xvt_machine_same("", ""));
}
END_TEST

START_TEST(globs_match_either_spelling)
{
	ck_assert(xvt_machine_matches("g *", "g \xc3\xa4"));
	ck_assert(xvt_machine_matches("g_*", "g \xc3\xa4"));
	ck_assert(xvt_machine_matches("g \xc3\xa4", "g___"));
	ck_assert(xvt_machine_matches("[[:alpha:]] b", "a b"));
	ck_assert(!xvt_machine_matches("g?", "g \xc3\xa4"));
	ck_assert(!xvt_machine_matches("web-*", "db-1"));
}
END_TEST

Suite *machine_name_suite(void)
{
	Suite *s = suite_create("machine_name");
	TCase *t = tcase_create("machine_name");

	tcase_add_test(t, a_trace_shows_a_name_as_one_word);
	tcase_add_test(t, both_spellings_are_one_name);
	tcase_add_test(t, globs_match_either_spelling);
	suite_add_tcase(s, t);
	return s;
}
