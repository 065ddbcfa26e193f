// SPDX-License-Identifier: GPL-2.0
/*
 * xvt-mark.c - numbered lines "xvt-seq CPU NUMBER" to trace_marker, as fast as it can. A
 * test that finds them in a trace knows which are missing. CPU is the one that the program
 * is bound to, or -1: then the lines may be in several rings.
 */
#define _GNU_SOURCE
#include <getopt.h>
#include <limits.h>
#include <sched.h>
#include <time.h>

#include "marker.h"

static void usage(FILE *to)
{
	fputs("usage: xvt-mark N [--start K] [--cpu C]\n"
	      "  writes N lines \"xvt-seq CPU NUMBER\" to trace_marker, numbers from K (default "
	      "0)\n"
	      "  --cpu C   run on CPU C only (default: anywhere, CPU is written as -1)\n",
	      to);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "start", required_argument, NULL, 's' },
		{ "cpu", required_argument, NULL, 'c' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	long long count, start = 0, cpu = -1;
	struct timespec begin, end;
	int fd, opt, err = 0;
	double seconds;

	open_standard();
	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (opt) {
		case 's':
			start = number_arg("xvt-mark", "--start", optarg, 0, LLONG_MAX / 2);
			break;
		case 'c':
			cpu = number_arg("xvt-mark", "--cpu", optarg, 0, CPU_SETSIZE - 1);
			break;
		case 'h':
			usage(stdout);
			return 0;
		default:
			usage(stderr);
			return 2;
		}
	}
	if (optind + 1 != argc) {
		usage(stderr);
		return 2;
	}
	count = number_arg("xvt-mark", "N", argv[optind], 0, LLONG_MAX / 2);

	if (cpu >= 0) {
		cpu_set_t set;

		CPU_ZERO(&set);
		CPU_SET(cpu, &set);
		if (sched_setaffinity(0, sizeof(set), &set)) {
			fprintf(stderr, "xvt-mark: CPU %lld: %s\n", cpu, strerror(errno));
			return 1;
		}
	}
	fd = marker_open("xvt-mark");
	clock_gettime(CLOCK_MONOTONIC, &begin);
	for (long long i = 0; i < count && !err; i++)
		err = marker_write(fd, "xvt-seq %lld %lld", cpu, start + i);
	clock_gettime(CLOCK_MONOTONIC, &end);
	if (err) {
		fprintf(stderr, "xvt-mark: trace_marker: %s\n", strerror(-err));
		return 1;
	}
	seconds = (end.tv_sec - begin.tv_sec) + (end.tv_nsec - begin.tv_nsec) / 1e9;
	printf("marks=%lld seconds=%.6f ns_each=%.0f\n", count, seconds,
	       count ? seconds * 1e9 / count : 0);
	return 0;
}
