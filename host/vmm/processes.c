// SPDX-License-Identifier: GPL-2.0
/* processes.c - see processes.h. */
#define _GNU_SOURCE
#include "vmm/processes.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* The next entry of a folder that is a number; 0: none. */
static int32_t next_number(DIR *dir)
{
	struct dirent *e;

	while ((e = readdir(dir))) {
		const long n =
			isdigit((unsigned char)e->d_name[0]) ? strtol(e->d_name, NULL, 10) : 0;

		if (n > 0 && n <= INT32_MAX)
			return (int32_t)n;
	}
	return 0;
}

/* Note in found[] which of the files the process maps. */
static void look_at_maps(int32_t pid, const struct xvt_mapped_file *files, size_t count,
			 bool *found)
{
	unsigned int major, minor;
	char path[64], *line = NULL;
	size_t room = 0, i;
	uint64_t ino;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	f = fopen(path, "re");
	if (!f)
		return;
	while (getline(&line, &room, f) > 0) {
		if (sscanf(line, "%*s %*s %*s %x:%x %" SCNu64, &major, &minor, &ino) != 3 || !ino)
			continue;
		for (i = 0; i < count; i++)
			found[i] |= files[i].ino == ino && files[i].dev == makedev(major, minor);
	}
	free(line);
	fclose(f);
}

int xvt_processes_mapping(const struct xvt_mapped_file *files, size_t count,
			  void (*fn)(void *arg, int32_t pid, size_t file), void *arg)
{
	bool *found = calloc(count ? count : 1, sizeof(*found));
	DIR *dir = found ? opendir("/proc") : NULL;
	int err = dir ? 0 : -errno;
	int32_t pid;
	size_t i;

	while (dir && (pid = next_number(dir))) {
		if (pid == getpid())
			continue;
		memset(found, 0, count * sizeof(*found));
		look_at_maps(pid, files, count, found);
		for (i = 0; i < count; i++) {
			if (found[i])
				fn(arg, pid, i);
		}
	}
	if (dir)
		closedir(dir);
	free(found);
	return err;
}

/* Read a name of at most XVT_TASK_NAME_LEN - 1 bytes, without its newline. */
static bool read_name(const char *path, char name[XVT_TASK_NAME_LEN])
{
	FILE *f = fopen(path, "re");
	size_t n = f ? fread(name, 1, XVT_TASK_NAME_LEN - 1, f) : 0;

	if (f)
		fclose(f);
	if (n && name[n - 1] == '\n')
		n--;
	name[n] = 0;
	return n;
}

bool xvt_thread_name(int32_t pid, int32_t tid, char name[XVT_TASK_NAME_LEN])
{
	char path[96];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", pid, tid);
	return read_name(path, name);
}

int xvt_process_threads(int32_t pid, void (*fn)(void *arg, int32_t tid), void *arg)
{
	char path[64];
	int32_t tid;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	if (!dir)
		return errno == ENOENT ? -ESRCH : -errno;
	while ((tid = next_number(dir)))
		fn(arg, tid);
	closedir(dir);
	return 0;
}

int xvt_process_vhosts(void (*fn)(void *arg, int32_t tid, const char *name, int32_t pid), void *arg)
{
	char path[64], name[XVT_TASK_NAME_LEN], rest;
	DIR *dir = opendir("/proc");
	int32_t tid, pid;

	if (!dir)
		return -errno;
	while ((tid = next_number(dir))) {
		snprintf(path, sizeof(path), "/proc/%d/comm", tid);
		if (read_name(path, name) && sscanf(name, "vhost-%d%c", &pid, &rest) == 1)
			fn(arg, tid, name, pid);
	}
	closedir(dir);
	return 0;
}

int xvt_file_has_writer(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW), err = 0;

	if (fd < 0)
		return -errno;
	/* A process that opens the file while the lease is held waits until it is given back, and
	 * this one gets a signal: one that is ignored by default. */
	if (fcntl(fd, F_SETSIG, SIGURG) || fcntl(fd, F_SETLEASE, F_RDLCK))
		err = -errno;
	close(fd); /* gives the lease back */
	return err == -EAGAIN ? 1 : err;
}

pid_t xvt_file_locker(const struct xvt_mapped_file *file)
{
	FILE *f = fopen("/proc/locks", "re");
	unsigned int major, minor;
	char *line = NULL;
	pid_t found = 0;
	size_t room = 0;
	uint64_t ino;
	int pid;

	while (f && !found && getline(&line, &room, f) > 0) {
		if (sscanf(line, "%*s FLOCK %*s %*s %d %x:%x:%" SCNu64, &pid, &major, &minor,
			   &ino) == 4 &&
		    ino == file->ino && makedev(major, minor) == file->dev && pid > 0)
			found = pid;
	}
	free(line);
	if (f)
		fclose(f);
	return found;
}
