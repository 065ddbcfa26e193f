// SPDX-License-Identifier: GPL-2.0
/*
 * changes.c - what has happened to a machine since somebody asked last, for conditions on which a
 * snapshot is kept. The counters are the guest's own words: a guest can have its own machine's
 * conditions hold, and no others.
 */
#include "session/parts.h"

#include "base/u64.h"

static void count(const struct xvt_vm *vm, struct xvt_vm_since *now)
{
	struct xvt_sums sums = { 0 };
	uint32_t i;

	for (i = 0; vm->rings && i < vm->region.g.ring_count; i++) {
		if (!vm->rings[i])
			continue;
		xvt_ring_add_sums(vm->rings[i], &sums);
		now->attempted += vm->rings[i]->drain.last.attempted;
	}
	now->lost = sums.lost;
}

void xvt_session_vm_changes(struct xvt_vm *vm, struct xvt_vm_changes *c)
{
	const struct xvt_session *s = vm->session;
	const struct xvt_vm_since before = vm->since;
	struct xvt_vm_since now = { .begun = before.begun || vm->rings, .rests = before.rests };
	const uint64_t clock = xvt_clock_read();

	*c = (struct xvt_vm_changes){ .crashed = before.crashed, .was_still_ns = before.still_ns };
	count(vm, &now);
	if (before.begun && now.lost > before.lost)
		c->lost = now.lost - before.lost;
	/* Another value, not a larger one: a guest that boots again begins with 0. */
	now.moved_clock =
		before.begun && now.attempted != before.attempted ? clock : before.moved_clock;
	/* The machine begins to be still when it runs again. */
	if (now.rests && now.moved_clock)
		now.moved_clock = clock;
	if (vm->phase == XVT_VM_ATTACHED && now.moved_clock)
		now.still_ns = since(xvt_host_clock_ns(&s->clock, clock),
				     xvt_host_clock_ns(&s->clock, now.moved_clock));
	c->still_ns = now.still_ns;
	vm->since = now;
}
