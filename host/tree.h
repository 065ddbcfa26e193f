/* SPDX-License-Identifier: GPL-2.0 */
/*
 * tree.h - a tree of losers (Knuth, TAOCP 3, 5.4.1) over keys of one word: each source is a leaf,
 * each inner node holds the key that lost there. A key is a record's time, counted from the
 * earliest in this turn, and in its low bits who it is, so that a comparison needs no memory and no
 * branch, and records of one time have an order.
 */
#ifndef XVT_TREE_H
#define XVT_TREE_H

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#define XVT_TREE_NOTHING UINT64_MAX

struct xvt_tree {
	uint64_t *losers; /* from 1; and each leaf's first key from `leaves` */
	uint32_t leaves;  /* a power of two */
	uint32_t room;
	uint32_t bits; /* low ones, that say who it is */
	uint64_t far;  /* times of base_ns + far or more wait for the next turn */
	uint64_t base_ns;
};

/* What takes n numbers takes so many bits. */
static inline uint32_t xvt_tree_bits(uint32_t n)
{
	uint32_t bits = 0;

	while (bits < 32 && n > 1ull << bits)
		bits++;
	return bits;
}

/* count leaves, times from base_ns on. Returns 0 or -ENOMEM. */
static inline int xvt_tree_shape(struct xvt_tree *t, uint32_t count, uint64_t base_ns)
{
	t->leaves = 2;
	while (t->leaves < count)
		t->leaves *= 2;
	if (t->leaves > t->room) {
		uint64_t *grown = realloc(t->losers, 2ull * t->leaves * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		t->losers = grown;
		t->room = t->leaves;
	}
	t->bits = xvt_tree_bits(count);
	t->base_ns = base_ns;
	t->far = (UINT64_MAX >> t->bits) - 1;
	return 0;
}

static inline uint64_t xvt_tree_key(const struct xvt_tree *t, uint64_t ns, uint64_t who)
{
	uint64_t since_ns = ns - t->base_ns;

	return (since_ns < t->far ? since_ns : t->far) << t->bits | who;
}

/* First key of what may not go out before end_ns. */
static inline uint64_t xvt_tree_end(const struct xvt_tree *t, uint64_t end_ns)
{
	return end_ns <= t->base_ns ? 0 : xvt_tree_key(t, end_ns, 0);
}

static inline void xvt_tree_set(struct xvt_tree *t, uint32_t leaf, uint64_t key)
{
	t->losers[t->leaves + leaf] = key;
}

/* The winner below `node`, once all leaves are set; those who lost on the way stay there. */
static inline uint64_t xvt_tree_build(struct xvt_tree *t, uint32_t node)
{
	uint64_t left, right;

	if (node >= t->leaves)
		return t->losers[node];
	left = xvt_tree_build(t, 2 * node);
	right = xvt_tree_build(t, 2 * node + 1);
	t->losers[node] = left < right ? right : left;
	return left < right ? left : right;
}

/* The leaf's key has changed to `key`: who wins now? Without a branch that data decides. */
static inline uint64_t xvt_tree_replay(struct xvt_tree *t, uint32_t leaf, uint64_t key)
{
	uint64_t *losers = t->losers;
	uint32_t node;

	for (node = (leaf + t->leaves) >> 1; node; node >>= 1) {
		uint64_t other = losers[node];
		uint64_t low = other < key ? other : key;

		losers[node] = other < key ? key : other;
		key = low;
	}
	return key;
}

/* The smallest key but that leaf's own, which is the winner: all who could be it lost to it. */
static inline uint64_t xvt_tree_runner_up(const struct xvt_tree *t, uint32_t leaf)
{
	uint64_t least = XVT_TREE_NOTHING;
	uint32_t node;

	for (node = (leaf + t->leaves) >> 1; node; node >>= 1)
		least = t->losers[node] < least ? t->losers[node] : least;
	return least;
}

#endif /* XVT_TREE_H */
