/* SPDX-License-Identifier: GPL-2.0 */
/*
 * reclock_map.h - the recorded maps of a trace, and better ones of all its samples. While it is
 * recorded, a node is made of the samples of one burst; afterwards those of a whole epoch are
 * there (fit.h). Memory: 32 bytes a sample, 48 a node, 32 for each of both in the new map.
 */
#ifndef XVT_RECLOCK_MAP_H
#define XVT_RECLOCK_MAP_H

#include "trace/read.h"

/* A new map moves no time further than this, so that events can be put in order again with
 * memory for so much of the trace. What would be moved further is kept. */
#define XVT_RECLOCK_REACH_NS 100000000u

/* The new map: between two of them the straight line, as with nodes. */
struct xvt_reclock_knot {
	uint64_t guest;
	uint64_t host_ns;
	uint64_t bound_ns;     /* from the knot before it to here; it has the stamp's slack */
	uint64_t rec_bound_ns; /* the same of the recorded map */
};

struct xvt_reclock_epoch {
	size_t first; /* recorded nodes [first, end) */
	size_t end;
	size_t knot_first;
	size_t knot_end;
	bool line; /* explanations that fit all samples; see fit.h */
	bool gain;
};

struct xvt_reclock_ring {
	struct xvt_clock_node *nodes;
	size_t node_count;
	struct xvt_reclock_knot *knots;
	size_t knot_count;
	struct xvt_reclock_epoch *epochs;
	size_t epoch_count;
	uint64_t hz;	 /* beyond the nodes */
	bool host_ticks; /* its clock and the host's are of one kind */
	uint64_t samples;
	uint64_t moved_ns; /* the most that a time is moved */
};

/* One for each ring of the trace. Returns 0, -ENOMEM or a read error. */
int xvt_reclock_maps_new(struct xvt_reclock_ring **out, struct xvt_trace *t);
void xvt_reclock_maps_free(struct xvt_reclock_ring *rings, uint32_t count);

/* The maps of one epoch; beyond its ends they go on with the nominal rate. */
uint64_t xvt_reclock_recorded_at(const struct xvt_reclock_ring *r,
				 const struct xvt_reclock_epoch *e, uint64_t guest);
uint64_t xvt_reclock_new_at(const struct xvt_reclock_ring *r, const struct xvt_reclock_epoch *e,
			    uint64_t guest);
/* One node's, at the nominal rate. */
uint64_t xvt_reclock_extrapolate(const struct xvt_reclock_ring *r, const struct xvt_clock_node *n,
				 uint64_t guest);

/*
 * How bounds changed, in ns: the largest, and the one that holds for half of the measured time.
 * Returns 0, -ENOENT if the ring has no two nodes in one epoch, or -ENOMEM.
 */
struct xvt_reclock_change {
	uint64_t max_before;
	uint64_t max_after;
	uint64_t half_before;
	uint64_t half_after;
};

int xvt_reclock_change(const struct xvt_reclock_ring *r, struct xvt_reclock_change *c);

#endif /* XVT_RECLOCK_MAP_H */
