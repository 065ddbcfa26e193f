// SPDX-License-Identifier: GPL-2.0
/* bound.c - see bound.h. */
#include "view/bound.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/u64.h"
#include "base/vec.h"
#include "trace/lines.h"
#include "trace/nodes.h"
#include "trace/set.h"

/* -- reading ------------------------------------------------------------------------ */

static int add_node(struct xvt_bound_ring *r, const struct xvt_clock_node *n)
{
	if (xvt_grow(&r->nodes, &r->node_room, r->node_count + 1, sizeof(*r->nodes)))
		return -ENOMEM;
	r->nodes[r->node_count++] = *n;
	if (n->epoch >= r->epochs)
		r->epochs = n->epoch < UINT32_MAX ? n->epoch + 1 : n->epoch;
	if (n->source != XVT_SOURCE_DRAIN)
		r->source = n->source;
	return 0;
}

static int add_nodes(struct xvt_bounds *b, const struct xvt_chunk_buf *buf)
{
	struct xvt_clock_node n;
	int err = 0;

	for (uint32_t at = 0; !err && xvt_chunk_take(buf, &at, &n, sizeof(n));)
		if (n.ring < b->ring_count)
			err = add_node(&b->rings[n.ring], &n);
	return err;
}

static int add_looks(struct xvt_bounds *b, const struct xvt_chunk_buf *buf)
{
	struct xvt_look_list *to;
	struct xvt_clock_look k;
	uint32_t at = 0;
	int err = 0;

	while (!err && xvt_chunk_take(buf, &at, &k, sizeof(k))) {
		if (k.ring >= b->ring_count)
			continue;
		to = xvt_bounding_looks_to(&b->rings[k.ring].looks, k.flags);
		err = to ? xvt_look_list_add(to, &k) : 0;
	}
	return err;
}

/* The counters of a file of a set go on from those of the files before it. */
static void add_stats(struct xvt_bounds *b, const struct xvt_chunk_buf *buf, size_t part)
{
	struct xvt_bound_ring *r;
	struct xvt_ring_stats st;

	if (!xvt_stats_get(buf, &st) || st.ring >= b->ring_count)
		return;
	r = &b->rings[st.ring];
	if (r->part != part)
		r->before = r->last;
	r->part = part;
	r->last = st;
	xvt_stats_add(&r->last, &r->before);
	r->has_stats = true;
}

static int load(struct xvt_bounds *b, struct xvt_trace *t)
{
	const uint32_t types = 1u << XVT_CHUNK_NODE | 1u << XVT_CHUNK_LOOKS | 1u << XVT_CHUNK_STATS;
	struct xvt_chunk_buf buf = { 0 };
	int err = 0, more;

	for (size_t i = 0; !err && (more = xvt_trace_next(t, types, &i, &buf)); i++) {
		if (more < 0)
			err = more;
		else if (t->chunks[i].type == XVT_CHUNK_NODE)
			err = add_nodes(b, &buf);
		else if (t->chunks[i].type == XVT_CHUNK_LOOKS)
			err = add_looks(b, &buf);
		else
			add_stats(b, &buf, xvt_set_part(t, i));
	}
	xvt_chunk_buf_free(&buf);
	return err;
}

static void forget(struct xvt_bounds *b)
{
	for (uint32_t i = 0; i < b->ring_count; i++) {
		free(b->rings[i].nodes);
		xvt_bounding_looks_fini(&b->rings[i].looks);
	}
	memset(b->rings, 0, b->ring_count * sizeof(b->rings[0]));
}

static int settle(struct xvt_bound_ring *r)
{
	int err = xvt_nodes_settle(r->nodes, r->node_count);

	if (!err)
		err = xvt_bounding_looks_settle(&r->looks);
	r->from_ns = 1; /* no segment yet */
	for (size_t i = 0; i < r->node_count; i++)
		r->segment_ns_max = xvt_u64_larger(r->segment_ns_max, r->nodes[i].segment_bound_ns);
	return err;
}

int xvt_bounds_new(struct xvt_bounds **out, struct xvt_trace *t)
{
	struct xvt_bounds *b = calloc(1, sizeof(*b) + t->ring_count * sizeof(b->rings[0]));
	int err;

	*out = NULL;
	if (!b)
		return -ENOMEM;
	b->ring_count = t->ring_count;
	err = load(b, t);
	if (err == -ESTALE) { /* at most once: the list of chunks is new */
		forget(b);
		err = load(b, t);
	}
	for (uint32_t i = 0; i < b->ring_count && !err; i++) {
		b->rings[i].slack_ns =
			xvt_stamp_slack_ns(b->rings[i].source, t->rings[i].info.clock_traits);
		err = settle(&b->rings[i]);
	}
	if (err) {
		xvt_bounds_free(b);
		return err;
	}
	*out = b;
	return 0;
}

void xvt_bounds_free(struct xvt_bounds *b)
{
	if (!b)
		return;
	forget(b);
	free(b);
}

/* -- one time ----------------------------------------------------------------------- */

/* Whether n is the number of the ring's nodes at or before ns. */
static bool is_until(const struct xvt_bound_ring *r, size_t n, uint64_t ns)
{
	return (!n || r->nodes[n - 1].host_ns <= ns) &&
	       (n == r->node_count || r->nodes[n].host_ns > ns);
}

/* Number of the ring's nodes at or before ns. Mostly that is the number of the last call, or one
 * more. */
static size_t nodes_until(struct xvt_bound_ring *r, uint64_t ns)
{
	if (xvt_likely(is_until(r, r->at, ns)))
		return r->at;
	if (r->at < r->node_count && is_until(r, r->at + 1, ns))
		return ++r->at;
	r->at = XVT_COUNT_TO(r->nodes, r->node_count, host_ns, ns);
	return r->at;
}

/* Whether the line that ends at nodes[n] gives the event its time. */
static bool on_line(const struct xvt_bound_ring *r, size_t n, const struct xvt_event_hdr *h)
{
	const struct xvt_clock_node *b = &r->nodes[n];

	return n && n < r->node_count && b->epoch == b[-1].epoch && h->guest_clock >= b[-1].guest &&
	       h->guest_clock <= b->guest && b[-1].guest < b->guest &&
	       xvt_clock_line(b - 1, b, h->guest_clock) == h->host_ns;
}

/* The bound of the segment whose line gives the event its time; XVT_NO_BOUND: none does. */
static uint64_t segment_ns(const struct xvt_bound_ring *r, size_t n, const struct xvt_event_hdr *h)
{
	uint64_t ns = XVT_NO_BOUND, before;

	if (on_line(r, n, h))
		ns = r->nodes[n].segment_bound_ns;
	if (!n || h->guest_clock != r->nodes[n - 1].guest || !on_line(r, n - 1, h))
		return ns;
	/* Exactly at a node: a clock that stood still had this value on both sides. */
	before = r->nodes[n - 1].segment_bound_ns;
	return ns == XVT_NO_BOUND ? before : xvt_u64_larger(ns, before);
}

/* The same, by the time alone. */
static uint64_t segment_at(struct xvt_bound_ring *r, size_t n, uint64_t ns)
{
	const struct xvt_clock_node *b = &r->nodes[n];

	if (!n || n >= r->node_count || b->epoch != b[-1].epoch)
		return XVT_NO_BOUND;
	r->from_ns = b[-1].host_ns;
	r->until_ns = b->host_ns;
	r->until_bound_ns = b->segment_bound_ns;
	return ns == b[-1].host_ns ? xvt_u64_larger(b->segment_bound_ns, b[-1].segment_bound_ns)
				   : b->segment_bound_ns;
}

/* Returns the event's ring, or NULL if nothing but *ns is to be said of its bound. */
static struct xvt_bound_ring *ring_of(struct xvt_bounds *b, const struct xvt_event_hdr *h,
				      uint64_t *ns)
{
	const uint32_t ring = h->ring_flags & XVT_EVENT_RING_MASK;
	struct xvt_bound_ring *r;

	*ns = XVT_NO_BOUND;
	/* A time that contradicts its clock has no bound. */
	if (ring >= b->ring_count || h->ring_flags & XVT_EVENT_F_CLOCK)
		return NULL;
	r = &b->rings[ring];
	if (r->node_count)
		return r;
	/* A ring whose clock is the host's has no nodes. */
	if (r->last.source != XVT_SOURCE_NONE)
		*ns = r->last.bound_ns_max;
	return NULL;
}

static uint64_t limited(uint64_t ns)
{
	return ns < XVT_NO_BOUND ? ns : XVT_NO_BOUND;
}

/*
 * The bound by looks and by the segment; either may be missing. With both, events beside the
 * segment share their time with one that lies on its line: it is not known which of the two this
 * is.
 */
static uint64_t together(struct xvt_bound_ring *r, const struct xvt_event_hdr *h,
			 uint64_t segment_ns)
{
	struct xvt_look_list *looks = xvt_bounding_looks_of(&r->looks, h->ring_flags);
	struct xvt_look_span span;
	uint64_t ns = XVT_NO_BOUND;

	if (xvt_unlikely(xvt_look_list_find(looks, h->host_ns, &span)))
		ns = limited(xvt_u64_sum(xvt_look_span_bound_ns(&span, h->host_ns), r->slack_ns));
	/* A guess is on no line. */
	if (h->ring_flags & XVT_EVENT_F_UNCONFIRMED)
		return ns;
	if (ns != XVT_NO_BOUND && segment_ns != XVT_NO_BOUND)
		return xvt_u64_larger(ns, segment_ns);
	return segment_ns != XVT_NO_BOUND ? segment_ns : ns;
}

uint64_t xvt_bound_ns(struct xvt_bounds *b, const struct xvt_event_hdr *h)
{
	uint64_t ns;
	struct xvt_bound_ring *r = ring_of(b, h, &ns);
	size_t n;

	if (!r)
		return ns;
	n = nodes_until(r, h->host_ns);
	return together(r, h, segment_ns(r, n, h));
}

uint64_t xvt_bound_by_time_ns(struct xvt_bounds *b, const struct xvt_event_hdr *h)
{
	uint64_t ns;
	struct xvt_bound_ring *r = ring_of(b, h, &ns);
	size_t n;

	if (!r)
		return ns;
	if (xvt_likely(h->host_ns > r->from_ns && h->host_ns < r->until_ns))
		return together(r, h, r->until_bound_ns);
	n = nodes_until(r, h->host_ns);
	return together(r, h, segment_at(r, n, h->host_ns));
}

bool xvt_bound_span_at(struct xvt_bounds *b, uint32_t ring, uint64_t ns,
		       struct xvt_bound_span *span)
{
	struct xvt_bound_ring *r = &b->rings[ring];
	const struct xvt_clock_node *end;
	uint64_t from_ns = 0, last_ns = UINT64_MAX;
	size_t n;

	*span = (struct xvt_bound_span){ 0, UINT64_MAX, NULL, XVT_NO_BOUND };
	if (!xvt_look_list_none(&r->looks.beside, ns, &from_ns, &last_ns))
		return false;
	if (r->node_count) {
		n = nodes_until(r, ns);
		end = &r->nodes[n];
		if (!n || n == r->node_count || end->epoch != end[-1].epoch)
			return false;
		*span = (struct xvt_bound_span){ end[-1].host_ns, end->host_ns, end,
						 end->segment_bound_ns };
	} else if (r->last.source != XVT_SOURCE_NONE) {
		span->bound_ns = r->last.bound_ns_max;
	}
	span->from_ns = xvt_u64_larger(span->from_ns, from_ns);
	if (last_ns < span->until_ns)
		span->until_ns = last_ns + 1;
	return span->bound_ns <= XVT_NO_BOUND && ns >= span->from_ns && ns < span->until_ns;
}
