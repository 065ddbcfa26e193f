// SPDX-License-Identifier: GPL-2.0
/*
 * ring.c - decode the pieces of one ring in order, find out what was lost between them, and
 * place each record on the host's time line. Works on private copies only.
 */
#include "ring/ring.h"

#include <inttypes.h>
#include <stdio.h>

uint32_t xvt_ring_generation_at(const struct xvt_ring *r, uint64_t pos)
{
	uint32_t back;

	for (back = 0; back < XVT_GEN_SLOTS; back++) {
		uint32_t number = r->last.generation - back;
		const struct xvt_ring_gen *gen = &r->ctl->gen[number % XVT_GEN_SLOTS];

		if (xvt_load_acquire(&gen->generation) != number)
			break;
		if (!xvt_pos_before(pos, xvt_load(&gen->start)))
			return number;
	}
	return back == XVT_GEN_SLOTS ? r->last.generation - back : r->last.generation;
}

/*
 * A recorder that died while it cleared what it had taken left cons before it. Who clears begins
 * with a sub-buffer's first word, and an honest writer's is never 0 below commit. It may have died
 * in the middle of one: that is done here, while cons still keeps the writer away. Salvage leaves
 * everything as it is.
 */
static uint64_t after_cleared(const struct xvt_ring *r, uint64_t cons)
{
	const struct xvt_geometry *g = &r->region->g;
	uint8_t *data = r->region->map + xvt_data_off(g, r->index);

	for (;;) {
		uint64_t begin = xvt_pos_trunc(g, cons), next = begin + g->subbuf_size;
		uint8_t *subbuf = data + xvt_pos_off(g, begin);

		if (xvt_pos_before(r->last.commit, next) || xvt_load((const uint64_t *)subbuf))
			return cons;
		if (!r->salvage)
			memset(subbuf, 0, g->subbuf_size);
		cons = next;
	}
}

void xvt_ring_attach(struct xvt_ring *r)
{
	const struct xvt_geometry *g = &r->region->g;
	struct xvt_ring_host *h = r->host;
	uint64_t cons = xvt_load(&h->cons);
	unsigned int i;

	xvt_ring_snapshot(r->ctl, &r->region->g, &r->last);
	/* cons is what an earlier daemon left, or what the guest made of it: only a hint. */
	if (cons & 7 || r->last.commit - xvt_pos_trunc(g, cons) > g->ring_size) {
		cons = r->last.commit > g->ring_size
			       ? xvt_pos_trunc(g, r->last.commit) - g->ring_size + g->subbuf_size
			       : 0;
		r->skipped = cons && r->mode == XVT_ENABLE_OVERWRITE && !r->salvage;
	}
	if (r->orphaned && r->mode == XVT_ENABLE_STOP)
		cons = after_cleared(r, cons);
	r->generation = xvt_ring_generation_at(r, cons);
	r->entered = r->generation;
	r->read_pos = xvt_pos_trunc(g, cons);
	r->clear_pos = r->read_pos;
	r->skip_until = cons;
	xvt_reader_init(&r->reader, g, r->read_pos);
	r->base_discarded = xvt_load(&h->acc_discarded);
	r->base_overwritten = xvt_load(&h->acc_overwritten);
	r->base_delivered = xvt_load(&h->acc_delivered);
	r->base_attempted = r->base_delivered + r->base_discarded + r->base_overwritten;
	for (i = 0; i < XVT_LOST_CAUSES; i++) {
		r->base_lost[i] = xvt_load(&h->acc_lost[i]);
		r->base_attempted += r->base_lost[i];
		r->told_lost[i] = r->base_lost[i];
	}
	if ((int64_t)(r->last.attempted - r->base_attempted) < 0) {
		/* Nonsense, or of another past: then this trace accounts from here on. */
		r->base_attempted = r->last.attempted;
		r->base_discarded = r->last.discarded;
		memcpy(r->base_lost, r->last.lost, sizeof(r->base_lost));
		memcpy(r->told_lost, r->last.lost, sizeof(r->told_lost));
		r->orphaned = false;
	}
	r->heir = r->orphaned;
	r->orphans_most = r->heir ? r->last.attempted - r->base_attempted : 0;
	r->due = (struct xvt_ring_account){ .delivered = r->base_delivered,
					    .discarded = r->base_discarded,
					    .overwritten = r->base_overwritten };
	memcpy(r->due.lost, r->base_lost, sizeof(r->due.lost));
	r->changed_clock = xvt_clock_read();
	r->hint_seq = xvt_load(&h->hint_seq);
	r->epoch = xvt_load(&h->epoch); /* an earlier daemon's; what counts is that it differs */
}

bool xvt_ring_hint(const struct xvt_ring *r, struct xvt_clock_node *node, uint64_t *hz)
{
	const struct xvt_ring_host *h = r->host;
	uint64_t seq = r->hint_seq;

	*hz = xvt_load(&h->hint_hz);
	*node = (struct xvt_clock_node){ .ring = r->id, .source = XVT_SOURCE_HANDSHAKE };
	node->guest = xvt_load(&h->hint_guest);
	node->host_ns = xvt_load(&h->hint_host_ns);
	node->bound_ns = xvt_load(&h->hint_bound_ns);
	return seq && !(seq & 1) && *hz >= 1000 && *hz <= 20000000000ull;
}

static void drop_first(struct xvt_ring *r)
{
	struct xvt_piece *p = r->first;

	r->first = p->next;
	if (!r->first)
		r->tail = NULL;
	xvt_pool_put(r->pool, p, sizeof(*p) + p->len);
}

void xvt_ring_fini(struct xvt_ring *r)
{
	while (r->first)
		drop_first(r);
	if (r->source)
		r->source_ops->close(r->source);
	r->source = NULL;
	xvt_clock_pages_fini(&r->pages);
	xvt_clock_map_fini(&r->map);
	xvt_ring_run_fini(r);
}

void xvt_ring_retire(struct xvt_ring *r)
{
	if (r->first || r->have || xvt_ring_ready(r))
		return;
	xvt_clock_map_trim(&r->map);
	xvt_ring_run_fini(r);
}

/*
 * Overwritten before the first header that is read: what older traces account for stands in its
 * place. Its own writer had counted itself when it was opened.
 */
static void see_base(struct xvt_ring *r)
{
	if (r->seen_valid || r->in_past || r->heir || r->cut.on || r->mode != XVT_ENABLE_OVERWRITE)
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
		uint32_t delta = h->lost[i] - (uint32_t)r->told_lost[i];

		/* Counters only grow; "backwards" is a header from before the base. */
		if (delta >> 31)
			delta = 0;
		r->lost.lost[i] = delta;
		r->told_lost[i] += delta;
		sum += delta;
	}
	if (r->gap_skipped)
		see_base(r);
	/* A snapshot knows what its first sub-buffer's header said, whatever it could read since.
	 */
	if ((r->gap_skipped || (r->cut.on && r->gap_bad_bytes)) && r->seen_valid && !r->orphaned) {
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
		drop_first(r);
	}
}

/* The next piece, or the same one with its reader at the end. */
static bool feed(struct xvt_ring *r)
{
	struct xvt_piece *p = r->first;

	if (p && r->reader.copy == p->bytes) {
		drop_first(r);
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
		memcpy(r->told_lost, r->past.told_lost, sizeof(r->told_lost));
		r->skip_until = r->past.skip_until;
		r->seen_valid = false;
		r->since_subbuf = 0;
	}
	if (p->pos != r->reader.pos) {
		r->reader.pos = p->pos; /* a gap; pieces start at records or at sub-buffers */
		r->epoch_known = false;
	}
	/* In stop mode drain clears what it has read; in overwrite mode nobody does. */
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
 * was opened, by the writer of its first record, who had counted itself.
 */
static void orphans_at_header(struct xvt_ring *r)
{
	const struct xvt_subbuf_hdr *h = &r->reader.subbuf;
	unsigned int i;

	r->orphans = h->attempted - r->base_attempted;
	r->orphans -= (uint64_t)(int32_t)(h->discarded - (uint32_t)r->base_discarded);
	for (i = 0; i < XVT_LOST_CAUSES; i++)
		r->orphans -= (uint64_t)(int32_t)(h->lost[i] - (uint32_t)r->base_lost[i]);
	r->orphan_known = r->orphan_opened = true;
}

static void orphans_at_record(struct xvt_ring *r, bool old)
{
	const bool event = r->rec.kind == XVT_REC_RECORD && r->rec.id >= XVT_ID_FIRST_EVENT;

	if (r->orphan_opened && (event || r->rec.kind == XVT_REC_DISCARDED))
		r->orphans--;
	r->orphan_opened = false;
	r->orphans += old && event;
}

/* The record in hand is the first of ours: were there orphans? Then that is told before it. */
static void orphans_end(struct xvt_ring *r)
{
	uint64_t sum;
	unsigned int i;

	r->orphaned = false;
	sum = r->last.attempted - r->base_attempted - (r->last.discarded - r->base_discarded);
	for (i = 0; i < XVT_LOST_CAUSES; i++)
		sum -= r->last.lost[i] - r->base_lost[i];
	if (!r->orphan_known || !r->orphans || r->orphans >> 63 || r->orphans > sum)
		return; /* none; or the guest's own idea */
	r->stash = r->rec;
	r->stashed = true;
	memset(&r->lost, 0, sizeof(r->lost));
	r->lost.overwritten = r->orphans;
	r->is_lost = true;
	r->rec.id = XVT_ID_LOST;
	r->rec.payload = (const uint8_t *)&r->lost;
	r->rec.len = sizeof(r->lost);
}

static bool decode(struct xvt_ring *r)
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
			if (r->orphaned)
				orphans_at_header(r);
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
			if (r->orphaned)
				orphans_at_record(r, false);
			continue;
		case XVT_REC_RECORD: {
			bool old;

			mend_context(r);
			old = is_old(r);
			if (r->orphaned)
				orphans_at_record(r, old);
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
			if (r->orphaned)
				orphans_end(r);
			return true;
		}
		}
	}
}

void xvt_ring_bump_epoch(struct xvt_ring *r)
{
	struct xvt_epoch_bump *b = &r->bumps[r->nr_bumps++ % XVT_BUMPS];

	b->before_ns = xvt_host_clock_ns(r->host_clock, xvt_clock_read_ordered());
	b->epoch = ++r->epoch;
	/* The writer loads it before and after its clock, so no record carries another moment's. */
	xvt_store_release(&r->host->epoch, b->epoch);
	xvt_mb();
	/* The store has reached every CPU after as long as a proof waits. */
	b->after_ns =
		xvt_host_clock_ns(r->host_clock, xvt_clock_read_ordered()) + XVT_PROOF_DELTA_NS;
	r->map.suspect = true;
	r->map.suspect_ns = b->before_ns;
}

void xvt_ring_stopped(struct xvt_ring *r)
{
	xvt_ring_bump_epoch(r);
	xvt_clock_map_stopped(&r->map, r->bumps[(r->nr_bumps - 1) % XVT_BUMPS].after_ns);
}

void xvt_ring_stood_still(struct xvt_ring *r, uint64_t ns)
{
	struct xvt_epoch_bump *b;

	if (!r->nr_bumps)
		return;
	b = &r->bumps[(r->nr_bumps - 1) % XVT_BUMPS];
	if (ns > b->before_ns)
		b->before_ns = ns;
}

void xvt_ring_keep_words(struct xvt_ring *r)
{
	struct xvt_ring_host *h = r->host;

	/* Written by the guest, or back from a snapshot. Off, the ring would be silent for good. */
	if (r->enable != XVT_ENABLE_OFF && xvt_load(&h->enable) != r->enable)
		xvt_store_release(&h->enable, r->enable);
	/* And what records carried since then proves nothing. */
	if (xvt_load(&h->epoch) == r->epoch)
		return;
	r->nr_bumps = 0;
	xvt_ring_bump_epoch(r);
}

void xvt_ring_rebase(struct xvt_ring *r, const struct xvt_ring_settled *from,
		     const struct xvt_past *past)
{
	unsigned int i;

	r->restored = *past;
	r->orphaned = false; /* at the end it is counted all the same */
	r->base_attempted += from->attempted - r->last.attempted;
	r->base_discarded += from->discarded - r->last.discarded;
	for (i = 0; i < XVT_LOST_CAUSES; i++) {
		r->base_lost[i] += from->lost[i] - r->last.lost[i];
		r->restored.told_lost[i] = from->lost[i];
		r->due.lost[i] += from->lost[i] - r->last.lost[i];
	}
	r->due.discarded += from->discarded - r->last.discarded;
	r->roll_backs++;
}

struct xvt_clock_evidence xvt_ring_evidence(const struct xvt_ring *r, uint32_t epoch,
					    const struct xvt_piece *p)
{
	struct xvt_clock_evidence e = { 0, UINT64_MAX, 0 };
	uint32_t i, known = r->nr_bumps < XVT_BUMPS ? r->nr_bumps : XVT_BUMPS;

	if (r->salvage)
		return e;
	if (!r->epoch_known)
		known = 0;
	e.ceiling_ns = p->ceiling_ns;
	e.floor_ns = p->floor_ns;
	for (i = 0; i < known; i++) {
		const struct xvt_epoch_bump *b = &r->bumps[i];

		if ((int32_t)(epoch - b->epoch) >= 0) {
			e.floor_ns = b->before_ns > e.floor_ns ? b->before_ns : e.floor_ns;
		} else {
			e.ceiling_ns = b->after_ns < e.ceiling_ns ? b->after_ns : e.ceiling_ns;
		}
	}
	return e;
}

/* Whatever the stamp of `rec`, out of piece p, says: when was it written? */
static struct xvt_clock_evidence evidence(const struct xvt_ring *r, const struct xvt_record *rec,
					  const struct xvt_piece *p)
{
	struct xvt_clock_evidence e = xvt_ring_evidence(r, rec->epoch, p);

	e.proven_ns = e.floor_ns;
	if (e.floor_ns < r->last_ns)
		e.floor_ns = r->last_ns;
	return e;
}

static void scan_record(struct xvt_ring_scan *s, const struct xvt_record *rec)
{
	s->looked_at++;
	if (rec->kind != XVT_REC_RECORD)
		return;
	s->ended = rec->ts < s->newest.ts || rec->epoch != s->newest.epoch;
	if (s->ended)
		return;
	s->newest = *rec;
	s->found = s->piece;
}

/*
 * The newest record that waits in the same epoch as the head, and the piece that it lies in. As
 * long as its witness is refused this is asked in each pass, and pieces are only added behind those
 * that were looked through: it goes on where it ended. With another head it begins anew.
 */
static void find_newest(struct xvt_ring *r)
{
	struct xvt_ring_scan *s = &r->scan;

	if (!s->begun) {
		s->begun = true;
		s->ended = false;
		s->reader = r->reader;
		s->piece = s->found = r->first;
		s->newest = r->rec;
	}
	while (!s->ended) {
		const struct xvt_piece *next = s->piece->next;
		struct xvt_record rec;
		int got = xvt_reader_next(&s->reader, &rec);

		if (got == 1) {
			scan_record(s, &rec);
			continue;
		}
		if (!got && !next)
			return; /* until now */
		s->ended = got < 0 || next->salvage || next->pos != s->reader.pos;
		if (s->ended)
			return;
		s->piece = next;
		xvt_reader_feed(&s->reader, next->bytes, next->len);
	}
}

/* By the formula of a source that was right until now and says that nothing has changed. */
static bool exact_node(const struct xvt_ring *r, uint64_t guest, const struct xvt_clock_evidence *e,
		       struct xvt_clock_node *n)
{
	uint64_t host;

	if (!r->exact_holds || xvt_formula_host(&r->exact, guest, &host))
		return false;
	*n = (struct xvt_clock_node){ .ring = r->id,
				      .source = r->exact_used,
				      .guest = guest,
				      .host_ns = xvt_host_clock_ns(r->host_clock, host),
				      .bound_ns = xvt_exact_bound_ns(r->host_clock) };
	return n->host_ns + XVT_STAMP_SLACK_NS >= e->floor_ns &&
	       n->host_ns <= e->ceiling_ns + XVT_STAMP_SLACK_NS;
}

/*
 * As the drain saw it, if the last node's line, which leads to `ns`, can be true as well. Not what
 * was seen in a look so wide that a stop of which nobody told fits into it: it waits for a
 * measurement as long as one may come.
 */
static bool seen_node(const struct xvt_ring *r, uint64_t guest, uint64_t ns,
		      const struct xvt_clock_evidence *e, struct xvt_clock_node *n)
{
	uint64_t since_ns = ns - xvt_clock_map_last(&r->map)->host_ns;
	uint64_t slack = r->map.slack_ns + xvt_clock_creep_ns(since_ns);

	if (e->ceiling_ns < e->floor_ns || ns + slack < e->floor_ns || ns > e->ceiling_ns + slack)
		return false;
	ns = ns < e->floor_ns ? e->floor_ns : ns > e->ceiling_ns ? e->ceiling_ns : ns;
	*n = (struct xvt_clock_node){ .ring = r->id,
				      .source = XVT_SOURCE_DRAIN,
				      .guest = guest,
				      .host_ns = ns,
				      .bound_ns = ns - e->floor_ns > e->ceiling_ns - ns
							  ? ns - e->floor_ns
							  : e->ceiling_ns - ns };
	return r->patience_over || n->bound_ns <= xvt_clock_creep_ns(0);
}

/*
 * May it have been written after a stop since which nothing was measured? Then its clock stood
 * still for nobody knows how long, and what the drain saw, wide as it is, may not exclude the old
 * line.
 */
static bool beyond_stop(const struct xvt_ring *r, const struct xvt_clock_evidence *e)
{
	return r->map.measured.host_ns <= r->map.stop_ns && e->ceiling_ns > r->map.stop_ns;
}

/*
 * The guest does not answer, or no node comes of its answers, so no sample will confirm what waits;
 * but its ring was looked at before and after the newest waiting record was written. That is a
 * sample as well: not tight, but proven. It becomes a node on the last one's line, unless it
 * contradicts that.
 */
static bool bear_witness(struct xvt_ring *r)
{
	const struct xvt_clock_node *last = xvt_clock_map_last(&r->map);
	struct xvt_clock_evidence e;
	struct xvt_clock_node n;
	uint64_t newest, ns;

	if (!(r->quiet || r->wide) || r->witness_new || !last)
		return false;
	find_newest(r);
	newest = r->scan.newest.ts;
	e = evidence(r, &r->scan.newest, r->scan.found);
	if (e.floor_ns < last->host_ns)
		e.floor_ns = last->host_ns; /* it was stamped after the node's moment */
	if (xvt_clock_map_place(&r->map, newest, &e, &ns) != XVT_MAP_WAIT)
		return false;
	if (!exact_node(r, newest, &e, &n) &&
	    (beyond_stop(r, &e) || !seen_node(r, newest, ns, &e, &n)))
		return false;
	if (n.host_ns <= last->host_ns)
		return false;
	if (xvt_clock_map_add(&r->map, &n))
		return false;
	r->witness = n;
	r->witness_new = true;
	return true;
}

/*
 * Every node says that this record's stamp is impossible. Has one been measured since it came?
 * Then it is the record that is wrong. Else its epoch may still have to be measured: at once.
 */
static bool lies(struct xvt_ring *r)
{
	/* Asked for after another one had come, after this record had. */
	if (r->map.closed ||
	    (r->node_before_clock && (int64_t)(r->node_before_clock - r->first->ceiling_clock) > 0))
		return true;
	r->next_burst_clock = 0;
	return false;
}

/* Host time of the head, if the map can tell. */
static void place(struct xvt_ring *r)
{
	struct xvt_clock_evidence e = evidence(r, &r->rec, r->first);
	enum xvt_map_result result;
	uint32_t flags = 0;
	uint64_t ns;

	if (r->rec.ts < r->last_guest && !r->next_epoch) {
		/* The guest's clock went back: what was measured before says nothing here. */
		if (!xvt_clock_map_next_epoch(&r->map)) {
			if (!lies(r))
				return;
			flags |= XVT_EVENT_F_CLOCK;
		}
		r->next_epoch = true;
	}
	result = xvt_clock_map_place(&r->map, r->rec.ts, &e, &ns);
	if (result == XVT_MAP_WAIT && bear_witness(r))
		result = xvt_clock_map_place(&r->map, r->rec.ts, &e, &ns);
	if (result == XVT_MAP_WAIT || (result == XVT_MAP_DOUBT && !lies(r)))
		return;
	if (result == XVT_MAP_GUESS)
		flags |= XVT_EVENT_F_UNCONFIRMED;
	if (result == XVT_MAP_DOUBT)
		flags |= XVT_EVENT_F_CLOCK;
	/* A guess may be anywhere; what was seen is stronger. */
	if (ns > e.ceiling_ns && (ns - e.ceiling_ns > r->map.slack_ns || r->cut.frozen)) {
		ns = e.ceiling_ns;
		flags |= XVT_EVENT_F_CLOCK;
	}
	if (ns + r->map.slack_ns < e.floor_ns || ns < r->last_ns) {
		ns = e.floor_ns;
		flags |= XVT_EVENT_F_CLOCK;
	}
	if (flags & XVT_EVENT_F_CLOCK) {
		r->stats.clock_violations++;
		r->next_burst_clock = 0; /* the map is wrong: measure at once */
	}
	if (ns < r->start_ns)
		flags |= XVT_EVENT_F_BACKLOG;
	if (r->first->salvage)
		flags |= XVT_EVENT_F_RECOVERED;
	r->head_ns = ns;
	r->head_flags = flags;
	r->placed = true;
}

bool xvt_ring_peek(struct xvt_ring *r)
{
	if (!r->have) {
		r->have = decode(r);
		r->placed = false;
		r->scan.begun = false;
		r->next_epoch = false;
	}
	if (r->have && !r->placed)
		place(r);
	return r->have;
}

bool xvt_ring_newest(struct xvt_ring *r, uint64_t *guest, uint64_t *ceiling_ns)
{
	if (!xvt_ring_peek(r))
		return false;
	find_newest(r);
	*guest = r->scan.newest.ts;
	*ceiling_ns = r->scan.found->ceiling_ns;
	return true;
}

void xvt_ring_pop(struct xvt_ring *r)
{
	r->last_guest = r->rec.ts;
	r->last_ns = r->head_ns;
	r->have = false;
}

uint64_t xvt_ring_bound(const struct xvt_ring *r)
{
	if (r->map.closed || r->barred)
		return UINT64_MAX;
	if (r->phase == XVT_PHASE_LIVE)
		return xvt_ring_proven(r);
	/* Set aside for what is in flight; what comes after that shall find its place. A look that
	 * had to end early (its words went back, a generation is not there yet) proves nothing. */
	if (r->phase == XVT_PHASE_ASIDE && r->passed_clock == r->look_clock && !r->have &&
	    !r->unseen && !r->unread)
		return xvt_ring_proven(r);
	return UINT64_MAX;
}

uint64_t xvt_ring_proven(const struct xvt_ring *r)
{
	const struct xvt_clock_node *last = xvt_clock_map_last(&r->map);
	uint64_t proven, passed;

	if (r->have) {
		/* Not placed: it lies after the last node, or in an epoch without one. */
		if (!last || r->rec.ts < last->guest || last->host_ns < r->last_ns)
			return r->last_ns;
		return last->host_ns;
	}
	proven = r->proven_node_ns > r->last_ns ? r->proven_node_ns : r->last_ns;
	if (!last || !r->passed_clock)
		return proven;
	passed = xvt_host_clock_ns(r->host_clock, r->passed_clock);
	return xvt_ring_past(
		proven, passed,
		xvt_ring_margin_ns(passed, last->host_ns, r->map.slack_ns, r->margin_most_ns));
}

/* What only the counters of the end know to be overwritten. */
static uint64_t tail_overwritten(struct xvt_ring *r, struct xvt_lost *lost)
{
	uint64_t *told = r->cut.on ? &r->cut.told.overwritten : &r->overwritten_told;

	xvt_ring_account(r, true);
	if (r->stats.overwritten > *told) {
		lost->overwritten = r->stats.overwritten - *told;
		*told = r->stats.overwritten;
	}
	return lost->overwritten;
}

bool xvt_ring_tail_loss(struct xvt_ring *r, struct xvt_lost *lost)
{
	uint64_t sum = 0;
	unsigned int i;

	if (r->cut.on) {
		xvt_ring_cut_tail(r, lost);
		xvt_ring_cut_told(r, lost);
		for (i = 0; i < XVT_LOST_CAUSES; i++)
			sum += lost->lost[i];
		return tail_overwritten(r, lost) + sum != 0;
	}
	memset(lost, 0, sizeof(*lost));
	for (i = 0; i < XVT_LOST_CAUSES; i++) {
		uint64_t delta = r->last.lost[i] - r->told_lost[i];

		if (delta >> 63)
			delta = 0;
		lost->lost[i] = delta;
		r->told_lost[i] += delta;
		sum += delta;
	}
	lost->bad_bytes = r->gap_bad_bytes;
	r->gap_bad_bytes = 0;
	return tail_overwritten(r, lost) + sum + lost->bad_bytes != 0;
}

void xvt_ring_told(struct xvt_ring *r, const struct xvt_lost *lost)
{
	unsigned int i;

	for (i = 0; i < XVT_LOST_CAUSES; i++)
		r->lost_told[i] += lost->lost[i];
	if (r->cut.on) {
		xvt_ring_cut_told(r, lost);
		return;
	}
	r->overwritten_told += lost->overwritten;
	if (r->heir && !r->orphans_told && lost->overwritten == r->orphans)
		r->orphans_told = r->orphans;
	else if (r->mode == XVT_ENABLE_OVERWRITE)
		r->laps_told += lost->overwritten;
}

/*
 * What was there when the recorder before this one was killed may be in its file. And a header may
 * have known of a record inside a writer, which came after all.
 */
static uint64_t overwritten_doubt(const struct xvt_ring *r)
{
	const struct xvt_ring_stats *s = &r->stats;
	const uint64_t most = r->orphans_most;
	const uint64_t told = r->cut.on ? r->cut.told.overwritten : r->overwritten_told;

	return (most < s->overwritten ? most : s->overwritten) +
	       (told > s->overwritten ? told - s->overwritten : 0);
}

void xvt_ring_account(struct xvt_ring *r, bool final)
{
	struct xvt_ring_stats *s = &r->stats;
	uint64_t known, gone;
	unsigned int i;

	s->ring = r->id;
	s->epochs = r->map.count ? xvt_clock_map_last(&r->map)->epoch + 1 : 0;
	s->bound_ns_max = xvt_clock_map_bound_ns(&r->map);
	if (r->cut.on) {
		xvt_ring_cut_account(r);
		s->overwritten_doubt = overwritten_doubt(r);
		return;
	}
	s->attempted = r->last.attempted - r->base_attempted;
	s->discarded = r->last.discarded - r->base_discarded;
	known = s->events + s->discarded + s->dropped;
	for (i = 0; i < XVT_LOST_CAUSES; i++) {
		s->lost[i] = r->last.lost[i] - r->base_lost[i];
		known += s->lost[i];
	}
	/* A copy of the counters that is older than the records beside it knows too few. */
	if (r->roll_backs && s->attempted < known)
		s->attempted = known;
	s->nest = (r->last.nest <= XVT_MAXNEST + 1 ? r->last.nest : 0) + r->left_behind;
	/*
	 * What is left of `attempted` is inside a writer, undrained yet, or was overwritten (by the
	 * writer, or by a restored snapshot), or an earlier recorder died with it. At the end
	 * nothing is undrained, and no more can be inside than nest says.
	 */
	s->in_flight = s->attempted > known ? s->attempted - known : 0;
	gone = r->orphans_told + r->laps_told;
	s->overwritten = gone < s->in_flight ? gone : s->in_flight;
	s->in_flight -= s->overwritten;
	if (final &&
	    (r->mode == XVT_ENABLE_OVERWRITE || r->roll_backs ||
	     (r->heir && !r->first && !xvt_pos_before(r->read_pos, r->last.commit))) &&
	    s->in_flight > s->nest) {
		s->overwritten += s->in_flight - s->nest;
		s->in_flight = s->nest;
	}
	s->overwritten_doubt = overwritten_doubt(r);
}

void xvt_ring_owe(struct xvt_ring *r, bool counters)
{
	struct xvt_ring_account *a = &r->due;
	unsigned int i;

	/* `delivered` is what the guest's own counters leave, because ours also have what was
	 * delivered before a snapshot was restored. */
	a->overwritten = r->base_overwritten + r->stats.overwritten;
	a->delivered = r->last.attempted - r->stats.in_flight - r->last.discarded - a->overwritten;
	for (i = 0; i < XVT_LOST_CAUSES; i++)
		a->delivered -= r->last.lost[i];
	if (counters) {
		a->discarded = r->last.discarded;
		memcpy(a->lost, r->last.lost, sizeof(a->lost));
		return;
	}
	for (i = 0; i < XVT_LOST_CAUSES; i++) {
		uint64_t told = r->base_lost[i] + r->lost_told[i];

		/* A header may say more than the counters did; STATS may have said more than it. */
		if (told <= r->last.lost[i] && (int64_t)(told - a->lost[i]) > 0)
			a->lost[i] = told;
	}
}

void xvt_ring_remember(const struct xvt_ring *r)
{
	const struct xvt_ring_account *a = &r->due;
	struct xvt_ring_host *h = r->host;
	unsigned int i;

	/* Only a hint: the guest could scribble on it. We may die between any two of these: each
	 * is a base of its own, and the sum of the first two grows by one store, usually. */
	xvt_store(&h->acc_overwritten, a->overwritten);
	xvt_store(&h->acc_delivered, a->delivered);
	xvt_store(&h->acc_discarded, a->discarded);
	for (i = 0; i < XVT_LOST_CAUSES; i++)
		xvt_store(&h->acc_lost[i], a->lost[i]);
}
