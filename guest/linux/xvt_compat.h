/* SPDX-License-Identifier: GPL-2.0 */
/*
 * xvt_compat.h - the one place that knows which kernel, and which machine, the module is
 * built for. Written for 6.1; the checks reach as far as was read, not as was tried.
 */
#ifndef XVT_COMPAT_H
#define XVT_COMPAT_H

#include <linux/version.h>
#include <linux/hrtimer.h>
#include <linux/io.h>
#include <linux/rcupdate.h>
#include <linux/smp.h>
#include <linux/sysfs.h>
#include <linux/workqueue.h>

#include "xvt_clock_pair.h"

#if defined(CONFIG_X86_64)
#include <linux/cc_platform.h>
#include <linux/kvm_para.h>
#include <asm/tsc.h>
#include <asm/pgtable.h>

static inline u64 xvt_clock_hz(void)
{
	return (u64)tsc_khz * 1000;
}

/* What the VMM calls this vCPU. */
static inline u32 xvt_hw_id(unsigned int cpu)
{
	return cpu_physical_id(cpu);
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
	if (!kvm_para_available() || cc_platform_has(CC_ATTR_GUEST_MEM_ENCRYPT))
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
#elif defined(CONFIG_ARM64)
#include <asm/arch_timer.h>

static inline u64 xvt_clock_hz(void)
{
	return arch_timer_get_cntfrq();
}

static inline u32 xvt_hw_id(unsigned int cpu)
{
	return (u32)cpu_logical_map(cpu);
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
#endif

/* How much of common_preempt_count is the count; the rest is about migration. */
#define XVT_PREEMPT_COUNT_MAX 0xfu

/* PREEMPT_RT patches up to 6.1 have one more field in struct trace_entry. */
#if defined(CONFIG_PREEMPT_LAZY) && LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
#define XVT_PREEMPT_LAZY_COUNT
#endif

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

/* 5.18 gave sched_switch the argument prev_state. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(5, 18, 0)
#error "xvtrace.ko needs Linux 5.18 or newer"
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

/* What the above does: after a schedule on each CPU no section without preemption is left. */
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
