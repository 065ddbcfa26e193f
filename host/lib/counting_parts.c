// SPDX-License-Identifier: GPL-2.0
/*
 * counting_parts.c - the events of a trace counted in parts, each with a copy of the trace, for a
 * thread each. What one reader would have counted, or found, is what is given: where that is not
 * sure, nothing is, and the caller counts without parts. Damage and errors are therefore found and
 * told as without threads.
 */
#include <errno.h>
#include <stdlib.h>

#include "lib/counting.h"

/* A reader counts as many in some 20 ms. A part takes up to 1 ms for a copy of the list of
 * chunks, and again what one reader takes to read clocks and metadata. */
uint64_t xvt_counting_part_events = 1000000;

/* Each part has 600 bytes for a ring, and looks at all rings. */
#define RINGS_MOST (1u << 16)
#define PARTS_MOST 64u

struct part {
	struct xvt_counting c;
	struct xvtrace *copy;
	size_t begin; /* chunks */
	size_t end;
	unsigned int flags;
	bool is_first;
	int err;
};

struct parts {
	struct part *of;
	unsigned int count;
};

static uint64_t events_of(const struct xvt_trace *t, size_t chunk)
{
	return xvt_chunk_of_events(t->chunks[chunk].type) ? t->chunks[chunk].count : 0;
}

/* Set which chunks each part counts: about as many events in each. */
static void set_ranges(struct parts *parts, const struct xvt_trace *t, uint64_t events)
{
	uint64_t sum = 0;
	size_t at = 0;

	for (unsigned int i = 0; i < parts->count; i++) {
		parts->of[i].begin = at;
		while (at < t->chunk_count && sum < events / parts->count * (i + 1))
			sum += events_of(t, at++);
		if (i + 1 == parts->count)
			at = t->chunk_count;
		parts->of[i].end = at;
	}
}

/* Make the parts, as many as the trace is worth. */
static int make_parts(struct parts *parts, const struct xvt_counting *c, unsigned int flags,
		      unsigned int most)
{
	uint64_t events = 0;
	int err = 0;

	for (size_t i = 0; i < c->t->chunk_count; i++)
		events += events_of(c->t, i);
	most = most < PARTS_MOST ? most : PARTS_MOST;
	if (events / xvt_counting_part_events < most)
		most = (unsigned int)(events / xvt_counting_part_events);
	if (most < 2 || c->t->damage_count || c->ring_count > RINGS_MOST)
		return -EAGAIN;
	parts->of = calloc(most, sizeof(*parts->of));
	if (!parts->of)
		return -ENOMEM;
	while (parts->count < most && !err) {
		struct part *p = &parts->of[parts->count];

		p->flags = flags;
		p->is_first = !parts->count;
		err = xvt_lib_copy(&p->copy, c->trace);
		parts->count += !err;
	}
	set_ranges(parts, c->t, events);
	return err;
}

/* In any thread. */
static void count_part(void *arg, unsigned int i)
{
	struct part *p = &((struct parts *)arg)->of[i];
	struct xvt_counting *c = &p->c;

	p->err = xvt_counting_init(c, p->copy);
	if (!p->err)
		p->err = xvt_bounds_new(&c->bounds, c->t);
	if (!p->err)
		p->err = xvt_counting_begin(c, p->flags);
	if (!p->err && !p->is_first)
		p->err = xvt_counting_is_part(c, p->begin);
	if (!p->err)
		p->err = xvt_counting_walk(c, XVT_COUNTING_EVENTS, p->begin, p->end);
}

/* Returns whether one reader of all finds nothing wrong either, and keeps its limits. */
static bool is_sound(const struct parts *parts)
{
	const struct xvt_trace_raws *raws[PARTS_MOST];
	const struct xvt_decoders *decoders[PARTS_MOST];

	for (unsigned int i = 0; i < parts->count; i++) {
		const struct part *p = &parts->of[i];

		if (p->err || p->c.t->damage_count)
			return false;
		raws[i] = &p->c.raws;
		decoders[i] = &p->c.ds;
	}
	return xvt_trace_raws_fit_in_one(raws, parts->count) &&
	       xvt_decoders_fit_in_one(decoders, parts->count);
}

/* Take what was counted. The tables are those of the same rings and machines. */
static void take(struct xvt_counting *c, struct xvt_counting *of)
{
	struct xvt_counting empty = *c;

	c->rings = of->rings;
	c->machines = of->machines;
	c->spreads = of->spreads;
	c->nameless = of->nameless;
	c->order_violations = of->order_violations;
	of->rings = empty.rings;
	of->machines = empty.machines;
	of->spreads = empty.spreads;
}

static int join(struct xvt_counting *c, struct parts *parts)
{
	int err = is_sound(parts) ? 0 : -EAGAIN;

	for (unsigned int i = 1; i < parts->count && !err; i++)
		err = xvt_counting_add(&parts->of[0].c, &parts->of[i].c);
	if (!err)
		take(c, &parts->of[0].c);
	return err;
}

/* with_marks: what the parts have checked is checked. */
static void free_parts(struct parts *parts, struct xvtrace *of, bool with_marks)
{
	for (unsigned int i = 0; i < parts->count; i++) {
		xvt_counting_fini(&parts->of[i].c);
		if (with_marks)
			xvt_lib_join(of, parts->of[i].copy);
		else
			xvtrace_close(parts->of[i].copy);
	}
	free(parts->of);
}

int xvt_counting_by_parts(struct xvt_counting *c, unsigned int flags, struct xvtrace *trace,
			  const struct xvtrace_threads *threads)
{
	struct parts parts = { 0 };
	int err;

	if (!threads || threads->count < 2)
		return 0;
	err = make_parts(&parts, c, flags, threads->count);
	if (!err) {
		threads->run(threads->run_arg, parts.count, count_part, &parts);
		err = join(c, &parts);
	}
	free_parts(&parts, trace, !err);
	if (err)
		return 0;
	err = xvt_counting_walk(c, XVT_COUNTING_NOTES, 0, c->t->chunk_count);
	return err ? err : 1;
}
