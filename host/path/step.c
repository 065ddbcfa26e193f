// SPDX-License-Identifier: GPL-2.0
/*
 * step.c - the parts of a path, one step back at a time, and why it has no more. Messages: what one
 * met on its way is told by the other edges. Where these end, the path goes on at the sender. And
 * where one of them may be wrong and the path went past the sending elsewhere, it went astray: such
 * a path covers all of the time, too.
 */
#include "path/parts.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/vec.h"

#define STEPS_MOST 100000u
#define LARGER	   "a larger ring (xvtrace region create), or fewer events"

static bool message_jump(struct xvt_path *p, const char *why);
static bool message_refuses(struct xvt_path *p);

bool step_back(struct xvt_path *p, struct xvt_path_step s, const struct rec *begin)
{
	const struct xvtrace_machine *m = s.ring->machine;

	s.end_ns = p->at.ns;
	s.begin_ns = begin->ns < s.end_ns ? begin->ns : s.end_ns;
	if (s.begin_ns < p->options.from_ns)
		s.begin_ns = p->options.from_ns < s.end_ns ? p->options.from_ns : s.end_ns;
	s.bound_ns = begin->bound_ns + p->at.bound_ns;
	if (!m->host && s.kind != XVT_PATH_MESSAGE)
		taken_by_host(p, &s, begin->bound_ns, p->at.bound_ns);
	p->err = xvt_grow(&p->steps, &p->step_room, p->step_count + 1, sizeof(s));
	if (p->err) {
		p->ended = true;
		return false;
	}
	p->steps[p->step_count++] = s;
	p->at.ns = s.begin_ns;
	p->at.bound_ns = begin->bound_ns;
	if (message_refuses(p))
		return false;
	if (p->at.ns <= p->options.from_ns)
		walk_stop(p, XVT_PATH_END_BEGIN, NULL, "the begin that was asked for");
	else if (p->step_count >= STEPS_MOST)
		walk_stop(p, XVT_PATH_END_BEGIN, "--between, for a shorter path",
			  "it has %u parts, and more are not told", STEPS_MOST);
	return !p->ended;
}

void walk_stop(struct xvt_path *p, enum xvt_path_end end, const char *needs, const char *why, ...)
{
	va_list args;

	p->needs = needs;
	p->end = end;
	va_start(args, why);
	vsnprintf(p->why, sizeof(p->why), why, args);
	va_end(args);
	if (end == XVT_PATH_END_BEGIN || !message_jump(p, p->why))
		p->ended = true;
}

bool walk_guesses(struct xvt_path *p, const char *needs, const char *why, ...)
{
	char text[160];
	va_list args;

	va_start(args, why);
	vsnprintf(text, sizeof(text), why, args);
	va_end(args);
	if (!p->options.guess) {
		walk_stop(p, XVT_PATH_END_GUESS, needs, "%s", text);
		return false;
	}
	walk_risks(p);
	return true;
}

void walk_risks(struct xvt_path *p)
{
	if (!p->message.open || p->message.risky)
		return;
	p->message.risky = true;
	p->message.point = p->at;
	p->message.steps = p->step_count;
}

bool walk_doubts(struct xvt_path *p, const struct rec *r)
{
	const struct xvtrace_ring *ring = p->rings[r->ring].ring;

	if (r->kind == REC_LOST)
		walk_stop(p, XVT_PATH_END_HOLE, LARGER, "events of %s:%u were lost before",
			  ring->machine->name, ring->cpu);
	else if (r->doubt)
		walk_stop(p, XVT_PATH_END_HOLE, NULL,
			  "the time of an event of %s:%u is flagged, or has no bound",
			  ring->machine->name, ring->cpu);
	return r->kind == REC_LOST || r->doubt;
}

bool walk_lost(struct xvt_path *p, const struct rec *from, const struct rec *to)
{
	const struct xvtrace_machine *m = rec_machine(p, from);

	if (!recs_lost(p, m, rec_earliest(from), rec_latest(to)))
		return false;
	walk_stop(p, XVT_PATH_END_HOLE, LARGER, "events of %s were lost in between", m->name);
	return true;
}

/* -- messages ------------------------------------------------------------------------- */

/* To the sender, from where the walk is. */
static void go_to_sender(struct xvt_path *p, const char *why)
{
	const struct rec *sent = &p->recs[p->message.sent];
	struct xvt_path_step s = { .kind = XVT_PATH_MESSAGE,
				   .edge = XVT_PATH_KEY,
				   .ring = p->rings[p->at.ring].ring,
				   .pid = -1 };

	p->message.open = false;
	/* What was left may have been further back in the sender's ring. */
	for (unsigned int i = 0; i < p->info->rings; i++)
		p->rings[i].reached = NONE;
	snprintf(s.task, sizeof(s.task), "message %" PRIu64, p->message.key);
	snprintf(s.aside, sizeof(s.aside), "%.95s", why);
	task_name(p, rec_machine(p, sent), sent->pid, NULL, s.by, sizeof(s.by));
	if (!step_back(p, s, sent))
		return;
	walk_task_next(p, sent->ring, sent->before, sent->pid);
}

/* Back to the first edge that may be wrong. */
static void refuse(struct xvt_path *p)
{
	struct xvt_path_step *last;

	p->step_count = p->message.steps;
	p->at = p->message.point;
	/* The vCPU's thread was the waker, whatever its guest was at. */
	last = &p->steps[p->step_count - 1];
	if (last->edge == XVT_PATH_LAST_OF_VCPU) {
		last->edge = XVT_PATH_WAKER;
		last->grade = XVT_PATH_PROVEN;
	}
	go_to_sender(p, "a path that does not come from the sender is refused");
}

/* The walk stops at a hole. Returns whether it goes on at the sender instead. */
static bool message_jump(struct xvt_path *p, const char *why)
{
	const bool origin = p->end == XVT_PATH_END_ORIGIN;

	if (!p->message.open || (origin && !p->message.risky) ||
	    p->recs[p->message.sent].ns >= p->at.ns)
		return false;
	/* The message is more certain than an origin beyond a guess. */
	if (origin)
		refuse(p);
	else
		go_to_sender(p, why);
	return true;
}

/* After a step: a path that went past the sending is refused, where an edge may be wrong. Returns
 * whether it was; the walk goes on at the sender then. */
static bool message_refuses(struct xvt_path *p)
{
	if (!p->message.open || p->recs[p->message.sent].ns < p->at.ns)
		return false;
	if (!p->message.risky) {
		/* All is proven: the receiver did not wait for the message. */
		p->message.open = false;
		return false;
	}
	refuse(p);
	return true;
}
