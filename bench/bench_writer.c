// SPDX-License-Identifier: GPL-2.0
/*
 * bench_writer.c - what one 16-byte event costs, beside a bare clock read, in one run. The
 * ratio is what counts: these loops run on any machine, and absolute times are the machine's.
 * With the clock replaced by a counter one sees the ring alone; a clock read hides about
 * four nanoseconds of other work.
 */
#define _GNU_SOURCE
#include "xvt_region.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#define REGION_SIZE (2u << 20)
#define EVENTS	    2000000u
#define ROUNDS	    7

static double now_ns(void)
{
	struct timespec ts;

	/* CPU time: what other jobs take of this core does not count. */
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static uint64_t counter_clock(void *arg)
{
	return ++*(uint64_t *)arg;
}

static __attribute__((noinline)) void bare_clock(uint64_t *out)
{
	unsigned int i;

	for (i = 0; i < EVENTS; i++)
		out[i & 4095] = xvt_clock_read();
}

static __attribute__((noinline)) void write_events(struct xvt_writer *w)
{
	struct xvt_slot slot;
	uint64_t i;

	for (i = 0; i < EVENTS; i++) {
		uint64_t *payload;

		if (xvt_reserve(w, XVT_ID_U64, 16, &slot))
			continue;
		payload = slot.payload;
		payload[0] = i;
		payload[1] = ~i;
		xvt_commit(w, &slot);
	}
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

struct result {
	double min_ns, median_ns;
};

static struct result best(double *ns)
{
	qsort(ns, ROUNDS, sizeof(*ns), by_value);
	return (struct result){ ns[0] / EVENTS, ns[ROUNDS / 2] / EVENTS };
}

int main(int argc, char **argv)
{
	struct xvt_layout layout = { .region_size = REGION_SIZE,
				     .ring_count = 1,
				     .clock_id = XVT_CLOCK_NATIVE,
				     .enable = XVT_ENABLE_OVERWRITE };
	double clock_ns[ROUNDS], event_ns[ROUNDS], ring_ns[ROUNDS];
	struct result clock, event, ring;
	struct xvt_geometry g;
	struct xvt_writer w;
	uint64_t counter = 0;
	uint64_t *scratch = calloc(4096, sizeof(*scratch));
	void *region = aligned_alloc(4096, REGION_SIZE);
	unsigned int i;
	FILE *json;

	if (!region || !scratch)
		return 1;
	memset(region, 0, REGION_SIZE); /* first touch is not what is measured */
	if (xvt_region_format(region, &layout, &g))
		return 1;
	xvt_writer_init(&w, region, &g, 0);
	/* In turn, so that a change of the machine's mood meets all of them. */
	for (i = 0; i < ROUNDS; i++) {
		double t = now_ns();

		bare_clock(scratch);
		clock_ns[i] = now_ns() - t;
		w.clock = NULL;
		t = now_ns();
		write_events(&w);
		event_ns[i] = now_ns() - t;
		w.clock = counter_clock;
		w.clock_arg = &counter;
		t = now_ns();
		write_events(&w);
		ring_ns[i] = now_ns() - t;
	}
	clock = best(clock_ns);
	event = best(event_ns);
	ring = best(ring_ns);
	printf("%-44s %8s %8s %8s\n", "one event of 16 bytes", "min ns", "median", "/clock");
	printf("%-44s %8.2f %8.2f %8.2f\n", "bare clock read + 8-byte store", clock.min_ns,
	       clock.median_ns, 1.0);
	printf("%-44s %8.2f %8.2f %8.2f\n", "reserve, fill, commit", event.min_ns, event.median_ns,
	       event.min_ns / clock.min_ns);
	printf("%-44s %8.2f %8.2f %8.2f\n", "the same, clock replaced by a counter call",
	       ring.min_ns, ring.median_ns, ring.min_ns / clock.min_ns);
	if (argc > 1) {
		json = fopen(argv[1], "w");
		if (!json)
			return 1;
		fprintf(json,
			"{\"clock_ns\":%.3f,\"event_ns\":%.3f,\"event_over_clock\":%.3f,"
			"\"event_counter_clock_ns\":%.3f}\n",
			clock.min_ns, event.min_ns, event.min_ns / clock.min_ns, ring.min_ns);
		if (fclose(json))
			return 1;
	}
	free(scratch);
	free(region);
	return 0;
}
