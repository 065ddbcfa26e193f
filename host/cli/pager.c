// SPDX-License-Identifier: GPL-2.0
/* pager.c - see pager.h. */
#define _GNU_SOURCE /* environ, pipe2() */
#include "cli/pager.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct {
	pid_t pid;
	int stderr_fd; /* what standard error was; -1: it was left alone */
} pager = { .stderr_fd = -1 };

bool xvt_pager_colour(void)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	return isatty(STDOUT_FILENO) && !(no && *no) && term && strcmp(term, "dumb") != 0;
}

/* The user's choice; NULL: there is none. */
static const char *chosen(void)
{
	const char *own = getenv("XVTRACE_PAGER");

	return own ? own : getenv("PAGER");
}

/* Start the pager with the pipe's end as its standard input. Returns 0 or an errno. */
static int start(const char *command, int from)
{
	char *shell[] = { "sh", "-c", (char *)command, NULL }, *less[] = { "less", NULL };
	posix_spawn_file_actions_t actions;
	int err = posix_spawn_file_actions_init(&actions);

	if (err)
		return err;
	setenv("LESS", "FRX", 0);
	setenv("LV", "-c", 0);
	err = posix_spawn_file_actions_adddup2(&actions, from, STDIN_FILENO);
	if (!err && command)
		err = posix_spawn(&pager.pid, "/bin/sh", &actions, NULL, shell, environ);
	else if (!err)
		err = posix_spawnp(&pager.pid, "less", &actions, NULL, less, environ);
	posix_spawn_file_actions_destroy(&actions);
	return err;
}

void xvt_pager_begin(void)
{
	const char *command = chosen();
	int ends[2];

	if (!isatty(STDOUT_FILENO) || (command && (!*command || strcmp(command, "cat") == 0)) ||
	    pipe2(ends, O_CLOEXEC))
		return;
	if (start(command, ends[0])) {
		pager.pid = 0;
	} else {
		dup2(ends[1], STDOUT_FILENO);
		if (isatty(STDERR_FILENO)) {
			pager.stderr_fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
			dup2(ends[1], STDERR_FILENO);
		}
		/* ^C is for the pager, which shares the terminal; it ends this process by SIGPIPE.
		 */
		signal(SIGINT, SIG_IGN);
		signal(SIGQUIT, SIG_IGN);
	}
	close(ends[0]);
	close(ends[1]);
}

void xvt_pager_end(void)
{
	if (!pager.pid)
		return;
	close(STDOUT_FILENO);
	if (pager.stderr_fd >= 0)
		dup2(pager.stderr_fd, STDERR_FILENO);
	while (waitpid(pager.pid, NULL, 0) < 0 && errno == EINTR)
		;
	pager.pid = 0;
}
