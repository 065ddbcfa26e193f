// SPDX-License-Identifier: GPL-2.0
/* isolate.c - see isolate.h. */
#define _GNU_SOURCE
#include "rights/isolate.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "rights/own_user.h"

#define DYING_MS 500u /* time for a thread that was joined to go */

const struct xvt_wall xvt_walls[XVT_WALLS] = {
	{ XVT_NO_EMPTY_ROOT, "no_empty_root", "the host's root directory",
	  "a folder in /run, /tmp or /dev/shm that can be made" },
	{ XVT_NO_NAMESPACES, "no_namespaces", "the host's network and IPC",
	  "a kernel with CONFIG_NET_NS=y and CONFIG_IPC_NS=y; sysctl user.max_net_namespaces and "
	  "user.max_ipc_namespaces" },
	{ XVT_NO_OWN_USER, "no_own_user", "its caller's user",
	  "a system user `xvtrace`: useradd --system xvtrace" },
};

const char *xvt_walls_keeps(unsigned int lacks, char text[XVT_WALLS_TEXT])
{
	size_t i, len = 0;

	text[0] = '\0';
	for (i = 0; i < XVT_WALLS; i++) {
		if (lacks & xvt_walls[i].lack)
			len += (size_t)snprintf(text + len, XVT_WALLS_TEXT - len, "%s%s",
						len ? ", " : "", xvt_walls[i].keeps);
	}
	return text;
}

const char *xvt_walls_fix(unsigned int lacks)
{
	size_t i = 0;

	while (i < XVT_WALLS - 1 && !(lacks & xvt_walls[i].lack))
		i++;
	return xvt_walls[i].fix;
}

uint64_t xvt_isolate_needs(void)
{
	return 1ull << CAP_SYS_CHROOT | 1ull << CAP_SYS_ADMIN | xvt_own_user_needs();
}

/* Opens a folder that has no name any more. Returns a descriptor or -errno. */
static int open_removed(void)
{
	static const char *const where[] = { "/run", "/tmp", "/dev/shm" };
	char path[64];
	int fd = -ENOENT;
	size_t i;

	for (i = 0; fd < 0 && i < sizeof(where) / sizeof(where[0]); i++) {
		snprintf(path, sizeof(path), "%s/xvtrace-root-XXXXXX", where[i]);
		if (!mkdtemp(path)) {
			fd = -errno;
			continue;
		}
		fd = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0)
			fd = -errno;
		if (rmdir(path) && fd >= 0) {
			close(fd);
			fd = -errno;
		}
	}
	return fd;
}

static int open_here(const char *path, int flags)
{
	const int fd = open(path, flags | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* Makes this folder the root and the current folder. Returns 0 or -errno. */
static int enter_root(int fd)
{
	return fchdir(fd) || chroot(".") ? -errno : 0;
}

static void close_one(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* Returns 0 or -errno, with nothing changed. */
static int leave_root(struct xvt_isolated *was)
{
	int removed, err = 0;

	was->root = open_here("/", O_PATH | O_DIRECTORY);
	was->cwd = open_here(".", O_PATH | O_DIRECTORY);
	removed = open_removed();
	if (was->root < 0 || was->cwd < 0)
		err = -EIO;
	else
		err = removed < 0 ? removed : enter_root(removed);
	if (err) {
		if (was->cwd >= 0 && fchdir(was->cwd))
			err = -errno;
		close_one(&was->root);
		close_one(&was->cwd);
	}
	close_one(&removed);
	return err;
}

/* How many threads run code of this process; 0: unknown. A worker that the kernel makes for an
 * io_uring does not: its name is the kernel's, and it makes the requests of the ring alone. */
static unsigned int count_threads(void)
{
	DIR *tasks = opendir("/proc/self/task");
	const struct dirent *entry;
	unsigned int count = 0;

	while (tasks && (entry = readdir(tasks))) {
		char path[300], name[16] = "";
		FILE *f;

		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/proc/self/task/%s/comm", entry->d_name);
		f = fopen(path, "re");
		if (!f || !fgets(name, sizeof(name), f) || strncmp(name, "iou-", 4) != 0)
			count++;
		if (f)
			fclose(f);
	}
	if (tasks)
		closedir(tasks);
	return count;
}

/* Whether there are threads beside the calling one. One that was joined may be in the list for a
 * moment, as it dies. */
static bool has_threads(void)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	unsigned int i;

	for (i = 0; i < DYING_MS; i++) {
		if (count_threads() == 1)
			return false;
		nanosleep(&pause, NULL);
	}
	return true;
}

/* Returns 0 or -errno, with nothing changed. */
static int leave_namespaces(struct xvt_isolated *was)
{
	int err = has_threads() ? -EBUSY : 0;

	was->net = err ? -1 : open_here("/proc/self/ns/net", O_RDONLY);
	was->ipc = err ? -1 : open_here("/proc/self/ns/ipc", O_RDONLY);
	if (!err && (was->net < 0 || was->ipc < 0))
		err = -EIO;
	if (!err && unshare(CLONE_NEWNET | CLONE_NEWIPC))
		err = -errno;
	if (err) {
		close_one(&was->net);
		close_one(&was->ipc);
	}
	return err;
}

unsigned int xvt_isolate(struct xvt_isolated *was)
{
	/* The user is last: the others need the capabilities in use. */
	const int namespaces = leave_namespaces(was), root = leave_root(was),
		  user = xvt_own_user_become();
	unsigned int lacks = (root ? XVT_NO_EMPTY_ROOT : 0) | (namespaces ? XVT_NO_NAMESPACES : 0) |
			     (user ? XVT_NO_OWN_USER : 0);

	/* A user namespace has not the ID, as a user who is not root has not the capability. */
	if (lacks && (!root || root == -EPERM) && (!namespaces || namespaces == -EPERM) &&
	    (!user || user == -EPERM || user == -EINVAL))
		lacks |= XVT_NO_CAPABILITY;
	return lacks;
}

int xvt_isolate_undo(struct xvt_isolated *was)
{
	int err = xvt_own_user_undo();

	if (was->root >= 0 && (enter_root(was->root) || fchdir(was->cwd)))
		err = -errno;
	if (was->net >= 0 && (setns(was->net, CLONE_NEWNET) || setns(was->ipc, CLONE_NEWIPC)))
		err = -errno;
	xvt_isolate_keep(was);
	return err;
}

void xvt_isolate_keep(struct xvt_isolated *was)
{
	close_one(&was->root);
	close_one(&was->cwd);
	close_one(&was->net);
	close_one(&was->ipc);
}

/* The parent reads the result as an exit status. */
static void try_it(void)
{
	struct xvt_isolated was = { -1, -1, -1, -1 };

	xvt_own_user_choose();
	_exit((int)xvt_isolate(&was));
}

unsigned int xvt_isolate_try(void)
{
	const pid_t pid = fork();
	int status;

	if (!pid)
		try_it();
	if (pid < 0 || xvt_child_finish(pid, &status, XVT_CHILD_END_MS, false) ||
	    !WIFEXITED(status))
		return XVT_NO_WALL;
	return (unsigned int)WEXITSTATUS(status);
}
