// SPDX-License-Identifier: GPL-2.0
/* limits.c - see limits.h. */
#define _GNU_SOURCE
#include "rights/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "rights/sandbox.h"

static bool is_off(void)
{
	return xvt_sandbox_check() == -ENOTSUP;
}

/* Sets both values, or the highest that is allowed. */
static void set(__rlimit_resource_t what, rlim_t most)
{
	struct rlimit l;

	if (is_off() || getrlimit(what, &l))
		return;
	l.rlim_max = l.rlim_max < most ? l.rlim_max : most;
	l.rlim_cur = l.rlim_max;
	setrlimit(what, &l);
}

void xvt_limit_core(void)
{
	/* With 0, the program that the kernel pipes cores to would run. One byte holds no core. */
	set(RLIMIT_CORE, 1);
}

void xvt_limit_files(void)
{
	struct rlimit l;

	if (!getrlimit(RLIMIT_NOFILE, &l))
		set(RLIMIT_NOFILE, l.rlim_cur);
}

void xvt_limit_files_to_open(void)
{
	/* The lowest number that is free: no new descriptor can have a lower one. */
	int fd = fcntl(STDERR_FILENO, F_DUPFD, 0);

	if (fd < 0)
		return;
	close(fd);
	set(RLIMIT_NOFILE, (rlim_t)fd);
}

/* Private memory of this process that can be written, in bytes; 0: unknown. */
static uint64_t memory_in_use(void)
{
	FILE *f = fopen("/proc/self/status", "re");
	unsigned long long kib = 0;
	char line[128];

	while (f && !kib && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "VmData: %llu kB", &kib) != 1)
			kib = 0;
	}
	if (f)
		fclose(f);
	return kib << 10;
}

void xvt_limit_memory(uint64_t bytes)
{
	const uint64_t used = memory_in_use();

	if (used && bytes < RLIM_INFINITY - used)
		set(RLIMIT_DATA, used + bytes);
}
