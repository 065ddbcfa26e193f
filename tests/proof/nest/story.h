/* SPDX-License-Identifier: GPL-2.0 */
/*
 * story.h - a schedule in words: what each event did, where in the source, and what came of it.
 */
#ifndef NEST_STORY_H
#define NEST_STORY_H

#include "world.h"

/* Print every access, not only the turning points. */
extern bool story_every_access;

void story_tell_begin(const struct event *ev);
void story_tell_clock(const struct event *ev);
void story_tell_end(const struct event *ev);
void story_tell_action(const struct nest_site *site, enum action action);
void story_tell_point(const struct nest_site *site);

/* After the run: the ring's words and its records. */
void story_tell_ring(void);

/* The story costs nothing while it is not printed. */
#define STORY(call)                                  \
	do {                                         \
		if (__builtin_expect(ex.telling, 0)) \
			call;                        \
	} while (0)
#define story_begin(ev)		   STORY(story_tell_begin(ev))
#define story_clock(ev)		   STORY(story_tell_clock(ev))
#define story_end(ev)		   STORY(story_tell_end(ev))
#define story_action(site, action) STORY(story_tell_action(site, action))
#define story_point(site)	   STORY(story_tell_point(site))

#endif /* NEST_STORY_H */
