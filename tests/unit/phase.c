// SPDX-License-Identifier: GPL-2.0
/* phase.c - linked with --wrap=xvt_ring_set_phase: no test passes over a transition that is not
 * allowed. */
#include "phase.h"

#include <stdio.h>
#include <stdlib.h>

int __real_xvt_ring_set_phase(struct xvt_ring *r, enum xvt_ring_phase to);
int __wrap_xvt_ring_set_phase(struct xvt_ring *r, enum xvt_ring_phase to);
int __wrap_xvt_ring_set_phase(struct xvt_ring *r, enum xvt_ring_phase to)
{
	int err = __real_xvt_ring_set_phase(r, to);

	if (err) {
		fprintf(stderr, "ring %u: %s\n", r->id, r->fault.text);
		abort();
	}
	return err;
}
