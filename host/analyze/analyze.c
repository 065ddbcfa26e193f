// SPDX-License-Identifier: GPL-2.0
/* analyze.c - see analyze.h. One pass, which feeds all analyses that were asked for. */
#include "analyze/parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

static const struct analysis *const all[] = { &analysis_cpu,   &analysis_stalls, &analysis_sched,
					      &analysis_irq,   &analysis_timer,	 &analysis_latency,
					      &analysis_pairs, &analysis_spans,	 &analysis_states };

static int add_pause(void *arg, const struct xvtrace_span *span)
{
	struct xvt_analyze *a = arg;
	struct guest *g;

	if (span->kind != XVTRACE_PAUSE || !span->machine ||
	    span->machine->number >= a->info->machines)
		return 0;
	g = &a->guests[span->machine->number];
	if (xvt_grow(&g->pauses, &g->pause_room, g->pause_count + 1, sizeof(*g->pauses)))
		return -ENOMEM;
	g->pauses[g->pause_count].begin_ns = span->begin_ns;
	g->pauses[g->pause_count++].end_ns = span->end_ns;
	return 0;
}

static int begin(struct xvt_analyze *a)
{
	size_t n = 0;
	int err;

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (a->options.analyses & all[i]->bit)
			a->analyses[n++] = all[i];
	a->due_ns = UINT64_MAX;
	a->guests = calloc((size_t)a->info->machines + 1, sizeof(*a->guests));
	a->vcpus = calloc((size_t)a->info->rings + 1, sizeof(struct vcpu *));
	a->list = calloc((size_t)a->info->rings + 1, sizeof(struct vcpu *));
	if (!a->guests || !a->vcpus || !a->list || host_threads_init(&a->host_threads) ||
	    lines_init(&a->lines))
		return -ENOMEM;
	for (unsigned int i = 0; i < a->info->machines; i++) {
		const struct xvtrace_machine *m = xvtrace_machine(a->trace, i);

		a->guests[i].machine = m;
		if (m && m->host)
			a->host.machine = m;
	}
	err = xvtrace_holes_new(&a->holes, a->reader);
	if (err)
		return err;
	/* Also of those without an event, onto whose queues tasks may come. */
	for (unsigned int i = 0; i < a->info->rings; i++)
		if (xvtrace_ring(a->trace, i))
			vcpu_of(a, xvtrace_ring(a->trace, i));
	err = xvtrace_spans(a->trace, add_pause, a);
	if (!err && a->options.analyses & XVT_ANALYZE_LOSSES)
		err = losses_begin(a);
	for (size_t i = 0; a->analyses[i] && !err; i++)
		if (a->analyses[i]->begin)
			err = a->analyses[i]->begin(a);
	return err ? err : host_look_ahead(a);
}

int xvt_analyze_new(struct xvt_analyze **out, const struct xvt_analyze_options *options,
		    struct xvtrace *trace, struct xvtrace_reader *reader)
{
	struct xvt_analyze *a = calloc(1, sizeof(*a));

	*out = a;
	if (!a)
		return -ENOMEM;
	a->options = *options;
	a->trace = trace;
	a->reader = reader;
	a->info = xvtrace_info(trace);
	return begin(a);
}

static int feed_ring(struct xvt_analyze *a, const struct part_type *t,
		     const struct xvtrace_event *ev)
{
	if (ev->kind == XVTRACE_EVENT && part_wants_end(a, ev->ns)) {
		if (!a->first_ns)
			a->first_ns = ev->ns;
		a->last_ns = ev->ns;
	}
	return ev->machine->host ? host_event(a, t, ev) : guest_event(a, t, ev);
}

int xvt_analyze_feed(struct xvt_analyze *a, const struct xvtrace_event *ev)
{
	const struct part_type *t = NULL;
	int err = 0;

	if (ev->ns > a->due_ns)
		err = vcpu_take_due(a, ev->ns);
	if (err || !ev->machine || ev->machine->number >= a->info->machines)
		return err;
	if (ev->kind != XVTRACE_STATE && (!ev->ring || ev->flags & XVTRACE_MADE))
		return 0;
	if (a->losses && part_wants_end(a, ev->ns))
		err = losses_event(a, ev);
	if (err || a->options.analyses == XVT_ANALYZE_LOSSES || ev->kind == XVTRACE_RECORD)
		return err;
	if (ev->kind == XVTRACE_EVENT) {
		t = part_type_of(a, ev->type);
		if (!t)
			return -ENOMEM;
	}
	err = ev->kind == XVTRACE_STATE ? guest_state(a, ev) : feed_ring(a, t, ev);
	for (size_t i = 0; a->analyses[i] && !err; i++)
		if (a->analyses[i]->event)
			err = a->analyses[i]->event(a, t, ev);
	return err;
}

int xvt_analyze_end(struct xvt_analyze *a)
{
	int err = host_end(a);

	if (!err)
		err = vcpu_take_due(a, UINT64_MAX);
	for (size_t i = 0; a->analyses[i] && !err; i++)
		err = a->analyses[i]->end(a);
	if (!err && a->losses)
		err = losses_end(a);
	if (a->options.wants_event)
		lines_choose(a);
	lines_sort(&a->lines);
	return err;
}

void xvt_analyze_free(struct xvt_analyze *a)
{
	if (!a)
		return;
	for (size_t i = 0; a->analyses[i]; i++)
		if (a->analyses[i]->fini)
			a->analyses[i]->fini(a);
	for (size_t i = 0; i < a->vcpu_count; i++)
		vcpu_free(a->list[i]);
	for (unsigned int i = 0; a->guests && i < a->info->machines; i++) {
		free(a->guests[i].woken);
		free(a->guests[i].pauses);
	}
	free(a->guests);
	free(a->vcpus);
	free(a->list);
	host_fini(&a->host);
	host_threads_fini(&a->host_threads);
	lines_fini(&a->lines);
	losses_fini(a);
	xvtrace_holes_free(a->holes);
	free(a->stalls);
	free(a->types);
	free(a);
}

size_t xvt_analyze_stalls(const struct xvt_analyze *a, const struct xvt_stall **stalls)
{
	*stalls = a->stalls;
	return a->stall_count;
}

size_t xvt_analyze_lines(struct xvt_analyze *a, struct xvt_line *const **lines)
{
	*lines = a->lines.v;
	return a->lines.count;
}

size_t xvt_analyze_vcpus(const struct xvt_analyze *a)
{
	return a->vcpu_count;
}

const struct xvt_line *xvt_analyze_slowest(const struct xvt_analyze *a)
{
	const struct xvt_line *slowest = NULL;

	for (size_t i = 0; i < a->lines.count; i++) {
		const struct xvt_line *l = a->lines.v[i];

		if (l->to && strcmp(l->kind, "message_to") == 0 && l->wall.n &&
		    (!slowest || l->wall.max_ns > slowest->wall.max_ns))
			slowest = l;
	}
	return slowest;
}

bool xvt_analyze_saw(const struct xvt_analyze *a, bool then)
{
	return a->pair_seen[then];
}

uint64_t xvt_analyze_impossible(const struct xvt_analyze *a)
{
	return a->impossible;
}

uint64_t xvt_analyze_missing(const struct xvt_analyze *a)
{
	return a->host.filtered ? 0 : a->host.missing;
}
