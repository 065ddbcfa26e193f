/* SPDX-License-Identifier: GPL-2.0 */
/*
 * run.h - records of one ring that are placed and wait for their turn in the merge: the host time
 * of each, and what all of them have in common. They follow each other in one piece, and that part
 * of it is put into the trace as it is.
 */
#ifndef XVT_RUN_H
#define XVT_RUN_H

#include "clock/map.h"
#include "trace/order_write.h"

#define XVT_RUN_MAX   128u
#define XVT_RUN_SMALL 8u /* a run of so few takes a quarter of the memory */

struct xvt_ring;

struct xvt_run {
	struct xvt_run *next; /* first: of the same ring, later */
	struct xvt_ring *ring;
	uint32_t at;	/* the first one that has not gone out */
	uint32_t taken; /* the first one that is not in the window that is being made */
	uint32_t count;
	uint32_t ring_flags;
	uint16_t id;  /* of the first one; behind it all are events */
	bool located; /* its bytes are in the trace, at `place`, or were dropped */
	bool dropped;
	bool small;		    /* it has room for XVT_RUN_SMALL */
	bool on_line;		    /* all of them lie on it */
	uint64_t guest;		    /* clock value of the first one */
	uint64_t pos;		    /* and where it is in the ring, */
	struct xvt_raw_place place; /* and in the trace */
	const uint8_t *bytes;	    /* until it is located: those of its records, */
	uint32_t len;		    /* one behind the other */
	struct xvt_clock_segment line;
	struct xvt_lost lost; /* what a LOST says, which is a run of its own */
	uint64_t window;      /* it has this number in this window of the merge: */
	uint32_t number;
	uint32_t source; /* this is its source in this chunk of the order: */
	uint64_t chunk;
	uint64_t ns[];
};

/* Of those that have not gone out. */
static inline uint64_t xvt_run_next_ns(const struct xvt_run *run)
{
	return run->ns[run->at];
}

#endif /* XVT_RUN_H */
