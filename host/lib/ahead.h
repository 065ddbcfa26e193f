/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ahead.h - the records of a range of time, fetched by another thread while the reader uses those
 * before them. That thread has a copy of the trace, so that neither waits for the other but where
 * a batch of records is handed over. What one thread alone finds damaged or cannot read is not
 * told by this: the caller reads on alone then, and finds it itself.
 */
#ifndef XVT_LIB_AHEAD_H
#define XVT_LIB_AHEAD_H

#include "lib/xvtrace.h"
#include "trace/read.h"

struct xvt_ahead;

/* Bytes of a batch; there are two. Tests make it smaller. */
extern size_t xvt_ahead_batch_bytes;

/* No thread may use the trace meanwhile. slot: of `by`, used by no other. Returns 0; -EAGAIN: the
 * trace is damaged; or -ENOMEM. */
int xvt_ahead_new(struct xvt_ahead **out, struct xvt_trace *t, bool reclock,
		  const struct xvtrace_background *by, unsigned int slot);
/* Waits for the thread. No other thread may use the trace. NULL is allowed. */
void xvt_ahead_free(struct xvt_ahead *a);

/* Have a bound for each record; before xvt_ahead_begin(), with `reclock`. As
 * xvt_reclock_want_bounds(). */
const uint64_t *xvt_ahead_want_bounds(struct xvt_ahead *a);

/* Begin to fetch the records of that range, or begin anew with others. Returns 0; -EAGAIN: the
 * caller must read alone. */
int xvt_ahead_begin(struct xvt_ahead *a, uint64_t from_ns, uint64_t to_ns);

/* As xvt_reclock_next(), or as xvt_cursor_next(). -EAGAIN: the caller must read on alone, behind
 * the first xvt_ahead_given() records of the range. */
int xvt_ahead_next(struct xvt_ahead *a, struct xvt_event *ev);
uint64_t xvt_ahead_given(const struct xvt_ahead *a);

#endif /* XVT_LIB_AHEAD_H */
