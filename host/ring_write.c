// SPDX-License-Identifier: GPL-2.0
/* ring_write.c - see ring_write.h. */
#include "ring_write.h"

#include <errno.h>

int xvt_ring_put_piece(struct xvt_ring *r, struct xvt_trace_writer *w)
{
	struct xvt_piece *p = r->unput;
	const struct xvt_raw_piece head = { r->id, p->len, p->pos };

	p->fate = XVT_PIECE_PUT;
	r->unput = p->next;
	return xvt_trace_piece(w, &head, p->bytes, &p->raw_chunk, &p->raw_at);
}

void xvt_ring_drop_piece(struct xvt_ring *r)
{
	r->unput->fate = XVT_PIECE_DROPPED;
	r->unput = r->unput->next;
}

/* Where its header begins in the piece. Behind the first one all of a run have short stamps. */
static uint64_t offset_of(const struct xvt_ring *r, const struct xvt_placed *p)
{
	if (p == r->run)
		return r->run_pos - r->first->pos;
	return (uint64_t)(p->payload - r->first->bytes) - sizeof(uint64_t);
}

int xvt_ring_put_record(const struct xvt_ring *r, const struct xvt_placed *p,
			struct xvt_trace_writer *w)
{
	struct xvt_raw_place place;

	if (xvt_unlikely(p->hdr.id == XVT_ID_LOST))
		return xvt_trace_event(w, &p->hdr, p->payload);
	place = (struct xvt_raw_place){ .chunk = r->first->raw_chunk,
					.at = r->first->raw_at + (uint32_t)offset_of(r, p),
					.stretch = r->stretch,
					.ts_bits = (uint16_t)r->region->g.ts_bits,
					/* A stamp extends itself to itself. */
					.ts = p->hdr.guest_clock };
	return xvt_trace_record(w, &p->hdr, &place, r->on_segment ? &r->segment : NULL);
}
