// SPDX-License-Identifier: GPL-2.0
/*
 * phase.c - the phases of a ring: when it starts, is set aside, and comes back. The ring's clock:
 * clocks.c.
 */
#include "session/parts.h"

/* Stall time-outs granted to a silent ring whose records wait for inferred nodes, one
 * in each pass. */
#define WITNESS_STALLS 4
/* An event without progress for this long, of a machine that its VMM reports as paused, is in
 * flight. */
#define FROZEN_NS      5000000ull

static uint64_t latest(uint64_t a, uint64_t b)
{
	return earlier(b, a) ? a : b;
}

static bool waits(const struct xvt_ring *r)
{
	return r->head.have && !r->head.placed;
}

static void note_live(const struct xvt_session *s, struct xvt_ring *r, uint64_t now)
{
	r->session.live_ns = xvt_host_clock_ns(&s->clock, now);
	r->session.live_attempted = r->drain.last.attempted;
}

/*
 * Recording of this ring starts only now that it has a clock, so that its first times are not older
 * than the attach. (In overwrite mode the guest may have started by itself.)
 */
void xvt_session_ring_live(struct xvt_session *s, struct xvt_ring *r)
{
	uint64_t now = xvt_clock_read();

	/* The contents of a snapshot are older than the request for it. */
	if (r->phase == XVT_PHASE_NEW && !is_snapshot(s))
		r->start_ns = xvt_host_clock_ns(&s->clock, now);
	if (xvt_ring_set_phase(r, XVT_PHASE_LIVE))
		return;
	note_live(s, r, now);
	r->clock.map.closed = s->off.ending;
	r->drain.changed_clock = now;
	if (s->off.ending)
		return;
	xvt_ring_announce(s, r);
	if (is_snapshot(s))
		return; /* a snapshot changes nothing in the region */
	xvt_drain_advance_cons(r);
	if (s->off.clock || xvt_vm_stop_wanted(xvt_vm_of_ring(r)))
		return; /* too late to begin: recording would go on without a recorder */
	r->words.enable = r->mode;
	xvt_store_release(&r->host->enable, r->words.enable);
	if (!xvt_vm_is_host(xvt_vm_of_ring(r)))
		xvt_vm_tell_joined(s, xvt_vm_of_ring(r));
}

void xvt_session_ring_clockless(struct xvt_session *s, struct xvt_ring *r)
{
	struct xvt_vm *vm = xvt_vm_of_ring(r);
	struct xvt_clock_node node = { .ring = r->id, .source = XVT_SOURCE_NONE };

	if (r->phase != XVT_PHASE_NEW || r->clock.map.count || vm->phase != XVT_VM_ATTACHED ||
	    !xvt_ring_newest(r, &node.guest, &node.host_ns))
		return;
	node.guest++; /* to have all records before the node, where nothing was measured */
	node.bound_ns = node.host_ns;
	r->clock.map.hz = vm->clocks.guest_hz;
	xvt_ring_announce(s, r);
	if (xvt_clock_map_add(&r->clock.map, &node))
		return;
	r->clock.map.slack_ns =
		0; /* the node's bound is no slack: the drain's limits alone are known */
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
	if (xvt_ring_set_phase(r, XVT_PHASE_ASIDE))
		return;
	r->session.aside_clock = xvt_clock_read();
	/* A silent ring gets no node: emit its records as well as they can be placed. */
	r->clock.map.closed = silent;
	xvt_session_note(s, 1, xvt_vm_of_ring(r), r->id,
			 "cpu %u: %s; the other rings go on without it", xvt_load(&r->ctl->cpu),
			 why);
}

/*
 * The ring is silent. If nothing is in flight and no record waits, it holds no ring back, because
 * whatever it writes later has a later time: only a note is written. Records in flight will be
 * late.
 */
static void ring_silent(struct xvt_session *s, struct xvt_ring *r, uint64_t now, uint64_t stall)
{
	if (waits(r)) {
		/* The guest may just have resumed, and its clock is measured next. Or the waiting
		 * records are placed by inferred nodes, one in each pass. */
		if (since(now, latest(r->drain.first->ceiling_clock, r->measure.inferred_clock)) <=
		    stall)
			return;
		ring_aside(s, r, true, SILENT_TEXT);
	} else if (!r->drain.idle) {
		if (since(now, r->drain.changed_clock) <= stall)
			return;
		ring_aside(s, r, false, SILENT_TEXT);
	} else if (!r->measure.quiet_reported) {
		xvt_session_note(s, 1, xvt_vm_of_ring(r), r->id, "cpu %u: %s",
				 xvt_load(&r->ctl->cpu), SILENT_TEXT);
	}
	r->measure.quiet_reported = true;
}

/*
 * Returns true if the ring's bound lies more than lag_ns back, although it has no placed record.
 * Such a ring is neither silent nor stuck in one event, but never proven idle, and delivers nothing
 * (nest that flickers, commit that stays behind resv). An honest ring's bound follows its clock
 * nodes or its records.
 */
static bool holds_back(const struct xvt_session *s, const struct xvt_ring *r, uint64_t now,
		       uint64_t lag_ns)
{
	uint64_t proven = xvt_ring_proven(r), now_ns = xvt_host_clock_ns(&s->clock, now);

	/* Before all machines have joined nothing is decoded, so the bound says nothing. */
	if (!s->passes.joined || xvt_ring_ready(r) || (r->head.have && r->head.placed) ||
	    since(now, s->passes.grace_clock) < ticks(s, lag_ns))
		return false;
	if (proven < r->session.live_ns)
		proven = r->session.live_ns;
	/* A record waits for its clock since it was copied, not since its own time. */
	if (r->head.have)
		proven = latest(proven, r->drain.first->ceiling_ns);
	return now_ns > proven && now_ns - proven > lag_ns;
}

/* Why holds_back(), in a note. */
static const char *why_it_holds(const struct xvt_ring *r)
{
	if (waits(r))
		return "its oldest record waits for a measurement of its clock";
	if (r->relayed)
		return "its guest does not say up to when what it relays is complete";
	/* The writer was seen at work, and at no look between two events. */
	if (r->drain.last.attempted != r->session.live_attempted)
		return "its writer never pauses, so nobody knows up to when its events are "
		       "complete";
	return "its control words never settle";
}

uint64_t xvt_session_silence(const struct xvt_session *s, const struct xvt_ring *r, uint64_t now)
{
	return r->measure.answered
		       ? 0
		       : since(now, latest(r->measure.answer_clock, s->passes.grace_clock));
}

/* Also one whose kernel panicked, as far as nothing answers. */
static bool has_ended(const struct xvt_ring *r)
{
	const struct xvt_vm *vm = xvt_vm_of_ring(r);

	return xvt_vm_ended_or_moved(vm) || vm->panic.dead || vm->panic.waits;
}

/* Returns true if a record has no time yet, and will get none: a paused machine may go on and be
 * measured, but one that has ended or moved away will not. Inferred nodes come first. */
static bool waits_in_vain(const struct xvt_session *s, const struct xvt_ring *r, uint64_t now)
{
	const uint64_t quiet = ticks(s, XVT_QUIET_NS);

	return has_ended(r) && waits(r) && xvt_session_silence(s, r, now) > quiet &&
	       since(now, latest(r->drain.first->ceiling_clock, r->measure.inferred_clock)) > quiet;
}

/* Returns true if the ring's writer has gone, and all that it wrote is in the trace. */
static bool is_done(const struct xvt_session *s, const struct xvt_ring *r, uint64_t now)
{
	if (r->drain.last.state != XVT_RING_OFFLINE || r->head.have || r->drain.first ||
	    xvt_ring_ready(r))
		return false;
	/* What a kernel has when its relay is killed comes when the next relay goes on with it. */
	if (r->relayed && !xvt_relayed_is_complete(r))
		return holds_back(s, r, now, s->opt.stall_timeout_ns);
	return r->drain.idle;
}

static void ring_done(struct xvt_session *s, struct xvt_ring *r)
{
	xvt_ring_set_phase(r, XVT_PHASE_DONE);
	r->clock.map.closed = true;
	if (r->relayed && !xvt_relayed_is_complete(r))
		xvt_session_note(s, 1, xvt_vm_of_ring(r), r->id,
				 "cpu %u: its relay was killed; the other rings go on without what "
				 "its kernel has, which a next relay brings too late",
				 xvt_load(&r->ctl->cpu));
}

/* Check a live ring: it may be done, or have to be set aside so that the others go on. */
static void while_live(struct xvt_session *s, struct xvt_ring *r, uint64_t now, bool paused)
{
	uint64_t silence = xvt_session_silence(s, r, now);
	uint64_t stall = ticks(s, s->opt.stall_timeout_ns);

	if (is_done(s, r, now)) {
		ring_done(s, r);
	} else if (r->relayed && !waits(r) && holds_back(s, r, now, s->opt.stall_timeout_ns)) {
		ring_aside(s, r, false, why_it_holds(r));
	} else if ((paused || has_ended(r)) && r->drain.last.nest &&
		   since(now, r->drain.changed_clock) > ticks(s, FROZEN_NS)) {
		ring_aside(s, r, false, "stopped inside an event");
	} else if (paused && waits(r) &&
		   since(now, latest(latest(r->drain.first->ceiling_clock, r->session.still_clock),
				     r->measure.inferred_clock)) > ticks(s, XVT_QUIET_NS)) {
		ring_aside(s, r, false, "stands still with a record that has no time yet");
	} else if (waits_in_vain(s, r, now)) {
		ring_aside(s, r, true, "its machine has ended, with a record that has no time yet");
	} else if (silence > stall && !paused) {
		ring_silent(s, r, now, stall);
		/* A moving word, or an inferred node, must not spare the ring for ever. */
		if (r->phase == XVT_PHASE_LIVE && !r->drain.idle &&
		    holds_back(s, r, now,
			       s->opt.stall_timeout_ns * (waits(r) ? WITNESS_STALLS : 1)))
			ring_aside(s, r, true, SILENT_TEXT);
	} else if (r->drain.last.nest &&
		   since(now, latest(r->drain.changed_clock, s->passes.grace_clock)) > stall) {
		ring_aside(s, r, false, "a writer stays inside an event");
	} else if (holds_back(s, r, now, s->opt.stall_timeout_ns)) {
		ring_aside(s, r, false, why_it_holds(r));
	}
}

/* A ring set aside becomes live again when the writer inside an event has left it, or another one
 * has entered it since. */
static void while_aside(struct xvt_session *s, struct xvt_ring *r, uint64_t now, bool paused)
{
	if (waits_in_vain(s, r, now))
		r->clock.map.closed = true;
	if (r->clock.map.closed || (paused && waits(r)) ||
	    (r->drain.last.nest && !earlier(r->session.aside_clock, r->drain.changed_clock)) ||
	    holds_back(s, r, now, s->opt.stall_timeout_ns / 2))
		return;
	xvt_ring_set_phase(r, XVT_PHASE_LIVE);
	note_live(s, r, now);
}

/*
 * A CPU that goes offline writes a little after its ring's state says so, and one that comes online
 * before it does. No guest answers then, but the records are valid, and their clock is the ring's.
 */
static bool shows_activity(const struct xvt_ring *r)
{
	return r->drain.last.state == XVT_RING_ONLINE || r->drain.last.nest ||
	       r->drain.last.resv != r->drain.last.commit || r->drain.first || r->head.have;
}

static void ring_returns(struct xvt_session *s, struct xvt_ring *r, uint64_t now)
{
	r->clock.map.closed = false;
	xvt_ring_set_phase(r, XVT_PHASE_LIVE);
	note_live(s, r, now);
	r->measure.answer_clock = now;
	xvt_ring_announce(s, r);
}

static void tell_fault(struct xvt_session *s, struct xvt_ring *r)
{
	bool broken = r->phase == XVT_PHASE_BROKEN;

	if (!r->fault.is_new)
		return;
	r->fault.is_new = false;
	r->clock.map.closed |= broken;
	/* Older bytes beside newer words are left by a migration, which is reported already. */
	xvt_session_note(s, broken || !r->account.roll_backs ? 2 : 1, xvt_vm_of_ring(r), r->id,
			 "ring %u %s: %s", r->index,
			 r->fault.what ? r->fault.what
			 : broken      ? "stopped for good"
				       : "sub-buffer dropped",
			 r->fault.text);
	r->fault.what = NULL;
}

void xvt_session_ring_phase(struct xvt_session *s, struct xvt_ring *r, uint64_t now)
{
	uint64_t silence = xvt_session_silence(s, r, now);
	const bool paused = xvt_vm_is_paused(xvt_vm_of_ring(r));
	const bool quiet = paused || silence > ticks(s, XVT_QUIET_NS) ||
			   r->drain.last.state == XVT_RING_OFFLINE;

	/* The epoch of a record that is being written now shows that it was begun before this. */
	if (quiet && !paused && !r->guest.quiet && r->phase == XVT_PHASE_LIVE && !is_snapshot(s))
		xvt_ring_bump_epoch(r);
	r->guest.quiet = quiet;
	/* A paused machine does not answer; any other may, until the ring is set aside. */
	r->guest.patience_over = paused || has_ended(r) ||
				 (waits(r) && since(now, r->drain.first->ceiling_clock) >
						      ticks(s, s->opt.stall_timeout_ns / 2));
	/* Freshly drained records are decoded only after this. */
	r->clock.exact_holds = false;
	if ((quiet || r->guest.wide) && r->drain.first) {
		xvt_session_kvm_hear(s, r);
		r->clock.exact_holds = xvt_session_exact_holds(r);
	}
	/* Records that waited for a measurement before the pause may yield inferred nodes from now
	 * on. */
	if (paused && !r->guest.still)
		r->session.still_clock = now;
	r->guest.still = paused;
	if (r->phase == XVT_PHASE_LIVE)
		while_live(s, r, now, paused);
	else if (r->phase == XVT_PHASE_ASIDE)
		while_aside(s, r, now, paused);
	else if (r->phase == XVT_PHASE_DONE && shows_activity(r) && !s->off.ending)
		ring_returns(s, r, now);
	tell_fault(s, r);
}
