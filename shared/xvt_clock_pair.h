/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * xvt_clock_pair.h - an independent check of the clock map: one moment's guest clock and wall clock
 *of the host, both from the hypervisor, written into the ring. It never makes a map; `xvtrace
 *verify` holds it against the one that there is.
 *
 * KVM gives it by hypercall 9, KVM_HC_CLOCK_PAIRING (Documentation/virt/kvm/x86/hypercalls.rst):
 * first argument the guest-physical address of a struct xvt_kvm_pair that crosses no page, second
 * one 0. At ring 0 only; refused where the host's own clock is not its TSC. Ask on the ring's
 * CPU, write what came back at once:
 *
 *	if (!hypercall2(9, address_of(pair), 0))
 *		xvt_clock_pair_put(w, pair, clock_hz);
 *
 * A VMM has the same two numbers where KVM_GET_CLOCK's flags have KVM_CLOCK_REALTIME and
 * KVM_CLOCK_HOST_TSC: realtime, and the vCPU's clock at host_tsc (xvt_vmm_clock.h). The micro-VM's
 * guest gets its pairs like that, because a software-backed KVM may carry out no hypercall: it
 * executes VMCALL again for ever.
 *
 * Not on the path of an event: a hypercall leaves the guest.
 */
#ifndef XVT_CLOCK_PAIR_H
#define XVT_CLOCK_PAIR_H

#include "xvt_writer.h"

/* KVM's struct kvm_clock_pairing. */
struct xvt_kvm_pair {
	int64_t sec; /* CLOCK_REALTIME of the host */
	int64_t nsec;
	uint64_t tsc; /* of this vCPU at that moment */
	uint32_t flags;
	uint32_t pad[9];
};
XVT_ASSERT(sizeof(struct xvt_kvm_pair) == 64, "KVM's layout");

#define XVT_PAIR_SEC_MAX 9223372035ll /* in the year 2262; as nanoseconds they fit 63 bits */

/* Context: as xvt_reserve(). Returns 0, -EINVAL: no time, or what xvt_write() does. */
xvt_inline int xvt_clock_pair_put(struct xvt_writer *w, const struct xvt_kvm_pair *pair,
				  uint64_t clock_hz)
{
	struct xvt_clock_sync sync = {
		.clock = pair->tsc,
		.hz = clock_hz,
		.reason = XVT_SYNC_PAIR,
		.epoch = xvt_load(&w->host->epoch),
	};

	if (pair->sec < 0 || pair->sec > XVT_PAIR_SEC_MAX || pair->nsec < 0 ||
	    pair->nsec > 999999999)
		return -EINVAL;
	sync.realtime_ns = (uint64_t)pair->sec * 1000000000u + (uint64_t)pair->nsec;
	return xvt_write(w, XVT_ID_CLOCK_SYNC, &sync, sizeof(sync));
}

#endif /* XVT_CLOCK_PAIR_H */
