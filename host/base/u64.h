/* SPDX-License-Identifier: GPL-2.0 */
/* u64.h - arithmetic on times and bounds that does not wrap. */
#ifndef XVT_U64_H
#define XVT_U64_H

#include <stdint.h>

/* The sum, or UINT64_MAX where it would wrap. */
static inline uint64_t xvt_u64_sum(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* a * b / c, or UINT64_MAX where that does not fit; c is not 0. */
static inline uint64_t xvt_u64_scale(uint64_t a, uint64_t b, uint64_t c)
{
	unsigned __int128 v = (unsigned __int128)a * b / c;

	return v > UINT64_MAX ? UINT64_MAX : (uint64_t)v;
}

/* The same for a < c, in a third of the time where b and c are below 2^50. */
static inline uint64_t xvt_u64_share(uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t near;
	__int128 rest;

	if ((b | c) >> 50)
		return xvt_u64_scale(a, b, c);
	/* The quotient of reals is off by one at most. */
	near = (uint64_t)((double)(int64_t)a * (double)(int64_t)b / (double)(int64_t)c);
	rest = (__int128)a * b - (__int128)near * c;
	return rest < 0 ? near - 1 : rest >= (__int128)c ? near + 1 : near;
}

/* Ticks of a clock of `hz` in ns, rounded down. */
static inline uint64_t xvt_ticks_ns(uint64_t ticks, uint64_t hz)
{
	return xvt_u64_scale(ticks, 1000000000u, hz);
}

/* The same, rounded up: what a time before another one is earlier, where times are rounded down. */
static inline uint64_t xvt_ticks_up_ns(uint64_t ticks, uint64_t hz)
{
	const uint64_t ns = xvt_ticks_ns(ticks, hz);

	return ns + ((unsigned __int128)ns * hz < (unsigned __int128)ticks * 1000000000u &&
		     ns < UINT64_MAX);
}

static inline uint64_t xvt_u64_apart(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

static inline uint64_t xvt_u64_larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

#endif /* XVT_U64_H */
