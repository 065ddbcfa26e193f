// SPDX-License-Identifier: GPL-2.0
/*
 * decode.c - from the pieces of a ring to its next record, in order: which records an earlier trace
 * has already, and what was lost between two of them. Works on private copies only.
 */
#include "ring/parts.h"

#include <string.h>

void xvt_ring_drop_piece(struct xvt_ring *r)
{
	struct xvt_piece *p = r->first;

	r->first = p->next;
	if (!r->first)
		r->tail = NULL;
	xvt_pool_put(r->pool, p, sizeof(*p) + p->len);
}

/*
 * Overwritten before the first header that is read: what older traces account for stands in its
 * place. Its own writer had counted itself when it was opened.
 */
static void see_base(struct xvt_ring *r)
{
	if (r->seen_valid || r->in_past || r->took_over || r->cut.on ||
	    r->mode != XVT_ENABLE_OVERWRITE)
		return;
	r->seen = (struct xvt_subbuf_hdr){ .attempted = r->base_attempted + 1,
					   .discarded = (uint32_t)r->base_discarded };
	r->seen_valid = true;
}

/* Take the sub-buffer header just read; true when something was lost before it. */
static bool loss_before(struct xvt_ring *r)
{
	const struct xvt_subbuf_hdr *h = &r->reader.subbuf;
	uint64_t sum = 0;
	unsigned int i;

	memset(&r->lost, 0, sizeof(r->lost));
	for (i = 0; i < XVT_LOST_CAUSES; i++) {
		uint32_t delta = h->lost[i] - (uint32_t)r->reported_lost[i];

		/* Counters only grow; "backwards" is a header from before the base. */
		if (delta >> 31)
			delta = 0;
		r->lost.lost[i] = delta;
		r->reported_lost[i] += delta;
		sum += delta;
	}
	if (r->gap_skipped)
		see_base(r);
	/* A snapshot knows what its first sub-buffer's header said, whatever it could read since.
	 */
	if ((r->gap_skipped || (r->cut.on && r->gap_bad_bytes)) && r->seen_valid &&
	    !r->unaccounted_before) {
		/* (Orphans have a reckoning of their own, which this gap is part of.) */
		int64_t passed = (int64_t)(h->attempted - r->seen.attempted);
		int64_t known = (int64_t)(r->since_subbuf + sum +
					  (uint32_t)(h->discarded - r->seen.discarded));

		r->lost.overwritten = passed > known ? (uint64_t)(passed - known) : 0;
	}
	r->lost.bad_bytes = r->gap_bad_bytes;
	r->lost.rolled_back = r->gap_rolled_back;
	sum += r->lost.overwritten + r->lost.bad_bytes + r->lost.rolled_back + r->gap_skipped;
	r->gap_skipped = false;
	r->gap_rolled_back = false;
	r->gap_bad_bytes = 0;
	r->seen = *h;
	r->seen_valid = true;
	r->since_subbuf = 0;
	return sum != 0;
}

/* The rest of this sub-buffer cannot be read: count it, go on at the next. */
static void unreadable(struct xvt_ring *r)
{
	uint64_t from = r->reader.pos, next;

	xvt_fault_text(&r->reader.fault, r->fault, sizeof(r->fault));
	r->fault_new = true;
	next = xvt_reader_skip(&r->reader);
	r->epoch_known = false;
	while (r->first && xvt_pos_before(r->first->pos, next)) {
		uint64_t end = r->first->pos + r->first->len;

		if (xvt_pos_before(from, end)) {
			r->gap_bad_bytes += end - from;
			r->stats.bad_bytes += end - from;
			from = end;
		}
		xvt_ring_drop_piece(r);
	}
}

/* The next piece, or the same one with its reader at the end. */
static bool feed(struct xvt_ring *r)
{
	struct xvt_piece *p = r->first;

	if (p && r->reader.copy == p->bytes) {
		xvt_ring_drop_piece(r);
		/* Salvage stops where no record is, which may be before the piece's end: the rest
		 * of it goes too, or the next look would read where nothing is any more. */
		xvt_reader_feed(&r->reader, NULL, 0);
		p = r->first;
	}
	if (!p)
		return false;
	if (p->after_roll_back) {
		r->past = p->past;
		r->past.newest = r->newest;
		r->in_past = true;
		memcpy(r->reported_lost, r->past.reported_lost, sizeof(r->reported_lost));
		r->skip_until = r->past.skip_until;
		r->seen_valid = false;
		r->since_subbuf = 0;
	}
	if (p->pos != r->reader.pos) {
		r->reader.pos = p->pos; /* a gap; pieces start at records or at sub-buffers */
		r->epoch_known = false;
	}
	/* In stop mode the drain clears what it has read; in overwrite mode it does not. */
	r->reader.salvage = !p->salvage			 ? XVT_SALVAGE_NO
			    : r->mode == XVT_ENABLE_STOP ? XVT_SALVAGE_CLEARED
							 : XVT_SALVAGE_STOP;
	r->gap_skipped |= p->after_skip;
	r->gap_rolled_back |= p->after_roll_back;
	xvt_reader_feed(&r->reader, p->bytes, p->len);
	return true;
}

/* Host time of a stamp on the last node's line; 0 without one. */
static uint64_t roughly_ns(const struct xvt_ring *r, uint64_t guest)
{
	const struct xvt_clock_node *last = xvt_clock_map_last(&r->map);
	const uint64_t ticks = last ? guest - last->guest : 0;

	if (!last || ticks >> 63)
		return 0;
	return last->host_ns + (uint64_t)((unsigned __int128)ticks * 1000000000u / r->map.hz);
}

/*
 * What lies behind a record may be of an older past than the record: a newer copy has brought it
 * back. Its low bits then seem to be of the future, and the epoch before it is not its own. Both
 * are good again at the next full stamp.
 */
static void mend_context(struct xvt_ring *r)
{
	const uint64_t turn = 1ull << r->region->g.ts_bits, late = r->first->ceiling_ns;

	if (!r->in_past || r->rec.full ||
	    roughly_ns(r, r->rec.ts) <= late + r->map.slack_ns + xvt_clock_creep_ns(0))
		return;
	r->reader.ts -= turn;
	r->rec.ts = r->reader.ts;
	r->epoch_known = false;
}

/*
 * May it have been delivered before the memory went back? It has not if it carries an epoch that
 * was asked for since, or is younger than all that was, or if the ring was at rest when the copy
 * was made, so that the guest wrote it since.
 */
static bool maybe_old(const struct xvt_ring *r)
{
	const struct xvt_past *past = &r->past;

	if (xvt_pos_before(r->rec.pos, r->skip_until))
		return true;
	if (!r->in_past || xvt_pos_before(r->rec.pos, past->proven_until) ||
	    (r->epoch_known && (int32_t)(r->rec.epoch - past->epoch) >= 0))
		return false;
	/* What lies between them was never delivered, but its turn is over. */
	return r->rec.ts <= past->newest || r->rec.ts < r->newest;
}

/* The same of a record. And the ring's counters are another past's, too: each event that is
 * delivered was attempted once, whichever of the two had it. */
static bool is_old(struct xvt_ring *r)
{
	const struct xvt_past *past = &r->past;
	const uint32_t n = r->rec.id >= XVT_ID_FIRST_EVENT;
	const bool old = maybe_old(r);

	if (r->in_past && !old && xvt_pos_before(r->rec.pos, past->counted_from))
		r->base_attempted -= n;
	/* A newer copy has brought it back, with the counters of its time. */
	if (r->in_past && old && !xvt_pos_before(r->rec.pos, past->seen_until))
		r->base_attempted += n;
	if (!old && r->rec.ts > r->newest)
		r->newest = r->rec.ts;
	return old;
}

bool xvt_ring_only_new(const struct xvt_ring *r)
{
	const struct xvt_past *past = &r->past;

	if (xvt_pos_before(r->reader.pos, r->skip_until))
		return false;
	return !r->in_past ||
	       (r->reader.ts > past->newest && !xvt_pos_before(r->reader.pos, past->counted_from) &&
		!xvt_pos_before(r->reader.pos, past->seen_until));
}

/*
 * Between what the trace files account for and the first record that is ours lies what a recorder
 * that died had taken. How much, the counters in a sub-buffer's header tell: they stood so when it
 * was opened, by the writer of its first record, which had counted itself.
 */
static void unaccounted_at_header(struct xvt_ring *r)
{
	const struct xvt_subbuf_hdr *h = &r->reader.subbuf;
	unsigned int i;

	r->unaccounted = h->attempted - r->base_attempted;
	r->unaccounted -= (uint64_t)(int32_t)(h->discarded - (uint32_t)r->base_discarded);
	for (i = 0; i < XVT_LOST_CAUSES; i++)
		r->unaccounted -= (uint64_t)(int32_t)(h->lost[i] - (uint32_t)r->base_lost[i]);
	r->unaccounted_known = r->unaccounted_opened = true;
}

static void unaccounted_at_record(struct xvt_ring *r, bool old)
{
	const bool event = r->rec.kind == XVT_REC_RECORD && r->rec.id >= XVT_ID_FIRST_EVENT;

	if (r->unaccounted_opened && (event || r->rec.kind == XVT_REC_DISCARDED))
		r->unaccounted--;
	r->unaccounted_opened = false;
	r->unaccounted += old && event;
}

/* The record in hand is the first of ours: were there orphans? Then that is told before it. */
static void end_unaccounted(struct xvt_ring *r)
{
	uint64_t sum;
	unsigned int i;

	r->unaccounted_before = false;
	sum = r->last.attempted - r->base_attempted - (r->last.discarded - r->base_discarded);
	for (i = 0; i < XVT_LOST_CAUSES; i++)
		sum -= r->last.lost[i] - r->base_lost[i];
	if (!r->unaccounted_known || !r->unaccounted || r->unaccounted >> 63 ||
	    r->unaccounted > sum)
		return; /* none; or the guest's own idea */
	r->stash = r->rec;
	r->stashed = true;
	memset(&r->lost, 0, sizeof(r->lost));
	r->lost.overwritten = r->unaccounted;
	r->is_lost = true;
	r->rec.id = XVT_ID_LOST;
	r->rec.payload = (const uint8_t *)&r->lost;
	r->rec.len = sizeof(r->lost);
}

bool xvt_ring_decode(struct xvt_ring *r)
{
	if (r->stashed) {
		r->rec = r->stash;
		r->stashed = r->is_lost = false;
		return true;
	}
	for (;;) {
		int err = xvt_reader_next(&r->reader, &r->rec);

		if (err == 0) {
			if (!feed(r))
				return false;
			continue;
		}
		if (err < 0) {
			unreadable(r);
			r->reader.copy = NULL;
			if (!feed(r))
				return false;
			continue;
		}
		r->epoch_known |= r->rec.full;
		switch (r->rec.kind) {
		case XVT_REC_SUBBUF:
			if (r->unaccounted_before)
				unaccounted_at_header(r);
			if (maybe_old(r)) {
				r->seen = r->reader.subbuf;
				r->seen_valid = true;
				r->since_subbuf = 0;
				continue;
			}
			r->is_lost = loss_before(r);
			if (!r->is_lost)
				continue;
			r->rec.id = XVT_ID_LOST;
			r->rec.payload = (const uint8_t *)&r->lost;
			r->rec.len = sizeof(r->lost);
			return true;
		case XVT_REC_INFLIGHT:
			r->unfinished++;
			continue;
		case XVT_REC_DISCARDED:
			if (r->unaccounted_before)
				unaccounted_at_record(r, false);
			continue;
		case XVT_REC_RECORD: {
			bool old;

			mend_context(r);
			old = is_old(r);
			if (r->unaccounted_before)
				unaccounted_at_record(r, old);
			/* Also those that an earlier trace has: the header before them had not. */
			r->since_subbuf += r->rec.id >= XVT_ID_FIRST_EVENT;
			if (old)
				continue;
			if (r->rec.id < XVT_ID_FIRST_EVENT && r->rec.id != XVT_ID_CLOCK_SYNC &&
			    r->rec.id != XVT_ID_MARK) {
				/* A guest may not speak in the host's name (LOST). */
				r->gap_bad_bytes += r->rec.len;
				r->stats.bad_bytes += r->rec.len;
				continue;
			}
			r->is_lost = false;
			if (r->unaccounted_before)
				end_unaccounted(r);
			return true;
		}
		}
	}
}
