// SPDX-License-Identifier: GPL-2.0
/*
 * phase.c - the only place that changes the phase of a ring. ring.h draws the transitions.
 */
#include "ring/ring.h"

#include <errno.h>
#include <stdio.h>

#define TO(phase) (1u << XVT_PHASE_##phase)

static const unsigned int may_follow[] = {
	[XVT_PHASE_NEW] = TO(LIVE) | TO(ASIDE) | TO(BROKEN),
	[XVT_PHASE_LIVE] = TO(ASIDE) | TO(DONE) | TO(BROKEN),
	[XVT_PHASE_ASIDE] = TO(LIVE) | TO(BROKEN),
	[XVT_PHASE_DONE] = TO(LIVE) | TO(BROKEN),
	[XVT_PHASE_BROKEN] = TO(BROKEN),
};

static const char *const names[] = {
	[XVT_PHASE_NEW] = "new",   [XVT_PHASE_LIVE] = "live",	  [XVT_PHASE_ASIDE] = "aside",
	[XVT_PHASE_DONE] = "done", [XVT_PHASE_BROKEN] = "broken",
};

const char *xvt_ring_phase_name(enum xvt_ring_phase phase)
{
	return (unsigned int)phase < sizeof(names) / sizeof(names[0]) ? names[phase] : "?";
}

int xvt_ring_set_phase(struct xvt_ring *r, enum xvt_ring_phase to)
{
	if (may_follow[r->phase] & 1u << to) {
		r->phase = to;
		return 0;
	}
	snprintf(r->fault.text, sizeof(r->fault.text), "phase %s cannot follow %s; it stays %s",
		 xvt_ring_phase_name(to), xvt_ring_phase_name(r->phase),
		 xvt_ring_phase_name(r->phase));
	r->fault.what = "error in xvtrace";
	r->fault.is_new = true;
	return -EINVAL;
}
