/* SPDX-License-Identifier: GPL-2.0 */
/* pager.h - what is printed for people goes through a pager, as git's does. */
#ifndef XVT_PAGER_H
#define XVT_PAGER_H

#include <stdbool.h>

/*
 * If standard output is a terminal, make the child process that becomes the pager. The pager is
 * $XVTRACE_PAGER, $PAGER or less, as the shell runs it; none if that is "" or "cat", or if there is
 * no less. less gets -FRSX, if $LESS is not set: it ends by itself where the text fits on the
 * screen, and long lines stay one line. It is before the sandbox of confine.h, which forbids to run
 * programs.
 */
void xvt_pager_prepare(void);

/* Run the prepared pager, if there is one, and send standard output through it, and standard error
 * too if that is a terminal. */
void xvt_pager_begin(void);

/* Wait until the user leaves the pager. Standard output is closed then. Ends the child if
 * xvt_pager_begin() was not called. */
void xvt_pager_end(void);

/* Whether standard output is a terminal that shows colours, and $NO_COLOR does not forbid them.
 * Before xvt_pager_begin(). */
bool xvt_pager_colour(void);
/* The same by the value of --color, NULL: none was given. Returns false after an error message. */
bool xvt_pager_choose_colour(const char *command, const char *when, bool *colour);

#endif /* XVT_PAGER_H */
