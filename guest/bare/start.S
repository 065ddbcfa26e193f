/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * start.S - first instructions, and the way into and out of interrupts. What starts it
 * (the VMM, or a boot loader's trampoline) has switched to 64-bit mode with memory mapped one
 * to one.
 */
	.section .text.start, "ax"
	.globl _start
_start:
	leaq	task_stack_top(%rip), %rsp
	xorl	%ebp, %ebp
	call	bare_main
1:	hlt
	jmp	1b

	.text
/*
 * An interrupt of any level calls a C function with the address that it interrupted. The
 * CPU has aligned the stack and pushed five words; nine registers more keep it aligned.
 * No red zone (see rules.mk): what lies below the stack pointer is ours.
 */
	.macro HANDLER name, function
	.globl	\name
	.type	\name, @function
\name:
	pushq	%rax
	pushq	%rcx
	pushq	%rdx
	pushq	%rsi
	pushq	%rdi
	pushq	%r8
	pushq	%r9
	pushq	%r10
	pushq	%r11
	cld
	movq	72(%rsp), %rdi
	call	\function
	popq	%r11
	popq	%r10
	popq	%r9
	popq	%r8
	popq	%rdi
	popq	%rsi
	popq	%rdx
	popq	%rcx
	popq	%rax
	iretq
	.size	\name, . - \name
	.endm

	HANDLER	irq_entry, bare_irq
	HANDLER	nmi_entry, bare_nmi

/* Unexpected exceptions: vector and stack go to C and never come back. */
	.balign	16
	.globl	exception_entries
exception_entries:
	.set	vector, 0
	.rept	32
	.balign	16
	pushq	$vector
	jmp	exception
	.set	vector, vector + 1
	.endr
exception:
	popq	%rdi
	movq	%rsp, %rsi
	andq	$-16, %rsp
	call	bare_exception

/* void cpu_load_segments(void): after lgdt, make the CPU use the new code segment. */
	.globl	cpu_load_segments
cpu_load_segments:
	popq	%rax
	pushq	$0x08
	pushq	%rax
	movl	$0x10, %eax
	movl	%eax, %ss
	movl	%eax, %ds
	movl	%eax, %es
	lretq

/* void cpu_enter_user(void (*function)(void)): go on at ring 3, on a stack of its own. */
	.globl	cpu_enter_user
cpu_enter_user:
	leaq	user_stack_top(%rip), %rax
	subq	$8, %rax		/* as if called */
	pushq	$0x1b
	pushq	%rax
	pushq	$0x202			/* interrupts on */
	pushq	$0x23
	pushq	%rdi
	iretq

	.bss
	.balign	16
	.skip	8192
task_stack_top:
	.skip	8192
user_stack_top:
	.skip	8192
	.globl	kernel_stack_top
kernel_stack_top:			/* for interrupts that come while at ring 3 */

	.section .note.GNU-stack, "", @progbits
