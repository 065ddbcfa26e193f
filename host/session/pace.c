// SPDX-License-Identifier: GPL-2.0
/* pace.c - when the clock of each ring is due for service, and how often it is measured. */
#include "session/parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/u64.h"
#include "base/vec.h"

#define PACE_IDLE_PART 1000 /* while nothing happens: measuring also wakes the guest */
/* The longest pace grows with the number of rings, from XVT_BURST_EVERY_NS to PACE_MOST_NS. */
#define PACE_LEAST_NS  10000000ull
#define PACE_RING_NS   2000000ull
#define PACE_MOST_NS   2000000000ull
/* The same for rings without waiting records. */
#define PACE_IDLE_NS   25000000ull
#define PACE_IDLEST_NS 30000000000ull
/* The same for a ring whose clock keeps its line. */
#define REST_MOST_NS   (XVT_BURST_EVERY_NS << 7)
/* ... and into which more is written meanwhile than marks, for which the recorder asks. */
#define REST_USED_NS   (XVT_BURST_EVERY_NS << 3)
#define REST_BYTES     256ull
#define REST_ERROR_NS  10000ull /* beyond what measuring gives, in the segment of such a clock */
#define MARKS_MANY     64	/* a second, of all rings together */
/* For each ring: between two services of one that does not answer or has no source. */
#define LOOK_RING_NS   10000ull
#define LOOK_LEAST_NS  10000000ull
#define MARK_LOOK_NS   1000000ull /* between two services of a ring with a new mark request */
/* With many rings a measurement has fewer exchanges: a little wider, and much cheaper. */
#define MANY_RINGS     256u
#define MANY_EXCHANGES 8u

static uint64_t within(uint64_t v, uint64_t least, uint64_t most)
{
	return v < least ? least : v > most ? most : v;
}

/*
 * Returns true if the ring has records that no measurement confirms yet, including those behind the
 * records that go out now: otherwise each of many rings would be measured only when all others had
 * waited for it.
 */
static bool unconfirmed(const struct xvt_ring *r)
{
	return (r->head.have && !r->head.placed) ||
	       (r->drain.tail && earlier(r->clock.last_node_clock, r->drain.tail->ceiling_clock));
}

/*
 * Returns when a ring without waiting records is measured next. Where the pace is slow because
 * rings are many, all rings of the machine are measured at the same moments, so that none has to be
 * polled between them.
 */
uint64_t xvt_session_next_idle_burst(const struct xvt_session *s, const struct xvt_ring *r,
				     uint64_t now)
{
	uint64_t every = ticks(s, XVT_BURST_EVERY_NS), pace = xvt_vm_of_ring(r)->clocks.idle_pace;
	uint64_t rest = ticks(s, r->clock.rest_ns), used = ticks(s, REST_USED_NS);

	/* A guest that stops in the midst of its work shall be noticed. */
	if (r->drain.last.commit - r->clock.rest_commit > REST_BYTES && rest > used)
		rest = used;
	pace = pace > rest ? pace : rest;
	return pace <= every ? now + every : (now / pace + 1) * pace;
}

/* Returns true if the segment between two measured nodes is bounded by how well they were measured,
 * and not by what the clock did between them. */
static bool kept_its_line(const struct xvt_clock_node *from, const struct xvt_clock_node *to)
{
	const uint64_t most =
		2 * (from->bound_ns + to->bound_ns) + XVT_STAMP_SLACK_NS + REST_ERROR_NS;

	return from->source && from->epoch == to->epoch && !(to->flags & XVT_NODE_F_FIRST) &&
	       to->segment_bound_ns <= most;
}

/*
 * A clock that keeps its line from one measurement to the next is measured half as often while
 * nothing waits for it; one that left it, as often as at first. A segment that is much shorter than
 * the present period, because records had to be confirmed, does not show that a longer one keeps
 * the line, too.
 */
void xvt_session_adapt_rest(struct xvt_session *s, struct xvt_ring *r,
			    const struct xvt_clock_node *from, const struct xvt_clock_node *to)
{
	const uint64_t rest_ns = xvt_u64_larger(r->clock.rest_ns, XVT_BURST_EVERY_NS);

	if (r->phase == XVT_PHASE_NEW || is_snapshot(s))
		return;
	if (!kept_its_line(from, to)) {
		r->clock.rest_ns = 0;
		r->clock.next_burst_clock =
			sooner(r->clock.next_burst_clock,
			       xvt_session_next_idle_burst(s, r, xvt_clock_read()));
	} else if (to->host_ns - from->host_ns > rest_ns / 2) {
		r->clock.rest_ns = within(2 * rest_ns, XVT_BURST_EVERY_NS, REST_MOST_NS);
	}
}

/* Returns when the ring's next measurement is due. Unconfirmed records wait for it in memory, so it
 * comes at the machine's pace. */
uint64_t xvt_session_burst_due(const struct xvt_ring *r)
{
	const uint64_t pace = xvt_vm_of_ring(r)->clocks.pace;
	uint64_t soon = r->measure.burst_clock + pace;

	return pace && unconfirmed(r) && earlier(soon, r->clock.next_burst_clock)
		       ? soon
		       : r->clock.next_burst_clock;
}

/* Returns true if a mark was requested within XVT_BURST_EVERY_NS. An older request is checked once
 * a second. */
static bool mark_is_new(const struct xvt_session *s, const struct xvt_ring *r, uint64_t now)
{
	return r->mark.open &&
	       since(now, r->mark.last.host_clock_before) < ticks(s, XVT_BURST_EVERY_NS);
}

/* Number of rings if every machine had as many as this one. */
static uint64_t peers(const struct xvt_session *s, const struct xvt_vm *vm)
{
	return (uint64_t)vm->region.g.ring_count * xvt_session_sharing(s, vm);
}

/* Returns when the ring's clock needs service again. */
uint64_t xvt_session_ring_due(const struct xvt_session *s, const struct xvt_ring *r, uint64_t now)
{
	uint64_t due, soonest = r->measure.burst_clock + ticks(s, XVT_BURST_GAP_NS);

	if (r->phase == XVT_PHASE_BROKEN)
		return now + ticks(s, SECOND_NS);
	if (mark_is_new(s, r, now))
		return now + ticks(s, MARK_LOOK_NS);
	if (!r->measure.source || !r->measure.answered)
		return now + within(ticks(s, LOOK_RING_NS) * peers(s, xvt_vm_of_ring(r)),
				    ticks(s, LOOK_LEAST_NS), ticks(s, SECOND_NS));
	due = xvt_session_burst_due(r);
	return earlier(soonest, due) ? due : soonest;
}

/* The pace is XVT_BURST_EVERY_NS times a power of two, and changes seldom: the rings of the machine
 * have to be measured at the same moments. */
static uint64_t idle_pace(const struct xvt_session *s, const struct xvt_vm_clocks *c,
			  uint64_t wanted)
{
	uint64_t pace = ticks(s, XVT_BURST_EVERY_NS);

	if (wanted <= c->idle_pace && wanted > c->idle_pace / 4)
		return c->idle_pace;
	while (pace < wanted)
		pace *= 2;
	return pace;
}

/* `part`: ticks that the machine's measurements may take, its share. `all`: ticks that all
 * machines' measurements took. */
static void pace_of_vm(const struct xvt_session *s, struct xvt_vm *vm, uint64_t part, uint64_t all)
{
	struct xvt_vm_clocks *c = &vm->clocks;
	const uint64_t every = ticks(s, XVT_BURST_EVERY_NS), rings = peers(s, vm);
	const uint64_t whole = part * xvt_session_sharing(s, vm);
	uint64_t most = within(ticks(s, PACE_RING_NS) * rings, every, ticks(s, PACE_MOST_NS));
	uint64_t idlest = within(ticks(s, PACE_IDLE_NS) * rings, every, ticks(s, PACE_IDLEST_NS));

	if (!c->pace)
		c->pace = every;
	if (all > whole && c->took > part)
		c->pace += c->pace / 2;
	else if (all < whole / 2 || c->took < part / 2)
		c->pace -= c->pace / 3;
	c->pace = within(c->pace, ticks(s, PACE_LEAST_NS), most);
	if (c->bursts && !c->burst_cost)
		c->burst_cost = c->took / c->bursts;
	else if (c->bursts)
		c->burst_cost += (int64_t)(c->took / c->bursts - c->burst_cost) / 4;
	c->idle_pace =
		idle_pace(s, c, within(c->burst_cost * rings * PACE_IDLE_PART, every, idlest));
	if (s->disk.full) /* nodes use up the last of the space, which has to last for hours */
		c->pace = c->idle_pace = ticks(s, SECOND_NS) * (2 + s->nr_rings / 8);
	c->took = c->bursts = 0;
	/* A mark is a record, which has to be drained, placed and written. */
	c->mark_pace = ticks(s, SECOND_NS / MARKS_MANY) * rings;
	c->exchanges = rings > MANY_RINGS ? MANY_EXCHANGES : 0;
}

void xvt_session_pace(struct xvt_session *s, uint64_t elapsed)
{
	size_t i;

	for (i = 0; i < s->nr_vms; i++) {
		struct xvt_vm *vm = s->vms[i];

		if (vm->phase == XVT_VM_ATTACHED)
			pace_of_vm(s, vm, elapsed / XVT_CLOCKS_PART / xvt_session_sharing(s, vm),
				   s->clocks.took);
	}
	s->clocks.took = 0;
}

uint64_t xvt_session_least_pace_ns(const struct xvt_session *s)
{
	uint64_t least = UINT64_MAX;
	size_t i;

	for (i = 0; i < s->nr_vms; i++) {
		const struct xvt_vm *vm = s->vms[i];

		if (vm->phase == XVT_VM_ATTACHED && vm->clocks.pace < least)
			least = vm->clocks.pace;
	}
	return least == UINT64_MAX ? 0 : xvt_ticks_ns(least, s->clock.hz);
}

int xvt_session_clock_room(struct xvt_session *s, size_t rings)
{
	return xvt_grow(&s->clocks.due, &s->clocks.room, rings, sizeof(*s->clocks.due));
}

void xvt_session_clock_soon(struct xvt_session *s, const struct xvt_ring *r, uint64_t now)
{
	uint64_t due = xvt_session_ring_due(s, r, now);

	if (r->measure.asked)
		return;
	s->clocks.due[r->session.slot] = sooner(s->clocks.due[r->session.slot], due);
	s->clocks.first_due = sooner(s->clocks.first_due, due);
}
