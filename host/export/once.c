// SPDX-License-Identifier: GPL-2.0
/*
 * once.c - see once.h. Both records of an event are made one right after the other, with interrupts
 * off. No other event of these kinds is between them, and none was lost there. A switch is never
 * followed by another one between the same tasks; a handler's entry not by one of the same
 * interrupt, but for the second record.
 */
#include "export/once.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

enum lane {
	LANE_SWITCH,
	LANE_IRQ,
	LANES,
};

/* Fields that tell an event from others of its kind. */
static const struct kind {
	const char *system;
	const char *name;
	enum lane lane;
	const char *fields[2];
} kinds[] = {
	{ "sched", "sched_switch", LANE_SWITCH, { "prev_pid", "next_pid" } },
	{ "irq", "irq_handler_entry", LANE_IRQ, { "irq", NULL } },
	{ "irq", "irq_handler_exit", LANE_IRQ, { "irq", "ret" } },
};

#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

struct once_type {
	bool known;
	uint8_t kind; /* number of it, plus 1; 0: of none */
	uint8_t by;
	const struct xvtrace_field *fields[2];
};

/* The last event of a ring's lane. */
struct last {
	uint8_t kind; /* as above; 0: there is none whose second record may come */
	uint8_t by;
	uint64_t values[2];
};

struct once_ring {
	struct last last[LANES];
	uint64_t count[XVT_ONCE_BY];
};

struct xvt_once {
	struct once_ring *rings;
	uint32_t ring_count;
	struct once_type *types; /* by number */
	size_t type_room;
};

int xvt_once_new(struct xvt_once **out, struct xvtrace *trace)
{
	struct xvt_once *o = calloc(1, sizeof(*o));

	*out = o;
	if (!o)
		return -ENOMEM;
	o->ring_count = xvtrace_info(trace)->rings;
	o->rings = calloc((size_t)o->ring_count + 1, sizeof(*o->rings));
	return o->rings ? 0 : -ENOMEM;
}

void xvt_once_free(struct xvt_once *o)
{
	if (!o)
		return;
	free(o->rings);
	free(o->types);
	free(o);
}

static bool is_number(const struct xvtrace_field *f)
{
	return f && (f->kind == XVTRACE_UINT || f->kind == XVTRACE_INT);
}

static void learn(struct once_type *t, const struct xvtrace_type *type)
{
	t->known = true;
	for (size_t i = 0; i < KINDS && !t->kind; i++) {
		const struct kind *k = &kinds[i];

		if (strcmp(k->system, type->kernel_system) != 0 || strcmp(k->name, type->name) != 0)
			continue;
		t->by = strcmp(type->system, k->system) != 0 ? XVT_ONCE_PROBE : XVT_ONCE_FTRACE;
		t->kind = (uint8_t)(i + 1);
		for (int f = 0; f < 2 && k->fields[f]; f++) {
			t->fields[f] = xvtrace_field_named(type, k->fields[f]);
			if (!is_number(t->fields[f]))
				t->kind = 0;
		}
	}
}

static const struct once_type *type_of(struct xvt_once *o, const struct xvtrace_type *type)
{
	struct once_type *t;

	if (type->number >= o->type_room &&
	    xvt_grow_zeroed(&o->types, &o->type_room, type->number + 1u, sizeof(*o->types)))
		return NULL;
	t = &o->types[type->number];
	if (!t->known)
		learn(t, type);
	return t;
}

static struct last read_event(const struct once_type *t, const struct xvtrace_event *ev)
{
	struct last now = { .kind = t->kind, .by = t->by };
	struct xvtrace_value v;

	for (int i = 0; i < 2 && t->fields[i]; i++) {
		xvtrace_value(ev, t->fields[i], &v);
		now.values[i] = v.u;
	}
	return now;
}

int xvt_once_again(struct xvt_once *o, const struct xvtrace_event *ev)
{
	const struct once_type *t;
	struct once_ring *r;
	struct last now, *last;

	/* Rings that the trace has lost may be several. */
	if (!ev->ring || ev->ring->number >= o->ring_count || ev->flags & XVTRACE_MADE)
		return 0;
	r = &o->rings[ev->ring->number];
	if (ev->kind == XVTRACE_LOST)
		memset(r->last, 0, sizeof(r->last));
	if (ev->kind != XVTRACE_EVENT)
		return 0;
	t = type_of(o, ev->type);
	if (!t || !t->kind)
		return t ? 0 : -ENOMEM;
	last = &r->last[kinds[t->kind - 1].lane];
	now = read_event(t, ev);
	if (last->kind == now.kind && last->by != now.by &&
	    memcmp(last->values, now.values, sizeof(now.values)) == 0) {
		r->count[last->by]++;
		last->kind = 0;
		return 1;
	}
	*last = now;
	return 0;
}

uint64_t xvt_once_count(const struct xvt_once *o, uint32_t ring, enum xvt_once_by by)
{
	return ring < o->ring_count ? o->rings[ring].count[by] : 0;
}
