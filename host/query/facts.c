// SPDX-License-Identifier: GPL-2.0
/* facts.c - tables of what a trace has besides events: machines, rings, threads, losses, notes. */
#include "query/parts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/out.h"

static void add_machine(struct memory *m, const struct xvtrace_machine *machine)
{
	memory_str(m, machine ? machine->name : NULL);
}

static void add_ring(struct memory *m, const struct xvtrace_ring *ring)
{
	if (ring)
		memory_int(m, ring->number);
	else
		memory_null(m);
}

static void add_bound(struct memory *m, uint64_t ns)
{
	if (ns == XVTRACE_NO_BOUND)
		memory_null(m);
	else
		memory_uint(m, ns);
}

/* -- machines, rings, threads --------------------------------------------------------- */

static const struct column machine_columns[] = {
	TEXT_COLUMN("vm"),   INTEGER_COLUMN("number"), INTEGER_COLUMN("host"),
	TEXT_COLUMN("uuid"), TEXT_COLUMN("kernel"),    TEXT_COLUMN("recorded_name")
};

static int make_machines(struct catalog *c, struct memory *m)
{
	for (unsigned int i = 0; i < c->info->machines; i++) {
		const struct xvtrace_machine *of = xvtrace_machine(c->trace, i);
		char uuid[XVT_UUID_TEXT];

		if (!of)
			continue;
		xvt_uuid_text(of->uuid, uuid);
		memory_str(m, of->name);
		memory_int(m, of->number);
		memory_int(m, of->host);
		memory_str(m, uuid);
		memory_str(m, xvtrace_reader_kernel(c->reader, i));
		memory_str(m, of->recorded_name);
	}
	return 0;
}

static const struct column ring_columns[] = { INTEGER_COLUMN("ring"), TEXT_COLUMN("vm"),
					      INTEGER_COLUMN("cpu"), INTEGER_COLUMN("thread"),
					      INTEGER_COLUMN("hw_id") };

static int make_rings(struct catalog *c, struct memory *m)
{
	for (unsigned int i = 0; i < c->info->rings; i++) {
		const struct xvtrace_ring *of = xvtrace_ring(c->trace, i);

		if (!of)
			continue;
		memory_int(m, of->number);
		add_machine(m, of->machine);
		memory_int(m, of->cpu);
		memory_int(m, of->thread);
		memory_int(m, of->hw_id);
	}
	return 0;
}

static const struct column thread_columns[] = { INTEGER_COLUMN("tid"),	  INTEGER_COLUMN("tgid"),
						TEXT_COLUMN("vm"),	  TEXT_COLUMN("role"),
						INTEGER_COLUMN("vcpu"),	  TEXT_COLUMN("name"),
						INTEGER_COLUMN("from_ts") };

static void add_thread(struct catalog *c, struct memory *m, unsigned int host,
		       const struct xvtrace_thread *t)
{
	const struct xvtrace_task *task = xvtrace_reader_task_of(c->reader, host, t->tid);

	memory_int(m, t->tid);
	if (t->tgid)
		memory_int(m, t->tgid);
	else
		memory_null(m);
	add_machine(m, t->machine);
	memory_str(m, xvtrace_role_name(t->role));
	if (t->role == XVTRACE_ROLE_VCPU)
		memory_int(m, t->vcpu);
	else
		memory_null(m);
	memory_str(m, task ? task->comm : NULL);
	memory_uint(m, t->from_ns);
}

static int make_threads(struct catalog *c, struct memory *m)
{
	for (unsigned int i = 0; i < c->info->machines; i++) {
		const struct xvtrace_machine *of = xvtrace_machine(c->trace, i);
		struct xvtrace_thread thread;
		size_t at = 0;

		while (of && of->host && xvtrace_reader_role_next(c->reader, i, &at, &thread) > 0)
			add_thread(c, m, i, &thread);
	}
	return 0;
}

/* -- tables --------------------------------------------------------------------------- */

static const struct column table_columns[] = { TEXT_COLUMN("name"), INTEGER_COLUMN("events"),
					       TEXT_COLUMN("columns") };

static int add_table(struct memory *m, struct table *t)
{
	char *list = NULL;
	size_t len = 0;
	FILE *to = open_memstream(&list, &len);
	int err = to ? table_describe(t) : -ENOMEM;

	for (size_t i = 0; i < t->column_count && !err; i++)
		fprintf(to, "%s%s", i ? ", " : "", t->columns[i].name);
	if (to && fclose(to))
		err = -ENOMEM;
	if (!err) {
		memory_str(m, t->name);
		memory_int(m, !t->facts);
		memory_text(m, list, len);
	}
	free(list);
	return err;
}

/* Each table that a statement can name. */
static int make_tables(struct catalog *c, struct memory *m)
{
	int err = 0;

	for (size_t i = 0; i < c->table_count && !err; i++)
		err = add_table(m, &c->tables[i]);
	return err;
}

/* -- types of events ------------------------------------------------------------------ */

static const struct column type_columns[] = { TEXT_COLUMN("table_name"), TEXT_COLUMN("name"),
					      TEXT_COLUMN("system"), TEXT_COLUMN("field"),
					      TEXT_COLUMN("kind") };

static const char *const kinds[] = { [XVTRACE_UINT] = "unsigned",
				     [XVTRACE_INT] = "signed",
				     [XVTRACE_STRING] = "text",
				     [XVTRACE_UINTS] = "unsigned[]",
				     [XVTRACE_INTS] = "signed[]" };

static void add_type(struct memory *m, const struct table *t, const struct xvtrace_type *type)
{
	for (unsigned int i = 0; i < type->fields || i == 0; i++) {
		const struct xvtrace_field *f = xvtrace_field(type, i);

		memory_str(m, t->name);
		memory_str(m, type->name);
		memory_str(m, type->system);
		memory_str(m, f ? f->name : NULL);
		memory_str(m, f ? kinds[f->kind] : NULL);
	}
}

static bool are_alike(const struct xvtrace_type *a, const struct xvtrace_type *b)
{
	if (strcmp(a->name, b->name) != 0 || strcmp(a->system, b->system) != 0 ||
	    a->fields != b->fields)
		return false;
	for (unsigned int i = 0; i < a->fields; i++) {
		const struct xvtrace_field *l = xvtrace_field(a, i), *r = xvtrace_field(b, i);

		if (l->kind != r->kind || strcmp(l->name, r->name) != 0)
			return false;
	}
	return true;
}

/* Machines of one kernel have the same types. */
static int make_types(struct catalog *c, struct memory *m)
{
	for (size_t i = 0; i < c->table_count; i++) {
		const struct table *t = &c->tables[i];

		for (size_t k = 0; k < t->type_count; k++)
			if (!k || !are_alike(t->types[k - 1], t->types[k]))
				add_type(m, t, t->types[k]);
	}
	return 0;
}

/* -- losses --------------------------------------------------------------------------- */

static const struct column loss_columns[] = { INTEGER_COLUMN("ts"), INTEGER_COLUMN("bound_ns"),
					      TEXT_COLUMN("vm"),    INTEGER_COLUMN("ring"),
					      TEXT_COLUMN("cause"), INTEGER_COLUMN("n") };

static void add_loss(struct memory *m, const struct xvtrace_event *ev, const char *cause,
		     uint64_t n)
{
	memory_uint(m, ev->ns);
	add_bound(m, ev->bound_ns);
	add_machine(m, ev->machine);
	add_ring(m, ev->ring);
	memory_str(m, cause);
	memory_uint(m, n);
}

/* A row for each cause that the record tells. */
static void add_losses(struct memory *m, const struct xvtrace_event *ev)
{
	uint64_t told = 0;

	for (unsigned int i = 0; xvtrace_cause_name(i); i++) {
		const char *cause = xvtrace_cause_name(i);
		const struct xvtrace_field *f = xvtrace_field_named(ev->type, cause);
		struct xvtrace_value v;

		if (!f || f->kind != XVTRACE_UINT)
			continue;
		xvtrace_value(ev, f, &v);
		if (v.u)
			add_loss(m, ev, cause, v.u);
		told += v.u;
	}
	if (told < ev->lost)
		add_loss(m, ev, NULL, ev->lost - told);
}

static int make_losses(struct catalog *c, struct memory *m)
{
	const struct xvtrace_event *ev;
	struct xvtrace_reader *r;
	int got = events_reader(c, XVTRACE_BOUND, &r);

	while (!got && !memory_error(m) && (got = xvtrace_next(r, &ev)) > 0) {
		if (ev->kind == XVTRACE_LOST)
			add_losses(m, ev);
		got = 0;
	}
	xvtrace_reader_free(r);
	return got;
}

/* -- notes, states, clocks, runs ------------------------------------------------------ */

static int each_item(struct catalog *c, struct memory *m, unsigned int kind,
		     void (*add)(struct memory *m, const struct xvtrace_item *item))
{
	const struct xvtrace_item *item;
	struct xvtrace_items *items = NULL;
	int got = xvtrace_items_new(&items, c->trace, kind);

	while (!got && !memory_error(m) && (got = xvtrace_items_next(items, &item)) > 0) {
		add(m, item);
		got = events_stopped(c) ? -ETIMEDOUT : 0;
	}
	xvtrace_items_free(items);
	return got;
}

static const struct column note_columns[] = { INTEGER_COLUMN("ts"),    TEXT_COLUMN("vm"),
					      INTEGER_COLUMN("ring"),  INTEGER_COLUMN("level"),
					      TEXT_COLUMN("text"),     TEXT_COLUMN("state"),
					      INTEGER_COLUMN("at_ts"), INTEGER_COLUMN("since_ts") };

static const char *state_name(enum xvtrace_state state)
{
	static const char *const names[] = {
		[XVTRACE_PAUSED] = "paused",	 [XVTRACE_RUNS] = "runs",
		[XVTRACE_RESET] = "reset",	 [XVTRACE_ASLEEP] = "asleep",
		[XVTRACE_AWAKE] = "awake",	 [XVTRACE_CRASHED] = "crashed",
		[XVTRACE_SHUTDOWN] = "shutdown", [XVTRACE_MOVED] = "moved",
		[XVTRACE_ARRIVED] = "arrived",	 [XVTRACE_ENDED] = "ended",
		[XVTRACE_UNKNOWN] = "unknown",	 [XVTRACE_WAITS] = "waits",
	};

	return state < sizeof(names) / sizeof(names[0]) ? names[state] : NULL;
}

static void add_time(struct memory *m, uint64_t ns)
{
	if (ns)
		memory_uint(m, ns);
	else
		memory_null(m);
}

static void add_note(struct memory *m, const struct xvtrace_item *item)
{
	memory_uint(m, item->ns);
	add_machine(m, item->machine);
	add_ring(m, item->ring);
	memory_int(m, item->level);
	memory_text(m, item->text, item->text_len);
	memory_str(m, state_name(item->state));
	add_time(m, item->state ? item->at_ns : 0);
	add_time(m, item->state ? item->since_ns : 0);
}

static int make_notes(struct catalog *c, struct memory *m)
{
	return each_item(c, m, XVTRACE_NOTE, add_note);
}

static const struct column node_columns[] = {
	INTEGER_COLUMN("ts"),	    TEXT_COLUMN("vm"),
	INTEGER_COLUMN("ring"),	    INTEGER_COLUMN("guest_clock"),
	INTEGER_COLUMN("bound_ns"), INTEGER_COLUMN("segment_bound_ns"),
	INTEGER_COLUMN("epoch"),    TEXT_COLUMN("source")
};

static void add_node(struct memory *m, const struct xvtrace_item *item)
{
	memory_uint(m, item->ns);
	add_machine(m, item->machine);
	add_ring(m, item->ring);
	memory_uint(m, item->guest_clock);
	add_bound(m, item->bound_ns);
	add_bound(m, item->segment_bound_ns);
	memory_int(m, item->epoch);
	memory_str(m, item->source);
}

static int make_nodes(struct catalog *c, struct memory *m)
{
	return each_item(c, m, XVTRACE_NODE, add_node);
}

static const struct column run_columns[] = { INTEGER_COLUMN("ts"),     INTEGER_COLUMN("end_ts"),
					     INTEGER_COLUMN("dur"),    TEXT_COLUMN("vm"),
					     INTEGER_COLUMN("vcpu"),   INTEGER_COLUMN("host_cpu"),
					     INTEGER_COLUMN("is_gap"), INTEGER_COLUMN("lost") };

static void add_run(struct memory *m, const struct xvtrace_item *item)
{
	memory_uint(m, item->ns);
	memory_uint(m, item->end_ns);
	memory_int(m, (int64_t)(item->end_ns - item->ns));
	add_machine(m, item->machine);
	if (item->is_gap)
		memory_null(m);
	else
		memory_int(m, item->vcpu);
	memory_int(m, item->host_cpu);
	memory_int(m, item->is_gap);
	if (item->is_gap && item->lost)
		memory_uint(m, item->lost);
	else
		memory_null(m);
}

static int make_runs(struct catalog *c, struct memory *m)
{
	return each_item(c, m, XVTRACE_RUN, add_run);
}

/* -- states of machines --------------------------------------------------------------- */

static const struct column state_columns[] = { INTEGER_COLUMN("ts"), TEXT_COLUMN("vm"),
					       TEXT_COLUMN("state"), INTEGER_COLUMN("since_ts"),
					       TEXT_COLUMN("text") };

static void add_state(struct memory *m, const struct xvtrace_event *ev)
{
	size_t len;
	const char *text = xvtrace_event_text(ev, 0, &len);

	memory_uint(m, ev->ns);
	add_machine(m, ev->machine);
	memory_str(m, state_name(ev->state));
	add_time(m, ev->since_ns);
	memory_text(m, text, len);
}

static int make_states(struct catalog *c, struct memory *m)
{
	const struct xvtrace_event *ev;
	struct xvtrace_reader *r;
	int got = events_reader(c, XVTRACE_STATES, &r);

	while (!got && !memory_error(m) && (got = xvtrace_next(r, &ev)) > 0) {
		if (ev->kind == XVTRACE_STATE)
			add_state(m, ev);
		got = 0;
	}
	xvtrace_reader_free(r);
	return got;
}

const struct facts facts_of_trace[] = {
	FACTS("machines", machine_columns, 4, make_machines),
	FACTS("rings", ring_columns, 16, make_rings),
	FACTS("threads", thread_columns, 64, make_threads),
	FACTS("tables", table_columns, 100, make_tables),
	FACTS("event_types", type_columns, 1000, make_types),
	FACTS("losses", loss_columns, 100, make_losses),
	FACTS("notes", note_columns, 100, make_notes),
	FACTS("states", state_columns, 100, make_states),
	FACTS("clock_nodes", node_columns, 1000, make_nodes),
	FACTS("run_spans", run_columns, -0.1, make_runs),
	{ .name = NULL },
};
