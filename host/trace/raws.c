// SPDX-License-Identifier: GPL-2.0
/*
 * raws.c - caches the RAW chunks of a trace while its events are read. Those used last are held, up
 * to a budget; a recorder's files name a few at a time. A file that makes a reader load the same
 * chunks again and again, or read much that holds no event, is given up.
 */
#include "trace/raws.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/u64.h"
#include "base/vec.h"
#include "trace/format.h"

/* ORDER needs each RAW chunk once, or a few times; LATE needs it as often. A chunk with events of
 * many rings needs many RAW chunks. */
#define LOADS	    16u
#define LOADS_LEAST (64ull << 20)
#define LOADS_EVENT (32ull << 10)
#define CHUNK_USUAL (256u << 10)
#define PACKED	    4u /* estimate of unpacked to packed length */
/* Limit on events that name records, relative to the records' bytes; a recorder names each record
 * once. */
#define NAMED	    2u

static size_t size_of(const struct xvt_chunk_buf *b)
{
	return b->room + b->unpacked_room;
}

XVT_ASSERT(XVT_CHUNK_LEN_MAX < UINT32_MAX / XVT_RAWS_LEN, "a chunk's length fits beside its bits");
XVT_ASSERT(XVT_RAWS_SLOTS == 256, "a slot's number is a byte, and so are low bits of a chunk's");

static struct xvt_raws_slot *find(struct xvt_trace_raws *r, uint64_t seq)
{
	uint8_t *likely = &r->slot_of[seq % XVT_RAWS_SLOTS];
	uint32_t i;

	if (xvt_likely(*likely < r->count && r->slots[*likely].raw.seq == seq))
		return &r->slots[*likely];
	for (i = 0; i < r->count; i++) {
		if (r->slots[i].raw.seq == seq) {
			*likely = (uint8_t)i;
			return &r->slots[i];
		}
	}
	return NULL;
}

/* The slot used longest ago, except `but`; empty slots come first. With with_memory, only slots
 * that hold memory. */
static struct xvt_raws_slot *oldest(struct xvt_trace_raws *r, const struct xvt_raws_slot *but,
				    bool with_memory)
{
	struct xvt_raws_slot *found = NULL;
	uint32_t i;

	for (i = 0; i < r->count; i++) {
		struct xvt_raws_slot *s = &r->slots[i];

		if (s == but || (with_memory && !size_of(&s->buf)))
			continue;
		if (!found || s->used < found->used)
			found = s;
	}
	return found;
}

/* Empties a slot; its buffer may be reused. */
static void forget(struct xvt_trace_raws *r, struct xvt_raws_slot *s)
{
	r->held -= size_of(&s->buf);
	s->raw = (struct xvt_raw){ .seq = UINT64_MAX };
	s->used = 0;
}

static struct xvt_raws_slot *make_slot(struct xvt_trace_raws *r)
{
	struct xvt_raws_slot *s;

	if (r->count < XVT_RAWS_SLOTS && r->held < r->t->raw_budget)
		s = &r->slots[r->count++];
	else
		s = oldest(r, NULL, false);
	forget(r, s);
	return s;
}

/* Frees the slots used longest ago, except `but`, until the budget is met. */
static void keep_budget(struct xvt_trace_raws *r, const struct xvt_raws_slot *but)
{
	struct xvt_raws_slot *s;

	while (r->held > r->t->raw_budget && (s = oldest(r, but, true))) {
		forget(r, s);
		xvt_chunk_buf_free(&s->buf);
	}
}

static bool spend(struct xvt_raws *raws, uint64_t bytes)
{
	struct xvt_trace_raws *r = (struct xvt_trace_raws *)raws;

	r->spent += bytes;
	if (!r->noted && r->spent <= r->budget + raws->events * LOADS_EVENT)
		return true;
	if (!r->noted)
		xvt_trace_note_damage(r->t, 0, 0, "it takes too much reading for its events");
	r->noted = true;
	return false;
}

static bool crowded(struct xvt_raws *raws, const uint8_t *names, uint32_t count)
{
	const struct xvt_trace *t = ((struct xvt_trace_raws *)raws)->t;
	uint64_t seq, sum = 0;
	uint32_t i;

	for (i = 0; i < count && sum <= t->raw_budget; i++) {
		size_t chunk;

		memcpy(&seq, names + i * sizeof(seq), sizeof(seq));
		chunk = xvt_trace_chunk_of(t, seq);
		if (chunk < t->chunk_count)
			sum += xvt_u64_larger(CHUNK_USUAL, PACKED * (uint64_t)t->chunks[chunk].len);
	}
	return sum > t->raw_budget;
}

/* Where a chunk is, or was: behind the one before it. */
static uint64_t place_of(const struct xvt_trace *t, uint64_t seq)
{
	const size_t n = XVT_COUNT_TO(t->chunks, t->chunk_count, seq, seq);
	const struct xvt_chunk_ref *ref = n ? &t->chunks[n - 1] : NULL;

	if (!ref || ref->seq == seq)
		return ref ? ref->offset : 0;
	return ref->offset + sizeof(struct xvt_chunk_hdr) + xvt_pad8(ref->len);
}

static int load(struct xvt_trace_raws *r, uint64_t seq, struct xvt_chunk_buf *b)
{
	size_t chunk = xvt_trace_chunk_of(r->t, seq);
	int err;

	if (chunk == r->t->chunk_count || r->t->chunks[chunk].type != XVT_CHUNK_RAW) {
		if (!r->reported_missing)
			xvt_trace_note_damage(r->t, place_of(r->t, seq), 0,
					      "events without their RAW chunk");
		r->reported_missing = true;
		return -EBADMSG;
	}
	if (!spend(&r->base, r->t->chunks[chunk].len))
		return -EBADMSG;
	err = xvt_trace_load(r->t, chunk, b);
	return err || spend(&r->base, b->len) ? err : -EBADMSG;
}

static int find_or_load(struct xvt_trace_raws *r, uint64_t seq, struct xvt_raws_slot **slot)
{
	struct xvt_raws_slot *s = find(r, seq);
	int err;

	*slot = s;
	if (s)
		return 0;
	s = make_slot(r);
	err = load(r, seq, &s->buf);
	/* -ESTALE: the list of chunks was rebuilt from what the file really holds. */
	if (err == -ESTALE)
		err = load(r, seq, &s->buf);
	r->held += size_of(&s->buf);
	keep_budget(r, s);
	if (err)
		return err;
	s->raw = (struct xvt_raw){ seq, s->buf.payload, s->buf.len };
	*slot = s;
	return 0;
}

static int make_seen(struct xvt_trace_raws *r)
{
	if (r->seen && r->seen_chunks == r->t->chunk_count)
		return 0;
	free(r->seen);
	r->seen = calloc(r->t->chunk_count + 1, sizeof(*r->seen));
	r->seen_chunks = r->t->chunk_count;
	return r->seen ? 0 : -ENOMEM;
}

/* Counts the records of a chunk seen for the first time as nameable. */
static int see(struct xvt_trace_raws *r, const struct xvt_raws_slot *s)
{
	const struct xvt_trace *t = r->t;
	const size_t chunk = xvt_trace_chunk_of(t, s->raw.seq);
	const struct xvt_chunk_hdr *h = (const struct xvt_chunk_hdr *)s->buf.bytes;

	if (make_seen(r))
		return -ENOMEM;
	if (chunk < t->chunk_count && !r->seen[chunk]) {
		r->seen[chunk] = XVT_RAWS_SEEN + XVT_RAWS_LEN * s->raw.len;
		if (h->flags & XVT_CHUNK_F_ZSTD)
			r->seen[chunk] |= XVT_RAWS_PACKED;
		r->nameable += NAMED * (uint64_t)s->raw.len;
	}
	return 0;
}

/* Counts records that events are said to have. Returns 0, or -EBADMSG beyond those that there are.
 */
static int name(struct xvt_trace_raws *r, uint64_t seq, uint32_t count)
{
	if (r->named + count * sizeof(uint64_t) <= r->nameable) {
		r->named += count * sizeof(uint64_t);
		return 0;
	}
	if (!r->reported_named)
		xvt_trace_note_damage(r->t, place_of(r->t, seq), 0, "more events than records");
	r->reported_named = true;
	return -EBADMSG;
}

static int get(struct xvt_raws *raws, uint64_t seq, uint32_t count, const struct xvt_raw **raw)
{
	struct xvt_trace_raws *r = (struct xvt_trace_raws *)raws;
	struct xvt_raws_slot *s;
	int err;

	*raw = NULL;
	err = find_or_load(r, seq, &s);
	if (!err && count)
		err = see(r, s);
	if (!err)
		err = name(r, seq, count);
	if (err)
		return err;
	s->used = ++r->uses;
	*raw = &s->raw;
	return 0;
}

/* A chunk that was loaded before, and is not any more: its pieces can be read alone. */
static bool is_read_alone(struct xvt_trace_raws *r, size_t chunk, uint64_t seq)
{
	return r->seen && r->seen_chunks == r->t->chunk_count && chunk < r->seen_chunks &&
	       (r->seen[chunk] & (XVT_RAWS_SEEN | XVT_RAWS_PACKED)) == XVT_RAWS_SEEN &&
	       !find(r, seq);
}

/* Returns the length of the piece whose bytes begin at `at`, by its header; 0: it does not fit. */
static uint32_t piece_len(const uint8_t *header, uint32_t at, uint32_t chunk_len)
{
	struct xvt_raw_piece p;

	memcpy(&p, header, sizeof(p));
	return p.len % 8 || p.len > chunk_len - at ? 0 : p.len;
}

static int64_t read_piece(struct xvt_trace_raws *r, const struct xvt_chunk_ref *ref, uint32_t at,
			  uint8_t **bytes, size_t *room)
{
	const uint64_t from = ref->offset + sizeof(struct xvt_chunk_hdr) + at;
	uint8_t header[sizeof(struct xvt_raw_piece)];
	ssize_t got = xvt_trace_read_at(r->t, header, sizeof(header), from - sizeof(header));
	uint32_t len = got == sizeof(header) ? piece_len(header, at, ref->len) : 0;

	if (got < 0)
		return got;
	if (!spend(&r->base, len))
		return -EBADMSG;
	if (xvt_grow(bytes, room, (size_t)len + 1, 1))
		return -ENOMEM;
	got = xvt_trace_read_at(r->t, *bytes, len, from);
	return got;
}

int64_t xvt_trace_raws_piece(struct xvt_trace_raws *r, uint64_t seq, uint32_t at, uint32_t count,
			     uint8_t **bytes, size_t *room)
{
	const size_t chunk = xvt_trace_chunk_of(r->t, seq);
	const struct xvt_raw *raw;
	uint32_t len;
	int err;

	if (at < sizeof(struct xvt_raw_piece))
		return -EBADMSG;
	if (is_read_alone(r, chunk, seq) && at <= r->t->chunks[chunk].len) {
		err = name(r, seq, count);
		return err ? err : read_piece(r, &r->t->chunks[chunk], at, bytes, room);
	}
	err = get(&r->base, seq, count, &raw);
	if (err || at > raw->len)
		return err ? err : -EBADMSG;
	len = piece_len(raw->payload + at - sizeof(struct xvt_raw_piece), at, raw->len);
	if (xvt_grow(bytes, room, (size_t)len + 1, 1))
		return -ENOMEM;
	memcpy(*bytes, raw->payload + at, len);
	return len;
}

void xvt_trace_raws_again(struct xvt_trace_raws *r)
{
	free(r->seen);
	r->seen = NULL;
	r->named = r->nameable = r->spent = 0;
	r->base.events = 0;
}

/* What the parts count as nameable, and one reader does not, since it sees each chunk once. */
static uint64_t seen_again(const struct xvt_trace_raws *const *parts, size_t count)
{
	uint64_t bytes = 0;

	for (size_t chunk = 0; chunk < parts[0]->t->chunk_count; chunk++) {
		bool before = false;

		for (size_t i = 0; i < count; i++) {
			const uint32_t seen = parts[i]->seen && chunk < parts[i]->seen_chunks
						      ? parts[i]->seen[chunk]
						      : 0;

			bytes += before ? NAMED * (uint64_t)(seen / XVT_RAWS_LEN) : 0;
			before |= seen;
		}
	}
	return bytes;
}

bool xvt_trace_raws_fit_in_one(const struct xvt_trace_raws *const *parts, size_t count)
{
	const struct xvt_trace_raws *first = parts[0];
	uint64_t spent = 0;

	for (size_t i = 0; i < count; i++)
		spent += parts[i]->spent;
	/* A cache that goes on from part to part loads no more than a new one for each. Which
	 * slots it takes for what may differ a little: half of the limit is far above that. */
	return spent <= first->budget / 2 &&
	       (count < 2 || first->nameable - first->named >= seen_again(parts, count));
}

void xvt_trace_raws_init(struct xvt_trace_raws *r, struct xvt_trace *t)
{
	memset(r, 0, sizeof(*r));
	r->base.get = get;
	r->base.spend = spend;
	r->base.crowded = crowded;
	r->t = t;
	r->budget = t->size * LOADS + LOADS_LEAST;
}

void xvt_trace_raws_fini(struct xvt_trace_raws *r)
{
	uint32_t i;

	for (i = 0; i < r->count; i++)
		xvt_chunk_buf_free(&r->slots[i].buf);
	free(r->seen);
	memset(r, 0, sizeof(*r));
}
