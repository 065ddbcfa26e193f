/* SPDX-License-Identifier: GPL-2.0 */
/* report_follow.h - the lines of a trace that is being written, as they come. */
#ifndef XVT_REPORT_FOLLOW_H
#define XVT_REPORT_FOLLOW_H

#include "select/select.h"

/*
 * Prints the events of the trace, and those that come, until it has its end, no recorder writes it
 * any more, or a signal comes; of a folder, those of its next files, too. x has how lines are
 * printed. Returns the exit status: XVT_EXIT_OK after a signal.
 */
int xvt_report_follow(const struct xvt_select *s, const char *path, struct xvt_export *x);

#endif /* XVT_REPORT_FOLLOW_H */
