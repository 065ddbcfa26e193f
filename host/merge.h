/* SPDX-License-Identifier: GPL-2.0 */
/*
 * merge.h - many rings, one order: (host time, VM, ring, position). Emits exactly what lies
 * below the smallest bound of all rings, so the output is a function of the ring data and of
 * the recorded clock nodes, never of when anybody looked.
 */
#ifndef XVT_MERGE_H
#define XVT_MERGE_H

#include "stream.h"

/* Most that are handed over at once. */
#define XVT_MERGE_BATCH 64u

/* Takes n records in their order; returns 0 or -errno, which ends the pass. */
typedef int (*xvt_emit_fn)(void *arg, struct xvt_placed *const *out, size_t n);
/* The ring has made a clock node of what waited: r->witness. Before the first record that it
 * places goes out, and from the merge's own thread. */
typedef void (*xvt_witness_fn)(void *arg, struct xvt_ring *r);

/*
 * Alone, up to so many rings are merged in one step: a second one costs an event another copy, and
 * on one core it gives nothing back (docs/engine.md). With a crew it is worth it much earlier, but
 * not for a few: to wake a thread for one half of a stream after the other costs more than it does.
 */
#define XVT_MERGE_ONE_STEP 2048u
#define XVT_MERGE_FEW	   32u

struct xvt_merge {
	struct xvt_ring **order; /* those of this pass, by VM and ring */
	size_t nr_order;
	struct xvt_merge_leaf *leaves;
	size_t room;	/* of either */
	uint32_t count; /* leaves in use */
	struct xvt_tree tree;
	uint64_t bound_ns;  /* of all rings that have no record: what is earlier goes out */
	uint64_t next_ns;   /* of the earliest record that is left */
	uint64_t last_ns;   /* of the newest event in the main lane */
	uint64_t rest_ns;   /* of rings that are not shown because nothing is new: as bound_ns */
	uint64_t limit_ns;  /* nothing of a later time goes out, whoever claims it: the present */
	uint64_t watermark; /* everything below is out */
	uint64_t emitted;
	uint64_t late;
	xvt_emit_fn emit;
	void *arg;
	bool (*hold)(
		void *arg); /* true: emit no more in this pass; asked after each batch; or NULL */
	bool held;	    /* that ended the last pass */
	xvt_witness_fn witness; /* NULL: nobody wants to know */
	uint32_t nr_out;
	struct xvt_placed *out[XVT_MERGE_BATCH];

	/* In two steps. */
	struct xvt_crew *crew; /* NULL: we are alone */
	bool busy;	       /* there is so much to do in this pass that it lends a hand */
	uint64_t emitted_then; /* when the pass began */
	uint32_t one_step;     /* XVT_MERGE_ONE_STEP, or what a test says */
	uint32_t group_rings;  /* 0: as many as is good */
	uint32_t half_records;
	bool two_steps; /* from then on for good */
	bool kept;	/* the streams hold records that could not go out yet */
	struct xvt_stream **streams;
	uint32_t nr_streams;
	uint32_t *rank; /* of each ring, by its number: in the order of (VM, ring) */
	struct xvt_ring **known;
	uint32_t nr_known;
	uint32_t rank_bits;
	bool unranked; /* some of them */
};

void xvt_merge_init(struct xvt_merge *m);
void xvt_merge_fini(struct xvt_merge *m);

/* Emit all that may go out now. `rings`: all, or all that m->rest_ns does not speak for. Returns
 * how many records, or -errno. */
int64_t xvt_merge_pass(struct xvt_merge *m, struct xvt_ring *const *rings, size_t count,
		       xvt_emit_fn emit, void *arg);

#endif /* XVT_MERGE_H */
