// SPDX-License-Identifier: GPL-2.0
/*
 * repack.c - see repack.h. Offsets in INDEX and END lead to chunks before them, so one pass knows
 * where these went. Sequence numbers stay; those in ORDER, LATE and LOOSE name RAW chunks. A second
 * pass reads both files, and expects of the copy what the first pass had to write.
 */
#define _GNU_SOURCE
#include "trace/repack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/vec.h"
#include "trace/pack.h"
#include "trace/parts.h"

/* A chunk: its offset in the trace, and in the copy. The n-th one has sequence number n. */
struct moved {
	uint64_t from;
	uint64_t to;
	uint16_t type;
};

struct repack {
	struct xvt_trace from;
	struct xvt_trace to;
	struct xvt_packer *packer;
	struct xvt_chunk_head head; /* of the chunk in `chunk` */
	struct xvt_chunk_buf chunk; /* of the trace, with the offsets of the copy */
	struct xvt_chunk_buf copy;  /* the same, as the copy has it */
	uint8_t *out;
	size_t out_room;
	struct moved *moved; /* by `from` */
	size_t nr_moved;
	size_t moved_room;
	uint64_t at;	 /* of the next chunk in the trace */
	uint64_t to_at;	 /* and in the copy */
	uint64_t number; /* of the next chunk in the trace */
	bool ended;
};

/* ------------------------------------------------------------------ offsets */

/* Replaces the offset at `at` by that of the copy. `type`: what it must lead to; 0: any chunk. */
static int move_offset(const struct repack *r, uint8_t *at, uint16_t type)
{
	const struct moved *m;
	uint64_t offset;
	size_t n;

	memcpy(&offset, at, sizeof(offset));
	n = XVT_COUNT_TO(r->moved, r->nr_moved, from, offset);
	m = n ? &r->moved[n - 1] : NULL;
	if (!m || m->from != offset || (type && m->type != type))
		return -EBADMSG;
	memcpy(at, &m->to, sizeof(m->to));
	return 0;
}

/* Events name a RAW chunk before them. */
static bool names_raw(const struct repack *r, const uint8_t *at)
{
	uint64_t seq;

	memcpy(&seq, at, sizeof(seq));
	return seq < r->nr_moved && r->moved[seq].type == XVT_CHUNK_RAW;
}

static int check_raws(const struct repack *r)
{
	const uint8_t *at = r->chunk.payload;
	struct xvt_order_hdr h;
	uint32_t i;

	if (r->chunk.len < sizeof(h))
		return -EBADMSG;
	memcpy(&h, at, sizeof(h));
	if ((uint64_t)h.own_len + h.nr_raws * sizeof(uint64_t) > r->chunk.len - sizeof(h))
		return -EBADMSG;
	at += sizeof(h) + h.own_len;
	for (i = 0; i < h.nr_raws; i++) {
		if (!names_raw(r, at + i * sizeof(uint64_t)))
			return -EBADMSG;
	}
	return 0;
}

static int move_entries(const struct repack *r)
{
	const size_t size = sizeof(struct xvt_index_entry);
	size_t i;
	int err = r->chunk.len % size ? -EBADMSG : 0;

	for (i = 0; i < r->chunk.len / size && !err; i++)
		err = move_offset(r, r->chunk.payload + i * size, 0);
	return err;
}

static int move_end(const struct repack *r)
{
	if (r->chunk.len != sizeof(struct xvt_end))
		return -EBADMSG;
	return move_offset(r, r->chunk.payload + offsetof(struct xvt_end, index_offset),
			   XVT_CHUNK_INDEX);
}

/* The offsets in a chunk of a newer format are not known. */
static int move(const struct repack *r)
{
	const uint16_t type = r->head.h.type;

	if (xvt_chunk_of_events(type))
		return check_raws(r);
	if (type == XVT_CHUNK_INDEX)
		return move_entries(r);
	if (type == XVT_CHUNK_END)
		return move_end(r);
	return type < XVT_CHUNK_FILE || type > XVT_CHUNK_LAST ? -EBADMSG : 0;
}

/* ------------------------------------------------------------------ passes */

/* Loads the trace's next chunk. Returns 1; 0 at the end; or -errno. */
static int next_chunk(struct repack *r)
{
	struct xvt_chunk_hdr *h = &r->head.h;
	int got;

	if (r->at == r->from.size)
		return r->ended ? 0 : -EBADMSG;
	got = r->ended ? 0 : xvt_trace_read_head(&r->from, r->at, &r->head);
	if (got <= 0)
		return got ? got : -EBADMSG;
	if (h->flags)
		return h->flags == XVT_CHUNK_F_ZSTD ? -EALREADY : -EBADMSG;
	if ((h->type == XVT_CHUNK_FILE) != !r->at || h->seq != r->number)
		return -EBADMSG;
	got = xvt_trace_load_at(&r->from, r->at, h->len, &r->chunk);
	if (got)
		return got;
	r->ended = h->type == XVT_CHUNK_END;
	r->at += sizeof(*h) + xvt_pad8(h->len);
	r->number++;
	got = move(r);
	return got ? got : 1;
}

static int write_all(int fd, const uint8_t *bytes, size_t len, uint64_t offset)
{
	while (len) {
		const ssize_t n = pwrite(fd, bytes, len, (off_t)offset);

		if (n < 0 && errno != EINTR)
			return -errno;
		if (n <= 0)
			continue;
		bytes += n;
		offset += (uint64_t)n;
		len -= (size_t)n;
	}
	return 0;
}

/* Writes the chunk behind those of the copy. */
static int put_chunk(struct repack *r)
{
	struct xvt_chunk_hdr h = r->head.h;
	const size_t head = sizeof(h);
	size_t packed, whole;
	int err;

	if (xvt_grow(&r->out, &r->out_room, head + xvt_pad8(h.len), 1))
		return -ENOMEM;
	packed = xvt_chunk_pack(r->packer, h.type, r->chunk.payload, r->chunk.len, r->out + head);
	h.len = packed ? (uint32_t)packed : r->chunk.len;
	h.flags = packed ? XVT_CHUNK_F_ZSTD : 0;
	if (!packed)
		memcpy(r->out + head, r->chunk.payload, r->chunk.len);
	whole = xvt_chunk_seal(r->out, &h);
	if (r->to_at + whole >= r->from.size)
		return -EFBIG;
	err = write_all(r->to.fd, r->out, whole, r->to_at);
	r->to_at += whole;
	return err;
}

/* Notes where the chunk that is in hand went. */
static int note_chunk(struct repack *r, uint64_t from)
{
	if (xvt_grow(&r->moved, &r->moved_room, r->nr_moved + 1, sizeof(*r->moved)))
		return -ENOMEM;
	r->moved[r->nr_moved++] = (struct moved){ from, r->to_at, r->head.h.type };
	return 0;
}

static int write_copy(struct repack *r)
{
	uint64_t from;
	int got;

	for (from = 0; (got = next_chunk(r)) > 0; from = r->at) {
		int err = note_chunk(r, from);

		if (!err)
			err = put_chunk(r);
		if (err)
			return err;
	}
	return got;
}

/* Compares the chunk that is in hand with that of the copy. */
static int compare_chunk(struct repack *r)
{
	struct xvt_chunk_head head;
	int got = xvt_trace_read_head(&r->to, r->to_at, &head);

	if (got > 0)
		got = xvt_trace_load_at(&r->to, r->to_at, head.h.len, &r->copy);
	else
		got = got ? got : -EBADMSG;
	if (got)
		return got;
	if (head.h.type != r->head.h.type || head.h.seq != r->head.h.seq ||
	    head.h.flags & ~XVT_CHUNK_F_ZSTD || r->copy.len != r->chunk.len ||
	    memcmp(r->copy.payload, r->chunk.payload, r->copy.len))
		return -EBADMSG;
	r->to_at += sizeof(head.h) + xvt_pad8(head.h.len);
	return 0;
}

static int compare_copy(struct repack *r)
{
	int got;

	r->to.size = r->to_at;
	r->at = r->to_at = r->number = 0;
	r->ended = false;
	while ((got = next_chunk(r)) > 0) {
		int err = compare_chunk(r);

		if (err)
			return err;
	}
	return got ? got : r->to_at == r->to.size ? 0 : -EBADMSG;
}

/* ------------------------------------------------------------------ the whole */

/* Both files have the identity that the first chunk says. */
static int begin(struct repack *r, unsigned int level)
{
	struct xvt_chunk_hdr h;
	struct stat st;

	if (fstat(r->from.fd, &st))
		return -errno;
	r->from.size = (uint64_t)st.st_size;
	if (r->from.size < sizeof(h) || xvt_trace_read_at(&r->from, &h, sizeof(h), 0) != sizeof(h))
		return -EBADMSG;
	r->from.trace_id = r->to.trace_id = h.trace_id;
	return xvt_packer_new(&r->packer, level);
}

/* The copy is read from the disk, not from memory, where the kernel can do that. */
static int store(const struct repack *r)
{
	if (fsync(r->to.fd))
		return -errno;
	posix_fadvise(r->to.fd, 0, 0, POSIX_FADV_DONTNEED);
	return 0;
}

int xvt_repack(int from, int to, unsigned int level)
{
	struct repack r = { .from = { .fd = from }, .to = { .fd = to } };
	int err = begin(&r, level);

	if (!err)
		err = write_copy(&r);
	if (!err)
		err = store(&r);
	if (!err)
		err = compare_copy(&r);
	/* Others may have better use for the memory. */
	posix_fadvise(from, 0, 0, POSIX_FADV_DONTNEED);
	posix_fadvise(to, 0, 0, POSIX_FADV_DONTNEED);
	xvt_packer_free(r.packer);
	xvt_chunk_buf_free(&r.chunk);
	xvt_chunk_buf_free(&r.copy);
	free(r.out);
	free(r.moved);
	return err;
}
