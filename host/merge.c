// SPDX-License-Identifier: GPL-2.0
/*
 * merge.c - the watermark merge. perf's rounds (flush in pass n + 2 what pass n had seen)
 * assume that a writer publishes within a pass; a vCPU can be descheduled between its clock
 * read and its commit for seconds, so here each ring has a proven bound instead.
 */
#include "merge.h"

#include <stdlib.h>

void xvt_merge_init(struct xvt_merge *m)
{
	memset(m, 0, sizeof(*m));
	m->limit_ns = UINT64_MAX;
}

void xvt_merge_fini(struct xvt_merge *m)
{
	free(m->heap);
	m->heap = NULL;
}

struct key {
	uint64_t ns;
	bool ready; /* a placed record, not only a bound */
	uint32_t vm;
	uint32_t ring;
};

static struct key key_of(const struct xvt_ring *r)
{
	struct key k = { .vm = r->vm, .ring = r->id };

	k.ready = r->have && r->placed;
	k.ns = k.ready ? r->head_ns : xvt_ring_bound(r);
	return k;
}

/* A bound comes before a record of the same time: what it stands for could be smaller. */
static bool before(const struct xvt_ring *a, const struct xvt_ring *b)
{
	struct key x = key_of(a), y = key_of(b);

	if (x.ns != y.ns)
		return x.ns < y.ns;
	if (x.ready != y.ready)
		return !x.ready;
	if (x.vm != y.vm)
		return x.vm < y.vm;
	return x.ring < y.ring;
}

static void sift(struct xvt_merge *m, size_t i)
{
	struct xvt_ring *moving = m->heap[i];

	for (;;) {
		size_t child = 2 * i + 1;

		if (child >= m->count)
			break;
		if (child + 1 < m->count && before(m->heap[child + 1], m->heap[child]))
			child++;
		if (!before(m->heap[child], moving))
			break;
		m->heap[i] = m->heap[child];
		i = child;
	}
	m->heap[i] = moving;
}

/* Rings that neither have a record nor hold anybody back stay out. */
static bool takes_part(struct xvt_ring *r)
{
	xvt_ring_peek(r);
	if (r->have && r->placed)
		return true;
	return xvt_ring_bound(r) != UINT64_MAX;
}

static int fill(struct xvt_merge *m, struct xvt_ring *const *rings, size_t count)
{
	size_t i;

	if (count > m->room) {
		struct xvt_ring **grown = realloc(m->heap, count * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		m->heap = grown;
		m->room = count;
	}
	m->count = 0;
	for (i = 0; i < count; i++) {
		if (takes_part(rings[i]))
			m->heap[m->count++] = rings[i];
	}
	for (i = m->count / 2; i-- > 0;)
		sift(m, i);
	return 0;
}

static int emit_head(struct xvt_merge *m, struct xvt_ring *r, xvt_emit_fn emit, void *arg)
{
	struct xvt_event_hdr h = {
		.host_ns = r->head_ns,
		.guest_clock = r->rec.ts,
		.ring_flags = r->id | r->head_flags,
		.id = (uint16_t)r->rec.id,
		.len = (uint16_t)r->rec.len,
	};

	if (r->head_ns < m->last_ns || r->head_ns < m->watermark) {
		/* Below a watermark already passed: the late lane, counted and flagged. What is
		 * older than the attach was never promised to be in order. */
		h.ring_flags |= XVT_EVENT_F_LATE;
		if (!(h.ring_flags & XVT_EVENT_F_BACKLOG))
			m->late++;
	} else {
		m->last_ns = r->head_ns;
	}
	m->emitted++;
	return emit(arg, &h, r->rec.payload, r);
}

int64_t xvt_merge_pass(struct xvt_merge *m, struct xvt_ring *const *rings, size_t count,
		       xvt_emit_fn emit, void *arg)
{
	uint64_t emitted = m->emitted;
	int err = fill(m, rings, count);

	if (err)
		return err;
	while (m->count) {
		struct xvt_ring *r = m->heap[0];

		if (!(r->have && r->placed)) {
			uint64_t bound = xvt_ring_bound(r);

			if (bound > m->watermark)
				m->watermark = bound;
			break;
		}
		/* With wide clock bounds a machine can place its records in the future. There they
		 * wait: emitted, they would make everybody else's present late. */
		if (r->head_ns > m->limit_ns)
			break;
		err = emit_head(m, r, emit, arg);
		if (err)
			return err;
		xvt_ring_pop(r);
		if (!takes_part(r))
			m->heap[0] = m->heap[--m->count];
		if (m->count)
			sift(m, 0);
	}
	if (m->last_ns > m->watermark)
		m->watermark = m->last_ns;
	return (int64_t)(m->emitted - emitted);
}
