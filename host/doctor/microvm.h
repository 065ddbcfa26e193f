/* SPDX-License-Identifier: GPL-2.0 */
/*
 * microvm.h - a virtual machine of one vCPU, some memory and a region, on the KVM API. Small
 * enough to own every step of its guest: run it, step it by one instruction, interrupt it
 * between two, put it back to an earlier state. microvm.c alone includes <linux/kvm.h>.
 *
 * The guest is an image for the memory map of shared/xvt_bare.h, entered at its first byte in
 * 64-bit mode at ring 0. Its only device is the doorbell. Interrupts come from the caller;
 * there is no interrupt controller.
 */
#ifndef XVT_MICROVM_H
#define XVT_MICROVM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xvt_bare.h"

struct xvt_microvm;
struct xvt_microvm_state;

struct xvt_microvm_config {
	const void *image; /* NULL: the one that is linked into this program */
	size_t image_size;
	void *region; /* page aligned; the guest sees it at XVT_BARE_REGION */
	uint64_t region_size;
};

/* Why the guest stopped. */
struct xvt_microvm_exit {
	bool stepped;	 /* by xvt_microvm_step(), after one instruction; else: it signals */
	uint32_t signal; /* enum xvt_bare_signal */
	uint64_t value;
};

/* Is KVM there, and may we use it? Returns 0, -ENOENT, -EACCES, or another -errno: no KVM. */
int xvt_microvm_probe(void);

/* Has this CPU the instructions for it (svm, vmx)? If not, /dev/kvm emulates by software. */
bool xvt_microvm_hardware(void);

/*
 * Returns 0 or -errno: what xvt_microvm_probe() returns; -EOPNOTSUPP not this kind of CPU, or a
 * KVM without something that we need; -EFBIG image or region too large.
 */
int xvt_microvm_new(struct xvt_microvm **out, const struct xvt_microvm_config *config);
void xvt_microvm_free(struct xvt_microvm *vm);

/* What guest and VMM tell each other. */
struct xvt_bare_page *xvt_microvm_page(struct xvt_microvm *vm);

/*
 * Let the guest run until it signals. Returns 0, or -EIO when it died: xvt_microvm_why() says
 * how.
 */
int xvt_microvm_run(struct xvt_microvm *vm, struct xvt_microvm_exit *why);

/*
 * One instruction, then stop. Returns as above. Where an interrupt's handler returns, a KVM may
 * run the next instruction too, because iret takes the trap flag away.
 */
int xvt_microvm_step(struct xvt_microvm *vm, struct xvt_microvm_exit *why);

const char *xvt_microvm_why(const struct xvt_microvm *vm);

/*
 * Deliver an interrupt or NMI before the next instruction. Returns 0, or -EBUSY when the CPU
 * takes none there: interrupts are off, one has just been switched on (shadow), another is
 * under way. Nothing is left pending then.
 */
int xvt_microvm_irq(struct xvt_microvm *vm, uint32_t vector);
int xvt_microvm_nmi(struct xvt_microvm *vm);

/* Address of the next instruction, and whether interrupts are on there. */
uint64_t xvt_microvm_rip(struct xvt_microvm *vm, bool *interrupts_on);

/*
 * Go on at ring 3, also in what the interrupts that are under way return to. It is the same
 * code, but a KVM that emulates ring 0 by software leaves ring 3 to the CPU. Such a one cannot
 * step there. Returns 0 or -EIO.
 */
int xvt_microvm_to_user(struct xvt_microvm *vm);

/* The guest's memory, XVT_BARE_RAM_SIZE bytes. */
const uint8_t *xvt_microvm_memory(const struct xvt_microvm *vm);

/*
 * Keep, and go back to, everything but the time: CPU, memory, region. `state` is made by the
 * first save and used again by later ones. Returns 0 or -errno.
 */
int xvt_microvm_save(struct xvt_microvm *vm, struct xvt_microvm_state **state);
int xvt_microvm_restore(struct xvt_microvm *vm, const struct xvt_microvm_state *state);
void xvt_microvm_state_free(struct xvt_microvm_state *state);

/* What KVM says is guest TSC - host TSC. Returns 0 or -errno: this KVM does not say. */
int xvt_microvm_tsc_offset(struct xvt_microvm *vm, int64_t *offset);

/* Ask KVM to make it that. Returns 0 or -errno. A KVM may say 0 and do nothing of the kind. */
int xvt_microvm_set_tsc_offset(struct xvt_microvm *vm, int64_t offset);

/* One moment, by KVM. */
struct xvt_microvm_clock {
	uint64_t kvmclock_ns; /* what a Linux guest would take its time from; no ring's clock */
	uint64_t realtime_ns; /* the host's CLOCK_REALTIME */
	uint64_t host_tsc;
};

/*
 * KVM_GET_CLOCK. Returns 0, or -EOPNOTSUPP: this KVM does not say at which TSC (the host's clock
 * source is another, its Linux is older than 5.16, or the vCPU never ran), or another -errno.
 */
int xvt_microvm_get_clock(struct xvt_microvm *vm, struct xvt_microvm_clock *c);

#endif /* XVT_MICROVM_H */
