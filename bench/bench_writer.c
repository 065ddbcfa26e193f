// SPDX-License-Identifier: GPL-2.0
/*
 * bench_writer.c - what an event costs: both back-ends, 8, 16 and 64 bytes of payload, stop and
 * overwrite mode, one ring and all cores, hot and cold cache, with the CPU's clock and with a
 * counter in its place (a clock read hides some nanoseconds of other work, so a plain loop
 * cannot tell a good ring from a bad one). Beside it, in the same rounds, what it is held
 * against: writer_peers.c. Ratios are what counts; absolute times are the machine's.
 *
 * Every case has its turn in every round, so that a change of the machine's mood meets all of
 * them. Times are thread CPU time: what other jobs take of a core does not count.
 *
 *   stop       the ring is read between two timed stretches: no event waits for a host
 *   hot        one ring of 512 KiB, which the second-level cache holds
 *   cold       every line that an event touches is flushed before it, and each event is timed
 *              by itself between ordered clock reads; an empty stretch is subtracted
 *   all cores  a thread on each CPU, each with a region of its own, at the same time
 */
#define _GNU_SOURCE
#include "cpu.h"
#include "writer_loops.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define REGION_SIZE (1u << 20)
#define RING_SIZE   (1u << 19)
#define ROUNDS	    15
#define STRETCHES   8	 /* timed ones in a turn */
#define COLD_EVENTS 2000 /* in a turn */
#define CASES_MAX   128

static const struct writer_loops *const loops[] = { &loops_cas_tsc, &loops_xadd_tsc,
						    &loops_cas_counter, &loops_xadd_counter };

struct bench_case {
	const char *name; /* of a peer or a path; NULL: of the writer as such */
	void (*peer)(uint8_t *ring, uint64_t size, uint64_t n);
	void (*path)(struct xvt_writer *w, uint64_t n);
	const struct writer_loops *loops;
	uint32_t mode;
	uint32_t size; /* index in bench_payload */
	bool cold;
	unsigned int cores;
	double ns[ROUNDS]; /* of one event, by round; then sorted */
};

static struct bench_case cases[CASES_MAX];
static unsigned int nr_cases;
static double tsc_per_ns;

static double cpu_ns(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static void fatal(const char *what)
{
	fprintf(stderr, "bench_writer: %s\n", what);
	exit(1);
}

/* A ring whose memory has been touched. */
struct bench_ring {
	struct xvt_geometry g;
	struct xvt_writer w;
	void *region;
};

static void ring_init(struct bench_ring *r, const struct writer_loops *l, uint32_t mode)
{
	struct xvt_layout layout = { .region_size = REGION_SIZE,
				     .ring_count = 1,
				     .clock_id = XVT_CLOCK_NATIVE,
				     .enable = mode };

	r->region = aligned_alloc(4096, REGION_SIZE);
	if (!r->region)
		fatal("no memory");
	memset(r->region, 0, REGION_SIZE);
	if (xvt_region_format(r->region, &layout, &r->g) || r->g.ring_size != RING_SIZE)
		fatal("the region does not look as it should");
	xvt_writer_init(&r->w, r->region, &r->g, 0);
	l->bind(&r->w);
}

/* The host's part of stop mode: read, cleared, free. */
static void ring_read(struct bench_ring *r)
{
	memset(r->w.data, 0, r->g.ring_size);
	xvt_store_release(&r->w.host->cons, xvt_load(&r->w.ctl->commit));
}

static void ring_fini(struct bench_ring *r, uint64_t events)
{
	const struct xvt_ring_ctl *c = r->w.ctl;

	if (c->attempted != events || c->lost[XVT_LOST_FULL] || c->nest || c->retries)
		fatal("the ring lost events: what was timed was not writing");
	free(r->region);
}

/* Events of this case that surely fit the ring. */
static uint64_t stretch(const struct bench_case *b)
{
	return RING_SIZE / 4 * 3 / (8 + bench_payload[b->size]);
}

static double time_hot(const struct bench_case *b)
{
	uint64_t n = stretch(b), i;
	struct bench_ring r;
	double sum = 0;

	ring_init(&r, b->loops, b->mode);
	b->loops->write[b->size](&r.w, n); /* warm */
	for (i = 0; i < STRETCHES; i++) {
		double t;

		if (b->mode == XVT_ENABLE_STOP)
			ring_read(&r);
		t = cpu_ns(CLOCK_THREAD_CPUTIME_ID);
		b->loops->write[b->size](&r.w, n);
		sum += cpu_ns(CLOCK_THREAD_CPUTIME_ID) - t;
	}
	ring_fini(&r, n * (STRETCHES + 1));
	return sum / (double)(n * STRETCHES);
}

static double time_peer(const struct bench_case *b)
{
	static uint8_t ring[RING_SIZE + 4096] __attribute__((aligned(4096)));
	uint64_t n = stretch(b), i;
	double sum = 0;

	b->peer(ring, RING_SIZE, n);
	for (i = 0; i < STRETCHES; i++) {
		double t = cpu_ns(CLOCK_THREAD_CPUTIME_ID);

		b->peer(ring, RING_SIZE, n);
		sum += cpu_ns(CLOCK_THREAD_CPUTIME_ID) - t;
	}
	return sum / (double)(n * STRETCHES);
}

/* A third of it is one event; what is left over belongs to the path. */
static double time_path(const struct bench_case *b)
{
	uint64_t n = stretch(b) / 4, i;
	struct bench_ring r;
	double sum = 0;

	ring_init(&r, b->loops, XVT_ENABLE_OVERWRITE);
	b->path(&r.w, n);
	for (i = 0; i < STRETCHES; i++) {
		double t = cpu_ns(CLOCK_THREAD_CPUTIME_ID);

		b->path(&r.w, n);
		sum += cpu_ns(CLOCK_THREAD_CPUTIME_ID) - t;
	}
	r.w.ctl->retries = 0; /* cas begins again where it is interrupted */
	ring_fini(&r, 3 * n * (STRETCHES + 1));
	return sum / (double)(n * STRETCHES);
}

#if defined(__x86_64__)
static void flush(const void *from, uint64_t len)
{
	const uint8_t *p = (const uint8_t *)((uintptr_t)from & ~63ul);

	for (; p < (const uint8_t *)from + len; p += 64)
		__asm__ __volatile__("clflush %0" : : "m"(*p) : "memory");
}
#else
static void flush(const void *from, uint64_t len)
{
	(void)from;
	(void)len;
	fatal("no way to flush a cache line from user space here");
}
#endif

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* The median of many single events: an interrupt in one of them is the machine's. */
static double time_cold(const struct bench_case *b)
{
	static double events[COLD_EVENTS], empty[COLD_EVENTS];
	struct bench_ring r;
	uint64_t t;
	int i;

	ring_init(&r, b->loops, b->mode);
	b->loops->write[b->size](&r.w, 8);
	for (i = 0; i < COLD_EVENTS; i++) {
		uint64_t at = xvt_pos_off(&r.g, xvt_load(&r.w.ctl->commit));

		flush(&r.w, sizeof(r.w));
		flush(r.w.ctl, sizeof(*r.w.ctl));
		flush(r.w.host, sizeof(*r.w.host));
		flush(r.w.data + at, 8 + bench_payload[b->size]);
		xvt_mb();
		t = xvt_clock_read_ordered();
		b->loops->write[b->size](&r.w, 1);
		xvt_mb(); /* until its stores are there, too */
		events[i] = (double)(xvt_clock_read_ordered() - t);
		t = xvt_clock_read_ordered();
		xvt_mb();
		empty[i] = (double)(xvt_clock_read_ordered() - t);
	}
	ring_fini(&r, COLD_EVENTS + 8);
	qsort(events, COLD_EVENTS, sizeof(*events), by_value);
	qsort(empty, COLD_EVENTS, sizeof(*empty), by_value);
	return (events[COLD_EVENTS / 2] - empty[COLD_EVENTS / 2]) / tsc_per_ns;
}

struct worker {
	pthread_t thread;
	pthread_barrier_t *start;
	const struct bench_case *b;
	int cpu;
	double ns;
};

static int nth_cpu(unsigned int n)
{
	cpu_set_t all;
	int cpu;

	CPU_ZERO(&all);
	sched_getaffinity(0, sizeof(all), &all);
	for (cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &all) && !n--)
			return cpu;
	return -1;
}

static void pin(int cpu)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	pthread_setaffinity_np(pthread_self(), sizeof(one), &one);
}

static void *work(void *arg)
{
	struct worker *me = arg;

	pin(me->cpu);
	pthread_barrier_wait(me->start);
	me->ns = time_hot(me->b);
	return NULL;
}

/* Mean of the threads. */
static double time_all(const struct bench_case *b)
{
	struct worker *w = calloc(b->cores, sizeof(*w));
	pthread_barrier_t start;
	unsigned int i;
	double sum = 0;

	if (!w)
		fatal("no memory");
	pthread_barrier_init(&start, NULL, b->cores);
	for (i = 0; i < b->cores; i++) {
		w[i].start = &start;
		w[i].b = b;
		w[i].cpu = nth_cpu(i);
		if (pthread_create(&w[i].thread, NULL, work, &w[i]))
			fatal("no thread");
	}
	for (i = 0; i < b->cores; i++) {
		pthread_join(w[i].thread, NULL);
		sum += w[i].ns;
	}
	pthread_barrier_destroy(&start);
	free(w);
	return sum / b->cores;
}

static void calibrate(void)
{
	double t = cpu_ns(CLOCK_MONOTONIC);
	uint64_t c = xvt_clock_read_ordered();

	while (cpu_ns(CLOCK_MONOTONIC) - t < 5e7)
		;
	tsc_per_ns = (double)(xvt_clock_read_ordered() - c) / (cpu_ns(CLOCK_MONOTONIC) - t);
}

static void add(struct bench_case b)
{
	if (nr_cases == CASES_MAX)
		fatal("too many cases");
	cases[nr_cases++] = b;
}

static void add_peers(void)
{
	static const struct {
		const char *name;
		void (*run)(uint8_t *ring, uint64_t size, uint64_t n);
	} peers[] = { { "clock", peer_clock },
		      { "clock_store16", peer_clock_store },
		      { "sketch", peer_sketch_tsc },
		      { "sketch_counter", peer_sketch_counter } };
	unsigned int i;

	for (i = 0; i < sizeof(peers) / sizeof(peers[0]); i++)
		add((struct bench_case){
			.name = peers[i].name, .peer = peers[i].run, .size = 1, .cores = 1 });
}

static void add_paths(void)
{
	unsigned int l;

	for (l = 0; l < 2; l++) {
		struct bench_case b = { .loops = loops[l], .size = 1, .cores = 1 };

		b.path = b.loops->plain;
		b.name = l ? "xadd_3_events" : "cas_3_events";
		add(b);
		b.path = b.loops->distrusted;
		b.name = l ? "xadd_3_events_1b" : "cas_3_events_1b";
		add(b);
		b.path = b.loops->interrupted;
		b.name = l ? "xadd_3_events_2" : "cas_3_events_2";
		add(b);
	}
}

static void add_writers(unsigned int cpus)
{
	static const uint32_t modes[] = { XVT_ENABLE_STOP, XVT_ENABLE_OVERWRITE };
	unsigned int l, m, size;

	for (l = 0; l < 4; l++)
		for (m = 0; m < 2; m++) {
			struct bench_case b = { .loops = loops[l], .mode = modes[m], .cores = 1 };

			for (size = 0; size < 3; size++) {
				b.size = size;
				b.cold = false;
				b.cores = 1;
				add(b);
				b.cores = cpus;
				if (cpus > 1)
					add(b);
				b.cores = 1;
				b.cold = true;
#if defined(__x86_64__)
				add(b);
#endif
			}
		}
}

static void run_round(unsigned int round)
{
	unsigned int i;

	for (i = 0; i < nr_cases; i++) {
		struct bench_case *b = &cases[i];

		b->ns[round] = b->path	      ? time_path(b)
			       : b->peer      ? time_peer(b)
			       : b->cold      ? time_cold(b)
			       : b->cores > 1 ? time_all(b)
					      : time_hot(b);
	}
}

static const char *mode_name(const struct bench_case *b)
{
	return b->mode == XVT_ENABLE_STOP ? "stop" : "overwrite";
}

/* The least of the case that matches; 0 when it was not run. */
static double least(const char *name, const char *backend, const char *clock, uint32_t mode)
{
	unsigned int i;

	for (i = 0; i < nr_cases; i++) {
		const struct bench_case *b = &cases[i];

		if (name ? b->name && !strcmp(b->name, name)
			 : !b->name && !b->cold && b->cores == 1 && b->size == 1 &&
				    b->mode == mode && !strcmp(b->loops->backend, backend) &&
				    !strcmp(b->loops->clock, clock))
			return b->ns[0];
	}
	return 0;
}

/* What others measured and left in lines "KEY NUMBER": see writer.sh. */
struct fact {
	char key[48];
	double value;
};
static struct fact facts[64];
static unsigned int nr_facts;

static void read_facts(const char *path)
{
	FILE *f = fopen(path, "r");

	while (f && nr_facts < 64 &&
	       fscanf(f, "%47s %lf", facts[nr_facts].key, &facts[nr_facts].value) == 2)
		nr_facts++;
	if (f)
		fclose(f);
}

static double fact(const char *key)
{
	unsigned int i;

	for (i = 0; i < nr_facts; i++)
		if (!strcmp(facts[i].key, key))
			return facts[i].value;
	return 0;
}

static void print_table(void)
{
	unsigned int i;

	printf("writer on %s, clock at %.3f GHz\n", bench_cpu(), tsc_per_ns);
	printf("%-8s %-8s %-10s %8s %-5s %5s %9s %9s\n", "ring", "clock", "mode", "payload",
	       "cache", "cores", "min ns", "median");
	for (i = 0; i < nr_cases; i++) {
		const struct bench_case *b = &cases[i];

		if (b->name)
			printf("%-44s %5u", b->name, b->cores);
		else
			printf("%-8s %-8s %-10s %8u %-5s %5u", b->loops->backend, b->loops->clock,
			       mode_name(b), bench_payload[b->size], b->cold ? "cold" : "hot",
			       b->cores);
		printf("     %9.2f %9.2f\n", b->ns[0], b->ns[ROUNDS / 2]);
	}
	for (i = 0; i < nr_facts; i++)
		printf("%-50s     %9.2f\n", facts[i].key, facts[i].value);
}

/* The goals, as ratios of least times. */
struct ratio {
	char key[48];
	double value;
	const char *goal;
};

static unsigned int ratios(struct ratio *out)
{
	double store = least("clock_store16", NULL, NULL, 0), lttng = fact("lttng_min_ns");
	unsigned int n = 0, i;

	for (i = 0; i < 2; i++) {
		const char *back = loops[i]->backend;
		double stop = least(NULL, back, "tsc", XVT_ENABLE_STOP);
		double over = least(NULL, back, "tsc", XVT_ENABLE_OVERWRITE);
		double bare = least(NULL, back, "counter", XVT_ENABLE_OVERWRITE);
		double sketch = least("sketch_counter", NULL, NULL, 0);

		snprintf(out[n].key, sizeof(out[n].key), "%s_over_clock_store", back);
		out[n].goal = "at most 1.05";
		out[n++].value = over / store;
		snprintf(out[n].key, sizeof(out[n].key), "%s_counter_over_sketch", back);
		out[n].goal = "at most 1.15";
		out[n++].value = bare / sketch;
		snprintf(out[n].key, sizeof(out[n].key), "%s_overwrite_over_stop", back);
		out[n].goal = "at most 1.10";
		out[n++].value = over / stop;
		if (lttng > 0) {
			snprintf(out[n].key, sizeof(out[n].key), "lttng_over_%s", back);
			out[n].goal = "at least 7";
			out[n++].value = lttng / over;
		}
	}
	return n;
}

static void print_ratios(void)
{
	struct ratio r[8];
	unsigned int n = ratios(r), i;

	printf("\n16-byte event, hot, one ring, on %s:\n", bench_cpu());
	for (i = 0; i < n; i++)
		printf("%-50s     %9.3f   (%s)\n", r[i].key, r[i].value, r[i].goal);
}

static void write_json(const char *path)
{
	FILE *f = fopen(path, "w");
	struct ratio r[8];
	unsigned int n = ratios(r), i;

	if (!f)
		fatal("cannot write the JSON file");
	fprintf(f,
		"{\"format\":\"xvtrace-bench-writer/"
		"1\",\"cpu\":\"%s\",\"tsc_ghz\":%.6f,\"peers\":{",
		bench_cpu(), tsc_per_ns);
	for (i = 0; i < nr_cases && cases[i].name; i++)
		fprintf(f, "%s\"%s\":{\"min_ns\":%.3f,\"median_ns\":%.3f}", i ? "," : "",
			cases[i].name, cases[i].ns[0], cases[i].ns[ROUNDS / 2]);
	fprintf(f, "},\n\"events\":[");
	for (; i < nr_cases; i++) {
		const struct bench_case *b = &cases[i];

		fprintf(f,
			"%s\n{\"ring\":\"%s\",\"clock\":\"%s\",\"mode\":\"%s\",\"payload\":%u,"
			"\"cache\":\"%s\",\"cores\":%u,\"min_ns\":%.3f,\"median_ns\":%.3f}",
			cases[i - 1].name ? "" : ",", b->loops->backend, b->loops->clock,
			mode_name(b), bench_payload[b->size], b->cold ? "cold" : "hot", b->cores,
			b->ns[0], b->ns[ROUNDS / 2]);
	}
	fprintf(f, "],\n\"facts\":{");
	for (i = 0; i < nr_facts; i++)
		fprintf(f, "%s\"%s\":%.3f", i ? "," : "", facts[i].key, facts[i].value);
	fprintf(f, "},\n\"ratios\":{");
	for (i = 0; i < n; i++)
		fprintf(f, "%s\"%s\":%.3f", i ? "," : "", r[i].key, r[i].value);
	fprintf(f, "}}\n");
	if (fclose(f))
		fatal("cannot write the JSON file");
}

/* For callgrind: nothing but this loop. --loop BACKEND CLOCK PAYLOAD MODE EVENTS */
static int loop_only(char **arg)
{
	uint32_t mode = strcmp(arg[3], "stop") ? XVT_ENABLE_OVERWRITE : XVT_ENABLE_STOP;
	struct bench_ring r;
	unsigned int l, size;

	for (l = 0; l < 4; l++)
		for (size = 0; size < 3; size++)
			if (!strcmp(loops[l]->backend, arg[0]) &&
			    !strcmp(loops[l]->clock, arg[1]) &&
			    bench_payload[size] == (uint32_t)atoi(arg[2])) {
				uint64_t n = strtoull(arg[4], NULL, 10);

				ring_init(&r, loops[l], mode);
				loops[l]->write[size](&r.w, n);
				ring_fini(&r, n);
				return 0;
			}
	return 2;
}

int main(int argc, char **argv)
{
	const char *json = NULL;
	unsigned int round, i;
	cpu_set_t all;
	int a;

	if (argc == 7 && !strcmp(argv[1], "--loop"))
		return loop_only(argv + 2);
	for (a = 1; a + 1 < argc; a += 2) {
		if (!strcmp(argv[a], "--facts"))
			read_facts(argv[a + 1]);
		else if (!strcmp(argv[a], "--json"))
			json = argv[a + 1];
		else
			fatal("usage: writer [--facts FILE] [--json FILE]");
	}
	CPU_ZERO(&all);
	sched_getaffinity(0, sizeof(all), &all);
	add_peers();
	add_paths();
	add_writers((unsigned int)CPU_COUNT(&all));
	calibrate();
	/* Threads of "all cores" pin themselves; the first CPU takes most interrupts. */
	for (round = 0; round < ROUNDS; round++)
		run_round(round);
	for (i = 0; i < nr_cases; i++)
		qsort(cases[i].ns, ROUNDS, sizeof(double), by_value);
	print_table();
	print_ratios();
	if (json)
		write_json(json);
	return 0;
}
