/* SPDX-License-Identifier: GPL-2.0 */
/*
 * merge.h - merges many rings into one order: (host time, VM, ring, position). A pass emits exactly
 * the records below the smallest bound of all rings. So the output is a function of the ring data
 * and of the recorded clock nodes, and does not depend on when the passes ran. The placed
 * records of a ring with guest.loose do not wait for the bounds: they are emitted in the loose
 * lane, and a reader of the trace puts them in the same order among the others.
 */
#ifndef XVT_MERGE_H
#define XVT_MERGE_H

#include "ring/ring.h"

/*
 * A window: all events of an interval of time, in order; in the late and the loose lane it is a
 * part of one run. A key holds the event's time less base_ns above XVT_WINDOW_BITS bits, and in
 * those bits the index of its run. Each key of a run stands for the run's next record.
 */
#define XVT_WINDOW_BITS 20u

struct xvt_window {
	const uint64_t *keys; /* in the merged order */
	uint32_t count;
	struct xvt_run *const *runs;
	uint32_t nr_runs;
	uint64_t base_ns;
	enum xvt_lane lane;
};

static inline struct xvt_run *xvt_window_run(const struct xvt_window *w, uint32_t i)
{
	return w->runs[w->keys[i] & ((1u << XVT_WINDOW_BITS) - 1)];
}

static inline uint64_t xvt_window_ns(const struct xvt_window *w, uint32_t i)
{
	return w->base_ns + (w->keys[i] >> XVT_WINDOW_BITS);
}

/* Flags of the window's events besides those of their runs. */
static inline uint32_t xvt_window_flags(const struct xvt_window *w)
{
	return w->lane == XVT_LANE_LATE ? XVT_EVENT_F_LATE : 0;
}

struct xvt_merge_ops {
	/* Takes all events of a window: records `at` to `taken` - 1 of each of its runs. Returns 0
	 * or -errno, which ends the pass. */
	int (*emit)(void *arg, const struct xvt_window *w);
	/*
	 * Puts the run's bytes into the trace, before the order of any of its records. Returns 0; 1
	 * if that is impossible now: the pass ends, and the next one begins with this run; or
	 * -errno. Not called for a LOST record. NULL: nothing is written.
	 */
	int (*locate)(void *arg, struct xvt_run *run);
	/* Returns true to end the pass. Called after each window. May be NULL. */
	bool (*hold)(void *arg);
	/* The ring has inferred a clock node from its waiting records. Called before
	 * the first record placed by it is emitted. May be NULL. */
	void (*inferred)(void *arg, struct xvt_ring *r);
};

struct xvt_merge {
	const struct xvt_merge_ops *ops;
	void *arg;
	struct xvt_ring **order; /* the rings of this pass, by VM and ring */
	uint64_t *next;		 /* time of each ring's next record, ns; UINT64_MAX: it has none */
	size_t nr_order;
	size_t room;
	/* smallest bound of the rings without a record: earlier records may be emitted */
	uint64_t bound_ns;
	uint64_t next_ns;    /* time of the earliest record not yet emitted */
	uint64_t last_ns;    /* time of the newest event in the main lane */
	uint64_t last_place; /* its ring's place among records of that time */
	uint64_t rest_ns;    /* smallest bound of idle rings that the caller left out of the pass */
	uint64_t limit_ns;   /* no record later than this is emitted: now, or a snapshot's time */
	uint64_t watermark;  /* all records below this time have been emitted */
	uint64_t emitted;
	uint64_t late;
	uint64_t loose; /* of `emitted`: in the loose lane */
	bool held;	/* ops->hold() or locate() ended the last pass */
	int err;

	/* The window that is being filled. */
	uint64_t base_ns;
	uint64_t end_ns;
	/* smallest bound of a ring that ran dry in the window; of the records at that time only
	 * those of rings before `trim_order` are emitted */
	uint64_t trim_ns;
	size_t trim_order;
	uint64_t *keys;
	uint64_t *spare; /* second array of the same size, for the sort */
	uint32_t nr_keys;
	uint32_t keys_room;
	struct xvt_run **runs;
	uint32_t *run_order; /* index of each run's ring in `order` */
	uint32_t nr_runs;
	uint32_t runs_room;
	bool sorted;

	uint64_t nr_windows;
	uint64_t window_ns; /* length of a window, adapted to the rate of events */
	uint32_t target;    /* approximate number of events in a window */
	uint64_t slice_ns;  /* length of a slice of the loose lane, adapted to the rate of bytes */
	uint64_t slice_bytes; /* approximate bytes of the records in this slice */
	uint32_t most;	      /* largest number of events in a window; tests set a smaller one */
};

void xvt_merge_init(struct xvt_merge *m, const struct xvt_merge_ops *ops, void *arg);
void xvt_merge_fini(struct xvt_merge *m);

/* Emits all records that may be emitted now. `rings`: all rings, or all but those whose smallest
 * bound is m->rest_ns. Returns the number of records, or -errno. */
int64_t xvt_merge_pass(struct xvt_merge *m, struct xvt_ring *const *rings, size_t count);

#endif /* XVT_MERGE_H */
