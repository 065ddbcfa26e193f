// SPDX-License-Identifier: GPL-2.0
/* items.c - what a trace has besides events, in the order of the file; see xvtrace.h. */
#include <errno.h>
#include <stdlib.h>

#include "lib/parts.h"
#include "trace/lines.h"
#include "trace/names.h"
#include "trace/note.h"

struct xvtrace_items {
	struct xvtrace *trace;
	uint32_t types; /* of chunks, as xvt_trace_next() has them */
	size_t member;	/* of several traces: the one that is read */
	/* In its list of chunks, which changes when the index turns out to be wrong. */
	uint64_t walks;
	size_t chunk;
	uint64_t behind; /* of the last chunk that was loaded: behind the begin of it */
	uint16_t type;	 /* of that chunk; 0: none is loaded */
	uint32_t at;	 /* in that chunk */
	struct xvt_chunk_buf buf;
	struct xvtrace_item item;
};

int xvtrace_items_new(struct xvtrace_items **out, struct xvtrace *trace, unsigned int kinds)
{
	struct xvtrace_items *s;

	*out = NULL;
	if (!kinds || kinds & ~(unsigned int)(XVTRACE_NOTE | XVTRACE_RUN | XVTRACE_NODE))
		return -EINVAL;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->trace = trace;
	s->types = (kinds & XVTRACE_NOTE ? 1u << XVT_CHUNK_NOTE : 0) |
		   (kinds & XVTRACE_RUN ? 1u << XVT_CHUNK_RUNS : 0) |
		   (kinds & XVTRACE_NODE ? 1u << XVT_CHUNK_NODE : 0);
	*out = s;
	return 0;
}

void xvtrace_items_free(struct xvtrace_items *s)
{
	if (!s)
		return;
	xvt_chunk_buf_free(&s->buf);
	free(s);
}

/* The trace that is read; NULL: all were. */
static struct xvtrace *current(const struct xvtrace_items *s)
{
	if (!s->trace->members)
		return s->member ? NULL : s->trace;
	return s->member < s->trace->member_count ? s->trace->members[s->member] : NULL;
}

/* Load the next chunk of the trace. Returns 1; 0: it has no more; or as xvt_trace_load(). */
static int load(struct xvtrace_items *s, struct xvt_trace *t)
{
	int got;

	do {
		if (s->walks != t->walks || s->chunk < t->given) {
			s->walks = t->walks;
			for (s->chunk = t->given; s->chunk < t->chunk_count; s->chunk++)
				if (t->chunks[s->chunk].offset >= s->behind)
					break;
		}
		got = xvt_trace_next(t, s->types, &s->chunk, &s->buf);
	} while (got == -ESTALE); /* at most once */
	if (got <= 0)
		return got;
	s->behind = t->chunks[s->chunk].offset + 1;
	s->type = t->chunks[s->chunk++].type;
	s->at = 0;
	return 1;
}

static const struct xvtrace_machine *machine_of(const struct xvtrace *trace, uint32_t vm)
{
	return vm < trace->machine_count && trace->machines[vm].known ? xvt_lib_machine(trace, vm)
								      : NULL;
}

static bool take_note(struct xvtrace_items *s, const struct xvtrace *trace)
{
	struct xvt_note_parts p;

	if (s->at || !xvt_note_get(&s->buf, &p))
		return false;
	s->at = s->buf.len ? s->buf.len : 1;
	s->item = (struct xvtrace_item){
		.kind = XVTRACE_NOTE,
		.machine = machine_of(trace, p.note.vm),
		.ring = xvt_lib_ring(trace, p.note.ring),
		.ns = p.note.host_ns,
		.text = (const char *)p.text,
		.text_len = p.len,
		.level = p.note.level,
		.state = p.note.kind <= XVT_NOTE_LAST ? (enum xvtrace_state)p.note.kind : 0,
		.at_ns = p.state.at_ns,
		.since_ns = p.state.since_ns,
	};
	return true;
}

/* Host time of a value of the host's clock. */
static uint64_t host_ns(const struct xvt_trace *t, uint64_t clock)
{
	if (!t->timebase_count)
		return 0;
	return xvt_timebase_ns(xvt_timebase_at(t->timebase, t->timebase_count, clock), clock);
}

static bool take_run(struct xvtrace_items *s, const struct xvtrace *trace)
{
	struct xvt_run_span r;
	bool lost;

	if (!xvt_chunk_take(&s->buf, &s->at, &r, sizeof(r)))
		return false;
	lost = r.flags & XVT_RUN_F_LOST;
	s->item = (struct xvtrace_item){
		.kind = XVTRACE_RUN,
		.machine = lost ? NULL : machine_of(trace, r.vm),
		.ns = host_ns(trace->t, r.enter_clock),
		.end_ns = host_ns(trace->t, r.exit_clock),
		.vcpu = lost ? 0 : r.vcpu,
		.host_cpu = r.host_cpu,
		.is_gap = lost,
		.lost = lost ? r.vcpu : 0,
	};
	return true;
}

static bool take_node(struct xvtrace_items *s, const struct xvtrace *trace)
{
	struct xvt_clock_node n;

	if (!xvt_chunk_take(&s->buf, &s->at, &n, sizeof(n)))
		return false;
	s->item = (struct xvtrace_item){
		.kind = XVTRACE_NODE,
		.ring = xvt_lib_ring(trace, n.ring),
		.ns = n.host_ns,
		.guest_clock = n.guest,
		.bound_ns = n.bound_ns,
		.segment_bound_ns = n.segment_bound_ns,
		.epoch = n.epoch,
		.source = xvt_clock_source_name(n.source),
	};
	if (s->item.ring)
		s->item.machine = s->item.ring->machine;
	return true;
}

/* Take the next item of the chunk that is loaded, if there is one. */
static bool take(struct xvtrace_items *s, const struct xvtrace *trace)
{
	switch (s->type) {
	case XVT_CHUNK_NOTE:
		return take_note(s, trace);
	case XVT_CHUNK_RUNS:
		return take_run(s, trace);
	case XVT_CHUNK_NODE:
		return take_node(s, trace);
	}
	return false;
}

int xvtrace_items_next(struct xvtrace_items *s, const struct xvtrace_item **item)
{
	struct xvtrace *trace;
	int got;

	*item = NULL;
	while ((trace = current(s))) {
		if (take(s, trace)) {
			*item = &s->item;
			return 1;
		}
		got = load(s, trace->t);
		if (got < 0)
			return got;
		if (got)
			continue;
		s->member++;
		s->chunk = s->type = 0;
		s->walks = s->behind = 0;
	}
	return 0;
}
