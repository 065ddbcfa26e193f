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
};

/* Entries may be added in any order. Returns 0 or -ENOMEM. */
int xvt_look_list_add(struct xvt_look_list *l, const struct xvt_clock_look *look);
/* To be called after the last one was added, and before the first search. Returns 0 or -ENOMEM. */
int xvt_look_list_settle(struct xvt_look_list *l);
void xvt_look_list_fini(struct xvt_look_list *l);

/* Returns whether entries hold the recorded time ns. *span: all of them together; a list in which
 * too many entries overlap there gives a span without limits. */
bool xvt_look_list_find(struct xvt_look_list *l, uint64_t ns, struct xvt_look_span *span);

/* How far a time may be from one within the span. */
static inline uint64_t xvt_look_span_bound_ns(const struct xvt_look_span *s, uint64_t ns)
{
	const uint64_t below = ns > s->lo_ns ? ns - s->lo_ns : 0,
		       above = s->hi_ns > ns ? s->hi_ns - ns : 0;

	return below > above ? below : above;
}

#endif /* XVT_LOOKS_H */
