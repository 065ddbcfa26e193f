/* SPDX-License-Identifier: GPL-2.0 */
/* watch.h - an export while it runs: a line of progress on the terminal, and its end by ^C. */
#ifndef XVT_WATCH_H
#define XVT_WATCH_H

#include "export/export.h"

struct xvt_watch {
	const struct xvt_export *x;
	bool shows;	      /* progress */
	bool line_open;	      /* the terminal's last line is progress */
	int ended_by;	      /* number of the signal that ended the export; 0: none */
	uint64_t ns;	      /* the time up to which everything was given */
	uint64_t begin_ns;    /* CLOCK_MONOTONIC, now */
	uint64_t shown_ns;    /* the same, when progress was last shown */
	uint64_t shown_given; /* events then */
};

/*
 * From here on SIGINT and SIGTERM end the events of x->reader, as if the trace ended there, so that
 * the export completes what it writes. A second one ends the program. shows: print progress to
 * stderr, each half second after the first second. For one export at a time; call it before the
 * first event.
 */
void xvt_watch_begin(struct xvt_watch *w, struct xvt_export *x, bool shows);

/* After the export. Removes the line of progress. w->ended_by says whether a signal ended it. */
void xvt_watch_end(struct xvt_watch *w);

#endif /* XVT_WATCH_H */
