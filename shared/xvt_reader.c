// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * xvt_reader.c - decode records from a private copy. Every length is checked against the
 * copy before it is used; no loop runs longer than the copy has words.
 */
#include "xvt_reader.h"

static int fault(struct xvt_reader *r, const char *field, uint64_t value, const char *why)
{
	r->fault.field = field;
	r->fault.value = value;
	r->fault.why = why;
	return -EBADMSG;
}

void xvt_reader_init(struct xvt_reader *r, const struct xvt_geometry *g, uint64_t pos)
{
	memset(r, 0, sizeof(*r));
	r->g = g;
	r->pos = pos;
	r->end = pos;
	r->copy_pos = pos;
}

void xvt_reader_feed(struct xvt_reader *r, const void *copy, uint64_t len)
{
	r->copy = copy;
	r->copy_pos = r->pos;
	r->end = r->pos + len;
}

uint64_t xvt_reader_skip(struct xvt_reader *r)
{
	r->pos = xvt_pos_next_subbuf(r->g, r->pos);
	r->end = r->pos;
	return r->pos;
}

static uint64_t word_at(const struct xvt_reader *r, uint64_t pos)
{
	uint64_t w;

	memcpy(&w, r->copy + (pos - r->copy_pos), sizeof(w));
	return w;
}

/*
 * A writer died before it had stored this sub-buffer's header, whose magic comes last: step over
 * its place. An event nested in it wrote a full stamp, so no time is missing.
 */
static bool headless(const struct xvt_reader *r, const struct xvt_subbuf_hdr *h)
{
	return r->salvage == XVT_SALVAGE_CLEARED && !h->magic;
}

/* Returns 1; 0 in salvage; -EBADMSG; or -EAGAIN: stepped over, the first record is next. */
static int next_subbuf(struct xvt_reader *r, struct xvt_record *rec)
{
	struct xvt_subbuf_hdr *h = &r->subbuf;
	uint64_t seq = r->pos >> r->g->subbuf_shift;

	if (r->end - r->pos < sizeof(*h))
		return r->salvage ? 0 : fault(r, "end", r->end, "cuts a sub-buffer header");
	memcpy(h, r->copy + (r->pos - r->copy_pos), sizeof(*h));
	if (headless(r, h)) {
		memset(h, 0, sizeof(*h)); /* it may be half of one */
		r->pos += sizeof(*h);
		return -EAGAIN;
	}
	if (h->magic != XVT_SUBBUF_MAGIC)
		return r->salvage ? 0 : fault(r, "subbuf.magic", h->magic, "no sub-buffer header");
	if (h->seq != seq)
		return r->salvage ? 0 : fault(r, "subbuf.seq", h->seq, "belongs to another lap");
	if (h->hdr_len != sizeof(*h))
		return fault(r, "subbuf.hdr_len", h->hdr_len, "not a header of this version");
	r->ts = h->ts_base;
	r->epoch = h->epoch;
	rec->kind = XVT_REC_SUBBUF;
	rec->id = 0;
	rec->pos = r->pos;
	rec->ts = h->ts_base;
	rec->epoch = h->epoch;
	rec->len = 0;
	rec->payload = NULL;
	rec->full = true;
	r->pos += sizeof(*h);
	return 1;
}

/* The record's time; the reader's own time advances with it, whatever its kind. */
static void take_time(struct xvt_reader *r, uint64_t header)
{
	if (header & XVT_H_SAME)
		return; /* with FULL too: then the next word is only room that was not needed */
	if (header & XVT_H_FULL) {
		uint64_t ext = word_at(r, r->pos + 8);

		r->ts = ext << 32 | (uint32_t)header;
		r->epoch = (uint32_t)(ext >> 32);
	} else {
		r->ts = xvt_time_extend(r->ts, header, r->g->ts_bits);
	}
}

int xvt_reader_next(struct xvt_reader *r, struct xvt_record *rec)
{
	const uint64_t lap_mask = 3ull << XVT_H_LAP_SHIFT;
	uint32_t len, id, head;
	uint64_t header;

again:
	if (r->pos == r->end)
		return 0;
	if (!(r->pos & (r->g->subbuf_size - 1))) {
		int err = next_subbuf(r, rec);

		if (err == -EAGAIN)
			goto again;
		return err;
	}
	if (r->end - r->pos < 8)
		return fault(r, "end", r->end, "cuts a record header");
	header = word_at(r, r->pos);
	id = xvt_header_id(header);
	len = xvt_header_len(header);
	if (id == XVT_ID_INVALID && r->salvage == XVT_SALVAGE_CLEARED &&
	    !(r->subbuf.flags & XVT_SUBBUF_F_OVERWRITE)) {
		/* The full stamp of a missing header is not zero; it has no id as long as its
		 * epoch is below 4096. */
		r->pos += 8;
		goto again;
	}
	if (id == XVT_ID_INVALID || (header & lap_mask) != xvt_header_lap(r->g->ring_shift, r->pos))
		return r->salvage ? 0 : fault(r, "record.header", header, "no record of this lap");
	if (id == XVT_ID_PAD_END) {
		/* Reaches to the end of the sub-buffer, whatever its length field says. */
		r->pos = xvt_pos_next_subbuf(r->g, r->pos);
		if (xvt_pos_before(r->end, r->pos))
			r->pos = r->end;
		goto again;
	}
	head = header & XVT_H_FULL ? 16 : 8;
	if (len < head)
		return r->salvage ? 0
				  : fault(r, "record.len8", len >> 3, "shorter than its header");
	if (len > r->end - r->pos)
		return r->salvage ? 0 : fault(r, "record.len8", len >> 3, "reaches past the end");
	if (!(header & XVT_H_DONE) && !r->salvage)
		return fault(r, "record.header", header, "unfinished below commit");

	take_time(r, header);
	rec->kind = !(header & XVT_H_DONE)   ? XVT_REC_INFLIGHT
		    : id == XVT_ID_DISCARDED ? XVT_REC_DISCARDED
					     : XVT_REC_RECORD;
	rec->id = id;
	rec->pos = r->pos;
	rec->ts = r->ts;
	rec->epoch = r->epoch;
	rec->len = len - head;
	rec->payload = r->copy + (r->pos - r->copy_pos) + head;
	rec->full = (header & (XVT_H_FULL | XVT_H_SAME)) == XVT_H_FULL;
	r->pos += len;
	return 1;
}
