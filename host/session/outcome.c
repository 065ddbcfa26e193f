// SPDX-License-Identifier: GPL-2.0
/* outcome.c - what a recording came to, for the last lines of a recorder. */
#include "session/parts.h"

#include "base/u64.h"

static void add_ring(struct xvt_vm_outcome *o, const struct xvt_ring *r)
{
	const struct xvt_ring_stats *st = &r->account.stats;
	unsigned int k;

	for (k = 0; k < XVT_LOST_CAUSES; k++)
		o->lost_by[k] += r->drain.last.lost[k] - r->account.base_lost[k];
	o->overwritten += st->overwritten;
	o->dropped += st->dropped;
	if (!st->events)
		return;
	if (st->source == XVT_SOURCE_NONE)
		o->clockless += st->events;
	else if (st->bound_ns_max < XVT_NO_BOUND)
		o->bound_ns_max = xvt_u64_larger(o->bound_ns_max, st->bound_ns_max);
}

void xvt_session_vm_outcome(const struct xvt_vm *vm, struct xvt_vm_outcome *o)
{
	struct xvt_sums sums = { 0 };
	uint32_t i;

	*o = (struct xvt_vm_outcome){
		.paused_ns = xvt_vm_paused_ns(vm->session, vm),
		.departed = vm->vmm.departed,
		.why = vm->vmm.departed_why,
	};
	for (i = 0; vm->rings && i < vm->region.g.ring_count; i++) {
		if (!vm->rings[i])
			continue;
		xvt_ring_add_sums(vm->rings[i], &sums);
		add_ring(o, vm->rings[i]);
	}
	o->events = sums.events;
	/* Of the events that were read; some of them may not have been written. */
	o->nameless = xvt_vm_nameless(vm);
	if (o->nameless > o->events)
		o->nameless = o->events;
	o->lost = sums.lost;
}

uint64_t xvt_session_bytes(const struct xvt_session *s)
{
	return xvt_trace_bytes(s->trace);
}

uint64_t xvt_session_ran_ns(const struct xvt_session *s)
{
	return xvt_host_clock_ns(&s->clock, s->off.clock ? s->off.clock : xvt_clock_read()) -
	       xvt_host_clock_ns(&s->clock, s->start_clock);
}
