// SPDX-License-Identifier: GPL-2.0
/*
 * finish.c - the steps by which the recording of a machine ends, in order: for the end of the whole
 * recording (end.c) and that of one machine (halt.c).
 */
#include "session/parts.h"

#include <inttypes.h>

/* A writer that a ring gets from now on shall not begin without a recorder. */
static void switch_off_unused(const struct xvt_vm *vm)
{
	uint32_t i;

	for (i = 0; vm->phase == XVT_VM_ATTACHED && i < vm->region.g.ring_count; i++) {
		if (!vm->rings[i])
			xvt_store_release(&xvt_host_ring_host(&vm->region, i)->enable,
					  (uint32_t)XVT_ENABLE_OFF);
	}
}

void xvt_vm_switch_off(struct xvt_session *s, struct xvt_vm *vm)
{
	uint32_t i;

	xvt_vm_wake_used(s, vm);
	switch_off_unused(vm);
	for (i = 0; vm->rings && i < vm->region.g.ring_count; i++) {
		struct xvt_ring *r = vm->rings[i];

		if (r && r->relayed)
			xvt_relayed_switch_off(r);
		/* The host's writer still has to write what the kernel has. */
		if (!r || r->own)
			continue;
		r->words.enable = XVT_ENABLE_OFF;
		/* A ring that never got a clock is drained like all others. */
		if (r->phase != XVT_PHASE_BROKEN)
			xvt_store_release(&r->host->enable, r->words.enable);
	}
}

void xvt_vm_measure_last(struct xvt_session *s, struct xvt_vm *vm, uint64_t off_clock)
{
	uint32_t i;

	for (i = 0; vm->rings && i < vm->region.g.ring_count; i++) {
		if (vm->rings[i])
			vm->rings[i]->clock.next_burst_clock = off_clock;
	}
	xvt_session_unpark_vm(s, vm);
	for (i = 0; vm->rings && i < vm->region.g.ring_count; i++) {
		if (vm->rings[i])
			xvt_session_clock_soon(s, vm->rings[i], off_clock);
	}
}

/*
 * The ring was proven idle after recording was switched off, and all its records are placed. A ring
 * that was set aside may never be idle; of that one, all committed records must have been taken.
 */
bool xvt_ring_is_finished(struct xvt_ring *r, uint64_t off_clock)
{
	if (r->phase == XVT_PHASE_ASIDE && xvt_vm_of_ring(r)->phase == XVT_VM_ATTACHED)
		return !earlier(r->drain.look_clock, off_clock) &&
		       !xvt_pos_before(r->drain.read_pos, r->drain.last.commit);
	/* Without a clock, too, what the ring of a guest's kernel holds is recorded. */
	if (r->phase == XVT_PHASE_NEW && xvt_vm_of_ring(r)->passive)
		return xvt_passive_is_read(r) && !earlier(r->drain.look_clock, off_clock) &&
		       !xvt_pos_before(r->drain.read_pos, r->drain.last.commit);
	if (r->phase != XVT_PHASE_LIVE)
		return true;
	if (!r->drain.idle || earlier(r->drain.idle_clock, off_clock) || r->drain.first)
		return false;
	return r->drain.proven_node_ns && !xvt_ring_ready(r) && !xvt_ring_peek(r);
}

void xvt_vm_report_undrained(struct xvt_session *s, struct xvt_vm *vm)
{
	uint64_t bytes = 0;
	uint32_t k;

	for (k = 0; vm->phase == XVT_VM_ATTACHED && k < vm->region.g.ring_count; k++) {
		const struct xvt_ring *r = vm->rings[k];

		if (r && r->phase != XVT_PHASE_BROKEN &&
		    xvt_pos_before(r->drain.read_pos, r->drain.last.commit))
			bytes += r->drain.last.commit - r->drain.read_pos;
	}
	if (bytes)
		xvt_session_note(s, 1, vm, UINT32_MAX,
				 "%" PRIu64 " bytes of records were not taken in time and "
				 "count as in flight; the next recording begins with them",
				 bytes);
}

void xvt_ring_put_tail_loss(struct xvt_session *s, struct xvt_ring *r)
{
	struct xvt_lost lost;

	if (xvt_session_takes_part(s, r) && xvt_ring_tail_loss(r, &lost))
		xvt_session_put_loss(s, r, s->emit.newest_ns, r->head.last_guest, &lost);
}
