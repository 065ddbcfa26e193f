/* SPDX-License-Identifier: GPL-2.0 */
/* confine.h - commands that read traces of others run in a sandbox, where there is one. */
#ifndef XVT_CONFINE_H
#define XVT_CONFINE_H

#include <stdbool.h>

/*
 * Before the trace is opened, and after the pager has started: the process can open files to read
 * them, and with `makes` make files; it can run nothing and reach no network. Without libseccomp
 * nothing changes; `xvtrace doctor` says so.
 */
void xvt_confine(bool makes);

/* When all files are open: the process can open none any more. */
void xvt_confine_opened(void);

/* The same, but the process can rename and remove files: its output gets its name at the end. */
void xvt_confine_opened_output(void);

/*
 * For salvage, when its loop and its output are open: it can open files to read them, write by the
 * loop, and remove its output if it fails. Later xvt_confine_opened_output().
 */
void xvt_confine_loop(void);

#endif /* XVT_CONFINE_H */
