/* SPDX-License-Identifier: GPL-2.0 */
/* parts.h - what the files of ring/ share and other folders do not use; see ring.h. */
#ifndef XVT_RING_PARTS_H
#define XVT_RING_PARTS_H

#include "ring/ring.h"

/* --- decode.c --- */

/* Decodes the next record or LOST pseudo-event into r->rec. Returns false while no piece has one.
 */
bool xvt_ring_decode(struct xvt_ring *r);
/* Frees the first piece. */
void xvt_ring_drop_piece(struct xvt_ring *r);

#endif /* XVT_RING_PARTS_H */
