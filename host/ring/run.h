/* SPDX-License-Identifier: GPL-2.0 */
/*
 * run.h - records of one ring that are placed and wait for the merge: the host time of each, and
 * what all of them have in common. They are adjacent in one piece, and that part of the piece goes
 * into the trace unchanged.
 */
#ifndef XVT_RUN_H
#define XVT_RUN_H

#include "clock/map.h"
#include "trace/order_write.h"

#define XVT_RUN_MAX   128u
#define XVT_RUN_SMALL 8u /* a run of at most this many records takes a quarter of the memory */

struct xvt_ring;

/*
 * The host times between which records were written, as far as statements of the drain and of clock
 * nodes go. beside: no segment of the map bounds their times, so the file needs this.
 */
struct xvt_written {
	bool beside;
	uint64_t lo_ns;
	uint64_t hi_ns; /* UINT64_MAX: nothing is known */
};

/*
 * The first line of the cache has all that each window looks at, but for the times: where many
 * rings have a run in the window, none of them is in a near cache. xvt_ring_refill() puts a run at
 * the beginning of a line.
 */
struct xvt_run {
	struct xvt_run *next; /* first member: the next run of the same ring */
	struct xvt_ring *ring;
	uint32_t at;	/* index of the first record not yet emitted */
	uint32_t taken; /* index of the first record not yet in the merge's present window */
	uint32_t count;
	uint32_t ring_flags;
	uint64_t window; /* number of the merge window in which `number` is valid */
	uint32_t number;
	uint32_t source; /* index of its source in chunk `chunk` of the order */
	uint64_t chunk;
	uint16_t id;  /* of the first record; all later ones are events */
	bool located; /* the bytes are in the trace, at `place`, or were dropped */
	bool dropped;
	bool small;		    /* room for XVT_RUN_SMALL records */
	bool on_line;		    /* all records lie on segment `line` */
	bool opens;		    /* `head` holds: the run is the first one behind it */
	bool in_parts;		    /* each part that goes out needs a look, see looks.c */
	struct xvt_written written; /* the second line begins here */
	uint64_t guest;		    /* guest clock value of the first record */
	uint64_t pos;		    /* position of the first record in the ring */
	struct xvt_raw_place place; /* position of the first record in the trace */
	const uint8_t *bytes;	    /* the records' bytes, until the run is located */
	uint8_t *copy;		    /* of `bytes`, for a next file, or NULL: see xvt_run_keep() */
	uint32_t len;		    /* length of `bytes` */
	struct xvt_clock_segment line;
	struct xvt_lost lost; /* payload of a LOST record, which is a run of its own */
	struct xvt_subbuf_head head;
	uint64_t ns[];
};

/* Host time of the first record not yet emitted, ns. */
static inline uint64_t xvt_run_next_ns(const struct xvt_run *run)
{
	return run->ns[run->at];
}

#endif /* XVT_RUN_H */
