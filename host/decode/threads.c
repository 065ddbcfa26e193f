// SPDX-License-Identifier: GPL-2.0
/*
 * threads.c - what the threads of the host were, and from when: as the recorder stated it
 * (XVT_META_PROCESS). A thread's number may be that of another thread later.
 */
#include <stdlib.h>

#include "decode/parts.h"

static int compare(const void *pa, const void *pb)
{
	const struct xvt_stated_thread *a = pa, *b = pb;

	if (a->pub.tid != b->pub.tid)
		return a->pub.tid < b->pub.tid ? -1 : 1;
	if (a->pub.since_ns != b->pub.since_ns)
		return a->pub.since_ns < b->pub.since_ns ? -1 : 1;
	return a->number < b->number ? -1 : a->number > b->number;
}

void xvt_decoder_thread_role(struct xvt_decoder *d, const struct xvt_thread_role_at *role)
{
	struct xvt_stated_thread new = { *role, d->thread_count };

	if (d->thread_count == XVT_LIMIT_COMMS ||
	    xvt_decoder_grow(d, &d->threads, d->thread_count, &d->thread_room, sizeof(new)))
		return; /* leave this one out */
	d->threads_unsorted |=
		d->thread_count && compare(&d->threads[d->thread_count - 1], &new) > 0;
	d->threads[d->thread_count++] = new;
}

static void sort(struct xvt_decoder *d)
{
	if (d->threads_unsorted)
		qsort(d->threads, d->thread_count, sizeof(*d->threads), compare);
	d->threads_unsorted = false;
}

bool xvt_thread_role_at(struct xvt_decoder *d, int32_t tid, uint64_t ns,
			struct xvt_thread_role_at *role)
{
	const struct xvt_stated_thread key = { { .tid = tid, .since_ns = ns }, UINT32_MAX };
	size_t at = 0, end = d->thread_count;

	sort(d);
	while (at < end) {
		const size_t mid = at + (end - at) / 2;

		if (compare(&d->threads[mid], &key) <= 0)
			at = mid + 1;
		else
			end = mid;
	}
	if (!at || d->threads[at - 1].pub.tid != tid)
		return false;
	*role = d->threads[at - 1].pub;
	return true;
}

bool xvt_thread_role_next(struct xvt_decoder *d, size_t *at, struct xvt_thread_role_at *role)
{
	sort(d);
	if (*at >= d->thread_count)
		return false;
	*role = d->threads[(*at)++].pub;
	return true;
}
