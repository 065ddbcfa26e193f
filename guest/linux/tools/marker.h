/* SPDX-License-Identifier: GPL-2.0 */
/* marker.h - what the tools share: lines for ftrace's trace_marker, of which one write is one
 * event; tracefs; descriptors; numbers. */
#ifndef MARKER_H
#define MARKER_H

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <mntent.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * A program that a boot script starts may have no descriptors 0, 1 and 2: files that the program
 * opens would get these numbers, and the messages. Call first.
 */
static inline void open_standard(void)
{
	int fd;

	for (fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) != fd)
			exit(1);
	}
}

static inline int has_marker(const char *dir)
{
	char path[PATH_MAX];

	return snprintf(path, sizeof(path), "%s/trace_marker", dir) < (int)sizeof(path) &&
	       !access(path, F_OK);
}

/* The tracefs of this machine, or NULL: at its usual places, or where it is mounted else. */
static inline const char *tracefs_dir(void)
{
	static const char *const dirs[] = { "/sys/kernel/tracing", "/sys/kernel/debug/tracing" };
	static char line[2 * PATH_MAX];
	struct mntent entry, *e;
	FILE *f;

	for (int i = 0; i < 2; i++) {
		if (has_marker(dirs[i]))
			return dirs[i];
	}
	f = setmntent("/proc/self/mounts", "re");
	while (f && (e = getmntent_r(f, &entry, line, sizeof(line)))) {
		if (!strcmp(e->mnt_type, "tracefs") && has_marker(e->mnt_dir))
			break;
	}
	if (f)
		endmntent(f);
	return f && e ? e->mnt_dir : NULL;
}

/* Open trace_marker or end the program. */
static inline int marker_open(const char *program)
{
	const char *dir = tracefs_dir();
	char path[PATH_MAX];
	int fd;

	if (!dir) {
		fprintf(stderr,
			"%s: tracefs: not mounted; mount -t tracefs tracefs /sys/kernel/tracing\n",
			program);
		exit(1);
	}
	snprintf(path, sizeof(path), "%s/trace_marker", dir);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0) {
		fprintf(stderr, "%s: %s: %s\n", program, path, strerror(errno));
		exit(1);
	}
	return fd;
}

/* 0 or -errno. */
__attribute__((format(printf, 2, 3))) static inline int marker_write(int fd, const char *fmt, ...)
{
	char line[256];
	va_list ap;
	int len;

	va_start(ap, fmt);
	len = vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	return write(fd, line, len) == len ? 0 : -errno;
}

/* A whole decimal number in [min, max], or end the program with status 2. */
static inline long long number_arg(const char *program, const char *what, const char *text,
				   long long min, long long max)
{
	char *end;
	long long v;

	errno = 0;
	v = strtoll(text, &end, 10);
	if (errno || end == text || *end || v < min || v > max) {
		fprintf(stderr, "%s: %s: %s: not a number from %lld to %lld\n", program, what, text,
			min, max);
		exit(2);
	}
	return v;
}

#endif /* MARKER_H */
