// SPDX-License-Identifier: GPL-2.0
/*
 * spans.c - what a trace has besides events: pauses, which are in the recorder's notes, and epochs;
 * see xvtrace.h.
 */
#include <errno.h>
#include <stdlib.h>

#include "lib/parts.h"
#include "trace/names.h"
#include "trace/note.h"

struct epoch {
	uint64_t begin_ns;
	uint64_t end_ns;
	uint32_t number;
	uint32_t source;
	bool known;
};

struct spans {
	struct xvtrace *trace;
	uint64_t *stopped_ns; /* by machine; 0: it runs */
	struct epoch *epochs; /* by ring: the one that nodes belong to now */
	int (*span)(void *arg, const struct xvtrace_span *span);
	void *arg;
};

static int put_pause(struct spans *s, uint32_t machine, uint64_t begin_ns, uint64_t end_ns)
{
	const struct xvtrace_span span = {
		.kind = XVTRACE_PAUSE,
		.machine = s->trace->machines[machine].known ? xvt_lib_machine(s->trace, machine)
							     : NULL,
		.begin_ns = begin_ns,
		.end_ns = end_ns,
	};

	s->stopped_ns[machine] = 0;
	return span.machine && end_ns >= begin_ns ? s->span(s->arg, &span) : 0;
}

static int take_note(struct spans *s, const struct xvt_chunk_buf *b)
{
	struct xvt_note_parts p;
	uint64_t *stopped_ns;

	if (!xvt_note_get(b, &p) || p.note.vm >= s->trace->machine_count)
		return 0;
	stopped_ns = &s->stopped_ns[p.note.vm];
	if (p.note.kind == XVT_NOTE_RUNS && p.state.since_ns)
		return put_pause(s, p.note.vm, p.state.since_ns, p.state.at_ns);
	if (p.note.kind == XVT_NOTE_PAUSED && !*stopped_ns)
		*stopped_ns = p.state.at_ns;
	else if (xvt_note_is_end(p.note.kind) && *stopped_ns)
		return put_pause(s, p.note.vm, *stopped_ns, p.state.at_ns);
	return 0;
}

static int put_epoch(struct spans *s, uint32_t number)
{
	const struct xvtrace_ring *ring = xvt_lib_ring(s->trace, number);
	const struct epoch *e = &s->epochs[number];
	const char *source = xvt_clock_source_name(e->source);
	struct xvtrace_span span;

	if (!ring || !e->known)
		return 0;
	span = (struct xvtrace_span){
		.kind = XVTRACE_EPOCH,
		.machine = ring->machine,
		.ring = ring,
		.begin_ns = e->begin_ns,
		.end_ns = e->end_ns,
		.epoch = e->number,
		.source = source ? source : "?",
	};
	return s->span(s->arg, &span);
}

static int take_nodes(struct spans *s, const struct xvt_chunk_buf *b)
{
	struct xvt_clock_node n;
	uint32_t at = 0;
	int err = 0;

	while (!err && xvt_chunk_take(b, &at, &n, sizeof(n))) {
		struct epoch *e = n.ring < s->trace->ring_count ? &s->epochs[n.ring] : NULL;

		if (!e)
			continue;
		if (!e->known || e->number != n.epoch) {
			err = put_epoch(s, n.ring);
			*e = (struct epoch){ .begin_ns = n.host_ns,
					     .end_ns = n.host_ns,
					     .number = n.epoch,
					     .source = n.source,
					     .known = true };
		}
		if (n.host_ns > e->end_ns)
			e->end_ns = n.host_ns;
		/* A node of a drain supports the others; it is no measurement. */
		if (n.source != XVT_SOURCE_DRAIN)
			e->source = n.source;
	}
	return err;
}

#define TYPES (1u << XVT_CHUNK_NODE | 1u << XVT_CHUNK_NOTE)

/* Load all chunks once: if the index is wrong, the list of chunks changes here, and not after the
 * first call of span(). */
static int load_all(struct xvt_trace *t)
{
	struct xvt_chunk_buf b = { 0 };
	int more = 1;

	for (size_t i = 0; more; i++) {
		more = xvt_trace_next(t, TYPES, &i, &b);
		if (more == -ESTALE) /* at most once */
			i = SIZE_MAX;
		else if (more < 0)
			break;
	}
	xvt_chunk_buf_free(&b);
	return more;
}

static int walk(struct spans *s)
{
	struct xvt_trace *t = s->trace->t;
	struct xvt_chunk_buf b = { 0 };
	int err = 0, more;

	for (size_t i = 0; !err && (more = xvt_trace_next(t, TYPES, &i, &b)); i++) {
		if (more < 0)
			err = more;
		else if (t->chunks[i].type == XVT_CHUNK_NOTE)
			err = take_note(s, &b);
		else
			err = take_nodes(s, &b);
	}
	xvt_chunk_buf_free(&b);
	for (uint32_t i = 0; !err && i < s->trace->ring_count; i++)
		err = put_epoch(s, i);
	for (uint32_t i = 0; !err && i < s->trace->machine_count; i++)
		if (s->stopped_ns[i])
			err = put_pause(s, i, s->stopped_ns[i], t->last_ns);
	return err;
}

int xvtrace_spans(struct xvtrace *trace, int (*span)(void *arg, const struct xvtrace_span *span),
		  void *arg)
{
	struct spans s = { .trace = trace, .span = span, .arg = arg };
	int err = trace->members ? 0 : -ENOMEM;

	for (size_t i = 0; i < trace->member_count && !err; i++)
		err = xvtrace_spans(trace->members[i], span, arg);
	if (trace->members)
		return err;
	s.stopped_ns = calloc((size_t)trace->machine_count + 1, sizeof(*s.stopped_ns));
	s.epochs = calloc((size_t)trace->ring_count + 1, sizeof(*s.epochs));
	if (s.stopped_ns && s.epochs)
		err = load_all(trace->t);
	if (!err)
		err = walk(&s);
	free(s.stopped_ns);
	free(s.epochs);
	return err;
}
