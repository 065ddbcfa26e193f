// SPDX-License-Identifier: GPL-2.0
/*
 * offset.c - how tight the times of a machine are whose counter is the host's plus a constant, as
 *of a guest of one vCPU under QEMU's TCG that was never stopped.
 *
 *	offset TRACE [OFF_NS]
 *
 * All samples of a ring together say what the constant is: each says that the guest's counter had a
 * value between two values of the host's. Where they contradict each other it is none. Prints a
 *line of NAME=VALUE for the times as recorded and one for those as re-clocked: known_ns     how far
 *the constant, and so the true time of an event, may be off samples      how many, and exchange_ns:
 *their width, the median nodes        how many measured, and node_ns: their bound, the median
 *	events, flagged
 *	bound_ns     of the events without a flag, the median; bound_least_ns
 *	error_ns     distance to the true time, the median; error_max_ns: the largest
 *	outside      events without a flag that are further from the true time than their bound
 * With OFF_NS the true times are taken to be that much later, which no trace agrees with: a judge
 * that never says no is none. Exits 1 if the counter is not the host's plus a constant, 2 if the
 *trace cannot be read.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "facts.h"
#include "lib/xvtrace.h"

struct list {
	uint64_t *v;
	size_t n, room;
};

static const char *path;
static struct facts *facts;
static int64_t off_ns;

static void die(const char *why)
{
	fprintf(stderr, "offset: %s: %s\n", path, why);
	exit(2);
}

static void add(struct list *l, uint64_t value)
{
	if (l->n == l->room) {
		l->room = l->room ? 2 * l->room : 4096;
		l->v = realloc(l->v, l->room * sizeof(*l->v));
		if (!l->v)
			die("no memory");
	}
	l->v[l->n++] = value;
}

static int by_value(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static uint64_t least(const struct list *l)
{
	uint64_t value = UINT64_MAX;

	for (size_t i = 0; i < l->n; i++)
		value = l->v[i] < value ? l->v[i] : value;
	return value;
}

static uint64_t median(struct list *l)
{
	if (!l->n)
		return 0;
	qsort(l->v, l->n, sizeof(*l->v), by_value);
	return l->v[l->n / 2];
}

/* -- the constant ------------------------------------------------------------------- */

/* guest = host + some value from least to most. */
struct constant {
	int64_t least;
	int64_t most;
};

static struct constant constant_of(const struct ring_facts *r)
{
	struct constant c = { INT64_MIN, INT64_MAX };

	for (size_t i = 0; i < r->nr_samples; i++) {
		const struct xvt_clock_sample *s = &r->raw[i];
		const int64_t least = (int64_t)(s->guest - s->host_clock_hi),
			      most = (int64_t)(s->guest - s->host_clock_lo);

		c.least = least > c.least ? least : c.least;
		c.most = most < c.most ? most : c.most;
	}
	return c;
}

static uint64_t ticks_ns(int64_t ticks)
{
	return (uint64_t)((double)ticks * 1e9 / facts_host_hz(facts) + 0.5);
}

/* -- the times ---------------------------------------------------------------------- */

struct judged {
	const struct constant *constants; /* by ring */
	uint64_t events, flagged, outside, error_max_ns;
	struct list bounds, errors;
};

static void judge(struct judged *j, const struct xvtrace_event *e)
{
	const struct constant *c = &j->constants[e->ring->number];
	const int64_t first = facts_host_ns(facts, e->guest_clock - (uint64_t)c->most) + off_ns,
		      last = facts_host_ns(facts, e->guest_clock - (uint64_t)c->least) + off_ns;
	const int64_t ns = (int64_t)e->ns;
	const uint64_t error = (uint64_t)llabs(ns - first - (last - first) / 2);

	j->events++;
	if (e->flags & (XVTRACE_CLOCK | XVTRACE_UNCONFIRMED) || e->bound_ns == XVTRACE_NO_BOUND) {
		j->flagged++;
		return;
	}
	add(&j->bounds, e->bound_ns);
	add(&j->errors, error);
	if (error > j->error_max_ns)
		j->error_max_ns = error;
	if (ns + (int64_t)e->bound_ns + 1 < first || ns - (int64_t)e->bound_ns - 1 > last)
		j->outside++;
}

static void read_all(struct xvtrace *trace, bool reclock, struct judged *j)
{
	const struct xvtrace_event *e;
	struct xvtrace_reader *reader;
	int got;

	if (xvtrace_reader_new(&reader, trace) ||
	    xvtrace_reader_flags(reader, XVTRACE_BOUND | (reclock ? XVTRACE_RECLOCK : 0)))
		die("has no reader");
	while ((got = xvtrace_next(reader, &e)) > 0) {
		if (e->kind == XVTRACE_EVENT && e->ring && e->ring->number < facts->nr_rings)
			judge(j, e);
	}
	if (got < 0)
		die(strerror(-got));
	xvtrace_reader_free(reader);
}

int main(int argc, char **argv)
{
	struct list widths = { 0 }, nodes = { 0 };
	struct constant *constants;
	struct xvtrace_error error;
	struct xvtrace *trace;
	uint64_t known_ns = 0;

	if (argc != 2 && argc != 3) {
		fprintf(stderr, "usage: offset TRACE [OFF_NS]\n");
		return 2;
	}
	path = argv[1];
	off_ns = argc == 3 ? strtoll(argv[2], NULL, 0) : 0;
	facts = facts_load(path);
	constants = calloc(facts->nr_rings + 1, sizeof(*constants));
	if (!constants || xvtrace_open(&trace, path, 0, &error))
		die("cannot be opened");
	for (size_t i = 0; i < facts->nr_rings; i++) {
		const struct ring_facts *r = &facts->rings[i];
		const struct constant c = constants[i] = constant_of(r);

		if (!r->nr_samples)
			continue;
		if (c.least > c.most) {
			printf("ring %zu: its counter moved by %" PRIu64
			       " ns or more against the host's\n",
			       i, ticks_ns(c.least - c.most));
			return 1;
		}
		if (ticks_ns(c.most - c.least) / 2 > known_ns)
			known_ns = ticks_ns(c.most - c.least) / 2;
		for (size_t k = 0; k < r->nr_samples; k++)
			add(&widths,
			    ticks_ns((int64_t)(r->raw[k].host_clock_hi - r->raw[k].host_clock_lo)));
		for (size_t k = 0; k < r->nr_nodes; k++)
			add(&nodes, r->nodes[k].bound_ns);
	}
	for (int reclock = 0; reclock < 2; reclock++) {
		struct judged j = { .constants = constants };

		read_all(trace, reclock, &j);
		printf("%s known_ns=%" PRIu64 " samples=%zu exchange_ns=%" PRIu64
		       " nodes=%zu node_ns=%" PRIu64 " node_least_ns=%" PRIu64 " events=%" PRIu64
		       " flagged=%" PRIu64 " bound_ns=%" PRIu64 " bound_least_ns=%" PRIu64
		       " error_ns=%" PRIu64 " error_max_ns=%" PRIu64 " outside=%" PRIu64 "\n",
		       reclock ? "re-clocked" : "recorded", known_ns, widths.n, median(&widths),
		       nodes.n, median(&nodes), least(&nodes), j.events, j.flagged,
		       median(&j.bounds), least(&j.bounds), median(&j.errors), j.error_max_ns,
		       j.outside);
		free(j.bounds.v);
		free(j.errors.v);
	}
	xvtrace_close(trace);
	facts_free(facts);
	free(constants);
	free(widths.v);
	free(nodes.v);
	return 0;
}
