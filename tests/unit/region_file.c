// SPDX-License-Identifier: GPL-2.0
/* region_file.c - see region_file.h. */
#define _GNU_SOURCE
#include "region_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "suites.h"

void region_file_make(struct region_file *f, const char *name)
{
	memset(f, 0, sizeof(*f));
	snprintf(f->path, sizeof(f->path), "%s", scratch_path(name));
	f->fd = open(f->path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	ck_assert_int_ge(f->fd, 0);
	ck_assert_int_eq(ftruncate(f->fd, REGION_FILE_SIZE), 0);
	f->map = mmap(NULL, REGION_FILE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, f->fd, 0);
	ck_assert_ptr_ne(f->map, MAP_FAILED);
}

void region_file_format(struct region_file *f, uint32_t rings)
{
	const struct xvt_layout layout = { .region_size = REGION_FILE_SIZE,
					   .ring_count = rings,
					   .subbuf_size = 1024,
					   .clock_id = XVT_CLOCK_NATIVE };

	ck_assert_int_eq(xvt_region_format(f->map, &layout, &f->g), 0);
}

void region_file_end(struct region_file *f)
{
	unlink(f->path);
	munmap(f->map, REGION_FILE_SIZE);
	close(f->fd);
}

struct xvt_region_hdr *region_file_hdr(const struct region_file *f)
{
	return (struct xvt_region_hdr *)f->map;
}

struct xvt_ring_ctl *region_file_ctl(const struct region_file *f, uint32_t ring)
{
	return (struct xvt_ring_ctl *)(f->map + xvt_ctl_off(&f->g, ring));
}

struct xvt_ring_host *region_file_host(const struct region_file *f, uint32_t ring)
{
	return (struct xvt_ring_host *)(f->map + xvt_ring_host_off(&f->g, ring));
}
