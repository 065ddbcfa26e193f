// SPDX-License-Identifier: GPL-2.0
/*
 * latency.c - how long a wake-up takes, layer by layer: a task of a guest is woken and runs; the
 * thread of a vCPU is woken, has a CPU, and its guest goes on; an interrupt is accepted for a vCPU,
 * injected, and its guest goes on. Times of the host are exact; where a guest's event ends one, the
 * event's bound says whether it was later at all.
 */
#include "analyze/parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define VECTORS	  256u

#define NEEDS_KVM "record --host vcpu (KVM alone tells them)"

/* What waits for the next event of a vCPU's ring. */
struct begun {
	uint64_t ns; /* 0: nothing does */
	bool open;   /* an event before it may have been behind it */
};

struct latency_vcpu {
	uint64_t last_ns, last_bound_ns; /* of its last event */
	uint64_t on_ns;			 /* the time on a CPU whose first event came */
	uint64_t accept_ns[VECTORS];
	uint64_t inject_ns[VECTORS]; /* the last one of each; 0: none so far */
	struct begun injected, handler;
	unsigned int vector; /* that handler waits for */
};

struct latency {
	bool wakings;		      /* of the host's threads are there */
	bool accepts, injects, posts; /* KVM's events of interrupts are */
	struct latency_vcpu *of[1];   /* by number of the ring; NULL: none so far */
};

static int begin(struct xvt_analyze *a)
{
	a->latency = calloc(1, sizeof(*a->latency) + a->info->rings * sizeof(void *));
	return a->latency ? 0 : -ENOMEM;
}

static void fini(struct xvt_analyze *a)
{
	for (unsigned int i = 0; a->latency && i < a->info->rings; i++)
		free(a->latency->of[i]);
	free(a->latency);
}

static struct latency_vcpu *state_of(struct xvt_analyze *a, const struct vcpu *v)
{
	struct latency_vcpu **of = &a->latency->of[v->ring->number];

	if (!*of)
		*of = calloc(1, sizeof(**of));
	return *of;
}

static struct xvt_line *line(struct xvt_analyze *a, const struct vcpu *v, const char *kind,
			     const char *what)
{
	return line_of(a, XVT_ANALYZE_LATENCY, kind, v->ring->machine, v, NULL, what);
}

/* From `ns` of the host's time to an event of a guest, which is later if its bound proves it. Where
 * events of the host are missing in between, it may have been for another one. */
static int add_to_event(struct xvt_analyze *a, const struct vcpu *v, const char *kind,
			const char *what, struct begun begun, const struct xvtrace_event *ev)
{
	const uint64_t ns = ev->ns > begun.ns ? ev->ns - begun.ns : 0;
	const uint64_t bound_ns = ev->bound_ns < XVTRACE_NO_BOUND ? ev->bound_ns + a->host.bound_ns
								  : XVTRACE_NO_BOUND;
	struct xvt_line *l;

	if (ns < a->options.min_ns || !part_wants_end(a, ev->ns))
		return 0;
	l = line(a, v, kind, what);
	if (!l)
		return -ENOMEM;
	if (!begun.open && ns > bound_ns && !(ev->flags & (XVTRACE_UNCONFIRMED | XVTRACE_CLOCK)) &&
	    !lost_on_host(a, begun.ns, a->host.bound_ns, ev->ns, ev->bound_ns))
		return xvt_figure_add(&l->wall, ns, begun.ns, v->ring->number, bound_ns);
	l->untold++;
	l->untold_ns += ns;
	return 0;
}

/* -- interrupts ------------------------------------------------------------------------ */

static struct vcpu *vcpu_of_hw(struct xvt_analyze *a, const struct xvtrace_machine *m,
			       uint64_t hw_id)
{
	for (size_t i = 0; i < a->vcpu_count; i++)
		if (a->list[i]->ring->machine == m && a->list[i]->ring->hw_id == hw_id)
			return a->list[i];
	return NULL;
}

/* The machine for which a thread of the host works. In an interrupt's context it is any thread. */
static const struct xvtrace_machine *machine_of(struct xvt_analyze *a,
						const struct xvtrace_event *ev)
{
	const unsigned int host = a->host.machine->number;
	struct xvtrace_thread thread;
	struct xvtrace_vcpu runs;

	if (ev->pid <= 0 || ev->irq_flags & 0x18)
		return NULL;
	if (xvtrace_reader_role(a->reader, host, ev->pid, ev->ns, &thread) > 0)
		return thread.machine;
	return xvtrace_reader_thread(a->reader, host, ev->pid, &runs) > 0 ? runs.machine : NULL;
}

/* One that is pending already is not made twice. */
static int accept(struct xvt_analyze *a, const struct part_type *t, const struct xvtrace_event *ev)
{
	const struct xvtrace_machine *m = machine_of(a, ev);
	struct vcpu *v = m ? vcpu_of_hw(a, m, part_number(ev, t, ACCEPT_APIC)) : NULL;
	struct latency_vcpu *s;
	struct xvt_line *l;

	if (!v || !v->wanted)
		return 0;
	if (t->kind == PART_POSTED) {
		if (!part_wants_end(a, ev->ns))
			return 0;
		l = line(a, v, "posted", "accepted, given by hardware");
		if (!l)
			return -ENOMEM;
		l->untold++;
		return 0;
	}
	s = state_of(a, v);
	if (!s)
		return -ENOMEM;
	if (!s->accept_ns[part_number(ev, t, ACCEPT_VECTOR) % VECTORS])
		s->accept_ns[part_number(ev, t, ACCEPT_VECTOR) % VECTORS] = ev->ns;
	return 0;
}

static int inject(struct xvt_analyze *a, const struct part_type *t, const struct xvtrace_event *ev)
{
	const unsigned int vector = (unsigned int)part_number(ev, t, INJECT_VECTOR) % VECTORS;
	struct xvtrace_vcpu runs;
	struct latency_vcpu *s;
	struct xvt_line *l;
	struct vcpu *v;
	uint64_t accept_ns, before_ns;

	if (xvtrace_reader_thread(a->reader, a->host.machine->number, ev->pid, &runs) <= 0)
		return 0;
	v = vcpu_of_hw(a, runs.machine, runs.vcpu);
	/* Its entry had failed; it was counted then. */
	if (!v || !v->wanted || (t->field[INJECT_AGAIN] && part_number(ev, t, INJECT_AGAIN)))
		return 0;
	s = state_of(a, v);
	if (!s)
		return -ENOMEM;
	s->injected = (struct begun){ ev->ns, s->last_ns + s->last_bound_ns >= ev->ns };
	s->handler = s->injected;
	s->vector = vector;
	accept_ns = s->accept_ns[vector];
	before_ns = s->inject_ns[vector];
	s->accept_ns[vector] = 0;
	s->inject_ns[vector] = ev->ns;
	if (!part_wants_end(a, ev->ns))
		return 0;
	l = line(a, v, "accept_inject", "interrupt accepted -> injected");
	if (!l)
		return -ENOMEM;
	if (!accept_ns) {
		l->no_begin++;
		return 0;
	}
	if (ev->ns - accept_ns < a->options.min_ns)
		return 0;
	/* It may have been pending since an earlier one, or this is of a later one. */
	if (lost_on_host(a, before_ns, 0, ev->ns, 0)) {
		l->untold++;
		l->untold_ns += ev->ns - accept_ns;
		return 0;
	}
	return xvt_figure_add(&l->wall, ev->ns - accept_ns, accept_ns, v->ring->number,
			      a->host.bound_ns);
}

/* of: the machine; NULL: all. */
static void forget_interrupts(struct xvt_analyze *a, const struct xvtrace_machine *of)
{
	for (unsigned int i = 0; i < a->info->rings; i++) {
		struct latency_vcpu *s = a->latency->of[i];

		if (!s || (of && xvtrace_ring(a->trace, i)->machine != of))
			continue;
		memset(s->accept_ns, 0, sizeof(s->accept_ns));
		s->injected.ns = s->handler.ns = 0;
	}
}

/* -- guests ---------------------------------------------------------------------------- */

/* The first event since the thread, which had slept, has a CPU. */
static int add_start(struct xvt_analyze *a, const struct vcpu *v, struct latency_vcpu *s,
		     const struct xvtrace_event *ev)
{
	const struct thread *t = v->thread;
	struct begun begun;

	if (!t || v->shares || t->state != THREAD_ON || t->on_since_ns == s->on_ns)
		return 0;
	s->on_ns = t->on_since_ns;
	if (!t->off.woken_ns || t->off.end_ns != t->on_since_ns || t->off.lost)
		return 0;
	begun = (struct begun){ s->on_ns, s->last_ns && s->last_ns + s->last_bound_ns >= s->on_ns };
	return add_to_event(a, v, "vcpu_start", "thread on a CPU -> guest's event", begun, ev);
}

/* The vector whose handler begins; 0: none does, or it is not known. */
static unsigned int handled(const struct part_type *t, const struct xvtrace_event *ev)
{
	if (t->kind == PART_VECTOR)
		return (unsigned int)part_number(ev, t, 0);
	return t->kind == PART_IRQ_ENTRY && t->field[IRQ_VECTOR]
		       ? (unsigned int)part_number(ev, t, IRQ_VECTOR)
		       : 0;
}

static int guest(struct xvt_analyze *a, const struct part_type *t, const struct xvtrace_event *ev)
{
	struct vcpu *v = vcpu_of(a, ev->ring);
	struct latency_vcpu *s = v && v->wanted ? state_of(a, v) : NULL;
	int err = 0;

	if (!v || !v->wanted || !s)
		return v && v->wanted ? -ENOMEM : 0;
	if (ev->kind == XVTRACE_LOST) {
		/* The first event may be among those that were lost. */
		s->injected.ns = s->handler.ns = 0;
		s->on_ns = v->thread ? v->thread->on_since_ns : 0;
		return 0;
	}
	if (s->injected.ns)
		err = add_to_event(a, v, "inject_guest", "injected -> guest's event", s->injected,
				   ev);
	s->injected.ns = 0;
	if (!err && s->handler.ns && s->vector && handled(t, ev) == s->vector) {
		err = add_to_event(a, v, "inject_handler", "injected -> its vector's handler",
				   s->handler, ev);
		s->handler.ns = 0;
	}
	if (!err)
		err = add_start(a, v, s, ev);
	s->last_ns = ev->ns;
	s->last_bound_ns = ev->bound_ns < XVTRACE_NO_BOUND ? ev->bound_ns : 0;
	return err;
}

static int event(struct xvt_analyze *a, const struct part_type *t, const struct xvtrace_event *ev)
{
	/* What the host did for a vCPU was for none of its tasks. */
	if (a->options.wants_task)
		return 0;
	if (ev->kind == XVTRACE_STATE && ev->state != XVTRACE_RESET)
		return 0;
	if (ev->kind != XVTRACE_STATE && !ev->machine->host)
		return guest(a, t, ev);
	if (ev->kind != XVTRACE_EVENT) {
		forget_interrupts(a, ev->machine->host ? NULL : ev->machine);
		return 0;
	}
	switch (t->kind) {
	case PART_WAKING:
		a->latency->wakings = true;
		return 0;
	case PART_POSTED:
		a->latency->posts = true;
		return accept(a, t, ev);
	case PART_ACCEPT:
		a->latency->accepts = true;
		return accept(a, t, ev);
	case PART_INJECT:
		a->latency->injects = true;
		return inject(a, t, ev);
	default:
		return 0;
	}
}

/* -- wake-ups -------------------------------------------------------------------------- */

/* A thread of several vCPUs is woken once. */
static bool is_told_before(const struct xvt_analyze *a, const struct vcpu *v)
{
	for (size_t k = 0; v->shares && a->list[k] != v; k++)
		if (a->list[k]->thread == v->thread && a->list[k]->wanted)
			return true;
	return false;
}

static int interval(struct xvt_analyze *a, struct vcpu *v, const struct interval *i)
{
	const uint64_t ns = i->end_ns - i->woken_ns;
	struct xvt_line *l;

	told_interval(a, v, i);
	if (!i->off || !i->woken_ns || i->open || ns < a->options.min_ns || a->options.wants_task)
		return 0;
	if (is_told_before(a, v))
		return 0;
	l = line(a, v, "vcpu_wake", "thread woken -> on a CPU");
	if (!l)
		return -ENOMEM;
	l->shares = v->shares;
	if (!i->lost)
		return xvt_figure_add(&l->wall, ns, i->woken_ns, v->ring->number, a->host.bound_ns);
	l->untold++;
	l->untold_ns += ns;
	return 0;
}

static int wait(struct xvt_analyze *a, struct vcpu *v, const struct guest_event *ev,
		const struct part_span *span)
{
	struct xvt_line *l;

	if ((span && span->end_ns - span->begin_ns < a->options.min_ns) ||
	    !part_wants_task(a, ev->pid, ev->text))
		return 0;
	l = line(a, v, "task_wake", "task woken -> runs");
	if (!l)
		return -ENOMEM;
	l->shares = v->shares;
	l->no_begin += !span;
	return span ? line_add(l, v, span) : 0;
}

/* -- what is missing ------------------------------------------------------------------- */

static int need(struct xvt_analyze *a, const struct xvtrace_machine *m, const struct vcpu *v,
		const char *kind, const char *what, const char *needs)
{
	struct xvt_line *l = line_of(a, XVT_ANALYZE_LATENCY, kind, m, v, NULL, what);

	if (!l)
		return -ENOMEM;
	line_lacks(a, l, needs);
	return 0;
}

static int end_machine(struct xvt_analyze *a, const struct guest *g)
{
	bool wanted = false;
	int err = 0;

	for (size_t i = 0; i < a->vcpu_count && !err; i++) {
		const struct vcpu *v = a->list[i];

		if (v->ring->machine != g->machine || !v->wanted)
			continue;
		wanted = true;
		if ((!a->latency->wakings || !told_switches(v)) && !a->options.wants_task &&
		    !is_told_before(a, v))
			err = need(a, g->machine, v, "vcpu_wake", "thread woken -> on a CPU",
				   NEEDS_HOST);
	}
	if (wanted && !err && (!g->wakings || !g->switches))
		err = need(a, g->machine, NULL, "task_wake", "task woken -> runs", NEEDS_WAKE_UPS);
	/* Where the hardware gives all, none is injected. */
	if (wanted && !err && !a->latency->injects && !a->latency->posts && !a->options.wants_task)
		err = need(a, g->machine, NULL, "accept_inject", "interrupt accepted -> injected",
			   NEEDS_KVM);
	return err;
}

/* A line without a duration proves nothing. */
static void judge_none(const struct xvt_analyze *a, struct xvt_line *l)
{
	const bool injected = strcmp(l->kind, "accept_inject") == 0 && l->no_begin;

	if (l->untold || (strcmp(l->kind, "task_wake") == 0 && l->no_begin) ||
	    (injected && a->latency->accepts))
		l->verdict = XVT_UNTOLD;
	else if (injected)
		line_lacks(a, l, NEEDS_KVM);
}

static int end(struct xvt_analyze *a)
{
	int err = 0;

	for (unsigned int i = 0; i < a->info->machines && !err; i++)
		err = end_machine(a, &a->guests[i]);
	for (size_t i = 0; i < a->lines.count; i++) {
		struct xvt_line *l = a->lines.v[i];

		if (l->analysis == XVT_ANALYZE_LATENCY && !l->wall.n)
			judge_none(a, l);
	}
	return err;
}

const struct analysis analysis_latency = {
	.bit = XVT_ANALYZE_LATENCY,
	.name = "latency",
	.begin = begin,
	.event = event,
	.interval = interval,
	.wait = wait,
	.end = end,
	.fini = fini,
};
