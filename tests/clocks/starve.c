// SPDX-License-Identifier: GPL-2.0
/*
 * starve.c - a command that gets little CPU, as on a host that is overloaded: it and all of its
 * processes run for some milliseconds of each period, from one time after its start to another.
 *
 *	starve RUN_MS PERIOD_MS FROM_MS TO_MS COMMAND...
 *
 * Exits as the command does.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static pid_t group;

static void pause_ms(long ms)
{
	const struct timespec pause = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&pause, NULL);
}

static long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (long)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void on_signal(int sig)
{
	kill(-group, SIGCONT);
	kill(-group, sig);
}

/* Whether the command has ended. It is left to be waited for. */
static bool has_ended(void)
{
	siginfo_t info = { 0 };

	return waitid(P_PID, (id_t)group, &info, WEXITED | WNOHANG | WNOWAIT) || info.si_pid;
}

static void starve(long run_ms, long period_ms, long from_ms, long to_ms)
{
	const long begin = now_ms();

	pause_ms(from_ms);
	while (!has_ended() && now_ms() - begin < to_ms) {
		kill(-group, SIGSTOP);
		pause_ms(period_ms - run_ms);
		kill(-group, SIGCONT);
		pause_ms(run_ms);
	}
}

int main(int argc, char **argv)
{
	int status;

	if (argc < 6) {
		fprintf(stderr, "usage: starve RUN_MS PERIOD_MS FROM_MS TO_MS COMMAND...\n");
		return 2;
	}
	group = fork();
	if (!group) {
		setpgid(0, 0);
		execvp(argv[5], &argv[5]);
		perror(argv[5]);
		_exit(127);
	}
	setpgid(group, group);
	signal(SIGINT, on_signal);
	signal(SIGTERM, on_signal);
	starve(atol(argv[1]), atol(argv[2]), atol(argv[3]), atol(argv[4]));
	waitpid(group, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
