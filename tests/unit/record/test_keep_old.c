// SPDX-License-Identifier: GPL-2.0
/* test_keep_old.c - the trace that a recording would replace moves to NAME.old, and back. */
#include "suites.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record/keep_old.h"

static void write_file(const char *name, const char *text)
{
	FILE *f = fopen(scratch_path(name), "w");

	ck_assert_ptr_nonnull(f);
	fputs(text, f);
	fclose(f);
}

/* The text of a file; "": there is none. */
static const char *text_of(const char *name)
{
	static char text[2][64];
	static unsigned int turn;
	char *to = text[turn++ % 2];
	FILE *f = fopen(scratch_path(name), "r");

	to[0] = '\0';
	if (f && !fgets(to, sizeof(text[0]), f))
		to[0] = '\0';
	if (f)
		fclose(f);
	return to;
}

static void remove_files(void)
{
	unlink(scratch_path("t"));
	unlink(scratch_path("t.old"));
}

START_TEST(nothing_is_kept_of_nothing)
{
	ck_assert_int_eq(xvt_keep_old(scratch_path("t")), XVT_KEPT_NONE);
	xvt_keep_old_undo(scratch_path("t"), XVT_KEPT_NONE);
	ck_assert(access(scratch_path("t.old"), F_OK));
}
END_TEST

START_TEST(a_trace_moves_and_comes_back)
{
	write_file("t", "one");
	ck_assert_int_eq(xvt_keep_old(scratch_path("t")), XVT_KEPT_MOVED);
	ck_assert_str_eq(text_of("t"), "");
	ck_assert_str_eq(text_of("t.old"), "one");
	xvt_keep_old_undo(scratch_path("t"), XVT_KEPT_MOVED);
	ck_assert_str_eq(text_of("t"), "one");
	ck_assert_str_eq(text_of("t.old"), "");
}
END_TEST

START_TEST(an_older_one_is_there_until_it_is_written)
{
	write_file("t", "two");
	write_file("t.old", "one");
	ck_assert_int_eq(xvt_keep_old(scratch_path("t")), XVT_KEPT_SWAPPED);
	ck_assert_str_eq(text_of("t.old"), "two");
	ck_assert_str_eq(text_of("t"), "one");
	xvt_keep_old_undo(scratch_path("t"), XVT_KEPT_SWAPPED);
	ck_assert_str_eq(text_of("t"), "two");
	ck_assert_str_eq(text_of("t.old"), "one");
}
END_TEST

START_TEST(what_is_no_file_stays)
{
	ck_assert_int_eq(mkdir(scratch_path("folder"), 0700), 0);
	ck_assert_int_eq(xvt_keep_old(scratch_path("folder")), XVT_KEPT_NONE);
	rmdir(scratch_path("folder"));
	write_file("t", "one");
	/* An undo after an error has nothing to undo. */
	xvt_keep_old_undo(scratch_path("t"), -1);
	ck_assert_str_eq(text_of("t"), "one");
}
END_TEST

/* What it leads to is not written. */
START_TEST(a_link_is_kept_as_a_file_is)
{
	char link[4096], to[16] = "";

	snprintf(link, sizeof(link), "%s", scratch_path("t"));
	ck_assert_int_eq(symlink("target", link), 0);
	ck_assert_int_eq(xvt_keep_old(link), XVT_KEPT_MOVED);
	ck_assert_int_eq(access(link, F_OK), -1);
	ck_assert_int_eq(readlink(scratch_path("t.old"), to, sizeof(to) - 1), 6);
	ck_assert_str_eq(to, "target");
	write_file("t", "new");
	unlink(link); /* as a sink does that is called off */
	xvt_keep_old_undo(link, XVT_KEPT_MOVED);
	ck_assert_int_eq(readlink(link, to, sizeof(to) - 1), 6);
}
END_TEST

Suite *keep_old_suite(void)
{
	Suite *s = suite_create("keep_old");
	TCase *t = tcase_create("keep_old");

	tcase_add_checked_fixture(t, NULL, remove_files);
	tcase_add_test(t, nothing_is_kept_of_nothing);
	tcase_add_test(t, a_trace_moves_and_comes_back);
	tcase_add_test(t, an_older_one_is_there_until_it_is_written);
	tcase_add_test(t, what_is_no_file_stays);
	tcase_add_test(t, a_link_is_kept_as_a_file_is);
	suite_add_tcase(s, t);
	return s;
}
