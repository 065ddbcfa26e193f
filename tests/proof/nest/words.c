// SPDX-License-Identifier: GPL-2.0
/*
 * words.c - in which order does the real xvt_ring_words() load the words that prove a
 * ring idle? Found by running it with a hook at each load, so that the explorer's host cannot
 * be more careful than the real one.
 */
#define nest_point words_point
#include "hook.h"
#undef memcpy
#undef memset
#include "xvt_check.c"
#undef nest_point
#include "world.h"

#include <stdio.h>
#include <stdlib.h>

enum words_load words_order[LOADS];

static struct xvt_ring_ctl ctl;
static uint32_t loads;

static void seen(enum words_load load)
{
	uint32_t i;

	/* A word that is loaded again counts where it was loaded last. */
	for (i = 0; i < loads; i++) {
		if (words_order[i] != load)
			continue;
		for (loads--; i < loads; i++)
			words_order[i] = words_order[i + 1];
		break;
	}
	words_order[loads++] = load;
}

void words_point(const struct nest_site *site, const void *addr)
{
	(void)site;
	if (addr == &ctl.nest)
		seen(LOAD_NEST);
	else if (addr == &ctl.resv)
		seen(LOAD_RESV);
	else if (addr == &ctl.commit)
		seen(LOAD_COMMIT);
}

void words_find_order(void)
{
	static const struct xvt_geometry g = { .subbuf_shift = 10 };
	struct xvt_ring_words s;

	loads = 0;
	ctl.backend = XVT_BACKEND_CAS;
	xvt_ring_words(&ctl, &g, &s);
	if (loads != LOADS) {
		fprintf(stderr, "words: xvt_ring_words() loads %u of nest, resv, commit\n", loads);
		abort();
	}
}
