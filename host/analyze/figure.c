// SPDX-License-Identifier: GPL-2.0
/*
 * figure.c - see figure.h. A bucket has the durations with the same seven leading bits, so that its
 * largest one is at most 1/64 above its smallest.
 */
#include "analyze/figure.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

#define BITS 6u

struct xvt_figure_buckets {
	uint64_t n;
	struct bucket {
		uint32_t number;
		uint64_t count;
	} * v; /* sorted; only those that hold numbers */
	size_t used, room, last;
};

static unsigned int power_of(uint64_t v)
{
	return v ? 63u - (unsigned int)__builtin_clzll(v) : 0;
}

static unsigned int bucket_of(uint64_t v)
{
	const unsigned int power = power_of(v);

	if (power <= BITS)
		return (unsigned int)v;
	return ((power - BITS) << BITS) + (unsigned int)(v >> (power - BITS));
}

/* The largest number in it. */
static uint64_t most_of(unsigned int bucket)
{
	unsigned int shift;

	if (bucket < 2u << BITS)
		return bucket;
	shift = (bucket >> BITS) - 1;
	return ((((uint64_t)bucket & ((1u << BITS) - 1)) + (1u << BITS) + 1) << shift) - 1;
}

static size_t place_of(const struct xvt_figure_buckets *b, uint32_t number)
{
	size_t from = 0, to = b->used;

	while (from < to) {
		const size_t middle = (from + to) / 2;

		if (b->v[middle].number < number)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

static int add_bucket(struct xvt_figure_buckets *b, uint32_t number)
{
	size_t at = b->last;

	if (at >= b->used || b->v[at].number != number)
		at = place_of(b, number);
	if (at == b->used || b->v[at].number != number) {
		if (xvt_grow(&b->v, &b->room, b->used + 1, sizeof(*b->v)))
			return -ENOMEM;
		memmove(b->v + at + 1, b->v + at, (b->used - at) * sizeof(*b->v));
		b->v[at] = (struct bucket){ number, 0 };
		b->used++;
	}
	b->v[at].count++;
	b->last = at;
	b->n++;
	return 0;
}

static void free_buckets(struct xvt_figure_buckets *b)
{
	if (b)
		free(b->v);
	free(b);
}

static int add_to(struct xvt_figure_buckets **b, uint64_t v)
{
	if (!*b)
		*b = calloc(1, sizeof(**b));
	if (!*b)
		return -ENOMEM;
	return add_bucket(*b, bucket_of(v));
}

static uint64_t quantile_of(const struct xvt_figure_buckets *b, unsigned int thousandths)
{
	const uint64_t rank = (b->n * thousandths + 999) / 1000;
	uint64_t seen = 0;

	for (size_t i = 0; i < b->used; i++) {
		seen += b->v[i].count;
		if (seen >= rank)
			return most_of(b->v[i].number);
	}
	return 0;
}

/* There are too many to keep each. */
static int make_buckets(struct xvt_figure *f)
{
	int err = 0;

	for (uint64_t i = 0; i < f->n && !err; i++)
		err = add_to(&f->buckets, f->values[i]);
	free(f->values);
	f->values = NULL;
	f->room = 0;
	return err;
}

static int keep(struct xvt_figure *f, uint64_t ns)
{
	int err = 0;

	if (f->n == XVT_FIGURE_EXACT && !f->rough)
		err = make_buckets(f);
	if (err || f->buckets || f->rough)
		return err ? err : add_to(&f->buckets, ns);
	err = xvt_grow(&f->values, &f->room, f->n + 1, sizeof(*f->values));
	if (!err)
		f->values[f->n] = ns;
	return err;
}

int xvt_figure_add(struct xvt_figure *f, uint64_t ns, uint64_t at_ns, unsigned int ring,
		   uint64_t bound_ns)
{
	int err = keep(f, ns);

	if (err)
		return err;
	if (!f->n || ns < f->min_ns)
		f->min_ns = ns;
	if (!f->n || ns > f->max_ns) {
		f->max_ns = ns;
		f->max_at_ns = at_ns;
		f->max_ring = ring;
	}
	f->n++;
	f->sum_ns += ns;
	if (bound_ns >= XVT_FIGURE_NO_BOUND) {
		f->unbounded++;
		return 0;
	}
	if (bound_ns > f->bound_most_ns)
		f->bound_most_ns = bound_ns;
	return add_to(&f->bounds, bound_ns);
}

/* The value that so many are before in order, a byte at a time from the highest on. Guests choose
 * the values, so what it takes must not depend on their order. */
static uint64_t value_of_rank(const struct xvt_figure *f, uint64_t rank)
{
	uint64_t high = 0;

	for (unsigned int shift = power_of(f->max_ns) / 8 * 8;; shift -= 8) {
		uint64_t counts[256] = { 0 }, byte = 0;

		for (uint64_t i = 0; i < f->n; i++)
			if (f->values[i] >> shift >> 8 == high)
				counts[f->values[i] >> shift & 0xff]++;
		for (; rank >= counts[byte]; byte++)
			rank -= counts[byte];
		high = high << 8 | byte;
		if (!shift)
			return high;
	}
}

uint64_t xvt_figure_quantile(struct xvt_figure *f, unsigned int thousandths)
{
	uint64_t rank, ns;

	if (!f->n)
		return 0;
	if (f->buckets) {
		ns = quantile_of(f->buckets, thousandths);
		return ns < f->max_ns ? ns : f->max_ns;
	}
	rank = (f->n * thousandths + 999) / 1000;
	return value_of_rank(f, rank ? rank - 1 : 0);
}

uint64_t xvt_figure_bound_median(const struct xvt_figure *f)
{
	uint64_t ns;

	if (!f->bounds)
		return XVT_FIGURE_NO_BOUND;
	ns = quantile_of(f->bounds, 500);
	return ns < f->bound_most_ns ? ns : f->bound_most_ns;
}

bool xvt_figure_is_exact(const struct xvt_figure *f)
{
	return !f->buckets;
}

unsigned int xvt_figure_powers(const struct xvt_figure *f, uint64_t counts[XVT_FIGURE_POWERS])
{
	unsigned int used = 0;

	for (unsigned int i = 0; i < XVT_FIGURE_POWERS; i++)
		counts[i] = 0;
	for (uint64_t i = 0; f->values && i < f->n; i++)
		counts[power_of(f->values[i])]++;
	for (size_t i = 0; f->buckets && i < f->buckets->used; i++)
		counts[power_of(most_of(f->buckets->v[i].number))] += f->buckets->v[i].count;
	for (unsigned int i = 0; i < XVT_FIGURE_POWERS; i++)
		used = counts[i] ? i + 1 : used;
	return used;
}

void xvt_figure_fini(struct xvt_figure *f)
{
	free(f->values);
	free_buckets(f->buckets);
	free_buckets(f->bounds);
	*f = (struct xvt_figure){ 0 };
}
