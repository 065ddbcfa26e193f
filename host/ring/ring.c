// SPDX-License-Identifier: GPL-2.0
/*
 * ring.c - one ring from attach to its end: where to begin to read, the words that the host writes,
 * and the time before which no record can still come. decode.c, place.c and account.c do the rest.
 */
#include "ring/parts.h"

#include <string.h>

uint32_t xvt_ring_generation_at(const struct xvt_ring *r, uint64_t pos)
{
	const struct xvt_ring_drain *d = &r->drain;
	uint32_t back;

	for (back = 0; back < XVT_GEN_SLOTS; back++) {
		uint32_t number = d->last.generation - back;
		const struct xvt_ring_gen *gen = &r->ctl->gen[number % XVT_GEN_SLOTS];

		if (xvt_load_acquire(&gen->generation) != number)
			break;
		if (!xvt_pos_before(pos, xvt_load(&gen->start)))
			return number;
	}
	return back == XVT_GEN_SLOTS ? d->last.generation - back : d->last.generation;
}

/*
 * A recorder that died while it cleared what it had taken left cons before it. Clearing begins with
 * a sub-buffer's first word, and an honest writer's is never 0 below commit. That recorder may have
 * died in the middle of a clearing: that is done here, while cons still keeps the writer away.
 * Salvage leaves everything as it is.
 */
static uint64_t after_cleared(const struct xvt_ring *r, uint64_t cons)
{
	const struct xvt_geometry *g = &r->region->g;
	uint8_t *data = r->region->map + xvt_data_off(g, r->index);

	for (;;) {
		uint64_t begin = xvt_pos_trunc(g, cons), next = begin + g->subbuf_size;
		uint8_t *subbuf = data + xvt_pos_off(g, begin);

		if (xvt_pos_before(r->drain.last.commit, next) ||
		    xvt_load((const uint64_t *)subbuf))
			return cons;
		if (!r->salvage)
			memset(subbuf, 0, g->subbuf_size);
		cons = next;
	}
}

void xvt_ring_attach(struct xvt_ring *r)
{
	struct xvt_ring_drain *d = &r->drain;
	struct xvt_ring_account *a = &r->account;
	const struct xvt_geometry *g = &r->region->g;
	struct xvt_ring_host *h = r->host;
	uint64_t cons = xvt_load(&h->cons);
	unsigned int i;

	xvt_ring_words(r->ctl, &r->region->g, &d->last);
	d->found_clock = xvt_clock_read_ordered();
	/* cons is what an earlier daemon left, or what the guest made of it: only a hint. */
	if (cons & 7 || d->last.commit - xvt_pos_trunc(g, cons) > g->ring_size) {
		cons = d->last.commit > g->ring_size
			       ? xvt_pos_trunc(g, d->last.commit) - g->ring_size + g->subbuf_size
			       : 0;
		d->skipped = cons && r->mode == XVT_ENABLE_OVERWRITE && !r->salvage;
	}
	if (r->decode.unaccounted_before && r->mode == XVT_ENABLE_STOP)
		cons = after_cleared(r, cons);
	d->generation = xvt_ring_generation_at(r, cons);
	d->entered = d->generation;
	d->read_pos = xvt_pos_trunc(g, cons);
	d->clear_pos = d->held_pos = d->read_pos;
	d->found_pos = d->last.commit;
	r->decode.skip_until = cons;
	xvt_reader_init(&r->decode.reader, g, d->read_pos);
	a->base_discarded = xvt_load(&h->acc_discarded);
	a->base_overwritten = xvt_load(&h->acc_overwritten);
	a->base_delivered = xvt_load(&h->acc_delivered);
	a->base_attempted = a->base_delivered + a->base_discarded + a->base_overwritten;
	for (i = 0; i < XVT_LOST_CAUSES; i++) {
		a->base_lost[i] = xvt_load(&h->acc_lost[i]);
		a->base_attempted += a->base_lost[i];
		a->reported_lost[i] = a->base_lost[i];
	}
	if ((int64_t)(d->last.attempted - a->base_attempted) < 0) {
		/* Nonsense, or of another past: then this trace accounts from here on. */
		a->base_attempted = d->last.attempted;
		a->base_discarded = d->last.discarded;
		memcpy(a->base_lost, d->last.lost, sizeof(a->base_lost));
		memcpy(a->reported_lost, d->last.lost, sizeof(a->reported_lost));
		r->decode.unaccounted_before = false;
	}
	a->took_over = r->decode.unaccounted_before;
	a->unaccounted_most = a->took_over ? d->last.attempted - a->base_attempted : 0;
	a->due = (struct xvt_ring_sums){ .delivered = a->base_delivered,
					 .discarded = a->base_discarded,
					 .overwritten = a->base_overwritten };
	memcpy(a->due.lost, a->base_lost, sizeof(a->due.lost));
	d->changed_clock = xvt_clock_read();
	r->words.hint_seq = xvt_load(&h->hint_seq);
	r->words.epoch =
		xvt_load(&h->epoch); /* an earlier daemon's; what counts is that it differs */
}

bool xvt_ring_hint(const struct xvt_ring *r, struct xvt_clock_node *node, uint64_t *hz)
{
	const struct xvt_ring_host *h = r->host;
	uint64_t seq = r->words.hint_seq;

	*hz = xvt_load(&h->hint_hz);
	*node = (struct xvt_clock_node){ .ring = r->id,
					 .source = XVT_SOURCE_HANDSHAKE,
					 .flags = XVT_NODE_F_TAKEN };
	node->guest = xvt_load(&h->hint_guest);
	node->host_ns = xvt_load(&h->hint_host_ns);
	node->bound_ns = xvt_load(&h->hint_bound_ns);
	return seq && !(seq & 1) && xvt_clock_plausible_hz(*hz);
}

void xvt_ring_fini(struct xvt_ring *r)
{
	while (r->drain.first)
		xvt_ring_drop_piece(r);
	if (r->measure.source)
		r->measure.source_ops->close(r->measure.source);
	r->measure.source = NULL;
	xvt_clock_pages_fini(&r->measure.pages);
	xvt_clock_map_fini(&r->clock.map);
	xvt_ring_run_fini(r);
}

void xvt_ring_retire(struct xvt_ring *r)
{
	if (r->drain.first || r->head.have || xvt_ring_ready(r))
		return;
	xvt_clock_map_trim(&r->clock.map);
	xvt_ring_run_fini(r);
}

void xvt_ring_bump_epoch(struct xvt_ring *r)
{
	struct xvt_epoch_bump *b = &r->words.bumps[r->words.nr_bumps++ % XVT_BUMPS];

	b->before_ns = xvt_host_clock_ns(r->host_clock, xvt_clock_read_ordered());
	b->epoch = ++r->words.epoch;
	/* The writer loads it before and after its clock, so no record carries another moment's. */
	xvt_store_release(&r->host->epoch, b->epoch);
	xvt_mb();
	/* The store has reached every CPU after as long as a proof waits. */
	b->after_ns =
		xvt_host_clock_ns(r->host_clock, xvt_clock_read_ordered()) + XVT_PROOF_DELTA_NS;
	r->clock.map.suspect = true;
	r->clock.map.suspect_ns = b->before_ns;
}

void xvt_ring_paused(struct xvt_ring *r)
{
	xvt_ring_bump_epoch(r);
	xvt_clock_map_stopped(&r->clock.map,
			      r->words.bumps[(r->words.nr_bumps - 1) % XVT_BUMPS].after_ns);
}

void xvt_ring_stood_still(struct xvt_ring *r, uint64_t ns)
{
	struct xvt_epoch_bump *b;

	if (!r->words.nr_bumps)
		return;
	b = &r->words.bumps[(r->words.nr_bumps - 1) % XVT_BUMPS];
	if (ns > b->before_ns)
		b->before_ns = ns;
}

void xvt_ring_keep_words(struct xvt_ring *r)
{
	struct xvt_ring_host *h = r->host;

	/* Written by the guest, or back from a snapshot. Off, the ring would be silent for good. */
	if (r->words.enable != XVT_ENABLE_OFF && xvt_load(&h->enable) != r->words.enable)
		xvt_store_release(&h->enable, r->words.enable);
	/* And what records carried since then proves nothing. */
	if (xvt_load(&h->epoch) == r->words.epoch)
		return;
	r->words.nr_bumps = 0;
	xvt_ring_bump_epoch(r);
}

void xvt_ring_rebase(struct xvt_ring *r, const struct xvt_ring_settled *from,
		     const struct xvt_past *past)
{
	struct xvt_ring_drain *d = &r->drain;
	struct xvt_ring_account *a = &r->account;
	unsigned int i;

	d->restored = *past;
	r->decode.unaccounted_before = false; /* at the end it is counted all the same */
	a->base_attempted += from->attempted - d->last.attempted;
	a->base_discarded += from->discarded - d->last.discarded;
	for (i = 0; i < XVT_LOST_CAUSES; i++) {
		a->base_lost[i] += from->lost[i] - d->last.lost[i];
		d->restored.reported_lost[i] = from->lost[i];
		a->due.lost[i] += from->lost[i] - d->last.lost[i];
	}
	a->due.discarded += from->discarded - d->last.discarded;
	a->roll_backs++;
}

uint64_t xvt_ring_bound(const struct xvt_ring *r)
{
	const struct xvt_ring_drain *d = &r->drain;

	if (r->clock.map.closed || r->guest.barred)
		return UINT64_MAX;
	if (r->phase == XVT_PHASE_LIVE)
		return xvt_ring_proven(r);
	/* Set aside for what is in flight; what comes after that shall find its place. A look that
	 * had to end early (its words went back, a generation is not there yet) proves nothing.
	 * What a relay has not read is set aside without a limit. */
	if (r->phase == XVT_PHASE_ASIDE && !r->relayed && d->passed_clock == d->look_clock &&
	    !r->head.have && !r->guest.unseen && !d->unread)
		return xvt_ring_proven(r);
	return UINT64_MAX;
}

uint64_t xvt_ring_proven(const struct xvt_ring *r)
{
	const struct xvt_ring_drain *d = &r->drain;
	const struct xvt_clock_node *last = xvt_clock_map_last(&r->clock.map);
	uint64_t proven, passed;

	if (r->head.have) {
		/* Not placed: it lies after the last node, or in an epoch without one; or it is not
		 * known yet to which of two epochs it belongs. */
		if (!last || r->decode.rec.ts < last->guest || last->host_ns < r->head.last_ns ||
		    xvt_clock_map_at_border(&r->clock.map))
			return r->head.last_ns;
		return last->host_ns;
	}
	proven = d->proven_node_ns > r->head.last_ns ? d->proven_node_ns : r->head.last_ns;
	if (!last || !d->passed_clock)
		return proven;
	passed = xvt_host_clock_ns(r->host_clock, d->passed_clock);
	return xvt_ring_past(proven, passed,
			     xvt_ring_margin_ns(passed, last->host_ns, r->clock.map.slack_ns,
						r->margin_most_ns));
}
