/* SPDX-License-Identifier: GPL-2.0 */
/* put.h - records of rings into RAW chunks, and their order into ORDER and LATE. */
#ifndef XVT_RING_WRITE_H
#define XVT_RING_WRITE_H

#include "merge/merge.h"
#include "trace/write.h"

/* Bytes that a run takes in the file with the order of its records, about. */
static inline uint64_t xvt_run_cost(const struct xvt_run *run)
{
	return sizeof(struct xvt_raw_piece) + run->len + 2 * run->count +
	       sizeof(struct xvt_order_source) + sizeof(struct xvt_order_line);
}

/* Its bytes go into the trace, before the order of any of its records. Returns 0 or -errno. */
int xvt_run_put(struct xvt_run *run, struct xvt_trace_writer *w);

/* Its records are dropped when their turn comes. */
void xvt_run_drop(struct xvt_run *run);

/* What becomes of those events of a window that are no records of a piece in the trace. */
struct xvt_window_ops {
	/* Event i, of that run, is a LOST or was dropped. Returns 0 or -errno. */
	int (*other)(void *arg, const struct xvt_window *w, uint32_t i);
	/* A run is about to begin in a chunk of the order, with event i; or NULL. The same. */
	int (*begin)(void *arg, const struct xvt_window *w, uint32_t i);
};

/* All events of the window go into the trace. Returns 0 or -errno. */
int xvt_window_put(const struct xvt_window *w, struct xvt_trace_writer *trace,
		   const struct xvt_window_ops *ops, void *arg);

/* The header of such an event, and its payload: what a LOST says; or NULL. */
struct xvt_event_hdr xvt_window_event(const struct xvt_window *w, uint32_t i,
				      const struct xvt_lost **lost);

#endif /* XVT_RING_WRITE_H */
