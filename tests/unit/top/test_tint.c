// SPDX-License-Identifier: GPL-2.0
/* test_tint.c - the coloured parts of a machine's line of `xvtrace top`. */
#include "suites.h"

#include <string.h>

#include "top/tint.h"

static const char head[] = "MACHINE  STATE         EVENTS/S  LOST/S      LAG";

static size_t tints_of(struct xvt_top_tint tints[XVT_TOP_TINTS], const char *text, uint64_t lost_s)
{
	const struct xvt_top_machine m = { .v[XVT_TOP_LOST_S] = lost_s };
	struct xvt_top_heads heads;

	xvt_top_heads(&heads, head, strlen(head));
	return xvt_top_tints(tints, &heads, &m, text, strlen(text));
}

START_TEST(losses_are_red_where_there_are_some)
{
	const char *text = "g1       live             10161      12   140 us";
	struct xvt_top_tint tints[XVT_TOP_TINTS];

	ck_assert_uint_eq(tints_of(tints, text, 12), 2);
	ck_assert_int_eq(tints[0].colour, XVT_SCREEN_GREEN);
	ck_assert_uint_eq(tints[0].at, 9);
	ck_assert_int_eq(tints[1].colour, XVT_SCREEN_RED);
	ck_assert(!strncmp(text + tints[1].at, "     12", tints[1].letters));
	ck_assert_uint_eq(tints_of(tints, text, 0), 1);
}
END_TEST

START_TEST(states_have_three_colours)
{
	struct xvt_top_tint tints[XVT_TOP_TINTS];

	tints_of(tints, "g1       stands still", 0);
	ck_assert_int_eq(tints[0].colour, XVT_SCREEN_YELLOW);
	tints_of(tints, "g1       ended", 0);
	ck_assert_int_eq(tints[0].colour, XVT_SCREEN_RED);
	/* Names have letters of several bytes. */
	tints_of(tints, "g\xc3\xa4       live", 0);
	ck_assert_int_eq(tints[0].colour, XVT_SCREEN_GREEN);
}
END_TEST

START_TEST(nothing_is_coloured_before_a_head)
{
	const struct xvt_top_heads none = { 0 };
	const struct xvt_top_machine m = { .id = 1 };
	struct xvt_top_tint tints[XVT_TOP_TINTS];

	ck_assert_uint_eq(xvt_top_tints(tints, &none, &m, "g1  live", 8), 0);
}
END_TEST

Suite *top_tint_suite(void)
{
	Suite *s = suite_create("top_tint");
	TCase *t = tcase_create("top_tint");

	tcase_add_test(t, losses_are_red_where_there_are_some);
	tcase_add_test(t, states_have_three_colours);
	tcase_add_test(t, nothing_is_coloured_before_a_head);
	suite_add_tcase(s, t);
	return s;
}
