// SPDX-License-Identifier: GPL-2.0
/*
 * bench_move.c - what it costs to bring bytes from a region into private memory, and from there to
 * a file, by the ways that there are: through the event loop (io_uring), or by copying from the
 * mapping and by write(2). The engine takes the cheaper one for each size; this is how we know.
 *
 *   bench_move FILE JSON       FILE is written many times over, and removed
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/loop.h"
#include "base/region.h"
#include "cpu.h"

#define REGION_BYTES (256u << 20) /* more than any cache */
#define AREA_BYTES   (8u << 20)
#define TURN_BYTES   (64u << 20) /* measured at once */
#define IN_FLIGHT    128u	 /* of a pass: then they are handed over together */
#define ROUNDS	     5
#define BLOCK	     4096u

enum way { THROUGH_LOOP, THROUGH_LOOP_PINNED, MAPPED };

static const char *const way_names[] = {
	[THROUGH_LOOP] = "io_uring",
	[THROUGH_LOOP_PINNED] = "io_uring, registered",
	[MAPPED] = "mapping",
};

struct bench {
	struct xvt_loop *loops[2]; /* the second one knows the area */
	int region;
	const uint8_t *map;
	uint8_t *area;
	FILE *json;
	bool more;
};

struct read {
	struct xvt_op op;
	unsigned int *left;
	uint32_t len;
	int err;
};

struct cost {
	double cpu_ns; /* a KiB */
	double wall_ns;
};

static uint64_t clock_ns(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void read_done(struct xvt_op *op, int res)
{
	struct read *r = (struct read *)op;

	r->err = res == (int)r->len ? 0 : res < 0 ? res : -EIO;
	--*r->left;
}

/* `count` pieces of `len` bytes, `stride` apart in the region: a pass over many rings. */
static int pass(struct bench *b, enum way way, uint64_t from, uint64_t stride, uint32_t len,
		unsigned int count)
{
	struct xvt_loop *loop = b->loops[way == THROUGH_LOOP_PINNED];
	struct read reads[IN_FLIGHT];
	unsigned int i, left = count;
	int err = 0;

	for (i = 0; i < count; i++) {
		uint8_t *to = b->area + (uint64_t)i * len % (AREA_BYTES - len + 1);

		if (way == MAPPED) {
			memcpy(to, b->map + from + i * stride, len);
			__asm__ volatile("" ::"r"(to) : "memory");
			continue;
		}
		reads[i] = (struct read){ .op.done = read_done, .left = &left, .len = len };
		err = xvt_loop_read(loop, &reads[i].op, b->region, to, len, from + i * stride);
		if (err)
			return err;
	}
	if (way == MAPPED)
		return 0;
	while (left && err >= 0)
		err = xvt_loop_run(loop, 1000000000u);
	for (i = 0; i < count && err >= 0; i++)
		err = reads[i].err;
	return err < 0 ? err : 0;
}

static int measure_reads(struct bench *b, enum way way, uint32_t len, struct cost *best)
{
	const unsigned int pieces = TURN_BYTES / len < 65536 ? TURN_BYTES / len : 65536;
	const uint64_t stride = REGION_BYTES / pieces;
	int round, err = 0;

	*best = (struct cost){ 1e9, 1e9 };
	for (round = 0; !err && round < ROUNDS; round++) {
		uint64_t cpu = clock_ns(CLOCK_PROCESS_CPUTIME_ID), wall = clock_ns(CLOCK_MONOTONIC);
		double kib = (double)pieces * len / 1024;

		for (unsigned int i = 0; !err && i < pieces; i += IN_FLIGHT)
			err = pass(b, way, i * stride, stride, len,
				   pieces - i < IN_FLIGHT ? pieces - i : IN_FLIGHT);
		cpu = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu;
		wall = clock_ns(CLOCK_MONOTONIC) - wall;
		if ((double)cpu / kib < best->cpu_ns)
			*best = (struct cost){ (double)cpu / kib, (double)wall / kib };
	}
	return err;
}

/* The recorder's way: a few buffers under way at once. Or one write(2) after the other. */
static int measure_writes(struct bench *b, const char *path, enum way way, bool direct,
			  struct cost *best)
{
	const uint32_t len = 1u << 20;
	struct xvt_loop *loop = b->loops[way == THROUGH_LOOP_PINNED];
	int round, err = 0;

	*best = (struct cost){ 1e9, 1e9 };
	for (round = 0; !err && round < ROUNDS; round++) {
		int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | (direct ? O_DIRECT : 0), 0600);
		uint64_t cpu = clock_ns(CLOCK_PROCESS_CPUTIME_ID), wall = clock_ns(CLOCK_MONOTONIC);
		uint64_t off = 0;

		if (fd < 0)
			return -errno;
		while (!err && off < TURN_BYTES) {
			struct read writes[4];
			unsigned int left = 4, i;

			for (i = 0; !err && i < 4; i++, off += len) {
				writes[i] = (struct read){ .op.done = read_done,
							   .left = &left,
							   .len = len };
				if (way != MAPPED)
					err = xvt_loop_write(loop, &writes[i].op, fd,
							     b->area + i * len, len, off);
				else if (pwrite(fd, b->area + i * len, len, (off_t)off) !=
					 (ssize_t)len)
					err = -errno;
			}
			while (way != MAPPED && left && err >= 0)
				err = xvt_loop_run(loop, 1000000000u);
			for (i = 0; way != MAPPED && i < 4 && err >= 0; i++)
				err = writes[i].err;
			err = err < 0 ? err : 0;
		}
		cpu = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu;
		wall = clock_ns(CLOCK_MONOTONIC) - wall;
		close(fd);
		if ((double)cpu / (TURN_BYTES >> 10) < best->cpu_ns)
			*best = (struct cost){ (double)cpu / (TURN_BYTES >> 10),
					       (double)wall / (TURN_BYTES >> 10) };
	}
	return err;
}

static void print_row(struct bench *b, const char *what, const char *way, uint32_t len,
		      const struct cost *c)
{
	printf("%-22s %-21s %7u bytes: %7.1f ns of CPU a KiB, %7.1f ns wall, %5.2f GB/s\n", what,
	       way, len, c->cpu_ns, c->wall_ns, 1024 / c->cpu_ns);
	fflush(stdout);
	fprintf(b->json,
		"%s{\"what\":\"%s\",\"way\":\"%s\",\"bytes\":%u,\"cpu_ns_per_kib\":%.2f,"
		"\"wall_ns_per_kib\":%.2f}",
		b->more ? "," : "", what, way, len, c->cpu_ns, c->wall_ns);
	b->more = true;
}

static int bench(struct bench *b, const char *path)
{
	struct cost cost;
	uint32_t len;
	int err = 0;

	for (len = 256; !err && len <= 1u << 20; len *= 4) {
		for (int way = THROUGH_LOOP; !err && way <= MAPPED; way++) {
			err = measure_reads(b, way, len, &cost);
			if (!err)
				print_row(b, "region to memory", way_names[way], len, &cost);
		}
	}
	for (int direct = 0; !err && direct < 2; direct++) {
		for (int way = THROUGH_LOOP; !err && way <= MAPPED; way++) {
			err = measure_writes(b, path, way, direct, &cost);
			if (err == -EINVAL && direct)
				return 0; /* this file system has no such thing */
			if (!err)
				print_row(b, direct ? "memory to file, direct" : "memory to file",
					  way == MAPPED ? "write(2)" : way_names[way], 1u << 20,
					  &cost);
		}
	}
	return err;
}

static int start(struct bench *b)
{
	struct iovec area = { .iov_len = AREA_BYTES };
	int err;

	b->region = memfd_create("xvt-region", MFD_CLOEXEC);
	if (b->region < 0 || ftruncate(b->region, REGION_BYTES))
		return -errno;
	b->map = mmap(NULL, REGION_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
		      b->region, 0);
	b->area = mmap(NULL, AREA_BYTES, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (b->map == MAP_FAILED || b->area == MAP_FAILED)
		return -errno;
	memset((void *)b->map, 1, REGION_BYTES);
	memset(b->area, 2, AREA_BYTES);
	err = xvt_loop_new(&b->loops[0]);
	if (!err)
		err = xvt_loop_new(&b->loops[1]);
	area.iov_base = b->area;
	if (!err)
		xvt_loop_register(b->loops[1], &area);
	return err;
}

int main(int argc, char **argv)
{
	struct bench b = { .region = -1 };
	int err;

	if (argc != 3) {
		fprintf(stderr, "usage: bench_move FILE JSON\n");
		return 2;
	}
	b.json = fopen(argv[2], "w");
	err = b.json ? start(&b) : -errno;
	if (!err) {
		printf("moving bytes on %s\n", bench_cpu());
		fprintf(b.json, "{\"format\":\"xvtrace-bench-move/1\",\"cpu\":\"%s\",\"ways\":[",
			bench_cpu());
		err = bench(&b, argv[1]);
		fprintf(b.json, "]}\n");
	}
	if (b.json && fclose(b.json) && !err)
		err = -errno;
	unlink(argv[1]);
	if (err)
		fprintf(stderr, "bench_move: %s\n", strerror(-err));
	return err != 0;
}
