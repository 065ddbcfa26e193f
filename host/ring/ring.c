// SPDX-License-Identifier: GPL-2.0
/*
 * ring.c - one ring from attach to its end: where to begin to read, the words that the host writes,
 * and the time before which no record can still come. decode.c, place.c and account.c do the rest.
 */
#include "ring/parts.h"

#include <string.h>

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
 * A recorder that died while it cleared what it had taken left cons before it. Clearing begins
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
	if (r->unaccounted_before && r->mode == XVT_ENABLE_STOP)
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
		r->reported_lost[i] = r->base_lost[i];
	}
	if ((int64_t)(r->last.attempted - r->base_attempted) < 0) {
		/* Nonsense, or of another past: then this trace accounts from here on. */
		r->base_attempted = r->last.attempted;
		r->base_discarded = r->last.discarded;
		memcpy(r->base_lost, r->last.lost, sizeof(r->base_lost));
		memcpy(r->reported_lost, r->last.lost, sizeof(r->reported_lost));
		r->unaccounted_before = false;
	}
	r->took_over = r->unaccounted_before;
	r->unaccounted_most = r->took_over ? r->last.attempted - r->base_attempted : 0;
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

void xvt_ring_fini(struct xvt_ring *r)
{
	while (r->first)
		xvt_ring_drop_piece(r);
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
	r->unaccounted_before = false; /* at the end it is counted all the same */
	r->base_attempted += from->attempted - r->last.attempted;
	r->base_discarded += from->discarded - r->last.discarded;
	for (i = 0; i < XVT_LOST_CAUSES; i++) {
		r->base_lost[i] += from->lost[i] - r->last.lost[i];
		r->restored.reported_lost[i] = from->lost[i];
		r->due.lost[i] += from->lost[i] - r->last.lost[i];
	}
	r->due.discarded += from->discarded - r->last.discarded;
	r->roll_backs++;
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
