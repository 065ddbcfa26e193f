/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* tally.h - the reading side's account: every record is the next one of its stream. */
#ifndef STRESS_TALLY_H
#define STRESS_TALLY_H

#include "stress.h"
#include "xvt_reader.h"

struct tally {
	uint64_t last[STRESS_STREAMS]; /* number seen last */
	uint64_t seen[STRESS_STREAMS];
	uint64_t last_ts;
	uint64_t recovered;
	uint64_t stale; /* recovered in overwrite mode and not to be believed: best effort */
};

/*
 * Take one record. `doubtful`: it was salvaged in overwrite mode, so nonsense is counted
 * instead of refused. Returns NULL, or what is wrong with it.
 */
const char *tally_take(struct tally *t, const struct xvt_record *rec, bool doubtful);

/* Events that were begun, were not to be discarded, and never came. */
uint64_t tally_missing(const struct tally *t, const struct stress_truth *truth);
uint64_t tally_seen(const struct tally *t);
/* Of the missing ones the writer knows that they were refused. */
uint64_t tally_refused(const struct stress_truth *truth);

#endif /* STRESS_TALLY_H */
