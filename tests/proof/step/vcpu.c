// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * vcpu.c - see vcpu.h. There are two contexts, ours and the stepped one, and each SIGTRAP swaps
 * them: ours gives one to itself (int3) to go there, the trap flag brings us back after one
 * instruction. The kernel does the rest: it saves every register at the signal and restores
 * every register after the handler. Running to the end needs no signal: vcpu_go() loads the
 * registers itself, and the function's return address leads back.
 */
#define _GNU_SOURCE
#include "vcpu.h"

#if defined(__x86_64__)
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#define EFLAGS_TF   0x100
/* Where the kernel says that more than the first 512 bytes of registers were saved. */
#define FP_MAGIC_AT 464
#define FP_MAGIC    0x46505853u
#define FP_SIZE_AT  480

_Static_assert(NGREG == VCPU_REGS, "gregset_t");

static struct vcpu ours;
static struct vcpu *there;
static bool are_there;

/*
 * vcpu_go(fp, regs): load everything, go there, and come back when the function returns, to
 * vcpu_returned, with its result. regs are in the order of REG_R8 and so on. Flags and address
 * go below the red zone of the stack that is loaded, which popf and ret then leave as it was.
 */
uint64_t vcpu_go(const void *fp, const long long *regs);
void vcpu_returned(void);
__asm__(".text\n"
	".globl vcpu_go\n"
	".globl vcpu_returned\n"
	"vcpu_go:\n"
	"	push	%rbx\n"
	"	push	%rbp\n"
	"	push	%r12\n"
	"	push	%r13\n"
	"	push	%r14\n"
	"	push	%r15\n"
	"	mov	%rsp, vcpu_our_stack(%rip)\n"
	"	mov	$-1, %eax\n"
	"	mov	$-1, %edx\n"
	"	cmpl	$0x46505853, 464(%rdi)\n" /* FP_MAGIC at FP_MAGIC_AT */
	"	jne	1f\n"
	"	xrstor64 (%rdi)\n"
	"	jmp	2f\n"
	"1:	fxrstor64 (%rdi)\n"
	"2:	mov	%rsi, %rdi\n"
	"	mov	8*15(%rdi), %rsp\n"
	"	lea	-128(%rsp), %rsp\n"
	"	push	8*16(%rdi)\n"
	"	push	8*17(%rdi)\n"
	"	mov	8*0(%rdi), %r8\n"
	"	mov	8*1(%rdi), %r9\n"
	"	mov	8*2(%rdi), %r10\n"
	"	mov	8*3(%rdi), %r11\n"
	"	mov	8*4(%rdi), %r12\n"
	"	mov	8*5(%rdi), %r13\n"
	"	mov	8*6(%rdi), %r14\n"
	"	mov	8*7(%rdi), %r15\n"
	"	mov	8*9(%rdi), %rsi\n"
	"	mov	8*10(%rdi), %rbp\n"
	"	mov	8*11(%rdi), %rbx\n"
	"	mov	8*12(%rdi), %rdx\n"
	"	mov	8*13(%rdi), %rax\n"
	"	mov	8*14(%rdi), %rcx\n"
	"	mov	8*8(%rdi), %rdi\n"
	"	popfq\n"
	"	ret	$128\n"
	"vcpu_returned:\n"
	"	mov	vcpu_our_stack(%rip), %rsp\n"
	"	cld\n"
	"	pop	%r15\n"
	"	pop	%r14\n"
	"	pop	%r13\n"
	"	pop	%r12\n"
	"	pop	%rbp\n"
	"	pop	%rbx\n"
	"	ret\n"
	".local vcpu_our_stack\n"
	".comm vcpu_our_stack,8,8\n");

_Static_assert(REG_R8 == 0 && REG_RDI == 8 && REG_RSI == 9 && REG_RBP == 10 && REG_RBX == 11 &&
		       REG_RDX == 12 && REG_RAX == 13 && REG_RCX == 14 && REG_RSP == 15 &&
		       REG_RIP == 16 && REG_EFL == 17,
	       "the order that vcpu_go() knows");

static size_t fp_size(const uint8_t *fp)
{
	uint32_t magic, size;

	memcpy(&magic, fp + FP_MAGIC_AT, sizeof(magic));
	memcpy(&size, fp + FP_SIZE_AT, sizeof(size));
	return magic == FP_MAGIC ? size : 512;
}

static void on_trap(int sig, siginfo_t *info, void *context)
{
	mcontext_t *mc = &((ucontext_t *)context)->uc_mcontext;
	struct vcpu *out = are_there ? there : &ours;
	const struct vcpu *in = are_there ? &ours : there;
	size_t fp = fp_size((const uint8_t *)mc->fpregs);

	(void)sig;
	(void)info;
	if (fp > VCPU_FP_SIZE)
		abort(); /* a CPU with more registers than this was written for */
	memcpy(out->regs, mc->gregs, sizeof(out->regs));
	memcpy(out->fp, mc->fpregs, fp);
	if (!in)
		return; /* vcpu_init() asks what registers look like */
	memcpy(mc->gregs, in->regs, sizeof(in->regs));
	memcpy(mc->fpregs, in->fp, fp);
	are_there = !are_there;
}

static void swap(struct vcpu *cpu)
{
	there = cpu;
	__asm__ __volatile__("int3" : : : "memory");
	there = NULL;
}

bool vcpu_available(void)
{
	return true;
}

void vcpu_init(void)
{
	static uint8_t stack[65536];
	/* The stepped function's stack is part of every check point: small, so that signals
	 * need another. */
	stack_t alternate = { .ss_sp = stack, .ss_size = sizeof(stack) };
	struct sigaction sa = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO | SA_ONSTACK };

	sigemptyset(&sa.sa_mask);
	if (sigaltstack(&alternate, NULL) || sigaction(SIGTRAP, &sa, NULL)) {
		perror("vcpu");
		exit(1);
	}
	swap(NULL);
}

void vcpu_start(struct vcpu *cpu, void *fn, const uint64_t args[4])
{
	uint64_t *top = (uint64_t *)(cpu->stack + VCPU_STACK) - 1;

	memcpy(cpu->regs, ours.regs, sizeof(cpu->regs));
	memcpy(cpu->fp, ours.fp, sizeof(cpu->fp));
	*top = (uint64_t)(uintptr_t)vcpu_returned; /* as after a call: 8 below a multiple of 16 */
	cpu->regs[REG_RSP] = (long long)(uintptr_t)top;
	cpu->regs[REG_RIP] = (long long)(uintptr_t)fn;
	cpu->regs[REG_RDI] = (long long)args[0];
	cpu->regs[REG_RSI] = (long long)args[1];
	cpu->regs[REG_RDX] = (long long)args[2];
	cpu->regs[REG_RCX] = (long long)args[3];
	cpu->ended = false;
}

void vcpu_run(struct vcpu *cpu, bool one_instruction)
{
	cpu->regs[REG_EFL] &= ~(long long)EFLAGS_TF;
	if (one_instruction) {
		cpu->regs[REG_EFL] |= EFLAGS_TF;
		swap(cpu);
	} else {
		cpu->regs[REG_RAX] = (long long)vcpu_go(cpu->fp, cpu->regs);
		cpu->regs[REG_RIP] = (long long)(uintptr_t)vcpu_returned;
	}
	cpu->ended = vcpu_at(cpu) == (uint64_t)(uintptr_t)vcpu_returned;
}

bool vcpu_reads_clock(const struct vcpu *cpu)
{
	static const uint8_t rdtsc[] = { 0x0f, 0x31 };

	return !memcmp((const void *)(uintptr_t)vcpu_at(cpu), rdtsc, sizeof(rdtsc));
}

uint64_t vcpu_at(const struct vcpu *cpu)
{
	return (uint64_t)cpu->regs[REG_RIP];
}

uint64_t vcpu_result(const struct vcpu *cpu)
{
	return (uint64_t)cpu->regs[REG_RAX];
}

#else /* arm64: a program cannot single-step itself */

bool vcpu_available(void)
{
	return false;
}

void vcpu_init(void)
{
}

void vcpu_start(struct vcpu *cpu, void *fn, const uint64_t args[4])
{
	(void)fn;
	(void)args;
	cpu->ended = true;
}

void vcpu_run(struct vcpu *cpu, bool one_instruction)
{
	(void)one_instruction;
	cpu->ended = true;
}

bool vcpu_reads_clock(const struct vcpu *cpu)
{
	(void)cpu;
	return false;
}

uint64_t vcpu_at(const struct vcpu *cpu)
{
	(void)cpu;
	return 0;
}

uint64_t vcpu_result(const struct vcpu *cpu)
{
	(void)cpu;
	return 0;
}
#endif
