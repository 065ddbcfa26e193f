// SPDX-License-Identifier: GPL-2.0
/*
 * bench_engine.c - what an event costs from the ring to the file, with few rings and with many:
 * the real session over machines that are not there (guests.h), into a real file. Beside it what a
 * merge costs that is nothing else, because absolute times say little of a machine that others use.
 *
 *   bench_engine TRACE JSON                                  all of it
 *   bench_engine TRACE RINGS ORDER [EVENTS [io_uring]]       one line of it
 *   bench_engine TRACE RINGS idle
 *
 * ORDER is interleaved, bursts, skewed or few, see guests.h.
 *
 * TRACE is written many times over, and removed.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "cpu.h"
#include "guests.h"
#include "merge_limit.h"
#include "trace/file_sink.h"

#define PAYLOAD	      16u
#define MACHINES_MOST 1024u
#define RINGS_LEAST   4u /* of a machine */
#define JOIN_S	      600ull
#define MEMORY_BYTES  (256ull << 20) /* of the recorder, or for each ring: */
#define MEMORY_RING   16384ull
#define SECOND	      1000000000ull
#define EVENTS	      4000000ull /* in a round, or */
#define EVENTS_RING   128ull	 /* for each ring */
#define ROUNDS	      5
#define ROUNDS_MANY   3 /* of more than: */
#define MANY_RINGS    10000u
#define SETTLE_S      15ull
#define IDLE_S	      60ull /* idle clocks are measured as seldom as that */
#define MERGE_RECORDS 16000000ull

struct engine {
	struct guests *guests;
	struct xvt_loop *loop;
	struct xvt_file_sink *sink;
	struct xvt_session *session;
	double join_s; /* until everybody's clock was known, and the recorder's CPU time of it */
	double join_cpu_s;
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

/* *live: how many of the first ones are. Each ring has a writer. */
static bool all_live(const struct engine *e, size_t *live)
{
	const struct xvt_session *s = e->session;

	if (s->nr_rings < s->table.nr_places)
		return false;
	while (*live < s->nr_rings && s->rings[*live]->phase != XVT_PHASE_NEW)
		++*live;
	return *live == s->nr_rings && s->passes.joined;
}

/* In a round; enough of them for each ring. */
static uint64_t events_of(uint32_t rings)
{
	return rings * EVENTS_RING > EVENTS ? rings * EVENTS_RING : EVENTS;
}

static struct guests_layout layout_of(uint32_t rings, enum guests_order order, uint64_t events)
{
	uint32_t each = rings / MACHINES_MOST > RINGS_LEAST ? rings / MACHINES_MOST : RINGS_LEAST;

	return (struct guests_layout){ .vms = rings / each,
				       .rings = each,
				       .order = order,
				       .events = events,
				       .payload = PAYLOAD };
}

/* The options of xvtrace-record(1) that the engine runs with. */
enum way {
	WAY_USUAL,
	WAY_IO_URING, /* --drain io_uring */
	WAY_LATER,    /* --order later */
	WAYS,
};

static const char *const way_names[] = { "usual", "io_uring", "later" };

static int start(struct engine *e, const char *path, const struct guests_layout *layout,
		 enum way way)
{
	struct xvt_session_options opt = { .mode = XVT_ENABLE_STOP,
					   .join_timeout_ns = JOIN_S * SECOND,
					   .stall_timeout_ns = 60 * SECOND,
					   .memory_bytes = MEMORY_BYTES,
					   .drain_reads = way == WAY_IO_URING,
					   .order = way == WAY_LATER ? XVT_ORDER_LATER
								     : XVT_ORDER_NOW,
					   .note = note };
	uint64_t memory = (uint64_t)layout->vms * layout->rings * MEMORY_RING;
	uint64_t wall, cpu;
	size_t live = 0;
	int err;

	if (memory > MEMORY_BYTES)
		opt.memory_bytes = memory;
	err = guests_new(&e->guests, layout);
	if (!err)
		err = xvt_loop_new(&e->loop);
	if (!err)
		err = xvt_file_sink_new(&e->sink, e->loop, path, false);
	if (!err)
		err = xvt_session_new(&e->session, e->loop, xvt_file_sink_base(e->sink), &opt);
	if (err)
		return err;
	wall = wall_ns();
	cpu = engine_cpu_ns(e);
	err = guests_join(e->guests, e->session);
	while (!err && !all_live(e, &live))
		err = pass(e);
	e->join_s = (double)(wall_ns() - wall) / SECOND;
	e->join_cpu_s = (double)(engine_cpu_ns(e) - cpu) / SECOND;
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

struct result {
	uint32_t rings;
	enum guests_order order;
	enum way way;
	uint64_t events;
	uint64_t lost;
	double cpu_ns; /* an event */
	double wall_ns;
	double bytes; /* an event takes in the file */
	double join_s;
	double join_us; /* of CPU, a ring */
};

static const char *const order_names[] = {
	[GUESTS_INTERLEAVED] = "interleaved",
	[GUESTS_BURSTS] = "bursts",
	[GUESTS_SKEWED] = "skewed",
	[GUESTS_FEW] = "few",
};

struct idle {
	uint32_t rings;
	uint32_t vms;
	double core_part;
	double samples_per_s;
};

/* Of a few rounds the best: what else the machine did meanwhile is not ours. */
static int measure(const char *path, struct result *r, uint64_t events)
{
	const struct guests_layout layout = layout_of(r->rings, r->order, events);
	struct engine e = { 0 };
	int rounds = r->rings > MANY_RINGS ? ROUNDS_MANY : ROUNDS;
	int round, err = start(&e, path, &layout, r->way);
	const uint64_t begun = err ? 0 : xvt_trace_bytes(e.session->trace);
	uint64_t bytes;

	r->cpu_ns = r->wall_ns = 1e9;
	r->join_s = e.join_s;
	r->join_us = e.join_cpu_s * 1e6 / r->rings;
	for (round = 0; !err && round < rounds; round++) {
		uint64_t want = e.session->merge.emitted, lost, cpu, wall;

		guests_write(e.guests, &lost);
		want += events - lost;
		cpu = engine_cpu_ns(&e);
		wall = wall_ns();
		while (!err && e.session->merge.emitted < want)
			err = pass(&e);
		cpu = engine_cpu_ns(&e) - cpu;
		wall = wall_ns() - wall;
		r->lost += lost;
		r->events += events - lost;
		if (!round || (double)cpu >= r->cpu_ns * (double)(events - lost))
			continue; /* the first one touches all memory for the first time */
		r->cpu_ns = (double)cpu / (double)(events - lost);
		r->wall_ns = (double)wall / (double)(events - lost);
	}
	bytes = xvt_trace_bytes(e.session->trace);
	stop(&e);
	r->bytes = r->events ? (double)(bytes - begun) / (double)r->events : 0;
	unlink(path);
	return err;
}

static void print_row(const struct result *r)
{
	printf("%6u rings %-11s %-8s %6.1f ns of CPU an event, %6.1f M events/s, %4.1f bytes; "
	       "%6.1f ns wall; %" PRIu64 " lost; began in %.2f s, %.1f us of CPU a ring\n",
	       r->rings, order_names[r->order], way_names[r->way], r->cpu_ns, 1e3 / r->cpu_ns,
	       r->bytes, r->wall_ns, r->lost, r->join_s, r->join_us);
	fflush(stdout);
}

static uint64_t samples(const struct engine *e)
{
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < e->session->nr_rings; i++)
		sum += e->session->rings[i]->account.stats.samples;
	return sum;
}

/* Passes for so long; a moment in which all of this machine stood still is none of them. */
static int watch(struct engine *e, uint64_t ns, uint64_t *watched)
{
	int err = 0;

	for (*watched = 0; !err && *watched < ns;) {
		uint64_t begin = wall_ns(), took;

		err = pass(e);
		took = wall_ns() - begin;
		*watched += took < SECOND ? took : 0;
	}
	return err;
}

/* What it costs to watch machines that do nothing. */
static int measure_idle(const char *path, struct idle *r)
{
	const struct guests_layout layout = layout_of(r->rings, GUESTS_FEW, 0);
	struct engine e = { 0 };
	uint64_t cpu, wall, before;
	int err = start(&e, path, &layout, false);

	r->vms = layout.vms;
	if (!err)
		err = watch(&e, SETTLE_S * SECOND, &wall); /* it finds out that nothing happens */
	if (!err) {
		before = samples(&e);
		cpu = engine_cpu_ns(&e);
		err = watch(&e, IDLE_S * SECOND, &wall);
		cpu = engine_cpu_ns(&e) - cpu;
		r->core_part = (double)cpu / (double)wall;
		r->samples_per_s = (double)(samples(&e) - before) * SECOND / (double)wall;
	}
	stop(&e);
	unlink(path);
	return err;
}

static void tell_idle(const struct idle *r)
{
	printf("%6u rings of %u machines idle: %.2f %% of a core, %.0f clock samples/s\n", r->rings,
	       r->vms, 100 * r->core_part, r->samples_per_s);
	fflush(stdout);
}

/* --- all of it --- */

static const uint32_t merged[] = { 8, 64, 512 };
static const uint32_t idle_rings[] = { 1024, 4096 };
static const struct line {
	uint32_t rings;
	enum guests_order order;
	enum way way;
} lines[] = {
	{ 4, GUESTS_INTERLEAVED, WAY_USUAL },	  { 4, GUESTS_BURSTS, WAY_USUAL },
	{ 4, GUESTS_INTERLEAVED, WAY_LATER },	  { 64, GUESTS_INTERLEAVED, WAY_USUAL },
	{ 64, GUESTS_INTERLEAVED, WAY_IO_URING }, { 64, GUESTS_BURSTS, WAY_USUAL },
	{ 64, GUESTS_BURSTS, WAY_IO_URING },	  { 512, GUESTS_INTERLEAVED, WAY_USUAL },
	{ 512, GUESTS_BURSTS, WAY_USUAL },	  { 512, GUESTS_INTERLEAVED, WAY_LATER },
	{ 1024, GUESTS_INTERLEAVED, WAY_USUAL },  { 1024, GUESTS_BURSTS, WAY_USUAL },
	{ 1024, GUESTS_SKEWED, WAY_USUAL },	  { 1024, GUESTS_FEW, WAY_USUAL },
	{ 4096, GUESTS_INTERLEAVED, WAY_USUAL },  { 4096, GUESTS_BURSTS, WAY_USUAL },
	{ 16384, GUESTS_INTERLEAVED, WAY_USUAL }, { 65536, GUESTS_INTERLEAVED, WAY_USUAL },
};

static void bench_merges(FILE *json)
{
	double hot = memcpy_limit(true), cold = memcpy_limit(false);
	size_t i;
	int order;

	printf("engine on %s\nmemcpy %.1f GB/s cold, %.1f hot\n", bench_cpu(), cold / 1e9,
	       hot / 1e9);
	fprintf(json,
		"{\"format\":\"xvtrace-bench-engine/"
		"1\",\"cpu\":\"%s\",\"memcpy_bytes_per_s\":%.0f,\"merge_alone\":[",
		bench_cpu(), cold);
	for (i = 0; i < 2 * sizeof(merged) / sizeof(merged[0]); i++) {
		uint32_t sources = merged[i / 2];
		double rate;

		order = i % 2;
		rate = merge_limit(sources, order == GUESTS_BURSTS, MERGE_RECORDS);
		printf("%6u sources %-11s %6.1f M records/s: a merge and nothing else\n", sources,
		       order_names[order], rate / 1e6);
		fprintf(json, "%s{\"sources\":%u,\"order\":\"%s\",\"records_per_s\":%.0f}",
			i ? "," : "", sources, order_names[order], rate);
	}
	fprintf(json, "],\"engine\":[");
}

/* Beside it once more what a merge alone does: the machine is not the same from minute to minute.
 */
static int bench_line(FILE *json, const char *trace, const struct line *line, const char *comma)
{
	struct result r = { .rings = line->rings, .order = line->order, .way = line->way };
	const uint32_t sources = r.rings < 64 ? 8 : 512;
	double before = merge_limit(sources, r.order == GUESTS_BURSTS, MERGE_RECORDS), after;
	int err = measure(trace, &r, events_of(r.rings));

	if (err)
		return err;
	after = merge_limit(sources, r.order == GUESTS_BURSTS, MERGE_RECORDS);
	if (after > before)
		before = after;
	print_row(&r);
	printf("%33.2f of the merge alone, of %u sources (%.1f M/s)\n", 1e9 / r.cpu_ns / before,
	       sources, before / 1e6);
	fflush(stdout);
	fprintf(json,
		"%s{\"rings\":%u,\"order\":\"%s\",\"way\":\"%s\",\"events_per_s\":%.0f,"
		"\"cpu_ns\":%.2f,\"wall_ns\":%.2f,\"bytes_per_s\":%.0f,\"part_of_merge\":%.3f,"
		"\"lost\":%" PRIu64 ",\"join_s\":%.3f,\"join_ring_us\":%.1f}",
		comma, r.rings, order_names[r.order], way_names[r.way], 1e9 / r.cpu_ns, r.cpu_ns,
		r.wall_ns, r.bytes * 1e9 / r.cpu_ns, 1e9 / r.cpu_ns / before, r.lost, r.join_s,
		r.join_us);
	return 0;
}

static int bench_all(const char *trace, const char *path)
{
	FILE *json = fopen(path, "w");
	int err = json ? 0 : -errno;
	size_t i;

	if (!json)
		return err;
	bench_merges(json);
	for (i = 0; !err && i < sizeof(lines) / sizeof(lines[0]); i++)
		err = bench_line(json, trace, &lines[i], i ? "," : "");
	fprintf(json, "],\"idle\":[");
	for (i = 0; !err && i < sizeof(idle_rings) / sizeof(idle_rings[0]); i++) {
		struct idle r = { .rings = idle_rings[i] };

		err = measure_idle(trace, &r);
		if (err)
			break;
		tell_idle(&r);
		fprintf(json, "%s{\"rings\":%u,\"machines\":%u,\"core_part\":%.5f}", i ? "," : "",
			r.rings, r.vms, r.core_part);
	}
	fprintf(json, "]}\n");
	return fclose(json) && !err ? -errno : err;
}

static enum guests_order order_of(const char *name)
{
	enum guests_order order = 0;

	while (order < GUESTS_ORDERS && strcmp(name, order_names[order]))
		order++;
	return order;
}

int main(int argc, char **argv)
{
	int err;

	if (argc == 3) {
		err = bench_all(argv[1], argv[2]);
	} else if (argc > 3 && !strcmp(argv[3], "idle")) {
		struct idle r = { .rings = (uint32_t)atoi(argv[2]) };

		err = measure_idle(argv[1], &r);
		if (!err)
			tell_idle(&r);
	} else if (argc > 3 && order_of(argv[3]) < GUESTS_ORDERS) {
		struct result r = { .rings = (uint32_t)atoi(argv[2]), .order = order_of(argv[3]) };

		while (argc > 5 && r.way < WAYS && strcmp(argv[5], way_names[r.way]))
			r.way++;
		if (r.way == WAYS)
			r.way = WAY_USUAL;
		err = measure(argv[1], &r,
			      argc > 4 ? strtoull(argv[4], NULL, 0) : events_of(r.rings));
		if (!err)
			print_row(&r);
	} else {
		fprintf(stderr, "usage: bench_engine TRACE JSON | TRACE RINGS "
				"interleaved|bursts|skewed|few|idle "
				"[EVENTS [usual|io_uring|later]]\n");
		return 2;
	}
	if (err)
		fprintf(stderr, "bench_engine: %s\n", strerror(-err));
	return err != 0;
}
