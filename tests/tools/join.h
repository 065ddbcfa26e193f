/* SPDX-License-Identifier: GPL-2.0 */
/* join.h - how a tool becomes the writer of a region. */
#ifndef XVT_TOOL_JOIN_H
#define XVT_TOOL_JOIN_H

#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "xvt_region.h"

/*
 * Maps the region, gives it another generation, and begins its ring 0 for this process. clock: what
 * the writer reads; NULL: its usual clock. Returns the region's first byte, or NULL.
 */
static inline uint8_t *join_region(struct xvt_writer *w, struct xvt_geometry *g, int fd,
				   const struct xvt_layout *layout, uint64_t (*clock)(void *arg))
{
	const uint8_t uuid[16] = { 1 };
	struct xvt_region_hdr hdr;
	struct xvt_fault fault;
	struct stat st;
	uint8_t *base;

	if (fd < 0 || fstat(fd, &st))
		return NULL;
	base = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (base == MAP_FAILED)
		return NULL;
	memcpy(&hdr, base, sizeof(hdr));
	if (xvt_check_header(&hdr, (uint64_t)st.st_size, g, &fault))
		return NULL;
	xvt_region_new_generation(base, g, layout, uuid);
	xvt_writer_init(w, base, g, 0);
	if (clock)
		w->clock = clock;
	w->ctl->type = XVT_RING_THREAD;
	w->ctl->tid = (uint32_t)getpid();
	xvt_store_release(&w->ctl->state, XVT_RING_ONLINE); /* pairs with the recorder's load */
	return base;
}

#endif /* XVT_TOOL_JOIN_H */
