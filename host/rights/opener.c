// SPDX-License-Identifier: GPL-2.0
/*
 * opener.c - see opener.h. A path is copied from the asking thread's memory once, and the copy is
 * judged and opened here; the asking thread gets the descriptor, and its own call is never made.
 * Only a look at a file (stat(), access(), readlink()) that no rule names, and that not every user
 * may read, is left to the asking thread, which then does it by its own rights.
 */
#define _GNU_SOURCE
#include "rights/opener.h"

#include <errno.h>
#include <stdlib.h>

#if !__has_include(<linux/openat2.h>)
#define XVT_NO_OPENER
#else
#include <linux/seccomp.h>
#ifndef SECCOMP_IOCTL_NOTIF_ADDFD
#define XVT_NO_OPENER
#endif
#endif

#ifdef XVT_NO_OPENER

int xvt_opener_start(struct xvt_opener **opener, const struct xvt_opener_ops *ops, void *arg)
{
	(void)opener;
	(void)ops;
	(void)arg;
	return -ENOTSUP;
}

int xvt_opener_rules(struct xvt_opener *opener, const struct xvt_rules *rules)
{
	(void)opener;
	(void)rules;
	return -ENOTSUP;
}

int xvt_opener_serve(struct xvt_opener *opener, int listener)
{
	(void)opener;
	(void)listener;
	return -ENOTSUP;
}

pid_t *xvt_opener_pid(struct xvt_opener *opener)
{
	(void)opener;
	return NULL;
}

int xvt_opener_watch(struct xvt_opener *opener)
{
	(void)opener;
	return -ENOTSUP;
}

bool xvt_opener_end(struct xvt_opener *opener)
{
	(void)opener;
	return true;
}

#else

#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/time.h"
#include "base/vec.h"

#ifndef SECCOMP_ADDFD_FLAG_SEND
#define SECCOMP_ADDFD_FLAG_SEND (1UL << 1)
#endif

#ifndef SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP
#define SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP (1UL << 0)
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS	   _IOW('!', 4, __u64)
#endif

#ifndef SECCOMP_USER_NOTIF_FLAG_CONTINUE
#define SECCOMP_USER_NOTIF_FLAG_CONTINUE (1UL << 0)
#endif

#define CTL	  3 /* the opener's end of the socket */
/* An opener is asked this often whether it lives, and has XVT_CHILD_STILL_MS: some disks let an
 * open wait. A signal that is to end the recorder waits for that, too, if an open does. */
#define ASK_MS	  2000u
/* What do_call() returns beside 0 and -errno. */
#define FORBIDDEN XVT_NOT_PUBLIC
#define ITSELF	  (XVT_NOT_PUBLIC + 1) /* the asking thread does it, by its own rights */
#define DENIED	  (XVT_NOT_PUBLIC + 2) /* an error, which is told: no attacker gains by asking */

struct xvt_opener {
	pid_t pid;
	int sock;
	int pidfd; /* of base/child.h */
	bool watched;
	atomic_bool stands_still; /* a thread may wait for it, and the watcher, too */
	pthread_t watcher;
	const struct xvt_opener_ops *ops;
	void *arg;
};

/* What the parent sends. */
enum message_kind { PROBE, RULE, LISTENER, PING, END, SIGNAL };
struct message {
	enum message_kind kind;
	int fd; /* the parent's number of a descriptor */
	pid_t pid;
	int signal; /* for that process */
	struct xvt_rule rule;
};

/* The opener's own state. */
struct server {
	const struct xvt_opener_ops *ops;
	void *arg;
	struct xvt_rules rules;
	pid_t parent;
	int parent_fd;	/* its pidfd */
	int listener;	/* -1: none */
	bool closed;	/* the parent's end of the socket is */
	bool no_memory; /* rules were left out; the parent is told when it needs them */
};

/* A call that waits for its answer. */
struct call {
	const struct server *s;
	uint64_t id;
	pid_t tid;
	int nr;
	const __u64 *args;
	const char *what;
	char path[PATH_MAX]; /* what it is about */
	int fd;		     /* -1, or the descriptor to hand over */
	int fd_flags;
	long value;   /* what the call returns instead of a descriptor */
	uint64_t to;  /* where in the asking thread's memory its result is written */
	size_t bytes; /* of `result`; 0: none */
	union {
		struct stat stat;
		struct statx statx;
		struct statfs statfs;
		char link[PATH_MAX];
	} result;
};

/* --- the memory of the asking thread --- */

static ssize_t peek(pid_t tid, uint64_t address, void *to, size_t len)
{
	struct iovec mine = { to, len }, theirs = { (void *)(uintptr_t)address, len };
	ssize_t n = process_vm_readv(tid, &mine, 1, &theirs, 1, 0);

	return n < 0 ? -errno : n;
}

/* Returns 0 or -errno. */
static int poke(pid_t tid, uint64_t address, const void *from, size_t len)
{
	struct iovec mine = { (void *)from, len }, theirs = { (void *)(uintptr_t)address, len };
	ssize_t n = process_vm_writev(tid, &mine, 1, &theirs, 1, 0);

	if (n < 0)
		return -errno;
	return (size_t)n == len ? 0 : -EFAULT;
}

/* Copies a string, at most up to the end of a page at once. Returns 0 or -errno. */
static int peek_text(pid_t tid, uint64_t address, char text[PATH_MAX])
{
	const size_t page = 4096;
	size_t got = 0;

	while (got < PATH_MAX) {
		size_t most = page - (address + got) % page;
		ssize_t n;

		if (most > PATH_MAX - got)
			most = PATH_MAX - got;
		n = peek(tid, address + got, text + got, most);
		if (n <= 0)
			return n ? (int)n : -EFAULT;
		if (memchr(text + got, '\0', (size_t)n))
			return 0;
		got += (size_t)n;
	}
	return -ENAMETOOLONG;
}

/* The folder that a relative path of a call starts from. Returns 0 or -errno. */
static int base_of(const struct call *c, int dirfd, char folder[PATH_MAX])
{
	static const char gone[] = " (deleted)";
	char link[64];
	ssize_t n;

	/* The asking process may have another root, and then has no folder; both began in this one.
	 */
	if (dirfd == AT_FDCWD)
		snprintf(link, sizeof(link), "/proc/self/cwd");
	else
		snprintf(link, sizeof(link), "/proc/%d/fd/%d", c->tid, dirfd);
	n = readlink(link, folder, PATH_MAX - 1);
	if (n < 0)
		return errno == ENOENT ? -EBADF : -errno;
	folder[n] = '\0';
	if (folder[0] != '/')
		return -ENOTDIR;
	if ((size_t)n >= sizeof(gone) && !strcmp(folder + n - (ssize_t)(sizeof(gone) - 1), gone))
		return -ENOENT;
	return 0;
}

/* Copies the path of a call and joins it with its folder. Returns 0 or -errno. */
static int path_of(const struct call *c, int dirfd, uint64_t address, char path[PATH_MAX])
{
	char text[PATH_MAX], folder[PATH_MAX];
	int err = peek_text(c->tid, address, text);

	if (err)
		return err;
	if (!text[0])
		return -ENOENT;
	err = text[0] == '/' ? 0 : base_of(c, dirfd, folder);
	return err ? err : xvt_path_join(folder, text, path);
}

/* Finds the place of a file of the asking process itself, "/proc/self/REST". */
static bool is_own(const struct call *c, const char *path, struct xvt_place *place)
{
	static const struct {
		const char *link, *folder;
	} links[] = { { "/proc/self", "" },
		      { "/proc/thread-self", "" },
		      { "/proc/mounts", "/mounts" } };
	char folder[32], rest[PATH_MAX];
	size_t i;

	snprintf(folder, sizeof(folder), "/proc/%d", c->tid);
	for (i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
		const size_t len = strlen(links[i].link);

		if (strncmp(path, links[i].link, len) || (path[len] && path[len] != '/') ||
		    snprintf(rest, sizeof(rest), ".%s%s", links[i].folder, path + len) >=
			    (int)sizeof(rest))
			continue;
		/* Of mounts it sees none, if its root is empty. */
		if (!strncmp(rest, "./mount", 7))
			snprintf(folder, sizeof(folder), "/proc/%d", (int)getpid());
		xvt_place_beneath(place, folder, rest);
		return true;
	}
	return false;
}

/* --- the calls --- */

static unsigned int rights_to_open(int flags)
{
	static const unsigned int access[] = { [O_RDONLY] = XVT_MAY_READ,
					       [O_WRONLY] = XVT_MAY_WRITE,
					       [O_RDWR] = XVT_MAY_READ | XVT_MAY_WRITE,
					       [O_ACCMODE] = XVT_MAY_READ | XVT_MAY_WRITE };
	unsigned int rights = access[flags & O_ACCMODE];

	if (flags & O_TRUNC)
		rights |= XVT_MAY_WRITE;
	if ((flags & O_TMPFILE) == O_TMPFILE)
		rights |= XVT_MAY_MAKE;
	return rights;
}

static bool is_of_process(const char *path)
{
	static const char proc[] = "/proc/";
	const size_t len = sizeof(proc) - 1;

	return !strncmp(path, proc, len) && path[len] >= '0' && path[len] <= '9';
}

/* Whether a path is in a file system of the kernel's tracing, wherever that is mounted. */
static bool is_of_tracing(const char *path)
{
	struct statfs fs;

	return !statfs(path, &fs) && ((unsigned long)fs.f_type == TRACEFS_MAGIC ||
				      (unsigned long)fs.f_type == DEBUGFS_MAGIC);
}

/*
 * What an open is that no rule allows. A library may look for a file where no rule expects it, and
 * libtracefs may choose another mount: those fail. An attacker changes files, and looks into
 * processes.
 */
static int unexpected(const char *path, bool reads)
{
	if (reads ? !is_of_process(path) : is_of_tracing(path))
		return DENIED;
	return FORBIDDEN;
}

/* Returns 0 with c->fd, -errno, DENIED or FORBIDDEN. */
static int do_open(struct call *c, int dirfd, uint64_t address, int flags, mode_t mode)
{
	const unsigned int rights = rights_to_open(flags);
	const bool reads = rights == XVT_MAY_READ && !(flags & O_CREAT);
	struct xvt_place place;
	int err = path_of(c, dirfd, address, c->path);

	c->what = "open";
	if (err)
		return err;
	if (flags & O_CREAT && xvt_rules_find(&c->s->rules, c->path, rights | XVT_MAY_MAKE, &place))
		c->fd = xvt_place_open(&place, flags, mode);
	else if (xvt_rules_find(&c->s->rules, c->path, rights, &place))
		c->fd = xvt_place_open(&place, flags & ~(O_CREAT | O_EXCL), 0);
	else if (reads && is_own(c, c->path, &place))
		c->fd = xvt_place_open(&place, flags, 0);
	else if (!reads)
		return unexpected(c->path, false);
	else
		c->fd = xvt_public_open(c->path, flags);
	if (c->fd == XVT_NOT_PUBLIC)
		return unexpected(c->path, true);
	c->fd_flags = flags & O_CLOEXEC;
	return c->fd < 0 ? c->fd : 0;
}

static int do_open_how(struct call *c)
{
	struct open_how how = { 0 };
	const size_t size = c->args[3] < sizeof(how) ? (size_t)c->args[3] : sizeof(how);
	ssize_t n = peek(c->tid, c->args[2], &how, size);

	if (n != (ssize_t)size || !size)
		return n < 0 ? (int)n : -EINVAL;
	return do_open(c, (int)c->args[0], c->args[1], (int)how.flags, (mode_t)how.mode);
}

static int do_remove(struct call *c, int dirfd, uint64_t address, int flags)
{
	struct xvt_place place;
	const char *leaf;
	int folder, err = path_of(c, dirfd, address, c->path);

	c->what = "remove";
	if (err)
		return err;
	if (!xvt_rules_find(&c->s->rules, c->path, XVT_MAY_REMOVE, &place))
		return FORBIDDEN;
	folder = xvt_place_parent(&place, &leaf);
	if (folder < 0)
		return folder;
	err = unlinkat(folder, leaf, flags & AT_REMOVEDIR) ? -errno : 0;
	close(folder);
	return err;
}

/* Whether the answer, that there is a file, tells the asking process nothing. */
static bool knows(const struct call *c)
{
	struct xvt_place place;

	return xvt_rules_find(&c->s->rules, c->path, 0, &place) ||
	       xvt_rules_pass(&c->s->rules, c->path) || xvt_public_place(c->path);
}

static int do_mkdir(struct call *c, int dirfd, uint64_t address, mode_t mode)
{
	struct xvt_place place;
	struct stat st;
	const char *leaf;
	int folder, err = path_of(c, dirfd, address, c->path);

	c->what = "make";
	if (err)
		return err;
	if (!xvt_rules_find(&c->s->rules, c->path, XVT_MAY_MAKE, &place))
		return !knows(c) || lstat(c->path, &st) ? FORBIDDEN : -EEXIST;
	folder = xvt_place_parent(&place, &leaf);
	if (folder < 0)
		return folder;
	err = mkdirat(folder, leaf, mode & 0777) ? -errno : 0;
	close(folder);
	return err;
}

/* A path of the caller's, as a name in a folder that is open. */
struct leaf {
	int folder; /* -1: none */
	const char *name;
	struct xvt_place place;
};

/* may: what the rules have to allow there. Returns 0, -errno or FORBIDDEN; the folder is the
 * caller's to close. */
static int open_leaf(struct call *c, int fd, uint64_t path, unsigned int may, struct leaf *leaf)
{
	const int err = path_of(c, fd, path, c->path);

	leaf->folder = -1;
	if (err)
		return err;
	if (!xvt_rules_find(&c->s->rules, c->path, may, &leaf->place))
		return FORBIDDEN;
	leaf->folder = xvt_place_parent(&leaf->place, &leaf->name);
	return leaf->folder < 0 ? leaf->folder : 0;
}

static void close_leaf(const struct leaf *leaf)
{
	if (leaf->folder >= 0)
		close(leaf->folder);
}

/* Gives a file that may be changed another name. */
static int do_link(struct call *c, int from_fd, uint64_t from, int to_fd, uint64_t to)
{
	struct leaf old, new = { .folder = -1 };
	int err;

	c->what = "link";
	err = open_leaf(c, from_fd, from, XVT_MAY_CHANGE, &old);
	if (!err)
		err = open_leaf(c, to_fd, to, XVT_MAY_MAKE, &new);
	if (!err && linkat(old.folder, old.name, new.folder, new.name, 0))
		err = -errno;
	close_leaf(&old);
	close_leaf(&new);
	return err;
}

static int do_rename(struct call *c, int from_fd, uint64_t from, int to_fd, uint64_t to,
		     unsigned int flags)
{
	struct leaf old, new = { .folder = -1 };
	int err;

	c->what = "rename";
	err = open_leaf(c, from_fd, from, XVT_MAY_REMOVE, &old);
	if (!err)
		err = open_leaf(c, to_fd, to, XVT_MAY_MAKE | XVT_MAY_REMOVE, &new);
	if (!err && syscall(SYS_renameat2, old.folder, old.name, new.folder, new.name, flags))
		err = -errno;
	close_leaf(&old);
	close_leaf(&new);
	return err;
}

/* A number that the kernel tells of a thread; 0 or -errno: it is gone, or cannot be found. */
static pid_t told_of(pid_t tid, const char *format)
{
	char path[64], line[128];
	int pid = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	f = fopen(path, "re");
	if (!f)
		return -errno;
	while (!pid && fgets(line, sizeof(line), f)) {
		if (sscanf(line, format, &pid) != 1)
			pid = 0;
	}
	fclose(f);
	return pid;
}

static pid_t process_of(pid_t tid)
{
	return told_of(tid, "Tgid: %d");
}

static pid_t parent_of(pid_t pid)
{
	return told_of(pid, "PPid: %d");
}

/* The asking process's descriptor, shared with this process. Returns it or -errno. */
static int borrow(pid_t tid, int fd)
{
	const pid_t pid = process_of(tid);
	int process, mine;

	if (pid <= 0)
		return pid ? pid : -ESRCH;
	process = (int)syscall(SYS_pidfd_open, pid, 0);
	if (process < 0)
		return -errno;
	mine = (int)syscall(SYS_pidfd_getfd, process, fd, 0);
	if (mine < 0)
		mine = -errno;
	close(process);
	return mine;
}

/* Connects without waiting for a listener that accepts nothing. */
static int connect_at_once(int sock, const struct sockaddr_un *to, socklen_t len)
{
	const int flags = fcntl(sock, F_GETFL);
	int err;

	if (flags < 0)
		return -errno;
	fcntl(sock, F_SETFL, flags | O_NONBLOCK);
	err = connect(sock, (const struct sockaddr *)to, len) ? -errno : 0;
	fcntl(sock, F_SETFL, flags);
	return err;
}

/* Reads the address of a connect() as a path, or "@NAME". Returns 0 or -errno. */
static int address_of(const struct call *c, char path[PATH_MAX])
{
	struct sockaddr_un to = { 0 };
	const size_t begin = offsetof(struct sockaddr_un, sun_path);
	const uint64_t len = c->args[2];
	char folder[PATH_MAX], text[sizeof(to.sun_path) + 1] = "";
	ssize_t n;
	int err;

	if (len <= begin || len > sizeof(to))
		return -EINVAL;
	n = peek(c->tid, c->args[1], &to, (size_t)len);
	if (n != (ssize_t)len)
		return n < 0 ? (int)n : -EFAULT;
	if (to.sun_family != AF_UNIX)
		return -EAFNOSUPPORT;
	memcpy(text, to.sun_path, (size_t)len - begin);
	if (!text[0]) { /* an abstract name */
		text[0] = '@';
		snprintf(path, PATH_MAX, "%s", text);
		return 0;
	}
	err = text[0] == '/' ? 0 : base_of(c, AT_FDCWD, folder);
	return err ? err : xvt_path_join(folder, text, path);
}

/* What the C library tries where it looks up names of users; it goes on without. */
static bool is_dispensable(const char *path)
{
	static const char *const folders[] = { "/run/nscd/", "/var/run/nscd/", "/run/systemd/",
					       "/var/lib/sss/", "/dev/log" };
	size_t i;

	for (i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		if (!strncmp(path, folders[i], strlen(folders[i])))
			return true;
	}
	return false;
}

/* Connects a socket to a place, whose path may be too long for an address. */
static int connect_to_place(int sock, const struct xvt_place *place)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	const char *leaf;
	int folder = xvt_place_parent(place, &leaf), server, err = 0;
	struct stat st;

	if (folder < 0)
		return folder;
	/* The socket itself: connect() would follow a link, which may lie in another user's folder.
	 */
	server = openat(folder, leaf, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (server < 0 || fstat(server, &st))
		err = -errno;
	else if (!S_ISSOCK(st.st_mode))
		err = -ECONNREFUSED;
	close(folder);
	snprintf(to.sun_path, sizeof(to.sun_path), "/proc/self/fd/%d", server);
	if (!err)
		err = connect_at_once(sock, &to, sizeof(to));
	if (server >= 0)
		close(server);
	return err;
}

static int do_connect(struct call *c)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	struct xvt_place place;
	int sock, err = address_of(c, c->path);

	c->what = "connect to";
	if (err)
		return err;
	if (!xvt_rules_find(&c->s->rules, c->path, XVT_MAY_CONNECT, &place))
		return is_dispensable(c->path) ? -EACCES : FORBIDDEN;
	sock = borrow(c->tid, (int)c->args[0]);
	if (sock < 0)
		return sock;
	if (c->path[0] == '@') {
		const size_t len = strlen(c->path);

		memcpy(to.sun_path + 1, c->path + 1, len - 1);
		err = connect_at_once(sock, &to,
				      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len));
	} else {
		err = connect_to_place(sock, &place);
	}
	close(sock);
	return err;
}

/* --- looks: what no descriptor is needed for --- */

/* Opens what a call looks at, by O_PATH: what a rule names, what the kernel tells of the asking
 * process (as which kind of file a descriptor is), and what every user may read. The asking process
 * may have an empty root, where it finds none of these. Returns a descriptor, -errno or ITSELF. */
static int open_to_look(struct call *c, int dirfd, uint64_t address, bool follow)
{
	const int flags = O_PATH | O_CLOEXEC | (follow ? 0 : O_NOFOLLOW);
	struct xvt_place place;
	int fd;

	if (path_of(c, dirfd, address, c->path))
		return ITSELF; /* it gets the same error */
	/* What the kernel's own links lead to has no path of its own, so it cannot be opened
	 * beneath a folder. The rule names the link itself, in a folder that only the kernel
	 * writes. */
	if (xvt_rules_find(&c->s->rules, c->path, XVT_MAY_LOOK, &place)) {
		fd = open(c->path, flags);
		return fd < 0 ? -errno : fd;
	}
	if (!xvt_rules_find(&c->s->rules, c->path, 0, &place) && !is_own(c, c->path, &place)) {
		/* A library looks before it opens, and may open this. */
		fd = xvt_public_open(c->path, flags);
		return fd == XVT_NOT_PUBLIC ? ITSELF : fd;
	}
	fd = xvt_place_open(&place, flags, 0);
	/* A link may lead out of the rule's folder, to where the asking thread may look itself. */
	return fd >= 0 || fd == -ENOENT || fd == -ENOTDIR ? fd : ITSELF;
}

/* Fills in what a call returns, and c->bytes of c->result, by what was opened. Returns 0, -errno or
 * ITSELF. */
typedef int (*look_fn)(struct call *c, int fd);

/* The C library's structure for stat() has the kernel's form, as the call is the same one. */
static int fill_stat(struct call *c, int fd)
{
	c->bytes = sizeof(c->result.stat);
	return syscall(SYS_newfstatat, fd, "", &c->result.stat, AT_EMPTY_PATH) ? -errno : 0;
}

static int fill_statx(struct call *c, int fd)
{
	c->bytes = sizeof(c->result.statx);
	return syscall(SYS_statx, fd, "", (int)c->args[2] | AT_EMPTY_PATH, (unsigned int)c->args[3],
		       &c->result.statx)
		       ? -errno
		       : 0;
}

static int fill_statfs(struct call *c, int fd)
{
	c->bytes = sizeof(c->result.statfs);
	return syscall(SYS_fstatfs, fd, &c->result.statfs) ? -errno : 0;
}

/* Whether the opener could do it: the asking thread would have it do it. */
static int fill_access(struct call *c, int fd)
{
	const int mode = (int)c->args[c->nr == SYS_access ? 1 : 2];

	if (!syscall(SYS_faccessat2, fd, "", mode, AT_EMPTY_PATH | AT_EACCESS))
		return 0;
	return errno == ENOSYS || errno == EINVAL ? ITSELF : -errno; /* before Linux 5.8 */
}

static int fill_link(struct call *c, int fd)
{
	const uint64_t size = c->args[c->nr == SYS_readlinkat ? 3 : 2];
	ssize_t n;

	if (!(int)size)
		return -EINVAL;
	n = readlinkat(fd, "", c->result.link,
		       size < sizeof(c->result.link) ? size : sizeof(c->result.link));
	if (n < 0)
		return errno == ENOENT ? -EINVAL : -errno; /* as of a path that is no link */
	c->bytes = (size_t)n;
	c->value = n;
	return 0;
}

/* A call that looks at a path. to: where its result goes in the asking thread's memory. */
static int do_look(struct call *c, int dirfd, uint64_t address, bool follow, look_fn fill,
		   uint64_t to)
{
	int fd = open_to_look(c, dirfd, address, follow), err;

	if (fd < 0)
		return fd;
	err = fill(c, fd);
	close(fd);
	c->to = to;
	return err;
}

/* A lease is a question here: whether the file has a writer. It is given back at once, since a
 * process that opens the file meanwhile waits, or fails with EAGAIN. */
static int do_lease(struct call *c)
{
	int fd, err;

	c->what = "lease";
	snprintf(c->path, sizeof(c->path), "descriptor %d", (int)c->args[0]);
	fd = borrow(c->tid, (int)c->args[0]);
	if (fd < 0)
		return fd;
	err = fcntl(fd, F_SETLEASE, (int)c->args[2]) ? -errno : 0;
	if (!err)
		fcntl(fd, F_SETLEASE, F_UNLCK);
	close(fd);
	return err;
}

/* Calls that some architectures lack. */
#ifndef SYS_open
#define SYS_open     (-1)
#define SYS_creat    (-2)
#define SYS_unlink   (-3)
#define SYS_rmdir    (-4)
#define SYS_mkdir    (-5)
#define SYS_rename   (-6)
#define SYS_link     (-8)
#define SYS_stat     (-9)
#define SYS_lstat    (-10)
#define SYS_access   (-11)
#define SYS_readlink (-12)
#endif
#ifndef SYS_renameat
#define SYS_renameat (-7)
#endif

static int do_call(struct call *c)
{
	const __u64 *a = c->args;

	switch (c->nr) {
	case SYS_open:
		return do_open(c, AT_FDCWD, a[0], (int)a[1], (mode_t)a[2]);
	case SYS_creat:
		return do_open(c, AT_FDCWD, a[0], O_CREAT | O_WRONLY | O_TRUNC, (mode_t)a[1]);
	case SYS_openat:
		return do_open(c, (int)a[0], a[1], (int)a[2], (mode_t)a[3]);
	case SYS_openat2:
		return do_open_how(c);
	case SYS_unlink:
		return do_remove(c, AT_FDCWD, a[0], 0);
	case SYS_rmdir:
		return do_remove(c, AT_FDCWD, a[0], AT_REMOVEDIR);
	case SYS_unlinkat:
		return do_remove(c, (int)a[0], a[1], (int)a[2]);
	case SYS_mkdir:
		return do_mkdir(c, AT_FDCWD, a[0], (mode_t)a[1]);
	case SYS_mkdirat:
		return do_mkdir(c, (int)a[0], a[1], (mode_t)a[2]);
	case SYS_rename:
		return do_rename(c, AT_FDCWD, a[0], AT_FDCWD, a[1], 0);
	case SYS_renameat:
		return do_rename(c, (int)a[0], a[1], (int)a[2], a[3], 0);
	case SYS_renameat2:
		return do_rename(c, (int)a[0], a[1], (int)a[2], a[3], (unsigned int)a[4]);
	case SYS_link:
		return do_link(c, AT_FDCWD, a[0], AT_FDCWD, a[1]);
	case SYS_linkat:
		return a[4] ? -EINVAL : do_link(c, (int)a[0], a[1], (int)a[2], a[3]);
	case SYS_stat:
	case SYS_lstat:
		return do_look(c, AT_FDCWD, a[0], c->nr == SYS_stat, fill_stat, a[1]);
	case SYS_newfstatat:
		return do_look(c, (int)a[0], a[1], !(a[3] & AT_SYMLINK_NOFOLLOW), fill_stat, a[2]);
	case SYS_statx:
		return do_look(c, (int)a[0], a[1], !(a[2] & AT_SYMLINK_NOFOLLOW), fill_statx, a[4]);
	case SYS_statfs:
		return do_look(c, AT_FDCWD, a[0], true, fill_statfs, a[1]);
	case SYS_access:
		return do_look(c, AT_FDCWD, a[0], true, fill_access, 0);
	case SYS_faccessat: /* has no flags */
		return do_look(c, (int)a[0], a[1], true, fill_access, 0);
	case SYS_faccessat2:
		return do_look(c, (int)a[0], a[1], !(a[3] & AT_SYMLINK_NOFOLLOW), fill_access, 0);
	case SYS_readlink:
		return do_look(c, AT_FDCWD, a[0], false, fill_link, a[1]);
	case SYS_readlinkat:
		return do_look(c, (int)a[0], a[1], false, fill_link, a[2]);
	case SYS_fcntl:
		return do_lease(c);
	case SYS_connect:
		return do_connect(c);
	case SYS_socket:
		c->what = "make a socket of";
		snprintf(c->path, sizeof(c->path), "family %d", (int)a[0]);
		return FORBIDDEN;
	default:
		return -EPERM;
	}
}

/* --- the opener --- */

#define TELL_S	     1u

/* What end_parent() ends; set before SIGALRM may come. */
static struct {
	int parent_fd;
	pid_t child; /* of the parent, which asked; 0: none */
} ended;

/* Ends the parent, and the process that asked if it is one of the parent's children. */
static void end_parent(int sig)
{
	(void)sig;
	syscall(SYS_pidfd_send_signal, ended.parent_fd, SIGKILL, NULL, 0);
	if (ended.child)
		kill(ended.child, SIGKILL);
}

/* Told first: a service manager kills this process as soon as the recorder has ended. The thread
 * that asked waits meanwhile; a message that nothing reads delays the end by TELL_S. */
static void refuse(const struct server *s, const struct call *c)
{
	struct pollfd end = { .fd = s->parent_fd, .events = POLLIN };
	const pid_t asking = process_of(c->tid);
	sigset_t set;

	ended.parent_fd = s->parent_fd;
	ended.child = asking > 0 && asking != s->parent && asking != getpid() ? asking : 0;
	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	signal(SIGALRM, end_parent);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	alarm(TELL_S);
	s->ops->refused(s->arg, c->what, c->path);
	alarm(0);
	end_parent(0);
	poll(&end, 1, -1);
	_exit(0);
}

#define DENIALS_TOLD 16u /* paths: an attacker does not fill the log */

/* Tells a refused path once. */
static void deny(const struct server *s, const struct call *c)
{
	static uint64_t told[DENIALS_TOLD];
	static size_t count;
	uint64_t hash = 14695981039346656037u; /* FNV-1a */
	size_t i;

	for (i = 0; c->path[i]; i++)
		hash = (hash ^ (unsigned char)c->path[i]) * 1099511628211u;
	for (i = 0; i < count && told[i] != hash; i++)
		;
	if (i < count || count == DENIALS_TOLD)
		return;
	told[count++] = hash;
	s->ops->denied(s->arg, c->what, c->path, count == DENIALS_TOLD);
}

static void answer(const struct server *s, struct call *c, int result)
{
	struct seccomp_notif_resp resp = { .id = c->id,
					   .val = result < 0 ? 0 : c->value,
					   .error = result < 0 ? result : 0 };
	struct seccomp_notif_addfd add = { .id = c->id,
					   .flags = SECCOMP_ADDFD_FLAG_SEND,
					   .srcfd = (unsigned int)c->fd,
					   .newfd_flags = (unsigned int)c->fd_flags };
	int fd;

	if (result == ITSELF) {
		resp.error = 0;
		resp.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
	} else if (!result && c->bytes) {
		resp.error = poke(c->tid, c->to, &c->result, c->bytes);
		resp.val = resp.error ? 0 : resp.val;
	}
	/* The asking thread may have died: that is no error. */
	if (c->fd >= 0) {
		fd = ioctl(s->listener, SECCOMP_IOCTL_NOTIF_ADDFD, &add);
		if (fd >= 0 || errno == ENOENT)
			return;
		add.flags = 0; /* before Linux 5.14 */
		fd = errno == EINVAL ? ioctl(s->listener, SECCOMP_IOCTL_NOTIF_ADDFD, &add) : -1;
		if (fd >= 0)
			resp.val = fd;
		else
			resp.error = -errno;
	}
	ioctl(s->listener, SECCOMP_IOCTL_NOTIF_SEND, &resp);
}

static void serve(const struct server *s)
{
	static union {
		struct seccomp_notif notif;
		char room[1024]; /* a newer kernel may write more */
	} u;
	static struct call c;
	int result;

	c = (struct call){ .s = s, .fd = -1, .args = u.notif.data.args };
	memset(&u, 0, sizeof(u));
	if (ioctl(s->listener, SECCOMP_IOCTL_NOTIF_RECV, &u))
		return;
	c.id = u.notif.id;
	c.tid = (pid_t)u.notif.pid;
	c.nr = u.notif.data.nr;
	result = do_call(&c);
	/* Another thread may have taken the number of one that died: then nothing follows. */
	if (!ioctl(s->listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &c.id)) {
		if (result == FORBIDDEN)
			refuse(s, &c);
		if (result == DENIED)
			deny(s, &c);
		answer(s, &c, result == DENIED ? -EACCES : result);
	}
	if (c.fd >= 0)
		close(c.fd);
}

static const char token[] = "xvtrace";

/* Returns 0 if this process may do what it has to, or -errno. */
static int probe(const struct server *s)
{
	char seen[sizeof(token)];
	ssize_t n = peek(s->parent, (uint64_t)(uintptr_t)token, seen, sizeof(seen));
	struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_BENEATH };
	int fd;

	if (n != sizeof(seen) || memcmp(seen, token, sizeof(token)))
		return n < 0 ? (int)n : -EIO;
	fd = borrow(s->parent, STDERR_FILENO);
	if (fd < 0)
		return fd;
	close(fd);
	fd = (int)syscall(SYS_openat2, AT_FDCWD, ".", &how, sizeof(how));
	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

static void take_rule(struct server *s, struct xvt_rule *rule)
{
	rule->path[PATH_MAX - 1] = '\0';
	if (xvt_grow(&s->rules.v, &s->rules.room, s->rules.count + 1, sizeof(*s->rules.v)))
		s->no_memory = true;
	else
		s->rules.v[s->rules.count++] = *rule;
}

/* The parent's filter allows no message that carries a descriptor. Returns 0 or -errno. */
static int take_listener(struct server *s, int fd)
{
	if (s->no_memory)
		return -ENOMEM;
	s->listener = borrow(s->parent, fd);
	if (s->listener < 0)
		return s->listener;
	/* Since Linux 6.6: asked and answered on one CPU, in half the time. */
	ioctl(s->listener, SECCOMP_IOCTL_NOTIF_SET_FLAGS, SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP);
	return 0;
}

/* Sends a signal to a child of the parent, which may have another user. */
static void signal_child(const struct server *s, pid_t child, int sig)
{
	const int process = child > 0 ? (int)syscall(SYS_pidfd_open, child, 0) : -1;

	/* The number is that of this process as long as it lives: so the parent is looked up
	 * between two calls for it. */
	if (process >= 0 && child != getpid() && parent_of(child) == s->parent)
		syscall(SYS_pidfd_send_signal, process, sig, NULL, 0);
	if (process >= 0)
		close(process);
}

/* From the seal on the parent may be an attacker: then it can only end this process, and its other
 * children. */
static void take_message(struct server *s)
{
	struct message m;
	int err = 0;

	if (recv(CTL, &m, sizeof(m), 0) != sizeof(m)) {
		s->closed = true;
		return;
	}
	if (m.kind == END)
		_exit(0);
	if (m.kind == SIGNAL) {
		signal_child(s, m.pid, m.signal);
		return;
	}
	if (m.kind == RULE) {
		if (s->listener < 0)
			take_rule(s, &m.rule);
		return;
	}
	if (m.kind == PROBE)
		err = probe(s);
	else if (m.kind == LISTENER && s->listener < 0)
		err = take_listener(s, m.fd);
	(void)!send(CTL, &err, sizeof(err), MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void run(struct server *s)
{
	for (;;) {
		struct pollfd p[] = { { .fd = s->parent_fd, .events = POLLIN },
				      { .fd = s->closed ? -1 : CTL, .events = POLLIN },
				      { .fd = s->listener, .events = POLLIN } };

		if (poll(p, 3, -1) < 0)
			continue;
		if (p[1].revents)
			take_message(s);
		else if (p[0].revents)
			break;
		else if (p[2].revents & POLLIN)
			serve(s);
		else if (p[2].revents)
			s->listener = -1; /* no process has the filter any more */
	}
	s->ops->died(s->arg);
}

/* Keeps standard error, and of the rest nothing. */
static void leave_descriptors(int sock)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	if (sock != CTL)
		dup2(sock, CTL);
	syscall(SYS_close_range, CTL + 1, ~0U, 0);
}

static void run_opener(const struct xvt_opener_ops *ops, void *arg, pid_t parent, int sock)
{
	struct server s = { .ops = ops, .arg = arg, .parent = parent, .listener = -1 };
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL); /* a terminal's or a service's are for the parent */
	prctl(PR_SET_NAME, "xvtrace-opener");
	prctl(PR_SET_PDEATHSIG, SIGCONT); /* one that is stopped tells of it and ends, too */
	leave_descriptors(sock);
	s.parent_fd = (int)syscall(SYS_pidfd_open, parent, 0);
	if (s.parent_fd < 0 || getppid() != parent)
		_exit(1);
	ops->begin();
	run(&s);
	_exit(0);
}

/* --- the parent --- */

static pid_t tracer;

/* Where only a process's ancestors may read its memory. A child does not inherit this. */
static void let_it_read(void)
{
	prctl(PR_SET_PTRACER, tracer, 0, 0, 0);
}

/* Kills an opener that does not answer. Returns -ETIMEDOUT. */
static int stand_still(struct xvt_opener *o, uint64_t since_ns)
{
	if (!atomic_exchange(&o->stands_still, true))
		o->ops->stopped(o->arg,
				(unsigned int)((xvt_monotonic_ns() - since_ns) / SECOND_NS));
	xvt_child_signal(o->pidfd, o->pid, SIGKILL);
	return -ETIMEDOUT;
}

/* Waits for the opener to take or to give a message. Returns 0 or -errno. */
static int wait_for(struct xvt_opener *o, short events)
{
	const uint64_t since_ns = xvt_monotonic_ns();
	const int err = xvt_child_wait(o->sock, events, XVT_CHILD_STILL_MS);

	return err == -ETIMEDOUT ? stand_still(o, since_ns) : err;
}

/* Returns 0 or -errno. */
static int send_message(struct xvt_opener *o, const struct message *m)
{
	int err;

	while (send(o->sock, m, sizeof(*m), MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
		if (errno != EAGAIN && errno != EINTR)
			return -errno;
		err = wait_for(o, POLLOUT);
		if (err)
			return err;
	}
	return 0;
}

/* Has the opener do something, and returns what it answers: 0 or -errno. */
static int ask(struct xvt_opener *o, const struct message *m)
{
	int result, err = send_message(o, m);

	if (!err)
		err = wait_for(o, POLLIN);
	if (err)
		return err;
	return recv(o->sock, &result, sizeof(result), MSG_DONTWAIT) == sizeof(result) ? result
										      : -EPIPE;
}

/* Whether the error is no answer, since a signal has ended the opener. */
static bool was_killed(const struct xvt_opener *o, int err)
{
	siginfo_t end = { 0 };

	return (err == -EPIPE || err == -ECONNRESET) &&
	       !xvt_child_wait(o->pidfd, POLLIN, XVT_CHILD_END_MS) &&
	       !waitid(P_PID, (id_t)o->pid, &end, WEXITED | WNOWAIT | WNOHANG) && end.si_pid &&
	       end.si_code != CLD_EXITED;
}

int xvt_opener_start(struct xvt_opener **opener, const struct xvt_opener_ops *ops, void *arg)
{
	struct xvt_opener *o = calloc(1, sizeof(*o));
	const pid_t parent = getpid();
	int ends[2], err;

	if (!o)
		return -ENOMEM;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends)) {
		free(o);
		return -errno;
	}
	o->sock = ends[0];
	o->ops = ops;
	o->arg = arg;
	o->pid = fork();
	if (!o->pid)
		run_opener(ops, arg, parent, ends[1]);
	err = o->pid < 0 ? -errno : 0;
	o->pidfd = err ? -1 : xvt_child_open(o->pid);
	close(ends[1]);
	if (!err && !tracer)
		err = -pthread_atfork(NULL, NULL, let_it_read);
	if (!err) {
		tracer = o->pid;
		let_it_read();
		err = ask(o, &(struct message){ .kind = PROBE });
		if (err && err != -EMFILE && err != -ENFILE && err != -ENOMEM &&
		    err != -ETIMEDOUT && !was_killed(o, err))
			err = -ENOTSUP;
	}
	if (err)
		xvt_opener_end(o);
	else
		*opener = o;
	return err;
}

int xvt_opener_rules(struct xvt_opener *o, const struct xvt_rules *rules)
{
	struct message m = { .kind = RULE };
	size_t i;
	int err = 0;

	for (i = 0; !err && i < rules->count; i++) {
		m.rule = rules->v[i];
		err = send_message(o, &m);
	}
	return err;
}

/* It may be called in each thread, so there is no answer. */
static int have_signalled(void *arg, pid_t pid, int sig)
{
	const struct message m = { .kind = SIGNAL, .pid = pid, .signal = sig };
	const struct xvt_opener *o = arg;

	return send(o->sock, &m, sizeof(m), MSG_NOSIGNAL | MSG_DONTWAIT) == sizeof(m) ? 0 : -EPERM;
}

int xvt_opener_serve(struct xvt_opener *o, int listener)
{
	const struct message m = { .kind = LISTENER, .fd = listener };
	int err = ask(o, &m);

	if (!err)
		xvt_child_set_deputy(have_signalled, o);
	close(listener); /* who has it may answer */
	return err;
}

pid_t *xvt_opener_pid(struct xvt_opener *o)
{
	return &o->pid;
}

/* A thread: the others may wait in a call for an opener that stands still. Its death makes their
 * calls fail. */
static void *watch(void *arg)
{
	struct xvt_opener *o = arg;
	struct pollfd p = { .fd = o->pidfd, .events = POLLIN };

	while (!ask(o, &(struct message){ .kind = PING }) && !poll(&p, 1, ASK_MS))
		;
	return NULL;
}

int xvt_opener_watch(struct xvt_opener *o)
{
	sigset_t all, before;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = o->pidfd >= 0 ? pthread_create(&o->watcher, NULL, watch, o) : ENOSYS;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	o->watched = !err;
	return -err;
}

/* Has it end. An opener that stands still is killed, by the watcher or here. */
static void end_process(struct xvt_opener *o)
{
	const uint64_t since_ns = xvt_monotonic_ns();
	/* The socket has room unless the opener stands still. */
	const bool sent = send(o->sock, &(struct message){ .kind = END }, sizeof(struct message),
			       MSG_NOSIGNAL | MSG_DONTWAIT) > 0;

	if (!atomic_load(&o->stands_still) && (sent || errno == EPIPE || errno == ECONNRESET) &&
	    xvt_child_await(o->pidfd, o->pid, NULL, XVT_CHILD_STILL_MS) != -ETIMEDOUT)
		return;
	stand_still(o, since_ns);
	xvt_child_kill(o->pidfd, o->pid);
}

bool xvt_opener_end(struct xvt_opener *o)
{
	bool answered;

	if (!o)
		return true;
	xvt_child_set_deputy(NULL, NULL);
	if (o->pid > 0)
		end_process(o);
	if (o->watched)
		pthread_join(o->watcher, NULL);
	if (o->pidfd >= 0)
		close(o->pidfd);
	close(o->sock);
	answered = !atomic_load(&o->stands_still);
	free(o);
	return answered;
}

#endif /* XVT_NO_OPENER */
