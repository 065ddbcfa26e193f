/* SPDX-License-Identifier: GPL-2.0 */
/* lock.h - flock(): one recorder at a time for a region, a folder, a page. */
#ifndef XVT_LOCK_H
#define XVT_LOCK_H

#include <stdbool.h>
#include <sys/types.h>

/* How long a command waits at its start for what a process that was killed still holds. */
#define XVT_LOCK_START_MS 5000u
/* For what a process has that is seen to have ended. Beside load the kernel takes seconds to close
 * its files: it waits for the requests of an io_uring first. */
#define XVT_LOCK_LEFT_MS  30000u

/*
 * Locks an open file, for the open file description and all its copies. A lock outlives a killed
 * process for some milliseconds: its helpers, which have copies, die after it, and the kernel
 * closes the files of both in the background. If wait_ms is not 0, this waits for a lock of which
 * the taker has ended, for XVT_LOCK_LEFT_MS at most; and for wait_ms in a PID namespace where the
 * kernel shows no process that has it. Returns 0; -EBUSY: another process has it; or another
 * -errno.
 */
int xvt_lock_take(int fd, unsigned int wait_ms);

/* Returns the process that took the lock of a file; 0: none has it, or unknown. */
pid_t xvt_lock_holder(dev_t dev, ino_t ino);

/* Whether a process has ended, or is at its end: a SIGKILL is pending, or its memory is gone. */
bool xvt_process_has_ended(pid_t pid);

#endif /* XVT_LOCK_H */
