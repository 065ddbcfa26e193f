/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * xvt_writer_cas.h - reservation by compare-and-swap ("R", the default). Part of xvt_writer.h.
 *
 * ctl->resv is a position. Read it, read the clock, move it: if that succeeds no event came
 * between, so the stamp is exact and in buffer order; if it fails, begin again with a new clock.
 * Every stamp is therefore exact on every path:
 *
 *   1a  the compare-and-swap succeeds
 *   1b  the same, with a full stamp
 *   2a, 2b  it fails: begin again, until one of the above (or XVT_MAXRETRY)
 *
 * A sub-buffer closes when the position steps over its border. A position is never used
 * twice but for a discard's space, so nothing can put a record into a closed one.
 */
#ifndef XVT_WRITER_CAS_H
#define XVT_WRITER_CAS_H

/* The step that closes the sub-buffer before position `next`. */
xvt_inline uint64_t xvt_writer_closed(const struct xvt_writer *w, uint64_t next)
{
	(void)w;
	return next;
}

/* [B] to [D] in the open sub-buffer. Returns 0, or -EAGAIN: an event came between. */
xvt_inline int xvt_writer_claim(const struct xvt_writer *w, struct xvt_ring_ctl *c, uint32_t id,
				uint32_t len, const struct xvt_look *at, uint64_t flags,
				struct xvt_slot *slot)
{
	const uint64_t end = at->resv + xvt_record_size(len) + (flags & XVT_H_FULL ? 8 : 0);

	/* [B] Before [C]: any interrupt from here on finds the stamps unequal. */
	xvt_store(&c->before_stamp, at->ts);
	xvt_barrier();
	/* [C] Success: no record was reserved since [A], so the time is in order. */
	if (xvt_unlikely(!xvt_local_cas(&c->resv, at->resv, end)))
		return -EAGAIN;
	xvt_barrier();
	slot->resv = end;
	xvt_writer_begin(w, slot, at->resv, id, len, at, flags); /* [E] */
	xvt_writer_stamp(c, at->ts, at->epoch);			 /* [D] */
	return 0;
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
		uint64_t flags, size;

		if (way != XVT_WAY_LOOKED)
			xvt_writer_look(w, w->ctl, w->host, at);
		way = XVT_WAY_AGAIN;
		flags = xvt_look_proven(w, at) ? 0 : XVT_H_FULL;
		size = xvt_record_size(len) + (flags ? 8 : 0);
		if (at->epoch_after != at->epoch)
			err = -EAGAIN;
		else if (xvt_writer_fits(w, at->resv, size))
			err = xvt_writer_claim(w, w->ctl, id, len, at, flags, slot); /* 1b */
		else
			err = xvt_writer_cross(w, id, len, at, slot);
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

xvt_inline int xvt_reserve(struct xvt_writer *w, uint32_t id, uint32_t len, struct xvt_slot *slot)
{
	/* Loaded once: the compiler may not keep them across the barriers. */
	struct xvt_ring_ctl *c = w->ctl;
	const struct xvt_ring_host *const h = w->host;
	const uint64_t state = w->state;
	struct xvt_slot seldom; /* copies, so that slot and at may live in registers */
	struct xvt_look at, again;
	enum xvt_way way = xvt_fast_enter(c, h, id, state);
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
		/* [C] Success: no other record since [A], so the time is in order. */
		if (xvt_likely(xvt_local_cas(&c->resv, at.resv, at.resv + xvt_record_size(len)))) {
			xvt_barrier();
			xvt_fast_begin(w, c, h, id, len, state, &at, slot);
			return 0; /* 1a */
		}
		way = XVT_WAY_AGAIN; /* 2 */
	}
	if (way == XVT_WAY_OFF)
		return -EAGAIN;
	if (way == XVT_WAY_LOOKED)
		again = at;
	err = xvt_reserve_slowly(w, id, len, way, &again, &seldom);
	*slot = seldom;
	return err;
}

#endif /* XVT_WRITER_CAS_H */
