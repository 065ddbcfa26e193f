/* SPDX-License-Identifier: GPL-2.0 */
/*
 * child.h - signals for a child of this process, and waits for it. A child is known by a descriptor
 * that is opened when it starts: the filter of rights/sandbox.h allows no other signals, and no
 * number is another process's meanwhile.
 *
 * A child may stand still: it was stopped, or a disk does not answer. Each wait has a limit by
 * CLOCK_MONOTONIC, and a caller that tells of it. A SIGINT or SIGTERM that is blocked and pending
 * asks this process to end, and shortens each limit to XVT_CHILD_HURRY_MS.
 */
#ifndef XVT_CHILD_H
#define XVT_CHILD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define XVT_CHILD_STILL_MS 30000u /* a child that does nothing for so long stands still */
#define XVT_CHILD_HURRY_MS 5000u
#define XVT_CHILD_END_MS   10000u /* from SIGKILL to the end; a disk may hold it up */

/* Returns a descriptor of this child, which poll() finds readable when it has ended, for close();
 * or -1 (an old kernel). */
int xvt_child_open(pid_t pid);

/* Sends a signal. fd: of xvt_child_open(), or -1. Returns 0 or -errno. */
int xvt_child_signal(int fd, pid_t pid, int signal);

/* Has signals that this process may not send, since the child has another user, sent by another
 * process (rights/opener.h): `signal` returns 0 or -errno. NULL: by none. */
typedef int xvt_child_signal_fn(void *arg, pid_t pid, int signal);
void xvt_child_set_deputy(xvt_child_signal_fn *signal, void *arg);

/* Wait for events (of poll()) of a descriptor, as a socket to a child. Returns 0; -ETIMEDOUT, also
 * where a signal has shortened the limit; or -errno. */
int xvt_child_wait(int fd, short events, unsigned int limit_ms);

/* Wait for the end of the child. fd: of xvt_child_open(), or -1. status: of waitpid(), or NULL.
 * Returns 0, -ETIMEDOUT as above, or -errno. */
int xvt_child_await(int fd, pid_t pid, int *status, unsigned int limit_ms);

/* The same, but the limit is for a time in which the child used no CPU time and wanted none: one
 * that works may take as long as it likes. Not in a sandbox, since it reads /proc. */
int xvt_child_await_work(int fd, pid_t pid, int *status, unsigned int limit_ms);

/* Wait for the end of a child that was just started, by a descriptor of its own; kill one that goes
 * beyond the limit. works: as xvt_child_await_work(), else as xvt_child_await(). Returns as these.
 */
int xvt_child_finish(pid_t pid, int *status, unsigned int limit_ms, bool works);

/* Send SIGKILL and wait for the end, XVT_CHILD_END_MS at most. Returns as xvt_child_await(). */
int xvt_child_kill(int fd, pid_t pid);

/* Returns the CPU time that the child has used, in ns; 0: unknown. */
uint64_t xvt_child_cpu_ns(pid_t pid);

#endif /* XVT_CHILD_H */
