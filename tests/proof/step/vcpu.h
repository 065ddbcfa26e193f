/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * vcpu.h - run a function one machine instruction at a time, in user space. The function has
 * registers and a stack of its own; vcpu_run() goes there and comes back after one instruction
 * (EFLAGS.TF) or when the function has returned. In between the caller may do what an
 * interrupt would do, copy the whole state away, or put an old one back.
 */
#ifndef STEP_VCPU_H
#define STEP_VCPU_H

#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VCPU_STACK   6144
#define VCPU_FP_SIZE 4096 /* of the kernel's register save area; 2.7 KiB with AVX-512 */
#define VCPU_REGS    23

/* All of a context. Plain data: a copy of it is a check point, as long as it is put back to
 * the same address. */
struct vcpu {
	long long regs[VCPU_REGS]; /* as in gregset_t */
	bool ended;		   /* the function has returned */
	alignas(64) uint8_t fp[VCPU_FP_SIZE];
	alignas(16) uint8_t stack[VCPU_STACK];
};

/* Is there a way to step on this machine? */
bool vcpu_available(void);

/* Once, before anything else. */
void vcpu_init(void);

/* Let the context stand before the first instruction of fn(args). */
void vcpu_start(struct vcpu *cpu, void *fn, const uint64_t args[4]);

/* Execute one instruction, or all that are left. Afterwards cpu->ended tells. */
void vcpu_run(struct vcpu *cpu, bool one_instruction);

/* Address of the instruction that comes next, and whether that one reads the CPU's clock. */
uint64_t vcpu_at(const struct vcpu *cpu);
bool vcpu_reads_clock(const struct vcpu *cpu);

/* What the function returned. */
uint64_t vcpu_result(const struct vcpu *cpu);

#endif /* STEP_VCPU_H */
