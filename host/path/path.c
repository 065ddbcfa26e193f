// SPDX-License-Identifier: GPL-2.0
/* path.c - see path.h. Takes the events, and finds the task at the end of the path. */
#include "path/parts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Behind the end: what by its bounds may be before it, and what each CPU did next. */
#define BEHIND_NS 1000000000u

static int begin(struct xvt_path *p)
{
	int err;

	p->rings = calloc((size_t)p->info->rings + 1, sizeof(*p->rings));
	p->seen = calloc((size_t)p->info->machines + 1, sizeof(*p->seen));
	if (!p->rings || !p->seen)
		return -ENOMEM;
	err = xvtrace_holes_new(&p->holes, p->reader);
	if (err)
		return err;
	for (unsigned int i = 0; i < p->info->rings; i++)
		p->rings[i] = (struct path_ring){ .ring = xvtrace_ring(p->trace, i),
						  .last = NONE,
						  .reached = NONE };
	for (unsigned int i = 0; i < p->info->machines; i++) {
		const struct xvtrace_machine *m = xvtrace_machine(p->trace, i);

		if (m && m->host)
			p->host = m;
	}
	return 0;
}

int xvt_path_new(struct xvt_path **out, const struct xvt_path_options *options,
		 struct xvtrace *trace, struct xvtrace_reader *reader)
{
	struct xvt_path *p = calloc(1, sizeof(*p));

	*out = p;
	if (!p)
		return -ENOMEM;
	p->options = *options;
	p->trace = trace;
	p->reader = reader;
	p->info = xvtrace_info(trace);
	return begin(p);
}

static bool is_of_ring(const struct xvt_path *p, const struct xvtrace_event *ev)
{
	return (ev->kind == XVTRACE_EVENT || ev->kind == XVTRACE_LOST) && ev->ring &&
	       !(ev->flags & XVTRACE_MADE) && ev->ring->number < p->info->rings &&
	       ev->ring->machine->number < p->info->machines && p->rings[ev->ring->number].ring;
}

bool xvt_path_wants(struct xvt_path *p, const struct xvtrace_event *ev)
{
	if (ev->ns <= p->options.at_ns)
		return true;
	return p->pending_rings && ev->ns - p->options.at_ns <= BEHIND_NS;
}

int xvt_path_feed(struct xvt_path *p, const struct xvtrace_event *ev)
{
	struct path_ring *ring;

	if (!is_of_ring(p, ev))
		return 0;
	ring = &p->rings[ev->ring->number];
	if (ev->ns <= p->options.at_ns) {
		p->pending_rings += !ring->pending;
		ring->pending = true;
	} else if (ring->pending) {
		p->pending_rings--;
		ring->pending = false;
	}
	return recs_add(p, ev);
}

/* -- the end of the path -------------------------------------------------------------- */

static bool is_machine(const struct xvt_path *p, const struct xvtrace_machine *m)
{
	return !p->options.vm ? p->options.ring && m == p->options.ring->machine
			      : strcmp(m->name, p->options.vm) == 0 ||
					strcmp(m->recorded_name, p->options.vm) == 0;
}

/* Whether the task that comes by this switch is the one that is asked for. */
static bool is_task(const struct xvt_path *p, const struct rec *r)
{
	char *end;
	const unsigned long pid = strtoul(p->options.task, &end, 10);

	if (r->b <= 0)
		return false;
	if (end != p->options.task && !*end)
		return (unsigned long)r->b == pid;
	return strcmp(rec_text(p, r), p->options.task) == 0;
}

/* The record of the event that is asked for; that before it in its ring, if it is not kept. */
static uint32_t find_record(const struct xvt_path *p)
{
	uint32_t i = p->rings[p->options.ring->number].last, before;

	while (i != NONE && p->recs[i].ns > p->options.at_ns)
		i = p->recs[i].before;
	before = i;
	for (; i != NONE && p->recs[i].ns == p->options.at_ns; i = p->recs[i].before)
		if (p->recs[i].number == p->options.number)
			return i;
	return before;
}

static void set_point(struct xvt_path *p, uint32_t at, int pid, const struct rec *end)
{
	p->at = (struct point){ .ring = p->recs[at].ring,
				.at = at,
				.pid = pid,
				.ns = p->options.at_ns,
				.bound_ns = end->bound_ns };
	p->end_bound_ns = end->bound_ns;
}

/* The ring's task at the end of the path; the switch to it. NONE: not known. */
static uint32_t running(const struct xvt_path *p, unsigned int ring)
{
	uint32_t k = p->rings[ring].last;

	while (k != NONE && (p->recs[k].ns > p->options.at_ns || p->recs[k].kind != REC_SWITCH))
		k = p->recs[k].before;
	return k;
}

/* When the task comes to a CPU next; 0: not in the events that were read. */
static const struct rec *comes_next(const struct xvt_path *p)
{
	for (size_t i = recs_before(p, p->options.at_ns + 1); i < p->rec_count; i++)
		if (p->recs[i].kind == REC_SWITCH && is_machine(p, rec_machine(p, &p->recs[i])) &&
		    is_task(p, &p->recs[i]))
			return &p->recs[i];
	return NULL;
}

/* At the end of the path, events of the machine may be missing. */
static bool is_lost_there(const struct xvt_path *p)
{
	for (unsigned int k = 0; k < p->info->rings; k++) {
		const struct xvtrace_machine *m =
			p->rings[k].ring ? p->rings[k].ring->machine : NULL;

		if (m && is_machine(p, m) &&
		    recs_lost(p, m, p->options.at_ns, p->options.at_ns + 1))
			return true;
	}
	return false;
}

static int find_by_task(struct xvt_path *p)
{
	const struct rec *next;

	for (unsigned int k = 0; k < p->info->rings; k++) {
		const uint32_t in = p->rings[k].ring && is_machine(p, p->rings[k].ring->machine)
					    ? running(p, k)
					    : NONE;
		uint32_t at = p->rings[k].last;

		if (in == NONE || !is_task(p, &p->recs[in]))
			continue;
		while (p->recs[at].ns > p->options.at_ns)
			at = p->recs[at].before;
		set_point(p, at, p->recs[in].b, &p->recs[at]);
		return 0;
	}
	next = comes_next(p);
	if (is_lost_there(p))
		snprintf(p->error, sizeof(p->error),
			 "events were lost at that time, and it may be on a CPU or on none");
	else if (next)
		snprintf(p->error, sizeof(p->error),
			 "it is on no CPU at that time; it comes to one at %" PRIu64 ".%09" PRIu64,
			 next->ns / 1000000000u, next->ns % 1000000000u);
	else
		snprintf(p->error, sizeof(p->error),
			 "it is on no CPU at that time, as far as sched_switch is recorded");
	return -ESRCH;
}

/* The task in whose context the event was made; of a switch the task that comes. */
static int find_by_event(struct xvt_path *p, uint32_t *interrupt)
{
	const uint32_t at = find_record(p);
	const struct rec *r = at == NONE ? NULL : &p->recs[at];
	const bool kept = r && r->number == p->options.number;

	if (!r) {
		snprintf(p->error, sizeof(p->error), "nothing of its CPU is before it");
		return -ESRCH;
	}
	set_point(p, at, kept && r->kind == REC_SWITCH ? r->b : p->options.pid, r);
	if (kept && r->kind != REC_SWITCH && r->context & (CONTEXT_HARDIRQ | CONTEXT_SOFTIRQ))
		*interrupt = at;
	if (*interrupt != NONE || p->at.pid > 0)
		return 0;
	snprintf(p->error, sizeof(p->error), "no task made that event, or the idle task");
	return -ESRCH;
}

int xvt_path_find(struct xvt_path *p)
{
	uint32_t interrupt = NONE;
	int err = recs_link(p);

	if (!err)
		err = p->options.task ? find_by_task(p) : find_by_event(p, &interrupt);
	if (err)
		return err;
	if (interrupt != NONE)
		walk_next(p, NEXT_CONTEXT, interrupt);
	/* Since then the task may have left its CPU. Of an event, all before it are known. */
	if (p->options.task && recs_lost_since(p, p->at.at, p->options.at_ns))
		walk_stop(p, XVT_PATH_END_HOLE, NULL, "events of %s:%u were lost at that time",
			  p->rings[p->at.ring].ring->machine->name, p->rings[p->at.ring].ring->cpu);
	walk(p);
	return p->err;
}

const char *xvt_path_error(const struct xvt_path *p)
{
	return p->error;
}

size_t xvt_path_steps(const struct xvt_path *p, const struct xvt_path_step **steps)
{
	*steps = p->steps;
	return p->step_count;
}

enum xvt_path_end xvt_path_ended(const struct xvt_path *p, const char **why, const char **needs)
{
	*why = p->why;
	*needs = p->needs;
	return p->end;
}

void xvt_path_free(struct xvt_path *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->switch_count; i++)
		free(p->switches[i].v);
	free(p->switches);
	free(p->types);
	free(p->recs);
	free(p->rings);
	free(p->seen);
	free(p->texts);
	free(p->text_slots);
	xvtrace_holes_free(p->holes);
	free(p->marks);
	free(p->steps);
	free(p);
}
