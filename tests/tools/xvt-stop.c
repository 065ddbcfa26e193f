// SPDX-License-Identifier: GPL-2.0
/*
 * xvt-stop.c - a library that has a helper of a recorder stop itself (SIGSTOP) at one point, which
 * is otherwise met by chance only:
 *
 *   STOP_AT=POINT STOP_MARK=FILE LD_PRELOAD=.../xvt-stop.so PROGRAM
 *
 *   probe, rules, listener, ping, end   the opener, when it has got such a message
 *   open                                the opener, when it has got a call that it is to make
 *   libvirt                             the process that asks libvirt, before it does
 *   look                                the process that reads a trace for events
 *   NAME                                a process that gives itself this name (prctl)
 *   user of NAME                        the same, when it has become its own user; NAME `look`: as
 *                                       above
 *
 * A process stops once: FILE is made then, and nothing stops where there is one.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static void stop_at(const char *point)
{
	const char *at = getenv("STOP_AT"), *mark = getenv("STOP_MARK");
	int fd;

	if (!at || !mark || strcmp(at, point))
		return;
	fd = open(mark, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	close(fd);
	raise(SIGSTOP);
}

ssize_t recv(int fd, void *to, size_t len, int flags)
{
	/* By enum message_kind of host/rights/opener.c. */
	static const char *const points[] = { "probe", "rules", "listener", "ping", "end" };
	static ssize_t (*real)(int, void *, size_t, int);
	char name[16] = "";
	unsigned int kind;
	ssize_t n;

	if (!real)
		real = (__typeof__(real))dlsym(RTLD_NEXT, "recv");
	n = real(fd, to, len, flags);
	syscall(SYS_prctl, PR_GET_NAME, name);
	if (n > (ssize_t)sizeof(kind) && !strcmp(name, "xvtrace-opener")) {
		memcpy(&kind, to, sizeof(kind));
		if (kind < sizeof(points) / sizeof(points[0]))
			stop_at(points[kind]);
	}
	return n;
}

int ioctl(int fd, unsigned long request, ...)
{
	static int (*real)(int, unsigned long, void *);
	va_list more;
	void *arg;
	int err;

	va_start(more, request);
	arg = va_arg(more, void *);
	va_end(more);
	if (!real)
		real = (__typeof__(real))dlsym(RTLD_NEXT, "ioctl");
	err = real(fd, request, arg);
	if (!err && request == SECCOMP_IOCTL_NOTIF_RECV)
		stop_at("open");
	return err;
}

unsigned int alarm(unsigned int seconds)
{
	static unsigned int (*real)(unsigned int);

	if (!real)
		real = (__typeof__(real))dlsym(RTLD_NEXT, "alarm");
	stop_at("libvirt");
	return real(seconds);
}

static bool looks;

int setrlimit(__rlimit_resource_t resource, const struct rlimit *limit)
{
	static int (*real)(__rlimit_resource_t, const struct rlimit *);

	if (!real)
		real = (__typeof__(real))dlsym(RTLD_NEXT, "setrlimit");
	if (resource == RLIMIT_CPU) {
		looks = true;
		stop_at("look");
	}
	return real(resource, limit);
}

int prctl(int option, ...)
{
	static int (*real)(int, unsigned long, unsigned long, unsigned long, unsigned long);
	unsigned long arg[4];
	va_list more;
	size_t i;
	int err;

	va_start(more, option);
	for (i = 0; i < 4; i++)
		arg[i] = va_arg(more, unsigned long);
	va_end(more);
	if (!real)
		real = (__typeof__(real))dlsym(RTLD_NEXT, "prctl");
	err = real(option, arg[0], arg[1], arg[2], arg[3]);
	if (option == PR_SET_NAME)
		stop_at((const char *)arg[0]);
	/* The last that it does to become its user. */
	if (option == PR_SET_PDEATHSIG && getuid()) {
		char name[16] = "look", point[32];

		if (!looks)
			real(PR_GET_NAME, (unsigned long)name, 0, 0, 0);
		snprintf(point, sizeof(point), "user of %s", name);
		stop_at(point);
	}
	return err;
}
