// SPDX-License-Identifier: GPL-2.0
/* pager.c - see pager.h. */
#define _GNU_SOURCE /* pipe2() */
#include "cli/pager.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "options/opt.h"

static struct {
	pid_t pid;     /* 0: none */
	int go;	       /* a byte makes the child the pager; an end makes it end */
	int text;      /* its standard input; -1: it is this process's standard output by now */
	int stderr_fd; /* a copy of standard error; -1: that is no terminal */
} pager = { .stderr_fd = -1 };

bool xvt_pager_colour(void)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	return isatty(STDOUT_FILENO) && !(no && *no) && term && strcmp(term, "dumb") != 0;
}

bool xvt_pager_chosen_colour(unsigned int choice)
{
	return choice == XVT_COLOUR_AUTO ? xvt_pager_colour() : choice == XVT_COLOUR_ALWAYS;
}

/* The user's choice; NULL: there is none. */
static const char *chosen(void)
{
	const char *own = getenv("XVTRACE_PAGER");

	return own ? own : getenv("PAGER");
}

/* True if PATH has this program. */
static bool in_path(const char *program)
{
	const char *at = getenv("PATH");
	char path[4096];

	while (at && *at) {
		int len = (int)strcspn(at, ":");

		if (snprintf(path, sizeof(path), "%.*s/%s", len, at, program) < (int)sizeof(path) &&
		    access(path, X_OK) == 0)
			return true;
		at += len + (at[len] == ':');
	}
	return false;
}

/* In the child: waits until the pager is wanted, and becomes it. */
static void wait_and_run(const char *command, int go, int from)
{
	char wanted;

	if (read(go, &wanted, 1) != 1)
		_exit(0);
	dup2(from, STDIN_FILENO);
	if (command)
		execl("/bin/sh", "sh", "-c", command, NULL);
	else
		execlp("less", "less", NULL);
	_exit(127);
}

void xvt_pager_prepare(void)
{
	const char *command = chosen();
	int text[2], go[2];

	if (!isatty(STDOUT_FILENO) || (command && (!*command || strcmp(command, "cat") == 0)) ||
	    (!command && !in_path("less")) || pipe2(text, O_CLOEXEC))
		return;
	if (pipe2(go, O_CLOEXEC)) {
		close(text[0]);
		close(text[1]);
		return;
	}
	setenv("LESS", "FRSX", 0);
	setenv("LV", "-c", 0);
	pager.pid = fork();
	if (pager.pid == 0) {
		/* Or it would never see the ends of these pipes. */
		close(text[1]);
		close(go[1]);
		wait_and_run(command, go[0], text[0]);
	}
	close(text[0]);
	close(go[0]);
	pager.text = text[1];
	pager.go = go[1];
	if (pager.pid < 0) {
		close(text[1]);
		close(go[1]);
		pager.pid = 0;
		return;
	}
	/* Here, since the sandbox leaves no descriptor for it. */
	if (isatty(STDERR_FILENO))
		pager.stderr_fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
}

void xvt_pager_begin(void)
{
	if (!pager.pid || write(pager.go, "", 1) != 1)
		return;
	dup2(pager.text, STDOUT_FILENO);
	if (pager.stderr_fd >= 0)
		dup2(pager.text, STDERR_FILENO);
	/* ^C is for the pager, which shares the terminal; it ends this process by SIGPIPE. */
	signal(SIGINT, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	close(pager.text);
	pager.text = -1;
}

void xvt_pager_end(void)
{
	if (!pager.pid)
		return;
	close(pager.go);
	close(pager.text >= 0 ? pager.text : STDOUT_FILENO);
	if (pager.stderr_fd >= 0)
		dup2(pager.stderr_fd, STDERR_FILENO);
	while (waitpid(pager.pid, NULL, 0) < 0 && errno == EINTR)
		;
	pager.pid = 0;
}
