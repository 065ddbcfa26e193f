/* SPDX-License-Identifier: GPL-2.0 */
/*
 * merge.h - many rings, one order: (host time, VM, ring, position). Emits exactly what lies
 * below the smallest bound of all rings, so the output is a function of the ring data and of
 * the recorded clock nodes, never of when anybody looked.
 */
#ifndef XVT_MERGE_H
#define XVT_MERGE_H

#include "ring/ring.h"

/*
 * A part of the order: all events of some stretch of time. A key is the event's time, less base_ns,
 * above XVT_WINDOW_BITS bits that say which run its record is of: the next record of that.
 */
#define XVT_WINDOW_BITS 20u

struct xvt_window {
	const uint64_t *keys; /* in their order */
	uint32_t count;
	struct xvt_run *const *runs;
	uint32_t nr_runs;
	uint64_t base_ns;
	uint32_t flags; /* XVT_EVENT_F_LATE, or 0 */
};

static inline struct xvt_run *xvt_window_run(const struct xvt_window *w, uint32_t i)
{
	return w->runs[w->keys[i] & ((1u << XVT_WINDOW_BITS) - 1)];
}

static inline uint64_t xvt_window_ns(const struct xvt_window *w, uint32_t i)
{
	return w->base_ns + (w->keys[i] >> XVT_WINDOW_BITS);
}

struct xvt_merge_ops {
	/* Takes all events of a window: of each of its runs those from `at` to `taken`. Returns 0
	 * or -errno, which ends the pass. */
	int (*emit)(void *arg, const struct xvt_window *w);
	/*
	 * Puts the run's bytes into the trace, before the order of any of its records. Returns 0;
	 * 1: not now, the pass ends and begins again there; or -errno. Not called for a LOST. NULL:
	 * nothing is written.
	 */
	int (*locate)(void *arg, struct xvt_run *run);
	/* True: emit no more in this pass. Asked after each window; or NULL. */
	bool (*hold)(void *arg);
	/* The ring has made a clock node of what waited: r->witness. Called before the first record
	 * that it places goes out. NULL: it is not needed. */
	void (*witness)(void *arg, struct xvt_ring *r);
};

struct xvt_merge {
	const struct xvt_merge_ops *ops;
	void *arg;
	struct xvt_ring **order; /* those of this pass, by VM and ring */
	uint64_t *next;		 /* time of the next record of each; UINT64_MAX: none waits */
	size_t nr_order;
	size_t room;
	uint64_t bound_ns;  /* of all rings that have no record: what is earlier goes out */
	uint64_t next_ns;   /* of the earliest record that is left */
	uint64_t last_ns;   /* of the newest event in the main lane */
	uint64_t rest_ns;   /* of rings that are not shown because nothing is new: as bound_ns */
	uint64_t limit_ns;  /* nothing of a later time goes out, whatever claims it: the present */
	uint64_t watermark; /* everything below is out */
	uint64_t emitted;
	uint64_t late;
	bool held; /* ops->hold() or locate() ended the last pass */
	int err;

	/* The window that is being made. */
	uint64_t base_ns;
	uint64_t end_ns;
	uint64_t trim_ns; /* a ring ran dry in it: of its time nothing behind `trim_order` goes out
			   */
	size_t trim_order;
	uint64_t *keys;
	uint64_t *spare; /* as many, for the sort */
	uint32_t nr_keys;
	uint32_t keys_room;
	struct xvt_run **runs;
	uint32_t *run_order; /* place of each one's ring in `order` */
	uint32_t nr_runs;
	uint32_t runs_room;
	bool sorted;

	uint64_t nr_windows;
	uint64_t window_ns; /* how long one is; it follows how many events they have */
	uint32_t target;    /* events in a window, about */
	uint32_t most;	    /* events in a window; a test may want less */
};

void xvt_merge_init(struct xvt_merge *m, const struct xvt_merge_ops *ops, void *arg);
void xvt_merge_fini(struct xvt_merge *m);

/* Emit all that may go out now. `rings`: all, or all that m->rest_ns does not speak for. Returns
 * how many records, or -errno. */
int64_t xvt_merge_pass(struct xvt_merge *m, struct xvt_ring *const *rings, size_t count);

#endif /* XVT_MERGE_H */
