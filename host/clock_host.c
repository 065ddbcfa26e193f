// SPDX-License-Identifier: GPL-2.0
/*
 * clock_host.c - see clock_host.h. All products in 128 bits.
 */
#define _GNU_SOURCE
#include "clock_host.h"

#include <time.h>

typedef unsigned __int128 u128;
typedef __int128 s128;

#define CALIBRATE_NS 50000000ull

static uint64_t timespec_ns(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

/* The tightest of several (clock, monotonic) pairs: an interruption only makes one wider. */
static void read_pair(uint64_t *clock, uint64_t *ns)
{
	uint64_t best = UINT64_MAX;
	int i;

	for (i = 0; i < 16; i++) {
		uint64_t before = xvt_clock_read_ordered();
		uint64_t t = timespec_ns(CLOCK_MONOTONIC);
		uint64_t after = xvt_clock_read_ordered();

		if (after - before < best) {
			best = after - before;
			*clock = before + (after - before) / 2;
			*ns = t;
		}
	}
}

int xvt_host_clock_init(struct xvt_host_clock *hc)
{
	uint64_t c0 = 0, n0 = 0, c1 = 0, n1 = 0;
	struct timespec wait = { .tv_nsec = (long)CALIBRATE_NS };
	u128 mult;

	hc->clock_id = XVT_CLOCK_NATIVE;
	read_pair(&c0, &n0);
	nanosleep(&wait, NULL);
	read_pair(&c1, &n1);
	if (c1 <= c0 || n1 <= n0)
		return -EINVAL;
	hc->shift = 32;
	mult = ((u128)(n1 - n0) << hc->shift) / (c1 - c0);
	while (mult >> 32) {
		mult >>= 1;
		hc->shift--;
	}
	hc->mult = (uint32_t)mult;
	hc->hz = (uint64_t)((u128)(c1 - c0) * 1000000000u / (n1 - n0));
	hc->base_clock = c1;
	hc->base_ns = n1;
	hc->realtime_ns = timespec_ns(CLOCK_REALTIME) - (timespec_ns(CLOCK_MONOTONIC) - n1);
	hc->boottime_ns = timespec_ns(CLOCK_BOOTTIME) - (timespec_ns(CLOCK_MONOTONIC) - n1);
	return 0;
}

uint64_t xvt_host_clock_ns(const struct xvt_host_clock *hc, uint64_t clock)
{
	s128 delta = (s128)clock - (s128)hc->base_clock;

	return (uint64_t)((s128)hc->base_ns + (delta * hc->mult >> hc->shift));
}

uint64_t xvt_host_clock_ticks(const struct xvt_host_clock *hc, uint64_t ns)
{
	return (uint64_t)((u128)ns * hc->hz / 1000000000u);
}
