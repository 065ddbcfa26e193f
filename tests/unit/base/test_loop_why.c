// SPDX-License-Identifier: GPL-2.0
/* test_loop_why.c - what is said of an io_uring that is refused, for each value of the sysctl. */
#include "suites.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/loop.h"

static const struct {
	int err, sysctl;
	const char *says;
	const char *says_not;
} refused[] = {
	{ -EPERM, XVT_LOOP_NO_SYSCTL, "seccomp", "kernel.io_uring" },
	{ -EPERM, 0, "seccomp", "kernel.io_uring" },
	{ -EPERM, 1, "kernel.io_uring_disabled is 1", "seccomp" },
	{ -EPERM, 2, "kernel.io_uring_disabled is 2", "seccomp" },
	{ -ENOSYS, XVT_LOOP_NO_SYSCTL, "CONFIG_IO_URING=y", "kernel.io_uring" },
	{ -ENOSYS, 0, "seccomp", "CONFIG_IO_URING" },
	{ -ENOSYS, 2, "seccomp", "CONFIG_IO_URING" },
	{ -EACCES, 0, "security module", "seccomp" },
	{ -ENOMEM, 0, "RLIMIT_MEMLOCK", "seccomp" },
	{ -EMFILE, 0, "RLIMIT_NOFILE", "seccomp" },
	{ -EINVAL, 0, "too old", "seccomp" },
	{ XVT_LOOP_NOT_ASKED, 0, "unset XVTRACE_LOOP", "seccomp" },
	{ -EIO, 0, "Input/output error", "seccomp" },
};

START_TEST(a_refused_io_uring_is_blamed_on_what_refuses_it)
{
	struct xvt_loop_why w = xvt_loop_why(refused[_i].err, refused[_i].sysctl);
	char text[512];

	snprintf(text, sizeof(text), "%s; %s", w.why, w.fix);
	ck_assert_msg(strstr(text, refused[_i].says) != NULL, "%s", text);
	ck_assert_msg(!strstr(text, refused[_i].says_not), "%s", text);
}
END_TEST

Suite *loop_why_suite(void)
{
	Suite *s = suite_create("loop_why");
	TCase *t = tcase_create("loop_why");

	tcase_add_loop_test(t, a_refused_io_uring_is_blamed_on_what_refuses_it, 0,
			    sizeof(refused) / sizeof(refused[0]));
	suite_add_tcase(s, t);
	return s;
}
