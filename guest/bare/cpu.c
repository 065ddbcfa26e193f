// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * cpu.c - the x86-64 tables that interrupts need. Knows nothing of rings and events; a port
 * to an RTOS has this from its RTOS.
 */
#include "cpu.h"

#include "xvt_bare.h"

#define NMI_VECTOR     2u
#define EXCEPTIONS     32u
#define TASK_STATE     0x28u
#define INTERRUPT_GATE 0x8eu

/* In start.S. */
void cpu_load_segments(void);
void irq_entry(void);
void nmi_entry(void);
extern uint8_t exception_entries[];
extern uint8_t kernel_stack_top[];

struct gate {
	uint16_t address_low;
	uint16_t segment;
	uint8_t stack_table;
	uint8_t type;
	uint16_t address_middle;
	uint32_t address_high;
	uint32_t reserved;
};
XVT_ASSERT(sizeof(struct gate) == 16, "interrupt gate of 64-bit mode");

/* The task state segment; in 64-bit mode it holds stacks and nothing of a task. */
struct task_state {
	uint32_t reserved0;
	uint32_t ring0_stack[2];
	uint32_t reserved1[22];
	uint16_t reserved2;
	uint16_t io_map;
};
XVT_ASSERT(sizeof(struct task_state) == 104, "task state segment of 64-bit mode");

struct table_pointer {
	uint16_t limit;
	uint64_t base;
} __attribute__((packed));

static struct gate idt[XVT_BARE_IRQ_VECTOR + 1];
static struct task_state task_state;
static uint64_t gdt[] = {
	0,
	0x00af9b000000ffff, /* 0x08 kernel code, 64 bits */
	0x00cf93000000ffff, /* 0x10 kernel data */
	0x00cff3000000ffff, /* 0x18 user data */
	0x00affb000000ffff, /* 0x20 user code, 64 bits */
	0,		    /* 0x28 task state, two words */
	0,
};

static void set_gate(uint32_t vector, uint64_t address)
{
	idt[vector] = (struct gate){
		.address_low = (uint16_t)address,
		.segment = XVT_BARE_CODE_RING0,
		.type = INTERRUPT_GATE,
		.address_middle = (uint16_t)(address >> 16),
		.address_high = (uint32_t)(address >> 32),
	};
}

static void load_task_state(void)
{
	uint64_t base = (uint64_t)(uintptr_t)&task_state;
	uint64_t stack = (uint64_t)(uintptr_t)kernel_stack_top;
	uint16_t selector = TASK_STATE;

	task_state.ring0_stack[0] = (uint32_t)stack;
	task_state.ring0_stack[1] = (uint32_t)(stack >> 32);
	task_state.io_map = sizeof(task_state); /* none */
	gdt[TASK_STATE / 8] = (sizeof(task_state) - 1) | (base & 0xffffff) << 16 | 0x89ull << 40 |
			      (base >> 24 & 0xff) << 56;
	gdt[TASK_STATE / 8 + 1] = base >> 32;
	__asm__ __volatile__("ltr %0" : : "r"(selector) : "memory");
}

void cpu_init(void)
{
	struct table_pointer gdtr = { sizeof(gdt) - 1, (uint64_t)(uintptr_t)gdt };
	struct table_pointer idtr = { sizeof(idt) - 1, (uint64_t)(uintptr_t)idt };
	uint32_t i;

	__asm__ __volatile__("lgdt %0" : : "m"(gdtr) : "memory");
	cpu_load_segments();
	load_task_state();
	for (i = 0; i < EXCEPTIONS; i++)
		set_gate(i, (uint64_t)(uintptr_t)exception_entries + i * 16);
	set_gate(NMI_VECTOR, (uint64_t)(uintptr_t)nmi_entry);
	set_gate(XVT_BARE_IRQ_VECTOR, (uint64_t)(uintptr_t)irq_entry);
	__asm__ __volatile__("lidt %0; sti" : : "m"(idtr) : "memory");
}
