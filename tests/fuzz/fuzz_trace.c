// SPDX-License-Identifier: GPL-2.0
/*
 * fuzz_trace.c - any bytes as a .xvt file, through everything that reads one. The first byte
 * says through what; the second whether checksums are put right before (so that what lies
 * behind them is reached) or left as they are.
 */
#include "fuzz.h"

#include <stdlib.h>

#include "trace/crc32c.h"

#define REPAIR 1u
#define HEAD   2u /* bytes before the file */

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed);

static size_t pad8(size_t len)
{
	return (len + 7) & ~(size_t)7;
}

/* Is there a chunk at `at` that lies inside? Its length, padding included, or 0. */
static size_t chunk_at(const uint8_t *file, size_t size, size_t at)
{
	struct xvt_chunk_hdr h;

	if (size < sizeof(h) || at > size - sizeof(h))
		return 0;
	memcpy(&h, file + at, sizeof(h));
	if (h.magic != XVT_CHUNK_MAGIC || h.len > size - at - sizeof(h))
		return 0;
	return sizeof(h) + pad8(h.len) < size - at ? sizeof(h) + pad8(h.len) : size - at;
}

/* Every chunk that can be found belongs to this file and has the right checksum. */
static void repair(uint8_t *file, size_t size)
{
	size_t at = 0, len;
	uint64_t trace_id = 0, seq = 0;

	if (size >= sizeof(struct xvt_chunk_hdr) + sizeof(struct xvt_file_info))
		memcpy(&trace_id,
		       file + sizeof(struct xvt_chunk_hdr) + offsetof(struct xvt_file_info, uuid),
		       8);
	while (at < size) {
		struct xvt_chunk_hdr h;

		len = chunk_at(file, size, at);
		if (!len) {
			at += 8;
			continue;
		}
		memcpy(&h, file + at, sizeof(h));
		h.trace_id = trace_id;
		h.seq = seq++;
		h.crc = 0;
		memcpy(file + at, &h, sizeof(h));
		h.crc = xvt_crc32c(0, file + at, sizeof(h) + h.len);
		memcpy(file + at, &h, sizeof(h));
		at += len;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct fuzz_file f;
	uint8_t *file;

	if (!f.path[0])
		fuzz_file_new(&f, "trace");
	if (size < HEAD)
		return 0;
	fuzz_memory_reset();
	file = malloc(size);
	if (!file)
		return 0;
	memcpy(file, data + HEAD, size - HEAD);
	if (data[1] & REPAIR)
		repair(file, size - HEAD);
	fuzz_file_set(&f, file, size - HEAD);
	free(file);
	fuzz_read_trace(&f, data[0]);
	return 0;
}

#ifdef XVT_FUZZ_LIBFUZZER
/*
 * A byte put in or taken out anywhere makes rubbish of all that follows. So most of the time one
 * chunk is changed by itself, its length put right, or chunks are dropped, doubled, swapped.
 */
#define CHUNKS_MAX 512

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
	size_t at[CHUNKS_MAX], len[CHUNKS_MAX], n = 0, i = HEAD, pick, grown;
	struct xvt_chunk_hdr h;
	uint8_t *rest;

	while (size > HEAD && i < size && n < CHUNKS_MAX) {
		at[n] = i;
		len[n] = chunk_at(data + HEAD, size - HEAD, i - HEAD);
		if (!len[n])
			break;
		i += len[n++];
	}
	if (!n || seed % 8 == 0)
		return LLVMFuzzerMutate(data, size, max_size);
	if (seed % 8 == 1)
		return LLVMFuzzerMutate(data, HEAD, HEAD) == HEAD ? size : size;
	pick = seed / 8 % n;
	if (seed % 8 == 2 && n > 1) { /* drop */
		memmove(data + at[pick], data + at[pick] + len[pick], size - at[pick] - len[pick]);
		return size - len[pick];
	}
	rest = malloc(size);
	if (!rest)
		return size;
	memcpy(rest, data, size);
	if (seed % 8 == 3 && size + len[pick] <= max_size) { /* double */
		memcpy(data + at[pick] + len[pick], rest + at[pick], size - at[pick]);
		size += len[pick];
	} else {
		/* One payload; what is behind it moves. */
		size_t tail = size - at[pick] - len[pick], room = max_size - size;
		size_t body = len[pick] - sizeof(h),
		       most = body + (room < 4096 ? room & ~7ull : 4096);
		uint8_t *payload = malloc(most ? most : 1);

		memcpy(&h, data + at[pick], sizeof(h));
		if (payload && h.len <= body) {
			memcpy(payload, data + at[pick] + sizeof(h), h.len);
			grown = most ? LLVMFuzzerMutate(payload, h.len, most) : 0;
			h.len = (uint32_t)grown;
			memcpy(data + at[pick], &h, sizeof(h));
			memcpy(data + at[pick] + sizeof(h), payload, grown);
			memset(data + at[pick] + sizeof(h) + grown, 0, pad8(grown) - grown);
			memcpy(data + at[pick] + sizeof(h) + pad8(grown),
			       rest + at[pick] + len[pick], tail);
			size = at[pick] + sizeof(h) + pad8(grown) + tail;
		}
		free(payload);
	}
	free(rest);
	return size;
}
#endif

void fuzz_guest_turn(void)
{
}

void fuzz_guest_stored(uint64_t off)
{
	(void)off;
}
