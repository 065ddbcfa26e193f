/* SPDX-License-Identifier: GPL-2.0 */
/* file_sink.h - a trace file written through the loop: buffers are written in order while recording
 * goes on. */
#ifndef XVT_SINK_H
#define XVT_SINK_H

#include <stdbool.h>

#include "base/loop.h"
#include "trace/write.h"

struct xvt_file_sink;

/*
 * Opens path, or creates it, as xvt_output_open() does; with only_new it is -EEXIST that something
 * is there, also a link. The earlier contents stay until the first write. While the file is open it
 * has a flock(2), by which a reader can tell that it is being written; one that another process has
 * is no error. Returns 0, -errno or an error of base/output.h.
 */
int xvt_file_sink_new(struct xvt_file_sink **out, struct xvt_loop *loop, const char *path,
		      bool only_new);
/* Explains the error of xvt_file_sink_new() to a user. */
const char *xvt_file_sink_why(int err);
struct xvt_sink *xvt_file_sink_base(struct xvt_file_sink *fs);
/*
 * Makes the sink patient: from here on a full disk (ENOSPC, EDQUOT) is not an error. base's hold()
 * and full() report it, accepted bytes are kept, and they are written when there is space again.
 * Space for them, for the buffers and for the end of a trace is allocated ahead, where the file
 * system can, and released at the close. Still an error: more bytes than the buffers hold, or a
 * close while there is no space.
 */
void xvt_file_sink_patient(struct xvt_file_sink *fs);
/*
 * The file will have some `bytes`; 0: any number, as at first. The space of a patient sink is
 * allocated for as many at its first write, and while it is open the file takes no more than these
 * and xvt_file_sink_reserve(bytes); a file that grows larger, the reserve beyond its own bytes.
 */
void xvt_file_sink_expect(struct xvt_file_sink *fs, uint64_t bytes);
/* Returns the bytes that are allocated beyond the expected ones. */
uint64_t xvt_file_sink_reserve(uint64_t expected);
/* Starts writing the gathered bytes. No effect while a caller builds bytes in room(), so the trace
 * writer must be flushed first. Returns the first error so far. */
int xvt_file_sink_push(struct xvt_file_sink *fs);
/* True if a push would have to wait for a write; a caller that pushes only now and then does so
 * later. */
bool xvt_file_sink_would_wait(const struct xvt_file_sink *fs);
/* True if all bytes so far are written, so that a close does not wait. */
bool xvt_file_sink_idle(const struct xvt_file_sink *fs);
/*
 * Discards the trace: nothing is written from here on. A file that existed before stays as it was;
 * a file created by the sink is removed at the close. For a caller that fails before anything was
 * written. Every later call, the close too, returns an error.
 */
void xvt_file_sink_discard(struct xvt_file_sink *fs);
/*
 * Waits for all writes and closes the file. After an error (disk full) the file is truncated to the
 * last byte up to which it is complete. Returns the first error. Frees fs, unless the loop failed
 * while writes were in progress.
 */
int xvt_file_sink_close(struct xvt_file_sink *fs);

#endif /* XVT_SINK_H */
