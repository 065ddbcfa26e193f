// SPDX-License-Identifier: GPL-2.0
/*
 * merge.c - the watermark merge. perf's rounds (flush in pass n + 2 what pass n had seen)
 * assume that a writer publishes within a pass; a vCPU can be descheduled between its clock
 * read and its commit for seconds, so here each ring has a proven bound instead.
 *
 * The records of all rings come out in the order of a tree of losers (tree.h).
 */
#include "merge.h"

#include <stdlib.h>

void xvt_merge_init(struct xvt_merge *m)
{
	memset(m, 0, sizeof(*m));
	m->limit_ns = m->rest_ns = UINT64_MAX;
}

void xvt_merge_fini(struct xvt_merge *m)
{
	free(m->order);
	free(m->leaves);
	free(m->tree.losers);
	memset(m, 0, sizeof(*m));
}

/* ------------------------------------------------------------------ who takes part */

static int by_vm_and_ring(const void *a, const void *b)
{
	const struct xvt_ring *x = *(struct xvt_ring *const *)a, *y = *(struct xvt_ring *const *)b;

	if (x->vm != y->vm)
		return x->vm < y->vm ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

/* count rings in order, and as many leaves. */
static int make_room(struct xvt_merge *m, size_t count)
{
	struct xvt_ring **order;
	void *leaves;
	size_t room = 2;

	if (count <= m->room)
		return 0;
	while (room < count)
		room *= 2;
	order = realloc(m->order, room * sizeof(*order));
	m->order = order ? order : m->order;
	leaves = realloc(m->leaves, room * sizeof(*m->leaves));
	m->leaves = leaves ? leaves : m->leaves;
	if (!order || !leaves)
		return -ENOMEM;
	m->room = room;
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

static void hold_back(struct xvt_merge *m, uint64_t bound_ns)
{
	if (bound_ns < m->bound_ns)
		m->bound_ns = bound_ns;
}

/* The next records of a ring, if there are any. */
static bool refill(struct xvt_merge *m, struct xvt_ring *r)
{
	bool got = xvt_ring_refill(r);

	if (xvt_unlikely(r->witness_new) && m->witness)
		m->witness(m->arg, r);
	return got;
}

static void show_ring(struct xvt_merge_leaf *leaf, struct xvt_ring *r)
{
	*leaf = (struct xvt_merge_leaf){ .at = r->run + r->run_at,
					 .end = r->run + r->run_end,
					 .ring = r };
}

/* Every ring either has records, or a bound, or neither has nor holds anybody back. */
static void gather(struct xvt_merge *m)
{
	size_t i;

	for (i = 0; i < m->nr_order; i++) {
		struct xvt_ring *r = m->order[i];

		if (xvt_ring_ready(r) || refill(m, r))
			show_ring(&m->leaves[m->count++], r);
		else
			hold_back(m, xvt_ring_bound(r));
	}
}

/* ------------------------------------------------------------------ the tree */

static inline uint64_t key_of(const struct xvt_merge *m, const struct xvt_placed *p,
			      uint32_t number)
{
	return xvt_tree_key(&m->tree, p->hdr.host_ns, number);
}

/*
 * The key of the record behind the leaf's first one is kept in the leaf: it is read from memory
 * when its predecessor comes to the front, and nobody waits for it before that has gone out, which
 * with many rings is long. What waits for memory in each turn of the tree costs more than the tree.
 */
static inline void keep_next(const struct xvt_merge *m, struct xvt_merge_leaf *leaf,
			     uint32_t number)
{
	if (xvt_likely(leaf->at + 1 != leaf->end))
		leaf->after = key_of(m, leaf->at + 1, number);
}

static uint64_t first_key(const struct xvt_merge *m, uint32_t number)
{
	struct xvt_merge_leaf *leaf = &m->leaves[number];

	keep_next(m, leaf, number);
	return key_of(m, leaf->at, number);
}

/* A tree of those of the leaves that have records counts its times from the earliest. */
static uint64_t base_ns_of(const struct xvt_merge *m)
{
	uint64_t base_ns = UINT64_MAX;
	uint32_t i;

	for (i = 0; i < m->count; i++) {
		const struct xvt_merge_leaf *leaf = &m->leaves[i];

		if (leaf->at != leaf->end && leaf->at->hdr.host_ns < base_ns)
			base_ns = leaf->at->hdr.host_ns;
	}
	return base_ns;
}

static int plant(struct xvt_merge *m, uint64_t *key)
{
	uint32_t i;
	int err = xvt_tree_shape(&m->tree, m->count, base_ns_of(m));

	if (err)
		return err;
	for (i = 0; i < m->tree.leaves; i++) {
		bool has = i < m->count && m->leaves[i].at != m->leaves[i].end;

		xvt_tree_set(&m->tree, i, has ? first_key(m, i) : XVT_TREE_NOTHING);
	}
	*key = xvt_tree_build(&m->tree, 1);
	return 0;
}

/* ------------------------------------------------------------------ out */

static int hand_over(struct xvt_merge *m)
{
	int err = m->nr_out ? m->emit(m->arg, m->out, m->nr_out) : 0;

	m->emitted += m->nr_out;
	if (m->nr_out && !err && m->hold)
		m->held = m->hold(m->arg);
	m->nr_out = 0;
	return err;
}

/* Below a watermark already passed: the late lane, counted and flagged. What is older than the
 * attach was never promised to be in order. */
static void late(struct xvt_merge *m, struct xvt_event_hdr *h)
{
	if (!(h->ring_flags & XVT_EVENT_F_BACKLOG))
		m->late++;
	h->ring_flags |= XVT_EVENT_F_LATE;
}

static int put(struct xvt_merge *m, struct xvt_placed *p)
{
	m->out[m->nr_out++] = p;
	if (xvt_unlikely(p->hdr.host_ns < m->last_ns || p->hdr.host_ns < m->watermark))
		late(m, &p->hdr);
	else
		m->last_ns = p->hdr.host_ns;
	return m->nr_out == XVT_MERGE_BATCH ? hand_over(m) : 0;
}

/* First key that may not go out: of a bound, of the present, or too far from base_ns for a key. */
static uint64_t end_key(const struct xvt_merge *m)
{
	uint64_t end_ns = m->bound_ns;

	if (m->limit_ns < end_ns)
		end_ns = m->limit_ns + 1;
	return xvt_tree_end(&m->tree, end_ns);
}

/* The leaf's records are used up: 1 if it has more, 0 if not, or -errno. */
static int next_run(struct xvt_merge *m, struct xvt_merge_leaf *leaf)
{
	struct xvt_ring *r = leaf->ring;
	int err = hand_over(m); /* payloads may go with what is used up */

	if (err)
		return err;
	r->run_at = r->run_end;
	if (!refill(m, r)) {
		hold_back(m, xvt_ring_bound(r));
		return 0;
	}
	show_ring(leaf, r);
	return 1;
}

/* The leaf's first record goes out. Returns 0 or -errno; *key: of the next one. */
static int take(struct xvt_merge *m, struct xvt_merge_leaf *leaf, uint32_t number, uint64_t *key)
{
	int got = put(m, leaf->at);

	if (got)
		return got;
	leaf->at++;
	if (xvt_unlikely(leaf->at == leaf->end)) {
		got = next_run(m, leaf);
		*key = got > 0 ? first_key(m, number) : XVT_TREE_NOTHING;
		return got < 0 ? got : 0;
	}
	*key = leaf->after;
	keep_next(m, leaf, number);
	/* It comes again when all the others had their turn: with many rings that is long enough
	 * for memory, but not for the cache beside us. */
	__builtin_prefetch(leaf->at + 2);
	__builtin_prefetch(leaf->at->payload);
	return 0;
}

/*
 * Until the end key. A leaf that wins twice in a row may be in a burst: then it goes on up to the
 * runner-up's key without asking the tree. Sets next_ns.
 */
static int turn(struct xvt_merge *m)
{
	uint32_t last = UINT32_MAX, numbers;
	uint64_t key, end, bound_ns = m->bound_ns;
	int err = plant(m, &key);

	if (err)
		return err;
	numbers = (1u << m->tree.bits) - 1;
	end = end_key(m);
	while (key < end && !m->held) {
		const uint32_t number = (uint32_t)key & numbers;
		struct xvt_merge_leaf *leaf = &m->leaves[number];
		uint64_t until = number == last ? xvt_tree_runner_up(&m->tree, number) : 0;

		do {
			err = take(m, leaf, number, &key);
			if (err)
				return err;
			if (m->bound_ns < bound_ns) {
				bound_ns = m->bound_ns;
				end = end_key(m);
			}
		} while (key < until && key < end && !m->held);
		key = xvt_tree_replay(&m->tree, number, key);
		last = number;
	}
	m->next_ns = key == XVT_TREE_NOTHING ? UINT64_MAX
					     : m->leaves[(uint32_t)key & numbers].at->hdr.host_ns;
	return 0;
}

/* What was shown and not taken stays where it was. */
static void give_back(struct xvt_merge *m)
{
	uint32_t i;

	for (i = 0; i < m->count; i++) {
		struct xvt_merge_leaf *leaf = &m->leaves[i];

		if (xvt_ring_ready(leaf->ring))
			leaf->ring->run_at = (uint32_t)(leaf->at - leaf->ring->run);
	}
}

/* Once, or again from where a key is too far from base_ns. */
static int pass(struct xvt_merge *m)
{
	int err;

	do {
		m->next_ns = UINT64_MAX;
		err = m->count ? turn(m) : 0;
	} while (!err && !m->held && m->next_ns < m->bound_ns && m->next_ns <= m->limit_ns);
	return err ? err : hand_over(m);
}

/* A bound ended the pass, or the present did; not the hold, which leaves records below both. */
static void raise_watermark(struct xvt_merge *m)
{
	uint64_t all_ns = m->limit_ns < m->bound_ns ? m->limit_ns + 1 : m->bound_ns;

	if (m->bound_ns != UINT64_MAX && all_ns <= m->next_ns && all_ns > m->watermark)
		m->watermark = all_ns;
}

int64_t xvt_merge_pass(struct xvt_merge *m, struct xvt_ring *const *rings, size_t count,
		       xvt_emit_fn emit, void *arg)
{
	const uint64_t emitted = m->emitted;
	int err = know_all(m, rings, count);

	if (err)
		return err;
	m->emit = emit;
	m->arg = arg;
	m->held = false;
	m->count = 0;
	m->bound_ns = m->rest_ns;
	gather(m);
	err = pass(m);
	give_back(m);
	if (err)
		return err;
	raise_watermark(m);
	if (m->last_ns > m->watermark)
		m->watermark = m->last_ns;
	return (int64_t)(m->emitted - emitted);
}
