// SPDX-License-Identifier: GPL-2.0
/* test_loop.c - both loops, io_uring and epoll: waits in the middle of other work, polls, cancels.
 */
#define _GNU_SOURCE
#include "suites.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/loop.h"

#define WAIT_NS 1000000000u

struct work {
	struct xvt_op op;
	unsigned int calls;
};

static struct xvt_loop *loop;
static struct work reading, writing, served;
static uint8_t bytes[16], more[16];
static int fd;

static void read_done(struct xvt_op *op, int res)
{
	ck_assert_int_eq(res, sizeof(bytes));
	((struct work *)op)->calls++;
}

static void write_done(struct xvt_op *op, int res)
{
	ck_assert_int_eq(res, sizeof(more));
	((struct work *)op)->calls++;
}

static void setup(const char *kind)
{
	setenv(XVT_LOOP_ENV, kind, 1);
	ck_assert_int_eq(xvt_loop_new(&loop), 0);
	fd = open(scratch_path("loop"), O_RDWR | O_CREAT | O_TRUNC, 0600);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, bytes, sizeof(bytes)), sizeof(bytes));
	reading = (struct work){ .op.done = read_done };
	writing = (struct work){ .op.done = write_done };
	served = (struct work){ .op = { .done = write_done, .any_time = true } };
}

static void setup_uring(void)
{
	setup("io_uring");
	ck_assert_int_eq(xvt_loop_uring_err(loop), 0);
}

static void setup_epoll(void)
{
	setup("epoll");
	ck_assert_int_eq(xvt_loop_uring_err(loop), XVT_LOOP_NOT_ASKED);
}

static void teardown(void)
{
	close(fd);
	xvt_loop_free(loop);
}

/* The write is complete, and its call was deferred by a wait for something else. */
static void defer_the_write(void)
{
	ck_assert_int_eq(xvt_loop_write(loop, &writing.op, fd, more, sizeof(more), 64), 0);
	while (!xvt_loop_run_only(loop, WAIT_NS, read_done))
		;
	ck_assert_uint_eq(writing.calls, 0);
	ck_assert(writing.op.held);
}

START_TEST(a_wait_gets_what_another_one_deferred)
{
	defer_the_write();
	ck_assert_int_eq(xvt_loop_run_only(loop, WAIT_NS, write_done), 1);
	ck_assert_uint_eq(writing.calls, 1);
	ck_assert(!writing.op.held);
	ck_assert_int_eq(xvt_loop_run(loop, 0), 0);
	ck_assert_uint_eq(writing.calls, 1);
}
END_TEST

START_TEST(what_is_not_wanted_stays_deferred)
{
	defer_the_write();
	ck_assert_int_eq(xvt_loop_read(loop, &reading.op, fd, bytes, sizeof(bytes), 0), 0);
	while (!reading.calls)
		ck_assert_int_ge(xvt_loop_run_only(loop, WAIT_NS, read_done), 0);
	ck_assert_uint_eq(writing.calls, 0);
	ck_assert_int_eq(xvt_loop_run(loop, WAIT_NS), 1);
	ck_assert_uint_eq(writing.calls, 1);
}
END_TEST

START_TEST(any_time_means_any_wait)
{
	ck_assert_int_eq(xvt_loop_write(loop, &served.op, fd, more, sizeof(more), 64), 0);
	while (!served.calls)
		ck_assert_int_ge(xvt_loop_run_only(loop, WAIT_NS, read_done), 0);
	ck_assert(!served.op.held);
}
END_TEST

/* --- polls --- */

struct poller {
	struct xvt_op op;
	unsigned int calls;
	int res;
};

static void poll_done(struct xvt_op *op, int res)
{
	struct poller *p = (struct poller *)op;

	p->calls++;
	p->res = res;
}

static void poll_for(struct poller *p, int of, uint32_t events)
{
	*p = (struct poller){ .op.done = poll_done };
	ck_assert_int_eq(xvt_loop_poll(loop, &p->op, of, events), 0);
	ck_assert(p->op.held);
}

static void run_until_called(const struct poller *p)
{
	while (!p->calls)
		ck_assert_int_ge(xvt_loop_run(loop, WAIT_NS), 0);
	ck_assert_uint_eq(p->calls, 1);
	ck_assert(!p->op.held);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* What is readable, but not polled, ends no wait. */
static void wait_is_not_cut_short(void)
{
	uint64_t begin = now_ns();

	ck_assert_int_eq(xvt_loop_run(loop, 10000000), 0);
	ck_assert_uint_ge(now_ns() - begin, 10000000);
}

START_TEST(a_poll_reports_once)
{
	struct poller p;
	int ends[2];

	ck_assert_int_eq(pipe(ends), 0);
	poll_for(&p, ends[0], POLLIN);
	ck_assert_int_eq(xvt_loop_run(loop, 0), 0);
	ck_assert_int_eq(xvt_loop_run(loop, 1000), 0);
	ck_assert_int_eq(write(ends[1], "xy", 2), 2);
	run_until_called(&p);
	ck_assert_int_eq(p.res, POLLIN);
	wait_is_not_cut_short();
	poll_for(&p, ends[0], POLLIN);
	run_until_called(&p);
	close(ends[1]);
	ck_assert_int_eq(read(ends[0], bytes, sizeof(bytes)), 2);
	poll_for(&p, ends[0], POLLIN);
	run_until_called(&p);
	ck_assert_int_eq(p.res & POLLHUP, POLLHUP);
	close(ends[0]);
}
END_TEST

START_TEST(two_poll_one_descriptor)
{
	struct poller in, out;
	int ends[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	poll_for(&in, ends[0], POLLIN);
	poll_for(&out, ends[0], POLLOUT);
	run_until_called(&out);
	ck_assert_uint_eq(in.calls, 0);
	ck_assert_int_eq(write(ends[1], "x", 1), 1);
	run_until_called(&in);
	ck_assert_uint_eq(out.calls, 1);
	poll_for(&out, ends[0], POLLOUT);
	poll_for(&in, ends[0], POLLIN);
	ck_assert_int_eq(xvt_loop_cancel(loop, &out.op), 0);
	run_until_called(&in);
	run_until_called(&out);
	close(ends[0]);
	close(ends[1]);
}
END_TEST

START_TEST(a_cancelled_poll_ends)
{
	struct poller p;
	int ends[2], again[2];

	ck_assert_int_eq(pipe(ends), 0);
	poll_for(&p, ends[0], POLLIN);
	ck_assert_int_eq(xvt_loop_run(loop, 0), 0);
	ck_assert_int_eq(xvt_loop_cancel(loop, &p.op), 0);
	ck_assert_uint_eq(p.calls, 0);
	close(ends[0]);
	close(ends[1]);
	run_until_called(&p);
	ck_assert_int_eq(p.res, -ECANCELED);
	ck_assert_int_eq(xvt_loop_cancel(loop, &p.op), 0);
	/* A descriptor of the same number is another one. */
	ck_assert_int_eq(pipe(again), 0);
	ck_assert_int_eq(again[0], ends[0]);
	poll_for(&p, again[0], POLLIN);
	ck_assert_int_eq(xvt_loop_run(loop, 1000), 0);
	ck_assert_int_eq(write(again[1], "x", 1), 1);
	run_until_called(&p);
	close(again[0]);
	close(again[1]);
}
END_TEST

START_TEST(a_cancel_in_a_wait_for_others_is_deferred)
{
	struct poller p;
	int ends[2];

	ck_assert_int_eq(pipe(ends), 0);
	poll_for(&p, ends[0], POLLIN);
	ck_assert_int_eq(xvt_loop_cancel(loop, &p.op), 0);
	ck_assert_int_eq(xvt_loop_read(loop, &reading.op, fd, bytes, sizeof(bytes), 0), 0);
	while (!reading.calls)
		ck_assert_int_ge(xvt_loop_run_only(loop, WAIT_NS, read_done), 0);
	ck_assert_uint_eq(p.calls, 0);
	ck_assert(xvt_loop_release(loop, &p.op));
	ck_assert_uint_eq(p.calls, 1);
	close(ends[0]);
	close(ends[1]);
}
END_TEST

START_TEST(a_file_is_always_ready)
{
	struct poller p;

	poll_for(&p, fd, POLLIN);
	run_until_called(&p);
	ck_assert_int_eq(p.res, POLLIN);
}
END_TEST

static struct poller bad;

static void poll_again(struct xvt_op *op, int res)
{
	ck_assert_int_eq(res, -EBADF);
	bad.calls++;
	ck_assert_int_eq(xvt_loop_poll(loop, op, 1000, POLLIN), 0);
}

START_TEST(an_error_is_a_result_of_one_run)
{
	bad = (struct poller){ .op.done = poll_again };
	ck_assert_int_eq(xvt_loop_poll(loop, &bad.op, 1000, POLLIN), 0);
	while (!bad.calls)
		ck_assert_int_ge(xvt_loop_run(loop, WAIT_NS), 0);
	while (bad.calls < 10)
		ck_assert_int_ge(xvt_loop_run(loop, WAIT_NS), 0);
}
END_TEST

/* --- reads and writes --- */

START_TEST(errors_and_ends_are_results)
{
	struct poller p = { .op.done = poll_done };

	ck_assert_int_eq(xvt_loop_read(loop, &p.op, fd, bytes, sizeof(bytes), 8), 0);
	run_until_called(&p);
	ck_assert_int_eq(p.res, sizeof(bytes) - 8);
	p.calls = 0;
	ck_assert_int_eq(xvt_loop_read(loop, &p.op, -1, bytes, sizeof(bytes), 0), 0);
	run_until_called(&p);
	ck_assert_int_eq(p.res, -EBADF);
}
END_TEST

START_TEST(a_pipe_has_no_offsets)
{
	int ends[2];

	ck_assert_int_eq(pipe(ends), 0);
	ck_assert_int_eq(xvt_loop_write(loop, &writing.op, ends[1], more, sizeof(more), 4096), 0);
	while (!writing.calls)
		ck_assert_int_ge(xvt_loop_run(loop, WAIT_NS), 0);
	ck_assert_int_eq(xvt_loop_read(loop, &reading.op, ends[0], bytes, sizeof(bytes), 64), 0);
	while (!reading.calls)
		ck_assert_int_ge(xvt_loop_run(loop, WAIT_NS), 0);
	close(ends[0]);
	close(ends[1]);
}
END_TEST

/* More than threads and buffers, each into its place. */
/* Threads of this process: those of an io_uring are the kernel's. */
static unsigned int count_threads(void)
{
	DIR *tasks = opendir("/proc/self/task");
	const struct dirent *entry;
	unsigned int n = 0;

	ck_assert_ptr_nonnull(tasks);
	while ((entry = readdir(tasks)))
		n += entry->d_name[0] != '.';
	closedir(tasks);
	return n;
}

START_TEST(threads_end_with_what_is_queued_and_begin_again)
{
	const bool has_threads = xvt_loop_uring_err(loop) != 0;
	unsigned int i;

	for (i = 1; i <= 2; i++) {
		ck_assert_int_eq(xvt_loop_write(loop, &writing.op, fd, more, sizeof(more), 0), 0);
		ck_assert(!has_threads || count_threads() > 1);
		xvt_loop_end_threads(loop);
		/* One that was joined is in the list up to its last moment. */
		while (has_threads && count_threads() > 1)
			sched_yield();
		while (writing.calls < i)
			ck_assert_int_ge(xvt_loop_run(loop, WAIT_NS), 0);
		ck_assert(!writing.op.held);
	}
}
END_TEST

START_TEST(many_writes_are_under_way)
{
	static struct poller w[500];
	static uint32_t value[500], back[500];
	unsigned int i;

	for (i = 0; i < 500; i++) {
		w[i] = (struct poller){ .op.done = poll_done };
		value[i] = i * 2654435761u;
		ck_assert_int_eq(xvt_loop_write(loop, &w[i].op, fd, &value[i], sizeof(value[i]),
						i * sizeof(value[i])),
				 0);
	}
	for (i = 0; i < 500; i++) {
		while (!w[i].calls)
			ck_assert_int_ge(xvt_loop_run(loop, WAIT_NS), 0);
		ck_assert_int_eq(w[i].res, sizeof(value[i]));
	}
	ck_assert_int_eq(pread(fd, back, sizeof(back), 0), sizeof(back));
	ck_assert_mem_eq(back, value, sizeof(value));
}
END_TEST

static void add_case(Suite *suite, const char *name, void (*begin)(void))
{
	TCase *tc = tcase_create(name);

	tcase_add_checked_fixture(tc, begin, teardown);
	tcase_add_test(tc, a_wait_gets_what_another_one_deferred);
	tcase_add_test(tc, what_is_not_wanted_stays_deferred);
	tcase_add_test(tc, any_time_means_any_wait);
	tcase_add_test(tc, a_poll_reports_once);
	tcase_add_test(tc, two_poll_one_descriptor);
	tcase_add_test(tc, a_cancelled_poll_ends);
	tcase_add_test(tc, a_cancel_in_a_wait_for_others_is_deferred);
	tcase_add_test(tc, a_file_is_always_ready);
	tcase_add_test(tc, an_error_is_a_result_of_one_run);
	tcase_add_test(tc, errors_and_ends_are_results);
	tcase_add_test(tc, a_pipe_has_no_offsets);
	tcase_add_test(tc, many_writes_are_under_way);
	tcase_add_test(tc, threads_end_with_what_is_queued_and_begin_again);
	suite_add_tcase(suite, tc);
}

Suite *loop_suite(void)
{
	Suite *suite = suite_create("loop");

	add_case(suite, "io_uring", setup_uring);
	add_case(suite, "epoll", setup_epoll);
	return suite;
}
