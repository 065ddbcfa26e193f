// SPDX-License-Identifier: GPL-2.0
/*
 * map.c - the piecewise map of a ring. Pure arithmetic; all products in 128 bits.
 */
#include "clock/map.h"
#include "base/u64.h"

#include <stdlib.h>

/* A VMM stops the clock before the vCPUs, and stamps after both; it starts them after its stamp. */
#define PAUSE_NS 5000000ull
#define TICK_NS	 20ull
#define BILLION	 1000000000u
#define WOBBLES_LEAST                                                                          \
	3	      /* gaps that differ, of a clock that is set forward or back all the time \
		       */
#define GAPS_LEAST  8 /* that show how far a clock is set forward */
/* What is known of a gap is at most this part of it, if it shall say how even the clock is. */
#define EVEN_PART   100
/* Nodes that a record is held against beside those around it: a guest can have all records so. */
#define NODES_BACK  64
/* Nodes kept of one ring: a quarter of an hour at ten a second. */
#define NODES_MAX   8192
/* Room for this many is always counted, even beyond the pool's budget. */
#define NODES_LEAST 16

void xvt_clock_map_init(struct xvt_clock_map *m, uint64_t hz)
{
	memset(m, 0, sizeof(*m));
	m->hz = hz;
}

void xvt_clock_map_fini(struct xvt_clock_map *m)
{
	free(m->nodes);
	if (m->pool)
		xvt_pool_uncount(m->pool, m->room * sizeof(*m->nodes));
	m->nodes = NULL;
	m->count = m->room = 0;
}

void xvt_clock_map_trim(struct xvt_clock_map *m)
{
	struct xvt_clock_node *one;

	if (m->count < 2)
		return;
	m->nodes[0] = m->nodes[m->count - 1];
	m->count = 1;
	m->at = m->last_first = m->older.from = m->older.end = 0;
	m->changes++;
	one = realloc(m->nodes, sizeof(*one));
	if (!one)
		return;
	if (m->pool)
		xvt_pool_uncount(m->pool, (m->room - 1) * sizeof(*one));
	m->nodes = one;
	m->room = 1;
}

const struct xvt_clock_node *xvt_clock_map_last(const struct xvt_clock_map *m)
{
	return m->count ? &m->nodes[m->count - 1] : NULL;
}

/*
 * Drops the nodes before the segment in use, and before that of the oldest record that waits, if
 * there are at least `least`; lookups never go back.
 */
static void drop_used(struct xvt_clock_map *m, size_t least)
{
	size_t n = m->at;

	while (n && m->waits_ns && m->nodes[n].host_ns > m->waits_ns)
		n--;
	if (n < least)
		return;
	memmove(m->nodes, m->nodes + n, (m->count - n) * sizeof(*m->nodes));
	m->count -= n;
	m->last_first -= m->last_first < n ? m->last_first : n;
	m->older.from = m->older.end = 0;
	m->at -= n;
}

/* The same where memory ends: what waits must do without. */
static void drop_at_any_rate(struct xvt_clock_map *m, size_t least)
{
	m->waits_ns = 0;
	drop_used(m, least);
}

void xvt_clock_map_forget(struct xvt_clock_map *m, uint64_t host_ns)
{
	size_t i = m->count;

	while (i > m->at && m->nodes[i - 1].host_ns > host_ns)
		i--;
	/* A node more than is needed, so that a line remains. */
	if (i > 1 && i - 2 > m->at)
		m->at = i - 2;
}

/* Makes room for one more node. */
static int make_room(struct xvt_clock_map *m)
{
	struct xvt_clock_node *grown;
	size_t room, more;

	drop_used(m, 64);
	if (m->count >= NODES_MAX) {
		/* A ring that never records looks nothing up, so the call above dropped nothing. */
		if (m->at < NODES_MAX / 2)
			m->at = NODES_MAX / 2;
		drop_at_any_rate(m, 64);
	}
	if (m->count < m->room)
		return 0;
	room = m->room < NODES_LEAST ? NODES_LEAST : m->room * 2;
	more = (room - m->room) * sizeof(*grown);
	if (m->pool && !xvt_pool_count(m->pool, more, room == NODES_LEAST)) {
		drop_at_any_rate(m, 1);
		return m->count < m->room ? 0 : -ENOMEM;
	}
	grown = realloc(m->nodes, room * sizeof(*grown));
	if (!grown) {
		if (m->pool)
			xvt_pool_uncount(m->pool, more);
		return -ENOMEM;
	}
	m->nodes = grown;
	m->room = room;
	return 0;
}

/* 292 years; so sums do not overflow 64 bits */
static uint64_t limited(uint64_t ns)
{
	return ns > INT64_MAX ? INT64_MAX : ns;
}

static uint64_t at_rate(uint64_t ticks, uint64_t hz)
{
	return limited(xvt_ticks_ns(ticks, hz));
}

static uint64_t ticks_ns(const struct xvt_clock_map *m, uint64_t ticks)
{
	return at_rate(ticks, m->hz);
}

/* Saturates at 292 years, like all times here: either may be any value that the guest answered. */
static uint64_t sum(uint64_t a, uint64_t b)
{
	return a > INT64_MAX - b ? INT64_MAX : a + b;
}

/* Host time of the node's guest clock on the line through `last` at the nominal rate. A time before
 * 0 becomes INT64_MAX, which is far from every time. */
static uint64_t on_last_line(const struct xvt_clock_map *m, const struct xvt_clock_node *last,
			     const struct xvt_clock_node *node)
{
	uint64_t shift = ticks_ns(m, xvt_u64_apart(node->guest, last->guest));

	if (node->guest > last->guest)
		return last->host_ns + shift;
	return shift <= last->host_ns ? last->host_ns - shift : INT64_MAX;
}

/*
 * True if the node was measured before the last one. A burst takes up to half a second where guest
 * and host rarely meet, so its tightest exchange may be older than a node that the drain added
 * meanwhile.
 *
 * A node earlier by both clocks is older. A node earlier by one clock only is older if the order of
 * both moments is open within their bounds and its guest clock lies on the line. Otherwise that
 * clock went back, or jumped, after the last node.
 */
static bool is_older(const struct xvt_clock_map *m, const struct xvt_clock_node *last,
		     const struct xvt_clock_node *node)
{
	const bool guest_later = node->guest > last->guest,
		   host_later = node->host_ns > last->host_ns;
	const uint64_t both = last->bound_ns + node->bound_ns;
	uint64_t shift;

	if (guest_later == host_later)
		return !guest_later;
	if (xvt_u64_apart(node->host_ns, last->host_ns) > both)
		return false;
	shift = ticks_ns(m, xvt_u64_apart(node->guest, last->guest));
	return xvt_u64_apart(on_last_line(m, last, node), node->host_ns) <=
	       xvt_clock_creep_ns(shift) + both;
}

static bool exact(const struct xvt_clock_node *n)
{
	return n->source == XVT_SOURCE_KVM || n->source == XVT_SOURCE_VMM ||
	       n->source == XVT_SOURCE_GUEST || n->source == XVT_SOURCE_HOST;
}

/* True for two nodes of an epoch by one formula (another formula of the same source would begin
 * another epoch): the clock is on their line exactly, at any rate. */
static bool one_formula(const struct xvt_clock_node *from, const struct xvt_clock_node *to)
{
	return exact(from) && from->source == to->source;
}

/* The last measured node, if it is of the last node's epoch. A node of the drain is so wide that a
 * jump could hide in it. */
static const struct xvt_clock_node *measured(const struct xvt_clock_map *m,
					     const struct xvt_clock_node *last)
{
	return last->source == XVT_SOURCE_DRAIN && m->measured.epoch == last->epoch ? &m->measured
										    : last;
}

/* By how much, in ns, guest and host time came apart between two nodes, at the nominal rate. */
static uint64_t gained(const struct xvt_clock_map *m, const struct xvt_clock_node *from,
		       const struct xvt_clock_node *to)
{
	return xvt_u64_apart(to->host_ns - from->host_ns, ticks_ns(m, to->guest - from->guest));
}

/* Distance by which the host clock's own knees bend the line through both nodes. */
static uint64_t bend_ns(const struct xvt_clock_map *m, const struct xvt_clock_node *from,
			const struct xvt_clock_node *to)
{
	return m->host_clock ? xvt_host_clock_bend_ns(m->host_clock, from->host_ns, to->host_ns)
			     : 0;
}

static struct xvt_clock_gain gain_of(const struct xvt_clock_map *m,
				     const struct xvt_clock_node *from,
				     const struct xvt_clock_node *to)
{
	const uint64_t host_ns = to->host_ns - from->host_ns;

	return (struct xvt_clock_gain){
		.ns = gained(m, from, to),
		.host_ns = host_ns,
		.doubt_ns = sum(sum(from->bound_ns, to->bound_ns), bend_ns(m, from, to)),
		.lost = ticks_ns(m, to->guest - from->guest) < host_ns,
	};
}

/* How far a gain is from what another one makes of its length. */
static struct xvt_clock_change change(const struct xvt_clock_gain *now,
				      const struct xvt_clock_gain *before)
{
	uint64_t expected, doubt, apart;

	if (before->host_ns < now->host_ns / 16 || !before->host_ns)
		return (struct xvt_clock_change){ 0, UINT64_MAX }; /* too short to say anything */
	expected = xvt_u64_scale(before->ns, now->host_ns, before->host_ns);
	doubt = sum(now->doubt_ns, xvt_u64_scale(before->doubt_ns, now->host_ns, before->host_ns));
	apart = now->lost == before->lost ? xvt_u64_apart(now->ns, expected)
					  : sum(now->ns, expected);
	return (struct xvt_clock_change){ apart > doubt ? apart - doubt : 0, sum(apart, doubt) };
}

/*
 * Gain and loss of the clock between two nodes, beyond what both show. A clock that gains steadily
 * and stands still once may show neither. Both gaps before say what it does steadily: one alone may
 * have had a step. Where there is only one, it has to do.
 */
static struct xvt_clock_change changed(const struct xvt_clock_map *m,
				       const struct xvt_clock_node *from,
				       const struct xvt_clock_node *to)
{
	const struct xvt_clock_gain now = gain_of(m, from, to);
	const struct xvt_clock_change one = change(&now, &m->gains[0]);
	const struct xvt_clock_change two = change(&now, &m->gains[1]);

	return one.least_ns < two.least_ns || !m->gains[1].host_ns ? one : two;
}

/* How many of the last gaps are remembered. */
static size_t nr_gaps(const struct xvt_clock_map *m)
{
	return m->gaps.count < XVT_CLOCK_CHANGES ? m->gaps.count : XVT_CLOCK_CHANGES;
}

/* The largest value and the one after it. */
static void two_largest(const uint64_t *of, size_t count, uint64_t largest[2])
{
	largest[0] = largest[1] = 0;
	for (size_t i = 0; i < count; i++) {
		if (of[i] > largest[0]) {
			largest[1] = largest[0];
			largest[0] = of[i];
		} else {
			largest[1] = xvt_u64_larger(largest[1], of[i]);
		}
	}
}

/*
 * By how much the clock is off the line between its nodes, if most gaps show for certain that it
 * is set forward or back all the time. A node shows how far it is just then, so two gaps show a
 * part of the largest step.
 */
static uint64_t wobble(const struct xvt_clock_map *m)
{
	const size_t count = nr_gaps(m);
	uint64_t largest[2];
	size_t i, wobbled = 0;

	/* One of the host's kind that is set forward is behind by no more than set_forward(). */
	if (m->host_ticks)
		return 0;
	for (i = 0; i < count; i++)
		wobbled += m->gaps.least_ns[i] > 0;
	if (wobbled < WOBBLES_LEAST || wobbled * 2 <= count)
		return 0; /* it was stopped or moved now and then, which those gaps show */
	two_largest(m->gaps.least_ns, count, largest);
	return sum(largest[0], sum(largest[0], largest[0]));
}

/*
 * The most that a clock can be set forward by at a time, as far as its gaps show. The largest
 * change does not count: it may have been stopped once.
 */
static uint64_t forward_most(const struct xvt_clock_map *m)
{
	uint64_t largest[2];

	if (m->host_ticks || m->gaps.count < GAPS_LEAST)
		return UINT64_MAX;
	two_largest(m->gaps.most_ns, nr_gaps(m), largest);
	return sum(largest[1], sum(largest[1], largest[1]));
}

/*
 * Gain of a clock on the host's, in ns, if it ticks at the host's rate and is set forward in steps.
 * Such a clock is a saw-tooth whose ends may agree with any faster rate. Between two nodes it is
 * off their line by at most the sum of its steps; and, unless it is of the host's kind, by no more
 * than the largest step that its gaps allow.
 */
static uint64_t set_forward(const struct xvt_clock_map *m, const struct xvt_clock_node *from,
			    const struct xvt_clock_node *to)
{
	const uint64_t host_ns = to->host_ns - from->host_ns;
	uint64_t ns, most;

	if (!m->host_hz)
		return 0;
	ns = at_rate(to->guest - from->guest, m->host_hz);
	if (ns <= host_ns || (!m->host_ticks && ns - host_ns > host_ns / XVT_FORWARD_PART))
		return 0;
	most = forward_most(m);
	return ns - host_ns < most ? ns - host_ns : most;
}

/* How far a stamp of a clock that steps may be behind; the slack of a stamp has a usual tick. */
static uint64_t step_ns(const struct xvt_clock_map *m)
{
	const uint64_t ns = ticks_ns(m, m->clock_step > 1 ? m->clock_step : 1);

	return ns > TICK_NS ? ns : 0;
}

static uint64_t off_ns(const struct xvt_clock_map *m, const struct xvt_rate_gap *g)
{
	return xvt_u64_apart(ticks_ns(m, g->ticks), g->host_ns);
}

/*
 * The most that the losses of two gaps differ by, if the clock's rate is off by its doubt; whether
 * it is faster or slower than the nominal one is open. UINT64_MAX: they may be the same.
 */
static uint64_t step_of_two(const struct xvt_clock_map *m, const struct xvt_rate_gap *a,
			    const struct xvt_rate_gap *b)
{
	const uint64_t apart = xvt_u64_scale(xvt_u64_apart(a->host_ns, b->host_ns), m->hz_doubt_ppb,
					     BILLION),
		       off = sum(off_ns(m, a), off_ns(m, b)), doubt = sum(a->doubt_ns, b->doubt_ns),
		       least = sum(doubt, xvt_u64_scale(doubt, m->hz_doubt_ppb, BILLION));

	return apart > sum(off, least) ? sum(apart, sum(off, doubt)) : UINT64_MAX;
}

/*
 * By how much a step may move the clock, ns, if it has a rate that is as far from the nominal one
 * as that may be off, and steps of one size bring it back to that all the time. By such steps a
 * gap's loss is a multiple of the step. So two gaps whose losses differ for certain differ by a
 * step or more. UINT64_MAX: no two do. That all gaps agree is not enough: they do as well where the
 * clock is measured in step with its steps, however large those are.
 */
static uint64_t step_most(const struct xvt_clock_map *m)
{
	const struct xvt_rate_gap *g = m->even.kept, *end = g + XVT_RATE_GAPS, *h;
	uint64_t most = UINT64_MAX, widest = 0;

	if (m->even.count < XVT_RATE_GAPS)
		return UINT64_MAX;
	for (; g < end; g++) {
		if (off_ns(m, g) > g->doubt_ns)
			return UINT64_MAX;
		widest = xvt_u64_larger(widest, g->doubt_ns);
		for (h = g + 1; h < end; h++) {
			const uint64_t step = step_of_two(m, g, h);

			most = step < most ? step : most;
		}
	}
	return most == UINT64_MAX ? most : sum(most, widest);
}

/* How far a clock of one rate may be from the nominal one within host_ns, by the gaps that agree
 * with it. */
static uint64_t drift_ns(const struct xvt_clock_map *m, uint64_t host_ns)
{
	uint64_t least = UINT64_MAX;

	for (size_t i = 0; i < XVT_RATE_GAPS; i++) {
		const struct xvt_rate_gap *g = &m->even.kept[i];
		const uint64_t ns = xvt_u64_scale(host_ns, 2 * g->doubt_ns, g->host_ns);

		least = ns < least ? ns : least;
	}
	return least;
}

/* The share of a gap that the error of the nominal rate makes. */
static uint64_t doubt_ns(const struct xvt_clock_map *m, uint64_t host_ns)
{
	const uint64_t whole = xvt_u64_scale(host_ns, m->hz_doubt_ppb, BILLION);
	uint64_t steps;

	if (!whole)
		return 0;
	steps = step_most(m);
	if (steps >= whole)
		return whole;
	steps = sum(steps, drift_ns(m, host_ns));
	return steps < whole ? steps : whole;
}

/* The most, in ns, that the clock may be off the line through both nodes: its creep, wander and
 * steps, the error of its rate, and the host clock's own knees in between. */
static uint64_t crept(const struct xvt_clock_map *m, const struct xvt_clock_node *from,
		      const struct xvt_clock_node *to)
{
	const uint64_t host_ns = to->host_ns - from->host_ns;
	const uint64_t bend = bend_ns(m, from, to);
	uint64_t own;

	if (one_formula(from, to))
		return bend;
	own = xvt_u64_larger(gained(m, from, to), set_forward(m, from, to));
	own = sum(own, doubt_ns(m, host_ns));
	own = sum(own, step_ns(m));
	own = sum(own, xvt_clock_wander(host_ns));
	return sum(bend, sum(own, xvt_u64_larger(changed(m, from, to).least_ns, wobble(m))));
}

/* True if the guest's clock lost more on the host's than both bounds explain. */
static bool lost_time(const struct xvt_clock_map *m, const struct xvt_clock_node *from,
		      const struct xvt_clock_node *to)
{
	const uint64_t passed = ticks_ns(m, to->guest - from->guest);

	return to->host_ns - from->host_ns > sum(passed, sum(from->bound_ns, to->bound_ns));
}

/*
 * True if the clock may have gone back between two nodes. In one epoch, a clock that loses time did
 * more than creep. At a border, a clock that loses time stood still, unless a change was reported.
 */
static bool may_have_gone_back(const struct xvt_clock_map *m, const struct xvt_clock_node *from,
			       const struct xvt_clock_node *to, uint64_t reports)
{
	if (to->flags & XVT_NODE_F_FIRST)
		return reports && (to->guest <= from->guest || lost_time(m, from, to));
	return !one_formula(from, to) && lost_time(m, from, to);
}

/* Measuring error of a node. A node of the drain lies as near to the line as its evidence allows,
 * so its bound excuses no difference. */
static uint64_t error_ns(const struct xvt_clock_node *n)
{
	return n->source == XVT_SOURCE_DRAIN ? 0 : n->bound_ns;
}

/* True if guest and host time came apart by more than a creep explains. */
static bool came_apart(const struct xvt_clock_map *m, const struct xvt_clock_node *from,
		       const struct xvt_clock_node *to)
{
	uint64_t host_ns = to->host_ns - from->host_ns;
	/* Bounds are measuring error, not creep. */
	uint64_t limit = xvt_clock_creep_ns(host_ns) + from->bound_ns + error_ns(to);

	/* After a disturbance only the clock's own rate error is allowed. */
	if (m->suspect)
		limit -= XVT_CREEP_NS_MAX;
	return gained(m, from, to) > limit;
}

void xvt_clock_map_reported(struct xvt_clock_map *m, uint64_t host_ns, uint64_t ticks)
{
	struct xvt_clock_report *r = m->reports, *end = r + m->nr_reports;

	if (m->nr_reports == XVT_CLOCK_REPORTS) {
		/*
		 * Merges the two oldest entries; the merged one applies wherever one of them does.
		 */
		r[0].last_ns = xvt_u64_larger(r[0].last_ns, r[1].last_ns);
		r[0].size_ns = sum(r[0].size_ns, r[1].size_ns);
		r[0].count += r[1].count;
		memmove(r + 1, r + 2, (XVT_CLOCK_REPORTS - 2) * sizeof(*r));
		end = r + --m->nr_reports;
	}
	*end = (struct xvt_clock_report){ host_ns, host_ns, ticks_ns(m, ticks), 1 };
	m->nr_reports++;
}

/* Sums all changes that may lie before the node's moment. */
static struct xvt_clock_report reported(const struct xvt_clock_map *m,
					const struct xvt_clock_node *node)
{
	struct xvt_clock_report all = { 0 };
	size_t i;

	for (i = 0; i < m->nr_reports; i++) {
		const struct xvt_clock_report *r = &m->reports[i];

		if (r->first_ns > sum(node->host_ns, node->bound_ns))
			continue;
		all.size_ns = sum(all.size_ns, r->size_ns);
		all.count += r->count;
	}
	return all;
}

/* Notes a node of the drain since the last measured one, and the bound of its segment. */
static void note_seen(struct xvt_clock_map *m, const struct xvt_clock_node *node, uint64_t bound)
{
	uint64_t off = gained(m, &m->measured, node);

	m->seen.bound_ns = xvt_u64_larger(m->seen.bound_ns, bound);
	m->seen.astray_ns = xvt_u64_larger(m->seen.astray_ns, off);
	if (off > node->bound_ns)
		m->seen.beyond_ns = xvt_u64_larger(m->seen.beyond_ns, off - node->bound_ns);
}

/*
 * Bound of the segment that ends in a measured node, after nodes of the drain in the same epoch.
 * The two measured nodes alone bound the clock to `whole` around the line through them. Events were
 * also placed on lines through the drain's nodes. These lie at most astray_ns off the nominal line,
 * which lies `line` off the line through the measured nodes. The sum of the three therefore holds
 * for all events since the last measured node, also for those placed earlier. It does not hold if
 * the drain's nodes prove that the clock was elsewhere.
 */
static void confirm_seen(struct xvt_clock_map *m, struct xvt_clock_node *node, uint64_t *bound)
{
	uint64_t whole = xvt_u64_larger(m->measured.bound_ns, node->bound_ns) +
			 crept(m, &m->measured, node) + reported(m, node).size_ns +
			 xvt_stamp_slack_ns(node->source, m->clock_traits);
	uint64_t line = gained(m, &m->measured, node);

	if (m->seen.beyond_ns > whole + line)
		return;
	whole += line + m->seen.astray_ns;
	if (whole >= xvt_u64_larger(*bound, m->seen.bound_ns))
		return;
	node->flags |= XVT_NODE_F_SINCE;
	m->seen.bound_ns = 0;
	*bound = whole;
}

/* Drops reports that lie before the node's moment for certain; its segment includes them. */
static void drop_reports(struct xvt_clock_map *m, const struct xvt_clock_node *node)
{
	size_t i, kept = 0;

	for (i = 0; i < m->nr_reports; i++) {
		if (sum(m->reports[i].last_ns, node->bound_ns) >= node->host_ns)
			m->reports[kept++] = m->reports[i];
	}
	m->nr_reports = kept;
}

/* Remembers how the rate changed in the gap that ends in this node. */
static void note_change(struct xvt_clock_map *m, const struct xvt_clock_node *node)
{
	const struct xvt_clock_change c = changed(m, &m->measured, node);
	const size_t at = m->gaps.count % XVT_CLOCK_CHANGES;

	if (!m->gains[0].host_ns)
		return;
	m->gaps.least_ns[at] = c.least_ns;
	m->gaps.most_ns[at] = c.most_ns;
	m->gaps.count++;
}

/* A gap goes on until its measurements are narrow beside it. */
static void note_even(struct xvt_clock_map *m, const struct xvt_clock_node *node)
{
	const struct xvt_clock_node *from = &m->even.from;
	struct xvt_rate_gap gap;

	if (!from->source || node->epoch != from->epoch || node->flags & XVT_NODE_F_CHANGED) {
		m->even.count = 0;
		m->even.from = *node;
		return;
	}
	gap = (struct xvt_rate_gap){ node->guest - from->guest, node->host_ns - from->host_ns,
				     sum(from->bound_ns, node->bound_ns) };
	if (gap.doubt_ns > gap.host_ns / EVEN_PART)
		return;
	m->even.kept[m->even.count++ % XVT_RATE_GAPS] = gap;
	m->even.from = *node;
}

/* Notes a measured node, which settles the bounds of the drain's nodes before it. */
static void note_measured(struct xvt_clock_map *m, const struct xvt_clock_node *node)
{
	/* A burst that began before the disturbance may end after it, and show only the time
	 * before. */
	if (node->host_ns > m->suspect_ns && node->host_ns - m->suspect_ns > node->bound_ns)
		m->suspect = false;
	m->moved = false;
	drop_reports(m, node);
	m->bound_ns_max = xvt_u64_larger(m->bound_ns_max, m->seen.bound_ns);
	memset(&m->seen, 0, sizeof(m->seen));
	m->bound_ns_max = xvt_u64_larger(m->bound_ns_max, node->segment_bound_ns);
	if (!(node->flags & XVT_NODE_F_FIRST) && m->measured.epoch == node->epoch) {
		note_change(m, node);
		m->gains[1] = m->gains[0];
		m->gains[0] = gain_of(m, &m->measured, node);
	}
	note_even(m, node);
	m->measured = *node;
}

/* The bound of a segment in which the clock may have gone back; 0: it did not. */
static uint64_t went_back_ns(const struct xvt_clock_node *n)
{
	return n->flags & (XVT_NODE_F_BACK | XVT_NODE_F_CHANGED) ? n->segment_bound_ns : 0;
}

/*
 * Updates the largest bound of a segment with the addition for a clock that went back beside it, as
 * a reader of the file computes it (spread_bounds() in trace/read.c). Called before the node is in
 * the map.
 */
static void note_reach(struct xvt_clock_map *m, const struct xvt_clock_node *node)
{
	const struct xvt_clock_node *last = xvt_clock_map_last(m);
	const uint64_t own = went_back_ns(node);
	uint64_t from_ns, all = xvt_u64_larger(m->bound_ns_max, m->seen.bound_ns);
	size_t k;

	if (!last)
		return;
	if (last->host_ns > m->reach.until_ns)
		m->reach.bound_ns = 0;
	if (m->reach.bound_ns && !(node->flags & XVT_NODE_F_FIRST))
		m->reach.most_ns = xvt_u64_larger(m->reach.most_ns,
						  sum(node->segment_bound_ns, m->reach.bound_ns));
	if (!own)
		return;
	m->reach.until_ns = xvt_u64_larger(m->reach.until_ns, sum(node->host_ns, own));
	m->reach.bound_ns = xvt_u64_larger(m->reach.bound_ns, own);
	from_ns = last->host_ns < own ? 0 : last->host_ns - own;
	for (k = m->count; k-- > 1 && m->nodes[k].host_ns >= from_ns;) {
		const uint64_t before_ns = m->nodes[k - 1].host_ns,
			       back = went_back_ns(&m->nodes[k]);

		if (!(m->nodes[k].flags & XVT_NODE_F_FIRST))
			m->reach.most_ns = xvt_u64_larger(m->reach.most_ns,
							  sum(m->nodes[k].segment_bound_ns, own));
		if (back && (before_ns < back ? 0 : before_ns - back) < from_ns)
			from_ns = before_ns < back ? 0 : before_ns - back;
	}
	/* Earlier segments were dropped; none of them has a larger bound. */
	if (!k && m->nodes[0].host_ns >= from_ns)
		m->reach.most_ns = xvt_u64_larger(m->reach.most_ns, sum(all, own));
}

uint64_t xvt_clock_map_bound_ns(const struct xvt_clock_map *m)
{
	return xvt_u64_larger(xvt_u64_larger(m->bound_ns_max, m->seen.bound_ns), m->reach.most_ns);
}

uint64_t xvt_clock_map_own_hz(const struct xvt_clock_map *m)
{
	const struct xvt_clock_node *b = xvt_clock_map_last(m), *a = b;
	uint64_t host_ns, doubt, hz;

	if (b)
		a = &m->nodes[m->last_first];
	if (a == b || b->host_ns <= a->host_ns)
		return m->hz;
	host_ns = b->host_ns - a->host_ns;
	doubt = sum(a->bound_ns, b->bound_ns);
	if (!one_formula(a, b))
		doubt = sum(doubt, host_ns / 1024 * XVT_CREEP_PER_1024);
	if (gained(m, a, b) <= doubt)
		return m->hz;
	hz = xvt_u64_scale(b->guest - a->guest, 1000000000u, host_ns);
	return xvt_clock_plausible_hz(hz) ? hz : m->hz;
}
/*
 * Doubt that a node of the drain leaves. The bound of such a node is the time between two looks. If
 * a stop is shorter than that, or if it is a part longer and the clock was set forward behind it by
 * that part, the node has the same moment. An event between the two is off by as much again.
 */
static uint64_t hidden_ns(const struct xvt_clock_node *n)
{
	return n->source == XVT_SOURCE_DRAIN && n->bound_ns > XVT_CREEP_NS_MAX ? n->bound_ns : 0;
}

int xvt_clock_map_add(struct xvt_clock_map *m, struct xvt_clock_node *node)
{
	const struct xvt_clock_node *last, *from;
	const struct xvt_clock_report changes = reported(m, node);
	uint64_t bound = node->bound_ns, slack = error_ns(node);
	bool jumped;
	int err = make_room(m);

	if (err)
		return err;
	last = xvt_clock_map_last(m);
	if (last && is_older(m, last, node))
		return -EALREADY;
	from = last ? measured(m, last) : NULL;
	node->flags = XVT_NODE_F_FIRST | (node->flags & XVT_NODE_F_TAKEN);
	node->epoch = last ? last->epoch + 1 : 0;
	jumped = last && (node->guest <= last->guest || node->host_ns <= last->host_ns ||
			  m->moved || came_apart(m, from, node));
	if (last && !jumped && changes.size_ns <= XVT_CREEP_NS_MAX) {
		node->flags = m->hz_open && !one_formula(last, node) ? XVT_NODE_F_OPEN : 0;
		node->epoch = last->epoch;
		bound = xvt_u64_larger(last->bound_ns, bound) + crept(m, last, node) +
			changes.size_ns + hidden_ns(node);
		slack = xvt_u64_larger(from->bound_ns, slack) + crept(m, from, node) +
			changes.size_ns;
	}
	if (last && may_have_gone_back(m, last, node, changes.count))
		node->flags |= XVT_NODE_F_BACK;
	/*
	 * A change and a jump are the same event; more changes leave an interval between them.
	 */
	if (last && changes.count > jumped)
		node->flags |= XVT_NODE_F_CHANGED;
	if (node->source == XVT_SOURCE_DRAIN && node->flags & XVT_NODE_F_FIRST)
		return -EDOM;
	/* A record may have been placed before the change was known. It is off by at most what goes
	 * unnoticed: a creep, and the time between the two looks that bracket the record. */
	if (node->flags & XVT_NODE_F_FIRST && node->flags & (XVT_NODE_F_CHANGED | XVT_NODE_F_BACK))
		bound += changes.size_ns < 2 * XVT_CREEP_NS_MAX ? changes.size_ns
								: 2 * XVT_CREEP_NS_MAX;
	bound += xvt_stamp_slack_ns(node->source, m->clock_traits);
	if (!(node->flags & XVT_NODE_F_FIRST) && node->source != XVT_SOURCE_DRAIN &&
	    m->seen.bound_ns)
		confirm_seen(m, node, &bound);
	node->segment_bound_ns = bound;
	/* A node of the drain has a wide bound, but lies on the line of the node before it. */
	m->slack_ns = xvt_u64_larger(m->slack_ns,
				     slack + xvt_stamp_slack_ns(node->source, m->clock_traits));
	note_reach(m, node);
	if (node->source == XVT_SOURCE_DRAIN)
		note_seen(m, node, bound);
	else
		note_measured(m, node);
	if (node->flags & XVT_NODE_F_FIRST)
		m->last_first = m->count;
	m->nodes[m->count++] = *node;
	m->changes++;
	return 0;
}

/* Where a value lies among the nodes of one epoch. */
enum side {
	SIDE_BEFORE, /* before the epoch's first node */
	SIDE_WITHIN,
	SIDE_AFTER, /* after the epoch's last node */
};

struct candidate {
	size_t at; /* node at or before the value, or the epoch's first */
	enum side side;
	uint64_t ns;
	uint64_t bound_ns; /* SIDE_WITHIN: of the segment */
	bool on_line;	   /* between two nodes */
};

/* An interval of host time; empty if lo_ns > hi_ns. */
struct span {
	uint64_t lo_ns;
	uint64_t hi_ns;
};

static const struct span nothing = { UINT64_MAX, 0 };

static bool is_empty(struct span s)
{
	return s.lo_ns > s.hi_ns;
}

static struct span around(uint64_t ns, uint64_t bound_ns)
{
	return (struct span){ ns > bound_ns ? ns - bound_ns : 0, sum(ns, bound_ns) };
}

static struct span both(struct span a, struct span b)
{
	return (struct span){ xvt_u64_larger(a.lo_ns, b.lo_ns),
			      a.hi_ns < b.hi_ns ? a.hi_ns : b.hi_ns };
}

static struct span hull(struct span a, struct span b)
{
	if (is_empty(a) || is_empty(b))
		return is_empty(a) ? b : a;
	return (struct span){ a.lo_ns < b.lo_ns ? a.lo_ns : b.lo_ns,
			      xvt_u64_larger(a.hi_ns, b.hi_ns) };
}

static struct span drained(const struct xvt_clock_evidence *e)
{
	return (struct span){ e->floor_ns, e->ceiling_ns };
}

/* The moments at which the node's clock value was read. */
static struct span read_at(const struct xvt_clock_node *n)
{
	return around(n->host_ns, n->bound_ns);
}

/* True if the node after `i` is in the same epoch. */
static bool goes_on(const struct xvt_clock_map *m, size_t i)
{
	return i + 1 < m->count && !(m->nodes[i + 1].flags & XVT_NODE_F_FIRST);
}

/*
 * First node of the epoch after the one of `at`; m->count if there is none. The search is called
 * for each record that no cached segment places, which a guest can make all of its records; so it
 * is cached.
 */
static size_t next_first(struct xvt_clock_map *m, size_t at)
{
	if (at >= m->last_first)
		return m->count;
	if (at < m->older.from || at >= m->older.end) {
		m->older.from = m->older.end = at;
		while (goes_on(m, m->older.end))
			m->older.end++;
		m->older.end++;
	}
	return m->older.end;
}

/* The last node of [at, end) before `guest`, or `at`. The segment is usually near, so the search
 * gallops. */
static size_t last_before(const struct xvt_clock_map *m, size_t at, size_t end, uint64_t guest)
{
	size_t step = 1;

	while (at + step < end && guest > m->nodes[at + step].guest) {
		at += step;
		step *= 2;
	}
	for (; step; step /= 2) {
		if (at + step < end && guest > m->nodes[at + step].guest)
			at += step;
	}
	return at;
}

/* Places `guest` by the nodes of the epoch of `at`; nodes before `at` are not used. */
static struct candidate in_epoch(struct xvt_clock_map *m, size_t at, uint64_t guest)
{
	struct candidate c = { .at = last_before(m, at, next_first(m, at), guest) };
	const struct xvt_clock_node *n = &m->nodes[c.at];

	c.bound_ns = n->segment_bound_ns;

	if (guest < n->guest || (guest == n->guest && m->step_open)) {
		uint64_t back = limited(xvt_ticks_up_ns(n->guest - guest, m->hz));

		c.side = SIDE_BEFORE;
		c.ns = back < n->host_ns ? n->host_ns - back : 0;
	} else if (goes_on(m, c.at)) {
		c.side = SIDE_WITHIN;
		c.ns = xvt_clock_line(n, n + 1, guest);
		c.bound_ns = n[1].segment_bound_ns;
		c.on_line = true;
		/* A clock that stands still has one value in both segments. */
		if (guest == n[1].guest && goes_on(m, c.at + 1))
			c.bound_ns = xvt_u64_larger(c.bound_ns, n[2].segment_bound_ns);
	} else {
		c.side = guest == n->guest ? SIDE_WITHIN : SIDE_AFTER;
		c.ns = n->host_ns + ticks_ns(m, guest - n->guest);
	}
	return c;
}

/* True if the evidence allows this time. The map may be wrong by its bound, and by the clock's
 * creep since the node that the time was extrapolated from. */
static bool allowed(const struct xvt_clock_map *m, const struct candidate *c, struct span s)
{
	uint64_t slack = c->bound_ns;

	if (c->side != SIDE_WITHIN)
		slack = m->slack_ns +
			xvt_u64_apart(c->ns, m->nodes[c->at].host_ns) / 1024 * XVT_CREEP_PER_1024;
	return !is_empty(both(around(c->ns, slack), s));
}

void xvt_clock_map_stopped(struct xvt_clock_map *m, uint64_t ns)
{
	memmove(m->stops_before + 1, m->stops_before,
		(XVT_STOPS_BEFORE - 1) * sizeof(m->stops_before[0]));
	m->stops_before[0] = m->stop_ns;
	m->stop_ns = ns;
	m->run_ns = 0;
}

void xvt_clock_map_paused(struct xvt_clock_map *m, uint64_t stop_ns, uint64_t run_ns)
{
	if (stop_ns < m->stop_ns)
		m->stop_ns = stop_ns;
	m->run_ns = run_ns > stop_ns ? run_ns : 0;
}

static bool between(const struct xvt_clock_map *m, size_t first, uint64_t ns)
{
	return ns >= m->nodes[first - 1].host_ns && ns < m->nodes[first].host_ns;
}

/* Host time of the VMM's first stop between the two epochs, which is then the border; UINT64_MAX if
 * there is none. */
static uint64_t stop_between(const struct xvt_clock_map *m, size_t first)
{
	uint64_t ns = between(m, first, m->stop_ns) ? m->stop_ns : UINT64_MAX;
	size_t i;

	for (i = 0; i < XVT_STOPS_BEFORE; i++) {
		if (m->stops_before[i] < ns && between(m, first, m->stops_before[i]))
			ns = m->stops_before[i];
	}
	return ns;
}

/*
 * True if the border between the two epochs is only the machine's last stop. The VMM reports when
 * the machine stopped and ran again, no other stop lies there, and the lines are apart by that
 * time: the clock stood still meanwhile. Then the old line ends at the stop, and the new one begins
 * after it.
 */
static bool is_pause(const struct xvt_clock_map *m, size_t first, uint64_t lines_apart_ns)
{
	return m->run_ns && stop_between(m, first) == m->stop_ns && between(m, first, m->stop_ns) &&
	       xvt_u64_apart(lines_apart_ns, m->run_ns - m->stop_ns) <= m->slack_ns + PAUSE_NS;
}

/*
 * True if the clock only went forward from one epoch's last node to the next one's first. A clock
 * that lost time there stood still with its machine, unless the host's kernel reported that it was
 * set back.
 */
static bool only_went_forward(const struct xvt_clock_map *m, size_t first)
{
	const struct xvt_clock_node *from = &m->nodes[first - 1], *to = &m->nodes[first];

	return to->guest > from->guest && !(to->flags & (XVT_NODE_F_CHANGED | XVT_NODE_F_BACK));
}

/* True for a value before the map's very first node, where nothing was measured. */
static bool is_unmeasured(const struct xvt_clock_map *m, const struct candidate *c)
{
	return c->side == SIDE_BEFORE && !m->nodes[c->at].epoch;
}

/*
 * True if the value lies between two epochs with more changes reported than the border explains.
 * The clock may have had other values there.
 */
static bool is_unsettled(struct xvt_clock_map *m, const struct candidate *c)
{
	const size_t first = c->side == SIDE_AFTER ? next_first(m, c->at) : c->at;

	return c->side != SIDE_WITHIN && first < m->count &&
	       m->nodes[first].flags & XVT_NODE_F_FIRST &&
	       m->nodes[first].flags & XVT_NODE_F_CHANGED;
}

/*
 * The time is a choice inside the set. A line's time that is outside by no more than its own error
 * is kept, so that it does not depend on the looks, and the set then includes it.
 */
static void choose(const struct xvt_clock_map *m, struct xvt_clock_placed *p, uint64_t ns,
		   struct span set)
{
	if (ns < set.lo_ns && set.lo_ns - ns <= m->slack_ns)
		set.lo_ns = ns;
	if (ns > set.hi_ns && ns - set.hi_ns <= m->slack_ns)
		set.hi_ns = ns;
	p->lo_ns = set.lo_ns;
	p->hi_ns = set.hi_ns;
	p->host_ns = ns < set.lo_ns ? set.lo_ns : ns > set.hi_ns ? set.hi_ns : ns;
}

/*
 * True if the record may have been written before the epoch's first node, in the border that ends
 * there, although its value lies between nodes: the clock had other values in the border.
 */
static bool may_be_earlier(const struct xvt_clock_map *m, size_t at, struct span s)
{
	size_t i = at;

	if (!s.lo_ns)
		return false; /* the drain says nothing */
	while (s.lo_ns <= sum(m->nodes[i].host_ns, m->nodes[i].bound_ns)) {
		if (m->nodes[i].flags & XVT_NODE_F_FIRST || at - i == NODES_BACK)
			return m->nodes[i].epoch;
		if (!i)
			return false;
		i--;
	}
	return false;
}

/* Times that the record can have by its value in the epoch of c, before the epoch's end. */
static struct span own_span(const struct xvt_clock_map *m, const struct candidate *c, struct span s)
{
	struct span first = { 0, 0 };

	switch (c->side) {
	case SIDE_AFTER:
		return nothing;
	case SIDE_BEFORE:
		first.hi_ns = read_at(&m->nodes[c->at]).hi_ns;
		return both(first, s);
	case SIDE_WITHIN:
		break;
	}
	if (!may_be_earlier(m, c->at, s))
		return both(around(c->ns, c->bound_ns), s);
	first.hi_ns = sum(c->ns, c->bound_ns);
	return both(first, s);
}

/* True if own_span() is only what the segment's line gives. */
static bool is_by_line(const struct xvt_clock_map *m, const struct candidate *c, struct span s)
{
	return c->on_line && !may_be_earlier(m, c->at, s);
}

/*
 * True if the record may have been written after the newest measurement, and none will follow: a
 * clock that was set back since then has old values again.
 */
static bool may_be_later(const struct xvt_clock_node *last, struct span s)
{
	return s.lo_ns && s.hi_ns > read_at(last).hi_ns && !exact(last);
}

/* The line's own time, which may lie a little outside of what the drain saw. */
static enum xvt_map_result by_line(const struct xvt_clock_map *m, struct xvt_clock_placed *p,
				   const struct candidate *c, struct span own)
{
	choose(m, p, c->ns, own);
	p->host_ns = c->ns;
	p->on_line = true;
	p->segment_bound_ns = c->bound_ns;
	return XVT_MAP_OK;
}

static enum xvt_map_result last_epoch(struct xvt_clock_map *m, const struct candidate *c,
				      const struct xvt_clock_evidence *e,
				      struct xvt_clock_placed *p)
{
	const struct xvt_clock_node *last = &m->nodes[m->count - 1];
	struct span s = drained(e), own;

	choose(m, p, c->ns, (struct span){ 0, UINT64_MAX });
	if (last->flags & XVT_NODE_F_TAKEN) {
		if (!is_empty(s))
			choose(m, p, c->ns, s);
		return XVT_MAP_GUESS;
	}
	if (c->side == SIDE_AFTER) {
		own = both((struct span){ read_at(last).lo_ns, UINT64_MAX }, s);
		if (m->closed && !is_empty(own))
			choose(m, p, c->ns, own);
		return m->closed ? XVT_MAP_GUESS : XVT_MAP_WAIT;
	}
	if (!m->closed && last->host_ns < e->confirm_ns)
		return XVT_MAP_WAIT;
	own = own_span(m, c, s);
	if (is_empty(own)) {
		if (!is_empty(s))
			choose(m, p, c->ns, s);
		return XVT_MAP_DOUBT;
	}
	if (may_be_later(last, s))
		own.hi_ns = s.hi_ns;
	else if (is_by_line(m, c, s))
		return by_line(m, p, c, own);
	choose(m, p, c->ns, own);
	if (is_unmeasured(m, c) || is_unsettled(m, c))
		return XVT_MAP_GUESS;
	return XVT_MAP_OK;
}

/* The two sides of a border between epochs: what is possible for a record. */
struct sides {
	struct candidate old;
	struct candidate new;
	struct span own;    /* in the old epoch */
	struct span border; /* between both, where the clock jumped */
	struct span later;  /* in the new epoch or behind it */
};

static void find_sides(struct xvt_clock_map *m, size_t first, uint64_t guest, struct span s,
		       struct sides *to)
{
	const struct span end = read_at(&m->nodes[first - 1]), begin = read_at(&m->nodes[first]);
	const size_t behind = next_first(m, first);
	const bool goes_further = behind < m->count;
	struct span later = nothing;

	to->new = in_epoch(m, first, guest);
	to->own = own_span(m, &to->old, s);
	to->border = both((struct span){ end.lo_ns, begin.hi_ns }, s);
	if (to->new.side == SIDE_WITHIN)
		later = around(to->new.ns, to->new.bound_ns);
	if (goes_further || to->new.side == SIDE_AFTER || may_be_later(&m->nodes[behind - 1], s))
		later = hull(later,
			     (struct span){ read_at(&m->nodes[behind - 1]).lo_ns, UINT64_MAX });
	to->later = both(later, s);
}

/* True if this line's time is possible. */
static bool may_be_old(const struct xvt_clock_map *m, const struct sides *x, struct span s)
{
	if (x->old.side != SIDE_AFTER)
		return !is_empty(x->own);
	return !is_empty(x->border) && allowed(m, &x->old, both(x->border, s));
}

static bool may_be_new(const struct xvt_clock_map *m, const struct sides *x, struct span s)
{
	if (x->new.side != SIDE_BEFORE)
		return !is_empty(x->later);
	return !is_empty(x->border) && allowed(m, &x->new, both(x->border, s));
}

/*
 * Chooses between the two lines. Any choice is inside the set, so what is presumed here (one jump,
 * a clock that stood still with its machine) moves the time and never narrows its bound. If both
 * lines are possible it is a guess, and the earlier time is given: a later record of the ring that
 * is certain is then not moved by the order.
 */
static enum xvt_map_result choose_side(struct xvt_clock_map *m, size_t first, uint64_t guest,
				       const struct sides *x, struct span s, uint64_t *ns,
				       bool *is_new)
{
	bool old_may = may_be_old(m, x, s), new_may = may_be_new(m, x, s);
	const uint64_t old_ns = x->old.ns, new_ns = x->new.ns;

	/* A clock that only went forward passed the old epoch's last node and the new one's first
	 * in the order of its values. */
	if (old_may && new_may && only_went_forward(m, first)) {
		if (guest <= m->nodes[first - 1].guest)
			new_may = false;
		else if (guest >= m->nodes[first].guest)
			old_may = false;
	}
	if (old_may && new_may && old_ns > m->slack_ns &&
	    old_ns - m->slack_ns > stop_between(m, first))
		old_may = false; /* no record is written while the machine is stopped */
	if (old_may && new_may && new_ns + m->slack_ns + PAUSE_NS < m->run_ns &&
	    is_pause(m, first, new_ns > old_ns ? new_ns - old_ns : 0))
		new_may = false;
	*is_new = new_may && !old_may;
	*ns = old_may && (!new_may || old_ns < new_ns) ? old_ns : new_may ? new_ns : s.lo_ns;
	if (is_unsettled(m, &x->old) || is_unmeasured(m, &x->old))
		return XVT_MAP_GUESS;
	return old_may != new_may || (old_may && xvt_u64_apart(old_ns, new_ns) <= m->slack_ns)
		       ? XVT_MAP_OK
		       : XVT_MAP_GUESS;
}

enum xvt_map_result xvt_clock_map_place(struct xvt_clock_map *m, uint64_t guest,
					const struct xvt_clock_evidence *e,
					struct xvt_clock_placed *p)
{
	const struct span s = drained(e);
	enum xvt_map_result result;
	struct sides x;
	size_t first;
	uint64_t ns;
	bool is_new;

	*p = (struct xvt_clock_placed){ .host_ns = e->floor_ns,
					.lo_ns = e->floor_ns,
					.hi_ns = e->ceiling_ns };
	if (!m->count)
		return m->closed ? XVT_MAP_GUESS : XVT_MAP_WAIT;
	for (;;) {
		x.old = in_epoch(m, m->at, guest);
		m->at = x.old.at;
		first = next_first(m, m->at);
		if (first >= m->count)
			return last_epoch(m, &x.old, e, p);
		if (!m->closed && m->nodes[m->count - 1].host_ns < e->confirm_ns) {
			p->host_ns = x.old.ns;
			return XVT_MAP_WAIT;
		}
		find_sides(m, first, guest, s, &x);
		if (!is_empty(x.own) || !is_empty(x.border) || s.lo_ns < m->nodes[first].host_ns)
			break;
		m->at = first;
	}
	if (is_empty(x.border) && is_empty(x.later) && !is_empty(x.own) && is_by_line(m, &x.old, s))
		return by_line(m, p, &x.old, x.own);
	if (is_empty(x.own) && is_empty(x.border) && is_empty(x.later)) {
		choose(m, p, x.old.ns, is_empty(s) ? (struct span){ 0, UINT64_MAX } : s);
		return XVT_MAP_DOUBT;
	}
	result = choose_side(m, first, guest, &x, s, &ns, &is_new);
	/* The record seems to lie behind the newest node, which does not confirm it yet. */
	if (is_new && x.new.side == SIDE_AFTER &&next_first(m, first) >= m->count && !m->closed) {
		p->host_ns = x.new.ns;
		return XVT_MAP_WAIT;
	}
	/* The merge takes a record behind the last node for later than that. */
	if (is_empty(x.own) && ns < m->nodes[first - 1].host_ns)
		ns = m->nodes[first - 1].host_ns;
	choose(m, p, ns, hull(hull(x.own, x.border), x.later));
	return result;
}

bool xvt_clock_map_segment(struct xvt_clock_map *m, uint64_t guest, struct xvt_clock_segment *s)
{
	const struct xvt_clock_node *a, *b;

	if (s->run && s->changes == m->changes && guest >= s->guest && guest <= s->guest_end)
		return true;
	if (!m->count || next_first(m, m->at) < m->count)
		return false;
	while (goes_on(m, m->at) && guest > m->nodes[m->at + 1].guest)
		m->at++;
	a = &m->nodes[m->at];
	b = a + 1;
	if (!goes_on(m, m->at) || guest < a->guest)
		return false;
	s->bound_ns = b->segment_bound_ns;
	s->guest = a->guest;
	s->guest_end = b->guest;
	s->host_ns = a->host_ns;
	s->rise = b->host_ns - a->host_ns;
	s->run = b->guest - a->guest;
	if (s->run >> 63)
		return false;
	xvt_clock_segment_make(s);
	s->changes = m->changes;
	return true;
}

#define BEHIND (1ull << 32) /* ticks that a line goes on behind a value, at least a second */

/* The line to the first node, from whole seconds before it on, so that both ends are exact and the
 * values of a second have one line. */
static bool before_first(const struct xvt_clock_map *m, uint64_t guest, struct xvt_clock_segment *s)
{
	const struct xvt_clock_node *n = m->nodes;
	const uint64_t seconds = (n->guest - guest - 1) / m->hz + 1;

	if (seconds > n->guest / m->hz || seconds > n->host_ns / 1000000000u)
		return false;
	*s = (struct xvt_clock_segment){ .guest = n->guest - seconds * m->hz,
					 .guest_end = n->guest - 1,
					 .host_ns = n->host_ns - seconds * 1000000000u,
					 .rise = 1000000000,
					 .run = m->hz };
	xvt_clock_segment_make(s);
	return true;
}

bool xvt_clock_map_unmeasured(const struct xvt_clock_map *m, uint64_t guest)
{
	const struct xvt_clock_node *n = m->nodes;

	if (!m->count || m->at || m->last_first)
		return false;
	return guest < n->guest ? !n->epoch : m->count == 1 && n->flags & XVT_NODE_F_TAKEN;
}

bool xvt_clock_map_beyond(const struct xvt_clock_map *m, uint64_t guest, uint64_t host_ns,
			  struct xvt_clock_segment *s)
{
	const struct xvt_clock_node *n = m->count ? &m->nodes[m->at] : NULL;
	uint64_t end = guest;

	if (n && n != xvt_clock_map_last(m) && n[1].guest <= guest && n[1].epoch == n->epoch)
		n++;
	if (n && guest < n->guest && n == m->nodes)
		return before_first(m, guest, s) && xvt_clock_segment_ns(s, guest) == host_ns;
	if (!n || guest < n->guest)
		return false;
	if (xvt_clock_map_unmeasured(m, guest)) /* else another one may have another line */
		end = UINT64_MAX - guest < BEHIND ? UINT64_MAX : guest + BEHIND;
	*s = (struct xvt_clock_segment){ .guest = n->guest,
					 .guest_end = end,
					 .host_ns = n->host_ns,
					 .rise = 1000000000,
					 .run = m->hz };
	xvt_clock_segment_make(s);
	return xvt_clock_segment_ns(s, guest) == host_ns;
}

bool xvt_clock_map_next_epoch(struct xvt_clock_map *m)
{
	size_t first = m->count ? next_first(m, m->at) : 0;

	if (first >= m->count)
		return false;
	m->at = first;
	return true;
}
