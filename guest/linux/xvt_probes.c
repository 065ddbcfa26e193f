// SPDX-License-Identifier: GPL-2.0
/*
 * xvt_probes.c - the hottest tracepoints without ftrace: the stamp is taken at the event
 * itself, and ftrace's own ring is not written. Knows the arguments of its tracepoints.
 *
 * A record looks as if ftrace had made it: common header, then fields with the names that
 * the kernel's own event has. The types lie above ftrace's (which count up from 1 and end
 * at 65535), and the system is "xvt".
 *
 * Where ftrace has the same event on, its export leaves it out while the probe is on: one record
 * for each event, whichever is on. A probe sees every event; ftrace may filter, discard or be off,
 * so it is not the probe that steps back.
 */
#include <linux/interrupt.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/trace_events.h>
#include <linux/tracepoint.h>

#include "xvtrace.h"

struct xvt_common {
	u16 type;
	u8 flags;
	u8 preempt_count;
	s32 pid;
};

struct xvt_sched_switch {
	struct xvt_common common;
	char prev_comm[TASK_COMM_LEN];
	s32 prev_pid;
	s32 prev_prio;
	s64 prev_state;
	char next_comm[TASK_COMM_LEN];
	s32 next_pid;
	s32 next_prio;
};

struct xvt_sched_waking {
	struct xvt_common common;
	char comm[TASK_COMM_LEN];
	s32 pid;
	s32 prio;
	s32 target_cpu;
};

#define IRQ_NAME_LEN 16

struct xvt_irq_entry {
	struct xvt_common common;
	s32 irq;
	char name[IRQ_NAME_LEN];
	s32 vector; /* not in the kernel's own event; 0: not known */
};

struct xvt_irq_exit {
	struct xvt_common common;
	s32 irq;
	s32 ret;
};

XVT_ASSERT(sizeof(struct xvt_common) == 8, "COMMON_FIELDS");
XVT_ASSERT(offsetof(struct xvt_sched_switch, prev_state) == 32, "the format text below");
XVT_ASSERT(offsetof(struct xvt_sched_switch, next_prio) == 60, "the format text below");
XVT_ASSERT(offsetof(struct xvt_sched_waking, target_cpu) == 32, "the format text below");
XVT_ASSERT(offsetof(struct xvt_irq_entry, name) == 12, "the format text below");
XVT_ASSERT(offsetof(struct xvt_irq_entry, vector) == 28, "the format text below");
XVT_ASSERT(TASK_COMM_LEN == 16, "the format text below");

enum xvt_probe_id {
	PROBE_SCHED_SWITCH,
	PROBE_IRQ_ENTRY,
	PROBE_IRQ_EXIT,
	PROBE_SCHED_WAKING,
	PROBE_COUNT
};

#define TYPE_FIRST 0xf000

/* As ftrace fills it; less what the tracepoint itself adds to preempt_count. */
static __always_inline void fill_common(struct xvt_common *c, enum xvt_probe_id id)
{
	unsigned int pc = preempt_count();
	unsigned int depth = pc & PREEMPT_MASK;

	depth -= min(depth, XVT_TRACEPOINT_DEPTH);
	c->type = TYPE_FIRST + id;
	c->flags = xvt_context_flags(pc, irqs_disabled());
	c->preempt_count = min(depth, XVT_PREEMPT_COUNT_MAX);
	c->pid = current->pid;
}

static void notrace probe_sched_switch(void *data, bool preempt, struct task_struct *prev,
				       struct task_struct *next XVT_PREV_STATE_PARAM)
{
	struct xvt_sched_switch e;
	unsigned int state = xvt_prev_state_index(prev);

	fill_common(&e.common, PROBE_SCHED_SWITCH);
	memcpy(e.prev_comm, prev->comm, sizeof(e.prev_comm));
	e.prev_pid = prev->pid;
	e.prev_prio = prev->prio;
	/* A preempted task counts as running, whatever it was about to become. */
	e.prev_state = preempt ? TASK_REPORT_MAX : state ? 1 << (state - 1) : 0;
	memcpy(e.next_comm, next->comm, sizeof(e.next_comm));
	e.next_pid = next->pid;
	e.next_prio = next->prio;
	preempt_disable_notrace();
	xvt_event(&e, sizeof(e), false);
	preempt_enable_notrace();
}
NOKPROBE_SYMBOL(probe_sched_switch);

static void notrace probe_sched_waking(void *data, struct task_struct *p)
{
	struct xvt_sched_waking e = { .pid = p->pid, .prio = p->prio, .target_cpu = task_cpu(p) };

	fill_common(&e.common, PROBE_SCHED_WAKING);
	memcpy(e.comm, p->comm, sizeof(e.comm));
	preempt_disable_notrace();
	xvt_event(&e, sizeof(e), false);
	preempt_enable_notrace();
}
NOKPROBE_SYMBOL(probe_sched_waking);

static void notrace probe_irq_entry(void *data, int irq, struct irqaction *action)
{
	struct xvt_irq_entry e = { .irq = irq, .vector = xvt_irq_vector(irq) };
	int i;

	fill_common(&e.common, PROBE_IRQ_ENTRY);
	for (i = 0; action->name && i < IRQ_NAME_LEN - 1 && action->name[i]; i++)
		e.name[i] = action->name[i];
	preempt_disable_notrace();
	xvt_event(&e, sizeof(e), false);
	preempt_enable_notrace();
}
NOKPROBE_SYMBOL(probe_irq_entry);

static void notrace probe_irq_exit(void *data, int irq, struct irqaction *action, int ret)
{
	struct xvt_irq_exit e = { .irq = irq, .ret = ret };

	fill_common(&e.common, PROBE_IRQ_EXIT);
	preempt_disable_notrace();
	xvt_event(&e, sizeof(e), false);
	preempt_enable_notrace();
}
NOKPROBE_SYMBOL(probe_irq_exit);

/* clang-format off */
#define COMMON_FIELDS                                                                              \
	XVT_FIELD("unsigned short common_type", 0, 2, 0)                                               \
	XVT_FIELD("unsigned char common_flags", 2, 1, 0)                                               \
	XVT_FIELD("unsigned char common_preempt_count", 3, 1, 0)                                       \
	XVT_FIELD("int common_pid", 4, 4, 1)                                                           \
	"\n"

static const char sched_switch_format[] = COMMON_FIELDS
	XVT_FIELD("char prev_comm[16]", 8, 16, 0)
	XVT_FIELD("pid_t prev_pid", 24, 4, 1)
	XVT_FIELD("int prev_prio", 28, 4, 1)
	XVT_FIELD("long prev_state", 32, 8, 1)
	XVT_FIELD("char next_comm[16]", 40, 16, 0)
	XVT_FIELD("pid_t next_pid", 56, 4, 1)
	XVT_FIELD("int next_prio", 60, 4, 1)
	"\nprint fmt: \"prev_comm=%s prev_pid=%d prev_prio=%d prev_state=%s%s ==> next_comm=%s "
	"next_pid=%d next_prio=%d\", REC->prev_comm, REC->prev_pid, REC->prev_prio, "
	"(REC->prev_state & 0xff) ? __print_flags(REC->prev_state & 0xff, \"|\", { 0x01, \"S\" }, "
	"{ 0x02, \"D\" }, { 0x04, \"T\" }, { 0x08, \"t\" }, { 0x10, \"X\" }, { 0x20, \"Z\" }, "
	"{ 0x40, \"P\" }, { 0x80, \"I\" }) : \"R\", REC->prev_state & 0x100 ? \"+\" : \"\", "
	"REC->next_comm, REC->next_pid, REC->next_prio\n";

XVT_ASSERT(TASK_REPORT_MAX == 0x100, "prev_state in the format text above");

static const char sched_waking_format[] = COMMON_FIELDS
	XVT_FIELD("char comm[16]", 8, 16, 0)
	XVT_FIELD("pid_t pid", 24, 4, 1)
	XVT_FIELD("int prio", 28, 4, 1)
	XVT_FIELD("int target_cpu", 32, 4, 1)
	"\nprint fmt: \"comm=%s pid=%d prio=%d target_cpu=%03d\", REC->comm, REC->pid, REC->prio, "
	"REC->target_cpu\n";

static const char irq_entry_format[] = COMMON_FIELDS
	XVT_FIELD("int irq", 8, 4, 1)
	XVT_FIELD("char name[16]", 12, 16, 0)
	XVT_FIELD("int vector", 28, 4, 1)
	"\nprint fmt: \"irq=%d name=%s\", REC->irq, REC->name\n";

static const char irq_exit_format[] = COMMON_FIELDS
	XVT_FIELD("int irq", 8, 4, 1)
	XVT_FIELD("int ret", 12, 4, 1)
	"\nprint fmt: \"irq=%d ret=%s\", REC->irq, REC->ret ? \"handled\" : \"unhandled\"\n";
/* clang-format on */

static struct xvt_probe {
	const char *system; /* of ftrace's event */
	const char *name;
	void *func;
	const char *format;
	struct tracepoint *tp;
	bool registered;
} probes[PROBE_COUNT] = {
	[PROBE_SCHED_SWITCH] = { "sched", "sched_switch", probe_sched_switch, sched_switch_format },
	[PROBE_IRQ_ENTRY] = { "irq", "irq_handler_entry", probe_irq_entry, irq_entry_format },
	[PROBE_IRQ_EXIT] = { "irq", "irq_handler_exit", probe_irq_exit, irq_exit_format },
	[PROBE_SCHED_WAKING] = { "sched", "sched_waking", probe_sched_waking, sched_waking_format },
};

XVT_ASSERT(PROBE_COUNT <= XVT_LEFT_OUT_MAX, "each probe has a type of ftrace's that is left out");

/* Guards what follows, between sysfs and start or stop. */
static DEFINE_MUTEX(probes_lock);
static unsigned int wanted = BIT(PROBE_COUNT) - 1;
static bool started;

static void find_tracepoint(struct tracepoint *tp, void *data)
{
	int i;

	for (i = 0; i < PROBE_COUNT; i++) {
		if (!strcmp(tp->name, probes[i].name))
			probes[i].tp = tp;
	}
}

static int put_format(int id)
{
	struct xvt_probe *p = &probes[id];
	char *text, *body;
	int head_len, len, err;

	len = strlen(p->name) + strlen(p->format) + 64;
	text = kmalloc(len, GFP_KERNEL);
	if (!text)
		return -ENOMEM;
	head_len = scnprintf(text, len, "xvt%c%s", 0, p->name) + 1;
	body = text + head_len;
	len = scnprintf(body, len - head_len, "name: %s\nID: %d\nformat:\n%s", p->name,
			TYPE_FIRST + id, p->format);
	err = xvt_meta_put(XVT_META_FORMAT, TYPE_FIRST + id, text, head_len, body, len);
	kfree(text);
	return err;
}

/* Type of the event of ftrace's that a probe records, too; 0: ftrace has none. */
static u16 ftrace_type(const struct xvt_probe *p)
{
	struct trace_event_file *file = trace_get_event_file(NULL, p->system, p->name);
	u16 type;

	if (IS_ERR(file))
		return 0;
	type = file->event_call->event.type;
	trace_put_event_file(file);
	return type;
}

/* Makes what is registered what is wanted. Returns the first error, having tried all. */
static int apply(unsigned int mask)
{
	int i, err, first_err = 0;

	for (i = 0; i < PROBE_COUNT; i++) {
		struct xvt_probe *p = &probes[i];
		bool on = mask & BIT(i);

		if (on == p->registered)
			continue;
		if (!on) {
			/* Before the probe goes: an event in between is recorded twice, not lost.
			 */
			xvt_types_leave_out(i, 0);
			tracepoint_probe_unregister(p->tp, p->func, NULL);
			p->registered = false;
			continue;
		}
		/* The format first: no record without one. If it did not fit, records are raw. */
		put_format(i);
		err = p->tp ? tracepoint_probe_register(p->tp, p->func, NULL) : -ENOENT;
		if (err)
			pr_err("xvtrace: probe %s: %s (%d)\n", p->name,
			       p->tp ? "cannot be registered"
				     : "this kernel has no such tracepoint",
			       err);
		else
			p->registered = true;
		if (!err)
			xvt_types_leave_out(i, ftrace_type(p));
		if (!first_err)
			first_err = err;
	}
	return first_err;
}

int xvt_probes_start(void)
{
	int err;

	for_each_kernel_tracepoint(find_tracepoint, NULL);
	mutex_lock(&probes_lock);
	started = true;
	err = apply(wanted);
	mutex_unlock(&probes_lock);
	return err;
}

/* Returns when no CPU is in a probe any more. */
void xvt_probes_stop(void)
{
	mutex_lock(&probes_lock);
	started = false;
	apply(0);
	mutex_unlock(&probes_lock);
	tracepoint_synchronize_unregister();
}

static int parse_mask(const char *val, unsigned int *mask)
{
	*mask = 0;
	while (*val && *val != '\n') {
		size_t len = strcspn(val, ",\n");
		int i;

		for (i = 0; i < PROBE_COUNT; i++) {
			if (len == strlen(probes[i].name) && !strncmp(val, probes[i].name, len))
				break;
		}
		if (i < PROBE_COUNT)
			*mask |= BIT(i);
		else if (len && (len != 4 || strncmp(val, "none", 4)))
			return -EINVAL;
		val += len;
		if (*val == ',')
			val++;
	}
	return 0;
}

static int probes_param_set(const char *val, const struct kernel_param *kp)
{
	unsigned int mask;
	int err = parse_mask(val, &mask);

	if (err)
		return err;
	mutex_lock(&probes_lock);
	wanted = mask;
	err = started ? apply(mask) : 0;
	mutex_unlock(&probes_lock);
	return err;
}

static int probes_param_get(char *buffer, const struct kernel_param *kp)
{
	int i, len = 0;

	mutex_lock(&probes_lock);
	for (i = 0; i < PROBE_COUNT; i++) {
		if (started ? probes[i].registered : wanted & BIT(i))
			len += sysfs_emit_at(buffer, len, "%s%s", len ? "," : "", probes[i].name);
	}
	mutex_unlock(&probes_lock);
	return len + sysfs_emit_at(buffer, len, "%s\n", len ? "" : "none");
}

static const struct kernel_param_ops probes_param_ops = {
	.set = probes_param_set,
	.get = probes_param_get,
};
module_param_cb(probes, &probes_param_ops, NULL, 0644);
MODULE_PARM_DESC(probes, "tracepoints recorded without ftrace: sched_switch, irq_handler_entry, "
			 "irq_handler_exit, sched_waking, or none (default: all)");
