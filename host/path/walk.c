// SPDX-License-Identifier: GPL-2.0
/* walk.c - the walk back from the end of a path: from each step to what is before it. */
#include "path/parts.h"

/* What made record `i`: a task, the guest of a vCPU's thread, or an interrupt. */
static void walk_context(struct xvt_path *p, uint32_t i)
{
	const struct rec *r = &p->recs[i];
	const struct xvtrace_ring *ring = p->rings[r->ring].ring;
	const struct path_thread t =
		ring->machine->host ? thread_at(p, r->pid, r->ns) : (struct path_thread){ 0 };

	if (r->context & (CONTEXT_HARDIRQ | CONTEXT_SOFTIRQ))
		walk_interrupt(p, i);
	else if (r->pid <= 0)
		walk_stop(p, XVT_PATH_END_HOLE, NULL, "the idle task of %s:%u did it",
			  ring->machine->name, ring->cpu);
	else if (t.vcpu)
		walk_into_guest(p, &t, i);
	else
		walk_task_next(p, r->ring, r->before, r->pid);
}

void walk(struct xvt_path *p)
{
	while (!p->ended && !p->err) {
		switch (p->next) {
		case NEXT_TASK:
			walk_task(p);
			break;
		case NEXT_CONTEXT:
			walk_context(p, p->next_rec);
			break;
		case NEXT_HANDLER:
			walk_handler(p, p->next_rec);
			break;
		case NEXT_RAISED:
			walk_raised(p, p->next_rec);
			break;
		}
	}
}
