// SPDX-License-Identifier: GPL-2.0
/* taken.c - how long the thread of a vCPU was off the host's CPUs in a part of a path: at least and
 * at most, as the bounds of the guest's times allow. */
#include "path/parts.h"

struct range {
	uint64_t begin_ns, end_ns;
};

static uint64_t overlap(struct range r, uint64_t begin_ns, uint64_t end_ns)
{
	const uint64_t b = begin_ns > r.begin_ns ? begin_ns : r.begin_ns;
	const uint64_t e = end_ns < r.end_ns ? end_ns : r.end_ns;

	return e > b ? e - b : 0;
}

/* The thread's last switch before record `at`. NONE: none is known. */
static uint32_t switch_before(const struct xvt_path *p, int tid, size_t at)
{
	while (at-- > 0) {
		const struct rec *r = &p->recs[at];

		if (r->kind == REC_SWITCH && (r->a == tid || r->b == tid) &&
		    rec_machine(p, r) == p->host)
			return (uint32_t)at;
	}
	return NONE;
}

/* Its first switch from record `at` on, or NULL. */
static const struct rec *switch_behind(const struct xvt_path *p, int tid, size_t at)
{
	for (; at < p->rec_count; at++) {
		const struct rec *r = &p->recs[at];

		if (r->kind == REC_SWITCH && (r->a == tid || r->b == tid) &&
		    rec_machine(p, r) == p->host)
			return r;
	}
	return NULL;
}

/* Add the time off a CPU, from the range's end back. false: it is not known, because the thread's
 * switches do not come in turns or begin later. */
static bool add_off(struct xvt_path *p, int tid, struct range most, struct range least,
		    struct xvt_path_step *s)
{
	uint64_t until_ns = most.end_ns;
	size_t at = recs_before(p, most.end_ns);
	const struct rec *later = switch_behind(p, tid, at);

	while (until_ns > most.begin_ns) {
		const uint32_t i = switch_before(p, tid, at);
		const struct rec *r = i == NONE ? NULL : &p->recs[i];

		if (!r || (later && (later->a == tid) == (r->a == tid)))
			return false;
		if (r->a == tid) {
			s->taken_most_ns += overlap(most, r->ns, until_ns);
			s->taken_least_ns += overlap(least, r->ns, until_ns);
		}
		until_ns = r->ns;
		later = r;
		at = i;
	}
	return true;
}

void taken_by_host(struct xvt_path *p, struct xvt_path_step *s, uint64_t begin_bound_ns,
		   uint64_t end_bound_ns)
{
	const int tid = thread_of_vcpu(p, s->ring, s->begin_ns, &s->shares);
	const uint64_t length = s->end_ns - s->begin_ns;
	struct range most, least;

	if (!tid || begin_bound_ns >= XVTRACE_NO_BOUND || end_bound_ns >= XVTRACE_NO_BOUND)
		return;
	most.begin_ns = s->begin_ns > begin_bound_ns ? s->begin_ns - begin_bound_ns : 0;
	most.end_ns = s->end_ns + end_bound_ns;
	least.begin_ns = s->begin_ns + begin_bound_ns;
	least.end_ns = s->end_ns > end_bound_ns ? s->end_ns - end_bound_ns : 0;
	if (recs_lost(p, p->host, most.begin_ns, most.end_ns) || !add_off(p, tid, most, least, s))
		return;
	s->taken_known = true;
	if (s->taken_most_ns > length || s->shares)
		s->taken_most_ns = length; /* the thread may have run another vCPU */
	if (s->taken_least_ns > length)
		s->taken_least_ns = length;
}
