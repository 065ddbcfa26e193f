/* SPDX-License-Identifier: GPL-2.0 */
/*
 * clock_host.h - the host's own clock: from its counter to nanoseconds of CLOCK_MONOTONIC.
 */
#ifndef XVT_CLOCK_HOST_H
#define XVT_CLOCK_HOST_H

#include "xvt_abi.h"

/* host_ns = base_ns + ((clock - base_clock) * mult >> shift), in 128 bits. */
struct xvt_host_clock {
	uint32_t clock_id;
	uint32_t mult;
	uint32_t shift;
	uint64_t hz;
	uint64_t base_clock;
	uint64_t base_ns; /* CLOCK_MONOTONIC */
	uint64_t realtime_ns;
	uint64_t boottime_ns;
};

/* Measure the clock's rate against CLOCK_MONOTONIC; takes about 50 ms. Returns 0 or -errno. */
int xvt_host_clock_init(struct xvt_host_clock *hc);

uint64_t xvt_host_clock_ns(const struct xvt_host_clock *hc, uint64_t clock);

/* Ticks of the host's clock in that many nanoseconds. */
uint64_t xvt_host_clock_ticks(const struct xvt_host_clock *hc, uint64_t ns);

#endif /* XVT_CLOCK_HOST_H */
