/* SPDX-License-Identifier: GPL-2.0 */
/*
 * spans.h - the RUNS of a trace, for who holds its events against them. 32 bytes a span, all in
 * memory.
 */
#ifndef XVT_SPANS_H
#define XVT_SPANS_H

#include <stdbool.h>
#include <stddef.h>

#include "trace/format.h"

struct xvt_spans {
	struct xvt_run_span *v; /* clocks as host_ns */
	size_t count;
	size_t room;
	size_t gaps; /* of these, LOST ones: they are at the end */
};

enum xvt_ran {
	XVT_RAN_UNKNOWN, /* before the first span, after the last, in a gap, or no spans at all */
	XVT_RAN_INSIDE,
	XVT_RAN_NOT, /* no span of it touches [lo, hi] */
};

/* Times as host_ns. Returns 0 or -ENOMEM. */
int xvt_spans_add(struct xvt_spans *s, const struct xvt_run_span *span);

/* After all of them. Returns a span that is no span or lies over the one of its vCPU before it,
 * or NULL. */
const struct xvt_run_span *xvt_spans_sort(struct xvt_spans *s);

/* Did the vCPU run at some moment in [lo, hi]? For XVT_RAN_NOT, *before and *after are the spans
 * between which it did not. */
enum xvt_ran xvt_spans_ran(const struct xvt_spans *s, uint32_t vm, uint32_t vcpu, uint64_t lo,
			   uint64_t hi, const struct xvt_run_span **before,
			   const struct xvt_run_span **after);

void xvt_spans_fini(struct xvt_spans *s);

#endif /* XVT_SPANS_H */
