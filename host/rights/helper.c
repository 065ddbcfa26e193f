// SPDX-License-Identifier: GPL-2.0
/* helper.c - see helper.h. */
#define _GNU_SOURCE
#include "rights/helper.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "rights/capabilities.h"
#include "rights/limits.h"

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
	xvt_capabilities_keep(capabilities);
	xvt_limit_core();
}

int xvt_helper_start(struct xvt_helper *h, uint64_t capabilities, void (*serve)(int fd, void *arg),
		     void *arg)
{
	const pid_t recorder = getpid();
	int fds[2], err = 0;

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
	if (h->pid > 0 && !xvt_child_signal(h->pidfd, h->pid, SIGKILL))
		waitpid(h->pid, NULL, 0);
	if (h->pidfd >= 0)
		close(h->pidfd);
}

int xvt_helper_ask(const struct xvt_helper *h, const void *question, size_t size)
{
	return send(h->fd, question, size, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)size ? 0
											 : -EPIPE;
}

int xvt_helper_answer(const struct xvt_helper *h, void *answer, size_t size)
{
	const ssize_t n = recv(h->fd, answer, size, MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return -EAGAIN;
	return n == (ssize_t)size ? 0 : -EPIPE;
}
