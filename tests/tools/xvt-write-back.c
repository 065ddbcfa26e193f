// SPDX-License-Identifier: GPL-2.0
/*
 * xvt-write-back.c - what a live migration to a VMM that maps the same file does to a region: pages
 * of it are copied while the guest writes, and the copies are written over it some time later, each
 * for itself, sometimes an older one and then a newer one. Which, and when, comes from one seed.
 *
 *   xvt-write-back REGION SEED TURNS
 *
 * A writer's page is copied while no event is open: a copy with an open event would keep the
 * ring from ever publishing again, which is the guest's affair, not the reader's.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "xvt_check.h"

#define PAGE 4096u

static struct {
	uint8_t *base;
	struct xvt_geometry g;
	uint64_t state;
} m;

static uint64_t below(uint64_t n)
{
	m.state ^= m.state >> 12;
	m.state ^= m.state << 25;
	m.state ^= m.state >> 27;
	return (m.state * 2685821657736338717ull >> 16) % n;
}

static struct xvt_ring_ctl *ctl(uint32_t ring)
{
	return (struct xvt_ring_ctl *)(m.base + xvt_ctl_off(&m.g, ring));
}

/* The page in which the ring is just being written. */
static uint8_t *data_page(uint32_t ring)
{
	uint64_t pos = xvt_load(&ctl(ring)->commit);

	return m.base + xvt_data_off(&m.g, ring) + (xvt_pos_off(&m.g, pos) & ~(uint64_t)(PAGE - 1));
}

static uint8_t *page_of(uint32_t ring, unsigned int which)
{
	switch (which) {
	case 0:
		return m.base + m.g.host_off;
	case 1:
		return m.base + xvt_ring_host_off(&m.g, ring);
	case 2:
		return data_page(ring);
	default:
		return (uint8_t *)ctl(ring);
	}
}

/* Word by word, as the processor's own copies are no better. */
static void copy_page(uint8_t *to, const uint8_t *from)
{
	size_t i;

	for (i = 0; i < PAGE; i += 8)
		xvt_store((uint64_t *)(to + i), xvt_load((const uint64_t *)(from + i)));
}

static void take_copy(uint8_t *copy, const uint8_t *page)
{
	const struct xvt_ring_ctl *c = (const struct xvt_ring_ctl *)copy;

	do {
		copy_page(copy, page);
	} while (c->magic == XVT_RING_MAGIC && c->nest && usleep(50) == 0);
}

static void turn(void)
{
	static uint8_t older[PAGE] __attribute__((aligned(8)));
	static uint8_t newer[PAGE] __attribute__((aligned(8)));
	uint8_t *page = page_of((uint32_t)below(m.g.ring_count), (unsigned int)below(6));
	bool both = below(3) == 0;

	take_copy(older, page);
	usleep((useconds_t)below(15000));
	if (both) {
		take_copy(newer, page);
		usleep((useconds_t)below(15000));
	}
	copy_page(page, older);
	if (both) {
		usleep((useconds_t)below(15000));
		copy_page(page, newer);
	}
	usleep((useconds_t)below(30000));
}

int main(int argc, char **argv)
{
	struct xvt_region_hdr hdr;
	struct xvt_fault fault;
	struct stat st;
	long turns;
	int fd;

	if (argc != 4) {
		fprintf(stderr, "usage: xvt-write-back REGION SEED TURNS\n");
		return 2;
	}
	fd = open(argv[1], O_RDWR);
	if (fd < 0 || fstat(fd, &st)) {
		perror(argv[1]);
		return 1;
	}
	m.base = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (m.base == MAP_FAILED) {
		perror(argv[1]);
		return 1;
	}
	memcpy(&hdr, m.base, sizeof(hdr));
	if (xvt_check_header(&hdr, (uint64_t)st.st_size, &m.g, &fault)) {
		fprintf(stderr, "%s: no region\n", argv[1]);
		return 1;
	}
	m.state = strtoull(argv[2], NULL, 0) * 0x9e3779b97f4a7c15ull + 1;
	for (turns = strtol(argv[3], NULL, 0); turns > 0; turns--)
		turn();
	return 0;
}
