// SPDX-License-Identifier: GPL-2.0
/* waking.c - the wake-up that ended a task's sleep. */
#include "path/parts.h"

/* -1: a was before b; 1: behind it; 0: the bounds leave it open. */
static int order(const struct xvt_path *p, uint32_t a, uint32_t b)
{
	const struct rec *ra = &p->recs[a], *rb = &p->recs[b];

	if (ra->ring == rb->ring)
		return a < b ? -1 : 1;
	if (rec_latest(ra) < rec_earliest(rb))
		return -1;
	return rec_latest(rb) < rec_earliest(ra) ? 1 : 0;
}

/* The kernel notes one wake-up for each time that a task sleeps. So one that is surely between the
 * task's leaving and its coming is it; else the only one that may be. */
static void consider(const struct xvt_path *p, struct wakings *w, uint32_t k, uint32_t in)
{
	const uint32_t out = p->recs[in].out;
	const int after_out = out == NONE ? -1 : order(p, out, k), before_in = order(p, k, in);

	if (after_out > 0 || before_in > 0)
		return;
	if (after_out < 0 && before_in < 0) {
		if (w->sure == NONE)
			w->sure = k;
		return;
	}
	w->open = k;
	w->open_count++;
}

struct wakings wakings_of(const struct xvt_path *p, uint32_t in)
{
	const struct rec *r = &p->recs[in];
	const struct xvtrace_machine *m = rec_machine(p, r);
	const uint64_t most = p->seen[m->number].bound_most_ns;
	struct wakings w = { NONE, NONE, 0 };

	for (uint32_t k = r->woken; k != NONE; k = p->recs[k].woken) {
		consider(p, &w, k, in);
		if (r->out != NONE && order(p, k, r->out) < 0)
			break;
	}
	/* One with a later time may have been earlier. */
	for (uint32_t k = in + 1; k < p->rec_count; k++) {
		const struct rec *later = &p->recs[k];

		if (later->ns > rec_latest(r) && later->ns - rec_latest(r) > most)
			break;
		if (later->kind == REC_WAKING && later->a == r->b && rec_machine(p, later) == m)
			consider(p, &w, k, in);
	}
	return w;
}
