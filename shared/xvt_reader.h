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
	uint32_t salvage;	      /* past commit: enum xvt_salvage */
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

/*
 * The quick way through the bulk of a ring: if the next thing is an ordinary finished record (an
 * event or one that was given back, with a short stamp, whole inside the piece), its header word;
 * else 0, nothing is consumed, and xvt_reader_next() says what it is. Not for salvage.
 */
xvt_inline uint64_t xvt_reader_plain(const struct xvt_reader *r)
{
	const uint64_t fixed = 3ull << XVT_H_LAP_SHIFT | XVT_H_DONE | XVT_H_FULL;
	uint64_t header, left = r->end - r->pos;
	uint32_t id, len;

	if (left < sizeof(header) || !(r->pos & (r->g->subbuf_size - 1)))
		return 0;
	memcpy(&header, r->copy + (r->pos - r->copy_pos), sizeof(header));
	id = xvt_header_id(header);
	len = xvt_header_len(header);
	if ((header & fixed) != (xvt_header_lap(r->g->ring_shift, r->pos) | XVT_H_DONE) ||
	    (id < XVT_ID_FIRST_EVENT && id != XVT_ID_DISCARDED) || len < sizeof(header) ||
	    len > left)
		return 0;
	return header;
}

/* The time of a record with that header, which xvt_reader_plain() returned. */
xvt_inline uint64_t xvt_reader_plain_ts(const struct xvt_reader *r, uint64_t header)
{
	return header & XVT_H_SAME ? r->ts : xvt_time_extend(r->ts, header, r->g->ts_bits);
}

/* The payload; xvt_header_len() less 8 bytes. */
xvt_inline const uint8_t *xvt_reader_plain_payload(const struct xvt_reader *r)
{
	return r->copy + (r->pos - r->copy_pos) + sizeof(uint64_t);
}

/* Go on behind it. */
xvt_inline void xvt_reader_plain_take(struct xvt_reader *r, uint64_t header, uint64_t ts)
{
	r->ts = ts;
	r->pos += xvt_header_len(header);
}

/* Drop the rest of the current sub-buffer; returns the position after it. */
uint64_t xvt_reader_skip(struct xvt_reader *r);

#endif /* XVT_READER_H */
