/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * xvt_relay.h - the writer's side of a relayed ring (XVT_INCOMPAT_RELAYED): pages of the guest's
 * ftrace as records of the ring, and up to when they are complete. A ring has one caller, which
 * also answers for the clock (xvt_writer_answer()). What the host does with it:
 * host/session/relayed.c.
 */
#ifndef XVT_RELAY_H
#define XVT_RELAY_H

#include "xvt_writer.h"

struct xvt_relay {
	struct xvt_writer w;
	bool full; /* the ring had no room for a page since the newest one was put */
};

/*
 * Is there room for a page of the largest size? A page that is not read from ftrace stays there, so
 * nothing is read before there is. Returns false, and remembers that, where the host has to read
 * first; and while recording is off.
 */
xvt_inline bool xvt_relay_has_room(struct xvt_relay *r)
{
	const struct xvt_writer *w = &r->w;
	const uint64_t resv = xvt_writer_pos(w, xvt_load(&w->ctl->resv));
	const uint64_t size = 16 + sizeof(struct xvt_relayed_page) + XVT_RELAYED_PAGE_MAX;
	const uint64_t left = -resv & w->subbuf_mask;
	const uint32_t mode = xvt_load(&w->host->enable);
	enum xvt_loss cause;

	if (mode == XVT_ENABLE_OFF)
		return false;
	if (size <= left || xvt_writer_may_open(w, resv, resv + left, mode, &cause))
		return true;
	r->full = true;
	return false;
}

/*
 * Put a page: `len` bytes from its stamp on, its head of 16 bytes included. Context: as
 * xvt_reserve(). Returns 0, -EMSGSIZE for a length that no page has, or as xvt_reserve().
 */
xvt_inline int xvt_relay_put(struct xvt_relay *r, const void *page, uint32_t len)
{
	struct xvt_relayed_page *head;
	struct xvt_slot slot;
	int err;

	if (len < 16 || len > XVT_RELAYED_PAGE_MAX)
		return -EMSGSIZE;
	err = xvt_reserve(&r->w, XVT_ID_FTRACE_PAGE, (uint32_t)sizeof(*head) + len, &slot);
	if (err)
		return err;
	head = slot.payload;
	head->len = len;
	head->flags = r->full ? XVT_RELAYED_F_FULL : 0;
	memcpy(head + 1, page, len);
	xvt_commit(&r->w, &slot);
	r->full = false;
	return 0;
}

/* All events of the ring's CPU stamped before `clock` were put. */
xvt_inline void xvt_relay_is_complete(struct xvt_relay *r, uint64_t clock)
{
	xvt_store_release(&r->w.ctl->relayed_to, clock); /* pairs with the host's acquire */
}

/* The relay ends in order: no event of the ring follows before its next generation. */
xvt_inline void xvt_relay_end(struct xvt_relay *r)
{
	xvt_relay_is_complete(r, XVT_RELAYED_ALL);
}

/* What ftrace has lost of this CPU, in all; before the page that tells of it is put. */
xvt_inline void xvt_relay_lost(struct xvt_relay *r, uint64_t lost)
{
	xvt_store(&r->w.ctl->relayed_lost, lost);
}

#endif /* XVT_RELAY_H */
