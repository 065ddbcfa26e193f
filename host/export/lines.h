/* SPDX-License-Identifier: GPL-2.0 */
/*
 * lines.h - exports in which each event is a line of its own: the lines of many events are made by
 * several threads at the same time, and written in the order of the events.
 */
#ifndef XVT_EXPORT_LINES_H
#define XVT_EXPORT_LINES_H

#include "export/export.h"

/* Each thread has a state of its own; all of it is fixed by the export's options. */
struct xvt_lines {
	/* Returns NULL: out of memory. */
	void *(*begin)(struct xvt_export *x);
	/* Write the line of an event, or nothing. Returns 0 or -errno. */
	int (*put)(void *state, struct xvt_out *o, const struct xvtrace_event *ev);
	void (*end)(void *state); /* NULL is allowed */
};

/* Write all events. several: by the threads of the export, if it has some. Returns 0 or -errno, as
 * an export does. */
int xvt_export_lines(struct xvt_export *x, struct xvt_out *o, const struct xvt_lines *lines,
		     bool several);

#endif /* XVT_EXPORT_LINES_H */
