// SPDX-License-Identifier: GPL-2.0
/* text.c - the result as tables. Times are as report prints them, so that --around takes them. */
#include "analyze/parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define BAR 40u

static void duration(char *to, size_t size, uint64_t ns)
{
	static const struct {
		uint64_t ns;
		const char *unit;
	} units[] = { { 1000000000, "s" }, { 1000000, "ms" }, { 1000, "us" }, { 1, "ns" } };
	unsigned int u = 0, digits;
	double v;

	while (u < 3 && ns < units[u].ns)
		u++;
	v = (double)ns / (double)units[u].ns;
	digits = u == 3 || v >= 1000 ? 0 : v < 10 ? 3 : v < 100 ? 2 : 1;
	snprintf(to, size, "%.*f %s", (int)digits, v, units[u].unit);
}

static void put_duration(struct xvt_out *o, uint64_t ns, int width)
{
	char text[32];

	duration(text, sizeof(text), ns);
	xvt_out_printf(o, " %*s", width, text);
}

static void put_bound(struct xvt_out *o, uint64_t ns, int width)
{
	if (ns < XVT_FIGURE_NO_BOUND)
		put_duration(o, ns, width);
	else
		xvt_out_printf(o, " %*s", width, "-");
}

static void put_place(struct xvt_out *o, const struct xvtrace_machine *m,
		      const struct xvtrace_ring *ring, bool shares, int width)
{
	char text[96];

	if (ring)
		snprintf(text, sizeof(text), "%s:%u%s", m->name, ring->cpu, shares ? "*" : "");
	else
		snprintf(text, sizeof(text), "%s%s", m->name, shares ? "*" : "");
	xvt_out_printf(o, "%-*s", width, text);
}

/* -- stalls ---------------------------------------------------------------------------- */

static void put_thread(struct xvt_out *o, const struct xvt_host_thread *thread)
{
	xvt_out_str(o, thread->name);
	if (thread->recorder)
		xvt_out_str(o, " (the recording itself)");
}

static void put_waker(struct xvt_out *o, const struct xvt_stall *s)
{
	if (!s->waker)
		return;
	xvt_out_str(o, s->waker_irq ? ", woken by an interrupt in " : ", woken by ");
	put_thread(o, s->waker);
}

static void put_occupants(struct xvt_out *o, const struct xvt_stall *s)
{
	char text[32];

	if (!s->most)
		return;
	put_thread(o, s->most);
	duration(text, sizeof(text), s->most_ns);
	xvt_out_printf(o, " %s (%" PRIu64 "%%)", text,
		       s->most_ns * 100 / (s->end_ns - s->begin_ns));
	if (s->first == s->most && s->last == s->most)
		return;
	xvt_out_str(o, "; first ");
	put_thread(o, s->first);
	xvt_out_str(o, ", last ");
	put_thread(o, s->last);
}

static void put_cause(struct xvt_out *o, const struct xvt_stall *s)
{
	switch (s->cause) {
	case XVT_CAUSE_PREEMPTED:
		xvt_out_str(o, "preempted by ");
		put_occupants(o, s);
		break;
	case XVT_CAUSE_WAITS:
		xvt_out_str(o, "waited for a CPU, which had ");
		put_occupants(o, s);
		put_waker(o, s);
		break;
	case XVT_CAUSE_SLEEPS:
		xvt_out_str(o, "slept in the VMM");
		put_waker(o, s);
		break;
	case XVT_CAUSE_BLOCKED:
		xvt_out_str(o, "blocked in the host's kernel (D: disk, page)");
		put_waker(o, s);
		break;
	case XVT_CAUSE_STOPPED:
		xvt_out_str(o, "stopped by a signal or a debugger (T)");
		put_waker(o, s);
		break;
	case XVT_CAUSE_PAUSED:
		xvt_out_str(o, "paused by the VMM");
		break;
	}
	if (s->open)
		xvt_out_str(o, "; it goes on at the end of what was read");
}

static void put_stall(struct xvt_out *o, const struct xvt_stall *s)
{
	put_duration(o, s->end_ns - s->begin_ns, 9);
	xvt_out_str(o, "  ");
	xvt_out_time(o, s->begin_ns);
	xvt_out_str(o, "  ");
	put_place(o, s->ring->machine, s->ring, s->shares, 8);
	xvt_out_printf(o, " %-8s ", s->guest);
	if (s->pid > 0)
		xvt_out_printf(o, "%s-%d", s->task, s->pid);
	else
		xvt_out_str(o, "-");
	xvt_out_str(o, ": ");
	put_cause(o, s);
	if (s->verdict == XVT_NOT_RECORDED)
		xvt_out_str(o, "; not recorded: record --host sched");
	else if (s->verdict == XVT_NOT_IN_RANGE)
		xvt_out_str(o, "; before this range, or not recorded: record --host sched");
	else if (s->verdict == XVT_UNTOLD)
		xvt_out_str(o, "; cannot be told: there were too many threads");
	xvt_out_char(o, '\n');
}

static void put_stalls(struct xvt_analyze *a, const struct xvt_analyze_look *look,
		       struct xvt_out *o)
{
	const size_t n = look->top && look->top < a->stall_count ? look->top : a->stall_count;
	char text[32];

	duration(text, sizeof(text), a->options.stall_min_ns);
	xvt_out_printf(o, "STALLS of %s and more: %zu%s\n", text, a->stall_count,
		       n < a->stall_count ? ", the longest ones (--top)" : "");
	if (n)
		xvt_out_str(o, "   LENGTH  BEGIN                 VCPU     GUEST    TASK: CAUSE\n");
	for (size_t i = 0; i < n; i++)
		put_stall(o, &a->stalls[i]);
	xvt_out_char(o, '\n');
}

/* -- losses ---------------------------------------------------------------------------- */

static void put_hist(struct xvt_out *o, const struct xvt_figure *f);

static void put_holes(struct xvt_out *o, const struct xvt_losses *l)
{
	if (l->holes.n) {
		xvt_out_printf(o, " %7" PRIu64, l->holes.n + l->holes_open);
		put_duration(o, l->holes.sum_ns, 8);
		xvt_out_printf(o, " %5.1f%%",
			       l->span_ns ? (double)l->holes.sum_ns * 100 / (double)l->span_ns : 0);
		put_duration(o, l->holes.max_ns, 8);
		xvt_out_str(o, "  ");
		xvt_out_time(o, l->holes.max_at_ns);
	} else {
		/* Those whose begin is not known have no length. */
		xvt_out_printf(o, " %7" PRIu64 " %8s %6s %8s  %-15s", l->holes_open, "-", "-", "-",
			       "-");
	}
	xvt_out_printf(o, "  %s%s%s\n", xvt_verdict_name(l->verdict), l->why ? ": " : "",
		       l->why ? l->why : "");
}

static void put_causes(struct xvt_out *o, const struct xvt_losses *l)
{
	for (unsigned int i = 0; i < XVTRACE_CAUSES_MAX; i++) {
		const struct xvt_loss_cause *c = &l->by[i];
		const char *help = l->ring ? "" : xvt_loss_help(i, l->machine->host);

		if (!c->n && !l->counts.lost_by[i])
			continue;
		xvt_out_printf(o, "%9s%-11s %10" PRIu64, "", xvtrace_cause_name(i),
			       c->n ? c->n : l->counts.lost_by[i]);
		if (c->n) {
			xvt_out_str(o, ", first ");
			xvt_out_time(o, c->first_ns);
			xvt_out_str(o, ", last ");
			xvt_out_time(o, c->last_ns);
			xvt_out_printf(o, ", at most %" PRIu64 " at once at ", c->most);
			xvt_out_time(o, c->most_at_ns);
		}
		xvt_out_printf(o, "%s%s\n", help[0] ? ": " : "", help);
	}
}

static void put_loss(struct xvt_out *o, const struct xvt_losses *l, bool whole, bool hist)
{
	const struct xvtrace_counts *c = &l->counts;
	char text[96];

	if (l->ring)
		snprintf(text, sizeof(text), "%s:%u", l->machine->name, l->ring->cpu);
	else
		snprintf(text, sizeof(text), "%s", l->machine->name);
	xvt_out_printf(o, "%-9s", text);
	if (whole)
		xvt_out_printf(o,
			       "%11" PRIu64 " %11" PRIu64 " %9" PRIu64 " %11" PRIu64 " %9" PRIu64,
			       c->attempted, c->events, c->discarded, c->lost, c->in_flight);
	else
		xvt_out_printf(o, "%11s %11s %9s %11s %9s", "-", "-", "-", "-", "-");
	put_holes(o, l);
	put_causes(o, l);
	if (hist && l->holes.n)
		put_hist(o, &l->holes);
}

/* Rings that lost nothing have no line. */
static void put_losses(struct xvt_analyze *a, const struct xvt_analyze_look *look,
		       struct xvt_out *o)
{
	size_t of_machine = 0, left = 0;

	xvt_out_printf(o, "%-9s%11s %11s %9s %11s %9s %7s %8s %6s %8s  %-15s  %s\n", "RING",
		       "ATTEMPTED", "=DELIVERED", "+DISCARD", "+LOST", "+INFLIGHT", "HOLES", "SUM",
		       "SHARE", "LONGEST", "BEGIN OF IT", "VERDICT");
	for (size_t i = 0; i < a->loss_count; i++) {
		const struct xvt_losses *l = &a->losses[i];

		of_machine = l->ring ? of_machine : 0;
		if (l->ring && !l->counts.lost && !l->holes.n && !l->holes_open &&
		    (!l->why || !a->options.whole))
			continue;
		if (look->top && of_machine > look->top)
			left++;
		else
			put_loss(o, l, a->options.whole, look->hist);
		of_machine++;
	}
	if (left)
		xvt_out_printf(o, "%zu more rings (--top)\n", left);
	xvt_out_char(o, '\n');
}

/* -- lines ----------------------------------------------------------------------------- */

static void put_figure(struct xvt_out *o, struct xvt_figure *f)
{
	xvt_out_printf(o, " %8" PRIu64, f->n);
	put_duration(o, f->sum_ns, 8);
	put_duration(o, f->min_ns, 8);
	put_duration(o, xvt_figure_quantile(f, 500), 8);
	put_duration(o, xvt_figure_quantile(f, 990), 8);
	put_duration(o, xvt_figure_quantile(f, 999), 8);
	put_duration(o, f->max_ns, 8);
	xvt_out_str(o, "  ");
	xvt_out_time(o, f->max_at_ns);
	put_bound(o, xvt_figure_bound_median(f), 8);
	put_bound(o, f->bounds ? f->bound_most_ns : XVT_FIGURE_NO_BOUND, 8);
}

/* Own parts are the same at least and at most where no bound leaves anything open. */
static bool is_one(const struct xvt_line *l)
{
	return l->own_least.sum_ns == l->own_most.sum_ns && !l->shares;
}

static void put_own(struct xvt_out *o, struct xvt_line *l)
{
	if (!l->own_most.n) {
		xvt_out_printf(o, "%9s%-30s %8s\n", "", "  own", "-");
		return;
	}
	if (!l->shares) {
		xvt_out_printf(o, "%9s%-30s", "", is_one(l) ? "  own" : "  own, at least");
		put_figure(o, &l->own_least);
		xvt_out_char(o, '\n');
	}
	if (is_one(l))
		return;
	xvt_out_printf(o, "%9s%-30s", "", "  own, at most");
	put_figure(o, &l->own_most);
	xvt_out_char(o, '\n');
}

static void put_hist(struct xvt_out *o, const struct xvt_figure *f)
{
	uint64_t counts[XVT_FIGURE_POWERS], most = 1;
	const unsigned int n = xvt_figure_powers(f, counts);
	unsigned int first = 0;
	char text[32];

	while (first < n && !counts[first])
		first++;
	for (unsigned int i = first; i < n; i++)
		most = counts[i] > most ? counts[i] : most;
	for (unsigned int i = first; i < n; i++) {
		duration(text, sizeof(text), i ? 1ull << i : 0);
		xvt_out_printf(o, "%20s.. %8" PRIu64 " |", text, counts[i]);
		for (uint64_t k = 0; k < (counts[i] * BAR + most - 1) / most; k++)
			xvt_out_char(o, '#');
		xvt_out_char(o, '\n');
	}
}

/* A line is not recorded as a whole, or a part of its time is not. */
static void put_verdict(struct xvt_out *o, const struct xvt_line *l)
{
	xvt_out_printf(o, "  %s", xvt_verdict_name(l->verdict));
	if (l->verdict == XVT_NOT_IN_RANGE)
		xvt_out_str(o, ", or not recorded");
	if (l->verdict >= XVT_NOT_RECORDED && l->needs)
		xvt_out_printf(o, ": %s", l->needs);
	xvt_out_char(o, '\n');
}

static void put_count(struct xvt_out *o, const char *what, uint64_t n)
{
	if (n)
		xvt_out_printf(o, "%9s%-30s %8" PRIu64 "\n", "", what, n);
}

static void put_line(struct xvt_out *o, struct xvt_line *l, bool hist)
{
	const bool has_own = xvt_line_has_own(l);
	const char *by = strcmp(l->kind, "taken_by") == 0 ? "  by " : "";
	char text[160], sum[32];

	snprintf(text, sizeof(text), "%s%s%s", by, l->what,
		 l->thread && l->thread->recorder ? " (recording)" : "");
	put_place(o, l->machine, l->ring, l->shares, 8);
	xvt_out_printf(o, " %-30s", text);
	if (l->wall.n)
		put_figure(o, &l->wall);
	else
		xvt_out_printf(o, " %8u", 0);
	put_verdict(o, l);
	if (l->wall.n && has_own)
		put_own(o, l);
	if (l->untold) {
		duration(sum, sizeof(sum), l->untold_ns);
		xvt_out_printf(o, "%9s%-30s %8" PRIu64 " %8s\n", "", "  cannot be told", l->untold,
			       sum);
	}
	put_count(o, "  no end was found", l->no_end);
	put_count(o, "  no begin was found", l->no_begin);
	put_count(o, "  key used again before its end", l->repeated);
	if (hist && l->wall.n)
		put_hist(o, &l->wall);
}

static bool is_of_group(const struct xvt_line *a, const struct xvt_line *b)
{
	return a->analysis == b->analysis && a->machine == b->machine && a->ring == b->ring &&
	       strcmp(a->kind, b->kind) == 0;
}

static void put_lines(struct xvt_analyze *a, const struct xvt_analyze_look *look, struct xvt_out *o)
{
	size_t of_group = 0, left = 0;

	if (!a->lines.count) {
		if (a->options.analyses & ~(XVT_ANALYZE_STALLS | XVT_ANALYZE_LOSSES))
			xvt_out_str(o, "Nothing is in the trace of these vCPUs and times.\n");
		return;
	}
	xvt_out_printf(o, "%-39s %8s %8s %8s %8s %8s %8s %8s  %-15s %8s %8s  %s\n", "VCPU     WHAT",
		       "N", "SUM", "MIN", "P50", "P99", "P99.9", "MAX", "BEGIN OF MAX", "BOUND",
		       "WORST", "VERDICT");
	for (size_t i = 0; i < a->lines.count; i++) {
		struct xvt_line *l = a->lines.v[i];

		of_group = i && is_of_group(a->lines.v[i - 1], l) ? of_group + 1 : 0;
		if (look->top && of_group >= look->top)
			left++;
		else
			put_line(o, l, look->hist);
	}
	if (left)
		xvt_out_printf(o, "%zu more lines (--top)\n", left);
}

void xvt_analyze_text(struct xvt_analyze *a, const struct xvt_analyze_look *look, struct xvt_out *o)
{
	if (a->options.analyses & XVT_ANALYZE_STALLS)
		put_stalls(a, look, o);
	if (a->losses)
		put_losses(a, look, o);
	put_lines(a, look, o);
	if (a->impossible)
		xvt_out_printf(o,
			       "%" PRIu64 " events of guests lie, with their bounds, in times in "
			       "which the thread of their vCPU was off the CPU: a clock is wrong "
			       "(see xvtrace-verify(1))\n",
			       a->impossible);
	if (xvt_analyze_missing(a))
		xvt_out_printf(o,
			       "%" PRIu64 " switches of the host's CPUs are missing, and none of "
			       "them is counted as lost: the kernel left them out; times beside "
			       "them cannot be told\n",
			       xvt_analyze_missing(a));
}
