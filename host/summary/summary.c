// SPDX-License-Identifier: GPL-2.0
/* summary.c - see summary.h. Counts the events that report gives, at the times that it gives. */
#include "summary/summary.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

const struct xvt_summary_kind xvt_summary_kinds[XVT_SUMMARY_KINDS] = {
	{ "task switches",
	  false,
	  "echo 1 >/sys/kernel/tracing/events/sched/enable",
	  { "sched_switch" } },
	{ "wake-ups",
	  false,
	  "echo 1 >/sys/kernel/tracing/events/sched/enable",
	  { "sched_waking", "sched_wakeup" } },
	{ "interrupts",
	  false,
	  "echo 1 >/sys/kernel/tracing/events/irq/enable",
	  { "irq_handler_entry", "softirq_entry" } },
	{ "task switches", true, "--host sched", { "sched_switch" } },
	{ "interrupts", true, "--host irq", { "irq_handler_entry", "softirq_entry" } },
	{ "entries and exits of vCPUs under KVM", true, "--host kvm", { "kvm_entry", "kvm_exit" } },
};

bool xvt_summary_lacks(const struct xvt_summary_machine *m, unsigned int kind)
{
	/* Events without a format may be those that seem to be missing. */
	return m->has_kernel && !m->nameless && m->of->host == xvt_summary_kinds[kind].host &&
	       !(m->has & 1u << kind);
}

/* -- one event ---------------------------------------------------------------------- */

static unsigned int kinds_of(const struct xvtrace_machine *m, const char *event)
{
	unsigned int has = 0;

	for (unsigned int i = 0; i < XVT_SUMMARY_KINDS; i++) {
		const struct xvt_summary_kind *kind = &xvt_summary_kinds[i];

		for (unsigned int e = 0; kind->host == m->host && e < 4 && kind->events[e]; e++)
			has |= strcmp(kind->events[e], event) == 0 ? 1u << i : 0;
	}
	return has;
}

/* Returns NULL without memory. */
static struct xvt_summary_type *type_of(struct xvt_summary *s, struct xvt_summary_machine *m,
					const struct xvtrace_event *ev)
{
	const struct xvtrace_type *type = ev->type;
	struct xvt_summary_type *t;

	if (xvt_grow_zeroed(&s->types, &s->type_room, type->number + 1u, sizeof(*s->types)))
		return NULL;
	t = &s->types[type->number];
	if (t->type)
		return t;
	*t = (struct xvt_summary_type){ .type = type, .machine = m->of->number };
	m->has |= kinds_of(m->of, type->name);
	if (strcmp(type->name, "sched_switch") == 0 && strcmp(type->kernel_system, "sched") == 0) {
		t->prev = xvtrace_field_named(type, "prev_pid");
		t->next = t->prev ? xvtrace_field_named(type, "next_pid") : NULL;
	}
	return t;
}

static int end_run(struct xvt_summary_machine *m)
{
	const uint64_t count = m->run;

	m->run = 0;
	if (!count)
		return 0;
	if (m->run_ns < XVTRACE_NO_BOUND)
		return xvt_spread_add(&m->bounds, m->run_ns, count);
	m->unbounded += count;
	return 0;
}

static int add_bound(struct xvt_summary_machine *m, uint64_t bound_ns)
{
	int err = 0;

	if (bound_ns != m->run_ns)
		err = end_run(m);
	m->run_ns = bound_ns;
	m->run++;
	return err;
}

static int32_t pid_in(const struct xvtrace_event *ev, const struct xvtrace_field *field)
{
	struct xvtrace_value v;

	xvtrace_value(ev, field, &v);
	return (int32_t)v.u;
}

/* The task of an event has one more, or what a switch ends has run. Returns 0 or -ENOMEM. */
static int add_task(struct xvt_summary *s, struct xvt_summary_machine *m,
		    const struct xvt_summary_type *t, const struct xvtrace_event *ev)
{
	uint64_t ran_ns;
	int32_t prev;

	if (!t->next)
		return m->by_switch || ev->pid <= 0 ? 0 : xvt_busy_add(&m->busy, ev->pid, 1);
	if (!m->by_switch)
		xvt_busy_clear(&m->busy);
	m->by_switch = true;
	prev = pid_in(ev, t->prev);
	ran_ns = xvt_running_switch(&s->running[ev->ring->number], ev->ns, prev,
				    pid_in(ev, t->next), &m->stops);
	return ran_ns && prev ? xvt_busy_add(&m->busy, prev, ran_ns) : 0;
}

static int add_event(struct xvt_summary *s, struct xvt_summary_machine *m,
		     const struct xvtrace_event *ev)
{
	struct xvt_summary_type *t = type_of(s, m, ev);
	int err;

	if (!t)
		return -ENOMEM;
	err = add_task(s, m, t, ev);
	if (err)
		return err;
	t->count++;
	m->flagged += !!(ev->flags & (XVTRACE_UNCONFIRMED | XVTRACE_CLOCK));
	m->has_kernel |= ev->pid >= 0;
	xvt_strip_add(&m->strip, ev->ns);
	return add_bound(m, ev->bound_ns);
}

/* NULL: a damaged trace has lost which one it is. */
static struct xvt_summary_machine *machine_of(struct xvt_summary *s,
					      const struct xvtrace_machine *machine)
{
	if (!machine || machine->number >= s->info->machines)
		return NULL;
	return s->machines[machine->number].of ? &s->machines[machine->number] : NULL;
}

/* An event that a ring has twice counts as two, and is analyzed once. */
static int analyze(struct xvt_summary *s, const struct xvtrace_event *ev)
{
	const int again = xvt_once_again(s->once, ev);

	return again ? (again < 0 ? again : 0) : xvt_analyze_feed(s->analyze, ev);
}

static void add_state(struct xvt_summary_machine *m, const struct xvtrace_event *ev)
{
	switch (ev->state) {
	case XVTRACE_CRASHED:
	case XVTRACE_ENDED:
		m->ended_ns = ev->ns;
		break;
	case XVTRACE_PAUSED:
	case XVTRACE_RUNS:
	case XVTRACE_RESET:
		m->ended_ns = 0;
		break;
	default:
		break;
	}
}

static int add(struct xvt_summary *s, const struct xvtrace_event *ev)
{
	struct xvt_summary_machine *m = machine_of(s, ev->machine);
	const int err = analyze(s, ev);

	if (err || !m)
		return err;
	if (ev->kind == XVTRACE_EVENT)
		return add_event(s, m, ev);
	/* What ran meanwhile is not known. */
	if (ev->kind == XVTRACE_LOST)
		s->running[ev->ring->number].known = false;
	if (ev->kind == XVTRACE_STATE)
		add_state(m, ev);
	return 0;
}

/* -- conclusions -------------------------------------------------------------------- */

static void add_counts(struct xvtrace_counts *to, const struct xvtrace_counts *c)
{
	if (c->events && (!to->events || c->first_ns < to->first_ns))
		to->first_ns = c->first_ns;
	if (c->events && c->last_ns > to->last_ns)
		to->last_ns = c->last_ns;
	to->attempted += c->attempted;
	to->events += c->events;
	to->lost += c->lost;
}

static int add_rings(struct xvt_summary *s)
{
	for (unsigned int i = 0; i < s->info->rings; i++) {
		const struct xvtrace_ring *ring = xvtrace_ring(s->trace, i);
		const struct xvtrace_counts *c = ring ? xvtrace_reader_counts(s->reader, i) : NULL;
		struct xvt_summary_machine *m;

		if (ring && !c)
			return -ENOMEM;
		if (!ring)
			continue;
		m = machine_of(s, ring->machine);
		add_counts(&s->counts, c);
		if (m)
			add_counts(&m->counts, c);
	}
	return 0;
}

/* By machine and name, so that types of several boots stand beside each other. */
static int compare_names(const void *a, const void *b)
{
	const struct xvt_summary_type *l = a, *r = b;
	int order;

	if (!l->type || !r->type)
		return !l->type - !r->type;
	if (l->machine != r->machine)
		return l->machine < r->machine ? -1 : 1;
	order = strcmp(l->type->system, r->type->system);
	return order ? order : strcmp(l->type->name, r->type->name);
}

static void take_type(struct xvt_summary_machine *m, struct xvt_summary_type *t)
{
	size_t at = m->type_count;

	for (; at && t->count > m->types[at - 1]->count; at--)
		if (at < XVT_SUMMARY_EVENTS)
			m->types[at] = m->types[at - 1];
	if (at < XVT_SUMMARY_EVENTS)
		m->types[at] = t;
	m->type_count += m->type_count < XVT_SUMMARY_EVENTS;
}

static void conclude_types(struct xvt_summary *s)
{
	if (s->type_room)
		qsort(s->types, s->type_room, sizeof(*s->types), compare_names);
	for (size_t i = 0, next; i < s->type_room && s->types[i].type; i = next) {
		struct xvt_summary_type *t = &s->types[i];

		for (next = i + 1; next < s->type_room && s->types[next].type; next++) {
			if (compare_names(t, &s->types[next]))
				break;
			t->count += s->types[next].count;
		}
		if (t->count)
			take_type(&s->machines[t->machine], t);
	}
}

static void take_names(struct xvt_summary *s, struct xvt_summary_machine *m)
{
	for (size_t i = 0; i < m->task_count; i++) {
		struct xvt_summary_task *t = &m->tasks[i];
		const struct xvtrace_task *of =
			xvtrace_reader_task_of(s->reader, m->of->number, t->pid);

		if (of)
			xvt_text_clean(t->comm, sizeof(t->comm), of->comm, strlen(of->comm));
	}
}

static void conclude_tasks(struct xvt_summary *s, struct xvt_summary_machine *m)
{
	struct xvt_busy_task top[XVT_SUMMARY_TASKS];

	m->task_count = xvt_busy_top(&m->busy, top, XVT_SUMMARY_TASKS);
	for (size_t i = 0; i < m->task_count; i++)
		m->tasks[i] = (struct xvt_summary_task){ top[i].pid, top[i].value, "" };
	take_names(s, m);
}

static int conclude(struct xvt_summary *s)
{
	int err = add_rings(s);

	conclude_types(s);
	for (unsigned int i = 0; !err && i < s->info->machines; i++) {
		struct xvt_summary_machine *m = &s->machines[i];
		uint64_t events;

		if (!m->of)
			continue;
		m->nameless = xvtrace_reader_nameless(s->reader, i, &events);
		err = end_run(m);
		conclude_tasks(s, m);
		m->strip.ended_ns = m->ended_ns;
		s->nameless += m->nameless;
	}
	return err;
}

/* -- reading ------------------------------------------------------------------------ */

static int add_pause(void *arg, const struct xvtrace_span *span)
{
	struct xvt_summary *s = arg;
	struct xvt_summary_machine *m = machine_of(s, span->machine);

	if (span->kind != XVTRACE_PAUSE || !m)
		return 0;
	m->pauses++;
	m->paused_ns += span->end_ns - span->begin_ns;
	xvt_strip_pause(&m->strip, span->begin_ns, span->end_ns);
	return xvt_pauses_add(&m->stops, span->begin_ns, span->end_ns);
}

static int begin(struct xvt_summary *s)
{
	int err = 0;

	s->machines = calloc((size_t)s->info->machines + 1, sizeof(*s->machines));
	s->running = calloc((size_t)s->info->rings + 1, sizeof(*s->running));
	if (!s->machines || !s->running)
		return -ENOMEM;
	for (unsigned int i = 0; !err && i < s->info->machines; i++) {
		struct xvt_summary_machine *m = &s->machines[i];

		m->of = xvtrace_machine(s->trace, i);
		if (!m->of)
			continue;
		s->has_host |= m->of->host;
		err = xvt_strip_init(&m->strip, s->info->first_ns, s->info->last_ns, s->cells);
		s->from_ns = m->strip.first_ns;
		s->cell_ns = m->strip.cell_ns;
	}
	if (!err)
		err = xvtrace_spans(s->trace, add_pause, s);
	for (unsigned int i = 0; i < s->info->machines; i++)
		xvt_pauses_sort(&s->machines[i].stops);
	return err;
}

static int begin_analysis(struct xvt_summary *s)
{
	const struct xvt_analyze_options o = { .analyses = XVT_ANALYZE_CPU | XVT_ANALYZE_STALLS |
							   XVT_ANALYZE_MESSAGES,
					       .stall_min_ns = XVT_SUMMARY_STALL_NS,
					       .stalls_most = XVT_SUMMARY_STALLS,
					       .rough = true };
	const int err = xvt_once_new(&s->once, s->trace);

	return err ? err : xvt_analyze_new(&s->analyze, &o, s->trace, s->reader);
}

int xvt_summary_read(struct xvt_summary *s, struct xvtrace *trace, bool reclock, unsigned int cells,
		     const struct xvtrace_background *background)
{
	const struct xvtrace_event *ev;
	int err, got;

	*s = (struct xvt_summary){ .trace = trace, .info = xvtrace_info(trace), .cells = cells };
	err = begin(s);
	if (!err)
		err = xvtrace_reader_new(&s->reader, trace);
	if (!err)
		err = xvtrace_reader_flags(s->reader, XVTRACE_STATES | XVTRACE_BOUND |
							      XVTRACE_COUNTS |
							      (reclock ? XVTRACE_RECLOCK : 0));
	if (!err && background->slots)
		err = xvtrace_reader_ahead(s->reader, background);
	if (!err)
		err = begin_analysis(s);
	while (!err && (got = xvtrace_next(s->reader, &ev)) != 0)
		err = got < 0 ? got : add(s, ev);
	if (!err)
		err = xvt_analyze_end(s->analyze);
	if (!err)
		err = xvtrace_check(trace);
	return err ? err : conclude(s);
}

bool xvt_summary_lost_at_least(const struct xvt_summary *s)
{
	bool least = false;

	for (unsigned int i = 0; i < s->info->machines; i++)
		least |= s->machines[i].of && s->machines[i].of->ftrace;
	return least;
}

void xvt_summary_fini(struct xvt_summary *s)
{
	for (unsigned int i = 0; s->machines && i < s->info->machines; i++) {
		xvt_strip_fini(&s->machines[i].strip);
		xvt_spread_free(&s->machines[i].bounds);
		xvt_busy_clear(&s->machines[i].busy);
		xvt_pauses_fini(&s->machines[i].stops);
	}
	free(s->machines);
	free(s->running);
	free(s->types);
	xvt_analyze_free(s->analyze);
	xvt_once_free(s->once);
	xvtrace_reader_free(s->reader);
}
