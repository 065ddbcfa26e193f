/* SPDX-License-Identifier: GPL-2.0 */
/*
 * reclock.h - a trace's events, placed again by what the whole trace teaches of its clocks. The
 * file is not changed: raw clock values and all samples are in it.
 *
 * An event's epoch is the one whose recorded map gives the event's recorded time; the new map of
 * that epoch gives the new one. Within a ring the order never changes. No event is moved further
 * than the maps differ, so they are sorted again by a heap that holds what lies within twice
 * that, at most twice XVT_RECLOCK_REACH_NS of the trace. Events that were late take their place.
 */
#ifndef XVT_RECLOCK_H
#define XVT_RECLOCK_H

#include "view/reclock_map.h"

struct xvt_reclock;

/* Reads all clock chunks. Returns 0, -ENOMEM or a read error. */
int xvt_reclock_new(struct xvt_reclock **out, struct xvt_trace *t);
void xvt_reclock_free(struct xvt_reclock *rc);

/* Begin to read: events with from_ns <= new time <= to_ns. Once. Returns as xvt_cursor_init(). */
int xvt_reclock_begin(struct xvt_reclock *rc, uint64_t from_ns, uint64_t to_ns);

/* As xvt_cursor_next(); in order of (new time, VM, ring, position). */
int xvt_reclock_next(struct xvt_reclock *rc, struct xvt_event *ev);

/* For each ring that has events or nodes a line on stderr: how its bounds changed, and why. */
void xvt_reclock_say(const struct xvt_reclock *rc);

const struct xvt_reclock_ring *xvt_reclock_ring(const struct xvt_reclock *rc, uint32_t ring);
/* Events that were handed out so far, and those that no map explains: they moved with the one
 * before them. */
uint64_t xvt_reclock_kept(const struct xvt_reclock *rc);

#endif /* XVT_RECLOCK_H */
