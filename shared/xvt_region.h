/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * xvt_region.h - the writer's side of setting up: lay out a region, begin a generation,
 * bind a writer to a ring, append metadata. Runs once at load, never on an event's path.
 */
#ifndef XVT_REGION_H
#define XVT_REGION_H

#include "xvt_writer.h"
#include "xvt_check.h"

/* The shape of a new region. 0 means "choose". */
struct xvt_layout {
	uint64_t region_size; /* bytes that can be mapped */
	uint32_t ring_count;
	uint32_t subbuf_size;
	uint64_t meta_size;
	uint32_t align;
	uint32_t ts_bits;
	uint32_t kind;
	uint32_t clock_id;
	uint64_t clock_hz;
	uint32_t enable;   /* enum xvt_enable that the rings start with */
	uint32_t incompat; /* XVT_INCOMPAT_* */
	const char *vm_name;
};

/*
 * Fill in a geometry for `layout`: the largest sub-buffers (up to 64 KiB) of which every
 * ring gets at least 8, or 4 where space is short. Returns 0, or -ENOSPC when ring_count
 * rings do not fit, or -EINVAL for a size that no region can have.
 */
int xvt_region_plan(const struct xvt_layout *layout, struct xvt_geometry *g);

/* Smallest region that xvt_region_plan() accepts for ring_count rings, in bytes. */
uint64_t xvt_region_min_size(uint32_t ring_count, uint32_t align);

/*
 * Write header, host page, metadata header and all ring control blocks to `base`. Every ring
 * is initialised, whether its owner ever comes or not. The magic is stored last, with
 * release. The memory must not be in use. Returns as xvt_region_plan().
 */
int xvt_region_format(void *base, const struct xvt_layout *layout, struct xvt_geometry *g);

/*
 * A writer side starts on a formatted region (boot, kexec, module load): every ring goes on
 * at the first border after what was reserved, and remembers where the old generation
 * ended. Geometry stays. `uuid` is the boot's. Returns the new generation.
 */
uint32_t xvt_region_new_generation(void *base, const struct xvt_geometry *g,
				   const struct xvt_layout *layout, const uint8_t uuid[16]);

/*
 * The same for one ring whose writer died, or was built with the other back-end: the next
 * writer starts at the border after everything reserved, and the table says where the old one
 * stood, so that the host can salvage [prev_commit, prev_resv).
 */
void xvt_ring_new_generation(struct xvt_ring_ctl *c, const struct xvt_geometry *g,
			     uint32_t generation, uint32_t clock_id);

/*
 * Two machines may have one memory. One that comes to rings that another boot seems to write asks
 * first: it puts a claim, waits some periods of the other one's timer, and takes the region only if
 * the claim still stands. A writer answers where it answers the clock. Any other value of the word
 * is a refusal: an answer, or a third machine that asks or has just taken the region.
 */

/* Has the region a ring that is ONLINE, of a boot other than `uuid`? `size`: bytes mapped. */
bool xvt_region_in_use(const void *base, uint64_t size, const uint8_t uuid[16]);

/* Ask. Returns the claim, which is even and not 0. */
uint32_t xvt_claim_put(void *base, uint32_t random);

bool xvt_claim_stands(const void *base, uint32_t claim);

/* The region is ours: refuse a machine that asks for it. Returns whether one did. Context: any. */
bool xvt_claim_answer(void *base);

/* Bind `w` to a ring of this build's back-end. The caller then sets type, cpu, hw_id and state, and
 * may set clock. */
void xvt_writer_init(struct xvt_writer *w, void *base, const struct xvt_geometry *g, uint32_t ring);

/*
 * Append one TLV. A single caller at a time. Returns 0, or -ENOSPC (counted in `refused`).
 * The payload may be in two parts, so that callers need not copy.
 */
int xvt_meta_append(void *base, const struct xvt_geometry *g, uint32_t type, uint32_t id,
		    const void *head, uint32_t head_len, const void *body, uint32_t body_len);

#endif /* XVT_REGION_H */
