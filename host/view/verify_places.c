// SPDX-License-Identifier: GPL-2.0
/*
 * verify_places.c - see verify_parts.h. Each record names its place in a RAW chunk, whose pieces
 * say their positions in the ring. The order in which a ring's events were written is therefore in
 * the file, whatever clocks and times say: positions never go back in ORDER and LOOSE chunks
 * together, nor in LATE chunks, but where a LOST record tells that the ring's contents were
 * replaced.
 */
#include "view/verify_parts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "xvt_ring.h"

/* Steps back of a ring that wait for a LOST record: a hostile file shall not fill the memory. */
#define STEPS_MOST 64u

/* Where a source's first record is. */
struct xvt_verify_source {
	uint64_t raw; /* number of its RAW chunk */
	uint32_t at;
	uint32_t number;
};

/* A record that lies before the record before it. */
struct xvt_verify_step {
	uint32_t ring;
	bool late;
	uint64_t from_pos;
	uint64_t pos;
	uint64_t from_ns;
	uint64_t ns;
};

/* The ring's contents were replaced. */
struct xvt_verify_rollback {
	uint64_t ns;
	bool used[2]; /* by a step of the lane */
};

/* ------------------------------------------------------------------ pieces */

static int by_place(const void *pa, const void *pb)
{
	const struct xvt_verify_source *a = pa, *b = pb;

	if (a->raw != b->raw)
		return a->raw < b->raw ? -1 : 1;
	return a->at < b->at ? -1 : a->at > b->at;
}

/* Lists the chunk's sources, sorted by their places. Returns 0 or -ENOMEM. */
static int list_sources(struct xvt_verify_state *v)
{
	const struct xvt_events_iter *it = &v->it;
	bool sorted = true;

	if (xvt_grow(&v->sources, &v->sources_room, it->nr_sources, sizeof(*v->sources)) ||
	    xvt_grow(&v->pieces, &v->pieces_room, it->nr_sources, sizeof(*v->pieces)))
		return -ENOMEM;
	for (uint32_t i = 0; i < it->nr_sources; i++) {
		const struct xvt_events_source *s = &it->sources[i];

		v->sources[i] = (struct xvt_verify_source){ s->raw_seq, s->base + s->at, i };
		v->pieces[i] = (struct xvt_verify_piece){ 0 };
		sorted &= !i || by_place(&v->sources[i - 1], &v->sources[i]) <= 0;
	}
	if (!sorted)
		qsort(v->sources, it->nr_sources, sizeof(*v->sources), by_place);
	return 0;
}

/* Goes to the piece that ends behind `at`. Returns false if there is none. */
static bool find_piece(struct xvt_verify_state *v, const struct xvt_raw *raw, uint32_t at,
		       uint32_t *header, struct xvt_raw_piece *p)
{
	const uint32_t from = *header;
	uint32_t passed = 0;

	for (; raw->len - *header >= sizeof(*p); *header += sizeof(*p) + p->len, passed++) {
		memcpy(p, raw->payload + *header, sizeof(*p));
		if (p->len % 8 || p->len > raw->len - *header - sizeof(*p))
			return false;
		if (at < *header + sizeof(*p) + p->len)
			return at >= *header + sizeof(*p);
		/* The time that a file costs is limited, see trace/raws.c. */
		if (*header != from && !v->raws.base.spend(&v->raws.base, sizeof(*p)))
			return false;
	}
	return false;
}

/* The offset of its RAW chunk, for a message. */
static uint64_t offset_of(const struct xvt_verify_state *v, const struct xvt_verify_source *s)
{
	const size_t chunk = xvt_trace_chunk_of(v->t, s->raw);

	return chunk < v->t->chunk_count ? v->t->chunks[chunk].offset : 0;
}

static void take_piece(struct xvt_verify_state *v, const struct xvt_verify_source *s,
		       uint32_t header, const struct xvt_raw_piece *p)
{
	const uint32_t ring = v->it.sources[s->number].ring_flags & XVT_EVENT_RING_MASK;
	const uint32_t begin = header + (uint32_t)sizeof(*p);
	char text[XVT_VERIFY_RING_TEXT];

	if (p->ring != ring)
		xvt_verify_violation(v, XVT_VERIFY_RING, xvt_ring_vm(v->t, ring),
				     "%s: its record at byte %" PRIu32
				     " of the chunk at byte %" PRIu64 " is in a piece of ring %u",
				     xvt_verify_ring_text(v, ring, text), s->at, offset_of(v, s),
				     p->ring);
	else
		v->pieces[s->number] = (struct xvt_verify_piece){ p->pos - begin, begin + p->len };
}

/* Finds the pieces of sources [i, end), which are in one RAW chunk. Returns 0 or an error. */
static int find_in_chunk(struct xvt_verify_state *v, size_t i, size_t end)
{
	const struct xvt_raw *raw;
	struct xvt_raw_piece p;
	uint32_t header = 0;
	int err = v->raws.base.get(&v->raws.base, v->sources[i].raw, 0, &raw);

	if (err)
		return err == -EBADMSG ? 0 : err; /* that was noted */
	for (; i < end; i++) {
		const struct xvt_verify_source *s = &v->sources[i];
		const uint32_t ring = v->it.sources[s->number].ring_flags & XVT_EVENT_RING_MASK;

		if (v->it.sources[s->number].left == 0)
			continue;
		if (find_piece(v, raw, s->at, &header, &p))
			take_piece(v, s, header, &p);
		else
			xvt_verify_violation(v, XVT_VERIFY_CHUNK, xvt_ring_vm(v->t, ring),
					     "ring %u: its record at byte %" PRIu32
					     " of the chunk at byte %" PRIu64 " is in no piece",
					     ring, s->at, offset_of(v, s));
	}
	return 0;
}

int xvt_verify_places(struct xvt_verify_state *v)
{
	const size_t count = v->it.nr_sources;
	size_t i, end;
	int err = list_sources(v);

	for (i = 0; i < count && !err; i = end) {
		for (end = i + 1; end < count && v->sources[end].raw == v->sources[i].raw;)
			end++;
		err = find_in_chunk(v, i, end);
	}
	return err;
}

/* ------------------------------------------------------------------ positions */

static void step_violation(struct xvt_verify_state *v, const struct xvt_verify_step *s)
{
	char text[XVT_VERIFY_RING_TEXT];

	xvt_verify_violation(v, XVT_VERIFY_ORDER, xvt_ring_vm(v->t, s->ring),
			     "%s: position %" PRIu64 " at %" PRIu64 " ns after position %" PRIu64
			     " at %" PRIu64 " ns: its %s are not in the order in which they were "
			     "written",
			     xvt_verify_ring_text(v, s->ring, text), s->pos, s->ns, s->from_pos,
			     s->from_ns, s->late ? "late events" : "events");
}

/* Returns 0 or -ENOMEM. */
static int add_step(struct xvt_verify_state *v, const struct xvt_verify_step *s)
{
	if (v->rings[s->ring].order.steps == STEPS_MOST) {
		step_violation(v, s);
		return 0;
	}
	if (xvt_grow(&v->steps, &v->steps_room, v->nr_steps + 1, sizeof(*v->steps)))
		return -ENOMEM;
	v->steps[v->nr_steps++] = *s;
	v->rings[s->ring].order.steps++;
	return 0;
}

/*
 * The times of a ring never decrease in ORDER and LOOSE chunks together, nor in LATE chunks. The
 * main lane as a whole is checked by itself, so a violation of that is not reported here, too.
 */
static void check_time(struct xvt_verify_state *v, const struct xvt_event_hdr *h,
		       struct xvt_verify_written *last, uint16_t type)
{
	const uint32_t ring = h->ring_flags & XVT_EVENT_RING_MASK;
	char text[XVT_VERIFY_RING_TEXT];

	if (type == XVT_CHUNK_ORDER && h->host_ns < v->last_ns)
		return;
	xvt_verify_violation(v, XVT_VERIFY_ORDER, xvt_ring_vm(v->t, ring),
			     "%s: %" PRIu64 " ns after %" PRIu64
			     " ns: the %s lane is out of the ring's order",
			     xvt_verify_ring_text(v, ring, text), h->host_ns, last->ns,
			     type == XVT_CHUNK_LATE    ? "late"
			     : type == XVT_CHUNK_LOOSE ? "loose"
						       : "main");
}

/* Returns false if the record reaches behind its piece. */
static bool is_in_piece(struct xvt_verify_state *v, const struct xvt_events_decoded *d,
			const struct xvt_verify_piece *p)
{
	const uint32_t ring = d->hdr.ring_flags & XVT_EVENT_RING_MASK;
	char text[XVT_VERIFY_RING_TEXT];

	if (xvt_likely(d->at < p->end))
		return true;
	xvt_verify_violation(v, XVT_VERIFY_CHUNK, xvt_ring_vm(v->t, ring),
			     "%s: its record at %" PRIu64 " ns lies behind its piece",
			     xvt_verify_ring_text(v, ring, text), d->hdr.host_ns);
	return false;
}

static int check_pos(struct xvt_verify_state *v, const struct xvt_events_decoded *d,
		     struct xvt_verify_written *last)
{
	const struct xvt_verify_piece *p = &v->pieces[d->source];
	const struct xvt_event_hdr *h = &d->hdr;
	uint64_t pos;
	int err = 0;

	if (!p->end || !is_in_piece(v, d, p))
		return 0;
	pos = p->shift + d->at;
	if (xvt_unlikely(last->any && !xvt_pos_before(last->pos, pos))) {
		const struct xvt_verify_step s = { .ring = h->ring_flags & XVT_EVENT_RING_MASK,
						   .late = h->ring_flags & XVT_EVENT_F_LATE,
						   .from_pos = last->pos,
						   .pos = pos,
						   .from_ns = last->ns,
						   .ns = h->host_ns };

		err = add_step(v, &s);
	}
	last->any = true;
	last->pos = pos;
	return err;
}

/* A loss may stand apart in the main lane, but never before what its ring had delivered: what was
 * lost at a ring's end was lost behind all of that. */
static void check_loss(struct xvt_verify_state *v, const struct xvt_event_hdr *h,
		       const struct xvt_verify_written *last)
{
	const uint32_t ring = h->ring_flags & XVT_EVENT_RING_MASK;
	char text[XVT_VERIFY_RING_TEXT];

	/* Where the main lane itself goes back, that is reported. */
	if (h->host_ns >= last->ns || h->host_ns < v->last_ns)
		return;
	xvt_verify_violation(v, XVT_VERIFY_ORDER, xvt_ring_vm(v->t, ring),
			     "%s: a loss at %" PRIu64 " ns comes behind its event at %" PRIu64
			     " ns",
			     xvt_verify_ring_text(v, ring, text), h->host_ns, last->ns);
}

int xvt_verify_place_apart(struct xvt_verify_state *v, const struct xvt_event *ev, uint16_t type)
{
	const struct xvt_events_decoded *d = xvt_events_decoded(&v->it, ev);
	const struct xvt_event_hdr *h = ev->hdr;
	const bool late = h->ring_flags & XVT_EVENT_F_LATE;
	struct xvt_verify_written *last = &v->rings[xvt_event_ring(ev)].order.written[late];
	int err = 0;

	/* LOST records may stand apart in the main lane. */
	if (h->id == XVT_ID_LOST && type == XVT_CHUNK_ORDER) {
		check_loss(v, h, last);
		return 0;
	}
	if (xvt_unlikely(h->host_ns < last->ns))
		check_time(v, h, last, type);
	if (d) /* the host's own have no position */
		err = check_pos(v, d, last);
	last->ns = h->host_ns;
	return err;
}

int xvt_verify_rollback(struct xvt_verify_state *v, uint32_t ring, uint64_t ns)
{
	struct xvt_verify_ring *r = &v->rings[ring];

	if (xvt_grow(&r->order.rollbacks, &r->order.rollbacks_room, r->order.nr_rollbacks + 1,
		     sizeof(*r->order.rollbacks)))
		return -ENOMEM;
	r->order.rollbacks[r->order.nr_rollbacks++] = (struct xvt_verify_rollback){ .ns = ns };
	return 0;
}

/*
 * True if a LOST record tells of the step, at the earliest at the time of the record before it.
 * Older recorders wrote it at the next sub-buffer. Where records were dropped, it is behind those
 * and may tell of several steps.
 */
static bool is_told(struct xvt_verify_ring *r, const struct xvt_verify_step *s)
{
	const bool dropped = r->seen.recorded.dropped || r->told.stats.dropped;

	for (size_t i = 0; i < r->order.nr_rollbacks; i++) {
		struct xvt_verify_rollback *b = &r->order.rollbacks[i];

		if (b->ns < s->from_ns || (!dropped && b->used[s->late]))
			continue;
		b->used[s->late] = true;
		return true;
	}
	return false;
}

void xvt_verify_steps(struct xvt_verify_state *v)
{
	/* The record that tells of a step may be in a damaged chunk, which is reported by itself.
	 */
	for (size_t i = 0; i < v->nr_steps && !v->t->damage_count; i++) {
		if (!is_told(&v->rings[v->steps[i].ring], &v->steps[i]))
			step_violation(v, &v->steps[i]);
	}
}

void xvt_verify_places_fini(struct xvt_verify_state *v)
{
	for (uint32_t i = 0; v->rings && i < v->t->ring_count; i++)
		free(v->rings[i].order.rollbacks);
	free(v->sources);
	free(v->pieces);
	free(v->steps);
}
