// SPDX-License-Identifier: GPL-2.0
/*
 * host.c - the threads of vCPUs, by the host's switches of tasks, and who had the CPU that they
 * waited for. A thread that has a CPU is known from the switch to it until the switch away from it;
 * where the second one names another thread, switches between them were not recorded, and so who
 * had the CPU is not known.
 */
#include "analyze/parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

#define CPUS_MOST 65536u

static struct host_cpu *cpu_of(struct host *h, unsigned int cpu)
{
	if (cpu >= CPUS_MOST || xvt_grow_zeroed(&h->cpus, &h->cpu_room, cpu + 1u, sizeof(*h->cpus)))
		return NULL;
	return &h->cpus[cpu];
}

static struct thread *find(const struct host *h, int tid)
{
	for (size_t i = 0; i < h->thread_count; i++)
		if (h->threads[i]->tid == tid)
			return h->threads[i];
	return NULL;
}

/* The number may be another vCPU's now. */
static void link_vcpus(struct xvt_analyze *a, struct thread *t)
{
	for (size_t i = 0; i < a->vcpu_count; i++) {
		struct vcpu *v = a->list[i];
		const bool runs = v->ring->machine == t->machine &&
				  (t->vcpu == XVTRACE_ALL_VCPUS || t->vcpu == v->ring->hw_id);

		if (runs) {
			v->thread = t;
			v->shares = t->vcpu == XVTRACE_ALL_VCPUS;
		} else if (v->thread == t) {
			v->thread = NULL;
		}
	}
}

/* The thread of a vCPU; NULL: it is none, or without memory. */
static struct thread *thread_of(struct xvt_analyze *a, int tid)
{
	struct host *h = &a->host;
	struct xvtrace_vcpu runs;
	struct thread *t;

	if (tid <= 0 || xvtrace_reader_thread(a->reader, h->machine->number, tid, &runs) <= 0)
		return NULL;
	t = find(h, tid);
	if (t && t->machine == runs.machine && t->vcpu == runs.vcpu)
		return t;
	if (!t) {
		if (xvt_grow(&h->threads, &h->thread_room, h->thread_count + 1, sizeof(t)))
			return NULL;
		t = calloc(1, sizeof(*t));
		if (!t)
			return NULL;
		h->threads[h->thread_count++] = t;
	}
	*t = (struct thread){ .tid = tid, .machine = runs.machine, .vcpu = runs.vcpu };
	link_vcpus(a, t);
	return t;
}

/* -- are all switches recorded? -------------------------------------------------------- */

#define LOOK_AHEAD 10000u

/* Whether it is a thread of a VMM, by the name that the recorder gave it: "g1:vcpu0". */
static bool is_of_vmm(struct xvt_analyze *a, struct xvtrace_reader *r, int tid)
{
	const struct xvtrace_task *t =
		tid > 0 ? xvtrace_reader_task_of(r, a->host.machine->number, tid) : NULL;

	for (unsigned int i = 0; t && i < a->info->machines; i++) {
		const struct xvtrace_machine *m = a->guests[i].machine;
		const size_t len = m ? strlen(m->recorded_name) : 0;

		if (m && !strncmp(t->comm, m->recorded_name, len) && t->comm[len] == ':')
			return true;
	}
	return false;
}

/*
 * A CPU switches from a thread: the one to which it switched before, unless switches between them
 * are missing. Where that is so and no switch between two threads of no VMM is there, ftrace's
 * filter leaves those out.
 */
static void check_chain(struct xvt_analyze *a, struct xvtrace_reader *r, struct host_cpu *c,
			int prev, int next, bool of_vcpu, uint64_t ns)
{
	struct host *h = &a->host;

	h->breaks |= c->known && c->tid != prev;
	if (!h->has_others && !of_vcpu)
		h->has_others = !is_of_vmm(a, r, prev) && !is_of_vmm(a, r, next);
	h->filtered = h->breaks && !h->has_others;
	*c = (struct host_cpu){ true, next, ns };
}

static int look_at(struct xvt_analyze *a, struct xvtrace_reader *r, const struct xvtrace_event *ev)
{
	const struct part_type *t;
	struct host_cpu *c = ev->ring ? cpu_of(&a->host, ev->ring->cpu) : NULL;

	if (!c)
		return 0;
	if (ev->kind == XVTRACE_LOST)
		c->known = false;
	if (ev->kind != XVTRACE_EVENT)
		return 0;
	t = part_type_of(a, ev->type);
	if (!t)
		return -ENOMEM;
	if (t->kind == PART_SWITCH)
		check_chain(a, r, c, (int)part_number(ev, t, SWITCH_PREV),
			    (int)part_number(ev, t, SWITCH_NEXT), false, ev->ns);
	return 0;
}

int host_look_ahead(struct xvt_analyze *a)
{
	struct xvtrace_reader *r;
	const struct xvtrace_event *ev;
	int err, got = 0;

	if (!a->host.machine)
		return 0;
	err = xvtrace_reader_new(&r, a->trace);
	if (err)
		return err;
	err = xvtrace_reader_machine(r, a->host.machine->name);
	if (!err)
		err = xvtrace_reader_limit(r, LOOK_AHEAD);
	while (!err && !a->host.has_others && (got = xvtrace_next(r, &ev)) > 0)
		err = look_at(a, r, ev);
	xvtrace_reader_free(r);
	/* Types have other numbers in the other reader. */
	if (a->type_room)
		memset(a->types, 0, a->type_room * sizeof(*a->types));
	if (a->host.cpu_room)
		memset(a->host.cpus, 0, a->host.cpu_room * sizeof(*a->host.cpus));
	return err ? err : got < 0 ? got : 0;
}

/* Whether the thread had the CPU all the time since another began to wait for it. */
static bool had_it(struct xvt_analyze *a, const struct host_cpu *c, int tid, uint64_t since_ns)
{
	return c->known && c->tid == tid && c->since_ns <= since_ns &&
	       (!a->host.filtered || is_of_vmm(a, a->reader, tid));
}

/* -- who has the CPU ------------------------------------------------------------------ */

static void add_occupant(struct interval *i, int tid, uint32_t thread, uint64_t ns)
{
	uint32_t at = 0;

	if (!i->count)
		i->first = thread;
	i->last = thread;
	while (at < i->count && i->occupants[at].tid != tid)
		at++;
	if (at == OCCUPANTS) {
		at--;
		tid = -2;
		thread = HOST_THREAD_OTHERS;
	}
	i->count += at == i->count;
	/* A thread may change its name while it has the CPU: the newest counts. */
	i->occupants[at].tid = tid;
	i->occupants[at].thread = thread;
	i->occupants[at].ns += ns;
}

/* A thread waits: its time so far goes to the thread that has the CPU, which is `tid` if `certain`.
 */
static void charge(struct xvt_analyze *a, struct thread *t, int tid, bool certain, uint64_t ns)
{
	if (!t->waits || ns <= t->since_ns)
		return;
	if (certain)
		add_occupant(&t->off, tid, host_threads_of(a, tid), ns - t->since_ns);
	else
		add_occupant(&t->off, -1, HOST_THREAD_MISSING, ns - t->since_ns);
	t->since_ns = ns;
}

/* `tid` leaves the CPU. */
static void charge_waiting(struct xvt_analyze *a, unsigned int cpu, const struct host_cpu *c,
			   int tid, uint64_t ns)
{
	const struct host *h = &a->host;

	for (size_t i = 0; i < h->thread_count; i++) {
		struct thread *t = h->threads[i];

		if (t->state == THREAD_OFF && t->waits && t->cpu == cpu)
			charge(a, t, tid, had_it(a, c, tid, t->since_ns), ns);
	}
}

/* What is known of the CPU now, without its next switch: only where all switches are recorded. */
static void charge_unseen(struct xvt_analyze *a, struct thread *t, uint64_t ns)
{
	struct host_cpu *c = cpu_of(&a->host, t->cpu);

	if (c)
		charge(a, t, c->tid, !a->host.filtered && had_it(a, c, c->tid, t->since_ns), ns);
}

/* -- threads -------------------------------------------------------------------------- */

static int give(struct xvt_analyze *a, struct thread *t)
{
	int err = 0;

	for (size_t i = 0; i < a->vcpu_count && !err; i++)
		if (a->list[i]->thread == t)
			err = vcpu_interval(a, a->list[i], &t->off);
	return err;
}

/* It was on a CPU until now. */
static int give_running(struct xvt_analyze *a, struct thread *t, uint64_t ns, bool open)
{
	const uint64_t begin_ns =
		t->on_since_ns > a->options.range_ns ? t->on_since_ns : a->options.range_ns;
	int err = 0;

	if (!part_wants_end(a, ns))
		return 0;
	t->on_ns += ns - begin_ns;
	for (size_t i = 0; i < a->vcpu_count; i++)
		for (size_t k = 0; a->analyses[k] && !err && a->list[i]->thread == t; k++)
			if (a->analyses[k]->running && a->list[i]->wanted)
				err = a->analyses[k]->running(a, a->list[i], begin_ns, ns, open);
	return err;
}

/* Times at which the thread was on a CPU and off it are not recorded: so it was on one when its
 * guest made events. */
static int give_unknown(struct xvt_analyze *a, struct thread *t, uint64_t begin_ns, uint64_t ns)
{
	for (size_t i = 0; i < a->vcpu_count; i++)
		if (a->list[i]->thread == t)
			a->list[i]->inside = false;
	t->off.begin_ns = begin_ns;
	t->off.end_ns = ns;
	t->off.lost = true;
	return begin_ns < ns ? give(a, t) : 0;
}

/* -- wake-ups -------------------------------------------------------------------------- */

static void set_waker(struct interval *off, const struct wake_up *w)
{
	off->woken_ns = w->ns;
	off->waker = w->waker;
	off->waker_irq = w->irq;
}

/*
 * A thread that is about to sleep has left its CPU's queue before the kernel records the switch
 * away from it. Another CPU may wake it in between: the wake-up is recorded before the switch,
 * whose prev_state says all the same that it sleeps. Linux wakes a thread once for each sleep; so
 * if it comes to a CPU again and no wake-up was recorded since it left, the one before was this
 * one, and it waited for a CPU from the switch on. (kernel/sched/core.c, try_to_wake_up(): p->on_rq
 * is 0 and p->on_cpu still 1.)
 */
static void settle_early(struct thread *t)
{
	if (t->early)
		set_waker(&t->off, &t->early_wake);
	t->early = false;
}

/* The thread was woken once more, and so had slept: the wake-up before was of no sleep. */
static void drop_early(struct thread *t)
{
	t->early = false;
	t->waits = false;
	t->off.count = 0;
}

/* Whether it may have been on a CPU since it left one, or woken otherwise: also where the LOST
 * record is behind `to`. */
static bool is_lost(const struct xvt_analyze *a, const struct thread *t, struct xvtrace_point to)
{
	const struct xvtrace_point from = { t->ring, t->off.begin_ns, a->host.bound_ns };

	return lost_between(a, a->host.machine, from, to);
}

static int switch_in(struct xvt_analyze *a, struct thread *t, const struct xvtrace_event *ev)
{
	const uint64_t ns = ev->ns;
	int err = 0;

	if (t->state == THREAD_OFF) {
		t->off.lost |=
			is_lost(a, t, (struct xvtrace_point){ ev->ring, ns, a->host.bound_ns });
		settle_early(t);
		/* It came to this CPU from another's queue, without a recorded event. */
		if (t->waits)
			charge(a, t, 0, false, ns);
		t->off.end_ns = ns;
		a->impossible += t->off.lost ? 0 : t->off.inside;
		err = give(a, t);
	} else if (t->state == THREAD_ON) {
		t->off = (struct interval){ .waker = HOST_THREAD_MISSING };
		err = give_unknown(a, t, t->on_since_ns, ns);
	} else if (t->lost_ns) {
		t->off = (struct interval){ .waker = HOST_THREAD_MISSING };
		err = give_unknown(a, t, t->lost_ns, ns);
	}
	if (!t->known_ns)
		t->known_ns = ns;
	t->state = THREAD_ON;
	t->early = false;
	t->on_since_ns = ns;
	t->cpu = ev->ring->cpu;
	t->ring = ev->ring;
	return err;
}

/* prev_state of sched_switch: bits of the kernel's TASK_REPORT; above them: it was preempted. */
static enum xvt_off off_of(uint64_t state)
{
	if (state & 0x0c) /* TASK_STOPPED, TASK_TRACED */
		return OFF_STOPPED;
	if (state & 0x02) /* TASK_UNINTERRUPTIBLE */
		return OFF_BLOCKED;
	return state & 0xff ? OFF_ASLEEP : OFF_PREEMPTED;
}

static int switch_out(struct xvt_analyze *a, struct thread *t, const struct xvtrace_event *ev,
		      enum xvt_off off)
{
	const uint64_t ns = ev->ns;
	int err = 0;

	if (t->state == THREAD_OFF) {
		err = give_unknown(a, t, t->off.begin_ns, ns);
	} else if (t->state == THREAD_UNKNOWN && t->lost_ns) {
		t->off = (struct interval){ .waker = HOST_THREAD_MISSING };
		err = give_unknown(a, t, t->lost_ns, ns);
	}
	if (!t->known_ns)
		t->known_ns = ns;
	if (t->state == THREAD_ON && !err)
		err = give_running(a, t, ns, false);
	t->early &= t->state == THREAD_ON && off != OFF_PREEMPTED;
	t->state = THREAD_OFF;
	t->cpu = ev->ring->cpu;
	t->ring = ev->ring;
	t->waits = off == OFF_PREEMPTED || t->early;
	t->since_ns = ns;
	t->off = (struct interval){ .begin_ns = ns, .off = off, .waker = HOST_THREAD_MISSING };
	return err;
}

static int take_switch(struct xvt_analyze *a, const struct part_type *type,
		       const struct xvtrace_event *ev)
{
	const int prev = (int)part_number(ev, type, SWITCH_PREV);
	const int next = (int)part_number(ev, type, SWITCH_NEXT);
	const unsigned int cpu = ev->ring->cpu;
	struct host_cpu *c = cpu_of(&a->host, cpu);
	struct thread *t;
	bool of_vcpu;
	int err = 0;

	if (!c)
		return 0;
	a->host.switches = true;
	a->host.missing += c->known && c->tid != prev;
	charge_waiting(a, cpu, c, prev, ev->ns);
	t = thread_of(a, next);
	of_vcpu = t;
	if (t)
		err = switch_in(a, t, ev);
	t = thread_of(a, prev);
	of_vcpu |= t != NULL;
	if (t && !err)
		err = switch_out(a, t, ev, off_of(part_number(ev, type, SWITCH_STATE)));
	check_chain(a, a->reader, c, prev, next, of_vcpu, ev->ns);
	return err;
}

static void take_waking(struct xvt_analyze *a, const struct part_type *type,
			const struct xvtrace_event *ev)
{
	struct thread *t = thread_of(a, (int)part_number(ev, type, WAKING_PID));
	const struct wake_up w = { .ns = ev->ns,
				   .waker = ev->pid > 0 ? host_threads_of(a, ev->pid)
							: HOST_THREAD_NONE,
				   .irq = ev->irq_flags & 0x18 };

	if (!t || t->state == THREAD_UNKNOWN)
		return;
	if (t->state == THREAD_ON) {
		t->early = true;
		t->early_wake = w;
		return;
	}
	if (t->early)
		drop_early(t);
	if (t->waits || !t->off.off)
		return;
	set_waker(&t->off, &w);
	t->waits = true;
	t->cpu = (unsigned int)part_number(ev, type, WAKING_CPU);
	t->since_ns = ev->ns;
}

static void take_migration(struct xvt_analyze *a, const struct part_type *type,
			   const struct xvtrace_event *ev)
{
	struct thread *t = thread_of(a, (int)part_number(ev, type, WAKING_PID));

	if (!t || t->state != THREAD_OFF)
		return;
	charge_unseen(a, t, ev->ns);
	t->cpu = (unsigned int)part_number(ev, type, WAKING_CPU);
}

/* The thread had the CPU until events of that were lost, or may be missing; then it may have left
 * it and come again. */
static int lose(struct xvt_analyze *a, struct thread *t, uint64_t ns)
{
	const struct xvtrace_point from = { .ring = t->ring, .ns = t->on_since_ns };
	const struct xvtrace_point to = { .ring = t->ring, .ns = ns };
	const struct xvtrace_hole *hole = hole_of_ring(a, t->ring, from, to);
	int err = 0;

	t->lost_ns = hole ? hole->begin_ns : t->on_since_ns;
	if (t->lost_ns > t->on_since_ns)
		err = give_running(a, t, t->lost_ns, false);
	t->state = THREAD_UNKNOWN;
	return err;
}

/* Switches of one CPU are missing: a thread that was off may have been on it. */
static int take_loss(struct xvt_analyze *a, unsigned int cpu, uint64_t ns)
{
	struct host *h = &a->host;
	struct host_cpu *c = cpu_of(h, cpu);
	int err = 0;

	if (c)
		c->known = false;
	for (size_t i = 0; i < h->thread_count && !err; i++) {
		struct thread *t = h->threads[i];

		t->known_ns = 0;
		/* The wake-up of its sleep may be among what was lost. */
		if (t->state == THREAD_ON)
			t->early = false;
		if (t->state == THREAD_OFF)
			t->off.lost = true;
		else if (t->state == THREAD_ON && t->cpu == cpu)
			err = lose(a, t, ns);
	}
	return err;
}

int host_event(struct xvt_analyze *a, const struct part_type *t, const struct xvtrace_event *ev)
{
	if (ev->kind == XVTRACE_LOST)
		return take_loss(a, ev->ring->cpu, ev->ns);
	if (ev->bound_ns < XVTRACE_NO_BOUND && ev->bound_ns > a->host.bound_ns)
		a->host.bound_ns = ev->bound_ns;
	if (t->kind == PART_SWITCH)
		return take_switch(a, t, ev);
	if (t->kind == PART_WAKING)
		take_waking(a, t, ev);
	else if (t->kind == PART_MIGRATE)
		take_migration(a, t, ev);
	return 0;
}

/* The thread is on a CPU at the end, unless a hole is open there. */
static int end_on(struct xvt_analyze *a, struct thread *t)
{
	const struct xvtrace_point from = { .ring = t->ring, .ns = t->on_since_ns };
	const struct xvtrace_point to = { .ring = t->ring, .ns = a->last_ns };

	return hole_of_ring(a, t->ring, from, to) ? lose(a, t, a->last_ns)
						  : give_running(a, t, a->last_ns, true);
}

static int end_off(struct xvt_analyze *a, struct thread *t)
{
	if (a->last_ns <= t->off.begin_ns)
		return 0;
	charge_unseen(a, t, a->last_ns);
	/* Whether it sleeps or waits would be told by its next wake-up or switch. */
	t->off.lost |= t->early;
	t->off.lost |= is_lost(a, t, (struct xvtrace_point){ NULL, a->last_ns, a->host.bound_ns });
	t->off.end_ns = a->last_ns;
	t->off.open = true;
	return give(a, t);
}

int host_end(struct xvt_analyze *a)
{
	int err = 0;

	for (size_t i = 0; i < a->host.thread_count && !err; i++) {
		struct thread *t = a->host.threads[i];

		if (t->state == THREAD_ON)
			err = end_on(a, t);
		if (t->state == THREAD_OFF)
			err = end_off(a, t);
		if (t->state != THREAD_UNKNOWN || !t->lost_ns || err)
			continue;
		t->off = (struct interval){ .waker = HOST_THREAD_MISSING, .open = true };
		err = give_unknown(a, t, t->lost_ns, a->last_ns);
	}
	return err;
}

void host_fini(struct host *h)
{
	for (size_t i = 0; i < h->thread_count; i++)
		free(h->threads[i]);
	free(h->threads);
	free(h->cpus);
}
