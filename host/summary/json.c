// SPDX-License-Identifier: GPL-2.0
/* json.c - a summary as JSON, format xvtrace-summary/1. */
#include "base/json.h"
#include "summary/summary.h"

#include <stdlib.h>

static void add_bound(struct xvt_json *j, const char *key, const struct xvt_spread *bounds,
		      uint64_t bound_ns)
{
	if (bounds->count)
		xvt_json_add_u64(j, key, bound_ns);
	else
		xvt_json_add_null(j, key);
}

static void add_lists(struct xvt_json *j, const struct xvt_summary_machine *m)
{
	struct xvt_json *list = xvt_json_add_array(j, "top_events"), *item;

	for (size_t i = 0; i < m->type_count; i++) {
		item = xvt_json_add_object(list, NULL);
		xvt_json_add_text(item, "system", m->types[i]->type->system);
		xvt_json_add_text(item, "event", m->types[i]->type->name);
		xvt_json_add_u64(item, "count", m->types[i]->count);
	}
	xvt_json_add_text(j, "busy_by", m->by_switch ? "run_ns" : "events");
	xvt_json_add_u64(j, "busy_low_by", m->busy.forgotten_most);
	list = xvt_json_add_array(j, "busy_tasks");
	for (size_t i = 0; i < m->task_count; i++) {
		item = xvt_json_add_object(list, NULL);
		xvt_json_add_u64(item, "pid", (uint32_t)m->tasks[i].pid);
		xvt_json_add_text(item, "comm", m->tasks[i].comm);
		xvt_json_add_u64(item, m->by_switch ? "run_ns" : "events", m->tasks[i].value);
	}
	list = xvt_json_add_array(j, "not_recorded");
	for (unsigned int i = 0; i < XVT_SUMMARY_KINDS; i++) {
		if (!xvt_summary_lacks(m, i))
			continue;
		item = xvt_json_add_object(list, NULL);
		xvt_json_add_text(item, "what", xvt_summary_kinds[i].what);
		xvt_json_add_text(item, "option", xvt_summary_kinds[i].option);
	}
}

/* null: none of it can be told */
static void add_told(struct xvt_json *j, const char *key, const struct xvt_summary_taken *taken,
		     uint64_t ns)
{
	if (taken->told)
		xvt_json_add_u64(j, key, ns);
	else
		xvt_json_add_null(j, key);
}

/* Nothing where it is not recorded. */
static void add_taken(struct xvt_json *j, const struct xvt_summary *s,
		      const struct xvt_summary_machine *m)
{
	struct xvt_summary_taken *taken = malloc(sizeof(*taken));
	struct xvt_json *list, *item, *of;

	if (taken)
		xvt_summary_taken(s, m, taken);
	if (taken && taken->vcpus) {
		of = xvt_json_add_object(j, "taken");
		xvt_json_add_u64(of, "vcpus", taken->vcpus);
		xvt_json_add_u64(of, "told", taken->told);
		xvt_json_add_bool(of, "least", taken->least);
		add_told(of, "taken_ns", taken, taken->taken_ns);
		xvt_json_add_u64(of, "untold_ns", taken->untold_ns);
		add_told(of, "asleep_ns", taken, taken->asleep_ns);
		add_told(of, "blocked_ns", taken, taken->blocked_ns);
		add_told(of, "stopped_ns", taken, taken->stopped_ns);
		add_told(of, "recorder_ns", taken, taken->recorder_ns);
		xvt_json_add_u64(of, "vcpu_ns", taken->vcpu_ns);
		list = xvt_json_add_array(of, "by");
		for (size_t i = 0; i < taken->count; i++) {
			item = xvt_json_add_object(list, NULL);
			xvt_json_add_text(item, "thread", taken->takers[i].thread->name);
			xvt_json_add_bool(item, "recorder", taken->takers[i].thread->recorder);
			xvt_json_add_u64(item, "ns", taken->takers[i].ns);
		}
	}
	free(taken);
}

static void add_stalls(struct xvt_json *doc, const struct xvt_summary *s)
{
	struct xvt_json *list = xvt_json_add_array(doc, "stalls"), *item;
	const struct xvt_stall *stalls;
	const size_t n = xvt_analyze_stalls(s->analyze, &stalls);

	for (size_t i = 0; i < n && i < XVT_SUMMARY_STALLS; i++) {
		item = xvt_json_add_object(list, NULL);
		xvt_json_add_text(item, "vm", stalls[i].ring->machine->name);
		xvt_json_add_u64(item, "cpu", stalls[i].ring->cpu);
		xvt_json_add_u64(item, "begin_ns", stalls[i].begin_ns);
		xvt_json_add_u64(item, "ns", stalls[i].end_ns - stalls[i].begin_ns);
		xvt_json_add_text(item, "cause", xvt_cause_name(stalls[i].cause));
		xvt_json_add_text(item, "most", stalls[i].most ? stalls[i].most->name : "");
	}
}

static void add_message(struct xvt_json *doc, const struct xvt_summary *s)
{
	const struct xvt_line *l = xvt_analyze_slowest(s->analyze);
	struct xvt_json *to;

	if (!l)
		return;
	to = xvt_json_add_object(doc, "slowest_message");
	xvt_json_add_text(to, "from", l->machine->name);
	xvt_json_add_text(to, "to", l->to->name);
	xvt_json_add_u64(to, "begin_ns", l->wall.max_at_ns);
	xvt_json_add_u64(to, "ns", l->wall.max_ns);
	xvt_json_add_u64(to, "messages", l->wall.n);
}

static void put_machine(struct xvt_out *o, const struct xvt_summary *s,
			const struct xvt_summary_machine *m)
{
	struct xvt_json *j = xvt_json_new(), *cells;

	xvt_json_add_text(j, "name", m->of->name);
	xvt_json_add_text(j, "kind", m->of->host ? "host" : "guest");
	xvt_json_add_u64(j, "events", m->counts.events);
	xvt_json_add_u64(j, "lost", m->counts.lost);
	xvt_json_add_bool(j, "lost_at_least", m->of->ftrace);
	xvt_json_add_u64(j, "nameless", m->nameless);
	xvt_json_add_u64(j, "first_ns", m->counts.first_ns);
	xvt_json_add_u64(j, "last_ns", m->counts.last_ns);
	xvt_json_add_u64(j, "paused_ns", m->paused_ns);
	xvt_json_add_u64(j, "pauses", m->pauses);
	xvt_json_add_u64(j, "ended_ns", m->ended_ns);
	add_bound(j, "bound_ns_median", &m->bounds, xvt_spread_median(&m->bounds));
	add_bound(j, "bound_ns_max", &m->bounds, m->bounds.largest);
	xvt_json_add_u64(j, "unbounded", m->unbounded);
	xvt_json_add_u64(j, "flagged", m->flagged);
	cells = xvt_json_add_array(j, "cells");
	for (unsigned int i = 0; i < m->strip.cells; i++)
		xvt_json_add_u64(cells, NULL, m->strip.events[i]);
	cells = xvt_json_add_array(j, "cells_paused_ns");
	for (unsigned int i = 0; i < m->strip.cells; i++)
		xvt_json_add_u64(cells, NULL, m->strip.paused_ns[i]);
	add_lists(j, m);
	add_taken(j, s, m);
	xvt_json_item(j, o);
}

void xvt_summary_json(const struct xvt_summary *s, struct xvt_out *o)
{
	const struct xvtrace_counts *all = &s->counts;
	struct xvt_json *doc = xvt_json_new();
	bool any = false;

	xvt_json_add_text(doc, "format", "xvtrace-summary/1");
	xvt_json_add_u64(doc, "first_ns", all->first_ns);
	xvt_json_add_u64(doc, "last_ns", all->last_ns);
	xvt_json_add_u64(doc, "first_wall_ns", xvtrace_wall_ns(s->trace, all->first_ns));
	xvt_json_add_u64(doc, "last_wall_ns", xvtrace_wall_ns(s->trace, all->last_ns));
	xvt_json_add_u64(doc, "duration_ns", all->last_ns - all->first_ns);
	xvt_json_add_u64(doc, "events", all->events);
	xvt_json_add_u64(doc, "lost", all->lost);
	xvt_json_add_bool(doc, "lost_at_least", xvt_summary_lost_at_least(s));
	xvt_json_add_u64(doc, "nameless", s->nameless);
	xvt_json_add_bool(doc, "cleanly_ended", s->info->ended);
	xvt_json_add_u64(doc, "damaged", xvtrace_damage_count(s->trace));
	xvt_json_add_bool(doc, "has_host", s->has_host);
	xvt_json_add_u64(doc, "cells_from_ns", s->from_ns);
	xvt_json_add_u64(doc, "cell_ns", s->cell_ns);
	add_stalls(doc, s);
	add_message(doc, s);
	xvt_json_begin(doc, o, "vms", false);
	for (unsigned int i = 0; i < s->info->machines && !o->err; i++) {
		if (!s->machines[i].of)
			continue;
		if (any)
			xvt_json_next(o);
		any = true;
		put_machine(o, s, &s->machines[i]);
	}
	xvt_json_end(o);
	xvt_out_char(o, '\n');
}
