// SPDX-License-Identifier: GPL-2.0
/* json.c - the result as JSON, format xvtrace-analyze/1. */
#include "analyze/parts.h"

#include <inttypes.h>
#include <string.h>

static void put_name(struct xvt_out *o, const char *key, const char *text)
{
	xvt_out_printf(o, "\"%s\":", key);
	if (text)
		xvt_out_quoted(o, text, strlen(text));
	else
		xvt_out_str(o, "null");
}

static void put_u64(struct xvt_out *o, const char *key, uint64_t v)
{
	xvt_out_printf(o, ",\"%s\":%" PRIu64, key, v);
}

static void put_bool(struct xvt_out *o, const char *key, bool v)
{
	xvt_out_printf(o, ",\"%s\":%s", key, v ? "true" : "false");
}

static void put_bound(struct xvt_out *o, const char *key, uint64_t ns)
{
	if (ns < XVT_FIGURE_NO_BOUND)
		put_u64(o, key, ns);
	else
		xvt_out_printf(o, ",\"%s\":null", key);
}

static void put_place(struct xvt_out *o, const struct xvtrace_machine *m,
		      const struct xvtrace_ring *ring, bool shares)
{
	put_name(o, "vm", m->name);
	if (ring)
		put_u64(o, "cpu", ring->cpu);
	else
		xvt_out_str(o, ",\"cpu\":null");
	put_bool(o, "shared_thread", shares);
}

static void put_hist(struct xvt_out *o, const struct xvt_figure *f)
{
	uint64_t counts[XVT_FIGURE_POWERS];
	const unsigned int n = xvt_figure_powers(f, counts);
	bool more = false;

	xvt_out_str(o, ",\"hist\":[");
	for (unsigned int i = 0; i < n; i++) {
		if (!counts[i])
			continue;
		xvt_out_printf(o, "%s{\"from_ns\":%" PRIu64 ",\"n\":%" PRIu64 "}", more ? "," : "",
			       i ? (uint64_t)1 << i : 0, counts[i]);
		more = true;
	}
	xvt_out_char(o, ']');
}

static void put_figure(const struct xvt_analyze *a, struct xvt_out *o, const char *key,
		       struct xvt_figure *f, bool hist)
{
	const struct xvtrace_ring *ring = xvtrace_ring(a->trace, f->max_ring);

	if (!f->n) {
		xvt_out_printf(o, ",\"%s\":null", key);
		return;
	}
	xvt_out_printf(o, ",\"%s\":{\"n\":%" PRIu64, key, f->n);
	put_u64(o, "sum_ns", f->sum_ns);
	put_u64(o, "min_ns", f->min_ns);
	put_u64(o, "p50_ns", xvt_figure_quantile(f, 500));
	put_u64(o, "p99_ns", xvt_figure_quantile(f, 990));
	put_u64(o, "p99_9_ns", xvt_figure_quantile(f, 999));
	put_u64(o, "max_ns", f->max_ns);
	put_u64(o, "max_at_ns", f->max_at_ns);
	if (ring)
		put_u64(o, "max_cpu", ring->cpu);
	put_bool(o, "exact", xvt_figure_is_exact(f));
	if (strcmp(key, "wall") == 0) {
		put_bound(o, "bound_ns_median", xvt_figure_bound_median(f));
		put_bound(o, "bound_ns_max", f->bounds ? f->bound_most_ns : XVT_FIGURE_NO_BOUND);
		put_u64(o, "unbounded", f->unbounded);
	}
	if (hist)
		put_hist(o, f);
	xvt_out_char(o, '}');
}

static void put_thread(struct xvt_out *o, const char *key, const struct xvt_host_thread *thread)
{
	xvt_out_char(o, ',');
	put_name(o, key, thread && thread->tid >= 0 ? thread->name : NULL);
}

static void put_stall(struct xvt_out *o, const struct xvt_stall *s)
{
	xvt_out_char(o, '{');
	put_place(o, s->ring->machine, s->ring, s->shares);
	put_u64(o, "begin_ns", s->begin_ns);
	put_u64(o, "end_ns", s->end_ns);
	put_u64(o, "ns", s->end_ns - s->begin_ns);
	put_bound(o, "bound_ns", s->bound_ns);
	put_bool(o, "open", s->open);
	xvt_out_char(o, ',');
	put_name(o, "guest", s->guest);
	xvt_out_printf(o, ",\"pid\":%d,", s->pid);
	put_name(o, "task", s->task);
	xvt_out_char(o, ',');
	put_name(o, "cause", xvt_cause_name(s->cause));
	xvt_out_char(o, ',');
	put_name(o, "verdict", xvt_verdict_name(s->verdict));
	put_thread(o, "first", s->first);
	put_thread(o, "most", s->most);
	put_u64(o, "most_ns", s->most_ns);
	put_bool(o, "most_recorder", s->most && s->most->recorder);
	put_thread(o, "last", s->last);
	put_thread(o, "waker", s->waker);
	put_bool(o, "waker_irq", s->waker_irq);
	xvt_out_char(o, '}');
}

static void put_counts(struct xvt_out *o, const struct xvtrace_counts *c)
{
	put_u64(o, "attempted", c->attempted);
	put_u64(o, "delivered", c->events);
	put_u64(o, "discarded", c->discarded);
	put_u64(o, "lost", c->lost);
	put_u64(o, "in_flight", c->in_flight);
}

static void put_causes(struct xvt_out *o, const struct xvt_losses *l)
{
	bool more = false;

	xvt_out_str(o, ",\"causes\":[");
	for (unsigned int i = 0; i < XVTRACE_CAUSES_MAX; i++) {
		const struct xvt_loss_cause *c = &l->by[i];
		const char *helps = xvt_loss_help(i, l->machine->host);

		if (!c->n && !l->counts.lost_by[i])
			continue;
		xvt_out_str(o, more ? ",{" : "{");
		more = true;
		put_name(o, "cause", xvtrace_cause_name(i));
		put_u64(o, "counted", l->counts.lost_by[i]);
		put_u64(o, "n", c->n);
		put_u64(o, "first_ns", c->first_ns);
		put_u64(o, "last_ns", c->last_ns);
		put_u64(o, "most", c->most);
		put_u64(o, "most_at_ns", c->most_at_ns);
		xvt_out_char(o, ',');
		put_name(o, "helps", helps[0] ? helps : NULL);
		xvt_out_char(o, '}');
	}
	xvt_out_char(o, ']');
}

static void put_loss(const struct xvt_analyze *a, struct xvt_out *o, struct xvt_losses *l,
		     bool hist)
{
	xvt_out_char(o, '{');
	put_place(o, l->machine, l->ring, false);
	if (a->options.whole)
		put_counts(o, &l->counts);
	put_causes(o, l);
	put_figure(a, o, "holes", &l->holes, hist);
	put_u64(o, "holes_open", l->holes_open);
	put_u64(o, "span_ns", l->span_ns);
	xvt_out_char(o, ',');
	put_name(o, "verdict", xvt_verdict_name(l->verdict));
	xvt_out_char(o, ',');
	put_name(o, "why", l->why);
	xvt_out_char(o, '}');
}

static const char *name_of(enum xvt_analysis analysis)
{
	return analysis == XVT_ANALYZE_CPU	? "cpu"
	       : analysis == XVT_ANALYZE_STALLS ? "stalls"
	       : analysis == XVT_ANALYZE_SCHED	? "sched"
	       : analysis == XVT_ANALYZE_IRQ	? "irq"
	       : analysis == XVT_ANALYZE_TIMER	? "timer"
						: "latency";
}

static void put_line(const struct xvt_analyze *a, struct xvt_out *o, struct xvt_line *l, bool hist)
{
	const bool has_own = xvt_line_has_own(l);

	xvt_out_char(o, '{');
	put_name(o, "analysis", name_of(l->analysis));
	xvt_out_char(o, ',');
	put_name(o, "kind", l->kind);
	xvt_out_char(o, ',');
	put_place(o, l->machine, l->ring, l->shares);
	xvt_out_char(o, ',');
	put_name(o, "what", l->what);
	if (l->thread) {
		xvt_out_printf(o, ",\"tid\":%d", l->thread->tid);
		put_bool(o, "recorder", l->thread->recorder);
	}
	if (l->to) {
		xvt_out_char(o, ',');
		put_name(o, "to", l->to->name);
	}
	put_figure(a, o, "wall", &l->wall, hist);
	if (has_own) {
		put_figure(a, o, "own_least", l->shares ? &(struct xvt_figure){ 0 } : &l->own_least,
			   hist);
		put_figure(a, o, "own_most", &l->own_most, hist);
		put_u64(o, "own_unknown", l->own_unknown);
	}
	put_u64(o, "untold", l->untold);
	put_u64(o, "untold_ns", l->untold_ns);
	if (xvt_line_has_pairs(l)) {
		put_u64(o, "no_end", l->no_end);
		put_u64(o, "no_begin", l->no_begin);
		put_u64(o, "repeated", l->repeated);
	}
	xvt_out_char(o, ',');
	put_name(o, "verdict", xvt_verdict_name(l->verdict));
	xvt_out_char(o, ',');
	put_name(o, "needs", l->needs);
	xvt_out_char(o, '}');
}

void xvt_analyze_json(struct xvt_analyze *a, const struct xvt_analyze_look *look, struct xvt_out *o)
{
	const size_t n = look->top && look->top < a->stall_count ? look->top : a->stall_count;

	xvt_out_str(o, "{\"format\":\"xvtrace-analyze/1\"");
	put_u64(o, "min_ns", a->options.min_ns);
	put_u64(o, "stall_min_ns", a->options.stall_min_ns);
	put_u64(o, "impossible", a->impossible);
	put_u64(o, "missing_switches", xvt_analyze_missing(a));
	put_u64(o, "stalls_left_out", a->stalls_left_out);
	xvt_out_str(o, ",\"stalls\":[");
	for (size_t i = 0; i < n; i++) {
		xvt_out_str(o, i ? ",\n" : "\n");
		put_stall(o, &a->stalls[i]);
	}
	xvt_out_str(o, "],\"losses\":[");
	for (size_t i = 0; i < a->loss_count; i++) {
		xvt_out_str(o, i ? ",\n" : "\n");
		put_loss(a, o, &a->losses[i], look->hist);
	}
	xvt_out_str(o, "],\"lines\":[");
	for (size_t i = 0; i < a->lines.count; i++) {
		xvt_out_str(o, i ? ",\n" : "\n");
		put_line(a, o, a->lines.v[i], look->hist);
	}
	xvt_out_str(o, "]}\n");
}
