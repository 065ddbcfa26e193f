/* SPDX-License-Identifier: GPL-2.0 */
/*
 * reclock.h - give a trace's events new times, from all clock samples of the trace together. The
 * file, which has the raw clock values and all samples, is not changed.
 *
 * An event's epoch is the one whose recorded map gives the event's recorded time; the new map of
 * that epoch gives the new time. Within a ring the order never changes. No event is moved further
 * than the maps differ, so a queue sorts the events again: it holds the events within twice that
 * difference, at most twice XVT_RECLOCK_REACH_NS, and at most 64 MiB of them. Where these are more,
 * an event may come after one of another ring that is later. Late events move to their place in
 * time.
 */
#ifndef XVT_RECLOCK_H
#define XVT_RECLOCK_H

#include "view/reclock_map.h"
#include "trace/cursor.h"

struct xvt_reclock;

/* Bytes of events that wait for those before them, at most. Tests make it smaller. */
extern size_t xvt_reclock_waiting_most;

/* Reads all clock chunks. Returns 0, -ENOMEM or a read error. */
int xvt_reclock_new(struct xvt_reclock **out, struct xvt_trace *t);
void xvt_reclock_free(struct xvt_reclock *rc);

/*
 * For a caller that reads the events itself, each lane of a ring in its order, and does not call
 * xvt_reclock_begin(): returns the event's new time. *bound_ns is that of its recorded time, and
 * becomes that of the new one; XVT_NO_BOUND: there is none.
 */
uint64_t xvt_reclock_place_ns(struct xvt_reclock *rc, const struct xvt_event_hdr *h,
			      uint64_t *bound_ns);

/*
 * For such a caller, which needs the bounds alone: returns whether the event's recorded time and
 * its new time have the bounds that xvt_reclock_place_ns() was given and gave for the event before
 * it in its lane. The function need not be called for this event then.
 */
bool xvt_reclock_goes_on(struct xvt_reclock *rc, const struct xvt_event_hdr *h);

/*
 * Where a lane of a ring is, for such a caller: the recorded time of its newest event, that event's
 * new time, and its epoch. All that the lane's next events get depends on these three alone.
 */
struct xvt_reclock_place {
	uint64_t epoch;
	uint64_t rec_ns;
	uint64_t now_ns;
};

/* Get or set the place of a known ring's lane. After a set, xvt_reclock_goes_on() returns false for
 * the ring until its next event is placed. */
struct xvt_reclock_place xvt_reclock_lane(const struct xvt_reclock *rc, uint32_t ring, bool late);
void xvt_reclock_lane_set(struct xvt_reclock *rc, uint32_t ring, bool late,
			  const struct xvt_reclock_place *place);

/* Begin to read the events with from_ns <= new time <= to_ns, or begin anew with others. Returns as
 * xvt_cursor_init(). */
int xvt_reclock_begin(struct xvt_reclock *rc, uint64_t from_ns, uint64_t to_ns);

/*
 * The same for a part of a trace that is read in parts: the events are exactly those of that range
 * that a reader of the whole trace gives. An event's time may depend on those before it in its
 * ring, so some of these are read first; where that does not suffice, all of them.
 */
int xvt_reclock_begin_part(struct xvt_reclock *rc, uint64_t from_ns, uint64_t to_ns);

/* Have a bound for each event; before xvt_reclock_begin(). Returns where xvt_reclock_next() puts
 * the bound of the event's new time, in ns; XVT_NO_BOUND: there is none. */
const uint64_t *xvt_reclock_want_bounds(struct xvt_reclock *rc);

/* Bounds of the recorded times, with each ring's counters. They are the reclock's. */
const struct xvt_bounds *xvt_reclock_bounds(const struct xvt_reclock *rc);

/* As xvt_cursor_next(), in order of (new time, VM, ring, position). */
int xvt_reclock_next(struct xvt_reclock *rc, struct xvt_event *ev);

const struct xvt_reclock_ring *xvt_reclock_ring(const struct xvt_reclock *rc, uint32_t ring);

#endif /* XVT_RECLOCK_H */
