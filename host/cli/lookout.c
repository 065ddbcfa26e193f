// SPDX-License-Identifier: GPL-2.0
/* lookout.c - see lookout.h. */
#define _GNU_SOURCE
#include "cli/lookout.h"

#include <errno.h>
#include <limits.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/capabilities.h"
#include "base/limits.h"

#define NICE 5 /* events that are recorded come first */

struct question {
	uint64_t from_ns;
	char path[PATH_MAX];
};

struct xvt_lookout {
	int fd;
	pid_t pid;
	bool asked; /* no answer has come yet */
};

/* CPU time of the processes that it has started and waited for. */
static uint64_t cpu_ns(void)
{
	struct rusage u;

	getrusage(RUSAGE_CHILDREN, &u);
	return ((uint64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000u +
		(uint64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec)) *
	       1000u;
}

/* Signals of the recorder's terminal or manager are not for this process: it ends with the
 * recorder. Of root's capabilities it needs the one to read files of a folder of another user. */
static void leave_recorder(int fd, pid_t recorder)
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
	xvt_capabilities_keep(1ull << CAP_DAC_READ_SEARCH);
	xvt_limit_core();
	setpriority(PRIO_PROCESS, 0, NICE);
}

static void answer_all(int fd, struct xvt_trigger *trigger)
{
	struct xvt_lookout_answer answer;
	struct question question;
	uint64_t before_ns;

	while (recv(fd, &question, sizeof(question), 0) == sizeof(question)) {
		memset(&answer, 0, sizeof(answer));
		before_ns = cpu_ns();
		answer.err = xvt_trigger_look(trigger, question.path, question.from_ns,
					      &answer.look, answer.why, sizeof(answer.why));
		answer.cpu_ns = cpu_ns() - before_ns;
		if (send(fd, &answer, sizeof(answer), 0) != sizeof(answer))
			return;
	}
}

int xvt_lookout_new(struct xvt_lookout **out, struct xvt_trigger *trigger)
{
	struct xvt_lookout *l = calloc(1, sizeof(*l));
	const pid_t recorder = getpid();
	int fds[2], err = 0;

	if (!l)
		return -ENOMEM;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds)) {
		err = -errno;
		free(l);
		return err;
	}
	fflush(NULL);
	l->pid = fork();
	if (!l->pid) {
		leave_recorder(fds[1], recorder);
		answer_all(fds[1], trigger);
		_exit(0);
	}
	if (l->pid < 0)
		err = -errno;
	close(fds[1]);
	if (err) {
		close(fds[0]);
		free(l);
		return err;
	}
	l->fd = fds[0];
	*out = l;
	return 0;
}

void xvt_lookout_free(struct xvt_lookout *l)
{
	if (!l)
		return;
	close(l->fd);
	kill(l->pid, SIGKILL); /* its sandboxed child ends by itself, or by its limit of CPU time */
	waitpid(l->pid, NULL, 0);
	free(l);
}

int xvt_lookout_ask(struct xvt_lookout *l, const char *path, uint64_t from_ns)
{
	struct question question = { .from_ns = from_ns };

	if (l->asked)
		return -EBUSY;
	if ((size_t)snprintf(question.path, sizeof(question.path), "%s", path) >=
	    sizeof(question.path))
		return -ENAMETOOLONG;
	if (send(l->fd, &question, sizeof(question), MSG_DONTWAIT | MSG_NOSIGNAL) !=
	    sizeof(question))
		return -EPIPE;
	l->asked = true;
	return 0;
}

int xvt_lookout_answer(struct xvt_lookout *l, struct xvt_lookout_answer *answer)
{
	ssize_t n;

	if (!l->asked)
		return -EAGAIN;
	n = recv(l->fd, answer, sizeof(*answer), MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return -EAGAIN;
	if (n != sizeof(*answer))
		return -EPIPE;
	l->asked = false;
	answer->why[sizeof(answer->why) - 1] = '\0';
	answer->look.first[sizeof(answer->look.first) - 1] = '\0';
	answer->look.machine[sizeof(answer->look.machine) - 1] = '\0';
	return 0;
}
