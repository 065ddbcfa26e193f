// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * ut_nest.c - instantiates the writer with hooks, and tells a hook where it stands from the
 * order of the accesses. test_nesting.c checks these labels against the ring's words.
 */
static void point(const char *tag);
#define XVT_POINT(tag) point(tag)
#include "ut_nest.h"

enum phase {
	BEFORE_CLOCK = 0,
	AFTER_CLOCK,
	AFTER_B,
	AFTER_C,
	AFTER_D,
	LANDED, /* xadd back-end, path 2 */
	IN_COMMIT,
	IN_DISCARD,
	LEAVING,
	PUBLISHED,
	UNNESTED,
};

static struct ut_nest *now;

static enum ut_label on_load(struct ut_frame *f)
{
	uint32_t n;

	f->loads++;
	switch (f->phase) {
	case BEFORE_CLOCK:
		if (!f->incs)
			return UT_ENTRY;
		/* The fast way has two loads after it has counted the event; where it goes on as
		 * another one, that begins with its own. */
		if (f->incs == 1 && f->fast)
			return f->loads == 1 || f->loads == 3	? UT_A
			       : f->loads == 2 || f->loads == 5 ? UT_A_BEFORE
			       : f->loads == 6			? UT_A_AFTER
								: UT_OTHER;
		/* The first attempt of a nested event looks at nest_max first; epoch_seen comes
		 * between the position and the stamps. */
		n = f->loads - (f->incs == 1 && now->depth > 1);
		return n == 1 ? UT_A : n == 3 ? UT_A_BEFORE : n == 4 ? UT_A_AFTER : UT_OTHER;
	case UNNESTED:
		return UT_RECHECK;
	default:
		return UT_OTHER;
	}
}

/* The fast way compares, where the other one loads. */
static enum ut_label on_compare(const struct ut_frame *f)
{
	switch (f->phase) {
	case BEFORE_CLOCK:
		if (!f->incs)
			return UT_ENTRY;
		return f->incs == 1 && f->fast && f->loads == 2 ? UT_A_AFTER : UT_OTHER;
	case UNNESTED:
		return UT_RECHECK;
	default:
		return UT_OTHER;
	}
}

/* Is the header of this frame's record in the ring? */
static bool begun(const struct ut_frame *f)
{
	const struct ut_ring *ring = now->ring;
	uint64_t size = xvt_record_size(f->len), word;
	uint32_t full;

	for (full = 0; full < 2; full++, size += 8) {
		memcpy(&word, ring->w.data + xvt_pos_off(&ring->g, f->end - size), 8);
		if (word == xvt_header(ring->g.ring_shift, f->end - size, XVT_ID_U64,
				       (uint32_t)size, now->ev[f->number].ts,
				       full ? XVT_H_FULL : 0))
			return true;
	}
	return false;
}

static enum ut_label on_store(struct ut_frame *f)
{
	switch (f->phase) {
	case BEFORE_CLOCK:
		return UT_ENTRY;
	case AFTER_CLOCK:
		f->phase = AFTER_B;
		return UT_B;
	case AFTER_C:
		if (!begun(f))
			return UT_E;
		f->phase = AFTER_D;
		return UT_D;
	case LEAVING:
		if (now->depth ==
		    1) /* what is not the fast way publishes, and begins with nest = 1 */
			return UT_OTHER;
		f->phase = UNNESTED;
		return UT_UNNEST;
	case UNNESTED: /* nest = 1 again */
		f->phase = LEAVING;
		return UT_OTHER;
	default:
		return UT_OTHER;
	}
}

/* A compare-and-swap, or an addition. */
static enum ut_label on_move(struct ut_frame *f, bool add)
{
	switch (f->phase) {
	case AFTER_CLOCK:
		return UT_CLOSE;
	case AFTER_B:
		f->phase = AFTER_C;
		f->end = 0;
		f->added = add;
		return UT_C;
	case IN_DISCARD:
		return UT_GIVE_BACK;
	default:
		return UT_OTHER;
	}
}

static enum ut_label on_store_release(struct ut_frame *f)
{
	switch (f->phase) {
	case AFTER_C:
		if (!f->added)
			return UT_E; /* padding */
		f->phase = LANDED;
		return UT_OTHER;
	case IN_COMMIT:
		f->phase = LEAVING;
		return UT_F;
	case IN_DISCARD:
		return UT_OTHER;
	case LEAVING:
		f->phase = PUBLISHED;
		return UT_PUBLISH;
	case PUBLISHED:
		f->phase = UNNESTED;
		return UT_UNNEST;
	default:
		return UT_OTHER;
	}
}

static void run_hook(enum ut_label label)
{
	now->points++;
	if (now->hook)
		now->hook(now, label);
}

static void point(const char *tag)
{
	enum ut_label label = UT_OTHER;
	struct ut_frame *f;

	if (!now || !now->depth)
		return;
	f = &now->frame[now->depth - 1];
	/* The first access after [C]: no event can have moved the position since. */
	if (f->phase == AFTER_C && !f->end)
		f->end = xvt_writer_pos(&now->ring->w, now->ring->w.ctl->resv);
	/* The access after DONE: DONE is stored, whatever happens next. */
	if (f->phase >= LEAVING && now->ev[f->number].committing)
		now->ev[f->number].done = true;
	if (!strcmp(tag, "load")) {
		label = on_load(f);
	} else if (!strcmp(tag, "compare")) {
		label = on_compare(f);
	} else if (!strcmp(tag, "store")) {
		label = on_store(f);
	} else if (!strcmp(tag, "cas") || !strcmp(tag, "xadd")) {
		label = on_move(f, !strcmp(tag, "xadd"));
	} else if (!strcmp(tag, "store_release")) {
		label = on_store_release(f);
	} else if (!strcmp(tag, "inc")) {
		if (f->phase == IN_DISCARD) {
			f->phase = LEAVING;
		} else {
			/* The first counts the event; each later one is a new attempt. The fast
			 * way has then loaded nest, any other one more. */
			if (!f->incs++)
				f->fast = f->loads == 1;
			f->phase = BEFORE_CLOCK;
			f->loads = 0;
		}
	}
	run_hook(label);
}

static uint64_t clock_for_writer(void *arg)
{
	struct ut_nest *n = arg;
	struct ut_frame *f = &n->frame[n->depth - 1];
	struct ut_truth *ev = &n->ev[f->number];
	uint64_t ts = ut_clock(n->ring);

	ev->ts = ts;
	ev->epoch = n->ring->w.host->epoch;
	ut_assert(n->reads < UT_NEST_READS);
	n->read[n->reads].ts = ev->ts;
	n->read[n->reads++].epoch = ev->epoch;
	if (f->phase != LANDED)
		f->phase = AFTER_CLOCK;
	run_hook(UT_CLOCK);
	/* Nested events have used other clock values; this one's stays what was read. */
	return ts;
}

void ut_nest_init(struct ut_nest *n, struct ut_ring *ring)
{
	n->ring = ring;
	n->hook = NULL;
	n->points = 0;
	n->depth = 0;
	n->count = 0;
	n->reads = 0;
	ring->w.clock = clock_for_writer;
	ring->w.clock_arg = n;
	now = n;
}

bool ut_time_is_right(const struct ut_nest *n, const struct ut_truth *ev, const struct ut_rec *r)
{
	uint32_t i;

	if (!(r->raw & XVT_H_SAME))
		return r->ts == ev->ts && r->epoch == ev->epoch;
	for (i = ev->first_read; i < ev->end_read; i++)
		if (n->read[i].ts == r->ts && n->read[i].epoch == r->epoch)
			return XVT_RING_BACKEND == XVT_BACKEND_XADD;
	return false;
}

int ut_event(struct ut_nest *n, uint32_t len, bool discard)
{
	uint32_t number = n->count++;
	struct ut_truth *ev = &n->ev[number];
	struct ut_frame *f;
	struct xvt_slot slot;
	uint64_t word = number;

	ut_assert(number < UT_NEST_EVENTS);
	ut_assert(n->depth < UT_NEST_DEPTH);
	memset(ev, 0, sizeof(*ev));
	f = &n->frame[n->depth++];
	memset(f, 0, sizeof(*f));
	f->number = number;
	f->len = len;
	ev->first_read = n->reads;
	ev->err = xvt_reserve(&n->ring->w, XVT_ID_U64, len, &slot);
	ev->end_read = n->reads;
	if (!ev->err) {
		ev->reserved = true;
		ev->pos = slot.pos;
		run_hook(UT_PAYLOAD);
		memcpy(slot.payload, &word, 8);
		if (discard) {
			ev->discarding = true;
			f->phase = IN_DISCARD;
			xvt_discard(&n->ring->w, &slot);
		} else {
			ev->committing = true;
			f->phase = IN_COMMIT;
			xvt_commit(&n->ring->w, &slot);
			ev->done = true;
		}
	}
	ev->ended = true;
	n->depth--;
	return ev->err;
}
