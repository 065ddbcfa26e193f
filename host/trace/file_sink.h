/* SPDX-License-Identifier: GPL-2.0 */
/* file_sink.h - the trace file behind the loop: buffers go out in order while recording goes on. */
#ifndef XVT_SINK_H
#define XVT_SINK_H

#include <stdbool.h>

#include "base/loop.h"
#include "trace/write.h"

struct xvt_file_sink;

/* Opens path, or makes it. What it held stays until the first write. Returns 0 or -errno. */
int xvt_file_sink_new(struct xvt_file_sink **out, struct xvt_loop *loop, const char *path);
/* Why that failed, for a person. */
const char *xvt_file_sink_why(int err);
struct xvt_sink *xvt_file_sink_base(struct xvt_file_sink *fs);
/*
 * From here on a full disk (ENOSPC, EDQUOT) is no error: base's hold() and full() say so, what was
 * taken is kept, and it is written when there is space again. Space for it, for the buffers and for
 * the end of a trace is allocated ahead, where the file system can, and given back at the close.
 * Still an error: more than the buffers hold, or a close while there is no space.
 */
void xvt_file_sink_patient(struct xvt_file_sink *fs);
/* Start writing what is gathered, unless somebody has room() for more and has not written it yet:
 * flush him first. Returns the first error so far. */
int xvt_file_sink_push(struct xvt_file_sink *fs);
/* Would a push have to wait for a write? Then who pushes only now and then does better later. */
bool xvt_file_sink_would_wait(const struct xvt_file_sink *fs);
/*
 * There will be no trace: nothing is written from here on, a file that was there before stays as it
 * was, and one that was not goes at the close. For who fails before anything was written; every
 * call, the close too, then returns an error.
 */
void xvt_file_sink_discard(struct xvt_file_sink *fs);
/*
 * Wait for everything. After an error (disk full) the file is cut at the last byte up to which
 * it is complete. Returns the first error. Frees fs, unless the loop failed with writes under way.
 */
int xvt_file_sink_close(struct xvt_file_sink *fs);

#endif /* XVT_SINK_H */
