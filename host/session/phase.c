// SPDX-License-Identifier: GPL-2.0
/*
 * phase.c - when a ring starts, when it is set aside, when it comes back. Its clock:
 * clocks.c.
 */
#include "session/parts.h"

/* A silent ring whose records wait for witnesses, one in each pass, may take so many time-outs. */
#define WITNESS_STALLS 4
/* Inside an event without a move for so long, while the VMM says "stopped": in flight. */
#define FROZEN_NS      5000000ull

static uint64_t latest(uint64_t a, uint64_t b)
{
	return (int64_t)(a - b) > 0 ? a : b;
}

static bool waits(const struct xvt_ring *r)
{
	return r->have && !r->placed;
}

/*
 * Recording starts for this ring only now, with a clock, so that its first times are not
 * older than the attach. (In overwrite mode the guest may have started by itself.)
 */
void xvt_session_ring_live(struct xvt_session *s, struct xvt_ring *r)
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

void xvt_session_ring_clockless(struct xvt_session *s, struct xvt_ring *r)
{
	struct xvt_vm *vm = s->vms[r->vm];
	struct xvt_clock_node node = { .ring = r->id, .source = XVT_SOURCE_NONE };

	if (r->phase != XVT_PHASE_NEW || r->map.count || vm->phase != XVT_VM_ATTACHED ||
	    !xvt_ring_newest(r, &node.guest, &node.host_ns))
		return;
	node.guest++; /* so that all lie before the node, where nothing was measured */
	node.bound_ns = node.host_ns;
	r->map.hz = vm->guest_hz;
	xvt_ring_announce(s, r);
	if (xvt_clock_map_add(&r->map, &node))
		return;
	r->map.slack_ns = 0; /* its bound excuses nothing: what the drain saw is what is known */
	xvt_trace_put(s->trace, XVT_CHUNK_NODE, &node, sizeof(node), NULL, 0);
	xvt_session_note(s, 1, vm, r->id,
			 "cpu %u: its clock was never measured: its guest did not answer. Its "
			 "records have the times at which they were read, at the latest, and are "
			 "not confirmed",
			 xvt_load(&r->ctl->cpu));
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
				     r->witness_clock)) > ticks(s, XVT_QUIET_NS)) {
		ring_aside(s, r, false, "stands still with a record that has no time yet");
	} else if (silence > stall && !stopped) {
		ring_silent(s, r, now, stall);
		/* What spares it, a word that moves or a witness, must not do so for ever. */
		if (r->phase == XVT_PHASE_LIVE && !r->idle &&
		    holds_back(s, r, now,
			       s->opt.stall_timeout_ns * (waits(r) ? WITNESS_STALLS : 1)))
			ring_aside(s, r, true, SILENT_TEXT);
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
		stopped || silence > ticks(s, XVT_QUIET_NS) || r->last.state == XVT_RING_OFFLINE;

	/* Whoever is inside an event now shows by its epoch that it was there before. */
	if (quiet && !stopped && !r->quiet && r->phase == XVT_PHASE_LIVE && !s->opt.cut)
		xvt_ring_bump_epoch(r);
	r->quiet = quiet;
	/* Told to stand still, it will not answer; else it may, until it is set aside. */
	r->patience_over = stopped || (waits(r) && since(now, r->first->ceiling_clock) >
							   ticks(s, s->opt.stall_timeout_ns / 2));
	/* What was drained just now is looked into only after this. */
	r->exact_holds = false;
	if ((quiet || r->wide) && r->first) {
		xvt_session_kvm_hear(s, r);
		r->exact_holds = xvt_session_exact_holds(s, r);
	}
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
