// SPDX-License-Identifier: GPL-2.0
/* event_lines.c - see event_lines.h. */
#include "record/event_lines.h"

#include "base/log.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int xvt_event_lines(const struct xvt_opt_list *events, const char *option, char *text, size_t size)
{
	size_t used = 0, i;

	text[0] = 0;
	for (i = 0; i < events->n; i++) {
		const char *colon = strchr(events->v[i], ':');
		int n;

		if (!*events->v[i] || colon == events->v[i] || (colon && !colon[1]) ||
		    strchr(events->v[i], '\n')) {
			xvt_opt_error_of(&(struct xvt_opt_value){ option, i, events->v[i], NULL },
					 "an event is given as SYSTEM:EVENT, or as SYSTEM "
					 "for all of its events");
			return -EINVAL;
		}
		n = snprintf(text + used, size - used, "+%s%s\n", events->v[i], colon ? "" : ":*");
		if (n < 0 || (size_t)n >= size - used) {
			xvt_opt_error(option, "too many events for one request");
			return -EINVAL;
		}
		used += (size_t)n;
	}
	return 0;
}
