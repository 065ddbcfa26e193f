// SPDX-License-Identifier: GPL-2.0
/* types.c - which events are taken, and their fields. */
#include "analyze/parts.h"

#include <string.h>

#include "base/vec.h"

static const struct kind {
	const char *system;
	const char *name;
	enum part_kind kind;
	bool queued;
	const char *fields[PART_FIELDS]; /* the first ones are numbers, and must be there */
	unsigned int needed;
} kinds[] = {
	{ "sched",
	  "sched_switch",
	  PART_SWITCH,
	  false,
	  { "prev_pid", "next_pid", "prev_state", "next_comm" },
	  3 },
	{ "sched", "sched_waking", PART_WAKING, false, { "pid", "target_cpu" }, 2 },
	{ "sched", "sched_wakeup", PART_WAKING, true, { "pid", "target_cpu" }, 2 },
	{ "sched", "sched_wakeup_new", PART_WAKING, true, { "pid", "target_cpu" }, 2 },
	{ "sched", "sched_migrate_task", PART_MIGRATE, false, { "pid", "dest_cpu" }, 2 },
	{ "irq", "irq_handler_entry", PART_IRQ_ENTRY, false, { "irq", "name" }, 1 },
	{ "irq", "irq_handler_exit", PART_IRQ_EXIT, false, { "irq" }, 1 },
	{ "irq", "softirq_entry", PART_SOFTIRQ_ENTRY, false, { "vec" }, 1 },
	{ "irq", "softirq_exit", PART_SOFTIRQ_EXIT, false, { "vec" }, 1 },
};

static bool is_number(const struct xvtrace_field *f)
{
	return f && (f->kind == XVTRACE_UINT || f->kind == XVTRACE_INT);
}

static void learn(struct part_type *t, const struct xvtrace_type *type)
{
	t->known = true;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		const struct kind *k = &kinds[i];

		if (strcmp(k->name, type->name) != 0 || strcmp(k->system, type->kernel_system) != 0)
			continue;
		t->kind = k->kind;
		t->queued = k->queued;
		for (unsigned int f = 0; f < PART_FIELDS && k->fields[f]; f++) {
			t->field[f] = xvtrace_field_named(type, k->fields[f]);
			if (f < k->needed && !is_number(t->field[f]))
				t->kind = PART_OTHER;
		}
		return;
	}
}

const struct part_type *part_type_of(struct xvt_analyze *a, const struct xvtrace_type *type)
{
	struct part_type *t;

	if (type->number >= a->type_room &&
	    xvt_grow_zeroed(&a->types, &a->type_room, type->number + 1u, sizeof(*a->types)))
		return NULL;
	t = &a->types[type->number];
	if (!t->known)
		learn(t, type);
	return t;
}

uint64_t part_number(const struct xvtrace_event *ev, const struct part_type *t, unsigned int field)
{
	struct xvtrace_value v;

	xvtrace_value(ev, t->field[field], &v);
	return v.u;
}

void part_text(const struct xvtrace_event *ev, const struct part_type *t, unsigned int field,
	       char *to, size_t size)
{
	const struct xvtrace_field *f = t->field[field];
	struct xvtrace_value v;

	to[0] = '\0';
	if (!f || f->kind != XVTRACE_STRING)
		return;
	xvtrace_value(ev, f, &v);
	if (v.count >= size)
		v.count = size - 1;
	memcpy(to, v.data, v.count);
	to[v.count] = '\0';
}
