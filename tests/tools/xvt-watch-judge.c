// SPDX-License-Identifier: GPL-2.0
/*
 * xvt-watch-judge.c - the times and bounds of a machine's events against what xvt-watch saw.
 *
 *   xvt-watch-judge WATCH.txt TRACE MACHINE [reclock]
 *
 * prints one line of NAME=VALUE:
 *   events     of this machine
 *   witnessed  of these with a known latest or earliest time; `both`: with both
 *   reach_ns   from earliest to latest time, the median of those
 *   flagged    events with U or C;  clock: with C
 *   none       events without a bound, flagged or not
 *   beyond     events with C or without a bound that cannot have been written before the ring's
 * first measurement, after its last one, or between two epochs that a stop lies between epochs the
 * most that a ring has bound_ns   the widest bound of an unflagged event;  half_bound_ns: the
 * median outside    unflagged events whose bound does not reach a time at which they can have been
 *              written;  excess_ns: the most that is missing;  inside: of these, those whose time
 *              lies in a stop, with all of its bound
 *   false      the same of events with U and a stated bound
 *   rate_hz    of the clock, by the witness: within 2 ms, over the longest time without a stop
 *   stops      that there were
 * and before it a line for each of the first events that are outside or false.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/xvtrace.h"

#define CPUS	 64
#define STOPS	 64
#define SPANS	 4096
#define FRESH_NS 2000000
#define SHOWN	 10
#define SLACK_NS 1000 /* of both: see clock_error_ns_max, which comes on top */

struct look {
	uint64_t after, before, stamp;
};

struct looks {
	struct look *v;
	size_t n, room;
	struct xvtrace_span epochs[SPANS];
	size_t nr_epochs;
};

static struct looks cpus[CPUS];
static struct {
	uint64_t from, to;
} stops[STOPS];
static size_t nr_stops;
static const char *machine;

static struct {
	uint64_t events, witnessed, both, flagged, clock, none, beyond, epochs, bound_ns, outside,
		excess_ns, inside, false_bound;
	struct {
		uint64_t *v;
		size_t n, room;
	} reach, bound;
} count;

static void die(const char *what, const char *why)
{
	fprintf(stderr, "xvt-watch-judge: %s: %s\n", what, why);
	exit(2);
}

static void *need(void *p)
{
	if (!p)
		die("memory", "none");
	return p;
}

#define PUSH(list, value)                                                                    \
	do {                                                                                 \
		if ((list).n == (list).room) {                                               \
			(list).room = (list).room ? 2 * (list).room : 4096;                  \
			(list).v = need(realloc((list).v, (list).room * sizeof(*(list).v))); \
		}                                                                            \
		(list).v[(list).n++] = (value);                                              \
	} while (0)

/* -- the witness -------------------------------------------------------------------- */

static void read_watch(const char *path)
{
	FILE *f = fopen(path, "r");
	char line[256];

	if (!f)
		die(path, strerror(errno));
	while (fgets(line, sizeof(line), f)) {
		struct look l;
		unsigned int cpu;

		if (sscanf(line, "look %u %" SCNu64 " %" SCNu64 " %" SCNu64, &cpu, &l.after,
			   &l.before, &l.stamp) == 4 &&
		    cpu < CPUS) {
			if (cpus[cpu].n && l.stamp < cpus[cpu].v[cpus[cpu].n - 1].stamp)
				die(path, "a clock went back: this witness knows nothing then");
			PUSH(cpus[cpu], l);
		} else if (sscanf(line, "stopped %" SCNu64 " %" SCNu64, &stops[nr_stops].from,
				  &stops[nr_stops].to) == 2 &&
			   nr_stops + 1 < STOPS) {
			nr_stops++;
		} else {
			die(path, line);
		}
	}
	fclose(f);
}

/* Number of looks whose stamp is below the clock. */
static size_t looks_below(const struct looks *l, uint64_t clock)
{
	size_t lo = 0, hi = l->n;

	while (lo < hi) {
		const size_t mid = lo + (hi - lo) / 2;

		if (l->v[mid].stamp < clock)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

struct known {
	uint64_t after, before; /* 0, UINT64_MAX: not known */
};

static struct known known_of(const struct looks *l, uint64_t clock)
{
	size_t i = looks_below(l, clock);
	struct known k = { 0, i < l->n ? l->v[i].before : UINT64_MAX };

	while (i && !k.after)
		k.after = l->v[--i].after;
	return k;
}

static bool stop_within(uint64_t from, uint64_t to)
{
	size_t i;

	for (i = 0; i < nr_stops; i++) {
		if (stops[i].to > from && stops[i].from < to)
			return true;
	}
	return false;
}

/* Ticks a second of the clock, between the two looks that are furthest apart with no stop between
 * them and with an event just before each. */
static double rate_hz(const struct looks *l, uint64_t *longest)
{
	size_t first = 0, i;
	double hz = 0;

	for (i = 1; i < l->n; i++) {
		const struct look *look = &l->v[i];
		uint64_t ns;

		if (stop_within(look[-1].before, look->before))
			first = 0;
		if (look->stamp == look[-1].stamp || look->before - look[-1].before > FRESH_NS)
			continue;
		if (!first)
			first = i;
		ns = look->before - l->v[first].before;
		if (ns <= *longest)
			continue;
		*longest = ns;
		hz = (double)(look->stamp - l->v[first].stamp) * 1e9 / (double)ns;
	}
	return hz;
}

/* -- the trace ---------------------------------------------------------------------- */

static int take_span(void *arg, const struct xvtrace_span *span)
{
	struct looks *l;

	(void)arg;
	if (span->kind != XVTRACE_EPOCH || strcmp(span->machine->name, machine) ||
	    span->ring->cpu >= CPUS)
		return 0;
	l = &cpus[span->ring->cpu];
	if (l->nr_epochs == SPANS)
		die(machine, "too many epochs");
	l->epochs[l->nr_epochs++] = *span;
	return 0;
}

static int by_begin(const void *a, const void *b)
{
	const struct xvtrace_span *x = a, *y = b;

	return x->begin_ns < y->begin_ns ? -1 : x->begin_ns > y->begin_ns;
}

/* Sorts the epochs of all rings, and finds the most that a ring has. */
static void sort_epochs(void)
{
	int i;

	for (i = 0; i < CPUS; i++) {
		qsort(cpus[i].epochs, cpus[i].nr_epochs, sizeof(cpus[i].epochs[0]), by_begin);
		if (cpus[i].nr_epochs > count.epochs)
			count.epochs = cpus[i].nr_epochs;
	}
}

/* Whether an event can have been written where no two measurements hold it: before the first one,
 * after the last one, or between two of which a stop has made two epochs. */
static bool beside_measurements(const struct looks *l, const struct known *k)
{
	size_t i, n = l->nr_epochs;

	if (!n)
		return false;
	if (k->after <= l->epochs[0].begin_ns || k->before >= l->epochs[n - 1].end_ns)
		return true;
	for (i = 1; i < n; i++) {
		const uint64_t from = l->epochs[i - 1].end_ns, to = l->epochs[i].begin_ns;

		if (k->after <= to && k->before >= from && stop_within(from, to))
			return true;
	}
	return false;
}

static void show(const char *what, const struct xvtrace_event *e, const struct known *k,
		 uint64_t excess)
{
	static unsigned int shown;
	char letters[XVTRACE_FLAG_LETTERS + 1];

	if (shown++ >= SHOWN)
		return;
	xvtrace_flag_letters(e->flags, letters);
	printf("%s: cpu %u clock %" PRIu64 " ns %" PRIu64 " %s bound %" PRIu64
	       ": written from %+" PRId64 " to %+" PRId64 ", %" PRIu64 " ns beyond its bound\n",
	       what, e->ring->cpu, e->guest_clock, e->ns, letters, e->bound_ns,
	       k->after ? (int64_t)(k->after - e->ns) : INT64_MIN,
	       k->before != UINT64_MAX ? (int64_t)(k->before - e->ns) : INT64_MAX, excess);
}

static bool inside_stop(const struct xvtrace_event *e)
{
	size_t i;

	for (i = 0; i < nr_stops; i++) {
		if (e->ns - e->bound_ns > stops[i].from && e->ns + e->bound_ns < stops[i].to)
			return true;
	}
	return false;
}

static void judge_bound(const struct xvtrace_event *e, const struct known *k, uint64_t slack)
{
	const uint64_t bound = e->bound_ns + slack;
	const bool unconfirmed = e->flags & XVTRACE_UNCONFIRMED;
	uint64_t excess = 0;

	if (k->after && e->ns + bound < k->after)
		excess = k->after - e->ns - bound;
	else if (k->before != UINT64_MAX && e->ns > bound && e->ns - bound > k->before)
		excess = e->ns - bound - k->before;
	if (!unconfirmed) {
		PUSH(count.bound, e->bound_ns);
		if (e->bound_ns > count.bound_ns)
			count.bound_ns = e->bound_ns;
		count.inside += inside_stop(e);
	}
	if (!excess)
		return;
	show(unconfirmed ? "false" : "outside", e, k, excess);
	if (unconfirmed) {
		count.false_bound++;
		return;
	}
	count.outside++;
	if (excess > count.excess_ns)
		count.excess_ns = excess;
}

static void judge(const struct xvtrace_event *e, uint64_t slack)
{
	const struct looks *l = &cpus[e->ring->cpu];
	const struct known k = known_of(l, e->guest_clock);
	const bool none = e->bound_ns == XVTRACE_NO_BOUND, clock = e->flags & XVTRACE_CLOCK;

	count.events++;
	count.witnessed += k.after || k.before != UINT64_MAX;
	if (k.after && k.before != UINT64_MAX) {
		count.both++;
		PUSH(count.reach, k.before - k.after);
	}
	count.flagged += (e->flags & (XVTRACE_UNCONFIRMED | XVTRACE_CLOCK)) != 0;
	count.clock += clock;
	count.none += none;
	if (none || clock)
		count.beyond += !beside_measurements(l, &k);
	else
		judge_bound(e, &k, slack);
}

static int by_value(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

#define MEDIAN(list)                                                         \
	((list).n ? (qsort((list).v, (list).n, sizeof(*(list).v), by_value), \
		     (list).v[(list).n / 2])                                 \
		  : 0)

static void print_counts(void)
{
	uint64_t longest = 0, before;
	double hz = 0, of_cpu;
	int i;

	for (i = 0; i < CPUS; i++) {
		before = longest;
		of_cpu = rate_hz(&cpus[i], &longest);
		if (longest > before)
			hz = of_cpu;
	}
	printf("events=%" PRIu64 " witnessed=%" PRIu64 " both=%" PRIu64 " reach_ns=%" PRIu64
	       " flagged=%" PRIu64 " clock=%" PRIu64 " none=%" PRIu64 " beyond=%" PRIu64
	       " epochs=%" PRIu64 " bound_ns=%" PRIu64 " half_bound_ns=%" PRIu64 " outside=%" PRIu64
	       " excess_ns=%" PRIu64 " inside=%" PRIu64 " false=%" PRIu64
	       " rate_hz=%.0f stops=%zu\n",
	       count.events, count.witnessed, count.both, MEDIAN(count.reach), count.flagged,
	       count.clock, count.none, count.beyond, count.epochs, count.bound_ns,
	       MEDIAN(count.bound), count.outside, count.excess_ns, count.inside, count.false_bound,
	       hz, nr_stops);
}

int main(int argc, char **argv)
{
	const struct xvtrace_event *event;
	struct xvtrace_reader *reader;
	struct xvtrace_error error;
	struct xvtrace *trace;
	uint64_t slack;
	int got;

	if (argc < 4 || argc > 5 || (argc == 5 && strcmp(argv[4], "reclock"))) {
		fprintf(stderr, "usage: xvt-watch-judge WATCH.txt TRACE MACHINE [reclock]\n");
		return 2;
	}
	machine = argv[3];
	read_watch(argv[1]);
	if (xvtrace_open(&trace, argv[2], 0, &error))
		die(argv[2], error.text);
	slack = xvtrace_info(trace)->clock_error_ns_max + SLACK_NS;
	if (xvtrace_spans(trace, take_span, NULL) || xvtrace_reader_new(&reader, trace) ||
	    xvtrace_reader_flags(reader, XVTRACE_BOUND | (argc == 5 ? XVTRACE_RECLOCK : 0)) ||
	    xvtrace_reader_machine(reader, machine))
		die(argv[2], "cannot be read");
	sort_epochs();
	while ((got = xvtrace_next(reader, &event)) > 0) {
		if (event->kind == XVTRACE_EVENT && event->ring && event->ring->cpu < CPUS)
			judge(event, slack);
	}
	if (got < 0)
		die(argv[2], strerror(-got));
	print_counts();
	xvtrace_reader_free(reader);
	xvtrace_close(trace);
	return 0;
}
