// SPDX-License-Identifier: GPL-2.0
/*
 * xvt-stock-guest.c - the memory of a guest with nothing of xvtrace in it, as its VMM shares it.
 * xvt-stock-guest FILE BUILD_ID: a ring of ftrace of two CPUs at byte 8192, and before it the
 * kernel's page for crash dumps, which has the build id ("-": none). Each CPU writes an event in a
 * millisecond, until SIGTERM.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "ftrace_ring.h"

#define ADDRESS	 0xffffc90000100000ull
#define OFFSET	 8192u
#define SUBBUFS	 64u
#define CPUS	 2u
#define AHEAD_NS 3600000000000ull /* the guest's clock is so far ahead of the host's */

static struct ftrace_ring g;
static volatile sig_atomic_t stopped;

static void on_signal(int sig)
{
	(void)sig;
	stopped = 1;
}

static uint64_t guest_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec + AHEAD_NS;
}

int main(int argc, char **argv)
{
	const struct sigaction act = { .sa_handler = on_signal };
	uint8_t *map;
	int fd;

	if (argc != 3)
		return 2;
	sigaction(SIGTERM, &act, NULL);
	g.layout = 1;
	g.n = SUBBUFS;
	g.nr_cpus = CPUS;
	g.seed = 1;
	g.size = ftrace_ring_size(g.layout, g.n, g.nr_cpus);
	g.now = guest_now;
	fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (fd < 0 || ftruncate(fd, (off_t)(OFFSET + g.size)))
		return 1;
	map = mmap(NULL, OFFSET + g.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return 1;
	if (strcmp(argv[2], "-") != 0)
		snprintf((char *)map + 4096, 4096,
			 "OSRELEASE=6.12.1\nBUILD-ID=%s\nPAGESIZE=4096\n"
			 "SYMBOL(init_uts_ns)=ffffffff82000000\n",
			 argv[2]);
	g.mem = map + OFFSET;
	ftrace_ring_boot(&g, ADDRESS);
	while (!stopped) {
		for (unsigned int cpu = 0; cpu < CPUS; cpu++)
			ftrace_ring_write(&g, cpu, 1);
		usleep(1000);
	}
	return 0;
}
