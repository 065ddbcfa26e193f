// SPDX-License-Identifier: GPL-2.0
/*
 * xvt_panic.c - the kernel panics: its last words, as a record in the ring of the CPU that does. A
 * kernel that boots another one to dump itself (kdump) does not tell before, unless it is booted
 * with crash_kexec_post_notifiers.
 */
#include <linux/limits.h>
#include <linux/notifier.h>

#include "xvtrace.h"

/*
 * Interrupts are off, the other CPUs stand still, and whatever they or this one had locked stays
 * so: nothing here takes a lock, allocates or prints. An NMI may have panicked within an event of
 * this CPU, whose record then is the last one that can be read in order; the host finds this one
 * behind it.
 */
static int panicked(struct notifier_block *block, unsigned long event, void *text)
{
	struct xvt_guest *g = &xvt_guest;
	struct xvt_writer *w = &raw_cpu_ptr(&xvt_cpus)->writer;
	struct xvt_region_hdr *h = g->base;

	if (!READ_ONCE(xvt_open))
		return NOTIFY_DONE;
	xvt_write(w, XVT_ID_PANIC, text, text ? strnlen(text, XVT_PANIC_TEXT) : 0);
	xvt_store_release(&h->panics, xvt_load(&h->panics) + 1);
	/* The recorder may doze until the next sub-buffer begins, and none will. */
	xvt_mb();
	if (w->kick && xvt_load(&w->host->need_wake))
		w->kick(w->kick_arg);
	return NOTIFY_DONE;
}

/* First of all: another one may end the machine, as that of pvpanic does. */
static struct notifier_block panic_block = {
	.notifier_call = panicked,
	.priority = INT_MAX,
};

void xvt_panic_start(void)
{
	atomic_notifier_chain_register(&panic_notifier_list, &panic_block);
}

/* After this it is not called any more. */
void xvt_panic_stop(void)
{
	atomic_notifier_chain_unregister(&panic_notifier_list, &panic_block);
}
