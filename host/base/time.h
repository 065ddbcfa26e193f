/* SPDX-License-Identifier: GPL-2.0 */
/* time.h - clocks of the kernel and CPU time in nanoseconds. */
#ifndef XVT_TIME_H
#define XVT_TIME_H

#include <stdint.h>
#include <time.h>

#define SECOND_NS ((uint64_t)1000000000)

/* Now, by CLOCK_MONOTONIC. */
uint64_t xvt_monotonic_ns(void);

/* CPU time that was used so far; of: as of getrusage(), RUSAGE_SELF or RUSAGE_CHILDREN. */
uint64_t xvt_cpu_ns(int of);

/* Of a time that is not negative. */
static inline uint64_t xvt_timespec_ns(const struct timespec *t)
{
	return (uint64_t)t->tv_sec * SECOND_NS + (uint64_t)t->tv_nsec;
}

static inline struct timespec xvt_timespec(uint64_t ns)
{
	return (struct timespec){ (time_t)(ns / SECOND_NS), (long)(ns % SECOND_NS) };
}

#endif /* XVT_TIME_H */
