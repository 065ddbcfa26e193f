// SPDX-License-Identifier: GPL-2.0
/* child.c - see child.h. */
#define _GNU_SOURCE
#include "base/child.h"

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

int xvt_child_open(pid_t pid)
{
	return (int)syscall(SYS_pidfd_open, pid, 0);
}

int xvt_child_signal(int fd, pid_t pid, int signal)
{
	const long err =
		fd >= 0 ? syscall(SYS_pidfd_send_signal, fd, signal, NULL, 0) : kill(pid, signal);

	return err ? -errno : 0;
}
