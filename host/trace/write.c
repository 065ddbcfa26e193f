// SPDX-License-Identifier: GPL-2.0
/*
 * write.c - see write.h. Three chunks are open at a time: one of pieces, and one for each lane of
 * the order, which is gathered, and encoded when it is written. A chunk is built whole in memory
 * (header, payload, padding) and passed to the sink in one call, so the sink never holds half a
 * chunk. Pieces are always written before the chunks that name them.
 */
#include "trace/write.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/out.h"
#include "base/vec.h"
#include "trace/pack.h"
#include "trace/payload.h"

#define RAW_BYTES  (256u << 10)
/* A reader holds the RAW chunks of several LOOSE chunks at a time: most of one. */
#define LOOSE_RAWS 32u

/* The pieces gathered for the next RAW chunk. */
struct raw_lane {
	uint8_t *bytes; /* RAW_BYTES: chunk header, pieces; in `own` or in the sink */
	uint8_t *own;
	size_t used;  /* 0: nothing gathered */
	uint64_t seq; /* of the chunk: no other chunk is written before it */
};

/* A buffer for chunks that are built when they are written. */
struct scratch {
	uint8_t *bytes;
	size_t room;
};

struct xvt_trace_writer {
	struct xvt_sink *sink;
	struct raw_lane raw;
	struct xvt_order lanes[XVT_LANES];
	bool together; /* added events stay in the chunk that is gathered */
	struct scratch scratch;
	struct xvt_packer *packer; /* NULL: nothing is compressed */
	struct scratch packed;
	/* The next INDEX, as far as gathered. */
	struct {
		struct xvt_chunk_hdr hdr;
		struct xvt_index_entry entries[XVT_INDEX_CHUNKS];
	} index;
	size_t index_count;
	uint64_t index_offset; /* of the last INDEX */
	uint64_t seq;
	uint64_t trace_id;
	uint64_t bytes;
	uint64_t bytes_before; /* of the files before this one */
	uint64_t events[XVT_LANES];
	uint64_t raw_event_bytes; /* of RAW and the lanes, before and after compression */
	uint64_t stored_event_bytes;
	int err; /* the first error; nothing is written after it */
};

/* A chunk to be written. */
struct chunk {
	uint8_t *bytes; /* a header's room, then the payload, then room for padding */
	size_t len;	/* of the payload */
	uint16_t type;
	uint16_t flags;
	const struct xvt_order_hdr *order; /* header of a lane's chunk, else NULL */
};

static bool of_events(const struct chunk *c)
{
	return c->order || c->type == XVT_CHUNK_RAW;
}

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
	size_t whole;

	if (w->err)
		return w->err;
	whole = xvt_chunk_seal(c->bytes, &h);
	w->err = w->sink->write(w->sink, c->bytes, whole);
	if (w->err)
		return w->err;
	if (c->type == XVT_CHUNK_INDEX) {
		w->index_count = 0;
		w->index_offset = w->bytes;
	}
	entry = &w->index.entries[w->index_count++];
	*entry = (struct xvt_index_entry){ .offset = w->bytes, .type = c->type };
	if (c->order) {
		entry->first_ns = c->order->first_ns;
		entry->last_ns = c->order->last_ns;
		entry->count = c->order->count;
	}
	if (of_events(c))
		w->stored_event_bytes += whole;
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

/* Compresses a chunk into w->packed. The chunk is unchanged if that does not make it smaller. */
static void pack(struct xvt_trace_writer *w, struct chunk *c)
{
	const size_t head = sizeof(struct xvt_chunk_hdr);
	size_t n;

	if (xvt_grow(&w->packed.bytes, &w->packed.room, head + xvt_pad8(c->len), 1))
		return; /* written uncompressed */
	n = xvt_chunk_pack(w->packer, c->type, c->bytes + head, c->len, w->packed.bytes + head);
	if (!n)
		return;
	c->bytes = w->packed.bytes;
	c->len = n;
	c->flags = XVT_CHUNK_F_ZSTD;
}

static int emit(struct xvt_trace_writer *w, struct chunk *c)
{
	int err;

	if (of_events(c))
		w->raw_event_bytes += sizeof(struct xvt_chunk_hdr) + xvt_pad8(c->len);
	if (w->packer)
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

/* ------------------------------------------------------------------ lanes */

static int flush_raw(struct xvt_trace_writer *w)
{
	struct chunk c = { .bytes = w->raw.bytes,
			   .len = w->raw.used - sizeof(struct xvt_chunk_hdr),
			   .type = XVT_CHUNK_RAW };

	if (!w->raw.used || w->err)
		return w->err;
	w->raw.used = 0;
	return emit(w, &c);
}

static int flush_lane(struct xvt_trace_writer *w, enum xvt_lane lane)
{
	static const uint16_t types[XVT_LANES] = {
		[XVT_LANE_MAIN] = XVT_CHUNK_ORDER,
		[XVT_LANE_LATE] = XVT_CHUNK_LATE,
		[XVT_LANE_LOOSE] = XVT_CHUNK_LOOSE,
	};
	struct xvt_order *o = &w->lanes[lane];
	struct chunk c = { .type = types[lane] };

	if (!o->count || flush_raw(w))
		return w->err;
	w->events[lane] += o->count;
	if (xvt_grow(&w->scratch.bytes, &w->scratch.room,
		     sizeof(struct xvt_chunk_hdr) + xvt_order_room(o), 1)) {
		w->err = -ENOMEM;
		return w->err;
	}
	c.bytes = w->scratch.bytes;
	c.len = xvt_order_encode(o, c.bytes + sizeof(struct xvt_chunk_hdr));
	c.order = (const void *)(c.bytes + sizeof(struct xvt_chunk_hdr));
	return emit(w, &c);
}

void xvt_trace_writer_free(struct xvt_trace_writer *w)
{
	free(w->raw.own);
	for (int i = 0; i < XVT_LANES; i++)
		xvt_order_fini(&w->lanes[i]);
	free(w->scratch.bytes);
	xvt_packer_free(w->packer);
	free(w->packed.bytes);
	free(w);
}

/* Completes what a FILE chunk says. Returns 0 or -EIO. */
static int complete_info(struct xvt_file_info *file)
{
	file->magic = XVT_FILE_MAGIC;
	file->major = XVT_FILE_MAJOR;
	/* What is made of another file has no more in it than that. */
	if (!file->minor || file->minor > XVT_FILE_MINOR)
		file->minor = XVT_FILE_MINOR;
	file->oldest = XVT_FILE_OLDEST;
	/* A caller may set its own UUID; then the same events give the same bytes. */
	if (!xvt_uuid_is_none(file->uuid))
		return 0;
	if (getrandom(file->uuid, sizeof(file->uuid), 0) != sizeof(file->uuid))
		return -EIO;
	file->uuid[6] = (file->uuid[6] & 0x0f) | 0x40;
	file->uuid[8] = (file->uuid[8] & 0x3f) | 0x80;
	return 0;
}

static int begin_file(struct xvt_trace_writer *w, const struct xvt_file_info *file)
{
	memcpy(&w->trace_id, file->uuid, sizeof(w->trace_id));
	return xvt_trace_put(w, XVT_CHUNK_FILE, file, sizeof(*file), NULL, 0);
}

int xvt_trace_writer_new(struct xvt_trace_writer **out, struct xvt_sink *sink,
			 const struct xvt_file_info *info)
{
	struct xvt_trace_writer *w = calloc(1, sizeof(*w));
	struct xvt_file_info file = *info;
	int err = -ENOMEM;

	*out = NULL;
	if (!w)
		return -ENOMEM;
	w->sink = sink;
	for (int i = 0; i < XVT_LANES; i++)
		xvt_order_init(&w->lanes[i], (enum xvt_lane)i);
	w->raw.own = malloc(RAW_BYTES);
	if (!w->raw.own)
		goto err_free;

	err = complete_info(&file);
	if (!err)
		err = begin_file(w, &file);
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
	struct chunk c = { .len = len, .type = type };

	if (xvt_trace_flush(w))
		return w->err;
	/* A missing chunk must not go unnoticed: not all callers check the result. */
	if (len > XVT_CHUNK_LEN_MAX) {
		w->err = -EMSGSIZE;
		return w->err;
	}
	if (xvt_grow(&w->scratch.bytes, &w->scratch.room,
		     sizeof(struct xvt_chunk_hdr) + xvt_pad8(len), 1)) {
		w->err = -ENOMEM;
		return w->err;
	}
	c.bytes = w->scratch.bytes;
	if (head_len)
		memcpy(c.bytes + sizeof(struct xvt_chunk_hdr), head, head_len);
	if (body_len)
		memcpy(c.bytes + sizeof(struct xvt_chunk_hdr) + head_len, body, body_len);
	return emit(w, &c);
}

/* Begins a RAW chunk in the sink's own buffer, if it has room, which saves a copy. */
static void begin_raw(struct xvt_trace_writer *w)
{
	uint8_t *room = w->sink->room ? w->sink->room(w->sink, RAW_BYTES) : NULL;

	w->raw.bytes = room ? room : w->raw.own;
	w->raw.used = sizeof(struct xvt_chunk_hdr);
	w->raw.seq = w->seq;
}

/* Writes a piece that is longer than a gathered chunk as a chunk of its own. */
static int put_large(struct xvt_trace_writer *w, const struct xvt_raw_piece *p, const void *bytes,
		     uint64_t *chunk)
{
	int err = xvt_trace_flush(w);

	*chunk = w->seq;
	return err ? err : xvt_trace_put(w, XVT_CHUNK_RAW, p, sizeof(*p), bytes, p->len);
}

int xvt_trace_piece(struct xvt_trace_writer *w, const struct xvt_raw_piece *p, const void *bytes,
		    uint64_t *chunk, uint32_t *at)
{
	const size_t need = sizeof(*p) + p->len;
	uint8_t *to;

	if (w->raw.used + need > RAW_BYTES - 8)
		flush_raw(w);
	if (w->err)
		return w->err;
	if (sizeof(struct xvt_chunk_hdr) + need > RAW_BYTES - 8) {
		*at = sizeof(*p);
		return put_large(w, p, bytes, chunk);
	}
	if (!w->raw.used)
		begin_raw(w);
	to = w->raw.bytes + w->raw.used;
	memcpy(to, p, sizeof(*p));
	memcpy(to + sizeof(*p), bytes, p->len);
	*chunk = w->raw.seq;
	*at = (uint32_t)(w->raw.used + sizeof(*p) - sizeof(struct xvt_chunk_hdr));
	w->raw.used += need;
	return 0;
}

/* True if the lane's chunk should be written before more events are added. */
static bool is_full(const struct xvt_trace_writer *w, enum xvt_lane lane)
{
	const struct xvt_order *o = &w->lanes[lane];

	return xvt_order_full(o) || (lane == XVT_LANE_LOOSE && o->nr_raws >= LOOSE_RAWS);
}

/* A ring's events go from the main to the loose lane and back: the file has them in its order. */
static void keep_ring_order(struct xvt_trace_writer *w, enum xvt_lane lane)
{
	if (lane == XVT_LANE_MAIN)
		flush_lane(w, XVT_LANE_LOOSE);
	else if (lane == XVT_LANE_LOOSE)
		flush_lane(w, XVT_LANE_MAIN);
}

struct xvt_order *xvt_trace_lane(struct xvt_trace_writer *w, enum xvt_lane lane)
{
	if (w->together)
		return w->err ? NULL : &w->lanes[lane];
	keep_ring_order(w, lane);
	if (xvt_unlikely(is_full(w, lane)))
		flush_lane(w, lane);
	return w->err ? NULL : &w->lanes[lane];
}

void xvt_trace_together(struct xvt_trace_writer *w, bool on)
{
	w->together = on;
}

int xvt_trace_lane_event(struct xvt_trace_writer *w, enum xvt_lane lane,
			 const struct xvt_event_hdr *hdr, const void *payload)
{
	struct xvt_order *o = xvt_trace_lane(w, lane);

	if (o)
		w->err = xvt_order_own(o, hdr, payload);
	return w->err;
}

int xvt_trace_event(struct xvt_trace_writer *w, const struct xvt_event_hdr *hdr,
		    const void *payload)
{
	return xvt_trace_lane_event(w, xvt_trace_lane_of(hdr->ring_flags), hdr, payload);
}

int xvt_trace_flush(struct xvt_trace_writer *w)
{
	flush_raw(w);
	for (int i = 0; i < XVT_LANES; i++)
		flush_lane(w, (enum xvt_lane)i);
	return w->err;
}

uint64_t xvt_trace_bytes(const struct xvt_trace_writer *w)
{
	return w->bytes_before + w->bytes;
}

uint64_t xvt_trace_next_seq(const struct xvt_trace_writer *w)
{
	return w->seq;
}

uint64_t xvt_trace_file_bytes(const struct xvt_trace_writer *w)
{
	return w->bytes;
}

uint64_t xvt_trace_gathered(const struct xvt_trace_writer *w)
{
	uint64_t bytes = w->raw.used;

	for (int i = 0; i < XVT_LANES; i++)
		bytes += w->lanes[i].count ? xvt_order_room(&w->lanes[i]) : 0;
	return bytes;
}

void xvt_trace_event_bytes(const struct xvt_trace_writer *w, uint64_t *raw, uint64_t *stored)
{
	*raw = w->raw_event_bytes;
	*stored = w->stored_event_bytes;
}

uint64_t xvt_trace_written(const struct xvt_trace_writer *w)
{
	return w->sink->written ? w->sink->written(w->sink) : xvt_trace_bytes(w);
}

static void put_index_and_end(struct xvt_trace_writer *w)
{
	struct xvt_end end = { .events = w->events[XVT_LANE_MAIN] + w->events[XVT_LANE_LOOSE],
			       .late = w->events[XVT_LANE_LATE] };

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

int xvt_trace_writer_next(struct xvt_trace_writer *w, const struct xvt_file_info *info)
{
	struct xvt_file_info file = *info;
	int err = complete_info(&file);

	if (!err)
		err = xvt_trace_writer_end(w);
	if (err) {
		w->err = err;
		return err;
	}
	w->sink->next(w->sink);
	w->bytes_before += w->bytes;
	w->bytes = w->seq = w->index_count = w->index_offset = 0;
	memset(w->events, 0, sizeof(w->events));
	return begin_file(w, &file);
}

int xvt_trace_writer_finish(struct xvt_trace_writer *w)
{
	int err = xvt_trace_writer_end(w);

	xvt_trace_writer_free(w);
	return err;
}

void xvt_trace_fail(struct xvt_trace_writer *w, int err)
{
	if (!w->err)
		w->err = err;
}

int xvt_trace_error(const struct xvt_trace_writer *w)
{
	return w->err;
}
