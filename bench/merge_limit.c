// SPDX-License-Identifier: GPL-2.0
/* merge_limit.c - see merge_limit.h. */
#define _GNU_SOURCE
#include "merge_limit.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define RUNS	  3
#define OUT_SLOTS 32768u /* of 24 bytes: stays in the cache */
#define BURST_MAX 63u
#define NOTHING	  UINT64_MAX

struct item {
	uint64_t ts;
	uint64_t id;
	uint64_t payload;
};

struct limit {
	uint32_t sources;
	uint32_t bits;
	struct item *items;
	const struct item **at;
	const struct item **end;
	uint64_t *losers;
	struct item *out;
	uint64_t random;
};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t draw(struct limit *l)
{
	l->random ^= l->random << 13;
	l->random ^= l->random >> 7;
	l->random ^= l->random << 17;
	return l->random;
}

/* `each` records for each source, in the order in which one clock would see them. */
static void generate(struct limit *l, bool bursts, uint64_t each)
{
	uint64_t *filled = calloc(l->sources, sizeof(*filled)), ts = 1000, left, run;

	for (left = each * l->sources; filled && left;) {
		uint32_t s = (uint32_t)(draw(l) % l->sources);

		while (filled[s] == each)
			s = (s + 1) % l->sources;
		for (run = bursts ? 1 + draw(l) % BURST_MAX : 1; run && filled[s] < each;
		     run--, left--) {
			ts += 1 + (draw(l) & 63);
			l->items[s * each + filled[s]++] = (struct item){ ts, s, left };
		}
	}
	free(filled);
}

static uint64_t key_of(const struct limit *l, uint32_t s)
{
	return l->at[s] < l->end[s] ? l->at[s]->ts << l->bits | s : NOTHING;
}

static uint64_t build(struct limit *l, uint32_t node)
{
	uint64_t left, right;

	if (node >= l->sources)
		return key_of(l, node - l->sources);
	left = build(l, 2 * node);
	right = build(l, 2 * node + 1);
	l->losers[node] = left < right ? right : left;
	return left < right ? left : right;
}

static inline uint64_t replay(uint64_t *losers, uint32_t node, uint64_t key)
{
	for (node >>= 1; node; node >>= 1) {
		uint64_t other = losers[node], low = other < key ? other : key;

		losers[node] = other < key ? key : other;
		key = low;
	}
	return key;
}

static uint64_t runner_up(const uint64_t *losers, uint32_t node)
{
	uint64_t least = NOTHING;

	for (node >>= 1; node; node >>= 1)
		least = losers[node] < least ? losers[node] : least;
	return least;
}

static uint64_t merge(struct limit *l, bool gallop)
{
	uint64_t key = build(l, 1), n = 0;

	while (key != NOTHING) {
		uint32_t s = (uint32_t)key & (l->sources - 1);
		uint64_t until = gallop ? runner_up(l->losers, s + l->sources) : 0;

		do {
			l->out[n++ % OUT_SLOTS] = *l->at[s]++;
			__builtin_prefetch((const char *)l->at[s] + 512);
			key = key_of(l, s);
		} while (key < until);
		key = replay(l->losers, s + l->sources, key);
	}
	return n;
}

static double best_rate(struct limit *l, bool bursts, uint64_t each)
{
	double best = 0;
	int run;

	for (run = 0; run < RUNS; run++) {
		uint64_t from, n;
		uint32_t s;
		double rate;

		for (s = 0; s < l->sources; s++) {
			l->at[s] = l->items + s * each;
			l->end[s] = l->at[s] + each;
		}
		from = now_ns();
		n = merge(l, bursts);
		rate = (double)n * 1e9 / (double)(now_ns() - from + 1);
		best = rate > best ? rate : best;
	}
	return best;
}

double merge_limit(uint32_t sources, bool bursts, uint64_t records)
{
	struct limit l = { .sources = sources,
			   .bits = (uint32_t)__builtin_ctz(sources),
			   .random = 88172645463325252ull };
	uint64_t each = records / sources;
	size_t size = each * sources * sizeof(*l.items);
	double rate = 0;

	l.items = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	l.at = calloc(sources, sizeof(*l.at));
	l.end = calloc(sources, sizeof(*l.end));
	l.losers = calloc(sources, sizeof(*l.losers));
	l.out = calloc(OUT_SLOTS, sizeof(*l.out));
	if (l.items != MAP_FAILED && l.at && l.end && l.losers && l.out) {
		generate(&l, bursts, each);
		rate = best_rate(&l, bursts, each);
	}
	if (l.items != MAP_FAILED)
		munmap(l.items, size);
	free(l.at);
	free(l.end);
	free(l.losers);
	free(l.out);
	return rate;
}

double memcpy_limit(bool hot)
{
	const size_t size = hot ? 256u << 10 : 64u << 20, turns = hot ? 4096 : 16;
	uint8_t *from = malloc(size), *to = malloc(size);
	uint64_t begin;
	double rate = 0;

	if (from && to) {
		memset(from, 1, size);
		memset(to, 2, size);
		begin = now_ns();
		for (size_t i = 0; i < turns; i++) {
			memcpy(to, from, size);
			__asm__ volatile("" ::"r"(to) : "memory");
		}
		rate = (double)(size * turns) * 1e9 / (double)(now_ns() - begin + 1);
	}
	free(from);
	free(to);
	return rate;
}
