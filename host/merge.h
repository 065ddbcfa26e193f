/* SPDX-License-Identifier: GPL-2.0 */
/*
 * merge.h - many rings, one order: (host time, VM, ring, position). Emits exactly what lies
 * below the smallest bound of all rings, so the output is a function of the ring data and of
 * the recorded clock nodes, never of when anybody looked.
 */
#ifndef XVT_MERGE_H
#define XVT_MERGE_H

#include "ring.h"
#include "tree.h"

/* Most that are handed over at once. */
#define XVT_MERGE_BATCH 64u

/* Takes n records in their order; returns 0 or -errno, which ends the pass. */
typedef int (*xvt_emit_fn)(void *arg, struct xvt_placed *const *out, size_t n);
/* The ring has made a clock node of what waited: r->witness. Before the first record that it
 * places goes out, and from the merge's own thread. */
typedef void (*xvt_witness_fn)(void *arg, struct xvt_ring *r);

/* A ring that has records to go out. */
struct xvt_merge_leaf {
	struct xvt_placed *at;
	struct xvt_placed *end;
	uint64_t after; /* key of at[1], if there is one: loaded long before it is needed */
	struct xvt_ring *ring;
};

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
};

void xvt_merge_init(struct xvt_merge *m);
void xvt_merge_fini(struct xvt_merge *m);

/* Emit all that may go out now. `rings`: all, or all that m->rest_ns does not speak for. Returns
 * how many records, or -errno. */
int64_t xvt_merge_pass(struct xvt_merge *m, struct xvt_ring *const *rings, size_t count,
		       xvt_emit_fn emit, void *arg);

#endif /* XVT_MERGE_H */
