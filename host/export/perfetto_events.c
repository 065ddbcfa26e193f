// SPDX-License-Identifier: GPL-2.0
/*
 * perfetto_events.c - events of the kernel that Perfetto has messages for. Only where a message has
 * every field of the guest's event: others are generic, so that no field is left out.
 */
#include "export/perfetto.h"

#include <stdio.h>
#include <string.h>

/* clang-format off */
static const struct xvt_perfetto_event events[] = {
	{ "ftrace", "print", 3, {
		{ "ip", 1, U64 },
		{ "buf", 2, STR },
	} },
	{ "sched", "sched_switch", 4, {
		{ "prev_comm", 1, STR },
		{ "prev_pid", 2, I32 },
		{ "prev_prio", 3, I32 },
		{ "prev_state", 4, I64 },
		{ "next_comm", 5, STR },
		{ "next_pid", 6, I32 },
		{ "next_prio", 7, I32 },
	} },
	{ "power", "cpu_frequency", 11, {
		{ "state", 1, U32 },
		{ "cpu_id", 2, U32 },
	} },
	{ "power", "cpu_frequency_limits", 12, {
		{ "min_freq", 1, U32 },
		{ "max_freq", 2, U32 },
		{ "cpu_id", 3, U32 },
	} },
	{ "power", "cpu_idle", 13, {
		{ "state", 1, U32 },
		{ "cpu_id", 2, U32 },
	} },
	{ "sched", "sched_wakeup", 17, {
		{ "comm", 1, STR },
		{ "pid", 2, I32 },
		{ "prio", 3, I32 },
		{ "success", 4, I32 },
		{ "target_cpu", 5, I32 },
	} },
	{ "sched", "sched_blocked_reason", 18, {
		{ "pid", 1, I32 },
		{ "caller", 2, U64 },
		{ "io_wait", 3, U32 },
	} },
	{ "sched", "sched_waking", 20, {
		{ "comm", 1, STR },
		{ "pid", 2, I32 },
		{ "prio", 3, I32 },
		{ "success", 4, I32 },
		{ "target_cpu", 5, I32 },
	} },
	{ "irq", "softirq_entry", 24, {
		{ "vec", 1, U32 },
	} },
	{ "irq", "softirq_exit", 25, {
		{ "vec", 1, U32 },
	} },
	{ "irq", "softirq_raise", 26, {
		{ "vec", 1, U32 },
	} },
	{ "i2c", "i2c_read", 27, {
		{ "adapter_nr", 1, I32 },
		{ "msg_nr", 2, U32 },
		{ "addr", 3, U32 },
		{ "flags", 4, U32 },
		{ "len", 5, U32 },
	} },
	{ "i2c", "i2c_result", 29, {
		{ "adapter_nr", 1, I32 },
		{ "nr_msgs", 2, U32 },
		{ "ret", 3, I32 },
	} },
	{ "irq", "irq_handler_entry", 36, {
		{ "irq", 1, I32 },
		{ "name", 2, STR },
	} },
	{ "irq", "irq_handler_exit", 37, {
		{ "irq", 1, I32 },
		{ "ret", 2, I32 },
	} },
	{ "vmscan", "mm_vmscan_direct_reclaim_begin", 46, {
		{ "order", 1, I32 },
		{ "may_writepage", 2, I32 },
		{ "gfp_flags", 3, U32 },
	} },
	{ "vmscan", "mm_vmscan_direct_reclaim_end", 47, {
		{ "nr_reclaimed", 1, U64 },
	} },
	{ "vmscan", "mm_vmscan_kswapd_wake", 48, {
		{ "nid", 1, I32 },
		{ "order", 2, I32 },
		{ "zid", 3, I32 },
	} },
	{ "vmscan", "mm_vmscan_kswapd_sleep", 49, {
		{ "nid", 1, I32 },
	} },
	{ "workqueue", "workqueue_activate_work", 56, {
		{ "work", 1, U64 },
		{ "function", 2, U64 },
	} },
	{ "workqueue", "workqueue_execute_end", 57, {
		{ "work", 1, U64 },
		{ "function", 2, U64 },
	} },
	{ "workqueue", "workqueue_execute_start", 58, {
		{ "work", 1, U64 },
		{ "function", 2, U64 },
	} },
	{ "workqueue", "workqueue_queue_work", 59, {
		{ "work", 1, U64 },
		{ "function", 2, U64 },
		{ "req_cpu", 4, I32 },
		{ "cpu", 5, I32 },
		{ "workqueue", 6, STR },
	} },
	{ "sched", "sched_wakeup_new", 114, {
		{ "comm", 1, STR },
		{ "pid", 2, I32 },
		{ "prio", 3, I32 },
		{ "success", 4, I32 },
		{ "target_cpu", 5, I32 },
	} },
	{ "task", "task_newtask", 235, {
		{ "pid", 1, I32 },
		{ "comm", 2, STR },
		{ "clone_flags", 3, U64 },
		{ "oom_score_adj", 4, I32 },
	} },
	{ "task", "task_rename", 236, {
		{ "pid", 1, I32 },
		{ "oldcomm", 2, STR },
		{ "newcomm", 3, STR },
		{ "oom_score_adj", 4, I32 },
	} },
	{ "sched", "sched_process_exec", 237, {
		{ "filename", 1, STR },
		{ "pid", 2, I32 },
		{ "old_pid", 3, I32 },
	} },
	{ "sched", "sched_process_exit", 238, {
		{ "comm", 1, STR },
		{ "pid", 2, I32 },
		{ "prio", 4, I32 },
	} },
	{ "sched", "sched_process_fork", 239, {
		{ "parent_comm", 1, STR },
		{ "parent_pid", 2, I32 },
		{ "child_comm", 3, STR },
		{ "child_pid", 4, I32 },
	} },
	{ "sched", "sched_process_free", 240, {
		{ "comm", 1, STR },
		{ "pid", 2, I32 },
		{ "prio", 3, I32 },
	} },
	{ "sched", "sched_process_hang", 241, {
		{ "comm", 1, STR },
		{ "pid", 2, I32 },
	} },
	{ "sched", "sched_process_wait", 242, {
		{ "comm", 1, STR },
		{ "pid", 2, I32 },
		{ "prio", 3, I32 },
	} },
	{ "kmem", "rss_stat", 313, {
		{ "member", 1, I32 },
		{ "size", 2, I64 },
		{ "curr", 3, U32 },
		{ "mm_id", 4, U32 },
	} },
	{ "signal", "signal_deliver", 324, {
		{ "code", 1, I32 },
		{ "sa_flags", 2, U64 },
		{ "sig", 3, I32 },
	} },
	{ "signal", "signal_generate", 325, {
		{ "code", 1, I32 },
		{ "comm", 2, STR },
		{ "group", 3, I32 },
		{ "pid", 4, I32 },
		{ "result", 5, I32 },
		{ "sig", 6, I32 },
	} },
	{ "raw_syscalls", "sys_enter", 329, {
		{ "id", 1, I64 },
		{ "args", 2, U64S },
	} },
	{ "raw_syscalls", "sys_exit", 330, {
		{ "id", 1, I64 },
		{ "ret", 2, I64 },
	} },
	{ "cpuhp", "cpuhp_exit", 343, {
		{ "cpu", 1, U32 },
		{ "idx", 2, I32 },
		{ "ret", 3, I32 },
		{ "state", 4, I32 },
	} },
	{ "cpuhp", "cpuhp_multi_enter", 344, {
		{ "cpu", 1, U32 },
		{ "fun", 2, U64 },
		{ "idx", 3, I32 },
		{ "target", 4, I32 },
	} },
	{ "cpuhp", "cpuhp_enter", 345, {
		{ "cpu", 1, U32 },
		{ "fun", 2, U64 },
		{ "idx", 3, I32 },
		{ "target", 4, I32 },
	} },
	{ "sched", "sched_pi_setprio", 353, {
		{ "comm", 1, STR },
		{ "newprio", 2, I32 },
		{ "oldprio", 3, I32 },
		{ "pid", 4, I32 },
	} },
	{ "net", "netif_receive_skb", 360, {
		{ "len", 1, U32 },
		{ "name", 2, STR },
		{ "skbaddr", 3, U64 },
	} },
	{ "net", "net_dev_xmit", 361, {
		{ "len", 1, U32 },
		{ "name", 2, STR },
		{ "rc", 3, I32 },
		{ "skbaddr", 4, U64 },
	} },
	{ "skb", "kfree_skb", 367, {
		{ "location", 1, U64 },
		{ "protocol", 2, U32 },
		{ "skbaddr", 3, U64 },
	} },
	{ "kvm", "kvm_fpu", 378, {
		{ "load", 1, U32 },
	} },
	{ "kvm", "kvm_set_irq", 387, {
		{ "gsi", 1, U32 },
		{ "irq_source_id", 2, I32 },
		{ "level", 3, I32 },
	} },
	{ "kvm", "kvm_vcpu_wakeup", 400, {
		{ "ns", 1, U64 },
		{ "valid", 2, U32 },
		{ "waited", 3, U32 },
	} },
	{ "dma_fence", "dma_fence_init", 414, {
		{ "context", 1, U32 },
		{ "driver", 2, STR },
		{ "seqno", 3, U32 },
		{ "timeline", 4, STR },
	} },
	{ "dma_fence", "dma_fence_emit", 415, {
		{ "context", 1, U32 },
		{ "driver", 2, STR },
		{ "seqno", 3, U32 },
		{ "timeline", 4, STR },
	} },
	{ "dma_fence", "dma_fence_signaled", 416, {
		{ "context", 1, U32 },
		{ "driver", 2, STR },
		{ "seqno", 3, U32 },
		{ "timeline", 4, STR },
	} },
	{ "dma_fence", "dma_fence_wait_start", 417, {
		{ "context", 1, U32 },
		{ "driver", 2, STR },
		{ "seqno", 3, U32 },
		{ "timeline", 4, STR },
	} },
	{ "dma_fence", "dma_fence_wait_end", 418, {
		{ "context", 1, U32 },
		{ "driver", 2, STR },
		{ "seqno", 3, U32 },
		{ "timeline", 4, STR },
	} },
	{ "ftrace", "funcgraph_entry", 437, {
		{ "depth", 1, I32 },
		{ "func", 2, U64 },
	} },
	{ "ftrace", "funcgraph_exit", 438, {
		{ "calltime", 1, U64 },
		{ "depth", 2, I32 },
		{ "func", 3, U64 },
		{ "overrun", 4, U64 },
		{ "rettime", 5, U64 },
	} },
	{ "vmscan", "mm_shrink_slab_start", 443, {
		{ "cache_items", 1, U64 },
		{ "delta", 2, U64 },
		{ "gfp_flags", 3, U32 },
		{ "lru_pgs", 4, U64 },
		{ "nr_objects_to_shrink", 5, I64 },
		{ "pgs_scanned", 6, U64 },
		{ "shr", 7, U64 },
		{ "shrink", 8, U64 },
		{ "total_scan", 9, U64 },
		{ "nid", 10, I32 },
		{ "priority", 11, I32 },
	} },
	{ "vmscan", "mm_shrink_slab_end", 444, {
		{ "new_scan", 1, I64 },
		{ "retval", 2, I32 },
		{ "shr", 3, U64 },
		{ "shrink", 4, U64 },
		{ "total_scan", 5, I64 },
		{ "unused_scan", 6, I64 },
		{ "nid", 7, I32 },
	} },
	{ "sched", "sched_migrate_task", 491, {
		{ "comm", 1, STR },
		{ "pid", 2, I32 },
		{ "prio", 3, I32 },
		{ "orig_cpu", 4, I32 },
		{ "dest_cpu", 5, I32 },
		{ "running", 6, I32 },
		{ "load", 7, U32 },
	} },
	{ "power", "device_pm_callback_start", 504, {
		{ "device", 1, STR },
		{ "driver", 2, STR },
		{ "parent", 3, STR },
		{ "pm_ops", 4, STR },
		{ "event", 5, I32 },
	} },
	{ "power", "device_pm_callback_end", 505, {
		{ "device", 1, STR },
		{ "driver", 2, STR },
		{ "error", 3, I32 },
	} },
	{ "block", "block_io_start", 546, {
		{ "dev", 1, U64 },
		{ "sector", 2, U64 },
		{ "nr_sector", 3, U32 },
		{ "bytes", 4, U32 },
		{ "ioprio", 5, U32 },
		{ "rwbs", 6, STR },
		{ "comm", 7, STR },
		{ "cmd", 8, STR },
	} },
	{ "block", "block_io_done", 547, {
		{ "dev", 1, U64 },
		{ "sector", 2, U64 },
		{ "nr_sector", 3, U32 },
		{ "bytes", 4, U32 },
		{ "ioprio", 5, U32 },
		{ "rwbs", 6, STR },
		{ "comm", 7, STR },
		{ "cmd", 8, STR },
	} },
	{ "timer", "hrtimer_start", 551, {
		{ "hrtimer", 1, U64 },
		{ "function", 2, U64 },
		{ "expires", 3, I64 },
		{ "softexpires", 4, I64 },
		{ "mode", 5, U32 },
	} },
	{ "timer", "hrtimer_cancel", 552, {
		{ "hrtimer", 1, U64 },
	} },
	{ "timer", "hrtimer_expire_entry", 553, {
		{ "hrtimer", 1, U64 },
		{ "now", 2, I64 },
		{ "function", 3, U64 },
	} },
	{ "timer", "hrtimer_expire_exit", 554, {
		{ "hrtimer", 1, U64 },
	} },
	{ "timer", "timer_start", 555, {
		{ "timer", 1, U64 },
		{ "function", 2, U64 },
		{ "expires", 3, U64 },
		{ "now", 4, U64 },
		{ "deferrable", 5, U32 },
		{ "flags", 6, U32 },
		{ "bucket_expiry", 7, U64 },
	} },
	{ "timer", "timer_cancel", 556, {
		{ "timer", 1, U64 },
	} },
	{ "timer", "timer_expire_entry", 557, {
		{ "timer", 1, U64 },
		{ "now", 2, U64 },
		{ "function", 3, U64 },
		{ "baseclk", 4, U64 },
	} },
	{ "timer", "timer_expire_exit", 558, {
		{ "timer", 1, U64 },
	} },
	{ "irq_vectors", "local_timer_entry", 559, {
		{ "vector", 1, I32 },
	} },
	{ "irq_vectors", "local_timer_exit", 560, {
		{ "vector", 1, I32 },
	} },
};
/* clang-format on */

#define EVENTS (sizeof(events) / sizeof(events[0]))
_Static_assert(EVENTS <= XVT_PERFETTO_EVENTS_MAX, "numbers of events");

unsigned int xvt_perfetto_number(const struct xvt_perfetto_event *event)
{
	return (unsigned int)(event - events);
}

/* Of which Perfetto makes slices: where they begin and end. */
static const char *const pairs[][2] = {
	{ "softirq_entry", "softirq_exit" },
	{ "irq_handler_entry", "irq_handler_exit" },
	{ "sys_enter", "sys_exit" },
	{ "hrtimer_expire_entry", "hrtimer_expire_exit" },
	{ "timer_expire_entry", "timer_expire_exit" },
	{ "workqueue_execute_start", "workqueue_execute_end" },
	{ "local_timer_entry", "local_timer_exit" },
	{ "funcgraph_entry", "funcgraph_exit" },
	{ "block_io_start", "block_io_done" },
	{ "mm_vmscan_direct_reclaim_begin", "mm_vmscan_direct_reclaim_end" },
	{ "mm_shrink_slab_start", "mm_shrink_slab_end" },
	{ "cpuhp_enter", "cpuhp_exit" },
	{ "cpuhp_multi_enter", "cpuhp_exit" },
	{ "device_pm_callback_start", "device_pm_callback_end" },
	{ "dma_fence_wait_start", "dma_fence_wait_end" },
};

unsigned int xvt_perfetto_exit(const struct xvt_perfetto_event *event)
{
	const char *name = NULL;
	unsigned int i;

	for (i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
		if (strcmp(pairs[i][0], event->name) == 0)
			name = pairs[i][1];
	for (i = 0; name && i < EVENTS; i++)
		if (strcmp(events[i].name, name) == 0)
			return i;
	return XVT_PERFETTO_EVENTS_MAX;
}

/* Whether each value of the field is one of the message's. */
static bool fits(const struct xvtrace_field *f, enum xvt_perfetto_kind kind)
{
	bool is_int = f->kind == XVTRACE_INT, is_uint = f->kind == XVTRACE_UINT;

	switch (kind) {
	case STR:
		return f->kind == XVTRACE_STRING;
	case I32:
	case U32:
		return is_int || is_uint; /* what it holds is seen by xvt_perfetto_holds() */
	case I64:
		return is_int || (is_uint && f->size < 8);
	case U64:
		return is_uint;
	case U64S:
		return f->kind == XVTRACE_UINTS;
	case NO_KIND:
		break;
	}
	return false;
}

bool xvt_perfetto_holds(const struct xvt_perfetto_field *field, const struct xvtrace_field *f,
			uint64_t value)
{
	bool is_int = f->kind == XVTRACE_INT;

	if (field->kind == I32)
		return is_int ? (int64_t)value == (int32_t)value : value <= INT32_MAX;
	if (field->kind == U32)
		return value <= UINT32_MAX;
	return true;
}

/* Which of their fields Perfetto looks up: those of its list, and functions of cpuhp. */
bool xvt_perfetto_is_function(const struct xvt_perfetto_field *field)
{
	static const char *const names[] = { "function", "func", "fun", "caller", "shrink" };

	for (size_t i = 0; field->kind == U64 && i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(field->name, names[i]) == 0)
			return true;
	return false;
}

const struct xvt_perfetto_field *xvt_perfetto_field(const struct xvt_perfetto_event *event,
						    const struct xvtrace_field *f)
{
	for (size_t i = 0; i < XVT_PERFETTO_FIELDS && event->fields[i].name; i++)
		if (strcmp(event->fields[i].name, f->name) == 0)
			return fits(f, event->fields[i].kind) ? &event->fields[i] : NULL;
	return NULL;
}

/* Whether all fields have numbers, and no two of them the same one. */
static bool has_all(const struct xvt_perfetto_event *event, const struct xvtrace_type *type)
{
	uint64_t seen = 0;

	for (unsigned int i = 0; i < type->fields; i++) {
		const struct xvt_perfetto_field *f =
			xvt_perfetto_field(event, xvtrace_field(type, i));

		if (!f || seen & 1ull << f->number)
			return false;
		seen |= 1ull << f->number;
	}
	return true;
}

const struct xvt_perfetto_event *xvt_perfetto_event(const struct xvtrace_type *type)
{
	char name[128];

	for (size_t i = 0; i < EVENTS; i++) {
		const struct xvt_perfetto_event *e = &events[i];

		if (strcmp(e->name, type->name) != 0)
			continue;
		/* The guest's module has probes of its own for some events of the kernel. */
		snprintf(name, sizeof(name), "%s:%s", e->system, e->name);
		return xvtrace_matches(name, type->system, type->name) && has_all(e, type) ? e
											   : NULL;
	}
	return NULL;
}
