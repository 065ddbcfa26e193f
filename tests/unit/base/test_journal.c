// SPDX-License-Identifier: GPL-2.0
/* An entry of the journal has the fields that it should have, and no others. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/journal.h"
#include "suites.h"

static char entry[XVT_JOURNAL_ENTRY_MAX];

static void ck_entry(enum xvt_journal_priority priority, const char *text, const char *machine,
		     const char *expected)
{
	const size_t len = xvt_journal_entry(entry, priority, text, machine);

	ck_assert_uint_eq(len, strlen(expected));
	ck_assert_mem_eq(entry, expected, len);
}

START_TEST(an_entry_has_a_line_for_each_field)
{
	ck_entry(XVT_JOURNAL_WARNING, "g1: warning: a=b", "g1",
		 "PRIORITY=4\nSYSLOG_IDENTIFIER=xvtrace\nXVTRACE_MACHINE=g1\n"
		 "MESSAGE=g1: warning: a=b\n");
	ck_entry(XVT_JOURNAL_ERROR, "record: no", NULL,
		 "PRIORITY=3\nSYSLOG_IDENTIFIER=xvtrace\nMESSAGE=record: no\n");
}
END_TEST

START_TEST(a_newline_brings_no_field_of_its_own)
{
	ck_entry(XVT_JOURNAL_INFO, "a\n_UID=0", NULL, "");
	ck_entry(XVT_JOURNAL_INFO, "a", "g\nPRIORITY=0", "");
}
END_TEST

START_TEST(an_entry_that_is_too_long_is_none)
{
	char text[XVT_JOURNAL_ENTRY_MAX];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	ck_entry(XVT_JOURNAL_INFO, text, NULL, "");
	text[3000] = '\0';
	ck_assert_uint_gt(xvt_journal_entry(entry, XVT_JOURNAL_INFO, text, "g1"), 3000);
}
END_TEST

/* Its variable stays in the environment of a program whose standard error is another file. */
START_TEST(nothing_is_sent_where_standard_error_is_no_journal)
{
	ck_assert_int_eq(setenv("JOURNAL_STREAM", "8:1", 1), 0);
	xvt_journal_prepare();
	ck_assert(!xvt_journal_send(XVT_JOURNAL_INFO, "a", NULL));
	ck_assert_int_eq(unsetenv("JOURNAL_STREAM"), 0);
	xvt_journal_prepare();
	ck_assert(!xvt_journal_send(XVT_JOURNAL_INFO, "a", NULL));
}
END_TEST

Suite *journal_suite(void)
{
	Suite *s = suite_create("journal");
	TCase *t = tcase_create("entry");

	tcase_add_test(t, an_entry_has_a_line_for_each_field);
	tcase_add_test(t, a_newline_brings_no_field_of_its_own);
	tcase_add_test(t, an_entry_that_is_too_long_is_none);
	tcase_add_test(t, nothing_is_sent_where_standard_error_is_no_journal);
	suite_add_tcase(s, t);
	return s;
}
