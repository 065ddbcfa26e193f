// SPDX-License-Identifier: GPL-2.0
/*
 * decode.c - from the pieces of a ring to its next record, in order: which records an earlier trace
 * has already, and what was lost between two of them. Works on private copies only.
 */
#include "ring/parts.h"

#include <string.h>

#include "base/u64.h"

void xvt_ring_drop_piece(struct xvt_ring *r)
{
	struct xvt_piece *p = r->drain.first;

	r->drain.first = p->next;
	if (!r->drain.first)
		r->drain.tail = NULL;
	xvt_pool_put(r->pool, p, sizeof(*p) + p->len);
}

/*
 * Overwritten before the first header that is read: what older traces account for stands in its
 * place. The writer itself had been counted when it was opened.
 */
static void see_base(struct xvt_ring *r)
{
	struct xvt_ring_decode *d = &r->decode;

	if (d->seen_valid || d->in_past || r->account.took_over || r->snapshot.on ||
	    r->mode != XVT_ENABLE_OVERWRITE)
		return;
	d->seen = (struct xvt_subbuf_hdr){ .attempted = r->account.base_attempted + 1,
					   .discarded = (uint32_t)r->account.base_discarded };
	d->seen_valid = true;
}

/* Take the sub-buffer header just read; true when something was lost before it. */
static bool loss_before(struct xvt_ring *r)
{
	struct xvt_ring_decode *d = &r->decode;
	const struct xvt_subbuf_hdr *h = &d->reader.subbuf;
	uint64_t sum = 0;
	unsigned int i;

	memset(&d->lost, 0, sizeof(d->lost));
	for (i = 0; i < XVT_LOST_CAUSES; i++) {
		uint32_t delta = h->lost[i] - (uint32_t)r->account.reported_lost[i];

		/* Counters only grow; "backwards" is a header from before the base. */
		if (delta >> 31)
			delta = 0;
		d->lost.lost[i] = delta;
		r->account.reported_lost[i] += delta;
		sum += delta;
	}
	if (d->gap_skipped)
		see_base(r);
	/* A snapshot knows what its first sub-buffer's header said, whatever it could read since.
	 */
	if ((d->gap_skipped || (r->snapshot.on && d->gap_bad_bytes)) && d->seen_valid &&
	    !d->unaccounted_before) {
		/* (Orphans have a reckoning of their own, which this gap is part of.) */
		int64_t passed = (int64_t)(h->attempted - d->seen.attempted);
		int64_t known = (int64_t)(d->since_subbuf + sum +
					  (uint32_t)(h->discarded - d->seen.discarded));

		d->lost.overwritten = passed > known ? (uint64_t)(passed - known) : 0;
	}
	d->lost.bad_bytes = d->gap_bad_bytes;
	d->lost.rolled_back = d->gap_rolled_back;
	sum += d->lost.overwritten + d->lost.bad_bytes + d->lost.rolled_back + d->gap_skipped;
	d->gap_skipped = false;
	d->gap_rolled_back = false;
	d->gap_bad_bytes = 0;
	d->seen = *h;
	d->seen_valid = true;
	d->since_subbuf = 0;
	return sum != 0;
}

/* Whether an earlier recorder has told of losses that this header does not count yet. */
static bool is_before_base(const struct xvt_ring *r, const struct xvt_subbuf_hdr *h)
{
	for (unsigned int i = 0; i < XVT_LOST_CAUSES; i++)
		if ((int32_t)((uint32_t)r->account.base_lost[i] - h->lost[i]) > 0)
			return true;
	return false;
}

/*
 * Keeps the counters of the sub-buffer header just read, for the trace. Of those that salvage
 * reads, of those behind which records may be old, and of those from before the base, the records
 * of the trace are not the whole.
 */
static void note_header(struct xvt_ring *r)
{
	struct xvt_ring_decode *d = &r->decode;
	const struct xvt_subbuf_hdr *h = &d->reader.subbuf;
	const bool whole = d->reader.salvage == XVT_SALVAGE_NO && xvt_ring_only_new(r);
	bool first = d->row_ends || d->gap_skipped || d->gap_rolled_back || d->gap_bad_bytes ||
		     !d->seen_valid || h->generation != d->seen.generation;

	d->row_ends = !whole || is_before_base(r, h);
	if (!whole)
		return;
	first |= d->opened && d->opened_head.flags & XVT_HEAD_F_FIRST;
	d->opened = true;
	d->opened_head = (struct xvt_subbuf_head){ .ring = r->id,
						   .flags = first ? XVT_HEAD_F_FIRST : 0,
						   .pos = d->rec.pos,
						   .attempted = h->attempted,
						   .discarded = h->discarded };
	memcpy(d->opened_head.lost, h->lost, sizeof(h->lost));
}

/* The rest of this sub-buffer cannot be read: count it, go on at the next. */
static void unreadable(struct xvt_ring *r)
{
	struct xvt_ring_decode *d = &r->decode;
	uint64_t from = d->reader.pos, next;

	xvt_fault_text(&d->reader.fault, r->fault.text, sizeof(r->fault.text));
	r->fault.is_new = true;
	next = xvt_reader_skip(&d->reader);
	d->epoch_known = false;
	while (r->drain.first && xvt_pos_before(r->drain.first->pos, next)) {
		uint64_t end = r->drain.first->pos + r->drain.first->len;

		if (xvt_pos_before(from, end)) {
			d->gap_bad_bytes += end - from;
			r->account.stats.bad_bytes += end - from;
			from = end;
		}
		xvt_ring_drop_piece(r);
	}
}

/* The next piece, or the same one with its reader at the end. */
static bool feed(struct xvt_ring *r)
{
	struct xvt_ring_decode *d = &r->decode;
	struct xvt_piece *p = r->drain.first;

	if (p && d->reader.copy == p->bytes) {
		xvt_ring_drop_piece(r);
		/* Salvage stops where no record is, which may be before the piece's end: the rest
		 * of it goes too, or the next look would read where nothing is any more. */
		xvt_reader_feed(&d->reader, NULL, 0);
		p = r->drain.first;
	}
	if (!p)
		return false;
	if (p->after_roll_back) {
		d->past = p->past;
		d->past.newest = d->newest;
		d->in_past = true;
		memcpy(r->account.reported_lost, d->past.reported_lost,
		       sizeof(r->account.reported_lost));
		d->skip_until = d->past.skip_until;
		d->seen_valid = false;
		d->since_subbuf = 0;
	}
	if (p->pos != d->reader.pos) {
		d->reader.pos = p->pos; /* a gap; pieces start at records or at sub-buffers */
		d->epoch_known = false;
	}
	/* In stop mode the drain clears what it has read; in overwrite mode it does not. */
	d->reader.salvage = !p->salvage			 ? XVT_SALVAGE_NO
			    : r->mode == XVT_ENABLE_STOP ? XVT_SALVAGE_CLEARED
							 : XVT_SALVAGE_STOP;
	d->gap_skipped |= p->after_skip;
	d->gap_rolled_back |= p->after_roll_back;
	xvt_reader_feed(&d->reader, p->bytes, p->len);
	return true;
}

/* Host time of a stamp on the last node's line; 0 without one. */
static uint64_t roughly_ns(const struct xvt_ring *r, uint64_t guest)
{
	const struct xvt_clock_node *last = xvt_clock_map_last(&r->clock.map);
	const uint64_t ticks = last ? guest - last->guest : 0;

	if (!last || ticks >> 63)
		return 0;
	return last->host_ns + xvt_ticks_ns(ticks, r->clock.map.hz);
}

/*
 * What lies behind a record may be of an older past than the record: a newer copy has brought it
 * back. Its low bits then seem to be of the future, and the epoch before it is not its own. Both
 * are good again at the next full stamp.
 */
static void mend_context(struct xvt_ring *r)
{
	struct xvt_ring_decode *d = &r->decode;
	const uint64_t turn = 1ull << r->region->g.ts_bits, late = r->drain.first->ceiling_ns;

	if (!d->in_past || d->rec.full ||
	    roughly_ns(r, d->rec.ts) <= late + r->clock.map.slack_ns + xvt_clock_creep_ns(0))
		return;
	d->reader.ts -= turn;
	d->rec.ts = d->reader.ts;
	d->epoch_known = false;
}

/*
 * May it have been delivered before the memory went back? It has not if it carries an epoch that
 * was asked for since, or is younger than all that was, or if the ring was idle when the copy was
 * made, so that the guest wrote it since.
 */
static bool maybe_old(const struct xvt_ring *r)
{
	const struct xvt_ring_decode *d = &r->decode;
	const struct xvt_past *past = &d->past;

	if (xvt_pos_before(d->rec.pos, d->skip_until))
		return true;
	if (!d->in_past || xvt_pos_before(d->rec.pos, past->proven_until) ||
	    (d->epoch_known && (int32_t)(d->rec.epoch - past->epoch) >= 0))
		return false;
	/* Records between them were never delivered, and are not delivered late. */
	return d->rec.ts <= past->newest || d->rec.ts < d->newest;
}

/* The same of a record. And the ring's counters are another past's, too: each event that is
 * delivered was attempted once, whichever of the two had it. */
static bool is_old(struct xvt_ring *r)
{
	struct xvt_ring_decode *d = &r->decode;
	const struct xvt_past *past = &d->past;
	const uint32_t n = d->rec.id >= XVT_ID_FIRST_EVENT;
	const bool old = maybe_old(r);

	if (d->in_past && !old && xvt_pos_before(d->rec.pos, past->counted_from))
		r->account.base_attempted -= n;
	/* A newer copy has brought it back, with the counters of its time. */
	if (d->in_past && old && !xvt_pos_before(d->rec.pos, past->seen_until))
		r->account.base_attempted += n;
	if (!old && d->rec.ts > d->newest)
		d->newest = d->rec.ts;
	return old;
}

bool xvt_ring_only_new(const struct xvt_ring *r)
{
	const struct xvt_ring_decode *d = &r->decode;
	const struct xvt_past *past = &d->past;

	if (xvt_pos_before(d->reader.pos, d->skip_until))
		return false;
	return !d->in_past ||
	       (d->reader.ts > past->newest && !xvt_pos_before(d->reader.pos, past->counted_from) &&
		!xvt_pos_before(d->reader.pos, past->seen_until));
}

/*
 * Between what the trace files account for and the first record that is ours lies what a recorder
 * that died had taken. How much, the counters in a sub-buffer's header tell: they stood so when it
 * was opened, by the writer of its first record, which had counted itself.
 */
static void unaccounted_at_header(struct xvt_ring *r)
{
	struct xvt_ring_decode *d = &r->decode;
	const struct xvt_subbuf_hdr *h = &d->reader.subbuf;
	unsigned int i;

	d->unaccounted = h->attempted - r->account.base_attempted;
	d->unaccounted -= (uint64_t)(int32_t)(h->discarded - (uint32_t)r->account.base_discarded);
	for (i = 0; i < XVT_LOST_CAUSES; i++)
		d->unaccounted -=
			(uint64_t)(int32_t)(h->lost[i] - (uint32_t)r->account.base_lost[i]);
	d->unaccounted_known = d->unaccounted_opened = true;
}

static void unaccounted_at_record(struct xvt_ring *r, bool old)
{
	struct xvt_ring_decode *d = &r->decode;
	const bool event = d->rec.kind == XVT_REC_RECORD && d->rec.id >= XVT_ID_FIRST_EVENT;

	if (d->unaccounted_opened && (event || d->rec.kind == XVT_REC_DISCARDED))
		d->unaccounted--;
	d->unaccounted_opened = false;
	d->unaccounted += old && event;
}

/* Gives a LOST record before the record in hand, which comes next. */
static void give_lost(struct xvt_ring_decode *d)
{
	d->stash = d->rec;
	d->stashed = true;
	memset(&d->lost, 0, sizeof(d->lost));
	d->is_lost = true;
	d->rec.id = XVT_ID_LOST;
	d->rec.payload = (const uint8_t *)&d->lost;
	d->rec.len = sizeof(d->lost);
}

/* The record in hand is the first of ours: unaccounted ones are reported before it. */
static void end_unaccounted(struct xvt_ring *r)
{
	struct xvt_ring_decode *d = &r->decode;
	uint64_t sum;
	unsigned int i;

	d->unaccounted_before = false;
	sum = r->drain.last.attempted - r->account.base_attempted -
	      (r->drain.last.discarded - r->account.base_discarded);
	for (i = 0; i < XVT_LOST_CAUSES; i++)
		sum -= r->drain.last.lost[i] - r->account.base_lost[i];
	if (!d->unaccounted_known || !d->unaccounted || d->unaccounted >> 63 ||
	    d->unaccounted > sum)
		return; /* none; or the guest's own idea */
	give_lost(d);
	d->lost.overwritten = d->unaccounted;
}

/* The record in hand is the first new one behind a rollback, in a sub-buffer whose header is not
 * new: from here on positions are another past's, which the trace tells before the record. */
static void tell_rollback(struct xvt_ring_decode *d)
{
	if (!d->stashed)
		give_lost(d);
	d->lost.rolled_back = 1;
	d->gap_rolled_back = false;
	d->row_ends = true;
}

/* Takes the sub-buffer header just read. Returns true if a LOST record stands before its records.
 */
static bool take_header(struct xvt_ring *r)
{
	struct xvt_ring_decode *d = &r->decode;

	if (d->unaccounted_before)
		unaccounted_at_header(r);
	if (maybe_old(r)) {
		d->seen = d->reader.subbuf;
		d->seen_valid = true;
		d->since_subbuf = 0;
		d->row_ends = true;
		return false;
	}
	note_header(r);
	d->is_lost = loss_before(r);
	if (!d->is_lost)
		return false;
	d->rec.id = XVT_ID_LOST;
	d->rec.payload = (const uint8_t *)&d->lost;
	d->rec.len = sizeof(d->lost);
	return true;
}

/* Takes the record just read. Returns true if it is the next one to go out, or is preceded by one
 * that is: it was not delivered before, and a guest may write it. */
static bool take_record(struct xvt_ring *r)
{
	struct xvt_ring_decode *d = &r->decode;
	unsigned int i;
	bool old;

	mend_context(r);
	old = is_old(r);
	if (d->unaccounted_before)
		unaccounted_at_record(r, old);
	/* Also those that an earlier trace has: the header before them had not. */
	d->since_subbuf += d->rec.id >= XVT_ID_FIRST_EVENT;
	if (old)
		return false;
	if (r->own && d->rec.id == XVT_ID_LOST && d->rec.len >= sizeof(d->lost)) {
		struct xvt_own_lost own = { 0 };

		memcpy(&own, d->rec.payload, d->rec.len < sizeof(own) ? d->rec.len : sizeof(own));
		d->lost = own.lost;
		/* The next header counts them, too. */
		for (i = 0; i < XVT_LOST_CAUSES; i++)
			r->account.reported_lost[i] += own.lost.lost[i];
		d->another_clock |= own.another_clock != 0;
		d->rec.len = sizeof(d->lost);
		d->rec.payload = (const uint8_t *)&d->lost;
		d->is_lost = true;
		/* The next header has what the kernel lost, and so has one just before. */
		d->row_ends = true;
		if (d->opened)
			d->opened_head.flags |= XVT_HEAD_F_FIRST;
		return true;
	}
	if (d->rec.id < XVT_ID_FIRST_EVENT && d->rec.id != XVT_ID_CLOCK_SYNC &&
	    d->rec.id != XVT_ID_MARK) {
		/* A guest may not speak in the host's name (LOST). */
		d->gap_bad_bytes += d->rec.len;
		r->account.stats.bad_bytes += d->rec.len;
		return false;
	}
	d->is_lost = false;
	if (d->unaccounted_before)
		end_unaccounted(r);
	if (d->gap_rolled_back)
		tell_rollback(d);
	return true;
}

bool xvt_ring_decode(struct xvt_ring *r)
{
	struct xvt_ring_decode *d = &r->decode;

	if (d->stashed) {
		d->rec = d->stash;
		d->stashed = d->is_lost = false;
		return true;
	}
	for (;;) {
		int err = xvt_reader_next(&d->reader, &d->rec);

		if (err == 0) {
			if (!feed(r))
				return false;
			continue;
		}
		if (err < 0) {
			unreadable(r);
			d->reader.copy = NULL;
			if (!feed(r))
				return false;
			continue;
		}
		d->epoch_known |= d->rec.full;
		switch (d->rec.kind) {
		case XVT_REC_SUBBUF:
			if (take_header(r))
				return true;
			continue;
		case XVT_REC_INFLIGHT:
			d->unfinished++;
			continue;
		case XVT_REC_DISCARDED:
			if (d->unaccounted_before)
				unaccounted_at_record(r, false);
			continue;
		case XVT_REC_RECORD:
			if (take_record(r))
				return true;
			continue;
		}
	}
}
