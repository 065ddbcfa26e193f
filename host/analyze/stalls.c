// SPDX-License-Identifier: GPL-2.0
/* stalls.c - times in which a guest wanted to run and did not, each with its cause. */
#include "analyze/parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

/* When there are twice as many, the shorter half of them is left out. */
#define STALLS_MOST 32768u

static uint64_t length(const struct xvt_stall *s)
{
	return s->end_ns - s->begin_ns;
}

/* The longest first. */
static int compare(const void *a, const void *b)
{
	const struct xvt_stall *l = a, *r = b;

	if (length(l) != length(r))
		return length(l) > length(r) ? -1 : 1;
	if (l->begin_ns != r->begin_ns)
		return l->begin_ns < r->begin_ns ? -1 : 1;
	return l->ring->number < r->ring->number ? -1 : l->ring->number > r->ring->number;
}

const struct occupant *interval_most(const struct interval *i, bool *untold)
{
	const struct occupant *most = NULL, *others = NULL;

	for (uint32_t k = 0; k < i->count; k++) {
		if (i->occupants[k].thread == HOST_THREAD_OTHERS)
			others = &i->occupants[k];
		else if (!most || i->occupants[k].ns > most->ns)
			most = &i->occupants[k];
	}
	*untold = most && others && others->ns > most->ns;
	return most;
}

static void set_occupants(struct xvt_analyze *a, struct xvt_stall *s, const struct interval *i)
{
	bool untold;
	const struct occupant *most = interval_most(i, &untold);

	if (!most)
		return;
	if (untold)
		s->verdict = XVT_UNTOLD;
	s->first = a->host_threads.v[i->first];
	s->last = a->host_threads.v[i->last];
	s->most = a->host_threads.v[most->thread];
	s->most_ns = most->ns < length(s) ? most->ns : length(s);
}

static void set_cause(struct xvt_analyze *a, struct xvt_stall *s, const struct vcpu *v,
		      const struct interval *i)
{
	static const enum xvt_cause causes[] = {
		[OFF_PREEMPTED] = XVT_CAUSE_PREEMPTED,
		[OFF_ASLEEP] = XVT_CAUSE_SLEEPS,
		[OFF_BLOCKED] = XVT_CAUSE_BLOCKED,
		[OFF_STOPPED] = XVT_CAUSE_STOPPED,
	};
	const bool mostly_waits =
		i->off && i->woken_ns && i->end_ns - i->woken_ns > (i->end_ns - i->begin_ns) / 2;

	set_occupants(a, s, i);
	if (i->off && i->waker != HOST_THREAD_MISSING) {
		s->waker = a->host_threads.v[i->waker];
		s->waker_irq = i->waker_irq;
	}
	if (guest_was_paused(a, v, i->begin_ns, i->end_ns))
		s->cause = XVT_CAUSE_PAUSED;
	else
		s->cause = mostly_waits ? XVT_CAUSE_WAITS : causes[i->off];
	if (s->cause != XVT_CAUSE_PREEMPTED && s->cause != XVT_CAUSE_WAITS)
		s->verdict = XVT_PROVEN;
	else if (s->most && s->most->tid == -1)
		s->verdict = verdict_of_none(a);
}

static int add_stall(struct xvt_analyze *a, const struct vcpu *v, const struct interval *i)
{
	const struct wanting *w = &i->wanting;
	struct xvt_stall *s;

	if (a->stall_count == 2 * (a->options.stalls_most ? a->options.stalls_most : STALLS_MOST)) {
		qsort(a->stalls, a->stall_count, sizeof(*s), compare);
		a->stall_count /= 2;
		a->stalls_left_out += a->stall_count;
	}
	if (xvt_grow(&a->stalls, &a->stall_room, a->stall_count + 1, sizeof(*s)))
		return -ENOMEM;
	s = &a->stalls[a->stall_count++];
	*s = (struct xvt_stall){ .begin_ns = w->begin_ns,
				 .end_ns = i->end_ns,
				 .bound_ns = v->last_bound_ns,
				 .ring = v->ring,
				 .shares = v->shares,
				 .open = i->open,
				 .guest = w->guest,
				 .pid = w->pid };
	xvt_text_clean(s->task, sizeof(s->task), w->comm, strnlen(w->comm, sizeof(w->comm)));
	set_cause(a, s, v, i);
	return 0;
}

static int interval(struct xvt_analyze *a, struct vcpu *v, const struct interval *i)
{
	const struct wanting *w = &i->wanting;
	const bool untold = interval_is_untold(i);
	const uint64_t ns = i->end_ns - (untold ? i->begin_ns : w->begin_ns);
	struct xvt_line *line;
	int err;

	told_interval(a, v, i);
	if ((!untold && !w->wanted) || !part_wants_interval(a, i))
		return 0;
	line = line_of(a, XVT_ANALYZE_STALLS, "stalls", v->ring->machine, v, NULL, "stalls");
	if (!line)
		return -ENOMEM;
	if (untold) {
		line->untold++;
		line->untold_ns += ns;
		return 0;
	}
	if (ns < a->options.stall_min_ns)
		return 0;
	err = xvt_figure_add(&line->wall, ns, w->begin_ns, v->ring->number, a->host.bound_ns);
	return err ? err : add_stall(a, v, i);
}

static int end(struct xvt_analyze *a)
{
	if (a->stall_count)
		qsort(a->stalls, a->stall_count, sizeof(*a->stalls), compare);
	for (size_t i = 0; i < a->vcpu_count; i++) {
		struct vcpu *v = a->list[i];
		struct xvt_line *line;

		if (!v->wanted)
			continue;
		line = line_of(a, XVT_ANALYZE_STALLS, "stalls", v->ring->machine, v, NULL,
			       "stalls");
		if (!line)
			return -ENOMEM;
		line->shares = v->shares;
		if (!told_judge(a, v, line, a->options.stall_min_ns))
			continue;
		/* Those that are there are stalls of handlers. */
		if (line->wall.n && !a->guests[v->ring->machine->number].switches)
			line_lacks(a, line, NEEDS_SWITCHES);
	}
	return 0;
}

const struct analysis analysis_stalls = {
	.bit = XVT_ANALYZE_STALLS,
	.name = "stalls",
	.interval = interval,
	.end = end,
};
