/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * xvt_writer_cas.h - reservation by compare-and-swap ("R", the default). Part of xvt_writer.h.
 *
 * ctl->resv is a position. Read it, read the clock, move it: if that succeeds nobody came
 * between, so the stamp is exact and in buffer order; if it fails, begin again with a new clock.
 * So every stamp is exact on every path:
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

/* What closes the sub-buffer before position `next`. */
xvt_inline uint64_t xvt_writer_closed(const struct xvt_writer *w, uint64_t next)
{
	(void)w;
	return next;
}

/* [B] to [D] in the open sub-buffer. Returns 0, or -EAGAIN: somebody came between. */
xvt_inline int xvt_writer_claim(const struct xvt_writer *w, struct xvt_ring_ctl *c, uint32_t id,
				uint32_t len, const struct xvt_look *at, uint64_t flags,
				struct xvt_slot *slot)
{
	const uint64_t end = at->resv + xvt_record_size(len) + (flags & XVT_H_FULL ? 8 : 0);

	/* [B] Before [C]: whoever interrupts from here on finds the stamps unequal. */
	xvt_store(&c->before_stamp, at->ts);
	xvt_barrier();
	/* [C] Success: nobody reserved since [A], so the time is in order. */
	if (xvt_unlikely(!xvt_local_cas(&c->resv, at->resv, end)))
		return -EAGAIN;
	xvt_barrier();
	slot->resv = end;
	xvt_writer_begin(w, slot, at->resv, id, len, at, flags); /* [E] */
	xvt_writer_stamp(c, at->ts, at->epoch);			 /* [D] */
	return 0;
}

/* The general case, from what was found at [A] on; or, if that is used up, from [A] again. */
xvt_seldom int xvt_reserve_slowly(struct xvt_writer *w, uint32_t id, uint32_t len,
				  struct xvt_look *at, bool used_up, struct xvt_slot *slot)
{
	uint32_t tries;

	if (xvt_writer_is_big(w, len))
		return xvt_writer_lose(w, XVT_LOST_BIG, id, slot->nest);
	for (tries = 0; tries <= XVT_MAXRETRY; tries++) {
		uint64_t flags = xvt_look_proven(w, at) ? 0 : XVT_H_FULL;
		uint64_t size = xvt_record_size(len) + (flags ? 8 : 0);
		int err = -EAGAIN;

		if (!used_up && at->epoch_after == at->epoch && xvt_writer_fits(w, at->resv, size))
			err = xvt_writer_claim(w, w->ctl, id, len, at, flags, slot); /* 1b */
		else if (!used_up && at->epoch_after == at->epoch)
			err = xvt_writer_cross(w, id, len, at, slot);
		if (err != -EAGAIN)
			return err;
		used_up = false;
		xvt_local_inc(&w->ctl->retries);
		xvt_writer_look(w, w->ctl, w->host, at);
	}
	return xvt_writer_lose(w, XVT_LOST_RETRY, id, slot->nest);
}

xvt_inline int xvt_reserve(struct xvt_writer *w, uint32_t id, uint32_t len, struct xvt_slot *slot)
{
	/* Loaded once: the compiler may not keep them across the barriers. */
	struct xvt_ring_ctl *const c = w->ctl;
	const struct xvt_ring_host *const h = w->host;
	struct xvt_slot seldom; /* copies, so that slot and at may live in registers */
	struct xvt_look at, again;
	bool used_up = false;
	int err = xvt_writer_enter(w, c, h, id, slot);

	if (xvt_unlikely(err))
		return err;
	xvt_writer_look(w, c, h, &at); /* [A] */
	if (xvt_likely(at.epoch_after == at.epoch) && xvt_likely(xvt_look_proven(w, &at)) &&
	    xvt_likely(!xvt_writer_is_big(w, len)) &&
	    xvt_likely(xvt_writer_fits(w, at.resv, xvt_record_size(len)))) {
		if (xvt_likely(!xvt_writer_claim(w, c, id, len, &at, 0, slot))) /* 1a */
			return 0;
		used_up = true; /* 2 */
	}
	seldom.nest = slot->nest;
	seldom.mode = slot->mode;
	again = at;
	err = xvt_reserve_slowly(w, id, len, &again, used_up, &seldom);
	*slot = seldom;
	return err;
}

#endif /* XVT_WRITER_CAS_H */
