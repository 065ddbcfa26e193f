// SPDX-License-Identifier: GPL-2.0
/* spans.c - each duration of the guests, for a caller that keeps them: no line is made of it. */
#include "analyze/parts.h"

static int give(struct xvt_analyze *a, const struct vcpu *v, const struct part_span *from,
		struct xvt_span *span)
{
	span->ring = v->ring;
	span->begin_ns = from->begin_ns;
	span->end_ns = from->end_ns;
	span->bound_ns = from->bound_ns;
	span->own_known = from->own_known;
	span->own_least_ns = from->own_least_ns;
	span->own_most_ns = from->own_most_ns;
	return a->options.span(a->options.arg, span);
}

static int handler(struct xvt_analyze *a, struct vcpu *v, const struct open_pair *begin,
		   const struct part_span *from)
{
	struct xvt_span span = { .kind = begin->kind == PART_IRQ_ENTRY ? "irq" : "softirq",
				 .pid = v->pid,
				 .depth = v->depth + 1 };

	irq_describe(begin, span.name, sizeof(span.name));
	return give(a, v, from, &span);
}

static int run(struct xvt_analyze *a, struct vcpu *v, const struct open_pair *begin,
	       const struct part_span *from)
{
	struct xvt_span span = { .kind = "task", .pid = v->pid };

	xvt_text_clean(span.name, sizeof(span.name), begin->text,
		       strnlen(begin->text, sizeof(begin->text)));
	return give(a, v, from, &span);
}

static int wait(struct xvt_analyze *a, struct vcpu *v, const struct guest_event *ev,
		const struct part_span *from)
{
	struct xvt_span span = { .kind = "wait", .pid = ev->pid };

	if (!from)
		return 0;
	xvt_text_clean(span.name, sizeof(span.name), ev->text, strnlen(ev->text, sizeof(ev->text)));
	return give(a, v, from, &span);
}

static int end(struct xvt_analyze *a)
{
	(void)a;
	return 0;
}

const struct analysis analysis_spans = {
	.bit = XVT_ANALYZE_SPANS,
	.name = "spans",
	.handler = handler,
	.run = run,
	.wait = wait,
	.end = end,
};
