// SPDX-License-Identifier: GPL-2.0
/*
 * lttng.c - see lttng.h. Not in the table, and so by their own names: events whose fields LTTng
 * records in another form, such as those of block devices (rwbs is a number there).
 */
#include "export/lttng.h"

#include <stdio.h>
#include <string.h>

#define PRIO(name_)                                                    \
	{                                                              \
		.kernel = name_, .name = name_, .from_realtime = true, \
	}
#define END                    \
	{                      \
		.kernel = NULL \
	}

static const struct xvt_lttng_field of_switch[] = {
	{ "prev_pid", "prev_tid", NULL, false },
	PRIO("prev_prio"),
	{ "next_pid", "next_tid", NULL, false },
	PRIO("next_prio"),
	END,
};
static const struct xvt_lttng_field of_task[] = { { "pid", "tid", NULL, false }, END };
static const struct xvt_lttng_field of_task_prio[] = {
	{ "pid", "tid", NULL, false },
	PRIO("prio"),
	END,
};
static const struct xvt_lttng_field of_pi[] = {
	{ "pid", "tid", NULL, false },
	PRIO("oldprio"),
	PRIO("newprio"),
	END,
};
/* The kernel records threads. They are processes, too, unless they are threads of one. */
static const struct xvt_lttng_field of_fork[] = {
	{ "parent_pid", "parent_tid", "parent_pid", false },
	{ "child_pid", "child_tid", "child_pid", false },
	END,
};
static const struct xvt_lttng_field of_exec[] = {
	{ "pid", "tid", NULL, false },
	{ "old_pid", "old_tid", NULL, false },
	END,
};

#define SAME(system_, name_)                                      \
	{                                                         \
		.system = system_, .kernel = name_, .name = name_ \
	}

static const struct xvt_lttng_event events[] = {
	{ "sched", "sched_switch", "sched_switch", of_switch },
	{ "sched", "sched_waking", "sched_waking", of_task_prio },
	{ "sched", "sched_wakeup", "sched_wakeup", of_task_prio },
	{ "sched", "sched_wakeup_new", "sched_wakeup_new", of_task_prio },
	{ "sched", "sched_migrate_task", "sched_migrate_task", of_task_prio },
	{ "sched", "sched_process_free", "sched_process_free", of_task_prio },
	{ "sched", "sched_process_exit", "sched_process_exit", of_task_prio },
	{ "sched", "sched_wait_task", "sched_wait_task", of_task_prio },
	{ "sched", "sched_process_wait", "sched_process_wait", of_task_prio },
	{ "sched", "sched_process_fork", "sched_process_fork", of_fork },
	{ "sched", "sched_process_exec", "sched_process_exec", of_exec },
	{ "sched", "sched_pi_setprio", "sched_pi_setprio", of_pi },
	{ "sched", "sched_stat_wait", "sched_stat_wait", of_task },
	{ "sched", "sched_stat_sleep", "sched_stat_sleep", of_task },
	{ "sched", "sched_stat_iowait", "sched_stat_iowait", of_task },
	{ "sched", "sched_stat_blocked", "sched_stat_blocked", of_task },
	{ "sched", "sched_stat_runtime", "sched_stat_runtime", of_task },
	SAME("irq", "irq_handler_entry"),
	SAME("irq", "irq_handler_exit"),
	SAME("irq", "softirq_entry"),
	SAME("irq", "softirq_exit"),
	SAME("irq", "softirq_raise"),
	SAME("timer", "timer_init"),
	SAME("timer", "timer_start"),
	SAME("timer", "timer_expire_entry"),
	SAME("timer", "timer_expire_exit"),
	SAME("timer", "timer_cancel"),
	{ "timer", "hrtimer_init", "timer_hrtimer_init", NULL },
	{ "timer", "hrtimer_start", "timer_hrtimer_start", NULL },
	{ "timer", "hrtimer_expire_entry", "timer_hrtimer_expire_entry", NULL },
	{ "timer", "hrtimer_expire_exit", "timer_hrtimer_expire_exit", NULL },
	{ "timer", "hrtimer_cancel", "timer_hrtimer_cancel", NULL },
	{ "power", "cpu_idle", "power_cpu_idle", NULL },
	{ "power", "cpu_frequency", "power_cpu_frequency", NULL },
	SAME("net", "net_dev_xmit"),
	SAME("net", "net_dev_queue"),
	SAME("net", "netif_receive_skb"),
	SAME("net", "netif_rx"),
	SAME("signal", "signal_generate"),
	SAME("signal", "signal_deliver"),
	{ "printk", "console", "printk_console", NULL },
};

#define EVENTS (sizeof(events) / sizeof(events[0]))

/* The system calls, whose number and names grow. */
static bool syscall_name(const struct xvtrace_type *type, char name[XVT_LTTNG_NAME_LEN])
{
	const char *call = NULL;
	bool entry;

	if (strcmp(type->kernel_system, "syscalls") != 0)
		return false;
	entry = strncmp(type->name, "sys_enter_", 10) == 0;
	if (entry)
		call = type->name + 10;
	else if (strncmp(type->name, "sys_exit_", 9) == 0 && xvtrace_field_named(type, "ret"))
		call = type->name + 9;
	if (call)
		snprintf(name, XVT_LTTNG_NAME_LEN, "syscall_%s_%s", entry ? "entry" : "exit", call);
	return call != NULL;
}

static bool is_number(const struct xvtrace_field *f)
{
	return f && (f->kind == XVTRACE_UINT || f->kind == XVTRACE_INT);
}

/* Whether the type has a field of that name other than this one. */
static bool has_other(const struct xvtrace_type *type, const char *name, const char *kernel)
{
	return strcmp(name, kernel) != 0 && xvtrace_field_named(type, name);
}

/* Whether the type has the kernel's fields, and none whose name LTTng gives to another. */
static bool fits(const struct xvtrace_type *type, const struct xvt_lttng_event *e)
{
	for (const struct xvt_lttng_field *f = e->fields; f && f->kernel; f++)
		if (!is_number(xvtrace_field_named(type, f->kernel)) ||
		    has_other(type, f->name, f->kernel) ||
		    (f->also && has_other(type, f->also, f->kernel)))
			return false;
	return true;
}

bool xvt_lttng_name(const struct xvtrace_type *type, char name[XVT_LTTNG_NAME_LEN],
		    const struct xvt_lttng_event **event)
{
	*event = NULL;
	for (size_t i = 0; i < EVENTS; i++) {
		const struct xvt_lttng_event *e = &events[i];

		if (strcmp(type->name, e->kernel) != 0 ||
		    strcmp(type->kernel_system, e->system) != 0 || !fits(type, e))
			continue;
		snprintf(name, XVT_LTTNG_NAME_LEN, "%s", e->name);
		*event = e->fields ? e : NULL;
		return true;
	}
	return syscall_name(type, name);
}

const struct xvt_lttng_field *xvt_lttng_field(const struct xvt_lttng_event *event,
					      const struct xvtrace_field *field)
{
	for (const struct xvt_lttng_field *f = event ? event->fields : NULL; f && f->kernel; f++)
		if (strcmp(field->name, f->kernel) == 0)
			return f;
	return NULL;
}
