// SPDX-License-Identifier: GPL-2.0
/*
 * xvt-ftrace-ring.c - reads the ring of ftrace that a guest's kernel has in a file of shared
 * memory, by the recorder's reader (vmm/ftrace_map.c). xvt-ftrace-ring POLL_US OUT FILE Waits for
 * the ring, and reads it until SIGINT or SIGTERM; then once more to its end. OUT has a line for
 * each event: CPU, raw stamp, type. stdout has a line for each CPU: its events, those since the
 * ring was emptied last, and what happened.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "vmm/ftrace_map.h"

#define CPUS	8
#define PRINT	5 /* in all kernels */
#define TEXT_AT 16

struct cpu {
	struct xvt_ftrace_ring ring;
	bool on;
	uint64_t events, since, bad, missed, gaps;
	uint32_t happened;
};

static struct cpu cpus[CPUS];
static volatile sig_atomic_t stopped;
static uint64_t most = UINT64_MAX;

static void on_signal(int sig)
{
	(void)sig;
	stopped = 1;
}

/* TRACE_PRINT: u64 address of the writer's code behind the common fields, then the text. */
static void put_text(const struct xvt_ftrace_entry *e, FILE *out)
{
	const uint8_t *text = e->data + TEXT_AT, *end = e->data + e->len;

	for (fputc(' ', out); text < end && *text >= ' '; text++)
		fputc(*text, out);
}

static void read_cpu(struct cpu *c, FILE *out)
{
	struct xvt_ftrace_ring *r = &c->ring;
	struct xvt_ftrace_entry e;
	uint16_t type;

	while (xvt_ftrace_ring_look(r)) {
		c->happened |= r->happened;
		c->gaps += (r->happened & XVT_FTRACE_MISSING) != 0;
		c->missed += r->missed;
		if (r->happened & XVT_FTRACE_CLEARED)
			c->since = 0;
		r->happened = 0;
		r->missed = 0;
		while (xvt_ftrace_page_next(&r->page, &e)) {
			memcpy(&type, e.data, sizeof(type));
			fprintf(out, "%d %" PRIu64 " %u", (int)(c - cpus), e.clock, type);
			if (type == PRINT)
				put_text(&e, out);
			fputc('\n', out);
			c->events++;
			c->since++;
		}
		c->bad += r->page.bad;
	}
}

static void read_all(const struct xvt_ftrace_map *m, FILE *out)
{
	for (uint32_t i = 0; i < CPUS; i++) {
		if (!cpus[i].on)
			cpus[i].on = xvt_ftrace_ring_init(&cpus[i].ring, m, i);
		if (cpus[i].on && (stopped || cpus[i].since < most))
			read_cpu(&cpus[i], out);
	}
}

static const void *map_file(const char *path, size_t *size)
{
	struct stat st = { 0 };
	void *map;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	while (!stopped && (fd < 0 || fstat(fd, &st) || !st.st_size)) {
		usleep(1000);
		if (fd < 0)
			fd = open(path, O_RDONLY | O_CLOEXEC);
	}
	*size = (size_t)st.st_size;
	map = mmap(NULL, *size, PROT_READ, MAP_SHARED, fd, 0);
	return map == MAP_FAILED ? NULL : map;
}

int main(int argc, char **argv)
{
	const struct sigaction act = { .sa_handler = on_signal };
	struct xvt_ftrace_map m;
	const void *map;
	size_t size;
	FILE *out;

	if (argc != 4 && argc != 5)
		return 2;
	if (argc == 5)
		most = strtoull(argv[4], NULL, 0);
	sigaction(SIGINT, &act, NULL);
	sigaction(SIGTERM, &act, NULL);
	out = fopen(argv[2], "we");
	map = map_file(argv[3], &size);
	if (!out || !map)
		return 1;
	while (!stopped && xvt_ftrace_map_search(&m, map, size, 0, size))
		usleep(1000);
	if (stopped)
		return 1;
	printf("layout %u cpus %u subbufs %u\n", m.layout, m.nr_cpus, m.nr_subbufs);
	while (!stopped) {
		read_all(&m, out);
		usleep((useconds_t)atoi(argv[1]));
	}
	read_all(&m, out);
	for (int i = 0; i < CPUS; i++) {
		const struct cpu *c = &cpus[i];

		if (c->events)
			printf("cpu%d events=%" PRIu64 " since=%" PRIu64
			       " happened=%u gaps=%" PRIu64 " missed=%" PRIu64 " torn=%" PRIu64
			       " bad=%" PRIu64 "\n",
			       i, c->events, c->since, c->happened, c->gaps, c->missed,
			       c->ring.torn, c->bad);
	}
	return fclose(out) != 0;
}
