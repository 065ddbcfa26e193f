/* SPDX-License-Identifier: GPL-2.0 */
/*
 * reorder.h - writes a trace again with ORDER chunks in place of LOOSE chunks: the merge of the
 * rings that its recorder left to the readers is done once. All other contents stay as they are.
 */
#ifndef XVT_REORDER_H
#define XVT_REORDER_H

#include "trace/read.h"
#include "trace/write.h"

/* True if the trace has LOOSE chunks. */
bool xvt_is_loose(const struct xvt_trace *t);

/*
 * Writes the trace into the sink, from a struct xvt_trace that was opened without its index.
 * Memory: as for a cursor, and 16 bytes for each RAW chunk. Returns 0; -EBADMSG if a part of the
 * trace is damaged, which is noted in it, and what the sink has is no whole trace; -ENOMEM; a read
 * error; or the sink's error.
 */
int xvt_reorder(struct xvt_trace *t, struct xvt_sink *sink);

#endif /* XVT_REORDER_H */
