/* SPDX-License-Identifier: GPL-2.0 */
/*
 * microvm.h - a virtual machine of one vCPU, some memory and a region, on the KVM API. Only
 * microvm.c includes <linux/kvm.h>. The tests interrupt such a guest at each of its instructions
 * (tests/proof/bare/control.h).
 *
 * The guest is an image for the memory map of shared/xvt_bare.h, entered at its first byte in
 * 64-bit mode at ring 0. The guest's only device is the doorbell. There is no interrupt controller.
 */
#ifndef XVT_MICROVM_H
#define XVT_MICROVM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xvt_bare.h"

struct xvt_microvm;

struct xvt_microvm_config {
	const void *image; /* NULL: the image that is linked into this program */
	size_t image_size;
	void *region; /* page aligned; the guest sees it at XVT_BARE_REGION */
	uint64_t region_size;
};

/* Why the guest stopped. */
struct xvt_microvm_exit {
	bool stepped;	 /* by the debugger, after one instruction; else by a signal */
	uint32_t signal; /* enum xvt_bare_signal */
	uint64_t value;	 /* of the signal */
};

/* Check that KVM can be used. Returns 0, -ENOENT, -EACCES, or another -errno: no KVM. */
int xvt_microvm_probe(void);

/* Returns whether the CPU has svm or vmx. Without them, /dev/kvm emulates by software. */
bool xvt_microvm_hardware(void);

/*
 * Returns 0 or -errno: as xvt_microvm_probe(); -EOPNOTSUPP: the CPU is not an x86-64, or KVM lacks
 * a capability; -EFBIG: the image or the region is too large.
 */
int xvt_microvm_new(struct xvt_microvm **out, const struct xvt_microvm_config *config);
void xvt_microvm_free(struct xvt_microvm *vm);

/* The page with which the guest and the VMM communicate (shared/xvt_bare.h). */
struct xvt_bare_page *xvt_microvm_page(struct xvt_microvm *vm);

/*
 * Run the guest until it signals. Returns 0, or -EIO when the guest died: xvt_microvm_why() gives
 * the reason.
 */
int xvt_microvm_run(struct xvt_microvm *vm, struct xvt_microvm_exit *why);

/* Reason of the last -EIO. */
const char *xvt_microvm_why(const struct xvt_microvm *vm);

/* Get guest TSC - host TSC in ticks, as KVM reports it. Returns 0, or -errno: not supported. */
int xvt_microvm_tsc_offset(struct xvt_microvm *vm, int64_t *offset);

/* Request that offset from KVM. Returns 0 or -errno. KVM may return 0 without applying it. */
int xvt_microvm_set_tsc_offset(struct xvt_microvm *vm, int64_t offset);

/* A moment by three clocks, from KVM. */
struct xvt_microvm_clock {
	uint64_t kvmclock_ns; /* the clock of a Linux guest's timekeeping; no ring's clock */
	uint64_t realtime_ns; /* the host's CLOCK_REALTIME */
	uint64_t host_tsc;
};

/*
 * KVM_GET_CLOCK. Returns 0; -EOPNOTSUPP: KVM gives no TSC with it (the host's clock source is not
 * the TSC, its Linux is older than 5.16, or the vCPU never ran); or another -errno.
 */
int xvt_microvm_get_clock(struct xvt_microvm *vm, struct xvt_microvm_clock *c);

#endif /* XVT_MICROVM_H */
