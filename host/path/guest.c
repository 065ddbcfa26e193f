// SPDX-License-Identifier: GPL-2.0
/* guest.c - from the thread of a vCPU to what its guest did when the thread did something. The
 * guest's last event that was surely before tells; one that may be before or behind tells nothing.
 */
#include "path/parts.h"

#include <stdio.h>

static bool runs_ring(const struct path_thread *t, const struct xvtrace_ring *ring)
{
	return ring && !ring->thread && ring->machine == t->machine &&
	       (t->hw_id == XVTRACE_ALL_VCPUS || t->hw_id == ring->hw_id);
}

static bool changes_context(const struct rec *r)
{
	return r->kind == REC_SWITCH || r->kind == REC_LOST ||
	       (r->kind >= REC_IRQ_ENTRY && r->kind <= REC_TIMER_EXIT);
}

struct last {
	uint32_t at;  /* of the vCPU's records, or NONE */
	bool open;    /* one that changes what it is at may be before or behind */
	bool several; /* other vCPUs of the same thread have records */
};

static struct last last_before(struct xvt_path *p, const struct path_thread *t, const struct rec *r)
{
	const uint64_t most = p->seen[t->machine->number].bound_most_ns;
	size_t i = recs_before(p, rec_latest(r) + most + 1);
	struct last l = { .at = NONE };

	while (i-- > 0 && l.at == NONE) {
		const struct rec *e = &p->recs[i];

		if (!runs_ring(t, p->rings[e->ring].ring) || rec_earliest(e) > rec_latest(r))
			continue;
		if (rec_latest(e) < rec_earliest(r))
			l.at = (uint32_t)i;
		else
			l.open |= changes_context(e);
	}
	for (unsigned int k = 0; k < p->info->rings && l.at != NONE; k++)
		l.several |= runs_ring(t, p->rings[k].ring) && k != p->recs[l.at].ring &&
			     p->rings[k].last != NONE;
	return l;
}

/* The task or the handler at which the vCPU is, at a record of it. */
static void walk_at(struct xvt_path *p, uint32_t at)
{
	const struct xvtrace_ring *ring = p->rings[p->recs[at].ring].ring;
	uint32_t entry, end;

	if (!open_handler(p, at, HANDLER_HARD | HANDLER_SOFT, &entry, &end)) {
		if (end == NONE || !walk_doubts(p, &p->recs[end]))
			walk_stop(p, XVT_PATH_END_HOLE, "--span, if the trace has more before",
				  "what %s:%u was at is not known", ring->machine->name, ring->cpu);
	} else if (entry != NONE) {
		walk_next(p, NEXT_HANDLER, entry);
	} else if (!p->recs[end].b) {
		walk_stop(p, XVT_PATH_END_HOLE, NULL, "%s:%u was idle", ring->machine->name,
			  ring->cpu);
	} else {
		walk_task_next(p, p->recs[at].ring, at, p->recs[end].b);
	}
}

static bool is_sure(struct xvt_path *p, const struct path_thread *t, const struct rec *r,
		    const struct last *l)
{
	if (l->at == NONE)
		walk_stop(p, XVT_PATH_END_HOLE, "the module in that guest, and sched_switch",
			  "what the vCPU of %s was at is not recorded", t->machine->name);
	else if (l->open)
		walk_stop(p, XVT_PATH_END_HOLE, NULL,
			  "the bounds leave open what the vCPU of %s was at", t->machine->name);
	else
		return !walk_doubts(p, &p->recs[l->at]) && !walk_lost(p, &p->recs[l->at], r);
	return false;
}

void walk_into_guest(struct xvt_path *p, const struct path_thread *t, uint32_t i)
{
	const struct rec *r = &p->recs[i];
	const struct last l = last_before(p, t, r);
	struct xvt_path_step *last = &p->steps[p->step_count - 1];

	if (!is_sure(p, t, r, &l))
		return;
	if (l.several &&
	    !walk_guesses(p, "tcg,thread=multi, or KVM",
			  "one thread runs all vCPUs of %s: which one it was is not told",
			  t->machine->name))
		return;
	last->edge = l.several ? XVT_PATH_LAST_OF_VCPU : XVT_PATH_VCPU_THREAD;
	last->grade = l.several ? XVT_PATH_GUESS : last->grade;
	walk_at(p, l.at);
}
