// SPDX-License-Identifier: GPL-2.0
/* busy.c - see busy.h. */
#include "view/busy.h"

#include <errno.h>
#include <stdlib.h>

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

uint64_t xvt_running_switch(struct xvt_running *r, uint64_t ns, int32_t prev, int32_t next)
{
	const bool fits = r->known && r->pid == prev;
	uint64_t ran_ns = 0;

	if (r->known && !fits && r->pid == next)
		return 0;
	if (fits && ns > r->since_ns)
		ran_ns = ns - r->since_ns;
	*r = (struct xvt_running){ .known = true, .pid = next, .since_ns = ns };
	return ran_ns;
}
