// SPDX-License-Identifier: GPL-2.0
/* counted.c - see counted.h. */
#include "counted.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/workers.h"
#include "lib/counting.h"

static void must(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "counted: %s\n", what);
	abort();
}

/* -- as text ------------------------------------------------------------------------ */

static void put_counts(FILE *out, const struct xvtrace_counts *c)
{
	fprintf(out,
		" attempted %" PRIu64 " events %" PRIu64 " lost %" PRIu64 " doubt %" PRIu64
		" discarded %" PRIu64 " late %" PRIu64 " backlog %" PRIu64 " unconfirmed %" PRIu64
		" recovered %" PRIu64 " in_flight %" PRIu64 " from %" PRIu64 " to %" PRIu64 " by",
		c->attempted, c->events, c->lost, c->overwritten_doubt, c->discarded, c->late,
		c->backlog, c->unconfirmed, c->recovered, c->in_flight, c->first_ns, c->last_ns);
	for (int i = 0; i < XVTRACE_CAUSES_MAX; i++)
		fprintf(out, " %" PRIu64, c->lost_by[i]);
}

static void put_ring(FILE *out, const struct xvtrace_ring_stat *r, unsigned int ring)
{
	fprintf(out, "ring %u:", ring);
	put_counts(out, &r->counts);
	fprintf(out,
		" epochs %u source %s rejected %x bound %" PRIu64 " guess %" PRIu64
		" clocked %d violations %" PRIu64 " bad %" PRIu64 " paused %" PRIu64 "\n",
		r->epochs, r->source, r->rejected, r->bound_ns_max, r->unconfirmed_bound_ns_max,
		r->clocked, r->clock_violations, r->bad_bytes, r->paused_ns);
}

static void put_machine(FILE *out, const struct xvtrace_machine_stat *m, unsigned int machine)
{
	fprintf(out, "machine %u:", machine);
	put_counts(out, &m->counts);
	fprintf(out,
		" paused %" PRIu64 " %" PRIu64 " nameless %" PRIu64 " median %" PRIu64
		" bound %" PRIu64 " unbounded %" PRIu64 " ended %" PRIu64 " %d\n",
		m->paused_ns, m->pauses, m->nameless, m->bound_ns_median, m->bound_ns_max,
		m->unbounded, m->ended_ns, m->panicked);
}

static void put_damage(FILE *out, const struct xvtrace *trace)
{
	struct xvtrace_damage d;

	fprintf(out, "damaged %zu\n", xvtrace_damage_count(trace));
	for (size_t i = 0; !xvtrace_damage(trace, i, &d); i++)
		fprintf(out, "at %" PRIu64 " of %s: %" PRIu64 ", %s\n", d.offset,
			d.file ? d.file : "-", d.len, d.why);
}

static void put_stat(FILE *out, struct xvtrace *trace, const struct xvtrace_stat *s)
{
	const struct xvtrace_info *info = xvtrace_info(trace);

	fputs("all:", out);
	put_counts(out, &s->counts);
	fprintf(out,
		" nameless %" PRIu64 " order %" PRIu64 " notes %" PRIu64 " %" PRIu64 " %" PRIu64
		"\n",
		s->nameless, s->order_violations, s->notes[0], s->notes[1], s->notes[2]);
	for (unsigned int i = 0; i < info->rings; i++)
		if (xvtrace_stat_ring(s, i))
			put_ring(out, xvtrace_stat_ring(s, i), i);
	for (unsigned int i = 0; i < info->machines; i++)
		if (xvtrace_stat_machine(s, i))
			put_machine(out, xvtrace_stat_machine(s, i), i);
}

/* -- counting ----------------------------------------------------------------------- */

struct calls {
	struct xvt_workers *workers;
	unsigned int count;
};

static void run(void *run_arg, unsigned int count, void (*call)(void *arg, unsigned int i),
		void *arg)
{
	struct calls *calls = run_arg;

	calls->count += count;
	xvt_workers_run(calls->workers, count, call, arg);
}

/* Between stat.c and counting.c: events and notes together are those of a reader without parts. */
static unsigned int whole;

int __real_xvt_counting_walk(struct xvt_counting *c, uint32_t types, size_t begin, size_t end);
int __wrap_xvt_counting_walk(struct xvt_counting *c, uint32_t types, size_t begin, size_t end);

int __wrap_xvt_counting_walk(struct xvt_counting *c, uint32_t types, size_t begin, size_t end)
{
	if (types == (XVT_COUNTING_EVENTS | XVT_COUNTING_NOTES))
		whole++; /* never in a part, so in one thread */
	return __real_xvt_counting_walk(c, types, begin, end);
}

struct counted counted_by(struct xvtrace *trace, unsigned int flags, unsigned int parts,
			  uint64_t part_events)
{
	const uint64_t before = xvt_counting_part_events;
	struct calls calls = { 0 };
	const struct xvtrace_threads threads = { .count = parts, .run = run, .run_arg = &calls };
	struct counted c = { 0 };
	struct xvtrace_stat *s;
	size_t len;
	FILE *out = open_memstream(&c.text, &len);
	int err;

	must(out && !xvt_workers_start(&calls.workers, parts), "no memory");
	xvt_counting_part_events = part_events;
	whole = 0;
	err = xvtrace_stat_new_by(&s, trace, flags, &threads);
	c.alone = whole;
	xvt_counting_part_events = before;
	xvt_workers_end(calls.workers);
	c.calls = calls.count;
	if (err)
		fprintf(out, "error %d\n", err);
	else
		put_stat(out, trace, s);
	put_damage(out, trace);
	xvtrace_stat_free(s);
	must(!fclose(out), "no memory");
	return c;
}
