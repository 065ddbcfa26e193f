/* SPDX-License-Identifier: GPL-2.0 */
/*
 * xvt_compat.h - the one place that knows which kernel, and which machine, the module is
 * built for: 5.10 to 7.3. Guests of the tests run 6.1 and 6.12; for others it is compiled.
 */
#ifndef XVT_COMPAT_H
#define XVT_COMPAT_H

#include <linux/version.h>
#include <linux/cpu.h>
#include <linux/hrtimer.h>
#include <linux/io.h>
#include <linux/irq.h>
#include <linux/kallsyms.h>
#include <linux/preempt.h>
#include <linux/ptrace.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sizes.h>
#include <linux/smp.h>
#include <linux/syscore_ops.h>
#include <linux/sysfs.h>
#include <linux/trace_events.h>
#include <linux/workqueue.h>

#include "xvt_clock_pair.h"

/* 5.10 lets an export choose kinds of events, and has vmap_pfn(). */
#if LINUX_VERSION_CODE < KERNEL_VERSION(5, 10, 0)
#error "xvtrace.ko needs Linux 5.10 or newer"
#endif

#if defined(CONFIG_X86_64)
#include <asm/hw_irq.h>
#include <linux/kvm_para.h>
#if LINUX_VERSION_CODE >= KERNEL_VERSION(5, 16, 0)
#include <linux/cc_platform.h>
#define xvt_memory_encrypted() cc_platform_has(CC_ATTR_GUEST_MEM_ENCRYPT)
#else
#include <linux/mem_encrypt.h>
#define xvt_memory_encrypted() mem_encrypt_active()
#endif
#include <asm/tsc.h>
#include <asm/pgtable.h>

/* Where the text of the kernel and of its modules lies. */
#define XVT_TEXT_BEGIN __START_KERNEL_map
#define XVT_TEXT_SPAN  (MODULES_END - __START_KERNEL_map)

static inline u64 xvt_clock_hz(void)
{
	return (u64)tsc_khz * 1000;
}

/* The VMM's number of this vCPU. */
static inline u32 xvt_hw_id(unsigned int cpu)
{
	return cpu_physical_id(cpu);
}

/* The vector of an interrupt whose handlers run; 0: not known. While one is moved to another CPU
 * it may be that of its new place. irqd_cfg() trusts that the local APICs have it. */
static inline unsigned int xvt_irq_vector(int irq)
{
	struct irq_data *data = irq_get_irq_data(irq), *root = data;

	while (root && root->parent_data)
		root = root->parent_data;
	if (!root || !root->chip || !root->chip->name || strcmp(root->chip->name, "APIC") != 0 ||
	    !root->chip_data)
		return 0;
	return READ_ONCE(irqd_cfg(data)->vector);
}

static inline bool xvt_clock_stable(void)
{
	return !check_tsc_unstable();
}

/*
 * Ask KVM for a clock pair. `pair`: of the linear mapping, in one page. Returns 0, -EOPNOTSUPP (not
 * a KVM guest, or one whose memory the host cannot read, or a host whose clock is not its TSC), or
 * another error of KVM's: -1000 a KVM that knows no pairs.
 */
static inline int xvt_ask_pair(struct xvt_kvm_pair *pair)
{
	if (!kvm_para_available() || xvt_memory_encrypted())
		return -EOPNOTSUPP;
	return (int)kvm_hypercall2(KVM_HC_CLOCK_PAIRING, virt_to_phys(pair),
				   KVM_CLOCK_PAIRING_WALLCLOCK);
}

/* Does the page table ask for write-back? Write-back is the type with none of the three bits. */
static inline bool xvt_mapped_cached(const void *addr)
{
	unsigned int level;
	pte_t *pte = lookup_address((unsigned long)addr, &level);
	pteval_t pat = level == PG_LEVEL_4K ? _PAGE_PAT : _PAGE_PAT_LARGE;

	return pte && !(pte_val(*pte) & (pat | _PAGE_PCD | _PAGE_PWT));
}

/*
 * In a kprobe's handler at a function's entry: what the function's caller had. A breakpoint is an
 * NMI to the kernel, which counts it so.
 */
static inline unsigned int xvt_probed_preempt_count(void)
{
	return preempt_count() - NMI_OFFSET - HARDIRQ_OFFSET;
}

static inline bool xvt_probed_irqs_off(struct pt_regs *regs)
{
	return !(regs->flags & X86_EFLAGS_IF);
}

static inline unsigned long xvt_return_address(struct pt_regs *regs)
{
	return *(unsigned long *)kernel_stack_pointer(regs);
}
#elif defined(CONFIG_ARM64)
#include <asm/arch_timer.h>

/* The kernel lies in the range of vmalloc(), and its modules within 2 GiB of it. */
#define XVT_TEXT_BEGIN ((unsigned long)sprint_symbol - SZ_2G)
#define XVT_TEXT_SPAN  ((unsigned long)SZ_4G)

static inline u64 xvt_clock_hz(void)
{
	return arch_timer_get_cntfrq();
}

static inline u32 xvt_hw_id(unsigned int cpu)
{
	return (u32)cpu_logical_map(cpu);
}

/* The GIC gives the number of the interrupt itself. */
static inline unsigned int xvt_irq_vector(int irq)
{
	return 0;
}

static inline int xvt_ask_pair(struct xvt_kvm_pair *pair)
{
	return -EOPNOTSUPP;
}

static inline bool xvt_clock_stable(void)
{
	return true;
}

static inline bool xvt_mapped_cached(const void *addr)
{
	return true;
}

/* The handling of a breakpoint disables preemption. */
static inline unsigned int xvt_probed_preempt_count(void)
{
	return preempt_count() - IS_ENABLED(CONFIG_PREEMPT_COUNT);
}

static inline bool xvt_probed_irqs_off(struct pt_regs *regs)
{
	return !interrupts_enabled(regs);
}

static inline unsigned long xvt_return_address(struct pt_regs *regs)
{
	return procedure_link_pointer(regs);
}
#endif

/* A va_list parameter is passed by its address. */
static inline va_list *xvt_va_list_argument(struct pt_regs *regs, unsigned int n)
{
	return (va_list *)regs_get_kernel_argument(regs, n);
}

/* 5.14 gave it a header of its own. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(5, 14, 0)
#include <linux/panic_notifier.h>
#else
#include <linux/kernel.h>
#endif

/*
 * Types of ftrace's own entries, which the kernel keeps in a header of its own. The first three
 * are as old as their entries. 6.13 put one before bputs.
 */
#define XVT_TRACE_FN	 1
#define XVT_TRACE_STACK	 4
#define XVT_TRACE_PRINT	 5
#define XVT_TRACE_BPRINT 6
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
#define XVT_TRACE_BPUTS 15
#else
#define XVT_TRACE_BPUTS 14
#endif

/* Types below are ftrace's own entries; events that have a call begin here. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
#define XVT_TRACE_EVENTS 22
#elif LINUX_VERSION_CODE >= KERNEL_VERSION(5, 14, 0)
#define XVT_TRACE_EVENTS 21
#else
#define XVT_TRACE_EVENTS 18
#endif

/* 5.12 made them public. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(5, 12, 0)
enum xvt_trace_flag {
	TRACE_FLAG_IRQS_OFF = 0x01,
	TRACE_FLAG_NEED_RESCHED = 0x04,
	TRACE_FLAG_HARDIRQ = 0x08,
	TRACE_FLAG_SOFTIRQ = 0x10,
	TRACE_FLAG_PREEMPT_RESCHED = 0x20,
	TRACE_FLAG_NMI = 0x40,
};
#endif

/* Of struct trace_entry, as ftrace fills it; `pc`: preempt_count(). */
static __always_inline u8 xvt_context_flags(unsigned int pc, bool irqs_off)
{
	u8 flags = (irqs_off ? TRACE_FLAG_IRQS_OFF : 0) |
		   (tif_need_resched() ? TRACE_FLAG_NEED_RESCHED : 0) |
		   (test_preempt_need_resched() ? TRACE_FLAG_PREEMPT_RESCHED : 0) |
		   (pc & NMI_MASK ? TRACE_FLAG_NMI : 0) |
		   (pc & HARDIRQ_MASK ? TRACE_FLAG_HARDIRQ : 0) |
		   (in_serving_softirq() ? TRACE_FLAG_SOFTIRQ : 0);

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 1, 0)
	if (softirq_count() >> (SOFTIRQ_SHIFT + 1))
		flags |= TRACE_FLAG_BH_OFF;
#endif
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
	if (IS_ENABLED(CONFIG_ARCH_HAS_PREEMPT_LAZY) && tif_test_bit(TIF_NEED_RESCHED_LAZY))
		flags |= TRACE_FLAG_NEED_RESCHED_LAZY;
#endif
	return flags;
}

/* Put what ftrace computed of a context into an entry. Before 5.12 it did not pass that on. */
static __always_inline void xvt_fill_from_ctx(struct trace_entry *e, u16 type, u32 ctx)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(5, 12, 0)
	tracing_generic_entry_update(e, type, ctx);
#endif
}

static __always_inline unsigned int xvt_migration_disabled(void)
{
#if defined(CONFIG_SMP) && LINUX_VERSION_CODE >= KERNEL_VERSION(5, 12, 0)
	return current->migration_disabled;
#else
	return 0;
#endif
}

/* How often a tracepoint itself disables preemption around its probes. 7.x guards them by SRCU. */
#if defined(CONFIG_PREEMPTION) && LINUX_VERSION_CODE < KERNEL_VERSION(7, 0, 0)
#define XVT_TRACEPOINT_DEPTH 1u
#else
#define XVT_TRACEPOINT_DEPTH 0u
#endif

/* 5.18 gave sched_switch the argument prev_state; before, it was the task's state itself. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(5, 18, 0)
#define XVT_PREV_STATE_PARAM	   , unsigned int prev_state
#define xvt_prev_state_index(prev) __task_state_index(prev_state, (prev)->exit_state)
#else
#define XVT_PREV_STATE_PARAM
#define xvt_prev_state_index(prev) task_state_index(prev)
#endif

/* Of an array's elements where the type does not say it; 0 when the kernel does not know either. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 1, 13)
#define XVT_FIELD_COUNTED  1
#define xvt_field_count(f) ((u32)(f)->len)
#else
#define XVT_FIELD_COUNTED  0
#define xvt_field_count(f) 0u
#endif

/*
 * The kernel's struct ftrace_event_field, which it keeps to itself. Members were only added at its
 * end, and is_signed became a bit. xvt_format.c compares it with what is public before it is used.
 */
struct xvt_event_field {
	struct list_head link;
	const char *name;
	const char *type;
	int filter_type;
	int offset;
	int size;
	unsigned int is_signed; /* bit 0 */
#if XVT_FIELD_COUNTED
	int len;
#endif
};

#define xvt_event_field_signed(f) ((f)->is_signed & 1)

/* 5.15 marks events that user space made; before, kprobe and uprobe events had marks of theirs. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(5, 15, 0)
#define XVT_EVENT_FL_DYNAMIC   TRACE_EVENT_FL_DYNAMIC
#define xvt_event_module(call) ((call)->module)
#else
#define XVT_EVENT_FL_DYNAMIC   0
#define xvt_event_module(call) ((call)->mod)
#endif

/* A CPU that tracks indirect branches stops at a function that the kernel calls directly only. */
static inline bool xvt_can_call_any(void)
{
#ifdef X86_FEATURE_IBT
	return !boot_cpu_has(X86_FEATURE_IBT);
#else
	return true;
#endif
}

/* How much of common_preempt_count is the count; the rest is about migration. */
#define XVT_PREEMPT_COUNT_MAX 0xfu

/* PREEMPT_RT patches up to 6.1 have one more field in struct trace_entry. */
#if defined(CONFIG_PREEMPT_LAZY) && LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
#define XVT_PREEMPT_LAZY_COUNT
#endif

/* The hook that is called last of all when the kernel restarts or powers off. 6.19 gave it an
 * argument, and so did stable kernels: Kbuild looks into the header. */
struct xvt_syscore {
	struct syscore_ops ops;
#ifdef XVT_HAS_SYSCORE
	struct syscore entry;
#define XVT_SYSCORE_PARAM void *unused
#else
#define XVT_SYSCORE_PARAM void
#endif
};

static inline void xvt_syscore_register(struct xvt_syscore *s)
{
#ifdef XVT_HAS_SYSCORE
	s->entry.ops = &s->ops;
	register_syscore(&s->entry);
#else
	register_syscore_ops(&s->ops);
#endif
}

static inline void xvt_syscore_unregister(struct xvt_syscore *s)
{
#ifdef XVT_HAS_SYSCORE
	unregister_syscore(&s->entry);
#else
	unregister_syscore_ops(&s->ops);
#endif
}

static inline void xvt_hrtimer_setup(struct hrtimer *timer,
				     enum hrtimer_restart (*fired)(struct hrtimer *),
				     enum hrtimer_mode mode)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 15, 0)
	hrtimer_setup(timer, fired, CLOCK_MONOTONIC, mode);
#else
	hrtimer_init(timer, CLOCK_MONOTONIC, mode);
	timer->function = fired;
#endif
}

/* 6.14 made the attribute const. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 14, 0)
#define XVT_BIN_CONST const
#else
#define XVT_BIN_CONST
#endif

#if IS_ENABLED(CONFIG_TASKS_RUDE_RCU) && LINUX_VERSION_CODE < KERNEL_VERSION(6, 12, 0)
static inline void xvt_synchronize_all_cpus(void)
{
	synchronize_rcu_tasks_rude();
}
#else
static inline void xvt_synchronize_nop(struct work_struct *work)
{
}

/* The effect of the above: after a schedule on each CPU no section without preemption is left. */
static inline void xvt_synchronize_all_cpus(void)
{
	struct work_struct work;
	int cpu;

	cpus_read_lock();
	for_each_online_cpu (cpu) {
		INIT_WORK_ONSTACK(&work, xvt_synchronize_nop);
		schedule_work_on(cpu, &work);
		flush_work(&work);
		destroy_work_on_stack(&work);
	}
	cpus_read_unlock();
}
#endif

#endif /* XVT_COMPAT_H */
