// SPDX-License-Identifier: GPL-2.0
/* irq.c - handlers of interrupts and softirqs in guests, from their entry to their exit. A handler
 * that is interrupted by another one has that one's time in its own, as lttng-irqstats counts. */
#include "analyze/parts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const softirqs[] = { "HI",	    "TIMER",   "NET_TX", "NET_RX",  "BLOCK",
					"IRQ_POLL", "TASKLET", "SCHED",	 "HRTIMER", "RCU" };

void irq_describe(const struct open_pair *begin, char *to, size_t size)
{
	char name[64];

	if (begin->kind == PART_SOFTIRQ_ENTRY) {
		if (begin->number < sizeof(softirqs) / sizeof(softirqs[0]))
			snprintf(to, size, "softirq %s", softirqs[begin->number]);
		else
			snprintf(to, size, "softirq %" PRIu64, begin->number);
		return;
	}
	xvt_text_clean(name, sizeof(name), begin->text, strnlen(begin->text, sizeof(begin->text)));
	snprintf(to, size, "irq %" PRIu64 "%s%s", begin->number, name[0] ? " " : "", name);
}

static int handler(struct xvt_analyze *a, struct vcpu *v, const struct open_pair *begin,
		   const struct part_span *span)
{
	const char *kind = begin->kind == PART_IRQ_ENTRY ? "irq" : "softirq";
	struct line_key key = { v->ring->machine, kind, begin->number, "" };
	struct xvt_line **line;
	char what[96];

	/* The task that was interrupted. */
	if (span->end_ns - span->begin_ns < a->options.min_ns ||
	    !part_wants_task(a, v->pid, v->comm))
		return 0;
	memcpy(key.text, begin->text, strnlen(begin->text, sizeof(key.text)));
	line = line_found(a, &key);
	if (!*line) {
		irq_describe(begin, what, sizeof(what));
		*line = line_of(a, XVT_ANALYZE_IRQ, kind, key.machine, NULL, NULL, what);
	}
	if (!*line)
		return -ENOMEM;
	(*line)->shares |= v->shares;
	return line_add(*line, v, span);
}

/* Whether entries and exits of one kind are there. */
static bool has_pairs(const struct guest *g)
{
	const unsigned int irq = 1u << PART_IRQ_ENTRY | 1u << PART_IRQ_EXIT;
	const unsigned int softirq = 1u << PART_SOFTIRQ_ENTRY | 1u << PART_SOFTIRQ_EXIT;

	return (g->handlers & irq) == irq || (g->handlers & softirq) == softirq;
}

static int end(struct xvt_analyze *a)
{
	for (unsigned int i = 0; i < a->info->machines; i++) {
		const struct guest *g = &a->guests[i];
		struct xvt_line *line;
		bool wanted = false;

		for (size_t k = 0; k < a->vcpu_count; k++)
			wanted |= a->list[k]->ring->machine == g->machine && a->list[k]->wanted;
		if (!wanted || has_pairs(g))
			continue;
		line = line_of(a, XVT_ANALYZE_IRQ, "irq", g->machine, NULL, NULL, "handlers");
		if (!line)
			return -ENOMEM;
		line_lacks(a, line, "the guest's interrupts, entries and exits (record -e irq)");
	}
	return 0;
}

const struct analysis analysis_irq = {
	.bit = XVT_ANALYZE_IRQ,
	.name = "irq",
	.handler = handler,
	.end = end,
};
