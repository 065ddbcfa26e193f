/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * xvt_vmm_clock.h - for VMMs that own their vCPUs: say in the region what a vCPU's clock is made
 * of, and `xvtrace record --trust-guest-clock NAME` has it exactly, with no debugfs and no root.
 * That is all a VMM has to do:
 *
 *	struct xvt_ring_host *h = ...the ring whose hw_id is this vCPU's, see xvt_ring_host_off();
 *
 *	xvt_vmm_clock_put(&h->vmm_clock, offset, ratio, frac);	-- at start, and after each change
 *
 * guest = ((host * ratio) >> frac) + offset, host being the host's TSC (arm64: counter): what
 * KVM_VCPU_TSC_OFFSET tells of a vCPU, and its scaling ratio; ratio 1, frac 0 where there is none.
 *
 * On KVM (Linux 5.16 and newer), with struct kvm_device_attr attr = { .group =
 * KVM_VCPU_TSC_CTRL, .attr = KVM_VCPU_TSC_OFFSET, .addr = (uint64_t)&offset }:
 *
 *	ioctl(vcpu_fd, KVM_GET_DEVICE_ATTR, &attr);
 *	xvt_vmm_clock_put(&h->vmm_clock, offset, 1, 0);
 *
 * Changes are: setting that attribute, setting IA32_TSC by KVM_SET_MSRS, KVM_SET_TSC_KHZ; and so
 * a snapshot that is restored, and a migration that arrives. No VMM hears of a guest that writes
 * its own TSC: reading the attribute once a second finds it. After KVM_SET_TSC_KHZ to another
 * rate than the host's, frac is 48 on Intel and 32 on AMD, and ratio = (guest_khz << frac) /
 * host_khz, rounded down.
 *
 * KVM_SET_CLOCK is no change: it moves kvm-clock, and rings are stamped by the TSC. What
 * KVM_GET_CLOCK says makes a clock pair, see xvt_clock_pair.h.
 *
 * The words lie in memory that the guest can write, so they are the guest's word: used only with
 * that option, only where KVM's debugfs does not tell the machine's clocks, and only as long as the
 * guest's own answers agree (host/session/exact.c). A guest that lies in both moves its own events,
 * and no other machine's.
 */
#ifndef XVT_VMM_CLOCK_H
#define XVT_VMM_CLOCK_H

#include "xvt_abi.h"

#define XVT_VMM_CLOCK_TRIES 16

/* A single VMM thread at a time for each vCPU. */
xvt_inline void xvt_vmm_clock_put(struct xvt_vmm_clock *c, int64_t offset, uint64_t ratio,
				  uint32_t frac)
{
	uint64_t seq = xvt_load(&c->seq) | 1; /* odd: being written */

	xvt_store(&c->seq, seq);
	xvt_wmb();
	xvt_store(&c->offset, (uint64_t)offset);
	xvt_store(&c->ratio, ratio);
	xvt_store(&c->frac, (uint64_t)frac);
	xvt_store(&c->check, XVT_MAGIC ^ (uint64_t)offset ^ ratio ^ frac);
	xvt_store_release(&c->seq, seq + 1); /* pairs with the acquire in xvt_vmm_clock_get() */
}

/*
 * Returns 0; -ENODEV: no VMM has written here; -EAGAIN: it is just being written (or its writer
 * died there).
 */
xvt_inline int xvt_vmm_clock_get(const struct xvt_vmm_clock *c, int64_t *offset, uint64_t *ratio,
				 uint32_t *frac)
{
	uint64_t seq, frac64, check;
	int tries;

	for (tries = 0; tries < XVT_VMM_CLOCK_TRIES; tries++) {
		seq = xvt_load_acquire(&c->seq);
		*offset = (int64_t)xvt_load(&c->offset);
		*ratio = xvt_load(&c->ratio);
		frac64 = xvt_load(&c->frac);
		check = xvt_load(&c->check);
		xvt_rmb(); /* the fields before the second look at seq */
		if (seq & 1 || xvt_load(&c->seq) != seq)
			continue;
		/* Memory that no VMM ever wrote: zeroes, or whatever lay there. */
		if (!seq || check != (XVT_MAGIC ^ (uint64_t)*offset ^ *ratio ^ frac64) ||
		    frac64 > 63)
			return -ENODEV;
		*frac = (uint32_t)frac64;
		return 0;
	}
	return -EAGAIN;
}

#endif /* XVT_VMM_CLOCK_H */
