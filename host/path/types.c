// SPDX-License-Identifier: GPL-2.0
/* types.c - which events a path is made of, and their fields. */
#include "path/parts.h"

#include <string.h>

#include "base/vec.h"

static const struct kind {
	const char *system;
	const char *name;
	enum rec_kind kind;
	unsigned int needed;		 /* the first ones are numbers, and must be there */
	const char *fields[PATH_FIELDS]; /* a, b, c, and a text */
} kinds[] = {
	{ "sched",
	  "sched_switch",
	  REC_SWITCH,
	  3,
	  { "prev_pid", "next_pid", "prev_state", "next_comm" } },
	{ "sched", "sched_waking", REC_WAKING, 1, { "pid" } },
	{ "sched", "sched_wakeup", REC_WAKEUP, 1, { "pid" } },
	{ "sched", "sched_wakeup_new", REC_WAKEUP_NEW, 1, { "pid" } },
	{ "irq", "irq_handler_entry", REC_IRQ_ENTRY, 1, { "irq", "vector", NULL, "name" } },
	{ "irq", "irq_handler_exit", REC_IRQ_EXIT, 1, { "irq" } },
	{ "irq", "softirq_entry", REC_SOFTIRQ_ENTRY, 1, { "vec" } },
	{ "irq", "softirq_exit", REC_SOFTIRQ_EXIT, 1, { "vec" } },
	{ "irq", "softirq_raise", REC_SOFTIRQ_RAISE, 1, { "vec" } },
	{ "timer", "hrtimer_expire_entry", REC_TIMER_ENTRY, 0, { NULL } },
	{ "timer", "hrtimer_expire_exit", REC_TIMER_EXIT, 0, { NULL } },
	{ "timer", "timer_expire_entry", REC_TIMER_ENTRY, 0, { NULL } },
	{ "timer", "timer_expire_exit", REC_TIMER_EXIT, 0, { NULL } },
	{ "kvm", "kvm_inj_virq", REC_INJECT, 1, { "vector" } },
	{ "kvm", "kvm_apic_accept_irq", REC_ACCEPT, 2, { "apicid", "vec" } },
};

static bool is_number(const struct xvtrace_field *f)
{
	return f && (f->kind == XVTRACE_UINT || f->kind == XVTRACE_INT);
}

/* Linux up to 6.0 has the number of kvm_inj_virq as "irq". */
static const struct xvtrace_field *field_of(const struct xvtrace_type *type, const struct kind *k,
					    unsigned int number)
{
	const struct xvtrace_field *f = xvtrace_field_named(type, k->fields[number]);

	if (!f && k->kind == REC_INJECT)
		f = xvtrace_field_named(type, "irq");
	return f;
}

static void learn(struct path_type *t, const struct xvtrace_type *type)
{
	t->known = true;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		const struct kind *k = &kinds[i];

		if (strcmp(k->name, type->name) != 0 || strcmp(k->system, type->kernel_system) != 0)
			continue;
		t->kind = k->kind;
		for (unsigned int f = 0; f < PATH_FIELDS; f++) {
			t->field[f] = k->fields[f] ? field_of(type, k, f) : NULL;
			if (f < k->needed && !is_number(t->field[f]))
				t->kind = REC_OTHER;
		}
		return;
	}
}

const struct path_type *path_type_of(struct xvt_path *p, const struct xvtrace_type *type)
{
	struct path_type *t;

	if (type->number >= p->type_room &&
	    xvt_grow_zeroed(&p->types, &p->type_room, type->number + 1u, sizeof(*p->types)))
		return NULL;
	t = &p->types[type->number];
	if (!t->known)
		learn(t, type);
	return t;
}
