// SPDX-License-Identifier: GPL-2.0
/*
 * test_snapshots.c - when a snapshot begins, which files of the set are in it, and when it ends.
 * The set is real, the clock is the test's own.
 */
#define _GNU_SOURCE
#include "suites.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "flight/snapshots.h"
#include "said.h"
#include "set_recording.h"
#include "trace/file_snapshot.h"
#include "trace/set_name.h"

static struct set_recording r;
static struct xvt_snapshots *snapshots;
static struct xvt_snapshots_options opt;
static uint64_t now_ns;

static void setup(void)
{
	said_setup();
	set_recording_begin(&r, "snapshots", true);
	opt = (struct xvt_snapshots_options){
		.before_ns = SECOND_NS, .after_ns = 2 * SECOND_NS, .per_minute = 1, .most = 8
	};
	now_ns = xvt_session_now_ns(r.rec.session);
}

static void teardown(void)
{
	xvt_snapshots_free(snapshots);
	snapshots = NULL;
	set_recording_end(&r);
}

static void begin(const char *condition)
{
	char folder[300];

	if (condition)
		opt.when.v[opt.when.n++] = condition;
	snprintf(folder, sizeof(folder), "%s/", r.folder);
	ck_assert_int_eq(xvt_snapshots_new(&snapshots, &r.rec, folder, &opt), 0);
}

static void pass_after(uint64_t ns)
{
	now_ns += ns;
	xvt_timers_run(&r.rec.after_pass, now_ns);
}

/* The files of a snapshot: "1 2 3". */
static const char *files_of(uint64_t number)
{
	static char text[64];
	const char *path = xvt_snapshots_path(snapshots, number);
	char file[512];

	text[0] = '\0';
	for (unsigned int i = 1; i < 10; i++) {
		snprintf(file, sizeof(file), "%s/" XVT_SET_NAME, path, i);
		if (!access(file, F_OK))
			snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%u",
				 text[0] ? " " : "", i);
	}
	return text;
}

static const char *files(void)
{
	return files_of(1);
}

/* The border of the open snapshot: it is asked for behind the time that the merge gets. */
static void to_its_border(void)
{
	const uint32_t number = xvt_file_set_at(r.rec.sink);

	pass_after(opt.after_ns + 10 * SECOND_NS);
	set_recording_until(&r, number + 1);
	pass_after(0);
}

/* ------------------------------------------------------------------ one that a client wants */

START_TEST(a_client_gets_the_file_of_the_moment)
{
	begin(NULL);
	pass_after(0);
	ck_assert_uint_eq(xvt_snapshots_ask(snapshots, now_ns), 1);
	ck_assert_str_eq(files(), "1");
	said_has("snapshot: begins: a client asked for it, at ");
	/* One at a time. */
	ck_assert_uint_eq(xvt_snapshots_ask(snapshots, now_ns), 0);
	ck_assert_int_eq(xvt_snapshots_made(snapshots, 1), -EAGAIN);
	ck_assert_uint_eq(xvt_snapshots_count(snapshots), 0);
	to_its_border();
	ck_assert_int_eq(xvt_snapshots_made(snapshots, 1), 0);
	ck_assert_str_eq(files(), "1");
	ck_assert_uint_eq(xvt_snapshots_count(snapshots), 1);
	ck_assert_ptr_nonnull(strstr(xvt_snapshots_path(snapshots, 1), "-control"));
	said_has("has it: a client asked for it");
	ck_assert_uint_eq(xvt_snapshots_ask(snapshots, now_ns), 2);
	ck_assert_int_eq(xvt_snapshots_made(snapshots, 1), 0);
	ck_assert_str_ne(xvt_snapshots_path(snapshots, 1), xvt_snapshots_path(snapshots, 2));
	ck_assert_str_eq(files(), "1");
}
END_TEST

/* A client may ask what became of its snapshot when the next one is over. */
START_TEST(each_has_a_result_of_its_own)
{
	begin(NULL);
	pass_after(0);
	ck_assert_uint_eq(xvt_snapshots_ask(snapshots, now_ns), 1);
	/* Its file does not end. */
	pass_after(opt.after_ns + 10 * SECOND_NS);
	pass_after(3600 * SECOND_NS);
	ck_assert_int_eq(xvt_snapshots_made(snapshots, 1), -ETIMEDOUT);
	ck_assert_uint_eq(xvt_snapshots_ask(snapshots, now_ns), 2);
	ck_assert_int_eq(xvt_snapshots_made(snapshots, 1), -ETIMEDOUT);
	to_its_border();
	ck_assert_int_eq(xvt_snapshots_made(snapshots, 2), 0);
	ck_assert_int_eq(xvt_snapshots_made(snapshots, 1), -ETIMEDOUT);
	ck_assert_uint_eq(xvt_snapshots_count(snapshots), 1);
}
END_TEST

START_TEST(the_end_is_not_before_its_time)
{
	begin(NULL);
	pass_after(0);
	xvt_snapshots_ask(snapshots, now_ns);
	pass_after(opt.after_ns - 1);
	for (unsigned int i = 0; i < 4; i++)
		set_recording_pass(&r);
	ck_assert_uint_eq(xvt_file_set_at(r.rec.sink), 1);
	/* The merge has not passed the moment, which lies in the future of the real clock. */
	pass_after(1 + 10 * SECOND_NS - 1);
	for (unsigned int i = 0; i < 4; i++)
		set_recording_pass(&r);
	ck_assert_uint_eq(xvt_file_set_at(r.rec.sink), 1);
	pass_after(1);
	set_recording_until(&r, 2);
	pass_after(0);
	ck_assert_int_eq(xvt_snapshots_made(snapshots, 1), 0);
}
END_TEST

START_TEST(files_that_begin_meanwhile_are_in_it)
{
	begin(NULL);
	pass_after(0);
	xvt_snapshots_ask(snapshots, now_ns);
	set_recording_next(&r);
	pass_after(0);
	ck_assert_str_eq(files(), "1 2");
	to_its_border();
	ck_assert_str_eq(files(), "1 2");
	ck_assert_uint_eq(xvt_file_set_at(r.rec.sink), 3);
}
END_TEST

START_TEST(files_from_before_the_moment_are_in_it)
{
	begin(NULL);
	pass_after(0);
	set_recording_next(&r);
	pass_after(10 * SECOND_NS);
	set_recording_next(&r);
	pass_after(10 * SECOND_NS);
	/* The third file has begun just now, and what is a second old is in the second. */
	xvt_snapshots_ask(snapshots, now_ns);
	ck_assert_str_eq(files(), "2 3");
	to_its_border();
	xvt_snapshots_free(snapshots);
	opt.before_ns = 3600 * SECOND_NS;
	opt.when.n = 0;
	begin(NULL);
	pass_after(0);
	/* Begins before it was there are not known: the present file is the first. */
	xvt_snapshots_ask(snapshots, now_ns);
	ck_assert_str_eq(files(), "4");
}
END_TEST

START_TEST(a_file_that_was_removed_is_told)
{
	char path[512];

	opt.before_ns = 3600 * SECOND_NS;
	begin(NULL);
	pass_after(0);
	set_recording_next(&r);
	pass_after(SECOND_NS);
	ck_assert(xvt_set_path(r.folder, 1, path, sizeof(path)));
	ck_assert_int_eq(unlink(path), 0);
	xvt_snapshots_ask(snapshots, now_ns);
	to_its_border();
	ck_assert_int_eq(xvt_snapshots_made(snapshots, 1), 0);
	ck_assert_str_eq(files(), "2");
	said_has("lacks 1 files, which --keep-size or --keep-free had removed");
}
END_TEST

START_TEST(a_border_that_does_not_come_ends_it)
{
	begin(NULL);
	pass_after(0);
	xvt_snapshots_ask(snapshots, now_ns);
	pass_after(opt.after_ns + 10 * SECOND_NS);
	pass_after(60 * SECOND_NS);
	ck_assert_int_eq(xvt_snapshots_made(snapshots, 1), -EAGAIN);
	pass_after(1);
	ck_assert_int_eq(xvt_snapshots_made(snapshots, 1), -ETIMEDOUT);
	said_has("is not whole: the file that has its end does not end");
	ck_assert_uint_eq(xvt_snapshots_count(snapshots), 0);
}
END_TEST

START_TEST(a_folder_that_cannot_be_made_ends_it)
{
	char path[512];

	begin(NULL);
	pass_after(0);
	snprintf(path, sizeof(path), "%s/" XVT_SNAPSHOT_FOLDER, r.folder);
	fclose(fopen(path, "w"));
	xvt_snapshots_ask(snapshots, now_ns);
	ck_assert_int_eq(xvt_snapshots_made(snapshots, 1), -EAGAIN);
	pass_after(0);
	ck_assert_int_eq(xvt_snapshots_made(snapshots, 1), -ENOTDIR);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_uint_eq(xvt_snapshots_ask(snapshots, now_ns), 2);
	to_its_border();
	ck_assert_int_eq(xvt_snapshots_made(snapshots, 2), 0);
}
END_TEST

START_TEST(the_oldest_go)
{
	opt.most = 2;
	begin(NULL);
	pass_after(0);
	for (unsigned int i = 1; i <= 3; i++) {
		ck_assert_uint_eq(xvt_snapshots_ask(snapshots, now_ns), i);
		to_its_border();
		ck_assert_uint_eq(xvt_file_snapshot_count(r.folder), i < 2 ? i : 2);
	}
	ck_assert_str_eq(files_of(3), "2 3");
}
END_TEST

START_TEST(an_open_one_ends_with_the_recording)
{
	begin(NULL);
	pass_after(0);
	xvt_snapshots_ask(snapshots, now_ns);
	said();
	xvt_snapshots_free(snapshots);
	snapshots = NULL;
	said_has("ends with the recording: a client asked for it");
}
END_TEST

/* ------------------------------------------------------------------ conditions */

START_TEST(a_crash_makes_one)
{
	begin("crash g*");
	ck_assert(xvt_snapshots_wants_crash(snapshots, "g1"));
	ck_assert(!xvt_snapshots_wants_crash(snapshots, "web"));
	ck_assert(!xvt_snapshots_wants_crash(NULL, "g1"));
	pass_after(0);
	set_recording_crash(&r);
	pass_after(SECOND_NS);
	said_has("snapshot: begins: g1 crashed, at ");
	ck_assert_uint_eq(xvt_snapshots_held(snapshots), 1);
	ck_assert_str_eq(files(), "1");
	ck_assert_ptr_nonnull(strstr(xvt_snapshots_path(snapshots, 1), "-crash-g1"));
	to_its_border();
	ck_assert_uint_eq(xvt_snapshots_count(snapshots), 1);
	said_has("has it: g1 crashed");
}
END_TEST

START_TEST(conditions_are_looked_at_four_times_a_second)
{
	begin("crash");
	pass_after(0);
	set_recording_crash(&r);
	pass_after(SECOND_NS / 4 - 1);
	ck_assert_uint_eq(xvt_snapshots_held(snapshots), 0);
	pass_after(1);
	ck_assert_uint_eq(xvt_snapshots_held(snapshots), 1);
}
END_TEST

/* A crash again, of a machine that has booted since. */
static void crash_again(void)
{
	xvt_store_release(&region_file_hdr(&r.region)->generation,
			  region_file_hdr(&r.region)->generation + 1);
	set_recording_pass(&r);
	set_recording_crash(&r);
}

START_TEST(what_the_open_one_has_needs_none)
{
	begin("crash");
	pass_after(0);
	set_recording_crash(&r);
	pass_after(SECOND_NS);
	crash_again();
	pass_after(SECOND_NS);
	ck_assert_uint_eq(xvt_snapshots_held(snapshots), 2);
	to_its_border();
	ck_assert_uint_eq(xvt_file_snapshot_count(r.folder), 1);
	ck_assert_ptr_null(strstr(said(), "more times"));
}
END_TEST

START_TEST(a_machine_has_so_many_in_a_minute)
{
	uint64_t first_ns;

	begin("crash");
	pass_after(0);
	set_recording_crash(&r);
	pass_after(SECOND_NS);
	first_ns = now_ns;
	to_its_border();
	said();
	crash_again();
	pass_after(SECOND_NS);
	ck_assert_uint_eq(xvt_snapshots_held(snapshots), 2);
	ck_assert_uint_eq(xvt_file_snapshot_count(r.folder), 1);
	said_has("conditions held 1 more times, which is beyond --snapshot-per-minute");
	/* That is told once a minute. */
	crash_again();
	pass_after(SECOND_NS);
	ck_assert_str_eq(said(), "");
	/* Clients have as many as they want. */
	ck_assert_uint_eq(xvt_snapshots_ask(snapshots, now_ns), 2);
	to_its_border();
	ck_assert_uint_lt(now_ns, first_ns + 60 * SECOND_NS);
	now_ns = first_ns + 60 * SECOND_NS - 1;
	crash_again();
	pass_after(0);
	ck_assert_uint_eq(xvt_file_snapshot_count(r.folder), 2);
	crash_again();
	pass_after(SECOND_NS);
	ck_assert_uint_eq(xvt_file_snapshot_count(r.folder), 3);
	said_has("begins: g1 crashed");
}
END_TEST

START_TEST(conditions_are_checked_before)
{
	begin(NULL);
	opt.when.v[0] = "crash";
	opt.when.v[1] = "bomb";
	opt.when.n = 2;
	ck_assert_int_eq(xvt_snapshots_check(&opt), -EINVAL);
	said_has("a condition is: event GLOB");
	opt.when.v[1] = "loss";
	ck_assert_int_eq(xvt_snapshots_check(&opt), 0);
	for (size_t i = 0; i < 17; i++)
		opt.when.v[i] = "loss";
	opt.when.n = 16;
	ck_assert_int_eq(xvt_snapshots_check(&opt), 0);
	opt.when.n = 17;
	ck_assert_int_eq(xvt_snapshots_check(&opt), -EINVAL);
	said_has("there are more than 16 conditions");
	xvt_snapshots_free(snapshots);
	snapshots = NULL;
	ck_assert_int_eq(xvt_snapshots_new(&snapshots, &r.rec, r.folder, &opt), -EINVAL);
	ck_assert_ptr_null(snapshots);
}
END_TEST

/* ------------------------------------------------------------------ events */

START_TEST(a_search_that_stands_still_is_told)
{
	pid_t pid;

	begin("event xvt:text");
	ck_assert_uint_eq(r.rec.helper_count, 1);
	ck_assert_str_eq(r.rec.helpers[0].does, "looks for events");
	pid = *r.rec.helpers[0].pid;
	stop_child(pid);
	/* The first question. Until then there is nothing to answer. */
	pass_after(0);
	pass_after(100 * SECOND_NS);
	pass_after(30 * SECOND_NS - 1);
	ck_assert_str_eq(said(), "");
	pass_after(SECOND_NS);
	said_has(") has not answered for 30 s: it was stopped, or a disk does not answer. Until it "
		 "answers, no event makes a snapshot");
	pass_after(60 * SECOND_NS);
	ck_assert_str_eq(said(), "");
	ck_assert_int_eq(kill(pid, SIGCONT), 0);
	while (r.rec.helpers[0].watched->asked)
		pass_after(SECOND_NS);
	pass_after(SECOND_NS);
	said_has("process that looks for events (process ");
	pass_after(60 * SECOND_NS);
	ck_assert_str_eq(said(), "");
	/* No machine is kept armed: a recorder may sleep as long as it wants. */
	ck_assert_uint_eq(xvt_timers_sleep_ns(&r.rec.after_pass, now_ns, UINT64_MAX), UINT64_MAX);
	ck_assert(!xvt_snapshots_look_at_armed(snapshots) && !xvt_snapshots_look_at_armed(NULL));
}
END_TEST

Suite *snapshots_suite(void)
{
	Suite *s = suite_create("snapshots");
	TCase *t = tcase_create("snapshots");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, a_client_gets_the_file_of_the_moment);
	tcase_add_test(t, each_has_a_result_of_its_own);
	tcase_add_test(t, the_end_is_not_before_its_time);
	tcase_add_test(t, files_that_begin_meanwhile_are_in_it);
	tcase_add_test(t, files_from_before_the_moment_are_in_it);
	tcase_add_test(t, a_file_that_was_removed_is_told);
	tcase_add_test(t, a_border_that_does_not_come_ends_it);
	tcase_add_test(t, a_folder_that_cannot_be_made_ends_it);
	tcase_add_test(t, the_oldest_go);
	tcase_add_test(t, an_open_one_ends_with_the_recording);
	tcase_add_test(t, a_crash_makes_one);
	tcase_add_test(t, conditions_are_looked_at_four_times_a_second);
	tcase_add_test(t, what_the_open_one_has_needs_none);
	tcase_add_test(t, a_machine_has_so_many_in_a_minute);
	tcase_add_test(t, conditions_are_checked_before);
	tcase_add_test(t, a_search_that_stands_still_is_told);
	suite_add_tcase(s, t);
	return s;
}
