/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * xvt_reader.h - records out of a private copy of a piece of one ring. Knows nothing of the
 * region: the caller copied the bytes and says which positions they are. Any bytes are
 * legal input; nothing outside the copy is ever touched.
 */
#ifndef XVT_READER_H
#define XVT_READER_H

#include "xvt_check.h"

enum xvt_record_kind {
	XVT_REC_RECORD = 1,    /* a finished record; `id` says what */
	XVT_REC_SUBBUF = 2,    /* a sub-buffer begins; reader->subbuf holds its header */
	XVT_REC_DISCARDED = 3, /* given back by its writer */
	XVT_REC_INFLIGHT = 4,  /* salvage only: reserved, never finished */
};

struct xvt_record {
	enum xvt_record_kind kind;
	uint32_t id;
	uint64_t pos;
	uint64_t ts; /* the writer's full clock value */
	uint32_t epoch;
	uint32_t len; /* payload bytes, rounded up to 8 as stored */
	const uint8_t *payload;
	bool full; /* carried a full stamp */
};

/* How to go on past commit, where a writer died. */
enum xvt_salvage {
	XVT_SALVAGE_NO = 0,
	/* Stop cleanly, until the next sub-buffer, at the first thing that is no record. */
	XVT_SALVAGE_STOP = 1,
	/* The same, but the ring was cleared before it was written (stop mode): zeroes are a record
	 * whose header was never stored, and finished records may follow. */
	XVT_SALVAGE_CLEARED = 2,
};

/*
 * A reader goes through one ring in pieces; time and epoch carry over from piece to piece.
 * Pieces must not cross a sub-buffer border.
 */
struct xvt_reader {
	const struct xvt_geometry *g;
	const uint8_t *copy; /* of positions [copy_pos, end) */
	uint64_t copy_pos;
	uint64_t pos; /* next record */
	uint64_t end;
	uint64_t ts; /* of the record before pos */
	uint32_t epoch;
	uint32_t salvage; /* past commit: enum xvt_salvage */
	struct xvt_subbuf_hdr subbuf; /* the current one */
	struct xvt_fault fault;
};

/* Start reading a ring at position `pos`, which is a sub-buffer's start or a known record. */
void xvt_reader_init(struct xvt_reader *r, const struct xvt_geometry *g, uint64_t pos);

/*
 * Give the reader the next piece: a private copy of positions [r->pos, r->pos + len), inside
 * one sub-buffer, 8-byte aligned. The copy must stay until the piece is used up.
 */
void xvt_reader_feed(struct xvt_reader *r, const void *copy, uint64_t len);

/*
 * The next record. Returns
 *   1         rec is filled
 *   0         the piece is used up (in salvage: nothing readable follows)
 *   -EBADMSG  r->fault says what is wrong; the rest of this sub-buffer is unusable, and
 *             xvt_reader_skip() goes on at the next
 */
int xvt_reader_next(struct xvt_reader *r, struct xvt_record *rec);

/* Drop the rest of the current sub-buffer; returns the position after it. */
uint64_t xvt_reader_skip(struct xvt_reader *r);

#endif /* XVT_READER_H */
