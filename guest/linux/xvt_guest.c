// SPDX-License-Identifier: GPL-2.0
/*
 * xvt_guest.c - what all files of the module stand on: the region, the writers, whether they may
 * touch it, and the guest's clocks. This file calls no other file of the module.
 */
#include <linux/ktime.h>

#include "xvtrace.h"

struct xvt_guest xvt_guest;
DEFINE_PER_CPU_ALIGNED(struct xvt_cpu, xvt_cpus);
bool xvt_open __read_mostly;

/* Read together, so that the clock can be set against the guest's own times. */
void xvt_clock_sample(struct xvt_clock_sync *s, u32 reason)
{
	unsigned long flags;

	memset(s, 0, sizeof(*s));
	local_irq_save(flags);
	s->clock = xvt_clock_read_ordered();
	s->monotonic_ns = ktime_get_ns();
	s->boottime_ns = ktime_get_boottime_ns();
	s->realtime_ns = ktime_get_real_ns();
	local_irq_restore(flags);
	s->hz = xvt_clock_hz();
	s->reason = reason;
}
