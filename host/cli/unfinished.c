// SPDX-License-Identifier: GPL-2.0
/* unfinished.c - see unfinished.h. */
#include "cli/unfinished.h"

#include <fcntl.h>
#include <stddef.h>
#include <unistd.h>

static int folder;
static const char *volatile unfinished;

/* By the folder's descriptor: others may have put another folder where its path leads. */
void xvt_unfinished_remove(void)
{
	if (unfinished)
		unlinkat(folder, unfinished, 0);
}

/* The sandbox may not let the process send itself the signal again. */
static void on_signal(int signal)
{
	xvt_unfinished_remove();
	_exit(128 + signal);
}

void xvt_unfinished_begin(int in, const char *name)
{
	static const int signals[] = { SIGHUP, SIGINT, SIGTERM };
	const struct sigaction action = { .sa_handler = on_signal };

	folder = in;
	unfinished = name;
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		struct sigaction before;

		if (!sigaction(signals[i], NULL, &before) && before.sa_handler != SIG_IGN)
			sigaction(signals[i], &action, NULL);
	}
}

void xvt_unfinished_end(void)
{
	unfinished = NULL;
}

void xvt_unfinished_hold(sigset_t *before)
{
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, before);
}

void xvt_unfinished_release(const sigset_t *before)
{
	sigprocmask(SIG_SETMASK, before, NULL);
}
