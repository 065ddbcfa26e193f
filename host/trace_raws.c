// SPDX-License-Identifier: GPL-2.0
/*
 * trace_raws.c - RAW chunks of a trace while events come out of them. Those used last are held, up
 * to a budget; a recorder's files name a few at a time. A file that makes a reader load the same
 * ones again and again, or go through much that holds no event, is given up.
 */
#include "trace_read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define HELD_BYTES  (32u << 20)
/* Each RAW chunk is needed by ORDER once, or a few times; and as often by LATE. */
#define LOADS	    16u
#define LOADS_LEAST (64ull << 20)

static size_t size_of(const struct xvt_chunk_buf *b)
{
	return b->room + b->unpacked_room;
}

static struct xvt_raws_slot *find(struct xvt_trace_raws *r, uint64_t offset)
{
	uint32_t i;

	for (i = 0; i < r->count; i++) {
		if (r->slots[i].raw.offset == offset)
			return &r->slots[i];
	}
	return NULL;
}

/* The one that was used longest ago; those that hold nothing come first. */
static struct xvt_raws_slot *oldest(struct xvt_trace_raws *r)
{
	struct xvt_raws_slot *s = &r->slots[0];
	uint32_t i;

	for (i = 1; i < r->count; i++) {
		if (r->slots[i].used < s->used)
			s = &r->slots[i];
	}
	return s;
}

/* Its buffer may be used for another one. */
static void forget(struct xvt_trace_raws *r, struct xvt_raws_slot *s)
{
	r->held -= size_of(&s->buf);
	s->raw = (struct xvt_raw){ .offset = UINT64_MAX };
	s->used = 0;
}

static struct xvt_raws_slot *make_slot(struct xvt_trace_raws *r)
{
	struct xvt_raws_slot *s;

	if (r->count < XVT_RAWS_SLOTS && r->held < HELD_BYTES)
		s = &r->slots[r->count++];
	else
		s = oldest(r);
	forget(r, s);
	return s;
}

/* All but this one, if need be. */
static void keep_budget(struct xvt_trace_raws *r, const struct xvt_raws_slot *but)
{
	uint32_t i;

	for (i = 0; i < r->count && r->held > HELD_BYTES; i++) {
		struct xvt_raws_slot *s = &r->slots[i];

		if (s == but || !size_of(&s->buf))
			continue;
		forget(r, s);
		xvt_chunk_buf_free(&s->buf);
	}
}

static bool spend(struct xvt_raws *raws, uint64_t bytes)
{
	struct xvt_trace_raws *r = (struct xvt_trace_raws *)raws;

	if (bytes <= r->budget) {
		r->budget -= bytes;
		return true;
	}
	if (!r->told)
		xvt_trace_note_damage(r->t, 0, 0, "its events are too far apart in it");
	r->told = true;
	r->budget = 0;
	return false;
}

static int load(struct xvt_trace_raws *r, uint64_t offset, struct xvt_chunk_buf *b)
{
	size_t chunk = xvt_trace_chunk_at(r->t, offset);

	if (chunk == r->t->chunk_count || r->t->chunks[chunk].type != XVT_CHUNK_RAW) {
		if (!r->told_missing)
			xvt_trace_note_damage(r->t, offset, 0, "events without their RAW chunk");
		r->told_missing = true;
		return -EBADMSG;
	}
	if (!spend(&r->base, r->t->chunks[chunk].len))
		return -EBADMSG;
	return xvt_trace_load(r->t, chunk, b);
}

static int get(struct xvt_raws *raws, uint64_t offset, const struct xvt_raw **raw)
{
	struct xvt_trace_raws *r = (struct xvt_trace_raws *)raws;
	struct xvt_raws_slot *s = find(r, offset);
	int err;

	*raw = NULL;
	if (!s) {
		s = make_slot(r);
		err = load(r, offset, &s->buf);
		/* The list of chunks is a new one, with what is really there. */
		if (err == -ESTALE)
			err = load(r, offset, &s->buf);
		r->held += size_of(&s->buf);
		keep_budget(r, s);
		if (err)
			return err;
		s->raw = (struct xvt_raw){ offset, s->buf.payload, s->buf.len };
	}
	s->used = ++r->uses;
	*raw = &s->raw;
	return 0;
}

void xvt_trace_raws_init(struct xvt_trace_raws *r, struct xvt_trace *t)
{
	memset(r, 0, sizeof(*r));
	r->base.get = get;
	r->base.spend = spend;
	r->t = t;
	r->budget = t->size * LOADS + LOADS_LEAST;
}

void xvt_trace_raws_fini(struct xvt_trace_raws *r)
{
	uint32_t i;

	for (i = 0; i < r->count; i++)
		xvt_chunk_buf_free(&r->slots[i].buf);
	memset(r, 0, sizeof(*r));
}
