// SPDX-License-Identifier: GPL-2.0
/*
 * waking.c - the wake-up that ended a task's sleep. Linux records one for each sleep, and for one
 * task they come one after another (try_to_wake_up() holds its pi_lock).
 *  - A wake-up that is surely between the switch away and the switch to the task is it.
 *  - Else the only one that the bounds allow is it, where nothing is lost.
 *  - That of the sleep before, and those before that, are not it.
 *  - Where none is between the two switches, it was recorded before the switch away, by another CPU
 *    in the moment in which the task left its own: see analyze/host.c.
 * A wake-up of a task that has not gone to sleep yet is recorded, too, and belongs to no sleep.
 */
#include "path/parts.h"

#define OPEN_MOST  8u
/* Sleeps of a task that are looked at, back to one whose wake-up is known. */
#define CHAIN_MOST 256u

struct wakings {
	uint32_t in; /* the switch to the task */
	uint32_t sure;
	uint32_t open[OPEN_MOST];
	unsigned int open_count;
	uint32_t before; /* the last one that was surely before the task left, or NONE */
};

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

static void consider(const struct xvt_path *p, struct wakings *w, uint32_t k)
{
	const uint32_t out = p->recs[w->in].out;
	const int after_out = out == NONE ? -1 : order(p, out, k), before_in = order(p, k, w->in);

	if (after_out > 0 || before_in > 0)
		return;
	if (after_out < 0 && before_in < 0) {
		if (w->sure == NONE)
			w->sure = k;
		return;
	}
	if (w->open_count < OPEN_MOST)
		w->open[w->open_count] = k;
	w->open_count++;
}

static struct wakings wakings_of(const struct xvt_path *p, uint32_t in)
{
	const struct rec *r = &p->recs[in];
	const struct xvtrace_machine *m = rec_machine(p, r);
	const uint64_t most = p->seen[m->number].bound_most_ns;
	struct wakings w = { .in = in, .sure = NONE, .before = NONE };

	for (uint32_t k = r->woken; k != NONE && w.before == NONE; k = p->recs[k].woken) {
		consider(p, &w, k);
		if (r->out != NONE && order(p, k, r->out) < 0)
			w.before = k;
	}
	/* A wake-up with a later time may have been earlier. */
	for (uint32_t k = in + 1; k < p->rec_count; k++) {
		const struct rec *later = &p->recs[k];

		if (later->ns > rec_latest(r) && later->ns - rec_latest(r) > most)
			break;
		if (later->kind == REC_WAKING && later->a == r->b && rec_machine(p, later) == m)
			consider(p, &w, k);
	}
	return w;
}

/* The switch by which the task came to the CPU that it left by record `out`. NONE: not recorded. */
static uint32_t came(const struct xvt_path *p, uint32_t out, int pid)
{
	uint32_t i = out == NONE ? NONE : p->recs[out].before;

	while (i != NONE && p->recs[i].kind != REC_SWITCH && p->recs[i].kind != REC_LOST)
		i = p->recs[i].before;
	return i != NONE && p->recs[i].kind == REC_SWITCH && p->recs[i].b == pid ? i : NONE;
}

/* The switch that ended the task's sleep before the one that `in` ended. NONE: not recorded. */
static uint32_t sleep_before(const struct xvt_path *p, uint32_t in)
{
	const int pid = p->recs[in].b;
	uint32_t i = came(p, p->recs[in].out, pid);

	/* A task that was pre-empted had been awake. */
	while (i != NONE && p->recs[i].out != NONE && !p->recs[p->recs[i].out].c)
		i = came(p, p->recs[i].out, pid);
	return i;
}

/* Which of them it was. settled: the one of the sleep before, or NONE. left: how many there are. */
static uint32_t choose(const struct xvt_path *p, const struct wakings *w, uint32_t settled,
		       unsigned int *left)
{
	const uint32_t out = p->recs[w->in].out, ran = came(p, out, p->recs[w->in].b);
	uint32_t found = NONE;

	*left = w->sure != NONE ? 1 : w->open_count;
	if (w->sure != NONE || w->open_count > OPEN_MOST)
		return w->sure;
	*left = 0;
	for (unsigned int i = 0; i < w->open_count; i++) {
		const uint32_t k = w->open[i];

		if (settled != NONE && (k == settled || order(p, k, settled) < 0))
			continue;
		found = k;
		++*left;
	}
	if (w->before == NONE || w->before == settled || ran == NONE)
		return *left == 1 ? found : NONE;
	/* The one before the switch away counts if it is behind the switch to the task. Where the
	 * bounds leave that open, it may be the one all the same, and is no proof. */
	if (order(p, ran, w->before) < 0) {
		found = w->before;
		++*left;
	} else if (*left && order(p, ran, w->before) == 0) {
		++*left;
	}
	return *left == 1 ? found : NONE;
}

static bool is_proof(const struct xvt_path *p, uint32_t k, uint32_t in)
{
	const struct rec *from = &p->recs[k], *to = &p->recs[in];

	return !from->doubt && !to->doubt &&
	       !recs_lost(p, rec_machine(p, to), rec_earliest(from), rec_latest(to));
}

uint32_t waking_of(const struct xvt_path *p, uint32_t in, unsigned int *left)
{
	struct wakings chain[CHAIN_MOST];
	unsigned int count = 0;
	uint32_t k = NONE;

	/* Back to a sleep of which the bounds tell, and from there on again. */
	do {
		chain[count] = wakings_of(p, in);
		k = choose(p, &chain[count++], NONE, left);
		if (*left <= 1)
			break;
		in = sleep_before(p, in);
	} while (in != NONE && count < CHAIN_MOST);
	for (count--; count > 0; count--) {
		if (k == NONE || !is_proof(p, k, chain[count].in))
			k = NONE;
		k = choose(p, &chain[count - 1], k, left);
	}
	return k;
}
