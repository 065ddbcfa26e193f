// SPDX-License-Identifier: GPL-2.0
/*
 * xvt-noisy.c - a thread of the host that takes a CPU from all others, by SCHED_FIFO, and says
 * when: begin and end of each time, in ns of CLOCK_MONOTONIC, on a line. xvt-noisy CPU MILLISECONDS
 * COUNT GAP_MILLISECONDS
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

int main(int argc, char **argv)
{
	const struct sched_param fifo = { .sched_priority = 50 };
	cpu_set_t set;

	if (argc != 5) {
		fprintf(stderr, "usage: xvt-noisy CPU MILLISECONDS COUNT GAP_MILLISECONDS\n");
		return 2;
	}
	CPU_ZERO(&set);
	CPU_SET(atoi(argv[1]), &set);
	prctl(PR_SET_NAME, "noisy");
	if (sched_setaffinity(0, sizeof(set), &set) || sched_setscheduler(0, SCHED_FIFO, &fifo)) {
		perror("xvt-noisy");
		return 1;
	}
	for (int i = 0; i < atoi(argv[3]); i++) {
		const struct timespec gap = { atoi(argv[4]) / 1000,
					      atoi(argv[4]) % 1000 * 1000000l };
		uint64_t begin, end;

		nanosleep(&gap, NULL);
		begin = now_ns();
		do
			end = now_ns();
		while (end - begin < (uint64_t)atoi(argv[2]) * 1000000);
		printf("%" PRIu64 " %" PRIu64 "\n", begin, end);
		fflush(stdout);
	}
	return 0;
}
