// SPDX-License-Identifier: GPL-2.0
/*
 * raised.c - what raised an interrupt of a guest. Under KVM the host's events tell: kvm_inj_virq in
 * the vCPU's thread, and kvm_apic_accept_irq with the vCPU's APIC id and that vector in the context
 * of what raised it. Without them: a vCPU that was idle handles an interrupt because another thread
 * woke its thread. Else only a guess is left: the thread of the VMM that ran last before.
 */
#include "path/parts.h"

#include <stdio.h>

#define NEEDS "under KVM: record --host vcpu; TCG shows no injection"

static struct xvt_path_step step_of(const struct xvt_path *p, const struct rec *entry,
				    enum xvt_path_edge edge)
{
	struct xvt_path_step s = {
		.kind = XVT_PATH_RAISED, .edge = edge, .ring = p->rings[entry->ring].ring, .pid = -1
	};
	const char *text = rec_text(p, entry);
	char name[40];

	xvt_text_clean(name, sizeof(name), text, strlen(text));
	snprintf(s.task, sizeof(s.task), "interrupt %d%s%s", entry->a, name[0] ? " " : "", name);
	return s;
}

static void step_to(struct xvt_path *p, struct xvt_path_step s, uint32_t cause)
{
	const struct rec *r = &p->recs[cause];

	if (r->context & (CONTEXT_HARDIRQ | CONTEXT_SOFTIRQ))
		snprintf(s.by, sizeof(s.by), "an interrupt of the host");
	else
		task_name(p, p->host, r->pid, NULL, s.by, sizeof(s.by));
	if (step_back(p, s, r))
		walk_next(p, NEXT_CONTEXT, cause);
}

/* -- KVM ------------------------------------------------------------------------------ */

struct injection {
	uint32_t at;   /* kvm_inj_virq, or NONE */
	uint32_t prev; /* the one of the same vector before, or NONE */
	bool open;     /* another one may have been before the handler, too */
};

/* No other interrupt is injected between an injection and its handler. */
static struct injection injection_before(const struct xvt_path *p, int tid, const struct rec *entry)
{
	struct injection j = { NONE, NONE, false };
	size_t i = recs_before(p, rec_latest(entry) + 1);

	while (i-- > 0 && j.prev == NONE) {
		const struct rec *r = &p->recs[i];

		if (r->kind != REC_INJECT || r->pid != tid || rec_machine(p, r) != p->host)
			continue;
		if (j.at != NONE)
			j.prev = r->a == p->recs[j.at].a ? (uint32_t)i : NONE;
		else if (r->ns < rec_earliest(entry))
			j.at = (uint32_t)i;
		else
			j.open = true;
	}
	return j;
}

/* The accepted interrupts since the last injection of that vector. *count: how many. */
static uint32_t accepted(const struct xvt_path *p, const struct injection *j, unsigned int hw_id,
			 unsigned int *count)
{
	const int vector = p->recs[j->at].a;
	uint32_t found = NONE;

	*count = 0;
	for (size_t i = j->at; i-- > 0 && (uint32_t)i != j->prev;) {
		const struct rec *r = &p->recs[i];

		if (r->kind != REC_ACCEPT || (unsigned int)r->a != hw_id || r->b != vector ||
		    rec_machine(p, r) != p->host)
			continue;
		if (found == NONE)
			found = (uint32_t)i;
		++*count;
	}
	return found;
}

static void walk_injection(struct xvt_path *p, uint32_t i, int tid)
{
	const struct rec *entry = &p->recs[i];
	const struct xvtrace_ring *ring = p->rings[entry->ring].ring;
	const struct injection j = injection_before(p, tid, entry);
	struct xvt_path_step s = step_of(p, entry, XVT_PATH_INJECTED);
	unsigned int count;
	uint32_t a;

	if (j.open || j.at == NONE) {
		walk_stop(p, XVT_PATH_END_HOLE, NULL,
			  j.open ? "the bounds leave open which injection %s was"
				 : "%s was not injected in the events that were read",
			  s.task);
		return;
	}
	/* Another one may have been injected since, or raised since the last injection before. */
	if (recs_lost(p, p->host, j.prev == NONE ? 0 : p->recs[j.prev].ns, rec_latest(entry))) {
		walk_stop(p, XVT_PATH_END_HOLE, NULL, "events of %s were lost in between",
			  p->host->name);
		return;
	}
	/* Of softirqs and of ftrace's own events the vector is not known. */
	if (entry->kind == REC_IRQ_ENTRY && entry->b && entry->b != p->recs[j.at].a) {
		walk_stop(p, XVT_PATH_END_HOLE, NULL,
			  "%s has vector %d, and vector %d was injected before it", s.task,
			  entry->b, p->recs[j.at].a);
		return;
	}
	a = accepted(p, &j, ring->hw_id, &count);
	if (a == NONE) {
		walk_stop(p, XVT_PATH_END_HOLE, "record --host vcpu",
			  "vector %d was injected, and kvm_apic_accept_irq of it is missing",
			  p->recs[j.at].a);
		return;
	}
	if (count > 1) {
		if (!walk_guesses(p, NULL, "vector %d was raised %u times before its injection",
				  p->recs[j.at].a, count))
			return;
		s.edge = XVT_PATH_ONE_OF_MANY;
		s.grade = XVT_PATH_GUESS;
	}
	step_to(p, s, a);
}

/* -- the vCPU's thread was woken ------------------------------------------------------- */

/* Whether another thread of the machine's VMM had a CPU in between, or may have had one, and so may
 * have raised it. */
static bool others_ran(struct xvt_path *p, const struct xvtrace_machine *m, int tid, int waker,
		       size_t from, uint64_t to_ns)
{
	size_t i = recs_before(p, to_ns);

	/* Back over all switches in between: both of their threads had a CPU. */
	for (; i-- > from;) {
		const struct rec *r = &p->recs[i];

		if (r->kind != REC_SWITCH || rec_machine(p, r) != p->host)
			continue;
		if ((r->a != tid && r->a != waker && thread_at(p, r->a, r->ns).machine == m) ||
		    (r->b != tid && thread_at(p, r->b, r->ns).machine == m))
			return true;
	}
	/* And those that had one all the time. */
	for (unsigned int k = 0; k < p->info->rings; k++) {
		uint32_t at = p->rings[k].last;

		if (!p->rings[k].ring || p->rings[k].ring->machine != p->host)
			continue;
		while (at != NONE && (at >= from || (p->recs[at].kind != REC_SWITCH &&
						     p->recs[at].kind != REC_LOST)))
			at = p->recs[at].before;
		if (at != NONE && p->recs[at].kind == REC_LOST)
			return true;
		if (at != NONE && p->recs[at].b != waker && p->recs[at].b != tid &&
		    thread_at(p, p->recs[at].b, p->recs[at].ns).machine == m)
			return true;
	}
	return false;
}

/* The last switch to the thread that was surely before. NONE: none, or the order is open. */
static uint32_t thread_came(const struct xvt_path *p, int tid, const struct rec *entry)
{
	size_t i = recs_before(p, rec_latest(entry) + 1);

	while (i-- > 0) {
		const struct rec *r = &p->recs[i];

		if (r->kind != REC_SWITCH || (r->a != tid && r->b != tid) ||
		    rec_machine(p, r) != p->host)
			continue;
		return r->b == tid && r->ns < rec_earliest(entry) ? (uint32_t)i : NONE;
	}
	return NONE;
}

/* The guest was idle, and gave no event between the wake-up of the vCPU's thread and the handler.
 */
static bool was_idle(const struct xvt_path *p, const struct rec *entry, const struct rec *woken)
{
	uint32_t k = entry->before;

	if (k == NONE || rec_latest(&p->recs[k]) >= woken->ns)
		return false;
	while (k != NONE && p->recs[k].kind != REC_SWITCH && p->recs[k].kind != REC_LOST)
		k = p->recs[k].before;
	return k != NONE && p->recs[k].kind == REC_SWITCH && !p->recs[k].b;
}

/* The wake-up of the vCPU's thread that made it handle the interrupt. NONE: it is not proven. */
static uint32_t thread_woken(struct xvt_path *p, int tid, bool shares, const struct rec *entry)
{
	const struct xvtrace_machine *m = rec_machine(p, entry);
	const uint32_t in = thread_came(p, tid, entry);
	const struct rec *s = in == NONE ? NULL : &p->recs[in];
	uint32_t k;

	if (!s || shares || s->out == NONE || !p->recs[s->out].c || s->woken == NONE)
		return NONE;
	k = s->woken;
	if (k < s->out || !was_idle(p, entry, &p->recs[k]) ||
	    recs_lost(p, p->host, p->recs[s->out].ns, rec_latest(entry)) ||
	    others_ran(p, m, tid, p->recs[k].pid, k, rec_latest(entry)))
		return NONE;
	return k;
}

/* -- a guess -------------------------------------------------------------------------- */

struct ran {
	uint32_t at; /* the switch to or from it, or NONE */
	int tid;
};

static bool is_of_vmm(struct xvt_path *p, const struct xvtrace_machine *m, int tid, uint64_t ns)
{
	const struct path_thread t = thread_at(p, tid, ns);

	return t.machine == m && !t.vcpu;
}

/* The thread of the VMM, that is no vCPU's, that had a CPU last before. */
static struct ran last_of_vmm(struct xvt_path *p, const struct rec *entry)
{
	const struct xvtrace_machine *m = rec_machine(p, entry);
	size_t i = recs_before(p, entry->ns + 1);

	while (i-- > 0) {
		const struct rec *r = &p->recs[i];

		if (r->kind != REC_SWITCH || rec_machine(p, r) != p->host)
			continue;
		if (is_of_vmm(p, m, r->b, r->ns))
			return (struct ran){ (uint32_t)i, r->b };
		if (is_of_vmm(p, m, r->a, r->ns))
			return (struct ran){ (uint32_t)i, r->a };
	}
	return (struct ran){ NONE, 0 };
}

static void guess_raiser(struct xvt_path *p, uint32_t i)
{
	const struct rec *entry = &p->recs[i];
	struct xvt_path_step s = step_of(p, entry, XVT_PATH_LAST_OF_VMM);
	const struct ran ran = last_of_vmm(p, entry);
	struct rec begin;
	bool has_it;

	if (ran.at == NONE) {
		walk_stop(p, XVT_PATH_END_HOLE, "record --host vcpu",
			  "what raised %s is not recorded", s.task);
		return;
	}
	if (!walk_guesses(p, NEEDS, "what raised %s is not recorded", s.task))
		return;
	begin = p->recs[ran.at];
	has_it = begin.b == ran.tid;
	if (has_it)
		begin.ns = p->at.ns; /* it has the CPU still */
	s.grade = XVT_PATH_GUESS;
	task_name(p, p->host, ran.tid, NULL, s.by, sizeof(s.by));
	if (!step_back(p, s, &begin))
		return;
	walk_task_next(p, begin.ring, has_it ? ran.at : begin.before, ran.tid);
}

void walk_raised(struct xvt_path *p, uint32_t i)
{
	const struct rec *entry = &p->recs[i];
	const struct xvtrace_ring *ring = p->rings[entry->ring].ring;
	bool shares = false;
	const int tid = thread_of_vcpu(p, ring, entry->ns, &shares);
	uint32_t woken;

	if (walk_doubts(p, entry))
		return;
	if (!tid || !p->seen[p->host->number].switches) {
		walk_stop(p, XVT_PATH_END_HOLE, "record --host vcpu",
			  "what raised an interrupt of %s:%u is not recorded", ring->machine->name,
			  ring->cpu);
		return;
	}
	if (p->seen[p->host->number].injections) {
		walk_injection(p, i, tid);
		return;
	}
	woken = thread_woken(p, tid, shares, entry);
	if (woken == NONE) {
		guess_raiser(p, i);
		return;
	}
	/* The waker may have had another reason, and raised it later. */
	walk_risks(p);
	step_to(p, step_of(p, entry, XVT_PATH_VCPU_WOKEN), woken);
}
