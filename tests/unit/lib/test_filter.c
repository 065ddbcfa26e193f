// SPDX-License-Identifier: GPL-2.0
/*
 * test_filter.c - filters: what is no filter and where, what a comparison cannot do, and globs
 * beside those of the C library. What filters choose is in tests/cli/t_filters.sh, beside jq.
 */
#include "suites.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/parts.h"

static const struct {
	const char *text;
	const char *says; /* NULL: it is a filter */
} syntax[] = {
	{ "a == 1", NULL },
	{ "a==1&&b!=2||c<3&&!(d>4)", NULL },
	{ "  ( ( a <= 0x1f ) )\t", NULL },
	{ "!!a & 3", NULL },
	{ "comm ~ \"k*\" && x == 'a b'", NULL },
	{ "comm == k*&&b == ''", NULL },
	{ "", "character 1, the end: a field's name is missing" },
	{ "== 1", "character 1, at '== 1': a field's name is missing" },
	{ "a", "character 2, the end: an operator is missing" },
	{ "a 1", "character 3, at '1': an operator is missing" },
	{ "a = 1", "character 3, at '= 1': an operator is missing" },
	{ "a && b == 1", "character 3, at '&& b == 1': an operator is missing" },
	{ "a === 1", "character 5, at '= 1': there is no such operator" },
	{ "a ==", "character 5, the end: a value is missing" },
	{ "a == && b == 1", "character 6, at '&& b == 1': a value is missing" },
	{ "a == \"x", "character 6, at '\"x': this quote has no end" },
	{ "a == 1 b == 2", "character 8, at 'b == 2': && or || is missing" },
	{ "a == 1)", "character 7, at ')': && or || is missing" },
	{ "(a == 1", "character 8, the end: &&, || or ) is missing" },
	{ "(a == 1 b", "character 9, at 'b': &&, || or ) is missing" },
	{ "a == 1 &&", "character 10, the end: a field's name is missing" },
	{ "!", "character 2, the end: a field's name is missing" },
};

START_TEST(what_is_no_filter_is_said_with_its_place)
{
	struct xvtrace_error error;
	struct xvt_filter *f;
	int err = xvt_filter_new(&f, syntax[_i].text, &error);

	ck_assert_int_eq(err, syntax[_i].says ? -EINVAL : 0);
	ck_assert_int_eq(!f, !!syntax[_i].says);
	if (syntax[_i].says)
		ck_assert_msg(!strncmp(error.text, syntax[_i].says, strlen(syntax[_i].says)), "%s",
			      error.text);
	else
		ck_assert_str_eq(error.text, "");
	xvt_filter_free(f);
}
END_TEST

/* Texts of any length: a filter has a limit, and says so. */
START_TEST(long_and_deep_filters_are_refused)
{
	static const char *const repeated[] = { "(", "!", "a==1&&", "a==1||", "((a==1)||(" };
	static char text[40000];
	struct xvtrace_error error;
	struct xvt_filter *f;
	size_t len = 0, one = strlen(repeated[_i]);

	while (len + one < sizeof(text) - 8) {
		memcpy(text + len, repeated[_i], one);
		len += one;
	}
	strcpy(text + len, "a == 1");
	ck_assert_int_eq(xvt_filter_new(&f, text, &error), -EINVAL);
	ck_assert_msg(strstr(error.text, "more than") || strstr(error.text, "too long"), "%s",
		      error.text);
}
END_TEST

START_TEST(globs_are_those_of_the_c_library)
{
	static const char letters[] = "ab*?[]!-\\";
	unsigned int seed = 1, like = 0;

	for (unsigned int i = 0; i < 400000; i++) {
		char glob[9] = "", text[9] = "";
		unsigned int n = (unsigned int)rand_r(&seed) % 8,
			     m = (unsigned int)rand_r(&seed) % 8;
		bool want;

		for (unsigned int k = 0; k < n; k++)
			glob[k] = letters[(unsigned int)rand_r(&seed) % 9];
		for (unsigned int k = 0; k < m; k++)
			text[k] = letters[(unsigned int)rand_r(&seed) % 3];
		/* Sets with odd contents and a backslash at the end differ between libraries. */
		if (strpbrk(glob, "[\\"))
			continue;
		want = fnmatch(glob, text, 0) == 0;
		like += want;
		ck_assert_msg(xvt_like(glob, (const uint8_t *)text, m) == want, "'%s' and '%s'",
			      glob, text);
	}
	ck_assert_uint_gt(like, 1000);
}
END_TEST

static const struct {
	const char *glob;
	const char *text;
	bool like;
} sets[] = {
	{ "[a-c]x", "bx", true },
	{ "[a-c]x", "dx", false },
	{ "[!a-c]x", "dx", true },
	{ "[^a-c]x", "ax", false },
	{ "k*/[0-9]:*", "kworker/3:1H", true },
	{ "[]]", "]", true },
	{ "[a-]", "-", true },
	{ "[", "[", true },
	{ "a[", "a[", true },
	{ "a[b", "ab", false },
	{ "\\*", "*", true },
	{ "\\*", "a", false },
	{ "a\\", "a\\", true },
	{ "*[0-9]", "abc7", true },
	{ "*[0-9]", "abc7x", false },
	{ "[z-a]", "m", false },
};

START_TEST(globs_have_sets)
{
	ck_assert_int_eq(
		xvt_like(sets[_i].glob, (const uint8_t *)sets[_i].text, strlen(sets[_i].text)),
		sets[_i].like);
}
END_TEST

/* A glob of stars takes no more than the product of the lengths. */
START_TEST(many_stars_are_no_trap)
{
	static uint8_t text[60000];
	char glob[801];

	for (size_t i = 0; i < 800; i += 2) {
		glob[i] = '*';
		glob[i + 1] = 'a';
	}
	glob[799] = 'b';
	glob[800] = '\0';
	memset(text, 'a', sizeof(text));
	ck_assert(!xvt_like(glob, text, sizeof(text)));
}
END_TEST

Suite *filter_suite(void)
{
	Suite *s = suite_create("filter");
	TCase *t = tcase_create("filter");

	tcase_set_timeout(t, 60);
	tcase_add_loop_test(t, what_is_no_filter_is_said_with_its_place, 0,
			    sizeof(syntax) / sizeof(syntax[0]));
	tcase_add_loop_test(t, long_and_deep_filters_are_refused, 0, 5);
	tcase_add_test(t, globs_are_those_of_the_c_library);
	tcase_add_loop_test(t, globs_have_sets, 0, sizeof(sets) / sizeof(sets[0]));
	tcase_add_test(t, many_stars_are_no_trap);
	suite_add_tcase(s, t);
	return s;
}
