// SPDX-License-Identifier: GPL-2.0
/*
 * park.c - parks rings without work. Of many rings most are idle: nothing was written since the
 * last scan, everything before is emitted, no clock request is open. Such a ring is parked: its
 * control words are kept in a compact array of its machine (struct xvt_parked), for scan.c to
 * compare. All other rings are active: drained, decoded and serviced. Every event that changes the
 * state of a parked ring unparks it.
 */
#include "session/parts.h"

#include <errno.h>

#include "base/vec.h"

int xvt_session_park_room(struct xvt_session *s, size_t rings)
{
	return xvt_grow(&s->scan.active, &s->scan.active_room, rings, sizeof(*s->scan.active)) ||
			       xvt_grow(&s->checkpoint.dirty, &s->checkpoint.dirty_room, rings,
					sizeof(*s->checkpoint.dirty))
		       ? -ENOMEM
		       : 0;
}

/* Copy the idleness proven while the ring was parked into the ring. */
static void copy_idle_proof(const struct xvt_session *s, struct xvt_ring *r)
{
	if (!s->scan.parked_clock || !earlier(r->drain.look_clock, s->scan.parked_clock))
		return;
	r->drain.look_clock = r->drain.idle_clock = r->drain.passed_clock = s->scan.parked_clock;
}

void xvt_session_unpark(struct xvt_session *s, struct xvt_ring *r)
{
	struct xvt_vm *vm = xvt_vm_of_ring(r);

	if (!vm->parked || !vm->parked[r->index].ctl)
		return;
	vm->parked[r->index].ctl = NULL;
	copy_idle_proof(s, r);
}

void xvt_session_unpark_vm(struct xvt_session *s, struct xvt_vm *vm)
{
	uint32_t i;

	/* Active rings stay active in this pass. */
	vm->scan.unparked = true;
	for (i = 0; vm->parked && i < vm->region.g.ring_count; i++) {
		if (vm->rings[i]) /* else the scan alone finds it in use */
			xvt_session_unpark(s, vm->rings[i]);
	}
}

/* Returns true if everything of the ring is emitted, no other ring waits for it, and no known state
 * of it changes with time alone. */
static bool can_park(const struct xvt_ring *r)
{
	if (r->head.have || r->drain.first || xvt_ring_ready(r) || r->measure.asked ||
	    r->decode.unaccounted_before || r->relayed || r->guest.still || r->drain.went_back ||
	    r->clock.inferred_new || r->decode.stashed || r->fault.is_new || !r->drain.idle ||
	    !r->clock.next_burst_clock || r->drain.read_pos != r->drain.last.commit ||
	    r->drain.generation != r->drain.last.generation ||
	    earlier(r->drain.idle_clock, r->clock.last_node_clock))
		return false;
	switch (r->phase) {
	case XVT_PHASE_LIVE:
		return r->measure.answered && r->clock.map.count && !r->guest.quiet &&
		       !r->guest.wide && !r->clock.map.closed &&
		       r->drain.last.state == XVT_RING_ONLINE;
	case XVT_PHASE_NEW:
	case XVT_PHASE_DONE: /* these phases hold no ring back */
		return r->drain.last.state != XVT_RING_ONLINE;
	default:
		return false;
	}
}

static void park(struct xvt_parked *parked, const struct xvt_ring *r)
{
	const struct xvt_clock_node *node = xvt_clock_map_last(&r->clock.map);

	*parked = (struct xvt_parked){
		.ctl = r->ctl,
		.resv = r->drain.last.resv_word,
		.commit = r->drain.last.commit,
		.generation = r->drain.last.generation,
		.state = r->drain.last.state,
		.floor_ns = UINT64_MAX,
	};
	if (r->phase != XVT_PHASE_LIVE)
		return;
	parked->floor_ns = r->drain.proven_node_ns > r->head.last_ns ? r->drain.proven_node_ns
								     : r->head.last_ns;
	parked->node_ns = node->host_ns;
	parked->slack_ns = r->clock.map.slack_ns;
}

void xvt_session_park(struct xvt_session *s)
{
	size_t i;

	if (!s->passes.joined || is_snapshot(s) || s->off.clock || s->off.ending)
		return;
	for (i = 0; i < s->scan.nr_active; i++) {
		struct xvt_ring *r = s->scan.active[i];
		struct xvt_vm *vm = xvt_vm_of_ring(r);

		if (vm->scan.looked && !vm->scan.unparked && can_park(r))
			park(&vm->parked[r->index], r);
	}
}
