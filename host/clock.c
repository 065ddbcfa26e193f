// SPDX-License-Identifier: GPL-2.0
/*
 * clock.c - the piecewise map of a ring. Pure arithmetic; all products in 128 bits.
 */
#include "clock.h"

#include <stdlib.h>

typedef unsigned __int128 u128;

/* Guest and host may creep apart this much between two nodes before it counts as a jump. */
#define CREEP_NS_MAX   20000000ull
#define CREEP_PER_1024 64 /* or 1/16 of the interval */
/* Nodes kept of one ring: a quarter of an hour at ten a second. */
#define NODES_MAX      8192

void xvt_clock_map_init(struct xvt_clock_map *m, uint64_t hz)
{
	memset(m, 0, sizeof(*m));
	m->hz = hz;
}

void xvt_clock_map_fini(struct xvt_clock_map *m)
{
	free(m->nodes);
	m->nodes = NULL;
	m->count = 0;
}

const struct xvt_clock_node *xvt_clock_map_last(const struct xvt_clock_map *m)
{
	return m->count ? &m->nodes[m->count - 1] : NULL;
}

/* Nodes before the segment in use are never needed again. */
static void drop_used(struct xvt_clock_map *m)
{
	if (m->at < 64)
		return;
	memmove(m->nodes, m->nodes + m->at, (m->count - m->at) * sizeof(*m->nodes));
	m->count -= m->at;
	m->at = 0;
}

static uint64_t ticks_ns(const struct xvt_clock_map *m, uint64_t ticks)
{
	u128 ns = (u128)ticks * 1000000000u / m->hz;

	return ns > INT64_MAX ? INT64_MAX : (uint64_t)ns; /* 292 years; sums stay in 64 bits */
}

int xvt_clock_map_add(struct xvt_clock_map *m, struct xvt_clock_node *node)
{
	const struct xvt_clock_node *last = xvt_clock_map_last(m);
	uint64_t bound = node->bound_ns;

	node->flags = XVT_NODE_F_FIRST;
	node->epoch = last ? last->epoch + 1 : 0;
	if (last && node->guest > last->guest && node->host_ns > last->host_ns) {
		uint64_t guest_ns = ticks_ns(m, node->guest - last->guest);
		uint64_t host_ns = node->host_ns - last->host_ns;
		/* Unsigned: guest_ns is whatever the guest answered, and may be any number. */
		uint64_t apart = host_ns > guest_ns ? host_ns - guest_ns : guest_ns - host_ns;
		uint64_t limit = host_ns / 1024 * CREEP_PER_1024;

		if (limit < CREEP_NS_MAX)
			limit = CREEP_NS_MAX;
		/* Bounds are measuring error, not creep. */
		limit += last->bound_ns + node->bound_ns;
		if (apart <= limit) {
			node->flags = 0;
			node->epoch = last->epoch;
			bound = last->bound_ns > bound ? last->bound_ns : bound;
			bound += apart;
		}
	}
	bound += XVT_STAMP_SLACK_NS;
	node->segment_bound_ns = bound;
	if (bound > m->bound_ns_max)
		m->bound_ns_max = bound;
	drop_used(m);
	if (m->count >= NODES_MAX) {
		/* A ring that never records looks nothing up, so nothing was dropped above. */
		if (m->at < NODES_MAX / 2)
			m->at = NODES_MAX / 2;
		drop_used(m);
	}
	if (m->count == m->room) {
		size_t room = m->room ? m->room * 2 : 128;
		struct xvt_clock_node *grown = realloc(m->nodes, room * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		m->nodes = grown;
		m->room = room;
	}
	m->nodes[m->count++] = *node;
	return 0;
}

uint64_t xvt_clock_line(const struct xvt_clock_node *a, const struct xvt_clock_node *b,
			uint64_t guest)
{
	/* Unsigned: both differences are positive, and their product fits whatever they are. */
	return a->host_ns + (uint64_t)((u128)(guest - a->guest) * (b->host_ns - a->host_ns) /
				       (b->guest - a->guest));
}

/*
 * Does `guest` lie at or beyond the node after n? An epoch that began with a jump forward is
 * entered by the first value at or after its first node; one that began with a jump back
 * only by xvt_clock_map_next_epoch(), because older values may still be on their way.
 */
static bool reached(const struct xvt_clock_node *n, const struct xvt_clock_node *next,
		    uint64_t guest)
{
	if (next->flags & XVT_NODE_F_FIRST)
		return next->guest > n->guest && guest >= next->guest;
	return guest > next->guest;
}

enum xvt_map_result xvt_clock_map_place(struct xvt_clock_map *m, uint64_t guest, uint64_t *host_ns)
{
	const struct xvt_clock_node *n;

	if (!m->count) {
		*host_ns = 0;
		return m->closed ? XVT_MAP_GUESS : XVT_MAP_WAIT;
	}
	while (m->at + 1 < m->count && reached(&m->nodes[m->at], &m->nodes[m->at + 1], guest))
		m->at++;
	n = &m->nodes[m->at];
	if (guest < n->guest) {
		/* Before the first node of its epoch: it can only be guessed from that node. */
		uint64_t back = ticks_ns(m, n->guest - guest);

		*host_ns = back < n->host_ns ? n->host_ns - back : 0;
		return XVT_MAP_GUESS;
	}
	if (m->at + 1 < m->count && !(n[1].flags & XVT_NODE_F_FIRST)) {
		*host_ns = xvt_clock_line(n, n + 1, guest);
		return XVT_MAP_OK;
	}
	if (guest == n->guest) {
		*host_ns = n->host_ns;
		return XVT_MAP_OK;
	}
	*host_ns = n->host_ns + ticks_ns(m, guest - n->guest);
	if (m->at + 1 < m->count) {
		/* Between two epochs: which side is not provable, but not after the border. */
		if (*host_ns > n[1].host_ns)
			*host_ns = n[1].host_ns;
		return XVT_MAP_GUESS;
	}
	if (m->closed)
		return XVT_MAP_GUESS;
	return XVT_MAP_WAIT;
}

bool xvt_clock_map_next_epoch(struct xvt_clock_map *m)
{
	size_t i;

	for (i = m->at + 1; i < m->count; i++) {
		if (m->nodes[i].flags & XVT_NODE_F_FIRST) {
			m->at = i;
			return true;
		}
	}
	return false;
}
