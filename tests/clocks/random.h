/* SPDX-License-Identifier: GPL-2.0 */
/* random.h - numbers that a seed repeats (xorshift). */
#ifndef CLOCKS_RANDOM_H
#define CLOCKS_RANDOM_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

struct random {
	uint64_t state;
};

static inline uint64_t random_next(struct random *r)
{
	r->state ^= r->state << 13;
	r->state ^= r->state >> 7;
	r->state ^= r->state << 17;
	return r->state;
}

static inline void random_seed(struct random *r, uint64_t seed)
{
	r->state = (seed + 1) * 0x9e3779b97f4a7c15ull;
	for (int i = 0; i < 16; i++)
		random_next(r);
}

/* Evenly between a and b. */
static inline double random_between(struct random *r, double a, double b)
{
	return a + (b - a) * ((double)(random_next(r) >> 11) / 9007199254740992.0);
}

/* Between a and b, with even logarithms: sizes over several decades. */
static inline double random_size(struct random *r, double a, double b)
{
	return a * pow(b / a, random_between(r, 0, 1));
}

/* From a to b, both included. */
static inline int random_count(struct random *r, int a, int b)
{
	return a + (int)(random_next(r) % (uint64_t)(b - a + 1));
}

static inline bool random_coin(struct random *r)
{
	return random_next(r) & 1024;
}

static inline double random_sign(struct random *r)
{
	return random_coin(r) ? 1 : -1;
}

#endif /* CLOCKS_RANDOM_H */
