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

static inline uint64_t xvt_u64_apart(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

static inline uint64_t xvt_u64_larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

#endif /* XVT_U64_H */
