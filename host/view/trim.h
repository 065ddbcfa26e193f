/* SPDX-License-Identifier: GPL-2.0 */
/*
 * trim.h - writes a part of a trace as a trace: the events of some machines in a range of time. The
 * chunks from which their times, bounds and names follow are written whole, so they are those of
 * the whole trace, also re-clocked. Nothing of other machines is written. The counters are those of
 * the part, see xvt-format(5).
 */
#ifndef XVT_TRIM_H
#define XVT_TRIM_H

#include "trace/read.h"
#include "trace/write.h"

struct xvt_trim {
	/* The first and the last time, by both clocks; an event is in both ranges. 0 and UINT64_MAX
	 * are no limits. */
	uint64_t from_ns, to_ns;
	uint64_t wall_from_ns, wall_to_ns;
	const bool *machines; /* by number: wanted; NULL: all */
	bool reclock;	      /* the times that readers show of a trace with an end */
};

struct xvt_trim_part;

/* Finds the part's events. The trace was opened without its index, and `how` stays as it is.
 * Returns 0, -ENODATA if there are none, -EXDEV if two recordings of a set have some of one ring,
 * -ENOMEM or a read error. */
int xvt_trim_new(struct xvt_trim_part **out, const struct xvt_trim *how, struct xvt_trace *t);
void xvt_trim_free(struct xvt_trim_part *part);

/* Number of events in the part; and of those of whose loss it tells. */
uint64_t xvt_trim_events(const struct xvt_trim_part *part);
uint64_t xvt_trim_lost(const struct xvt_trim_part *part);

/* Writes the part, once. The file gets an end if the trace has one. Damage is noted in the trace.
 * Returns 0, -ENOMEM, a read error, or the sink's error. */
int xvt_trim_write(struct xvt_trim_part *part, struct xvt_sink *sink);

#endif /* XVT_TRIM_H */
