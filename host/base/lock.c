// SPDX-License-Identifier: GPL-2.0
/* lock.c - see lock.h. */
#include "base/lock.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/time.h"

#define LOOK_NS 5000000u

pid_t xvt_lock_holder(dev_t dev, ino_t ino)
{
	FILE *f = fopen("/proc/locks", "re");
	unsigned int major, minor;
	char *line = NULL;
	uint64_t number;
	pid_t found = 0;
	size_t room = 0;
	int pid;

	while (f && !found && getline(&line, &room, f) > 0) {
		if (sscanf(line, "%*s FLOCK %*s %*s %d %x:%x:%" SCNu64, &pid, &major, &minor,
			   &number) == 4 &&
		    number == ino && makedev(major, minor) == dev && pid > 0)
			found = pid;
	}
	free(line);
	if (f)
		fclose(f);
	return found;
}

bool xvt_process_has_ended(pid_t pid)
{
	unsigned long long signals, pending = 0;
	bool has_memory = false;
	char path[64], line[256];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	f = fopen(path, "re");
	if (!f)
		return errno == ENOENT;
	while (fgets(line, sizeof(line), f)) {
		has_memory |= !strncmp(line, "VmSize:", strlen("VmSize:"));
		if (sscanf(line, "SigPnd: %llx", &signals) == 1 ||
		    sscanf(line, "ShdPnd: %llx", &signals) == 1)
			pending |= signals;
	}
	fclose(f);
	return !has_memory || pending & 1ULL << (SIGKILL - 1);
}

static pid_t holder_of(int fd)
{
	struct stat st;

	return fstat(fd, &st) ? 0 : xvt_lock_holder(st.st_dev, st.st_ino);
}

int xvt_lock_take(int fd, unsigned int wait_ms)
{
	const uint64_t begin_ns = xvt_monotonic_ns();
	const struct timespec nap = xvt_timespec(LOOK_NS);
	uint64_t most_ms = wait_ms;
	bool left = false;
	pid_t pid;

	while (flock(fd, LOCK_EX | LOCK_NB)) {
		if (errno != EWOULDBLOCK)
			return -errno;
		if (xvt_monotonic_ns() - begin_ns >= most_ms * 1000000)
			return -EBUSY;
		/* A look at all locks is dear, and the process does not come back. In a PID
		 * namespace the kernel hides the lock of a process that has ended, as it does that
		 * of a process outside, so a lock that is not seen is waited for, too. */
		if (!left) {
			pid = holder_of(fd);
			left = pid && xvt_process_has_ended(pid);
			if (pid && !left)
				return -EBUSY;
			if (left && wait_ms)
				most_ms = XVT_LOCK_LEFT_MS;
		}
		nanosleep(&nap, NULL);
	}
	return 0;
}
