/* SPDX-License-Identifier: GPL-2.0 */
/*
 * parts.h - what the files of the reader give to each other. Calls go one way: read.c -> open.c ->
 * index.c -> take.c -> chunk.c.
 */
#ifndef XVT_TRACE_PARTS_H
#define XVT_TRACE_PARTS_H

#include "trace/read.h"

/* Why a chunk is damaged. */
#define XVT_NO_ZSTD   "compressed; build xvtrace with libzstd-dev to read it"
#define XVT_BAD_SUM   "checksum does not match"
#define XVT_NEW_FLAGS "has flags that this xvtrace does not know; use a newer one"

/* The start of a chunk, as far as opening needs it. */
struct xvt_chunk_head {
	struct xvt_chunk_hdr h;
	struct xvt_order_hdr events;
};

/* 1: a header of this trace that fits the file. 0: not. Else -errno. */
int xvt_trace_read_head(struct xvt_trace *t, uint64_t offset, struct xvt_chunk_head *head);

/* Returns true for chunk types that opening a trace loads and that must be right. */
bool xvt_trace_wants(uint16_t type);
/* Take one. Returns 0, -EBADMSG (*why says why) or -ENOMEM. */
int xvt_trace_take(struct xvt_trace *t, uint16_t type, const struct xvt_chunk_buf *b,
		   const char **why);

/* Take the line of the host's clock that FILE has. Returns 0 or -ENOMEM. */
int xvt_trace_take_file_line(struct xvt_trace *t);

int xvt_trace_add_chunk(struct xvt_trace *t, uint64_t offset, const struct xvt_chunk_head *head);

/*
 * Take all chunks before the last INDEX from the INDEX chunks. Returns 1, and *offset is that of
 * the last INDEX; 0 if the file has none (of this kind); -EBADMSG if they are wrong (*offset says
 * which); or another error.
 */
int xvt_trace_take_index(struct xvt_trace *t, struct xvt_chunk_buf *b, uint64_t *offset);

/* The index was wrong: find the chunks by their headers. The damage at index_offset is noted.
 * Returns 0, -ENOMEM or a read error. */
int xvt_trace_walk_again(struct xvt_trace *t, uint64_t index_offset);

#endif /* XVT_TRACE_PARTS_H */
