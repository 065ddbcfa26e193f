/* SPDX-License-Identifier: GPL-2.0 */
/* pager.h - what is printed for people goes through a pager, as git's does. */
#ifndef XVT_PAGER_H
#define XVT_PAGER_H

#include <stdbool.h>

/*
 * If standard output is a terminal, start the pager and send standard output through it, and
 * standard error too if that is a terminal. The pager is $XVTRACE_PAGER, $PAGER or less, as the
 * shell runs it; none if that is "" or "cat", or if there is no less. less gets -FRX, if $LESS is
 * not set: it ends by itself where the text fits on the screen.
 */
void xvt_pager_begin(void);

/* Wait until the user leaves the pager. Standard output is closed then. */
void xvt_pager_end(void);

/* Whether standard output is a terminal that shows colours, and $NO_COLOR does not forbid them.
 * Before xvt_pager_begin(). */
bool xvt_pager_colour(void);

#endif /* XVT_PAGER_H */
