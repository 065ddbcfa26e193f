// SPDX-License-Identifier: GPL-2.0
/*
 * merge.c - the watermark merge. perf's rounds (flush in pass n + 2 what pass n had seen)
 * assume that a writer publishes within a pass; a vCPU can be descheduled between its clock
 * read and its commit for seconds, so here each ring has a proven bound instead.
 *
 * The records of each ring, or of many rings of each group of them (stream.c), come out in the
 * order of a tree of losers (tree.h). Which of the two ways they go is nowhere in the output.
 */
#include "merge.h"

#include <stdlib.h>

#define HALF_RECORDS 512u /* of a stream */
#define STREAM_AHEAD 8u	  /* records of it are fetched before their turn */
/* After so many records in a pass a thread is worth waking, and in the next one at once. */
#define BUSY_RECORDS 4096u

void xvt_merge_init(struct xvt_merge *m)
{
	memset(m, 0, sizeof(*m));
	m->limit_ns = m->rest_ns = UINT64_MAX;
	m->one_step = XVT_MERGE_ONE_STEP;
	m->half_records = HALF_RECORDS;
}

void xvt_merge_fini(struct xvt_merge *m)
{
	uint32_t i;

	for (i = 0; i < m->nr_streams; i++) {
		xvt_stream_fini(m->streams[i]);
		free(m->streams[i]);
	}
	free(m->streams);
	free(m->rank);
	free(m->known);
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

/* The next records of a ring that goes its way without a stream. */
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

/* ------------------------------------------------------------------ in two steps */

/*
 * Where few rings are, a few make a group, so that several threads have something to do; where many
 * are, as many as fit in a cache.
 */
static uint32_t group_of(const struct xvt_merge *m, uint32_t ring)
{
	const uint32_t few = 64, small = 4, large = 32;

	if (m->group_rings)
		return ring / m->group_rings;
	return ring < few ? ring / small : few / small + (ring - few) / large;
}

/* Streams for all rings up to that one. */
static int make_streams(struct xvt_merge *m, uint32_t ring)
{
	const uint32_t want = group_of(m, ring) + 1;
	struct xvt_stream **grown;

	if (want <= m->nr_streams)
		return 0;
	grown = realloc(m->streams, want * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	m->streams = grown;
	while (m->nr_streams < want) {
		struct xvt_stream *g = malloc(sizeof(*g));

		if (!g)
			return -ENOMEM;
		xvt_stream_init(g, m->half_records);
		m->streams[m->nr_streams++] = g;
	}
	return 0;
}

/* Room for that ring's number. */
static int make_ranks(struct xvt_merge *m, uint32_t ring)
{
	uint32_t *rank;
	struct xvt_ring **known;

	if (ring < m->nr_known)
		return 0;
	rank = realloc(m->rank, (ring + 1ull) * sizeof(*rank));
	m->rank = rank ? rank : m->rank;
	known = realloc(m->known, (ring + 1ull) * sizeof(*known));
	m->known = known ? known : m->known;
	if (!rank || !known)
		return -ENOMEM;
	memset(known + m->nr_known, 0, (ring + 1 - m->nr_known) * sizeof(*known));
	m->nr_known = ring + 1;
	return 0;
}

/* New rings came: whose records of one time come first? */
static int rank_all(struct xvt_merge *m)
{
	struct xvt_ring **sorted = malloc(m->nr_known * sizeof(*sorted));
	uint32_t i, n = 0;

	if (!sorted)
		return -ENOMEM;
	for (i = 0; i < m->nr_known; i++) {
		if (m->known[i])
			sorted[n++] = m->known[i];
	}
	qsort(sorted, n, sizeof(*sorted), by_vm_and_ring);
	for (i = 0; i < n; i++)
		m->rank[sorted[i]->id] = i;
	m->rank_bits = xvt_tree_bits(n);
	m->unranked = false;
	free(sorted);
	return 0;
}

static int know_ranks(struct xvt_merge *m)
{
	size_t i;

	for (i = 0; i < m->nr_order; i++) {
		struct xvt_ring *r = m->order[i];

		if (r->id < m->nr_known && m->known[r->id])
			continue;
		if (make_ranks(m, r->id) || make_streams(m, r->id))
			return -ENOMEM;
		m->known[r->id] = r;
		m->unranked = true;
	}
	return m->unranked ? rank_all(m) : 0;
}

static void give(struct xvt_merge *m, struct xvt_stream *g)
{
	g->given = m->crew && m->busy;
	if (g->given)
		xvt_crew_give(m->crew, &g->task);
}

/* What its task has found, and nobody works on it. */
static void take_up(struct xvt_merge *m, struct xvt_stream *g)
{
	uint32_t i;

	g->given = false;
	for (i = 0; i < g->nr_witnesses; i++) {
		g->witnesses[i]->witness_listed = false;
		if (m->witness)
			m->witness(m->arg, g->witnesses[i]);
	}
	g->nr_witnesses = 0;
}

/* Given or not: it is done. Its rings that have nothing more hold back what streams have kept. */
static void need(struct xvt_merge *m, struct xvt_stream *g)
{
	if (g->given)
		xvt_crew_need(m->crew, &g->task);
	else
		xvt_stream_fill(&g->task);
	take_up(m, g);
	hold_back(m, g->bound_ns);
}

/* While the records of one half go out, somebody may fill the other one. */
static void show_stream(struct xvt_merge *m, struct xvt_merge_leaf *leaf, struct xvt_stream *g)
{
	struct xvt_half *h = xvt_stream_half(g);

	*leaf = (struct xvt_merge_leaf){ .at = h->records + h->at,
					 .end = h->records + h->count,
					 .stream = g };
	xvt_stream_aim(g);
	if (g->target && g->begun && !g->dry)
		give(m, g);
}

static int begin_streams(struct xvt_merge *m)
{
	uint32_t i;
	size_t k;
	int err = know_ranks(m);

	for (i = 0; !err && i < m->nr_streams; i++)
		xvt_stream_begin(m->streams[i], m->limit_ns);
	for (k = 0; !err && k < m->nr_order; k++) {
		struct xvt_ring *r = m->order[k];

		err = xvt_stream_add(m->streams[group_of(m, r->id)], r);
	}
	/* Each stream is a leaf, and each of the rings may be. */
	return err ? err : make_room(m, m->nr_streams + m->nr_order);
}

/* As gather(), by groups. Those that do not go through their stream are leaves, too. */
static int gather_streams(struct xvt_merge *m)
{
	int err = begin_streams(m);
	uint32_t i, k;

	for (i = 0; !err && i < m->nr_streams; i++) {
		struct xvt_stream *g = m->streams[i];

		xvt_stream_aim(g);
		if (g->nr_rings)
			give(m, g);
	}
	for (i = 0; !err && i < m->nr_streams; i++) {
		struct xvt_stream *g = m->streams[i];

		if (g->nr_rings)
			need(m, g);
		err = g->err;
		if (!err && xvt_stream_has(g))
			show_stream(m, &m->leaves[m->count++], g);
	}
	/* Behind them: what a stream still has of such a ring comes first. */
	for (i = 0; !err && i < m->nr_streams; i++) {
		const struct xvt_stream *g = m->streams[i];

		for (k = 0; k < g->nr_strays; k++)
			show_ring(&m->leaves[m->count++], g->strays[k]);
	}
	return err;
}

/* Nobody works on any of them from here on. */
static int rest_streams(struct xvt_merge *m)
{
	uint32_t i;
	int err = 0;

	m->kept = false;
	for (i = 0; i < m->nr_streams; i++) {
		struct xvt_stream *g = m->streams[i];

		if (g->given) {
			xvt_crew_recall(m->crew, &g->task);
			take_up(m, g);
		}
		err = err ? err : g->err;
		m->kept |= xvt_stream_has(g);
	}
	return err;
}

/* ------------------------------------------------------------------ the tree */

static inline uint64_t key_of(const struct xvt_merge *m, const struct xvt_placed *p,
			      uint32_t number)
{
	uint64_t who = number;

	if (m->two_steps)
		who |= (uint64_t)m->rank[p->hdr.ring_flags & XVT_EVENT_RING_MASK]
		       << (m->tree.bits - m->rank_bits);
	return xvt_tree_key(&m->tree, p->hdr.host_ns, who);
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

static int plant(struct xvt_merge *m, uint64_t *key)
{
	const uint32_t bits = xvt_tree_bits(m->count) + (m->two_steps ? m->rank_bits : 0);
	uint32_t i;
	int err;

	err = xvt_tree_shape(&m->tree, m->count, bits, xvt_leaves_base_ns(m->leaves, m->count));
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

static bool is_busy(const struct xvt_merge *m)
{
	return m->emitted - m->emitted_then >= BUSY_RECORDS;
}

static int hand_over(struct xvt_merge *m)
{
	int err = m->nr_out ? m->emit(m->arg, m->out, m->nr_out) : 0;

	m->emitted += m->nr_out;
	m->busy |= is_busy(m);
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

/* Likewise. */
static int next_half(struct xvt_merge *m, struct xvt_merge_leaf *leaf)
{
	struct xvt_stream *g = leaf->stream;
	struct xvt_half *h = xvt_stream_half(g);
	int err = hand_over(m);

	if (err)
		return err;
	h->at = h->count;
	if (g->given)
		need(m, g);
	if (!xvt_stream_has(g) && g->nr_rings && !g->dry) {
		xvt_stream_aim(g);
		need(m, g);
	}
	if (g->err)
		return g->err;
	if (!xvt_stream_has(g))
		return 0;
	show_stream(m, leaf, g);
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
		got = leaf->stream ? next_half(m, leaf) : next_run(m, leaf);
		*key = got > 0 ? first_key(m, number) : XVT_TREE_NOTHING;
		return got < 0 ? got : 0;
	}
	*key = leaf->after;
	keep_next(m, leaf, number);
	/* It comes again when all the others had their turn: with many rings that is long enough
	 * for memory, but not for the cache beside us. A stream comes from another core's cache. */
	__builtin_prefetch(leaf->at + (leaf->stream ? STREAM_AHEAD : 2));
	__builtin_prefetch(leaf->at->payload + (leaf->stream ? STREAM_AHEAD * 32 : 0));
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
	numbers = (1u << xvt_tree_bits(m->count)) - 1;
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

		if (leaf->stream) {
			struct xvt_half *h = xvt_stream_half(leaf->stream);

			if (leaf->at != leaf->end)
				h->at = (uint32_t)(leaf->at - h->records);
		} else if (xvt_ring_ready(leaf->ring)) {
			leaf->ring->run_at = (uint32_t)(leaf->at - leaf->ring->run);
		}
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

/* A bound stopped us, or the present, behind which streams may hold something that is no leaf. */
static void raise_watermark(struct xvt_merge *m)
{
	uint64_t all_ns = m->limit_ns < m->bound_ns ? m->limit_ns + 1 : m->bound_ns;

	if (m->bound_ns != UINT64_MAX && all_ns <= m->next_ns && all_ns > m->watermark)
		m->watermark = all_ns;
}

int64_t xvt_merge_pass(struct xvt_merge *m, struct xvt_ring *const *rings, size_t count,
		       xvt_emit_fn emit, void *arg)
{
	int err = know_all(m, rings, count), rest;

	if (err)
		return err;
	m->emit = emit;
	m->arg = arg;
	m->held = false;
	m->count = 0;
	m->busy |= is_busy(m); /* the pass before was */
	m->emitted_then = m->emitted;
	m->bound_ns = m->rest_ns;
	m->two_steps |= count > m->one_step;
	if (m->two_steps)
		err = gather_streams(m);
	else
		gather(m);
	if (!err)
		err = pass(m);
	give_back(m);
	rest = rest_streams(m);
	m->busy = false;
	if (err || rest)
		return err ? err : rest;
	raise_watermark(m);
	if (m->last_ns > m->watermark)
		m->watermark = m->last_ns;
	return (int64_t)(m->emitted - m->emitted_then);
}
