// SPDX-License-Identifier: GPL-2.0
/*
 * stream.c - the first of the merge's two steps. Runs on any thread, and touches nothing but its
 * own rings: their pieces, which go back to the pool of their machine, their clock maps, and what
 * the decoder knows of them.
 *
 * What it has pushed it cannot take back, and all rings of the group but those that hold nobody
 * back (set aside, or gone) have promised not to come with anything older. If one of these does, it
 * does not go through the stream in this pass: it is a stray, and the merge takes its records
 * itself.
 */
#include "stream.h"

#include "payload.h"

#define PAYLOAD_BYTES 4096u /* of a half, at first */

void xvt_stream_init(struct xvt_stream *g, uint32_t half_records)
{
	memset(g, 0, sizeof(*g));
	g->task.run = xvt_stream_fill;
	g->half_records = half_records;
}

void xvt_stream_fini(struct xvt_stream *g)
{
	unsigned int i;

	for (i = 0; i < 2; i++) {
		free(g->half[i].records);
		free(g->half[i].payloads);
	}
	free(g->rings);
	free(g->strays);
	free(g->witnesses);
	free(g->leaves);
	free(g->tree.losers);
	memset(g, 0, sizeof(*g));
}

/* ------------------------------------------------------------------ for the merge */

struct xvt_half *xvt_stream_half(struct xvt_stream *g)
{
	struct xvt_half *h = &g->half[g->current], *other = &g->half[!g->current];

	if (h->at < h->count || other->at == other->count)
		return h;
	g->current = !g->current;
	return other;
}

static uint64_t newest_kept(struct xvt_stream *g)
{
	const struct xvt_half *h = xvt_stream_half(g), *other = &g->half[!g->current];

	if (other->at < other->count)
		h = other;
	return h->at < h->count ? h->records[h->count - 1].hdr.host_ns : 0;
}

void xvt_stream_begin(struct xvt_stream *g, uint64_t limit_ns)
{
	g->nr_rings = g->nr_leaves = g->nr_strays = 0;
	g->limit_ns = limit_ns;
	g->kept_ns = newest_kept(g);
	g->begun = g->dry = false;
	g->err = 0;
	g->bound_ns = UINT64_MAX;
}

int xvt_stream_add(struct xvt_stream *g, struct xvt_ring *r)
{
	if (g->nr_rings == g->room) {
		uint32_t room = g->room ? 2 * g->room : 4;
		void *rings = realloc(g->rings, room * sizeof(*g->rings));
		void *strays = realloc(g->strays, room * sizeof(*g->strays));
		void *witnesses = realloc(g->witnesses, room * sizeof(*g->witnesses));
		void *leaves = realloc(g->leaves, room * sizeof(*g->leaves));

		g->rings = rings ? rings : g->rings;
		g->strays = strays ? strays : g->strays;
		g->witnesses = witnesses ? witnesses : g->witnesses;
		g->leaves = leaves ? leaves : g->leaves;
		if (!rings || !strays || !witnesses || !leaves)
			return -ENOMEM;
		g->room = room;
	}
	g->rings[g->nr_rings++] = r;
	return 0;
}

void xvt_stream_aim(struct xvt_stream *g)
{
	struct xvt_half *h = xvt_stream_half(g), *other = &g->half[!g->current];

	g->target = h->at == h->count ? h : other->at == other->count ? other : NULL;
}

/* ------------------------------------------------------------------ the task */

/* The next records of a ring, if there are any. */
static bool refill(struct xvt_stream *g, struct xvt_ring *r)
{
	bool got = xvt_ring_refill(r);

	if (xvt_unlikely(r->witness_new && !r->witness_listed)) {
		r->witness_listed = true;
		g->witnesses[g->nr_witnesses++] = r;
	}
	return got;
}

static void hold_back(struct xvt_stream *g, const struct xvt_ring *r)
{
	uint64_t bound_ns = xvt_ring_bound(r);

	if (bound_ns < g->bound_ns)
		g->bound_ns = bound_ns;
}

static void gather(struct xvt_stream *g)
{
	uint32_t i;

	for (i = 0; i < g->nr_rings; i++) {
		struct xvt_ring *r = g->rings[i];

		if (!xvt_ring_ready(r) && !refill(g, r))
			hold_back(g, r);
		else if (r->run[r->run_at].hdr.host_ns <= g->kept_ns)
			g->strays[g->nr_strays++] = r;
		else
			g->leaves[g->nr_leaves++] = (struct xvt_merge_leaf){
				.at = r->run + r->run_at, .end = r->run + r->run_end, .ring = r
			};
	}
}

/* As in merge.c: what is behind the first one is read before anybody waits for it. */
static inline void keep_next(const struct xvt_stream *g, struct xvt_merge_leaf *leaf,
			     uint32_t number)
{
	if (xvt_likely(leaf->at + 1 != leaf->end))
		leaf->after = xvt_tree_key(&g->tree, leaf->at[1].hdr.host_ns, number);
}

static uint64_t first_key(const struct xvt_stream *g, uint32_t number)
{
	struct xvt_merge_leaf *leaf = &g->leaves[number];

	keep_next(g, leaf, number);
	return xvt_tree_key(&g->tree, leaf->at->hdr.host_ns, number);
}

/* A tree of those that have records. */
static int plant(struct xvt_stream *g)
{
	uint32_t i;
	int err;

	err = xvt_tree_shape(&g->tree, g->nr_leaves, xvt_tree_bits(g->nr_leaves),
			     xvt_leaves_base_ns(g->leaves, g->nr_leaves));
	if (err)
		return err;
	for (i = 0; i < g->tree.leaves; i++) {
		bool has = i < g->nr_leaves && g->leaves[i].at != g->leaves[i].end;

		xvt_tree_set(&g->tree, i, has ? first_key(g, i) : XVT_TREE_NOTHING);
	}
	g->key = xvt_tree_build(&g->tree, 1);
	return 0;
}

/* First key that may not go out. */
static uint64_t end_key(const struct xvt_stream *g)
{
	uint64_t end_ns = g->limit_ns < g->bound_ns ? g->limit_ns + 1 : g->bound_ns;

	return xvt_tree_end(&g->tree, end_ns);
}

static bool next_run(struct xvt_stream *g, struct xvt_merge_leaf *leaf)
{
	struct xvt_ring *r = leaf->ring;

	r->run_at = r->run_end;
	if (!refill(g, r)) {
		hold_back(g, r);
		return false;
	}
	leaf->at = r->run + r->run_at;
	leaf->end = r->run + r->run_end;
	return true;
}

/* Is there room for one more? One that is larger than all of it gets as much. */
static bool fits(struct xvt_stream *g, struct xvt_half *h, const struct xvt_placed *p)
{
	uint8_t *grown;

	if (h->count == g->half_records)
		return false;
	if (xvt_pad8(p->hdr.len) <= h->room - h->used)
		return true;
	if (h->count)
		return false;
	grown = realloc(h->payloads, xvt_pad8(p->hdr.len));
	if (!grown) {
		g->err = -ENOMEM;
		return false;
	}
	h->payloads = grown;
	h->room = xvt_pad8(p->hdr.len);
	return true;
}

static void push(struct xvt_half *h, const struct xvt_placed *p)
{
	uint8_t *to = h->payloads + h->used;

	h->records[h->count].hdr = p->hdr;
	h->records[h->count++].payload = to;
	h->used += xvt_pad8(p->hdr.len);
	xvt_payload_put(to, p->payload, p->hdr.len);
}

/*
 * Until the half is full, or nothing more may go out. A leaf that wins twice in a row may be in a
 * burst: then it goes on up to the runner-up's key without asking the tree.
 */
static void turn(struct xvt_stream *g, struct xvt_half *h)
{
	const uint32_t numbers = (1u << g->tree.bits) - 1;
	uint64_t end = end_key(g), key = g->key;
	uint32_t last = UINT32_MAX;

	while (key < end) {
		const uint32_t number = (uint32_t)key & numbers;
		struct xvt_merge_leaf *leaf = &g->leaves[number];
		uint64_t until = number == last ? xvt_tree_runner_up(&g->tree, number) : 0;
		bool full = false;

		do {
			full = !fits(g, h, leaf->at);
			if (xvt_unlikely(full))
				break;
			push(h, leaf->at++);
			if (xvt_likely(leaf->at != leaf->end)) {
				key = leaf->after;
				keep_next(g, leaf, number);
				__builtin_prefetch(leaf->at + 2);
				__builtin_prefetch(leaf->at->payload);
			} else if (next_run(g, leaf)) {
				key = first_key(g, number);
			} else {
				key = XVT_TREE_NOTHING;
				end = end_key(g);
			}
		} while (key < until && key < end);
		key = xvt_tree_replay(&g->tree, number, key);
		if (xvt_unlikely(full))
			break;
		last = number;
	}
	g->key = key;
}

/* Nothing more may go out, or it is only too far from the tree's base for a key. */
static bool is_dry(const struct xvt_stream *g)
{
	const uint32_t numbers = (1u << g->tree.bits) - 1;
	uint64_t ns;

	if (g->key == XVT_TREE_NOTHING)
		return true;
	ns = g->leaves[(uint32_t)g->key & numbers].at->hdr.host_ns;
	return ns >= g->bound_ns || ns > g->limit_ns;
}

static int make_half(const struct xvt_stream *g, struct xvt_half *h)
{
	if (!h->records)
		h->records = malloc(g->half_records * sizeof(*h->records));
	if (!h->payloads) {
		h->payloads = malloc(PAYLOAD_BYTES);
		h->room = h->payloads ? PAYLOAD_BYTES : 0;
	}
	return h->records && h->payloads ? 0 : -ENOMEM;
}

/* What was taken is the rings' no more. */
static void give_back(struct xvt_stream *g)
{
	uint32_t i;

	for (i = 0; i < g->nr_leaves; i++) {
		struct xvt_merge_leaf *leaf = &g->leaves[i];

		if (leaf->at != leaf->end)
			leaf->ring->run_at = (uint32_t)(leaf->at - leaf->ring->run);
	}
}

void xvt_stream_fill(struct xvt_task *task)
{
	struct xvt_stream *g = (struct xvt_stream *)task;
	struct xvt_half *h = g->target;

	if (!g->begun) {
		g->begun = true;
		gather(g);
		g->dry = !g->nr_leaves;
		if (!g->dry)
			g->err = plant(g);
	}
	if (!h || g->dry || g->err)
		return;
	g->err = make_half(g, h);
	h->at = h->count = 0;
	h->used = 0;
	while (!g->err && !g->dry && h->count < g->half_records) {
		uint32_t before = h->count;

		turn(g, h);
		g->dry = is_dry(g);
		if (g->dry || (h->count == before && h->count))
			break; /* at its end, or the next one does not fit */
		if (g->key >= end_key(g))
			g->err = plant(g);
	}
	give_back(g);
}
