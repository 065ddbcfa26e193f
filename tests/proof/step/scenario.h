/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* scenario.h - which event is interrupted by which, on a ring in which state. */
#ifndef STEP_SCENARIO_H
#define STEP_SCENARIO_H

#include "world.h"

struct scenario {
	const char *name;
	uint32_t mode;		       /* enum xvt_enable */
	void (*prelude)(uint32_t arg); /* events before the first stepped one */
	uint32_t arg;
	struct shape outer, nested, third;
};

extern const struct scenario scenarios[];
extern const uint32_t scenario_count;

/* The ring and its past, up to just before the outer event. */
void scenario_begin(const struct scenario *s, bool real_clock);
/* What comes after the outer event; then everything is checked. */
void scenario_end(const struct scenario *s);

#endif /* STEP_SCENARIO_H */
