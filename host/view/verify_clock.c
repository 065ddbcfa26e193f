// SPDX-License-Identifier: GPL-2.0
/*
 * verify_clock.c - see verify_parts.h. The clocks of a file: nodes of each ring, lines of the
 * host's clock, samples, marks, clock pairs and run spans; and the time of each event by them.
 */
#include "view/verify_parts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/u64.h"
#include "base/vec.h"
#include "trace/nodes.h"

/* Creep of a clock outside of all segments: below that, the recorder sees no jump. */
#define CREEP_NS	20000000u
#define CREEP_PER_1024	8u
/* Error of the host's clock against CLOCK_MONOTONIC that the recorder tolerates without a note. */
#define TIMEBASE_NS	1000u
/* A change of the wall clock is in one of so many lines after it: two begin at each measurement. */
#define LINES_UNTIL_SET 3u
/* Nodes to search back for a clock pair, whose clock value is from just before its record. */
#define NODES_BACK	8u
/* A ring may be silent over many epochs, but the cost of a hostile file must stay bounded. */
#define EPOCHS_AHEAD	4096

static int add_node(struct xvt_verify_state *v, const struct xvt_clock_node *n, bool carried)
{
	char text[XVT_VERIFY_RING_TEXT];
	const struct xvt_clock_node *last;
	struct xvt_verify_ring *r;

	if (n->ring >= v->t->ring_count) {
		xvt_verify_violation(v, XVT_VERIFY_CLOCK, xvt_ring_vm(v->t, n->ring),
				     "a clock node of ring %u, which the trace does not have",
				     n->ring);
		return 0;
	}
	r = &v->rings[n->ring];
	last = r->map.node_count ? &r->map.nodes[r->map.node_count - 1] : NULL;
	v->result->nodes++;
	if (last && n->epoch < last->epoch)
		xvt_verify_violation(v, XVT_VERIFY_CLOCK, xvt_ring_vm(v->t, n->ring),
				     "%s: clock node of epoch %u after one of epoch %u",
				     xvt_verify_ring_text(v, n->ring, text), n->epoch, last->epoch);
	else if (last && n->epoch == last->epoch &&
		 (n->guest <= last->guest || n->host_ns < last->host_ns))
		xvt_verify_violation(v, XVT_VERIFY_CLOCK, xvt_ring_vm(v->t, n->ring),
				     "%s: clock of epoch %u goes back: (%" PRIu64 ", %" PRIu64
				     ") after (%" PRIu64 ", %" PRIu64 ")",
				     xvt_verify_ring_text(v, n->ring, text), n->epoch, n->guest,
				     n->host_ns, last->guest, last->host_ns);
	if (!!(n->flags & XVT_NODE_F_FIRST) != (!last || n->epoch != last->epoch))
		xvt_verify_violation(v, XVT_VERIFY_CLOCK, xvt_ring_vm(v->t, n->ring),
				     "%s: clock node at %" PRIu64
				     " ns: epoch %u begins without saying so, "
				     "or says so inside",
				     xvt_verify_ring_text(v, n->ring, text), n->host_ns, n->epoch);
	xvt_verify_node_kind(v, n);
	xvt_verify_segment(v, n, last);
	if (xvt_grow(&r->map.nodes, &r->map.node_room, r->map.node_count + 1,
		     sizeof(*r->map.nodes)))
		return -ENOMEM;
	r->map.nodes[r->map.node_count++] = *n;
	r->map.carried += carried;
	return 0;
}

/*
 * A measured node confirms the drain's nodes before it: they lie on the line from the last measured
 * node to this one, within this node's bound. Check that, since later checks against the map use
 * that bound.
 */
static void check_seen(struct xvt_verify_state *v, uint32_t ring, size_t i)
{
	const struct xvt_verify_ring *r = &v->rings[ring];
	const struct xvt_clock_node *b = &r->map.nodes[i], *a, *n;
	size_t seen = xvt_nodes_seen(r->map.nodes, i);
	char text[XVT_VERIFY_RING_TEXT];
	uint64_t ns, off;

	/* In a further file of a set they may be left behind. */
	if (!seen && b->flags & XVT_NODE_F_SINCE && !v->t->damage_count && !v->t->info.set_number)
		xvt_verify_violation(v, XVT_VERIFY_CLOCK, xvt_ring_vm(v->t, ring),
				     "%s: clock node at %" PRIu64
				     " ns confirms what the drain saw, and it saw nothing",
				     xvt_verify_ring_text(v, ring, text), b->host_ns);
	/* In a damaged file the last measured node may be missing. */
	if (!seen || seen == i || v->t->damage_count || b[-seen - 1].epoch != b->epoch)
		return;
	a = b - seen - 1;
	for (n = a + 1; n < b; n++) {
		if (n->guest <= a->guest || b->guest <= n->guest || b->host_ns < a->host_ns)
			return; /* add_node() has reported it */
		ns = a->host_ns + (uint64_t)((unsigned __int128)(n->guest - a->guest) *
					     (b->host_ns - a->host_ns) / (b->guest - a->guest));
		off = ns > n->host_ns ? ns - n->host_ns : n->host_ns - ns;
		if (off > b->segment_bound_ns)
			xvt_verify_violation(v, XVT_VERIFY_CLOCK, xvt_ring_vm(v->t, ring),
					     "%s: clock node at %" PRIu64 " ns lies %" PRIu64
					     " ns off the line that confirms it within %" PRIu64
					     " ns",
					     xvt_verify_ring_text(v, ring, text), n->host_ns, off,
					     b->segment_bound_ns);
	}
}

static int settle_bounds(struct xvt_verify_state *v, uint32_t ring)
{
	struct xvt_verify_ring *r = &v->rings[ring];
	int err;

	for (size_t i = 0; i < r->map.node_count; i++)
		check_seen(v, ring, i);
	err = xvt_nodes_settle(r->map.nodes, r->map.node_count);
	for (size_t i = 0; i < r->map.node_count; i++) {
		if (r->map.nodes[i].segment_bound_ns > r->map.bound_ns_max)
			r->map.bound_ns_max = r->map.nodes[i].segment_bound_ns;
	}
	return err;
}

static int split_epochs(struct xvt_verify_ring *r)
{
	r->map.epochs = calloc(r->map.node_count + 1, sizeof(*r->map.epochs));
	if (!r->map.epochs)
		return -ENOMEM;
	for (size_t i = 0; i < r->map.node_count; i++) {
		if (i && r->map.nodes[i].epoch == r->map.nodes[i - 1].epoch) {
			r->map.epochs[r->map.epoch_count - 1].end = i + 1;
			continue;
		}
		r->map.epochs[r->map.epoch_count++] = (struct xvt_verify_epoch){ i, i + 1 };
	}
	return 0;
}

static uint64_t extrapolate(const struct xvt_verify_ring *r, const struct xvt_clock_node *n,
			    uint64_t guest)
{
	bool after = guest >= n->guest;
	uint64_t ns = after ? xvt_ticks_ns(guest - n->guest, r->map.hz)
			    : xvt_ticks_up_ns(n->guest - guest, r->map.hz);

	if (ns > INT64_MAX)
		ns = INT64_MAX; /* 292 years, the recorder's limit too */
	if (after)
		return n->host_ns + ns;
	return ns < n->host_ns ? n->host_ns - ns : 0;
}

/* The map of one epoch at `guest`, in ns. *node: where the search begins; set to the node found. */
static uint64_t map_at(const struct xvt_verify_ring *r, const struct xvt_verify_epoch *e,
		       uint64_t guest, size_t *node)
{
	const struct xvt_clock_node *a, *b;
	size_t at = *node >= e->first && *node < e->end && r->map.nodes[*node].guest <= guest
			    ? *node
			    : e->first;

	while (at + 1 < e->end && r->map.nodes[at + 1].guest <= guest)
		at++;
	*node = at;
	a = &r->map.nodes[at];
	if (guest < a->guest || at + 1 == e->end)
		return extrapolate(r, a, guest);
	b = a + 1;
	/* Unsigned: nodes of a hostile file may be any numbers, and the product still fits. */
	return a->host_ns + (uint64_t)((unsigned __int128)(guest - a->guest) *
				       (b->host_ns - a->host_ns) / (b->guest - a->guest));
}

/*
 * Returns whether an event that lies before the first node of a further file of a set has its time
 * by the segment that ends there, of which the file before has the begin.
 */
static bool is_right_before(const struct xvt_verify_ring *r, size_t epoch,
			    const struct xvt_event_hdr *h, uint64_t ns)
{
	return r->map.carried && !epoch && h->guest_clock < r->map.nodes[0].guest &&
	       xvt_u64_apart(ns, h->host_ns) <= r->map.nodes[0].segment_bound_ns;
}

/*
 * Returns whether the current or a later epoch gives this event's host time, and makes that epoch
 * the current one. Epochs only go forward, and a guest clock that went back is in a later epoch.
 * *expected: the time by the first epoch that was tried.
 */
static bool time_is_right(struct xvt_verify_ring *r, struct xvt_verify_place *p,
			  const struct xvt_event_hdr *h, uint64_t *expected)
{
	size_t e = p->epoch + (p->any && h->guest_clock < p->guest);
	bool first = true;

	*expected = 0;
	for (; e < r->map.epoch_count && e - p->epoch < EPOCHS_AHEAD; e++) {
		size_t node = p->node;
		uint64_t ns = map_at(r, &r->map.epochs[e], h->guest_clock, &node);

		/*
		 * The recorder extrapolated from the last node that it had; nodes between that
		 * node and the event may have come later.
		 */
		if (h->ring_flags & XVT_EVENT_F_UNCONFIRMED) {
			for (size_t n = node + 1; ns != h->host_ns && n-- > r->map.epochs[e].first;)
				ns = extrapolate(r, &r->map.nodes[n], h->guest_clock);
		}
		/* After an epoch's end: no later than the begin of the next. */
		if (ns != h->host_ns && e + 1 < r->map.epoch_count &&
		    ns > r->map.nodes[r->map.epochs[e + 1].first].host_ns)
			ns = r->map.nodes[r->map.epochs[e + 1].first].host_ns;
		if (first)
			*expected = ns;
		first = false;
		if (ns == h->host_ns || is_right_before(r, e, h, ns)) {
			p->epoch = e;
			p->node = node;
			return true;
		}
	}
	return false;
}

void xvt_verify_time(struct xvt_verify_state *v, struct xvt_verify_ring *r,
		     const struct xvt_event_hdr *h)
{
	struct xvt_verify_place *p = &r->map.lane[!!(h->ring_flags & XVT_EVENT_F_LATE)];
	uint32_t ring = h->ring_flags & XVT_EVENT_RING_MASK;
	char text[XVT_VERIFY_RING_TEXT];
	uint64_t expected;

	if (h->ring_flags & XVT_EVENT_F_CLOCK) {
		v->result->exempt++;
		p->beside = false;
	} else if (xvt_verify_beside(v, r, h)) {
		p->any = false; /* the node says nothing of the epoch of the next one */
		return;
	} else if (h->ring_flags & XVT_EVENT_F_UNCONFIRMED) {
		p->any = false; /* a guess, and nothing is claimed of it */
		return;
	} else if (!r->map.epoch_count) {
		v->result->unplaced++;
	} else if (!v->looks_whole && !time_is_right(r, p, h, &expected)) {
		p->any = false; /* its look may be lost, and nothing is claimed of it */
		return;
	} else if (p->any && h->guest_clock < p->guest && p->epoch + 1 >= r->map.epoch_count) {
		xvt_verify_violation(v, XVT_VERIFY_TIME, xvt_ring_vm(v->t, ring),
				     "%s: guest clock goes back inside an epoch: %" PRIu64
				     " after %" PRIu64 ", at %" PRIu64 " ns",
				     xvt_verify_ring_text(v, ring, text), h->guest_clock, p->guest,
				     h->host_ns);
	} else if (!time_is_right(r, p, h, &expected)) {
		xvt_verify_violation(
			v, XVT_VERIFY_TIME, xvt_ring_vm(v->t, ring),
			"%s: guest clock %" PRIu64 " is %" PRIu64 " ns by the clock nodes, "
			"but the event says %" PRIu64 " ns",
			xvt_verify_ring_text(v, ring, text), h->guest_clock, expected, h->host_ns);
	}
	p->any = true;
	p->guest = h->guest_clock;
}

static uint64_t line_ns(const struct xvt_timebase *l, uint64_t clock)
{
	__int128 ns = (__int128)l->base_ns +
		      (((__int128)clock - (__int128)l->base_clock) * l->mult >> (l->shift & 63));

	if (ns < 0)
		return 0;
	return ns > UINT64_MAX ? UINT64_MAX : (uint64_t)ns;
}

/* Add a line. Lines must be in order, and each must begin where the one before it ends. */
static int add_line(struct xvt_verify_state *v, const struct xvt_timebase *l)
{
	const struct xvt_timebase *last = v->line_count ? &v->lines[v->line_count - 1] : NULL;
	uint64_t end = last ? line_ns(last, l->base_clock) : 0;

	if (last && l->base_clock <= last->base_clock) {
		xvt_verify_violation(v, XVT_VERIFY_HOST_CLOCK, XVT_VM_NONE,
				     "the host's clock: a line from counter %" PRIu64
				     " on after one from %" PRIu64 " on",
				     l->base_clock, last->base_clock);
		return 0;
	}
	if (last && !l->mult)
		xvt_verify_violation(v, XVT_VERIFY_HOST_CLOCK, XVT_VM_NONE,
				     "the host's clock stands still from counter %" PRIu64 " on",
				     l->base_clock);
	/* In a damaged file a line may be missing; the damage is reported by itself. */
	if (last && l->base_ns != end && !v->t->damage_count)
		xvt_verify_violation(v, XVT_VERIFY_HOST_CLOCK, XVT_VM_NONE,
				     "the host's clock steps at counter %" PRIu64 ": from %" PRIu64
				     " to %" PRIu64 " ns",
				     l->base_clock, end, l->base_ns);
	xvt_verify_line_kind(v, l, last);
	if (xvt_grow(&v->lines, &v->line_room, v->line_count + 1, sizeof(*v->lines)))
		return -ENOMEM;
	v->lines[v->line_count++] = *l;
	return 0;
}

/* Host time in ns by the last line that begins at or before that value, else by the first line. */
static uint64_t host_clock_ns(const struct xvt_verify_state *v, uint64_t clock)
{
	size_t at = 0, step = 1;

	while (step < v->line_count)
		step *= 2;
	for (; step; step /= 2)
		if (at + step < v->line_count && v->lines[at + step].base_clock <= clock)
			at += step;
	return line_ns(&v->lines[at], clock);
}

/*
 * The clock's gain in a segment that was made with another rate. The segment's bound does not have
 * that, and no event has it.
 */
static uint64_t gained_unseen(const struct xvt_verify_ring *r, const struct xvt_verify_epoch *e,
			      size_t node)
{
	const struct xvt_clock_node *a = &r->map.nodes[node], *b = a + 1;

	if (node + 1 >= e->end || xvt_verify_hz_at(r, node + 1) == r->map.hz)
		return 0;
	return xvt_u64_apart(b->host_ns - a->host_ns, xvt_ticks_ns(b->guest - a->guest, r->map.hz));
}

/* The sample's interval must overlap the map with its bound. */
int xvt_verify_sample(struct xvt_verify_state *v, const struct xvt_clock_sample *s)
{
	uint64_t lo = host_clock_ns(v, s->host_clock_lo);
	uint64_t hi = host_clock_ns(v, s->host_clock_hi);
	char text[XVT_VERIFY_RING_TEXT];
	struct xvt_verify_ring *r;

	v->result->samples++;
	if (s->ring >= v->t->ring_count) {
		xvt_verify_violation(v, XVT_VERIFY_SAMPLE, xvt_ring_vm(v->t, s->ring),
				     "a clock sample of ring %u, which the trace does not have",
				     s->ring);
		return 0;
	}
	r = &v->rings[s->ring];
	r->map.samples++;
	xvt_verify_sample_kind(v, s);
	if (s->host_clock_hi < s->host_clock_lo)
		xvt_verify_violation(v, XVT_VERIFY_SAMPLE, xvt_ring_vm(v->t, s->ring),
				     "%s: a clock sample whose host times are the wrong way round",
				     xvt_verify_ring_text(v, s->ring, text));
	for (size_t e = 0; e < r->map.epoch_count; e++) {
		const struct xvt_verify_epoch *epoch = &r->map.epochs[e];
		size_t node = 0;
		uint64_t ns, bound;

		if (r->map.nodes[epoch->first].epoch != s->epoch)
			continue;
		ns = map_at(r, epoch, s->guest, &node);
		/* The node made from this sample was cut off at the file's end. */
		if (!v->t->ended && node + 1 == r->map.node_count &&
		    s->guest > r->map.nodes[node].guest)
			return 0;
		bound = r->map.nodes[node].segment_bound_ns;
		if (node + 1 < epoch->end && r->map.nodes[node + 1].segment_bound_ns > bound)
			bound = r->map.nodes[node + 1].segment_bound_ns;
		bound = xvt_u64_sum(bound, gained_unseen(r, epoch, node));
		bound = xvt_u64_sum(bound, 2); /* rounding of two conversions */
		if (xvt_u64_sum(ns, bound) < lo || (ns > bound && ns - bound > hi))
			xvt_verify_violation(v, XVT_VERIFY_SAMPLE, xvt_ring_vm(v->t, s->ring),
					     "%s: clock sample at guest %" PRIu64
					     " was between %" PRIu64 " and %" PRIu64
					     " ns, but the map says %" PRIu64 " ns within %" PRIu64
					     " ns",
					     xvt_verify_ring_text(v, s->ring, text), s->guest, lo,
					     hi, ns, bound);
		return xvt_verify_prove(v, r, epoch, s, lo, hi);
	}
	if (!v->t->ended &&
	    (!r->map.node_count || s->epoch > r->map.nodes[r->map.node_count - 1].epoch))
		return 0;
	xvt_verify_violation(v, XVT_VERIFY_SAMPLE, xvt_ring_vm(v->t, s->ring),
			     "%s: clock sample of epoch %u, which has no node",
			     xvt_verify_ring_text(v, s->ring, text), s->epoch);
	return 0;
}

/*
 * Largest error in ns of the map for an event whose time is right and that has no flag. Between two
 * nodes it is the segment's bound; outside of the segments it is the ring's largest bound and the
 * clock's creep.
 */
uint64_t xvt_verify_bound_ns(const struct xvt_verify_ring *r, const struct xvt_verify_place *p)
{
	const struct xvt_verify_epoch *e = &r->map.epochs[p->epoch];
	const struct xvt_clock_node *a = &r->map.nodes[p->node], *b = a + 1;
	uint64_t apart;

	if (p->beside)
		return p->beside_bound_ns;
	if (p->node + 1 < e->end && p->guest > a->guest)
		return b->segment_bound_ns;
	apart = p->guest > a->guest ? p->guest - a->guest : a->guest - p->guest;
	if (!apart)
		return r->map.bound_ns_max;
	apart = (uint64_t)((unsigned __int128)apart * 1000000000u / r->map.hz / 1024);
	return r->map.bound_ns_max + CREEP_NS + apart * CREEP_PER_1024;
}

static uint64_t minus(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/*
 * The host asked for this record and then saw it: two moments of the host's clock, which do not
 * depend on the map. A record whose time is flagged is not checked.
 */
void xvt_verify_mark(struct xvt_verify_state *v, const struct xvt_verify_ring *r,
		     const struct xvt_event *ev)
{
	const struct xvt_event_hdr *h = ev->hdr;
	const struct xvt_verify_place *p = &r->map.lane[!!(h->ring_flags & XVT_EVENT_F_LATE)];
	uint32_t ring = xvt_event_ring(ev);
	const struct xvt_mark_seen *seen;
	char text[XVT_VERIFY_RING_TEXT];
	uint64_t before, after, bound;
	struct xvt_mark mark;

	if (h->len < sizeof(mark))
		return;
	memcpy(&mark, ev->payload, sizeof(mark));
	seen = xvt_marks_take(&v->marks, ring, mark.number);
	if (!seen || !r->map.epoch_count ||
	    h->ring_flags & (XVT_EVENT_F_CLOCK | XVT_EVENT_F_UNCONFIRMED))
		return;
	v->result->marks_checked++;
	before = host_clock_ns(v, seen->host_clock_before);
	after = host_clock_ns(v, seen->host_clock_after);
	bound = xvt_u64_sum(xvt_verify_bound_ns(r, p), 2); /* rounding of two conversions */
	if (xvt_u64_sum(h->host_ns, bound) < before || minus(h->host_ns, bound) > after)
		xvt_verify_violation(v, XVT_VERIFY_MARK, xvt_ring_vm(v->t, ring),
				     "%s: mark %" PRIu64 " was written between %" PRIu64
				     " and %" PRIu64
				     " ns by the host's clock, but its stamp says %" PRIu64
				     " ns within %" PRIu64 " ns",
				     xvt_verify_ring_text(v, ring, text), mark.number, before,
				     after, h->host_ns, bound);
	xvt_verify_new_time(v, h, xvt_verify_bound_ns(r, p),
			    (struct xvt_look_span){ .lo_ns = before, .hi_ns = after }, "its mark");
}

/* Get the place of a clock value from just before the record at *p. Returns whether the value lies
 * between two nodes. */
static bool place_before(const struct xvt_verify_ring *r, const struct xvt_verify_place *p,
			 uint64_t guest, struct xvt_verify_place *before)
{
	const struct xvt_verify_epoch *e = &r->map.epochs[p->epoch];
	unsigned int back;

	*before = *p;
	before->guest = guest;
	for (back = 0; back < NODES_BACK && before->node > e->first &&
		       r->map.nodes[before->node].guest > guest;
	     back++)
		before->node--;
	return guest <= p->guest && r->map.nodes[before->node].guest <= guest &&
	       before->node + 1 < e->end;
}

/* Index of the last line that begins at or before a host time; SIZE_MAX: none. */
static size_t line_at_ns(const struct xvt_verify_state *v, uint64_t ns)
{
	return XVT_COUNT_TO(v->lines, v->line_count, base_ns, ns) - 1;
}

/*
 * Get the wall clock at a host time by the lines, and its error. The wall clock is ahead of
 * CLOCK_MONOTONIC by a constant until it is set. One of the next lines has the new constant, so all
 * of these lines may be right: take the nearest to `wall_ns`. Returns false if the lines do not
 * give the wall clock.
 */
static bool wall_clock(const struct xvt_verify_state *v, uint64_t ns, uint64_t wall_ns,
		       uint64_t *says_ns, uint64_t *error_ns)
{
	size_t at = line_at_ns(v, ns), i;
	uint64_t nearest = UINT64_MAX, error;

	*says_ns = *error_ns = 0;
	/* The error of a line is in the line after it. */
	if (at >= v->line_count || at + 1 == v->line_count)
		return false;
	error = xvt_u64_sum(xvt_u64_sum(v->lines[at].error_ns, v->lines[at + 1].error_ns),
			    TIMEBASE_NS);
	for (i = at; i < v->line_count && i <= at + LINES_UNTIL_SET; i++) {
		const struct xvt_timebase *l = &v->lines[i];
		uint64_t says = l->realtime_ns + (ns - l->base_ns);

		/* The recorder of this file did not watch the wall clock. */
		if (!l->wall_error_ns)
			return false;
		if (xvt_u64_apart(says, wall_ns) > nearest)
			continue;
		nearest = xvt_u64_apart(says, wall_ns);
		*says_ns = says;
		*error_ns = xvt_u64_sum(error, l->wall_error_ns);
	}
	return true;
}

/*
 * A clock pair: the hypervisor gave the guest's clock and the host's wall clock of one moment. The
 * map and the host's lines, which were made without it, must agree with it.
 */
void xvt_verify_pair(struct xvt_verify_state *v, const struct xvt_verify_ring *r,
		     const struct xvt_event *ev)
{
	const struct xvt_event_hdr *h = ev->hdr;
	const struct xvt_verify_place *p = &r->map.lane[!!(h->ring_flags & XVT_EVENT_F_LATE)];
	uint64_t ns, says, error, off;
	struct xvt_clock_sync sync;
	char text[XVT_VERIFY_RING_TEXT];
	struct xvt_verify_place before;

	if (h->len < sizeof(sync))
		return;
	memcpy(&sync, ev->payload, sizeof(sync));
	if (sync.reason != XVT_SYNC_PAIR || !r->map.epoch_count ||
	    h->ring_flags & (XVT_EVENT_F_CLOCK | XVT_EVENT_F_UNCONFIRMED) ||
	    !place_before(r, p, sync.clock, &before))
		return;
	ns = map_at(r, &r->map.epochs[before.epoch], before.guest, &before.node);
	if (!wall_clock(v, ns, sync.realtime_ns, &says, &error))
		return;
	v->result->pairs_checked++;
	error = xvt_u64_sum(error, xvt_u64_sum(xvt_verify_bound_ns(r, &before),
					       2)); /* rounding of two conversions */
	off = xvt_u64_apart(says, sync.realtime_ns);
	if (off > v->result->pair_off_ns_max)
		v->result->pair_off_ns_max = off;
	if (off > error)
		xvt_verify_violation(
			v, XVT_VERIFY_PAIR, xvt_ring_vm(v->t, xvt_event_ring(ev)),
			"%s: at guest clock %" PRIu64 " the wall clock was %" PRIu64
			" ns, says its hypervisor, but map and host's clock say %" PRIu64
			" ns within %" PRIu64 " ns",
			xvt_verify_ring_text(v, xvt_event_ring(ev), text), sync.clock,
			sync.realtime_ns, says, error);
}

/*
 * The host's kernel recorded the times when the vCPU was in its guest. Only then can the guest have
 * stamped an event. Flagged times are not checked.
 */
void xvt_verify_ran(struct xvt_verify_state *v, const struct xvt_verify_ring *r,
		    const struct xvt_event_hdr *h)
{
	uint32_t ring = h->ring_flags & XVT_EVENT_RING_MASK;
	const struct xvt_ring_info *info = &v->t->rings[ring].info;
	const struct xvt_run_span *before, *after;
	char text[XVT_VERIFY_RING_TEXT];
	uint64_t bound;

	if (!v->spans.count || !r->map.epoch_count ||
	    (info->type != XVT_RING_VCPU && info->type != XVT_RING_BARE) ||
	    h->ring_flags & (XVT_EVENT_F_CLOCK | XVT_EVENT_F_UNCONFIRMED))
		return;
	bound = xvt_u64_sum(
		xvt_verify_bound_ns(r, &r->map.lane[!!(h->ring_flags & XVT_EVENT_F_LATE)]), 2);
	switch (xvt_spans_ran(&v->spans, info->vm, info->hw_id, minus(h->host_ns, bound),
			      xvt_u64_sum(h->host_ns, bound), &before, &after)) {
	case XVT_RAN_UNKNOWN:
		break;
	case XVT_RAN_INSIDE:
		v->result->ran++;
		break;
	case XVT_RAN_NOT:
		xvt_verify_violation(v, XVT_VERIFY_RAN, xvt_ring_vm(v->t, ring),
				     "%s: an event at %" PRIu64 " ns within %" PRIu64
				     " ns, but its vCPU was out of its guest from %" PRIu64
				     " to %" PRIu64 " ns by the host's kernel",
				     xvt_verify_ring_text(v, ring, text), h->host_ns, bound,
				     before->exit_clock, after->enter_clock);
	}
}

static int load_host_clock(struct xvt_verify_state *v, struct xvt_chunk_buf *b)
{
	const struct xvt_file_info *f = &v->t->info;
	struct xvt_timebase l = {
		.base_clock = f->base_clock,
		.base_ns = f->base_ns,
		.mult = f->mult,
		.shift = f->shift,
		.realtime_ns = f->realtime_ns,
		.boottime_ns = f->boottime_ns,
		.apart_ns = f->apart_ns,
		.wall_error_ns = f->wall_error_ns,
	};
	const uint32_t types = 1u << XVT_CHUNK_TIMEBASE;
	int err = add_line(v, &l), more;

	for (size_t i = 0; !err && (more = xvt_trace_next(v->t, types, &i, b)); i++) {
		err = more < 0 ? more : 0;
		for (uint32_t at = 0; !err && xvt_chunk_take(b, &at, &l, sizeof(l));)
			err = add_line(v, &l);
	}
	return err;
}

static int add_marks(struct xvt_verify_state *v, const struct xvt_chunk_buf *b)
{
	struct xvt_mark_seen m;

	for (uint32_t at = 0; xvt_chunk_take(b, &at, &m, sizeof(m));) {
		char text[XVT_VERIFY_RING_TEXT];

		if (m.ring >= v->t->ring_count)
			xvt_verify_violation(v, XVT_VERIFY_MARK, xvt_ring_vm(v->t, m.ring),
					     "a mark of ring %u, which the trace does not have",
					     m.ring);
		else if ((int64_t)(m.host_clock_after - m.host_clock_before) < 0)
			xvt_verify_violation(v, XVT_VERIFY_MARK, xvt_ring_vm(v->t, m.ring),
					     "%s: mark %" PRIu64
					     " was written before it was asked for",
					     xvt_verify_ring_text(v, m.ring, text), m.number);
	}
	return xvt_marks_add(&v->marks, b->payload, b->len);
}

static void sort_marks(struct xvt_verify_state *v)
{
	const struct xvt_mark_seen *m = v->marks.v;

	xvt_marks_sort(&v->marks);
	for (size_t i = 1; i < v->marks.count; i++) {
		char text[XVT_VERIFY_RING_TEXT];

		if (m[i].ring == m[i - 1].ring && m[i].number == m[i - 1].number)
			xvt_verify_violation(v, XVT_VERIFY_MARK, xvt_ring_vm(v->t, m[i].ring),
					     "%s: mark %" PRIu64 " was seen twice",
					     xvt_verify_ring_text(v, m[i].ring, text), m[i].number);
	}
}

static int add_spans(struct xvt_verify_state *v, const struct xvt_chunk_buf *b)
{
	struct xvt_run_span span;
	int err = 0;

	for (uint32_t at = 0; !err && xvt_chunk_take(b, &at, &span, sizeof(span));) {
		xvt_verify_run_kind(v, &span);
		span.enter_clock = host_clock_ns(v, span.enter_clock);
		span.exit_clock = host_clock_ns(v, span.exit_clock);
		err = xvt_spans_add(&v->spans, &span);
	}
	return err;
}

static void sort_spans(struct xvt_verify_state *v)
{
	const struct xvt_run_span *bad = xvt_spans_sort(&v->spans);

	if (bad)
		xvt_verify_violation(v, XVT_VERIFY_RAN, bad->vm,
				     "vCPU %u of machine %u ran from %" PRIu64 " to %" PRIu64
				     " ns by the host's kernel: backwards, or twice at once",
				     bad->vcpu, bad->vm, bad->enter_clock, bad->exit_clock);
}

/* A ring is told of anew when another rate of its clock is known. */
static int note_rate(struct xvt_verify_state *v, const struct xvt_chunk_buf *b)
{
	struct xvt_ring_info info = { 0 };
	struct xvt_verify_ring *r;

	memcpy(&info, b->payload, b->len < sizeof(info) ? b->len : sizeof(info));
	if (info.ring >= v->t->ring_count)
		return 0;
	r = &v->rings[info.ring];
	if (r->map.nr_rates && r->map.rates[r->map.nr_rates - 1].hz == info.clock_hz)
		return 0;
	if (xvt_grow(&r->map.rates, &r->map.rates_room, r->map.nr_rates + 1, sizeof(*r->map.rates)))
		return -ENOMEM;
	r->map.rates[r->map.nr_rates++] =
		(struct xvt_verify_rate){ r->map.node_count, info.clock_hz };
	return 0;
}

int xvt_verify_load_clocks(struct xvt_verify_state *v, struct xvt_chunk_buf *b)
{
	const struct xvt_trace *t = v->t;
	uint64_t host_hz =
		t->info.mult ? (uint64_t)(((unsigned __int128)1000000000u << (t->info.shift & 63)) /
					  t->info.mult)
			     : 0;
	const uint32_t types = 1u << XVT_CHUNK_NODE | 1u << XVT_CHUNK_MARKS | 1u << XVT_CHUNK_RUNS |
			       1u << XVT_CHUNK_LOOKS | 1u << XVT_CHUNK_ROUND |
			       1u << XVT_CHUNK_RING | 1u << XVT_CHUNK_HEADS;
	bool carried = t->info.set_number > 1;
	int err = load_host_clock(v, b), more;

	for (size_t i = 0; !err && (more = xvt_trace_next(v->t, types, &i, b)); i++) {
		struct xvt_clock_node n;

		if (more > 0 && t->chunks[i].type == XVT_CHUNK_LOOKS)
			v->looks_from = i;
		if (more < 0)
			err = more;
		else if (t->chunks[i].type == XVT_CHUNK_MARKS)
			err = add_marks(v, b);
		else if (t->chunks[i].type == XVT_CHUNK_RUNS)
			err = add_spans(v, b);
		else if (t->chunks[i].type == XVT_CHUNK_LOOKS)
			err = xvt_verify_add_looks(v, b);
		else if (t->chunks[i].type == XVT_CHUNK_HEADS)
			err = xvt_verify_add_heads(v, b);
		else if (t->chunks[i].type == XVT_CHUNK_ROUND)
			carried = false;
		else if (t->chunks[i].type == XVT_CHUNK_RING)
			err = note_rate(v, b);
		else
			for (uint32_t at = 0; !err && xvt_chunk_take(b, &at, &n, sizeof(n));)
				err = add_node(v, &n, carried);
	}
	sort_marks(v);
	sort_spans(v);
	for (uint32_t i = 0; i < t->ring_count && !err; i++) {
		uint32_t vm = xvt_ring_vm(t, i);

		v->rings[i].seen.first_ns = UINT64_MAX;
		err = settle_bounds(v, i);
		if (!err)
			err = split_epochs(&v->rings[i]);
		if (!err)
			err = xvt_verify_settle_looks(&v->rings[i]);
		if (vm < t->vm_count && t->vms[vm].known)
			v->rings[i].map.hz = t->vms[vm].info.clock_hz;
		if (t->rings[i].known && t->rings[i].info.clock_hz)
			v->rings[i].map.hz = t->rings[i].info.clock_hz;
		if (!v->rings[i].map.hz)
			v->rings[i].map.hz = host_hz ? host_hz : 1000000000;
	}
	return err;
}
