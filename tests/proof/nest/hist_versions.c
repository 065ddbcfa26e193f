// SPDX-License-Identifier: GPL-2.0
/*
 * hist_versions.c - what each version did differently. The commit ids are Linux's.
 */
#include <stddef.h>

#include "hist.h"

/* ---- path 2: interrupted between [A] and [C] ---- */

static bool is_last(const struct hist_info *i)
{
	return i->end == HIST_LOAD(i->page->write); /* [F] */
}

/* The literal text of June 2020: takes the new time, and tells the stamps nothing of it. */
static void interrupted_text(struct hist_info *i)
{
	long temp_ts;

	i->after = HIST_LOAD(hist.write_stamp);
	temp_ts = hist_clock();
	if (is_last(i) && i->after < temp_ts) {
		i->delta = temp_ts - i->after;
		i->ts = temp_ts;
	} else {
		i->delta = 0;
	}
	i->full = false;
}

/* a389d86f7fd0, June 2020: stores the stamp, but the one that was read first. */
static void interrupted_2020_06(struct hist_info *i)
{
	long ts;

	i->after = HIST_LOAD(hist.write_stamp);
	ts = hist_clock();
	if (is_last(i) && i->after < ts) {
		i->delta = ts - i->after;
		HIST_CAS(hist.write_stamp, i->after, i->ts);
		i->ts = ts;
	} else {
		i->delta = 0;
	}
	i->full = false;
}

/* 55ea4cf40380, November 2020: the right one; whether that succeeded is not asked. */
static void interrupted_2020_11(struct hist_info *i)
{
	long ts;

	i->after = HIST_LOAD(hist.write_stamp);
	ts = hist_clock();
	if (is_last(i) && i->after < ts) {
		i->delta = ts - i->after;
		HIST_CAS(hist.write_stamp, i->after, ts);
		i->ts = ts;
	} else {
		i->delta = 0;
	}
	i->full = false;
}

/* 8785f51a1708, November 2020: the delta counts only if storing the stamp succeeded. */
static void interrupted_2020_11b(struct hist_info *i)
{
	long ts;

	i->after = HIST_LOAD(hist.write_stamp);
	ts = hist_clock();
	if (is_last(i) && i->after < ts && HIST_CAS(hist.write_stamp, i->after, ts)) {
		i->delta = ts - i->after;
		i->ts = ts;
	} else {
		i->delta = 0;
	}
	i->full = false;
}

/*
 * b803d7c664d5, December 2023: before_stamp is set first, so that the next event distrusts the
 * stamps; the delta counts only if they were equal, and write_stamp is left alone.
 */
static void interrupted_2023(struct hist_info *i)
{
	i->before = HIST_LOAD(hist.before_stamp);
	i->ts = hist_clock();
	HIST_STORE(hist.before_stamp, i->ts);
	i->after = HIST_LOAD(hist.write_stamp); /* [E] */
	if (is_last(i) && i->after == i->before && i->after < i->ts)
		i->delta = i->ts - i->after;
	else
		i->delta = 0;
	i->full = false;
}

/* ---- path 1, after [D] ---- */

/* Interrupted since [C]: make the stamps equal again. Gone with dd9394257078, December 2023. */
static void put_back(struct hist_info *i)
{
	long save_before = HIST_LOAD(hist.before_stamp), after; /* [E] */

	if (save_before == i->ts)
		return;
	after = HIST_LOAD(hist.write_stamp);
	if (save_before > after)
		HIST_CAS(hist.write_stamp, after, save_before);
}

/* ---- crossing into the next page ---- */

/* Make the stamps equal, so that the next page's second event needs no full stamp. */
static void repair(void)
{
	long before = HIST_LOAD(hist.before_stamp), after = HIST_LOAD(hist.write_stamp);

	if (before != after)
		HIST_CAS(hist.before_stamp, before, after);
}

/* 2020: when interrupted. */
static void crossing_2020(struct hist_info *i)
{
	if (i->tail != i->w)
		repair();
}

/* 68e10d5ff512, November 2020: always. Gone with 9e45e39dc249, December 2023. */
static void crossing_always(struct hist_info *i)
{
	(void)i;
	repair();
}

/* ---- discard ---- */

static bool may_give_back(const struct hist_info *i)
{
	hist_point("is the event's page the tail page?");
	return &hist.page[hist.tail_page] == i->page && HIST_LOAD(i->page->write) == i->end;
}

/* 2020: write_stamp goes back by the event's delta; of a full stamp that is 0. */
static void discard_2020(struct hist_info *i)
{
	long delta = i->full ? 0 : i->delta, after = HIST_LOAD(hist.write_stamp);

	if (may_give_back(i) && HIST_CAS(hist.write_stamp, after, after - delta))
		HIST_CAS(i->page->write, i->end, i->tail);
}

/* 6f6be606e763, 2021: after a full stamp the next event distrusts the stamps. */
static void discard_2021(struct hist_info *i)
{
	long delta = i->full ? 0 : i->delta, after = HIST_LOAD(hist.write_stamp);

	if (!may_give_back(i) || !HIST_CAS(hist.write_stamp, after, after - delta))
		return;
	if (!delta)
		HIST_STORE(hist.before_stamp, 0);
	HIST_CAS(i->page->write, i->end, i->tail);
}

/* b2dd797543cf and 083e9f65bd21, December 2023: it always does, and first. */
static void discard_2023(struct hist_info *i)
{
	if (!may_give_back(i))
		return;
	HIST_STORE(hist.before_stamp, 0);
	HIST_CAS(i->page->write, i->end, i->tail);
}

#define FLAT  .slots = 40
#define PAGES .slots = 3

/* clang-format off */
const struct hist_version hist_versions[] = {
	{ .name = "2020-06-text", .what = "the literal text of June 2020", .wrong = true,
	  .interrupted = interrupted_text, .after_write_stamp = put_back,
	  .outer = 3, .nested = 3, .depth = 2, FLAT },
	{ .name = "2020-06", .what = "a389d86f7fd0, as it went in", .wrong = true,
	  .interrupted = interrupted_2020_06, .after_write_stamp = put_back,
	  .outer = 3, .nested = 3, .depth = 2, FLAT },
	{ .name = "2020-11", .what = "55ea4cf40380 \"Update write stamp with the correct ts\"",
	  .wrong = true,
	  .interrupted = interrupted_2020_11, .after_write_stamp = put_back,
	  .outer = 3, .nested = 3, .depth = 2, FLAT },
	{ .name = "2020-11b", .what = "8785f51a1708 \"Set the right timestamp in the slow path\"",
	  .wrong = true,
	  .interrupted = interrupted_2020_11b, .after_write_stamp = put_back,
	  .outer = 3, .nested = 3, .depth = 2, FLAT },
	{ .name = "2023-12", .what = "before b803d7c664d5, without the put-back", .wrong = true,
	  .interrupted = interrupted_2020_11b,
	  .outer = 3, .nested = 3, .depth = 2, FLAT },
	{ .name = "put-back", .what = "newest, with the put-back kept", .wrong = true,
	  .interrupted = interrupted_2023, .after_write_stamp = put_back,
	  .outer = 3, .nested = 3, .depth = 3, FLAT },
	{ .name = "page-2020", .what = "newest, with the repair at a page's end of 2020",
	  .wrong = true,
	  .interrupted = interrupted_2023, .crossing = crossing_2020,
	  .outer = 4, .nested = 2, .depth = 2, PAGES },
	{ .name = "page-always", .what = "68e10d5ff512 \"Always check to put back before stamp\"",
	  .wrong = true,
	  .interrupted = interrupted_2023, .crossing = crossing_always,
	  .outer = 4, .nested = 2, .depth = 2, PAGES },
	{ .name = "discard-2020", .what = "newest, with the discard of 2020", .wrong = true,
	  .interrupted = interrupted_2023, .discard = discard_2020,
	  .outer = 3, .nested = 1, .depth = 1, FLAT },
	{ .name = "discard-2021",
	  .what = "newest, with the discard of 2021 (6f6be606e763): sound here",
	  .interrupted = interrupted_2023, .discard = discard_2021,
	  .outer = 3, .nested = 2, .depth = 2, FLAT },
	{ .name = "newest", .what = "newest upstream: a full page can shrink behind an NMI",
	  .wrong = true,
	  .interrupted = interrupted_2023, .discard = discard_2023,
	  .outer = 3, .nested = 2, .depth = 2, PAGES },
	{ .name = "newest-flat", .what = "newest upstream, where no page ends",
	  .interrupted = interrupted_2023,
	  .outer = 3, .nested = 3, .depth = 3, FLAT },
	{ .name = "newest-discard", .what = "newest upstream, discards, where no page ends",
	  .interrupted = interrupted_2023, .discard = discard_2023,
	  .outer = 3, .nested = 2, .depth = 2, FLAT },
	{ .name = "newest-pages", .what = "newest upstream, pages, no discards",
	  .interrupted = interrupted_2023,
	  .outer = 4, .nested = 2, .depth = 2, PAGES },
	{ .name = "corrected", .what = "the control: a closed page never shrinks",
	  .interrupted = interrupted_2023, .discard = discard_2023,
	  .closed_pages_stay_closed = true,
	  .outer = 3, .nested = 2, .depth = 2, PAGES },
	{ .name = "newest-deep", .what = "newest upstream, three deep", .wrong = true,
	  .long_run = true,
	  .interrupted = interrupted_2023, .discard = discard_2023,
	  .outer = 3, .nested = 3, .depth = 3, PAGES },
	{ .name = "corrected-deep", .what = "the control, three deep", .long_run = true,
	  .interrupted = interrupted_2023, .discard = discard_2023,
	  .closed_pages_stay_closed = true,
	  .outer = 3, .nested = 3, .depth = 3, PAGES },
};
/* clang-format on */

const int hist_version_count = sizeof(hist_versions) / sizeof(hist_versions[0]);
