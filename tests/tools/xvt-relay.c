// SPDX-License-Identifier: GPL-2.0
/*
 * xvt-relay.c - two programs, each with its own region, and one sequence: a program records number
 * n only after it has seen that the other one has recorded n - 1. So if n is in a trace that claims
 * to show one moment of both, every number before it has to be.
 *
 *   xvt-relay REGION REGION
 *
 * Until SIGTERM, or until its parent is gone. Prints how many numbers there were.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "xvt.h"

static uint64_t *turn; /* shared: the next number */
static volatile sig_atomic_t stop;

static void on_signal(int number)
{
	(void)number;
	stop = 1;
}

static int run(const char *region, uint64_t mine)
{
	uint64_t n = mine;

	if (xvt_open(region, 0)) {
		fprintf(stderr, "xvt-relay: %s: %s\n", region, xvt_error());
		return 1;
	}
	while (!stop) {
		uint64_t payload[2] = { mine, n };

		/* Acquire: the other one's event is recorded before its release of our turn. */
		if (__atomic_load_n(turn, __ATOMIC_ACQUIRE) != n) {
			sched_yield();
			continue;
		}
		if (xvt_event(XVT_USER_ID_U64, payload, sizeof(payload))) {
			fprintf(stderr, "xvt-relay: %s: an event was refused\n", region);
			return 1;
		}
		n += 2;
		__atomic_store_n(turn, n - 1, __ATOMIC_RELEASE);
	}
	return 0;
}

int main(int argc, char **argv)
{
	int status = 0, one;
	pid_t child;

	if (argc != 3) {
		fprintf(stderr, "usage: xvt-relay REGION REGION\n");
		return 2;
	}
	signal(SIGTERM, on_signal);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	turn = mmap(NULL, sizeof(*turn), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (turn == MAP_FAILED)
		return 1;
	child = fork();
	if (child < 0)
		return 1;
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		return run(argv[2], 1);
	}
	status = run(argv[1], 0);
	kill(child, SIGTERM);
	if (waitpid(child, &one, 0) != child || one)
		status = 1;
	printf("%llu\n", (unsigned long long)*turn);
	return status;
}
