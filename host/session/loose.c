// SPDX-License-Identifier: GPL-2.0
/*
 * loose.c - when the order of a machine's events is left to the readers of the trace (the loose
 * lane, merge/merge.h). Events are worth more than their order: to merge them takes time, during
 * which a ring may run full, and memory, because the records of all rings wait for the slowest one.
 */
#include "session/parts.h"

#include <inttypes.h>

#define MEMORY_PART   2	 /* of what the machine may have */
#define QUIET_SECONDS 60 /* a note covers a state that comes and goes */

/* True if the machine's records wait for too long, or come too fast. */
static bool is_pressed(const struct xvt_vm *vm)
{
	return vm->loose.ring_full ||
	       xvt_pool_used(&vm->pool) > xvt_pool_most(&vm->pool) / MEMORY_PART;
}

static void note(struct xvt_session *s, struct xvt_vm *vm)
{
	if (!vm->loose.second || s->passes.seconds + 1 - vm->loose.second >= QUIET_SECONDS)
		xvt_session_note(
			s, 0, vm, UINT32_MAX,
			"its events come too fast to be merged, or wait too long for those "
			"of other rings: they are written as they come, and whatever "
			"reads the trace puts them in order");
	vm->loose.second = s->passes.seconds + 1;
}

static void set_loose(struct xvt_vm *vm, bool loose)
{
	uint32_t i;

	if (vm->loose.on == loose)
		return;
	vm->loose.on = loose;
	for (i = 0; i < vm->region.g.ring_count; i++) {
		if (vm->rings[i])
			vm->rings[i]->guest.loose = loose;
	}
}

void xvt_session_loosen(struct xvt_session *s)
{
	size_t i;

	if (!is_recording(s) || s->opt.order == XVT_ORDER_NOW)
		return;
	for (i = 0; i < s->nr_vms; i++) {
		struct xvt_vm *vm = s->vms[i];
		const bool pressed = vm->phase == XVT_VM_ATTACHED && is_pressed(vm);

		vm->loose.ring_full = false;
		if (pressed && s->opt.order == XVT_ORDER_AUTO)
			note(s, vm);
		if (vm->phase == XVT_VM_ATTACHED)
			set_loose(vm, pressed || s->opt.order == XVT_ORDER_LATER);
	}
}
