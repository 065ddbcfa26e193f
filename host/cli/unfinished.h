/* SPDX-License-Identifier: GPL-2.0 */
/* unfinished.h - a file that is not whole yet, and that does not stay when a signal ends the
 * command before. There is one at a time. */
#ifndef XVT_UNFINISHED_H
#define XVT_UNFINISHED_H

#include <signal.h>

/*
 * From here on SIGHUP, SIGINT and SIGTERM, unless they are ignored, remove the file `name` of the
 * folder that is open as `folder`, and end the process with 128 and their number. Both are kept
 * until xvt_unfinished_end().
 */
void xvt_unfinished_begin(int folder, const char *name);
/* The file has its name, or is removed. */
void xvt_unfinished_end(void);
/* Removes it, if there is one. A handler of signals may call it. */
void xvt_unfinished_remove(void);

/* Between these no signal ends the command: a file is made, and noted. */
void xvt_unfinished_hold(sigset_t *before);
void xvt_unfinished_release(const sigset_t *before);

#endif /* XVT_UNFINISHED_H */
