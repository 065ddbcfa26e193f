// SPDX-License-Identifier: GPL-2.0
/* printer.c - see printer.h. */
#define _GNU_SOURCE
#include "record/printer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/log.h"
#include "options/opt.h"

#define END_MS	5000 /* time to print the rest */
#define KILL_MS 1000

/* ^C at the terminal is for the recorder, which then ends the trace, and so the report. */
static void become_report(int go)
{
	char path[PATH_MAX];
	char *const args[] = { (char *)"xvtrace",
			       (char *)"report",
			       (char *)"-f",
			       (char *)"-q",
			       (char *)"--",
			       path,
			       NULL };
	sigset_t none;
	ssize_t len;

	setpgid(0, 0);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
	len = read(go, path, sizeof(path) - 1);
	if (len <= 0)
		_exit(0); /* the recorder has failed */
	path[len] = '\0';
	execv("/proc/self/exe", args);
	xvt_error("--print", "cannot run xvtrace report: %s", strerror(errno));
	_exit(127);
}

int xvt_printer_start(struct xvt_printer *p)
{
	int fds[2], err;

	if (pipe2(fds, O_CLOEXEC))
		return -errno;
	fflush(NULL);
	p->pid = fork();
	if (!p->pid) {
		close(fds[1]);
		become_report(fds[0]);
	}
	err = p->pid < 0 ? -errno : 0;
	p->pidfd = err ? -1 : xvt_child_open(p->pid);
	close(fds[0]);
	p->go = fds[1];
	if (err) {
		close(fds[1]);
		p->pid = 0;
	}
	return err;
}

void xvt_printer_go(struct xvt_printer *p, const char *path)
{
	if (p->pid && write(p->go, path, strlen(path)) <= 0)
		xvt_warn("--print", "nothing is printed: %s", strerror(errno));
}

/* Returns whether it has ended. */
static bool wait_for(struct xvt_printer *p, unsigned int timeout_ms)
{
	const bool is = xvt_child_await(p->pidfd, p->pid, NULL, timeout_ms) != -ETIMEDOUT;

	if (is)
		p->pid = 0;
	return is;
}

void xvt_printer_end(struct xvt_printer *p, const char *output)
{
	if (!p->pid)
		return;
	close(p->go);
	if (wait_for(p, END_MS))
		return;
	xvt_warn("--print", "stopped before all events were printed; 'xvtrace report %s' has them",
		 output);
	xvt_child_signal(p->pidfd, p->pid, SIGTERM);
	if (wait_for(p, KILL_MS))
		return;
	xvt_child_kill(p->pidfd, p->pid);
}
