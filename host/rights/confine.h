/* SPDX-License-Identifier: GPL-2.0 */
/* confine.h - commands that read traces of others run in a sandbox, where there is one. */
#ifndef XVT_CONFINE_H
#define XVT_CONFINE_H

#include <stdbool.h>
#include <stdint.h>

#include "rights/opener.h"

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

/*
 * For a command that takes regions, as soon as its loop is made, and before it has threads: of
 * root's capabilities it keeps those to open what belongs to others, to lock memory, to find the
 * processes that write a region, and to end a command of another user.
 */
void xvt_confine_capabilities(void);
uint64_t xvt_confine_kept(void); /* those that it keeps: a bit for each */

/* The same for a recorder with an opener, which keeps those that xvt_confine_recorder() needs to
 * isolate it, until then. */
void xvt_confine_capabilities_to_isolate(void);

/* The same for its opener, which gets limits of files and memory, too. */
void xvt_confine_opener(void);

/*
 * For a recorder, before its first pass and after its command has started: it can run no program,
 * look into no process, load nothing into the kernel, reach no network. `libvirt_uri` (NULL:
 * libvirt's own) may name a transport that is a network or a program, which can be used then. With
 * an opener, which has its rules, it opens, makes and removes files by that only. `memory_bytes`:
 * what it may use for events; its limit of memory follows from that. With `lacks`, a recorder with
 * an opener is isolated (rights/isolate.h), and has no current folder then; *lacks: what is missing
 * of that. Returns 0, also after a
 * warning where the kernel lets no other process open files, or there is no sandbox; or -errno
 * after an error message: memory or descriptors are short, or the opener has been killed.
 */
int xvt_confine_recorder(const char *libvirt_uri, struct xvt_opener *opener, uint64_t memory_bytes,
			 unsigned int *lacks);

#endif /* XVT_CONFINE_H */
