/* SPDX-License-Identifier: GPL-2.0 */
/*
 * story.h - a trace from a text, so that what happened is known without the code that finds it.
 *
 * Lines; # begins a comment. Times are microseconds since the begin of the story, with fractions.
 *	host CPUS			the host, h, with so many CPUs
 *	guest NAME CPUS BOUND_NS [HW]	a machine; hw_id of its first vCPU (0)
 *	stock NAME CPUS BOUND_NS	the same, read out of its kernel's own ring buffer
 *	thread TID NAME			the recorder's name of a host's thread: 501 g1:vcpu0
 *	comm TID NAME, process TID TGID	of the host
 *	counts RING DISCARDED MORE [FULL]	of its writer: MORE attempted than are explained,
 *						FULL more lost than LOST records say
 *	vcpu TID TGID MACHINE VCPU	the thread runs that, by the numbers of machine and vCPU
 * Events, in order of time; a task is COMM-PID:
 *	T[FLAG] VM:CPU switch PREV STATE NEXT	STATE: R, S, D, T or t; FLAG: U, C or L (late)
 *	T VM:CPU xswitch PREV STATE NEXT	the record of the module's probe
 *	T VM:CPU waking|wakeup TASK CPU [BY]	BY: COMM-PID, irq or soft; irq:COMM-PID
 *	T VM:CPU migrate TASK CPU
 *	T VM:CPU irq N NAME [VECTOR], irqx N, soft N, softx N, raise N BY
 *	T VM:CPU lost N [CAUSE]			full, or as the trace names it; rolled_back
 *	T VM:CPU accept|posted APIC VECTOR BY	of KVM, on the host; BY: as above, or irq-PID
 *	T VM:CPU inject VECTOR BY [again]	the same; oldinject: of Linux before 5.19
 *	T VM:CPU vector N			the handler of a vector begins
 *	T VM:CPU timer N DUE, expire N NOW [BY], expirex N [BY], cancel N
 *						an hrtimer; DUE, NOW: by the guest's clock
 *	T VM:CPU mark TEXT			a program's text
 *	T VM:CPU send N BY, recv N BY		marks of a message, by trace_printk
 *	T VM paused | runs SINCE | reset | ended | rollback
 *	T VM line BOUND_NS			the clock of its rings goes on by another line
 */
#ifndef STORY_H
#define STORY_H

#define STORY_BEGIN_NS 1000000000ull
/* The guests' own clock at the begin. */
#define STORY_GUEST_NS 77000000000ll

/* Writes the trace. Aborts with the line that is wrong. */
void story_make(const char *text, const char *path);

#endif /* STORY_H */
