// SPDX-License-Identifier: GPL-2.0
/* irq.c - interrupts, softirqs and timers that a path comes by: back to where the handler began,
 * and from there to what raised it. */
#include "path/parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SOFTIRQ_TIMER	1
#define SOFTIRQ_HRTIMER 8

static const char *const softirqs[] = { "HI",	    "TIMER",   "NET_TX", "NET_RX",  "BLOCK",
					"IRQ_POLL", "TASKLET", "SCHED",	 "HRTIMER", "RCU" };

static const char *softirq_name(int number)
{
	return number >= 0 && number < (int)(sizeof(softirqs) / sizeof(softirqs[0]))
		       ? softirqs[number]
		       : "of an unknown number";
}

bool open_handler(const struct xvt_path *p, uint32_t i, unsigned int kinds, uint32_t *entry,
		  uint32_t *end)
{
	unsigned int irqs = 0, softs = 0, timers = 0, *closed;

	*entry = NONE;
	for (; i != NONE; i = p->recs[i].before) {
		const enum rec_kind k = p->recs[i].kind;
		const bool soft = k == REC_SOFTIRQ_ENTRY || k == REC_SOFTIRQ_EXIT;
		const bool timer = k == REC_TIMER_ENTRY || k == REC_TIMER_EXIT;

		closed = soft ? &softs : timer ? &timers : &irqs;
		if (k == REC_SWITCH || k == REC_LOST)
			break;
		if (k == REC_IRQ_EXIT || k == REC_SOFTIRQ_EXIT || k == REC_TIMER_EXIT)
			++*closed;
		if (k != REC_IRQ_ENTRY && k != REC_SOFTIRQ_ENTRY && k != REC_TIMER_ENTRY)
			continue;
		if (*closed) {
			--*closed;
		} else if (timer || kinds & (soft ? HANDLER_SOFT : HANDLER_HARD)) {
			*entry = i;
			break;
		}
	}
	*end = i;
	return i != NONE && p->recs[i].kind != REC_LOST;
}

static struct xvt_path_step handler_step(const struct xvt_path *p, const struct rec *entry)
{
	struct xvt_path_step s = { .kind = XVT_PATH_HANDLER,
				   .edge = XVT_PATH_SAME,
				   .ring = p->rings[entry->ring].ring,
				   .pid = -1 };
	const char *text = rec_text(p, entry);
	char name[40];

	xvt_text_clean(name, sizeof(name), text, strlen(text));
	if (entry->kind == REC_IRQ_ENTRY)
		snprintf(s.task, sizeof(s.task), "interrupt %d%s%s", entry->a, name[0] ? " " : "",
			 name);
	else if (entry->kind == REC_SOFTIRQ_ENTRY)
		snprintf(s.task, sizeof(s.task), "softirq %s", softirq_name(entry->a));
	else
		snprintf(s.task, sizeof(s.task), "timer");
	return s;
}

/* -- what raised a softirq ------------------------------------------------------------- */

struct raises {
	uint32_t last; /* softirq_raise */
	uint32_t irq;  /* the last interrupt of a device */
	unsigned int count;
	bool lost;
};

/* Since the softirq of that number began before. */
static struct raises raises_before(const struct xvt_path *p, uint32_t entry)
{
	struct raises r = { NONE, NONE, 0, false };
	const int number = p->recs[entry].a;

	for (uint32_t i = p->recs[entry].before; i != NONE; i = p->recs[i].before) {
		const struct rec *e = &p->recs[i];

		if (e->kind == REC_SOFTIRQ_ENTRY && e->a == number)
			return r;
		r.lost |= e->kind == REC_LOST;
		if (e->kind == REC_IRQ_ENTRY && r.irq == NONE)
			r.irq = i;
		if (e->kind != REC_SOFTIRQ_RAISE || e->a != number)
			continue;
		r.last = r.count ? r.last : i;
		r.count++;
	}
	return r;
}

static struct xvt_path_step raised_step(const struct xvt_path *p, const struct rec *entry,
					enum xvt_path_edge edge)
{
	struct xvt_path_step s = handler_step(p, entry);

	s.kind = XVT_PATH_RAISED;
	s.edge = edge;
	s.grade = edge == XVT_PATH_RAISE ? XVT_PATH_PROVEN : XVT_PATH_GUESS;
	return s;
}

/* softirq_raise is not recorded: the interrupt before may have done it. */
static void guess_raiser(struct xvt_path *p, uint32_t entry, uint32_t irq)
{
	const char *needs = "irq:softirq_raise in the guest: record -e irq:softirq_raise";
	const char *name = softirq_name(p->recs[entry].a);

	if (rec_machine(p, &p->recs[entry])->host)
		needs = "record --host irq";
	if (irq == NONE)
		walk_stop(p, XVT_PATH_END_HOLE, needs, "what raised softirq %s is not recorded",
			  name);
	else if (walk_guesses(p, needs, "what raised softirq %s is not recorded", name) &&
		 step_back(p, raised_step(p, &p->recs[entry], XVT_PATH_LAST_IRQ), &p->recs[irq]))
		walk_next(p, NEXT_RAISED, irq);
}

static void walk_softirq(struct xvt_path *p, uint32_t entry)
{
	const struct rec *e = &p->recs[entry];
	const struct raises r = raises_before(p, entry);
	const bool many = r.count > 1;
	struct xvt_path_step s;

	if (e->a == SOFTIRQ_TIMER || e->a == SOFTIRQ_HRTIMER) {
		walk_stop(p, XVT_PATH_END_ORIGIN, NULL, "a timer");
		return;
	}
	if (r.lost) {
		walk_stop(p, XVT_PATH_END_HOLE, NULL, "events were lost before softirq %s",
			  softirq_name(e->a));
		return;
	}
	if (r.last == NONE) {
		guess_raiser(p, entry, r.irq);
		return;
	}
	if (walk_doubts(p, &p->recs[r.last]) ||
	    (many && !walk_guesses(p, NULL, "softirq %s was raised %u times before it began",
				   softirq_name(e->a), r.count)))
		return;
	s = raised_step(p, e, many ? XVT_PATH_ONE_OF_MANY : XVT_PATH_RAISE);
	if (step_back(p, s, &p->recs[r.last]))
		walk_next(p, NEXT_CONTEXT, r.last);
}

/* -- an interrupt --------------------------------------------------------------------- */

static void stop_without_entry(struct xvt_path *p, uint32_t end, const struct xvtrace_ring *ring)
{
	if (end != NONE && p->recs[end].kind == REC_LOST)
		walk_doubts(p, &p->recs[end]);
	else
		walk_stop(p, XVT_PATH_END_HOLE,
			  ring->machine->host ? "record --host irq"
					      : "irq, timer in the guest: record -e irq -e timer",
			  "an interrupt of %s:%u whose handler is not recorded, as the CPU's timer",
			  ring->machine->name, ring->cpu);
}

void walk_handler(struct xvt_path *p, uint32_t entry)
{
	const struct rec *e = &p->recs[entry];
	const struct xvtrace_ring *ring = p->rings[e->ring].ring;
	const struct xvt_path_step s = handler_step(p, e);

	if (walk_doubts(p, e) || !step_back(p, s, e))
		return;
	if (e->kind == REC_TIMER_ENTRY)
		walk_stop(p, XVT_PATH_END_ORIGIN, NULL, "a timer of %s", ring->machine->name);
	else if (e->kind == REC_SOFTIRQ_ENTRY)
		walk_softirq(p, entry);
	else if (ring->machine->host)
		walk_stop(p, XVT_PATH_END_ORIGIN, NULL, "an interrupt of the host: %s", s.task);
	else
		walk_next(p, NEXT_RAISED, entry);
}

void walk_interrupt(struct xvt_path *p, uint32_t i)
{
	const struct rec *r = &p->recs[i];
	const bool hard = r->context & CONTEXT_HARDIRQ;
	uint32_t entry, end;

	open_handler(p, r->before, hard ? HANDLER_HARD : HANDLER_SOFT, &entry, &end);
	if (entry == NONE)
		stop_without_entry(p, end, p->rings[r->ring].ring);
	else
		walk_handler(p, entry);
}
