// SPDX-License-Identifier: GPL-2.0
/*
 * timer.c - how late the guests' timers were: the time at which hrtimer_start said that a timer is
 * due, and that at which its function was called. Both are of the same clock of the guest, so no
 * bound is in their difference. What the host took is that of as long a time before the call.
 */
#include "analyze/parts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Timers of a machine, by their addresses. Beyond this, nothing is told of others. */
#define TIMERS_MOST (1u << 20)

struct timer {
	uint64_t address;      /* 0: none */
	uint64_t age;	       /* that of the machine's timers, or it is not set */
	int64_t due_ns;	       /* by the guest's clock */
	uint64_t ns, bound_ns; /* of its start */
	const struct xvtrace_ring *ring;
};

struct timers {
	struct timer *v;
	size_t count, room;
	uint64_t age;	    /* grows when all are forgotten */
	bool starts, calls; /* there are some */
	uint64_t no_begin;
};

static int begin(struct xvt_analyze *a)
{
	a->timers = calloc((size_t)a->info->machines + 1, sizeof(*a->timers));
	for (unsigned int i = 0; a->timers && i < a->info->machines; i++)
		a->timers[i].age = 1;
	return a->timers ? 0 : -ENOMEM;
}

static void fini(struct xvt_analyze *a)
{
	for (unsigned int i = 0; a->timers && i < a->info->machines; i++)
		free(a->timers[i].v);
	free(a->timers);
}

void timer_forget(struct xvt_analyze *a, const struct xvtrace_machine *machine)
{
	if (a->timers)
		a->timers[machine->number].age++;
}

static struct timer *slot_of(const struct timers *ts, uint64_t address)
{
	size_t at = (address * 0x9e3779b97f4a7c15ull >> 20) & (ts->room - 1);

	while (ts->v[at].address && ts->v[at].address != address)
		at = (at + 1) & (ts->room - 1);
	return &ts->v[at];
}

static int grow(struct timers *ts)
{
	struct timers more = *ts;

	if (ts->room > 2 * ts->count)
		return 0;
	more.room = ts->room ? 2 * ts->room : 256;
	more.v = calloc(more.room, sizeof(*more.v));
	if (!more.v)
		return -ENOMEM;
	for (size_t i = 0; i < ts->room; i++)
		if (ts->v[i].address)
			*slot_of(&more, ts->v[i].address) = ts->v[i];
	free(ts->v);
	*ts = more;
	return 0;
}

static int start(struct timers *ts, uint64_t address, int64_t due_ns,
		 const struct xvtrace_event *ev)
{
	struct timer *t;

	if (!address || ts->count == TIMERS_MOST)
		return 0;
	if (grow(ts))
		return -ENOMEM;
	t = slot_of(ts, address);
	ts->count += !t->address;
	*t = (struct timer){ address, ts->age, due_ns, ev->ns, ev->bound_ns, ev->ring };
	return 0;
}

/* Whether it may have been called, cancelled or set anew since: also where the LOST record is
 * behind the event. */
static bool is_lost(const struct xvt_analyze *a, const struct timer *t,
		    const struct xvtrace_event *ev)
{
	return lost_between(a, ev->machine, (struct xvtrace_point){ t->ring, t->ns, t->bound_ns },
			    (struct xvtrace_point){ ev->ring, ev->ns, ev->bound_ns });
}

static void name(const struct part_type *t, const struct xvtrace_event *ev, char *to, size_t size)
{
	const struct xvtrace_field *f = t->field[TIMER_FUNCTION];
	const uint64_t address = f ? part_value(ev, f) : 0;
	const char *symbol = address ? xvtrace_event_symbol(ev, address) : NULL;

	if (symbol)
		snprintf(to, size, "%s", symbol);
	else
		snprintf(to, size, "0x%" PRIx64, address);
}

int timer_event(struct xvt_analyze *a, const struct part_type *t, const struct xvtrace_event *ev,
		struct guest_event *e)
{
	struct timers *ts = &a->timers[ev->machine->number];
	const uint64_t address = part_number(ev, t, TIMER_ADDRESS);
	struct timer *of;
	int64_t late_ns;

	ts->starts |= t->kind == PART_TIMER_START;
	ts->calls |= t->kind == PART_TIMER;
	if (t->kind == PART_TIMER_START)
		return start(ts, address, (int64_t)part_number(ev, t, TIMER_NS), ev);
	of = ts->room && address ? slot_of(ts, address) : NULL;
	if (!of || of->age != ts->age || is_lost(a, of, ev)) {
		ts->no_begin += t->kind == PART_TIMER && part_wants_end(a, ev->ns);
		return 0;
	}
	of->age = 0;
	if (t->kind == PART_TIMER_CANCEL)
		return 0;
	/* A timer with slack may be early. */
	if (__builtin_sub_overflow((int64_t)part_number(ev, t, TIMER_NS), of->due_ns, &late_ns) ||
	    late_ns < 0)
		late_ns = 0;
	if ((uint64_t)late_ns >= ev->ns)
		return 0;
	e->woken_ns = ev->ns - (uint64_t)late_ns;
	e->woken_bound_ns = e->bound_ns;
	name(t, ev, e->text, sizeof(e->text));
	return 1;
}

static int timer(struct xvt_analyze *a, struct vcpu *v, const struct guest_event *ev,
		 const struct part_span *span)
{
	const struct xvtrace_machine *m = v->ring->machine;
	struct part_span s = *span;
	struct xvt_line *lines[2];
	char function[96];
	int err = 0;

	/* The task that was interrupted. */
	if (s.end_ns - s.begin_ns < a->options.min_ns || !part_wants_task(a, v->pid, v->comm))
		return 0;
	s.bound_ns = 0;
	xvt_text_clean(function, sizeof(function), ev->text, strnlen(ev->text, sizeof(ev->text)));
	lines[0] = line_of(a, XVT_ANALYZE_TIMER, "timer", m, NULL, NULL, "late, all timers");
	lines[1] = line_of(a, XVT_ANALYZE_TIMER, "timer_of", m, NULL, NULL, function);
	for (int i = 0; i < 2 && !err; i++) {
		if (!lines[i])
			return -ENOMEM;
		lines[i]->shares |= v->shares;
		err = line_add(lines[i], v, &s);
	}
	return err;
}

static int end(struct xvt_analyze *a)
{
	for (unsigned int i = 0; i < a->info->machines; i++) {
		const struct xvtrace_machine *m = a->guests[i].machine;
		const struct timers *ts = &a->timers[i];
		struct xvt_line *line;
		bool wanted = false;

		for (size_t k = 0; k < a->vcpu_count; k++)
			wanted |= a->list[k]->ring->machine == m && a->list[k]->wanted;
		if (!wanted)
			continue;
		line = line_of(a, XVT_ANALYZE_TIMER, "timer", m, NULL, NULL, "late, all timers");
		if (!line)
			return -ENOMEM;
		line->no_begin = ts->no_begin;
		if (line->wall.n)
			continue;
		if (!ts->starts || !ts->calls) {
			line_lacks(a, line,
				   "the guest's hrtimer_start and hrtimer_expire_entry (record "
				   "-e timer)");
		} else if (ts->no_begin) {
			line->verdict = XVT_UNTOLD;
		}
	}
	return 0;
}

const struct analysis analysis_timer = {
	.bit = XVT_ANALYZE_TIMER,
	.name = "timer",
	.begin = begin,
	.timer = timer,
	.end = end,
	.fini = fini,
};
