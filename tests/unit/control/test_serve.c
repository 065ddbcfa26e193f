// SPDX-License-Identifier: GPL-2.0
/* test_serve.c - requests of the control socket: which lines are one, and what is said of others.
 */
#include "suites.h"

#include <string.h>

#include "control/serve.h"

static enum xvt_request parse(const char *line, struct xvt_error *why)
{
	why->text[0] = 0;
	return xvt_request_parse(line, why);
}

START_TEST(each_request_is_known)
{
	struct xvt_error why;

	ck_assert_int_eq(parse("{\"do\":\"status\"}", &why), XVT_REQUEST_STATUS);
	ck_assert_int_eq(parse("{\"do\":\"reload\",\"version\":1}", &why), XVT_REQUEST_RELOAD);
	ck_assert_int_eq(parse("{\"do\":\"stop\",\"machines\":[\"a\"]}", &why), XVT_REQUEST_STOP);
	ck_assert_int_eq(parse("{\"do\":\"start\",\"machines\":[\"a\",\"b*\"]}", &why),
			 XVT_REQUEST_START);
	ck_assert_str_eq(why.text, "");
}
END_TEST

START_TEST(machines_are_names)
{
	static const char *const wrong[] = {
		"{\"do\":\"stop\"}",
		"{\"do\":\"start\",\"machines\":[]}",
		"{\"do\":\"stop\",\"machines\":\"a\"}",
		"{\"do\":\"stop\",\"machines\":[\"a\",1]}",
		"{\"do\":\"start\",\"machines\":[\"\"]}",
		"{\"do\":\"stop\",\"machines\":{\"a\":\"b\"}}",
		"{\"do\":\"stop\",\"machines\":[[\"a\"]]}",
		"{\"do\":\"stop\",\"machines\":[null]}",
	};
	struct xvt_error why;
	size_t i;

	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		ck_assert_msg(parse(wrong[i], &why) == XVT_REQUEST_NONE, "%s", wrong[i]);
		ck_assert_msg(strstr(why.text, "needs \"machines\":[NAME,...]"), "%s: %s", wrong[i],
			      why.text);
	}
}
END_TEST

START_TEST(other_lines_are_told_what_there_is)
{
	struct xvt_error why;

	ck_assert_int_eq(parse("{\"do\":\"halt\"}", &why), XVT_REQUEST_NONE);
	ck_assert_ptr_nonnull(strstr(why.text, "status metrics rotate reload snapshot stop start"));
	ck_assert_int_eq(parse("{\"do\":\"stop\",\"machines\":[\"a\"],\"version\":2}", &why),
			 XVT_REQUEST_NONE);
	ck_assert_ptr_nonnull(strstr(why.text, "version 1"));
	ck_assert_int_eq(parse("{\"do\":\"stop\",\"machines\":[\"a\"]", &why), XVT_REQUEST_NONE);
	ck_assert_str_ne(why.text, "");
}
END_TEST

Suite *serve_suite(void)
{
	Suite *s = suite_create("serve");
	TCase *tc = tcase_create("requests");

	tcase_add_test(tc, each_request_is_known);
	tcase_add_test(tc, machines_are_names);
	tcase_add_test(tc, other_lines_are_told_what_there_is);
	suite_add_tcase(s, tc);
	return s;
}
