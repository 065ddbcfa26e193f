// SPDX-License-Identifier: GPL-2.0
/* test_opener.c - what the opener does when its parent asks for a file that no rule names. */
#define _GNU_SOURCE
#include "suites.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rights/opener.h"
#include "rights/sandbox.h"

#define PATH	"/etc/xvt-no-business"
#define SKIPPED 77

static int told[2];  /* a pipe: what refused() writes */
static bool blocked; /* refused() does not return */
static pid_t its_parent;

/* In the opener: whether its parent lives. */
static void refused(void *arg, const char *what, const char *path)
{
	struct pollfd end = { .fd = (int)syscall(SYS_pidfd_open, its_parent, 0), .events = POLLIN };
	char text[128];
	int len;

	(void)arg;
	len = snprintf(text, sizeof(text), "%s %s %s", what, path,
		       end.fd >= 0 && !poll(&end, 1, 0) ? "lives" : "has ended");
	if (write(STDERR_FILENO, text, (size_t)len) != len)
		_exit(1);
	while (blocked)
		pause();
}

static void denied(void *arg, const char *what, const char *path, bool last)
{
	(void)arg;
	(void)what;
	(void)path;
	(void)last;
}

static void begin(void)
{
}

static void died(void *arg)
{
	(void)arg;
}

static void stopped(void *arg, unsigned int seconds)
{
	(void)arg;
	(void)seconds;
}

/* The parent of an opener. Does not return. */
static void try_to_open(void)
{
	static const struct xvt_opener_ops ops = { .begin = begin,
						   .refused = refused,
						   .denied = denied,
						   .died = died,
						   .stopped = stopped };
	struct xvt_opener *opener;

	its_parent = getpid();
	unsetenv(XVT_SANDBOX_ENV); /* host_main.c sets it */
	if (xvt_sandbox_check())
		_exit(SKIPPED);
	/* The opener keeps standard error alone. */
	if (dup2(told[1], STDERR_FILENO) < 0 || xvt_opener_start(&opener, &ops, NULL))
		_exit(2);
	if (xvt_sandbox_enter(XVT_SANDBOX_RECORDS | XVT_SANDBOX_ASKS) ||
	    xvt_opener_serve(opener, xvt_sandbox_listener()))
		_exit(3);
	open(PATH, O_RDWR | O_CLOEXEC);
	_exit(4);
}

/* A process without a root that asks an opener what its descriptors are. Does not return. */
static void look_at_own(void)
{
	static const struct xvt_opener_ops ops = { .begin = begin,
						   .refused = refused,
						   .denied = denied,
						   .died = died,
						   .stopped = stopped };
	const int bell = eventfd(0, EFD_CLOEXEC), empty = open("/proc/self/fdinfo", O_PATH);
	char path[64], up[64], name[64] = "";
	struct xvt_opener *opener;
	struct stat st;

	unsetenv(XVT_SANDBOX_ENV);
	if (xvt_sandbox_check() || geteuid())
		_exit(SKIPPED);
	if (xvt_opener_start(&opener, &ops, NULL) || fchdir(empty) || chroot("."))
		_exit(2);
	if (xvt_sandbox_enter(XVT_SANDBOX_RECORDS | XVT_SANDBOX_ASKS) ||
	    xvt_opener_serve(opener, xvt_sandbox_listener()))
		_exit(3);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", bell);
	if (readlink(path, name, sizeof(name) - 1) < 0 ||
	    strncmp(name, "anon_inode:[eventfd", 19) != 0)
		_exit(4);
	snprintf(path, sizeof(path), "/proc/%d/environ", (int)getppid());
	snprintf(up, sizeof(up), "/proc/self/../%d/environ", (int)getppid());
	if (!stat(path, &st) || !stat(up, &st) || !stat("/proc/self/root/proc", &st) ||
	    !stat("/root", &st))
		_exit(5);
	/* A library looks for its files before it opens them. */
	_exit(stat("/etc/passwd", &st) || access("/etc/none", F_OK) != -1 || errno != ENOENT ? 6
											     : 0);
}

START_TEST(own_descriptors_are_known_in_an_empty_root)
{
	const pid_t asking = fork();
	int status = 0;

	if (!asking)
		look_at_own();
	ck_assert_int_eq(waitpid(asking, &status, 0), asking);
	if (WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED) {
		fprintf(stderr, "skip - opener: no sandbox can be entered here, or not by root\n");
		return;
	}
	ck_assert_msg(WIFEXITED(status) && !WEXITSTATUS(status), "status %x", status);
}
END_TEST

START_TEST(what_is_refused_is_told_before_the_end)
{
	char text[128] = "";
	int status = 0;
	pid_t parent;

	blocked = _i;
	ck_assert_int_eq(pipe(told), 0);
	parent = fork();
	if (!parent)
		try_to_open();
	close(told[1]);
	ck_assert_int_eq(waitpid(parent, &status, 0), parent);
	if (WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED) {
		fprintf(stderr, "skip - opener: no sandbox can be entered here\n");
		return;
	}
	ck_assert_msg(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "status %x", status);
	ck_assert_int_gt(read(told[0], text, sizeof(text) - 1), 0);
	ck_assert_str_eq(text, "open " PATH " lives");
	close(told[0]);
}
END_TEST

Suite *opener_suite(void)
{
	Suite *s = suite_create("opener");
	TCase *t = tcase_create("refuse");

	tcase_add_loop_test(t, what_is_refused_is_told_before_the_end, 0, 2);
	suite_add_tcase(s, t);
	t = tcase_create("look");
	tcase_add_test(t, own_descriptors_are_known_in_an_empty_root);
	suite_add_tcase(s, t);
	return s;
}
