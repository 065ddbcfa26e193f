/* SPDX-License-Identifier: GPL-2.0 */
/* copy.h - an open trace again, for another thread: the same file, and lists of its own. */
#ifndef XVT_TRACE_COPY_H
#define XVT_TRACE_COPY_H

#include "trace/read.h"

/* Returns 0 or -ENOMEM. The copy reads by the descriptors of the trace that it is of, and is closed
 * as a trace is, before that. */
int xvt_trace_copy(struct xvt_trace **out, const struct xvt_trace *t);
/* Damage that a copy found is damage of the trace, once; chunks that it checked are checked. No
 * thread may use either meanwhile. */
void xvt_trace_join(struct xvt_trace *t, const struct xvt_trace *copy);

#endif /* XVT_TRACE_COPY_H */
