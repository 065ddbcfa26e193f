// SPDX-License-Identifier: GPL-2.0
/*
 * xvt_export.c - every tracepoint, function-trace and trace_marker event of ftrace, from
 * whatever context it comes, into the ring. Knows of an entry only its type: what a probe of ours
 * records too is left out.
 *
 * ftrace calls the export between filling its entry and committing it, with preemption off,
 * for all instances alike. So our stamp is later than ftrace's by the time of the filling
 * and of any interrupt in between. These never come here (5.10 to 7.3): trace_printk(),
 * trace_puts() and kernel stacks, see xvt_hooks.c; function_graph entries, trace_marker_raw, user
 * stacks, events that a trigger discards, anything while tracing_on is 0. An event with a filter
 * comes only if the filter let it through.
 */
#include <linux/mm.h>
#include <linux/trace.h>
#include <linux/trace_events.h>

#include "xvtrace.h"

/*
 * ftrace builds an event that has a filter in a page of its own and copies it to the ring
 * later. In that page array[0] is the entry's length; in the ring it is the length with
 * array[0] itself, and ring_buffer_event_length(), which cannot tell, takes 4 off for all
 * entries above 116 bytes. The page is told by its offset: the event starts at 0 and its
 * entry at 8, while a page of the ring starts with 16 bytes of its own. (Later kernels may
 * join pages for a sub-buffer: there an entry can lie at 8 too, and its record gets 4 bytes
 * more at its end than it has. Readers take lengths from the format.)
 */
static __always_inline u32 true_size(const void *entry, u32 size)
{
	const u32 *word = entry;

	if (offset_in_page(entry) == 8 && word[-2] == 0 && word[-1] == size + 4)
		return size + 4;
	return size;
}

static void notrace xvt_export_write(struct trace_export *export, const void *entry,
				     unsigned int size)
{
	const struct trace_entry *e = entry;

	/* ftrace has preemption off already; this is for the day when it has not. */
	preempt_disable_notrace();
	if (xvt_types_wanted(e->type))
		xvt_event(entry, true_size(entry, size), true);
	preempt_enable_notrace();
}
NOKPROBE_SYMBOL(xvt_export_write);

static struct trace_export xvt_export = {
	.write = xvt_export_write,
	.flags = TRACE_EXPORT_EVENT | TRACE_EXPORT_FUNCTION | TRACE_EXPORT_MARKER,
};

int xvt_export_start(void)
{
	return register_ftrace_export(&xvt_export);
}

/*
 * Returns when no CPU is in the export any more. unregister_ftrace_export() only unlinks.
 * synchronize_rcu() waits for sections without preemption, except on CPUs that RCU does not
 * watch: the function tracer runs there too (idle, entry code), so a schedule on each CPU.
 */
void xvt_export_stop(void)
{
	unregister_ftrace_export(&xvt_export);
	synchronize_rcu();
	xvt_synchronize_all_cpus();
}
