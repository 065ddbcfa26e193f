/* SPDX-License-Identifier: GPL-2.0 */
/*
 * repack.h - a copy of a trace with the same chunks in the same order, compressed. Chunks keep
 * their numbers, and the file its identity; only what says where a chunk lies is changed.
 */
#ifndef XVT_TRACE_REPACK_H
#define XVT_TRACE_REPACK_H

#include <stdint.h>

/*
 * Writes the copy of the trace in `from` to `to`, an empty file that is open for reading and
 * writing, brings it to the disk, reads it again and compares it with the trace, chunk by chunk.
 * Returns 0 if the copy is the same and smaller. Else it is of no use:
 *   -EALREADY  the trace has a compressed chunk
 *   -EFBIG     the copy would not be smaller
 *   -EBADMSG   the trace has no end, a part of it is damaged or not known, or the copy reads
 *              differently
 *   -ENOTSUP   built without zstd
 *   -errno     of a read or write, or -ENOMEM
 */
int xvt_repack(int from, int to, unsigned int level);

#endif /* XVT_TRACE_REPACK_H */
