// SPDX-License-Identifier: GPL-2.0
/*
 * trim.c - see trim.h. A cursor gives the events in order; those of the part are gathered, and
 * written a batch at a time: their records as pieces of their rings, each at its position, then the
 * order of them. Pieces hold nothing but these records. Late events, whose records a cursor does
 * not have, are written whole.
 */
#include "view/trim.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "trace/cursor.h"
#include "trace/note.h"
#include "view/kernels.h"
#include "view/reclock.h"
#include "xvt_ring.h"

#define COMPRESS_LEVEL 3u /* of a trace that was compressed */
#define BATCH_EVENTS   65536u
#define BATCH_BYTES    (8u << 20)

/* An event that waits for its batch. */
struct item {
	struct xvt_event_hdr hdr;
	uint64_t chunk_seq;
	struct xvt_events_origin from;
	bool own; /* the event has no record */
	bool late;
	size_t at;    /* of its record, or of its payload, in `bytes` */
	uint32_t len; /* of that */
	uint64_t pos; /* of its record in the ring */
	struct xvt_raw_place to;
	bool begins; /* the record is the first of a piece */
};

/* The piece of a ring that records were taken from last. */
struct piece {
	uint64_t chunk;
	uint32_t begin; /* in the payload of its RAW chunk */
	uint32_t end;	/* 0: none yet */
	uint64_t pos;
};

/* A ring's newest source in the part, and the source in the trace that it continues. */
struct source {
	uint64_t gathering;
	uint64_t chunk_seq;
	uint32_t from;
	uint32_t to;
};

struct ring {
	bool kept;
	bool has_stats;
	struct xvt_ring_stats stats; /* of the part */
	struct piece piece;
	struct source source;
};

struct xvt_trim_part {
	const struct xvt_trim *o;
	uint64_t events;
	uint64_t lost;
	struct xvt_trace *t;
	struct xvt_trace_writer *w;
	struct xvt_reclock *rc; /* NULL: the recorded times */
	struct xvt_cursor in;
	struct xvt_trace_raws *raws; /* to find pieces */
	struct ring *rings;
	uint64_t *stopped_ns;		 /* by machine: since when it stands still; 0: it runs */
	uint64_t *paused_ns;		 /* by machine: how long it did in the range */
	struct xvt_meta_kernel *kernels; /* by machine: of all files; NULL: not summed up yet */
	uint64_t first_seq;		 /* of the first event's chunk */
	size_t meta; /* the chunk behind the last one whose metadata was written */
	struct xvt_chunk_buf buf;
	struct item *items;
	size_t nr_items, items_room;
	uint8_t *bytes;
	size_t used, bytes_room;
	uint32_t *by_ring; /* numbers of items, in order of their rings */
	size_t by_ring_room;
	uint8_t *joined; /* the records of a piece */
	size_t joined_room;
};

/* ------------------------------------------------------------------ what is wanted */

static bool vm_wanted(const struct xvt_trim_part *r, uint32_t vm)
{
	return vm < r->t->vm_count && r->t->vms[vm].known &&
	       (!r->o->machines || r->o->machines[vm]);
}

static bool ring_kept(const struct xvt_trim_part *r, uint32_t ring)
{
	return ring < r->t->ring_count && r->rings[ring].kept;
}

static bool has_wall(const struct xvt_trim *o)
{
	return o->wall_from_ns || o->wall_to_ns != UINT64_MAX;
}

static bool has_range(const struct xvt_trim *o)
{
	return o->from_ns || o->to_ns != UINT64_MAX || has_wall(o);
}

static bool in_range(const struct xvt_trim_part *r, uint64_t ns)
{
	const struct xvt_trim *o = r->o;
	uint64_t wall;

	if (ns < o->from_ns || ns > o->to_ns)
		return false;
	if (!has_wall(o))
		return true;
	wall = xvt_trace_wall_ns(r->t, ns);
	return wall >= o->wall_from_ns && wall <= o->wall_to_ns;
}

/* To be asked of each event of the cursor, in its order. */
static bool wanted(struct xvt_trim_part *r, const struct xvt_event *ev)
{
	uint64_t ns = ev->hdr->host_ns, bound_ns = XVT_NO_BOUND;

	if (r->rc)
		ns = xvt_reclock_place_ns(r->rc, ev->hdr, &bound_ns);
	return vm_wanted(r, xvt_ring_vm(r->t, xvt_event_ring(ev))) && in_range(r, ns);
}

/* Begin to read the events that may be in the range. */
static int begin_reading(struct xvt_trim_part *r)
{
	const struct xvt_trim *o = r->o;
	uint64_t reach = 0;
	int err = o->reclock ? xvt_reclock_new(&r->rc, r->t) : 0;

	for (uint32_t i = 0; r->rc && i < r->t->ring_count; i++)
		if (xvt_reclock_ring(r->rc, i)->moved_ns > reach)
			reach = xvt_reclock_ring(r->rc, i)->moved_ns;
	reach += r->rc ? 2 : 0; /* as reclock.c has it */
	if (err)
		return err;
	return xvt_cursor_init(&r->in, r->t, o->from_ns > reach ? o->from_ns - reach : 0,
			       o->to_ns < UINT64_MAX - reach ? o->to_ns + reach : UINT64_MAX);
}

static void end_reading(struct xvt_trim_part *r)
{
	xvt_cursor_fini(&r->in);
	xvt_reclock_free(r->rc);
	r->rc = NULL;
}

/* ------------------------------------------------------------------ counting */

static void count_lost(struct xvt_trim_part *r, struct xvt_ring_stats *s,
		       const struct xvt_event *ev)
{
	struct xvt_lost lost;

	if (!xvt_lost_get(ev->hdr, ev->payload, &lost))
		return;
	for (int i = 0; i < XVT_LOST_CAUSES; i++) {
		s->lost[i] += lost.lost[i];
		s->attempted += lost.lost[i];
		r->lost += lost.lost[i];
	}
	s->overwritten += lost.overwritten;
	s->dropped += lost.dropped;
	s->bad_bytes += lost.bad_bytes;
	s->attempted += lost.overwritten + lost.dropped;
	r->lost += lost.overwritten + lost.dropped;
}

static void count_event(struct xvt_trim_part *r, const struct xvt_event *ev)
{
	struct ring *ring = &r->rings[xvt_event_ring(ev)];
	struct xvt_ring_stats *s = &ring->stats;
	const uint32_t f = ev->hdr->ring_flags;

	ring->kept = true;
	s->clock_violations += !!(f & XVT_EVENT_F_CLOCK);
	if (ev->hdr->id == XVT_ID_LOST)
		count_lost(r, s, ev);
	if (!xvt_is_event(ev->hdr))
		return;
	r->events++;
	s->attempted++;
	if (!s->events++ || ev->hdr->host_ns < s->first_ns)
		s->first_ns = ev->hdr->host_ns;
	if (ev->hdr->host_ns > s->last_ns)
		s->last_ns = ev->hdr->host_ns;
	if (f & XVT_EVENT_F_BACKLOG)
		s->backlog++;
	else if (f & XVT_EVENT_F_LATE)
		s->late++;
	s->unconfirmed += !!(f & XVT_EVENT_F_UNCONFIRMED);
	s->recovered += !!(f & XVT_EVENT_F_RECOVERED);
}

/* Returns whether two rings of the part are the same ring of their machine. */
static bool has_twins(const struct xvt_trim_part *r)
{
	for (uint32_t i = 0; i < r->t->ring_count; i++) {
		const struct xvt_ring_info *a = &r->t->rings[i].info;

		for (uint32_t k = 0; r->rings[i].kept && k < i; k++)
			if (r->rings[k].kept && r->t->rings[k].info.vm == a->vm &&
			    r->t->rings[k].info.index == a->index)
				return true;
	}
	return false;
}

static int count_all(struct xvt_trim_part *r)
{
	struct xvt_event ev;
	int got = begin_reading(r);

	r->first_seq = UINT64_MAX;
	while (!got && (got = xvt_cursor_next(&r->in, &ev)) > 0) {
		got = 0;
		if (!wanted(r, &ev))
			continue;
		if (ev.chunk_seq < r->first_seq)
			r->first_seq = ev.chunk_seq;
		count_event(r, &ev);
	}
	end_reading(r);
	if (!got && r->first_seq == UINT64_MAX)
		got = -ENODATA;
	return !got && has_twins(r) ? -EXDEV : got;
}

/* ------------------------------------------------------------------ what is no event */

static int put(struct xvt_trim_part *r, uint16_t type, const void *bytes, size_t len)
{
	return len ? xvt_trace_put(r->w, type, bytes, len, NULL, 0) : 0;
}

/* Machines and rings, as readers of the whole have them. */
static int put_things(struct xvt_trim_part *r)
{
	const struct xvt_trace *t = r->t;
	int err = 0;

	for (uint32_t i = 0; i < t->vm_count && !err; i++)
		if (vm_wanted(r, i))
			err = put(r, XVT_CHUNK_VM, &t->vms[i].info, sizeof(t->vms[i].info));
	for (uint32_t i = 0; i < t->ring_count && !err; i++)
		if (ring_kept(r, i))
			err = put(r, XVT_CHUNK_RING, &t->rings[i].info, sizeof(t->rings[i].info));
	/* The first line is in FILE. */
	if (!err && t->timebase_count > 1)
		err = put(r, XVT_CHUNK_TIMEBASE, t->timebase + 1,
			  (t->timebase_count - 1) * sizeof(*t->timebase));
	return err;
}

/* Write the elements of `size` bytes whose ring, their first word, is in the part. */
static int put_of_rings(struct xvt_trim_part *r, uint16_t type, size_t size)
{
	uint8_t *to = r->buf.payload;
	size_t used = 0;
	uint32_t ring;

	for (size_t at = 0; r->buf.len - at >= size; at += size) {
		memcpy(&ring, r->buf.payload + at, sizeof(ring));
		if (!ring_kept(r, ring))
			continue;
		memmove(to + used, r->buf.payload + at, size);
		used += size;
		if (type == XVT_CHUNK_SAMPLES)
			r->rings[ring].stats.samples++;
	}
	return put(r, type, to, used);
}

static int put_runs(struct xvt_trim_part *r)
{
	struct xvt_run_span span;
	size_t used = 0;

	for (uint32_t at = 0; xvt_chunk_take(&r->buf, &at, &span, sizeof(span));) {
		if (!(span.flags & XVT_RUN_F_LOST) && !vm_wanted(r, span.vm))
			continue;
		memcpy(r->buf.payload + used, &span, sizeof(span));
		used += sizeof(span);
	}
	return put(r, XVT_CHUNK_RUNS, r->buf.payload, used);
}

/* Returns by how much a is above b; 0: it is not. */
static uint64_t above(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

static void add_pause(struct xvt_trim_part *r, uint32_t vm, uint64_t begin_ns, uint64_t end_ns)
{
	const struct xvt_trim *o = r->o;

	begin_ns += above(o->from_ns, begin_ns);
	end_ns -= above(end_ns, o->to_ns);
	if (has_wall(o)) {
		begin_ns += above(o->wall_from_ns, xvt_trace_wall_ns(r->t, begin_ns));
		end_ns = above(end_ns, above(xvt_trace_wall_ns(r->t, end_ns), o->wall_to_ns));
	}
	if (end_ns > begin_ns)
		r->paused_ns[vm] += end_ns - begin_ns;
	r->stopped_ns[vm] = 0;
}

static void follow_pauses(struct xvt_trim_part *r, const struct xvt_note_parts *p)
{
	const uint32_t vm = p->note.vm, kind = p->note.kind;

	if (kind == XVT_NOTE_PAUSED && !r->stopped_ns[vm])
		r->stopped_ns[vm] = p->state.at_ns;
	else if (kind == XVT_NOTE_RUNS && p->state.since_ns)
		add_pause(r, vm, p->state.since_ns, p->state.at_ns);
	else if (xvt_note_is_end(kind) && r->stopped_ns[vm])
		add_pause(r, vm, r->stopped_ns[vm], p->state.at_ns);
}

/* A state is in the part like an event. Texts are, and warnings of any time: they say what is wrong
 * with a trace. */
static int put_note(struct xvt_trim_part *r)
{
	struct xvt_note_parts p;

	if (!xvt_note_get(&r->buf, &p) || (p.note.vm != UINT32_MAX && !vm_wanted(r, p.note.vm)))
		return 0;
	if (p.note.vm != UINT32_MAX)
		follow_pauses(r, &p);
	if (p.note.kind != XVT_NOTE_TEXT ? !in_range(r, p.state.at_ns)
					 : !p.note.level && !in_range(r, p.note.host_ns))
		return 0;
	if (p.note.ring != UINT32_MAX && !ring_kept(r, p.note.ring)) {
		p.note.ring = UINT32_MAX;
		memcpy(r->buf.payload, &p.note, sizeof(p.note));
	}
	return put(r, XVT_CHUNK_NOTE, r->buf.payload, r->buf.len);
}

/* Counters of a ring's clock, which is that of the whole. */
static void take_stats(struct xvt_trim_part *r)
{
	struct xvt_ring_stats s, *to;

	if (!xvt_stats_get(&r->buf, &s) || !ring_kept(r, s.ring))
		return;
	to = &r->rings[s.ring].stats;
	r->rings[s.ring].has_stats = true;
	to->source = s.source;
	to->epochs = s.epochs;
	to->rejected |= s.rejected;
	to->bound_ns_max = s.bound_ns_max > to->bound_ns_max ? s.bound_ns_max : to->bound_ns_max;
	to->paused_ns = s.paused_ns;
}

static int copy_chunk(struct xvt_trim_part *r, uint16_t type)
{
	switch (type) {
	case XVT_CHUNK_SAMPLES:
		return put_of_rings(r, type, sizeof(struct xvt_clock_sample));
	case XVT_CHUNK_NODE:
		return put_of_rings(r, type, sizeof(struct xvt_clock_node));
	case XVT_CHUNK_LOOKS:
		return put_of_rings(r, type, sizeof(struct xvt_clock_look));
	case XVT_CHUNK_MARKS:
		return put_of_rings(r, type, sizeof(struct xvt_mark_seen));
	case XVT_CHUNK_RUNS:
		return put_runs(r);
	case XVT_CHUNK_NOTE:
		return put_note(r);
	case XVT_CHUNK_STATS:
		take_stats(r);
	}
	return 0;
}

/* Everything but events and metadata comes before the events. */
static int copy_chunks(struct xvt_trim_part *r)
{
	const uint32_t types = 1u << XVT_CHUNK_SAMPLES | 1u << XVT_CHUNK_NODE |
			       1u << XVT_CHUNK_LOOKS | 1u << XVT_CHUNK_MARKS |
			       1u << XVT_CHUNK_RUNS | 1u << XVT_CHUNK_NOTE | 1u << XVT_CHUNK_STATS;
	int err = 0, more;

	for (size_t i = 0; !err && (more = xvt_trace_next(r->t, types, &i, &r->buf)); i++)
		err = more < 0 ? more : copy_chunk(r, r->t->chunks[i].type);
	/* A machine that stands still at the end does so up to there. */
	for (uint32_t vm = 0; vm < r->t->vm_count && !err; vm++)
		if (r->stopped_ns[vm])
			add_pause(r, vm, r->stopped_ns[vm], r->t->last_ns);
	return err;
}

/* The files of a folder may be of different kernels, and the part is one file: it says what holds
 * for all of them. Returns 0 or -errno. */
static int sum_up_kernel(struct xvt_trim_part *r, uint32_t vm)
{
	const size_t at = sizeof(struct xvt_meta_info);
	int err = 0;

	if (r->t->part_count < 2 || r->buf.len < at + sizeof(*r->kernels) || vm >= r->t->vm_count)
		return 0;
	if (!r->kernels)
		err = xvt_kernels_sum(r->t, &r->kernels);
	if (!err)
		memcpy(r->buf.payload + at, &r->kernels[vm], sizeof(*r->kernels));
	return err;
}

/* Metadata holds from its place among the events on: write what lies before that chunk. */
static int put_meta(struct xvt_trim_part *r, uint64_t seq)
{
	struct xvt_meta_info info;
	int err = 0;

	for (; r->meta < r->t->chunk_count && r->t->chunks[r->meta].seq < seq && !err; r->meta++) {
		uint32_t at = 0;

		if (r->t->chunks[r->meta].type != XVT_CHUNK_META)
			continue;
		err = xvt_trace_load(r->t, r->meta, &r->buf);
		if (err || !xvt_chunk_take(&r->buf, &at, &info, sizeof(info)) ||
		    !vm_wanted(r, info.vm)) {
			err = err == -EBADMSG ? 0 : err;
			continue;
		}
		if (info.type == XVT_META_KERNEL)
			err = sum_up_kernel(r, info.vm);
		if (!err)
			err = put(r, XVT_CHUNK_META, r->buf.payload, r->buf.len);
		err = err == -EBADMSG ? 0 : err;
	}
	return err;
}

static bool meta_is_due(const struct xvt_trim_part *r, uint64_t seq)
{
	for (size_t i = r->meta; i < r->t->chunk_count && r->t->chunks[i].seq < seq; i++)
		if (r->t->chunks[i].type == XVT_CHUNK_META)
			return true;
	return false;
}

/* ------------------------------------------------------------------ records */

/* Finds the piece of a record. Returns 0 or -errno. */
static int find_piece(struct xvt_trim_part *r, struct piece *p, uint64_t chunk, uint32_t at)
{
	const struct xvt_raw *raw;
	struct xvt_raw_piece head;
	uint32_t from = 0;
	int err;

	if (p->end && p->chunk == chunk && at >= p->begin && at < p->end)
		return 0;
	err = r->raws->base.get(&r->raws->base, chunk, 1, &raw);
	if (err)
		return err;
	for (; raw->len - from >= sizeof(head); from = p->end) {
		memcpy(&head, raw->payload + from, sizeof(head));
		from += sizeof(head);
		if (head.len % 8 || head.len > raw->len - from)
			break;
		*p = (struct piece){ chunk, from, from + head.len, head.pos };
		if (at >= p->begin && at < p->end)
			return 0;
	}
	p->end = 0;
	return -EBADMSG;
}

static int keep_bytes(struct xvt_trim_part *r, struct item *item, const uint8_t *bytes,
		      uint32_t len)
{
	if (xvt_grow(&r->bytes, &r->bytes_room, r->used + xvt_pad8(len), 1))
		return -ENOMEM;
	memcpy(r->bytes + r->used, bytes, len);
	memset(r->bytes + r->used + len, 0, xvt_pad8(len) - len);
	item->at = r->used;
	item->len = len;
	r->used += xvt_pad8(len);
	return 0;
}

/* Keeps an event's record. */
static int keep_record(struct xvt_trim_part *r, struct item *item)
{
	const struct xvt_events_source *s = &r->in.given->sources[item->from.source];
	const uint8_t *record = s->raw->payload + (item->from.place.at - s->base);
	struct piece *p = &r->rings[item->hdr.ring_flags & XVT_EVENT_RING_MASK].piece;
	uint64_t header;
	int err;

	memcpy(&header, record, sizeof(header));
	err = keep_bytes(r, item, record, xvt_header_len(header));
	if (!err)
		err = find_piece(r, p, item->from.place.chunk, item->from.place.at);
	if (!err)
		item->pos = p->pos + (item->from.place.at - p->begin);
	return err;
}

/* Gathers an event of the part. */
static int keep(struct xvt_trim_part *r, const struct xvt_event *ev)
{
	struct item *item;

	if (xvt_grow(&r->items, &r->items_room, r->nr_items + 1, sizeof(*r->items)))
		return -ENOMEM;
	item = &r->items[r->nr_items++];
	*item = (struct item){ .hdr = *ev->hdr, .chunk_seq = ev->chunk_seq };
	item->late = !r->in.given;
	item->own = item->late || !xvt_events_origin(r->in.given, ev, &item->from);
	return item->own ? keep_bytes(r, item, ev->payload, ev->hdr->len) : keep_record(r, item);
}

/* ------------------------------------------------------------------ a batch */

static uint32_t ring_of(const struct xvt_trim_part *r, uint32_t item)
{
	return r->items[item].hdr.ring_flags & XVT_EVENT_RING_MASK;
}

/* Lists the batch's records in order of their rings: those of a ring stay in theirs. */
static size_t list_by_ring(struct xvt_trim_part *r)
{
	size_t n = 0;

	for (uint32_t ring = 0; ring < r->t->ring_count; ring++) {
		if (!r->rings[ring].kept)
			continue;
		for (uint32_t i = 0; i < r->nr_items; i++)
			if (!r->items[i].own && ring_of(r, i) == ring)
				r->by_ring[n++] = i;
	}
	return n;
}

/* Returns how many records from by_ring[from] on lie one behind the other. */
static size_t count_adjacent(const struct xvt_trim_part *r, size_t from, size_t end)
{
	size_t n = from + 1;

	while (n < end) {
		const struct item *a = &r->items[r->by_ring[n - 1]], *b = &r->items[r->by_ring[n]];

		if (ring_of(r, r->by_ring[n]) != ring_of(r, r->by_ring[from]) ||
		    b->pos != a->pos + a->len)
			break;
		n++;
	}
	return n - from;
}

/* Writes records as one piece. */
static int put_piece(struct xvt_trim_part *r, const uint32_t *numbers, size_t count)
{
	const struct item *first = &r->items[numbers[0]];
	struct xvt_raw_piece head = { .ring = ring_of(r, numbers[0]), .pos = first->pos };
	uint64_t chunk;
	uint32_t at;
	int err;

	for (size_t i = 0; i < count; i++) {
		struct item *item = &r->items[numbers[i]];

		if (xvt_grow(&r->joined, &r->joined_room, (size_t)head.len + item->len, 1))
			return -ENOMEM;
		memcpy(r->joined + head.len, r->bytes + item->at, item->len);
		item->to = item->from.place;
		item->to.at = head.len;
		item->begins = !i;
		head.len += item->len;
	}
	err = xvt_trace_piece(r->w, &head, r->joined, &chunk, &at);
	for (size_t i = 0; i < count && !err; i++) {
		r->items[numbers[i]].to.chunk = chunk;
		r->items[numbers[i]].to.at += at;
	}
	return err;
}

static int put_pieces(struct xvt_trim_part *r)
{
	size_t n, count;
	int err = 0;

	if (xvt_grow(&r->by_ring, &r->by_ring_room, r->nr_items, sizeof(*r->by_ring)))
		return -ENOMEM;
	n = list_by_ring(r);
	for (size_t i = 0; i < n && !err; i += count) {
		count = count_adjacent(r, i, n);
		err = put_piece(r, r->by_ring + i, count);
	}
	return err;
}

/* Writes the place of an event in the order. */
static int put_record(struct xvt_trim_part *r, const struct item *item)
{
	struct xvt_order *o = xvt_trace_lane(r->w, XVT_LANE_MAIN);
	struct source *s = &r->rings[item->hdr.ring_flags & XVT_EVENT_RING_MASK].source;
	int err = 0;

	if (!o)
		return xvt_trace_error(r->w);
	if (xvt_order_reserve(o, 1))
		return -ENOMEM;
	xvt_order_time(o, item->hdr.host_ns);
	if (item->begins || s->gathering != o->gathering || s->chunk_seq != item->chunk_seq ||
	    s->from != item->from.source) {
		*s = (struct source){ o->gathering, item->chunk_seq, item->from.source, 0 };
		err = xvt_order_source(o, item->hdr.ring_flags, &item->to,
				       item->from.line.run ? &item->from.line : NULL,
				       item->hdr.host_ns, &s->to);
	}
	if (err)
		return err;
	o->sources[s->to].count++;
	xvt_order_next(o, s->to);
	return 0;
}

static int put_batch(struct xvt_trim_part *r)
{
	int err = put_pieces(r);

	for (size_t i = 0; i < r->nr_items && !err; i++) {
		const struct item *item = &r->items[i];

		if (item->own)
			err = xvt_trace_lane_event(r->w, item->late ? XVT_LANE_LATE : XVT_LANE_MAIN,
						   &item->hdr, r->bytes + item->at);
		else
			err = put_record(r, item);
	}
	r->nr_items = 0;
	r->used = 0;
	return err;
}

/* Metadata that lies between two events of the trace lies between them in the part. */
static int put_meta_before(struct xvt_trim_part *r, const struct xvt_event *ev)
{
	const uint64_t seq = ev->chunk_seq;
	int err;

	if (!r->in.given || !meta_is_due(r, seq))
		return 0;
	err = put_batch(r);
	return err ? err : put_meta(r, seq);
}

static int put_events(struct xvt_trim_part *r)
{
	struct xvt_event ev;
	int got = begin_reading(r);

	while (!got && (got = xvt_cursor_next(&r->in, &ev)) > 0) {
		got = 0;
		if (!wanted(r, &ev))
			continue;
		got = put_meta_before(r, &ev);
		if (!got)
			got = keep(r, &ev);
		if (!got && (r->nr_items >= BATCH_EVENTS || r->used >= BATCH_BYTES))
			got = put_batch(r);
	}
	end_reading(r);
	return got ? got : put_batch(r);
}

/* ------------------------------------------------------------------ the whole */

static int put_stats(struct xvt_trim_part *r)
{
	int err = 0;

	for (uint32_t i = 0; i < r->t->ring_count && !err; i++) {
		struct xvt_ring_stats *s = &r->rings[i].stats;
		const uint32_t vm = xvt_ring_vm(r->t, i);

		s->ring = i;
		if (has_range(r->o) && vm < r->t->vm_count)
			s->paused_ns = r->paused_ns[vm];
		if (r->rings[i].kept && r->rings[i].has_stats)
			err = put(r, XVT_CHUNK_STATS, s, sizeof(*s));
	}
	return err;
}

/* The part says that it is one. */
static int put_trimmed(struct xvt_trim_part *r)
{
	struct {
		struct xvt_note note;
		char text[256];
	} n = { .note = { .vm = UINT32_MAX, .ring = UINT32_MAX } };
	const uint8_t *u = r->t->info.uuid;
	int len =
		snprintf(n.text, sizeof(n.text),
			 "trimmed: %" PRIu64
			 " events of trace %02x%02x%02x%02x-...; its counts are those of this part",
			 r->events, u[0], u[1], u[2], u[3]);

	n.note.host_ns = r->t->first_ns;
	return put(r, XVT_CHUNK_NOTE, &n, sizeof(n.note) + (size_t)len);
}

/* Whether the trace's records are compressed. Returns 1, 0, or -errno. */
static int is_compressed(struct xvt_trim_part *r)
{
	const uint32_t types = 1u << XVT_CHUNK_RAW | 1u << XVT_CHUNK_ORDER | 1u << XVT_CHUNK_LATE |
			       1u << XVT_CHUNK_LOOSE;
	size_t i = 0;
	int more = xvt_trace_next(r->t, types, &i, &r->buf);

	if (more <= 0)
		return more;
	return !!(((const struct xvt_chunk_hdr *)r->buf.bytes)->flags & XVT_CHUNK_F_ZSTD);
}

static int begin_file(struct xvt_trim_part *r, struct xvt_sink *sink)
{
	struct xvt_file_info info = r->t->info;
	int err, packed = is_compressed(r);

	if (packed < 0)
		return packed;
	memset(info.uuid, 0, sizeof(info.uuid)); /* it gets one of its own */
	memset(info.set, 0, sizeof(info.set));
	info.set_number = 0;
	info.compat |= XVT_FILE_C_TRIMMED;
	err = xvt_trace_writer_new(&r->w, sink, &info);
	return err || !packed ? err : xvt_trace_compress(r->w, COMPRESS_LEVEL);
}

int xvt_trim_write(struct xvt_trim_part *r, struct xvt_sink *sink)
{
	int err = begin_file(r, sink);

	if (!err)
		err = put_things(r);
	if (!err)
		err = copy_chunks(r);
	if (!err)
		err = put_trimmed(r);
	if (!err)
		err = put_meta(r, r->first_seq);
	if (!err)
		err = put_events(r);
	if (!err)
		err = put_meta(r, UINT64_MAX);
	if (!err)
		err = put_stats(r);
	if (err)
		return err;
	/* A trace whose recorder was killed has no END, and gets none. */
	return r->t->ended ? xvt_trace_writer_end(r->w) : xvt_trace_flush(r->w);
}

int xvt_trim_new(struct xvt_trim_part **out, const struct xvt_trim *how, struct xvt_trace *t)
{
	struct xvt_trim_part *r = calloc(1, sizeof(*r));
	int err = -ENOMEM;

	*out = NULL;
	if (!r)
		return -ENOMEM;
	r->o = how;
	r->t = t;
	r->rings = calloc((size_t)t->ring_count + 1, sizeof(*r->rings));
	r->stopped_ns = calloc((size_t)t->vm_count + 1, sizeof(*r->stopped_ns));
	r->paused_ns = calloc((size_t)t->vm_count + 1, sizeof(*r->paused_ns));
	r->raws = malloc(sizeof(*r->raws));
	if (r->raws)
		xvt_trace_raws_init(r->raws, t);
	if (r->rings && r->stopped_ns && r->paused_ns && r->raws)
		err = count_all(r);
	if (err) {
		xvt_trim_free(r);
		return err;
	}
	*out = r;
	return 0;
}

void xvt_trim_free(struct xvt_trim_part *r)
{
	if (!r)
		return;
	if (r->w)
		xvt_trace_writer_free(r->w);
	if (r->raws)
		xvt_trace_raws_fini(r->raws);
	free(r->raws);
	free(r->rings);
	free(r->stopped_ns);
	free(r->paused_ns);
	free(r->kernels);
	free(r->items);
	free(r->bytes);
	free(r->by_ring);
	free(r->joined);
	xvt_chunk_buf_free(&r->buf);
	free(r);
}

uint64_t xvt_trim_events(const struct xvt_trim_part *r)
{
	return r->events;
}

uint64_t xvt_trim_lost(const struct xvt_trim_part *r)
{
	return r->lost;
}
