// SPDX-License-Identifier: GPL-2.0
/* verify_set.c - see verify_set.h. */
#include "view/verify_set.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/u64.h"
#include "base/vec.h"

void xvt_set_end_fini(struct xvt_set_end *end)
{
	free(end->rings);
	free(end->lines);
	free(end->nodes);
	memset(end, 0, sizeof(*end));
}

static int take_stats(struct xvt_set_end *end, struct xvt_trace *t)
{
	struct xvt_chunk_buf b = { 0 };
	struct xvt_ring_stats st;
	int more = 0;

	for (size_t i = 0; (more = xvt_trace_next(t, 1u << XVT_CHUNK_STATS, &i, &b)) > 0; i++) {
		if (!xvt_stats_get(&b, &st) || st.ring >= end->ring_count)
			continue;
		end->rings[st.ring] = (struct xvt_set_ring){
			.events = t->rings[st.ring].info.before + st.events + st.dropped +
				  st.overwritten,
			.doubt = st.overwritten_doubt,
			.has_stats = t->rings[st.ring].known,
		};
	}
	xvt_chunk_buf_free(&b);
	return more < 0 ? more : 0;
}

static int by_clock(const void *pa, const void *pb)
{
	const struct xvt_clock_node *a = pa, *b = pb;

	if (a->ring != b->ring)
		return a->ring < b->ring ? -1 : 1;
	if (a->epoch != b->epoch)
		return a->epoch < b->epoch ? -1 : 1;
	return a->guest < b->guest ? -1 : a->guest > b->guest;
}

static int take_clocks(struct xvt_set_end *end, struct xvt_trace *t)
{
	struct xvt_chunk_buf b = { 0 };
	struct xvt_clock_node n;
	int more = 0, err = 0;

	end->lines = calloc(t->timebase_count + 1, sizeof(*end->lines));
	if (!end->lines)
		return -ENOMEM;
	memcpy(end->lines, t->timebase, t->timebase_count * sizeof(*end->lines));
	end->line_count = t->timebase_count;
	for (size_t i = 0; !err && (more = xvt_trace_next(t, 1u << XVT_CHUNK_NODE, &i, &b)) > 0;
	     i++) {
		for (uint32_t at = 0; !err && xvt_chunk_take(&b, &at, &n, sizeof(n));) {
			err = xvt_grow(&end->nodes, &end->node_room, end->node_count + 1,
				       sizeof(n));
			if (!err)
				end->nodes[end->node_count++] = n;
		}
	}
	xvt_chunk_buf_free(&b);
	if (end->node_count)
		qsort(end->nodes, end->node_count, sizeof(*end->nodes), by_clock);
	return err ? -ENOMEM : more < 0 ? more : 0;
}

int xvt_set_end_take(struct xvt_set_end *end, struct xvt_trace *t)
{
	int err;

	xvt_set_end_fini(end);
	end->any = true;
	memcpy(end->set, t->info.set, sizeof(end->set));
	end->number = t->info.set_number;
	for (size_t i = 0; i < t->chunk_count; i++) {
		const struct xvt_chunk_ref *ref = &t->chunks[i];

		if (ref->type == XVT_CHUNK_ORDER && !ref->bad)
			end->last_ns = xvt_u64_larger(end->last_ns, ref->last_ns);
	}
	end->rings = calloc((size_t)t->ring_count + 1, sizeof(*end->rings));
	if (!end->rings)
		return -ENOMEM;
	end->ring_count = t->ring_count;
	err = take_stats(end, t);
	if (!err)
		err = take_clocks(end, t);
	end->exact = t->ended && !t->damage_count;
	return err;
}

/* Violations of a border. */
struct border {
	void (*line)(void *arg, const char *text);
	void *arg;
	uint64_t count;
};

static void violation(struct border *b, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void violation(struct border *b, const char *format, ...)
{
	char text[512];
	va_list ap;

	if (b->count++ >= XVT_BORDER_LINES)
		return;
	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	b->line(b->arg, text);
}

static void check_ring(struct border *b, const struct xvt_set_end *end, const struct xvt_trace *t,
		       uint32_t ring)
{
	const struct xvt_set_ring *r = &end->rings[ring];
	const struct xvt_ring_info *info = &t->rings[ring].info;

	if (info->before > xvt_u64_sum(r->events, r->doubt))
		violation(b,
			  "violation: %s:%u (ring %u): %" PRIu64
			  " events between this file and the one before are in neither",
			  xvt_vm_name(t, info->vm), info->index, ring, info->before - r->events);
	else if (r->events > xvt_u64_sum(info->before, r->doubt))
		violation(b,
			  "violation: %s:%u (ring %u): %" PRIu64
			  " events of the file before are in this one, too",
			  xvt_vm_name(t, info->vm), info->index, ring, r->events - info->before);
}

static void check_order(struct border *b, const struct xvt_set_end *end, const struct xvt_trace *t)
{
	for (size_t i = 0; i < t->chunk_count; i++) {
		const struct xvt_chunk_ref *ref = &t->chunks[i];

		if (ref->type != XVT_CHUNK_ORDER || ref->bad)
			continue;
		if (ref->first_ns < end->last_ns)
			violation(b,
				  "violation: begins at %" PRIu64
				  " ns, the file before ends at %" PRIu64 " ns",
				  ref->first_ns, end->last_ns);
		return;
	}
}

/* The host's clock goes on: each line from before the file's begin is one of the file before. */
static void check_lines(struct border *b, const struct xvt_set_end *end, const struct xvt_trace *t)
{
	const uint64_t last = end->line_count ? end->lines[end->line_count - 1].base_clock : 0;
	size_t k = 0;

	for (size_t i = 0; i < t->timebase_count; i++) {
		const struct xvt_timebase *l = &t->timebase[i];

		while (k + 1 < end->line_count && end->lines[k].base_clock < l->base_clock)
			k++;
		if (l->base_clock > last && i)
			return;
		if (k < end->line_count && end->lines[k].base_clock == l->base_clock &&
		    end->lines[k].base_ns == l->base_ns && end->lines[k].mult == l->mult &&
		    end->lines[k].shift == l->shift)
			continue;
		violation(b,
			  "violation: the host's clock from counter %" PRIu64
			  " on is not that of the file before",
			  l->base_clock);
	}
}

static bool is_same(const struct xvt_clock_node *a, const struct xvt_clock_node *b)
{
	return a->source == b->source && a->host_ns == b->host_ns && a->bound_ns == b->bound_ns &&
	       a->segment_bound_ns == b->segment_bound_ns &&
	       !((a->flags ^ b->flags) & ~XVT_NODE_F_FIRST);
}

/* A node that the file before has, too, is the same in both. Intervals that the drain saw last may
 * come in the second file only. */
static void check_node(struct border *b, const struct xvt_set_end *end, const struct xvt_trace *t,
		       const struct xvt_clock_node *n)
{
	const struct xvt_clock_node *before = NULL;

	if (end->node_count)
		before = bsearch(n, end->nodes, end->node_count, sizeof(*n), by_clock);
	if (before ? is_same(n, before) : n->source == XVT_SOURCE_DRAIN)
		return;
	violation(b,
		  "violation: ring %" PRIu32 " of %s: its clock node at %" PRIu64
		  " ns is %s the file before",
		  n->ring, xvt_vm_name(t, xvt_ring_vm(t, n->ring)), n->host_ns,
		  before ? "another one in" : "not in");
}

/* The nodes that go on from the file before are in front of the first ROUND. */
static int check_nodes(struct border *b, const struct xvt_set_end *end, struct xvt_trace *t)
{
	const uint32_t types = 1u << XVT_CHUNK_NODE | 1u << XVT_CHUNK_ROUND;
	struct xvt_chunk_buf buf = { 0 };
	struct xvt_clock_node n;
	int more = 0;

	for (size_t i = 0;
	     (more = xvt_trace_next(t, types, &i, &buf)) > 0 && t->chunks[i].type == XVT_CHUNK_NODE;
	     i++) {
		for (uint32_t at = 0; xvt_chunk_take(&buf, &at, &n, sizeof(n));)
			check_node(b, end, t, &n);
	}
	xvt_chunk_buf_free(&buf);
	return more < 0 ? more : 0;
}

static bool follows(struct border *b, const struct xvt_set_end *end, const struct xvt_trace *t)
{
	if (t->info.set_number - 1 == end->number)
		return true;
	violation(b, "violation: it is file %u of its recording, the one before is file %u",
		  t->info.set_number, end->number);
	return false;
}

int xvt_verify_border(const struct xvt_set_end *end, struct xvt_trace *t, bool *checked,
		      uint64_t *count, void (*line)(void *arg, const char *text), void *arg)
{
	struct border b = { .line = line, .arg = arg };
	int err = 0;

	*checked = false;
	*count = 0;
	/* Another recording, or none: there is nothing to compare. */
	if (!end->any || !t->info.set_number ||
	    memcmp(end->set, t->info.set, sizeof(end->set)) != 0)
		return 0;
	if (follows(&b, end, t)) {
		check_order(&b, end, t);
		for (uint32_t i = 0; end->exact && i < t->ring_count && i < end->ring_count; i++) {
			if (t->rings[i].known && end->rings[i].has_stats)
				check_ring(&b, end, t, i);
		}
		*checked = end->exact;
	}
	if (*checked && !t->damage_count) {
		check_lines(&b, end, t);
		err = check_nodes(&b, end, t);
	}
	*count = b.count;
	return err;
}
