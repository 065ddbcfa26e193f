// SPDX-License-Identifier: GPL-2.0
/*
 * snapshot.c - what a snapshot takes of one ring: from its oldest whole sub-buffer to the cut. The
 * writer goes on meanwhile, over the oldest end. Nothing in the region is changed.
 *
 * What is counted is that window and not the ring's life. Its beginning is known by the counters in
 * the header of its first sub-buffer, read before anything else is: so what the writer overwrote
 * before it could be copied is known too. Its end is known by the events themselves, and by the
 * counters as they stood just before the moment of the cut. attempted is the sum of what became of
 * the window's events; the writer's own counter of attempts has no value for that moment.
 */
#include "ring/ring.h"

/* Each word once: a copy of what says to be the header of the sub-buffer at pos, of this lap. */
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

/* Has the writer begun to use its bytes again? */
static bool gone(const struct xvt_ring *r, uint64_t pos)
{
	const struct xvt_geometry *g = &r->region->g;

	xvt_rmb(); /* the header before this look at resv; pairs with the writer's xvt_wmb() */
	return xvt_resv_pos(r->cut.look.backend, g->subbuf_shift, xvt_load_acquire(&r->ctl->resv)) -
		       pos >
	       g->ring_size;
}

/* The oldest sub-buffer that has a header. What an earlier recorder took in stop mode has none. */
static bool find_oldest(const struct xvt_ring *r, uint64_t *pos, struct xvt_subbuf_hdr *h)
{
	const struct xvt_geometry *g = &r->region->g;
	const struct xvt_ring_snapshot *look = &r->cut.look;
	uint64_t newest = look->resv - look->commit <= g->ring_size ? look->resv : look->commit;

	for (*pos = xvt_pos_roundup(g, newest) - g->ring_size; xvt_pos_before(*pos, look->commit);
	     *pos += g->subbuf_size) {
		if (header_at(r, *pos, h) && !gone(r, *pos))
			return true;
	}
	return false;
}

/* The 64-bit counter of which a header has the low half. */
static uint64_t whole_counter(uint64_t now, uint32_t then)
{
	return now - (uint32_t)((uint32_t)now - then);
}

bool xvt_ring_cut(struct xvt_ring *r)
{
	struct xvt_ring_cut *c = &r->cut;
	struct xvt_subbuf_hdr h;
	unsigned int i;
	bool held;

	memset(c, 0, sizeof(*c));
	xvt_ring_snapshot(r->ctl, &r->region->g, &c->look);
	c->look_clock = xvt_clock_read_ordered();
	held = find_oldest(r, &r->read_pos, &h);
	if (!held) {
		r->read_pos = xvt_pos_trunc(&r->region->g, c->look.commit);
		h.attempted = c->look.attempted + 1;
		h.discarded = (uint32_t)c->look.discarded;
		for (i = 0; i < XVT_LOST_CAUSES; i++)
			h.lost[i] = (uint32_t)c->look.lost[i];
	}
	r->last = c->look;
	r->skipped = false; /* what was there before is no loss of a flight recorder */
	r->skip_until = r->clear_pos = r->read_pos;
	r->generation = r->entered = xvt_ring_generation_at(r, r->read_pos);
	xvt_reader_init(&r->reader, &r->region->g, r->read_pos);
	r->seen = h;
	r->seen_valid = held;
	c->base_attempted = h.attempted - 1; /* the event that opened the sub-buffer is in it */
	c->base_discarded = whole_counter(c->look.discarded, h.discarded);
	for (i = 0; i < XVT_LOST_CAUSES; i++)
		c->base_lost[i] = r->base_lost[i] = r->told_lost[i] =
			whole_counter(c->look.lost[i], h.lost[i]);
	c->on = true;
	return held;
}

void xvt_ring_cut_told(struct xvt_ring *r, const struct xvt_lost *lost)
{
	unsigned int i;

	for (i = 0; i < XVT_LOST_CAUSES; i++)
		r->cut.told.lost[i] += lost->lost[i];
	r->cut.told.overwritten += lost->overwritten;
}

void xvt_ring_cut_tail(const struct xvt_ring *r, struct xvt_lost *lost)
{
	const struct xvt_ring_cut *c = &r->cut;
	unsigned int i;

	memset(lost, 0, sizeof(*lost));
	for (i = 0; i < XVT_LOST_CAUSES; i++) {
		lost->lost[i] = c->look.lost[i] - c->base_lost[i] - c->told.lost[i];
		if (lost->lost[i] >> 63) /* a header of the same moment knew more */
			lost->lost[i] = 0;
	}
}

void xvt_ring_cut_account(struct xvt_ring *r)
{
	const struct xvt_ring_cut *c = &r->cut;
	const uint32_t nest = c->frozen ? c->look.nest : r->last.nest;
	struct xvt_ring_stats *s = &r->stats;
	uint64_t known, passed = c->look.attempted - c->base_attempted;
	unsigned int i;

	s->discarded = c->look.discarded - c->base_discarded;
	s->nest = s->in_flight = c->whole || nest > XVT_MAXNEST + 1 ? 0 : nest;
	known = s->events + s->discarded + s->in_flight;
	for (i = 0; i < XVT_LOST_CAUSES; i++) {
		s->lost[i] = c->told.lost[i];
		known += s->lost[i];
	}
	s->overwritten = c->told.overwritten;
	/* Overtaken up to the cut: no header before it says how much that was, but the counters
	 * of that moment do. */
	if (c->hole && (int64_t)(passed - known - s->overwritten) > 0)
		s->overwritten = passed - known;
	s->attempted = known + s->overwritten;
}
