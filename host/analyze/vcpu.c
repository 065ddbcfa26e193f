// SPDX-License-Identifier: GPL-2.0
/* vcpu.c - what the guest was at on a vCPU, and the intervals in which its thread was off the CPU
 * between its events; see parts.h. */
#include "analyze/parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

/* Intervals that wait for the guest's next event. Beyond this, the oldest goes to the state as it
 * is. */
#define WAIT_MOST 4096u

static uint64_t after(uint64_t ns, uint64_t bound_ns)
{
	return ns + bound_ns < ns ? UINT64_MAX : ns + bound_ns;
}

static uint64_t before(uint64_t ns, uint64_t bound_ns)
{
	return ns > bound_ns ? ns - bound_ns : 0;
}

static int add_vcpu(struct xvt_analyze *a, const struct xvtrace_ring *ring)
{
	struct vcpu *v = calloc(1, sizeof(*v));

	if (!v)
		return -ENOMEM;
	v->ring = ring;
	v->pid = -1;
	v->wanted = !a->options.wants || a->options.wants(a->options.arg, ring);
	for (size_t i = 0; i < a->host.thread_count; i++) {
		struct thread *t = a->host.threads[i];
		const bool all = t->vcpu == XVTRACE_ALL_VCPUS;

		if (t->machine != ring->machine || (!all && t->vcpu != ring->hw_id))
			continue;
		v->thread = t;
		v->shares = all;
	}
	a->vcpus[ring->number] = v;
	a->list[a->vcpu_count++] = v;
	return 0;
}

struct vcpu *vcpu_of(struct xvt_analyze *a, const struct xvtrace_ring *ring)
{
	if (ring->number >= a->info->rings || ring->thread || ring->machine->host)
		return NULL;
	if (!a->vcpus[ring->number] && add_vcpu(a, ring))
		return NULL;
	return a->vcpus[ring->number];
}

void vcpu_free(struct vcpu *v)
{
	if (!v)
		return;
	free(v->events);
	free(v->intervals);
	free(v);
}

/* -- intervals ------------------------------------------------------------------------ */

static const char *name_of(enum guest_state s)
{
	static const char *const names[] = { "unknown", "idle", "task", "softirq", "irq" };

	return names[s];
}

/* One more state in which the guest may have been in the interval. */
static void note_state(const struct vcpu *v, struct interval *i, enum guest_state state)
{
	struct wanting *w = &i->wanting;
	const bool woken = state == GUEST_IDLE && v->pending_ns && v->pending_ns < i->end_ns;
	const uint64_t since = woken && v->pending_ns > i->begin_ns ? v->pending_ns : i->begin_ns;
	const char *guest = woken ? "woken" : name_of(state);

	w->unknown |= state == GUEST_UNKNOWN;
	w->idle |= state == GUEST_IDLE && !woken;
	if (state == GUEST_UNKNOWN || (w->wanted && state == GUEST_IDLE && !woken))
		return;
	if (state == GUEST_IDLE && !woken) {
		w->pid = v->pid;
		memcpy(w->comm, v->comm, sizeof(w->comm));
		return;
	}
	if (!w->wanted) {
		*w = (struct wanting){ .idle = w->idle, .unknown = w->unknown, .guest = guest };
		w->pid = v->maybe ? -1 : v->pid;
		memcpy(w->comm, v->comm, sizeof(w->comm));
	} else if (w->pid != v->pid) {
		w->pid = -1;
	}
	w->wanted = true;
	w->guest = strcmp(w->guest, guest) ? "busy" : guest;
	w->begin_ns = since > w->begin_ns ? since : w->begin_ns;
}

static void note_states(const struct vcpu *v, struct interval *i)
{
	const unsigned int states = v->maybe | 1u << v->state;

	for (unsigned int s = GUEST_UNKNOWN; s <= GUEST_IRQ; s++)
		if (states & 1u << s)
			note_state(v, i, s);
}

/* Before an event: intervals that end before until_ns may be on either side of it. The state behind
 * it is noted when they are taken, or before the next event. */
static void note_open(struct vcpu *v, uint64_t until_ns)
{
	for (size_t k = v->interval_at; k < v->interval_count; k++) {
		if (v->intervals[k].end_ns >= until_ns)
			break;
		note_states(v, &v->intervals[k]);
	}
}

bool interval_is_untold(const struct interval *i)
{
	return i->lost || i->wanting.wanted + i->wanting.idle + i->wanting.unknown > 1;
}

static void remember(struct vcpu *v, const struct interval *i)
{
	v->history[v->history_count++ % HISTORY] = (struct past){ i->begin_ns, i->end_ns, i->lost };
	v->lost_count += i->lost;
	v->off_ns += i->end_ns - i->begin_ns;
}

/*
 * Whether what the guest was at in the interval may be in an event that was lost: one of the vCPU,
 * or where it is idle, one of any other that put a task on its queue. The LOST record may be far
 * behind.
 */
static bool is_lost(const struct xvt_analyze *a, const struct vcpu *v, const struct interval *i)
{
	const struct xvtrace_point from = { NULL, i->begin_ns, a->host.bound_ns };
	const struct xvtrace_point to = { NULL, i->end_ns, a->host.bound_ns };
	const struct xvtrace_point idle = { v->ring, v->run.ns, v->run.bound_ns };
	const struct guest *g = &a->guests[v->ring->machine->number];

	return hole_of_ring(a, v->ring, from, to) ||
	       (i->wanting.idle && g->queues && lost_between(a, v->ring->machine, idle, to));
}

/* The first interval that waits is behind all events that came so far. */
static int take_interval(struct xvt_analyze *a, struct vcpu *v)
{
	struct interval i = v->intervals[v->interval_at++];
	int err = 0;

	note_states(v, &i);
	i.wanting.unknown |= v->inside;
	i.lost |= is_lost(a, v, &i);
	if (v->interval_at == v->interval_count)
		v->interval_at = v->interval_count = 0;
	remember(v, &i);
	if (!v->wanted || !part_wants_end(a, i.end_ns))
		return 0;
	for (size_t k = 0; a->analyses[k] && !err; k++)
		if (a->analyses[k]->interval)
			err = a->analyses[k]->interval(a, v, &i);
	return err;
}

int vcpu_interval(struct xvt_analyze *a, struct vcpu *v, const struct interval *i)
{
	int err = 0;

	if (v->interval_count - v->interval_at >= WAIT_MOST)
		err = take_interval(a, v);
	if (v->interval_at > WAIT_MOST) {
		v->interval_count -= v->interval_at;
		memmove(v->intervals, v->intervals + v->interval_at,
			v->interval_count * sizeof(*i));
		v->interval_at = 0;
	}
	if (!err)
		err = xvt_grow(&v->intervals, &v->interval_room, v->interval_count + 1, sizeof(*i));
	if (!err)
		v->intervals[v->interval_count++] = *i;
	return err;
}

/* -- what an event changes ------------------------------------------------------------ */

static struct part_span span_of(const struct xvt_analyze *a, const struct vcpu *v,
				const struct open_pair *begin, const struct guest_event *ev,
				uint64_t off_most)
{
	struct part_span s = { .begin_ns = begin->ns,
			       .end_ns = ev->ns,
			       .bound_ns = after(begin->bound_ns, ev->bound_ns) };
	const uint64_t wall = ev->ns - begin->ns;
	const uint64_t least = v->off_ns > begin->off_most ? v->off_ns - begin->off_most : 0;
	const uint64_t most = off_most - begin->off_least;

	s.own_known = v->thread && v->thread->known_ns && v->thread->known_ns <= begin->ns &&
		      !begin->doubt && !ev->doubt && begin->lost_count == v->lost_count &&
		      !lost_on_host(a, begin->ns, begin->bound_ns, ev->ns, ev->bound_ns);
	s.own_most_ns = wall > least ? wall - least : 0;
	/* The thread may have run another vCPU. */
	s.own_least_ns = wall > most && !v->shares ? wall - most : 0;
	return s;
}

static void open_at(struct open_pair *p, const struct vcpu *v, const struct guest_event *ev,
		    uint64_t off_most)
{
	*p = (struct open_pair){ .kind = ev->kind,
				 .number = ev->number,
				 .ns = ev->ns,
				 .bound_ns = ev->bound_ns,
				 .off_least = v->off_ns,
				 .off_most = off_most,
				 .lost_count = v->lost_count,
				 .doubt = ev->doubt };
	memcpy(p->text, ev->text, sizeof(p->text));
}

static int handler_ends(struct xvt_analyze *a, struct vcpu *v, const struct guest_event *ev,
			uint64_t off_most)
{
	const enum part_kind entry =
		ev->kind == PART_IRQ_EXIT ? PART_IRQ_ENTRY : PART_SOFTIRQ_ENTRY;
	unsigned int at = v->depth;
	struct part_span span;
	int err = 0;

	while (at && (v->stack[at - 1].kind != entry || v->stack[at - 1].number != ev->number))
		at--;
	if (!at)
		return 0; /* its entry was not seen */
	v->depth = at - 1;
	if (!v->wanted || !part_wants_end(a, ev->ns))
		return 0;
	span = span_of(a, v, &v->stack[at - 1], ev, off_most);
	for (size_t k = 0; a->analyses[k] && !err; k++)
		if (a->analyses[k]->handler)
			err = a->analyses[k]->handler(a, v, &v->stack[at - 1], &span);
	return err;
}

static int task_ends(struct xvt_analyze *a, struct vcpu *v, const struct guest_event *ev,
		     uint64_t off_most)
{
	struct part_span span;
	int err = 0;

	if (!v->wanted || !part_wants_end(a, ev->ns))
		return 0;
	span = span_of(a, v, &v->run, ev, off_most);
	for (size_t k = 0; a->analyses[k] && !err; k++)
		if (a->analyses[k]->run)
			err = a->analyses[k]->run(a, v, &v->run, &span);
	return err;
}

/* How long the thread was off since `ns`, which is at most `bound_ns` wrong. false: not known. */
static bool off_since(const struct vcpu *v, uint64_t ns, uint64_t bound_ns, uint64_t *least,
		      uint64_t *most)
{
	uint64_t n = v->history_count < HISTORY ? v->history_count : HISTORY, k;

	*least = *most = 0;
	for (k = 0; k < n; k++) {
		const struct past *p = &v->history[(v->history_count - 1 - k) % HISTORY];
		const uint64_t late = after(ns, bound_ns), early = before(ns, bound_ns);

		if (p->end_ns <= early)
			return true;
		if (p->lost)
			return false;
		*most += p->end_ns - (p->begin_ns > early ? p->begin_ns : early);
		if (p->end_ns > late)
			*least += p->end_ns - (p->begin_ns > late ? p->begin_ns : late);
	}
	return k < HISTORY;
}

/* The same of a timer that was due. */
static int task_was_woken(struct xvt_analyze *a, struct vcpu *v, const struct guest_event *ev,
			  uint64_t off_most)
{
	struct part_span s = { .begin_ns = ev->woken_ns,
			       .end_ns = ev->ns,
			       .bound_ns = after(ev->bound_ns, ev->woken_bound_ns) };
	const uint64_t wall = ev->ns > ev->woken_ns ? ev->ns - ev->woken_ns : 0;
	uint64_t least, most;
	int err = 0;

	if (!v->wanted || !part_wants_end(a, ev->ns))
		return 0;
	s.end_ns = s.begin_ns + wall;
	s.own_known = off_since(v, ev->woken_ns, ev->woken_bound_ns, &least, &most) && v->thread &&
		      v->thread->known_ns && v->thread->known_ns <= ev->woken_ns && !ev->doubt &&
		      !lost_on_host(a, ev->woken_ns, ev->woken_bound_ns, ev->ns, ev->bound_ns);
	most += off_most - v->off_ns;
	s.own_most_ns = wall > least ? wall - least : 0;
	s.own_least_ns = wall > most && !v->shares ? wall - most : 0;
	for (size_t k = 0; a->analyses[k] && !err; k++) {
		if (ev->kind == PART_TIMER && a->analyses[k]->timer)
			err = a->analyses[k]->timer(a, v, ev, &s);
		else if (ev->kind == PART_SWITCH && a->analyses[k]->wait)
			err = a->analyses[k]->wait(a, v, ev, &s);
	}
	return err;
}

/* The task was woken, and when is not known. */
static int woken_untold(struct xvt_analyze *a, struct vcpu *v, const struct guest_event *ev)
{
	int err = 0;

	if (!v->wanted || !part_wants_end(a, ev->ns))
		return 0;
	for (size_t k = 0; a->analyses[k] && !err; k++)
		if (a->analyses[k]->wait)
			err = a->analyses[k]->wait(a, v, ev, NULL);
	return err;
}

static int take_switch(struct xvt_analyze *a, struct vcpu *v, const struct guest_event *ev,
		       uint64_t off_most)
{
	int err = 0;

	if (v->pid == ev->prev && v->pid > 0)
		err = task_ends(a, v, ev, off_most);
	if (!err && ev->woken_ns)
		err = task_was_woken(a, v, ev, off_most);
	if (!err && ev->woken_untold)
		err = woken_untold(a, v, ev);
	v->pid = ev->pid;
	memcpy(v->comm, ev->text, sizeof(v->comm));
	/* A switch of tasks is in no handler: exits that are missing were not recorded. */
	v->depth = 0;
	v->pending_ns = 0;
	open_at(&v->run, v, ev, off_most);
	return err;
}

/* All that was known may be wrong. */
static void forget(struct vcpu *v)
{
	v->pid = -1;
	v->depth = 0;
	v->pending_ns = 0;
}

static void decide_state(struct vcpu *v)
{
	if (v->depth)
		v->state =
			v->stack[v->depth - 1].kind == PART_IRQ_ENTRY ? GUEST_IRQ : GUEST_SOFTIRQ;
	else
		v->state = v->pid < 0 ? GUEST_UNKNOWN : v->pid ? GUEST_TASK : GUEST_IDLE;
}

static int change(struct xvt_analyze *a, struct vcpu *v, const struct guest_event *ev,
		  uint64_t off_most)
{
	int err = 0;

	if (ev->kind == PART_SWITCH) {
		err = take_switch(a, v, ev, off_most);
	} else if (ev->kind == PART_IRQ_ENTRY || ev->kind == PART_SOFTIRQ_ENTRY) {
		if (v->depth < NEST)
			open_at(&v->stack[v->depth++], v, ev, off_most);
	} else if (ev->kind == PART_IRQ_EXIT || ev->kind == PART_SOFTIRQ_EXIT) {
		err = handler_ends(a, v, ev, off_most);
	} else if (ev->kind == PART_TIMER) {
		err = task_was_woken(a, v, ev, off_most);
	} else if (ev->kind == PART_LOST || ev->kind == PART_RESET) {
		forget(v);
	}
	decide_state(v);
	return err;
}

/* -- events --------------------------------------------------------------------------- */

/* The guest's vCPU made it, at a time that is known. */
static bool is_own(const struct guest_event *ev)
{
	return !ev->doubt && ev->kind != PART_LOST && ev->kind != PART_RESET;
}

/*
 * The thread is off and was so long before the event, and the reader is long behind it. Either the
 * switch to the thread was not recorded, or the event is impossible: the next switch tells.
 */
static bool is_inside(const struct vcpu *v, const struct guest_event *ev, uint64_t bound_ns)
{
	const struct thread *t = v->thread;

	return t && t->state == THREAD_OFF && t->off.begin_ns < before(ev->ns, bound_ns);
}

/* Take the intervals that are before the event for certain. */
static int take_before(struct xvt_analyze *a, struct vcpu *v, const struct guest_event *ev,
		       uint64_t bound_ns)
{
	int err = 0;

	while (!err && v->interval_at < v->interval_count) {
		struct interval *i = &v->intervals[v->interval_at];

		if (i->begin_ns >= before(ev->ns, bound_ns))
			break;
		if (i->end_ns > after(ev->ns, bound_ns) && !i->lost && is_own(ev))
			a->impossible++;
		/* What was lost came before: the state was another one. */
		i->lost |= ev->kind == PART_LOST;
		err = take_interval(a, v);
	}
	return err;
}

/* How long the thread was off before the event at most: in intervals whose place is open, too. */
static uint64_t off_before(const struct vcpu *v, uint64_t until_ns)
{
	uint64_t ns = v->off_ns;

	for (size_t k = v->interval_at; k < v->interval_count; k++) {
		if (v->intervals[k].end_ns >= until_ns)
			break;
		ns += v->intervals[k].end_ns - v->intervals[k].begin_ns;
	}
	return ns;
}

/*
 * An event whose time is flagged is somewhere between those neighbours of its ring whose times are
 * not. So no interval is before it for certain, and each that waits for the next such event may be.
 */
static int take_flagged(struct xvt_analyze *a, struct vcpu *v, const struct guest_event *ev)
{
	v->maybe |= 1u << v->state;
	return change(a, v, ev, v->off_ns);
}

static int take_event(struct xvt_analyze *a, struct vcpu *v)
{
	struct guest_event ev = v->events[v->event_at++];
	const uint64_t b = after(ev.bound_ns, a->host.bound_ns);
	const uint64_t until_ns = after(ev.ns, b);
	int err;

	if (v->event_at == v->event_count)
		v->event_at = v->event_count = 0;
	if (ev.kind == PART_WOKEN) {
		if (!v->pending_ns)
			v->pending_ns = ev.ns;
		return 0;
	}
	if (ev.doubt)
		return take_flagged(a, v, &ev);
	err = take_before(a, v, &ev, b);
	note_open(v, until_ns);
	v->maybe = 0;
	v->inside = is_own(&ev) && is_inside(v, &ev, b);
	if (v->inside) {
		v->thread->off.inside++;
		ev.doubt = true;
	}
	if (!err)
		err = change(a, v, &ev, off_before(v, until_ns));
	return err;
}

static uint64_t due_of(const struct xvt_analyze *a, const struct vcpu *v)
{
	const struct guest_event *ev = &v->events[v->event_at];

	if (v->event_at == v->event_count)
		return UINT64_MAX;
	return after(after(ev->ns, ev->bound_ns), a->host.bound_ns);
}

int vcpu_take_due(struct xvt_analyze *a, uint64_t ns)
{
	uint64_t next = UINT64_MAX;
	int err = 0;

	for (size_t i = 0; i < a->vcpu_count && !err; i++) {
		struct vcpu *v = a->list[i];
		uint64_t due;

		while ((due = due_of(a, v)) < ns && !err)
			err = take_event(a, v);
		next = due < next ? due : next;
		while (ns == UINT64_MAX && !err && v->interval_at < v->interval_count)
			err = take_interval(a, v);
	}
	a->due_ns = next;
	return err;
}

int vcpu_event(struct xvt_analyze *a, struct vcpu *v, const struct guest_event *ev)
{
	uint64_t due;

	if (v->event_at > WAIT_MOST) {
		v->event_count -= v->event_at;
		memmove(v->events, v->events + v->event_at, v->event_count * sizeof(*ev));
		v->event_at = 0;
	}
	if (xvt_grow(&v->events, &v->event_room, v->event_count + 1, sizeof(*ev)))
		return -ENOMEM;
	v->events[v->event_count++] = *ev;
	v->last_bound_ns = ev->bound_ns;
	if (!v->first_ns)
		v->first_ns = ev->ns;
	v->last_ns = ev->ns;
	due = due_of(a, v);
	if (due < a->due_ns)
		a->due_ns = due;
	return 0;
}
