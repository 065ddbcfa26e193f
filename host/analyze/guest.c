// SPDX-License-Identifier: GPL-2.0
/* guest.c - events of guests' rings, losses there, and states of machines, for their vCPUs. */
#include "analyze/parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

static struct guest_event begin(const struct part_type *t, const struct xvtrace_event *ev)
{
	const bool bounded = ev->bound_ns < XVTRACE_NO_BOUND;

	return (struct guest_event){
		.kind = t ? t->kind : PART_OTHER,
		.ns = ev->ns,
		.bound_ns = bounded ? ev->bound_ns : 0,
		.doubt = !bounded || ev->flags & (XVTRACE_UNCONFIRMED | XVTRACE_CLOCK),
	};
}

/* -- tasks that were woken ------------------------------------------------------------- */

static struct woken *slot_of(const struct guest *g, int pid)
{
	size_t at = (uint32_t)pid * 2654435769u & (g->woken_room - 1);

	while (g->woken[at].pid && g->woken[at].pid != pid)
		at = (at + 1) & (g->woken_room - 1);
	return &g->woken[at];
}

/* Entries of tasks that do not wait any more are kept: their number is that of tasks. */
static int grow(struct guest *g)
{
	struct guest more = *g;

	if (g->woken_room > 2 * g->woken_count)
		return 0;
	more.woken_room = g->woken_room ? 2 * g->woken_room : 256;
	more.woken = calloc(more.woken_room, sizeof(*more.woken));
	if (!more.woken)
		return -ENOMEM;
	for (size_t i = 0; i < g->woken_room; i++)
		if (g->woken[i].pid)
			*slot_of(&more, g->woken[i].pid) = g->woken[i];
	free(g->woken);
	*g = more;
	return 0;
}

/* The task's entry. NULL without memory. */
static struct woken *entry_of(struct guest *g, int pid)
{
	struct woken *w;

	if (grow(g))
		return NULL;
	w = slot_of(g, pid);
	g->woken_count += !w->pid;
	w->pid = pid;
	return w;
}

/*
 * The first of several records of a wake-up counts: waking, then wakeup. Linux records one waking
 * for each sleep: so of two, one that by its bound may be from before the task left is that of the
 * sleep before, and so is one from before a loss.
 */
static int note_woken(struct guest *g, int pid, unsigned int ring, const struct guest_event *ev)
{
	struct woken *w;

	if (pid <= 0)
		return 0;
	w = entry_of(g, pid);
	if (!w)
		return -ENOMEM;
	if (w->state == WOKEN_NOTED && w->doubts == g->doubts && !w->open)
		return 0;
	w->state = WOKEN_NOTED;
	w->doubts = g->doubts;
	w->open = ev->doubt || (ring != w->left_ring && w->left_ns &&
				(ev->ns < w->left_ns || ev->ns - w->left_ns < ev->bound_ns));
	w->ns = ev->ns;
	w->bound_ns = ev->bound_ns;
	w->ring = ring;
	return 0;
}

/* The task leaves a vCPU. A wake-up before, while it ran, made it wait for nothing, unless it came
 * in the moment in which the task left (host.c), or its time is that much wrong. */
static int leave(struct guest *g, int pid, unsigned int ring, const struct guest_event *ev)
{
	struct woken *w;

	if (pid <= 0)
		return 0;
	w = entry_of(g, pid);
	if (!w)
		return -ENOMEM;
	w->state = ev->preempted ? WOKEN_NOT : WOKEN_ASLEEP;
	w->left_ring = ring;
	w->left_ns = ev->doubt ? UINT64_MAX : ev->ns + ev->bound_ns;
	return 0;
}

/* Whether the task may have run and slept since that wake-up: also where events of a vCPU are
 * missing whose LOST record is behind the switch. */
static bool is_lost(const struct xvt_analyze *a, const struct guest *g, const struct woken *w,
		    unsigned int ring, const struct guest_event *ev)
{
	const struct xvtrace_point from = { xvtrace_ring(a->trace, w->ring), w->ns, w->bound_ns };
	const struct xvtrace_point to = { xvtrace_ring(a->trace, ring), ev->ns, ev->bound_ns };

	return lost_between(a, g->machine, from, to);
}

/* The task goes on a vCPU: when was it woken? */
static void come(const struct xvt_analyze *a, struct guest *g, int pid, unsigned int ring,
		 struct guest_event *ev)
{
	struct woken *w = g->woken_room && pid > 0 ? slot_of(g, pid) : NULL;

	if (!w || !w->pid)
		return;
	if (w->state == WOKEN_NOTED && !w->open && w->doubts == g->doubts &&
	    !is_lost(a, g, w, ring, ev)) {
		ev->woken_ns = w->ns;
		ev->woken_bound_ns = w->bound_ns;
	} else {
		ev->woken_untold = w->state != WOKEN_NOT && g->wakings;
	}
	w->state = WOKEN_NOT;
}

/* -- events ---------------------------------------------------------------------------- */

static int take_switch(struct xvt_analyze *a, struct vcpu *v, const struct part_type *t,
		       const struct xvtrace_event *ev)
{
	struct guest *g = &a->guests[ev->machine->number];
	struct guest_event e = begin(t, ev);
	int err;

	e.prev = (int)part_number(ev, t, SWITCH_PREV);
	e.pid = (int)part_number(ev, t, SWITCH_NEXT);
	e.preempted = !(part_number(ev, t, SWITCH_STATE) & 0xff);
	part_text(ev, t, SWITCH_NEXT_COMM, e.text, sizeof(e.text));
	g->switches = true;
	err = leave(g, e.prev, ev->ring->number, &e);
	if (err)
		return err;
	come(a, g, e.pid, ev->ring->number, &e);
	return vcpu_event(a, v, &e);
}

static struct vcpu *vcpu_of_cpu(struct xvt_analyze *a, const struct xvtrace_machine *m,
				unsigned int cpu)
{
	for (size_t i = 0; i < a->vcpu_count; i++)
		if (a->list[i]->ring->machine == m && a->list[i]->ring->cpu == cpu)
			return a->list[i];
	return NULL;
}

static int take_waking(struct xvt_analyze *a, const struct part_type *t,
		       const struct xvtrace_event *ev)
{
	struct guest *g = &a->guests[ev->machine->number];
	struct guest_event e = begin(t, ev);
	struct vcpu *on;
	int err = note_woken(g, (int)part_number(ev, t, WAKING_PID), ev->ring->number, &e);

	g->wakings = true;
	g->queues |= t->queued;
	/* sched_waking comes before the kernel chooses a CPU. */
	if (err || !t->queued || e.doubt)
		return err;
	on = vcpu_of_cpu(a, ev->machine, (unsigned int)part_number(ev, t, WAKING_CPU));
	if (!on)
		return 0;
	e.kind = PART_WOKEN;
	return vcpu_event(a, on, &e);
}

int guest_event(struct xvt_analyze *a, const struct part_type *t, const struct xvtrace_event *ev)
{
	struct vcpu *v = vcpu_of(a, ev->ring);
	struct guest_event e = begin(t, ev);
	int got;

	if (!v)
		return 0;
	if (ev->kind == XVTRACE_LOST) {
		timer_forget(a, ev->machine);
		a->guests[ev->machine->number].doubts++;
		e.kind = PART_LOST;
		return vcpu_event(a, v, &e);
	}
	switch (t->kind) {
	case PART_SWITCH:
		return take_switch(a, v, t, ev);
	case PART_WAKING:
		return take_waking(a, t, ev);
	case PART_IRQ_ENTRY:
		part_text(ev, t, IRQ_NAME, e.text, sizeof(e.text));
		/* fall through */
	case PART_IRQ_EXIT:
	case PART_SOFTIRQ_ENTRY:
	case PART_SOFTIRQ_EXIT:
		a->guests[ev->machine->number].handlers |= 1u << t->kind;
		e.number = part_number(ev, t, IRQ_NUMBER);
		return vcpu_event(a, v, &e);
	case PART_TIMER_START:
	case PART_TIMER_CANCEL:
	case PART_TIMER:
		got = a->timers ? timer_event(a, t, ev, &e) : 0;
		return got > 0 ? vcpu_event(a, v, &e) : got;
	default:
		return 0;
	}
}

int guest_state(struct xvt_analyze *a, const struct xvtrace_event *ev)
{
	const struct guest_event e = { .kind = PART_RESET, .ns = ev->ns };
	int err = 0;

	if (ev->state != XVTRACE_RESET && ev->state != XVTRACE_ENDED && ev->state != XVTRACE_MOVED)
		return 0;
	timer_forget(a, ev->machine);
	a->guests[ev->machine->number].doubts++;
	for (size_t i = 0; i < a->vcpu_count && !err; i++)
		if (a->list[i]->ring->machine == ev->machine)
			err = vcpu_event(a, a->list[i], &e);
	return err;
}

bool guest_was_paused(const struct xvt_analyze *a, const struct vcpu *v, uint64_t begin_ns,
		      uint64_t end_ns)
{
	const struct guest *g = &a->guests[v->ring->machine->number];
	uint64_t paused = 0;

	for (size_t i = 0; i < g->pause_count; i++) {
		const uint64_t b = g->pauses[i].begin_ns, e = g->pauses[i].end_ns;

		if (b < end_ns && e > begin_ns)
			paused += (e < end_ns ? e : end_ns) - (b > begin_ns ? b : begin_ns);
	}
	return paused > (end_ns - begin_ns) / 2;
}
