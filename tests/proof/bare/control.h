/* SPDX-License-Identifier: GPL-2.0 */
/*
 * control.h - control of each instruction of a micro-VM's guest: single-step, interrupt between two
 * instructions, return to an earlier state.
 */
#ifndef BARE_CONTROL_H
#define BARE_CONTROL_H

#include "doctor/microvm.h"

struct xvt_microvm_state;

/* To be called first. Returns 0, or -EOPNOTSUPP: KVM lacks a capability. */
int xvt_microvm_take_control(struct xvt_microvm *vm);

/* xvt_microvm_run() for a guest that may have been stepped. */
int xvt_microvm_go(struct xvt_microvm *vm, struct xvt_microvm_exit *why);

/*
 * Run one instruction. Returns as xvt_microvm_run(). At the return of an interrupt's handler KVM
 * may run the next instruction too, because iret clears the trap flag.
 */
int xvt_microvm_step(struct xvt_microvm *vm, struct xvt_microvm_exit *why);

/*
 * Deliver an interrupt or NMI before the next instruction. Returns 0, or -EBUSY when the CPU
 * accepts none there: interrupts are off, they have just been switched on (shadow), or another is
 * being delivered. After -EBUSY nothing is left pending.
 */
int xvt_microvm_irq(struct xvt_microvm *vm, uint32_t vector);
int xvt_microvm_nmi(struct xvt_microvm *vm);

/* Returns the address of the next instruction, or 0 on error. *interrupts_on: interrupts are
 * enabled there. */
uint64_t xvt_microvm_rip(struct xvt_microvm *vm, bool *interrupts_on);

/*
 * Continue at ring 3; interrupt handlers that are running return to ring 3 as well. The guest's
 * code is the same, but a KVM that emulates ring 0 by software runs ring 3 on the CPU. Such a KVM
 * cannot single-step at ring 3. Returns 0 or -EIO.
 */
int xvt_microvm_to_user(struct xvt_microvm *vm);

/* The guest's memory, XVT_BARE_RAM_SIZE bytes. */
const uint8_t *xvt_microvm_memory(const struct xvt_microvm *vm);

/*
 * Save, and restore, the CPU, the memory and the region, but not the time. The first save with
 * *state NULL allocates the state; later saves reuse it. Returns 0 or -errno.
 */
int xvt_microvm_save(struct xvt_microvm *vm, struct xvt_microvm_state **state);
int xvt_microvm_restore(struct xvt_microvm *vm, const struct xvt_microvm_state *state);
void xvt_microvm_state_free(struct xvt_microvm_state *state);

#endif /* BARE_CONTROL_H */
