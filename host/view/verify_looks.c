// SPDX-License-Identifier: GPL-2.0
/*
 * verify_looks.c - see verify_parts.h. The time that the file gives an event is compared with the
 * bounds that the drain proves of it. The drain's looks do not depend on the guest's clock, so they
 * find a map that is wrong as a whole.
 */
#include "view/verify_parts.h"

#include <inttypes.h>

#include "base/u64.h"

int xvt_verify_add_looks(struct xvt_verify_state *v, const struct xvt_chunk_buf *b)
{
	struct xvt_look_list *to;
	struct xvt_clock_look k;
	int err = 0;

	for (uint32_t at = 0; !err && xvt_chunk_take(b, &at, &k, sizeof(k));) {
		char text[XVT_VERIFY_RING_TEXT];
		struct xvt_verify_ring *r;

		if (k.ring >= v->t->ring_count || k.last_ns < k.first_ns || k.hi_ns < k.lo_ns) {
			xvt_verify_violation(v, XVT_VERIFY_CLOCK, xvt_ring_vm(v->t, k.ring),
					     "%s: a look at events from %" PRIu64 " to %" PRIu64
					     " ns, written from %" PRIu64 " to %" PRIu64
					     " ns, is none",
					     xvt_verify_ring_text(v, k.ring, text), k.first_ns,
					     k.last_ns, k.lo_ns, k.hi_ns);
			continue;
		}
		r = &v->rings[k.ring];
		xvt_verify_look_kind(v, &k);
		to = xvt_bounding_looks_to(&r->looked.bounding, k.flags);
		err = xvt_look_list_add(to ? to : &r->looked.looks, &k);
	}
	return err;
}

int xvt_verify_settle_looks(struct xvt_verify_ring *r)
{
	int err = xvt_bounding_looks_settle(&r->looked.bounding);

	return err ? err : xvt_look_list_settle(&r->looked.looks);
}

void xvt_verify_looks_fini(struct xvt_verify_ring *r)
{
	xvt_bounding_looks_fini(&r->looked.bounding);
	xvt_look_list_fini(&r->looked.looks);
}

bool xvt_verify_beside(struct xvt_verify_state *v, struct xvt_verify_ring *r,
		       const struct xvt_event_hdr *h)
{
	const uint32_t ring = h->ring_flags & XVT_EVENT_RING_MASK;
	struct xvt_verify_place *p = &r->map.lane[!!(h->ring_flags & XVT_EVENT_F_LATE)];
	char text[XVT_VERIFY_RING_TEXT];
	struct xvt_look_span span;

	p->beside = xvt_look_list_find(xvt_bounding_looks_of(&r->looked.bounding, h->ring_flags),
				       h->host_ns, &span);
	if (!p->beside)
		return false;
	p->beside_bound_ns = xvt_u64_sum(
		xvt_look_span_bound_ns(&span, h->host_ns),
		xvt_stamp_slack_ns(XVT_SOURCE_HANDSHAKE, v->t->rings[ring].info.clock_traits));
	v->result->looks_checked++;
	if (!(h->ring_flags & XVT_EVENT_F_UNCONFIRMED) && p->beside_bound_ns < XVT_NO_BOUND)
		r->looked.beside_ns_max =
			xvt_u64_larger(r->looked.beside_ns_max, p->beside_bound_ns);
	/* A guess may be beside its look, and its bound reaches to the far end. */
	if (h->ring_flags & XVT_EVENT_F_UNCONFIRMED)
		return true;
	if (h->host_ns < span.lo_ns || h->host_ns > span.hi_ns)
		xvt_verify_violation(v, XVT_VERIFY_LOOK, xvt_ring_vm(v->t, ring),
				     "%s: an event at %" PRIu64 " ns was written between %" PRIu64
				     " and %" PRIu64 " ns, by the looks at its ring",
				     xvt_verify_ring_text(v, ring, text), h->host_ns, span.lo_ns,
				     span.hi_ns);
	return true;
}

void xvt_verify_new_time(struct xvt_verify_state *v, const struct xvt_event_hdr *h,
			 uint64_t bound_ns, struct xvt_look_span span, const char *what)
{
	const uint32_t ring = h->ring_flags & XVT_EVENT_RING_MASK;
	char text[XVT_VERIFY_RING_TEXT];
	uint64_t ns, bound = bound_ns;

	if (!v->reclock)
		return;
	ns = xvt_reclock_place_ns(v->reclock, h, &bound);
	bound = xvt_u64_sum(bound, 2); /* rounding of two conversions */
	if (xvt_u64_sum(ns, bound) < span.lo_ns || (ns > bound && ns - bound > span.hi_ns))
		xvt_verify_violation(v, XVT_VERIFY_LOOK, xvt_ring_vm(v->t, ring),
				     "%s: an event is re-clocked to %" PRIu64 " ns within %" PRIu64
				     " ns, but was written between %" PRIu64 " and %" PRIu64
				     " ns, by %s",
				     xvt_verify_ring_text(v, ring, text), ns, bound, span.lo_ns,
				     span.hi_ns, what);
}

void xvt_verify_look(struct xvt_verify_state *v, struct xvt_verify_ring *r,
		     const struct xvt_event_hdr *h, uint64_t bound_ns)
{
	const uint32_t ring = h->ring_flags & XVT_EVENT_RING_MASK;
	char text[XVT_VERIFY_RING_TEXT];
	struct xvt_look_span span;
	uint64_t bound, lo, hi;

	if (h->ring_flags & (XVT_EVENT_F_CLOCK | XVT_EVENT_F_UNCONFIRMED) || !r->map.epoch_count ||
	    !xvt_look_list_find(&r->looked.looks, h->host_ns, &span))
		return;
	bound = xvt_u64_sum(bound_ns, 2); /* rounding of two conversions */
	lo = h->host_ns > bound ? h->host_ns - bound : 0;
	hi = xvt_u64_sum(h->host_ns, bound);
	v->result->looks_checked++;
	if (hi < span.lo_ns || lo > span.hi_ns)
		xvt_verify_violation(v, XVT_VERIFY_LOOK, xvt_ring_vm(v->t, ring),
				     "%s: an event at %" PRIu64 " ns within %" PRIu64
				     " ns was written between %" PRIu64 " and %" PRIu64
				     " ns, by the looks at its ring",
				     xvt_verify_ring_text(v, ring, text), h->host_ns, bound,
				     span.lo_ns, span.hi_ns);
	xvt_verify_new_time(v, h, bound_ns, span, "the looks at its ring");
}
