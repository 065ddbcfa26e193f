// SPDX-License-Identifier: GPL-2.0
/* sched.c - tasks of guests: how long each waited from its wake-up until it came to a vCPU, and how
 * long it ran there at a time. */
#include "analyze/parts.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Of all tasks of the machine, or of one; pid 0: of all. */
static struct xvt_line *line(struct xvt_analyze *a, const struct xvtrace_machine *m,
			     const char *kind, const char *of_one, int pid, const char *comm)
{
	struct line_key key = { m, kind, (uint64_t)pid, "" };
	struct xvt_line **found;
	char name[64], what[96];

	if (pid)
		memcpy(key.text, comm, strnlen(comm, sizeof(key.text)));
	found = line_found(a, &key);
	if (*found)
		return *found;
	xvt_text_clean(name, sizeof(name), comm, strnlen(comm, sizeof(key.text)));
	if (pid)
		snprintf(what, sizeof(what), "%s %s-%d", kind, name, pid);
	else
		snprintf(what, sizeof(what), "%s, all tasks", kind);
	*found = line_of(a, XVT_ANALYZE_SCHED, pid ? of_one : kind, m, NULL, NULL, what);
	return *found;
}

static int add(struct xvt_analyze *a, struct vcpu *v, const char *kind, const char *of_one,
	       const char *comm, int pid, const struct part_span *span)
{
	int err = 0;

	if ((span && span->end_ns - span->begin_ns < a->options.min_ns) ||
	    !part_wants_task(a, pid, comm))
		return 0;
	for (int one = 0; one < 2 && !err; one++) {
		struct xvt_line *l = line(a, v->ring->machine, kind, of_one, one ? pid : 0, comm);

		if (!l)
			return -ENOMEM;
		l->shares |= v->shares;
		l->no_begin += !span;
		err = span ? line_add(l, v, span) : 0;
	}
	return err;
}

static int wait(struct xvt_analyze *a, struct vcpu *v, const struct guest_event *ev,
		const struct part_span *span)
{
	return add(a, v, "wait", "task_wait", ev->text, ev->pid, span);
}

static int run(struct xvt_analyze *a, struct vcpu *v, const struct open_pair *begin,
	       const struct part_span *span)
{
	return add(a, v, "run", "task_run", begin->text, v->pid, span);
}

static int need(struct xvt_analyze *a, const struct guest *g, const char *kind, const char *what,
		const char *needs)
{
	struct xvt_line *line = line_of(a, XVT_ANALYZE_SCHED, kind, g->machine, NULL, NULL, what);

	if (!line)
		return -ENOMEM;
	line_lacks(a, line, needs);
	return 0;
}

static int end(struct xvt_analyze *a)
{
	int err = 0;

	for (unsigned int i = 0; i < a->info->machines && !err; i++) {
		const struct guest *g = &a->guests[i];
		bool wanted = false;

		for (size_t k = 0; k < a->vcpu_count; k++)
			wanted |= a->list[k]->ring->machine == g->machine && a->list[k]->wanted;
		if (wanted && !g->switches)
			err = need(a, g, "run", "run, all tasks", NEEDS_SWITCHES);
		if (wanted && !err && !(g->wakings && g->switches))
			err = need(a, g, "wait", "wait, all tasks", NEEDS_WAKE_UPS);
	}
	/* A line without a duration proves nothing. */
	for (size_t i = 0; i < a->lines.count; i++)
		if (a->lines.v[i]->analysis == XVT_ANALYZE_SCHED && !a->lines.v[i]->wall.n &&
		    a->lines.v[i]->no_begin)
			a->lines.v[i]->verdict = XVT_UNTOLD;
	return err;
}

const struct analysis analysis_sched = {
	.bit = XVT_ANALYZE_SCHED,
	.name = "sched",
	.wait = wait,
	.run = run,
	.end = end,
};
