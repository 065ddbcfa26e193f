// SPDX-License-Identifier: GPL-2.0
/* seed_ftrace.c - an input for fuzz_ftrace.c: LAYOUT SUBBUFS CPUS EVENTS: a guest's ftrace ring. */
#include <stdio.h>
#include <stdlib.h>

#include "ftrace_ring.h"

int main(int argc, char **argv)
{
	static struct ftrace_ring g;
	unsigned int cpu;

	if (argc != 5)
		return 2;
	g.layout = atoi(argv[1]);
	g.n = (uint32_t)atoi(argv[2]);
	g.nr_cpus = (unsigned int)atoi(argv[3]);
	g.seed = 1;
	g.size = ftrace_ring_size(g.layout, g.n, g.nr_cpus);
	if (g.size > 65535 || posix_memalign((void **)&g.mem, 4096, g.size))
		return 1;
	ftrace_ring_boot(&g, 0xffffc90000000000ull);
	for (cpu = 0; cpu < g.nr_cpus; cpu++)
		ftrace_ring_write(&g, cpu, (unsigned int)atoi(argv[4]));
	putchar((int)(g.size / 4096 - 2));
	putchar((int)(g.size & 0xff));
	putchar((int)(g.size >> 8));
	return fwrite(g.mem, 1, g.size, stdout) != g.size;
}
