// SPDX-License-Identifier: GPL-2.0
/*
 * snapshot.c - in which order does the real xvt_ring_snapshot() load the words that prove a
 * ring idle? Found by running it with a hook at each load, so that the explorer's host cannot
 * be more careful than the real one.
 */
#define nest_point snapshot_point
#include "hook.h"
#undef memcpy
#undef memset
#include "xvt_check.c"
#undef nest_point
#include "world.h"

#include <stdio.h>
#include <stdlib.h>

enum snapshot_load snapshot_order[LOADS];

static struct xvt_ring_ctl ctl;
static uint32_t loads;

static void seen(enum snapshot_load load)
{
	uint32_t i;

	/* A word that is loaded again counts where it was loaded last. */
	for (i = 0; i < loads; i++) {
		if (snapshot_order[i] != load)
			continue;
		for (loads--; i < loads; i++)
			snapshot_order[i] = snapshot_order[i + 1];
		break;
	}
	snapshot_order[loads++] = load;
}

void snapshot_point(const struct nest_site *site, const void *addr)
{
	(void)site;
	if (addr == &ctl.nest)
		seen(LOAD_NEST);
	else if (addr == &ctl.resv)
		seen(LOAD_RESV);
	else if (addr == &ctl.commit)
		seen(LOAD_COMMIT);
}

void snapshot_find_order(void)
{
	static const struct xvt_geometry g = { .subbuf_shift = 10 };
	struct xvt_ring_snapshot s;

	loads = 0;
	ctl.backend = XVT_BACKEND_CAS;
	xvt_ring_snapshot(&ctl, &g, &s);
	if (loads != LOADS) {
		fprintf(stderr, "snapshot: xvt_ring_snapshot() loads %u of nest, resv, commit\n",
			loads);
		abort();
	}
}
