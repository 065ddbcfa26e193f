// SPDX-License-Identifier: GPL-2.0
/* told.c - how much is known of a vCPU: whether its thread was on a CPU, and what its guest was at.
 * That a vCPU was never taken is proven only where both are. */
#include "analyze/parts.h"

void told_interval(const struct xvt_analyze *a, struct vcpu *v, const struct interval *i)
{
	const uint64_t ns = i->end_ns - i->begin_ns;

	v->off_told |= !i->lost;
	v->off_untold |= i->lost;
	if (!i->wanting.unknown || ns <= v->unknown_ns || interval_is_untold(i) ||
	    guest_was_paused(a, v, i->begin_ns, i->end_ns))
		return;
	v->unknown_ns = ns;
}

bool told_switches(const struct vcpu *v)
{
	return v->thread && (v->thread->on_since_ns || v->off_told || v->off_untold);
}

bool told_any(const struct vcpu *v)
{
	return v->thread && (v->thread->on_ns || v->off_told);
}

bool told_judge(const struct xvt_analyze *a, const struct vcpu *v, struct xvt_line *line,
		uint64_t least_ns)
{
	const bool open = v->unknown_ns && v->unknown_ns >= least_ns;

	if (!told_switches(v)) {
		line_lacks(a, line, NEEDS_HOST);
		return false;
	}
	if (line->wall.n)
		return true;
	if (open && !a->guests[v->ring->machine->number].switches)
		line_lacks(a, line, NEEDS_SWITCHES);
	else if (open || line->untold || !told_any(v))
		line->verdict = XVT_UNTOLD;
	return true;
}
