// SPDX-License-Identifier: GPL-2.0
/* test_child.c - waits for a child end: when it has ended, at their limit, or sooner for a signal.
 */
#define _GNU_SOURCE
#include "suites.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/child.h"
#include "base/time.h"

#define LIMIT_MS 100u
#define LONG_MS	 3600000u

static pid_t child;
static int fd;

/* Starts a child that uses CPU time for so long, and then waits for ever, or ends. */
static void start(uint64_t works_ns, bool ends)
{
	child = fork();
	ck_assert_int_ge(child, 0);
	if (!child) {
		while (xvt_cpu_ns(RUSAGE_SELF) < works_ns)
			;
		while (!ends)
			pause();
		_exit(7);
	}
	fd = xvt_child_open(child);
}

static void teardown(void)
{
	if (child > 0) {
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
	}
	child = 0;
	if (fd >= 0)
		close(fd);
}

START_TEST(a_child_that_ends_is_taken)
{
	int status;

	start(0, true);
	ck_assert_int_eq(xvt_child_await(_i ? -1 : fd, child, &status, LONG_MS), 0);
	ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 7);
	ck_assert_int_eq(xvt_child_await(fd, child, &status, LONG_MS), -ECHILD);
	child = 0;
}
END_TEST

START_TEST(one_that_stands_still_is_not_waited_for)
{
	start(0, false);
	stop_child(child);
	ck_assert_int_eq(xvt_child_await(fd, child, NULL, LIMIT_MS), -ETIMEDOUT);
	ck_assert_int_eq(xvt_child_await_work(fd, child, NULL, LIMIT_MS), -ETIMEDOUT);
	ck_assert_int_eq(xvt_child_await(-1, child, NULL, LIMIT_MS), -ETIMEDOUT);
	ck_assert_int_eq(xvt_child_kill(fd, child), 0);
	child = 0;
}
END_TEST

/* The child works for many times the limit. */
START_TEST(one_that_works_may_take_long)
{
	start(10 * LIMIT_MS * 1000000ull, true);
	ck_assert_int_eq(xvt_child_await_work(fd, child, NULL, LIMIT_MS), 0);
	child = 0;
}
END_TEST

START_TEST(a_signal_shortens_the_limit)
{
	sigset_t set, before;

	sigemptyset(&set);
	sigaddset(&set, _i ? SIGTERM : SIGINT);
	sigprocmask(SIG_BLOCK, &set, &before);
	start(0, false);
	raise(_i ? SIGTERM : SIGINT);
	ck_assert_int_eq(xvt_child_await(fd, child, NULL, LONG_MS), -ETIMEDOUT);
	ck_assert_int_eq(sigtimedwait(&set, NULL, &(struct timespec){ 0 }), _i ? SIGTERM : SIGINT);
	sigprocmask(SIG_SETMASK, &before, NULL);
}
END_TEST

START_TEST(an_answer_is_waited_for)
{
	int ends[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
	ck_assert_int_eq(xvt_child_wait(ends[0], POLLIN, LIMIT_MS), -ETIMEDOUT);
	ck_assert_int_eq(xvt_child_wait(ends[0], POLLIN, 0), -ETIMEDOUT);
	ck_assert_int_eq(write(ends[1], "a", 1), 1);
	ck_assert_int_eq(xvt_child_wait(ends[0], POLLIN, LONG_MS), 0);
	ck_assert_int_eq(xvt_child_wait(ends[0], POLLIN, 0), 0);
	close(ends[1]);
	ck_assert_int_eq(xvt_child_wait(ends[0], POLLIN, LONG_MS), 0);
	close(ends[0]);
}
END_TEST

/* A debugger holds what it killed: the descriptor says that it has ended, and it cannot be taken.
 */
START_TEST(one_that_a_tracer_holds_is_left)
{
	pid_t tracer;
	int go[2];
	char byte;

	start(0, false);
	ck_assert_int_eq(pipe(go), 0);
	tracer = fork();
	if (!tracer) {
		(void)!write(go[1], ptrace(PTRACE_SEIZE, child, NULL, NULL) ? "n" : "y", 1);
		while (true)
			pause();
	}
	ck_assert_int_eq(read(go[0], &byte, 1), 1);
	ck_assert_int_eq(byte, 'y');
	ck_assert_int_eq(kill(child, SIGKILL), 0);
	ck_assert_int_eq(xvt_child_wait(fd, POLLIN, LONG_MS), 0);
	ck_assert_int_eq(xvt_child_await(fd, child, NULL, LIMIT_MS), -ETIMEDOUT);
	kill(tracer, SIGKILL);
	waitpid(tracer, NULL, 0);
	ck_assert_int_eq(xvt_child_await(fd, child, NULL, LONG_MS), 0);
	child = 0;
	close(go[0]);
	close(go[1]);
}
END_TEST

Suite *child_suite(void)
{
	Suite *suite = suite_create("child");
	TCase *tc = tcase_create("all");

	tcase_add_checked_fixture(tc, NULL, teardown);
	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, a_child_that_ends_is_taken, 0, 2);
	tcase_add_test(tc, one_that_stands_still_is_not_waited_for);
	tcase_add_test(tc, one_that_works_may_take_long);
	tcase_add_loop_test(tc, a_signal_shortens_the_limit, 0, 2);
	tcase_add_test(tc, an_answer_is_waited_for);
	tcase_add_test(tc, one_that_a_tracer_holds_is_left);
	suite_add_tcase(suite, tc);
	return suite;
}
