/* SPDX-License-Identifier: GPL-2.0 */
/*
 * spans.h - the RUNS of a trace, with which verify compares the events. Memory: 32 bytes a span.
 */
#ifndef XVT_SPANS_H
#define XVT_SPANS_H

#include <stdbool.h>
#include <stddef.h>

#include "trace/format.h"

struct xvt_spans {
	struct xvt_run_span *v; /* clocks converted to host_ns */
	size_t count;
	size_t room;
	size_t gaps; /* number of LOST spans among them; sorted to the end */
};

enum xvt_ran {
	XVT_RAN_UNKNOWN, /* before the first span, after the last, in a gap, or without spans */
	XVT_RAN_INSIDE,
	XVT_RAN_NOT, /* no span of the vCPU touches [lo, hi] */
};

/* Add a span whose clocks are host_ns. Returns 0 or -ENOMEM. */
int xvt_spans_add(struct xvt_spans *s, const struct xvt_run_span *span);

/* To be called after all spans. Returns NULL, or a span that ends before it begins or overlaps the
 * one before it of its vCPU. */
const struct xvt_run_span *xvt_spans_sort(struct xvt_spans *s);

/* Find out whether the vCPU ran at some moment in [lo, hi] (host_ns). For XVT_RAN_NOT, *before and
 * *after are the neighbouring spans. */
enum xvt_ran xvt_spans_ran(const struct xvt_spans *s, uint32_t vm, uint32_t vcpu, uint64_t lo,
			   uint64_t hi, const struct xvt_run_span **before,
			   const struct xvt_run_span **after);

void xvt_spans_fini(struct xvt_spans *s);

#endif /* XVT_SPANS_H */
