// SPDX-License-Identifier: GPL-2.0
/* json.c - the path as JSON, format xvtrace-path/1; the parts from its end to its begin. */
#include "path/parts.h"

#include "base/json.h"

static const char *const kinds[] = { "runs", "waits", "preempted", "handler", "raised", "message" };
static const char *const edges[] = { "begin",	 "same",	"waker",	"raise",
				     "injected", "vcpu_woken",	"vcpu_thread",	"message_key",
				     "last_irq", "last_of_vmm", "last_of_vcpu", "one_of_many" };
static const char *const grades[] = { "proven", "guess" };
static const char *const ends[] = { "begin", "origin", "hole", "guess" };

const char *xvt_path_kind_name(enum xvt_path_kind kind)
{
	return kinds[kind];
}

const char *xvt_path_edge_name(enum xvt_path_edge edge)
{
	return edges[edge];
}

const char *xvt_path_grade_name(enum xvt_path_grade grade)
{
	return grades[grade];
}

static void put_bound(struct xvt_json *to, uint64_t ns)
{
	if (ns < XVTRACE_NO_BOUND)
		xvt_json_add_u64(to, "bound_ns", ns);
	else
		xvt_json_add_null(to, "bound_ns");
}

static void put_text(struct xvt_json *to, const char *key, const char *text)
{
	if (text && text[0])
		xvt_json_add_text(to, key, text);
	else
		xvt_json_add_null(to, key);
}

static void put_taken(struct xvt_json *to, const struct xvt_path_step *s)
{
	const uint64_t ns = s->end_ns - s->begin_ns;

	if (!s->taken_known) {
		xvt_json_add_null(to, "taken_least_ns");
		xvt_json_add_null(to, "taken_most_ns");
		xvt_json_add_null(to, "own_least_ns");
		xvt_json_add_null(to, "own_most_ns");
		return;
	}
	xvt_json_add_u64(to, "taken_least_ns", s->taken_least_ns);
	xvt_json_add_u64(to, "taken_most_ns", s->taken_most_ns);
	xvt_json_add_u64(to, "own_least_ns", ns - s->taken_most_ns);
	xvt_json_add_u64(to, "own_most_ns", ns - s->taken_least_ns);
}

static void put_step(struct xvt_json *to, const struct xvt_path_step *s)
{
	xvt_json_add_u64(to, "begin_ns", s->begin_ns);
	xvt_json_add_u64(to, "end_ns", s->end_ns);
	xvt_json_add_u64(to, "ns", s->end_ns - s->begin_ns);
	put_bound(to, s->bound_ns);
	xvt_json_add_text(to, "vm", s->ring->machine->name);
	xvt_json_add_u64(to, "cpu", s->ring->cpu);
	put_text(to, "task", s->task);
	if (s->pid >= 0)
		xvt_json_add_u64(to, "pid", (uint64_t)s->pid);
	else
		xvt_json_add_null(to, "pid");
	xvt_json_add_text(to, "kind", kinds[s->kind]);
	xvt_json_add_text(to, "edge", edges[s->edge]);
	xvt_json_add_text(to, "grade", grades[s->grade]);
	put_text(to, "by", s->by);
	put_text(to, "not_told", s->aside);
	xvt_json_add_bool(to, "shared_thread", s->shares);
	put_taken(to, s);
}

void xvt_path_json(struct xvt_path *p, struct xvt_out *o)
{
	struct xvt_json *doc = xvt_json_new();

	if (doc) {
		xvt_json_add_text(doc, "format", "xvtrace-path/1");
		xvt_json_add_u64(doc, "at_ns", p->options.at_ns);
		xvt_json_add_u64(doc, "from_ns", p->options.from_ns);
		xvt_json_add_u64(doc, "begin_ns", p->at.ns);
		xvt_json_add_text(doc, "end", ends[p->end]);
		xvt_json_add_text(doc, "why", p->why);
		put_text(doc, "needs", p->needs);
	}
	xvt_json_begin(doc, o, "steps", false);
	for (size_t i = 0; i < p->step_count; i++) {
		struct xvt_json *step = xvt_json_new();

		if (i)
			xvt_json_next(o);
		if (step)
			put_step(step, &p->steps[i]);
		xvt_json_item(step, o);
	}
	xvt_json_end(o);
}
