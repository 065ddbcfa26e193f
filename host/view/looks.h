/* SPDX-License-Identifier: GPL-2.0 */
/*
 * looks.h - between which host times the events of one ring were written, as LOOKS chunks say; see
 * struct xvt_clock_look. Memory: 48 bytes an entry.
 */
#ifndef XVT_LOOKS_H
#define XVT_LOOKS_H

#include "trace/read.h"

struct xvt_look_list {
	struct xvt_clock_look *of; /* by first_ns, once settled */
	uint64_t *reach;	   /* the latest last_ns up to each entry */
	size_t count;
	size_t room;
	/* No entry holds a time from here to there: the result of the last search that found none.
	 */
	uint64_t none_from_ns, none_until_ns;
};

struct xvt_look_span {
	uint64_t lo_ns;
	uint64_t hi_ns;
	uint32_t flags; /* those of all entries */
};

/* Entries may be added in any order. Returns 0 or -ENOMEM. */
int xvt_look_list_add(struct xvt_look_list *l, const struct xvt_clock_look *look);
/* To be called after the last one was added, and before the first search. Returns 0 or -ENOMEM. */
int xvt_look_list_settle(struct xvt_look_list *l);
void xvt_look_list_fini(struct xvt_look_list *l);

/* Returns whether entries hold the recorded time ns. *span: all of them together; a list in which
 * too many entries overlap there gives a span without limits. */
bool xvt_look_list_find(struct xvt_look_list *l, uint64_t ns, struct xvt_look_span *span);

/* Returns whether no entry holds the recorded time ns, and then the span of such times around it,
 * both ends included. */
bool xvt_look_list_none(struct xvt_look_list *l, uint64_t ns, uint64_t *from_ns, uint64_t *last_ns);

/*
 * The looks that bound events of one ring. A guess and an event that is none may have one time, and
 * the looks of one say nothing of the other.
 */
struct xvt_bounding_looks {
	struct xvt_look_list beside; /* of events beside all segments */
	struct xvt_look_list guess;  /* of unconfirmed events */
};

/* The list that a look of a file belongs to; NULL: it bounds nothing, and only checks the map. */
static inline struct xvt_look_list *xvt_bounding_looks_to(struct xvt_bounding_looks *l,
							  uint32_t look_flags)
{
	if (look_flags & XVT_LOOK_F_GUESS)
		return &l->guess;
	return look_flags & XVT_LOOK_F_BESIDE ? &l->beside : NULL;
}

/* The looks that can bound an event with these flags. */
static inline struct xvt_look_list *xvt_bounding_looks_of(struct xvt_bounding_looks *l,
							  uint32_t ring_flags)
{
	return ring_flags & XVT_EVENT_F_UNCONFIRMED ? &l->guess : &l->beside;
}

/* Returns 0 or -ENOMEM. */
int xvt_bounding_looks_settle(struct xvt_bounding_looks *l);
void xvt_bounding_looks_fini(struct xvt_bounding_looks *l);

/* How far a time may be from one within the span; XVT_NO_BOUND: a side of it is not known. */
static inline uint64_t xvt_look_span_bound_ns(const struct xvt_look_span *s, uint64_t ns)
{
	if (!s->lo_ns || s->hi_ns == UINT64_MAX)
		return XVT_NO_BOUND;
	const uint64_t below = ns > s->lo_ns ? ns - s->lo_ns : 0,
		       above = s->hi_ns > ns ? s->hi_ns - ns : 0;

	return below > above ? below : above;
}

#endif /* XVT_LOOKS_H */
