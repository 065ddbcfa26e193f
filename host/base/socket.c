// SPDX-License-Identifier: GPL-2.0
/* socket.c - see socket.h. */
#define _GNU_SOURCE
#include "base/socket.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/lock.h"
#include "base/time.h"

#define BACKLOG	   16
#define LOCK_TRIES 100 /* a millisecond apart */
#define LOOK_NS	   5000000u

static int address(const char *path, struct sockaddr_un *a, struct xvt_error *why)
{
	*a = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if (strlen(path) >= sizeof(a->sun_path))
		return xvt_fail(why, -ENAMETOOLONG,
				"a socket's path has at most %zu bytes; use a relative one",
				sizeof(a->sun_path) - 1);
	strcpy(a->sun_path, path);
	return 0;
}

static int new_socket(struct xvt_error *why)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd >= 0)
		return fd;
	return xvt_fail(why, -errno, "no socket: %s", strerror(errno));
}

int xvt_socket_connect(const char *path, struct xvt_error *why)
{
	struct sockaddr_un a;
	int fd, err = address(path, &a, why);

	if (err)
		return err;
	fd = new_socket(why);
	if (fd < 0 || !connect(fd, (struct sockaddr *)&a, sizeof(a)))
		return fd;
	err = -errno;
	close(fd);
	return xvt_fail(why, err, "cannot connect: %s%s", strerror(-err),
			err == -EACCES ? "; be root, or a user who may write to it (ls -l)" : "");
}

/* ------------------------------------------------------------------ the folder */

/*
 * Serialises the removal of a stale socket and bind() by the directory's flock, which is held for
 * some microseconds. Every user who may read the directory can hold it for longer; so after
 * LOCK_TRIES the caller goes on without it. Returns a descriptor, or -1 without the lock.
 */
static int lock_folder(const char *dir)
{
	const struct timespec nap = { .tv_nsec = 1000000 };
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), tries = LOCK_TRIES;

	while (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB)) {
		if (--tries) {
			nanosleep(&nap, NULL);
			continue;
		}
		close(fd);
		fd = -1;
	}
	return fd;
}

static int lock_folder_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	char dir[PATH_MAX];

	if (!slash)
		return lock_folder(".");
	snprintf(dir, sizeof(dir), "%.*s", slash == path ? 1 : (int)(slash - path), path);
	return lock_folder(dir);
}

static void unlock_folder(int lock)
{
	if (lock >= 0)
		close(lock);
}

/* Whether the process that made the listening socket has ended; a helper of it may still have it.
 */
static bool is_left(int connection)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	return !getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &len) && peer.pid > 0 &&
	       xvt_process_has_ended(peer.pid);
}

/* Returns 1 for a socket without a listener, 0 if the path does not exist, -EEXIST for another kind
 * of file, -EADDRINUSE for a socket with a listener, -EAGAIN if that has ended and is still to be
 * closed, or another -errno. */
static int stale(const char *path, struct xvt_error *why)
{
	struct stat st;
	int fd, err;

	if (lstat(path, &st))
		return 0;
	if (!S_ISSOCK(st.st_mode))
		return xvt_fail(why, -EEXIST, "exists, and is no socket");
	fd = xvt_socket_connect(path, why);
	if (fd == -ECONNREFUSED)
		return 1;
	if (fd == -ENOENT)
		return 0;
	err = fd >= 0 && is_left(fd) ? -EAGAIN : -EADDRINUSE;
	if (fd >= 0)
		close(fd);
	return xvt_fail(why, err, "another process listens there already; give another path");
}

void xvt_socket_tidy(const char *dir, bool (*ours)(const char *name))
{
	const int lock = lock_folder(dir);
	DIR *d = opendir(dir);
	struct dirent *e;
	char path[PATH_MAX];
	struct xvt_error why;

	while (d && (e = readdir(d))) {
		if (!ours(e->d_name) ||
		    (size_t)snprintf(path, sizeof(path), "%s/%s", dir, e->d_name) >= sizeof(path))
			continue;
		if (stale(path, &why) == 1)
			unlink(path);
	}
	if (d)
		closedir(d);
	unlock_folder(lock);
}

/* ------------------------------------------------------------------ listening */

static int listen_at(struct xvt_listener *l, const struct sockaddr_un *a, mode_t mode,
		     struct xvt_error *why)
{
	struct stat st;
	int err = stale(a->sun_path, why);

	if (err < 0)
		return err;
	if (err)
		unlink(a->sun_path);
	if ((mode && fchmod(l->fd, mode)) || bind(l->fd, (const struct sockaddr *)a, sizeof(*a)) ||
	    listen(l->fd, BACKLOG) || lstat(a->sun_path, &st)) {
		err = -errno;
		return xvt_fail(why, err, "cannot listen there: %s", strerror(-err));
	}
	l->dev = st.st_dev;
	l->ino = st.st_ino;
	return 0;
}

/* The listener of a process that was killed is there until its helpers have ended, too. */
static int listen_when_free(struct xvt_listener *l, const struct sockaddr_un *a, mode_t mode,
			    struct xvt_error *why)
{
	const uint64_t end_ns = xvt_monotonic_ns() + XVT_LOCK_LEFT_MS * (uint64_t)1000000;
	const struct timespec nap = xvt_timespec(LOOK_NS);
	int lock, err;

	for (;;) {
		lock = lock_folder_of(l->path);
		err = listen_at(l, a, mode, why);
		unlock_folder(lock);
		if (err != -EAGAIN || xvt_monotonic_ns() >= end_ns)
			return err == -EAGAIN ? -EADDRINUSE : err;
		nanosleep(&nap, NULL);
	}
}

int xvt_socket_listen(struct xvt_listener *l, const char *path, mode_t mode, struct xvt_error *why)
{
	struct sockaddr_un a;
	int err = address(path, &a, why);

	*l = (struct xvt_listener){ .fd = -1, .spare = -1 };
	if (err)
		return err;
	l->fd = new_socket(why);
	if (l->fd < 0)
		return l->fd;
	l->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
	l->path = strdup(path);
	if (l->path) {
		err = listen_when_free(l, &a, mode, why);
	} else {
		err = -ENOMEM;
		xvt_fail(why, 0, "%s", strerror(ENOMEM));
	}
	if (err)
		xvt_socket_unlisten(l);
	return err;
}

int xvt_socket_listen_tcp(struct xvt_listener *l, const struct sockaddr *a, socklen_t len,
			  struct xvt_error *why)
{
	const int yes = 1, wait_s = 1;
	int err = 0;

	*l = (struct xvt_listener){ .fd = -1, .spare = -1 };
	l->fd = socket(a->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	/* A port whose last connections are still known to the kernel can be used again. One that
	 * asks nothing takes no place. */
	if (l->fd < 0 || setsockopt(l->fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) ||
	    setsockopt(l->fd, IPPROTO_TCP, TCP_DEFER_ACCEPT, &wait_s, sizeof(wait_s)) ||
	    bind(l->fd, a, len) || listen(l->fd, SOMAXCONN))
		err = -errno;
	l->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (!err)
		return 0;
	xvt_fail(why, 0, "cannot listen there: %s", strerror(-err));
	xvt_socket_unlisten(l);
	return err;
}

int xvt_socket_accept(struct xvt_listener *l)
{
	int fd = accept4(l->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd >= 0)
		return fd;
	if (errno != EMFILE && errno != ENFILE)
		return errno == EINTR || errno == ECONNABORTED ? -EAGAIN : -errno;
	if (l->spare < 0)
		return -ENOBUFS;
	close(l->spare);
	fd = accept4(l->fd, NULL, NULL, SOCK_CLOEXEC);
	if (fd >= 0)
		close(fd);
	l->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
	return fd >= 0 ? -EAGAIN : -ENOBUFS;
}

uid_t xvt_socket_peer(int sock)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	return getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &peer, &len) ? (uid_t)-1 : peer.uid;
}

void xvt_socket_unlisten(struct xvt_listener *l)
{
	int lock = l->ino ? lock_folder_of(l->path) : -1;
	struct stat st;

	if (l->ino && !lstat(l->path, &st) && st.st_dev == l->dev && st.st_ino == l->ino)
		unlink(l->path);
	unlock_folder(lock);
	if (l->fd >= 0)
		close(l->fd);
	if (l->spare >= 0)
		close(l->spare);
	free(l->path);
	*l = (struct xvt_listener){ .fd = -1, .spare = -1 };
}
