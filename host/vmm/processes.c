// SPDX-License-Identifier: GPL-2.0
/* processes.c - see processes.h. */
#define _GNU_SOURCE
#include "vmm/processes.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "base/lock.h"
#include "base/time.h"

#define KTHREADD      2 /* the parent of the kernel's threads */

#define LINES_AT_ONCE 64u /* of /proc/PID/maps: 20 us or so */

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

struct xvt_process_search {
	struct xvt_process_finder finder;
	bool (*wanted)(void *arg, int32_t pid); /* NULL: each is */
	DIR *dir;
	bool vhosts; /* the second walk */
	int32_t pid; /* of `maps` */
	FILE *maps;  /* a file that is not read to its end; or NULL */
	char *line;
	size_t room;
	size_t count;
	struct xvt_mapped_file *files;
	bool *found; /* the process maps the file */
};

int xvt_process_search_begin(struct xvt_process_search **search,
			     const struct xvt_process_finder *finder,
			     const struct xvt_mapped_file *files, size_t count)
{
	struct xvt_process_search *p = calloc(1, sizeof(*p));
	int err = -ENOMEM;

	if (!p)
		return err;
	p->finder = *finder;
	p->count = count;
	p->files = calloc(count + 1, sizeof(*files));
	p->found = calloc(count + 1, sizeof(*p->found));
	if (p->files && p->found) {
		if (count)
			memcpy(p->files, files, count * sizeof(*files));
		p->dir = opendir("/proc");
		err = p->dir ? 0 : -errno;
	}
	if (err)
		xvt_process_search_end(p);
	else
		*search = p;
	return err;
}

void xvt_process_search_end(struct xvt_process_search *p)
{
	if (!p)
		return;
	if (p->dir)
		closedir(p->dir);
	if (p->maps)
		fclose(p->maps);
	free(p->line);
	free(p->files);
	free(p->found);
	free(p);
}

void xvt_process_search_only(struct xvt_process_search *p, bool (*wanted)(void *arg, int32_t pid))
{
	p->wanted = wanted;
}

static void open_maps(struct xvt_process_search *p, int32_t pid)
{
	char path[64];

	if (pid == getpid() || (p->wanted && !p->wanted(p->finder.arg, pid)))
		return;
	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	p->maps = fopen(path, "re");
	p->pid = pid;
	memset(p->found, 0, p->count * sizeof(*p->found));
}

static void close_maps(struct xvt_process_search *p)
{
	size_t i;

	fclose(p->maps);
	p->maps = NULL;
	for (i = 0; i < p->count; i++) {
		if (p->found[i])
			p->finder.mapping(p->finder.arg, p->pid, i);
	}
}

/* Read some lines of the open file, and close it at its end. */
static void read_maps(struct xvt_process_search *p)
{
	unsigned int major, minor, lines;
	uint64_t ino;
	size_t i;

	for (lines = 0; lines < LINES_AT_ONCE; lines++) {
		if (getline(&p->line, &p->room, p->maps) <= 0) {
			close_maps(p);
			return;
		}
		if (sscanf(p->line, "%*s %*s %*s %x:%x %" SCNu64, &major, &minor, &ino) != 3 ||
		    !ino)
			continue;
		for (i = 0; i < p->count; i++)
			p->found[i] |=
				p->files[i].ino == ino && p->files[i].dev == makedev(major, minor);
	}
}

/* Read a name of at most XVT_TASK_NAME_LEN - 1 bytes, without its newline. */
static bool read_name(const char *path, char *name, size_t size)
{
	FILE *f = fopen(path, "re");
	size_t n = f ? fread(name, 1, size - 1, f) : 0;

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
	return read_name(path, name, XVT_TASK_NAME_LEN);
}

bool xvt_thread_process(int32_t tid, int32_t *tgid, bool *kernel)
{
	char path[64], line[128];
	int32_t parent = 0;
	FILE *f;

	*tgid = 0;
	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f) && sscanf(line, "PPid: %d", &parent) != 1)
		sscanf(line, "Tgid: %d", tgid);
	if (f)
		fclose(f);
	*kernel = tid == KTHREADD || parent == KTHREADD;
	return *tgid > 0;
}

bool xvt_process_is_qemu(int32_t pid, uid_t *uid)
{
	static const char qemu[] = "Name:\tqemu-";
	char path[64], line[128];
	bool named = false, found = false;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	f = fopen(path, "re");
	while (f && !found && fgets(line, sizeof(line), f)) {
		named |= !strncmp(line, qemu, sizeof(qemu) - 1);
		found = sscanf(line, "Uid: %u", uid) == 1;
	}
	if (f)
		fclose(f);
	return named && found;
}

bool xvt_process_start(int32_t pid, unsigned long long *ticks)
{
	char path[64], text[1024];
	const char *at;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "re");
	if (!f)
		return false;
	/* The name, in parentheses, may hold anything. */
	at = fgets(text, sizeof(text), f) ? strrchr(text, ')') : NULL;
	fclose(f);
	return at && sscanf(at + 1,
			    " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d "
			    "%*d %*d %llu",
			    ticks) == 1;
}

uint64_t xvt_thread_start_ns(int32_t tid)
{
	unsigned long long ticks;
	struct timespec boot, now;
	uint64_t ns, slept;

	if (!xvt_process_start(tid, &ticks))
		return 0;
	/* The kernel counts from the boot, also while the host is suspended. */
	clock_gettime(CLOCK_MONOTONIC, &now);
	clock_gettime(CLOCK_BOOTTIME, &boot);
	slept = xvt_timespec_ns(&boot) - xvt_timespec_ns(&now);
	ns = ticks * (SECOND_NS / (unsigned long)sysconf(_SC_CLK_TCK));
	return ns > slept + 1 ? ns - slept : 1;
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

static void look_at_name(const struct xvt_process_search *p, int32_t tid)
{
	char path[64], name[64], rest;
	int32_t pid;

	snprintf(path, sizeof(path), "/proc/%d/comm", tid);
	if (read_name(path, name, sizeof(name)) &&
	    (sscanf(name, "vhost-%d%c", &pid, &rest) == 1 ||
	     sscanf(name, "kvm-nx-lpage-recovery-%d%c", &pid, &rest) == 1))
		p->finder.vhost(p->finder.arg, tid, name, pid);
}

bool xvt_process_search_step(struct xvt_process_search *p, uint64_t most_ns)
{
	const uint64_t begin = xvt_monotonic_ns();
	int32_t pid;

	do {
		if (p->maps) {
			read_maps(p);
			continue;
		}
		pid = next_number(p->dir);
		if (!pid && (p->vhosts || !p->finder.vhost))
			return true;
		if (!pid) {
			p->vhosts = true;
			rewinddir(p->dir);
		} else if (p->vhosts) {
			look_at_name(p, pid);
		} else {
			open_maps(p, pid);
		}
	} while (xvt_monotonic_ns() - begin < most_ns);
	return false;
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
	return xvt_lock_holder(file->dev, file->ino);
}

#define COMMAND_MOST 100u /* bytes of a command line that are shown */
#define FDS_MOST     256

/* Reads a command line, with blanks between its words; "" if it cannot be seen. */
static void read_command(pid_t pid, char text[COMMAND_MOST + sizeof("...")])
{
	char path[64];
	size_t n, i;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
	f = fopen(path, "re");
	n = f ? fread(text, 1, COMMAND_MOST + 1, f) : 0;
	if (f)
		fclose(f);
	while (n && n <= COMMAND_MOST && !text[n - 1])
		n--;
	for (i = 0; i < n; i++)
		text[i] = text[i] ? text[i] : ' ';
	text[n > COMMAND_MOST ? COMMAND_MOST : n] = '\0';
	if (n > COMMAND_MOST)
		strcat(text, "...");
}

/* Whether this is the file that a recorder writes: open for writing alone, and locked by it. */
static bool is_output(pid_t pid, const char *link)
{
	struct xvt_mapped_file file;
	struct stat own, st;

	/* The link's mode is that of the descriptor. */
	if (lstat(link, &own) || (own.st_mode & 0600) != 0200 || stat(link, &st) ||
	    !S_ISREG(st.st_mode))
		return false;
	file = (struct xvt_mapped_file){ st.st_dev, st.st_ino };
	return xvt_file_locker(&file) == pid;
}

/* Stores the path of what a recorder writes; "" if it cannot be seen. */
static void find_output(pid_t pid, char path[PATH_MAX])
{
	char link[64];
	ssize_t n;
	int fd;

	path[0] = '\0';
	for (fd = 0; fd < FDS_MOST; fd++) {
		snprintf(link, sizeof(link), "/proc/%d/fd/%d", pid, fd);
		if (!is_output(pid, link))
			continue;
		n = readlink(link, path, PATH_MAX - 1);
		path[n > 0 ? n : 0] = '\0';
		return;
	}
}

void xvt_process_describe(pid_t pid, char *text, size_t size)
{
	char command[COMMAND_MOST + sizeof("...")], output[PATH_MAX];

	read_command(pid, command);
	find_output(pid, output);
	snprintf(text, size, "process %d%s%s%s%s%s", pid, command[0] ? " (" : "", command,
		 command[0] ? ")" : "", output[0] ? ", which writes " : "", output);
}

bool xvt_file_is_left(const char *path, uint64_t size)
{
	struct xvt_mapped_file file;
	struct stat st;

	if (lstat(path, &st) || !S_ISREG(st.st_mode) || (uint64_t)st.st_size != size)
		return false;
	file = (struct xvt_mapped_file){ st.st_dev, st.st_ino };
	return !xvt_file_has_writer(path) && !xvt_file_locker(&file);
}

/* Whether one line of /proc/PID/maps is a private mapping of the file for writing. */
static bool is_copy(const char *line, const struct xvt_mapped_file *file)
{
	unsigned int major, minor;
	char rights[8];
	uint64_t ino;

	return sscanf(line, "%*s %7s %*s %x:%x %" SCNu64, rights, &major, &minor, &ino) == 4 &&
	       ino == file->ino && makedev(major, minor) == file->dev && rights[1] == 'w' &&
	       rights[3] == 'p';
}

static bool has_copy(int32_t pid, const struct xvt_mapped_file *file)
{
	char path[64], *line = NULL;
	bool found = false;
	size_t room = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	f = fopen(path, "re");
	while (f && !found && getline(&line, &room, f) > 0)
		found = is_copy(line, file);
	free(line);
	if (f)
		fclose(f);
	return found;
}

pid_t xvt_file_copied_by(const struct xvt_mapped_file *file)
{
	DIR *dir = opendir("/proc");
	pid_t found = 0, pid;

	while (dir && !found && (pid = next_number(dir))) {
		if (has_copy(pid, file))
			found = pid;
	}
	if (dir)
		closedir(dir);
	return found;
}
