// SPDX-License-Identifier: GPL-2.0
/* fetch.c - the records of a reader's range: from the file, re-clocked, or by another thread. */
#include <errno.h>
#include <stdlib.h>

#include "lib/parts.h"

int xvtrace_reader_ahead(struct xvtrace_reader *r, const struct xvtrace_background *by)
{
	if (r->begun)
		return -EBUSY;
	if (!by->slots || r->several.part_of || r->trace->growing)
		return -EINVAL;
	if (!r->fetch.background)
		r->fetch.background = malloc(sizeof(*r->fetch.background));
	if (!r->fetch.background)
		return -ENOMEM;
	*r->fetch.background = *by;
	return 0;
}

/*
 * Narrow the range of host times to one that holds all events of a range of wall-clock times. The
 * wall clock may have been set while recording, so the range may hold other events, too.
 */
static void host_range(const struct xvtrace_reader *r, uint64_t *from_ns, uint64_t *to_ns)
{
	const struct xvt_trace *t = r->trace->t;
	uint64_t lo = UINT64_MAX, hi = 0;

	for (size_t i = 0; i < t->timebase_count; i++) {
		const struct xvt_timebase *l = &t->timebase[i];
		uint64_t begin = i ? l->base_ns : 0;
		uint64_t end = i + 1 < t->timebase_count ? l[1].base_ns : UINT64_MAX;
		/* 128 bits: a hostile line may have any times. */
		__int128 ahead = (__int128)l->realtime_ns - l->base_ns;
		__int128 from = r->choice.wall_from_ns - ahead, to = r->choice.wall_to_ns - ahead;

		if (to < begin || from > end)
			continue;
		if (from < begin)
			from = begin;
		if (to > end)
			to = end;
		lo = from < lo ? (uint64_t)from : lo;
		hi = to > hi ? (uint64_t)to : hi;
	}
	*from_ns = lo > *from_ns ? lo : *from_ns;
	*to_ns = hi < *to_ns ? hi : *to_ns;
}

/* Make what the reader needs to fetch records alone. */
static int prepare_alone(struct xvtrace_reader *r)
{
	int err = 0;

	if (r->choice.flags & XVTRACE_RECLOCK && !r->fetch.reclock)
		err = xvt_reclock_new(&r->fetch.reclock, r->trace->t);
	if (!err && r->choice.flags & XVTRACE_BOUND) {
		if (r->fetch.reclock)
			r->fetch.bound_ns = xvt_reclock_want_bounds(r->fetch.reclock);
		else if (!r->fetch.bounds)
			err = xvt_bounds_new(&r->fetch.bounds, r->trace->t);
	}
	return err;
}

static int begin_alone(struct xvtrace_reader *r)
{
	const uint64_t from_ns = r->fetch.from_ns, to_ns = r->fetch.to_ns;

	if (!r->fetch.reclock)
		return xvt_cursor_init(&r->fetch.cursor, r->trace->t, from_ns, to_ns);
	return r->several.part_of || (r->several.whole && r->several.whole->several.part_of)
		       ? xvt_reclock_begin_part(r->fetch.reclock, from_ns, to_ns)
		       : xvt_reclock_begin(r->fetch.reclock, from_ns, to_ns);
}

/* Have the thread fetch no more. */
static int end_by_thread(struct xvtrace_reader *r)
{
	int err;

	xvt_ahead_free(r->fetch.by_thread);
	r->fetch.by_thread = NULL;
	err = prepare_alone(r);
	return err ? err : begin_alone(r);
}

int xvt_reader_fetch_from(struct xvtrace_reader *r, uint64_t ns, uint64_t *from_ns)
{
	uint64_t to_ns = r->choice.to_ns;

	*from_ns = ns > r->choice.from_ns ? ns : r->choice.from_ns;
	if (xvt_reader_by_wall(r))
		host_range(r, from_ns, &to_ns);
	r->fetch.from_ns = *from_ns;
	r->fetch.to_ns = to_ns;
	xvt_cursor_fini(&r->fetch.cursor);
	if (!r->fetch.by_thread)
		return begin_alone(r);
	return xvt_ahead_begin(r->fetch.by_thread, *from_ns, to_ns) ? end_by_thread(r) : 0;
}

int xvt_reader_fetch_prepare(struct xvtrace_reader *r)
{
	const bool reclock = r->choice.flags & XVTRACE_RECLOCK;
	int err = -EAGAIN;

	if (r->fetch.background)
		err = xvt_ahead_new(&r->fetch.by_thread, r->trace->t, reclock, r->fetch.background,
				    r->fetch.slot);
	if (err)
		return err == -EAGAIN ? prepare_alone(r) : err;
	if (r->choice.flags & XVTRACE_BOUND && reclock)
		r->fetch.bound_ns = xvt_ahead_want_bounds(r->fetch.by_thread);
	else if (r->choice.flags & XVTRACE_BOUND)
		err = xvt_bounds_new(&r->fetch.bounds, r->trace->t);
	return err;
}

int xvt_reader_go_on_alone(struct xvtrace_reader *r, struct xvt_event *ev)
{
	const uint64_t given = xvt_ahead_given(r->fetch.by_thread);
	int got = end_by_thread(r);

	if (got)
		return got;
	got = 1;
	for (uint64_t i = 0; i <= given && got > 0; i++)
		got = xvt_reader_fetch_alone(r, ev);
	return got;
}

void xvt_reader_fetch_share(struct xvtrace_reader *m, const struct xvtrace_reader *r,
			    unsigned int slot)
{
	struct xvtrace_background *by = r->fetch.background;

	m->fetch.background = by && slot < by->slots ? by : NULL;
	m->fetch.slot = slot;
}

void xvt_reader_fetch_fini(struct xvtrace_reader *r)
{
	xvt_ahead_free(r->fetch.by_thread);
	xvt_reclock_free(r->fetch.reclock);
	xvt_bounds_free(r->fetch.bounds);
	xvt_cursor_fini(&r->fetch.cursor);
	if (!r->several.whole)
		free(r->fetch.background);
}

static int reclocked(struct xvtrace_reader *r, unsigned int ring, struct xvtrace_reclocked *to)
{
	const struct xvt_reclock_ring *of;
	struct xvt_reclock_change c;
	int err = 0;

	for (size_t i = 0; i < r->several.count; i++) {
		struct xvtrace_reader *m = r->several.members[i];

		if (m->trace == xvt_several_of_ring(r->trace, ring))
			return reclocked(m, ring - m->trace->first_ring, to);
	}
	if (r->several.members || ring >= r->trace->ring_count)
		return -ENOENT;
	if (!r->fetch.reclock)
		err = xvt_reclock_new(&r->fetch.reclock, r->trace->t);
	if (err)
		return err;
	of = xvt_reclock_ring(r->fetch.reclock, ring);
	err = xvt_reclock_change(of, &c);
	if (err)
		return err;
	*to = (struct xvtrace_reclocked){
		.source = xvtrace_source_name(of->nodes[0].source),
		.max_before_ns = c.max_before,
		.max_after_ns = c.max_after,
		.half_before_ns = c.half_before,
		.half_after_ns = c.half_after,
		.samples = of->samples,
		.epochs = of->epoch_count,
	};
	for (size_t e = 0; e < of->epoch_count; e++) {
		to->epochs_constant += of->epochs[e].straight;
		to->epochs_gaining += of->epochs[e].refined && !of->epochs[e].straight;
		to->epochs_as_recorded += !of->epochs[e].refined;
	}
	return 0;
}

int xvtrace_reader_reclocked(struct xvtrace_reader *r, unsigned int ring,
			     struct xvtrace_reclocked *to)
{
	return r->choice.flags & XVTRACE_RECLOCK ? reclocked(r, ring, to) : -EINVAL;
}
