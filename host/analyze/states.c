// SPDX-License-Identifier: GPL-2.0
/* states.c - each time of a vCPU, for a caller that keeps them: no line is made of it. They are the
 * times whose sums cpu.c makes. */
#include "analyze/parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

/* Beyond this, the verdict of new ones is that they cannot be told. */
#define HELD_MOST 65536u

static int give(struct xvt_analyze *a, struct xvt_vcpu_state *s, const char *state,
		uint64_t begin_ns, uint64_t end_ns)
{
	s->state = state;
	s->begin_ns = begin_ns;
	s->end_ns = end_ns;
	return begin_ns < end_ns ? a->options.state(a->options.arg, s) : 0;
}

static int running(struct xvt_analyze *a, struct vcpu *v, uint64_t begin_ns, uint64_t end_ns,
		   bool open)
{
	struct xvt_vcpu_state s = { .ring = v->ring,
				    .shares = v->shares,
				    .open = open,
				    .bound_ns = a->host.bound_ns,
				    .pid = -1 };

	/* It may run another vCPU. */
	s.verdict = v->shares ? XVT_UNTOLD : XVT_PROVEN;
	return give(a, &s, "running", begin_ns, end_ns);
}

static void set_most(struct xvt_analyze *a, struct xvt_vcpu_state *s, const struct interval *i,
		     uint64_t ns)
{
	bool untold;
	const struct occupant *most = interval_most(i, &untold);

	if (i->off && i->waker != HOST_THREAD_MISSING)
		s->waker = a->host_threads.v[i->waker];
	if (!most)
		return;
	s->most = a->host_threads.v[most->thread];
	s->most_ns = most->ns < ns ? most->ns : ns;
	s->verdict = s->most->tid == -1 ? XVT_NOT_RECORDED : untold ? XVT_UNTOLD : XVT_PROVEN;
}

/* The guest wanted to run from begin_ns on. */
static int give_taken(struct xvt_analyze *a, struct xvt_vcpu_state *s, const struct interval *i,
		      uint64_t begin_ns)
{
	static const char *const asleep[] = {
		[OFF_ASLEEP] = "asleep", [OFF_BLOCKED] = "blocked", [OFF_STOPPED] = "stopped"
	};
	const struct wanting *w = &i->wanting;
	uint64_t waits_ns = begin_ns;
	int err = 0;

	s->guest = w->guest;
	s->pid = w->pid;
	xvt_text_clean(s->task, sizeof(s->task), w->comm, strnlen(w->comm, sizeof(w->comm)));
	if (i->off) {
		waits_ns = i->woken_ns ? i->woken_ns : i->end_ns;
		waits_ns = waits_ns > begin_ns ? waits_ns : begin_ns;
		err = give(a, s, asleep[i->off], begin_ns, waits_ns);
	}
	if (err)
		return err;
	set_most(a, s, i, i->end_ns - waits_ns);
	return give(a, s, i->off ? "waits" : "preempted", waits_ns, i->end_ns);
}

/*
 * What the guest was at in that time is not known. It was not recorded only in a trace without any
 * of its switches, which is not known before its end.
 */
static int give_unknown(struct xvt_analyze *a, struct xvt_vcpu_state *s, const struct interval *i)
{
	const struct guest *g = &a->guests[s->ring->machine->number];

	s->verdict = XVT_UNTOLD;
	if (interval_is_untold(i) || g->switches || a->held_count == HELD_MOST)
		return give(a, s, "off", i->begin_ns, i->end_ns);
	if (xvt_grow(&a->held, &a->held_room, a->held_count + 1, sizeof(*s)))
		return -ENOMEM;
	s->begin_ns = i->begin_ns;
	s->end_ns = i->end_ns;
	a->held[a->held_count++] = *s;
	return 0;
}

/* Those of a machine; NULL: all that are left. */
static int give_held(struct xvt_analyze *a, const struct xvtrace_machine *machine,
		     enum xvt_verdict verdict)
{
	size_t left = 0;
	int err = 0;

	for (size_t i = 0; i < a->held_count && !err; i++) {
		struct xvt_vcpu_state *s = &a->held[i];

		if (machine && s->ring->machine != machine) {
			a->held[left++] = *s;
			continue;
		}
		s->verdict = verdict;
		err = give(a, s, "off", s->begin_ns, s->end_ns);
	}
	a->held_count = left;
	return err;
}

static int event(struct xvt_analyze *a, const struct part_type *t, const struct xvtrace_event *ev)
{
	if (!a->held_count || ev->kind != XVTRACE_EVENT || t->kind != PART_SWITCH)
		return 0;
	return give_held(a, ev->machine, XVT_UNTOLD);
}

static int interval(struct xvt_analyze *a, struct vcpu *v, const struct interval *i)
{
	const struct wanting *w = &i->wanting;
	struct xvt_vcpu_state s = { .ring = v->ring,
				    .shares = v->shares,
				    .open = i->open,
				    .bound_ns = a->host.bound_ns,
				    .pid = -1 };
	int err;

	if (guest_was_paused(a, v, i->begin_ns, i->end_ns))
		return give(a, &s, "paused", i->begin_ns, i->end_ns);
	if (interval_is_untold(i) || w->unknown)
		return give_unknown(a, &s, i);
	if (w->idle)
		return give(a, &s, "idle", i->begin_ns, i->end_ns);
	if (w->begin_ns <= i->begin_ns)
		return give_taken(a, &s, i, i->begin_ns);
	s.bound_ns += v->last_bound_ns;
	s.open = false;
	err = give(a, &s, "idle", i->begin_ns, w->begin_ns);
	s.open = i->open;
	return err ? err : give_taken(a, &s, i, w->begin_ns);
}

static int end(struct xvt_analyze *a)
{
	return give_held(a, NULL, XVT_NOT_RECORDED);
}

static void fini(struct xvt_analyze *a)
{
	free(a->held);
}

const struct analysis analysis_states = {
	.bit = XVT_ANALYZE_STATES,
	.name = "states",
	.event = event,
	.running = running,
	.interval = interval,
	.end = end,
	.fini = fini,
};
