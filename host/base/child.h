/* SPDX-License-Identifier: GPL-2.0 */
/*
 * child.h - signals for a child of this process, by a descriptor that is opened when the child
 * starts: the filter of rights/sandbox.h allows no other signals, and no number is another
 * process's meanwhile.
 */
#ifndef XVT_CHILD_H
#define XVT_CHILD_H

#include <sys/types.h>

/* Returns a descriptor of this child, which poll() finds readable when it has ended, for close();
 * or -1 (an old kernel). */
int xvt_child_open(pid_t pid);

/* Sends a signal. fd: of xvt_child_open(), or -1. Returns 0 or -errno. */
int xvt_child_signal(int fd, pid_t pid, int signal);

#endif /* XVT_CHILD_H */
