// SPDX-License-Identifier: GPL-2.0
/* spans.c - see spans.h. */
#include "view/spans.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

int xvt_spans_add(struct xvt_spans *s, const struct xvt_run_span *span)
{
	if (xvt_grow(&s->v, &s->room, s->count + 1, sizeof(*s->v)))
		return -ENOMEM;
	s->v[s->count] = *span;
	/* A gap belongs to no vCPU: ignore what the file says. */
	if (span->flags & XVT_RUN_F_LOST) {
		s->v[s->count].vm = UINT32_MAX;
		s->v[s->count].vcpu = UINT32_MAX;
		s->gaps++;
	}
	s->count++;
	return 0;
}

static int compare(const void *pa, const void *pb)
{
	const struct xvt_run_span *a = pa, *b = pb;

	if ((a->flags ^ b->flags) & XVT_RUN_F_LOST)
		return a->flags & XVT_RUN_F_LOST ? 1 : -1;
	if (a->vm != b->vm)
		return a->vm < b->vm ? -1 : 1;
	if (a->vcpu != b->vcpu)
		return a->vcpu < b->vcpu ? -1 : 1;
	if (a->enter_clock != b->enter_clock)
		return a->enter_clock < b->enter_clock ? -1 : 1;
	return a->exit_clock < b->exit_clock ? -1 : a->exit_clock > b->exit_clock;
}

static bool same_vcpu(const struct xvt_run_span *a, uint32_t vm, uint32_t vcpu)
{
	return a->vm == vm && a->vcpu == vcpu;
}

/* Merge overlapping gaps, which come from several CPUs. */
static void join_gaps(struct xvt_spans *s)
{
	struct xvt_run_span *gap = s->v + (s->count - s->gaps);
	size_t i, n = 0;

	for (i = 0; i < s->gaps; i++) {
		if (n && gap[i].enter_clock <= gap[n - 1].exit_clock) {
			if (gap[i].exit_clock > gap[n - 1].exit_clock)
				gap[n - 1].exit_clock = gap[i].exit_clock;
		} else {
			gap[n++] = gap[i];
		}
	}
	s->count -= s->gaps - n;
	s->gaps = n;
}

const struct xvt_run_span *xvt_spans_sort(struct xvt_spans *s)
{
	size_t i;

	if (!s->count)
		return NULL;
	qsort(s->v, s->count, sizeof(*s->v), compare);
	join_gaps(s);
	for (i = 0; i < s->count; i++) {
		const struct xvt_run_span *b = &s->v[i], *a = b - 1;

		if (b->exit_clock < b->enter_clock)
			return b;
		if (i && same_vcpu(a, b->vm, b->vcpu) && b->enter_clock < a->exit_clock)
			return b;
	}
	return NULL;
}

/* Number of spans in [from, end) of an earlier vCPU, or of this one with a begin at or before ns.
 */
static size_t until(const struct xvt_spans *s, size_t from, size_t end, uint32_t vm, uint32_t vcpu,
		    uint64_t ns)
{
	const struct xvt_run_span key = { .vm = vm,
					  .vcpu = vcpu,
					  .flags = s->v[from].flags & XVT_RUN_F_LOST,
					  .enter_clock = ns,
					  .exit_clock = UINT64_MAX };
	size_t first = from;

	while (from < end) {
		size_t mid = from + (end - from) / 2;

		if (compare(&s->v[mid], &key) <= 0)
			from = mid + 1;
		else
			end = mid;
	}
	return from - first;
}

static bool in_gap(const struct xvt_spans *s, uint64_t lo, uint64_t hi)
{
	size_t from = s->count - s->gaps, n;

	if (!s->gaps)
		return false;
	n = until(s, from, s->count, UINT32_MAX, UINT32_MAX, hi);
	return n && s->v[from + n - 1].exit_clock >= lo;
}

enum xvt_ran xvt_spans_ran(const struct xvt_spans *s, uint32_t vm, uint32_t vcpu, uint64_t lo,
			   uint64_t hi, const struct xvt_run_span **before,
			   const struct xvt_run_span **after)
{
	size_t spans = s->count - s->gaps, n;

	if (!spans)
		return XVT_RAN_UNKNOWN;
	n = until(s, 0, spans, vm, vcpu, hi);
	if (!n || !same_vcpu(&s->v[n - 1], vm, vcpu))
		return XVT_RAN_UNKNOWN; /* before the first */
	if (s->v[n - 1].exit_clock >= lo)
		return XVT_RAN_INSIDE;
	if (n == spans || !same_vcpu(&s->v[n], vm, vcpu) || in_gap(s, lo, hi))
		return XVT_RAN_UNKNOWN;
	*before = &s->v[n - 1];
	*after = &s->v[n];
	return XVT_RAN_NOT;
}

void xvt_spans_fini(struct xvt_spans *s)
{
	free(s->v);
	memset(s, 0, sizeof(*s));
}
