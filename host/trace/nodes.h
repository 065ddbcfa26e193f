/* SPDX-License-Identifier: GPL-2.0 */
/*
 * nodes.h - bounds of clock nodes. A node of a file says how far the map may be off between the
 * node before it and itself; two kinds of nodes say it for their neighbours, too.
 */
#ifndef XVT_NODES_H
#define XVT_NODES_H

#include "trace/format.h"

/* How many nodes right before nodes[i] are the drain's and have their bounds from it
 * (XVT_NODE_F_SINCE). All of `nodes` are of one ring, in the file's order. */
size_t xvt_nodes_seen(const struct xvt_clock_node *nodes, size_t i);
/* Not in a file: the segment may hold events of one in which the clock was changed, as reported. */
#define XVT_NODE_NEAR	     (1u << 31)
/* Not in a file: the segment may hold events of one in which the clock may have gone back. */
#define XVT_NODE_BESIDE_BACK (1u << 30)
/* Give these bounds to all of them; and those of segments in which the clock may have gone back
 * (XVT_NODE_F_CHANGED, XVT_NODE_F_BACK) to the segments beside them that may hold their events.
 * Returns 0 or -ENOMEM. */
int xvt_nodes_settle(struct xvt_clock_node *nodes, size_t count);

#endif /* XVT_NODES_H */
