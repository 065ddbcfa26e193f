// SPDX-License-Identifier: GPL-2.0
/*
 * test_lock.c - locks and listeners of processes that were killed. Their helpers have copies of the
 * descriptors, and end after them.
 */
#define _GNU_SOURCE
#include "suites.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/lock.h"
#include "base/socket.h"

#define WAIT_MS 60000u

static char folder[] = "/tmp/xvt-lock.XXXXXX";
static char path[sizeof(folder) + 8];
static int fd, keep[2]; /* keep: the helper lives until its end for writing is closed */
static pid_t owner, helper;

static void setup(void)
{
	strcpy(strrchr(folder, '.'), ".XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/file", folder);
	ck_assert_int_eq(pipe(keep), 0);
	fd = -1;
}

static void teardown(void)
{
	if (fd >= 0)
		close(fd);
	unlink(path);
	rmdir(folder);
}

static void take(void)
{
	const int own = open(path, O_RDWR | O_CREAT, 0600);

	if (own < 0 || flock(own, LOCK_EX | LOCK_NB))
		abort();
}

static void listen_there(void)
{
	struct xvt_listener l;
	struct xvt_error why;

	if (xvt_socket_listen(&l, path, 0600, &why))
		abort();
}

/* Starts a process that has something, with a helper that has a copy. */
static void start_owner(void (*have)(void))
{
	int told[2];
	char byte;

	ck_assert_int_eq(pipe(told), 0);
	owner = fork();
	ck_assert_int_ge(owner, 0);
	if (!owner) {
		close(keep[1]);
		have();
		helper = fork();
		if (helper < 0)
			abort();
		if (helper) {
			if (write(told[1], &helper, sizeof(helper)) != sizeof(helper))
				abort();
			for (;;)
				pause();
		}
		/* The helper holds no end of the pipe on which its start is awaited. */
		close(told[1]);
		_exit(read(keep[0], &byte, 1) < 0);
	}
	ck_assert_int_eq(read(told[0], &helper, sizeof(helper)), sizeof(helper));
	close(told[0]);
	close(told[1]);
}

static void kill_owner(void)
{
	kill(owner, SIGKILL);
	ck_assert_int_eq(waitpid(owner, NULL, 0), owner);
}

static void *end_helper(void *arg)
{
	(void)arg;
	close(keep[1]);
	close(keep[0]);
	return NULL;
}

START_TEST(a_living_one_is_not_waited_for)
{
	struct stat st;

	start_owner(take);
	fd = open(path, O_RDWR);
	/* One that waited would be ended by the limit of this test. */
	ck_assert_int_eq(xvt_lock_take(fd, WAIT_MS), -EBUSY);
	ck_assert_int_eq(fstat(fd, &st), 0);
	ck_assert_int_eq(xvt_lock_holder(st.st_dev, st.st_ino), owner);
	ck_assert(!xvt_process_has_ended(owner));
	kill_owner();
	ck_assert(xvt_process_has_ended(owner));
	end_helper(NULL);
}
END_TEST

START_TEST(of_one_that_was_killed)
{
	pthread_t ender;
	struct stat st;

	start_owner(take);
	kill_owner();
	fd = open(path, O_RDWR);
	ck_assert_int_eq(xvt_lock_take(fd, 0), -EBUSY);
	ck_assert_int_eq(xvt_lock_take(fd, 1), -EBUSY);
	ck_assert_int_eq(pthread_create(&ender, NULL, end_helper, NULL), 0);
	ck_assert_int_eq(xvt_lock_take(fd, WAIT_MS), 0);
	pthread_join(ender, NULL);
	ck_assert_int_eq(fstat(fd, &st), 0);
	ck_assert_int_eq(xvt_lock_holder(st.st_dev, st.st_ino), getpid());
}
END_TEST

START_TEST(one_that_is_being_killed)
{
	const pid_t child = fork();
	int status;

	if (!child) {
		raise(SIGSTOP);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(child, &status, WUNTRACED), child);
	ck_assert(!xvt_process_has_ended(child));
	/* A process that is not waited for stays as a zombie. */
	kill(child, SIGKILL);
	while (!xvt_process_has_ended(child))
		;
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(xvt_process_has_ended(child));
}
END_TEST

START_TEST(a_listener_of_one_that_was_killed)
{
	struct xvt_listener l;
	pthread_t ender;
	struct xvt_error why;

	start_owner(listen_there);
	ck_assert_int_eq(xvt_socket_listen(&l, path, 0600, &why), -EADDRINUSE);
	kill_owner();
	ck_assert_int_eq(pthread_create(&ender, NULL, end_helper, NULL), 0);
	ck_assert_int_eq(xvt_socket_listen(&l, path, 0600, &why), 0);
	pthread_join(ender, NULL);
	xvt_socket_unlisten(&l);
}
END_TEST

Suite *lock_suite(void)
{
	Suite *s = suite_create("lock");
	TCase *tc = tcase_create("lock");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, a_living_one_is_not_waited_for);
	tcase_add_test(tc, of_one_that_was_killed);
	tcase_add_test(tc, one_that_is_being_killed);
	tcase_add_test(tc, a_listener_of_one_that_was_killed);
	suite_add_tcase(s, tc);
	return s;
}
