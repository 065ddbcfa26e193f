/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * xvt_check.h - from bytes that a guest could have written to values that may be used.
 *
 * The rule everywhere: load each shared word once, by an atomic load, into private memory;
 * check the private copy; use only what was checked. Nothing here looks at the region a
 * second time. Lengths are compared as len <= size && off <= size - len, which cannot wrap.
 */
#ifndef XVT_CHECK_H
#define XVT_CHECK_H

#include "xvt_ring.h"

/* The fault, for the message: "field = value (why)". Strings are constants. */
struct xvt_fault {
	const char *field;
	const char *why;
	uint64_t value;
};

/*
 * Check a private copy of the region header against the size of the object that it came
 * from. Returns 0 and fills g; or
 *   -EAGAIN   magic is 0: the region is not formatted (yet)
 *   -EBADMSG  not an xvtrace region, or a field that no writer may write
 *   -EPROTO   a newer format than this program knows
 *   -ENOSPC   the geometry does not fit the object
 */
int xvt_check_header(const struct xvt_region_hdr *copy, uint64_t object_size,
		     struct xvt_geometry *g, struct xvt_fault *fault);

/* The words of a ring's control block that the host needs in a pass, each loaded once. */
struct xvt_ring_words {
	uint32_t nest;
	uint32_t generation;
	uint32_t backend;
	uint32_t state;
	uint64_t resv;	    /* as a position, whatever the back-end, */
	uint64_t resv_word; /* and as it stands in the control block */
	uint64_t commit;
	uint64_t attempted;
	uint64_t discarded;
	uint64_t lost[XVT_LOST_CAUSES];
};

/*
 * Load them, in the order that the watermark rule needs: nest, then resv, then commit with
 * acquire (pairs with xvt_writer_leave()). Idle is proven only by nest == 0 and
 * commit == resv: nest == 0 alone proves nothing, because an interrupt's event can finish
 * between the outer's publication and its last check.
 */
void xvt_ring_words(const struct xvt_ring_ctl *c, const struct xvt_geometry *g,
		    struct xvt_ring_words *s);

/*
 * Check the words against `read_pos`, the host's own position: commit aligned to 8, not
 * behind read_pos, and no further ahead than the ring is long (`overwrite`: any distance ahead
 * is legal, the reader then skips). resv is not checked: it was loaded before commit and may
 * honestly be behind it. Returns 0 or -EBADMSG.
 */
int xvt_check_words(const struct xvt_geometry *g, const struct xvt_ring_words *s, uint64_t read_pos,
		    bool overwrite, struct xvt_fault *fault);

/*
 * Check the private copy of a metadata TLV header with `room` bytes from its start to the
 * committed end. Returns the whole TLV's length in bytes, or -EBADMSG.
 */
int64_t xvt_check_tlv(const struct xvt_meta_tlv *copy, uint64_t room, struct xvt_fault *fault);

#endif /* XVT_CHECK_H */
