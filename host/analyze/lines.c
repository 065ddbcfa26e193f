// SPDX-License-Identifier: GPL-2.0
/* lines.c - the lines of the result, one for each kind of duration. */
#include "analyze/parts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

const char *xvt_verdict_name(enum xvt_verdict v)
{
	static const char *const names[] = { "proven", "cannot be told", "not recorded",
					     "none in this range" };

	return names[v];
}

const char *xvt_cause_name(enum xvt_cause c)
{
	static const char *const names[] = { "preempted", "waits",   "sleeps",
					     "paused",	  "blocked", "stopped" };

	return names[c];
}

static bool is_line(const struct xvt_line *l, enum xvt_analysis analysis, const char *kind,
		    const struct xvtrace_machine *machine, const struct xvtrace_ring *ring,
		    const struct xvt_host_thread *thread, const char *what)
{
	return l->analysis == analysis && l->machine == machine && l->ring == ring &&
	       l->thread == thread && strcmp(l->kind, kind) == 0 && strcmp(l->what, what) == 0;
}

static uint32_t hash_of(enum xvt_analysis analysis, const char *kind,
			const struct xvtrace_machine *machine, const struct xvtrace_ring *ring,
			const struct xvt_host_thread *thread, const char *what)
{
	uint64_t h = (uint64_t)analysis ^ (uintptr_t)machine ^ (uintptr_t)ring * 3 ^
		     (uintptr_t)thread * 5;

	for (; *kind; kind++)
		h = (h ^ (uint8_t)*kind) * 0x100000001b3ull;
	for (; *what; what++)
		h = (h ^ (uint8_t)*what) * 0x100000001b3ull;
	return (uint32_t)(h ^ h >> 32);
}

static void place(const struct lines *lines, struct xvt_line *line, uint32_t hash)
{
	size_t at = hash & (lines->slot_count - 1);

	while (lines->slots[at])
		at = (at + 1) & (lines->slot_count - 1);
	lines->slots[at] = line;
}

static int grow_slots(struct lines *lines)
{
	struct lines more = *lines;

	if (lines->slot_count > 2 * lines->count)
		return 0;
	more.slot_count = lines->slot_count ? 2 * lines->slot_count : 256;
	more.slots = calloc(more.slot_count, sizeof(struct xvt_line *));
	if (!more.slots)
		return -ENOMEM;
	for (size_t i = 0; i < lines->count; i++) {
		struct xvt_line *l = lines->v[i];

		place(&more, l,
		      hash_of(l->analysis, l->kind, l->machine, l->ring, l->thread, l->what));
	}
	free(lines->slots);
	*lines = more;
	return 0;
}

static struct xvt_line *new_line(struct lines *lines)
{
	struct xvt_line *line;

	if (xvt_grow(&lines->v, &lines->room, lines->count + 1, sizeof(line)))
		return NULL;
	line = calloc(1, sizeof(*line));
	if (line)
		lines->v[lines->count++] = line;
	return line;
}

struct xvt_line *line_of(struct xvt_analyze *a, enum xvt_analysis analysis, const char *kind,
			 const struct xvtrace_machine *machine, const struct vcpu *v,
			 const struct xvt_host_thread *thread, const char *what)
{
	const struct xvtrace_ring *ring = v ? v->ring : NULL;
	const uint32_t hash = hash_of(analysis, kind, machine, ring, thread, what);
	struct lines *lines = &a->lines;
	struct xvt_line *line;
	size_t at;

	if (grow_slots(lines))
		return NULL;
	for (at = hash & (lines->slot_count - 1); lines->slots[at];
	     at = (at + 1) & (lines->slot_count - 1))
		if (is_line(lines->slots[at], analysis, kind, machine, ring, thread, what))
			return lines->slots[at];
	line = new_line(lines);
	if (!line)
		return NULL;
	line->analysis = analysis;
	line->kind = kind;
	line->machine = machine;
	line->ring = ring;
	line->shares = v && v->shares;
	line->thread = thread;
	line->wall.rough = line->own_least.rough = line->own_most.rough = a->options.rough;
	snprintf(line->what, sizeof(line->what), "%s", what);
	lines->slots[at] = line;
	return line;
}

#define FOUND 1024u

struct xvt_line **line_found(struct xvt_analyze *a, const struct line_key *key)
{
	uint64_t hash = (uintptr_t)key->machine ^ (uintptr_t)key->kind * 3 ^ key->number << 8;
	struct line_found *f;

	for (size_t i = 0; i < sizeof(key->text); i += sizeof(uint64_t)) {
		uint64_t word;

		memcpy(&word, key->text + i, sizeof(word));
		hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
	}
	f = &a->lines.found[hash >> 32 & (FOUND - 1)];
	if (memcmp(&f->key, key, sizeof(*key)) != 0)
		*f = (struct line_found){ .key = *key };
	return &f->line;
}

int line_add(struct xvt_line *line, const struct vcpu *v, const struct part_span *span)
{
	const uint64_t wall = span->end_ns > span->begin_ns ? span->end_ns - span->begin_ns : 0;
	const unsigned int ring = v->ring->number;
	int err = xvt_figure_add(&line->wall, wall, span->begin_ns, ring, span->bound_ns);

	line->own_unknown += !span->own_known;
	if (err || !span->own_known)
		return err;
	/* Their bounds are those of the wall. */
	err = xvt_figure_add(&line->own_least, span->own_least_ns, span->begin_ns, ring,
			     XVT_FIGURE_NO_BOUND);
	if (!err)
		err = xvt_figure_add(&line->own_most, span->own_most_ns, span->begin_ns, ring,
				     XVT_FIGURE_NO_BOUND);
	return err;
}

bool xvt_line_has_pairs(const struct xvt_line *l)
{
	return l->analysis & (XVT_ANALYZE_SCHED | XVT_ANALYZE_TIMER | XVT_ANALYZE_LATENCY);
}

bool xvt_line_has_own(const struct xvt_line *line)
{
	return line->analysis & (XVT_ANALYZE_IRQ | XVT_ANALYZE_SCHED | XVT_ANALYZE_TIMER) ||
	       strcmp(line->kind, "task_wake") == 0;
}

bool part_wants_task(const struct xvt_analyze *a, int pid, const char *comm)
{
	return !a->options.wants_task || a->options.wants_task(a->options.arg, pid, comm);
}

bool part_wants_interval(const struct xvt_analyze *a, const struct interval *i)
{
	const struct wanting *w = &i->wanting;
	const bool known = w->wanted || w->idle;

	return part_wants_task(a, known ? w->pid : -1, known ? w->comm : "");
}

/* The event with which the durations of such a line begin. */
static bool is_wanted(const struct xvt_analyze *a, const struct xvt_line *l)
{
	static const struct {
		const char *kind, *system, *name;
	} begins[] = {
		{ "irq", "irq", "irq_handler_entry" },
		{ "softirq", "irq", "softirq_entry" },
		{ "wait", "sched", "sched_waking" },
		{ "task_wait", "sched", "sched_waking" },
		{ "task_wake", "sched", "sched_waking" },
		{ "vcpu_wake", "sched", "sched_waking" },
		{ "timer", "timer", "hrtimer_expire_entry" },
		{ "timer_of", "timer", "hrtimer_expire_entry" },
		{ "accept_inject", "kvm", "kvm_apic_accept_irq" },
		{ "posted", "kvm", "kvm_apicv_accept_irq" },
		{ "inject_guest", "kvm", "kvm_inj_virq" },
		{ "inject_handler", "kvm", "kvm_inj_virq" },
	};

	/* pairs.c has chosen. */
	if (strncmp(l->kind, "pair", 4) == 0 || strncmp(l->kind, "message", 7) == 0)
		return true;
	for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++)
		if (strcmp(begins[i].kind, l->kind) == 0)
			return a->options.wants_event(a->options.arg, begins[i].system,
						      begins[i].name);
	return a->options.wants_event(a->options.arg, "sched", "sched_switch");
}

static void free_line(struct xvt_line *l)
{
	xvt_figure_fini(&l->wall);
	xvt_figure_fini(&l->own_least);
	xvt_figure_fini(&l->own_most);
	free(l);
}

void lines_choose(struct xvt_analyze *a)
{
	struct lines *lines = &a->lines;
	size_t n = 0;

	for (size_t i = 0; i < lines->count; i++) {
		if (is_wanted(a, lines->v[i]))
			lines->v[n++] = lines->v[i];
		else
			free_line(lines->v[i]);
	}
	lines->count = n;
	if (!a->options.wants_event(a->options.arg, "sched", "sched_switch"))
		a->stall_count = 0;
}

static unsigned int rank_of(const struct xvt_line *l)
{
	static const char *const order[] = {
		"on_cpu",	 "idle",	 "unknown",	   "paused",	"taken",
		"taken_by",	 "asleep",	 "blocked",	   "stopped",	"stalls",
		"irq",		 "softirq",	 "wait",	   "run",	"task_wait",
		"task_run",	 "timer",	 "timer_of",	   "message",	"message_to",
		"pair",		 "pair_to",	 "task_wake",	   "vcpu_wake", "vcpu_start",
		"accept_inject", "inject_guest", "inject_handler", "posted"
	};
	unsigned int i = 0;

	while (i < sizeof(order) / sizeof(order[0]) && strcmp(order[i], l->kind) != 0)
		i++;
	return i;
}

/* By analysis, machine, ring and kind; the longest first, of `cpu` those of the largest sums. */
static int compare(const void *a, const void *b)
{
	const struct xvt_line *l = *(struct xvt_line *const *)a, *r = *(struct xvt_line *const *)b;
	const bool sums = l->analysis == XVT_ANALYZE_CPU;
	const uint64_t lv = sums ? l->wall.sum_ns : l->wall.max_ns;
	const uint64_t rv = sums ? r->wall.sum_ns : r->wall.max_ns;

	if (l->analysis != r->analysis)
		return l->analysis < r->analysis ? -1 : 1;
	if (l->machine != r->machine)
		return l->machine->number < r->machine->number ? -1 : 1;
	if (l->ring != r->ring)
		return !l->ring || (r->ring && l->ring->number < r->ring->number) ? -1 : 1;
	if (rank_of(l) != rank_of(r))
		return rank_of(l) < rank_of(r) ? -1 : 1;
	if (lv != rv)
		return lv > rv ? -1 : 1;
	return strcmp(l->what, r->what);
}

int lines_init(struct lines *l)
{
	l->found = calloc(FOUND, sizeof(*l->found));
	return l->found ? 0 : -ENOMEM;
}

void lines_sort(struct lines *l)
{
	if (l->count)
		qsort(l->v, l->count, sizeof(*l->v), compare);
}

void lines_fini(struct lines *l)
{
	for (size_t i = 0; i < l->count; i++)
		free_line(l->v[i]);
	free(l->v);
	free(l->slots);
	free(l->found);
}

enum xvt_verdict verdict_of_none(const struct xvt_analyze *a)
{
	return a->options.is_range ? XVT_NOT_IN_RANGE : XVT_NOT_RECORDED;
}

void line_lacks(const struct xvt_analyze *a, struct xvt_line *line, const char *needs)
{
	line->verdict = verdict_of_none(a);
	line->needs = needs;
}
