/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * xvt_ring.h - geometry as pure functions, and the encoding of a record header.
 * Knows nothing of memory: positions in, offsets and words out. Positions are only compared
 * by difference, so everything here holds when they wrap past 2^64.
 */
#ifndef XVT_RING_H
#define XVT_RING_H

#include "xvt_abi.h"

/* Private and validated: the host never uses a size that it has not checked and copied. */
struct xvt_geometry {
	uint64_t region_size;
	uint64_t host_off;
	uint64_t meta_off;
	uint64_t meta_size;
	uint64_t ctl_off;
	uint64_t data_off;
	uint64_t ring_size; /* subbuf_size * subbuf_count */
	uint32_t align;
	uint32_t ctl_stride;
	uint32_t ring_count;
	uint32_t subbuf_size;
	uint32_t subbuf_count;
	uint32_t subbuf_shift;
	uint32_t ring_shift;
	uint32_t ts_bits;
};

xvt_inline uint64_t xvt_ctl_off(const struct xvt_geometry *g, uint32_t ring)
{
	return g->ctl_off + (uint64_t)ring * g->ctl_stride;
}

xvt_inline uint64_t xvt_ring_host_off(const struct xvt_geometry *g, uint32_t ring)
{
	return xvt_ctl_off(g, ring) + g->align;
}

xvt_inline uint64_t xvt_data_off(const struct xvt_geometry *g, uint32_t ring)
{
	return g->data_off + (uint64_t)ring * g->ring_size;
}

/* Position to offset in the ring's data. */
xvt_inline uint64_t xvt_pos_off(const struct xvt_geometry *g, uint64_t pos)
{
	return pos & (g->ring_size - 1);
}

/* Start of the sub-buffer that holds pos. */
xvt_inline uint64_t xvt_pos_trunc(const struct xvt_geometry *g, uint64_t pos)
{
	return pos & ~(uint64_t)(g->subbuf_size - 1);
}

/* First sub-buffer border at or after pos. */
xvt_inline uint64_t xvt_pos_roundup(const struct xvt_geometry *g, uint64_t pos)
{
	return xvt_pos_trunc(g, pos + g->subbuf_size - 1);
}

/* Sub-buffer border after pos. */
xvt_inline uint64_t xvt_pos_next_subbuf(const struct xvt_geometry *g, uint64_t pos)
{
	return xvt_pos_trunc(g, pos) + g->subbuf_size;
}

/* Is a before b, when both belong to the same stretch of a ring? */
xvt_inline bool xvt_pos_before(uint64_t a, uint64_t b)
{
	return (int64_t)(a - b) < 0;
}

/*
 * ctl->resv of the xadd back-end: the number of the open sub-buffer above, the offset of its
 * end below. Several interrupted writers may each add a record to an offset that is beyond the
 * border already, so the offset has room for XVT_MAXNEST sub-buffers. An offset greater than
 * subbuf_size means "closed": nothing more fits, nothing goes back, the next sub-buffer is not
 * open yet. Positions are good for 2^59 bytes: 18 years at 1 GB a second.
 */
#define XVT_RESV_SHIFT 4
XVT_ASSERT(XVT_MAXNEST <= 1u << XVT_RESV_SHIFT, "offsets of a closed sub-buffer must not carry");

xvt_inline uint64_t xvt_resv_offset(uint32_t subbuf_shift, uint64_t word)
{
	return word & ((1ull << (subbuf_shift + XVT_RESV_SHIFT)) - 1);
}

/* End of what is reserved, as a position. Any word is legal input. */
xvt_inline uint64_t xvt_resv_pos(uint32_t backend, uint32_t subbuf_shift, uint64_t word)
{
	uint64_t size = 1ull << subbuf_shift, offset = xvt_resv_offset(subbuf_shift, word);

	if (backend != XVT_BACKEND_XADD)
		return word;
	/* Arithmetic: positions below 0, where tests like to begin, stay what they are. */
	return ((uint64_t)((int64_t)word >> (subbuf_shift + XVT_RESV_SHIFT)) << subbuf_shift) +
	       (offset < size ? offset : size);
}

/* The word for position `pos`, with room for more in its sub-buffer. */
xvt_inline uint64_t xvt_resv_word(uint32_t backend, uint32_t subbuf_shift, uint64_t pos)
{
	if (backend != XVT_BACKEND_XADD)
		return pos;
	return (pos >> subbuf_shift << (subbuf_shift + XVT_RESV_SHIFT)) |
	       (pos & ((1ull << subbuf_shift) - 1));
}

xvt_inline uint64_t xvt_header_lap(uint32_t ring_shift, uint64_t pos)
{
	return (pos >> ring_shift & 3) << XVT_H_LAP_SHIFT;
}

/* Without its lap. */
xvt_inline uint64_t xvt_header_word(uint32_t id, uint32_t len, uint64_t ts, uint64_t flags)
{
	return flags | (uint64_t)id << XVT_H_ID_SHIFT | (uint64_t)(len >> 3) << XVT_H_LEN8_SHIFT |
	       (uint32_t)ts;
}

xvt_inline uint64_t xvt_header(uint32_t ring_shift, uint64_t pos, uint32_t id, uint32_t len,
			       uint64_t ts, uint64_t flags)
{
	return xvt_header_lap(ring_shift, pos) | xvt_header_word(id, len, ts, flags);
}

xvt_inline uint32_t xvt_header_len(uint64_t h)
{
	return (uint32_t)(h >> XVT_H_LEN8_SHIFT & XVT_H_LEN8_MASK) << 3;
}

xvt_inline uint32_t xvt_header_id(uint64_t h)
{
	return (uint32_t)(h >> XVT_H_ID_SHIFT) & XVT_H_ID_MASK;
}

/* Smallest t >= prev whose low `bits` bits are those of lo. */
xvt_inline uint64_t xvt_time_extend(uint64_t prev, uint64_t lo, uint32_t bits)
{
	uint64_t mask = (1ull << bits) - 1;

	return prev + ((lo - prev) & mask);
}

#endif /* XVT_RING_H */
