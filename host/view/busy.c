// SPDX-License-Identifier: GPL-2.0
/* busy.c - see busy.h. */
#include "view/busy.h"

#include <errno.h>
#include <stdlib.h>

#include "base/u64.h"
#include "base/vec.h"

#define ROOM_FIRST 64u /* a power of two, as all sizes of the table are */

static size_t slot_of(const struct xvt_busy *b, int32_t pid)
{
	size_t at = (uint32_t)pid * 2654435769u & (b->room - 1);

	while (b->slots[at].pid && b->slots[at].pid != pid)
		at = (at + 1) & (b->room - 1);
	return at;
}

/* The largest value first; the smallest number among equal ones. */
static int compare(const void *a, const void *b)
{
	const struct xvt_busy_task *l = a, *r = b;

	if (l->value != r->value)
		return l->value > r->value ? -1 : 1;
	return l->pid < r->pid ? -1 : l->pid > r->pid;
}

static void forget_half(struct xvt_busy *b, struct xvt_busy_task *tasks, size_t *count)
{
	uint64_t most = 0;

	qsort(tasks, *count, sizeof(*tasks), compare);
	for (size_t i = *count / 2; i < *count; i++)
		most = tasks[i].value > most ? tasks[i].value : most;
	*count /= 2;
	b->forgotten_most += most;
}

/* Gives the table room for more. Returns 0 or -ENOMEM. */
static int grow(struct xvt_busy *b)
{
	struct xvt_busy old = *b;
	size_t count = 0;

	b->room = old.room ? old.room : ROOM_FIRST;
	if (old.count < XVT_BUSY_TASKS && old.room)
		b->room *= 2;
	b->slots = calloc(b->room, sizeof(*b->slots));
	if (!b->slots) {
		*b = old;
		return -ENOMEM;
	}
	for (size_t i = 0; i < old.room; i++) {
		if (old.slots[i].pid)
			old.slots[count++] = old.slots[i];
	}
	if (count >= XVT_BUSY_TASKS)
		forget_half(b, old.slots, &count);
	b->count = count;
	b->last = NULL;
	for (size_t i = 0; i < count; i++)
		b->slots[slot_of(b, old.slots[i].pid)] = old.slots[i];
	free(old.slots);
	return 0;
}

int xvt_busy_add(struct xvt_busy *b, int32_t pid, uint64_t value)
{
	size_t at;

	if (b->last && b->last->pid == pid) {
		b->last->value += value;
		return 0;
	}
	if ((b->count >= b->room / 2 || b->count >= XVT_BUSY_TASKS) && grow(b))
		return -ENOMEM;
	at = slot_of(b, pid);
	b->count += !b->slots[at].pid;
	b->last = &b->slots[at];
	b->last->pid = pid;
	b->last->value += value;
	return 0;
}

size_t xvt_busy_top(const struct xvt_busy *b, struct xvt_busy_task *to, size_t most)
{
	size_t count = 0;

	for (size_t i = 0; i < b->room; i++) {
		size_t at = count;

		if (!b->slots[i].pid)
			continue;
		for (; at && compare(&b->slots[i], &to[at - 1]) < 0; at--) {
			if (at < most)
				to[at] = to[at - 1];
		}
		if (at < most)
			to[at] = b->slots[i];
		count += count < most;
	}
	return count;
}

void xvt_busy_clear(struct xvt_busy *b)
{
	free(b->slots);
	*b = (struct xvt_busy){ .room = 0 };
}

int xvt_pauses_add(struct xvt_pauses *p, uint64_t begin_ns, uint64_t end_ns)
{
	if (end_ns <= begin_ns)
		return 0;
	if (xvt_grow(&p->v, &p->room, p->count + 1, sizeof(*p->v)))
		return -ENOMEM;
	p->v[p->count++] = (struct xvt_pause){ .begin_ns = begin_ns, .end_ns = end_ns };
	return 0;
}

static int compare_begins(const void *a, const void *b)
{
	const struct xvt_pause *l = a, *r = b;

	return l->begin_ns < r->begin_ns ? -1 : l->begin_ns > r->begin_ns;
}

void xvt_pauses_sort(struct xvt_pauses *p)
{
	size_t count = 0;

	if (p->count)
		qsort(p->v, p->count, sizeof(*p->v), compare_begins);
	for (size_t i = 0; i < p->count; i++) {
		struct xvt_pause *last = count ? &p->v[count - 1] : NULL;
		const struct xvt_pause next = p->v[i];

		if (last && next.begin_ns <= last->end_ns) {
			last->end_ns = xvt_u64_larger(last->end_ns, next.end_ns);
			continue;
		}
		p->v[count] = next;
		if (last)
			p->v[count].before_ns = last->before_ns + last->end_ns - last->begin_ns;
		count++;
	}
	p->count = count;
}

/* The sum of all pauses up to a time. */
static uint64_t paused_until(const struct xvt_pauses *p, uint64_t ns)
{
	const size_t n = XVT_COUNT_TO(p->v, p->count, begin_ns, ns);
	const struct xvt_pause *last = n ? &p->v[n - 1] : NULL;

	if (!last)
		return 0;
	return last->before_ns + (ns < last->end_ns ? ns : last->end_ns) - last->begin_ns;
}

uint64_t xvt_pauses_between(const struct xvt_pauses *p, uint64_t begin_ns, uint64_t end_ns)
{
	if (!p->count || end_ns <= begin_ns)
		return 0;
	return paused_until(p, end_ns) - paused_until(p, begin_ns);
}

void xvt_pauses_fini(struct xvt_pauses *p)
{
	free(p->v);
	*p = (struct xvt_pauses){ .count = 0 };
}

uint64_t xvt_running_switch(struct xvt_running *r, uint64_t ns, int32_t prev, int32_t next,
			    const struct xvt_pauses *pauses)
{
	const bool fits = r->known && r->pid == prev;
	uint64_t ran_ns = 0;

	if (r->known && !fits && r->pid == next)
		return 0;
	if (fits && ns > r->since_ns)
		ran_ns = ns - r->since_ns - xvt_pauses_between(pauses, r->since_ns, ns);
	*r = (struct xvt_running){ .known = true, .pid = next, .since_ns = ns };
	return ran_ns;
}
