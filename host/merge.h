/* SPDX-License-Identifier: GPL-2.0 */
/*
 * merge.h - many rings, one order: (host time, VM, ring, position). Emits exactly what lies
 * below the smallest bound of all rings, so the output is a function of the ring data and of
 * the recorded clock nodes, never of when anybody looked.
 */
#ifndef XVT_MERGE_H
#define XVT_MERGE_H

#include "ring.h"

/* A record on its way out. */
struct xvt_out {
	const struct xvt_placed *rec;
	struct xvt_ring *ring;
	uint32_t flags; /* XVT_EVENT_F_*, those of the record among them */
};

static inline struct xvt_event_hdr xvt_out_hdr(const struct xvt_out *out)
{
	return (struct xvt_event_hdr){ .host_ns = out->rec->ns,
				       .guest_clock = out->rec->guest,
				       .ring_flags = out->ring->id | out->flags,
				       .id = out->rec->id,
				       .len = out->rec->len };
}

/* Most that are handed over at once. */
#define XVT_MERGE_BATCH 64u

/* One ring that has records; see merge.c. */
struct xvt_merge_leaf {
	const struct xvt_placed *at;
	const struct xvt_placed *end;
	struct xvt_ring *ring;
};

/* Takes n records in their order; returns 0 or -errno, which ends the pass. */
typedef int (*xvt_emit_fn)(void *arg, const struct xvt_out *out, size_t n);

struct xvt_merge {
	struct xvt_ring **order; /* those of this pass, by VM and ring */
	size_t nr_order;
	size_t order_room;
	struct xvt_merge_leaf *leaves;
	uint64_t *losers;
	size_t room;
	uint32_t count;	    /* leaves in use */
	uint64_t base_ns;   /* keys count from here */
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
	uint32_t nr_out;
	struct xvt_out out[XVT_MERGE_BATCH];
};

void xvt_merge_init(struct xvt_merge *m);
void xvt_merge_fini(struct xvt_merge *m);

/* Emit all that may go out now. `rings`: all, or all that m->rest_ns does not speak for. Returns
 * how many records, or -errno. */
int64_t xvt_merge_pass(struct xvt_merge *m, struct xvt_ring *const *rings, size_t count,
		       xvt_emit_fn emit, void *arg);

#endif /* XVT_MERGE_H */
