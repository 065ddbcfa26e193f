/* SPDX-License-Identifier: GPL-2.0 */
/* phase.h - the phase that a ring has when a test begins. Programs that link phase.c abort on a
 * transition that ring/ring.h does not allow. */
#ifndef XVT_TEST_PHASE_H
#define XVT_TEST_PHASE_H

#include "ring/ring.h"

/* As if the ring were new, and had come to this phase. */
static inline void phase_anew(struct xvt_ring *r, enum xvt_ring_phase to)
{
	r->phase = XVT_PHASE_NEW;
	if (to == XVT_PHASE_DONE)
		xvt_ring_set_phase(r, XVT_PHASE_LIVE);
	if (to != XVT_PHASE_NEW)
		xvt_ring_set_phase(r, to);
}

#endif /* XVT_TEST_PHASE_H */
