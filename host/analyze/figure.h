/* SPDX-License-Identifier: GPL-2.0 */
/* figure.h - what is told of many durations: number, sum, quantiles, the longest one and its time,
 * and the bounds of the times that they are differences of. */
#ifndef XVT_ANALYZE_FIGURE_H
#define XVT_ANALYZE_FIGURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of more durations, quantiles are those of buckets, and up to 1/64 too large. */
#define XVT_FIGURE_EXACT 1000000u

struct xvt_figure_buckets;

/* Zeros are an empty one. */
struct xvt_figure {
	uint64_t n, sum_ns;
	uint64_t min_ns, max_ns;
	uint64_t max_at_ns;    /* begin of the longest one */
	unsigned int max_ring; /* its ring's number */
	uint64_t bound_most_ns;
	uint64_t unbounded; /* durations without a bound */
	uint64_t *values;   /* NULL: `buckets` has them */
	size_t room;
	bool rough; /* no duration is kept: quantiles are those of buckets from the first on */
	struct xvt_figure_buckets *buckets;
	struct xvt_figure_buckets *bounds;
};

/* at_ns: when it began. bound_ns: the sum of the bounds of its two ends; XVT_FIGURE_NO_BOUND: there
 * is none. Returns 0 or -ENOMEM. */
#define XVT_FIGURE_NO_BOUND ((uint64_t)INT64_MAX)
int xvt_figure_add(struct xvt_figure *f, uint64_t ns, uint64_t at_ns, unsigned int ring,
		   uint64_t bound_ns);
/* At least this share of the durations, in thousandths, are at most as long as what is returned; 0
 * without durations. */
uint64_t xvt_figure_quantile(struct xvt_figure *f, unsigned int thousandths);
/* At most 1/64 too large. XVT_FIGURE_NO_BOUND: none has a bound. */
uint64_t xvt_figure_bound_median(const struct xvt_figure *f);
/* Whether quantiles are exact. */
bool xvt_figure_is_exact(const struct xvt_figure *f);

/* Durations from 2^i ns on and below 2^(i+1); the first one also has 0. Returns how many there are
 * up to the last that is not 0. */
#define XVT_FIGURE_POWERS 64u
unsigned int xvt_figure_powers(const struct xvt_figure *f, uint64_t counts[XVT_FIGURE_POWERS]);

void xvt_figure_fini(struct xvt_figure *f);

#endif /* XVT_ANALYZE_FIGURE_H */
