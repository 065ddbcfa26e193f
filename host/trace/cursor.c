// SPDX-License-Identifier: GPL-2.0
/* cursor.c - see cursor.h. */
#include "trace/cursor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

static void note_bad_events(struct xvt_trace *t, uint64_t offset)
{
	xvt_trace_note_chunk(t, offset, "an event reaches past its chunk");
}

static int compare_late(const void *pa, const void *pb)
{
	const struct xvt_late *a = pa, *b = pb;

	return xvt_event_key_compare(&a->key, &b->key);
}

static int compare_places(const void *pa, const void *pb)
{
	const struct xvt_late *a = pa, *b = pb;

	return a->at < b->at ? -1 : a->at > b->at;
}

static bool in_range(const struct xvt_cursor *c, uint64_t ns)
{
	return ns >= c->from_ns && ns <= c->to_ns;
}

static size_t event_size(const struct xvt_event_hdr *h)
{
	return sizeof(*h) + xvt_pad8(h->len);
}

/*
 * The budget is used up twice over: keep the first half in order of time, and remember where it
 * ends. The rest behind it is read again when its time has come.
 */
static void shrink_late(struct xvt_cursor *c)
{
	size_t kept = 0, cost = 0, used = 0;

	qsort(c->late, c->late_count, sizeof(*c->late), compare_late);
	while (kept < c->late_count && cost < c->t->late_budget) {
		const void *h = c->late_bytes + c->late[kept++].at;

		cost += event_size(h) + sizeof(*c->late);
	}
	c->late_count = kept;
	c->late_more = true;
	c->late_cut = c->late[kept - 1].key;
	qsort(c->late, kept, sizeof(*c->late), compare_places);
	for (size_t i = 0; i < kept; i++) {
		const void *h = c->late_bytes + c->late[i].at;
		size_t size = event_size(h);

		memmove(c->late_bytes + used, h, size);
		c->late[i].at = used;
		used += size;
	}
	c->late_used = used;
}

static int make_late_room(struct xvt_cursor *c, size_t size)
{
	size_t cost = c->late_used + c->late_count * sizeof(*c->late);

	if (c->late_count > 1 && cost + size > 2 * c->t->late_budget)
		shrink_late(c);
	if (xvt_grow(&c->late, &c->late_room, c->late_count + 1, sizeof(*c->late)))
		return -ENOMEM;
	return xvt_grow(&c->late_bytes, &c->late_bytes_room, c->late_used + size, 1);
}

static int keep_late(struct xvt_cursor *c, const struct xvt_event *ev, uint32_t number)
{
	const struct xvt_event_key key = xvt_event_key_of(c->t, ev, true, number);
	size_t size = event_size(ev->hdr);
	int err;

	if (!in_range(c, key.host_ns) ||
	    (c->late_begun && xvt_event_key_compare(&key, &c->late_done) <= 0) ||
	    (c->late_more && xvt_event_key_compare(&key, &c->late_cut) > 0))
		return 0;
	err = make_late_room(c, size);
	if (err)
		return err;
	if (c->late_more && xvt_event_key_compare(&key, &c->late_cut) > 0)
		return 0;
	c->late[c->late_count++] = (struct xvt_late){ key, c->late_used, ev->left };
	memcpy(c->late_bytes + c->late_used, ev->hdr, sizeof(*ev->hdr));
	memcpy(c->late_bytes + c->late_used + sizeof(*ev->hdr), ev->payload,
	       size - sizeof(*ev->hdr));
	c->late_used += size;
	return 0;
}

/* -ESTALE: the list of chunks is a new one. */
static int load_late_chunk(struct xvt_cursor *c, size_t chunk)
{
	struct xvt_events_iter *it = &c->late_it;
	const uint64_t walks = c->t->walks;
	struct xvt_event ev;
	int err = xvt_trace_load(c->t, chunk, &c->late_buf);

	if (err)
		return err == -EBADMSG ? 0 : err;
	err = xvt_events_begin(it, &c->raws[1].base, &c->late_buf, c->t->chunks[chunk].seq);
	for (uint32_t number = 0; !err; number++) {
		int got = xvt_events_next(it, &ev);

		if (walks != c->t->walks)
			return -ESTALE;
		if (got == 0)
			return 0;
		err = got < 0 ? got : keep_late(c, &ev, number);
	}
	if (err != -EBADMSG)
		return err;
	note_bad_events(c->t, c->t->chunks[chunk].offset);
	return 0;
}

/*
 * The late lane has no order of its own, and any length. A part of it that fits the budget is
 * held sorted, those that come next in time; the lane is read again for each part, but for the
 * chunks that lie before or behind it.
 */
static int load_late(struct xvt_cursor *c)
{
	const struct xvt_trace *t = c->t;
	int err = 0;

	if (c->late_count) {
		c->late_done = c->late[c->late_count - 1].key;
		c->late_begun = true;
	}
again:
	c->late_count = c->late_at = c->late_used = 0;
	c->late_more = false;
	xvt_trace_raws_again(&c->raws[1]);
	for (size_t i = t->given; i < t->chunk_count && !err; i++) {
		const struct xvt_chunk_ref *ref = &t->chunks[i];

		if (ref->type == XVT_CHUNK_LATE && ref->last_ns >= c->from_ns &&
		    ref->first_ns <= c->to_ns &&
		    (!c->late_begun || ref->last_ns >= c->late_done.host_ns) &&
		    (!c->late_more || ref->first_ns <= c->late_cut.host_ns))
			err = load_late_chunk(c, i);
		if (err == -ESTALE) {
			err = 0;
			goto again;
		}
	}
	if (c->late_count)
		qsort(c->late, c->late_count, sizeof(*c->late), compare_late);
	return err;
}

int xvt_cursor_init(struct xvt_cursor *c, struct xvt_trace *t, uint64_t from_ns, uint64_t to_ns)
{
	int err;

	memset(c, 0, sizeof(*c));
	c->t = t;
	c->chunk = t->given;
	c->from_ns = from_ns;
	c->to_ns = to_ns;
	c->raws = malloc(2 * sizeof(*c->raws));
	if (!c->raws)
		return -ENOMEM;
	xvt_trace_raws_init(&c->raws[0], t);
	xvt_trace_raws_init(&c->raws[1], t);
	err = load_late(c);
	if (!err)
		err = xvt_loose_init(&c->loose, t, from_ns, to_ns);
	c->loose_done = !c->loose.nr_places;
	c->walks = t->walks;
	if (err)
		xvt_cursor_fini(c);
	return err;
}

void xvt_cursor_fini(struct xvt_cursor *c)
{
	free(c->late_bytes);
	free(c->late);
	xvt_chunk_buf_free(&c->late_buf);
	xvt_chunk_buf_free(&c->buf);
	xvt_events_end(&c->late_it);
	xvt_events_end(&c->it);
	xvt_loose_fini(&c->loose);
	for (int i = 0; c->raws && i < 2; i++)
		xvt_trace_raws_fini(&c->raws[i]);
	free(c->raws);
	memset(c, 0, sizeof(*c));
}

/* The list of chunks is a new one: behind the last one that was read. */
static void find_place(struct xvt_cursor *c)
{
	c->chunk = 0;
	c->walks = c->t->walks;
	while (c->chunk < c->t->chunk_count && c->t->chunks[c->chunk].offset < c->read_to)
		c->chunk++;
}

/* 1: it is ready for the next chunk's events. 0: no more chunks. */
static int next_chunk(struct xvt_cursor *c)
{
	struct xvt_trace *t = c->t;

	if (c->walks != t->walks)
		find_place(c);
	for (; c->chunk < t->chunk_count; c->chunk++) {
		struct xvt_chunk_ref *ref = &t->chunks[c->chunk];
		int err;

		if (ref->type != XVT_CHUNK_ORDER || ref->last_ns < c->from_ns ||
		    ref->first_ns > c->to_ns)
			continue;
		err = xvt_trace_load(t, c->chunk, &c->buf);
		if (err == -EBADMSG)
			continue;
		if (err == -ESTALE) {
			find_place(c);
			c->chunk--; /* and one on, at once */
			continue;
		}
		if (err)
			return err;
		err = xvt_events_begin(&c->it, &c->raws[0].base, &c->buf, ref->seq);
		if (err == -ENOMEM)
			return err;
		if (err) {
			note_bad_events(t, t->chunks[c->chunk].offset);
			continue;
		}
		c->read_to = ref->offset + 1;
		c->chunk++;
		return 1;
	}
	return 0;
}

static inline int next_main(struct xvt_cursor *c, struct xvt_event *ev)
{
	for (;;) {
		int got = xvt_events_next(&c->it, ev);

		if (xvt_likely(got > 0)) {
			if (xvt_likely(in_range(c, ev->hdr->host_ns)))
				return 1;
			continue;
		}
		if (got < 0 && got != -EBADMSG)
			return got;
		if (got < 0)
			note_bad_events(c->t, c->read_to - 1);
		got = next_chunk(c);
		if (got <= 0)
			return got;
	}
}

static int fetch_ahead(struct xvt_cursor *c)
{
	int got = next_main(c, &c->ahead);

	if (got < 0)
		return got;
	if (got == 0) {
		c->ahead.hdr = NULL;
		c->main_done = true;
	} else {
		c->ahead_key = xvt_event_key_of(c->t, &c->ahead, false, 0);
	}
	return 0;
}

static int fetch_loose(struct xvt_cursor *c)
{
	int got = xvt_loose_next(&c->loose, &c->loose_ahead, &c->loose_key);

	c->loose_done = !got;
	if (got <= 0)
		c->loose_ahead.hdr = NULL;
	return got < 0 ? got : 0;
}

/* Fetches the next event of each lane that has none at hand. */
static int fetch_all(struct xvt_cursor *c)
{
	int err = c->late_at == c->late_count && c->late_more ? load_late(c) : 0;

	if (!err && !c->ahead.hdr && !c->main_done)
		err = fetch_ahead(c);
	if (!err && !c->loose_ahead.hdr && !c->loose_done)
		err = fetch_loose(c);
	return err;
}

/* Gives the event that was fetched from a lane. Returns 0 if there is none. */
static int give(struct xvt_event *from, struct xvt_event *ev)
{
	if (!from->hdr)
		return 0;
	*ev = *from;
	from->hdr = NULL;
	return 1;
}

int xvt_cursor_next(struct xvt_cursor *c, struct xvt_event *ev)
{
	const struct xvt_late *late;
	struct xvt_event *first = &c->ahead;
	const struct xvt_event_key *key = &c->ahead_key;
	int err;

	if (xvt_likely(c->late_at == c->late_count && !c->late_more && !c->ahead.hdr &&
		       c->loose_done)) {
		c->given = &c->it;
		return c->main_done ? 0 : next_main(c, ev);
	}
	err = fetch_all(c);
	if (err)
		return err;
	c->given = &c->it;
	if (c->loose_ahead.hdr && (!first->hdr || xvt_event_key_compare(&c->loose_key, key) < 0)) {
		c->given = c->loose.given;
		first = &c->loose_ahead;
		key = &c->loose_key;
	}
	late = c->late_at < c->late_count ? &c->late[c->late_at] : NULL;
	if (!late || (first->hdr && xvt_event_key_compare(&late->key, key) >= 0))
		return give(first, ev);
	c->given = NULL;
	c->late_at++;
	ev->hdr = (const void *)(c->late_bytes + late->at);
	ev->payload = c->late_bytes + late->at + sizeof(*ev->hdr);
	ev->chunk_seq = late->key.chunk_seq;
	ev->left = late->left;
	return 1;
}
