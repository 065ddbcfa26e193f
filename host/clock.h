/* SPDX-License-Identifier: GPL-2.0 */
/*
 * clock.h - for each ring the map from its guest clock to host time.
 *
 * A map is a list of nodes: (guest clock, host ns, bound). Between two nodes of one epoch it
 * is the straight line through them, so it is continuous and increasing, and a source whose
 * clock creeps (software-emulated vCPUs) is followed with an honest bound instead of being
 * believed constant. A record is placed only once a node at or after it exists, so its time
 * is a function of the recorded nodes and never of when we looked.
 */
#ifndef XVT_CLOCK_H
#define XVT_CLOCK_H

#include "clock_host.h"
#include "trace_format.h"

/*
 * A writer reads its clock unordered, because an ordered read costs as much again. The value may
 * be that of a moment before an older load has come from memory, or after a younger store was
 * begun: as long as a miss to memory takes. It is part of every event's bound.
 */
#define XVT_STAMP_SLACK_NS 100u

enum xvt_map_result {
	XVT_MAP_OK,    /* between two nodes: confirmed */
	XVT_MAP_WAIT,  /* after the last node: a later sample must confirm it */
	XVT_MAP_GUESS, /* outside the nodes of a closed epoch: extrapolated, unconfirmed */
};

/* One ring's map. Nodes in order of (epoch, guest). */
struct xvt_clock_map {
	struct xvt_clock_node *nodes;
	size_t count;
	size_t room;
	size_t at;   /* segment of the last lookup: lookups go forward */
	uint64_t hz; /* nominal rate of the guest's clock, for extrapolation */
	uint64_t bound_ns_max;
	bool closed; /* nothing more will come: extrapolate instead of waiting */
};

void xvt_clock_map_init(struct xvt_clock_map *m, uint64_t hz);
void xvt_clock_map_fini(struct xvt_clock_map *m);

/*
 * Add a measured node; sets its epoch, FIRST flag and segment bound. A node that contradicts
 * the line (guest clock went back, or guest and host time came apart by more than a creep
 * can explain) begins a new epoch. Returns 0 or -ENOMEM.
 */
int xvt_clock_map_add(struct xvt_clock_map *m, struct xvt_clock_node *node);

/* Place a guest clock value. Values must come in the ring's order. */
enum xvt_map_result xvt_clock_map_place(struct xvt_clock_map *m, uint64_t guest, uint64_t *host_ns);

/* The ring's clock went back: what follows belongs to the next epoch. Returns false while
 * that epoch has no node yet. */
bool xvt_clock_map_next_epoch(struct xvt_clock_map *m);

/* Last node, or NULL. */
const struct xvt_clock_node *xvt_clock_map_last(const struct xvt_clock_map *m);

/* The straight line through a and b at `guest`; also used by those who verify. */
uint64_t xvt_clock_line(const struct xvt_clock_node *a, const struct xvt_clock_node *b,
			uint64_t guest);

#endif /* XVT_CLOCK_H */
