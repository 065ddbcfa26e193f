/* SPDX-License-Identifier: GPL-2.0 */
/*
 * exact.h - sources that know a vCPU's formula (formula.h) instead of measuring it:
 * KVM's debugfs, a VMM that owns the vCPU.
 *
 * They are believed only as far as the handshake agrees. Whoever uses one knows the formula from
 * before and reads it after each handshake burst: only if both are equal can it hold for the burst,
 * and only if the host time that it gives for the burst's guest value lies inside the burst's own
 * interval is it true (a software-backed KVM tells offsets that its guest does not see). What
 * contradicts is not used; the second time by one formula, its source is refused for that ring for
 * good (session/exact.c says why not the first time).
 *
 * An error of one vCPU at one moment is nobody else's: a caller goes on, asks again later, and
 * keeps the handshake meanwhile.
 */
#ifndef XVT_CLOCK_EXACT_H
#define XVT_CLOCK_EXACT_H

#include "clock/formula.h"
#include "clock/host_clock.h"
#include "trace/format.h"

/* One for each machine (VMM process). */
struct xvt_clock_exact;

struct xvt_clock_exact_ops {
	const char *name; /* for messages */
	enum xvt_clock_source_id id;
	/*
	 * region_fd: the region's open file, which tells whose VMM it is. arg: the source's own,
	 * may be NULL. Returns 0 and *out; or -errno and *out untouched: -ENODEV: this source
	 * knows nothing of that machine; -EACCES, -EPERM: it might, with more rights.
	 */
	int (*open)(struct xvt_clock_exact **out, int region_fd, const void *arg);
	/*
	 * The formula of a vCPU now. hw_id: what the hardware calls it (APIC id), which is not
	 * its number in the guest. Returns 0 and *f; -EAGAIN: in flux (changed while it was read,
	 * a nested guest runs), ask again later; -ENODEV: no such vCPU (yet, or any more);
	 * or another -errno.
	 */
	int (*read)(struct xvt_clock_exact *s, uint32_t hw_id, struct xvt_clock_formula *f);
	void (*close)(struct xvt_clock_exact *s);
};

/* A node that a formula gives is off by a tick, and by the roundings. */
static inline uint64_t xvt_exact_bound_ns(const struct xvt_host_clock *hc)
{
	return 1000000000u / hc->hz + 2;
}

#endif /* XVT_CLOCK_EXACT_H */
