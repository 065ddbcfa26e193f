/* SPDX-License-Identifier: GPL-2.0 */
/*
 * timer.h - work that a loop does at its time. The owner of a timer puts it on a list and arms it
 * for a span of time: the loop calls it in its first run of the list within that span, and wakes up
 * at the end of the span at the latest. A list is short, and runs in the order in which its timers
 * were put on it. Times are in ns, of the clock whose time the loop hands in.
 */
#ifndef XVT_TIMER_H
#define XVT_TIMER_H

#include <stdbool.h>
#include <stdint.h>

#define XVT_TIMER_NEVER UINT64_MAX

struct xvt_timers;

/* Zeros: on no list. Its owner keeps the memory until xvt_timer_remove(). */
struct xvt_timer {
	/* private to timer.c */
	void (*due)(struct xvt_timer *timer, uint64_t now_ns);
	struct xvt_timers *list;
	struct xvt_timer *next;
	bool armed;
	uint64_t from_ns;
	uint64_t by_ns;
};

/* Zeros: an empty list. */
struct xvt_timers {
	/* private to timer.c */
	struct xvt_timer *first;
	struct xvt_timer *following; /* while the list runs: the timer after the present one */
};

/* Put a timer at the end of the list; it is not armed. due: called once for each time that the
 * timer is armed; the call may arm, add and remove any timer of the list. */
void xvt_timer_add(struct xvt_timers *list, struct xvt_timer *timer,
		   void (*due)(struct xvt_timer *timer, uint64_t now_ns));
/* Take a timer off its list. On no list: no effect. */
void xvt_timer_remove(struct xvt_timer *timer);

/*
 * Call the timer in the first run at from_ns or later, and have the loop wake up for that at by_ns;
 * XVT_TIMER_NEVER: the loop does not wake up for it. Replaces what it was armed for. from_ns 0:
 * each run is late enough. A timer that is armed in a call of its own waits for the next run; one
 * that another timer's call arms may be called in the same run.
 */
void xvt_timer_arm(struct xvt_timer *timer, uint64_t from_ns, uint64_t by_ns);
/* On no list: no effect. */
void xvt_timer_disarm(struct xvt_timer *timer);

/* Call all timers that are due. */
void xvt_timers_run(struct xvt_timers *list, uint64_t now_ns);

/* Returns how long a loop may sleep, at most `ns`. */
uint64_t xvt_timers_sleep_ns(const struct xvt_timers *list, uint64_t now_ns, uint64_t ns);

#endif /* XVT_TIMER_H */
