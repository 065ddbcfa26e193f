// SPDX-License-Identifier: GPL-2.0
/* nodes.c - see nodes.h. */
#include "trace/nodes.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/u64.h"

size_t xvt_nodes_seen(const struct xvt_clock_node *nodes, size_t i)
{
	size_t n = 0;

	if (!(nodes[i].flags & XVT_NODE_F_SINCE) || nodes[i].source == XVT_SOURCE_DRAIN)
		return 0;
	while (n < i && nodes[i - n - 1].source == XVT_SOURCE_DRAIN &&
	       nodes[i - n - 1].epoch == nodes[i].epoch)
		n++;
	return n;
}

/* The bound of a segment within which the clock may have gone back; 0: it did not. known: it was
 * reported, so it did, whatever a line through other nodes seems to say. */
static uint64_t went_back_ns(const struct xvt_clock_node *n, bool known)
{
	uint32_t flags = XVT_NODE_F_CHANGED;

	if (!known || n->flags & XVT_NODE_F_FIRST)
		flags |= XVT_NODE_F_BACK;
	return n->flags & flags ? n->segment_bound_ns : 0;
}

/*
 * Where a clock went back it had values of the time before the node, or after it: such an event
 * lies beside its segment, by as much as the bound says, and off the line there as well. more[k]:
 * what the segment that ends at nodes[k] gets for that.
 */
static void reach_forward(const struct xvt_clock_node *nodes, size_t count, bool known,
			  uint64_t *more)
{
	uint64_t until_ns = 0, bound = 0;

	for (size_t k = 1; k < count; k++) {
		const uint64_t own = went_back_ns(&nodes[k], known);

		bound = nodes[k - 1].host_ns <= until_ns ? bound : 0;
		more[k] = bound;
		if (own)
			until_ns = xvt_u64_larger(until_ns, xvt_u64_sum(nodes[k].host_ns, own));
		bound = xvt_u64_larger(bound, own);
	}
}

static void reach_back(const struct xvt_clock_node *nodes, size_t count, bool known, uint64_t *more)
{
	uint64_t from_ns = UINT64_MAX, bound = 0;

	for (size_t k = count; k-- > 1;) {
		const uint64_t own = went_back_ns(&nodes[k], known), ns = nodes[k - 1].host_ns;

		bound = nodes[k].host_ns >= from_ns ? bound : 0;
		more[k] = xvt_u64_larger(more[k], bound);
		if (own && (ns < own ? 0 : ns - own) < from_ns)
			from_ns = ns < own ? 0 : ns - own;
		bound = xvt_u64_larger(bound, own);
	}
}

static int spread_bounds(struct xvt_clock_node *nodes, size_t count)
{
	uint64_t *more, *known;

	if (!count)
		return 0;
	more = calloc(count, 2 * sizeof(*more));
	if (!more)
		return -ENOMEM;
	known = more + count;
	reach_forward(nodes, count, false, more);
	reach_back(nodes, count, false, more);
	reach_forward(nodes, count, true, known);
	reach_back(nodes, count, true, known);
	for (size_t k = 1; k < count; k++) {
		if (nodes[k].flags & XVT_NODE_F_FIRST)
			continue;
		nodes[k].segment_bound_ns = xvt_u64_sum(nodes[k].segment_bound_ns, more[k]);
		if (more[k])
			nodes[k].flags |= XVT_NODE_BESIDE_BACK;
		if (known[k])
			nodes[k].flags |= XVT_NODE_NEAR;
	}
	free(more);
	return 0;
}

int xvt_nodes_settle(struct xvt_clock_node *nodes, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		for (size_t n = xvt_nodes_seen(nodes, i); n; n--) {
			struct xvt_clock_node *seen = &nodes[i - n];

			if (seen->segment_bound_ns > nodes[i].segment_bound_ns)
				seen->segment_bound_ns = nodes[i].segment_bound_ns;
			seen->flags |= nodes[i].flags & XVT_NODE_F_OPEN;
		}
	}
	return spread_bounds(nodes, count);
}
