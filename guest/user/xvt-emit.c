// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * xvt-emit.c - a writer for demos and tests: N threads record numbered events into a region,
 * and say at the end what they tried and what was refused, by their own count.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "xvt.h"

#define NS_PER_SEC     1000000000ull
#define SIZE_MAX_BYTES 32768u
#define POLL_NS	       1000000

static struct {
	uint64_t rings;
	uint64_t count;
	uint64_t first;
	uint64_t size_bytes;
	uint64_t rate_hz;
	uint64_t wait_sec;
	uint64_t linger_sec;
	uint64_t clock;
	bool cost;
	bool yield;
} opt = { .rings = 1, .count = 1000, .size_bytes = 16, .wait_sec = 3600 };

struct emitter {
	pthread_t thread;
	uint64_t index;
	uint64_t recorded;
	uint64_t lost;
	uint64_t off; /* recording was switched off */
	uint64_t busy_ns;
	uint64_t clock_good;
	uint64_t clock_back; /* that went back, within an epoch */
	uint64_t clock_far;  /* further from our own than they say */
	uint64_t clock_ns;   /* what all of them took */
	struct xvt_time time;
	struct xvt_thread_stat stat;
	int err;
};

/* All attached: so that each thread has a ring of its own, even if one is done at once. */
static pthread_barrier_t attached;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * NS_PER_SEC + (uint64_t)t.tv_nsec;
}

static void sleep_until(uint64_t ns)
{
	struct timespec t = { .tv_sec = (time_t)(ns / NS_PER_SEC),
			      .tv_nsec = (long)(ns % NS_PER_SEC) };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
}

/* Until the host records. Returns false when it did not in time. */
static bool wait_for_host(void)
{
	uint64_t end = now_ns() + opt.wait_sec * NS_PER_SEC;

	while (!xvt_enabled()) {
		if (now_ns() >= end)
			return false;
		sleep_until(now_ns() + POLL_NS);
	}
	return true;
}

/* How far a guest's CLOCK_MONOTONIC is from its host's is not known; in a process beside the
 * recorder both are one clock, but for what the recorder's calibration of the counter is off. */
#define CLOCK_SLACK_NS 1000000u

static void look_at_clock(struct emitter *e)
{
	uint64_t before = now_ns(), after;
	struct xvt_time t;

	if (xvt_clock_now(&t))
		return;
	after = now_ns();
	if (t.session == e->time.session && t.epoch == e->time.epoch &&
	    (t.host_ns < e->time.host_ns || t.active_ns < e->time.active_ns))
		e->clock_back++;
	if (!(t.flags & XVT_TIME_UNCONFIRMED) &&
	    (t.host_ns + t.bound_ns + CLOCK_SLACK_NS < before ||
	     t.host_ns > after + t.bound_ns + CLOCK_SLACK_NS))
		e->clock_far++;
	e->time = t;
}

static void read_clock(struct emitter *e)
{
	uint64_t start = now_ns(), i;
	struct xvt_time t;

	for (i = 0; i < opt.clock; i++)
		e->clock_good += !xvt_clock_now(&t);
	e->clock_ns = now_ns() - start;
}

static void *emit(void *arg)
{
	struct emitter *e = arg;
	uint64_t payload[SIZE_MAX_BYTES / 8] = { e->index };
	uint64_t start, i;

	e->err = xvt_thread_attach();
	pthread_barrier_wait(&attached);
	if (e->err)
		return NULL;
	if (!wait_for_host()) {
		e->err = -ETIMEDOUT;
		return NULL;
	}
	start = now_ns();
	for (i = 0; i < opt.count; i++) {
		if (opt.rate_hz)
			sleep_until(start + (uint64_t)((__uint128_t)i * NS_PER_SEC / opt.rate_hz));
		if (opt.clock)
			look_at_clock(e);
		payload[1] = opt.first + i;
		switch (xvt_event(XVT_USER_ID_U64, payload, (uint32_t)opt.size_bytes)) {
		case 0:
			e->recorded++;
			break;
		case -EAGAIN:
			e->off++;
			break;
		default:
			e->lost++;
			if (opt.yield)
				sched_yield();
			break;
		}
	}
	e->busy_ns = now_ns() - start;
	read_clock(e);
	e->err = xvt_thread_stat(&e->stat);
	/* The ring stays ours, so its clock requests are answered. */
	if (opt.linger_sec)
		sleep_until(now_ns() + opt.linger_sec * NS_PER_SEC);
	return NULL;
}

static void report(const struct emitter *e)
{
	printf("thread=%llu ring=%u attempted=%llu recorded=%llu lost=%llu off=%llu",
	       (unsigned long long)e->index, e->stat.ring,
	       (unsigned long long)(e->recorded + e->lost), (unsigned long long)e->recorded,
	       (unsigned long long)e->lost, (unsigned long long)e->off);
	if (opt.cost)
		printf(" ns_per_event=%.1f",
		       (double)e->busy_ns / (double)(opt.count ? opt.count : 1));
	if (opt.clock)
		printf(" clock_reads=%llu back=%llu far=%llu host_ns=%llu active_ns=%llu "
		       "bound_ns=%llu epoch=%llu ns_per_read=%.1f",
		       (unsigned long long)e->clock_good, (unsigned long long)e->clock_back,
		       (unsigned long long)e->clock_far, (unsigned long long)e->time.host_ns,
		       (unsigned long long)e->time.active_ns, (unsigned long long)e->time.bound_ns,
		       (unsigned long long)e->time.epoch, (double)e->clock_ns / (double)opt.clock);
	putchar('\n');
}

static const struct {
	struct option o;
	uint64_t *value;
	uint64_t min, max;
	const char *help;
} options[] = {
	{ { "rings", 1, NULL, 'r' }, &opt.rings, 1, 65536, "N threads, a ring each (1)" },
	{ { "count", 1, NULL, 'c' }, &opt.count, 0, UINT64_MAX, "events of each thread (1000)" },
	{ { "first", 1, NULL, 'f' }, &opt.first, 0, UINT64_MAX, "number of the first event (0)" },
	{ { "size", 1, NULL, 's' }, &opt.size_bytes, 16, SIZE_MAX_BYTES, "payload bytes (16)" },
	{ { "rate", 1, NULL, 'R' },
	  &opt.rate_hz,
	  0,
	  NS_PER_SEC,
	  "a second, each thread (no limit)" },
	{ { "wait", 1, NULL, 'w' }, &opt.wait_sec, 0, UINT32_MAX, "seconds for the host (3600)" },
	{ { "linger", 1, NULL, 'l' },
	  &opt.linger_sec,
	  0,
	  UINT32_MAX,
	  "seconds to answer the host's clock after the last event (0)" },
	{ { "clock", 1, NULL, 'k' },
	  &opt.clock,
	  0,
	  UINT64_MAX,
	  "look at the clock page with each event, and N times at the end" },
	{ { "cost", 0, NULL, 'C' }, NULL, 0, 0, "print what an event cost" },
	{ { "yield", 0, NULL, 'y' }, NULL, 0, 0, "an event is lost: let others have the CPU" },
	{ { "help", 0, NULL, 'h' }, NULL, 0, 0, "this text" },
};

#define OPTIONS (sizeof(options) / sizeof(options[0]))

static int usage(FILE *to, int status)
{
	size_t i;

	fprintf(to, "usage: xvt-emit REGION [options]\n"
		    "Records {u64 thread, u64 number, zeros} as id 18 once the host enables "
		    "recording.\n");
	for (i = 0; i < OPTIONS; i++)
		fprintf(to, "  --%-8s %s\n", options[i].o.name, options[i].help);
	return status;
}

static bool parse_number(const char *text, uint64_t min, uint64_t max, uint64_t *value)
{
	char *end;

	errno = 0;
	*value = strtoull(text, &end, 0);
	return !errno && end != text && !*end && *text != '-' && *value >= min && *value <= max;
}

/* Returns -1 to go on, else the exit status. */
static int parse(int argc, char **argv)
{
	struct option o[OPTIONS + 1] = { 0 };
	int c, i;

	for (i = 0; i < (int)OPTIONS; i++)
		o[i] = options[i].o;
	while ((c = getopt_long(argc, argv, "", o, &i)) != -1) {
		if (c == 'h')
			return usage(stdout, 0);
		if (c == '?')
			return usage(stderr, 2);
		if (c == 'C')
			opt.cost = true;
		else if (c == 'y')
			opt.yield = true;
		else if (!parse_number(optarg, options[i].min, options[i].max, options[i].value)) {
			fprintf(stderr, "xvt-emit: --%s: not a number from %llu to %llu: %s\n",
				o[i].name, (unsigned long long)options[i].min,
				(unsigned long long)options[i].max, optarg);
			return 2;
		}
	}
	return argc - optind == 1 ? -1 : usage(stderr, 2);
}

int main(int argc, char **argv)
{
	int status = parse(argc, argv), failures = 0;
	struct emitter *e;
	uint64_t i;

	if (status >= 0)
		return status;
	if (xvt_open(argv[optind], 0)) {
		fprintf(stderr, "xvt-emit: %s\n", xvt_error());
		return 1;
	}
	e = calloc(opt.rings, sizeof(*e));
	if (!e || pthread_barrier_init(&attached, NULL, (unsigned int)opt.rings)) {
		fprintf(stderr, "xvt-emit: out of memory\n");
		return 1;
	}
	for (i = 0; i < opt.rings; i++) {
		int err;

		e[i].index = i;
		err = pthread_create(&e[i].thread, NULL, emit, &e[i]);
		if (err) {
			/* The others wait for this one. */
			fprintf(stderr, "xvt-emit: thread %llu: %s\n", (unsigned long long)i,
				strerror(err));
			exit(1);
		}
	}
	for (i = 0; i < opt.rings; i++) {
		pthread_join(e[i].thread, NULL);
		if (!e[i].err) {
			report(&e[i]);
			continue;
		}
		fprintf(stderr, "xvt-emit: thread %llu: %s\n", (unsigned long long)i,
			e[i].err == -EUSERS ? "the region has no free ring"
			: e[i].err == -EIO || e[i].err == -ENOTCONN
				? "the region's file was shortened; the program ran on untraced"
			: e[i].err == -ETIMEDOUT ? "the host did not enable recording in time"
						 : strerror(-e[i].err));
		failures++;
	}
	xvt_close();
	free(e);
	return failures ? 1 : 0;
}
