/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * xvt_writer.h - how an event gets into a ring. One writer context and everything that
 * nests in it (task, softirq, irq, NMI; or a thread and its signal handlers), to any depth,
 * without a lock, without losing a time stamp.
 *
 * Sources of the algorithm, and what each gave:
 *
 *   S. Rostedt, ftrace ("nested-interrupt-safe time stamps", 2020): the pair before_stamp /
 *     write_stamp. write_stamp may be used as "time of the previous record" only while the
 *     two are equal. No path ever makes them equal again except a completed reservation;
 *     every doubtful path leaves them different and the next event pays for one full stamp.
 *   M. Desnoyers, LTTng: read the position, read the clock, move the position by a local
 *     compare-and-swap. If it succeeds nobody came between, so the stamp is exact and in
 *     buffer order on every path; if it fails, begin again with a new clock. Low bits of the
 *     absolute time instead of deltas, so a bad record cannot shift the ones after it.
 *   L. Torvalds (unified tracing buffer, 2008): raw counter, 32 bits for most events, the
 *     full value when the upper half may have changed, scaling when presenting.
 *
 * Labels [A] to [F] follow Rostedt's text:
 *   [A] read position and stamps   [B] before_stamp = ts   [C] move the position
 *   [D] write_stamp = ts           [E] header and time     [F] payload complete
 *
 * Who else touches the words: interrupts of the same CPU run this same code to completion
 * at any instruction here. The host only reads them, except for the words of
 * struct xvt_ring_host, which only the host writes. What breaks if reordered is said where
 * it would.
 */
#ifndef XVT_WRITER_H
#define XVT_WRITER_H

#include "xvt_ring.h"

/* The writer's own view of one ring. Private memory; set up by xvt_writer_init(). */
struct xvt_writer {
	struct xvt_ring_ctl *ctl;
	struct xvt_ring_host *host;
	uint8_t *data;
	uint64_t ring_size;
	uint64_t ts_limit; /* 1 << ts_bits: a gap from here on needs a full stamp */
	uint32_t subbuf_size;
	uint32_t ring_shift;
	uint32_t subbuf_shift;
	uint32_t max_record; /* header and payload, bytes; what fits a fresh sub-buffer */
	uint32_t generation;
	bool crossed; /* a sub-buffer was opened since the host was last kicked */
	/* The ring's clock; NULL is the CPU's own counter. Must never return 0. */
	uint64_t (*clock)(void *arg);
	void *clock_arg;
	/* Called at most once a sub-buffer, when the host sleeps. May be NULL. */
	void (*kick)(void *arg);
	void *kick_arg;
};

/* A reserved record. Lives on the caller's stack between reserve and commit or discard. */
struct xvt_slot {
	void *payload;	 /* room for the length that was asked for */
	uint64_t *rec;	 /* the header word */
	uint64_t header; /* what that word holds, without DONE */
	uint64_t pos;
	uint64_t end;
};

xvt_inline uint64_t xvt_writer_clock(const struct xvt_writer *w)
{
	if (xvt_likely(!w->clock))
		return xvt_clock_read();
	return w->clock(w->clock_arg);
}

/*
 * Leave one level of nesting; the outermost publishes everything that is finished.
 * commit is stored before nest drops: the other way round, an interrupt between the two
 * would publish its newer position and this context then an older one. After nest = 0 the
 * position is read again, because an interrupt may have reserved between our read of it and
 * nest = 0, found nest > 1, and left the publishing to us.
 */
xvt_inline void xvt_writer_leave(struct xvt_writer *w)
{
	struct xvt_ring_ctl *c = w->ctl;
	uint32_t nest = xvt_load(&c->nest);
	uint32_t turns;

	for (turns = 0; turns < XVT_MAXRETRY; turns++) {
		uint64_t resv;

		if (nest > 1) {
			xvt_store(&c->nest, nest - 1);
			return;
		}
		resv = xvt_load(&c->resv);
		xvt_barrier();
		xvt_store_release(&c->commit, resv); /* pairs with xvt_ring_snapshot() */
		xvt_barrier();
		xvt_store(&c->nest, 0);
		xvt_barrier();
		/* The last turn leaves nest = 0 and what came since to the next event: with nest
		 * stuck at 1 nobody would ever publish again. The host sees commit < resv. */
		if (xvt_likely(xvt_load(&c->resv) == resv) || turns == XVT_MAXRETRY - 1)
			break;
		nest = 1;
		xvt_store(&c->nest, 1);
		xvt_barrier();
	}
	/* Whoever crossed, at whatever depth: only the outermost gets here. Cleared before
	 * need_wake is read, so that a crossing after it has its own turn. */
	if (xvt_unlikely(w->crossed) && w->kick) {
		w->crossed = false;
		/* commit must be visible before need_wake is read; pairs with the host's
		 * fence between setting need_wake and its last look at commit. */
		xvt_mb();
		if (xvt_load(&w->host->need_wake))
			w->kick(w->kick_arg);
	}
}

xvt_inline int xvt_writer_lose(struct xvt_writer *w, enum xvt_loss cause, bool count)
{
	if (count)
		xvt_local_inc(&w->ctl->lost[cause]);
	xvt_writer_leave(w);
	return -ENOSPC;
}

/*
 * Is the sub-buffer that starts at nb free to be opened? In both modes never over bytes of a
 * writer that has not finished; in stop mode never over what the host has not taken.
 * A cons that no honest host can have written counts as full.
 */
xvt_inline bool xvt_writer_may_open(const struct xvt_writer *w, uint64_t resv, uint64_t nb,
				    uint32_t mode, enum xvt_loss *cause)
{
	uint64_t subbuf_mask = ~(uint64_t)(w->subbuf_size - 1);
	uint64_t commit = xvt_load(&w->ctl->commit);

	if (nb + w->subbuf_size - (commit & subbuf_mask) > w->ring_size) {
		*cause = XVT_LOST_WRAP;
		return false;
	}
	if (mode == XVT_ENABLE_STOP) {
		uint64_t cons = xvt_load_acquire(&w->host->cons); /* pairs with the host's
								     release after clearing */

		if (resv - cons > w->ring_size ||
		    nb + w->subbuf_size - (cons & subbuf_mask) > w->ring_size) {
			*cause = XVT_LOST_FULL;
			return false;
		}
	}
	return true;
}

/*
 * Everything between resv and the new position belongs to the one winner of the
 * compare-and-swap, so no two contexts write the same padding or header at any depth.
 */
xvt_inline void xvt_writer_pad(struct xvt_writer *w, uint64_t from, uint64_t to, uint64_t ts)
{
	uint64_t *rec = (uint64_t *)(w->data + (from & (w->ring_size - 1)));
	uint64_t len8 = (to - from) >> 3;

	/* A gap longer than len8 can say is legal: PAD_END reaches to the end whatever it says. */
	if (len8 > XVT_LEN8_MAX)
		len8 = XVT_LEN8_MAX;
	xvt_store_release(rec, xvt_header(w->ring_shift, from, XVT_ID_PAD_END, (uint32_t)len8 << 3,
					  ts, XVT_H_DONE));
}

/* What the header of the sub-buffer at `pos` will say. */
xvt_inline void xvt_writer_sample(const struct xvt_writer *w, struct xvt_subbuf_hdr *h,
				  uint64_t pos, uint64_t ts, uint32_t epoch, uint32_t mode)
{
	const struct xvt_ring_ctl *c = w->ctl;
	uint32_t i;

	h->magic = XVT_SUBBUF_MAGIC;
	h->hdr_len = sizeof(*h);
	h->flags = mode == XVT_ENABLE_OVERWRITE ? XVT_SUBBUF_F_OVERWRITE : 0;
	h->seq = pos >> w->subbuf_shift;
	h->ts_base = ts;
	h->epoch = epoch;
	h->generation = w->generation;
	h->attempted = xvt_load(&c->attempted);
	for (i = 0; i < XVT_LOST_CAUSES; i++)
		h->lost[i] = (uint32_t)xvt_load(&c->lost[i]);
	h->discarded = (uint32_t)xvt_load(&c->discarded);
}

/*
 * Reserve a record of `len` payload bytes. Context: any (task, irq, NMI), on the ring's own
 * CPU, not migrating until commit or discard. Returns
 *    0        reserved; fill slot->payload, then xvt_commit() or xvt_discard()
 *   -EAGAIN   recording is off; not counted
 *   -ENOSPC   lost, and counted in one of ctl->lost[]
 * Records with an id below XVT_ID_FIRST_EVENT are the ring's own and never counted.
 */
xvt_inline int xvt_reserve(struct xvt_writer *w, uint32_t id, uint32_t len, struct xvt_slot *slot)
{
	struct xvt_ring_ctl *c = w->ctl;
	const bool count = id >= XVT_ID_FIRST_EVENT;
	const uint32_t subbuf_size = w->subbuf_size;
	uint64_t pos, end, next_subbuf = 0, before, after, ts, header;
	uint32_t mode, epoch, seen, need, offset, nest, pad, tries = 0;
	struct xvt_subbuf_hdr opened; /* touched when crossing only */
	bool full, cross;
	uint64_t *rec;

	if (xvt_load(&w->host->enable) == XVT_ENABLE_OFF)
		return -EAGAIN;

	/*
	 * nest before everything else, and enable once more after it: a host that cleared
	 * enable and then finds nest == 0 and commit == resv knows that no record follows.
	 * A plain add is safe here: an interrupt restores the value that it found.
	 */
	nest = xvt_load(&c->nest) + 1;
	xvt_store(&c->nest, nest);
	xvt_barrier();
	mode = xvt_load(&w->host->enable);
	if (xvt_unlikely(mode == XVT_ENABLE_OFF)) {
		xvt_writer_leave(w);
		return -EAGAIN;
	}
	if (count)
		xvt_local_inc(&c->attempted);
	if (xvt_unlikely(nest > xvt_load(&c->nest_max)))
		xvt_store(&c->nest_max, nest);
	if (xvt_unlikely(nest > XVT_MAXNEST))
		return xvt_writer_lose(w, XVT_LOST_NEST, count);
	if (xvt_unlikely(len > w->max_record - 8))
		return xvt_writer_lose(w, XVT_LOST_BIG, count);
	pad = len & 7;
	len = 8 + ((len + 7) & ~7u);

again:
	if (xvt_unlikely(tries++ > XVT_MAXRETRY))
		return xvt_writer_lose(w, XVT_LOST_RETRY, count);

	/* [A] The position before the stamps before the clock: times then increase with the
	 * position, and equal stamps are those of the record just below pos. */
	pos = xvt_load(&c->resv);
	xvt_barrier();
	/* epoch_seen before the stamps: a nested event of a new epoch that is discarded leaves
	 * epoch_seen new and the position as it was, and must be seen by one of the two. */
	seen = xvt_load(&c->epoch_seen);
	xvt_barrier();
	before = xvt_load(&c->before_stamp);
	after = xvt_load(&c->write_stamp);
	epoch = xvt_load(&w->host->epoch);
	xvt_barrier();
	ts = xvt_writer_clock(w);
	xvt_barrier();
	if (xvt_unlikely(xvt_load(&w->host->epoch) != epoch)) {
		xvt_local_inc(&c->retries);
		goto again;
	}
	/* A clock that went back gives a huge unsigned difference, so a full stamp too. */
	full = before != after || ts - after >= w->ts_limit || epoch != seen;
	offset = (uint32_t)pos & (subbuf_size - 1);
	need = full ? len + 8 : len;
	cross = offset == 0 || offset + need > subbuf_size;
	if (xvt_unlikely(cross)) {
		enum xvt_loss cause;

		/* The sub-buffer's header carries the full time, the record needs none. A
		 * record of the largest size so terminates after one crossing. */
		full = false;
		need = len;
		next_subbuf = offset ? (pos | (subbuf_size - 1)) + 1 : pos;
		if (!xvt_writer_may_open(w, pos, next_subbuf, mode, &cause)) {
			/* Close what is open, so that the gap lies exactly at this border. */
			if (offset) {
				if (!xvt_local_cas(&c->resv, pos, next_subbuf)) {
					xvt_local_inc(&c->retries);
					goto again;
				}
				xvt_writer_pad(w, pos, next_subbuf, ts);
			}
			return xvt_writer_lose(w, cause, count);
		}
		/* Sampled before [C]: if [C] succeeds no other sub-buffer was opened since, so
		 * what these counters miss is counted in the next header, never twice. */
		xvt_writer_sample(w, &opened, next_subbuf, ts, epoch, mode);
		end = next_subbuf + sizeof(opened) + need;
	} else {
		end = pos + need;
	}

	/* [B] Before [C]: whoever interrupts from here on finds the stamps unequal. */
	xvt_store(&c->before_stamp, ts);
	xvt_barrier();
	/* [C] Success: nobody reserved since [A], so ts is in order at pos. */
	if (xvt_unlikely(!xvt_local_cas(&c->resv, pos, end))) {
		xvt_local_inc(&c->retries);
		goto again;
	}
	xvt_barrier();
	/* [D] After [C]: equal stamps promise that write_stamp belongs to the last record. */
	xvt_store(&c->write_stamp, ts);
	xvt_barrier();
	/* After [D]: until here a nested event of the new epoch writes a full stamp anyway. */
	if (xvt_unlikely(epoch != xvt_load(&c->epoch_seen)))
		xvt_store(&c->epoch_seen, epoch);

	slot->pos = pos;
	if (xvt_unlikely(cross)) {
		w->crossed = true;
		if (offset)
			xvt_writer_pad(w, pos, next_subbuf, ts);
		slot->pos = next_subbuf + sizeof(opened);
		/* Overwrite mode: a host that copied the old bytes must be able to notice that
		 * resv moved before these stores; pairs with its re-read of resv after copying. */
		xvt_wmb();
		memcpy(w->data + (next_subbuf & (w->ring_size - 1)), &opened, sizeof(opened));
		xvt_barrier();
	}
	/* [E] Header and time before the payload: a writer that dies now leaves a record whose
	 * length and time are known, so that the ones after it stay readable. */
	rec = (uint64_t *)(w->data + (slot->pos & (w->ring_size - 1)));
	header = xvt_header(w->ring_shift, slot->pos, id, need, ts, full ? XVT_H_FULL : 0);
	if (xvt_unlikely(full))
		xvt_store(rec + 1, (ts >> 32) | (uint64_t)epoch << 32);
	xvt_barrier();
	xvt_store(rec, header);
	xvt_barrier();
	/* Length counts in words; what the payload leaves of the last one reads as zero. */
	if (pad)
		rec[(need >> 3) - 1] = 0;

	slot->rec = rec;
	slot->payload = rec + (full ? 2 : 1);
	slot->header = header;
	slot->end = end;
	return 0;
}

/* [F] The payload is complete. Same context as xvt_reserve(). */
xvt_inline void xvt_commit(struct xvt_writer *w, struct xvt_slot *slot)
{
	/* Pairs with the acquire of a reader that salvages past commit. */
	xvt_store_release(slot->rec, slot->header | XVT_H_DONE);
	xvt_writer_leave(w);
}

/*
 * Give a reserved record back. The space returns when nobody reserved since; otherwise a
 * DISCARDED record stays, and its time still counts.
 */
xvt_inline void xvt_discard(struct xvt_writer *w, struct xvt_slot *slot)
{
	struct xvt_ring_ctl *c = w->ctl;
	const bool count = xvt_header_id(slot->header) >= XVT_ID_FIRST_EVENT;
	const uint64_t id_mask = (uint64_t)XVT_H_ID_MASK << XVT_H_ID_SHIFT;
	uint64_t full_word;

	/* First: from here on the next event takes a full stamp, because write_stamp is the
	 * time of a record that is about to vanish. */
	xvt_store(&c->before_stamp, 0);
	xvt_barrier();
	/* Before the space goes back: another context may reserve it and be stopped before its
	 * header is written, and salvage must not take what we leave here for a record. */
	xvt_store(slot->rec, 0);
	xvt_barrier();
	full_word = slot->header & XVT_H_FULL ? slot->rec[1] : 0; /* may be all there is */
	memset(slot->rec + 1, 0, slot->end - slot->pos - 8);
	xvt_barrier();
	if (!xvt_local_cas(&c->resv, slot->end, slot->pos)) {
		if (slot->header & XVT_H_FULL)
			slot->rec[1] = full_word;
		xvt_store_release(slot->rec, (slot->header & ~id_mask) | XVT_H_DONE |
						     (uint64_t)XVT_ID_DISCARDED << XVT_H_ID_SHIFT);
	}
	if (count)
		xvt_local_inc(&c->discarded);
	xvt_writer_leave(w);
}

/* Reserve, copy, commit. Returns as xvt_reserve(). */
xvt_inline int xvt_write(struct xvt_writer *w, uint32_t id, const void *payload, uint32_t len)
{
	struct xvt_slot slot;
	int err = xvt_reserve(w, id, len, &slot);

	if (err)
		return err;
	memcpy(slot.payload, payload, len);
	xvt_commit(w, &slot);
	return 0;
}

/* The guest knows that its clock may have jumped: the next event takes a full stamp. */
xvt_inline void xvt_writer_distrust(struct xvt_writer *w)
{
	xvt_store(&w->ctl->before_stamp, 0);
}

/*
 * Answer the host's clock request, if one is open. Context: the ring's own CPU, not nested
 * in itself. Returns how many more requests the host says will follow at once (so the
 * caller may stay), or -EAGAIN when there was nothing to answer.
 */
xvt_inline int64_t xvt_writer_answer(struct xvt_writer *w)
{
	uint64_t seq = xvt_load_acquire(&w->host->request_seq); /* pairs with the host's ask */
	int64_t more;

	if (seq == xvt_load(&w->ctl->answer_seq))
		return -EAGAIN;
	more = (int64_t)xvt_load(&w->host->request_more);
	xvt_store(&w->ctl->answer_clock,
		  w->clock ? w->clock(w->clock_arg) : xvt_clock_read_ordered());
	xvt_store_release(&w->ctl->answer_seq, seq); /* pairs with the host's poll */
	return more;
}

#endif /* XVT_WRITER_H */
