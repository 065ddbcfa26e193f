/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * xvt_writer_xadd.h - reservation by addition ("R0", RING=xadd). Part of xvt_writer.h.
 *
 * Rostedt's own algorithm in its corrected form (Linux 6.8). The addition cannot fail: an event
 * that is interrupted between [A] and [C] has a place, behind the events that interrupted it, but
 * the time that it read is too old for that place.
 *
 *   1a  the addition returns what was read at [A]: no event came between, the time is exact
 *   1b  the same, with a full stamp
 *   2a  an event came between; the clock is read again and none came since: exact
 *   2b  another event came, or the stamps do not prove anything: SAME, the time of the record
 *       before. That record was reserved, and its time was read, while this event was in
 *       xvt_reserve(); so the time lies between entry and exit, and never before another's.
 *
 * ctl->resv is one word, sub-buffer number and offset (xvt_ring.h). An addition that steps over
 * the border closes the sub-buffer. The number in the word makes that final: no later
 * addition lands in it, and no discard can make it shrink, because its compare-and-swap finds an
 * offset beyond the border or another number. Linux has number and offset in two words, and
 * there a discard of the last record of a full page can reopen it behind an NMI's back.
 */
#ifndef XVT_WRITER_XADD_H
#define XVT_WRITER_XADD_H

/* The step that closes the sub-buffer before position `next`. */
xvt_inline uint64_t xvt_writer_closed(const struct xvt_writer *w, uint64_t next)
{
	return xvt_resv_word(XVT_RING_BACKEND, w->subbuf_shift, next - w->subbuf_size) +
	       w->subbuf_size + 8;
}

/*
 * Path 2: the record begins at `old`, which is not where [A] saw the end. Returns 0, or -EAGAIN
 * when the place is no good because the record crosses the border.
 */
xvt_seldom int xvt_writer_landed(struct xvt_writer *w, uint32_t id, uint32_t len, uint64_t old,
				 uint64_t flags, struct xvt_slot *slot)
{
	struct xvt_ring_ctl *c = w->ctl;
	const uint64_t offset = xvt_resv_offset(w->subbuf_shift, old);
	const uint64_t size = xvt_record_size(len) + (flags ? 8 : 0);
	const uint64_t pos = xvt_writer_pos(w, old);
	const bool full = flags & XVT_H_FULL;
	struct xvt_look at;

	if (offset + size > w->subbuf_size || offset & 7) {
		/* The sub-buffer is closed now. Exactly one addition found room and went beyond
		 * it: that context pads. (Or the offset is no ring's: [A] will find it so.) */
		if (offset < w->subbuf_size)
			xvt_writer_pad(w, pos, pos - offset + w->subbuf_size, 0);
		return -EAGAIN;
	}
	slot->pos = pos;
	slot->end = pos + size;
	slot->resv = old + size;
	slot->rec = (uint64_t *)(w->data + (pos & w->ring_mask));
	slot->payload = slot->rec + (full ? 2 : 1);
	slot->header = xvt_header(w->ring_shift, pos, id, (uint32_t)size, 0, XVT_H_SAME | flags);
	/* [E] First as 2b, which is true at any moment from here on: a writer that dies now leaves
	 * a record that can be read. Release: pairs with a reader that salvages past commit. */
	if (full)
		slot->rec[1] = 0;
	xvt_store_release(slot->rec, slot->header);
	if (len & 7)
		slot->rec[(size >> 3) - 1] = 0;

	/* As [A], but that before_stamp is set before write_stamp is read. If then the two agree,
	 * write_stamp is the time of the record before this one; and any event from here on,
	 * the next one too, finds them unequal. */
	at.seen = xvt_load(&c->epoch_seen);
	xvt_barrier();
	at.before = xvt_load(&c->before_stamp);
	at.epoch = xvt_load(&w->host->epoch);
	xvt_barrier();
	at.ts = xvt_writer_clock(w);
	xvt_barrier();
	at.epoch_after = xvt_load(&w->host->epoch);
	xvt_store(&c->before_stamp, at.ts);
	xvt_barrier();
	at.after = xvt_load(&c->write_stamp);
	xvt_barrier();
	/* Last of all: an event after this test reads a later time. One that came before it, before
	 * before_stamp was set, may have counted on the time of the record before this one. */
	if (xvt_load(&c->resv) != slot->resv || at.epoch_after != at.epoch ||
	    (!full && !xvt_look_proven(w, &at)))
		return 0;
	/* 2a. write_stamp stays as it is: no path but [D] ever makes the stamps equal. */
	if (at.epoch != xvt_load(&c->epoch_seen))
		xvt_store(&c->epoch_seen, at.epoch);
	if (full)
		xvt_store(slot->rec + 1, (at.ts >> 32) | (uint64_t)at.epoch << 32);
	xvt_barrier();
	slot->header = (slot->header & ~XVT_H_SAME) | (uint32_t)at.ts;
	xvt_store_release(slot->rec, slot->header);
	return 0;
}

/*
 * [B] to [D] of path 1 in the open sub-buffer. Returns true; or false and in *old where the
 * addition landed instead.
 */
xvt_inline bool xvt_writer_claim(const struct xvt_writer *w, struct xvt_ring_ctl *c, uint32_t id,
				 uint32_t len, const struct xvt_look *at, uint64_t flags,
				 struct xvt_slot *slot, uint64_t *old)
{
	const uint64_t size = xvt_record_size(len) + (flags & XVT_H_FULL ? 8 : 0);
	uint64_t pos;

	/* [B] Before [C]: any interrupt from here on finds the stamps unequal. */
	xvt_store(&c->before_stamp, at->ts);
	xvt_barrier();
	/* [C] */
	*old = xvt_local_fetch_add(&c->resv, size);
	xvt_barrier();
	if (xvt_unlikely(*old != at->resv))
		return false;
	slot->resv = at->resv + size;
	/* As xvt_writer_pos(), but for what is known not to be closed. */
	pos = (uint64_t)((int64_t)(at->resv & ~w->resv_mask) >> XVT_RESV_SHIFT) |
	      (at->resv & w->resv_mask);
	xvt_writer_begin(w, slot, pos, id, len, at, flags); /* [E] */
	xvt_writer_stamp(c, at->ts, at->epoch);		    /* [D] */
	return true;
}

/* The general case, from where the fast way stopped; `at` is what it found at [A], if it did. */
xvt_seldom int xvt_reserve_slowly(struct xvt_writer *w, uint32_t id, uint32_t len, enum xvt_way way,
				  struct xvt_look *at, struct xvt_slot *slot)
{
	int err = xvt_writer_detour(w, id, len, way, slot);
	uint32_t tries = way == XVT_WAY_AGAIN; /* used up */

	if (err)
		return err;
	if (tries)
		xvt_local_inc(&w->ctl->retries);
	for (; tries <= XVT_MAXRETRY; tries++) {
		uint64_t flags, size, old;

		if (way != XVT_WAY_LOOKED)
			xvt_writer_look(w, w->ctl, w->host, at);
		way = XVT_WAY_AGAIN;
		flags = xvt_look_proven(w, at) ? 0 : XVT_H_FULL;
		size = xvt_record_size(len) + (flags ? 8 : 0);
		if (at->epoch_after != at->epoch)
			err = -EAGAIN;
		else if (!xvt_writer_fits(w, at->resv, size))
			err = xvt_writer_cross(w, id, len, at, slot);
		else if (xvt_writer_claim(w, w->ctl, id, len, at, flags, slot, &old))
			err = 0; /* 1b */
		else
			err = xvt_writer_landed(w, id, len, old, flags, slot);
		if (!err && slot->nest == 1)
			xvt_writer_remember(w, slot, at->epoch);
		if (!err)
			xvt_writer_return(w, slot);
		if (err != -EAGAIN)
			return err;
		xvt_local_inc(&w->ctl->retries);
	}
	return xvt_writer_lose(w, XVT_LOST_RETRY, id, slot->nest);
}

/* Path 2 of an event that hoped for 1a. */
xvt_seldom int xvt_reserve_landed(struct xvt_writer *w, uint32_t id, uint32_t len, uint64_t old,
				  struct xvt_slot *slot)
{
	struct xvt_look at;
	int err;

	slot->ctl = w->ctl;
	slot->nest = 1;
	slot->mode = (uint32_t)w->state;
	err = xvt_writer_landed(w, id, len, old, 0, slot);
	if (err)
		return xvt_reserve_slowly(w, id, len, XVT_WAY_AGAIN, &at, slot);
	xvt_writer_return(w, slot);
	return 0;
}

xvt_inline int xvt_reserve(struct xvt_writer *w, uint32_t id, uint32_t len, struct xvt_slot *slot)
{
	/* Loaded once: the compiler may not keep them across the barriers. */
	struct xvt_ring_ctl *c = w->ctl;
	const struct xvt_ring_host *const h = w->host;
	const uint64_t state = w->state;
	struct xvt_slot seldom; /* copies, so that slot and at may live in registers */
	struct xvt_look at, again;
	enum xvt_way way = xvt_fast_enter(c, h, id, state);
	uint64_t old;
	int err;

	if (xvt_likely(way == XVT_WAY_FAST)) {
		xvt_hide(c);
		way = xvt_fast_look(w, c, h, len, state, &at);
	}
	if (xvt_likely(way == XVT_WAY_FAST)) {
		xvt_hide(c);
		/* [B] Before [C]: a context that interrupts from here on finds them unequal. */
		xvt_store(&c->before_stamp, at.ts);
		xvt_barrier();
		/* [C] */
		old = xvt_local_fetch_add(&c->resv, xvt_record_size(len));
		xvt_barrier();
		if (xvt_likely(old == at.resv)) {
			xvt_fast_begin(w, c, h, id, len, state, &at, slot);
			return 0; /* 1a */
		}
		err = xvt_reserve_landed(w, id, len, old, &seldom); /* 2 */
	} else if (way == XVT_WAY_OFF) {
		return -EAGAIN;
	} else {
		if (way == XVT_WAY_LOOKED)
			again = at;
		err = xvt_reserve_slowly(w, id, len, way, &again, &seldom);
	}
	*slot = seldom;
	return err;
}

#endif /* XVT_WRITER_XADD_H */
