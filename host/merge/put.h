/* SPDX-License-Identifier: GPL-2.0 */
/* put.h - writes records of rings into RAW chunks, and their order into ORDER and LATE chunks. */
#ifndef XVT_RING_WRITE_H
#define XVT_RING_WRITE_H

#include "merge/merge.h"
#include "trace/write.h"

/* Approximate bytes that a run takes in the file, with the order of its records. */
static inline uint64_t xvt_run_cost(const struct xvt_run *run)
{
	return sizeof(struct xvt_raw_piece) + run->len + 2 * run->count +
	       sizeof(struct xvt_order_source) + sizeof(struct xvt_order_line);
}

/* Writes the run's bytes into the trace, before the order of any of its records. Returns 0 or
 * -errno. */
int xvt_run_put(struct xvt_run *run, struct xvt_trace_writer *w);

/*
 * For a trace that goes on in a next file: copies the bytes of a run, before they are put. Counted
 * against the machine's memory. Returns false without memory. xvt_run_is_kept(): whether
 * the run can go on in a next file. xvt_run_put_again() writes the copy there, for the records that
 * have not gone out.
 */
bool xvt_run_keep(struct xvt_run *run);
bool xvt_run_is_kept(const struct xvt_run *run);
int xvt_run_put_again(struct xvt_run *run, struct xvt_trace_writer *w);

/* Marks the run as dropped: its records get no place in the trace. */
void xvt_run_drop(struct xvt_run *run);

/* Callbacks for events of a window that are not records of a piece in the trace. */
struct xvt_window_ops {
	/* Event i is a LOST record, or its run was dropped. Returns 0 or -errno. */
	int (*other)(void *arg, const struct xvt_window *w, uint32_t i);
	/* A run begins in a chunk of the order, with event i. Returns 0 or -errno. May be NULL. */
	int (*begin)(void *arg, const struct xvt_window *w, uint32_t i);
};

/* Writes all events of the window into the trace. Returns 0 or -errno. */
int xvt_window_put(const struct xvt_window *w, struct xvt_trace_writer *trace,
		   const struct xvt_window_ops *ops, void *arg);

/*
 * Returns the header of an event for xvt_window_ops. *lost: the payload of a LOST record, or NULL.
 */
struct xvt_event_hdr xvt_window_event(const struct xvt_window *w, uint32_t i,
				      const struct xvt_lost **lost);

#endif /* XVT_RING_WRITE_H */
