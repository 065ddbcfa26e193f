/* SPDX-License-Identifier: GPL-2.0 */
/*
 * isolate.h - a process that has all open, and asks another one to open more, gives up the host's
 * root directory, network and System V IPC.
 */
#ifndef XVT_ISOLATE_H
#define XVT_ISOLATE_H

#include <stdint.h>

/* What the process does not have. */
enum xvt_isolate_lack {
	XVT_NO_EMPTY_ROOT = 1, /* its root is the host's */
	XVT_NO_NAMESPACES = 2, /* its network or its IPC is the host's */
	XVT_NO_CAPABILITY = 4, /* with one of these: it has not the capability for it */
};

/* What xvt_isolate_undo() restores: descriptors, -1 where nothing has changed. */
struct xvt_isolated {
	int root, cwd, net, ipc;
};

/* The capabilities that it needs: a bit for each. */
uint64_t xvt_isolate_needs(void);

/*
 * Makes a folder that is removed the root and the current folder of all threads: no path leads to
 * a file, and none can be made. Then enters a network and an IPC namespace of its own, unless
 * there are other threads, which would stay behind. Descriptors that are open stay what they are;
 * a socket from before stays in its network. What it cannot do is left out. Returns what the
 * process lacks. The caller ends by xvt_isolate_undo() or xvt_isolate_keep().
 */
unsigned int xvt_isolate(struct xvt_isolated *was);

/* Goes back, while the process still has the capabilities. Returns 0 or -errno. */
int xvt_isolate_undo(struct xvt_isolated *was);

/* Closes the ways back. */
void xvt_isolate_keep(struct xvt_isolated *was);

/* Returns what a process of this user would lack: a child tries it. */
unsigned int xvt_isolate_try(void);

#endif /* XVT_ISOLATE_H */
