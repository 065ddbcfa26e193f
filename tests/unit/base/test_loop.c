// SPDX-License-Identifier: GPL-2.0
/* test_loop.c - waits in the middle of other work: what one wait defers, another one gets. */
#define _GNU_SOURCE
#include "suites.h"

#include <fcntl.h>
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

static void setup(void)
{
	ck_assert_int_eq(xvt_loop_new(&loop), 0);
	fd = open(scratch_path("loop"), O_RDWR | O_CREAT | O_TRUNC, 0600);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, bytes, sizeof(bytes)), sizeof(bytes));
	reading = (struct work){ .op.done = read_done };
	writing = (struct work){ .op.done = write_done };
	served = (struct work){ .op = { .done = write_done, .any_time = true } };
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

Suite *loop_suite(void)
{
	Suite *suite = suite_create("loop");
	TCase *tc = tcase_create("loop");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, a_wait_gets_what_another_one_deferred);
	tcase_add_test(tc, what_is_not_wanted_stays_deferred);
	tcase_add_test(tc, any_time_means_any_wait);
	suite_add_tcase(suite, tc);
	return suite;
}
