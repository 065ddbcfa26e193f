// SPDX-License-Identifier: GPL-2.0
/*
 * task.c - a task on a CPU ran since the switch to it. It came there because it had been
 * pre-empted, or because it was woken: then its waker is before it.
 */
#include "path/parts.h"

#include <stdio.h>

/* -- a task on a CPU ------------------------------------------------------------------ */

/* Nothing is known of the CPU's ring further back. */
static void stop_at_begin(struct xvt_path *p)
{
	const struct xvtrace_ring *ring = p->rings[p->at.ring].ring;
	const char *needs = ring->machine->host ? "record --host sched"
						: "sched_switch in the guest (xvtrace.7)";

	if (p->seen[ring->machine->number].switches)
		walk_stop(p, XVT_PATH_END_HOLE, "--span, if the trace has more before",
			  "the events of %s:%u that were read begin here", ring->machine->name,
			  ring->cpu);
	else
		walk_stop(p, XVT_PATH_END_HOLE, needs, "the task switches of %s are not recorded",
			  ring->machine->name);
}

/* The switch by which the task came to its CPU; messages on the way. NONE: the walk has stopped. */
static uint32_t switch_to_it(struct xvt_path *p)
{
	uint32_t i = p->at.at;

	for (; i != NONE; i = p->recs[i].before) {
		const struct rec *r = &p->recs[i];

		if (r->kind == REC_SWITCH)
			break;
		if (r->kind == REC_LOST && walk_doubts(p, r))
			return NONE;
		if (r->kind == REC_SENT && p->message.open && i == p->message.sent)
			p->message.open = false;
		else if (r->kind == REC_RECEIVED && r->pid == p->at.pid && !p->message.open)
			message_received(p, i);
	}
	if (i == NONE) {
		stop_at_begin(p);
	} else if (p->recs[i].b != p->at.pid) {
		walk_stop(p, XVT_PATH_END_HOLE, NULL, "a task switch of %s:%u is missing",
			  p->rings[p->at.ring].ring->machine->name, p->rings[p->at.ring].ring->cpu);
		return NONE;
	}
	return i;
}

static struct xvt_path_step step_of(struct xvt_path *p, enum xvt_path_kind kind,
				    enum xvt_path_edge edge, const struct rec *in)
{
	struct xvt_path_step s = {
		.kind = kind, .edge = edge, .ring = p->rings[in->ring].ring, .pid = in->b
	};

	task_name(p, s.ring->machine, s.pid, in, s.task, sizeof(s.task));
	return s;
}

/* -- why it came there ---------------------------------------------------------------- */

static const char *wakings_need(struct xvt_path *p, const struct rec *in)
{
	if (!rec_machine(p, in)->host)
		return "sched_waking in the guest: record -e sched:sched_waking";
	return thread_at(p, in->b, in->ns).machine ? "record --host sched"
						   : "record --host sched --host-all";
}

static void came_by_preemption(struct xvt_path *p, uint32_t in)
{
	const uint32_t out = p->recs[in].out;
	const struct rec *r = &p->recs[out];
	struct xvt_path_step s = step_of(p, XVT_PATH_PREEMPTED, XVT_PATH_SAME, &p->recs[in]);

	if (walk_doubts(p, r) || walk_lost(p, r, &p->recs[in]))
		return;
	s.ring = p->rings[r->ring].ring;
	task_name(p, s.ring->machine, r->b, r, s.by, sizeof(s.by));
	if (!step_back(p, s, r))
		return;
	walk_task_next(p, r->ring, r->before, p->at.pid);
}

/* sched_wakeup is given on the CPU to whose queue the task goes, which may be another one. */
static bool tells_waker(struct xvt_path *p, const struct rec *woken)
{
	if (woken->kind != REC_WAKEUP || (woken->pid > 0 && !(woken->context & 0x18)))
		return true;
	walk_stop(p, XVT_PATH_END_HOLE, wakings_need(p, woken),
		  "the wake-up came by an interrupt, or in the idle task: who sent it is not told");
	return false;
}

static void came_by_waking(struct xvt_path *p, uint32_t in)
{
	const struct rec *r = &p->recs[in];
	const struct xvtrace_machine *m = rec_machine(p, r);
	unsigned int left;
	const uint32_t k = waking_of(p, in, &left);
	struct xvt_path_step s = step_of(p, XVT_PATH_WAITS, XVT_PATH_WAKER, r);

	if (k == NONE && !left) {
		walk_stop(p, XVT_PATH_END_HOLE, wakings_need(p, r), "what woke %s is not recorded",
			  s.task);
		return;
	}
	if (k == NONE) {
		walk_stop(p, XVT_PATH_END_HOLE, NULL,
			  "the bounds leave open which of %u wake-ups of %s it was", left, s.task);
		return;
	}
	if (walk_lost(p, &p->recs[k], r) || walk_doubts(p, &p->recs[k]) ||
	    !tells_waker(p, &p->recs[k]))
		return;
	if (p->recs[k].context & (CONTEXT_HARDIRQ | CONTEXT_SOFTIRQ))
		snprintf(s.by, sizeof(s.by), "an interrupt");
	else
		task_name(p, m, p->recs[k].pid, NULL, s.by, sizeof(s.by));
	if (step_back(p, s, &p->recs[k]))
		walk_next(p, NEXT_CONTEXT, k);
}

/* Records of a ring come in their order. Wake-ups of two rings within their bounds could lead round
 * and round: a guest may write anything. */
static bool was_there(struct xvt_path *p, uint32_t in)
{
	struct path_ring *ring = &p->rings[p->recs[in].ring];

	if (in < ring->reached) {
		ring->reached = in;
		return false;
	}
	walk_stop(p, XVT_PATH_END_HOLE, NULL, "the wake-ups of %s lead in a circle",
		  ring->ring->machine->name);
	return true;
}

void walk_task(struct xvt_path *p)
{
	const uint32_t in = switch_to_it(p);
	const struct rec *r;

	if (in == NONE || walk_doubts(p, &p->recs[in]) || was_there(p, in))
		return;
	r = &p->recs[in];
	if (!step_back(p, step_of(p, XVT_PATH_RUNS, XVT_PATH_SAME, r), r))
		return;
	if (r->out != NONE && !p->recs[r->out].c)
		came_by_preemption(p, in);
	else
		came_by_waking(p, in);
}
