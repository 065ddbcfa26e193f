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

void xvt_set_end_fini(struct xvt_set_end *end)
{
	free(end->rings);
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

uint64_t xvt_verify_border(const struct xvt_set_end *end, const struct xvt_trace *t, bool *checked,
			   void (*line)(void *arg, const char *text), void *arg)
{
	struct border b = { .line = line, .arg = arg };

	*checked = false;
	/* Another recording, or none: there is nothing to compare. */
	if (!end->any || !t->info.set_number ||
	    memcmp(end->set, t->info.set, sizeof(end->set)) != 0)
		return 0;
	if (t->info.set_number - 1 != end->number) {
		violation(&b,
			  "violation: it is file %u of its recording, the one before is file %u",
			  t->info.set_number, end->number);
		return b.count;
	}
	check_order(&b, end, t);
	for (uint32_t i = 0; end->exact && i < t->ring_count && i < end->ring_count; i++) {
		if (t->rings[i].known && end->rings[i].has_stats)
			check_ring(&b, end, t, i);
	}
	*checked = end->exact;
	return b.count;
}
