// SPDX-License-Identifier: GPL-2.0
/* taken.c - how long the thread of a vCPU was off the host's CPUs in a part of a path: at least and
 * at most, as the bounds of the guest's times allow. */
#include "path/parts.h"

#include "base/vec.h"

struct range {
	uint64_t begin_ns, end_ns;
};

static uint64_t overlap(struct range r, uint64_t begin_ns, uint64_t end_ns)
{
	const uint64_t b = begin_ns > r.begin_ns ? begin_ns : r.begin_ns;
	const uint64_t e = end_ns < r.end_ns ? end_ns : r.end_ns;

	return e > b ? e - b : 0;
}

/* All switches from and to the thread, which are looked up again and again. NULL without memory. */
static const struct switches *switches_of(struct xvt_path *p, int tid)
{
	struct switches *s;

	for (size_t i = 0; i < p->switch_count; i++)
		if (p->switches[i].tid == tid)
			return &p->switches[i];
	if (xvt_grow_zeroed(&p->switches, &p->switch_room, p->switch_count + 1, sizeof(*s)))
		return NULL;
	s = &p->switches[p->switch_count++];
	s->tid = tid;
	for (size_t i = 0; i < p->rec_count; i++) {
		const struct rec *r = &p->recs[i];

		if (r->kind != REC_SWITCH || (r->a != tid && r->b != tid) ||
		    rec_machine(p, r) != p->host)
			continue;
		if (xvt_grow(&s->v, &s->room, s->count + 1, sizeof(*s->v)))
			return NULL;
		s->v[s->count].ns = r->ns;
		s->v[s->count++].at = (uint32_t)i;
	}
	return s;
}

/* Add the time off a CPU, from the range's end back. false: it is not known, because the thread's
 * switches do not come in turns or begin later. *from_ns: the first of them that counts. */
static bool add_off(struct xvt_path *p, int tid, struct range most, struct range least,
		    struct xvt_path_step *step, uint64_t *from_ns)
{
	const struct switches *s = switches_of(p, tid);
	size_t i = s ? XVT_COUNT_TO(s->v, s->count, ns, most.end_ns) : 0;
	const struct rec *later = s && i < s->count ? &p->recs[s->v[i].at] : NULL;
	uint64_t until_ns = most.end_ns;

	while (until_ns > most.begin_ns) {
		const struct rec *r = i ? &p->recs[s->v[--i].at] : NULL;

		if (!r || (later && (later->a == tid) == (r->a == tid)))
			return false;
		if (r->a == tid) {
			step->taken_most_ns += overlap(most, r->ns, until_ns);
			step->taken_least_ns += overlap(least, r->ns, until_ns);
		}
		until_ns = r->ns;
		later = r;
	}
	*from_ns = until_ns;
	return true;
}

void taken_by_host(struct xvt_path *p, struct xvt_path_step *s, uint64_t begin_bound_ns,
		   uint64_t end_bound_ns)
{
	const int tid = thread_of_vcpu(p, s->ring, s->begin_ns, &s->shares);
	const uint64_t length = s->end_ns - s->begin_ns;
	struct range most, least;
	uint64_t from_ns;

	if (!tid || begin_bound_ns >= XVTRACE_NO_BOUND || end_bound_ns >= XVTRACE_NO_BOUND)
		return;
	most.begin_ns = s->begin_ns > begin_bound_ns ? s->begin_ns - begin_bound_ns : 0;
	most.end_ns = s->end_ns + end_bound_ns;
	least.begin_ns = s->begin_ns + begin_bound_ns;
	least.end_ns = s->end_ns > end_bound_ns ? s->end_ns - end_bound_ns : 0;
	if (!add_off(p, tid, most, least, s, &from_ns) ||
	    recs_lost(p, p->host, from_ns, most.end_ns))
		return;
	s->taken_known = true;
	if (s->taken_most_ns > length || s->shares)
		s->taken_most_ns = length; /* the thread may have run another vCPU */
	if (s->taken_least_ns > length)
		s->taken_least_ns = length;
}
