// SPDX-License-Identifier: GPL-2.0
/* rounds.c - see rounds.h. */
#include "rounds.h"

#include <check.h>
#include <stdlib.h>

void rounds_init(struct rounds *o, const struct engine *e)
{
	uint32_t i;

	memset(o, 0, sizeof(*o));
	for (i = 0; i < e->nr_rings; i++)
		xvt_reader_init(&o->reader[i], &e->region.g, 0);
}

void rounds_fini(struct rounds *o)
{
	free(o->queue);
	free(o->out);
}

static struct rounds_event *one_more(struct rounds_event **array, size_t n, size_t *room)
{
	if (n == *room) {
		*room = *room ? *room * 2 : 64;
		*array = realloc(*array, *room * sizeof(**array));
		if (!*array)
			ck_abort_msg("no memory");
	}
	return *array + n;
}

static void queue(struct rounds *o, const struct rounds_event *ev)
{
	size_t at = o->nr_queue;

	one_more(&o->queue, o->nr_queue++, &o->room);
	for (; at && o->queue[at - 1].ns > ev->ns; at--)
		o->queue[at] = o->queue[at - 1];
	o->queue[at] = *ev;
	o->unordered += ev->ns < o->last_flush;
	o->max_ns = o->queue[o->nr_queue - 1].ns;
}

/* The tests' events say their host time themselves, or it is their stamp. */
static void take(struct rounds *o, uint32_t ring, const struct xvt_record *rec)
{
	struct rounds_event ev = { .ns = rec->ts, .ring = ring };

	if (rec->kind != XVT_REC_RECORD || rec->id != XVT_ID_U64)
		return;
	memcpy(&ev.number, rec->payload, sizeof(ev.number));
	if (rec->len >= 2 * sizeof(uint64_t))
		memcpy(&ev.ns, rec->payload + sizeof(uint64_t), sizeof(ev.ns));
	queue(o, &ev);
}

void rounds_copy(struct rounds *o, struct engine *e)
{
	uint32_t i;

	for (i = 0; i < e->nr_rings; i++) {
		struct xvt_reader *reader = &o->reader[i];
		const struct xvt_piece *p;

		for (p = e->rings[i]->drain.first; p; p = p->next) {
			struct xvt_record rec;

			if (xvt_pos_before(p->pos, reader->pos))
				continue; /* seen in an earlier pass */
			reader->pos = p->pos;
			reader->salvage = p->salvage ? XVT_SALVAGE_STOP : XVT_SALVAGE_NO;
			xvt_reader_feed(reader, p->bytes, p->len);
			while (xvt_reader_next(reader, &rec) == 1)
				take(o, i, &rec);
			reader->pos = p->pos + p->len;
		}
	}
}

static void flush(struct rounds *o, uint64_t limit)
{
	size_t n;

	for (n = 0; n < o->nr_queue && o->queue[n].ns <= limit; n++) {
		*one_more(&o->out, o->nr_out, &o->room_out) = o->queue[n];
		o->nr_out++;
		o->last_flush = o->queue[n].ns;
	}
	memmove(o->queue, o->queue + n, (o->nr_queue - n) * sizeof(*o->queue));
	o->nr_queue -= n;
}

void rounds_finished(struct rounds *o)
{
	flush(o, o->next_flush);
	o->next_flush = o->max_ns;
}

void rounds_final(struct rounds *o)
{
	flush(o, UINT64_MAX);
}

bool rounds_in_order(const struct rounds *o)
{
	size_t i;

	for (i = 1; i < o->nr_out; i++) {
		if (o->out[i].ns < o->out[i - 1].ns)
			return false;
	}
	return true;
}
