// SPDX-License-Identifier: GPL-2.0
/*
 * bench_lttng.c - what the 16-byte event costs through LTTng-UST, in an overwrite session that
 * bench/writer.sh has started; and a bare clock read in the same turns, for the ratio. Prints
 * lines "KEY NUMBER" for bench_writer.
 */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "lttng_event.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "xvt_port.h"

#define EVENTS 400000u
#define ROUNDS 15

static double cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

int main(void)
{
	double event[ROUNDS], clock[ROUNDS], t;
	uint64_t i, sink;
	int r;

	for (r = 0; r < ROUNDS; r++) {
		t = cpu_ns();
		for (i = 0; i < EVENTS; i++)
			lttng_ust_tracepoint(xvtbench, pair, i, ~i);
		event[r] = (cpu_ns() - t) / EVENTS;
		t = cpu_ns();
		for (i = 0; i < EVENTS; i++)
			xvt_store(&sink, xvt_clock_read());
		clock[r] = (cpu_ns() - t) / EVENTS;
	}
	qsort(event, ROUNDS, sizeof(*event), by_value);
	qsort(clock, ROUNDS, sizeof(*clock), by_value);
	printf("lttng_min_ns %.3f\nlttng_median_ns %.3f\nlttng_clock_min_ns %.3f\n", event[0],
	       event[ROUNDS / 2], clock[0]);
	return 0;
}
