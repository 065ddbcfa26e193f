// SPDX-License-Identifier: GPL-2.0
/* verify_events.c - see verify_parts.h. Order, flags, counts and causes of the events. */
#include "view/verify_parts.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/u64.h"

static void check_order(struct xvt_verify_state *v, const struct xvt_event_hdr *h)
{
	uint32_t ring = h->ring_flags & XVT_EVENT_RING_MASK;
	uint32_t vm = xvt_ring_vm(v->t, ring);
	char text[XVT_VERIFY_RING_TEXT];

	if (h->host_ns < v->last_ns)
		xvt_verify_violation(v, XVT_VERIFY_ORDER, xvt_ring_vm(v->t, ring),
				     "%s: %" PRIu64 " ns after %" PRIu64
				     " ns: the main lane is out of order",
				     xvt_verify_ring_text(v, ring, text), h->host_ns, v->last_ns);
	/* LOST records at the end come after all events, in any order of rings. */
	if (h->id != XVT_ID_LOST) {
		if (h->host_ns == v->last_ns &&
		    (vm < v->last_vm || (vm == v->last_vm && ring < v->last_ring)))
			xvt_verify_violation(
				v, XVT_VERIFY_ORDER, xvt_ring_vm(v->t, ring),
				"%s: at %" PRIu64 " ns after ring %u: equal times are not in "
				"order of machine and ring",
				xvt_verify_ring_text(v, ring, text), h->host_ns, v->last_ring);
	}
	/* A LOST record of dropped records may come between two records of the same time. */
	if (h->id != XVT_ID_LOST || h->host_ns > v->last_ns) {
		v->last_vm = vm;
		v->last_ring = ring;
	}
	if (h->host_ns > v->last_ns)
		v->last_ns = h->host_ns;
}

static void check_watermark(struct xvt_verify_state *v, const struct xvt_event_hdr *h)
{
	const uint32_t ring = h->ring_flags & XVT_EVENT_RING_MASK;
	char text[XVT_VERIFY_RING_TEXT];

	if (h->id != XVT_ID_LOST && h->host_ns < v->watermark_ns)
		xvt_verify_violation(v, XVT_VERIFY_ORDER, xvt_ring_vm(v->t, ring),
				     "%s: %" PRIu64 " ns is below the watermark %" PRIu64 " ns",
				     xvt_verify_ring_text(v, ring, text), h->host_ns,
				     v->watermark_ns);
}

/* Returns 0 or -ENOMEM. */
static int add_lost(struct xvt_verify_state *v, const struct xvt_event *ev)
{
	struct xvt_verify_ring *r = &v->rings[xvt_event_ring(ev)];
	struct xvt_lost lost;

	if (!xvt_lost_get(ev->hdr, ev->payload, &lost))
		return 0;
	for (int i = 0; i < XVT_LOST_CAUSES; i++)
		r->seen.recorded.lost[i] += lost.lost[i];
	r->seen.recorded.overwritten += lost.overwritten;
	r->seen.recorded.dropped += lost.dropped;
	r->seen.recorded.bad_bytes += lost.bad_bytes;
	if (lost.rolled_back > 1)
		xvt_verify_violation(v, XVT_VERIFY_LOSS, xvt_ring_vm(v->t, xvt_event_ring(ev)),
				     "ring %u: a loss says %" PRIu64 " of 0 or 1",
				     xvt_event_ring(ev), lost.rolled_back);
	return lost.rolled_back ? xvt_verify_rollback(v, xvt_event_ring(ev), ev->hdr->host_ns) : 0;
}

static void count(struct xvt_verify_state *v, struct xvt_verify_ring *r,
		  const struct xvt_event_hdr *h)
{
	uint32_t f = h->ring_flags;

	if (!xvt_is_event(h))
		return;
	v->result->events++;
	r->seen.events++;
	if (xvt_unlikely(h->host_ns < r->seen.first_ns))
		r->seen.first_ns = h->host_ns;
	if (h->host_ns > r->seen.last_ns)
		r->seen.last_ns = h->host_ns;
	if (f & XVT_EVENT_F_BACKLOG)
		r->seen.backlog++;
	else if (f & XVT_EVENT_F_LATE)
		r->seen.late++;
	r->seen.unconfirmed += !!(f & XVT_EVENT_F_UNCONFIRMED);
	r->seen.recovered += !!(f & XVT_EVENT_F_RECOVERED);
}

static uint64_t exchange_bound(const struct xvt_verify_state *v, const struct xvt_event *ev)
{
	const struct xvt_verify_ring *r = &v->rings[xvt_event_ring(ev)];
	uint32_t f = ev->hdr->ring_flags;

	if (!r->map.epoch_count || f & (XVT_EVENT_F_CLOCK | XVT_EVENT_F_UNCONFIRMED))
		return XVT_EXCHANGE_GUESS;
	return xvt_u64_sum(xvt_verify_bound_ns(r, r->map.lane + !!(f & XVT_EVENT_F_LATE)), 2);
}

/* Add the exchange, such as "xvt-ping send 12", of a marker or a text. Returns 0 or -ENOMEM. */
static int look_for_exchange(struct xvt_verify_state *v, const struct xvt_event *ev)
{
	uint32_t at = ev->hdr->id == XVT_ID_FTRACE ? 16 : 0;
	struct xvt_decoder *d;
	struct xvt_event_class *c;
	struct xvt_value text;

	if (ev->hdr->id != XVT_ID_FTRACE && ev->hdr->id != XVT_ID_TEXT)
		return 0;
	/* The place of a marker's text on every 64-bit guest. Most events end here. */
	if (ev->hdr->len < at + 10 || memcmp(ev->payload + at, "xvt-p", 5) != 0)
		return 0;
	d = xvt_decoder_of(&v->ds, ev);
	c = xvt_classify(d, ev);
	if (!c)
		return -ENOMEM;
	if (!c->marker)
		return 0;
	xvt_field_get(&c->fields[c->text], ev, &text);
	return xvt_exchange_add(&v->result->exchanges, (const char *)text.data, text.count,
				xvt_ring_vm(v->t, xvt_event_ring(ev)), ev->hdr->host_ns,
				exchange_bound(v, ev));
}

static int check_event(struct xvt_verify_state *v, const struct xvt_event *ev, uint16_t type)
{
	const bool late_chunk = type == XVT_CHUNK_LATE;
	const struct xvt_event_hdr *h = ev->hdr;
	uint32_t ring = xvt_event_ring(ev);
	bool late = h->ring_flags & XVT_EVENT_F_LATE;
	int err;

	v->events[late_chunk]++;
	if (ring >= v->t->ring_count || !v->t->rings[ring].known) {
		xvt_verify_violation(v, XVT_VERIFY_RING, xvt_ring_vm(v->t, ring),
				     "an event of ring %u, which the trace does not have", ring);
		return 0;
	}
	if (late != late_chunk)
		xvt_verify_violation(v, XVT_VERIFY_RING, xvt_ring_vm(v->t, ring),
				     "ring %u: %s at %" PRIu64 " ns", ring,
				     late ? "a late event in the main lane"
					  : "an event in the late lane is not "
					    "flagged late",
				     h->host_ns);
	if (xvt_unlikely(h->ring_flags & XVT_EVENT_F_CLOCK))
		v->rings[ring].seen.astray++;
	err = xvt_verify_place(v, ev, type);
	if (xvt_events_decoded(&v->it, ev) && xvt_is_event(h)) /* the host's own have no position */
		xvt_verify_count_head(&v->rings[ring], late);
	if (type == XVT_CHUNK_ORDER)
		check_order(v, h);
	if (!late_chunk)
		check_watermark(v, h);
	count(v, &v->rings[ring], h);
	if (h->id != XVT_ID_LOST)
		xvt_verify_time(v, &v->rings[ring], h);
	else if (!err)
		err = add_lost(v, ev);
	if (err)
		return err;
	/* An event beside a segment may share its time with others that are on it. */
	if (h->id != XVT_ID_LOST && v->rings[ring].map.epoch_count &&
	    !v->rings[ring].map.lane[late].beside)
		xvt_verify_look(
			v, &v->rings[ring], h,
			xvt_verify_bound_ns(&v->rings[ring], &v->rings[ring].map.lane[late]));
	if (h->id == XVT_ID_MARK)
		xvt_verify_mark(v, &v->rings[ring], ev);
	if (h->id == XVT_ID_CLOCK_SYNC)
		xvt_verify_pair(v, &v->rings[ring], ev);
	if (h->id != XVT_ID_LOST)
		xvt_verify_ran(v, &v->rings[ring], h);
	if (xvt_unlikely(v->rings[ring].away.count) && h->id != XVT_ID_LOST)
		xvt_verify_away_event(v, &v->rings[ring], h);
	return look_for_exchange(v, ev);
}

int xvt_verify_events(struct xvt_verify_state *v, const struct xvt_chunk_ref *ref,
		      const struct xvt_chunk_buf *b)
{
	uint64_t first = UINT64_MAX, last = 0;
	struct xvt_events_iter *it = &v->it;
	const uint64_t missing = it->missing;
	struct xvt_event ev;
	uint32_t n = 0;
	int got = xvt_events_begin(it, &v->raws.base, b, ref->seq), err;

	for (uint32_t i = 0; !got && i < it->nr_sources; i++)
		xvt_verify_source(v, &it->sources[i]);
	if (!got)
		got = xvt_verify_places(v);
	while (!got && (got = xvt_events_next(it, &ev)) > 0) {
		if (ev.hdr->host_ns < first)
			first = ev.hdr->host_ns;
		if (ev.hdr->host_ns > last)
			last = ev.hdr->host_ns;
		n++;
		err = check_event(v, &ev, ref->type);
		if (err)
			return err;
		got = 0;
	}
	if (got < 0 && got != -EBADMSG)
		return got;
	if (got < 0)
		xvt_verify_violation(v, XVT_VERIFY_CHUNK, XVT_VM_NONE,
				     "chunk %" PRIu64 ": an event reaches past its chunk",
				     ref->seq);
	else if (it->missing != missing)
		xvt_verify_violation(v, XVT_VERIFY_CHUNK, XVT_VM_NONE,
				     "chunk %" PRIu64 ": %" PRIu64 " of its events cannot be read",
				     ref->seq, it->missing - missing);
	else if (n && (first != ref->first_ns || last != ref->last_ns))
		xvt_verify_violation(v, XVT_VERIFY_CHUNK, XVT_VM_NONE,
				     "chunk %" PRIu64
				     ": first or last time is not that of its events",
				     ref->seq);
	return 0;
}
