/* SPDX-License-Identifier: GPL-2.0 */
/*
 * clock.h - the clock of a simulated guest: straight pieces, one behind the other, from the host's
 * counter to the guest's. A kind of clock is a list of edits (a rate, a step, a stop), from which
 * the pieces are made.
 */
#ifndef CLOCKS_CLOCK_H
#define CLOCKS_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum edit_kind {
	EDIT_RATE,  /* seconds of the guest in a second of the host, from now on */
	EDIT_STEP,  /* seconds by which the clock moves at once */
	EDIT_STILL, /* +1: the clock stands, -1: it goes on; stops may overlap */
	EDIT_HALT,  /* the same for the machine, which neither writes nor answers */
};

struct edit {
	double at; /* seconds since the simulation began */
	enum edit_kind kind;
	double amount;
	size_t number; /* edits of the same moment stay in their order */
};

struct piece {
	long double at;	   /* ticks of the host's counter since the simulation began */
	long double ticks; /* of the guest's counter then */
	long double rate;  /* ticks of the guest in a tick of the host */
	bool halted;	   /* the machine stands */
};

struct clock {
	double hz;
	uint64_t first;	  /* value when the simulation began */
	uint64_t quantum; /* the value is a multiple of this; 0: of 1 */
	uint64_t mask;	  /* bits that the counter has; 0: all */
	struct edit *edits;
	size_t nr_edits;
	struct piece *pieces;
	size_t nr_pieces;
	size_t now; /* the piece that was asked for last */
};

void clock_rate(struct clock *c, double at, double rate);
void clock_step(struct clock *c, double at, double seconds);
/* The machine stands, and its clock with it. */
void clock_stop(struct clock *c, double at, double seconds);
/* The machine stands, and its clock goes on. */
void clock_halt(struct clock *c, double at, double seconds);
/* The clock stands, and its machine goes on. */
void clock_freeze(struct clock *c, double at, double seconds);

/* Make the pieces; host_hz is the rate of the host's counter. Edits that follow have no effect. */
void clock_build(struct clock *c, double host_hz);
/* The value at `host`, ticks of the host's counter since the simulation began. */
uint64_t clock_value(struct clock *c, uint64_t host);
/* Whether the machine stands at `host`; *end is then when it goes on. */
bool clock_is_halted(struct clock *c, uint64_t host, uint64_t *end);
/* As clock_stop(), from `host` on, after clock_build(). All that was to come comes later. */
void clock_stop_now(struct clock *c, uint64_t host, uint64_t ticks);
void clock_free(struct clock *c);

#endif /* CLOCKS_CLOCK_H */
