// SPDX-License-Identifier: GPL-2.0
/* text.c - the path as a tree: what was first stands first, and below each task or handler are its
 * parts. Times are as report prints them, so that --around takes them. */
#include "path/parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void put_length(struct xvt_out *o, uint64_t ns)
{
	xvt_out_printf(o, " %11.1f", (double)ns / 1000);
}

const char *xvt_path_words(const struct xvt_path_step *s)
{
	static const char *const kinds[] = { "runs",	     "waits for a CPU",	  "is pre-empted",
					     "handler runs", "waits for its CPU", "on its way" };

	return kinds[s->kind];
}

static void put_edge(struct xvt_out *o, const struct xvt_path_step *s)
{
	static const char *const edges[] = {
		[XVT_PATH_WAKER] = "woken by",
		[XVT_PATH_RAISE] = "raised (softirq_raise)",
		[XVT_PATH_INJECTED] = "raised (APIC id, vector) by",
		[XVT_PATH_VCPU_WOKEN] = "its idle vCPU woken by",
		[XVT_PATH_VCPU_THREAD] = "woken by the guest on",
		[XVT_PATH_KEY] = "sent (key) by",
		[XVT_PATH_LAST_IRQ] = "the interrupt before on this CPU",
		[XVT_PATH_LAST_OF_VMM] = "of the VMM's threads ran last:",
		[XVT_PATH_LAST_OF_VCPU] = "woken by the last vCPU on",
		[XVT_PATH_ONE_OF_MANY] = "the last of several that raised it:",
	};
	const char *edge = s->kind == XVT_PATH_PREEMPTED ? "by" : edges[s->edge];

	if (edge)
		xvt_out_printf(o, ", %s%s%s", edge, s->by[0] ? " " : "", s->by);
	if (s->aside[0])
		xvt_out_printf(o, ";\n%55snot told: %s", "", s->aside);
}

static bool same_place(const struct xvt_path_step *a, const struct xvt_path_step *b)
{
	return a->ring->machine == b->ring->machine && strcmp(a->task, b->task) == 0;
}

static void put_step(struct xvt_out *o, const struct xvt_path_step *s, uint64_t total_ns,
		     bool last_of_place)
{
	const uint64_t ns = s->end_ns - s->begin_ns;

	xvt_out_printf(o, "%6.1f%%", total_ns ? 100 * (double)ns / (double)total_ns : 0);
	put_length(o, ns);
	if (s->taken_known) {
		put_length(o, s->taken_least_ns);
		put_length(o, ns - s->taken_least_ns);
	} else {
		xvt_out_printf(o, " %11s %11s", "-", "-");
	}
	xvt_out_printf(o, "  %-6s  %s %s", s->grade == XVT_PATH_PROVEN ? "proven" : "GUESS",
		       last_of_place ? "└" : "├", xvt_path_words(s));
	if (!s->ring->machine->host && s->kind != XVT_PATH_MESSAGE)
		xvt_out_printf(o, " on %u%s", s->ring->cpu, s->shares ? "*" : "");
	put_edge(o, s);
	xvt_out_char(o, '\n');
}

static void put_heading(const struct xvt_path *p, struct xvt_out *o, uint64_t begin_ns,
			uint64_t bound_ns)
{
	const uint64_t total_ns = p->options.at_ns - begin_ns;

	xvt_out_printf(o, "PATH of %.1f us", (double)total_ns / 1000);
	if (bound_ns < XVTRACE_NO_BOUND) {
		xvt_out_str(o, ", +-");
		xvt_out_duration(o, bound_ns);
	}
	xvt_out_str(o, ", from ");
	xvt_out_time(o, begin_ns);
	xvt_out_str(o, " to ");
	xvt_out_time(o, p->options.at_ns);
	xvt_out_str(o, "\n  SHARE          US       TAKEN         OWN  GRADE   WHAT; the first "
		       "stands first\n");
}

static void put_end(const struct xvt_path *p, struct xvt_out *o)
{
	static const char *const ends[] = { "begins at", "begins with",
					    "stops:", "stops at a guess:" };

	xvt_out_printf(o, "The path %s %s.\n", ends[p->end], p->why);
	if (p->needs)
		xvt_out_printf(o, "What would tell: %s.\n", p->needs);
	if (p->end == XVT_PATH_END_GUESS)
		xvt_out_str(o, "--guess goes on beyond guesses.\n");
	if (p->options.from_ns && p->at.ns > p->options.from_ns) {
		xvt_out_printf(o, "Before it, %.1f us are not explained.\n",
			       (double)(p->at.ns - p->options.from_ns) / 1000);
	}
}

void xvt_path_text(struct xvt_path *p, struct xvt_out *o)
{
	const uint64_t begin_ns = p->at.ns;
	const struct xvt_path_step *before = NULL;

	put_heading(p, o, begin_ns, p->end_bound_ns + p->at.bound_ns);
	put_end(p, o);
	for (size_t i = p->step_count; i-- > 0;) {
		const struct xvt_path_step *s = &p->steps[i];
		const bool last = !i || !same_place(s, &p->steps[i - 1]);

		if (!before || !same_place(before, s))
			xvt_out_printf(o, "%53s%s: %s\n", "", s->ring->machine->name, s->task);
		put_step(o, s, p->options.at_ns - begin_ns, last);
		before = s;
	}
}
