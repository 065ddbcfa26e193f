/* SPDX-License-Identifier: GPL-2.0 */
/*
 * lines.h - straight lines from a clock's values to host time, as trace files hold them. The
 * recorder places events by them and a reader computes the same times again, so both use this code.
 */
#ifndef XVT_LINES_H
#define XVT_LINES_H

#include "trace/format.h"

/*
 * A writer reads its clock unordered, because an ordered read takes twice as long. The CPU may
 * execute it while older loads still wait for memory, so the stamp is early by the time of these
 * loads: 0.3 us for a load that misses caches and TLB, and as much again for each load that depends
 * on it. This constant covers 99.9 % of stamps right after four such loads (bench/bench_stamp.c).
 * The value is part of every event's bound. A longer chain exceeds it; no constant covers all.
 */
#define XVT_STAMP_SLACK_NS   2000u

/* The same of a writer that reads its clock ordered: what its fences and a store take. */
#define XVT_STAMP_ORDERED_NS 100u

/* The slack of a ring whose clock has that source and those traits: the host's kernel reads its
 * clock ordered. */
static inline uint64_t xvt_stamp_slack_ns(uint32_t source, uint32_t clock_traits)
{
	if (source == XVT_SOURCE_HOST)
		return 0;
	return clock_traits & XVT_CLOCK_T_ORDERED ? XVT_STAMP_ORDERED_NS : XVT_STAMP_SLACK_NS;
}

/* Guest and host may creep apart this much between two nodes before it counts as a jump, and 1/128
 * of the interval more: a rate is accurate to 1 % or better. */
#define XVT_CREEP_NS_MAX   20000000ull
#define XVT_CREEP_PER_1024 8

/* The most, in ns, that a guest's clock may creep away from its nominal rate within an interval
 * before the map calls it a jump. */
static inline uint64_t xvt_clock_creep_ns(uint64_t interval_ns)
{
	return XVT_CREEP_NS_MAX + interval_ns / 1024 * XVT_CREEP_PER_1024;
}

/*
 * The rate of a clock that seems to be steady wanders, by 1 ppm at most. So between two
 * measurements the clock may be this much beyond what both show of it, in the unit of `interval`:
 * a way out at that rate takes half of it, and the way back the other half.
 */
#define XVT_WANDER_PPM 1

static inline uint64_t xvt_clock_wander(uint64_t interval)
{
	return interval / 2000000 * XVT_WANDER_PPM;
}

/*
 * A counter that is not of the host's kind may be one of the host's ticks, too, that is set forward
 * now and then: if it is faster than the host's by no more than this part.
 */
#define XVT_FORWARD_PART 2

/* Host time of `guest` on the straight line through a and b. */
uint64_t xvt_clock_line(const struct xvt_clock_node *a, const struct xvt_clock_node *b,
			uint64_t guest);

/*
 * The line between two nodes of a ring's clock map, prepared for many values: those with guest <=
 * value <= guest_end lie on it for certain. The function gives the same results as the map's own
 * division.
 */
struct xvt_clock_segment {
	uint64_t guest;
	uint64_t guest_end;
	uint64_t host_ns;
	uint64_t rise; /* rise of host time, ns */
	uint64_t run;  /* guest ticks; rise / run is whole + part / 2^64 and a remainder */
	uint64_t whole;
	uint64_t part;
	uint64_t changes;  /* value of the map's `changes` when this was made; UINT64_MAX: no map */
	uint64_t bound_ns; /* how far its times may be off, if a map made it */
};
/* Prepares a line given by guest, host_ns, rise and run; run is not 0 and less than 2^63. guest_end
 * stays unchanged. */
void xvt_clock_segment_make(struct xvt_clock_segment *s);

static inline uint64_t xvt_clock_segment_ns(const struct xvt_clock_segment *s, uint64_t guest)
{
	uint64_t x = guest - s->guest;
	uint64_t ns = x * s->whole + (uint64_t)((unsigned __int128)x * s->part >> 64);

	/* `part` was rounded down, so the result is correct or one too small. The remainder is less
	 * than twice `run`, which is below 2^63, so the wrap-around of the products cancels. */
	ns += x * s->rise - ns * s->run >= s->run;
	return s->host_ns + ns;
}

/* The line, of at least one in order, to which a value of the host's clock belongs: the last one
 * that begins at or before it, or the first. */
const struct xvt_timebase *xvt_timebase_at(const struct xvt_timebase *lines, size_t count,
					   uint64_t clock);

/* Host time, ns, of a value of the host's clock, which may lie before the line's base. Saturates at
 * 0 and UINT64_MAX. */
uint64_t xvt_timebase_ns(const struct xvt_timebase *line, uint64_t clock);

#endif /* XVT_LINES_H */
