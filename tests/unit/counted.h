/* SPDX-License-Identifier: GPL-2.0 */
/* counted.h - all that the statistics of a trace say, and the damage that was found, as text. */
#ifndef COUNTED_H
#define COUNTED_H

#include "lib/xvtrace.h"

struct counted {
	char *text;	    /* for free() */
	unsigned int calls; /* parts that were begun */
	bool alone;	    /* the events were read by one reader, too */
};

/* Count the trace, which was just opened, in up to `parts` parts of `part_events` events at least:
 * each in a thread. Aborts if there is no memory. */
struct counted counted_by(struct xvtrace *trace, unsigned int flags, unsigned int parts,
			  uint64_t part_events);

#endif /* COUNTED_H */
