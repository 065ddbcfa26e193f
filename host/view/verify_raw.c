// SPDX-License-Identifier: GPL-2.0
/*
 * verify_raw.c - see verify_parts.h. The pieces of rings: where each lies in its ring, and what the
 * records in it say of that themselves. The recorder copies every position once, in the ring's
 * order, and every record of a piece is in an order once.
 */
#include "view/verify_parts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/u64.h"
#include "xvt_ring.h"

#define NO_SHIFT    64u
#define TAIL_PIECES 16u

/* log2 of the ring's size; NO_SHIFT: the file does not say it. */
static uint32_t ring_shift(const struct xvt_ring_info *i)
{
	const uint64_t size = (uint64_t)i->subbuf_size * i->subbuf_count;

	return size && !(size & (size - 1)) ? (uint32_t)__builtin_ctzll(size) : NO_SHIFT;
}

static void piece_violation(struct xvt_verify_state *v, const struct xvt_raw_piece *p,
			    const char *what)
{
	char text[XVT_VERIFY_RING_TEXT];

	xvt_verify_violation(v, XVT_VERIFY_RING, xvt_ring_vm(v->t, p->ring),
			     "%s: its piece of %" PRIu32 " bytes at position %" PRIu64 " %s",
			     xvt_verify_ring_text(v, p->ring, text), p->len, p->pos, what);
}

/* Where a piece may lie: in one sub-buffer, behind its header, behind the piece before it. */
static void check_position(struct xvt_verify_state *v, const struct xvt_raw_piece *p)
{
	const uint64_t size = v->t->rings[p->ring].info.subbuf_size;
	struct xvt_verify_ring *r = &v->rings[p->ring];
	const uint64_t end = p->pos + p->len;

	if (size && (p->pos % 8 || p->pos % size < sizeof(struct xvt_subbuf_hdr) ||
		     p->pos / size != (end - 1) / size))
		piece_violation(v, p, "does not lie in one sub-buffer");
	if (r->raw.any && xvt_pos_before(p->pos, r->raw.end)) {
		r->raw.back++;
		r->raw.last_back = *p;
	}
	r->raw.any = true;
	r->raw.end = end;
}

/* Counts the piece's records that an order may name. Each has the lap of its position. */
static void check_records(struct xvt_verify_state *v, const struct xvt_raw_piece *p,
			  const uint8_t *bytes)
{
	const uint32_t shift = ring_shift(&v->t->rings[p->ring].info);
	const uint64_t lap = shift == NO_SHIFT ? 0 : xvt_header_lap(shift, p->pos);
	uint64_t header, live = 0, other = 0;

	for (uint32_t at = 0; p->len - at >= sizeof(header);) {
		uint32_t id, len;

		memcpy(&header, bytes + at, sizeof(header));
		id = xvt_header_id(header);
		len = xvt_header_len(header);
		if (xvt_unlikely(id == XVT_ID_INVALID)) {
			at += sizeof(header);
			continue;
		}
		if (id == XVT_ID_PAD_END || len < sizeof(header) || len > p->len - at)
			break;
		live += header & XVT_H_DONE && id != XVT_ID_DISCARDED;
		other |= (header ^ lap) & (3ull << XVT_H_LAP_SHIFT);
		at += len;
	}
	v->rings[p->ring].raw.live += live;
	if (xvt_unlikely(other && shift != NO_SHIFT))
		piece_violation(v, p, "has records of another lap of the ring");
}

/* Notes where the piece ends. Returns 0 or -ENOMEM. */
static int note_tail(struct xvt_verify_ring *r)
{
	if (!r->raw.tail)
		r->raw.tail = calloc(TAIL_PIECES, sizeof(*r->raw.tail));
	if (!r->raw.tail)
		return -ENOMEM;
	r->raw.tail[r->raw.tail_at++ % TAIL_PIECES] =
		(struct xvt_verify_tail){ .end = r->raw.end, .live = r->raw.live };
	return 0;
}

/* A piece lies in one sub-buffer, so all its records are of one lap. Returns 0 or -ENOMEM. */
static int check_piece(struct xvt_verify_state *v, const struct xvt_raw_piece *p,
		       const uint8_t *bytes)
{
	if (p->ring >= v->t->ring_count || !v->t->rings[p->ring].known) {
		xvt_verify_violation(v, XVT_VERIFY_RING, XVT_VM_NONE,
				     "a piece of ring %u, which the trace does not have", p->ring);
		return 0;
	}
	if (!p->len)
		return 0;
	check_position(v, p);
	check_records(v, p, bytes);
	return note_tail(&v->rings[p->ring]);
}

int xvt_verify_raw(struct xvt_verify_state *v, const struct xvt_chunk_ref *ref,
		   const struct xvt_chunk_buf *b)
{
	struct xvt_raw_piece p;
	uint32_t at = 0;
	int err = 0;

	while (!err && b->len - at >= sizeof(p)) {
		memcpy(&p, b->payload + at, sizeof(p));
		at += sizeof(p);
		if (p.len % 8 || p.len > b->len - at)
			break;
		err = check_piece(v, &p, b->payload + at);
		at += p.len;
	}
	if (!err && at != b->len)
		xvt_verify_violation(v, XVT_VERIFY_CHUNK, XVT_VM_NONE,
				     "chunk %" PRIu64 ": a piece reaches past its chunk", ref->seq);
	return err;
}

/*
 * Returns how many records the events must name at least. A snapshot takes rings as they are, and
 * leaves out the events behind its moment: records behind the last that is named, and in its piece.
 */
static uint64_t named_least(const struct xvt_verify_ring *r)
{
	const uint64_t main = r->order.written[0].pos, late = r->order.written[1].pos;
	const bool late_last =
		r->order.written[1].any && (!r->order.written[0].any || xvt_pos_before(main, late));
	const uint64_t last = late_last ? late : main;
	uint64_t least = 0;

	for (uint32_t i = 0; i < TAIL_PIECES && i < r->raw.tail_at; i++) {
		if (!xvt_pos_before(last, r->raw.tail[i].end))
			least = xvt_u64_larger(least, r->raw.tail[i].live);
	}
	return least;
}

void xvt_verify_raw_end(struct xvt_verify_state *v, uint32_t ring)
{
	const struct xvt_verify_ring *r = &v->rings[ring];
	char text[XVT_VERIFY_RING_TEXT];

	/* Missing chunks may be damaged, or not written. */
	if (!v->t->ended || v->t->damage_count)
		return;
	if (r->raw.back && !r->order.nr_rollbacks)
		piece_violation(v, &r->raw.last_back, "lies before the one before it");
	/* Pieces at a border of a set may be in both files, and their records in one of them. */
	if (!v->t->info.set_number && (r->kind.named > r->raw.live ||
				       (!r->order.nr_rollbacks && r->kind.named < named_least(r))))
		xvt_verify_violation(v, XVT_VERIFY_COUNT, xvt_ring_vm(v->t, ring),
				     "%s: %" PRIu64 " records are in its pieces, %" PRIu64
				     " in the order of events",
				     xvt_verify_ring_text(v, ring, text), r->raw.live,
				     r->kind.named);
}
