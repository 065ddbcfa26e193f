// SPDX-License-Identifier: GPL-2.0
/* child.c - see child.h. */
#define _GNU_SOURCE
#include "base/child.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/time.h"

#define MS_NS	((uint64_t)1000000)
#define LOOK_MS 50u /* between two looks for a signal, and at a child without a descriptor */

int xvt_child_open(pid_t pid)
{
	return (int)syscall(SYS_pidfd_open, pid, 0);
}

static struct {
	xvt_child_signal_fn *signal;
	void *arg;
} deputy;

void xvt_child_set_deputy(xvt_child_signal_fn *signal, void *arg)
{
	deputy.signal = signal;
	deputy.arg = arg;
}

int xvt_child_signal(int fd, pid_t pid, int signal)
{
	const long err =
		fd >= 0 ? syscall(SYS_pidfd_send_signal, fd, signal, NULL, 0) : kill(pid, signal);

	if (err && errno == EPERM && deputy.signal)
		return deputy.signal(deputy.arg, pid, signal);
	return err ? -errno : 0;
}

uint64_t xvt_child_cpu_ns(pid_t pid)
{
	struct timespec t;
	clockid_t clock;

	return clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &t) ? 0
									    : xvt_timespec_ns(&t);
}

/* Whether the child wants a CPU: a busy host may give it none for long. */
static bool is_runnable(pid_t pid)
{
	char path[64], line[256], state = 0;
	const char *end;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "re");
	if (!f)
		return false;
	/* The name may hold anything, and stands in the last brackets. */
	end = fgets(line, sizeof(line), f) ? strrchr(line, ')') : NULL;
	fclose(f);
	return end && sscanf(end, ") %c", &state) == 1 && state == 'R';
}

/* When a wait is over. */
struct limit {
	uint64_t until_ns;
	bool hurried;
};

static struct limit limit_of(unsigned int ms)
{
	return (struct limit){ .until_ns = xvt_monotonic_ns() + ms * MS_NS };
}

static bool asked_to_end(void)
{
	sigset_t pending;

	return !sigpending(&pending) &&
	       (sigismember(&pending, SIGINT) == 1 || sigismember(&pending, SIGTERM) == 1);
}

/* Returns the time for the next step of the wait, rounded up; 0: it is over. */
static int step_ms(struct limit *limit)
{
	const uint64_t now = xvt_monotonic_ns(), hurry = now + XVT_CHILD_HURRY_MS * MS_NS;
	uint64_t ms;

	if (!limit->hurried && asked_to_end()) {
		limit->hurried = true;
		if (limit->until_ns > hurry)
			limit->until_ns = hurry;
	}
	if (now >= limit->until_ns)
		return 0;
	ms = (limit->until_ns - now + MS_NS - 1) / MS_NS;
	return ms < LOOK_MS ? (int)ms : (int)LOOK_MS;
}

int xvt_child_wait(int fd, short events, unsigned int limit_ms)
{
	struct limit limit = limit_of(limit_ms);
	struct pollfd p = { .fd = fd, .events = events };
	int ms = 0, n;

	do {
		n = poll(&p, 1, ms);
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0)
			return 0;
		ms = step_ms(&limit);
	} while (ms);
	return -ETIMEDOUT;
}

/* Look once. A child whose end a tracer has not taken yet is readable, and not there to be waited
 * for. Returns 0, -EAGAIN or -errno. */
static int look(int fd, pid_t pid, int *status, int ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	const pid_t got = waitpid(pid, status, WNOHANG);

	if (got)
		return got == pid ? 0 : errno == EINTR ? -EAGAIN : -errno;
	if (poll(&p, 1, ms) > 0)
		poll(NULL, 0, 1);
	return -EAGAIN;
}

static int await(int fd, pid_t pid, int *status, unsigned int limit_ms, bool works)
{
	struct limit limit = limit_of(limit_ms);
	uint64_t cpu_ns = works ? xvt_child_cpu_ns(pid) : 0, now_cpu_ns;
	int ms = 0, err;

	for (;;) {
		err = look(fd, pid, status, ms);
		if (err != -EAGAIN)
			return err;
		now_cpu_ns = works ? xvt_child_cpu_ns(pid) : 0;
		if (now_cpu_ns != cpu_ns && !limit.hurried)
			limit = limit_of(limit_ms);
		cpu_ns = now_cpu_ns;
		ms = step_ms(&limit);
		if (!ms && works && !limit.hurried && is_runnable(pid))
			limit = limit_of(limit_ms);
		else if (!ms)
			return look(fd, pid, status, 0) ? -ETIMEDOUT : 0;
	}
}

int xvt_child_await(int fd, pid_t pid, int *status, unsigned int limit_ms)
{
	return await(fd, pid, status, limit_ms, false);
}

int xvt_child_await_work(int fd, pid_t pid, int *status, unsigned int limit_ms)
{
	return await(fd, pid, status, limit_ms, true);
}

int xvt_child_finish(pid_t pid, int *status, unsigned int limit_ms, bool works)
{
	const int fd = xvt_child_open(pid), err = await(fd, pid, status, limit_ms, works);

	if (err)
		xvt_child_kill(fd, pid);
	if (fd >= 0)
		close(fd);
	return err;
}

int xvt_child_kill(int fd, pid_t pid)
{
	int err = xvt_child_signal(fd, pid, SIGKILL);

	return err ? err : xvt_child_await(fd, pid, NULL, XVT_CHILD_END_MS);
}
