// SPDX-License-Identifier: GPL-2.0
/* event_lines.c - see event_lines.h. */
#include "record/event_lines.h"

#include "base/log.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

bool xvt_is_event_word(const char *word)
{
	const char *colon = strchr(word, ':');

	return *word && colon != word && (!colon || colon[1]) && !strchr(word, '\n');
}

int xvt_event_lines(const struct xvt_opt_list *events, const char *option, char *text, size_t size)
{
	size_t used = 0, i;

	text[0] = 0;
	for (i = 0; i < events->n; i++) {
		int n;

		if (!xvt_is_event_word(events->v[i])) {
			xvt_opt_error_of(&(struct xvt_opt_value){ option, i, events->v[i], NULL },
					 "an event is given as SYSTEM:EVENT, or as SYSTEM "
					 "for all of its events");
			return -EINVAL;
		}
		n = snprintf(text + used, size - used, "+%s%s\n", events->v[i],
			     strchr(events->v[i], ':') ? "" : ":*");
		if (n < 0 || (size_t)n >= size - used) {
			xvt_opt_error(option, "too many events for one request");
			return -EINVAL;
		}
		used += (size_t)n;
	}
	return 0;
}
