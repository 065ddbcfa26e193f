// SPDX-License-Identifier: GPL-2.0
/* helper.c - see helper.h. */
#define _GNU_SOURCE
#include "rights/helper.h"

#include <errno.h>
#include <limits.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/child.h"
#include "base/log.h"
#include "base/time.h"
#include "rights/capabilities.h"
#include "rights/limits.h"
#include "rights/own_user.h"

/* Signals of the recorder's terminal or manager are not for this process. */
static void leave_recorder(int fd, pid_t recorder, uint64_t capabilities)
{
	static const int ignored[] = { SIGINT, SIGTERM, SIGHUP, SIGUSR2, SIGPIPE };
	sigset_t none;
	size_t i;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != recorder)
		_exit(0);
	for (i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		signal(ignored[i], SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (fd > 3)
		close_range(3, (unsigned int)fd - 1, 0);
	close_range((unsigned int)fd + 1, UINT_MAX, 0);
	xvt_own_user_leave_groups();
	/* What it starts may have another user. */
	xvt_capabilities_keep(capabilities | 1ull << CAP_KILL);
	xvt_limit_core();
}

int xvt_helper_start(struct xvt_helper *h, const struct xvt_helper_name *name,
		     uint64_t capabilities, void (*serve)(int fd, void *arg), void *arg)
{
	const pid_t recorder = getpid();
	int fds[2], err = 0;

	*h = (struct xvt_helper){ .name = *name, .fd = -1, .pidfd = -1 };
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds))
		return -errno;
	fflush(NULL);
	h->pid = fork();
	if (!h->pid) {
		leave_recorder(fds[1], recorder, capabilities);
		serve(fds[1], arg);
		_exit(0);
	}
	if (h->pid < 0)
		err = -errno;
	close(fds[1]);
	if (err)
		close(fds[0]);
	else
		h->pidfd = xvt_child_open(h->pid);
	h->fd = fds[0];
	return err;
}

void xvt_helper_end(struct xvt_helper *h)
{
	close(h->fd);
	if (h->pid > 0 && xvt_child_kill(h->pidfd, h->pid) == -ETIMEDOUT)
		xvt_warn("record",
			 "the recorder's process that %s (process %d) was killed and does not end: "
			 "a disk or a debugger holds it; it is left behind",
			 h->name.does, (int)h->pid);
	if (h->pidfd >= 0)
		close(h->pidfd);
}

int xvt_helper_ask(struct xvt_helper *h, const void *question, size_t size)
{
	if (send(h->fd, question, size, MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t)size)
		return -EPIPE;
	h->asked = true;
	return 0;
}

int xvt_helper_answer(struct xvt_helper *h, void *answer, size_t size)
{
	const ssize_t n = recv(h->fd, answer, size, MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return -EAGAIN;
	h->asked = h->watched = false;
	return n == (ssize_t)size ? 0 : -EPIPE;
}

enum xvt_helper_news xvt_helper_watch(struct xvt_helper *h, uint64_t now_ns, unsigned int *still_s)
{
	const uint64_t cpu_ns = h->asked && h->pid > 0 ? xvt_child_cpu_ns(h->pid) : 0;
	const bool works = !h->watched || cpu_ns != h->cpu_ns;
	const bool told = h->told;

	*still_s = 0;
	if (!h->asked) {
		h->told = h->watched = false;
		return told && h->pid > 0 ? XVT_HELPER_ANSWERS : XVT_HELPER_NO_NEWS;
	}
	if (works) {
		h->watched = true;
		h->worked_ns = now_ns;
		h->cpu_ns = cpu_ns;
		return XVT_HELPER_NO_NEWS;
	}
	if (told || now_ns - h->worked_ns < XVT_HELPER_STILL_NS)
		return XVT_HELPER_NO_NEWS;
	h->told = true;
	*still_s = (unsigned int)((now_ns - h->worked_ns) / SECOND_NS);
	return XVT_HELPER_STILL;
}
