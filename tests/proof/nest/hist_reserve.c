// SPDX-License-Identifier: GPL-2.0
/*
 * hist_reserve.c - what all versions have in common: path 1, crossing into the next page, and
 * writing the event. What differs is in hist_versions.c.
 */
#include "hist.h"

/* The event did not fit: the rest of its page becomes padding, the next page opens. */
static bool next_page(struct hist_info *i)
{
	int page = (int)(i->page - hist.page);
	long n;

	if (page + 1 == HIST_PAGES)
		return false;
	hist_point("take the next page");
	if (hist.tail_page == page)
		hist.tail_page = page + 1;
	hist_point("reset the tail of the old page");
	for (n = i->tail; n < hist_version->slots; n++)
		i->page->slot[n].kind = SLOT_PADDING;
	if (hist_version->closed_pages_stay_closed)
		i->page->write = HIST_CLOSED;
	else if (i->tail < hist_version->slots)
		i->page->write -= i->end - hist_version->slots;
	else
		i->page->write -= i->length;
	return true;
}

static void path_1(struct hist_info *i)
{
	HIST_STORE(hist.write_stamp, i->ts); /* [D] */
	i->delta = i->ts - i->after;
	if (hist_version->after_write_stamp)
		hist_version->after_write_stamp(i);
}

/* Returns whether the event has a place. */
static bool reserve(struct hist_info *i)
{
again:
	i->length = 1;
	i->delta = 0;
	i->full = i->has_room = false;
	hist_point("read tail_page");
	i->page = &hist.page[hist.tail_page];
	i->w = HIST_LOAD(i->page->write); /* [A] */
	i->before = HIST_LOAD(hist.before_stamp);
	i->after = HIST_LOAD(hist.write_stamp);
	i->ts = hist_clock();
	/* A page's first event needs no stamp: the page has its time. */
	if (i->w && i->before != i->after) {
		i->full = i->has_room = true;
		i->length++;
	}
	HIST_STORE(hist.before_stamp, i->ts); /* [B] */
	hist_point("add to page->write");
	i->page->write += i->length; /* [C] */
	i->end = i->page->write;
	i->tail = i->end - i->length;
	if (i->end > hist_version->slots) {
		if (hist_version->crossing)
			hist_version->crossing(i);
		if (!next_page(i))
			return false;
		goto again;
	}
	if (i->tail == i->w)
		path_1(i);
	else
		hist_version->interrupted(i);
	if (!i->tail && !i->full)
		i->delta = 0;
	return true;
}

static void write_event(const struct hist_info *i)
{
	struct hist_slot *s = &i->page->slot[i->tail];
	long delta = i->delta;

	hist_point("write the event");
	if (i->has_room) {
		s->kind = i->full ? SLOT_FULL : SLOT_EXTEND;
		s->time = i->full ? i->ts : delta;
		delta = 0;
		s++;
	}
	s->kind = SLOT_DATA;
	s->event = i->ev->number;
	s->time = delta;
	if (!i->tail)
		i->page->time = i->ts;
}

void hist_event(void)
{
	struct hist_info i = { .ev = &hist.event[hist.event_count - 1] };

	if (!reserve(&i)) {
		i.ev->lost = true;
		return;
	}
	write_event(&i);
	hist_point("return from reserve");
	i.ev->exit = hist.clock;
	if (!hist_version->discard || !ex_choose(ACT_BIT(ACT_DISCARD)))
		return;
	i.ev->discarded = true;
	i.page->slot[i.end - 1].kind = SLOT_DISCARDED;
	hist_version->discard(&i);
}
