/* SPDX-License-Identifier: GPL-2.0 */
/*
 * sandbox.h - a process that reads files of others gives up what it does not need: system calls,
 * by a seccomp filter, and new privileges.
 */
#ifndef XVT_SANDBOX_H
#define XVT_SANDBOX_H

/* What the process still needs. */
enum xvt_sandbox_need {
	XVT_SANDBOX_READS = 1, /* open files, to read them */
	XVT_SANDBOX_MAKES = 2, /* open, make, rename and remove files */
	XVT_SANDBOX_OPENS = XVT_SANDBOX_READS | XVT_SANDBOX_MAKES,
	XVT_SANDBOX_RENAMES = 4,   /* rename and remove files: an output gets its name at the end */
	XVT_SANDBOX_LOOPS = 8,	   /* a loop (base/loop.h), which is made before the first call */
	XVT_SANDBOX_RECORDS = 16,  /* what a recorder does, all of the above included; see below */
	XVT_SANDBOX_RUNS = 32,	   /* with RECORDS: run programs, which may use networks */
	XVT_SANDBOX_NETWORKS = 64, /* with RECORDS: use networks */
	XVT_SANDBOX_ASKS = 128,	   /* with RECORDS: another process decides what is opened */
};

/* An environment variable: "off" for debuggers and valgrind, whose own calls would be refused. */
#define XVT_SANDBOX_ENV "XVTRACE_SANDBOX"

/*
 * Forbids all system calls that a reader does not need, for the rest of the process and in all its
 * threads. The process is killed (SIGSYS) if it makes a socket, runs a program, makes a process or
 * an io_uring, and without XVT_SANDBOX_LOOPS a thread; and without XVT_SANDBOX_OPENS, if it opens
 * or makes a file, or without XVT_SANDBOX_RENAMES renames or removes one. Other calls fail with
 * EPERM. Memory cannot be made executable, nor a file set-user-ID; a terminal gets no input, and
 * no descriptor an owner that gets signals. A second call without XVT_SANDBOX_OPENS takes these
 * away, and nothing else.
 *
 * With XVT_SANDBOX_RECORDS, in the only call, the process may open files, and make UNIX and netlink
 * sockets and threads. It is killed if it runs a program (without XVT_SANDBOX_RUNS),
 * makes a socket of a network (without XVT_SANDBOX_NETWORKS or _RUNS), looks into another process,
 * mounts, loads modules or BPF, or makes an io_uring. It has no other memory to run than what it
 * has (with one of these two: none that it may write), makes no process (with _RUNS it may), and
 * sends signals, limits and CPUs to itself, and signals by descriptors from before
 * (base/child.h), and no message with an address or a descriptor.
 * With XVT_SANDBOX_ASKS, opening, making, renaming and removing files, connecting sockets and
 * making those of a network wait for an answer by xvt_sandbox_listener(); binding a socket, links
 * and changes of a file's mode or times by its name kill the process.
 *
 * Returns 0; -ENOPKG without libseccomp, -ENOTSUP where the kernel, a
 * sanitizer or XVTRACE_SANDBOX=off does not allow it, or another -errno.
 */
int xvt_sandbox_enter(unsigned int need);

/* Returns the descriptor that rights/opener.h serves, once after xvt_sandbox_enter() with
 * XVT_SANDBOX_ASKS, for the caller to close; or -1. */
int xvt_sandbox_listener(void);

/* Returns 0 if xvt_sandbox_enter() can work here, or its -ENOPKG or -ENOTSUP. Changes nothing. */
int xvt_sandbox_check(void);

#endif /* XVT_SANDBOX_H */
