// SPDX-License-Identifier: GPL-2.0
/* loop_why.c - the reason why the kernel refuses an io_uring, from the error and the sysctl. */
#include "base/loop.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define CALLS "io_uring_setup, io_uring_enter and io_uring_register"

int xvt_loop_sysctl(void)
{
	FILE *f = fopen("/proc/sys/kernel/io_uring_disabled", "re");
	int value = XVT_LOOP_NO_SYSCTL;

	if (!f)
		return value;
	if (fscanf(f, "%d", &value) != 1)
		value = XVT_LOOP_NO_SYSCTL;
	fclose(f);
	return value;
}

static struct xvt_loop_why not_permitted(int sysctl)
{
	if (sysctl == 1)
		return (struct xvt_loop_why){
			"io_uring is not permitted: sysctl kernel.io_uring_disabled is 1, so it "
			"needs CAP_SYS_ADMIN or the group of kernel.io_uring_group",
			"sysctl kernel.io_uring_disabled=0 # or join that group"
		};
	if (sysctl > 1)
		return (struct xvt_loop_why){
			"io_uring is not permitted: sysctl kernel.io_uring_disabled is 2",
			"sysctl kernel.io_uring_disabled=0"
		};
	return (struct xvt_loop_why){
		"io_uring is not permitted, and not because of a sysctl: a seccomp filter forbids "
		"it, as those of containers do",
		"run outside the container, or with a seccomp profile that allows " CALLS
	};
}

/* Linux 6.6 introduced the sysctl, only in kernels that have io_uring. */
static struct xvt_loop_why not_implemented(int sysctl)
{
	if (sysctl != XVT_LOOP_NO_SYSCTL)
		return (struct xvt_loop_why){
			"this kernel has io_uring, but a seccomp filter answers that it has not, "
			"as those of containers do",
			"run outside the container, or with a seccomp profile that allows " CALLS
		};
	return (struct xvt_loop_why){
		"this kernel has no io_uring, or a seccomp filter answers so",
		"use a kernel from 5.11 on with CONFIG_IO_URING=y; in a container, a seccomp "
		"profile that allows " CALLS
	};
}

struct xvt_loop_why xvt_loop_why(int err, int sysctl)
{
	switch (err) {
	case -EPERM:
		return not_permitted(sysctl);
	case -ENOSYS:
		return not_implemented(sysctl);
	case -EACCES:
		return (struct xvt_loop_why){
			"io_uring is not permitted: a security module (SELinux) forbids it",
			"allow io_uring in the policy; the kernel's audit log names the rule"
		};
	case -ENOMEM:
		return (struct xvt_loop_why){
			"no memory for an io_uring: kernels before 5.12 count it against "
			"RLIMIT_MEMLOCK",
			"ulimit -l unlimited"
		};
	case XVT_LOOP_NOT_ASKED:
		return (struct xvt_loop_why){
			"io_uring is not used: the environment has " XVT_LOOP_ENV "=epoll",
			"unset " XVT_LOOP_ENV
		};
	case -EMFILE:
		return (struct xvt_loop_why){
			"no io_uring: this process has too many open files (RLIMIT_NOFILE)",
			"ulimit -n 65536"
		};
	case -EINVAL:
		return (struct xvt_loop_why){ "this kernel's io_uring is too old",
					      "use a kernel from 5.11 on" };
	default:
		return (struct xvt_loop_why){ strerror(-err), "xvtrace doctor" };
	}
}
