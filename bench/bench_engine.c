// SPDX-License-Identifier: GPL-2.0
/*
 * bench_engine.c - what an event costs from the ring to the file, with few rings and with many:
 * the real session over machines that are not there (guests.h), into a real file.
 *
 *   bench_engine TRACE [RINGS [interleaved|bursts [EVENTS]]]
 */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "guests.h"
#include "merge_limit.h"
#include "sink.h"

#define PAYLOAD	   16u
#define DATA_BYTES (192u << 20) /* of all rings together */
#define SECOND	   1000000000ull

struct engine {
	struct guests *guests;
	struct xvt_loop *loop;
	struct xvt_file_sink *sink;
	struct xvt_session *session;
};

static uint64_t process_cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec;
}

static uint64_t wall_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec;
}

static uint64_t engine_cpu_ns(const struct engine *e)
{
	return process_cpu_ns() - guests_cpu_ns(e->guests);
}

static void note(void *arg, uint32_t level, const char *vm, const char *text)
{
	(void)arg;
	if (level)
		fprintf(stderr, "%s: %s\n", vm ? vm : "-", text);
}

static int pass(struct engine *e)
{
	uint64_t sleep_ns;
	int err = xvt_session_pass(e->session, &sleep_ns);

	if (err)
		return err;
	err = xvt_loop_run(e->loop, sleep_ns);
	return err < 0 ? err : 0;
}

static bool all_live(const struct engine *e)
{
	size_t i;

	for (i = 0; i < e->session->nr_rings; i++) {
		if (e->session->rings[i]->phase == XVT_PHASE_NEW)
			return false;
	}
	return e->session->joined;
}

static uint64_t delivered(const struct engine *e)
{
	uint64_t events, lost, late;

	xvt_session_sums(e->session, &events, &lost, &late);
	return events;
}

static int start(struct engine *e, const char *path, uint32_t rings)
{
	uint32_t each = rings <= 4096 ? 4 : 64;
	struct guests_layout layout = { .vms = rings / each,
					.rings = each,
					.subbuf_size = 65536,
					.ring_bytes = DATA_BYTES / rings };
	struct xvt_session_options opt = { .mode = XVT_ENABLE_STOP,
					   .join_timeout_ns = 60 * SECOND,
					   .stall_timeout_ns = 60 * SECOND,
					   .memory_bytes = 256u << 20,
					   .note = note };
	int err;

	while (layout.subbuf_size > 1024 && layout.ring_bytes < 8 * layout.subbuf_size)
		layout.subbuf_size /= 2;
	err = guests_new(&e->guests, &layout);
	if (!err)
		err = xvt_loop_new(&e->loop);
	if (!err)
		err = xvt_file_sink_new(&e->sink, e->loop, path);
	if (!err)
		err = xvt_session_new(&e->session, e->loop, xvt_file_sink_base(e->sink), &opt);
	if (!err)
		err = guests_join(e->guests, e->session);
	while (!err && !all_live(e))
		err = pass(e);
	return err;
}

static void stop(struct engine *e)
{
	if (e->session)
		xvt_session_finish(e->session);
	if (e->sink)
		xvt_file_sink_close(e->sink);
	if (e->loop)
		xvt_loop_free(e->loop);
	if (e->guests)
		guests_free(e->guests);
}

static int measure(const char *path, uint32_t rings, enum guests_order order, uint64_t events)
{
	struct engine e = { 0 };
	uint64_t cpu = 0, wall = 0, lost, all = 0, sent = 0;
	int round, err = start(&e, path, rings);

	for (round = 0; !err && round < 5; round++) {
		uint64_t want = delivered(&e), from_cpu, from_wall;

		guests_write(e.guests, order, rings, events, PAYLOAD, &lost);
		want += events - lost;
		from_cpu = engine_cpu_ns(&e);
		from_wall = wall_ns();
		while (!err && delivered(&e) < want)
			err = pass(&e);
		if (!round)
			continue; /* warm */
		cpu += engine_cpu_ns(&e) - from_cpu;
		wall += wall_ns() - from_wall;
		all += lost;
		sent += events - lost;
	}
	if (!err)
		printf("%6u rings %-11s %10" PRIu64 " events (%" PRIu64
		       " lost): %7.2f ns CPU %7.2f ns wall, %6.1f M/s\n",
		       rings, order == GUESTS_BURSTS ? "bursts" : "interleaved", sent, all,
		       (double)cpu / (double)sent, (double)wall / (double)sent,
		       1e3 * (double)sent / (double)cpu);
	stop(&e);
	return err;
}

/* What it costs to watch machines that do nothing. */
static int measure_idle(const char *path, uint32_t rings)
{
	struct engine e = { 0 };
	uint64_t cpu, wall, end;
	int err = start(&e, path, rings);

	if (!err) {
		for (end = wall_ns() + 2 * SECOND; !err && wall_ns() < end;)
			err = pass(&e); /* it finds out that nothing happens */
		cpu = engine_cpu_ns(&e);
		wall = wall_ns();
		for (end = wall + 5 * SECOND; !err && wall_ns() < end;)
			err = pass(&e);
		cpu = engine_cpu_ns(&e) - cpu;
		wall = wall_ns() - wall;
		printf("%6u rings of %zu machines idle: %.2f %% of a core\n", rings,
		       e.session->nr_vms, 100.0 * (double)cpu / (double)wall);
	}
	stop(&e);
	return err;
}

int main(int argc, char **argv)
{
	uint32_t rings = argc > 2 ? (uint32_t)atoi(argv[2]) : 4;
	enum guests_order order =
		argc > 3 && !strcmp(argv[3], "bursts") ? GUESTS_BURSTS : GUESTS_INTERLEAVED;
	uint64_t events = argc > 4 ? strtoull(argv[4], NULL, 0) : 4000000;
	int err;

	if (argc < 2)
		return 2;
	if (argc == 2) {
		for (int b = 0; b < 2; b++)
			for (uint32_t k = 8; k <= 512; k *= 8)
				printf("merge alone, %3u sources, %s: %.1f M/s\n", k,
				       b ? "bursts" : "interleaved",
				       merge_limit(k, b, 16000000) / 1e6);
		printf("memcpy: %.1f GB/s cold, %.1f hot\n", memcpy_limit(false) / 1e9,
		       memcpy_limit(true) / 1e9);
		return 0;
	}
	err = argc > 3 && !strcmp(argv[3], "idle") ? measure_idle(argv[1], rings)
						   : measure(argv[1], rings, order, events);
	if (err)
		fprintf(stderr, "bench_engine: %s\n", strerror(-err));
	return err != 0;
}
