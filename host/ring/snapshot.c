// SPDX-License-Identifier: GPL-2.0
/*
 * snapshot.c - what a snapshot takes of one ring: its data from the oldest whole sub-buffer to the
 * cut. Meanwhile the writer goes on and overwrites the oldest data. Nothing in the region is
 * changed.
 *
 * The counters cover that window, not the ring's life. The counters in the header of its first
 * sub-buffer give its beginning. This header is read before the data, so data overwritten before it
 * could be copied is counted, too. The events themselves, and the counters as loaded just before
 * the cut, give its end. `attempted` is the sum over the window's events; the writer's own counter
 * has no value for the moment of the cut.
 */
#include "ring/ring.h"

#include "base/u64.h"

/* Copies the sub-buffer header at `pos`, each word loaded once. Returns false if it is not a header
 * of this lap. */
static bool header_at(const struct xvt_ring *r, uint64_t pos, struct xvt_subbuf_hdr *h)
{
	const struct xvt_geometry *g = &r->region->g;
	const uint64_t *from = (const uint64_t *)(r->region->map + xvt_data_off(g, r->index) +
						  xvt_pos_off(g, pos));
	uint64_t words[sizeof(*h) / sizeof(uint64_t)];
	unsigned int i;

	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		words[i] = xvt_load(&from[i]);
	memcpy(h, words, sizeof(*h));
	return h->magic == XVT_SUBBUF_MAGIC && h->hdr_len == sizeof(*h) &&
	       h->seq == pos >> g->subbuf_shift;
}

/* True if the writer may have begun to overwrite the sub-buffer at `pos`. */
static bool gone(const struct xvt_ring *r, uint64_t pos)
{
	const struct xvt_geometry *g = &r->region->g;

	/* orders the loads of the header before this load of resv; pairs with the writer's
	 * xvt_wmb() */
	xvt_rmb();
	return xvt_resv_pos(r->snapshot.look.backend, g->subbuf_shift,
			    xvt_load_acquire(&r->ctl->resv)) -
		       pos >
	       g->ring_size;
}

/* Finds the oldest sub-buffer with a header. In stop mode those that an earlier recorder took were
 * cleared, and have none. */
static bool find_oldest(const struct xvt_ring *r, uint64_t *pos, struct xvt_subbuf_hdr *h)
{
	const struct xvt_geometry *g = &r->region->g;
	const struct xvt_ring_words *look = &r->snapshot.look;
	uint64_t newest = look->resv - look->commit <= g->ring_size ? look->resv : look->commit;

	for (*pos = xvt_pos_roundup(g, newest) - g->ring_size; xvt_pos_before(*pos, look->commit);
	     *pos += g->subbuf_size) {
		if (header_at(r, *pos, h) && !gone(r, *pos))
			return true;
	}
	return false;
}

/*
 * Returns true if the sub-buffer's first record is from before from_ns, whatever the clock may be
 * wrong by. The record is placed as all records older than the snapshot's measurements are: by the
 * first of these.
 */
static bool begins_before(const struct xvt_ring *r, const struct xvt_subbuf_hdr *h,
			  uint64_t from_ns)
{
	const struct xvt_clock_map *m = &r->clock.map;
	const struct xvt_clock_node *n = m->nodes;
	const bool later = (int64_t)(h->ts_base - n->guest) > 0;
	const uint64_t ns =
		xvt_ticks_ns(later ? h->ts_base - n->guest : n->guest - h->ts_base, m->hz);
	const uint64_t doubt_ns = n->bound_ns + xvt_clock_creep_ns(ns);

	if (doubt_ns > from_ns)
		return false;
	from_ns -= doubt_ns;
	return later ? ns < from_ns && n->host_ns < from_ns - ns
		     : ns > n->host_ns || n->host_ns - ns < from_ns;
}

/* Moves from the oldest sub-buffer, at *pos, to the last one that begins before from_ns. */
static void leave_out(const struct xvt_ring *r, uint64_t from_ns, uint64_t *pos,
		      struct xvt_subbuf_hdr *h)
{
	const struct xvt_geometry *g = &r->region->g;
	struct xvt_subbuf_hdr next;
	uint64_t at;

	if (!r->clock.map.count)
		return;
	for (at = *pos + g->subbuf_size; xvt_pos_before(at, r->snapshot.look.commit);
	     at += g->subbuf_size) {
		if (!header_at(r, at, &next) || gone(r, at) || !begins_before(r, &next, from_ns))
			return;
		*pos = at;
		*h = next;
	}
}

/* Moves on from the sub-buffer at *pos until no more than `most` bytes are left, or one sub-buffer.
 */
static void leave_most(const struct xvt_ring *r, uint64_t most, uint64_t *pos,
		       struct xvt_subbuf_hdr *h)
{
	const struct xvt_geometry *g = &r->region->g;
	const uint64_t commit = r->snapshot.look.commit;
	struct xvt_subbuf_hdr next;
	uint64_t at;

	for (at = *pos + g->subbuf_size; commit - *pos > most && xvt_pos_before(at, commit);
	     at += g->subbuf_size) {
		if (!header_at(r, at, &next) || gone(r, at))
			continue;
		*pos = at;
		*h = next;
	}
}

/* Extends `then`, the low half of a counter at an earlier time, by the counter's value `now`. */
static uint64_t whole_counter(uint64_t now, uint32_t then)
{
	return now - (uint32_t)((uint32_t)now - then);
}

/*
 * The ring was found before its clock was measured, and is copied after that. The clock may have
 * been set back before: what was written then has values that lie between the measurements, and
 * only the look that found it shows that it is older.
 */
static void keep_found(struct xvt_ring *r)
{
	const struct xvt_ring_drain *d = &r->drain;
	struct xvt_ring_snapshot *c = &r->snapshot;

	/* The guest's words at that look were not checked. */
	if (d->found_pos & 7 || d->last.generation != c->look.generation ||
	    xvt_pos_before(c->look.commit, d->found_pos))
		return;
	c->found_pos = d->found_pos;
	c->found_clock = d->found_clock;
}

bool xvt_ring_snapshot_begin(struct xvt_ring *r, uint64_t from_ns, uint64_t most)
{
	struct xvt_ring_drain *d = &r->drain;
	struct xvt_ring_snapshot *c = &r->snapshot;
	struct xvt_subbuf_hdr h;
	unsigned int i;
	bool held;

	memset(c, 0, sizeof(*c));
	xvt_ring_words(r->ctl, &r->region->g, &c->look);
	c->look_clock = xvt_clock_read_ordered();
	keep_found(r);
	held = find_oldest(r, &d->read_pos, &h);
	if (held && from_ns)
		leave_out(r, from_ns, &d->read_pos, &h);
	if (held && most)
		leave_most(r, most, &d->read_pos, &h);
	if (!held) {
		d->read_pos = xvt_pos_trunc(&r->region->g, c->look.commit);
		h.attempted = c->look.attempted + 1;
		h.discarded = (uint32_t)c->look.discarded;
		for (i = 0; i < XVT_LOST_CAUSES; i++)
			h.lost[i] = (uint32_t)c->look.lost[i];
	}
	d->last = c->look;
	d->skipped = false; /* a flight recorder's older data is not a loss */
	r->decode.skip_until = d->clear_pos = d->read_pos;
	d->generation = d->entered = xvt_ring_generation_at(r, d->read_pos);
	xvt_reader_init(&r->decode.reader, &r->region->g, d->read_pos);
	r->decode.seen = h;
	r->decode.seen_valid = held;
	/* the event that opened the sub-buffer is counted in its header */
	c->base_attempted = h.attempted - 1;
	c->base_discarded = whole_counter(c->look.discarded, h.discarded);
	for (i = 0; i < XVT_LOST_CAUSES; i++)
		c->base_lost[i] = r->account.base_lost[i] = r->account.reported_lost[i] =
			whole_counter(c->look.lost[i], h.lost[i]);
	c->on = true;
	return held;
}

void xvt_ring_snapshot_reported(struct xvt_ring *r, const struct xvt_lost *lost)
{
	unsigned int i;

	for (i = 0; i < XVT_LOST_CAUSES; i++)
		r->snapshot.reported.lost[i] += lost->lost[i];
	r->snapshot.reported.overwritten += lost->overwritten;
}

void xvt_ring_snapshot_tail(const struct xvt_ring *r, struct xvt_lost *lost)
{
	const struct xvt_ring_snapshot *c = &r->snapshot;
	unsigned int i;

	memset(lost, 0, sizeof(*lost));
	for (i = 0; i < XVT_LOST_CAUSES; i++) {
		lost->lost[i] = c->look.lost[i] - c->base_lost[i] - c->reported.lost[i];
		if (lost->lost[i] >> 63) /* a header of the same moment held a later value */
			lost->lost[i] = 0;
	}
}

void xvt_ring_snapshot_account(struct xvt_ring *r)
{
	const struct xvt_ring_snapshot *c = &r->snapshot;
	const uint32_t nest = c->frozen ? c->look.nest : r->drain.last.nest;
	struct xvt_ring_stats *s = &r->account.stats;
	uint64_t known, passed = c->look.attempted - c->base_attempted;
	unsigned int i;

	s->discarded = c->look.discarded - c->base_discarded;
	s->nest = s->in_flight = c->whole || nest > XVT_MAXNEST + 1 ? 0 : nest;
	known = s->events + s->discarded + s->dropped + s->in_flight;
	for (i = 0; i < XVT_LOST_CAUSES; i++) {
		s->lost[i] = c->reported.lost[i];
		known += s->lost[i];
	}
	s->overwritten = c->reported.overwritten;
	/* Overrun up to the cut: no header gives the number of events overwritten, so it is taken
	 * from the counters at the cut. */
	if (c->hole && (int64_t)(passed - known - s->overwritten) > 0)
		s->overwritten = passed - known;
	s->attempted = known + s->overwritten;
}
