/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * ut_nest.h - the real writer with a hook at each of its accesses to shared memory, at each
 * clock read and before the payload. A nested context runs to completion before the one it
 * interrupted goes on, so a plain call from the hook models it exactly.
 */
#ifndef UT_NEST_H
#define UT_NEST_H

#include "ut.h"

/*
 * Where a hook stands: always just before the access that the name tells. [A] to [F] are the
 * labels of xvt_writer.h, and "interrupted after [B]" is the same as "before [C]". What an event
 * does on path 2 of the xadd back-end, up to its payload, is all UT_OTHER.
 */
enum ut_label {
	UT_OTHER = 0,
	UT_ENTRY,     /* before the event is counted */
	UT_A,	      /* before [A] reads the position */
	UT_A_BEFORE,  /* before it reads before_stamp */
	UT_A_AFTER,   /* before it reads write_stamp */
	UT_CLOCK,     /* the clock has been read */
	UT_CLOSE,     /* no room: before the open sub-buffer is closed */
	UT_B,	      /* before before_stamp = ts */
	UT_C,	      /* before the position moves */
	UT_D,	      /* before write_stamp = ts */
	UT_E,	      /* before anything of the record is stored */
	UT_PAYLOAD,   /* after [E] */
	UT_F,	      /* before DONE */
	UT_GIVE_BACK, /* discard: before the position moves back */
	UT_PUBLISH,   /* before commit = resv */
	UT_UNNEST,    /* before nest = 0 */
	UT_RECHECK,   /* before resv is read again */
	UT_LABELS,
};

/* What really happened to an event, kept apart from the ring. */
struct ut_truth {
	uint64_t ts; /* the clock value that it was given last */
	uint32_t epoch;
	uint32_t first_read; /* number of clock reads, by anybody, before it began */
	uint32_t end_read;   /* and when xvt_reserve() returned */
	uint64_t decoded;    /* for the test: what the reader made of it */
	uint64_t pos;
	int err;
	bool reserved;	 /* xvt_reserve() returned 0 */
	bool discarding; /* xvt_discard() was called */
	bool committing; /* xvt_commit() was called */
	bool done;	 /* and its DONE is stored */
	bool ended;	 /* the call is over */
};

#define UT_NEST_EVENTS 512u
#define UT_NEST_READS  4096u
#define UT_NEST_DEPTH  24u

struct ut_frame {
	uint32_t number;
	uint32_t phase;
	uint32_t loads; /* since the last increment */
	uint32_t incs;
	uint32_t len; /* of its payload */
	bool added;   /* the position was moved by an addition */
	bool fast;    /* the event went the fast way, at first */
	uint64_t end; /* of its record, once the position has moved */
};

struct ut_nest {
	struct ut_ring *ring;
	/* Runs at every point; may call ut_event(), change the host's words, or longjmp(). */
	void (*hook)(struct ut_nest *n, enum ut_label label);
	void *arg;
	uint64_t points; /* that were passed so far */
	uint32_t depth;
	uint32_t count; /* of events */
	uint32_t reads; /* of the clock */
	struct {
		uint64_t ts;
		uint32_t epoch;
	} read[UT_NEST_READS];
	struct ut_frame frame[UT_NEST_DEPTH];
	struct ut_truth ev[UT_NEST_EVENTS];
};

/* Begin anew on `ring`, whose clock from now on belongs to the harness. */
void ut_nest_init(struct ut_nest *n, struct ut_ring *ring);

/* Number of the event that runs now (the innermost). */
static inline uint32_t ut_current(const struct ut_nest *n)
{
	return n->frame[n->depth - 1].number;
}

/*
 * Is this the time of event `ev`? Exact, on every path but one: 2b of the xadd back-end, which
 * says so (SAME); then it must be of a clock read that was made while ev was reserving.
 */
bool ut_time_is_right(const struct ut_nest *n, const struct ut_truth *ev, const struct ut_rec *r);

/* One event with the next number; len >= 8. Returns what xvt_reserve() returned. */
int ut_event(struct ut_nest *n, uint32_t len, bool discard);

#endif /* UT_NEST_H */
