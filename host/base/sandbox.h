/* SPDX-License-Identifier: GPL-2.0 */
/*
 * sandbox.h - a process that reads files of others gives up what it does not need: system calls,
 * by a seccomp filter, and new privileges.
 */
#ifndef XVT_SANDBOX_H
#define XVT_SANDBOX_H

/* What the process still needs. Without either it opens nothing any more. */
enum xvt_sandbox_need {
	XVT_SANDBOX_READS = 1, /* open files, to read them */
	XVT_SANDBOX_MAKES = 2, /* open, make, rename and remove files */
};

/* An environment variable: "off" for debuggers and valgrind, whose own calls would be refused. */
#define XVT_SANDBOX_ENV "XVTRACE_SANDBOX"

/*
 * Forbids all system calls that a reader does not need, for the rest of the process. The process is
 * killed (SIGSYS) if it makes a socket, runs a program, makes a thread or uses io_uring; and
 * without a `need`, if it opens, makes, renames or removes a file. Other calls fail with EPERM.
 * Memory cannot be made executable. A second call without `need` takes away more. Returns 0;
 * -ENOPKG without libseccomp, -ENOTSUP where the kernel, a sanitizer or XVTRACE_SANDBOX=off does
 * not allow it, or another -errno.
 */
int xvt_sandbox_enter(unsigned int need);

/* Returns 0 if xvt_sandbox_enter() can work here, or its -ENOPKG or -ENOTSUP. Changes nothing. */
int xvt_sandbox_check(void);

#endif /* XVT_SANDBOX_H */
