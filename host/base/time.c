// SPDX-License-Identifier: GPL-2.0
/* time.c - see time.h. */
#include "base/time.h"

#include <sys/resource.h>

uint64_t xvt_monotonic_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return xvt_timespec_ns(&t);
}

uint64_t xvt_cpu_ns(int of)
{
	struct rusage u;

	getrusage(of, &u);
	return ((uint64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000u +
		(uint64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec)) *
	       1000u;
}
