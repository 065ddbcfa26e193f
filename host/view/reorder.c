// SPDX-License-Identifier: GPL-2.0
/*
 * reorder.c - see reorder.h. The chunks of the trace are copied in their order. The events of its
 * main and loose lane are read by a cursor and written as one lane: those below a watermark before
 * its ROUND, so that the watermark stays true, and the rest at the end. Their RAW chunks, which lie
 * before that ROUND, are copied by then.
 */
#include "view/reorder.h"

#include <errno.h>
#include <stdlib.h>

#include "base/vec.h"
#include "trace/cursor.h"

#define COMPRESS_LEVEL 3u /* of a trace that was compressed */

/* A RAW chunk: its sequence number in the trace, and in the copy. */
struct moved {
	uint64_t from;
	uint64_t to;
};

/* A ring's newest source in the copy, and the source in the trace that it continues. */
struct source {
	uint64_t gathering; /* number of the chunk that the copy's source is in */
	uint64_t chunk_seq;
	uint32_t from;
	uint32_t to;
};

struct reorder {
	struct xvt_trace *t;
	struct xvt_trace_writer *w;
	struct xvt_chunk_buf buf;
	bool compressed;
	struct moved *moved; /* by `from` */
	size_t nr_moved;
	size_t moved_room;
	struct source *sources; /* by ring */
	size_t nr_sources;
	struct xvt_cursor in;
	struct xvt_event ahead; /* hdr == NULL: the next one is not read yet */
	bool in_done;
	struct xvt_trace_raws *late_raws;
	struct xvt_events_iter late;
};

bool xvt_is_loose(const struct xvt_trace *t)
{
	size_t i;

	for (i = 0; i < t->chunk_count; i++) {
		if (t->chunks[i].type == XVT_CHUNK_LOOSE)
			return true;
	}
	return false;
}

/* ------------------------------------------------------------------ events */

/* Sequence number in the copy of a RAW chunk of the trace. Returns UINT64_MAX if it is not copied
 * yet. */
static uint64_t moved_to(const struct reorder *r, uint64_t from)
{
	const size_t n = XVT_COUNT_TO(r->moved, r->nr_moved, from, from);

	return n && r->moved[n - 1].from == from ? r->moved[n - 1].to : UINT64_MAX;
}

/* Begins a source in the copy with this event. */
static int begin_source(struct reorder *r, struct xvt_order *o, const struct xvt_event *ev,
			struct xvt_events_origin *from, struct source *s)
{
	from->place.chunk = moved_to(r, from->place.chunk);
	if (from->place.chunk == UINT64_MAX)
		return -EBADMSG;
	*s = (struct source){ o->gathering, ev->chunk_seq, from->source, 0 };
	return xvt_order_source(o, ev->hdr->ring_flags, &from->place,
				from->line.run ? &from->line : NULL, ev->hdr->host_ns, &s->to);
}

/* Adds an event that `it` gave to a lane of the copy. */
static int put_event(struct reorder *r, enum xvt_lane lane, const struct xvt_events_iter *it,
		     const struct xvt_event *ev)
{
	const uint32_t ring = xvt_event_ring(ev);
	struct xvt_order *o = xvt_trace_lane(r->w, lane);
	struct xvt_events_origin from;
	struct source *s;
	int err = 0;

	if (!o)
		return xvt_trace_error(r->w);
	if (!xvt_events_origin(it, ev, &from))
		return xvt_trace_lane_event(r->w, lane, ev->hdr, ev->payload);
	if (xvt_order_reserve(o, 1) ||
	    xvt_grow_zeroed(&r->sources, &r->nr_sources, (size_t)ring + 1, sizeof(*s)))
		return -ENOMEM;
	s = &r->sources[ring];
	xvt_order_time(o, ev->hdr->host_ns);
	if (s->gathering != o->gathering || s->chunk_seq != ev->chunk_seq || s->from != from.source)
		err = begin_source(r, o, ev, &from, s);
	if (err)
		return err;
	o->sources[s->to].count++;
	xvt_order_next(o, s->to);
	return 0;
}

/* Reads the next event of the main or the loose lane. */
static int read_ahead(struct reorder *r)
{
	int got;

	do
		got = xvt_cursor_next(&r->in, &r->ahead);
	while (got > 0 && !r->in.given); /* the late lane is copied by its chunks */
	r->in_done = got == 0;
	if (got <= 0)
		r->ahead.hdr = NULL;
	return got < 0 ? got : 0;
}

/* Writes the events before end_ns in order. */
static int put_until(struct reorder *r, uint64_t end_ns)
{
	int err = 0;

	while (!err && !r->in_done) {
		if (r->ahead.hdr && r->ahead.hdr->host_ns >= end_ns)
			return 0;
		if (r->ahead.hdr)
			err = put_event(r, XVT_LANE_MAIN, r->in.given, &r->ahead);
		if (!err)
			err = read_ahead(r);
	}
	return err;
}

/* ------------------------------------------------------------------ chunks */

static int put_late(struct reorder *r, uint64_t seq)
{
	struct xvt_event ev;
	int got, err = xvt_events_begin(&r->late, &r->late_raws->base, &r->buf, seq);

	while (!err && (got = xvt_events_next(&r->late, &ev)) != 0)
		err = got < 0 ? got : put_event(r, XVT_LANE_LATE, &r->late, &ev);
	return err;
}

static int put_raw(struct reorder *r, uint64_t seq)
{
	int err = xvt_trace_flush(r->w);

	if (!err && xvt_grow(&r->moved, &r->moved_room, r->nr_moved + 1, sizeof(*r->moved)))
		return -ENOMEM;
	if (err)
		return err;
	r->moved[r->nr_moved++] = (struct moved){ seq, xvt_trace_next_seq(r->w) };
	return xvt_trace_put(r->w, XVT_CHUNK_RAW, r->buf.payload, r->buf.len, NULL, 0);
}

static int put_round(struct reorder *r)
{
	struct xvt_round round;
	uint32_t at = 0;

	if (!xvt_chunk_take(&r->buf, &at, &round, sizeof(round)))
		return -EBADMSG;
	return put_until(r, round.watermark_ns);
}

/* Loads chunk i of the trace. A compressed one makes the copy a compressed one from here on. */
static int load(struct reorder *r, size_t i)
{
	int err = xvt_trace_load(r->t, i, &r->buf);
	const struct xvt_chunk_hdr *h = (const struct xvt_chunk_hdr *)r->buf.bytes;

	if (err || r->compressed || !(h->flags & XVT_CHUNK_F_ZSTD))
		return err;
	r->compressed = true;
	return xvt_trace_compress(r->w, COMPRESS_LEVEL);
}

static int copy_chunk(struct reorder *r, size_t i)
{
	const struct xvt_chunk_ref *ref = &r->t->chunks[i];
	int err = load(r, i);

	if (err)
		return err;
	switch (ref->type) {
	case XVT_CHUNK_FILE: /* these are the writer's own */
	case XVT_CHUNK_INDEX:
	case XVT_CHUNK_END:
	case XVT_CHUNK_ORDER: /* and these are read by the cursor */
	case XVT_CHUNK_LOOSE:
		return 0;
	case XVT_CHUNK_LATE:
		return put_late(r, ref->seq);
	case XVT_CHUNK_RAW:
		return put_raw(r, ref->seq);
	case XVT_CHUNK_ROUND:
		err = put_round(r);
		break;
	}
	return err ? err : xvt_trace_put(r->w, ref->type, r->buf.payload, r->buf.len, NULL, 0);
}

static int begin(struct reorder *r, struct xvt_sink *sink)
{
	int err;

	r->late_raws = malloc(sizeof(*r->late_raws));
	if (!r->late_raws)
		return -ENOMEM;
	xvt_trace_raws_init(r->late_raws, r->t);
	err = xvt_cursor_init(&r->in, r->t, 0, UINT64_MAX);
	return err ? err : xvt_trace_writer_new(&r->w, sink, &r->t->info);
}

/* A trace whose recorder was killed has no END, and gets none. */
static int end(struct reorder *r)
{
	return r->t->ended ? xvt_trace_writer_end(r->w) : xvt_trace_flush(r->w);
}

static void fini(struct reorder *r)
{
	if (r->w)
		xvt_trace_writer_free(r->w);
	xvt_cursor_fini(&r->in);
	xvt_events_end(&r->late);
	if (r->late_raws)
		xvt_trace_raws_fini(r->late_raws);
	free(r->late_raws);
	xvt_chunk_buf_free(&r->buf);
	free(r->moved);
	free(r->sources);
}

int xvt_reorder(struct xvt_trace *t, struct xvt_sink *sink)
{
	struct reorder r = { .t = t };
	size_t i;
	int err = begin(&r, sink);

	for (i = 0; i < t->chunk_count && !err; i++)
		err = copy_chunk(&r, i);
	if (!err)
		err = put_until(&r, UINT64_MAX);
	if (!err)
		err = end(&r);
	fini(&r);
	return !err && t->damage_count ? -EBADMSG : err;
}
