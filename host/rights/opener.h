/* SPDX-License-Identifier: GPL-2.0 */
/*
 * opener.h - a process that opens files for its parent, whose seccomp filter asks it (Linux 5.9):
 * the parent itself opens, makes, renames and removes none, and connects no socket. What no rule
 * allows ends the parent, or fails where a library may have tried it.
 */
#ifndef XVT_OPENER_H
#define XVT_OPENER_H

#include <sys/types.h>

#include "rights/rules.h"

struct xvt_opener;

/* Called in the opener, but for the last one. */
struct xvt_opener_ops {
	void (*begin)(void); /* at its start */
	/* The parent is ended after this call, since it tried this: "open", "remove", ... */
	void (*refused)(void *arg, const char *what, const char *path);
	/* This failed, and the parent goes on. Called once for a path; last: more are not told. */
	void (*denied)(void *arg, const char *what, const char *path, bool last);
	/* The parent has died in another way. */
	void (*died)(void *arg);
	/* Called in the parent, in any of its threads, once: the opener has not answered for so
	 * long, and will be killed. Then what waits for it fails. */
	void (*stopped)(void *arg, unsigned int seconds);
};

/*
 * Start the opener, before there are threads, locks and mappings, which it would hold, too. Its
 * current folder and its umask stay those that the parent has now. Returns 0; -ENOTSUP where it
 * cannot work; -ETIMEDOUT after a call of stopped(); or another -errno.
 */
int xvt_opener_start(struct xvt_opener **opener, const struct xvt_opener_ops *ops, void *arg);

/* Give it its rules. Returns 0 or -errno; -ETIMEDOUT as above. */
int xvt_opener_rules(struct xvt_opener *opener, const struct xvt_rules *rules);

/* Have it answer what this listener of a seccomp filter asks, and send the signals for children of
 * the parent that base/child.h may not. Takes the descriptor. Returns 0 or -errno; -ETIMEDOUT as
 * above. */
int xvt_opener_serve(struct xvt_opener *opener, int listener);

/* Its process, of which its caller may learn that it ended: who waits for it sets this to 0. */
pid_t *xvt_opener_pid(struct xvt_opener *opener);

/* Have a thread ask it whether it lives: a call that waits for it has no limit of its own. Returns
 * 0 or -errno. */
int xvt_opener_watch(struct xvt_opener *opener);

/* End it in order. The process can open nothing from then on, if it has the filter. Returns false
 * if the opener was killed because it stood still. NULL: true. */
bool xvt_opener_end(struct xvt_opener *opener);

#endif /* XVT_OPENER_H */
