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
 *   M. Desnoyers, LTTng: read the position, read the clock, then move the position, and see
 *     whether it moved in between. Low bits of the absolute time instead of deltas, so
 *     a bad record cannot shift the ones after it.
 *   L. Torvalds (unified tracing buffer, 2008): raw counter, 32 bits for most events, the
 *     full value when the upper half may have changed, scaling when presenting.
 *
 * How a record takes its place is one of two back-ends, chosen when this is compiled:
 *
 *   xvt_writer_cas.h   moves the position by compare-and-swap; an interrupted event begins again
 *   xvt_writer_xadd.h  (-DXVT_RING_XADD) by an addition, which never fails; an interrupted
 *                      event keeps its place and finds a time for it
 *
 * Both write the same format. Labels [A] to [F] follow Rostedt's text, in both:
 *   [A] read position and stamps   [B] before_stamp = ts   [C] move the position
 *   [D] write_stamp = ts           [E] header and time     [F] payload complete
 * with [E] before [D]; and so do the names of the paths:
 *   1a  no event came between [A] and [C]
 *   1b  the same, and the stamps (or a long gap, or a new epoch) ask for a full time
 *   2a  an event came between, and this one still gets a time of its own
 *   2b  an event came between, and this one gets the time of the record before it
 * docs/xvt-writer.md has the map and what each costs.
 *
 * Other accesses to the words: interrupts of the same CPU run this same code to completion
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
	/* The state that path 1a needs: xvt_writer_remember(). */
	uint64_t state;	    /* of the host, when a record was last written on another path */
	uint64_t first;	    /* address of that sub-buffer's first record */
	uint64_t room;	    /* 64-bit words from there on */
	uint64_t to_memory; /* a word of ctl->resv in it, and this: the address */
	uint64_t to_pos;    /* the same, and this: the position */
	uint64_t lap;	    /* in its records' headers */
	uint8_t *data;
	uint64_t ring_size;
	uint64_t ring_mask; /* ring_size - 1 */
	uint64_t ts_limit;  /* 1 << ts_bits: a gap from here on needs a full stamp */
	uint64_t resv_mask; /* the offset in a word of ctl->resv: xvt_writer_bind() */
	uint32_t subbuf_size;
	uint32_t subbuf_mask; /* subbuf_size - 1 */
	uint32_t ring_shift;
	uint32_t subbuf_shift;
	uint32_t max_record; /* header and payload, bytes; what fits a fresh sub-buffer */
	/* The ring's clock; NULL is the CPU's own counter. Must never return 0. */
	uint64_t (*clock)(void *arg);
	bool crossed; /* a sub-buffer was opened since the last chance to kick the host */
	uint32_t generation;
	void *clock_arg;
	/* Called at most once a sub-buffer, when the host sleeps. May be NULL. */
	void (*kick)(void *arg);
	void *kick_arg;
};

/* A reserved record. Lives on the caller's stack between reserve and commit or discard. */
struct xvt_slot {
	void *payload;	 /* room for the length that was asked for */
	uint64_t *rec;	 /* the header word */
	uint64_t header; /* the content of that word, without DONE */
	uint64_t pos;
	uint64_t end;
	uint64_t resv; /* ctl->resv, as long as none is reserved after this: xvt_slot_resv() */
	struct xvt_ring_ctl *ctl; /* the writer's; a barrier makes the compiler load it again */
	uint32_t nest; /* how deep: 1 is the outermost; 0 too, if it leaves by publishing */
	uint32_t mode; /* enum xvt_enable, as found at the entry; not set on path 1a */
};

/* The state that an attempt to reserve found at [A]. */
struct xvt_look {
	uint64_t resv;
	uint64_t before;
	uint64_t after;
	uint64_t ts;
	uint32_t seen;
	uint32_t epoch;
	uint32_t epoch_after; /* reading the clock; if it changed meanwhile, look again */
	uint64_t rec;	      /* on the fast way: the record's address, checked */
};

xvt_inline uint64_t xvt_writer_clock(const struct xvt_writer *w)
{
	if (xvt_likely(!w->clock))
		return XVT_CLOCK_READ();
	return w->clock(w->clock_arg);
}

/* The size of a record with `len` payload bytes, without a full stamp. 64 bits: any len. */
xvt_inline uint64_t xvt_record_size(uint32_t len)
{
	return 8 + (((uint64_t)len + 7) & ~7ull);
}

#ifdef XVT_RING_XADD
#define XVT_RING_BACKEND XVT_BACKEND_XADD
#else
#define XVT_RING_BACKEND XVT_BACKEND_CAS
#endif

/* The part that depends on the back-end that this was compiled with. Part of xvt_writer_init(). */
xvt_inline void xvt_writer_bind(struct xvt_writer *w)
{
	w->resv_mask = w->subbuf_mask;
	if (XVT_RING_BACKEND == XVT_BACKEND_XADD)
		w->resv_mask = (1ull << (w->subbuf_shift + XVT_RESV_SHIFT)) - 1;
}

/* A word of ctl->resv as a position. */
xvt_inline uint64_t xvt_writer_pos(const struct xvt_writer *w, uint64_t resv)
{
	return xvt_resv_pos(XVT_RING_BACKEND, w->subbuf_shift, resv);
}

/* The value of ctl->resv as long as no record was reserved after this one. */
xvt_inline uint64_t xvt_slot_resv(const struct xvt_slot *slot)
{
	return XVT_RING_BACKEND == XVT_BACKEND_CAS ? slot->end : slot->resv;
}

/*
 * The outermost publishes everything that is finished, and goes on until nothing came after.
 * commit is stored before nest drops: the other way round, an interrupt between the two
 * would publish its newer position and this context then an older one. After nest = 0 the
 * position is read again, because an interrupt may have reserved between our read of it and
 * nest = 0, found nest > 1, and left the publishing to us.
 */
xvt_seldom void xvt_writer_publish(struct xvt_writer *w)
{
	struct xvt_ring_ctl *c = w->ctl;
	uint32_t turns;

	/* The last turn leaves nest = 0 and what came since to the next event: with nest stuck
	 * at 1 no event would ever publish again. The host sees commit < resv. */
	for (turns = 0; turns < XVT_MAXRETRY; turns++) {
		uint64_t resv;

		xvt_store(&c->nest, 1);
		xvt_barrier();
		resv = xvt_load(&c->resv);
		xvt_barrier();
		/* pairs with xvt_ring_words() */
		xvt_store_release(&c->commit, xvt_writer_pos(w, resv));
		xvt_barrier();
		/* after resv and commit, for the host too; pairs with xvt_ring_words() */
		xvt_store_release(&c->nest, 0);
		xvt_barrier();
		if (xvt_load(&c->resv) == resv)
			break;
	}
	/* A crossing at any depth counts: only the outermost event gets here. Cleared before
	 * need_wake is read, so that a crossing after it has its own turn. */
	if (!w->crossed)
		return;
	w->crossed = false;
	/* commit must be visible before need_wake is read; pairs with the host's fence between
	 * setting need_wake and its last look at commit. */
	xvt_mb();
	if (xvt_load(&w->host->need_wake))
		w->kick(w->kick_arg);
}

/* Leave without a record, or after a crossing. */
xvt_seldom void xvt_writer_leave_empty(struct xvt_writer *w, uint32_t nest)
{
	if (nest > 1)
		xvt_store(&w->ctl->nest, nest - 1);
	else
		xvt_writer_publish(w);
}

/*
 * Leave one level of nesting after a record: none was reserved after it while ctl->resv is
 * `resv`, which is position `end`. Order as in xvt_writer_publish(), and the same in effect:
 * everything below `end` is finished, because all events nested in this one are, so `end` may be
 * published whatever came after it; that is published once it was seen. A crossing is seen by
 * the same look: path 1a is not taken after a crossing before [A], [C] fails after one between [A]
 * and [C], and one after [C] moves resv.
 */
xvt_inline void xvt_writer_leave(struct xvt_writer *w, struct xvt_ring_ctl *c, uint32_t nest,
				 uint64_t resv, uint64_t end)
{
	if (xvt_unlikely(nest != 1)) {
		xvt_writer_leave_empty(w, nest);
		return;
	}
	xvt_store_release(&c->commit, end); /* pairs with xvt_ring_words() */
	xvt_barrier();
	xvt_store_release(&c->nest, 0); /* as there */
	xvt_barrier();
	if (xvt_unlikely(xvt_differs(&c->resv, resv)))
		xvt_writer_publish(w);
}

xvt_inline int xvt_writer_lose(struct xvt_writer *w, enum xvt_loss cause, uint32_t id,
			       uint32_t nest)
{
	if (id >= XVT_ID_FIRST_EVENT)
		xvt_local_inc(&w->ctl->lost[cause]);
	xvt_writer_leave_empty(w, nest);
	return -ENOSPC;
}

/* The second half of xvt_writer_enter(): slot->nest is set, and in ctl->nest. */
xvt_inline int xvt_writer_entered(struct xvt_writer *w, struct xvt_ring_ctl *c,
				  const struct xvt_ring_host *h, uint32_t id, struct xvt_slot *slot)
{
	slot->mode = xvt_load(&h->enable);
	if (xvt_unlikely(slot->mode == XVT_ENABLE_OFF)) {
		xvt_writer_leave_empty(w, slot->nest);
		return -EAGAIN;
	}
	if (id >= XVT_ID_FIRST_EVENT)
		xvt_local_inc(&c->attempted);
	if (xvt_unlikely(slot->nest != 1)) {
		if (slot->nest > xvt_load(&c->nest_max))
			xvt_store(&c->nest_max, slot->nest);
		if (slot->nest > XVT_MAXNEST)
			return xvt_writer_lose(w, XVT_LOST_NEST, id, slot->nest);
	}
	return 0;
}

/*
 * Enter: 0, how deep and in which mode in *slot; or what xvt_reserve() shall return.
 *
 * nest before everything else, and enable once more after it: a host that cleared enable and
 * then finds nest == 0 and commit == resv knows that no record follows. A plain add is safe
 * here: an interrupt restores the value that it found.
 */
xvt_inline int xvt_writer_enter(struct xvt_writer *w, struct xvt_ring_ctl *c,
				const struct xvt_ring_host *h, uint32_t id, struct xvt_slot *slot)
{
	if (xvt_load(&h->enable) == XVT_ENABLE_OFF)
		return -EAGAIN;
	slot->nest = xvt_load(&c->nest) + 1;
	xvt_store(&c->nest, slot->nest);
	xvt_barrier();
	return xvt_writer_entered(w, c, h, id, slot);
}

/*
 * [A] The position before the stamps before the clock: times then increase with the
 * position, and equal stamps are those of the record just below it.
 */
xvt_inline void xvt_writer_look(const struct xvt_writer *w, const struct xvt_ring_ctl *c,
				const struct xvt_ring_host *h, struct xvt_look *at)
{
	at->resv = xvt_load(&c->resv);
	xvt_barrier();
	/* epoch_seen before the stamps: a nested event of a new epoch that is discarded leaves
	 * epoch_seen new and the position as it was, and must be seen by one of the two. */
	at->seen = xvt_load(&c->epoch_seen);
	xvt_barrier();
	at->before = xvt_load(&c->before_stamp);
	at->after = xvt_load(&c->write_stamp);
	at->epoch = xvt_load(&h->epoch);
	xvt_barrier();
	at->ts = xvt_writer_clock(w);
	xvt_barrier();
	at->epoch_after = xvt_load(&h->epoch);
}

/*
 * Do 32 bits say the time? Only after a record whose time is known and lies not too far back. A
 * clock that went back gives a huge unsigned difference, so a full stamp too.
 */
xvt_inline bool xvt_look_proven(const struct xvt_writer *w, const struct xvt_look *at)
{
	return at->before == at->after && at->ts - at->after < w->ts_limit && at->epoch == at->seen;
}

/*
 * Is there room for `size` bytes behind `offset` in the open sub-buffer? Not at offset 0, where
 * the sub-buffer's header is missing, nor at or beyond the end. A single comparison for all of it:
 * offsets from 1 on are legal, and the mask makes the largest of 0 - 1. Nor at an offset that is no
 * multiple of 8: no ring has one, and the next sub-buffer's border is one again.
 */
xvt_inline bool xvt_writer_fits(const struct xvt_writer *w, uint64_t resv, uint64_t size)
{
	const uint64_t last = XVT_RING_BACKEND == XVT_BACKEND_CAS ? w->resv_mask : w->subbuf_mask;

	return ((resv - 1) & w->resv_mask) + size <= last && !(resv & 7);
}

/* Any length that a sub-buffer of the smallest size takes needs no look at the ring's own. */
xvt_inline bool xvt_writer_is_big(const struct xvt_writer *w, uint32_t len)
{
	return len > XVT_SUBBUF_SIZE_MIN - sizeof(struct xvt_subbuf_hdr) - 8 &&
	       len + 8ull > w->max_record;
}

/*
 * [D] After [C]: equal stamps promise that write_stamp belongs to the last record. And after [E]:
 * an event that comes in between finds the stamps unequal and writes a full one, which can be read
 * even if this writer dies and its header is never stored.
 */
xvt_inline void xvt_writer_stamp(struct xvt_ring_ctl *c, uint64_t ts, uint32_t epoch)
{
	/* Before write_stamp: a nested event of a newer epoch that was discarded before [B] left
	 * its epoch here, and equal stamps must not meet it. */
	if (xvt_unlikely(epoch != xvt_load(&c->epoch_seen)))
		xvt_store(&c->epoch_seen, epoch);
	xvt_barrier();
	xvt_store(&c->write_stamp, ts);
	xvt_barrier();
}

/*
 * [E] Header and time before the payload: a writer that dies now leaves a record whose length
 * and time are known, so that the ones after it stay readable. `flags` is FULL or 0.
 */
xvt_inline void xvt_writer_begin(const struct xvt_writer *w, struct xvt_slot *slot, uint64_t pos,
				 uint32_t id, uint32_t len, const struct xvt_look *at,
				 uint64_t flags)
{
	const uint32_t size = (uint32_t)xvt_record_size(len) + (flags & XVT_H_FULL ? 8 : 0);
	uint64_t *rec = (uint64_t *)(w->data + (pos & w->ring_mask));

	slot->pos = pos;
	slot->end = pos + size;
	slot->rec = rec;
	slot->payload = rec + (flags & XVT_H_FULL ? 2 : 1);
	slot->header = xvt_header(w->ring_shift, pos, id, size, at->ts, flags);
	if (flags & XVT_H_FULL)
		xvt_store(rec + 1, (at->ts >> 32) | (uint64_t)at->epoch << 32);
	xvt_barrier();
	xvt_store(rec, slot->header);
	xvt_barrier();
	/* Length counts in words; what the payload leaves of the last one reads as zero. */
	if (len & 7)
		rec[(size >> 3) - 1] = 0;
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
 * compare-and-swap, so no two contexts write the same padding or header at any depth. Rounded:
 * from the last bytes of a ring a word would reach beyond it, and a wrong position must not.
 */
xvt_inline void xvt_writer_pad(struct xvt_writer *w, uint64_t from, uint64_t to, uint64_t ts)
{
	uint64_t *rec = (uint64_t *)(w->data + (from & w->ring_mask & ~7ull));
	uint64_t len8 = (to - from) >> 3;

	/* A gap longer than len8 can say is legal: PAD_END reaches to the end whatever it says. */
	if (len8 > XVT_LEN8_MAX)
		len8 = XVT_LEN8_MAX;
	xvt_store_release(rec, xvt_header(w->ring_shift, from, XVT_ID_PAD_END, (uint32_t)len8 << 3,
					  ts, XVT_H_DONE));
}

/* The header of the sub-buffer at `pos`, as it will be. */
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

/* The step that closes the sub-buffer before position `next`: in the back-end. */
xvt_inline uint64_t xvt_writer_closed(const struct xvt_writer *w, uint64_t next);

/*
 * [B] to [D] of a record that opens a sub-buffer: the open one has no room, is full, is closed,
 * or there is none yet. Returns 0; -ENOSPC when it was lost; -EAGAIN when an event came
 * between [A] and [C].
 */
xvt_inline int xvt_writer_cross(struct xvt_writer *w, uint32_t id, uint32_t len,
				const struct xvt_look *at, struct xvt_slot *slot)
{
	struct xvt_ring_ctl *c = w->ctl;
	const uint64_t pos = xvt_writer_pos(w, at->resv);
	const uint64_t left = -pos & w->subbuf_mask; /* to be padded */
	const uint64_t next = pos + left;
	/* The sub-buffer's header carries the full time, the record needs none. A record of the
	 * largest size so terminates after one crossing. */
	const uint64_t first = sizeof(struct xvt_subbuf_hdr);
	const uint64_t resv = xvt_resv_word(XVT_RING_BACKEND, w->subbuf_shift, next) + first +
			      xvt_record_size(len);
	const size_t rest = offsetof(struct xvt_subbuf_hdr, seq);
	struct xvt_subbuf_hdr opened;
	enum xvt_loss cause;
	uint8_t *header;

	if (!xvt_writer_may_open(w, pos, next, slot->mode, &cause)) {
		/* Close what is open, so that the gap lies exactly at this border. */
		if (left) {
			if (!xvt_local_cas(&c->resv, at->resv, xvt_writer_closed(w, next)))
				return -EAGAIN;
			xvt_writer_pad(w, pos, next, at->ts);
		}
		return xvt_writer_lose(w, cause, id, slot->nest);
	}
	/* Sampled before [C]: if [C] succeeds no other sub-buffer was opened since, so what these
	 * counters miss is counted in the next header, never twice. */
	xvt_writer_sample(w, &opened, next, at->ts, at->epoch, slot->mode);
	/* [B] Before [C]: any interrupt from here on finds the stamps unequal. Under a coarse
	 * clock too, where the last record may have this very time: it lies in another sub-buffer,
	 * and no event may count on it before this one has a header. */
	xvt_store(&c->before_stamp, at->ts);
	xvt_barrier();
	xvt_store(&c->write_stamp, ~0ull);
	xvt_barrier();
	/* [C] Success: no record was reserved since [A], so the time is in order. */
	if (!xvt_local_cas(&c->resv, at->resv, resv))
		return -EAGAIN;
	xvt_barrier();
	w->crossed = w->kick != NULL;
	if (left)
		xvt_writer_pad(w, pos, next, at->ts);
	/* Overwrite mode: a host that copied the old bytes must be able to notice that resv moved
	 * before these stores; pairs with its re-read of resv after copying. */
	xvt_wmb();
	/* The word with the magic last: with it the header is whole, without it there is none. */
	header = w->data + (next & w->ring_mask);
	memcpy(header + rest, (const uint8_t *)&opened + rest, sizeof(opened) - rest);
	xvt_barrier();
	memcpy(header, &opened, rest);
	xvt_barrier();
	slot->resv = resv;
	xvt_writer_begin(w, slot, next + first, id, len, at, 0); /* [E] */
	xvt_writer_stamp(c, at->ts, at->epoch);			 /* [D] */
	return 0;
}

/*
 * The fast way: path 1a of an outermost event. It needs the host's state and the sub-buffer that
 * an outermost event remembered on another path, room in that sub-buffer, equal stamps, and a
 * clock that is not too far ahead. Where one of these is missing, the general code goes on from
 * there. Up to COUNT, in the order of what is done already:
 */
enum xvt_way {
	XVT_WAY_FAST,
	XVT_WAY_OFF,	/* recording is off: the event ends here */
	XVT_WAY_ENTER,	/* nothing is done: the host's state is another one, or the event nests */
	XVT_WAY_COUNT,	/* nest is 1; the state has changed since, and `attempted` has not */
	XVT_WAY_LOOK,	/* nest is 1, the event is counted, the state was the one remembered */
	XVT_WAY_AGAIN,	/* as LOOK, and one attempt is used up */
	XVT_WAY_LOOKED, /* as LOOK, and [A] is done: only the gap is too long */
};

/*
 * Remember what path 1a needs. Context: outermost, after [D]. A context that nests neither reads
 * nor stores this. It stays true of that sub-buffer; in any other one there is no room, because a
 * word of ctl->resv there gives an address that is further than `room` from `first`.
 */
xvt_inline void xvt_writer_remember(struct xvt_writer *w, const struct xvt_slot *slot,
				    uint32_t epoch)
{
	const uint64_t pos =
		(slot->pos & ~(uint64_t)w->subbuf_mask) + sizeof(struct xvt_subbuf_hdr);
	const uint64_t word = xvt_resv_word(XVT_RING_BACKEND, w->subbuf_shift, pos);
	const uint64_t first = (uint64_t)(uintptr_t)w->data + (pos & w->ring_mask);

	w->state = (uint64_t)epoch << 32 | slot->mode;
	if (w->first == first && w->to_memory == first - word && w->room)
		return; /* as after most full stamps */
	w->first = first;
	w->room = (w->subbuf_size - sizeof(struct xvt_subbuf_hdr)) / 8;
	w->to_memory = first - word;
	w->to_pos = pos - word;
	w->lap = xvt_header_lap(w->ring_shift, pos);
}

/*
 * Is there room for `size` bytes at the address `rec` in the sub-buffer that is remembered? A
 * single comparison, of where the record ends. A record that begins before `first` and ends behind
 * it would pass; no ring has such a word of ctl->resv, but wrong words shall cost events, not
 * memory. It still lies inside of the sub-buffer if it is smaller than the sub-buffer's header; a
 * larger one is refused. The bits below a multiple of 8 become the highest ones, so that such an
 * address is out of reach.
 */
xvt_inline bool xvt_fast_fits(const struct xvt_writer *w, uint64_t rec, uint64_t size)
{
	uint64_t end = rec + size - w->first;

	if (size >= sizeof(struct xvt_subbuf_hdr))
		end |= (uint64_t)((int64_t)(rec - w->first) >> 63);
	return xvt_likely((end >> 3 | end << 61) <= w->room);
}

/* Enter. As xvt_writer_enter(): nest before everything else, and enable once more after it. */
xvt_inline enum xvt_way xvt_fast_enter(struct xvt_ring_ctl *c, const struct xvt_ring_host *h,
				       uint32_t id, uint64_t state)
{
	if (xvt_unlikely(xvt_differs(&h->state, state)))
		return xvt_load(&h->enable) == XVT_ENABLE_OFF ? XVT_WAY_OFF : XVT_WAY_ENTER;
	if (xvt_unlikely(xvt_load(&c->nest)))
		return XVT_WAY_ENTER;
	xvt_store(&c->nest, 1);
	xvt_barrier();
	if (xvt_unlikely(xvt_differs(&h->state, state)))
		return XVT_WAY_COUNT;
	if (id >= XVT_ID_FIRST_EVENT)
		xvt_local_inc(&c->attempted);
	return XVT_WAY_FAST;
}

/* Up to the clock. `at` gets what another way would have found, as far as it goes. */
xvt_inline enum xvt_way xvt_fast_look(struct xvt_writer *w, const struct xvt_ring_ctl *c,
				      const struct xvt_ring_host *h, uint32_t len, uint64_t state,
				      struct xvt_look *at)
{
	/*
	 * [A] As xvt_writer_look(), but without epoch_seen: while the host's state is the one that
	 * is remembered, epoch_seen is that state's epoch, because an event that stores another
	 * one has found another state. The look after the clock finds that, too.
	 */
	at->resv = xvt_load(&c->resv);
	xvt_barrier();
	at->before = xvt_load(&c->before_stamp);
	if (xvt_unlikely(xvt_differs(&c->write_stamp, at->before)) ||
	    len > XVT_SUBBUF_SIZE_MIN - sizeof(struct xvt_subbuf_hdr) - 8) /* any ring takes that */
		return XVT_WAY_LOOK;
	/* Computed once: what is checked is what is stored to, whatever a wrong word of ctl->nest
	 * lets a nested context change in *w. */
	at->rec = at->resv + w->to_memory;
	xvt_hide(at->rec);
	/* A context that crossed before [A] leaves no room, and one that crosses after [A] makes
	 * [C] fail. */
	if (!xvt_fast_fits(w, at->rec, xvt_record_size(len)))
		return XVT_WAY_LOOK;
	xvt_barrier();
	at->ts = xvt_writer_clock(w);
	xvt_barrier();
	/* Recording that was switched off meanwhile does not concern this event any more. */
	if (xvt_unlikely(xvt_differs(&h->state, state)) &&
	    xvt_load(&h->epoch) != (uint32_t)(state >> 32))
		return XVT_WAY_AGAIN;
	if (xvt_unlikely(at->ts - at->before >= w->ts_limit)) {
		at->after = at->before;
		at->epoch = at->seen = at->epoch_after = (uint32_t)(state >> 32);
		return XVT_WAY_LOOKED;
	}
	return XVT_WAY_FAST;
}

/* [E] and [D]: as xvt_writer_begin() and xvt_writer_stamp(). */
xvt_inline void xvt_fast_begin(const struct xvt_writer *w, struct xvt_ring_ctl *c,
			       const struct xvt_ring_host *h, uint32_t id, uint32_t len,
			       uint64_t state, const struct xvt_look *at, struct xvt_slot *slot)
{
	const uint32_t size = (uint32_t)xvt_record_size(len);
	uint64_t *rec = (uint64_t *)(uintptr_t)at->rec;

	slot->pos = at->resv + (XVT_RING_BACKEND == XVT_BACKEND_CAS ? 0 : w->to_pos);
	slot->end = slot->pos + size;
	slot->resv = at->resv + size;
	slot->rec = rec;
	slot->payload = rec + 1;
	slot->header = w->lap | xvt_header_word(id, size, at->ts, 0);
	slot->ctl = c;
	slot->nest = 1;
	xvt_store(rec, slot->header); /* [E] */
	xvt_barrier();
	if (len & 7)
		rec[(size >> 3) - 1] = 0;
	/* Only a context of a newer epoch may have stored another one. */
	if (xvt_unlikely(xvt_differs(&h->state, state)))
		xvt_store(&c->epoch_seen, (uint32_t)(state >> 32));
	xvt_barrier();
	xvt_store(&c->write_stamp, at->ts); /* [D] */
	xvt_barrier();
}

/* Another way, up to [A]: 0, or what xvt_reserve() shall return. */
xvt_inline int xvt_writer_detour(struct xvt_writer *w, uint32_t id, uint32_t len, enum xvt_way way,
				 struct xvt_slot *slot)
{
	int err = 0;

	slot->ctl = w->ctl;
	slot->nest = 1;
	slot->mode = (uint32_t)w->state;
	if (way == XVT_WAY_ENTER) {
		slot->nest = xvt_load(&w->ctl->nest) + 1;
		xvt_store(&w->ctl->nest, slot->nest);
		xvt_barrier();
	}
	if (way <= XVT_WAY_COUNT)
		err = xvt_writer_entered(w, w->ctl, w->host, id, slot);
	if (!err && xvt_writer_is_big(w, len))
		err = xvt_writer_lose(w, XVT_LOST_BIG, id, slot->nest);
	return err;
}

/*
 * After [C] of a record that went another way: it leaves as one that went the fast way, unless a
 * sub-buffer was opened before [C], by this event or by one that nested in it. Then it publishes,
 * because the last look at resv would not find that crossing, and need_wake must be read.
 */
xvt_inline void xvt_writer_return(const struct xvt_writer *w, struct xvt_slot *slot)
{
	if (slot->nest == 1)
		slot->nest = !w->crossed;
}

/*
 * The back-end:
 *
 * int xvt_reserve(w, id, len, slot)
 *
 * Reserve a record of `len` payload bytes. Context: any (task, irq, NMI), on the ring's own
 * CPU, not migrating until commit or discard. Returns
 *    0        reserved; fill slot->payload, then xvt_commit() or xvt_discard()
 *   -EAGAIN   recording is off; not counted
 *   -ENOSPC   lost, and counted in one of ctl->lost[]
 * Records with an id below XVT_ID_FIRST_EVENT are the ring's own and never counted.
 */
#ifdef XVT_RING_XADD
#include "xvt_writer_xadd.h"
#else
#include "xvt_writer_cas.h"
#endif

/* [F] The payload is complete. Same context as xvt_reserve(). */
xvt_inline void xvt_commit(struct xvt_writer *w, struct xvt_slot *slot)
{
	struct xvt_ring_ctl *c = slot->ctl;

	xvt_hide(c);
	/* Pairs with the acquire of a reader that salvages past commit. */
	xvt_store_release(slot->rec, slot->header | XVT_H_DONE);
	xvt_writer_leave(w, c, slot->nest, xvt_slot_resv(slot), slot->end);
}

/*
 * Give a reserved record back. The space returns when no record was reserved since; otherwise a
 * DISCARDED record stays, and its time still counts.
 */
xvt_inline void xvt_discard(struct xvt_writer *w, struct xvt_slot *slot)
{
	struct xvt_ring_ctl *c = w->ctl;
	const bool count = xvt_header_id(slot->header) >= XVT_ID_FIRST_EVENT;
	const uint64_t id_mask = (uint64_t)XVT_H_ID_MASK << XVT_H_ID_SHIFT;
	const uint64_t size = slot->end - slot->pos;
	const uint64_t head = slot->header & XVT_H_FULL ? 16 : 8;
	uint64_t full_word = 0;
	bool back;

	/* First: from here on the next event takes a full stamp, because write_stamp is the
	 * time of a record that is about to vanish. */
	xvt_store(&c->before_stamp, 0);
	xvt_barrier();
	/* And stays unequal: a context that we interrupted between its clock read and [B] is about
	 * to set before_stamp, and a coarse clock may have given it the time that we had. */
	xvt_store(&c->write_stamp, ~0ull);
	xvt_barrier();
	/* With a record behind this one the header must stay all the time: that record may count
	 * on its time. Any event from here on writes a full stamp. */
	back = xvt_load(&c->resv) == xvt_slot_resv(slot);
	if (back) {
		/* Before the space goes back: another context may reserve it and be stopped before
		 * its header is written, and salvage must not take what we leave here for a
		 * record. The header last but for the full stamp: a record is stepped over as
		 * long as its header stands, and no stamp has the form of a header. */
		memset(slot->payload, 0, size - head);
		xvt_barrier();
		xvt_store(slot->rec, 0);
		xvt_barrier();
		if (head > 8) {
			full_word = slot->rec[1];
			slot->rec[1] = 0;
		}
		xvt_barrier();
		if (!xvt_local_cas(&c->resv, xvt_slot_resv(slot), xvt_slot_resv(slot) - size)) {
			back = false;
			if (head > 8)
				slot->rec[1] = full_word;
		}
	}
	if (back) {
		slot->resv -= size;
		slot->end -= size;
	} else {
		xvt_store_release(slot->rec, (slot->header & ~id_mask) | XVT_H_DONE |
						     (uint64_t)XVT_ID_DISCARDED << XVT_H_ID_SHIFT);
	}
	if (count)
		xvt_local_inc(&c->discarded);
	xvt_writer_leave(w, c, slot->nest, xvt_slot_resv(slot), slot->end);
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
	/*
	 * The line begins to come from the host's cache while we read the clock, not after: what
	 * the host measures gets a quarter tighter, half where caches are far apart. The host looks
	 * at the clock only once it has seen the number behind it.
	 */
	xvt_store(&w->ctl->answer_clock, 0);
	xvt_store(&w->ctl->answer_clock,
		  w->clock ? w->clock(w->clock_arg) : xvt_clock_read_ordered());
	xvt_store_release(&w->ctl->answer_seq, seq); /* pairs with the host's poll */
	return more;
}

/*
 * Write the mark that the host asks for, if one is open: a record as any other, stamped as any
 * other, and then the acknowledgement. Later and the host would not know that the stamp had been
 * taken by then; earlier and it would not know that it had not. A mark that finds the ring full
 * or off is acknowledged too: the host then has two moments and no record.
 *
 * Context: as xvt_reserve(), so never a thread that only answers for the ring's writer; and not
 * nested in itself.
 */
xvt_inline void xvt_writer_mark(struct xvt_writer *w)
{
	/* Pairs with the host's release: its clock was read before. */
	struct xvt_mark mark = { .number = xvt_load_acquire(&w->host->mark_seq) };

	if (mark.number == xvt_load(&w->ctl->mark_ack))
		return;
	/* Ordered: the record's own read of the clock cannot have overtaken the request. */
	mark.clock = w->clock ? w->clock(w->clock_arg) : xvt_clock_read_ordered();
	(void)xvt_write(w, XVT_ID_MARK, &mark, sizeof(mark));
	xvt_store_release(&w->ctl->mark_ack, mark.number); /* pairs with the host's look */
}

#endif /* XVT_WRITER_H */
