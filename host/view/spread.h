/* SPDX-License-Identifier: GPL-2.0 */
/* spread.h - how numbers are spread, in memory that the number of different ones limits. */
#ifndef XVT_SPREAD_H
#define XVT_SPREAD_H

#include <stddef.h>
#include <stdint.h>

struct xvt_bucket {
	uint64_t most; /* the largest number in it */
	uint64_t count;
};

/* Zeros are an empty one. */
struct xvt_spread {
	struct xvt_bucket *buckets; /* sorted; only those that hold numbers */
	size_t bucket_count;
	size_t room;
	uint64_t count;
	uint64_t largest;
};

/* Add a number `count` times. Returns 0 or -ENOMEM. */
int xvt_spread_add(struct xvt_spread *s, uint64_t v, uint64_t count);
/* At least half of the numbers are at most this; it is at most 1/64 above the median. 0: there are
 * no numbers. */
uint64_t xvt_spread_median(const struct xvt_spread *s);
void xvt_spread_free(struct xvt_spread *s);

#endif /* XVT_SPREAD_H */
