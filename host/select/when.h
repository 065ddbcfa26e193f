/* SPDX-License-Identifier: GPL-2.0 */
/* when.h - times as users give them. */
#ifndef XVT_WHEN_H
#define XVT_WHEN_H

#include "lib/xvtrace.h"

struct xvt_when {
	enum xvtrace_clock clock;
	uint64_t ns;
};

/* In ns; larger numbers of seconds are taken for times of the wall clock. */
#define XVT_WHEN_WALL_NS 1000000000000000000u

/*
 * Parse a time of a trace. Returns 0, -EINVAL or -ERANGE.
 *   12.5                      seconds of the host's clock; of the wall clock from 10^9 on
 *   +0.5, +500ms              after the trace's first event
 *   -0.5, -500ms              before its last one
 *   17:51:46.25               local time of the day of the trace's begin, or the next day
 *   2026-11-23 17:51:46.25    local time; "T" in place of the blank, "Z" behind it: UTC
 */
int xvt_parse_when(const char *text, struct xvtrace *trace, struct xvt_when *when);

/* The same, with a message. Returns 0 or -EINVAL. */
int xvt_take_when(const char *text, struct xvtrace *trace, struct xvt_when *when);

/* The last two of them, to CLOCK_REALTIME; day_ns: any time of the day of a time without a date.
 * *dated: it has a date. Returns 0 or -EINVAL. */
int xvt_parse_date(const char *text, uint64_t day_ns, uint64_t *wall_ns, bool *dated);

#endif /* XVT_WHEN_H */
