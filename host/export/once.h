/* SPDX-License-Identifier: GPL-2.0 */
/*
 * once.h - an event that a ring has twice is given once. The guest's module probes some events of
 * the kernel itself (xvt:sched_switch), and where ftrace has the kernel's event on, its record of
 * the same event is in the ring, too. Programs that count or add up must get one of both: the
 * first. The guest's kernel calls the probe and ftrace in the order in which they were switched on.
 * Where one of them alone recorded an event, it is given.
 */
#ifndef XVT_EXPORT_ONCE_H
#define XVT_EXPORT_ONCE_H

#include "lib/xvtrace.h"

enum xvt_once_by {
	XVT_ONCE_FTRACE,
	XVT_ONCE_PROBE,
};
#define XVT_ONCE_BY 2

struct xvt_once;

int xvt_once_new(struct xvt_once **o, struct xvtrace *trace);
/* NULL is allowed. */
void xvt_once_free(struct xvt_once *o);

/* 1: the event was given before, as the other's record. 0: it was not. Or -ENOMEM. */
int xvt_once_again(struct xvt_once *o, const struct xvtrace_event *ev);

/* Events of a ring that were there twice, and are given as recorded by that. */
uint64_t xvt_once_count(const struct xvt_once *o, uint32_t ring, enum xvt_once_by by);

#endif /* XVT_EXPORT_ONCE_H */
