/* SPDX-License-Identifier: GPL-2.0 */
/*
 * reference.h - what is known of an event's time: the largest set of times that the statements of
 * the trace allow. Slow and exact; README.md has the rules. A bound that does not hold the whole
 * set claims more than was seen.
 */
#ifndef CLOCKS_REFERENCE_H
#define CLOCKS_REFERENCE_H

#include "facts.h"

enum reference_by {
	REFERENCE_NONE,	   /* the statements say nothing, or several things */
	REFERENCE_SAMPLES, /* the clock moved in one direction between two samples of one epoch */
	REFERENCE_LOOKS,   /* steps anywhere: when the event was written, by the looks */
};

struct reference {
	enum reference_by by;
	int64_t lo;
	int64_t hi;
	/* REFERENCE_SAMPLES: of the samples around it, the nominal rate, and how far they are
	 * apart. */
	double hz;
	int64_t gap_ns;
};

/* Of the event of a ring with that clock value and that time as recorded; guess: the event is
 * flagged as one. */
struct reference reference_of(const struct facts *facts, unsigned int ring, uint64_t guest,
			      uint64_t recorded_ns, bool guess);

#endif /* CLOCKS_REFERENCE_H */
