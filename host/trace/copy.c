// SPDX-License-Identifier: GPL-2.0
/* copy.c - an open trace again, for another thread: the same file, and lists of its own. */
#include "trace/copy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Replaces the pointer, which is another trace's, by a copy of its `count` elements. */
static int own(void *array, size_t count, size_t size)
{
	void *copy = malloc(count * size + 1);
	void **at = array;

	if (copy && count)
		memcpy(copy, *at, count * size);
	*at = copy;
	return copy ? 0 : -ENOMEM;
}

int xvt_trace_copy(struct xvt_trace **out, const struct xvt_trace *t)
{
	struct xvt_trace *c = malloc(sizeof(*c));
	int err;

	*out = NULL;
	if (!c)
		return -ENOMEM;
	*c = *t;
	/* All are replaced, whether that fails or not: what is closed is the copy's own. */
	err = own(&c->path, strlen(t->path) + 1, 1);
	err |= own(&c->chunks, t->chunk_count, sizeof(*t->chunks));
	err |= own(&c->vms, t->vm_count, sizeof(*t->vms));
	err |= own(&c->rings, t->ring_count, sizeof(*t->rings));
	err |= own(&c->timebase, t->timebase_count, sizeof(*t->timebase));
	c->chunk_room = t->chunk_count;
	c->timebase_room = t->timebase_count;
	c->parts = NULL;
	c->part_count = 0;
	c->fd_is_lent = true;
	if (!err && t->ops)
		err = t->ops->copy(c, t);
	if (err) {
		xvt_trace_close(c);
		return err;
	}
	*out = c;
	return 0;
}

static bool has_damage(const struct xvt_trace *t, const struct xvt_damage *d)
{
	for (size_t i = 0; i < t->damage_count && i < XVT_DAMAGE_MAX; i++) {
		const struct xvt_damage *has = &t->damage[i];

		if (has->offset == d->offset && has->why == d->why && !has->file == !d->file &&
		    (!d->file || strcmp(has->file, d->file) == 0))
			return true;
	}
	return false;
}

static void take_damage(struct xvt_trace *t, const struct xvt_damage *d)
{
	struct xvt_damage to = *d;

	if (has_damage(t, d))
		return;
	if (t->ops && d->file)
		to.file = t->ops->name(t, d->file);
	if (t->damage_count < XVT_DAMAGE_MAX)
		t->damage[t->damage_count] = to;
	t->damage_count++;
}

void xvt_trace_join(struct xvt_trace *t, const struct xvt_trace *copy)
{
	if (t->ops)
		t->ops->join(t, copy);
	for (size_t i = 0; i < copy->damage_count && i < XVT_DAMAGE_MAX; i++)
		take_damage(t, &copy->damage[i]);
	if (t->chunk_count != copy->chunk_count || t->walks != copy->walks)
		return;
	for (size_t i = 0; i < t->chunk_count; i++) {
		t->chunks[i].bad |= copy->chunks[i].bad;
		t->chunks[i].checked |= copy->chunks[i].checked;
		t->chunks[i].noted |= copy->chunks[i].noted;
	}
}
