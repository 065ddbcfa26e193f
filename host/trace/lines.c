// SPDX-License-Identifier: GPL-2.0
/* lines.c - see lines.h. */
#include "trace/lines.h"

#include "base/vec.h"

uint64_t xvt_clock_line(const struct xvt_clock_node *a, const struct xvt_clock_node *b,
			uint64_t guest)
{
	/* Unsigned: both differences are positive, and their product always fits. */
	return a->host_ns + (uint64_t)((unsigned __int128)(guest - a->guest) *
				       (b->host_ns - a->host_ns) / (b->guest - a->guest));
}

void xvt_clock_segment_make(struct xvt_clock_segment *s)
{
	s->whole = s->rise / s->run;
	s->part = (uint64_t)(((unsigned __int128)(s->rise % s->run) << 64) / s->run);
	s->changes = UINT64_MAX;
}

const struct xvt_timebase *xvt_timebase_at(const struct xvt_timebase *lines, size_t count,
					   uint64_t clock)
{
	const size_t n = XVT_COUNT_TO(lines, count, base_clock, clock);

	return &lines[n ? n - 1 : 0];
}

uint64_t xvt_timebase_ns(const struct xvt_timebase *line, uint64_t clock)
{
	__int128 delta = (__int128)clock - (__int128)line->base_clock;
	__int128 ns = (__int128)line->base_ns + (delta * line->mult >> line->shift);

	if (ns < 0)
		return 0;
	return ns > UINT64_MAX ? UINT64_MAX : (uint64_t)ns;
}
