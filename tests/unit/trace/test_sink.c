// SPDX-License-Identifier: GPL-2.0
/*
 * test_sink.c - what goes into the sink is in the file, byte for byte and no byte more, however it
 * is cut into calls and however often buffers leave before they are full.
 */
#include "suites.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "faults.h"
#include "trace/file_sink.h"

#define BYTES (6u << 20) /* more than the sink has in its buffers at a time */

static uint8_t content[BYTES];

static void make_content(void)
{
	srand(7);
	for (size_t i = 0; i < BYTES; i++)
		content[i] = (uint8_t)(rand() >> 7);
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

static void expect_file(const char *path, size_t len)
{
	uint8_t *got = malloc(len + 1);
	FILE *f = fopen(path, "r");

	ck_assert_ptr_nonnull(f);
	ck_assert_uint_eq(fread(got, 1, len + 1, f), len);
	ck_assert_int_eq(memcmp(got, content, len), 0);
	fclose(f);
	free(got);
}

/* As a caller that copies, or as one that builds in place and may use less than it asked for. */
static void give(struct xvt_file_sink *fs, const uint8_t *from, size_t n)
{
	struct xvt_sink *base = xvt_file_sink_base(fs);
	uint8_t *room = rand() % 2 ? base->room(base, n + (size_t)rand() % 5000) : NULL;

	if (room) {
		memcpy(room, from, n / 2);
		ck_assert_int_eq(xvt_file_sink_push(fs), 0); /* must leave it alone */
		memcpy(room + n / 2, from + n / 2, n - n / 2);
	}
	ck_assert_int_eq(base->write(base, room ? room : from, n), 0);
}

/* Calls of up to `most` bytes; every `push`th is followed by a push. */
static void fill(const char *path, size_t len, size_t most, unsigned int push)
{
	struct xvt_loop *loop;
	struct xvt_file_sink *fs;
	unsigned int calls = 0;
	size_t at = 0;

	ck_assert_int_eq(xvt_loop_new(&loop), 0);
	ck_assert_int_eq(xvt_file_sink_new(&fs, loop, path, false), 0);
	while (at < len) {
		size_t n = least(1 + (size_t)rand() % most, len - at);

		give(fs, content + at, n);
		at += n;
		if (push && ++calls % push == 0) {
			ck_assert_int_eq(xvt_file_sink_push(fs), 0);
			ck_assert_int_eq(xvt_file_sink_push(fs), 0); /* nothing new: no matter */
		}
	}
	ck_assert_int_eq(xvt_file_sink_close(fs), 0);
	xvt_loop_free(loop);
	expect_file(path, len);
}

/* 0: where the tests live, usually a disk; 1: memory, which older kernels write only through the
 * page cache. */
static const char *place(int i)
{
	static char memory[64];

	snprintf(memory, sizeof(memory), "/dev/shm/xvt-test-sink-%d", (int)getpid());
	return i ? memory : scratch_path("sink");
}

START_TEST(file_is_what_was_written)
{
	static const size_t lengths[] = { 0, 1, 4095, 4096, 4097, 524288, 524289, BYTES - 3 };
	const char *path = place(_i);

	make_content();
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		fill(path, lengths[i], 300000, 0);
		fill(path, lengths[i], 100000, 3);
	}
	fill(path, 200000, 700, 1); /* each call leaves at once, mostly within one block */
	unlink(path);
}
END_TEST

/* Some file systems let a file be opened past the page cache, and refuse to write it so: when the
 * first refusal comes, others are on their way. */
START_TEST(a_refusal_of_direct_writes_is_no_error)
{
	const char *path = scratch_path("refused");

	make_content();
	faults.any_order = faults.refuse_direct = true;
	fill(path, BYTES - 3, 300000, 0);
	unlink(path);
}
END_TEST

/* One that was padded to whole blocks is written again with its zeros; they must not stay. */
START_TEST(a_refusal_of_direct_writes_leaves_no_zeros_behind)
{
	const char *path = scratch_path("refused");
	struct xvt_file_sink *fs;
	struct xvt_loop *loop;
	struct xvt_sink *base;

	make_content();
	faults.any_order = faults.refuse_direct = true;
	ck_assert_int_eq(xvt_loop_new(&loop), 0);
	ck_assert_int_eq(xvt_file_sink_new(&fs, loop, path, false), 0);
	base = xvt_file_sink_base(fs);
	ck_assert_int_eq(base->write(base, content, 10000), 0);
	ck_assert_int_eq(xvt_file_sink_close(fs), 0);
	xvt_loop_free(loop);
	expect_file(path, 10000);
	unlink(path);
}
END_TEST

/* A chunk behind a padded one may begin within its zeros, and must not be overtaken by them. */
START_TEST(zeros_of_a_refused_write_come_after_all_others)
{
	const char *path = scratch_path("refused");
	const size_t full = 5u << 20;
	int i;

	make_content();
	faults.any_order = faults.refuse_direct = true;
	for (i = 0; i < 40; i++) {
		struct xvt_file_sink *fs;
		struct xvt_loop *loop;
		struct xvt_sink *base;

		ck_assert_int_eq(xvt_loop_new(&loop), 0);
		ck_assert_int_eq(xvt_file_sink_new(&fs, loop, path, false), 0);
		base = xvt_file_sink_base(fs);
		/* All buffers are on their way, the last one padded, when its successor begins. */
		ck_assert_int_eq(base->write(base, content, full + 10), 0);
		ck_assert_int_eq(xvt_file_sink_push(fs), 0);
		ck_assert_int_eq(base->write(base, content + full + 10, 10), 0);
		ck_assert_int_eq(xvt_file_sink_close(fs), 0);
		xvt_loop_free(loop);
		expect_file(path, full + 20);
	}
	unlink(path);
}
END_TEST

/* A file that may not grow: the error comes back, and what is there is a beginning of it all. */
struct other {
	struct xvt_op op;
	struct xvt_sink *sink;
	unsigned int calls;
};

/* As a caller that learns something of a machine: it is worth a line in the file. */
static void somebody_else(struct xvt_op *op, int res)
{
	struct other *o = (struct other *)op;

	(void)res;
	o->calls++;
	o->sink->write(o->sink, "a note", 6);
}

/* A caller that waits for the disk is in the middle of something, and its buffer on its way. */
START_TEST(while_the_sink_waits_nothing_else_is_called)
{
	const char *path = scratch_path("waits");
	int fd = eventfd(1, EFD_CLOEXEC);
	struct xvt_file_sink *fs;
	struct xvt_loop *loop;
	struct other o = { .op.done = somebody_else };
	unsigned int i;

	make_content();
	ck_assert_int_eq(xvt_loop_new(&loop), 0);
	ck_assert_int_eq(xvt_file_sink_new(&fs, loop, path, false), 0);
	o.sink = xvt_file_sink_base(fs);
	ck_assert_int_eq(xvt_loop_poll(loop, &o.op, fd, POLLIN), 0);
	/* Several times all buffers: each is waited for, and only a run of the loop says that it is
	 * free. */
	for (i = 0; i < 8; i++)
		ck_assert_int_eq(o.sink->write(o.sink, content, BYTES), 0);
	ck_assert_uint_eq(o.calls, 0);
	ck_assert_int_ge(xvt_loop_run(loop, 1000000000u), 1);
	ck_assert_uint_eq(o.calls, 1);
	ck_assert_int_eq(xvt_file_sink_close(fs), 0);
	xvt_loop_free(loop);
	close(fd);
}
END_TEST

START_TEST(full_disk_leaves_a_true_beginning)
{
	const char *path = place(_i);
	struct rlimit limit = { 1u << 20, 1u << 20 };
	struct xvt_file_sink *fs;
	struct xvt_loop *loop;
	struct xvt_sink *base;
	struct stat st;

	make_content();
	signal(SIGXFSZ, SIG_IGN);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	ck_assert_int_eq(xvt_loop_new(&loop), 0);
	ck_assert_int_eq(xvt_file_sink_new(&fs, loop, path, false), 0);
	base = xvt_file_sink_base(fs);
	for (size_t at = 0; at < BYTES; at += 65536) {
		if (base->write(base, content + at, least(65536, BYTES - at)))
			break;
	}
	ck_assert_int_eq(xvt_file_sink_close(fs), -EFBIG);
	xvt_loop_free(loop);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_int_le(st.st_size, 1 << 20);
	ck_assert_int_ge(st.st_size, 1 << 19);
	expect_file(path, (size_t)st.st_size);
	unlink(path);
}
END_TEST

/* What hold() lets in, in parts as of a recorder, up to `len` of content in all. Returns where
 * that ended. */
static size_t give_while(struct xvt_file_sink *fs, struct xvt_loop *loop, size_t at, size_t len)
{
	struct xvt_sink *base = xvt_file_sink_base(fs);

	while (at < len && !base->full(base)) {
		size_t n = least(20000, len - at);

		if (!base->hold(base)) {
			ck_assert_int_eq(base->write(base, content + at, n), 0);
			at += n;
		}
		ck_assert_int_ge(xvt_loop_run(loop, 0), 0);
	}
	return at;
}

/*
 * A patient sink takes no more than it can write, waits, and goes on. Where the file system can
 * allocate ahead no write fails; else one does, and is tried again.
 */
START_TEST(a_patient_sink_outlives_a_full_disk)
{
	const char *path = scratch_path("patient");
	struct xvt_file_sink *fs;
	struct xvt_loop *loop;
	struct xvt_sink *base;
	size_t at;

	make_content();
	faults.space = 4u << 20;
	faults.no_fallocate = _i & 1;
	faults.refuse_direct = _i & 2;
	ck_assert_int_eq(xvt_loop_new(&loop), 0);
	ck_assert_int_eq(xvt_file_sink_new(&fs, loop, path, false), 0);
	xvt_file_sink_patient(fs);
	base = xvt_file_sink_base(fs);
	at = give_while(fs, loop, 0, BYTES);
	ck_assert(base->full(base));
	ck_assert(base->hold(base));
	ck_assert_uint_gt(at, 1u << 20);
	/* Some more is small, and must not wait: the nodes of clocks. */
	ck_assert_int_eq(base->write(base, content + at, 10000), 0);
	ck_assert_int_eq(xvt_file_sink_push(fs), 0);
	at += 10000;
	ck_assert(base->hold(base));
	faults.space = 64u << 20;
	while (base->hold(base))
		ck_assert_int_ge(xvt_loop_run(loop, 10000000u), 0);
	ck_assert(!base->full(base));
	ck_assert_uint_eq(give_while(fs, loop, at, BYTES), BYTES);
	ck_assert_uint_gt(base->waited_ns(base), 0);
	ck_assert_int_eq(xvt_file_sink_close(fs), 0);
	xvt_loop_free(loop);
	expect_file(path, BYTES);
	unlink(path);
}
END_TEST

/* What was taken is in the file, although there is still no space: it was there before. */
START_TEST(a_patient_sink_has_space_for_what_it_took)
{
	const char *path = scratch_path("patient");
	struct xvt_file_sink *fs;
	struct xvt_loop *loop;
	struct xvt_sink *base;
	struct stat st;
	size_t at;

	make_content();
	faults.space = 5u << 20;
	ck_assert_int_eq(xvt_loop_new(&loop), 0);
	ck_assert_int_eq(xvt_file_sink_new(&fs, loop, path, false), 0);
	xvt_file_sink_patient(fs);
	base = xvt_file_sink_base(fs);
	at = give_while(fs, loop, 0, BYTES);
	ck_assert(base->full(base));
	ck_assert_int_eq(base->write(base, content + at, 300000), 0);
	ck_assert_int_eq(xvt_file_sink_close(fs), 0);
	xvt_loop_free(loop);
	expect_file(path, at + 300000);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_int_le(st.st_blocks * 512, (long)at + 300000 + 65536); /* nothing is left ahead */
	unlink(path);
}
END_TEST

/* Where it had to wait for that, it is an error, as without patience. */
START_TEST(a_close_does_not_wait_for_space)
{
	const char *path = scratch_path("patient");
	struct xvt_file_sink *fs;
	struct xvt_loop *loop;
	struct stat st;
	size_t at;

	make_content();
	faults.space = 3u << 20;
	faults.no_fallocate = true;
	ck_assert_int_eq(xvt_loop_new(&loop), 0);
	ck_assert_int_eq(xvt_file_sink_new(&fs, loop, path, false), 0);
	xvt_file_sink_patient(fs);
	at = give_while(fs, loop, 0, BYTES);
	ck_assert_int_eq(xvt_file_sink_close(fs), -ENOSPC);
	xvt_loop_free(loop);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_int_le(st.st_size, (long)at);
	ck_assert_int_ge(st.st_size, 2 << 20);
	expect_file(path, (size_t)st.st_size);
	unlink(path);
}
END_TEST

/* Then the result of the writes that are under way is unknown: they may go on, too. */
START_TEST(a_loop_that_fails_is_an_error_and_its_writes_keep_their_memory)
{
	const size_t bytes = (3u << 20) + 40960;
	const char *path = scratch_path("loop");
	struct xvt_file_sink *fs;
	struct xvt_loop *loop;
	struct xvt_sink *base;

	make_content();
	ck_assert_int_eq(xvt_loop_new(&loop), 0);
	ck_assert_int_eq(xvt_file_sink_new(&fs, loop, path, false), 0);
	base = xvt_file_sink_base(fs);
	faults.any_order = true;
	ck_assert_int_eq(base->write(base, content, bytes), 0);
	faults.loop_err = -EIO;
	ck_assert_int_eq(base->settle(base), -EIO);
	ck_assert_ptr_null(base->room(base, 1)); /* a reader may be there */
	ck_assert_int_eq(xvt_file_sink_close(fs), -EIO);
	faults.loop_err = 0;
	while (faults_waiting())
		ck_assert_int_ge(xvt_loop_run(loop, 0), 0);
	xvt_loop_free(loop);
	expect_file(path, bytes);
	unlink(path);
}
END_TEST

/* What was there before stays until something is written, and then nothing of it is left. */
START_TEST(first_write_replaces_what_was_there)
{
	const char *path = place(_i);
	struct xvt_file_sink *fs;
	struct xvt_loop *loop;
	struct xvt_sink *base;

	make_content();
	fill(path, 3 * 4096 + 1, 5000, 0);
	ck_assert_int_eq(xvt_loop_new(&loop), 0);
	ck_assert_int_eq(xvt_file_sink_new(&fs, loop, path, false), 0);
	base = xvt_file_sink_base(fs);
	ck_assert_int_eq(base->write(base, content, 100), 0);
	expect_file(path, 3 * 4096 + 1);
	ck_assert_int_eq(base->settle(base), 0);
	ck_assert_int_eq(xvt_file_sink_close(fs), 0);
	expect_file(path, 100);
	xvt_loop_free(loop);
	unlink(path);
}
END_TEST

/* Nothing is written after it, by whomever, and nothing is left of a file that was not there. */
START_TEST(discarded_leaves_all_as_it_was)
{
	const char *path = place(_i);
	bool there;

	make_content();
	for (there = false;; there = true) {
		struct xvt_file_sink *fs;
		struct xvt_loop *loop;
		struct xvt_sink *base;

		if (there)
			fill(path, 5000, 5000, 0);
		ck_assert_int_eq(xvt_loop_new(&loop), 0);
		ck_assert_int_eq(xvt_file_sink_new(&fs, loop, path, false), 0);
		base = xvt_file_sink_base(fs);
		ck_assert_int_eq(base->write(base, content + 1, 100), 0);
		xvt_file_sink_discard(fs);
		ck_assert_int_eq(base->write(base, content + 1, BYTES - 1), -ECANCELED);
		ck_assert_int_eq(base->settle(base), -ECANCELED);
		ck_assert_int_eq(xvt_file_sink_close(fs), -ECANCELED);
		xvt_loop_free(loop);
		if (there)
			break;
		ck_assert_int_ne(access(path, F_OK), 0);
	}
	expect_file(path, 5000);
	unlink(path);
}
END_TEST

Suite *sink_suite(void)
{
	Suite *s = suite_create("sink");
	TCase *t = tcase_create("sink");

	tcase_add_loop_test(t, file_is_what_was_written, 0, 2);
	tcase_add_test(t, a_refusal_of_direct_writes_is_no_error);
	tcase_add_test(t, a_refusal_of_direct_writes_leaves_no_zeros_behind);
	tcase_add_test(t, zeros_of_a_refused_write_come_after_all_others);
	tcase_add_test(t, while_the_sink_waits_nothing_else_is_called);
	tcase_add_loop_test(t, full_disk_leaves_a_true_beginning, 0, 2);
	tcase_add_loop_test(t, a_patient_sink_outlives_a_full_disk, 0, 4);
	tcase_add_test(t, a_patient_sink_has_space_for_what_it_took);
	tcase_add_test(t, a_close_does_not_wait_for_space);
	tcase_add_test(t, a_loop_that_fails_is_an_error_and_its_writes_keep_their_memory);
	tcase_add_loop_test(t, first_write_replaces_what_was_there, 0, 2);
	tcase_add_loop_test(t, discarded_leaves_all_as_it_was, 0, 2);
	suite_add_tcase(s, t);
	return s;
}
