// SPDX-License-Identifier: GPL-2.0
/*
 * split.c - one reader as several, each for a range of time and with a trace of its own, so that
 * each may run in a thread; see xvtrace.h.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/vec.h"
#include "lib/parts.h"

/* -- where one part ends and the next begins ------------------------------------------- */

struct weight {
	uint64_t ns;
	uint64_t events;
};

struct weights {
	struct weight *of;
	size_t count;
	size_t room;
	uint64_t events;
};

static int by_time(const void *pa, const void *pb)
{
	const struct weight *a = pa, *b = pb;

	return a->ns < b->ns ? -1 : a->ns > b->ns;
}

/* Take the chunks of events in the range of host time. */
static int weigh(struct weights *w, const struct xvt_trace *t, uint64_t from_ns, uint64_t to_ns)
{
	for (size_t i = t->given; i < t->chunk_count; i++) {
		const struct xvt_chunk_ref *ref = &t->chunks[i];

		if (!xvt_chunk_of_events(ref->type) || ref->last_ns < from_ns ||
		    ref->first_ns > to_ns)
			continue;
		if (xvt_grow(&w->of, &w->room, w->count + 1, sizeof(*w->of)))
			return -ENOMEM;
		w->of[w->count++] = (struct weight){ ref->first_ns, ref->count };
		w->events += ref->count;
	}
	return 0;
}

static int weigh_all(struct weights *w, const struct xvtrace_reader *r)
{
	const struct xvtrace *trace = r->trace;
	int err = 0;

	for (size_t i = 0; i < trace->member_count && !err; i++)
		err = weigh(w, trace->members[i]->t, r->choice.from_ns, r->choice.to_ns);
	if (!trace->members)
		err = weigh(w, trace->t, r->choice.from_ns, r->choice.to_ns);
	if (!err && w->count)
		qsort(w->of, w->count, sizeof(*w->of), by_time);
	return err;
}

/* Set the range of each part: about as many events in each. A part may be empty, which is a range
 * that ends before it begins. */
static void set_ranges(const struct weights *w, const struct xvtrace_reader *r,
		       struct xvtrace_reader **parts, unsigned int count)
{
	uint64_t sum = 0, border_ns = r->choice.from_ns;
	size_t at = 0;

	for (unsigned int i = 0; i < count; i++) {
		parts[i]->choice.from_ns = border_ns;
		parts[i]->choice.to_ns = r->choice.to_ns;
		if (i + 1 == count)
			break;
		while (at < w->count && sum < w->events / count * (i + 1))
			sum += w->of[at++].events;
		if (at < w->count && w->of[at].ns > border_ns)
			border_ns = w->of[at].ns;
		if (border_ns > r->choice.to_ns)
			border_ns = r->choice.to_ns;
		if (border_ns)
			parts[i]->choice.to_ns = border_ns - 1;
		else
			parts[i]->choice.from_ns = 1, parts[i]->choice.to_ns = 0;
	}
}

/* -- the parts ------------------------------------------------------------------------ */

static int new_part(struct xvtrace_reader **out, struct xvtrace_reader *r)
{
	struct xvtrace *trace;
	int err = xvt_lib_copy(&trace, r->trace);

	*out = NULL;
	if (err)
		return err;
	err = xvtrace_reader_new(out, trace);
	if (err) {
		xvtrace_close(trace);
		return err;
	}
	(*out)->several.part_of = r->trace;
	return xvt_choice_copy(*out, r);
}

/* A task's name may be known from an event of any part before. */
static bool by_names(const struct xvtrace_reader *r)
{
	return r->choice.comms || (r->choice.filter && xvt_filter_has_names(r->choice.filter));
}

int xvtrace_reader_split(struct xvtrace_reader *r, unsigned int count,
			 struct xvtrace_reader **parts)
{
	const unsigned int serial = XVTRACE_STATES | XVTRACE_GAPS | XVTRACE_COUNTS;
	struct weights w = { 0 };
	unsigned int made = 0;
	int err;

	if (r->begun)
		return -EBUSY;
	if (!count || r->choice.flags & serial || r->choice.limit || by_names(r) ||
	    r->trace->growing || r->several.part_of)
		return -EINVAL;
	err = weigh_all(&w, r);
	while (made < count && !err) {
		err = new_part(&parts[made], r);
		made += parts[made] != NULL;
	}
	if (!err)
		set_ranges(&w, r, parts, count);
	free(w.of);
	while (err && made)
		xvtrace_reader_free(parts[--made]);
	return err;
}
