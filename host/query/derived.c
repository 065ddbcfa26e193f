// SPDX-License-Identifier: GPL-2.0
/* derived.c - tables of the guests' time, which analyze/ makes in one pass over all events. */
#include "query/parts.h"

#include <errno.h>
#include <string.h>

#include "analyze/analyze.h"
#include "export/once.h"

#define STALLS_MOST 131072u /* so many of the longest are kept at least */

static int feed_all(struct pass *p)
{
	const struct xvtrace_event *ev;
	int got;

	while ((got = xvtrace_next(p->reader, &ev)) > 0) {
		got = xvt_once_again(p->once, ev);
		if (!got)
			got = xvt_analyze_feed(p->analyze, ev);
		if (got < 0 || memory_error(p->memory))
			return got < 0 ? got : memory_error(p->memory);
	}
	if (!got && p->counts)
		got = xvtrace_check(p->catalog->trace);
	return got || events_stopped(p->catalog) ? got : xvt_analyze_end(p->analyze);
}

int pass_run(struct pass *p, const struct xvt_analyze_options *o)
{
	const unsigned int counts = p->counts ? XVTRACE_COUNTS : 0;
	int err = events_reader(p->catalog, XVTRACE_BOUND | XVTRACE_STATES | counts, &p->reader);

	if (!err)
		err = events_ahead(p->catalog, p, p->reader);
	if (!err)
		err = xvt_once_new(&p->once, p->catalog->trace);
	if (!err)
		err = xvt_analyze_new(&p->analyze, o, p->catalog->trace, p->reader);
	return err ? err : feed_all(p);
}

void pass_end(struct pass *p)
{
	xvt_analyze_free(p->analyze);
	xvt_once_free(p->once);
	xvtrace_reader_free(p->reader);
	events_alone(p->catalog, p);
}

void pass_add_ring(struct memory *m, const struct xvtrace_ring *ring)
{
	if (!ring) {
		for (int i = 0; i < 3; i++)
			memory_null(m);
		return;
	}
	memory_str(m, ring->machine->name);
	memory_int(m, ring->number);
	memory_int(m, ring->cpu);
}

static void add_own(struct memory *m, const struct xvt_span *span, uint64_t ns)
{
	if (span->own_known)
		memory_uint(m, ns);
	else
		memory_null(m);
}

void pass_add_bound(struct memory *m, uint64_t ns)
{
	memory_uint(m, ns == XVTRACE_NO_BOUND ? UINT64_MAX : ns);
}

/* -- slices and wake-ups --------------------------------------------------------------- */

static const struct column slice_columns[] = {
	INTEGER_COLUMN("ts"),	    INTEGER_COLUMN("dur"),	INTEGER_COLUMN("own_least"),
	INTEGER_COLUMN("own_most"), INTEGER_COLUMN("bound_ns"), TEXT_COLUMN("vm"),
	INTEGER_COLUMN("ring"),	    INTEGER_COLUMN("on_cpu"),	TEXT_COLUMN("kind"),
	TEXT_COLUMN("name"),	    INTEGER_COLUMN("task_pid"), INTEGER_COLUMN("depth")
};

static const struct column wakeup_columns[] = {
	INTEGER_COLUMN("ts"),	     INTEGER_COLUMN("run_ts"),	 INTEGER_COLUMN("wait"),
	INTEGER_COLUMN("own_least"), INTEGER_COLUMN("own_most"), INTEGER_COLUMN("bound_ns"),
	TEXT_COLUMN("vm"),	     INTEGER_COLUMN("ring"),	 INTEGER_COLUMN("on_cpu"),
	TEXT_COLUMN("task"),	     INTEGER_COLUMN("task_pid")
};

static int add_span(void *arg, const struct xvt_span *span)
{
	struct pass *p = arg;
	struct memory *m = p->memory;

	if (p->waits != (strcmp(span->kind, "wait") == 0))
		return 0;
	memory_uint(m, span->begin_ns);
	if (p->waits)
		memory_uint(m, span->end_ns);
	memory_uint(m, span->end_ns - span->begin_ns);
	add_own(m, span, span->own_least_ns);
	add_own(m, span, span->own_most_ns);
	pass_add_bound(m, span->bound_ns);
	pass_add_ring(m, span->ring);
	if (!p->waits)
		memory_str(m, span->kind);
	memory_str(m, span->name);
	memory_int(m, span->pid);
	if (!p->waits)
		memory_int(m, span->depth);
	return memory_error(m);
}

static int make_spans(struct catalog *c, struct memory *m, bool waits)
{
	struct pass p = { .catalog = c, .memory = m, .waits = waits };
	const struct xvt_analyze_options o = { .analyses = XVT_ANALYZE_SPANS,
					       .span = add_span,
					       .arg = &p };
	int err = pass_run(&p, &o);

	pass_end(&p);
	return err;
}

static int make_slices(struct catalog *c, struct memory *m)
{
	return make_spans(c, m, false);
}

static int make_wakeups(struct catalog *c, struct memory *m)
{
	return make_spans(c, m, true);
}

/* -- stalls ----------------------------------------------------------------------------- */

static const struct column stall_columns[] = {
	INTEGER_COLUMN("ts"),	    INTEGER_COLUMN("dur"),  INTEGER_COLUMN("bound_ns"),
	TEXT_COLUMN("vm"),	    INTEGER_COLUMN("ring"), INTEGER_COLUMN("on_cpu"),
	TEXT_COLUMN("guest"),	    TEXT_COLUMN("task"),    INTEGER_COLUMN("task_pid"),
	TEXT_COLUMN("cause"),	    TEXT_COLUMN("first"),   TEXT_COLUMN("most"),
	INTEGER_COLUMN("most_ns"),  TEXT_COLUMN("last"),    TEXT_COLUMN("waker"),
	INTEGER_COLUMN("recorder"), INTEGER_COLUMN("open"), TEXT_COLUMN("verdict")
};

/* NULL: there was none, or it is not recorded, which the verdict says. */
static void add_thread(struct memory *m, const struct xvt_host_thread *thread)
{
	memory_str(m, thread && thread->tid >= 0 ? thread->name : NULL);
}

static void add_stall(struct memory *m, const struct xvt_stall *s)
{
	memory_uint(m, s->begin_ns);
	memory_uint(m, s->end_ns - s->begin_ns);
	pass_add_bound(m, s->bound_ns);
	pass_add_ring(m, s->ring);
	memory_str(m, s->guest);
	memory_str(m, s->task);
	memory_int(m, s->pid);
	memory_str(m, xvt_cause_name(s->cause));
	add_thread(m, s->first);
	add_thread(m, s->most);
	if (s->most)
		memory_uint(m, s->most_ns);
	else
		memory_null(m);
	add_thread(m, s->last);
	add_thread(m, s->waker);
	memory_int(m, s->most && s->most->recorder);
	memory_int(m, s->open);
	memory_str(m, xvt_verdict_name(s->verdict));
}

static int make_stalls(struct catalog *c, struct memory *m)
{
	static const struct xvt_analyze_options o = { .analyses = XVT_ANALYZE_STALLS,
						      .stalls_most = STALLS_MOST };
	struct pass p = { .catalog = c, .memory = m };
	const struct xvt_stall *stalls;
	int err = pass_run(&p, &o);
	size_t n = err ? 0 : xvt_analyze_stalls(p.analyze, &stalls);

	for (size_t i = 0; i < n && !memory_error(m); i++)
		add_stall(m, &stalls[i]);
	pass_end(&p);
	return err;
}

/* -- times of vCPUs --------------------------------------------------------------------- */

static const struct column state_columns[] = {
	INTEGER_COLUMN("ts"),	    INTEGER_COLUMN("dur"),  INTEGER_COLUMN("bound_ns"),
	TEXT_COLUMN("vm"),	    INTEGER_COLUMN("ring"), INTEGER_COLUMN("on_cpu"),
	TEXT_COLUMN("state"),	    TEXT_COLUMN("guest"),   TEXT_COLUMN("task"),
	INTEGER_COLUMN("task_pid"), TEXT_COLUMN("most"),    INTEGER_COLUMN("most_ns"),
	INTEGER_COLUMN("recorder"), TEXT_COLUMN("waker"),   INTEGER_COLUMN("shared"),
	INTEGER_COLUMN("open"),	    TEXT_COLUMN("verdict")
};

static int add_state(void *arg, const struct xvt_vcpu_state *s)
{
	struct pass *p = arg;
	struct memory *m = p->memory;
	const bool wants = s->guest;

	memory_uint(m, s->begin_ns);
	memory_uint(m, s->end_ns - s->begin_ns);
	pass_add_bound(m, s->bound_ns);
	pass_add_ring(m, s->ring);
	memory_str(m, s->state);
	memory_str(m, s->guest);
	memory_str(m, wants ? s->task : NULL);
	if (wants)
		memory_int(m, s->pid);
	else
		memory_null(m);
	add_thread(m, s->most);
	if (s->most)
		memory_uint(m, s->most_ns);
	else
		memory_null(m);
	memory_int(m, s->most && s->most->recorder);
	add_thread(m, s->waker);
	memory_int(m, s->shares);
	memory_int(m, s->open);
	memory_str(m, xvt_verdict_name(s->verdict));
	return memory_error(m);
}

static int make_states(struct catalog *c, struct memory *m)
{
	struct pass p = { .catalog = c, .memory = m };
	const struct xvt_analyze_options o = { .analyses = XVT_ANALYZE_STATES,
					       .state = add_state,
					       .arg = &p };
	int err = pass_run(&p, &o);

	pass_end(&p);
	return err;
}

/* -- messages --------------------------------------------------------------------------- */

static const struct column message_columns[] = {
	INTEGER_COLUMN("key"),	    INTEGER_COLUMN("n"),       TEXT_COLUMN("vm"),
	INTEGER_COLUMN("ring"),	    INTEGER_COLUMN("on_cpu"),  INTEGER_COLUMN("sent_ts"),
	TEXT_COLUMN("to_vm"),	    INTEGER_COLUMN("to_ring"), INTEGER_COLUMN("to_cpu"),
	INTEGER_COLUMN("recv_ts"),  INTEGER_COLUMN("dur"),     INTEGER_COLUMN("bound_ns"),
	INTEGER_COLUMN("in_order"), TEXT_COLUMN("verdict"),    TEXT_COLUMN("why")
};

static void add_message_end(struct memory *m, const struct xvt_message_end *end)
{
	pass_add_ring(m, end->ring);
	if (end->ns)
		memory_uint(m, end->ns);
	else
		memory_null(m);
}

static int add_message(void *arg, const struct xvt_message *message)
{
	struct pass *p = arg;
	struct memory *m = p->memory;
	const bool both = message->sent.ns && message->received.ns;

	memory_uint(m, message->key);
	memory_uint(m, message->n);
	add_message_end(m, &message->sent);
	add_message_end(m, &message->received);
	if (both)
		memory_int(m, (int64_t)(message->received.ns - message->sent.ns));
	else
		memory_null(m);
	pass_add_bound(m, message->bound_ns);
	if (both)
		memory_int(m, message->verdict == XVT_PROVEN);
	else
		memory_null(m);
	memory_str(m, xvt_verdict_name(message->verdict));
	memory_str(m, message->why);
	return memory_error(m);
}

static int make_messages(struct catalog *c, struct memory *m)
{
	struct pass p = { .catalog = c, .memory = m };
	const struct xvt_analyze_options o = { .analyses = XVT_ANALYZE_MESSAGES,
					       .message = add_message,
					       .arg = &p };
	int err = pass_run(&p, &o);

	pass_end(&p);
	return err;
}

const struct facts facts_of_guests[] = {
	FACTS("messages", message_columns, -0.01, make_messages),
	FACTS("slices", slice_columns, -0.3, make_slices),
	FACTS("stalls", stall_columns, 1000, make_stalls),
	FACTS("vcpu_states", state_columns, -0.3, make_states),
	FACTS("wakeups", wakeup_columns, -0.1, make_wakeups),
	{ .name = NULL },
};
