// SPDX-License-Identifier: GPL-2.0
/*
 * run.c - records placed ahead of time. place.c places one record with all checks that a
 * hostile guest and a border of the clock require. The records after it in the same piece, with
 * short stamps, on the same segment of the clock map and within the drain's bounds, share those
 * checks: extend() makes them once for the run, and the merge gets the records as an array.
 */
#include "ring/ring.h"
#include "base/u64.h"

#include <stdlib.h>

/* Free runs of each size that a machine's pool keeps for reuse. */
#define SPARE_RUNS 16u
#define LINE	   64u /* of the cache */

/* Host times that need no check of their own. */
struct window {
	uint64_t lo_ns;
	uint64_t hi_ns;
};

/* The bounds that place() in place.c would check, for records of the last record's epoch. */
static struct window window_of(const struct xvt_ring *r)
{
	struct xvt_clock_evidence e = xvt_ring_evidence(r, r->decode.reader.epoch, r->drain.first);
	const uint64_t bound = r->runs.segment.bound_ns;
	uint64_t floor = e.floor_ns > bound ? e.floor_ns - bound : 0;

	/* A record older than the attach carries a flag of its own. In an honest ring such records
	 * end soon. */
	return (struct window){ floor > r->start_ns ? floor : r->start_ns,
				xvt_u64_sum(e.ceiling_ns, bound) };
}

/*
 * The same for guesses of which one side is not known, where nothing was measured: they all have
 * the head's set. What place() would move to the set's end begins another run.
 */
static struct window guesses_of(const struct xvt_ring *r, const struct xvt_run *run)
{
	const struct xvt_written *set = &run->written;

	if (run->ring_flags & XVT_EVENT_F_BACKLOG)
		return (struct window){ set->lo_ns,
					set->hi_ns < r->start_ns ? set->hi_ns : r->start_ns - 1 };
	return (struct window){ xvt_u64_larger(set->lo_ns, r->start_ns), set->hi_ns };
}

static bool is_guess(const struct xvt_ring *r, const struct xvt_run *run)
{
	const uint32_t flags = run->ring_flags & ~XVT_EVENT_RING_MASK;

	return (flags & ~XVT_EVENT_F_BACKLOG) == XVT_EVENT_F_UNCONFIRMED && run->written.beside &&
	       (!run->written.lo_ns || run->written.hi_ns == UINT64_MAX) &&
	       xvt_clock_map_unmeasured(&r->clock.map, run->guest);
}

static bool is_plain(const struct xvt_ring *r)
{
	return !r->salvage && !r->decode.stashed && !r->decode.unaccounted_before &&
	       r->drain.first && r->drain.first->bytes == r->decode.reader.copy &&
	       !r->drain.first->salvage && xvt_ring_only_new(r);
}

/* ------------------------------------------------------------------ memory */

static size_t size_of(bool small)
{
	const size_t n = small ? XVT_RUN_SMALL : XVT_RUN_MAX;

	return (sizeof(struct xvt_run) + n * sizeof(uint64_t) + LINE - 1) / LINE * LINE;
}

static struct xvt_run *get_run(struct xvt_pool *p, bool small)
{
	struct xvt_run *run = p->spare[small];

	if (run) {
		p->spare[small] = run->next;
		p->nr_spare[small]--;
		return run;
	}
	run = aligned_alloc(LINE, size_of(small));
	if (!run)
		return NULL;
	xvt_pool_count(p, size_of(small), true);
	run->small = small;
	return run;
}

static void trim_runs(struct xvt_pool *p)
{
	int small;

	for (small = 0; small < 2; small++) {
		while (p->spare[small]) {
			struct xvt_run *run = p->spare[small];

			p->spare[small] = run->next;
			xvt_pool_uncount(p, size_of(small));
			free(run);
		}
		p->nr_spare[small] = 0;
	}
}

static void put_run(struct xvt_pool *p, struct xvt_run *run)
{
	const bool small = run->small;

	if (p->nr_spare[small] < SPARE_RUNS) {
		run->next = p->spare[small];
		p->spare[small] = run;
		p->nr_spare[small]++;
		p->trim_spare = trim_runs;
		return;
	}
	xvt_pool_uncount(p, size_of(small));
	free(run);
}

/* Moves a short run into a small one, if memory for it is available. */
static struct xvt_run *fit(struct xvt_pool *p, struct xvt_run *run)
{
	struct xvt_run *to = run->count <= XVT_RUN_SMALL ? get_run(p, true) : NULL;

	if (!to)
		return run;
	memcpy(to, run, sizeof(*run) + run->count * sizeof(run->ns[0]));
	to->small = true;
	put_run(p, run);
	return to;
}

static void drop_run(struct xvt_ring *r)
{
	struct xvt_run *run = r->runs.first;

	r->runs.first = run->next;
	if (!r->runs.first)
		r->runs.last = NULL;
	if (r->runs.gathered == run)
		r->runs.gathered = run->next;
	if (run->copy) {
		xvt_pool_uncount(r->pool, run->len);
		free(run->copy);
	}
	put_run(r->pool, run);
}

void xvt_ring_run_fini(struct xvt_ring *r)
{
	while (r->runs.first)
		drop_run(r);
}

void xvt_ring_emitted(struct xvt_ring *r, uint32_t n)
{
	r->runs.first->at += n;
	if (r->runs.first->at == r->runs.first->count)
		drop_run(r);
}

/* ------------------------------------------------------------------ a run */

/* Finds the segment of the clock map that gives the head's host time. False if none does. */
static bool find_line(struct xvt_ring *r)
{
	if (xvt_clock_map_segment(&r->clock.map, r->decode.rec.ts, &r->runs.segment))
		return xvt_clock_segment_ns(&r->runs.segment, r->decode.rec.ts) == r->head.ns;
	return xvt_clock_map_beyond(&r->clock.map, r->decode.rec.ts, r->head.ns, &r->runs.segment);
}

static inline void count_type(uint32_t *types, const uint8_t *payload)
{
	uint16_t type; /* an ftrace event begins with it */

	memcpy(&type, payload, sizeof(type));
	if (type < XVT_TYPES)
		types[type] += types[type] != UINT32_MAX;
}

/* Adds the plain records behind the first one, whose times are in the window. */
static void extend(struct xvt_ring *r, struct xvt_run *run, struct window w)
{
	struct xvt_reader reader = r->decode.reader; /* not aliased, so it can stay in registers */
	const struct xvt_clock_segment line = r->runs.segment;
	uint32_t *const types = r->types;
	uint32_t n = run->count;
	uint64_t header, ts = 0, last_ts = 0, end = 0, ns;

	while (n < XVT_RUN_MAX && (header = xvt_reader_plain(&reader))) {
		ts = xvt_reader_plain_ts(&reader, header);
		/* A record on another segment begins another run. */
		if (xvt_unlikely(ts < line.guest || ts > line.guest_end))
			break;
		ns = xvt_clock_segment_ns(&line, ts);
		if (xvt_unlikely(ns < w.lo_ns || ns > w.hi_ns))
			break;
		/* The panic begins another run, so that the writer of that run finds it. */
		if (xvt_unlikely(xvt_header_id(header) == XVT_ID_PANIC))
			break;
		if (xvt_likely(xvt_header_id(header) != XVT_ID_DISCARDED)) {
			run->ns[n++] = ns;
			last_ts = ts;
			end = reader.pos + xvt_header_len(header);
			if (xvt_header_id(header) == XVT_ID_FTRACE && types &&
			    xvt_header_len(header) > sizeof(header))
				count_type(types, xvt_reader_plain_payload(&reader));
		}
		xvt_reader_plain_take(&reader, header, ts);
	}
	r->decode.reader.pos = reader.pos;
	r->decode.reader.ts = reader.ts;
	if (n == run->count)
		return;
	run->len = (uint32_t)(end - run->pos);
	r->decode.since_subbuf += n - run->count;
	run->count = n;
	r->head.last_guest = last_ts;
	r->head.last_ns = run->ns[n - 1];
	if (r->head.last_guest > r->decode.newest)
		r->decode.newest = r->head.last_guest;
}

/* The first one of a generation says why. */
static void note_panic(struct xvt_ring *r)
{
	const struct xvt_record *rec = &r->decode.rec;
	struct xvt_ring_panic *p = &r->panic;

	if (p->any && p->generation == r->decode.reader.subbuf.generation)
		return;
	p->any = true;
	p->generation = r->decode.reader.subbuf.generation;
	p->len = rec->len < sizeof(p->text) ? rec->len : (uint32_t)sizeof(p->text);
	memcpy(p->text, rec->payload, p->len);
}

struct xvt_run *xvt_ring_refill(struct xvt_ring *r)
{
	struct xvt_run *run;

	if (!xvt_ring_peek(r) || !r->head.placed)
		return NULL;
	run = get_run(r->pool, false);
	if (!run)
		return NULL;
	run->next = NULL;
	run->ring = r;
	run->at = run->taken = 0;
	run->count = 1;
	run->ring_flags = r->id | r->head.flags;
	run->id = (uint16_t)r->decode.rec.id;
	run->dropped = run->located = false;
	run->copy = NULL;
	run->guest = r->decode.rec.ts;
	run->pos = r->decode.rec.pos;
	run->len = 0;
	run->chunk = run->window = 0;
	run->ns[0] = r->head.ns;
	run->written = r->head.written;
	run->in_parts = run->written.beside || r->head.flags & XVT_EVENT_F_UNCONFIRMED;
	run->opens = r->decode.opened;
	if (run->opens)
		run->head = r->decode.opened_head;
	r->decode.opened = false;
	if (r->decode.is_lost) {
		run->lost = r->decode.lost;
		run->located = true; /* a LOST record has no piece */
		xvt_ring_pop(r);
	} else {
		run->place = (struct xvt_raw_place){
			.ts_bits = (uint16_t)r->region->g.ts_bits,
			.ts = r->decode.rec.ts, /* the full stamp is its own base */
		};
		run->bytes = r->drain.first->bytes + (r->decode.rec.pos - r->drain.first->pos);
		run->len = (uint32_t)(r->decode.rec.payload - run->bytes) + r->decode.rec.len;
		if (run->id == XVT_ID_FTRACE && r->types && r->decode.rec.len)
			count_type(r->types, r->decode.rec.payload);
		if (xvt_unlikely(run->id == XVT_ID_PANIC))
			note_panic(r);
		run->on_line = find_line(r);
		xvt_ring_pop(r);
		if (run->on_line && is_plain(r)) {
			if (!r->head.flags && !run->written.beside)
				extend(r, run, window_of(r));
			else if (is_guess(r, run))
				extend(r, run, guesses_of(r, run));
		}
		run->line = r->runs.segment;
	}
	run = fit(r->pool, run);
	if (r->runs.last)
		r->runs.last->next = run;
	else
		r->runs.first = run;
	r->runs.last = run;
	return run;
}

void xvt_run_count(const struct xvt_run *run, uint32_t end, uint32_t ring_flags)
{
	struct xvt_ring_stats *st = &run->ring->account.stats;
	uint32_t at = run->at, n;

	/* Only the first record can be one that the ring writes about itself, which is not an
	 * event. */
	at += !at && run->id < XVT_ID_FIRST_EVENT;
	if (at >= end)
		return;
	n = end - at;
	st->events += n;
	if (xvt_unlikely(ring_flags & ~XVT_EVENT_RING_MASK)) {
		if (ring_flags & XVT_EVENT_F_BACKLOG)
			st->backlog += n;
		else if (ring_flags & XVT_EVENT_F_LATE)
			st->late += n;
		if (ring_flags & XVT_EVENT_F_UNCONFIRMED)
			st->unconfirmed += n;
		if (ring_flags & XVT_EVENT_F_RECOVERED)
			st->recovered += n;
	}
	if (!st->first_ns || run->ns[at] < st->first_ns)
		st->first_ns = run->ns[at];
	if (run->ns[end - 1] > st->last_ns)
		st->last_ns = run->ns[end - 1];
}
