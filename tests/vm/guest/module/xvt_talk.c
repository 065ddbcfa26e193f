// SPDX-License-Identifier: GPL-2.0
/*
 * xvt_talk.c - for tests: says numbered lines by trace_printk() and trace_puts(), in all their
 * forms, from task, soft and hard interrupt on each CPU, and is loaded then. `rounds`: of each.
 */
#include <linux/interrupt.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/smp.h>

static unsigned int rounds = 50;
module_param(rounds, uint, 0444);

/* The compiler must not see that these do not change. */
static const char *volatile own_format = "xvt-talk text %u from %s\n";
static const char *volatile own_line = "xvt-talk line without a line feed";

/*
 * `where` and its end fill 8 bytes: the kernel leaves in a binary line what was there before
 * where the next argument begins later.
 */
static void say(const char *where)
{
	const char *format = own_format, *line = own_line;
	unsigned int i;

	for (i = 0; i < rounds; i++) {
		trace_printk("xvt-talk binary %u from %s, %ps\n", i, where, say);
		trace_printk(format, i, where);
		trace_puts("xvt-talk constant\n");
		trace_puts(line);
	}
}

static void say_in_softirq(struct tasklet_struct *unused)
{
	say("tasklet");
}
static DECLARE_TASKLET(soft, say_in_softirq);

static void say_in_hardirq(void *unused)
{
	say("hardirq");
}

static int __init talk_init(void)
{
	int cpu;

	say("process");
	for_each_online_cpu (cpu)
		smp_call_function_single(cpu, say_in_hardirq, NULL, 1);
	tasklet_schedule(&soft);
	tasklet_kill(&soft);
	return 0;
}
module_init(talk_init);

static void __exit talk_exit(void)
{
}
module_exit(talk_exit);

MODULE_DESCRIPTION("Says lines by trace_printk, for xvtrace's tests");
MODULE_LICENSE("GPL");
