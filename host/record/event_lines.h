/* SPDX-License-Identifier: GPL-2.0 */
/* event_lines.h - events of guests on a command line, as the request that guests read. */
#ifndef XVT_EVENT_LINES_H
#define XVT_EVENT_LINES_H

#include <stdbool.h>

#include "options/opt.h"

/* Returns whether a word is SYSTEM:EVENT, or SYSTEM for all of its events, and can be a line. */
bool xvt_is_event_word(const char *word);

/*
 * Make the request that guests read: a line "+SYS:EVENT" for each word of the list; SYS alone is
 * "+SYS:*". option: the name of the list. Returns 0, or -EINVAL after an error message.
 */
int xvt_event_lines(const struct xvt_opt_list *events, const char *option, char *text, size_t size);

#endif /* XVT_EVENT_LINES_H */
