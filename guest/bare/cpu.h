/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* cpu.h - the processor's tables: segments, interrupts, the stack for coming out of ring 3. */
#ifndef XVT_BARE_CPU_H
#define XVT_BARE_CPU_H

/* Load all tables and switch interrupts on. */
void cpu_init(void);

/* Does not return: calls `function` at ring 3. */
void cpu_enter_user(void (*function)(void)) __attribute__((noreturn));

#endif /* XVT_BARE_CPU_H */
