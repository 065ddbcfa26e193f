// SPDX-License-Identifier: GPL-2.0
/* history.c - see history.h. How a history is made; history_play.c plays it. */
#include "history.h"

#include <check.h>
#include <stdlib.h>

#define MS 1000000ull

/* splitmix64 (Steele, Lea, Flood 2014). */
uint64_t history_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ull;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

struct maker {
	struct history *h;
	uint64_t random;
	uint64_t now;
	uint64_t unit_ns;
	uint32_t burst; /* the ring that writes just now, and for how long */
	uint32_t burst_left;
	uint32_t quiet;	  /* a ring that hardly ever writes */
	uint32_t stopped; /* bits: machines */
	uint32_t joined;  /* bits: rings */
	uint32_t stops[ENGINE_RINGS_MAX];
	uint32_t open[ENGINE_RINGS_MAX];
	uint32_t held[ENGINE_RINGS_MAX];
	uint32_t bytes[ENGINE_RINGS_MAX]; /* at most, since it was drained */
};

static uint32_t below(struct maker *m, uint32_t n)
{
	return (uint32_t)(history_random(&m->random) % n);
}

static bool chance(struct maker *m, uint32_t of_256)
{
	return below(m, 256) < of_256;
}

void history_add(struct history *h, const struct op *op)
{
	if (h->nr_ops == h->room) {
		h->room = h->room ? h->room * 2 : 256;
		h->ops = realloc(h->ops, h->room * sizeof(*h->ops));
		ck_assert_ptr_nonnull(h->ops);
	}
	h->ops[h->nr_ops++] = *op;
}

static size_t add(struct maker *m, enum op_kind kind, uint32_t ring, uint32_t size)
{
	history_add(m->h, &(struct op){ .kind = kind, .ns = m->now, .ring = ring, .size = size });
	return m->h->nr_ops - 1;
}

/* Often the same moment, at times a long silence. */
static void pass_time(struct maker *m)
{
	m->now += below(m, 3) * m->unit_ns;
	if (chance(m, 6))
		m->now += below(m, 100) * m->unit_ns;
}

static bool may_write(const struct maker *m, uint32_t ring)
{
	return m->joined >> ring & 1 && !(m->stopped >> m->h->vm[ring] & 1);
}

/* Returns the number of rings if none may write. */
static uint32_t choose_ring(struct maker *m)
{
	const uint32_t n = m->h->shape.rings;
	uint32_t ring, tries;

	if (m->burst_left && may_write(m, m->burst)) {
		m->burst_left--;
		return m->burst;
	}
	for (tries = 0; tries < 16; tries++) {
		ring = below(m, n);
		if (!may_write(m, ring) || (ring == m->quiet && !chance(m, 16)))
			continue;
		if (chance(m, 16)) {
			m->burst = ring;
			m->burst_left = below(m, 40);
		}
		return ring;
	}
	return n;
}

static void measure(struct maker *m, uint32_t ring)
{
	size_t at = add(m, OP_NODE, ring, 0);

	m->h->ops[at].bound_ns = m->h->bound_ns ? below(m, m->h->bound_ns) : 0;
}

static void some_operations(struct maker *m, uint32_t count, uint32_t depth);

/* The next operations happen while this writer holds its time stamp. */
static void hold(struct maker *m, size_t at, uint32_t ring, uint32_t depth)
{
	if (depth >= 3 || !chance(m, 40))
		return;
	m->held[ring]++;
	some_operations(m, 1 + below(m, 6), depth + 1);
	m->held[ring]--;
	m->h->ops[at].hold = (uint32_t)(m->h->nr_ops - at - 1);
}

static void close_events(struct maker *m, uint32_t ring)
{
	for (; m->open[ring]; m->open[ring]--)
		add(m, chance(m, 200) ? OP_COMMIT : OP_DISCARD, ring, 0);
}

/* Room is part of the history: what the host drains must not decide what is lost. */
static bool has_room(struct maker *m, uint32_t ring, uint32_t words)
{
	const struct engine_shape *s = &m->h->shape;
	/* A record, its full stamp, and a new sub-buffer with all that it leaves of the old. */
	uint32_t most = words * 8 + 16 + (m->bytes[ring] ? 0 : s->subbuf_size);

	if (m->bytes[ring] + most > s->subbuf_size * (s->subbuf_count - 2)) {
		if (m->held[ring])
			return false;
		close_events(m, ring);
		add(m, OP_DRAIN, ring, 0);
		m->bytes[ring] = s->subbuf_size;
	}
	m->bytes[ring] += most + most / 4;
	return true;
}

static void measure_machine(struct maker *m, uint32_t vm)
{
	uint32_t i;

	for (i = 0; i < m->h->shape.rings; i++) {
		if (m->h->vm[i] == vm && m->joined >> i & 1)
			measure(m, i);
	}
}

static void stop(struct maker *m, uint32_t depth)
{
	static const uint64_t pauses[] = { 100 * MS, 300 * MS, 3000 * MS };
	const uint32_t vm = m->h->vm[below(m, m->h->shape.rings)];
	uint64_t pause = pauses[below(m, 3)];
	int64_t jumps[] = { 0, -(int64_t)pause, 5000 * (int64_t)MS, -20000 * (int64_t)MS };
	size_t at;

	if (m->stopped >> vm & 1 || m->stops[vm] == 3)
		return;
	m->stops[vm]++;
	/* Clocks are measured ten times a second; a jump by less than the time between two nodes
	 * can be on either side: no node tells them apart. */
	measure_machine(m, vm);
	some_operations(m, below(m, 4), depth + 1);
	m->stopped |= 1u << vm;
	add(m, OP_STOP, vm, 0);
	some_operations(m, below(m, 6), depth + 1);
	m->now += pause;
	at = add(m, OP_RESUME, vm, 0);
	m->h->ops[at].jump = jumps[below(m, 4)];
	m->stopped &= ~(1u << vm);
	some_operations(m, below(m, 4), depth + 1);
	m->now += m->unit_ns;
	/* An epoch that is never measured has no times at all. */
	measure_machine(m, vm);
}

static void fill(struct maker *m, uint32_t ring)
{
	/* A discard that left a record behind it, or an open event, is no matter; but a held one
	 * would count on room that is gone. */
	close_events(m, ring);
	add(m, OP_FILL, ring, 1 + below(m, 5));
	m->bytes[ring] = m->h->shape.subbuf_size;
}

static void restart(struct maker *m, uint32_t ring)
{
	add(m, OP_RESTART, ring, 0);
	m->open[ring] = 0;
	m->bytes[ring] += 2 * m->h->shape.subbuf_size;
}

static void join(struct maker *m)
{
	uint32_t ring;

	for (ring = 0; m->joined >> ring & 1; ring++)
		;
	if (ring >= m->h->shape.rings || m->stopped >> m->h->vm[ring] & 1)
		return;
	/* A clock goes on between the past and a ring that joins. */
	m->now += m->unit_ns;
	m->joined |= 1u << ring;
	add(m, OP_JOIN, ring, 0);
	measure(m, ring);
	m->now += m->h->bound_ns; /* else its first would be placed before it joined */
}

static void rare(struct maker *m, uint32_t ring, uint32_t depth)
{
	switch (below(m, 8)) {
	case 0:
		/* What lies far from the next node, in an epoch that has none before it, is placed
		 * by the nominal rate: a clock that creeps is not known to better there. */
		if (!m->h->creep)
			stop(m, depth);
		break;
	case 1:
		join(m);
		break;
	case 2:
		if (m->h->shape.mode == XVT_ENABLE_STOP && !depth)
			fill(m, ring);
		break;
	case 3:
		if (!m->held[ring] && !depth && m->bytes[ring] < m->h->shape.subbuf_size)
			restart(m, ring);
		break;
	case 4:
		add(m, OP_BIG, ring, 0);
		break;
	default:
		add(m, OP_MARK, ring, 0);
	}
}

static void one_operation(struct maker *m, uint32_t depth)
{
	const uint32_t ring = choose_ring(m), words = 2 + below(m, 3);

	pass_time(m);
	if (ring == m->h->shape.rings)
		return;
	if (chance(m, 24)) {
		measure(m, ring);
	} else if (!has_room(m, ring, 5)) {
		return;
	} else if (chance(m, 8)) {
		rare(m, ring, depth);
	} else if (!m->held[ring] && m->open[ring] && chance(m, 80)) {
		m->open[ring]--;
		add(m, chance(m, 200) ? OP_COMMIT : OP_DISCARD, ring, 0);
	} else if (!m->held[ring] && m->open[ring] < 2 && chance(m, 30)) {
		size_t at = add(m, OP_OPEN, ring, words);

		hold(m, at, ring, depth);
		m->open[ring]++;
	} else {
		size_t at = add(m, OP_WRITE, ring, words);

		if (!m->held[ring])
			hold(m, at, ring, depth);
	}
}

static void some_operations(struct maker *m, uint32_t count, uint32_t depth)
{
	while (count--)
		one_operation(m, depth);
}

bool history_is_exact(const struct history *h)
{
	return !h->creep && !h->bound_ns;
}

static void make(struct history *h, uint64_t seed, bool reported)
{
	static const uint64_t units[] = { 1, 1000, 100000, 2 * MS };
	struct maker m = { .h = h, .random = seed };
	uint32_t i;

	memset(h, 0, sizeof(*h));
	h->seed = seed;
	h->reported = reported;
	h->shape.rings = 2 + below(&m, 4);
	h->shape.mode = below(&m, 2) ? XVT_ENABLE_STOP : XVT_ENABLE_OVERWRITE;
	h->shape.subbuf_size = 1024u << below(&m, 2);
	h->shape.subbuf_count = 4u << below(&m, 2);
	h->shape.ts_bits = below(&m, 2) ? 0 : 8 + below(&m, 24);
	m.unit_ns = units[below(&m, 4)];
	if (reported && m.unit_ns >= 1000 && chance(&m, 64))
		h->creep = 1 + below(&m, 3);
	if (reported && chance(&m, 64))
		h->bound_ns = 1 + below(&m, 300);
	m.now = 2000 * MS;
	m.quiet = below(&m, h->shape.rings + 1);
	for (i = 0; i < h->shape.rings; i++)
		h->vm[i] = below(&m, 3);
	for (i = 0; i < ENGINE_RINGS_MAX; i++)
		h->offset[i] = (uint64_t)(1 + below(&m, 4)) << 40;
	/* Some are there from the start, the first two at least. */
	for (i = 0; i < 2 || (i < h->shape.rings && chance(&m, 128)); i++)
		join(&m);
	some_operations(&m, 60 + below(&m, 160), 0);
	m.now += m.unit_ns;
	for (i = 0; i < h->shape.rings; i++)
		close_events(&m, i);
	m.now += m.unit_ns + h->bound_ns; /* this last one is later than all others for sure */
	for (i = 0; i < h->shape.rings; i++) {
		if (m.joined >> i & 1)
			measure(&m, i);
	}
}

void history_make(struct history *h, uint64_t seed)
{
	make(h, seed, true);
}

void history_make_untold(struct history *h, uint64_t seed)
{
	make(h, seed, false);
}

void history_free(struct history *h)
{
	free(h->ops);
	h->ops = NULL;
	h->nr_ops = h->room = 0;
}
