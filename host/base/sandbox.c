// SPDX-License-Identifier: GPL-2.0
/* sandbox.c - the only file that includes libseccomp, which the first use loads. */
#define _GNU_SOURCE
#include "base/sandbox.h"

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

#else

#include <fcntl.h>
#include <sched.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "base/library.h"

#define SECCOMP_FUNCTIONS(F) F(init) F(release) F(load) F(attr_set) F(rule_add_array)
#define POINTER(name)	     __typeof__(&seccomp_##name) name;
static struct {
	SECCOMP_FUNCTIONS(POINTER)
} lib;

static const struct xvt_symbol symbols[] = {
#define SYMBOL(name)	     { "seccomp_" #name, &lib.name },
	SECCOMP_FUNCTIONS(SYMBOL){ NULL, NULL }
};

static const int always[] = {
	SCMP_SYS(brk),		 SCMP_SYS(clock_getres),
	SCMP_SYS(clock_gettime), SCMP_SYS(clock_nanosleep),
	SCMP_SYS(close),	 SCMP_SYS(copy_file_range),
	SCMP_SYS(dup),		 SCMP_SYS(dup2),
	SCMP_SYS(dup3),		 SCMP_SYS(exit),
	SCMP_SYS(exit_group),	 SCMP_SYS(fadvise64),
	SCMP_SYS(fallocate),	 SCMP_SYS(fcntl),
	SCMP_SYS(flock),	 SCMP_SYS(fstat),
	SCMP_SYS(fstatfs),	 SCMP_SYS(fsync),
	SCMP_SYS(ftruncate),	 SCMP_SYS(futex),
	SCMP_SYS(getpid),	 SCMP_SYS(getrandom),
	SCMP_SYS(getrusage),	 SCMP_SYS(gettid),
	SCMP_SYS(gettimeofday),	 SCMP_SYS(lseek),
	SCMP_SYS(madvise),	 SCMP_SYS(mremap),
	SCMP_SYS(munmap),	 SCMP_SYS(nanosleep),
	SCMP_SYS(newfstatat),	 SCMP_SYS(poll),
	SCMP_SYS(ppoll),	 SCMP_SYS(pread64),
	SCMP_SYS(preadv),	 SCMP_SYS(pwrite64),
	SCMP_SYS(pwritev),	 SCMP_SYS(read),
	SCMP_SYS(readv),	 SCMP_SYS(restart_syscall),
	SCMP_SYS(rt_sigaction),	 SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(rt_sigreturn),	 SCMP_SYS(sched_yield),
	SCMP_SYS(sendfile),	 SCMP_SYS(setitimer),
	SCMP_SYS(sigaltstack),	 SCMP_SYS(splice),
	SCMP_SYS(statx),	 SCMP_SYS(sysinfo),
	SCMP_SYS(time),		 SCMP_SYS(uname),
	SCMP_SYS(wait4),	 SCMP_SYS(write),
	SCMP_SYS(writev),
};

/* seccomp and prctl: for a later filter, which comes on top of this one. */
static const int while_opening[] = { SCMP_SYS(seccomp), SCMP_SYS(prctl) };

static const int to_make[] = {
	SCMP_SYS(faccessat), SCMP_SYS(fchmod),	SCMP_SYS(getdents64), SCMP_SYS(linkat),
	SCMP_SYS(mkdir),     SCMP_SYS(mkdirat), SCMP_SYS(open),	      SCMP_SYS(openat),
};

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

#define COUNT(array)	     (sizeof(array) / sizeof((array)[0]))

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

static int add_arguments(scmp_filter_ctx filter)
{
	struct scmp_arg_cmp get = SCMP_CMP(1, SCMP_CMP_EQ, TCGETS, 0);
	struct scmp_arg_cmp size = SCMP_CMP(1, SCMP_CMP_EQ, TIOCGWINSZ, 0);
	int err = allow_without(filter, SCMP_SYS(mmap), 2, PROT_EXEC);

	if (!err)
		err = allow_without(filter, SCMP_SYS(mprotect), 2, PROT_EXEC);
	if (!err)
		err = lib.rule_add_array(filter, SCMP_ACT_ALLOW, SCMP_SYS(ioctl), 1, &get);
	if (!err)
		err = lib.rule_add_array(filter, SCMP_ACT_ALLOW, SCMP_SYS(ioctl), 1, &size);
	return err;
}

/* Threads and no processes. The C library takes clone() where there is no clone3(), whose flags a
 * filter cannot see. */
static int add_loop(scmp_filter_ctx filter)
{
	struct scmp_arg_cmp thread = SCMP_CMP(0, SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD);
	struct scmp_arg_cmp process = SCMP_CMP(0, SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0);
	int err = add_all(filter, SCMP_ACT_ALLOW, to_loop, COUNT(to_loop));

	if (!err)
		err = lib.rule_add_array(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0, NULL);
	if (!err)
		err = lib.rule_add_array(filter, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1, &thread);
	if (!err)
		err = lib.rule_add_array(filter, SCMP_ACT_KILL_PROCESS, SCMP_SYS(clone), 1,
					 &process);
	return err;
}

/* What is fatal when all files are open. */
static int add_opened(scmp_filter_ctx filter, unsigned int need)
{
	int err = add_all(filter, SCMP_ACT_KILL_PROCESS, fatal_opened, COUNT(fatal_opened));

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
	if (!err && need & (XVT_SANDBOX_RENAMES | XVT_SANDBOX_MAKES))
		err = add_all(filter, SCMP_ACT_ALLOW, to_rename, COUNT(to_rename));
	if (!err && need & XVT_SANDBOX_MAKES)
		return add_all(filter, SCMP_ACT_ALLOW, to_make, COUNT(to_make));
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
	if (!err && !entered)
		err = add_rules(filter, need);
	else if (!err && !(need & XVT_SANDBOX_OPENS))
		err = add_opened(filter, need);
	if (!err)
		err = lib.load(filter);
	lib.release(filter);
	entered |= !err;
	return err;
}

#endif /* XVT_SECCOMP_SONAME */
