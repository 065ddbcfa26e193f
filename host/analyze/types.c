// SPDX-License-Identifier: GPL-2.0
/* types.c - which events are taken, and their fields. */
#include "analyze/parts.h"

#include <string.h>

#include "base/vec.h"

static const struct kind {
	const char *system;
	const char *name; /* NULL: all that end with _entry */
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
	{ "irq", "irq_handler_entry", PART_IRQ_ENTRY, false, { "irq", "name", "vector" }, 1 },
	{ "irq", "irq_handler_exit", PART_IRQ_EXIT, false, { "irq" }, 1 },
	{ "irq", "softirq_entry", PART_SOFTIRQ_ENTRY, false, { "vec" }, 1 },
	{ "irq", "softirq_exit", PART_SOFTIRQ_EXIT, false, { "vec" }, 1 },
	{ "timer", "hrtimer_start", PART_TIMER_START, false, { "hrtimer", "expires" }, 2 },
	{ "timer", "hrtimer_cancel", PART_TIMER_CANCEL, false, { "hrtimer" }, 1 },
	{ "timer", "hrtimer_expire_entry", PART_TIMER, false, { "hrtimer", "now", "function" }, 2 },
	{ "irq_vectors", NULL, PART_VECTOR, false, { "vector" }, 1 },
	{ "kvm", "kvm_apic_accept_irq", PART_ACCEPT, false, { "apicid", "vec" }, 2 },
	{ "kvm", "kvm_apicv_accept_irq", PART_POSTED, false, { "apicid", "vec" }, 2 },
	{ "kvm", "kvm_inj_virq", PART_INJECT, false, { "vector", "reinjected" }, 1 },
	/* before Linux 5.19 */
	{ "kvm", "kvm_inj_virq", PART_INJECT, false, { "irq", "reinjected" }, 1 },
};

static bool is_number(const struct xvtrace_field *f)
{
	return f && (f->kind == XVTRACE_UINT || f->kind == XVTRACE_INT);
}

/* Whether the type is of that kind, and has the fields that it must have. */
static bool take_kind(struct part_type *t, const struct kind *k, const struct xvtrace_type *type)
{
	const size_t len = strlen(type->name);

	if (strcmp(k->system, type->kernel_system) != 0)
		return false;
	if (k->name ? strcmp(k->name, type->name) != 0
		    : len < 6 || strcmp(type->name + len - 6, "_entry") != 0)
		return false;
	for (unsigned int f = 0; f < PART_FIELDS && k->fields[f]; f++) {
		t->field[f] = xvtrace_field_named(type, k->fields[f]);
		if (f < k->needed && !is_number(t->field[f]))
			return false;
	}
	t->kind = k->kind;
	t->queued = k->queued;
	return true;
}

/* The field that is the key of an event of a pair; NULL: the event is of none. */
static const struct xvtrace_field *key_of(const struct xvtrace_type *type,
					  const struct xvt_pair_event *e)
{
	const struct xvtrace_field *f;

	if (!e->glob || !xvtrace_matches(e->glob, type->kernel_system, type->name))
		return NULL;
	f = xvtrace_field_named(type, e->key);
	return is_number(f) ? f : NULL;
}

const struct part_type *part_type_of(struct xvt_analyze *a, const struct xvtrace_type *type)
{
	struct part_type *t;
	size_t i = 0;

	if (type->number >= a->type_room &&
	    xvt_grow_zeroed(&a->types, &a->type_room, type->number + 1u, sizeof(*a->types)))
		return NULL;
	t = &a->types[type->number];
	if (t->known)
		return t;
	t->known = true;
	while (i < sizeof(kinds) / sizeof(kinds[0]) && !take_kind(t, &kinds[i], type))
		i++;
	t->first_key = key_of(type, &a->options.first);
	t->then_key = key_of(type, &a->options.then);
	return t;
}

uint64_t part_value(const struct xvtrace_event *ev, const struct xvtrace_field *field)
{
	struct xvtrace_value v;

	xvtrace_value(ev, field, &v);
	return v.u;
}

uint64_t part_number(const struct xvtrace_event *ev, const struct part_type *t, unsigned int field)
{
	return part_value(ev, t->field[field]);
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
