// SPDX-License-Identifier: GPL-2.0
/* sandbox.c - the only file that includes libseccomp, which the first use loads. */
#define _GNU_SOURCE
#include "rights/sandbox.h"

#include <errno.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define XVT_SANITIZED 1
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#define XVT_SANITIZED 1
#endif

#if !defined(XVT_SECCOMP_SONAME)

int xvt_sandbox_check(void)
{
	return -ENOPKG;
}

int xvt_sandbox_enter(unsigned int need)
{
	(void)need;
	return -ENOPKG;
}

int xvt_sandbox_listener(void)
{
	return -1;
}

#else

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/library.h"

#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#endif

#define SECCOMP_FUNCTIONS(F) F(init) F(release) F(load) F(attr_set) F(rule_add_array) F(export_bpf)
#define POINTER(name)	     __typeof__(&seccomp_##name) name;
static struct {
	SECCOMP_FUNCTIONS(POINTER)
} lib;

static const struct xvt_symbol symbols[] = {
#define SYMBOL(name)	     { "seccomp_" #name, &lib.name },
	SECCOMP_FUNCTIONS(SYMBOL){ NULL, NULL }
};

#define COUNT(array)	     (sizeof(array) / sizeof((array)[0]))

static const int always[] = {
	SCMP_SYS(brk),
	SCMP_SYS(clock_getres),
	SCMP_SYS(clock_gettime),
	SCMP_SYS(clock_nanosleep),
	SCMP_SYS(close),
	SCMP_SYS(copy_file_range),
	SCMP_SYS(dup),
	SCMP_SYS(dup2),
	SCMP_SYS(dup3),
	SCMP_SYS(exit),
	SCMP_SYS(exit_group),
	SCMP_SYS(fadvise64),
	SCMP_SYS(fallocate),
	SCMP_SYS(flock),
	SCMP_SYS(fstat),
	SCMP_SYS(fstatfs),
	SCMP_SYS(fsync),
	SCMP_SYS(ftruncate),
	SCMP_SYS(futex),
	SCMP_SYS(getpid),
	SCMP_SYS(getrandom),
	SCMP_SYS(getrusage),
	SCMP_SYS(gettid),
	SCMP_SYS(gettimeofday),
	SCMP_SYS(lseek),
	SCMP_SYS(madvise),
	SCMP_SYS(mremap),
	SCMP_SYS(munmap),
	SCMP_SYS(nanosleep),
	SCMP_SYS(newfstatat),
	SCMP_SYS(poll),
	SCMP_SYS(ppoll),
	SCMP_SYS(pread64),
	SCMP_SYS(preadv),
	SCMP_SYS(pwrite64),
	SCMP_SYS(pwritev),
	SCMP_SYS(read),
	SCMP_SYS(readv),
	SCMP_SYS(restart_syscall),
	SCMP_SYS(rt_sigaction),
	SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(rt_sigreturn),
	SCMP_SYS(sched_yield),
	SCMP_SYS(sendfile),
	SCMP_SYS(setitimer),
	SCMP_SYS(sigaltstack),
	SCMP_SYS(splice),
	SCMP_SYS(statx),
	SCMP_SYS(sysinfo),
	SCMP_SYS(time),
	SCMP_SYS(uname),
	SCMP_SYS(wait4),
	SCMP_SYS(write),
	SCMP_SYS(writev),
};

/* For a later filter, which comes on top of this one. */
static const int while_opening[] = { SCMP_SYS(seccomp) };

static const int to_make[] = {
	SCMP_SYS(faccessat), SCMP_SYS(getdents64), SCMP_SYS(linkat), SCMP_SYS(mkdir),
	SCMP_SYS(mkdirat),   SCMP_SYS(open),	   SCMP_SYS(openat),
};

/* On the way to an output: base/output.h. The second fails when all files are open. */
static const int to_find_output[] = { SCMP_SYS(geteuid), SCMP_SYS(readlinkat) };

static const int to_rename[] = {
	SCMP_SYS(rename), SCMP_SYS(renameat), SCMP_SYS(renameat2),
	SCMP_SYS(unlink), SCMP_SYS(unlinkat),
};

/* What the event loop needs beside the list above. Its ring is made before, and can open nothing.
 */
static const int to_loop[] = {
	SCMP_SYS(epoll_ctl),	     SCMP_SYS(epoll_pwait),	  SCMP_SYS(epoll_wait),
	SCMP_SYS(io_uring_enter),    SCMP_SYS(io_uring_register), SCMP_SYS(rseq),
	SCMP_SYS(sched_getaffinity), SCMP_SYS(set_robust_list),
};

/* What only an attacker does here. */
static const int fatal[] = {
	SCMP_SYS(accept),
	SCMP_SYS(accept4),
	SCMP_SYS(bind),
	SCMP_SYS(bpf),
	SCMP_SYS(connect),
	SCMP_SYS(execve),
	SCMP_SYS(execveat),
	SCMP_SYS(fork),
	SCMP_SYS(io_uring_setup),
	SCMP_SYS(keyctl),
	SCMP_SYS(kill),
	SCMP_SYS(listen),
	SCMP_SYS(memfd_create),
	SCMP_SYS(mount),
	SCMP_SYS(pidfd_getfd),
	SCMP_SYS(pidfd_open),
	SCMP_SYS(process_vm_readv),
	SCMP_SYS(process_vm_writev),
	SCMP_SYS(ptrace),
	SCMP_SYS(sendmsg),
	SCMP_SYS(sendto),
	SCMP_SYS(setns),
	SCMP_SYS(socket),
	SCMP_SYS(socketpair),
	SCMP_SYS(tkill),
	SCMP_SYS(unshare),
	SCMP_SYS(userfaultfd),
	SCMP_SYS(vfork),
};

/* The same, in a process without an event loop. */
static const int fatal_without_loop[] = {
	SCMP_SYS(clone),
	SCMP_SYS(clone3),
	SCMP_SYS(io_uring_enter),
	SCMP_SYS(io_uring_register),
};

/* Only an attacker does this when all files are open. */
static const int fatal_opened[] = {
	SCMP_SYS(creat),
	SCMP_SYS(link),
	SCMP_SYS(linkat),
	SCMP_SYS(mkdir),
	SCMP_SYS(mkdirat),
	SCMP_SYS(mknod),
	SCMP_SYS(mknodat),
	SCMP_SYS(open),
	SCMP_SYS(openat),
	SCMP_SYS(openat2),
	SCMP_SYS(open_by_handle_at),
	SCMP_SYS(rmdir),
	SCMP_SYS(symlink),
	SCMP_SYS(symlinkat),
	SCMP_SYS(truncate),
};

/* What a recorder needs beside: it opens what comes, listens, and talks to VMMs and libvirt. */
static const int to_record[] = {
	SCMP_SYS(accept),
	SCMP_SYS(accept4),
	SCMP_SYS(access),
	SCMP_SYS(alarm),
	SCMP_SYS(bind),
	SCMP_SYS(capget),
	SCMP_SYS(chmod),
	SCMP_SYS(close_range),
	SCMP_SYS(connect),
	SCMP_SYS(creat),
	SCMP_SYS(epoll_create),
	SCMP_SYS(epoll_create1),
	SCMP_SYS(epoll_pwait2),
	SCMP_SYS(eventfd),
	SCMP_SYS(eventfd2),
	SCMP_SYS(faccessat2),
	SCMP_SYS(fchmodat),
	SCMP_SYS(fdatasync),
	SCMP_SYS(fgetxattr),
	SCMP_SYS(get_mempolicy),
	SCMP_SYS(getcpu),
	SCMP_SYS(getcwd),
	SCMP_SYS(getdents),
	SCMP_SYS(getegid),
	SCMP_SYS(geteuid),
	SCMP_SYS(getgid),
	SCMP_SYS(getgroups),
	SCMP_SYS(getpeername),
	SCMP_SYS(getpgid),
	SCMP_SYS(getpgrp),
	SCMP_SYS(getppid),
	SCMP_SYS(getpriority),
	SCMP_SYS(getresgid),
	SCMP_SYS(getresuid),
	SCMP_SYS(getrlimit),
	SCMP_SYS(getsid),
	SCMP_SYS(getsockname),
	SCMP_SYS(getuid),
	SCMP_SYS(inotify_rm_watch),
	SCMP_SYS(link),
	SCMP_SYS(listen),
	SCMP_SYS(lstat),
	SCMP_SYS(membarrier),
	SCMP_SYS(memfd_create),
	SCMP_SYS(mincore),
	SCMP_SYS(mlock),
	SCMP_SYS(mlock2),
	SCMP_SYS(msync),
	SCMP_SYS(munlock),
	SCMP_SYS(openat2),
	SCMP_SYS(pause),
	SCMP_SYS(pidfd_send_signal),
	SCMP_SYS(pipe),
	SCMP_SYS(pipe2),
	SCMP_SYS(preadv2),
	SCMP_SYS(pselect6),
	SCMP_SYS(pwritev2),
	SCMP_SYS(readahead),
	SCMP_SYS(readlink),
	SCMP_SYS(readlinkat),
	SCMP_SYS(recvfrom),
	SCMP_SYS(recvmmsg),
	SCMP_SYS(recvmsg),
	SCMP_SYS(rmdir),
	SCMP_SYS(rt_sigpending),
	SCMP_SYS(rt_sigsuspend),
	SCMP_SYS(rt_sigtimedwait),
	SCMP_SYS(sched_get_priority_max),
	SCMP_SYS(sched_get_priority_min),
	SCMP_SYS(sched_getparam),
	SCMP_SYS(sched_getscheduler),
	SCMP_SYS(select),
	SCMP_SYS(sendto),
	SCMP_SYS(set_tid_address),
	SCMP_SYS(setrlimit),
	SCMP_SYS(shutdown),
	SCMP_SYS(signalfd),
	SCMP_SYS(signalfd4),
	SCMP_SYS(stat),
	SCMP_SYS(statfs),
	SCMP_SYS(symlinkat),
	SCMP_SYS(sync_file_range),
	SCMP_SYS(timer_create),
	SCMP_SYS(timer_delete),
	SCMP_SYS(timer_settime),
	SCMP_SYS(timerfd_create),
	SCMP_SYS(timerfd_gettime),
	SCMP_SYS(timerfd_settime),
	SCMP_SYS(times),
	SCMP_SYS(umask),
	SCMP_SYS(utimensat),
	SCMP_SYS(waitid),
};

/* What a recorder needs beside that uses networks, or programs. */
static const int to_reach[] = {
	SCMP_SYS(getsockopt), SCMP_SYS(sendmmsg),   SCMP_SYS(sendmsg),
	SCMP_SYS(setsockopt), SCMP_SYS(socketpair),
};

/* The same, where it runs programs: those are its children, and it ends them. */
static const int to_run[] = {
	SCMP_SYS(clone),     SCMP_SYS(clone3), SCMP_SYS(execve),     SCMP_SYS(execveat),
	SCMP_SYS(fork),	     SCMP_SYS(kill),   SCMP_SYS(pidfd_open), SCMP_SYS(prctl),
	SCMP_SYS(prlimit64), SCMP_SYS(tgkill), SCMP_SYS(vfork),
};

/* What only an attacker does in a recorder. The first two: unless it runs programs. */
static const int fatal_to_recorder[] = {
	SCMP_SYS(execve),
	SCMP_SYS(execveat),
	SCMP_SYS(add_key),
	SCMP_SYS(bpf),
	SCMP_SYS(capset),
	SCMP_SYS(chroot),
	SCMP_SYS(clock_settime),
	SCMP_SYS(delete_module),
	SCMP_SYS(finit_module),
	SCMP_SYS(fsmount),
	SCMP_SYS(fsopen),
	SCMP_SYS(init_module),
	SCMP_SYS(io_uring_setup),
	SCMP_SYS(ioperm),
	SCMP_SYS(iopl),
	SCMP_SYS(kexec_file_load),
	SCMP_SYS(kexec_load),
	SCMP_SYS(keyctl),
	SCMP_SYS(mknod),
	SCMP_SYS(mknodat),
	SCMP_SYS(mount),
	SCMP_SYS(move_mount),
	SCMP_SYS(open_by_handle_at),
	SCMP_SYS(open_tree),
	SCMP_SYS(perf_event_open),
	SCMP_SYS(pidfd_getfd),
	SCMP_SYS(pivot_root),
	SCMP_SYS(process_vm_readv),
	SCMP_SYS(process_vm_writev),
	SCMP_SYS(ptrace),
	SCMP_SYS(reboot),
	SCMP_SYS(request_key),
	SCMP_SYS(setns),
	SCMP_SYS(swapon),
	SCMP_SYS(umount2),
	SCMP_SYS(unshare),
	SCMP_SYS(userfaultfd),
};

/* What a recorder with an opener leaves to that. */
static const int asked[] = {
	SCMP_SYS(access),     SCMP_SYS(connect),   SCMP_SYS(creat),	 SCMP_SYS(faccessat),
	SCMP_SYS(faccessat2), SCMP_SYS(link),	   SCMP_SYS(linkat),	 SCMP_SYS(lstat),
	SCMP_SYS(mkdir),      SCMP_SYS(mkdirat),   SCMP_SYS(open),	 SCMP_SYS(openat),
	SCMP_SYS(openat2),    SCMP_SYS(readlink),  SCMP_SYS(readlinkat), SCMP_SYS(rename),
	SCMP_SYS(renameat),   SCMP_SYS(renameat2), SCMP_SYS(rmdir),	 SCMP_SYS(stat),
	SCMP_SYS(statfs),     SCMP_SYS(unlink),	   SCMP_SYS(unlinkat),
};

/* The same, but for what the filter itself can tell to need no right: see add_asked_in_part(), and
 * add_local_sockets() for sendto(). */
static const int asked_in_part[] = {
	SCMP_SYS(newfstatat),
	SCMP_SYS(sendto),
	SCMP_SYS(statx),
};

/* What only an attacker does then. */
static const int fatal_when_asking[] = {
	SCMP_SYS(bind),	     SCMP_SYS(chmod),	 SCMP_SYS(fchmodat),  SCMP_SYS(symlink),
	SCMP_SYS(symlinkat), SCMP_SYS(truncate), SCMP_SYS(utimensat),
};

/* A recorder that asks gives up all capabilities when it has the filter. There is none to gain. */
static const int allowed_when_asking[] = { SCMP_SYS(capset) };

/* Loads the library, once. Returns 0 or -ENOPKG. */
static int load_library(void)
{
	static bool loaded;

	/* The Makefile takes the name from the library that the header belongs to. */
	if (!loaded)
		loaded = xvt_library_load(XVT_TEXT_OF(XVT_SECCOMP_SONAME), symbols, NULL) == 0;
	return loaded ? 0 : -ENOPKG;
}

int xvt_sandbox_check(void)
{
	const char *wish = getenv(XVT_SANDBOX_ENV);

#ifdef XVT_SANITIZED
	return -ENOTSUP; /* the sanitizer opens files of its own */
#endif
	if ((wish && strcmp(wish, "off") == 0) || prctl(PR_GET_SECCOMP) < 0)
		return -ENOTSUP;
	return load_library();
}

static int add_all(scmp_filter_ctx filter, uint32_t action, const int *calls, size_t count)
{
	int err = 0;
	size_t i;

	for (i = 0; !err && i < count; i++)
		err = lib.rule_add_array(filter, action, calls[i], 0, NULL);
	return err;
}

/* Allows `call` where none of these bits is set in that argument. */
static int allow_without(scmp_filter_ctx filter, int call, unsigned int argument, uint64_t bits)
{
	struct scmp_arg_cmp none = SCMP_CMP(argument, SCMP_CMP_MASKED_EQ, bits, 0);

	return lib.rule_add_array(filter, SCMP_ACT_ALLOW, call, 1, &none);
}

/* The kernel reads an int: what the upper half of the register holds is the caller's choice. */
#define IS(argument, value) SCMP_CMP(argument, SCMP_CMP_MASKED_EQ, UINT32_MAX, (uint32_t)(value))

/* Allows `call` where that argument, an int, has one of these values. */
static int allow_values(scmp_filter_ctx filter, int call, unsigned int argument,
			const unsigned int *values, size_t count)
{
	int err = 0;
	size_t i;

	for (i = 0; !err && i < count; i++) {
		const struct scmp_arg_cmp one = IS(argument, values[i]);

		err = lib.rule_add_array(filter, SCMP_ACT_ALLOW, call, 1, &one);
	}
	return err;
}

/* No file gets to run as its owner. */
static int add_modes(scmp_filter_ctx filter)
{
	return allow_without(filter, SCMP_SYS(fchmod), 1, S_ISUID | S_ISGID);
}

/* Descriptors, and locks of files. No signal is sent for one, as F_SETOWN would have it. */
static int add_descriptors(scmp_filter_ctx filter)
{
	static const unsigned int commands[] = {
		F_DUPFD,     F_DUPFD_CLOEXEC, F_GETFD,	    F_SETFD,	 F_GETFL,
		F_GETLK,     F_SETLK,	      F_SETLKW,	    F_OFD_GETLK, F_OFD_SETLK,
		F_GET_SEALS, F_ADD_SEALS,     F_OFD_SETLKW,
	};
	const struct scmp_arg_cmp flags[] = { IS(1, F_SETFL),
					      SCMP_CMP(2, SCMP_CMP_MASKED_EQ, O_ASYNC, 0) };
	int err = allow_values(filter, SCMP_SYS(fcntl), 1, commands, COUNT(commands));

	return err ? err
		   : lib.rule_add_array(filter, SCMP_ACT_ALLOW, SCMP_SYS(fcntl), COUNT(flags),
					flags);
}

/* What a thread may set of its process. */
static int add_own_settings(scmp_filter_ctx filter)
{
	static const unsigned int options[] = {
		PR_SET_NAME,	 PR_GET_NAME,	      PR_GET_SECCOMP,
		PR_SET_SECCOMP,	 PR_SET_NO_NEW_PRIVS, PR_GET_NO_NEW_PRIVS,
		PR_CAPBSET_READ, PR_SET_VMA,	      PR_SET_TIMERSLACK,
	};

	return allow_values(filter, SCMP_SYS(prctl), 0, options, COUNT(options));
}

static int add_arguments(scmp_filter_ctx filter)
{
	static const unsigned int terminal[] = { TCGETS, TIOCGWINSZ };
	int err = allow_without(filter, SCMP_SYS(mmap), 2, PROT_EXEC);

	if (!err)
		err = allow_without(filter, SCMP_SYS(mprotect), 2, PROT_EXEC);
	if (!err)
		err = add_descriptors(filter);
	return err ? err : allow_values(filter, SCMP_SYS(ioctl), 1, terminal, COUNT(terminal));
}

/* Threads and no processes, for whose attempt `process` is done. The C library takes clone() where
 * there is no clone3(), whose flags a filter cannot see. */
static int add_threads(scmp_filter_ctx filter, uint32_t process)
{
	struct scmp_arg_cmp thread = SCMP_CMP(0, SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD);
	struct scmp_arg_cmp other = SCMP_CMP(0, SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0);
	int err = lib.rule_add_array(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0, NULL);

	if (!err)
		err = lib.rule_add_array(filter, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1, &thread);
	return err ? err : lib.rule_add_array(filter, process, SCMP_SYS(clone), 1, &other);
}

static int add_loop(scmp_filter_ctx filter)
{
	int err = add_all(filter, SCMP_ACT_ALLOW, to_loop, COUNT(to_loop));

	return err ? err : add_threads(filter, SCMP_ACT_KILL_PROCESS);
}

/* While files are opened, a process may change its own limits. */
static int add_limits(scmp_filter_ctx filter)
{
	static const unsigned int own[] = { 0 };

	return allow_values(filter, SCMP_SYS(prlimit64), 0, own, COUNT(own));
}

/* What is fatal when all files are open, and what fails then. */
static int add_opened(scmp_filter_ctx filter, unsigned int need)
{
	int err = add_all(filter, SCMP_ACT_KILL_PROCESS, fatal_opened, COUNT(fatal_opened));

	if (!err)
		err = lib.rule_add_array(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(prlimit64), 0,
					 NULL);
	if (!err)
		err = lib.rule_add_array(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(readlinkat), 0,
					 NULL);

	if (!err && !(need & XVT_SANDBOX_RENAMES))
		err = add_all(filter, SCMP_ACT_KILL_PROCESS, to_rename, COUNT(to_rename));
	return err;
}

static int add_opens(scmp_filter_ctx filter, unsigned int need)
{
	const uint64_t changes = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | O_TMPFILE;
	int err;

	if (!(need & XVT_SANDBOX_OPENS))
		return add_opened(filter, need);
	err = add_all(filter, SCMP_ACT_ALLOW, while_opening, COUNT(while_opening));
	if (!err)
		err = add_own_settings(filter);
	if (!err)
		err = add_limits(filter);
	if (!err && need & (XVT_SANDBOX_RENAMES | XVT_SANDBOX_MAKES))
		err = add_all(filter, SCMP_ACT_ALLOW, to_rename, COUNT(to_rename));
	if (!err && need & XVT_SANDBOX_MAKES) {
		err = add_modes(filter);
		if (!err)
			err = add_all(filter, SCMP_ACT_ALLOW, to_find_output,
				      COUNT(to_find_output));
		return err ? err : add_all(filter, SCMP_ACT_ALLOW, to_make, COUNT(to_make));
	}
	/* O_TMPFILE holds O_DIRECTORY, which a folder to read may have. */
	if (!err)
		err = allow_without(filter, SCMP_SYS(openat), 2, changes & ~(uint64_t)O_DIRECTORY);
	if (!err)
		err = allow_without(filter, SCMP_SYS(open), 1, changes & ~(uint64_t)O_DIRECTORY);
	if (!err)
		err = lib.rule_add_array(filter, SCMP_ACT_ALLOW, SCMP_SYS(getdents64), 0, NULL);
	return err;
}

/* The rules of a first filter, which refuses what it does not name. */
static int add_rules(scmp_filter_ctx filter, unsigned int need)
{
	int err = add_all(filter, SCMP_ACT_ALLOW, always, COUNT(always));

	if (!err)
		err = add_all(filter, SCMP_ACT_KILL_PROCESS, fatal, COUNT(fatal));
	if (!err && need & XVT_SANDBOX_LOOPS)
		err = add_loop(filter);
	else if (!err)
		err = add_all(filter, SCMP_ACT_KILL_PROCESS, fatal_without_loop,
			      COUNT(fatal_without_loop));
	if (!err)
		err = add_arguments(filter);
	return err ? err : add_opens(filter, need);
}

/* No memory is run that was not when the process entered. Libraries of a network's or a program's
 * transport are loaded late: there no memory is written and run. */
static int add_memory(scmp_filter_ctx filter, unsigned int need)
{
	int err = allow_without(filter, SCMP_SYS(mprotect), 2, PROT_EXEC);

	if (!err)
		err = allow_without(filter, SCMP_SYS(mmap), 2, PROT_EXEC);
	if (!err && need & (XVT_SANDBOX_NETWORKS | XVT_SANDBOX_RUNS))
		err = allow_without(filter, SCMP_SYS(mmap), 2, PROT_WRITE);
	return err;
}

/* Signals, limits and CPUs: its own. Signal 0 asks whether a process lives; children from before
 * get signals by descriptors from before. */
static int add_processes(scmp_filter_ctx filter)
{
	const unsigned int own[] = { (unsigned int)getpid(), 0 }, none[] = { 0 };
	int err = allow_values(filter, SCMP_SYS(kill), 0, own, 1);

	if (!err)
		err = allow_values(filter, SCMP_SYS(kill), 1, none, COUNT(none));
	if (!err)
		err = allow_values(filter, SCMP_SYS(tgkill), 0, own, 1);
	if (!err)
		err = allow_values(filter, SCMP_SYS(prlimit64), 0, own, COUNT(own));
	if (!err)
		err = add_own_settings(filter);
	return err ? err : add_threads(filter, SCMP_ACT_ERRNO(EAGAIN));
}

/* No option gives a descriptor of the process at the other end, as SO_PEERPIDFD does. */
static int add_options(scmp_filter_ctx filter)
{
	static const unsigned int get[] = { SO_ERROR,  SO_TYPE,	    SO_DOMAIN, SO_SNDBUF,
					    SO_RCVBUF, SO_PEERCRED, SO_LINGER, SO_ACCEPTCONN };
	static const unsigned int set[] = { SO_REUSEADDR, SO_KEEPALIVE, SO_LINGER,   SO_SNDBUF,
					    SO_RCVBUF,	  SO_SNDTIMEO,	SO_RCVTIMEO, SO_PASSCRED };
	int err = allow_values(filter, SCMP_SYS(getsockopt), 2, get, COUNT(get));

	return err ? err : allow_values(filter, SCMP_SYS(setsockopt), 2, set, COUNT(set));
}

static int add_recorder_arguments(scmp_filter_ctx filter, unsigned int need)
{
	static const unsigned int requests[] = { TCGETS, TIOCGWINSZ, FIONREAD, FIONBIO, FIOCLEX };
	/* For a lease, whose signal is for its own process. */
	static const unsigned int lease[] = { F_SETSIG, F_GETLEASE, F_SETLEASE };
	static const unsigned int itself[] = { 0 };
	int err = add_memory(filter, need);

	if (!err)
		err = add_modes(filter);
	if (!err)
		err = add_descriptors(filter);
	if (!err)
		err = allow_values(filter, SCMP_SYS(fcntl), 1, lease,
				   COUNT(lease) - (need & XVT_SANDBOX_ASKS ? 1 : 0));
	if (!err)
		err = allow_values(filter, SCMP_SYS(ioctl), 1, requests, COUNT(requests));
	if (!err)
		err = allow_values(filter, SCMP_SYS(sched_setaffinity), 0, itself, COUNT(itself));
	if (!err && !(need & (XVT_SANDBOX_NETWORKS | XVT_SANDBOX_RUNS)))
		err = add_options(filter);
	return err || need & XVT_SANDBOX_RUNS ? err : add_processes(filter);
}

#ifdef SCMP_ACT_NOTIFY
#define ASK SCMP_ACT_NOTIFY
#else
#define ASK SCMP_ACT_KILL_PROCESS /* an old header; not reached, see enter_asking() */
#endif

/* Of sockets: what is done with one of that family. */
static uint32_t to_family(unsigned int need, int family)
{
	if (family == AF_UNIX || family == AF_NETLINK)
		return SCMP_ACT_ALLOW;
	return need & XVT_SANDBOX_ASKS ? ASK : SCMP_ACT_KILL_PROCESS;
}

/* A recorder with an opener sends to what it is connected to: no address is named. */
static int add_local_sockets(scmp_filter_ctx filter)
{
	const struct scmp_arg_cmp stream[] = { SCMP_CMP(0, SCMP_CMP_EQ, AF_UNIX, 0),
					       SCMP_CMP(1, SCMP_CMP_MASKED_EQ, 0xf, SOCK_STREAM) };
	const struct scmp_arg_cmp nowhere = SCMP_CMP(4, SCMP_CMP_EQ, 0, 0);
	int err =
		lib.rule_add_array(filter, SCMP_ACT_ALLOW, SCMP_SYS(socket), COUNT(stream), stream);

	return err ? err
		   : lib.rule_add_array(filter, SCMP_ACT_ALLOW, SCMP_SYS(sendto), 1, &nowhere);
}

/*
 * Sockets: those of this host, and of the kernel (netlink), which the C library makes to resolve
 * names. Others kill the process; all are allowed where libvirt is reached by a network.
 */
static int add_sockets(scmp_filter_ctx filter, unsigned int need)
{
	const struct scmp_arg_cmp above = SCMP_CMP(0, SCMP_CMP_GT, AF_NETLINK, 0);
	const bool asks = need & XVT_SANDBOX_ASKS;
	int err = 0, family;

	if (need & (XVT_SANDBOX_NETWORKS | XVT_SANDBOX_RUNS))
		return lib.rule_add_array(filter, SCMP_ACT_ALLOW, SCMP_SYS(socket), 0, NULL);
	for (family = 0; !err && family <= AF_NETLINK; family++) {
		const struct scmp_arg_cmp one = SCMP_CMP(0, SCMP_CMP_EQ, (unsigned int)family, 0);

		if (!asks || to_family(need, family) != SCMP_ACT_ALLOW)
			err = lib.rule_add_array(filter, to_family(need, family), SCMP_SYS(socket),
						 1, &one);
	}
	if (!err)
		err = lib.rule_add_array(filter, to_family(need, AF_MAX), SCMP_SYS(socket), 1,
					 &above);
	return err || !asks ? err : add_local_sockets(filter);
}

static bool is_in(const int *calls, size_t count, int call)
{
	size_t i;

	for (i = 0; i < count; i++) {
		if (calls[i] == call)
			return true;
	}
	return false;
}

/* Allows these calls, but those that are asked for. */
static int allow_all(scmp_filter_ctx filter, unsigned int need, const int *calls, size_t count)
{
	int err = 0;
	size_t i;

	for (i = 0; !err && i < count; i++) {
		if (need & XVT_SANDBOX_ASKS &&
		    (is_in(asked, COUNT(asked), calls[i]) ||
		     is_in(asked_in_part, COUNT(asked_in_part), calls[i]) ||
		     is_in(fatal_when_asking, COUNT(fatal_when_asking), calls[i])))
			continue;
		err = lib.rule_add_array(filter, SCMP_ACT_ALLOW, calls[i], 0, NULL);
	}
	return err;
}

/* Does one of two things, by whether any of these bits is set in that argument. */
static int by_bit(scmp_filter_ctx filter, int call, unsigned int argument, uint64_t bit,
		  uint32_t with, uint32_t without)
{
	const struct scmp_arg_cmp set = SCMP_CMP(argument, SCMP_CMP_MASKED_EQ, bit, bit);
	const struct scmp_arg_cmp clear = SCMP_CMP(argument, SCMP_CMP_MASKED_EQ, bit, 0);
	int err = lib.rule_add_array(filter, with, call, 1, &set);

	return err ? err : lib.rule_add_array(filter, without, call, 1, &clear);
}

/* A look at a descriptor needs no right, and the C library's fstat() may be one. A lease does. */
static int add_asked_in_part(scmp_filter_ctx filter)
{
	const struct scmp_arg_cmp lease = IS(1, F_SETLEASE);
	int err = by_bit(filter, SCMP_SYS(newfstatat), 3, AT_EMPTY_PATH, SCMP_ACT_ALLOW, ASK);

	if (!err)
		err = by_bit(filter, SCMP_SYS(statx), 2, AT_EMPTY_PATH, SCMP_ACT_ALLOW, ASK);
	return err ? err : lib.rule_add_array(filter, ASK, SCMP_SYS(fcntl), 1, &lease);
}

/* Returns 0, or an error where the kernel or the library cannot do it. */
static int add_asked(scmp_filter_ctx filter)
{
	int err = add_all(filter, ASK, asked, COUNT(asked));

	if (!err)
		err = add_asked_in_part(filter);
	if (!err)
		err = add_all(filter, SCMP_ACT_ALLOW, allowed_when_asking,
			      COUNT(allowed_when_asking));
	return err ? err
		   : add_all(filter, SCMP_ACT_KILL_PROCESS, fatal_when_asking,
			     COUNT(fatal_when_asking));
}

static int add_fatal_to_recorder(scmp_filter_ctx filter, unsigned int need)
{
	const size_t first = need & XVT_SANDBOX_RUNS ? 2 : 0;
	int err = 0;
	size_t i;

	for (i = first; !err && i < COUNT(fatal_to_recorder); i++) {
		if (need & XVT_SANDBOX_ASKS &&
		    is_in(allowed_when_asking, COUNT(allowed_when_asking), fatal_to_recorder[i]))
			continue;
		err = lib.rule_add_array(filter, SCMP_ACT_KILL_PROCESS, fatal_to_recorder[i], 0,
					 NULL);
	}
	return err;
}

/* The rules of a recorder's filter. */
static int add_recorder(scmp_filter_ctx filter, unsigned int need)
{
	static const struct {
		const int *calls;
		size_t count;
	} lists[] = {
		{ always, COUNT(always) },	 { to_make, COUNT(to_make) },
		{ to_rename, COUNT(to_rename) }, { to_loop, COUNT(to_loop) },
		{ to_record, COUNT(to_record) }, { to_reach, COUNT(to_reach) },
		{ to_run, COUNT(to_run) },
	};
	const bool runs = need & XVT_SANDBOX_RUNS;
	const bool reaches = need & (XVT_SANDBOX_NETWORKS | XVT_SANDBOX_RUNS);
	int err = 0;
	size_t i;

	for (i = 0; !err && i < COUNT(lists) - !reaches - !runs; i++)
		err = allow_all(filter, need, lists[i].calls, lists[i].count);
	if (!err && need & XVT_SANDBOX_ASKS)
		err = add_asked(filter);
	if (!err)
		err = add_fatal_to_recorder(filter, need);
	if (!err)
		err = add_sockets(filter, need);
	return err ? err : add_recorder_arguments(filter, need);
}

static int listener = -1;

int xvt_sandbox_listener(void)
{
	const int fd = listener;

	listener = -1;
	return fd;
}

#if defined(SCMP_ACT_NOTIFY) && defined(SECCOMP_FILTER_FLAG_TSYNC_ESRCH)

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif

/* Installs the program in `fd`. Returns 0 with the listener, or -errno. */
static int install(int fd, struct sock_filter *code, size_t size)
{
	struct sock_fprog program = { .len = (unsigned short)(size / sizeof(*code)),
				      .filter = code };
	unsigned long flags = SECCOMP_FILTER_FLAG_TSYNC | SECCOMP_FILTER_FLAG_TSYNC_ESRCH |
			      SECCOMP_FILTER_FLAG_NEW_LISTENER |
			      SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;

	if (pread(fd, code, size, 0) != (ssize_t)size)
		return -EIO;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	/* A call that a signal interrupts would be made again, when it may have been done. */
	listener = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
	if (listener < 0 && errno == EINVAL) { /* before Linux 5.19 */
		flags &= ~SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
		listener = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
	}
	return listener < 0 ? -errno : 0;
}

/* libseccomp has no name for all of these flags. */
static int load_asking(scmp_filter_ctx filter)
{
	int fd = memfd_create("filter", MFD_CLOEXEC), err = fd < 0 ? -errno : 0;
	struct sock_filter *code = NULL;
	struct stat st;

	if (!err)
		err = lib.export_bpf(filter, fd);
	if (!err && fstat(fd, &st))
		err = -errno;
	if (!err)
		code = malloc((size_t)st.st_size);
	if (!err)
		err = code ? install(fd, code, (size_t)st.st_size) : -ENOMEM;
	free(code);
	if (fd >= 0)
		close(fd);
	return err;
}

#else

static int load_asking(scmp_filter_ctx filter)
{
	(void)filter;
	return -EOPNOTSUPP;
}

#endif

static int load(scmp_filter_ctx filter, unsigned int need)
{
	return need & XVT_SANDBOX_ASKS ? load_asking(filter) : lib.load(filter);
}

int xvt_sandbox_enter(unsigned int need)
{
	static bool entered;
	scmp_filter_ctx filter;
	int err = xvt_sandbox_check();

	if (err)
		return err;
	/* Of several filters the kernel takes the strictest answer. */
	filter = lib.init(entered ? SCMP_ACT_ALLOW : SCMP_ACT_ERRNO(EPERM));
	if (!filter)
		return -ENOMEM;
	err = lib.attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1); /* threads of the loop, too */
	/* Of another architecture's calls: not the thread alone, without which others would wait.
	 */
	if (!err)
		err = lib.attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
	if (!err && need & XVT_SANDBOX_RECORDS)
		err = add_recorder(filter, need);
	else if (!err && !entered)
		err = add_rules(filter, need);
	else if (!err && !(need & XVT_SANDBOX_OPENS))
		err = add_opened(filter, need);
	if (!err)
		err = load(filter, need);
	lib.release(filter);
	entered |= !err;
	return err;
}

#endif /* XVT_SECCOMP_SONAME */
