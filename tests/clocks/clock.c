// SPDX-License-Identifier: GPL-2.0
#include "clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *grow(void *array, size_t count, size_t size)
{
	/* Room doubles at powers of two. */
	if (count & (count - 1))
		return array;
	array = realloc(array, (count ? count * 2 : 1) * size);
	if (!array) {
		perror("clock");
		exit(1);
	}
	return array;
}

static void add(struct clock *c, double at, enum edit_kind kind, double amount)
{
	c->edits = grow(c->edits, c->nr_edits, sizeof(*c->edits));
	c->edits[c->nr_edits] = (struct edit){ at, kind, amount, c->nr_edits };
	c->nr_edits++;
}

void clock_rate(struct clock *c, double at, double rate)
{
	add(c, at, EDIT_RATE, rate);
}

void clock_step(struct clock *c, double at, double seconds)
{
	add(c, at, EDIT_STEP, seconds);
}

void clock_halt(struct clock *c, double at, double seconds)
{
	add(c, at, EDIT_HALT, 1);
	add(c, at + seconds, EDIT_HALT, -1);
}

void clock_freeze(struct clock *c, double at, double seconds)
{
	add(c, at, EDIT_STILL, 1);
	add(c, at + seconds, EDIT_STILL, -1);
}

void clock_stop(struct clock *c, double at, double seconds)
{
	clock_halt(c, at, seconds);
	clock_freeze(c, at, seconds);
}

static int by_time(const void *a, const void *b)
{
	const struct edit *x = a, *y = b;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return x->number < y->number ? -1 : 1;
}

/* What the edits so far have led to. */
struct sweep {
	double at;
	long double seconds; /* of the guest */
	double rate;
	int still;
	int halted;
};

static void apply(struct sweep *s, const struct edit *e)
{
	s->seconds += (long double)(e->at - s->at) * (s->still ? 0 : s->rate);
	s->at = e->at;
	if (e->kind == EDIT_RATE)
		s->rate = e->amount;
	else if (e->kind == EDIT_STEP)
		s->seconds += e->amount;
	else if (e->kind == EDIT_STILL)
		s->still += (int)e->amount;
	else
		s->halted += (int)e->amount;
}

void clock_build(struct clock *c, double host_hz)
{
	struct sweep s = { .rate = 1 };

	qsort(c->edits, c->nr_edits, sizeof(*c->edits), by_time);
	c->pieces = calloc(c->nr_edits + 1, sizeof(*c->pieces));
	if (!c->pieces) {
		perror("clock");
		exit(1);
	}
	for (size_t i = 0; i <= c->nr_edits; i++) {
		if (i)
			apply(&s, &c->edits[i - 1]);
		c->pieces[i] = (struct piece){
			.at = (long double)s.at * host_hz,
			.ticks = s.seconds * c->hz,
			.rate = s.still ? 0 : (long double)s.rate * c->hz / host_hz,
			.halted = s.halted > 0,
		};
	}
	c->nr_pieces = c->nr_edits + 1;
	free(c->edits);
	c->edits = NULL;
	c->nr_edits = 0;
}

/* The piece at a moment. Moments mostly increase, so it is the last one or soon behind it. */
static const struct piece *piece_at(struct clock *c, uint64_t host)
{
	while (c->now + 1 < c->nr_pieces && c->pieces[c->now + 1].at <= (long double)host)
		c->now++;
	while (c->now && c->pieces[c->now].at > (long double)host)
		c->now--;
	return &c->pieces[c->now];
}

static long double ticks_at(const struct piece *p, uint64_t host)
{
	return p->ticks + ((long double)host - p->at) * p->rate;
}

uint64_t clock_value(struct clock *c, uint64_t host)
{
	uint64_t value = c->first + (uint64_t)(int64_t)ticks_at(piece_at(c, host), host);

	if (c->quantum)
		value -= value % c->quantum;
	if (c->mask)
		value &= c->mask;
	/* A writer has no time 0. */
	return value ? value : 1;
}

bool clock_is_halted(struct clock *c, uint64_t host, uint64_t *end)
{
	size_t i;

	if (!piece_at(c, host)->halted)
		return false;
	for (i = c->now; i < c->nr_pieces && c->pieces[i].halted; i++)
		;
	*end = i < c->nr_pieces ? (uint64_t)c->pieces[i].at + 1 : UINT64_MAX;
	return true;
}

/* Two more pieces behind the one at `host`: the stop, and the rest of that one. */
void clock_stop_now(struct clock *c, uint64_t host, uint64_t ticks)
{
	const struct piece now = *piece_at(c, host);
	const long double value = ticks_at(&now, host);
	const size_t behind = c->now + 1;

	c->pieces = realloc(c->pieces, (c->nr_pieces + 2) * sizeof(*c->pieces));
	if (!c->pieces) {
		perror("clock");
		exit(1);
	}
	memmove(&c->pieces[behind + 2], &c->pieces[behind],
		(c->nr_pieces - behind) * sizeof(*c->pieces));
	c->nr_pieces += 2;
	c->pieces[behind] = (struct piece){ host, value, 0, true };
	c->pieces[behind + 1] = (struct piece){ host + ticks, value, now.rate, now.halted };
	for (size_t i = behind + 2; i < c->nr_pieces; i++)
		c->pieces[i].at += ticks;
}

void clock_free(struct clock *c)
{
	free(c->edits);
	free(c->pieces);
}
