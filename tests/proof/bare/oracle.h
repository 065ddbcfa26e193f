/* SPDX-License-Identifier: GPL-2.0 */
/*
 * oracle.h - does the ring say what its writers know? Reads the region as the host does, by a
 * checked header, private copies and the ordinary reader, and compares with the guest's log.
 */
#ifndef BARE_ORACLE_H
#define BARE_ORACLE_H

#include <stdbool.h>
#include <stdint.h>

#include "xvt_bare.h"
#include "xvt_check.h"

/* What one look found; meaningful when oracle_check() returned true. */
struct oracle_counts {
	uint64_t records;	 /* delivered events */
	uint64_t exact;		 /* of them, with the very stamp that the log has */
	uint64_t full;		 /* with a full stamp */
	uint64_t discarded_left; /* DISCARDED records that stayed in the ring */
	uint64_t overwritten;
	uint64_t lost[XVT_LOST_CAUSES];
};

/*
 * Check everything. `why` says what is wrong, in one line. `consumed`: the host has taken all
 * records below this position (their events may be missing), 0 = none.
 */
bool oracle_check(const void *region, uint64_t region_size, const struct xvt_bare_page *page,
		  uint64_t consumed, struct oracle_counts *counts, char *why, size_t why_size);

/*
 * What a host sees that looks at any moment, the writer being under way: what is published is
 * whole, known and in order, and `*commit`, where the last look ended, did not go back.
 * Stop mode only.
 */
bool oracle_peek(const void *region, uint64_t region_size, const struct xvt_bare_page *page,
		 uint64_t *commit, char *why, size_t why_size);

/* Where the ring's next record goes; for setting scenes up, not for judging. */
uint64_t oracle_position(const void *region, uint64_t region_size);

/* How often reservations have begun anew. */
uint64_t oracle_retries(const void *region, uint64_t region_size);

#endif /* BARE_ORACLE_H */
