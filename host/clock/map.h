/* SPDX-License-Identifier: GPL-2.0 */
/*
 * map.h - the map from a ring's guest clock to host time.
 *
 * A map is a list of nodes: (guest clock, host ns, bound). Between two nodes of one epoch it is the
 * straight line through them, so it is continuous and increasing. A clock that creeps
 * (software-emulated vCPUs) is followed, and the bound covers the creep. A record is placed only
 * when a node at or after it exists. The time is therefore a function of the recorded nodes, and
 * does not depend on when the recorder looked.
 */
#ifndef XVT_CLOCK_H
#define XVT_CLOCK_H

#include "clock/host_clock.h"
#include "clock/rate.h"
#include "base/pool.h"
#include "trace/lines.h"
#include "trace/nodes.h"

/*
 * Statements on a record's host time that do not depend on its stamp. The record was written at or
 * after floor_ns (the ring was proven idle then) and at or before ceiling_ns (it had been copied by
 * then). Nothing that was concluded from a clock value may enter these: a guess about one record
 * would become the proof of the next.
 */
struct xvt_clock_evidence {
	uint64_t floor_ns;
	uint64_t ceiling_ns;
	/* A measurement at or after this is awaited before a time between two nodes is believed: a
	 * clock that was set back meanwhile has old values again. 0: none will come. */
	uint64_t confirm_ns;
};

/* Where a map puts a record. */
struct xvt_clock_placed {
	uint64_t host_ns;
	/* host_ns is by the line between two nodes, and nothing else is possible: the bound of that
	 * segment holds. */
	bool on_line;
	uint64_t segment_bound_ns; /* that bound, if on_line */
	/* Else the set of times that the record can have: host_ns is a choice inside it. */
	uint64_t lo_ns;
	uint64_t hi_ns;
};

/* The bound of a time that no segment gives: its distance to the far end of its set. */
static inline uint64_t xvt_clock_placed_bound_ns(const struct xvt_clock_placed *p)
{
	const uint64_t below = p->host_ns - p->lo_ns, above = p->hi_ns - p->host_ns;

	return below > above ? below : above;
}

enum xvt_map_result {
	XVT_MAP_OK,    /* between two nodes, or on the only side of a border that is possible */
	XVT_MAP_WAIT,  /* a later sample must confirm it */
	XVT_MAP_GUESS, /* extrapolated in a closed map, or on an unprovable side of a border */
	XVT_MAP_DOUBT, /* no known epoch gives it a time that agrees with the evidence */
};

#define XVT_STOPS_BEFORE  3
#define XVT_CLOCK_REPORTS 8
#define XVT_CLOCK_CHANGES 32 /* of gaps that are remembered */

/* Changes of the guest's clock that the host's kernel reported: their times, the sum of their sizes
 * in ns, and their number. */
struct xvt_clock_report {
	uint64_t first_ns;
	uint64_t last_ns;
	uint64_t size_ns;
	uint64_t count;
};

/* A clock gained `ns` on its nominal rate in host_ns, give or take doubt_ns; it lost if `lost`. */
struct xvt_clock_gain {
	uint64_t ns;
	uint64_t host_ns; /* 0: unknown */
	uint64_t doubt_ns;
	bool lost;
};

/* How far a gap's gain is, at least and at most, from what those before it make of its length. */
struct xvt_clock_change {
	uint64_t least_ns;
	uint64_t most_ns;
};

/* The map of a ring. Nodes are ordered by (epoch, guest). */
struct xvt_clock_map {
	struct xvt_clock_node *nodes;
	size_t count;
	size_t room;
	struct xvt_pool *pool;		/* counts the memory of the nodes; NULL: not counted */
	struct xvt_clock_node measured; /* the last node of a source other than the drain */
	struct {
		uint64_t bound_ns; /* the largest bound of their segments; 0: no such node */
		/* the most that they lie off the line from `measured` at the nominal rate */
		uint64_t astray_ns;
		/* the most that the clock is proven to have been off that line */
		uint64_t beyond_ns;
	} seen;					 /* the drain's nodes since `measured` */
	const struct xvt_host_clock *host_clock; /* knees of it may lie between nodes; NULL: none */
	size_t at; /* segment of the last lookup; lookups only go forward */
	/* Host time of the oldest record that was placed and is in no file yet; 0: there is none.
	 * The node's segment stays: a next file of the set needs the nodes. */
	uint64_t waits_ns;
	size_t last_first; /* first node of the last epoch */
	struct {
		size_t from, end;
	} older;     /* cache of next_first(): the epoch's end for a node of an older epoch */
	uint64_t hz; /* nominal rate of the guest's clock, for extrapolation */
	uint64_t hz_doubt_ppb; /* how far that may be off, if it was measured */
	bool hz_open;	       /* that is by an expected rate: nodes get XVT_NODE_F_OPEN */
	uint32_t clock_traits; /* XVT_CLOCK_T_* */
	uint32_t clock_step;   /* ticks by which its values differ; at most 1: any */
	bool step_open;	       /* all answers had one value, so it may have had that for long */
	/* Gains of the clock from one measured node to the next, newest first. */
	struct xvt_clock_gain gains[2];
	struct {
		uint64_t least_ns[XVT_CLOCK_CHANGES];
		uint64_t most_ns[XVT_CLOCK_CHANGES];
		size_t count;
	} gaps; /* how the gains of the last ones changed, in any order */
	struct {
		struct xvt_clock_node from;		 /* begin of the next one; source 0: none */
		struct xvt_rate_gap kept[XVT_RATE_GAPS]; /* in any order */
		size_t count;
	} even; /* the last gaps that are fine enough to say how even the clock is */
	/*
	 * Rate of the host's counter, Hz, if the guest's may tick at it and be set forward now and
	 * then, as KVM does on a host that cannot scale a TSC. 0: the guest's clock has a rate of
	 * its own.
	 */
	uint64_t host_hz;
	bool host_ticks; /* it is of the host's kind; else its gaps say how far it is set forward */
	uint64_t slack_ns;     /* largest bound of a segment: the most that the map is wrong by */
	uint64_t bound_ns_max; /* as xvt_clock_map_bound_ns(), without `seen` and `reach` */
	struct {
		/* host time up to which values from before the clock went back can lie */
		uint64_t until_ns;
		uint64_t bound_ns; /* to be added to the bounds of segments up to then */
		uint64_t most_ns;  /* the largest bound of a segment with that addition */
	} reach;		   /* of segments with BACK or CHANGED, see xvt_nodes_settle() */
	uint64_t stop_ns;	   /* the VMM reports that the last stop was before this; 0: none */
	uint64_t run_ns;	   /* the machine ran again after this; 0: unknown or not exact */
	uint64_t changes;	   /* number of changes to the nodes */
	/* Earlier stops, newest first. A record that waits may have been written before the last
	 * stop, and must still be placed. */
	uint64_t stops_before[XVT_STOPS_BEFORE];
	/*
	 * The machine was stopped or reset: no creep is granted to the next nodes, until one is
	 * proven to have been measured after suspect_ns, the host time when the disturbance was
	 * over or not yet known.
	 */
	bool suspect;
	uint64_t suspect_ns;
	bool moved; /* the next node begins an epoch: an exact source reported a change */
	/* Reported changes without a measured node after them; oldest first. */
	struct xvt_clock_report reports[XVT_CLOCK_REPORTS];
	size_t nr_reports;
	bool closed; /* no node will follow: extrapolate instead of waiting */
};

/* Whether a rate that a guest claims, or that its answers give, can be that of a counter. Lines of
 * a map at any other rate would not fit the file, which takes a run of ticks below 2^63. */
static inline bool xvt_clock_plausible_hz(uint64_t hz)
{
	return hz >= 1000 && hz <= 20000000000ull;
}

/* hz: plausible. */
void xvt_clock_map_init(struct xvt_clock_map *m, uint64_t hz);
/* No value from before host_ns will be looked up any more: older nodes may be dropped. */
void xvt_clock_map_forget(struct xvt_clock_map *m, uint64_t host_ns);
/* No value will be looked up any more: keeps only the last node. */
void xvt_clock_map_trim(struct xvt_clock_map *m);
void xvt_clock_map_fini(struct xvt_clock_map *m);

/*
 * Adds a node; sets its epoch, flags and segment bound. A node that contradicts the line begins a
 * new epoch: the guest clock went back, or guest and host time came apart by more than a creep
 * explains. The drain's own nodes are too wide to begin an epoch. Of the node's flags
 * XVT_NODE_F_TAKEN is kept, which is of a map's only node. Returns 0, or
 *   -ENOMEM    no memory, or the pool refuses more: nodes must be forgotten or passed by lookups
 *              before the next one. The map is unchanged
 *   -EALREADY  it was measured before the last node, or may have been within both bounds: it is
 *              dropped; the clock did not go back
 *   -EDOM      a node of the drain's that contradicts the line: a measured one must decide
 */
int xvt_clock_map_add(struct xvt_clock_map *m, struct xvt_clock_node *node);

/*
 * Places a guest clock value. Values must come in the ring's order. *placed is set for every
 * result; for XVT_MAP_WAIT host_ns is extrapolated from the last node. Between two epochs the clock
 * may have jumped any number of times, so only the evidence and the times of the nodes bound a
 * record there: [lo_ns, hi_ns] is all that they leave.
 */
enum xvt_map_result xvt_clock_map_place(struct xvt_clock_map *m, uint64_t guest,
					const struct xvt_clock_evidence *evidence,
					struct xvt_clock_placed *placed);

/*
 * Gives the segment in which `guest` lies; `guest` must not be before the value placed last.
 * Returns false for a value that needs xvt_clock_map_place(): one after the last node, or with a
 * later epoch present. A segment that is still valid is left unchanged.
 */
bool xvt_clock_map_segment(struct xvt_clock_map *m, uint64_t guest, struct xvt_clock_segment *s);

/* Gives the line of a value that was placed beyond the nodes: through a node, at the ring's rate.
 * Returns false if no such line leads to host_ns. */
bool xvt_clock_map_beyond(const struct xvt_clock_map *m, uint64_t guest, uint64_t host_ns,
			  struct xvt_clock_segment *s);

/* Returns true for a value before the map's very first node, or behind one that is no measurement
 * of this ring. Such values on one side of it are guesses by one line, in the set that the evidence
 * leaves. */
bool xvt_clock_map_unmeasured(const struct xvt_clock_map *m, uint64_t guest);

/* The ring's clock went back: the values that follow belong to the next epoch. Returns false while
 * that epoch has no node. */
bool xvt_clock_map_next_epoch(struct xvt_clock_map *m);

/* The most, in ns, that the map may be wrong about any value placed, as far as known now: the
 * largest bound of a segment, or more where a value's side of a border is unprovable. */
uint64_t xvt_clock_map_bound_ns(const struct xvt_clock_map *m);

/* The machine's VMM reports that it was stopped before `ns`. */
void xvt_clock_map_stopped(struct xvt_clock_map *m, uint64_t ns);
/* The machine runs again, and its stamps show that nothing was written between the two moments. */
void xvt_clock_map_paused(struct xvt_clock_map *m, uint64_t stop_ns, uint64_t run_ns);

/*
 * The guest's clock was changed by `ticks` of its own at host_ns. Changes may undo each other
 * before the next measured node, which then does not show them; so the bound of its segment
 * includes all of them (XVT_NODE_F_CHANGED). Must be called before that node is added.
 */
void xvt_clock_map_reported(struct xvt_clock_map *m, uint64_t host_ns, uint64_t ticks);

/* The rate for values far before the first node, Hz: the nominal one, unless the nodes of the last
 * epoch show another one, by a formula or by more than a clock may creep. */
uint64_t xvt_clock_map_own_hz(const struct xvt_clock_map *m);

/* True if the values looked up now may belong to an epoch before the last one. */
static inline bool xvt_clock_map_at_border(const struct xvt_clock_map *m)
{
	return m->at < m->last_first;
}

/* Returns the last node, or NULL. */
const struct xvt_clock_node *xvt_clock_map_last(const struct xvt_clock_map *m);

#endif /* XVT_CLOCK_H */
