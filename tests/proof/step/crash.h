/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * crash.h - the writer stopped for ever at an instruction: what salvage must find, and what it
 * must not. `dead` is the world as it was then; `later` is the same one gone on to the end of
 * all events, which tells where those lie that were under way: what had its place keeps it.
 */
#ifndef STEP_CRASH_H
#define STEP_CRASH_H

#include <stdio.h>

#include "world.h"

struct crash_counts {
	uint64_t images;
	uint64_t records;      /* salvaged past commit */
	uint64_t inflight;     /* seen unfinished, and left out */
	uint64_t holes;	       /* images with finished records behind bytes without a header */
	uint64_t behind_holes; /* these records */
	uint64_t stale;	       /* overwrite mode: records of no event (best effort) */
};

/*
 * Read the remains as the host does, from private copies; world_fail() if they are wrong.
 * `found` (may be NULL) is told where each event was found, 0 if it was not.
 */
void crash_check(const struct world *dead, const struct world *later, struct crash_counts *n,
		 uint64_t found[WORLD_EVENTS]);

/*
 * Many dead rings side by side in one region file, for `xvtrace salvage`, and beside it a text
 * file (PATH.expect) with every finished record: "RING NUMBER TS_MIN TS_MAX below|past must|may".
 * "past" commit; "may" lies behind bytes without a header.
 */
struct crash_file {
	char path[512];
	FILE *expect;
	uint8_t *images;
	uint32_t rings;
	uint32_t room;
};

/* Return 0 or -errno. */
int crash_file_new(struct crash_file *f, const char *path);
int crash_file_close(struct crash_file *f);
void crash_file_add(struct crash_file *f, const struct world *dead, const struct world *later,
		    const uint64_t found[WORLD_EVENTS]);

#endif /* STEP_CRASH_H */
