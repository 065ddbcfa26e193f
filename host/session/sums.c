// SPDX-License-Identifier: GPL-2.0
/* sums.c - the sums of a ring's counters, for the progress line, conditions and last lines. */
#include "session/parts.h"

void xvt_ring_add_sums(const struct xvt_ring *r, struct xvt_sums *sums)
{
	unsigned int k;

	sums->events += r->account.stats.events;
	sums->late += r->account.stats.late;
	for (k = 0; k < XVT_LOST_CAUSES; k++)
		sums->lost += r->drain.last.lost[k] - r->account.base_lost[k];
	sums->lost += r->account.stats.overwritten + r->account.stats.dropped;
}
