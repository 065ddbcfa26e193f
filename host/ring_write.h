/* SPDX-License-Identifier: GPL-2.0 */
/* ring_write.h - pieces of a ring into RAW chunks, and where its records are there into ORDER. */
#ifndef XVT_RING_WRITE_H
#define XVT_RING_WRITE_H

#include "ring.h"
#include "trace_write.h"

/* Bytes that a piece takes in the file with its records' places, about. */
static inline uint64_t xvt_piece_cost(const struct xvt_piece *p)
{
	return sizeof(struct xvt_raw_piece) + p->len + p->len / 8 +
	       sizeof(struct xvt_order_source) + sizeof(struct xvt_order_line);
}

/* The next piece that is not in the trace yet (r->unput, not NULL) goes into it. Returns 0 or
 * -errno. */
int xvt_ring_put_piece(struct xvt_ring *r, struct xvt_trace_writer *w);

/* The same without writing it: its records are dropped when their turn comes. */
void xvt_ring_drop_piece(struct xvt_ring *r);

/* A record of the run in hand, or a LOST, goes out. Its piece is in the trace. */
int xvt_ring_put_record(const struct xvt_ring *r, const struct xvt_placed *p,
			struct xvt_trace_writer *w);

/* Must its piece be put into the trace first? */
static inline bool xvt_ring_unput(const struct xvt_ring *r, const struct xvt_placed *p)
{
	return p->hdr.id != XVT_ID_LOST && r->first->fate == XVT_PIECE_WAITS;
}

/* Was its piece dropped? */
static inline bool xvt_ring_dropped(const struct xvt_ring *r, const struct xvt_placed *p)
{
	return p->hdr.id != XVT_ID_LOST && r->first->fate == XVT_PIECE_DROPPED;
}

#endif /* XVT_RING_WRITE_H */
