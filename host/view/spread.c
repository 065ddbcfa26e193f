// SPDX-License-Identifier: GPL-2.0
/* spread.c - see spread.h. */
#include "view/spread.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

#define EXACT_BITS 6 /* leading bits that tell two buckets apart, so each is 1/64 wide */

/* The largest number of the bucket that holds v. */
static uint64_t bucket_of(uint64_t v)
{
	unsigned int bits = v ? 64 - (unsigned int)__builtin_clzll(v) : 0;

	return bits > EXACT_BITS + 1 ? v | ((1ull << (bits - EXACT_BITS - 1)) - 1) : v;
}

int xvt_spread_add(struct xvt_spread *s, uint64_t v, uint64_t count)
{
	const uint64_t most = bucket_of(v);
	size_t at = XVT_COUNT_TO(s->buckets, s->bucket_count, most, most);

	if (!at || s->buckets[at - 1].most != most) {
		if (xvt_grow(&s->buckets, &s->room, s->bucket_count + 1, sizeof(*s->buckets)))
			return -ENOMEM;
		memmove(&s->buckets[at + 1], &s->buckets[at],
			(s->bucket_count++ - at) * sizeof(*s->buckets));
		s->buckets[at++] = (struct xvt_bucket){ .most = most };
	}
	s->buckets[at - 1].count += count;
	s->largest = v > s->largest ? v : s->largest;
	s->count += count;
	return 0;
}

uint64_t xvt_spread_median(const struct xvt_spread *s)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < s->bucket_count; i++) {
		sum += s->buckets[i].count;
		if (sum >= s->count - sum)
			return s->buckets[i].most < s->largest ? s->buckets[i].most : s->largest;
	}
	return 0;
}

void xvt_spread_free(struct xvt_spread *s)
{
	free(s->buckets);
}
