// SPDX-License-Identifier: GPL-2.0
/*
 * hist_ring.c - the historic ring's hook, its reader, and its oracle: each decoded time lies
 * between entry and exit of its event's reserve, and times never decrease. That catches
 * every one of these bugs, and does not ask which path was taken.
 */
#include <string.h>

#include "hist.h"

struct hist_ring hist;
const struct hist_version *hist_version;

static struct hist_event *running[HIST_DEPTH_MAX + 1];

static const char *context(int depth)
{
	static const char *const names[] = { "task", "softirq", "hardirq", "NMI" };

	return names[depth];
}

static void run_event(void)
{
	struct hist_event *ev = &hist.event[hist.event_count];

	ev->number = hist.event_count++;
	ev->depth = hist.depth;
	ev->discarded = ev->lost = false;
	ev->entry = hist.clock;
	running[hist.depth++] = ev;
	hist_event();
	hist.depth--;
	ex_tell("%*s%s event %d is %s; before_stamp %ld, write_stamp %ld\n", ev->depth * 4, "",
		context(ev->depth), ev->number,
		ev->lost	? "lost"
		: ev->discarded ? "discarded"
				: "done",
		hist.before_stamp, hist.write_stamp);
}

void hist_point(const char *what)
{
	while (hist.nested && hist.depth <= hist_version->depth && ex_choose(ACT_BIT(ACT_NEST))) {
		const struct hist_event *ev = running[hist.depth - 1];

		ex_tell("%*s%s event %d is interrupted at time %ld, just before: %s\n",
			ev->depth * 4, "", context(ev->depth), ev->number, hist.clock, what);
		hist.nested--;
		run_event();
	}
}

bool hist_cas(long *word, long old, long new_, const char *what)
{
	hist_point(what);
	if (*word != old)
		return false;
	*word = new_;
	return true;
}

long hist_clock(void)
{
	hist_point("read the clock");
	return ++hist.clock;
}

static void check_event(const struct hist_event *ev, long time, long last)
{
	ex_tell("  event %d decoded as %ld, ran from %ld to %ld\n", ev->number, time, ev->entry,
		ev->exit);
	if (time < last)
		ex_fail(RULE_ORDER, "event %d decoded as time %ld, after one of %ld", ev->number,
			time, last);
	if (time < ev->entry || time > ev->exit)
		ex_fail(RULE_INTERVAL,
			"event %d decoded as time %ld, but it was in reserve from %ld to %ld",
			ev->number, time, ev->entry, ev->exit);
}

static void check_page(const struct hist_page *page, long *last)
{
	long time = page->time, n;

	for (n = 0; n < page->write && n < hist_version->slots; n++) {
		const struct hist_slot *s = &page->slot[n];

		switch (s->kind) {
		case SLOT_FULL:
			time = s->time;
			break;
		case SLOT_EXTEND:
		case SLOT_DISCARDED:
			time += s->time;
			break;
		case SLOT_DATA:
			time += s->time;
			check_event(&hist.event[s->event], time, *last);
			*last = time;
			break;
		default:
			return;
		}
	}
}

void hist_run(void)
{
	long last = 0;
	int i;

	for (i = 0; i <= hist.tail_page; i++)
		memset(&hist.page[i], 0, sizeof(hist.page[i]));
	hist.tail_page = 0;
	hist.before_stamp = hist.write_stamp = 0;
	hist.clock = 100;
	hist.depth = hist.event_count = 0;
	hist.nested = hist_version->nested;
	for (i = 0; i < hist_version->outer; i++) {
		hist.clock++;
		run_event();
	}
	ex_tell("what a reader makes of it:\n");
	for (i = 0; i <= hist.tail_page; i++)
		check_page(&hist.page[i], &last);
}
