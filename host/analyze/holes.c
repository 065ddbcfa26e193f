// SPDX-License-Identifier: GPL-2.0
/* holes.c - whether events may be missing in a time, by the losses of all of the trace: the LOST
 * record of a CPU comes behind what others say of the time in its hole. */
#include "analyze/parts.h"

bool lost_between(const struct xvt_analyze *a, const struct xvtrace_machine *machine,
		  struct xvtrace_point from, struct xvtrace_point to)
{
	return xvtrace_hole_between(a->holes, machine, NULL, &from, &to);
}

bool lost_on_host(const struct xvt_analyze *a, uint64_t from_ns, uint64_t from_bound_ns,
		  uint64_t to_ns, uint64_t to_bound_ns)
{
	const struct xvtrace_point from = { .ns = from_ns, .bound_ns = from_bound_ns };
	const struct xvtrace_point to = { .ns = to_ns, .bound_ns = to_bound_ns };

	return a->host.machine && lost_between(a, a->host.machine, from, to);
}

const struct xvtrace_hole *hole_of_ring(const struct xvt_analyze *a,
					const struct xvtrace_ring *ring, struct xvtrace_point from,
					struct xvtrace_point to)
{
	return xvtrace_hole_between(a->holes, NULL, ring, &from, &to);
}
