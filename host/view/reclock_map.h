/* SPDX-License-Identifier: GPL-2.0 */
/*
 * reclock_map.h - the recorded maps of a trace, and better maps from all its samples. While
 * recording, a node is made from the samples of one burst; afterwards all samples of an epoch are
 * known (fit.h). Memory: 32 bytes a sample, 48 a node, and 32 for each of both in the new map.
 */
#ifndef XVT_RECLOCK_MAP_H
#define XVT_RECLOCK_MAP_H

#include "trace/lines.h"
#include "trace/read.h"

/* A new map moves no time further than this, which limits the memory for sorting the events again.
 * An epoch whose new map would move a time further keeps its recorded map. */
#define XVT_RECLOCK_REACH_NS 100000000u

/* A point of the new map, which is a straight line between two knots, as between nodes. */
struct xvt_reclock_knot {
	uint64_t guest;
	uint64_t host_ns;
	uint64_t bound_ns;     /* error bound from the knot before, with the stamp's slack */
	uint64_t rec_bound_ns; /* the same for the recorded map */
};

struct xvt_reclock_epoch {
	size_t first; /* recorded nodes [first, end) */
	size_t end;
	size_t knot_first;
	size_t knot_end;
	bool refined;  /* the new map is made of the samples; see fit.h */
	bool straight; /* a straight line crosses all of them */
	/* Of the last value that was looked up: the number of nodes and of knots at or before it.
	 */
	size_t nodes_to;
	size_t knots_to;
};

struct xvt_reclock_ring {
	struct xvt_clock_node *nodes;
	size_t node_count;
	struct xvt_reclock_knot *knots;
	size_t knot_count;
	struct xvt_reclock_epoch *epochs;
	size_t epoch_count;
	uint64_t hz;	 /* nominal rate, beyond the nodes */
	bool hosts_kind; /* the ring's clock is of the kind of the host's */
	bool host_ticks; /* both are TSCs */
	uint32_t clock_traits;
	uint32_t clock_step;
	uint64_t samples;
	uint64_t moved_ns; /* the most by which a time is moved */
};

/* Make the maps: *out has an entry for each ring of the trace. Returns 0, -ENOMEM or a read error.
 */
int xvt_reclock_maps_new(struct xvt_reclock_ring **out, struct xvt_trace *t);
void xvt_reclock_maps_free(struct xvt_reclock_ring *rings, uint32_t count);

/* Host time in ns by the recorded or the new map of one epoch; beyond the epoch's ends at the
 * nominal rate. */
uint64_t xvt_reclock_recorded_at(const struct xvt_reclock_ring *r, struct xvt_reclock_epoch *e,
				 uint64_t guest);
uint64_t xvt_reclock_new_at(const struct xvt_reclock_ring *r, struct xvt_reclock_epoch *e,
			    uint64_t guest);
/* The usual case of both: whether the recorded map gives rec_ns between two of its nodes, and then
 * *ns is the new time, which is no more than r->moved_ns and 1 ns away. False says nothing. */
bool xvt_reclock_move(const struct xvt_reclock_ring *r, struct xvt_reclock_epoch *e, uint64_t guest,
		      uint64_t rec_ns, uint64_t *ns);

/* Both maps where each is one line: between two nodes and between two knots. */
struct xvt_reclock_lines {
	struct xvt_clock_segment recorded; /* from node to node */
	struct xvt_clock_segment now;	   /* from knot to knot */
	uint64_t after;	   /* they hold for values of the guest's clock above this */
	uint64_t before;   /* and below this */
	uint64_t bound_ns; /* of the new map there */
};

/* Get the lines around a value. Returns false where a map is none there, or goes back. */
bool xvt_reclock_lines_at(const struct xvt_reclock_ring *r, struct xvt_reclock_epoch *e,
			  uint64_t guest, struct xvt_reclock_lines *lines);
/* The bound of the new map there, if it gives the host time `ns` of this value to 1 ns; else
 * UINT64_MAX. */
uint64_t xvt_reclock_bound_at(const struct xvt_reclock_ring *r, struct xvt_reclock_epoch *e,
			      uint64_t guest, uint64_t ns);
/* Host time in ns, extrapolated from one node at the nominal rate. */
uint64_t xvt_reclock_extrapolate(const struct xvt_reclock_ring *r, const struct xvt_clock_node *n,
				 uint64_t guest);

/*
 * Bounds before and after, in ns: the largest, and the median by measured time. Returns 0, -ENOENT
 * if the ring has no two nodes in one epoch, or -ENOMEM.
 */
struct xvt_reclock_change {
	uint64_t max_before;
	uint64_t max_after;
	uint64_t half_before;
	uint64_t half_after;
};

int xvt_reclock_change(const struct xvt_reclock_ring *r, struct xvt_reclock_change *c);

#endif /* XVT_RECLOCK_MAP_H */
