// SPDX-License-Identifier: GPL-2.0
/* ahead.c - see ahead.h. */
#include "lib/ahead.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/copy.h"
#include "trace/cursor.h"
#include "view/reclock.h"

/* A batch stays in a CPU's second-level cache, and is worth the handing over: it takes the thread
 * some 300 us. */
size_t xvt_ahead_batch_bytes = 256u << 10;

/* A record in a batch; its payload follows. */
struct record {
	uint64_t chunk_seq;
	uint64_t bound_ns;
	struct xvt_event_hdr hdr;
	uint32_t left;
	uint32_t unused;
};
XVT_ASSERT(sizeof(struct record) % 8 == 0, "payloads are aligned");

#define RECORD_MOST (sizeof(struct record) + UINT16_MAX + 8)

enum batch_end {
	MORE,	 /* records are behind it */
	LAST,	 /* none are */
	UNSOUND, /* the thread came upon something that the reader must find itself */
};

struct batch {
	uint8_t *bytes;
	size_t used;
	size_t at; /* the record to give next */
	enum batch_end end;
};

struct xvt_ahead {
	struct xvt_trace *t; /* of the caller */
	struct xvtrace_background by;
	unsigned int slot;
	struct batch batches[2];
	unsigned int current; /* the batch that is given; the thread fills the other */
	bool runs;	      /* the thread has been given a batch */
	uint64_t given;
	uint64_t bound_ns; /* of the record given last */
	/* The thread's, while it runs. */
	struct xvt_trace *copy;
	struct xvt_reclock *reclock; /* NULL: the cursor is used */
	const uint64_t *its_bound_ns;
	struct xvt_cursor cursor;
	bool has_cursor;
};

/* The reader shall find damage itself: the thread may be beyond what the reader will read. A copy
 * whose list of chunks was made anew has damage. */
static bool is_sound(const struct xvt_ahead *a)
{
	return !a->copy->damage_count;
}

int xvt_ahead_new(struct xvt_ahead **out, struct xvt_trace *t, bool reclock,
		  const struct xvtrace_background *by, unsigned int slot)
{
	struct xvt_ahead *a = calloc(1, sizeof(*a));
	int err;

	*out = NULL;
	if (!a)
		return -ENOMEM;
	a->t = t;
	a->by = *by;
	a->slot = slot;
	for (int i = 0; i < 2; i++)
		a->batches[i].bytes = malloc(xvt_ahead_batch_bytes + RECORD_MOST);
	err = a->batches[0].bytes && a->batches[1].bytes ? xvt_trace_copy(&a->copy, t) : -ENOMEM;
	if (!err && reclock)
		err = xvt_reclock_new(&a->reclock, a->copy);
	if (!err && !is_sound(a))
		err = -EAGAIN;
	if (err) {
		xvt_ahead_free(a);
		return err == -ENOMEM ? err : -EAGAIN;
	}
	*out = a;
	return 0;
}

static void wait(struct xvt_ahead *a)
{
	if (a->runs)
		a->by.wait(a->by.run_arg, a->slot);
	a->runs = false;
}

/* What the copy found whole need not be checked again. */
static void join(struct xvt_ahead *a)
{
	if (is_sound(a))
		xvt_trace_join(a->t, a->copy);
}

void xvt_ahead_free(struct xvt_ahead *a)
{
	if (!a)
		return;
	wait(a);
	xvt_reclock_free(a->reclock);
	if (a->has_cursor)
		xvt_cursor_fini(&a->cursor);
	if (a->copy) {
		join(a);
		xvt_trace_close(a->copy);
	}
	for (int i = 0; i < 2; i++)
		free(a->batches[i].bytes);
	free(a);
}

const uint64_t *xvt_ahead_want_bounds(struct xvt_ahead *a)
{
	a->its_bound_ns = xvt_reclock_want_bounds(a->reclock);
	a->bound_ns = XVT_NO_BOUND;
	return &a->bound_ns;
}

/* -- the thread ------------------------------------------------------------------------ */

static void put(struct batch *b, const struct xvt_event *ev, uint64_t bound_ns)
{
	struct record *to = (struct record *)(b->bytes + b->used);

	to->chunk_seq = ev->chunk_seq;
	to->bound_ns = bound_ns;
	to->hdr = *ev->hdr;
	to->left = ev->left;
	memcpy(to + 1, ev->payload, ev->hdr->len);
	b->used += sizeof(*to) + xvt_pad8(ev->hdr->len);
}

/* Fill the batch that is not given. */
static void fill(void *arg)
{
	struct xvt_ahead *a = arg;
	struct batch *b = &a->batches[!a->current];
	struct xvt_event ev;
	int got;

	b->used = b->at = 0;
	b->end = MORE;
	while (b->end == MORE && b->used < xvt_ahead_batch_bytes) {
		got = a->reclock ? xvt_reclock_next(a->reclock, &ev)
				 : xvt_cursor_next(&a->cursor, &ev);
		if (xvt_unlikely(got < 0 || !is_sound(a)))
			b->end = UNSOUND;
		else if (xvt_unlikely(!got))
			b->end = LAST;
		else
			put(b, &ev, a->its_bound_ns ? *a->its_bound_ns : 0);
	}
}

/* -- the reader ------------------------------------------------------------------------ */

static void begin_fill(struct xvt_ahead *a)
{
	a->runs = true;
	a->by.begin(a->by.run_arg, a->slot, fill, a);
}

int xvt_ahead_begin(struct xvt_ahead *a, uint64_t from_ns, uint64_t to_ns)
{
	int err;

	wait(a);
	if (a->has_cursor)
		xvt_cursor_fini(&a->cursor);
	a->has_cursor = false;
	if (a->reclock) {
		err = xvt_reclock_begin(a->reclock, from_ns, to_ns);
	} else {
		err = xvt_cursor_init(&a->cursor, a->copy, from_ns, to_ns);
		a->has_cursor = !err;
	}
	if (err || !is_sound(a))
		return -EAGAIN;
	a->given = 0;
	a->batches[a->current].used = a->batches[a->current].at = 0;
	a->batches[a->current].end = MORE;
	begin_fill(a);
	return 0;
}

/* The thread has ended. */
static int end_of(struct xvt_ahead *a, enum batch_end end)
{
	if (end == UNSOUND)
		return -EAGAIN;
	join(a);
	return 0;
}

/* Returns 1; 0: there is no further batch; -EAGAIN. */
static __attribute__((noinline)) int next_batch(struct xvt_ahead *a)
{
	do {
		if (a->batches[a->current].end != MORE)
			return end_of(a, a->batches[a->current].end);
		wait(a);
		a->current = !a->current;
		if (a->batches[a->current].end == MORE)
			begin_fill(a);
	} while (!a->batches[a->current].used);
	return 1;
}

int xvt_ahead_next(struct xvt_ahead *a, struct xvt_event *ev)
{
	struct batch *b = &a->batches[a->current];
	const struct record *of;

	if (xvt_unlikely(b->at == b->used)) {
		const int got = next_batch(a);

		if (got <= 0)
			return got;
		b = &a->batches[a->current];
	}
	of = (const struct record *)(b->bytes + b->at);
	b->at += sizeof(*of) + xvt_pad8(of->hdr.len);
	a->given++;
	a->bound_ns = of->bound_ns;
	ev->hdr = &of->hdr;
	ev->payload = (const uint8_t *)(of + 1);
	ev->chunk_seq = of->chunk_seq;
	ev->left = of->left;
	return 1;
}

uint64_t xvt_ahead_given(const struct xvt_ahead *a)
{
	return a->given;
}
