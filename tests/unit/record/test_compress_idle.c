// SPDX-License-Identifier: GPL-2.0
/*
 * test_compress_idle.c - finished files are replaced by compressed copies, one by one, and only the
 * file that was read. The clock is the test's own, and so is the process that makes the copies: its
 * calls end here (rules.mk), since the real one gets no CPU time on a busy host.
 */
#define _GNU_SOURCE
#include "suites.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record/compress_idle.h"
#include "record/compressor.h"
#include "said.h"
#include "set_recording.h"
#include "trace/format.h"
#include "trace/set_name.h"

#define FILE_BYTES 8000u
#define COPY_BYTES 1000u

static struct set_recording r;
static struct xvt_compress_idle *idle;
static uint64_t now_ns;

/* ------------------------------------------------------------------ the process */

static struct {
	unsigned int processes;
	struct xvt_helper helper;
	uint32_t asked; /* the file that it has; 0: none */
	bool answers;
	struct xvt_compressed done;
} process;

int __wrap_xvt_compressor_new(struct xvt_compressor **out, const char *folder, unsigned int level);
struct xvt_helper *__wrap_xvt_compressor_helper(struct xvt_compressor *c);
void __wrap_xvt_compressor_free(struct xvt_compressor *c);
int __wrap_xvt_compressor_ask(struct xvt_compressor *c, uint32_t number);
int __wrap_xvt_compressor_answer(struct xvt_compressor *c, struct xvt_compressed *done);

int __wrap_xvt_compressor_new(struct xvt_compressor **out, const char *folder, unsigned int level)
{
	ck_assert_str_eq(folder, r.folder);
	ck_assert_uint_eq(level, 3);
	process.processes++;
	*out = (struct xvt_compressor *)&process;
	return 0;
}

struct xvt_helper *__wrap_xvt_compressor_helper(struct xvt_compressor *c)
{
	(void)c;
	return &process.helper;
}

void __wrap_xvt_compressor_free(struct xvt_compressor *c)
{
	process.processes -= c != NULL;
}

int __wrap_xvt_compressor_ask(struct xvt_compressor *c, uint32_t number)
{
	(void)c;
	ck_assert_uint_eq(process.asked, 0); /* one at a time */
	process.asked = number;
	process.answers = false;
	return 0;
}

int __wrap_xvt_compressor_answer(struct xvt_compressor *c, struct xvt_compressed *done)
{
	(void)c;
	if (!process.answers)
		return -EAGAIN;
	*done = process.done;
	process.asked = 0;
	return 0;
}

/* ------------------------------------------------------------------ files */

static const char *path_of(uint32_t number)
{
	static char path[512];

	ck_assert(xvt_set_path(r.folder, number, path, sizeof(path)));
	return path;
}

static uint64_t size_of(uint32_t number)
{
	struct stat st;

	ck_assert_int_eq(stat(path_of(number), &st), 0);
	return (uint64_t)st.st_size;
}

static void write_file(const char *path, unsigned int bytes)
{
	const uint32_t magic = XVT_CHUNK_MAGIC;
	FILE *f;

	unlink(path);
	f = fopen(path, "w");
	ck_assert_ptr_nonnull(f);
	ck_assert_uint_eq(fwrite(&magic, sizeof(magic), 1, f), 1);
	ck_assert_int_eq(ftruncate(fileno(f), bytes), 0);
	fclose(f);
}

static const char *copy_path(void)
{
	static char copy[512];

	snprintf(copy, sizeof(copy), "%s/" XVT_SET_COPY, r.folder);
	return copy;
}

static bool has_copy(void)
{
	return !access(copy_path(), F_OK);
}

/* Passes until this file is the oldest one that is written. */
static void until_oldest(uint32_t number)
{
	while (xvt_file_set_oldest_open(r.rec.sink) < number)
		set_recording_pass(&r);
}

/* The process has read the file that it was asked for; err: as of struct xvt_compressed. */
static void reads(int err)
{
	process.done = (struct xvt_compressed){ .err = err, .bytes = err ? 0 : COPY_BYTES };
	ck_assert_int_eq(stat(path_of(process.asked), &process.done.st), 0);
	if (!err)
		write_file(copy_path(), COPY_BYTES);
	process.answers = true;
}

static void pass_after(uint64_t ns)
{
	now_ns += ns;
	xvt_timers_run(&r.rec.after_pass, now_ns);
}

static struct xvt_compress_idle_sums sums(void)
{
	return xvt_compress_idle_sums(idle);
}

static void setup(void)
{
	said_setup();
	set_recording_begin(&r, "compress", true);
	for (unsigned int i = 0; i < 3; i++)
		set_recording_next(&r);
	until_oldest(4);
	for (unsigned int i = 1; i <= 3; i++)
		write_file(path_of(i), FILE_BYTES);
	memset(&process, 0, sizeof(process));
	now_ns = 1000 * SECOND_NS;
	ck_assert_int_eq(xvt_compress_idle_new(&idle, &r.rec, r.folder, 3), 0);
	ck_assert_uint_eq(r.rec.helper_count, 1);
	ck_assert_ptr_eq(r.rec.helpers[0].watched, &process.helper);
	ck_assert_ptr_eq(r.rec.helpers[0].pid, &process.helper.pid);
}

static void teardown(void)
{
	xvt_compress_idle_free(idle);
	ck_assert_uint_eq(process.processes, 0);
	ck_assert(!has_copy());
	set_recording_end(&r);
}

/* The file that the process has gets a copy, which takes its name. */
static void replaced_is(uint32_t number)
{
	const uint64_t before = sums().files;

	ck_assert_uint_eq(process.asked, number);
	reads(0);
	pass_after(SECOND_NS);
	ck_assert_uint_eq(sums().files, before + 1);
	ck_assert_uint_eq(size_of(number), COPY_BYTES);
	ck_assert(!has_copy());
}

/* The file that the process has stays, and the next one follows at once. */
static void stays(uint32_t number)
{
	const uint64_t before = sums().files, bytes = size_of(number);

	ck_assert_uint_eq(process.asked, number);
	process.answers = true;
	pass_after(SECOND_NS);
	ck_assert_uint_eq(sums().files, before);
	ck_assert_uint_eq(size_of(number), bytes);
	ck_assert_uint_eq(process.asked, number + 1);
	ck_assert(!has_copy());
}

START_TEST(finished_files_become_smaller)
{
	pass_after(0);
	for (uint32_t i = 1; i <= 3; i++)
		replaced_is(i);
	/* The present file is not finished, and each one is compressed once. */
	for (unsigned int i = 0; i < 4; i++)
		pass_after(SECOND_NS);
	ck_assert_uint_eq(process.asked, 0);
	ck_assert_uint_eq(sums().before, 3 * FILE_BYTES);
	ck_assert_uint_eq(sums().after, 3 * COPY_BYTES);
	ck_assert_str_eq(said(), "");
}
END_TEST

START_TEST(a_file_that_is_finished_later_follows)
{
	pass_after(0);
	for (uint32_t i = 1; i <= 3; i++)
		replaced_is(i);
	pass_after(SECOND_NS);
	ck_assert_uint_eq(process.asked, 0);
	set_recording_next(&r);
	until_oldest(5);
	pass_after(SECOND_NS);
	ck_assert_uint_eq(process.asked, 4);
}
END_TEST

START_TEST(answers_are_looked_for_ten_times_a_second)
{
	pass_after(0);
	reads(0);
	pass_after(SECOND_NS / 10 - 1);
	ck_assert_uint_eq(sums().files, 0);
	pass_after(1);
	ck_assert_uint_eq(sums().files, 1);
}
END_TEST

START_TEST(a_file_that_is_in_a_snapshot_by_then_stays)
{
	char linked[512];

	snprintf(linked, sizeof(linked), "%s/linked", r.folder);
	pass_after(0);
	reads(0);
	ck_assert_int_eq(link(path_of(1), linked), 0);
	stays(1);
	replaced_is(2);
	ck_assert_str_eq(said(), "");
}
END_TEST

START_TEST(a_file_that_is_another_one_by_then_stays)
{
	struct stat st;

	pass_after(0);
	reads(0);
	process.done.st.st_ino++;
	stays(1);
	reads(0);
	process.done.st.st_size++;
	stays(2);
	ck_assert_uint_eq(process.asked, 3);
	reads(0);
	process.done.st.st_mtim.tv_nsec++;
	pass_after(SECOND_NS);
	ck_assert_uint_eq(sums().files, 0);
	ck_assert_int_eq(stat(path_of(3), &st), 0);
	ck_assert_uint_eq(st.st_size, FILE_BYTES);
	ck_assert_str_eq(said(), "");
}
END_TEST

START_TEST(a_file_that_was_removed_is_no_fault)
{
	pass_after(0);
	reads(0);
	ck_assert_int_eq(unlink(path_of(1)), 0);
	pass_after(SECOND_NS);
	ck_assert(!has_copy());
	ck_assert_int_ne(access(path_of(1), F_OK), 0);
	/* One that is gone before it is asked for is passed over. */
	reads(0);
	ck_assert_int_eq(unlink(path_of(3)), 0);
	replaced_is(2);
	ck_assert_uint_eq(process.asked, 0);
	ck_assert_str_eq(said(), "");
}
END_TEST

static const struct {
	int err;
	const char *words; /* "": that is usual */
} errors[] = {
	{ -EALREADY, "" },
	{ -EFBIG, "" },
	{ -EBADMSG, "" },
	{ -EMLINK, "" },
	{ -EPERM, "" },
	{ -ENOENT, "" },
	{ -EIO, "00000001.xvt stays as it is: Input/output error" },
	{ -ECHILD, "00000001.xvt stays as it is: the process that read it was killed" },
};

START_TEST(errors_leave_the_file)
{
	const char *words;

	pass_after(0);
	reads(errors[_i].err);
	stays(1);
	words = said();
	ck_assert_msg(errors[_i].words[0] ? strstr(words, errors[_i].words) != NULL : !words[0],
		      "%s", words);
	replaced_is(2);
}
END_TEST

START_TEST(a_full_disk_is_tried_again)
{
	pass_after(0);
	for (unsigned int i = 0; i < 2; i++) {
		ck_assert_uint_eq(process.asked, 1);
		reads(i ? -EDQUOT : -ENOSPC);
		pass_after(SECOND_NS);
		ck_assert_uint_eq(process.asked, 0);
		pass_after(5 * SECOND_NS - 1);
		ck_assert_uint_eq(process.asked, 0);
		pass_after(1);
	}
	replaced_is(1);
	ck_assert_str_eq(said(), "");
}
END_TEST

START_TEST(a_set_without_room_waits)
{
	r.rec.keep = (struct xvt_file_keep){ .free_bytes = UINT64_MAX / 4 };
	pass_after(0);
	ck_assert_uint_eq(process.asked, 0);
	r.rec.keep = (struct xvt_file_keep){ .bytes = 0 };
	pass_after(5 * SECOND_NS - 1);
	ck_assert_uint_eq(process.asked, 0);
	pass_after(1);
	ck_assert_uint_eq(process.asked, 1);
}
END_TEST

START_TEST(the_end_leaves_no_copy)
{
	pass_after(0);
	reads(0);
	xvt_compress_idle_free(idle);
	idle = NULL;
	ck_assert(!has_copy());
	ck_assert_uint_eq(size_of(1), FILE_BYTES);
}
END_TEST

Suite *compress_idle_suite(void)
{
	Suite *s = suite_create("compress_idle");
	TCase *t = tcase_create("compress_idle");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, finished_files_become_smaller);
	tcase_add_test(t, a_file_that_is_finished_later_follows);
	tcase_add_test(t, answers_are_looked_for_ten_times_a_second);
	tcase_add_test(t, a_file_that_is_in_a_snapshot_by_then_stays);
	tcase_add_test(t, a_file_that_is_another_one_by_then_stays);
	tcase_add_test(t, a_file_that_was_removed_is_no_fault);
	tcase_add_loop_test(t, errors_leave_the_file, 0, sizeof(errors) / sizeof(errors[0]));
	tcase_add_test(t, a_full_disk_is_tried_again);
	tcase_add_test(t, a_set_without_room_waits);
	tcase_add_test(t, the_end_leaves_no_copy);
	suite_add_tcase(s, t);
	return s;
}
