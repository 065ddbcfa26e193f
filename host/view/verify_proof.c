// SPDX-License-Identifier: GPL-2.0
/*
 * verify_proof.c - see verify_parts.h. Bounds of clock nodes, proven again. A handshake's node was
 * made of the exchanges of one burst, of which the file has those that decide: each says that the
 * guest's clock had a value between two moments of the host's clock. The node cannot be closer to
 * the truth than all of them together.
 */
#include "view/verify_parts.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/u64.h"
#include "base/vec.h"

#define NEAR_NS	   1000000u /* exchanges further apart do not limit each other */
#define RATE_PART  30u	    /* the recorder's allowance for the guest's rate */
#define DOUBT_PART 1024u    /* by which the rate may have been another one then */
#define EARLY	   4u	    /* first nodes of a ring, before its rate was known */
#define ROUND_NS   3u	    /* rounding of conversions */
#define SEEN_NS	   60u	    /* the same, and a step of the guest's clock that is left in a bound */
#define NODES_MOST 64u	    /* compared with one sample: a hostile file may have any number */
#define LONG_NS	   100000000u /* a rate is judged over gaps of that length */
#define LONG_PART  8u
#define CREEP_NS   20000000u
#define EXACT_NS   3u /* error of a formula beside a tick of the host's counter */

static void bound_violation(struct xvt_verify_state *v, const struct xvt_clock_node *n,
			    const char *what, uint64_t least_ns)
{
	char text[XVT_VERIFY_RING_TEXT];

	xvt_verify_violation(v, XVT_VERIFY_CLOCK, xvt_ring_vm(v->t, n->ring),
			     "%s: clock node at %" PRIu64 " ns: its %s is %" PRIu64
			     " ns, and cannot be below %" PRIu64 " ns",
			     xvt_verify_ring_text(v, n->ring, text), n->host_ns, what,
			     what[0] == 's' ? n->segment_bound_ns : n->bound_ns, least_ns);
}

/* What a segment's bound is at least: the bounds of both nodes, or, where this one confirms those
 * of the drain, of the last measured one and this. */
void xvt_verify_segment(struct xvt_verify_state *v, const struct xvt_clock_node *n,
			const struct xvt_clock_node *last)
{
	uint64_t least = n->bound_ns;

	if (n->source == XVT_SOURCE_NONE)
		return; /* nothing was measured */
	if (last && !(n->flags & (XVT_NODE_F_FIRST | XVT_NODE_F_SINCE)) && last->epoch == n->epoch)
		least = xvt_u64_larger(least, last->bound_ns);
	if (n->segment_bound_ns < least)
		bound_violation(v, n, "segment's bound", least);
}

/* The first node of an epoch of *r whose clock is at or behind `guest`. */
static size_t node_from(const struct xvt_verify_ring *r, const struct xvt_verify_epoch *e,
			uint64_t guest)
{
	size_t from = e->first, end = e->end;

	while (from < end) {
		const size_t mid = from + (end - from) / 2;

		if (r->map.nodes[mid].guest < guest)
			from = mid + 1;
		else
			end = mid;
	}
	return from;
}

uint64_t xvt_verify_hz_at(const struct xvt_verify_ring *r, size_t node)
{
	const size_t n = XVT_COUNT_TO(r->map.rates, r->map.nr_rates, nodes, node);

	return n && r->map.rates[n - 1].hz ? r->map.rates[n - 1].hz : r->map.hz;
}

/* Limits of a node's moment by one exchange; the slack is what its recorder allowed for the rate,
 * `doubt` what is not known of that. */
static void limit(struct xvt_verify_ring *r, size_t node, const struct xvt_clock_sample *s,
		  uint64_t lo, uint64_t hi)
{
	const struct xvt_clock_node *n = &r->map.nodes[node];
	const bool after = n->guest >= s->guest;
	const uint64_t apart =
		xvt_ticks_ns(xvt_u64_apart(n->guest, s->guest), xvt_verify_hz_at(r, node));
	const uint64_t doubt =
		ROUND_NS + apart / DOUBT_PART + (node < EARLY ? apart / RATE_PART : 0);
	const uint64_t slack = apart ? apart / RATE_PART + 1 : 0;
	struct xvt_verify_proof *p = &r->proofs[node];

	lo = xvt_u64_sum(after ? xvt_u64_sum(lo, apart) : lo - (apart < lo ? apart : lo), doubt);
	hi = after ? xvt_u64_sum(hi, apart) : hi - (apart < hi ? apart : hi);
	hi = xvt_u64_sum(hi, slack);
	lo -= slack < lo ? slack : lo;
	hi -= doubt < hi ? doubt : hi;
	if (!p->samples++)
		*p = (struct xvt_verify_proof){ lo, hi, 1 };
	p->lo_ns = xvt_u64_larger(p->lo_ns, lo);
	p->hi_ns = hi < p->hi_ns ? hi : p->hi_ns;
}

static bool is_measured(const struct xvt_clock_node *n)
{
	return n->source != XVT_SOURCE_NONE && n->source != XVT_SOURCE_DRAIN;
}

static bool is_formula(const struct xvt_clock_node *n)
{
	return n->source == XVT_SOURCE_KVM || n->source == XVT_SOURCE_VMM ||
	       n->source == XVT_SOURCE_GUEST;
}

/* A formula's node, too, is measured: by exchanges, or by when an event was seen. The formula has
 * to agree with them. */
static bool is_made_of(const struct xvt_clock_node *n, const struct xvt_clock_sample *s)
{
	if (is_formula(n))
		return s->source == XVT_SOURCE_HANDSHAKE || s->source == XVT_SOURCE_SEEN;
	return s->source == n->source;
}

/* When its event was seen: a node cannot be later than that, nor before the look that its recorder
 * counts with. The node may lie anywhere between them, by other events. */
static void add_seen(struct xvt_verify_ring *r, size_t node, uint64_t lo, uint64_t hi)
{
	r->proofs[node].samples++;
	r->proofs[node].lo_ns = lo;
	r->proofs[node].hi_ns = hi;
}

static void wrong_source(struct xvt_verify_state *v, const struct xvt_clock_node *n,
			 const struct xvt_clock_sample *s)
{
	char text[XVT_VERIFY_RING_TEXT];

	xvt_verify_violation(v, XVT_VERIFY_SAMPLE, xvt_ring_vm(v->t, n->ring),
			     "%s: clock node at %" PRIu64 " ns is of source %" PRIu32
			     ", and its sample of source %" PRIu32,
			     xvt_verify_ring_text(v, n->ring, text), n->host_ns, n->source,
			     s->source);
}

int xvt_verify_prove(struct xvt_verify_state *v, struct xvt_verify_ring *r,
		     const struct xvt_verify_epoch *e, const struct xvt_clock_sample *s,
		     uint64_t lo, uint64_t hi)
{
	const uint64_t near = (uint64_t)((unsigned __int128)r->map.hz * NEAR_NS / 1000000000u);
	size_t i = node_from(r, e, s->guest > near ? s->guest - near : 0);
	const size_t end = e->end - i > NODES_MOST ? i + NODES_MOST : e->end;

	if (!r->proofs) {
		r->proofs = calloc(r->map.node_count + 1, sizeof(*r->proofs));
		if (!r->proofs)
			return -ENOMEM;
	}
	for (; i < end && r->map.nodes[i].guest <= xvt_u64_sum(s->guest, near); i++) {
		const struct xvt_clock_node *n = &r->map.nodes[i];

		if (n->source == XVT_SOURCE_HANDSHAKE && s->source == XVT_SOURCE_HANDSHAKE)
			limit(r, i, s, lo, hi);
		else if (n->guest == s->guest && is_measured(n) && !is_made_of(n, s))
			wrong_source(v, n, s);
		else if (n->guest == s->guest && n->source == XVT_SOURCE_SEEN)
			add_seen(r, i, lo, hi);
	}
	return 0;
}

static void check_proof(struct xvt_verify_state *v, const struct xvt_clock_node *n,
			const struct xvt_verify_proof *p)
{
	const uint64_t lo = n->host_ns > n->bound_ns ? n->host_ns - n->bound_ns : 0;
	const uint64_t hi = xvt_u64_sum(n->host_ns, n->bound_ns);

	/* Exchanges that contradict each other prove nothing together. */
	if (p->hi_ns < p->lo_ns)
		return;
	if (lo > p->lo_ns || hi < p->hi_ns)
		bound_violation(v, n, "bound",
				xvt_u64_larger(n->host_ns > p->lo_ns ? n->host_ns - p->lo_ns : 0,
					       p->hi_ns > n->host_ns ? p->hi_ns - n->host_ns : 0));
}

static void check_seen(struct xvt_verify_state *v, const struct xvt_clock_node *n,
		       const struct xvt_verify_proof *p)
{
	char text[XVT_VERIFY_RING_TEXT];

	if (xvt_u64_sum(n->host_ns, n->bound_ns) > xvt_u64_sum(p->hi_ns, SEEN_NS))
		xvt_verify_violation(v, XVT_VERIFY_CLOCK, xvt_ring_vm(v->t, n->ring),
				     "%s: clock node at %" PRIu64 " ns within %" PRIu64
				     " ns may be later than its event was seen, at %" PRIu64 " ns",
				     xvt_verify_ring_text(v, n->ring, text), n->host_ns,
				     n->bound_ns, p->hi_ns);
	if (xvt_u64_sum(n->host_ns, SEEN_NS) < xvt_u64_sum(p->lo_ns, n->bound_ns))
		xvt_verify_violation(v, XVT_VERIFY_CLOCK, xvt_ring_vm(v->t, n->ring),
				     "%s: clock node at %" PRIu64 " ns within %" PRIu64
				     " ns may be before the look that had not seen its event, at "
				     "%" PRIu64 " ns",
				     xvt_verify_ring_text(v, n->ring, text), n->host_ns,
				     n->bound_ns, p->lo_ns);
}

/* A formula is right to a tick, so a node with a larger bound is of no formula. */
static void check_exact(struct xvt_verify_state *v, const struct xvt_clock_node *n)
{
	const struct xvt_ring_info *info = &v->t->rings[n->ring].info;
	char text[XVT_VERIFY_RING_TEXT];
	uint64_t most;

	if (!v->line_count || info->clock_step > 1)
		return;
	most = ((uint64_t)v->lines[0].mult >> (v->lines[0].shift & 63)) + EXACT_NS;
	if (n->bound_ns > most)
		xvt_verify_violation(v, XVT_VERIFY_CLOCK, xvt_ring_vm(v->t, n->ring),
				     "%s: clock node at %" PRIu64 " ns is of source %" PRIu32
				     ", a formula, and its bound is %" PRIu64 " ns",
				     xvt_verify_ring_text(v, n->ring, text), n->host_ns, n->source,
				     n->bound_ns);
}

/*
 * The rate that the file says of the clock, against the nodes that were made with it in the last
 * epoch. Each segment's bound has what the clock gained or lost in it, and a clock that is set back
 * all the time may lose any part of the time.
 */
static void check_rate(struct xvt_verify_state *v, const struct xvt_verify_ring *r)
{
	const struct xvt_verify_epoch *e = &r->map.epochs[r->map.epoch_count - 1];
	const size_t made = r->map.nr_rates > 1 ? r->map.rates[r->map.nr_rates - 1].nodes : 0;
	const size_t first = made > e->first ? made : e->first;
	const struct xvt_clock_node *a = &r->map.nodes[first], *b = &r->map.nodes[e->end - 1];
	char text[XVT_VERIFY_RING_TEXT];
	uint64_t ns, most;

	if (first >= e->end || b->host_ns <= a->host_ns || b->guest <= a->guest)
		return;
	ns = b->host_ns - a->host_ns;
	most = xvt_u64_sum(CREEP_NS + ns / LONG_PART, xvt_u64_sum(a->bound_ns, b->bound_ns));
	for (const struct xvt_clock_node *n = a + 1; n <= b; n++)
		most = xvt_u64_sum(most, n->segment_bound_ns);
	if (ns < LONG_NS || xvt_u64_apart(ns, xvt_ticks_ns(b->guest - a->guest, r->map.hz)) <= most)
		return;
	xvt_verify_violation(v, XVT_VERIFY_CLOCK, xvt_ring_vm(v->t, a->ring),
			     "%s: its clock counts at %" PRIu64
			     " Hz, but its nodes show another rate",
			     xvt_verify_ring_text(v, a->ring, text), r->map.hz);
}

/* A node that an earlier recorder left in a region has no samples in this file. */
static void no_sample(struct xvt_verify_state *v, const struct xvt_verify_ring *r,
		      const struct xvt_clock_node *n)
{
	char text[XVT_VERIFY_RING_TEXT];

	if (!r->map.samples || !v->t->ended || v->t->info.set_number)
		return;
	xvt_verify_violation(v, XVT_VERIFY_CLOCK, xvt_ring_vm(v->t, n->ring),
			     "%s: clock node at %" PRIu64 " ns is made of no sample",
			     xvt_verify_ring_text(v, n->ring, text), n->host_ns);
}

void xvt_verify_proofs(struct xvt_verify_state *v, uint32_t ring)
{
	const struct xvt_verify_ring *r = &v->rings[ring];
	/* Behind the last node there may be samples of one that is not in the file. */
	const size_t end = r->map.node_count - (r->map.node_count && !v->t->ended);

	if (r->map.epoch_count)
		check_rate(v, r);
	/* Samples may be in what is damaged. */
	for (size_t i = r->map.carried; i < end && !v->t->damage_count; i++) {
		const struct xvt_clock_node *n = &r->map.nodes[i];

		if (is_formula(n))
			check_exact(v, n);
		if (n->source != XVT_SOURCE_HANDSHAKE && n->source != XVT_SOURCE_SEEN)
			continue;
		if (!r->proofs || !r->proofs[i].samples)
			no_sample(v, r, n);
		else if (n->source == XVT_SOURCE_SEEN)
			check_seen(v, n, &r->proofs[i]);
		else
			check_proof(v, n, &r->proofs[i]);
	}
}
