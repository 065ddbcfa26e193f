// SPDX-License-Identifier: GPL-2.0
/*
 * lines.c - see lines.h. The calling thread reads events into batches; when these are full, all
 * threads make the lines of the batches, and the caller writes them. So the reader stands still
 * while its events are used.
 */
#include "export/lines.h"

#include <errno.h>
#include <stdlib.h>

#include "base/vec.h"

/* A batch stays in a CPU's second-level cache. There are more than threads, so that a thread which
 * the system keeps waiting holds up the others for less time. */
#define BATCH_BYTES	  (128u << 10)
#define BATCHES_OF_THREAD 2u

struct batch {
	struct xvtrace_kept *events;
	void *state;
	struct xvt_out *out; /* a line */
	char *lines;
	size_t used, room;
	int err; /* of the event behind the lines */
};

struct batches {
	const struct xvt_lines *lines;
	struct batch *v;
	unsigned int count;
	unsigned int filled;
};

/* -- one thread ------------------------------------------------------------------------ */

static int write_alone(struct xvt_export *x, struct xvt_out *o, const struct xvt_lines *lines)
{
	void *state = lines->begin(x);
	const struct xvtrace_event *ev;
	int got, err = state ? 0 : -ENOMEM;

	while (!err && (got = xvt_export_next(x, &ev)) != 0 && !o->err)
		err = got < 0 ? got : lines->put(state, o, ev);
	lines->end(state);
	return err;
}

/* -- several --------------------------------------------------------------------------- */

static void free_batches(struct batches *b)
{
	for (unsigned int i = 0; b->v && i < b->count; i++) {
		xvtrace_kept_free(b->v[i].events);
		b->lines->end(b->v[i].state);
		free(b->v[i].out);
		free(b->v[i].lines);
	}
	free(b->v);
}

static int new_batches(struct batches *b, struct xvt_export *x)
{
	b->count = x->threads.count * BATCHES_OF_THREAD;
	b->v = calloc(b->count, sizeof(*b->v));
	for (unsigned int i = 0; b->v && i < b->count; i++) {
		struct batch *to = &b->v[i];

		to->state = b->lines->begin(x);
		to->out = calloc(1, sizeof(*to->out));
		if (!to->state || !to->out || xvtrace_kept_new(&to->events))
			return -ENOMEM;
		to->out->fd = -1;
	}
	return b->v ? 0 : -ENOMEM;
}

/* In any thread: make the lines of a batch. */
static void make_lines(void *arg, unsigned int i)
{
	const struct batches *all = arg;
	struct batch *b = &all->v[i];
	const struct xvtrace_event *ev;

	b->used = 0;
	b->err = 0;
	while (!b->err && (ev = xvtrace_kept_next(b->events)) != NULL) {
		b->out->used = 0;
		b->err = all->lines->put(b->state, b->out, ev);
		if (b->err || !b->out->used)
			continue;
		b->err = xvt_grow(&b->lines, &b->room, b->used + b->out->used, 1);
		if (b->err)
			return;
		memcpy(b->lines + b->used, b->out->buf, b->out->used);
		b->used += b->out->used;
	}
}

/* Write the lines of the events that were read. */
static int write_batches(struct batches *b, struct xvt_export *x, struct xvt_out *o)
{
	int err = 0;

	if (!b->filled)
		return 0;
	x->threads.run(x->threads.run_arg, b->filled, make_lines, b);
	for (unsigned int i = 0; i < b->filled && !err && !o->err; i++) {
		xvt_out_bytes(o, b->v[i].lines, b->v[i].used);
		err = b->v[i].err;
	}
	for (unsigned int i = 0; i < b->filled; i++)
		xvtrace_kept_clear(b->v[i].events);
	b->filled = 0;
	return err;
}

/* Read events into the next batch. Returns as xvt_export_next(). */
static int fill_batch(struct batches *b, struct xvt_export *x)
{
	struct xvtrace_kept *to = b->v[b->filled++].events;
	const struct xvtrace_event *ev;
	int got = 1;

	while (got > 0 && xvtrace_kept_bytes(to) < BATCH_BYTES) {
		got = xvt_export_next(x, &ev);
		if (got > 0 && xvtrace_keep(to, ev))
			got = -ENOMEM;
	}
	return got;
}

static int write_by_threads(struct xvt_export *x, struct xvt_out *o, const struct xvt_lines *lines)
{
	struct batches b = { .lines = lines };
	int got = 1, err = new_batches(&b, x);

	while (!err && got > 0 && !o->err) {
		while (got > 0 && b.filled < b.count)
			got = fill_batch(&b, x);
		err = write_batches(&b, x, o);
	}
	free_batches(&b);
	return err ? err : got < 0 ? got : 0;
}

int xvt_export_lines(struct xvt_export *x, struct xvt_out *o, const struct xvt_lines *lines,
		     bool several)
{
	return several && x->threads.count > 1 ? write_by_threads(x, o, lines)
					       : write_alone(x, o, lines);
}
