/* SPDX-License-Identifier: GPL-2.0 */
/*
 * lines.h - straight lines from a clock's values to host time, as trace files hold them. The
 * recorder places events by them and a reader computes the same times again, so both use this code.
 */
#ifndef XVT_LINES_H
#define XVT_LINES_H

#include "trace/format.h"

/*
 * A writer reads its clock unordered, because an ordered read costs as much again. The CPU may
 * execute it while older loads still wait for memory, so the stamp is early by as long as they
 * take: 0.3 us for a load that misses caches and TLB, and as much again for each that depends on
 * it. This is what 99.9 % of stamps are early by right after four of them (bench/bench_stamp.c). It
 * is part of every event's bound. Only a longer chain is beyond it: no constant holds for all.
 */
#define XVT_STAMP_SLACK_NS 2000u

/*
 * The line between two nodes of a ring's clock map, ready for many values: those with
 * guest <= value <= guest_end lie on it beyond doubt. The map's own division gives the same.
 */
struct xvt_clock_segment {
	uint64_t guest;
	uint64_t guest_end;
	uint64_t host_ns;
	uint64_t rise; /* of the host's ns */
	uint64_t run;  /* of the guest's clock; rise / run is whole + part / 2^64 and a bit */
	uint64_t whole;
	uint64_t part;
	uint64_t changes; /* of the map when this was made; or of none: UINT64_MAX */
};
/* Ready by guest, host_ns, rise and run, which is not 0 and less than 2^63; guest_end is left. */
void xvt_clock_segment_make(struct xvt_clock_segment *s);

static inline uint64_t xvt_clock_segment_ns(const struct xvt_clock_segment *s, uint64_t guest)
{
	uint64_t x = guest - s->guest;
	uint64_t ns = x * s->whole + (uint64_t)((unsigned __int128)x * s->part >> 64);

	/* `part` was rounded down, so this is one too small or right. The remainder is less than
	 * twice `run`, which is below 2^63, so what wraps around does not show. */
	ns += x * s->rise - ns * s->run >= s->run;
	return s->host_ns + ns;
}

/* Host ns of a value of the host's clock. It may lie before the line's base. The result is at least
 * 0 and at most UINT64_MAX. */
uint64_t xvt_timebase_ns(const struct xvt_timebase *line, uint64_t clock);

#endif /* XVT_LINES_H */
