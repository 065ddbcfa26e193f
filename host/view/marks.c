// SPDX-License-Identifier: GPL-2.0
/* marks.c - see marks.h. */
#include "view/marks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

#define TAKEN 1u /* a bit of `reserved`, in the copy in memory only */

int xvt_marks_add(struct xvt_marks *m, const uint8_t *payload, uint32_t len)
{
	size_t n = len / sizeof(*m->v), i;

	if (xvt_grow(&m->v, &m->room, m->count + n, sizeof(*m->v)))
		return -ENOMEM;
	if (n)
		memcpy(m->v + m->count, payload, n * sizeof(*m->v));
	for (i = 0; i < n; i++)
		m->v[m->count++].reserved = 0;
	return 0;
}

static int compare(const void *pa, const void *pb)
{
	const struct xvt_mark_seen *a = pa, *b = pb;

	if (a->ring != b->ring)
		return a->ring < b->ring ? -1 : 1;
	return a->number < b->number ? -1 : a->number > b->number;
}

void xvt_marks_sort(struct xvt_marks *m)
{
	if (m->count)
		qsort(m->v, m->count, sizeof(*m->v), compare);
}

const struct xvt_mark_seen *xvt_marks_take(struct xvt_marks *m, uint32_t ring, uint64_t number)
{
	const struct xvt_mark_seen key = { .ring = ring, .number = number };
	struct xvt_mark_seen *found = NULL;

	if (m->count)
		found = bsearch(&key, m->v, m->count, sizeof(*m->v), compare);
	if (!found || found->reserved & TAKEN)
		return NULL;
	found->reserved |= TAKEN;
	return found;
}

void xvt_marks_fini(struct xvt_marks *m)
{
	free(m->v);
	memset(m, 0, sizeof(*m));
}
