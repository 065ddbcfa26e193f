/* SPDX-License-Identifier: GPL-2.0 */
/* region_file.h - a region in a file of the run's directory, with the test as its guest. */
#ifndef XVT_TEST_REGION_FILE_H
#define XVT_TEST_REGION_FILE_H

#include "xvt_region.h"

#define REGION_FILE_SIZE (256u << 10)

struct region_file {
	char path[256];
	uint8_t *map;
	struct xvt_geometry g;
	int fd;
};

/* Makes the file, all zeros. */
void region_file_make(struct region_file *f, const char *name);
/* Formats it as its guest does. */
void region_file_format(struct region_file *f, uint32_t rings);
/* Unmaps and removes it. */
void region_file_end(struct region_file *f);

struct xvt_region_hdr *region_file_hdr(const struct region_file *f);
struct xvt_ring_ctl *region_file_ctl(const struct region_file *f, uint32_t ring);
struct xvt_ring_host *region_file_host(const struct region_file *f, uint32_t ring);

#endif /* XVT_TEST_REGION_FILE_H */
