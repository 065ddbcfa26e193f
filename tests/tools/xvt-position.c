// SPDX-License-Identifier: GPL-2.0
/*
 * xvt-position.c - a fresh region as one that has been in use for very long: the positions of its
 * rings are about to wrap past 2^64, and the low half of what its writers lost past 2^32. Recorders
 * have accounted for all of that, and the rings are empty.
 *
 *   xvt-position REGION BYTES LOST BITS
 *
 * BYTES before 2^64, a multiple of the sub-buffer size; LOST events before 2^32. Of each stamp BITS
 * bits count, 3 to 32. The region must be unused, also while this runs.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/lock.h"
#include "base/region.h"

static void begin_at(struct xvt_host_region *r, uint32_t ring, uint64_t pos, uint64_t lost,
		     uint32_t bits)
{
	struct xvt_ring_ctl *c = xvt_host_ring_ctl(r, ring);
	struct xvt_ring_host *h = xvt_host_ring_host(r, ring);

	c->ts_bits = bits;
	xvt_store(&c->resv, xvt_resv_word(xvt_load(&c->backend), r->g.subbuf_shift, pos));
	xvt_store(&c->commit, pos);
	xvt_store(&h->cons, pos);
	xvt_store(&c->attempted, lost);
	xvt_store(&c->lost[XVT_LOST_FULL], lost);
	xvt_store(&h->acc_lost[XVT_LOST_FULL], lost);
}

int main(int argc, char **argv)
{
	struct xvt_host_region r;
	uint64_t bytes, lost;
	uint32_t ring, bits;
	int err;

	if (argc != 5) {
		fprintf(stderr, "usage: xvt-position REGION BYTES LOST BITS\n");
		return 2;
	}
	bytes = strtoull(argv[2], NULL, 0);
	lost = strtoull(argv[3], NULL, 0);
	bits = (uint32_t)strtoul(argv[4], NULL, 0);
	err = xvt_host_region_open(&r, argv[1], true);
	if (!err)
		err = xvt_host_region_check(&r);
	if (!err)
		err = xvt_host_region_claim(&r, XVT_LOCK_START_MS);
	if (err) {
		fprintf(stderr, "xvt-position: %s: %s\n", argv[1], strerror(-err));
		return 1;
	}
	if (r.hdr.kind != XVT_KIND_BLANK || r.hdr.generation || bytes & (r.g.subbuf_size - 1) ||
	    bits < 3 || bits > 32) {
		fprintf(stderr, "xvt-position: %s: in use, or no such position or stamp\n",
			argv[1]);
		return 1;
	}
	((struct xvt_region_hdr *)r.map)->ts_bits = bits;
	for (ring = 0; ring < r.g.ring_count; ring++)
		begin_at(&r, ring, -bytes, (1ull << 32) - lost, bits);
	xvt_host_region_close(&r);
	return 0;
}
