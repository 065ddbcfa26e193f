/* SPDX-License-Identifier: GPL-2.0 */
/*
 * map.h - for each ring the map from its guest clock to host time.
 *
 * A map is a list of nodes: (guest clock, host ns, bound). Between two nodes of one epoch it
 * is the straight line through them, so it is continuous and increasing, and a source whose
 * clock creeps (software-emulated vCPUs) is followed with an honest bound instead of being
 * believed constant. A record is placed only once a node at or after it exists, so its time
 * is a function of the recorded nodes and never of when we looked.
 */
#ifndef XVT_CLOCK_H
#define XVT_CLOCK_H

#include "clock/host_clock.h"
#include "base/pool.h"
#include "trace/lines.h"

/*
 * What the drain knows of a record's host time, whatever its stamp says: it was written at or
 * after floor_ns (the ring was proven idle then), and at or before ceiling_ns (it had been
 * copied by then). Decides on which side of a border between two epochs a record lies.
 */
struct xvt_clock_evidence {
	uint64_t floor_ns;
	uint64_t ceiling_ns;
	/* Of floor_ns, what was proven; the rest is the time given to the ring's record before this
	 * one, which the map may have wrong. */
	uint64_t proven_ns;
};

enum xvt_map_result {
	XVT_MAP_OK,    /* between two nodes, or proven to lie beside a border: confirmed */
	XVT_MAP_WAIT,  /* after the last node: a later sample must confirm it */
	XVT_MAP_GUESS, /* extrapolated in a closed map, or on an unprovable side of a border */
	XVT_MAP_DOUBT, /* no epoch that there is can give it a time that agrees with the evidence */
};

#define XVT_STOPS_BEFORE  3
#define XVT_CLOCK_REPORTS 8

/* Changes of the guest's clock that the host's kernel reported: when, and the sum of their sizes.
 */
struct xvt_clock_report {
	uint64_t first_ns;
	uint64_t last_ns;
	uint64_t size_ns;
	uint64_t count;
};

/* One ring's map. Nodes in order of (epoch, guest). */
struct xvt_clock_map {
	struct xvt_clock_node *nodes;
	size_t count;
	size_t room;
	struct xvt_pool *pool;		/* that counts the memory of the nodes; NULL: none */
	struct xvt_clock_node measured; /* the last node that is not the drain's */
	struct {
		uint64_t bound_ns;  /* the most that they told; 0: there are none */
		uint64_t astray_ns; /* the most that they lie off its line at the nominal rate */
		uint64_t beyond_ns; /* and that the clock is proven to have been off it */
	} seen;			    /* the drain's nodes since then */
	const struct xvt_host_clock *host_clock; /* whose knees lie between nodes; NULL: none */
	size_t at;	   /* segment of the last lookup: lookups go forward */
	size_t last_first; /* first node of the last epoch */
	struct {
		size_t from, end;
	} older;     /* where the epoch ends of a node before that, looked up last */
	uint64_t hz; /* nominal rate of the guest's clock, for extrapolation */
	/* Rate of the host's counter where the guest's may tick at it and be set forward now and
	 * then, as KVM does that cannot scale a TSC; 0: the guest's has a rate of its own. */
	uint64_t host_hz;
	uint64_t slack_ns;     /* largest bound of a segment: the map is not wrong by more */
	uint64_t bound_ns_max; /* see xvt_clock_map_bound_ns(), but for what was only seen yet */
	struct {
		uint64_t until_ns; /* values of the clock before it went back reach so far, */
		uint64_t bound_ns; /* by so much: what the segments until then get, */
		uint64_t most_ns;  /* and the largest bound of one with what it gets */
	} reach;		   /* of segments with BACK or CHANGED, see xvt_nodes_settle() */
	uint64_t stop_ns;	   /* the machine's last stop was before this, says its VMM; or 0 */
	uint64_t run_ns;	   /* and it ran again after this; 0: not known, or not exactly */
	uint64_t changes;	   /* how often it has changed */
	/* The stops before it, newest first: a record that waits may have been written before the
	 * last one, and must find its place all the same. */
	uint64_t stops_before[XVT_STOPS_BEFORE];
	/* The machine was stopped or reset: no creep is granted to the next node, nor to any until
	 * one is proven to have been measured after suspect_ns, when that was over or not yet
	 * known. */
	bool suspect;
	uint64_t suspect_ns;
	bool moved; /* the next node begins an epoch: an exact source says so */
	/* Reported changes that no measured node lies behind; oldest first. */
	struct xvt_clock_report reports[XVT_CLOCK_REPORTS];
	size_t nr_reports;
	bool closed; /* nothing more will come: extrapolate instead of waiting */
};

void xvt_clock_map_init(struct xvt_clock_map *m, uint64_t hz);
/* Nothing from before host_ns will be looked up any more: nodes older than that may go. */
void xvt_clock_map_forget(struct xvt_clock_map *m, uint64_t host_ns);
/* Nothing more is looked up: only the last node is kept. */
void xvt_clock_map_trim(struct xvt_clock_map *m);
void xvt_clock_map_fini(struct xvt_clock_map *m);

/*
 * Add a measured node; sets its epoch, flags and segment bound. A node that contradicts
 * the line (guest clock went back, or guest and host time came apart by more than a creep
 * can explain) begins a new epoch; the drain's own nodes are too wide for that. Returns 0, or
 *   -ENOMEM   also when the pool refuses more: nodes that are not needed any more are to be
 *             forgotten, or looked up, before the next one. Nothing has changed
 *   -EALREADY  it was measured before the moment of the last node, or may have been for all that
 *              both bounds say: it is dropped, and no clock went back
 *   -EDOM      a node of the drain's that contradicts the line: a measured one has to tell
 */
int xvt_clock_map_add(struct xvt_clock_map *m, struct xvt_clock_node *node);

/*
 * Place a guest clock value. Values must come in the ring's order. *host_ns is set for every
 * result; for XVT_MAP_WAIT it is where the last node's line leads.
 */
enum xvt_map_result xvt_clock_map_place(struct xvt_clock_map *m, uint64_t guest,
					const struct xvt_clock_evidence *evidence,
					uint64_t *host_ns);

/*
 * The segment in which `guest` lies, which must not be before the value placed last. Returns false
 * where that takes thought (xvt_clock_map_place()): after the last node, or with a later epoch.
 * A segment that is still the right one is left as it is.
 */
bool xvt_clock_map_segment(struct xvt_clock_map *m, uint64_t guest, struct xvt_clock_segment *s);

/*
 * The line on which a value that was placed beyond the nodes lies: a node's, at the ring's rate.
 * Returns false where none leads to that host_ns.
 */
bool xvt_clock_map_beyond(const struct xvt_clock_map *m, uint64_t guest, uint64_t host_ns,
			  struct xvt_clock_segment *s);

/* A guest's clock may creep away from its nominal rate this much in that time before the map
 * calls it a jump. */
uint64_t xvt_clock_creep_ns(uint64_t interval_ns);

/* The ring's clock went back: what follows belongs to the next epoch. Returns false while
 * that epoch has no node yet. */
bool xvt_clock_map_next_epoch(struct xvt_clock_map *m);

/* By how much the map may be wrong about anything that it placed, as far as is known by now: the
 * largest bound of a segment, or more where a value's side of a border is unprovable. */
uint64_t xvt_clock_map_bound_ns(const struct xvt_clock_map *m);

/* The machine's VMM says that it was stopped before `ns`. */
void xvt_clock_map_stopped(struct xvt_clock_map *m, uint64_t ns);
/* It runs again, and says by stamps of its own that nothing was written between the two moments. */
void xvt_clock_map_paused(struct xvt_clock_map *m, uint64_t stop_ns, uint64_t run_ns);

/*
 * The guest's clock was changed by `ticks` of its own at host_ns. Changes may undo each other
 * before the next measured node, which then shows nothing of them; so all of them are in the bound
 * of its segment (XVT_NODE_F_CHANGED). To be called before that node is added.
 */
void xvt_clock_map_reported(struct xvt_clock_map *m, uint64_t host_ns, uint64_t ticks);

/*
 * The rate for what lies far before the first node: the nominal one, unless the nodes of the last
 * epoch show another one, by a formula or by more than a clock may creep.
 */
uint64_t xvt_clock_map_own_hz(const struct xvt_clock_map *m);

/* Last node, or NULL. */
const struct xvt_clock_node *xvt_clock_map_last(const struct xvt_clock_map *m);

/* The straight line through a and b at `guest`; also used by those who verify. */
uint64_t xvt_clock_line(const struct xvt_clock_node *a, const struct xvt_clock_node *b,
			uint64_t guest);

#endif /* XVT_CLOCK_H */
