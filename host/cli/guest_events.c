// SPDX-License-Identifier: GPL-2.0
/* guest_events.c - see guest_events.h. The guest writes while this reads: each entry is copied,
 * checked, and only the copy is used. */
#include "cli/guest_events.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/region.h"
#include "base/vec.h"
#include "xvt_check.h"

#define EVENTS_MAX 65536u /* ftrace has 16 bits for them */

/* Take a name and its final zero from the begin of *text. Returns false if it has no zero in time,
 * or is empty. */
static bool take_name(const char **text, size_t *left, char name[XVT_EVENT_NAME_LEN])
{
	const char *end = memchr(*text, 0, *left);
	size_t len = end ? (size_t)(end - *text) + 1 : 0;

	if (len < 2 || len > XVT_EVENT_NAME_LEN)
		return false;
	memcpy(name, *text, len);
	*text += len;
	*left -= len;
	return true;
}

/* text: the begin of a FORMAT. Returns 0 or -ENOMEM. */
static int add_event(struct xvt_guest_events *to, const char *text, size_t left)
{
	struct xvt_guest_event e = { .system = "" };
	int err;

	if (to->n == EVENTS_MAX || !take_name(&text, &left, e.system) ||
	    !take_name(&text, &left, e.event)) {
		to->left_out++;
		return 0;
	}
	err = xvt_grow(&to->v, &to->room, to->n + 1, sizeof(*to->v));
	if (!err)
		to->v[to->n++] = e;
	return err;
}

static int take(struct xvt_guest_events *to, const struct xvt_meta_tlv *tlv, const uint8_t *payload)
{
	char copy[2 * XVT_EVENT_NAME_LEN];
	const size_t len = tlv->len < sizeof(copy) ? tlv->len : sizeof(copy);

	memcpy(copy, payload, len);
	xvt_barrier();
	if (tlv->type == XVT_META_FORMAT)
		return add_event(to, copy, len);
	if (tlv->type == XVT_META_TEXT && len < sizeof(to->kernel)) {
		memcpy(to->kernel, copy, len);
		to->kernel[len] = 0;
	}
	return 0;
}

static int read_area(const struct xvt_host_region *r, struct xvt_guest_events *to)
{
	const struct xvt_meta_hdr *h = (const struct xvt_meta_hdr *)(r->map + r->g.meta_off);
	const uint64_t committed =
		xvt_load_acquire(&h->committed); /* pairs with xvt_meta_append() */
	const uint8_t *area = (const uint8_t *)(h + 1);
	struct xvt_meta_tlv tlv;
	struct xvt_fault fault;
	uint64_t at = 0;
	int64_t whole;
	int err = 0;

	if (committed > r->g.meta_size - sizeof(*h))
		return -EBADMSG;
	while (!err && committed - at >= sizeof(tlv)) {
		memcpy(&tlv, area + at, sizeof(tlv));
		xvt_barrier();
		whole = xvt_check_tlv(&tlv, committed - at, &fault);
		if (whole < 0)
			return -EBADMSG;
		if (tlv.generation == r->hdr.generation)
			err = take(to, &tlv, area + at + sizeof(tlv));
		at += (uint64_t)whole;
	}
	return err ? err : xvt_host_region_gone(r) ? -ENODATA : 0;
}

static int by_name(const void *a, const void *b)
{
	const struct xvt_guest_event *x = a, *y = b;
	const int order = strcmp(x->system, y->system);

	return order ? order : strcmp(x->event, y->event);
}

/* A format that has changed was sent again. */
static void drop_doubles(struct xvt_guest_events *to)
{
	size_t i, kept = 0;

	if (to->n)
		qsort(to->v, to->n, sizeof(*to->v), by_name);
	for (i = 0; i < to->n; i++) {
		if (!kept || by_name(&to->v[kept - 1], &to->v[i]))
			to->v[kept++] = to->v[i];
	}
	to->n = kept;
}

int xvt_guest_events_read(const char *region, struct xvt_guest_events *to)
{
	struct xvt_host_region r;
	int err = xvt_host_region_open(&r, region, false);

	if (err)
		return err;
	err = xvt_host_region_check(&r);
	if (!err)
		err = read_area(&r, to);
	xvt_host_region_close(&r);
	drop_doubles(to);
	return err;
}
