/* SPDX-License-Identifier: GPL-2.0 */
/*
 * clock_kinds.h - the kinds of clocks, and of machines that have them. Each is of one class: for a
 * promised one docs/clock.md promises that the time of an event without a flag is right within its
 * bound; an excluded one does what no memory shows, so it is counted and decides nothing.
 */
#ifndef CLOCKS_CLOCK_KINDS_H
#define CLOCKS_CLOCK_KINDS_H

#include "clock.h"
#include "random.h"

enum answer_kind {
	ANSWER_NORMAL,
	ANSWER_STALE,	    /* the clock was read before the request */
	ANSWER_LATE,	    /* the answer comes a while after the clock was read */
	ANSWER_STOP_BEFORE, /* the machine stops with a request open, before it reads its clock */
	ANSWER_STOP_AFTER,  /* the same, behind its reading */
};

/* A machine; times are seconds since the simulation began. */
struct plan {
	struct clock clock[2]; /* the second one is for rings of odd numbers, if there is one */
	bool two;
	double host_hz;
	double seconds; /* of the simulation */
	int clock_id[2];
	double claim;	/* the rate in the header over that of the first clock; 0: none */
	int rings;	/* 0: as others */
	double rate;	/* events a second of a ring; 0: as others */
	double burst_s; /* events come in bursts of this length; 0: evenly */
	double silence_s;
	double answer_s; /* how often the mailbox is looked into */
	bool in_step;	 /* at multiples of that */
	double stay_s;	 /* how long for the next request of a burst */
	enum answer_kind answer;
	double answer_delay_s; /* STALE, LATE */
	double stop_s[3];      /* STOP_BEFORE, STOP_AFTER: when the machine is ready to stop */
	double stop_for_s;
	double quiet_from, quiet_to;   /* no events */
	double deaf_from, deaf_to;     /* no look into the mailbox */
	double online, offline, again; /* of the ring; again: online once more */
	char note[400];
};

struct kind {
	const char *name;
	bool promised;
	void (*make)(struct plan *p, struct random *r);
	const char *what;
};

extern const struct kind clock_kinds[];
extern const int clock_kinds_count;

/* NULL: there is none of that name. */
const struct kind *clock_kind_named(const char *name);
/* A machine of that kind; plan_free() ends it. */
void plan_make(struct plan *p, const struct kind *kind, struct random *r, double host_hz,
	       double seconds);
void plan_free(struct plan *p);

#endif /* CLOCKS_CLOCK_KINDS_H */
