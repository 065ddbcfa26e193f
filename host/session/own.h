/* SPDX-License-Identifier: GPL-2.0 */
/*
 * own.h - machines whose rings the recorder itself writes, from pages of ftrace: their region is
 * memory that only this process has. Everything behind it (drain, clock, order, file, readers) is
 * therefore as for a guest that has a region.
 */
#ifndef XVT_SESSION_OWN_H
#define XVT_SESSION_OWN_H

#include "session/parts.h"
#include "xvt_region.h"

struct xvt_own_ring {
	struct xvt_writer writer;
	uint64_t clock; /* stamp of the record that is written */
};

/* Make a region of own rings. like: its rings, clock and name. page_size: of the pages whose
 * records a ring must have room for. Returns 0 or -errno. */
int xvt_own_region_make(struct xvt_host_region *region, const struct xvt_layout *like,
			size_t page_size, const uint8_t boot[16]);
/* The same as the machine's region. */
int xvt_own_region(struct xvt_vm *vm, const struct xvt_layout *like, size_t page_size,
		   const uint8_t boot[16]);
/* Make the recorder the writer of a ring of such a region: r->ctl and r->host are of that. `own`
 * stays as long as the ring. */
void xvt_own_ring_init(struct xvt_ring *r, uint32_t cpu, struct xvt_own_ring *own);
/* Begin ring `index`, of CPU `cpu`. */
void xvt_own_ring_attach(struct xvt_session *s, struct xvt_vm *vm, uint32_t index, uint32_t cpu,
			 struct xvt_own_ring *own);
void xvt_own_put(struct xvt_own_ring *own, uint32_t id, const void *data, uint32_t len);
/* Returns true if the ring has room for the records of any page. */
bool xvt_own_has_room(const struct xvt_ring *r);

#endif /* XVT_SESSION_OWN_H */
