// SPDX-License-Identifier: GPL-2.0
/*
 * trace_write.c - see trace_write.h. Two chunks are open at a time, one for each lane; a
 * chunk is built whole in memory (header, payload, padding) and leaves in one call of the
 * sink, so that the sink never holds half a chunk.
 */
#include "trace_write.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "compress.h"
#include "crc32c.h"
#include "payload.h"

#define LANE_BYTES (256u << 10)
#define PACK_LEAST 1024u /* a smaller META is not compressed */

struct lane {
	uint8_t *bytes; /* LANE_BYTES: chunk header, events header, events; own, or the sink's */
	uint8_t *own;
	size_t used; /* 0: nothing gathered */
	uint16_t type;
};

struct xvt_trace_writer {
	struct xvt_sink *sink;
	struct lane main;
	struct lane late;
	uint8_t *scratch; /* for chunks made by xvt_trace_put() */
	size_t scratch_room;
	struct xvt_packer *packer; /* NULL: nothing is compressed */
	uint8_t *packed;
	size_t packed_room;
	/* The next INDEX as it is gathered. */
	struct {
		struct xvt_chunk_hdr hdr;
		struct xvt_index_entry entries[XVT_INDEX_CHUNKS];
	} index;
	size_t index_count;
	uint64_t index_offset; /* of the last INDEX */
	uint64_t seq;
	uint64_t trace_id;
	uint64_t bytes;
	uint64_t events;
	uint64_t late_events;
	uint64_t raw_event_bytes; /* of the chunks of events, before and after compression */
	uint64_t stored_event_bytes;
	int err; /* the first one; nothing is written after it */
};

/* A chunk on its way out. */
struct chunk {
	uint8_t *bytes; /* a header's room, then the payload, then room for padding */
	size_t len;	/* of the payload */
	uint16_t type;
	uint16_t flags;
	const struct xvt_events_hdr *events; /* what EVENTS and LATE say of themselves */
};

static int put_chunk(struct xvt_trace_writer *w, const struct chunk *c)
{
	struct xvt_index_entry *entry;
	struct xvt_chunk_hdr h = {
		.magic = XVT_CHUNK_MAGIC,
		.type = c->type,
		.flags = c->flags,
		.len = (uint32_t)c->len,
		.seq = w->seq,
		.trace_id = w->trace_id,
	};
	size_t whole = sizeof(h) + xvt_pad8(c->len);

	if (w->err)
		return w->err;
	memset(c->bytes + sizeof(h) + c->len, 0, xvt_pad8(c->len) - c->len);
	memcpy(c->bytes, &h, sizeof(h));
	h.crc = xvt_crc32c(0, c->bytes, sizeof(h) + c->len);
	memcpy(c->bytes, &h, sizeof(h));
	w->err = w->sink->write(w->sink, c->bytes, whole);
	if (w->err)
		return w->err;
	if (c->type == XVT_CHUNK_INDEX) {
		w->index_count = 0;
		w->index_offset = w->bytes;
	}
	entry = &w->index.entries[w->index_count++];
	*entry = (struct xvt_index_entry){ .offset = w->bytes, .type = c->type };
	if (c->events) {
		entry->first_ns = c->events->first_ns;
		entry->last_ns = c->events->last_ns;
		entry->count = c->events->count;
		w->stored_event_bytes += whole;
	}
	w->seq++;
	w->bytes += whole;
	return 0;
}

static int put_index(struct xvt_trace_writer *w)
{
	const struct chunk c = {
		.bytes = (uint8_t *)&w->index,
		.len = w->index_count * sizeof(w->index.entries[0]),
		.type = XVT_CHUNK_INDEX,
	};

	return put_chunk(w, &c);
}

/* The same chunk smaller, in w->packed, if it can be. */
static void pack(struct xvt_trace_writer *w, struct chunk *c)
{
	const size_t head = sizeof(struct xvt_chunk_hdr);
	size_t clear = c->events ? sizeof(*c->events) : 0;
	uint64_t rest = c->len - clear;
	ssize_t n;

	if (head + c->len > w->packed_room) {
		void *grown = realloc(w->packed, head + xvt_pad8(c->len));

		if (!grown)
			return; /* as it is, then */
		w->packed = grown;
		w->packed_room = head + xvt_pad8(c->len);
	}
	if (rest <= sizeof(rest))
		return;
	n = xvt_pack(w->packer, w->packed + head + clear + sizeof(rest), rest - sizeof(rest),
		     c->bytes + head + clear, rest);
	if (n < 0)
		return;
	memcpy(w->packed + head, c->bytes + head, clear);
	memcpy(w->packed + head + clear, &rest, sizeof(rest));
	c->bytes = w->packed;
	c->len = clear + sizeof(rest) + (size_t)n;
	c->flags = XVT_CHUNK_F_ZSTD;
}

static int emit(struct xvt_trace_writer *w, struct chunk *c)
{
	int err;

	if (c->events)
		w->raw_event_bytes += sizeof(struct xvt_chunk_hdr) + xvt_pad8(c->len);
	if (w->packer && (c->events || (c->type == XVT_CHUNK_META && c->len >= PACK_LEAST)))
		pack(w, c);
	err = put_chunk(w, c);
	if (!err &&
	    (w->index_count == XVT_INDEX_CHUNKS || w->bytes - w->index_offset >= XVT_INDEX_BYTES))
		err = put_index(w);
	return err;
}

int xvt_trace_compress(struct xvt_trace_writer *w, unsigned int level)
{
	return xvt_packer_new(&w->packer, level);
}

static struct xvt_events_hdr *lane_hdr(struct lane *lane)
{
	return (struct xvt_events_hdr *)(lane->bytes + sizeof(struct xvt_chunk_hdr));
}

static int lane_flush(struct xvt_trace_writer *w, struct lane *lane)
{
	struct chunk c = {
		.bytes = lane->bytes,
		.len = lane->used - sizeof(struct xvt_chunk_hdr),
		.type = lane->type,
		.events = lane_hdr(lane),
	};

	if (!lane->used || w->err)
		return w->err;
	emit(w, &c);
	lane->used = 0;
	return w->err;
}

void xvt_trace_writer_free(struct xvt_trace_writer *w)
{
	free(w->main.own);
	free(w->late.own);
	free(w->scratch);
	xvt_packer_free(w->packer);
	free(w->packed);
	free(w);
}

int xvt_trace_writer_new(struct xvt_trace_writer **out, struct xvt_sink *sink,
			 const struct xvt_file_info *info)
{
	static const uint8_t no_uuid[16];
	struct xvt_trace_writer *w = calloc(1, sizeof(*w));
	struct xvt_file_info file = *info;
	int err = -ENOMEM;

	*out = NULL;
	if (!w)
		return -ENOMEM;
	w->sink = sink;
	w->main.type = XVT_CHUNK_EVENTS;
	w->late.type = XVT_CHUNK_LATE;
	w->main.own = malloc(LANE_BYTES);
	w->late.own = malloc(LANE_BYTES);
	if (!w->main.own || !w->late.own)
		goto err_free;
	w->main.bytes = w->main.own;
	w->late.bytes = w->late.own;

	file.magic = XVT_FILE_MAGIC;
	file.major = XVT_FILE_MAJOR;
	file.minor = XVT_FILE_MINOR;
	file.oldest = XVT_FILE_OLDEST;
	/* A caller may bring its own UUID: then the same events make the same bytes. */
	if (memcmp(file.uuid, no_uuid, sizeof(no_uuid)) == 0) {
		if (getrandom(file.uuid, sizeof(file.uuid), 0) != sizeof(file.uuid)) {
			err = -EIO;
			goto err_free;
		}
		file.uuid[6] = (file.uuid[6] & 0x0f) | 0x40;
		file.uuid[8] = (file.uuid[8] & 0x3f) | 0x80;
	}
	memcpy(&w->trace_id, file.uuid, sizeof(w->trace_id));
	err = xvt_trace_put(w, XVT_CHUNK_FILE, &file, sizeof(file), NULL, 0);
	if (err)
		goto err_free;
	*out = w;
	return 0;

err_free:
	xvt_trace_writer_free(w);
	return err;
}

int xvt_trace_put(struct xvt_trace_writer *w, uint16_t type, const void *head, size_t head_len,
		  const void *body, size_t body_len)
{
	size_t len = head_len + body_len;
	size_t need = sizeof(struct xvt_chunk_hdr) + xvt_pad8(len);
	struct chunk c = { .len = len, .type = type };

	if (xvt_trace_flush(w))
		return w->err;
	/* What is missing must not go unnoticed: not all callers look. */
	if (len > XVT_CHUNK_LEN_MAX) {
		w->err = -EMSGSIZE;
		return w->err;
	}
	if (need > w->scratch_room) {
		void *grown = realloc(w->scratch, need);

		if (!grown) {
			w->err = -ENOMEM;
			return w->err;
		}
		w->scratch = grown;
		w->scratch_room = need;
	}
	if (head_len)
		memcpy(w->scratch + sizeof(struct xvt_chunk_hdr), head, head_len);
	if (body_len)
		memcpy(w->scratch + sizeof(struct xvt_chunk_hdr) + head_len, body, body_len);
	c.bytes = w->scratch;
	return emit(w, &c);
}

/* The bulk is built where it leaves from; the other lane has to wait for its turn. */
static void lane_begin(struct xvt_trace_writer *w, struct lane *lane)
{
	uint8_t *room = NULL;

	if (lane == &w->main && w->sink->room)
		room = w->sink->room(w->sink, LANE_BYTES);
	lane->bytes = room ? room : lane->own;
	lane->used = sizeof(struct xvt_chunk_hdr) + sizeof(struct xvt_events_hdr);
	memset(lane_hdr(lane), 0, sizeof(struct xvt_events_hdr));
	lane_hdr(lane)->first_ns = UINT64_MAX;
}

int xvt_trace_event(struct xvt_trace_writer *w, const struct xvt_event_hdr *hdr,
		    const void *payload)
{
	struct lane *lane = hdr->ring_flags & XVT_EVENT_F_LATE ? &w->late : &w->main;
	size_t padded = xvt_pad8(hdr->len);
	struct xvt_events_hdr *h;
	uint8_t *to;

	if (xvt_unlikely(lane->used + sizeof(*hdr) + padded > LANE_BYTES - 8))
		xvt_trace_flush(w);
	if (xvt_unlikely(w->err))
		return w->err;
	if (xvt_unlikely(!lane->used))
		lane_begin(w, lane);
	h = lane_hdr(lane);
	if (hdr->host_ns < h->first_ns)
		h->first_ns = hdr->host_ns;
	if (hdr->host_ns > h->last_ns)
		h->last_ns = hdr->host_ns;
	h->count++;
	to = lane->bytes + lane->used;
	memcpy(to, hdr, sizeof(*hdr));
	xvt_payload_put(to + sizeof(*hdr), payload, hdr->len);
	lane->used += sizeof(*hdr) + padded;
	if (lane == &w->late)
		w->late_events++;
	else
		w->events++;
	return 0;
}

int xvt_trace_flush(struct xvt_trace_writer *w)
{
	lane_flush(w, &w->main);
	return lane_flush(w, &w->late);
}

uint64_t xvt_trace_bytes(const struct xvt_trace_writer *w)
{
	return w->bytes;
}

uint64_t xvt_trace_gathered(const struct xvt_trace_writer *w)
{
	return w->main.used + w->late.used;
}

void xvt_trace_event_bytes(const struct xvt_trace_writer *w, uint64_t *raw, uint64_t *stored)
{
	*raw = w->raw_event_bytes;
	*stored = w->stored_event_bytes;
}

uint64_t xvt_trace_written(const struct xvt_trace_writer *w)
{
	return w->sink->written ? w->sink->written(w->sink) : w->bytes;
}

static void put_index_and_end(struct xvt_trace_writer *w)
{
	struct xvt_end end = { .events = w->events, .late = w->late_events };

	w->err = put_index(w);
	end.index_offset = w->index_offset;
	end.chunks = w->seq;
	if (!w->err)
		w->err = xvt_trace_put(w, XVT_CHUNK_END, &end, sizeof(end), NULL, 0);
}

int xvt_trace_writer_end(struct xvt_trace_writer *w)
{
	if (!xvt_trace_flush(w))
		put_index_and_end(w);
	return w->err;
}

int xvt_trace_writer_finish(struct xvt_trace_writer *w)
{
	int err = xvt_trace_writer_end(w);

	xvt_trace_writer_free(w);
	return err;
}

int xvt_trace_error(const struct xvt_trace_writer *w)
{
	return w->err;
}
