// SPDX-License-Identifier: GPL-2.0
/* timer.c - see timer.h. */
#include "base/timer.h"

#include <stddef.h>

void xvt_timer_add(struct xvt_timers *list, struct xvt_timer *timer,
		   void (*due)(struct xvt_timer *timer, uint64_t now_ns))
{
	struct xvt_timer **at = &list->first;

	while (*at)
		at = &(*at)->next;
	*at = timer;
	*timer = (struct xvt_timer){ .due = due, .list = list };
}

void xvt_timer_remove(struct xvt_timer *timer)
{
	struct xvt_timers *list = timer->list;
	struct xvt_timer **at;

	if (!list)
		return;
	for (at = &list->first; *at != timer; at = &(*at)->next)
		;
	*at = timer->next;
	if (list->following == timer)
		list->following = timer->next;
	*timer = (struct xvt_timer){ .list = NULL };
}

void xvt_timer_arm(struct xvt_timer *timer, uint64_t from_ns, uint64_t by_ns)
{
	timer->armed = true;
	timer->from_ns = from_ns;
	/* A loop that wakes up earlier would find nothing due, and wake up again and again. */
	timer->by_ns = by_ns > from_ns ? by_ns : from_ns;
}

void xvt_timer_disarm(struct xvt_timer *timer)
{
	timer->armed = false;
}

void xvt_timers_run(struct xvt_timers *list, uint64_t now_ns)
{
	struct xvt_timer *t;

	for (t = list->first; t; t = list->following) {
		list->following = t->next;
		if (!t->armed || now_ns < t->from_ns)
			continue;
		t->armed = false;
		t->due(t, now_ns);
	}
}

uint64_t xvt_timers_sleep_ns(const struct xvt_timers *list, uint64_t now_ns, uint64_t ns)
{
	const struct xvt_timer *t;

	for (t = list->first; t; t = t->next) {
		const uint64_t left = t->by_ns > now_ns ? t->by_ns - now_ns : 0;

		if (t->armed && t->by_ns != XVT_TIMER_NEVER && left < ns)
			ns = left;
	}
	return ns;
}
