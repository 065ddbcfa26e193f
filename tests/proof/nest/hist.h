/* SPDX-License-Identifier: GPL-2.0 */
/*
 * hist.h - ftrace's ring as it was between 2020 and now, as far as time stamps go: pages of
 * slots, an event is one slot, a full or extended time stamp one more before it. Written from
 * Rostedt's text and the descriptions of the later commits; labels [A] to [F] are the text's.
 */
#ifndef NEST_HIST_H
#define NEST_HIST_H

#include "explore.h"
#include "rules.h"

#define HIST_PAGES	8
#define HIST_SLOTS_MAX	48
#define HIST_EVENTS_MAX 16
#define HIST_DEPTH_MAX	4

/* Larger than any page: nothing fits, nothing shrinks. */
#define HIST_CLOSED	1000

struct hist_slot {
	enum { SLOT_FREE, SLOT_EXTEND, SLOT_FULL, SLOT_DATA, SLOT_DISCARDED, SLOT_PADDING } kind;
	int event;
	long time; /* SLOT_FULL: the time itself; else what is added to the time before */
};

struct hist_page {
	long write; /* slots that are reserved; more than the page has: it is full */
	long time;  /* of its first event */
	struct hist_slot slot[HIST_SLOTS_MAX];
};

struct hist_event {
	int number, depth;
	bool discarded, lost;
	long entry, exit; /* clock before reserve and after */
};

/* What one call of reserve knows: ftrace's struct rb_event_info. */
struct hist_info {
	struct hist_event *ev;
	struct hist_page *page;
	long w;		    /* [A] */
	long before, after; /* the stamps */
	long ts, delta;
	long length;
	long tail, end; /* slots that the event got */
	bool full;	/* carries its full time */
	bool has_room;	/* for a stamp, of either kind */
};

struct hist_version {
	const char *name; /* as in the table */
	const char *what;
	/* Path 2: another event reserved between [A] and [C]. Sets delta and ts. */
	void (*interrupted)(struct hist_info *i);
	/* Path 1, after [D]. May be NULL. */
	void (*after_write_stamp)(struct hist_info *i);
	/* The event does not fit: before the next page is taken. May be NULL. */
	void (*crossing)(struct hist_info *i);
	/* NULL: no event is ever discarded. */
	void (*discard)(struct hist_info *i);
	bool closed_pages_stay_closed;
	/* The schedules. */
	int outer, nested, depth, slots;
	bool wrong;    /* a mutant: must be caught */
	bool long_run; /* make proof only */
};

struct hist_ring {
	struct hist_page page[HIST_PAGES];
	int tail_page;
	long before_stamp, write_stamp;
	long clock;
	int depth, nested;
	int event_count;
	struct hist_event event[HIST_EVENTS_MAX];
};

extern struct hist_ring hist;
extern const struct hist_version *hist_version;

/* The hook, and accesses with the hook before them. */
void hist_point(const char *what);
#define HIST_LOAD(x)	 (hist_point("read " #x), (x))
#define HIST_STORE(x, v) (hist_point("write " #x), (void)((x) = (v)))
bool hist_cas(long *word, long old, long new_, const char *what);
#define HIST_CAS(x, old, new_) hist_cas(&(x), old, new_, "cmpxchg " #x)
long hist_clock(void);

/* hist_reserve.c */
void hist_event(void);
/* hist_ring.c: all schedules' body. */
void hist_run(void);

extern const struct hist_version hist_versions[];
extern const int hist_version_count;

#endif /* NEST_HIST_H */
