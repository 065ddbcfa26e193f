/* SPDX-License-Identifier: GPL-2.0 */
/* pack.h - a chunk as it is stored: its payload compressed where that makes it smaller, and its
 * header with the checksum. */
#ifndef XVT_TRACE_PACK_H
#define XVT_TRACE_PACK_H

#include <stddef.h>
#include <stdint.h>

#include "base/compress.h"
#include "trace/format.h"

/* Compresses a payload into `to`, which has room for `len` bytes. Returns the compressed length, or
 * 0: chunks of that type are not compressed, or it does not get smaller. */
size_t xvt_chunk_pack(struct xvt_packer *packer, uint16_t type, const uint8_t *payload, size_t len,
		      uint8_t *to);

/* Completes a chunk: the padding behind its payload, its header, the checksum. `chunk` begins with
 * room for the header. Returns the length of the whole chunk. */
size_t xvt_chunk_seal(uint8_t *chunk, const struct xvt_chunk_hdr *h);

#endif /* XVT_TRACE_PACK_H */
