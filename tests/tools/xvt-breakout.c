// SPDX-License-Identifier: GPL-2.0
/*
 * xvt-breakout.c - xvtrace with an attacker inside the parser, and without one of its walls, to see
 * that it is this wall which stops this attack (tests/cli/t_breakout.sh).
 *
 *   XVT_BREAKOUT=HOW XVT_BREAKOUT_AT=STAGE [XVT_BREAKOUT_ARG=...] [XVT_BREAKOUT_WITHOUT="WALL..."]
 *   xvt-breakout COMMAND...
 *
 * The attack is made by the first checksum after the process has entered its sandbox for the
 * STAGE-th time. Says "escaped" if it could, "held" if not, and ends.
 *
 * WALL is the name of a system call: no rule of a filter restricts it; or one of the functions
 * below that begin with __wrap_, which then do nothing.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/library.h"
#include "rights/isolate.h"
#include "rights/limits.h"
#include "rights/own_user.h"
#include "rights/rules.h"
#include "rights/sandbox.h"
#include "trace/crc32c.h"

#ifdef XVT_SECCOMP_SONAME
#include <seccomp.h>
#endif

#define HIGH 0xffffffff00000000ull /* the kernel reads an int */

static bool is_without(const char *wall)
{
	const char *at = getenv("XVT_BREAKOUT_WITHOUT");
	const size_t len = strlen(wall);

	for (; at && *at; at += strcspn(at, " "), at += *at == ' ') {
		if (!strncmp(at, wall, len) && (at[len] == ' ' || !at[len]))
			return true;
	}
	return false;
}

/* ------------------------------------------------------------------ walls: the filter */

int __real_xvt_library_load(const char *name, const struct xvt_symbol *symbols,
			    const char **missing);
int __wrap_xvt_library_load(const char *name, const struct xvt_symbol *symbols,
			    const char **missing);

#ifdef XVT_SECCOMP_SONAME

static int (*add_array)(scmp_filter_ctx, uint32_t, int, unsigned int, const struct scmp_arg_cmp *);
static int (*resolve)(const char *name);

/* Allows what is not to be restricted, once for each filter. */
static void allow(scmp_filter_ctx filter)
{
	char walls[256], *rest = walls, *wall;
	const char *without = getenv("XVT_BREAKOUT_WITHOUT");

	snprintf(walls, sizeof(walls), "%s", without ? without : "");
	while ((wall = strsep(&rest, " "))) {
		if (*wall && resolve(wall) != __NR_SCMP_ERROR)
			add_array(filter, SCMP_ACT_ALLOW, resolve(wall), 0, NULL);
	}
}

static bool is_call(int call)
{
	char walls[256], *rest = walls, *wall;
	const char *without = getenv("XVT_BREAKOUT_WITHOUT");

	snprintf(walls, sizeof(walls), "%s", without ? without : "");
	while ((wall = strsep(&rest, " "))) {
		if (*wall && resolve(wall) == call)
			return true;
	}
	return false;
}

static int add_others(scmp_filter_ctx filter, uint32_t action, int call, unsigned int count,
		      const struct scmp_arg_cmp *arguments)
{
	static scmp_filter_ctx begun;

	if (begun != filter) {
		begun = filter;
		allow(filter);
	}
	return is_call(call) ? 0 : add_array(filter, action, call, count, arguments);
}

int __wrap_xvt_library_load(const char *name, const struct xvt_symbol *symbols,
			    const char **missing)
{
	void *shim = (void *)add_others;
	int err = __real_xvt_library_load(name, symbols, missing);
	void *library = err ? NULL : dlopen(name, RTLD_NOW);

	for (; library && symbols->name; symbols++) {
		if (strcmp(symbols->name, "seccomp_rule_add_array") != 0)
			continue;
		memcpy(&add_array, symbols->at, sizeof(add_array));
		memcpy(symbols->at, &shim, sizeof(shim));
		resolve = (int (*)(const char *))dlsym(library, "seccomp_syscall_resolve_name");
	}
	return err;
}

#else

int __wrap_xvt_library_load(const char *name, const struct xvt_symbol *symbols,
			    const char **missing)
{
	return __real_xvt_library_load(name, symbols, missing);
}

#endif /* XVT_SECCOMP_SONAME */

/* ------------------------------------------------------------------ walls: opener and limits */

bool __real_xvt_rules_find(const struct xvt_rules *rules, const char *path, unsigned int rights,
			   struct xvt_place *place);
bool __wrap_xvt_rules_find(const struct xvt_rules *rules, const char *path, unsigned int rights,
			   struct xvt_place *place);

static void name_place(struct xvt_place *place, const char *path)
{
	const char *slash = strrchr(path, '/');

	snprintf(place->folder, sizeof(place->folder), "%.*s", (int)(slash - path), path);
	snprintf(place->rest, sizeof(place->rest), "%s", slash + 1);
	place->resolve = 0;
}

bool __wrap_xvt_rules_find(const struct xvt_rules *rules, const char *path, unsigned int rights,
			   struct xvt_place *place)
{
	bool found = __real_xvt_rules_find(rules, path, rights, place);

	if (*path == '@' || (!is_without("xvt_rules_find") && !is_without("xvt_place_open")))
		return found;
	if (found || is_without("xvt_rules_find"))
		name_place(place, path);
	return found || is_without("xvt_rules_find");
}

int __real_xvt_place_open(const struct xvt_place *place, int flags, mode_t mode);
int __wrap_xvt_place_open(const struct xvt_place *place, int flags, mode_t mode);

int __wrap_xvt_place_open(const struct xvt_place *place, int flags, mode_t mode)
{
	char path[2 * PATH_MAX];
	int fd;

	if (!is_without("xvt_place_open"))
		return __real_xvt_place_open(place, flags, mode);
	snprintf(path, sizeof(path), "%s/%s", place->folder, place->rest);
	fd = open(path, flags, mode);
	return fd < 0 ? -errno : fd;
}

int __real_xvt_public_open(const char *path, int flags);
int __wrap_xvt_public_open(const char *path, int flags);

int __wrap_xvt_public_open(const char *path, int flags)
{
	int fd;

	if (!is_without("xvt_public_open"))
		return __real_xvt_public_open(path, flags);
	fd = open(path, flags);
	return fd < 0 ? -errno : fd;
}

bool __real_xvt_public_place(const char *path);
bool __wrap_xvt_public_place(const char *path);

bool __wrap_xvt_public_place(const char *path)
{
	return is_without("xvt_public_place") || __real_xvt_public_place(path);
}

int __real_xvt_capabilities_keep(uint64_t keep);
int __wrap_xvt_capabilities_keep(uint64_t keep);

int __wrap_xvt_capabilities_keep(uint64_t keep)
{
	return is_without("xvt_capabilities_keep") ? 0 : __real_xvt_capabilities_keep(keep);
}

unsigned int __real_xvt_isolate(struct xvt_isolated *was);
unsigned int __wrap_xvt_isolate(struct xvt_isolated *was);

unsigned int __wrap_xvt_isolate(struct xvt_isolated *was)
{
	return is_without("xvt_isolate") ? 0 : __real_xvt_isolate(was);
}

/* Its parts, one by one. */
int __real_unshare(int flags);
int __wrap_unshare(int flags);
int __real_chroot(const char *path);
int __wrap_chroot(const char *path);

int __wrap_unshare(int flags)
{
	if (is_without("net_namespace"))
		flags &= ~CLONE_NEWNET;
	if (is_without("ipc_namespace"))
		flags &= ~CLONE_NEWIPC;
	return flags ? __real_unshare(flags) : 0;
}

int __wrap_chroot(const char *path)
{
	return is_without("empty_root") ? 0 : __real_chroot(path);
}

int __real_xvt_own_user_become(void);
int __wrap_xvt_own_user_become(void);

int __wrap_xvt_own_user_become(void)
{
	return is_without("xvt_own_user_become") ? 0 : __real_xvt_own_user_become();
}

void __real_xvt_limit_memory(uint64_t bytes);
void __wrap_xvt_limit_memory(uint64_t bytes);

void __wrap_xvt_limit_memory(uint64_t bytes)
{
	if (!is_without("xvt_limit_memory"))
		__real_xvt_limit_memory(bytes);
}

void __real_xvt_limit_files(void);
void __wrap_xvt_limit_files(void);

void __wrap_xvt_limit_files(void)
{
	if (!is_without("xvt_limit_files"))
		__real_xvt_limit_files();
}

void __real_xvt_limit_files_to_open(void);
void __wrap_xvt_limit_files_to_open(void);

void __wrap_xvt_limit_files_to_open(void)
{
	if (!is_without("xvt_limit_files_to_open"))
		__real_xvt_limit_files_to_open();
}

/* ------------------------------------------------------------------ what is there before */

/* Of processes that the attacker is no part of: what a library or a manager may have left. */
static struct {
	int datagram; /* connected to nothing that listens */
	int stream;   /* connected to `victim` */
	pid_t victim;
	int accomplice; /* the owner of a folder, outside: a byte makes it replace what is there */
} before;

/* Waits for a byte; then moves $XVT_BREAKOUT_ARG away, and makes a link to what is there. */
static void be_accomplice(int fd)
{
	const char *name = getenv("XVT_BREAKOUT_ARG"), *target = getenv("XVT_BREAKOUT_TARGET");
	char byte, moved[PATH_MAX];

	if (read(fd, &byte, 1) == 1 && name && target) {
		snprintf(moved, sizeof(moved), "%s.moved", name);
		if (!rename(name, moved) && !symlink(target, name))
			(void)!write(fd, "", 1);
	}
	_exit(0);
}

__attribute__((constructor)) static void prepare(void)
{
	const pid_t parent = getpid();
	int ends[2], other[2];
	char byte;

	if (!getenv("XVT_BREAKOUT") || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, other))
		return;
	before.datagram = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	before.stream = ends[0];
	before.accomplice = other[0];
	before.victim = fork();
	if (!before.victim) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent || write(other[1], "", 1) != 1)
			_exit(0);
		be_accomplice(other[1]);
	}
	/* From here on it ends with this process, also when an attack has stopped it. */
	if (before.victim > 0 && read(other[0], &byte, 1) != 1)
		_exit(1);
}

/* ------------------------------------------------------------------ attacks */

/* Whether the kernel has got as far as to look at the request itself. */
static int reached(long result)
{
	return result < 0 && errno == EPERM ? -1 : 0;
}

static int on_terminal(unsigned long request)
{
	return reached(syscall(SYS_ioctl, STDIN_FILENO, request, "x"));
}

static int signal_owner(unsigned long set)
{
	return (int)syscall(SYS_fcntl, before.stream, set, before.victim);
}

static int by_pidfd(void)
{
	int fd = (int)syscall(SYS_pidfd_open, before.victim, 0);

	return fd < 0 ? fd : (int)syscall(SYS_pidfd_send_signal, fd, SIGSTOP, NULL, 0);
}

/* SO_PEERPIDFD: the peer here is this process, which is enough to see whether it is allowed. */
static int peer_pidfd(void)
{
	int fd;
	socklen_t len = sizeof(fd);

	return reached(getsockopt(before.stream, SOL_SOCKET, 77, &fd, &len));
}

static int limit_victim(uint64_t high)
{
	struct rlimit none = { 0, 0 };

	return (int)syscall(SYS_prlimit64, (uint64_t)before.victim | high, RLIMIT_NOFILE, &none,
			    NULL);
}

static int move_victim(void)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(0, &one);
	return sched_setaffinity(before.victim, sizeof(one), &one);
}

/* Sends by a datagram socket to the socket XVT_BREAKOUT_ARG. */
static int datagram(const char *how, int sock)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	struct iovec text = { "injected", 8 };
	struct mmsghdr m = { .msg_hdr = { .msg_name = &to,
					  .msg_namelen = sizeof(to),
					  .msg_iov = &text,
					  .msg_iovlen = 1 } };

	snprintf(to.sun_path, sizeof(to.sun_path), "%s", getenv("XVT_BREAKOUT_ARG"));
	if (!strcmp(how, "sendto"))
		return (int)sendto(sock, "injected", 8, 0, (struct sockaddr *)&to, sizeof(to));
	if (!strcmp(how, "sendmmsg"))
		return sendmmsg(sock, &m, 1, 0);
	return (int)sendmsg(sock, &m.msg_hdr, 0);
}

static int new_datagram(void)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, ends))
		return -1;
	return datagram("sendmsg", ends[0]);
}

/* Sends a descriptor over a socket that is open. */
static int pass_descriptor(void)
{
	char room[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec text = { "x", 1 };
	struct msghdr h = { .msg_iov = &text,
			    .msg_iovlen = 1,
			    .msg_control = room,
			    .msg_controllen = sizeof(room) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&h);
	const int fd = STDERR_FILENO;

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	return (int)sendmsg(before.accomplice, &h, 0);
}

static int map_one(int prot, int flags, int fd)
{
	void *at = mmap(NULL, 4096, prot, flags, fd, 0);

	return at == MAP_FAILED ? -1 : 0;
}

static int protect_executable(void)
{
	void *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return at == MAP_FAILED ? -1 : mprotect(at, 4096, PROT_READ | PROT_EXEC);
}

/* Its own output, which it may write. */
static int own_code(const char *path)
{
	int fd = open(path, O_RDWR);

	return fd < 0 ? -1 : map_one(PROT_READ | PROT_EXEC, MAP_PRIVATE, fd);
}

/* A region, or its folder, is replaced by a link, by its owner. */
static int open_replaced(const char *rest)
{
	char path[PATH_MAX], byte = 0;

	if (write(before.accomplice, &byte, 1) != 1 || read(before.accomplice, &byte, 1) != 1)
		_exit(3);
	snprintf(path, sizeof(path), "%s%s", getenv("XVT_BREAKOUT_ARG"), rest);
	return open(path, O_RDWR);
}

static int by_fork(long pid)
{
	if (!pid)
		_exit(0);
	return (int)pid;
}

static int watch_folder(const char *path)
{
	int fd = inotify_init1(IN_CLOEXEC);

	return fd < 0 ? -1 : inotify_add_watch(fd, path, IN_ALL_EVENTS);
}

static int read_victim(void)
{
	char byte;
	struct iovec mine = { &byte, 1 }, theirs = { &before, 1 };

	return (int)process_vm_readv(before.victim, &mine, 1, &theirs, 1, 0);
}

static int take_memory(void)
{
	void *at = mmap(NULL, 64ull << 30, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return at == MAP_FAILED ? -1 : 0;
}

static int take_files(void)
{
	struct rlimit l = { 4096, 4096 };

	return setrlimit(RLIMIT_NOFILE, &l) ? -1 : fcntl(STDERR_FILENO, F_DUPFD, 4000);
}

static int connect_to(const char *path)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(to.sun_path, sizeof(to.sun_path), "%s", path);
	return connect(fd, (struct sockaddr *)&to, sizeof(to));
}

/* Servers whose names are in no file, but in their network. */
static socklen_t name_abstract(struct sockaddr_un *to, const char *name)
{
	*to = (struct sockaddr_un){ .sun_family = AF_UNIX };
	snprintf(to->sun_path + 1, sizeof(to->sun_path) - 1, "%s", name);
	return (socklen_t)(sizeof(sa_family_t) + 1 + strlen(name));
}

static int connect_abstract(const char *name)
{
	struct sockaddr_un to;
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	return connect(fd, (struct sockaddr *)&to, name_abstract(&to, name));
}

static int send_abstract(const char *name)
{
	struct sockaddr_un to;
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, ends))
		return -1;
	return (int)sendto(ends[0], "injected", 8, 0, (struct sockaddr *)&to,
			   name_abstract(&to, name));
}

static int bind_to(const char *path)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(to.sun_path, sizeof(to.sun_path), "%s", path);
	return bind(fd, (struct sockaddr *)&to, sizeof(to));
}

/* Learns whether there is a file. */
static int exists(int result, int error)
{
	return result < 0 && errno == error ? 0 : -1;
}

static int attack(const char *how, const char *arg)
{
	struct io_uring_params p = { 0 };
	struct stat st;
	char buf[64];

#define ATTACK(name, does)      \
	if (!strcmp(how, name)) \
	return (int)(does)
	ATTACK("tiocsti", on_terminal(TIOCSTI));
	ATTACK("tiocsti high", on_terminal(HIGH | TIOCSTI));
	ATTACK("tioclinux high", on_terminal(HIGH | TIOCLINUX));
	ATTACK("tiocspgrp high", on_terminal(HIGH | TIOCSPGRP));
	ATTACK("fiosetown", reached(syscall(SYS_ioctl, before.stream, FIOSETOWN, &before.victim)));
	ATTACK("kill", kill(before.victim, SIGSTOP));
	ATTACK("kill high", syscall(SYS_kill, HIGH | (uint64_t)before.victim, SIGSTOP));
	ATTACK("tgkill", syscall(SYS_tgkill, before.victim, before.victim, SIGSTOP));
	ATTACK("sigqueue", sigqueue(before.victim, SIGSTOP, (union sigval){ 0 }));
	ATTACK("pidfd", by_pidfd());
	ATTACK("peer pidfd", peer_pidfd());
	ATTACK("setown", signal_owner(F_SETOWN));
	ATTACK("setown high", signal_owner(HIGH | F_SETOWN));
	ATTACK("async", fcntl(before.stream, F_SETFL, O_ASYNC));
	ATTACK("prlimit", limit_victim(0));
	ATTACK("prlimit high", limit_victim(HIGH));
	ATTACK("affinity", move_victim());
	ATTACK("new datagram", new_datagram());
	ATTACK("sendmsg", datagram(how, before.datagram));
	ATTACK("sendmmsg", datagram(how, before.datagram));
	ATTACK("sendto", datagram(how, before.datagram));
	ATTACK("descriptor", pass_descriptor());
	ATTACK("own code", own_code(arg));
	ATTACK("exec", map_one(PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1));
	ATTACK("wx", map_one(PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1));
	ATTACK("protect", protect_executable());
	ATTACK("replaced file", open_replaced(""));
	ATTACK("replaced folder", open_replaced("/g"));
	ATTACK("fork", by_fork(fork()));
	ATTACK("vfork", by_fork(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)));
	ATTACK("inotify", watch_folder(arg));
	ATTACK("xattr", lgetxattr(arg, "user.x", buf, sizeof(buf)) < 0 && errno == EPERM ? -1 : 0);
	ATTACK("made", exists(mkdir(arg, 0700), EEXIST));
	ATTACK("not there", exists(open(arg, O_RDONLY), ENOENT));
	ATTACK("look", stat(arg, &st));
	ATTACK("run", execl("/bin/sh", "sh", "-c", "echo escaped >&2", NULL));
	ATTACK("ptrace", syscall(SYS_ptrace, 0x4206, before.victim, 0, 0)); /* PTRACE_SEIZE */
	ATTACK("peek", read_victim());
	ATTACK("unshare", unshare(CLONE_NEWUTS));
	ATTACK("chroot", chroot("/"));
	ATTACK("ring", syscall(SYS_io_uring_setup, 4, &p));
	ATTACK("filter", reached(syscall(SYS_seccomp, 1, 0, NULL))); /* SECCOMP_SET_MODE_FILTER */
	ATTACK("tracer", prctl(PR_SET_PTRACER, before.victim, 0, 0, 0) ? reached(-1) : 0);
	ATTACK("inet", socket(AF_INET, SOCK_STREAM, 0));
	ATTACK("connect", connect_to(arg));
	ATTACK("abstract", connect_abstract(arg));
	ATTACK("queue", msgget((key_t)atoi(arg), 0600));
	ATTACK("segment", shmget((key_t)atoi(arg), 0, 0600));
	ATTACK("semaphore", semget((key_t)atoi(arg), 0, 0600));
	ATTACK("abstract datagram", send_abstract(arg));
	ATTACK("bind", bind_to(arg));
	ATTACK("read", open(arg, O_RDONLY));
	ATTACK("write", open(arg, O_RDWR));
	ATTACK("create", creat(arg, 0600));
	ATTACK("remove", unlink(arg));
	ATTACK("rename", rename(arg, getenv("XVT_BREAKOUT_TARGET")));
	ATTACK("link", link(arg, getenv("XVT_BREAKOUT_TARGET")));
	ATTACK("symlink", symlink("/", arg));
	ATTACK("mode", chmod(arg, 0777));
	ATTACK("suid", fchmod(STDERR_FILENO, S_ISUID | S_IRUSR | S_IWUSR));
	ATTACK("root", setresuid(0, 0, 0));
	ATTACK("mode of stderr", fchmod(STDERR_FILENO, 0666));
	ATTACK("x32", syscall(0x40000000 + SYS_getpid));
	ATTACK("memory", take_memory());
	ATTACK("files", take_files());
	_exit(4);
}

/* ------------------------------------------------------------------ the way in */

static int stage;

int __real_xvt_sandbox_enter(unsigned int need);
int __wrap_xvt_sandbox_enter(unsigned int need);
uint32_t __real_xvt_crc32c(uint32_t crc, const void *bytes, size_t len);
uint32_t __wrap_xvt_crc32c(uint32_t crc, const void *bytes, size_t len);

int __wrap_xvt_sandbox_enter(unsigned int need)
{
	stage++;
	return __real_xvt_sandbox_enter(need);
}

uint32_t __wrap_xvt_crc32c(uint32_t crc, const void *bytes, size_t len)
{
	const char *how = getenv("XVT_BREAKOUT"), *at = getenv("XVT_BREAKOUT_AT"),
		   *arg = getenv("XVT_BREAKOUT_ARG");
	static bool done;

	if (how && at && stage == atoi(at) && !done) {
		done = true;
		if (attack(how, arg ? arg : "") < 0)
			(void)!write(STDERR_FILENO, "held\n", 5);
		else
			(void)!write(STDERR_FILENO, "escaped\n", 8);
		_exit(0);
	}
	return __real_xvt_crc32c(crc, bytes, len);
}
