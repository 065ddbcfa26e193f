// SPDX-License-Identifier: GPL-2.0
/* own.c - see own.h. */
#include "session/own.h"

#define SUBBUF_LEAST 16384u
#define SUBBUFS	     16u
#define SUBBUF_PAGES 4u /* a page takes at most twice its size as records */

int xvt_own_region_make(struct xvt_host_region *region, const struct xvt_layout *like,
			size_t page_size, const uint8_t boot[16])
{
	struct xvt_layout layout = *like;
	struct xvt_geometry g;
	int err;

	layout.kind = XVT_KIND_LINUX;
	layout.meta_size = XVT_ALIGN_MIN;
	layout.subbuf_size = SUBBUF_LEAST;
	while (layout.subbuf_size < SUBBUF_PAGES * page_size &&
	       layout.subbuf_size < XVT_SUBBUF_SIZE_MAX)
		layout.subbuf_size *= 2;
	layout.region_size = 3ull * XVT_ALIGN_MIN + layout.ring_count * 2ull * XVT_ALIGN_MIN +
			     (uint64_t)layout.ring_count * SUBBUFS * layout.subbuf_size;
	err = xvt_host_region_own(region, layout.region_size);
	if (!err)
		err = xvt_region_format(region->map, &layout, &g);
	if (err)
		return err;
	xvt_region_new_generation(region->map, &g, &layout, boot);
	return xvt_host_region_check(region);
}

int xvt_own_region(struct xvt_vm *vm, const struct xvt_layout *like, size_t page_size,
		   const uint8_t boot[16])
{
	vm->own = true;
	return xvt_own_region_make(&vm->region, like, page_size, boot);
}

static uint64_t clock_of(void *arg)
{
	const struct xvt_own_ring *own = arg;

	return own->clock;
}

void xvt_own_ring_init(struct xvt_ring *r, uint32_t cpu, struct xvt_own_ring *own)
{
	r->own = true;
	r->mode = XVT_ENABLE_STOP;
	r->by_read = false;
	xvt_writer_init(&own->writer, r->region->map, &r->region->g, r->index);
	own->writer.clock = clock_of;
	own->writer.clock_arg = own;
	r->ctl->type = XVT_RING_VCPU;
	r->ctl->cpu = r->ctl->hw_id = cpu;
}

void xvt_own_put(struct xvt_own_ring *own, uint32_t id, const void *data, uint32_t len)
{
	struct xvt_slot slot;

	if (xvt_reserve(&own->writer, id, len, &slot))
		return; /* too long for a record: counted */
	memcpy(slot.payload, data, len);
	xvt_commit(&own->writer, &slot);
}

bool xvt_own_has_room(const struct xvt_ring *r)
{
	const struct xvt_geometry *g = &r->region->g;
	const uint64_t end = xvt_pos_roundup(g, xvt_load(&r->ctl->commit)) + 2ull * g->subbuf_size;

	return end - xvt_pos_trunc(g, xvt_load(&r->host->cons)) <= g->ring_size;
}
