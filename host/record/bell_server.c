// SPDX-License-Identifier: GPL-2.0
/* bell_server.c - see bell_server.h. */
#define _GNU_SOURCE
#include "record/bell_server.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/socket.h"
#include "base/user.h"

#define ANSWER_MS 10000

void xvt_bell_server_socket(const char *region, char path[XVT_BELL_SERVER_PATH])
{
	snprintf(path, XVT_BELL_SERVER_PATH, "%.*s" XVT_BELL_SERVER_SUFFIX,
		 (int)(XVT_BELL_SERVER_PATH - sizeof(XVT_BELL_SERVER_SUFFIX)), region);
}

bool xvt_bell_server_find(const char *named, const char *region, bool domain,
			  char path[XVT_BELL_SERVER_PATH])
{
	struct stat file, sock;

	if (named[0]) {
		snprintf(path, XVT_BELL_SERVER_PATH, "%s", named);
		return true;
	}
	xvt_bell_server_socket(region, path);
	if (lstat(path, &sock) || !S_ISSOCK(sock.st_mode) || stat(region, &file))
		return false;
	return !sock.st_uid || sock.st_uid == xvt_user() || (domain && sock.st_uid == file.st_uid);
}

/* ------------------------------------------------------------------ start */

static int make_region(const char *region, uint64_t size, uid_t user, struct xvt_error *why)
{
	int fd = open(region, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	int err = fd < 0 ? errno : posix_fallocate(fd, 0, (off_t)size);

	if (!err && user != (uid_t)-1 && user != xvt_user() && fchown(fd, user, (gid_t)-1))
		err = errno;
	if (err)
		xvt_fail(why, 0, "cannot make %s: %s", region, strerror(err));
	if (err && fd >= 0)
		unlink(region);
	if (fd >= 0)
		close(fd);
	return -err;
}

/* The child: become the server. The server's messages go to `out`. */
static void become_server(const char *region, const char *path, int out)
{
	char exe[PATH_MAX] = "";
	ssize_t len = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	int null = open("/dev/null", O_RDONLY);
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setsid();
	signal(SIGPIPE, SIG_IGN); /* the other side of `out` ends before the server */
	umask(077);
	dup2(null, STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	dup2(out, STDERR_FILENO);
	close_range(STDERR_FILENO + 1, ~0u, 0);
	if (chdir("/") || len < 0 || access(exe, X_OK)) /* after an upgrade of the program */
		strcpy(exe, "/proc/self/exe");
	execl(exe, "xvtrace", "region", "serve", region, "--socket", path, (char *)NULL);
	dprintf(STDERR_FILENO, "%s: %s\n", exe, strerror(errno));
	_exit(1);
}

/* Read what the server says until it serves. Returns 0, or -errno with its last line in `why`. */
static int await_server(int in, const char *path, struct xvt_error *why)
{
	struct pollfd p = { .fd = in, .events = POLLIN };
	char text[2048] = "", serves[XVT_BELL_SERVER_PATH + 16];
	size_t used = 0;
	char *line;
	ssize_t n;

	snprintf(serves, sizeof(serves), "%s: serving ", path);
	while (!strstr(text, serves)) {
		if (poll(&p, 1, ANSWER_MS) <= 0)
			return xvt_fail(why, -ETIMEDOUT, "the doorbell's server does not start");
		n = read(in, text + used, sizeof(text) - 1 - used);
		if (n <= 0)
			break;
		used += (size_t)n;
		text[used] = 0;
	}
	if (strstr(text, serves))
		return 0;
	if (used && text[used - 1] == '\n')
		text[used - 1] = 0;
	line = strrchr(text, '\n');
	line = line ? line + 1 : text;
	if (!strncmp(line, "xvtrace: ", strlen("xvtrace: ")))
		line += strlen("xvtrace: ");
	return xvt_fail(why, -EIO, "the doorbell's server does not start: %s", line);
}

static int start_server(const char *region, const char *path, struct xvt_error *why)
{
	int out[2], err;
	pid_t pid;

	if (pipe2(out, O_CLOEXEC))
		return xvt_fail(why, -errno, "%s", strerror(errno));
	pid = fork();
	if (!pid)
		become_server(region, path, out[1]);
	close(out[1]);
	if (pid < 0) {
		err = -errno;
		xvt_fail(why, 0, "no process for the doorbell's server: %s", strerror(-err));
	} else {
		err = await_server(out[0], path, why);
		if (err)
			xvt_child_kill(-1, pid);
	}
	close(out[0]);
	return err;
}

int xvt_bell_server_start(const char *region, uint64_t size, uid_t user, struct xvt_error *why)
{
	char path[XVT_BELL_SERVER_PATH];
	struct xvt_error unheard;
	int err = make_region(region, size, user, why);

	if (err)
		return err;
	xvt_bell_server_socket(region, path);
	err = start_server(region, path, why);
	if (!err && user != (uid_t)-1 && user != xvt_user() && lchown(path, user, (gid_t)-1)) {
		err = -errno;
		xvt_fail(why, 0, "cannot give %s to user %u: %s", path, user, strerror(-err));
		xvt_bell_server_stop(region, &unheard);
	}
	if (err)
		unlink(region);
	return err;
}

/* ------------------------------------------------------------------ end */

bool xvt_bell_server_runs(const char *region)
{
	char path[XVT_BELL_SERVER_PATH];
	struct xvt_error why;
	int fd;

	xvt_bell_server_socket(region, path);
	fd = xvt_socket_connect(path, &why);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* Returns whether the command line of a process ends as that of the server of a region does. */
static bool is_server(pid_t pid, const char *region, const char *path)
{
	char file[64], has[2 * XVT_BELL_SERVER_PATH + 64], want[2 * XVT_BELL_SERVER_PATH + 64];
	ssize_t n, want_len;
	int fd;

	snprintf(file, sizeof(file), "/proc/%d/cmdline", (int)pid);
	fd = open(file, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, has, sizeof(has));
	if (fd >= 0)
		close(fd);
	want_len = snprintf(want, sizeof(want), "%cregion%cserve%c%s%c--socket%c%s", 0, 0, 0,
			    region, 0, 0, path) +
		   1;
	return n >= want_len && !memcmp(has + n - want_len, want, (size_t)want_len);
}

/* End the process that listens at the other side of `sock`. */
static int end_peer(int sock, const char *region, const char *path, struct xvt_error *why)
{
	struct ucred peer = { .pid = 0 };
	socklen_t len = sizeof(peer);
	struct pollfd p = { .fd = -1, .events = POLLIN };
	int err = 0;

	if (!getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &peer, &len) && peer.pid > 0)
		p.fd = (int)syscall(SYS_pidfd_open, peer.pid, 0);
	/* The descriptor is of this process, whatever has its number later. */
	if (p.fd < 0 || !is_server(peer.pid, region, path)) {
		err = xvt_fail(why, -EBUSY, "process %d listens at %s, and is no server of attach",
			       (int)peer.pid, path);
	} else if (syscall(SYS_pidfd_send_signal, p.fd, SIGTERM, NULL, 0)) {
		err = -errno;
		xvt_fail(why, 0, "cannot end the doorbell's server, process %d: %s", (int)peer.pid,
			 strerror(-err));
	} else if (poll(&p, 1, ANSWER_MS) <= 0) {
		err = xvt_fail(why, -ETIMEDOUT, "the doorbell's server, process %d, does not end",
			       (int)peer.pid);
	}
	if (p.fd >= 0)
		close(p.fd);
	return err;
}

int xvt_bell_server_stop(const char *region, struct xvt_error *why)
{
	char path[XVT_BELL_SERVER_PATH];
	struct stat st;
	int fd, err = 0;

	xvt_bell_server_socket(region, path);
	if (lstat(path, &st) || !S_ISSOCK(st.st_mode))
		return 0;
	fd = xvt_socket_connect(path, why);
	if (fd < 0 && fd != -ECONNREFUSED)
		return fd == -ENOENT ? 0 : fd;
	if (fd >= 0) {
		err = end_peer(fd, region, path, why);
		close(fd);
	}
	/* A server that was killed leaves its socket. */
	if (!err && unlink(path) && errno != ENOENT) {
		err = -errno;
		xvt_fail(why, 0, "cannot remove %s: %s", path, strerror(-err));
	}
	return err;
}
