/* SPDX-License-Identifier: GPL-2.0 */
/*
 * isolate.h - a process that has all open, and asks another one to open more, gives up the host's
 * root directory, network and System V IPC, and the user that started it.
 */
#ifndef XVT_ISOLATE_H
#define XVT_ISOLATE_H

#include <stdint.h>

/* What the process does not have. */
enum xvt_isolate_lack {
	XVT_NO_EMPTY_ROOT = 1, /* its root is the host's */
	XVT_NO_NAMESPACES = 2, /* its network or its IPC is the host's */
	XVT_NO_OWN_USER = 4,   /* its user is its caller's */
	XVT_NO_CAPABILITY = 8, /* with these: it has not the capability for any of them */
};
#define XVT_NO_WALL (XVT_NO_EMPTY_ROOT | XVT_NO_NAMESPACES | XVT_NO_OWN_USER)

struct xvt_wall {
	unsigned int lack;
	const char *field; /* of a status: true where it lacks */
	const char *keeps; /* what the process keeps then */
	const char *fix;
};

/* All walls, in the order of the lacks. */
#define XVT_WALLS 3u
extern const struct xvt_wall xvt_walls[XVT_WALLS];

/* Writes what a process keeps that lacks these walls: "A, B". Returns `text`. */
#define XVT_WALLS_TEXT 128
const char *xvt_walls_keeps(unsigned int lacks, char text[XVT_WALLS_TEXT]);

/* Returns the fix of the first that lacks. */
const char *xvt_walls_fix(unsigned int lacks);

/* What xvt_isolate_undo() restores: descriptors, -1 where nothing has changed; the user, too. */
struct xvt_isolated {
	int root, cwd, net, ipc;
};

/* The capabilities that it needs: a bit for each. */
uint64_t xvt_isolate_needs(void);

/*
 * Makes a folder that is removed the root and the current folder of all threads: no path leads to
 * a file, and none can be made. Then enters a network and an IPC namespace of its own, unless
 * there are other threads, which would stay behind; and becomes the user of rights/own_user.h.
 * Descriptors that are open stay what they are; a socket from before stays in its network. What it
 * cannot do is left out. Returns what the process lacks. The caller ends by xvt_isolate_undo() or
 * xvt_isolate_keep().
 */
unsigned int xvt_isolate(struct xvt_isolated *was);

/* Goes back, while the process still has the capabilities. Returns 0 or -errno. */
int xvt_isolate_undo(struct xvt_isolated *was);

/* Closes the ways back. */
void xvt_isolate_keep(struct xvt_isolated *was);

/* Returns what a process of this user would lack: a child tries it. */
unsigned int xvt_isolate_try(void);

#endif /* XVT_ISOLATE_H */
