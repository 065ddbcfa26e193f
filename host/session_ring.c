// SPDX-License-Identifier: GPL-2.0
/*
 * session_ring.c - when a ring's clock is measured, when it starts, when it is set aside.
 */
#include "session_parts.h"

#define BURST_EVERY_NS	 100000000ull /* clock measurement of a ring, if nothing else is said */
#define BURST_GAP_NS	 5000000ull   /* also when one is wanted at once */
/* No answer for so long: what waits is placed by what the drain saw of it. */
#define QUIET_NS	 (4 * BURST_EVERY_NS)
/*
 * Measuring may take this part of our time. A ring on which records wait is measured as often as
 * that allows, within bounds: what is slow to answer, or many, is measured more seldom.
 */
#define PACE_PART	 20
#define PACE_IDLE_PART	 200 /* and this one while nothing happens */
#define PACE_LEAST_NS	 10000000ull
#define PACE_RING_NS	 2000000ull /* for each ring, or BURST_EVERY_NS, and at most: */
#define PACE_MOST_NS	 2000000000ull
#define MARKS_MANY	 64 /* a second, of all rings together */
#define WIDE_NS		 2000000ull
#define WIDE_PATIENCE_NS 5000000000ull
/* Inside an event without a move for so long, while the VMM says "stopped": in flight. */
#define FROZEN_NS	 5000000ull

static uint64_t latest(uint64_t a, uint64_t b)
{
	return (int64_t)(a - b) > 0 ? a : b;
}

static bool waits(const struct xvt_ring *r)
{
	return r->have && !r->placed;
}

static bool near(uint64_t a, uint64_t b)
{
	uint64_t apart = a > b ? a - b : b - a;

	return apart < b / 32;
}

/*
 * The guest's claim can be off by several per cent (it calibrated against an emulated timer),
 * and its counter may be scaled. So the rate between its first two nodes decides: ours, if
 * that is what it looks like; else the claim, if it fits; else what was measured.
 */
static uint64_t measured_hz(const struct xvt_session *s, const struct xvt_vm *vm,
			    const struct xvt_clock_node *a, const struct xvt_clock_node *b)
{
	uint64_t hz, claim = vm->region.hdr.clock_hz;

	if (b->guest <= a->guest || b->host_ns <= a->host_ns)
		return vm->guest_hz;
	hz = (uint64_t)((unsigned __int128)(b->guest - a->guest) * 1000000000u /
			(b->host_ns - a->host_ns));
	if (near(hz, s->clock.hz))
		return s->clock.hz;
	if (near(hz, claim))
		return claim;
	return hz < 1000 ? vm->guest_hz : hz;
}

/* The newest node, where salvage finds it when this daemon and the guest are both gone. */
static void leave_hint(struct xvt_session *s, struct xvt_ring *r, const struct xvt_clock_node *n)
{
	struct xvt_ring_host *h = r->host;
	uint64_t seq = xvt_load(&h->hint_seq) | 1; /* odd: being written */

	xvt_store(&h->hint_seq, seq);
	xvt_wmb();
	xvt_store(&h->hint_guest, n->guest);
	xvt_store(&h->hint_host_ns, n->host_ns);
	xvt_store(&h->hint_bound_ns, n->bound_ns);
	xvt_store(&h->hint_hz, s->vms[r->vm]->guest_hz);
	xvt_store_release(&h->hint_seq, seq + 1);
}

/* Every node of a map is in the file. */
static void put_node(struct xvt_session *s, const struct xvt_clock_node *n)
{
	xvt_trace_put(s->trace, XVT_CHUNK_NODE, n, sizeof(*n), NULL, 0);
}

void xvt_session_ring_witness_first(struct xvt_session *s, struct xvt_ring *r)
{
	if (!r->witness_new || r->witness_put)
		return;
	put_node(s, &r->witness);
	r->witness_put = true;
}

void xvt_session_ring_witness(struct xvt_session *s, struct xvt_ring *r)
{
	if (!r->witness_new)
		return;
	xvt_session_ring_witness_first(s, r);
	r->witness_new = r->witness_put = false;
	r->witness_clock = xvt_clock_read();
}

/*
 * A jump could hide inside a wide node: an exchange that began before a pause and ended after it
 * spans all of it. Wait for a better one; on a machine that never gives one, take what there is.
 * It is an answer all the same: who gives it is not silent. But it confirms nothing, so what waits
 * bears witness meanwhile, as if there had been none.
 */
static bool too_wide(const struct xvt_session *s, struct xvt_ring *r,
		     const struct xvt_clock_node *n)
{
	uint64_t now = xvt_clock_read();

	if (n->bound_ns <= WIDE_NS || !r->map.count) {
		r->wide_clock = 0;
		return false;
	}
	if (!r->wide_clock)
		r->wide_clock = now;
	if (since(now, r->wide_clock) > ticks(s, WIDE_PATIENCE_NS))
		return false;
	r->next_burst_clock = 0;
	return true;
}

static void take_node(struct xvt_session *s, struct xvt_ring *r, struct xvt_clock_measure *m)
{
	bool wide = too_wide(s, r, &m->node);
	unsigned int i;

	r->wide = wide && since(xvt_clock_read(), r->wide_clock) > ticks(s, QUIET_NS);
	if (wide)
		return;
	xvt_session_ring_witness(s, r); /* in the file before its successor */
	if (xvt_clock_map_add(&r->map, &m->node))
		return;
	xvt_session_exact_added(r, &m->node);
	for (i = 0; i < m->nr_samples; i++)
		m->samples[i].epoch = m->node.epoch;
	xvt_trace_put(s->trace, XVT_CHUNK_SAMPLES, m->samples,
		      m->nr_samples * sizeof(m->samples[0]), NULL, 0);
	put_node(s, &m->node);
	leave_hint(s, r, &m->node);
	/* One too soon, or of which no page can be made, is left out: the last one still holds. */
	xvt_clock_pages_node(&r->pages, &m->node, s->vms[r->vm]->guest_hz);
	r->stats.samples += m->nr_samples;
	r->stats.source = m->node.source;
	r->node_before_clock = r->last_node_clock;
	r->last_node_clock = m->host_clock_hi;
	if (m->node.flags & XVT_NODE_F_FIRST && m->node.epoch)
		xvt_session_note(s, 1, s->vms[r->vm], r->id,
				 "cpu %u: guest and host time came apart; clock epoch %u begins",
				 xvt_load(&r->ctl->cpu), m->node.epoch);
}

/*
 * Recording starts for this ring only now, with a clock, so that its first times are not
 * older than the attach. (In overwrite mode the guest may have started by itself.)
 */
static void ring_goes_live(struct xvt_session *s, struct xvt_ring *r)
{
	uint64_t now = xvt_clock_read();

	/* All of a snapshot was there before it was asked for. */
	if (r->phase == XVT_PHASE_NEW && !s->opt.cut)
		r->start_ns = xvt_host_clock_ns(&s->clock, now);
	r->phase = XVT_PHASE_LIVE;
	r->live_ns = xvt_host_clock_ns(&s->clock, now);
	r->map.closed = s->ending;
	r->changed_clock = now;
	if (s->ending)
		return;
	xvt_ring_announce(s, r);
	if (s->opt.cut)
		return; /* that changes nothing */
	xvt_drain_tell_cons(r);
	if (s->off_clock)
		return; /* too late to begin: it would go on when nobody is there any more */
	r->enable = r->mode;
	xvt_store_release(&r->host->enable, r->enable);
}

#define SILENT_TEXT "does not answer (paused, dead or stuck)"

static void ring_aside(struct xvt_session *s, struct xvt_ring *r, bool silent, const char *why)
{
	r->phase = XVT_PHASE_ASIDE;
	r->aside_clock = xvt_clock_read();
	/* Silent: no node will come, so what is there goes out as well as it can be placed. */
	r->map.closed = silent;
	xvt_session_note(s, 1, s->vms[r->vm], r->id, "cpu %u: %s; the other rings go on without it",
			 xvt_load(&r->ctl->cpu), why);
}

/*
 * Silent. With nothing in flight and nothing that waits it holds nobody back, for what it writes
 * when it comes to itself has a later time: that is only told. What is in flight will be late.
 */
static void ring_silent(struct xvt_session *s, struct xvt_ring *r, uint64_t now, uint64_t stall)
{
	if (waits(r)) {
		/* It may just have come to itself, and its clock is measured next. Or what waits
		 * finds its places by witnesses, one in each pass. */
		if (since(now, latest(r->first->ceiling_clock, r->witness_clock)) <= stall)
			return;
		ring_aside(s, r, true, SILENT_TEXT);
	} else if (!r->idle) {
		if (since(now, r->changed_clock) <= stall)
			return;
		ring_aside(s, r, false, SILENT_TEXT);
	} else if (!r->quiet_told) {
		xvt_session_note(s, 1, s->vms[r->vm], r->id, "cpu %u: %s", xvt_load(&r->ctl->cpu),
				 SILENT_TEXT);
	}
	r->quiet_told = true;
}

/* The machine's clock rate is settled by the first ring with two good nodes, before any event. */
static bool rate_known(struct xvt_session *s, struct xvt_ring *r)
{
	struct xvt_vm *vm = s->vms[r->vm];
	const struct xvt_clock_node *first, *last;
	uint32_t i;

	if (vm->rate_measured)
		return true;
	if (r->map.count < 2)
		return false;
	first = &r->map.nodes[0];
	last = &r->map.nodes[r->map.count - 1];
	/* Wide nodes (a busy machine, a booting guest) say nothing: better to 1 % or wait. */
	if ((first->bound_ns + last->bound_ns) * 100 > last->host_ns - first->host_ns)
		return false;
	vm->rate_measured = true;
	vm->guest_hz = measured_hz(s, vm, first, last);
	for (i = 0; i < vm->region.g.ring_count; i++) {
		vm->rings[i]->map.hz = vm->guest_hz;
		vm->rings[i]->map.slack_ns = 0; /* of segments that no event lies in */
		vm->rings[i]->map.bound_ns_max = 0;
	}
	xvt_vm_announce(s, vm);
	return true;
}

/*
 * When is a ring measured next on which nobody waits? Where that is seldom, because there are many,
 * all of them are at the same moments: between them nobody has to be looked at.
 */
static uint64_t next_idle_burst(const struct xvt_session *s, uint64_t now)
{
	uint64_t every = ticks(s, BURST_EVERY_NS);

	return s->idle_pace <= every ? now + every : (now / s->idle_pace + 1) * s->idle_pace;
}

/* What a ring has delivered waits for its next measurement, and takes up memory meanwhile. */
static uint64_t burst_due(const struct xvt_session *s, const struct xvt_ring *r)
{
	uint64_t soon = r->burst_clock + s->pace;

	return s->pace && waits(r) && (int64_t)(soon - r->next_burst_clock) < 0
		       ? soon
		       : r->next_burst_clock;
}

/* A mark that was just asked for. One that nobody writes is looked for once a second. */
static bool mark_is_near(const struct xvt_session *s, const struct xvt_ring *r, uint64_t now)
{
	return r->mark_open && since(now, r->mark.host_clock_before) < ticks(s, BURST_EVERY_NS);
}

uint64_t xvt_session_ring_due(const struct xvt_session *s, const struct xvt_ring *r, uint64_t now)
{
	uint64_t due, soonest = r->burst_clock + ticks(s, BURST_GAP_NS);

	if (r->phase == XVT_PHASE_BROKEN)
		return now + ticks(s, SECOND_NS);
	if (!r->source || !r->answered || mark_is_near(s, r, now))
		return now;
	due = burst_due(s, r);
	return (int64_t)(due - soonest) > 0 ? due : soonest;
}

static uint64_t within(uint64_t v, uint64_t least, uint64_t most)
{
	return v < least ? least : v > most ? most : v;
}

void xvt_session_pace(struct xvt_session *s, uint64_t elapsed)
{
	uint64_t least = ticks(s, PACE_LEAST_NS), every = ticks(s, BURST_EVERY_NS);
	uint64_t most = within(ticks(s, PACE_RING_NS) * s->nr_rings, every, ticks(s, PACE_MOST_NS));

	size_t i;

	if (!s->pace)
		s->pace = every;
	if (s->clocks_took > elapsed / PACE_PART)
		s->pace += s->pace / 2;
	else if (s->clocks_took < elapsed / PACE_PART / 2)
		s->pace -= s->pace / 3;
	s->pace = within(s->pace, least, most);
	if (s->bursts)
		s->burst_cost += (int64_t)(s->clocks_took / s->bursts - s->burst_cost) / 4;
	s->idle_pace = within(s->burst_cost * s->nr_rings * PACE_IDLE_PART, every, most);
	s->clocks_took = s->bursts = 0;
	/* A mark is a record, too: it wants to be drained, placed and written. */
	for (i = 0; i < s->nr_rings; i++)
		s->rings[i]->mark_pace = ticks(s, SECOND_NS / MARKS_MANY) * s->nr_rings;
}

static void met(void *arg)
{
	xvt_session_mark(arg);
}

void xvt_session_ring_clock(struct xvt_session *s, struct xvt_ring *r, uint64_t now)
{
	struct xvt_clock_measure m;

	if (r->phase == XVT_PHASE_BROKEN || (s->opt.cut && r->map.closed))
		return;
	xvt_session_mark_look(r);
	if (!r->source) {
		struct xvt_clock_target t = { r->ctl, r->host, &s->clock, &s->vms[r->vm]->guest_hz,
					      r->id,  met,     r };

		if (s->opt.cut)
			t.met = NULL; /* a mark would be one more record in a ring that is full */

		if (xvt_load(&r->ctl->state) != XVT_RING_ONLINE)
			return;
		r->source_ops = &xvt_clock_handshake;
		if (r->source_ops->open(&r->source, &t))
			return;
		/* The file may end anywhere: its samples and nodes are of a ring that it knows. */
		xvt_ring_announce(s, r);
		if (!s->opt.cut)
			xvt_session_page_open(s, r);
	}
	/* "At once" (next_burst_clock 0) is not more often than BURST_GAP_NS: a guest whose every
	 * record contradicts its clock must not keep the host measuring. */
	if (!r->source_ops->busy(r->source) && (int64_t)(now - burst_due(s, r)) >= 0 &&
	    since(now, r->burst_clock) >= ticks(s, BURST_GAP_NS)) {
		xvt_session_exact_begin(s, r);
		r->source_ops->start(r->source);
		r->burst_clock = now;
		r->next_burst_clock = next_idle_burst(s, now);
		if (r->answered)
			r->answer_clock = now; /* it was not asked before: that was no silence */
		r->answered = false;
	}
	if (r->source_ops->poll(r->source, &m) == 1) {
		r->answer_clock = now;
		r->answered = true;
		s->bursts++;
		xvt_session_exact_refine(s, r, &m);
		take_node(s, r, &m);
		if (r->phase == XVT_PHASE_NEW && rate_known(s, r))
			ring_goes_live(s, r);
		else if (r->phase == XVT_PHASE_ASIDE && r->map.closed) {
			r->phase = XVT_PHASE_LIVE;
			r->live_ns = xvt_host_clock_ns(&s->clock, now);
			r->map.closed = false;
		}
		if (r->quiet_told) {
			r->live_ns = xvt_host_clock_ns(&s->clock, now);
			xvt_session_note(s, 0, s->vms[r->vm], r->id, "cpu %u: answers again",
					 xvt_load(&r->ctl->cpu));
		}
		r->quiet_told = false;
	}
}

/*
 * Nothing of this ring waits, yet its bound lies more than lag_ns back: it is neither silent
 * nor stuck in one event, but never seen idle and never delivers (nest that flickers, commit
 * that stays behind resv). An honest ring's bound follows its clock nodes or its records.
 */
static bool holds_back(const struct xvt_session *s, const struct xvt_ring *r, uint64_t now,
		       uint64_t lag_ns)
{
	uint64_t proven = xvt_ring_proven(r), now_ns = xvt_host_clock_ns(&s->clock, now);

	/* Before everybody has joined nothing is decoded, so nothing can be told. */
	if (!s->joined || xvt_ring_ready(r) || (r->have && r->placed) ||
	    since(now, s->grace_clock) < ticks(s, lag_ns))
		return false;
	if (proven < r->live_ns)
		proven = r->live_ns;
	/* A record that waits for its clock does so since it was copied, not since its own time. */
	if (r->have)
		proven = latest(proven, r->first->ceiling_ns);
	return now_ns > proven && now_ns - proven > lag_ns;
}

uint64_t xvt_session_silence(const struct xvt_session *s, const struct xvt_ring *r, uint64_t now)
{
	return r->answered ? 0 : since(now, latest(r->answer_clock, s->grace_clock));
}

/* Does it still take its part, or do the others have to go on without it? */
static void while_live(struct xvt_session *s, struct xvt_ring *r, uint64_t now, bool stopped)
{
	uint64_t silence = xvt_session_silence(s, r, now);
	uint64_t stall = ticks(s, s->opt.stall_timeout_ns);

	if (r->last.state == XVT_RING_OFFLINE && r->idle && !r->have && !r->first &&
	    !xvt_ring_ready(r)) {
		r->phase = XVT_PHASE_DONE;
		r->map.closed = true;
	} else if (stopped && r->last.nest && since(now, r->changed_clock) > ticks(s, FROZEN_NS)) {
		ring_aside(s, r, false, "stopped inside an event");
	} else if (stopped && waits(r) &&
		   since(now, latest(latest(r->first->ceiling_clock, r->still_clock),
				     r->witness_clock)) > ticks(s, QUIET_NS)) {
		ring_aside(s, r, false, "stands still with a record that has no time yet");
	} else if (silence > stall && !stopped) {
		ring_silent(s, r, now, stall);
	} else if (r->last.nest && since(now, latest(r->changed_clock, s->grace_clock)) > stall) {
		ring_aside(s, r, false, "a writer stays inside an event");
	} else if (holds_back(s, r, now, s->opt.stall_timeout_ns)) {
		ring_aside(s, r, false, "its control words never settle");
	}
}

/* Who was inside an event has come out, or somebody new has come in. */
static void while_aside(struct xvt_session *s, struct xvt_ring *r, uint64_t now, bool stopped)
{
	if (r->map.closed || (stopped && waits(r)) ||
	    (r->last.nest && (int64_t)(r->changed_clock - r->aside_clock) <= 0) ||
	    holds_back(s, r, now, s->opt.stall_timeout_ns / 2))
		return;
	r->phase = XVT_PHASE_LIVE;
	r->live_ns = xvt_host_clock_ns(&s->clock, now);
}

/*
 * A CPU that goes writes a little after its ring says so, and one that comes before it does. Nobody
 * answers then, but what is there is a record like any other, and its clock is the ring's.
 */
static bool stirs(const struct xvt_ring *r)
{
	return r->last.state == XVT_RING_ONLINE || r->last.nest || r->last.resv != r->last.commit ||
	       r->first || r->have;
}

static void ring_returns(struct xvt_session *s, struct xvt_ring *r, uint64_t now)
{
	r->map.closed = false;
	r->phase = XVT_PHASE_LIVE;
	r->live_ns = xvt_host_clock_ns(&s->clock, now);
	r->answer_clock = now;
	xvt_ring_announce(s, r);
}

static void tell_fault(struct xvt_session *s, struct xvt_ring *r)
{
	bool broken = r->phase == XVT_PHASE_BROKEN;

	if (!r->fault_new)
		return;
	r->fault_new = false;
	r->map.closed |= broken;
	/* Older bytes beside newer words are what a migration leaves; that is told already. */
	xvt_session_note(s, broken || !r->roll_backs ? 2 : 1, s->vms[r->vm], r->id,
			 "ring %u %s: %s", r->index,
			 broken ? "stopped for good" : "sub-buffer dropped", r->fault);
}

void xvt_session_ring_phase(struct xvt_session *s, struct xvt_ring *r, uint64_t now)
{
	uint64_t silence = xvt_session_silence(s, r, now);
	const bool stopped = xvt_vm_stopped(s->vms[r->vm]);
	const bool quiet =
		stopped || silence > ticks(s, QUIET_NS) || r->last.state == XVT_RING_OFFLINE;

	/* Whoever is inside an event now shows by its epoch that it was there before. */
	if (quiet && !stopped && !r->quiet && r->phase == XVT_PHASE_LIVE && !s->opt.cut)
		xvt_ring_bump_epoch(r);
	r->quiet = quiet;
	/* Told to stand still, it will not answer; else it may, until it is set aside. */
	r->patience_over = stopped || (waits(r) && since(now, r->first->ceiling_clock) >
							   ticks(s, s->opt.stall_timeout_ns / 2));
	/* What was drained just now is looked into only after this. */
	r->exact_holds = (quiet || r->wide) && r->first && xvt_session_exact_holds(s, r);
	/* What waited for a measurement before the stop may bear witness from now on. */
	if (stopped && !r->still)
		r->still_clock = now;
	r->still = stopped;
	if (r->phase == XVT_PHASE_LIVE)
		while_live(s, r, now, stopped);
	else if (r->phase == XVT_PHASE_ASIDE)
		while_aside(s, r, now, stopped);
	else if (r->phase == XVT_PHASE_DONE && stirs(r) && !s->ending)
		ring_returns(s, r, now);
	tell_fault(s, r);
}
