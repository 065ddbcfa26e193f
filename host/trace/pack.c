// SPDX-License-Identifier: GPL-2.0
/* pack.c - see pack.h. */
#include "trace/pack.h"

#include <string.h>

#include "trace/crc32c.h"
#include "trace/payload.h"

#define META_LEAST 1024u /* a smaller META is not compressed */

size_t xvt_chunk_pack(struct xvt_packer *packer, uint16_t type, const uint8_t *payload, size_t len,
		      uint8_t *to)
{
	const size_t clear = xvt_chunk_of_events(type) ? sizeof(struct xvt_order_hdr) : 0;
	uint64_t rest = len - clear;
	ssize_t n;

	if (!xvt_chunk_of_events(type) && type != XVT_CHUNK_RAW && type != XVT_CHUNK_HEADS &&
	    (type != XVT_CHUNK_META || len < META_LEAST))
		return 0;
	if (len < clear || rest <= sizeof(rest))
		return 0;
	n = xvt_pack(packer, to + clear + sizeof(rest), rest - sizeof(rest), payload + clear, rest);
	if (n < 0)
		return 0;
	memcpy(to, payload, clear);
	memcpy(to + clear, &rest, sizeof(rest));
	return clear + sizeof(rest) + (size_t)n;
}

size_t xvt_chunk_seal(uint8_t *chunk, const struct xvt_chunk_hdr *hdr)
{
	struct xvt_chunk_hdr h = *hdr;

	h.crc = 0;
	memset(chunk + sizeof(h) + h.len, 0, xvt_pad8(h.len) - h.len);
	memcpy(chunk, &h, sizeof(h));
	h.crc = xvt_crc32c(0, chunk, sizeof(h) + h.len);
	memcpy(chunk, &h, sizeof(h));
	return sizeof(h) + xvt_pad8(h.len);
}
