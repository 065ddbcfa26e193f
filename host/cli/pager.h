/* SPDX-License-Identifier: GPL-2.0 */
/* pager.h - what is printed for people goes through a pager, as git's does. */
#ifndef XVT_PAGER_H
#define XVT_PAGER_H

#include <stdbool.h>

#include "options/opt.h"

/*
 * If standard output is a terminal, make the child process that becomes the pager. The pager is
 * $XVTRACE_PAGER, $PAGER or less, as the shell runs it; none if that is "" or "cat", or if there is
 * no less. less gets -FRSX, if $LESS is not set: it ends by itself where the text fits on the
 * screen, and long lines stay one line. The call comes before the sandbox of confine.h, which
 * forbids to run programs.
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
/* The words of --color. */
enum xvt_colour { XVT_COLOUR_AUTO, XVT_COLOUR_ALWAYS, XVT_COLOUR_NEVER };
/* The same by the user's choice, of enum xvt_colour. */
bool xvt_pager_chosen_colour(unsigned int choice);

/* Rows of an option table. */
#define XVT_COLOUR_OPT(struct_, colour_, what_)                                    \
	XVT_OPT(struct_, colour_, "color", 0, XVT_OPT_CHOICE, "auto|always|never", \
		what_ ": auto (on a terminal), always, never", .usual = "auto")
#define XVT_NO_PAGER_OPT(struct_, no_pager_)                           \
	XVT_OPT(struct_, no_pager_, "no-pager", 0, XVT_OPT_BOOL, NULL, \
		"on a terminal, too, no pager")

#endif /* XVT_PAGER_H */
