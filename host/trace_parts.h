/* SPDX-License-Identifier: GPL-2.0 */
/* trace_parts.h - what trace_read.c and trace_index.c know of each other; see trace_read.h. */
#ifndef XVT_TRACE_PARTS_H
#define XVT_TRACE_PARTS_H

#include <sys/types.h>

#include "trace_read.h"

/* What opening needs of a chunk's start. */
struct xvt_chunk_head {
	struct xvt_chunk_hdr h;
	struct xvt_order_hdr events;
};

/* Returns bytes read (short only at the end of the file) or -errno. */
ssize_t xvt_trace_read_at(struct xvt_trace *t, void *bytes, size_t len, uint64_t offset);

/* 1: a header of this trace that fits the file. 0: not. Else -errno. */
int xvt_trace_read_head(struct xvt_trace *t, uint64_t offset, struct xvt_chunk_head *head);

/* Read and check the chunk at `offset`, which lies inside the file, of `len` payload bytes (or up
 * to seven less, then padding). Returns 0, -EBADMSG, -ENOMEM or the read's error. */
int xvt_trace_load_at(struct xvt_trace *t, uint64_t offset, uint32_t len, struct xvt_chunk_buf *b);

/* Types whose contents are wanted by everybody who opens the trace, and must be right. */
bool xvt_trace_wants(uint16_t type);
/* Take one. Returns 0, -EBADMSG (*why says why) or -ENOMEM. */
int xvt_trace_take(struct xvt_trace *t, uint16_t type, const struct xvt_chunk_buf *b,
		   const char **why);

int xvt_trace_add_chunk(struct xvt_trace *t, uint64_t offset, const struct xvt_chunk_head *head);

/*
 * Take all chunks before the last INDEX from the INDEX chunks. Returns 1, and *offset is that of
 * the last INDEX; 0 if the file has none (of this kind); -EBADMSG if they are wrong (*offset says
 * which); or another error.
 */
int xvt_trace_take_index(struct xvt_trace *t, struct xvt_chunk_buf *b, uint64_t *offset);

#endif /* XVT_TRACE_PARTS_H */
