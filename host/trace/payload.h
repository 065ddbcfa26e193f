/* SPDX-License-Identifier: GPL-2.0 */
/* payload.h - payloads padded to whole words, in a file and in chunks that are being built. */
#ifndef XVT_PAYLOAD_H
#define XVT_PAYLOAD_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t xvt_pad8(uint64_t len)
{
	return (len + 7) & ~7ull;
}

/* Copies len bytes and adds zeros up to a whole word. Most payloads are a few words, for which a
 * loop is faster than memcpy() with an unknown length. */
static inline void xvt_payload_put(uint8_t *to, const uint8_t *from, size_t len)
{
	uint64_t word = 0;

	for (; len >= sizeof(word); len -= sizeof(word)) {
		memcpy(&word, from, sizeof(word));
		memcpy(to, &word, sizeof(word));
		from += sizeof(word);
		to += sizeof(word);
	}
	if (len) {
		word = 0;
		memcpy(&word, from, len);
		memcpy(to, &word, sizeof(word));
	}
}

#endif /* XVT_PAYLOAD_H */
