// SPDX-License-Identifier: GPL-2.0
/* looks.c - see looks.h. The file is untrusted: entries may be any numbers. */
#include "view/looks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/u64.h"
#include "base/vec.h"

/* Entries of an honest file overlap in single times only, where several looks gave one time. */
#define OVERLAPS_MAX 64

int xvt_look_list_add(struct xvt_look_list *l, const struct xvt_clock_look *look)
{
	if (look->last_ns < look->first_ns || look->hi_ns < look->lo_ns)
		return 0;
	if (xvt_grow(&l->of, &l->room, l->count + 1, sizeof(*l->of)))
		return -ENOMEM;
	l->of[l->count++] = *look;
	return 0;
}

static int by_first(const void *pa, const void *pb)
{
	const struct xvt_clock_look *a = pa, *b = pb;

	return a->first_ns < b->first_ns ? -1 : a->first_ns > b->first_ns;
}

int xvt_look_list_settle(struct xvt_look_list *l)
{
	uint64_t reach = 0;

	l->none_from_ns = 1; /* nothing was searched */
	l->none_until_ns = 0;
	if (!l->count)
		return 0;
	qsort(l->of, l->count, sizeof(*l->of), by_first);
	free(l->reach);
	l->reach = malloc(l->count * sizeof(*l->reach));
	if (!l->reach)
		return -ENOMEM;
	for (size_t i = 0; i < l->count; i++) {
		reach = xvt_u64_larger(reach, l->of[i].last_ns);
		l->reach[i] = reach;
	}
	return 0;
}

void xvt_look_list_fini(struct xvt_look_list *l)
{
	free(l->of);
	free(l->reach);
	memset(l, 0, sizeof(*l));
}

static void extend(struct xvt_look_span *s, const struct xvt_clock_look *k)
{
	s->lo_ns = k->lo_ns < s->lo_ns ? k->lo_ns : s->lo_ns;
	s->hi_ns = xvt_u64_larger(s->hi_ns, k->hi_ns);
	s->flags |= k->flags;
}

bool xvt_look_list_find(struct xvt_look_list *l, uint64_t ns, struct xvt_look_span *span)
{
	size_t n, i, tried = 0;
	bool found = false;

	if (!l->count || (ns >= l->none_from_ns && ns <= l->none_until_ns))
		return false;
	n = XVT_COUNT_TO(l->of, l->count, first_ns, ns);
	*span = (struct xvt_look_span){ UINT64_MAX, 0, 0 };
	for (i = n; i && l->reach[i - 1] >= ns; i--) {
		if (tried++ == OVERLAPS_MAX) {
			*span = (struct xvt_look_span){ 0, UINT64_MAX,
							XVT_LOOK_F_BESIDE | XVT_LOOK_F_GUESS };
			return true;
		}
		if (l->of[i - 1].last_ns < ns)
			continue;
		extend(span, &l->of[i - 1]);
		found = true;
	}
	if (found)
		return true;
	l->none_from_ns = n ? l->reach[n - 1] + 1 : 0;
	l->none_until_ns = n < l->count ? l->of[n].first_ns - 1 : UINT64_MAX;
	return false;
}

bool xvt_look_list_none(struct xvt_look_list *l, uint64_t ns, uint64_t *from_ns, uint64_t *last_ns)
{
	struct xvt_look_span span;

	if (xvt_look_list_find(l, ns, &span))
		return false;
	*from_ns = l->count ? l->none_from_ns : 0;
	*last_ns = l->count ? l->none_until_ns : UINT64_MAX;
	return true;
}

int xvt_bounding_looks_settle(struct xvt_bounding_looks *l)
{
	int err = xvt_look_list_settle(&l->beside);

	return err ? err : xvt_look_list_settle(&l->guess);
}

void xvt_bounding_looks_fini(struct xvt_bounding_looks *l)
{
	xvt_look_list_fini(&l->beside);
	xvt_look_list_fini(&l->guess);
}
