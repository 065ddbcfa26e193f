// SPDX-License-Identifier: GPL-2.0
/* put.c - see put.h. */
#include "merge/put.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int xvt_run_put(struct xvt_run *run, struct xvt_trace_writer *w)
{
	const struct xvt_raw_piece head = { run->ring->id, run->len, run->pos };

	run->located = true;
	return xvt_trace_piece(w, &head, run->bytes, &run->place.chunk, &run->place.at);
}

bool xvt_run_keep(struct xvt_run *run)
{
	if (run->dropped || run->id == XVT_ID_LOST)
		return true;
	run->copy = malloc(run->len);
	if (!run->copy)
		return false;
	xvt_pool_count(run->ring->pool, run->len, true);
	memcpy(run->copy, run->bytes, run->len);
	return true;
}

bool xvt_run_is_kept(const struct xvt_run *run)
{
	return !run->located || run->dropped || run->id == XVT_ID_LOST || run->copy;
}

int xvt_run_put_again(struct xvt_run *run, struct xvt_trace_writer *w)
{
	if (!run->located || run->dropped || run->id == XVT_ID_LOST)
		return 0;
	run->bytes = run->copy;
	return xvt_run_put(run, w);
}

void xvt_run_drop(struct xvt_run *run)
{
	run->located = run->dropped = true;
}

struct xvt_event_hdr xvt_window_event(const struct xvt_window *w, uint32_t i,
				      const struct xvt_lost **lost)
{
	const struct xvt_run *run = xvt_window_run(w, i);
	const bool is_lost = run->id == XVT_ID_LOST;

	*lost = is_lost ? &run->lost : NULL;
	return (struct xvt_event_hdr){ .host_ns = xvt_window_ns(w, i),
				       .guest_clock = run->guest,
				       .ring_flags = run->ring_flags | xvt_window_flags(w),
				       .id = run->id,
				       .len = is_lost ? sizeof(run->lost) : 0 };
}

/* The source of a run that has none yet, or whose records are not in a piece. */
#define NO_SOURCE UINT32_MAX

/* Adds the source of a run to the chunk of the order; event i is its first there. */
static int begin_run(const struct xvt_window *w, uint32_t i, struct xvt_order *o)
{
	struct xvt_run *run = xvt_window_run(w, i);
	const uint64_t ns = xvt_window_ns(w, i);

	xvt_order_time(o, ns);
	run->chunk = o->gathering;
	run->place.skip = (uint16_t)run->at;
	return xvt_order_source(o, run->ring_flags | xvt_window_flags(w), &run->place,
				run->on_line ? &run->line : NULL, ns, &run->source);
}

/*
 * Handles the first event of a run in the window, and every event that is not a record of a piece.
 */
static int put_first(const struct xvt_window *w, uint32_t i, struct xvt_order *o,
		     const struct xvt_window_ops *ops, void *arg, uint32_t *source)
{
	const struct xvt_run *run = xvt_window_run(w, i);
	const bool other = run->id == XVT_ID_LOST || run->dropped;
	int err = 0;

	if (run->chunk != o->gathering) {
		if (other)
			err = ops->other(arg, w, i);
		else if (ops->begin)
			err = ops->begin(arg, w, i);
		/* The callback may have written events of the host, which took some of the reserved
		 * room. */
		if (!err && xvt_order_reserve(o, w->count - i))
			err = -ENOMEM;
		if (!err && !other)
			err = begin_run(w, i, o);
	}
	if (err || other)
		return err;
	*source = run->source;
	xvt_order_next(o, run->source);
	return 0;
}

/* Adds the number of each run's records to its source. */
static void add_counts(const struct xvt_window *w, struct xvt_order *o, const uint32_t *sources)
{
	uint32_t i;

	for (i = 0; i < w->nr_runs; i++) {
		if (sources[i] != NO_SOURCE)
			o->sources[sources[i]].count += w->runs[i]->taken - w->runs[i]->at;
	}
}

static int put_all(const struct xvt_window *w, struct xvt_order *o,
		   const struct xvt_window_ops *ops, void *arg)
{
	const uint32_t mask = (1u << XVT_WINDOW_BITS) - 1;
	uint32_t *sources = o->of_runs, i;
	int err;

	memset(sources, 0xff, w->nr_runs * sizeof(*sources));
	for (i = 0; i < w->count; i++) {
		uint32_t *source = &sources[w->keys[i] & mask];

		if (xvt_likely(*source != NO_SOURCE)) {
			xvt_order_next(o, *source);
			continue;
		}
		err = put_first(w, i, o, ops, arg, source);
		if (err)
			return err;
	}
	add_counts(w, o, sources);
	/* The last event with a source; a dropped one has no time in this order. */
	while (i > 0 && sources[w->keys[i - 1] & mask] == NO_SOURCE)
		i--;
	if (i)
		xvt_order_time(o, xvt_window_ns(w, i - 1));
	return 0;
}

int xvt_window_put(const struct xvt_window *w, struct xvt_trace_writer *trace,
		   const struct xvt_window_ops *ops, void *arg)
{
	struct xvt_order *o = xvt_trace_lane(trace, w->lane);
	int err;

	if (!o)
		return xvt_trace_error(trace);
	if (xvt_order_reserve(o, w->count) || xvt_order_reserve_runs(o, w->nr_runs))
		return -ENOMEM;
	/* No chunk ends inside a window, so a run's source stays valid to the window's end. */
	xvt_trace_together(trace, true);
	err = put_all(w, o, ops, arg);
	xvt_trace_together(trace, false);
	if (err)
		xvt_trace_fail(trace, err); /* a part of the window may not be written twice */
	return err;
}
