// SPDX-License-Identifier: GPL-2.0
/*
 * run.c - records placed ahead of time. ring.c decodes and places one record with all the care
 * that a hostile guest and a clock's borders need. What follows it in the same piece, with short
 * stamps, on one line of the clock and within what the drain saw, needs none of that: the checks
 * that would be the same for each are made once, and the merge gets them as an array.
 */
#include "ring.h"
#include "u64.h"

#include <stdlib.h>

/* Two KiB a ring that has records: with a thousand rings all of it stays in the cache. */
#define RUN_MAX 64u

/* Host times that need no second look. */
struct window {
	uint64_t lo_ns;
	uint64_t hi_ns;
};

/* What place() in ring.c would check of each record, for all that carry the epoch of the last. */
static struct window window_of(const struct xvt_ring *r)
{
	struct xvt_clock_evidence e = xvt_ring_evidence(r, r->reader.epoch, r->first);
	uint64_t floor = e.floor_ns > r->map.slack_ns ? e.floor_ns - r->map.slack_ns : 0;

	/* Older than the attach is a flag of its own, and in an honest ring in the past soon. */
	return (struct window){ floor > r->start_ns ? floor : r->start_ns,
				xvt_u64_sum(e.ceiling_ns, r->map.slack_ns) };
}

static bool head_is_plain(const struct xvt_ring *r, uint32_t flags)
{
	return !flags && !r->salvage && !r->stashed && !r->orphaned && r->first &&
	       r->first->bytes == r->reader.copy && !r->first->salvage && xvt_ring_only_new(r);
}

/* The line of the clock that leads from run[0]'s stamp to its time, if one does. */
static bool find_line(struct xvt_ring *r)
{
	const struct xvt_event_hdr *h = &r->run[0].hdr;

	if (xvt_clock_map_segment(&r->map, h->guest_clock, &r->segment))
		return xvt_clock_segment_ns(&r->segment, h->guest_clock) == h->host_ns;
	return xvt_clock_map_beyond(&r->map, h->guest_clock, h->host_ns, &r->segment);
}

/* All that follow the one in run[0] and are plain. */
static void extend(struct xvt_ring *r)
{
	const struct window w = window_of(r);
	struct xvt_reader reader = r->reader; /* a copy that nobody else can point to: registers */
	struct xvt_placed *to = r->run + r->run_end, *const end = r->run + r->run_room;
	uint64_t header, ts, ns;

	while (to < end && (header = xvt_reader_plain(&reader))) {
		ts = xvt_reader_plain_ts(&reader, header);
		/* Those on another line are another run. */
		if (xvt_unlikely(ts < r->segment.guest || ts > r->segment.guest_end))
			break;
		ns = xvt_clock_segment_ns(&r->segment, ts);
		if (xvt_unlikely(ns < w.lo_ns || ns > w.hi_ns))
			break;
		to->hdr.host_ns = ns;
		to->hdr.guest_clock = ts;
		to->hdr.ring_flags = r->id;
		to->hdr.id = (uint16_t)xvt_header_id(header);
		to->hdr.len = (uint16_t)(xvt_header_len(header) - sizeof(header));
		to->payload = xvt_reader_plain_payload(&reader);
		to += to->hdr.id != XVT_ID_DISCARDED;
		xvt_reader_plain_take(&reader, header, ts);
	}
	r->reader.pos = reader.pos;
	r->reader.ts = reader.ts;
	if (to == r->run + r->run_end)
		return;
	r->since_subbuf += (uint64_t)(to - r->run) - r->run_end;
	r->run_end = (uint32_t)(to - r->run);
	r->last_guest = to[-1].hdr.guest_clock;
	r->last_ns = to[-1].hdr.host_ns;
	if (r->last_guest > r->newest)
		r->newest = r->last_guest;
}

/* Without memory for many it is one at a time. */
static void make_room(struct xvt_ring *r)
{
	r->run = malloc(RUN_MAX * sizeof(*r->run));
	r->run_room = RUN_MAX;
	if (r->run) {
		xvt_pool_count(r->pool, RUN_MAX * sizeof(*r->run), true);
		return;
	}
	r->run = &r->alone;
	r->run_room = 1;
}

void xvt_ring_run_fini(struct xvt_ring *r)
{
	if (r->run && r->run != &r->alone) {
		xvt_pool_uncount(r->pool, RUN_MAX * sizeof(*r->run));
		free(r->run);
	}
	r->run = NULL;
}

bool xvt_ring_refill(struct xvt_ring *r)
{
	if (!xvt_ring_peek(r) || !r->placed)
		return false;
	if (!r->run)
		make_room(r);
	r->run[0] = (struct xvt_placed){
		.hdr = { .host_ns = r->head_ns,
			 .guest_clock = r->rec.ts,
			 .ring_flags = r->id | r->head_flags,
			 .id = (uint16_t)r->rec.id,
			 .len = (uint16_t)r->rec.len },
		.payload = r->rec.payload,
	};
	r->run_pos = r->rec.pos;
	xvt_ring_pop(r);
	r->run_at = 0;
	r->run_end = 1;
	r->on_segment = find_line(r);
	if (r->on_segment && head_is_plain(r, r->head_flags))
		extend(r);
	return true;
}
