// SPDX-License-Identifier: GPL-2.0
/*
 * merge.c - the watermark merge. perf's rounds (flush in pass n + 2 what pass n had seen)
 * assume that a writer publishes within a pass; a vCPU can be descheduled between its clock
 * read and its commit for seconds, so here each ring has a proven bound instead.
 *
 * A tree of losers (Knuth, TAOCP 3, 5.4.1): each ring with records is a leaf, each inner node
 * holds the key that lost there. A key is the record's time, counted from the earliest in this
 * turn, and the leaf's number in one word, so that a comparison needs no memory and no branch.
 * Leaves are in order of (VM, ring), which is the order of records of one time.
 */
#include "merge.h"

#include <stdlib.h>

#define NOTHING UINT64_MAX

void xvt_merge_init(struct xvt_merge *m)
{
	memset(m, 0, sizeof(*m));
	m->limit_ns = m->rest_ns = UINT64_MAX;
}

void xvt_merge_fini(struct xvt_merge *m)
{
	free(m->order);
	free(m->leaves);
	free(m->losers);
	m->order = NULL;
	m->leaves = NULL;
	m->losers = NULL;
}

/* ------------------------------------------------------------------ who takes part */

static int by_vm_and_ring(const void *a, const void *b)
{
	const struct xvt_ring *x = *(struct xvt_ring *const *)a, *y = *(struct xvt_ring *const *)b;

	if (x->vm != y->vm)
		return x->vm < y->vm ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

static int make_room(struct xvt_merge *m, size_t count)
{
	struct xvt_ring **order;
	void *leaves, *losers;
	size_t room = 2;

	if (count <= m->order_room)
		return 0;
	while (room < count)
		room *= 2;
	order = realloc(m->order, room * sizeof(*order));
	m->order = order ? order : m->order;
	leaves = realloc(m->leaves, room * sizeof(*m->leaves));
	m->leaves = leaves ? leaves : m->leaves;
	losers = realloc(m->losers, room * sizeof(*m->losers));
	m->losers = losers ? losers : m->losers;
	if (!order || !leaves || !losers)
		return -ENOMEM;
	m->order_room = room;
	return 0;
}

/* Usually they come in order. */
static int know_all(struct xvt_merge *m, struct xvt_ring *const *rings, size_t count)
{
	bool sorted = true;
	size_t i;

	if (make_room(m, count))
		return -ENOMEM;
	for (i = 0; i < count; i++) {
		m->order[i] = rings[i];
		sorted &= !i || by_vm_and_ring(&rings[i - 1], &rings[i]) < 0;
	}
	m->nr_order = count;
	if (!sorted)
		qsort(m->order, count, sizeof(*m->order), by_vm_and_ring);
	return 0;
}

static void hold_back(struct xvt_merge *m, const struct xvt_ring *r)
{
	uint64_t bound_ns = xvt_ring_bound(r);

	if (bound_ns < m->bound_ns)
		m->bound_ns = bound_ns;
}

static void show_run(struct xvt_merge_leaf *leaf)
{
	leaf->at = leaf->ring->run + leaf->ring->run_at;
	leaf->end = leaf->ring->run + leaf->ring->run_end;
}

/* Every ring either has records, or a bound, or neither has nor holds anybody back. */
static void gather(struct xvt_merge *m)
{
	size_t i;

	m->count = 0;
	m->bound_ns = m->rest_ns;
	m->base_ns = UINT64_MAX;
	for (i = 0; i < m->nr_order; i++) {
		struct xvt_ring *r = m->order[i];
		struct xvt_merge_leaf *leaf = &m->leaves[m->count];

		if (!xvt_ring_ready(r) && !xvt_ring_refill(r)) {
			hold_back(m, r);
			continue;
		}
		leaf->ring = r;
		show_run(leaf);
		if (leaf->at->ns < m->base_ns)
			m->base_ns = leaf->at->ns;
		m->count++;
	}
}

/* ------------------------------------------------------------------ the tree */

/* Leaves in a whole tree, and the bits of a leaf's number. */
struct shape {
	uint32_t leaves;
	uint32_t bits;
	uint64_t far; /* times of base_ns + far or more wait for the next turn */
};

static struct shape shape_of(uint32_t count)
{
	struct shape t = { .leaves = 2, .bits = 1 };

	while (t.leaves < count) {
		t.leaves *= 2;
		t.bits++;
	}
	t.far = (UINT64_MAX >> t.bits) - 1;
	return t;
}

static uint64_t key_of(const struct xvt_merge *m, const struct shape *t, uint32_t leaf, uint64_t ns)
{
	uint64_t since_ns = ns - m->base_ns;

	return (since_ns < t->far ? since_ns : t->far) << t->bits | leaf;
}

/* The winner below `node`; those who lost on the way stay there. */
static uint64_t build(struct xvt_merge *m, const struct shape *t, uint32_t node)
{
	uint64_t left, right;

	if (node >= t->leaves) {
		uint32_t leaf = node - t->leaves;

		return leaf < m->count ? key_of(m, t, leaf, m->leaves[leaf].at->ns) : NOTHING;
	}
	left = build(m, t, 2 * node);
	right = build(m, t, 2 * node + 1);
	m->losers[node] = left < right ? right : left;
	return left < right ? left : right;
}

/* The leaf's key has changed to `key`: who wins now? Without a branch that data decides. */
static inline uint64_t replay(uint64_t *losers, const struct shape *t, uint32_t leaf, uint64_t key)
{
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
static uint64_t runner_up(const uint64_t *losers, const struct shape *t, uint32_t leaf)
{
	uint64_t least = NOTHING;
	uint32_t node;

	for (node = (leaf + t->leaves) >> 1; node; node >>= 1)
		least = losers[node] < least ? losers[node] : least;
	return least;
}

/* ------------------------------------------------------------------ out */

static int hand_over(struct xvt_merge *m)
{
	int err = m->nr_out ? m->emit(m->arg, m->out, m->nr_out) : 0;

	m->emitted += m->nr_out;
	m->nr_out = 0;
	return err;
}

/* Below a watermark already passed: the late lane, counted and flagged. What is older than the
 * attach was never promised to be in order. */
static uint32_t late(struct xvt_merge *m, const struct xvt_placed *p)
{
	if (!(p->flags & XVT_EVENT_F_BACKLOG))
		m->late++;
	return XVT_EVENT_F_LATE;
}

static int put(struct xvt_merge *m, const struct xvt_merge_leaf *leaf, const struct xvt_placed *p)
{
	struct xvt_out *out = &m->out[m->nr_out++];

	out->rec = p;
	out->ring = leaf->ring;
	out->flags = p->flags;
	if (p->ns < m->last_ns || p->ns < m->watermark)
		out->flags |= late(m, p);
	else
		m->last_ns = p->ns;
	return m->nr_out == XVT_MERGE_BATCH ? hand_over(m) : 0;
}

/* First key that may not go out: of a bound, of the present, or too far from base_ns for a key. */
static uint64_t end_key(const struct xvt_merge *m, const struct shape *t)
{
	uint64_t end_ns = m->bound_ns;

	if (m->limit_ns < end_ns)
		end_ns = m->limit_ns + 1;
	return end_ns <= m->base_ns ? 0 : key_of(m, t, 0, end_ns);
}

/* The leaf's run is used up: 1 if it has another one, 0 if not, or -errno. */
static int next_run(struct xvt_merge *m, struct xvt_merge_leaf *leaf)
{
	int err = hand_over(m); /* payloads may go with what is used up */

	leaf->ring->run_at = leaf->ring->run_end;
	if (err)
		return err;
	if (!xvt_ring_refill(leaf->ring)) {
		hold_back(m, leaf->ring);
		return 0;
	}
	show_run(leaf);
	return 1;
}

/* The leaf's first record goes out. Returns as next_run(). */
static int take(struct xvt_merge *m, struct xvt_merge_leaf *leaf)
{
	int err = put(m, leaf, leaf->at);

	if (err)
		return err;
	leaf->at++;
	if (xvt_unlikely(leaf->at == leaf->end))
		return next_run(m, leaf);
	/* It comes again when all the others had their turn: with many rings that is long enough
	 * for memory, but not for the cache beside us. */
	__builtin_prefetch(leaf->at + 1);
	__builtin_prefetch(leaf->at->payload);
	return 1;
}

/*
 * Until the end key. A leaf that wins twice in a row may be in a burst: then it goes on up to the
 * runner-up's key without asking the tree. Sets next_ns.
 */
static int turn(struct xvt_merge *m)
{
	const struct shape t = shape_of(m->count);
	const uint32_t numbers = t.leaves - 1;
	uint64_t key = build(m, &t, 1), end = end_key(m, &t);
	uint32_t last = UINT32_MAX;

	while (key < end) {
		const uint32_t number = (uint32_t)key & numbers;
		struct xvt_merge_leaf *leaf = &m->leaves[number];
		uint64_t until = number == last ? runner_up(m->losers, &t, number) : 0;

		do {
			int got = take(m, leaf);

			if (got < 0)
				return got;
			key = got ? key_of(m, &t, number, leaf->at->ns) : NOTHING;
			if (!got)
				end = end_key(m, &t);
		} while (key < until && key < end);
		key = replay(m->losers, &t, number, key);
		last = number;
	}
	m->next_ns = key == NOTHING ? UINT64_MAX : m->leaves[(uint32_t)key & numbers].at->ns;
	return 0;
}

/* What was shown and not taken stays in the rings. */
static void give_back(struct xvt_merge *m)
{
	uint32_t i;

	for (i = 0; i < m->count; i++) {
		struct xvt_merge_leaf *leaf = &m->leaves[i];

		if (xvt_ring_ready(leaf->ring))
			leaf->ring->run_at = (uint32_t)(leaf->at - leaf->ring->run);
	}
}

int64_t xvt_merge_pass(struct xvt_merge *m, struct xvt_ring *const *rings, size_t count,
		       xvt_emit_fn emit, void *arg)
{
	uint64_t emitted = m->emitted;
	int err = know_all(m, rings, count);

	if (err)
		return err;
	m->emit = emit;
	m->arg = arg;
	do {
		m->next_ns = UINT64_MAX;
		gather(m);
		err = m->count ? turn(m) : 0;
		if (!err)
			err = hand_over(m);
		give_back(m);
		if (err)
			return err;
		/* Too far from base_ns for a key, and nothing else: once more from there. */
	} while (m->next_ns < m->bound_ns && m->next_ns <= m->limit_ns);
	/* A bound stopped us, not the present. */
	if (m->bound_ns != UINT64_MAX && m->bound_ns <= m->next_ns && m->bound_ns > m->watermark)
		m->watermark = m->bound_ns;
	if (m->last_ns > m->watermark)
		m->watermark = m->last_ns;
	return (int64_t)(m->emitted - emitted);
}
