/* SPDX-License-Identifier: GPL-2.0 */
/*
 * exact.h - sources that know a vCPU's formula (formula.h) instead of measuring it: KVM's debugfs,
 * a VMM that owns the vCPU.
 *
 * A formula is used only as far as the handshake agrees. A user of a source keeps the formula from
 * before a handshake burst and reads it again after the burst. Only if both are equal can it hold
 * for the burst. Only if its host time for the burst's guest value lies inside the burst's own
 * interval is it true; a software-backed KVM reports offsets that its guest does not see. A
 * contradicted formula is not used. After a second contradiction of the same formula its source is
 * refused for that ring for good (session/exact.c explains why not after the first).
 *
 * An error of one vCPU at one moment concerns only that vCPU: the caller goes on with the handshake
 * and asks again later.
 */
#ifndef XVT_CLOCK_EXACT_H
#define XVT_CLOCK_EXACT_H

#include "clock/formula.h"
#include "clock/host_clock.h"
#include "trace/format.h"

/* An instance for each machine (VMM process). */
struct xvt_clock_exact;

struct xvt_clock_exact_ops {
	const char *name; /* for messages */
	enum xvt_clock_source_id id;
	/*
	 * region_fd: the region's open file, which identifies its VMM. arg: private to the source,
	 * may be NULL. Returns 0 and *out; or -errno with *out unchanged: -ENODEV: the source does
	 * not know that machine; -EACCES, -EPERM: it might, with more rights.
	 */
	int (*open)(struct xvt_clock_exact **out, int region_fd, const void *arg);
	/*
	 * Reads the present formula of a vCPU. hw_id: the hardware's number (APIC id), which is not
	 * its number in the guest. Returns 0 and *f; -EAGAIN: unstable (changed during the read, a
	 * nested guest runs), ask again later; -ENODEV: no such vCPU (yet, or any more); or another
	 * -errno.
	 */
	int (*read)(struct xvt_clock_exact *s, uint32_t hw_id, struct xvt_clock_formula *f);
	void (*close)(struct xvt_clock_exact *s);
};

/* Bound of a node by a formula: one tick, and the rounding. */
static inline uint64_t xvt_exact_bound_ns(const struct xvt_host_clock *hc)
{
	return 1000000000u / hc->hz + 2;
}

#endif /* XVT_CLOCK_EXACT_H */
