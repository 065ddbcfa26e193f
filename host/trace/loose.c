// SPDX-License-Identifier: GPL-2.0
/* loose.c - see loose.h. */
#include "trace/loose.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

#define NO_ITEM UINT32_MAX

/* A chunk to be opened. */
struct xvt_loose_place {
	uint64_t first_ns;
	uint64_t offset; /* in the file */
};

/* Adjacent events of one source, or one event of the host's own. */
struct item {
	struct xvt_events_item e;
	uint32_t next; /* of the same ring; NO_ITEM: none */
	uint32_t at;   /* of its source's piece in the RAW chunk */
	bool first;    /* of its ring */
};

/* The events of one ring in a chunk, from the next one on. */
struct xvt_loose_ring {
	struct xvt_event_key key; /* of the next event */
	struct xvt_events_record rec;
	struct xvt_loose_chunk *chunk;
	uint32_t item; /* of the next event */
	bool begun;    /* `raw` holds the item's piece */
	struct xvt_raw raw;
	uint8_t *bytes; /* of `raw` */
	size_t room;
};

struct xvt_loose_chunk {
	struct xvt_loose_chunk *next;
	struct xvt_loose_chunk **link; /* the pointer to this chunk */
	struct xvt_chunk_buf buf;
	struct xvt_events_iter it;
	struct item *items;
	size_t nr_items;
	size_t items_room;
	struct xvt_loose_ring *rings;
	uint32_t nr_rings;
	uint32_t rings_left;
	uint64_t offset;
	size_t held;
};

/* ------------------------------------------------------------------ the chunks to be opened */

static int compare_places(const void *pa, const void *pb)
{
	const struct xvt_loose_place *a = pa, *b = pb;

	if (a->first_ns != b->first_ns)
		return a->first_ns < b->first_ns ? -1 : 1;
	return a->offset < b->offset ? -1 : a->offset > b->offset;
}

/* Lists the LOOSE chunks of the range behind `done`; NULL: all of them. */
static int list_places(struct xvt_loose *l, const struct xvt_loose_place *done)
{
	size_t room = 0;

	free(l->places);
	l->places = NULL;
	l->nr_places = l->next = 0;
	for (size_t i = l->t->given; i < l->t->chunk_count; i++) {
		const struct xvt_chunk_ref *ref = &l->t->chunks[i];
		const struct xvt_loose_place p = { ref->first_ns, ref->offset };

		if (ref->type != XVT_CHUNK_LOOSE || ref->last_ns < l->from_ns ||
		    ref->first_ns > l->to_ns || (done && compare_places(&p, done) <= 0))
			continue;
		if (xvt_grow(&l->places, &room, l->nr_places + 1, sizeof(p)))
			return -ENOMEM;
		l->places[l->nr_places++] = p;
	}
	if (l->nr_places)
		qsort(l->places, l->nr_places, sizeof(*l->places), compare_places);
	return 0;
}

int xvt_loose_init(struct xvt_loose *l, struct xvt_trace *t, uint64_t from_ns, uint64_t to_ns)
{
	int err;

	memset(l, 0, sizeof(*l));
	l->t = t;
	l->from_ns = from_ns;
	l->to_ns = to_ns;
	err = list_places(l, NULL);
	if (err || !l->nr_places)
		return err;
	l->raws = malloc(sizeof(*l->raws));
	if (!l->raws)
		return -ENOMEM;
	xvt_trace_raws_init(l->raws, t);
	l->raws->base.crowded = NULL; /* a ring is read on from where it is: nothing is copied */
	return 0;
}

/* ------------------------------------------------------------------ a chunk */

static void free_piece(struct xvt_loose *l, struct xvt_loose_ring *r)
{
	l->held -= r->room;
	free(r->bytes);
	r->bytes = NULL;
	r->room = 0;
}

static void close_chunk(struct xvt_loose *l, struct xvt_loose_chunk *c)
{
	*c->link = c->next;
	if (c->next)
		c->next->link = c->link;
	l->held -= c->held;
	xvt_chunk_buf_free(&c->buf);
	xvt_events_end(&c->it);
	for (uint32_t i = 0; c->rings && i < c->nr_rings; i++)
		free_piece(l, &c->rings[i]);
	free(c->items);
	free(c->rings);
	free(c);
}

void xvt_loose_fini(struct xvt_loose *l)
{
	while (l->open)
		close_chunk(l, l->open);
	if (l->raws)
		xvt_trace_raws_fini(l->raws);
	free(l->raws);
	free(l->places);
	free(l->heap);
	free(l->last);
	memset(l, 0, sizeof(*l));
}

/* Adds an item behind the ring's items before it; a ring's first item begins the ring. */
static int add_item(struct xvt_loose *l, struct xvt_loose_chunk *c, const struct xvt_events_item *e)
{
	const uint32_t number = (uint32_t)c->nr_items;
	uint32_t *last;

	if (xvt_grow(&c->items, &c->items_room, c->nr_items + 1, sizeof(*c->items)) ||
	    xvt_grow_zeroed(&l->last, &l->last_room, (size_t)e->ring + 1, sizeof(*l->last)))
		return -ENOMEM;
	last = &l->last[e->ring];
	c->items[number] = (struct item){ *e, NO_ITEM, 0, !*last };
	if (!e->own.hdr)
		c->items[number].at = c->it.sources[e->source].at;
	if (*last)
		c->items[*last - 1].next = number;
	else
		c->nr_rings++;
	c->nr_items++;
	*last = number + 1;
	return 0;
}

/* Lists the chunk's items, each linked to the next one of its ring. */
static int list_items(struct xvt_loose *l, struct xvt_loose_chunk *c)
{
	struct xvt_events_item e;
	int got, err = 0;

	while (!err && (got = xvt_events_item(&c->it, &e)) > 0)
		err = add_item(l, c, &e);
	for (size_t i = 0; i < c->nr_items; i++)
		l->last[c->items[i].e.ring] = 0;
	return err ? err : got;
}

/*
 * Copies the piece of the ring's item, because the rings of a chunk together may need more RAW
 * chunks than can be held. An unreadable piece is noted. Returns 0, -ENOMEM or a read error.
 */
static int begin_item(struct xvt_loose *l, struct xvt_loose_ring *r)
{
	const struct item *item = &r->chunk->items[r->item];
	struct xvt_events_source *s = &r->chunk->it.sources[item->e.source];
	const size_t room = r->room;
	int64_t len;

	r->begun = true;
	len = xvt_trace_raws_piece(l->raws, s->raw_seq, item->at, item->e.count, &r->bytes,
				   &r->room);
	l->held += r->room - room;
	if (len < 0 && len != -EBADMSG)
		return (int)len;
	s->unreadable = len < 0;
	if (s->unreadable)
		return 0;
	r->raw = (struct xvt_raw){ s->raw_seq, r->bytes, (uint32_t)len };
	s->raw = &r->raw;
	s->base = item->at;
	s->at -= s->base;
	return 0;
}

static void end_item(struct xvt_loose_ring *r)
{
	const struct item *item = &r->chunk->items[r->item];

	if (r->begun) { /* records, not an event of the host's own */
		struct xvt_events_source *s = &r->chunk->it.sources[item->e.source];

		s->at += s->base;
		s->base = 0;
		s->raw = NULL;
	}
	r->begun = false;
	r->item = item->next;
}

/* Goes to the next record of the ring's item, whose time it sets in `h`. Returns as
 * xvt_events_peek(). */
static int peek(struct xvt_loose *l, struct xvt_loose_ring *r, struct xvt_event_hdr *h)
{
	const struct item *item = &r->chunk->items[r->item];
	int got = r->begun ? 0 : begin_item(l, r);

	if (!got)
		got = xvt_events_peek(&r->chunk->it, item->e.source, &r->rec);
	h->host_ns = r->rec.host_ns;
	return got;
}

/*
 * Goes to the ring's next event, from the next record of its item on. Returns 1; 0: it has no more;
 * -ENOMEM or a read error.
 */
static int step(struct xvt_loose *l, struct xvt_loose_ring *r)
{
	struct xvt_loose_chunk *c = r->chunk;

	while (r->item != NO_ITEM) {
		struct item *item = &c->items[r->item];
		struct xvt_event_hdr h = { .ring_flags = item->e.ring };
		struct xvt_event ev = { .hdr = &h, .chunk_seq = c->it.chunk_seq };
		int got;

		if (!item->e.count) {
			end_item(r);
			continue;
		}
		got = item->e.own.hdr ? 1 : peek(l, r, &h);
		item->e.count--;
		if (got == -EBADMSG)
			xvt_trace_note_chunk(l->t, c->offset, "an event reaches past its chunk");
		if (got < 0)
			return got == -EBADMSG ? 0 : got;
		if (!got)
			continue;
		r->key = xvt_event_key_of(l->t, item->e.own.hdr ? &item->e.own : &ev, false,
					  r->item);
		if (r->key.host_ns >= l->from_ns && r->key.host_ns <= l->to_ns)
			return 1;
		if (!item->e.own.hdr)
			xvt_events_take(&c->it, item->e.source, &r->rec, &ev);
	}
	return 0;
}

/* ------------------------------------------------------------------ the heap */

static bool is_before(const struct xvt_loose_ring *a, const struct xvt_loose_ring *b)
{
	return xvt_event_key_compare(&a->key, &b->key) < 0;
}

/* Moves the first ring behind the rings with earlier events. */
static void sink(struct xvt_loose *l)
{
	struct xvt_loose_ring *r = l->heap[0];
	size_t at = 0, child;

	for (; (child = 2 * at + 1) < l->nr_heap; at = child) {
		if (child + 1 < l->nr_heap && is_before(l->heap[child + 1], l->heap[child]))
			child++;
		if (!is_before(l->heap[child], r))
			break;
		l->heap[at] = l->heap[child];
	}
	l->heap[at] = r;
}

static void push(struct xvt_loose *l, struct xvt_loose_ring *r)
{
	size_t at = l->nr_heap++;

	for (; at && is_before(r, l->heap[(at - 1) / 2]); at = (at - 1) / 2)
		l->heap[at] = l->heap[(at - 1) / 2];
	l->heap[at] = r;
}

/* Takes the first ring, which has no more events, out of the heap. */
static void drop_first(struct xvt_loose *l)
{
	struct xvt_loose_chunk *c = l->heap[0]->chunk;

	l->heap[0] = l->heap[--l->nr_heap];
	if (l->nr_heap)
		sink(l);
	if (!--c->rings_left)
		close_chunk(l, c);
}

/* Makes a ring of each list of items, and puts those with events into the heap. */
static int begin_rings(struct xvt_loose *l, struct xvt_loose_chunk *c)
{
	uint32_t i, n = 0;

	c->rings = calloc((size_t)c->nr_rings + 1, sizeof(*c->rings));
	if (!c->rings ||
	    xvt_grow(&l->heap, &l->heap_room, l->nr_heap + c->nr_rings, sizeof(*l->heap)))
		return -ENOMEM;
	for (i = 0; i < c->nr_items; i++) {
		struct xvt_loose_ring *r = &c->rings[n];
		int got;

		if (!c->items[i].first)
			continue;
		*r = (struct xvt_loose_ring){ .chunk = c, .item = i };
		got = step(l, r);
		if (got < 0)
			return got;
		if (!got) {
			free_piece(l, r); /* the place is the next ring's */
			continue;
		}
		n++;
		c->rings_left++;
		push(l, r);
	}
	return 0;
}

/* ------------------------------------------------------------------ the events */

static size_t size_of(const struct xvt_loose_chunk *c)
{
	return sizeof(*c) + c->buf.room + c->buf.unpacked_room +
	       c->it.sources_room * sizeof(*c->it.sources) +
	       c->it.lines_room * sizeof(*c->it.lines) + c->items_room * sizeof(*c->items) +
	       c->nr_rings * sizeof(*c->rings);
}

/* Reads the chunk's tables and puts its rings into the heap. -EBADMSG: it is damaged. */
static int fill_chunk(struct xvt_loose *l, struct xvt_loose_chunk *c, uint64_t seq)
{
	int err = xvt_events_begin(&c->it, &l->raws->base, &c->buf, seq);

	if (!err)
		err = list_items(l, c);
	if (err && err != -EBADMSG)
		return err;
	if (err)
		xvt_trace_note_chunk(l->t, c->offset, "an event reaches past its chunk");
	c->held = size_of(c);
	l->held += c->held;
	/* No recorder has so much open at a time. */
	if (l->held > XVT_LOOSE_BUDGET && l->held != c->held) {
		xvt_trace_note_chunk(l->t, c->offset, "too many LOOSE chunks are of one time");
		return -EBADMSG;
	}
	return begin_rings(l, c);
}

/* Opens the next chunk. Returns 0, -ENOMEM or a read error. */
static int open_next(struct xvt_loose *l)
{
	const struct xvt_loose_place place = l->places[l->next++];
	const size_t chunk = xvt_trace_chunk_at(l->t, place.offset);
	struct xvt_loose_chunk *c = calloc(1, sizeof(*c));
	int err;

	if (!c)
		return -ENOMEM;
	c->offset = place.offset;
	c->next = l->open;
	c->link = &l->open;
	if (c->next)
		c->next->link = &c->next;
	l->open = c;
	err = chunk < l->t->chunk_count ? xvt_trace_load(l->t, chunk, &c->buf) : -EBADMSG;
	if (!err)
		err = fill_chunk(l, c, l->t->chunks[chunk].seq);
	if (!c->rings_left)
		close_chunk(l, c);
	if (err == -ESTALE)
		return list_places(l, &place);
	return err == -EBADMSG ? 0 : err;
}

/* Goes behind the event that was given last. */
static int advance(struct xvt_loose *l)
{
	int got;

	if (!l->given)
		return 0;
	l->given = NULL;
	got = step(l, l->heap[0]);
	if (got < 0)
		return got;
	if (got)
		sink(l);
	else
		drop_first(l);
	return 0;
}

int xvt_loose_next(struct xvt_loose *l, struct xvt_event *ev, struct xvt_event_key *key)
{
	struct xvt_loose_ring *r;
	const struct xvt_events_item *e;
	int err = advance(l);

	while (!err && l->next < l->nr_places &&
	       (!l->nr_heap || l->places[l->next].first_ns <= l->heap[0]->key.host_ns))
		err = open_next(l);
	if (err || !l->nr_heap)
		return err;
	r = l->heap[0];
	e = &r->chunk->items[r->item].e;
	*key = r->key;
	*ev = e->own;
	l->given = &r->chunk->it;
	l->raws->base.events++;
	if (!e->own.hdr) {
		xvt_events_take(&r->chunk->it, e->source, &r->rec, ev);
		ev->left = e->left + e->count; /* this one is no more counted */
	}
	return 1;
}
