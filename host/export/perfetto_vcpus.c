// SPDX-License-Identifier: GPL-2.0
/*
 * perfetto_vcpus.c - when the thread of a vCPU was on no CPU of the host, by the host's switches,
 * on a track of the guest; see perfetto_parts.h. A time is told when its end is known, up to the
 * first hole of a CPU of the host: in it, the thread may have come to that CPU. The LOST record is
 * at the end of the hole, so the holes are found before.
 */
#include "export/perfetto_parts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define VCPUS_MAX 4096u

static int by_tid(const void *a, const void *b)
{
	const struct xvt_pf_vcpu *x = a, *y = b;

	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

/* A vCPU whose thread was replaced has one track for both. */
static void share_tracks(struct xvt_pf *p)
{
	for (size_t i = 0; i < p->vcpu_count; i++) {
		size_t first = 0;

		while (p->vcpus[first].machine != p->vcpus[i].machine ||
		       p->vcpus[first].vcpu != p->vcpus[i].vcpu)
			first++;
		p->vcpus[i].track = (uint32_t)first;
	}
}

static int find_threads(struct xvt_pf *p, uint32_t host)
{
	struct xvtrace_vcpu v;
	size_t at = 0;

	while (p->vcpu_count < VCPUS_MAX && xvtrace_reader_vcpu(p->x->reader, host, &at, &v) > 0) {
		if (v.machine->number >= p->machine_count)
			continue;
		if (xvt_grow(&p->vcpus, &p->vcpu_room, p->vcpu_count + 1, sizeof(*p->vcpus)))
			return -ENOMEM;
		p->vcpus[p->vcpu_count++] = (struct xvt_pf_vcpu){
			.tid = v.tid,
			.machine = v.machine->number,
			.vcpu = v.vcpu,
		};
	}
	if (p->vcpu_count)
		qsort(p->vcpus, p->vcpu_count, sizeof(*p->vcpus), by_tid);
	share_tracks(p);
	p->host = xvtrace_machine(p->x->trace, host);
	return p->vcpu_count ? xvtrace_holes_new(&p->holes, p->x->reader) : 0;
}

static struct xvt_pf_vcpu *vcpu_of(const struct xvt_pf *p, int32_t tid)
{
	const struct xvt_pf_vcpu key = { .tid = tid };

	return p->vcpu_count ? bsearch(&key, p->vcpus, p->vcpu_count, sizeof(key), by_tid) : NULL;
}

static int need_track(struct xvt_pf *p, const struct xvt_pf_vcpu *v, uint64_t uuid)
{
	const char *machine = xvt_pf_machine_name(p, v->machine);
	char name[XVT_PF_NAME_MAX];
	int err = 0;

	if (p->vcpus[v->track].described)
		return 0;
	p->vcpus[v->track].described = true;
	if (v->vcpu == XVTRACE_ALL_VCPUS)
		snprintf(name, sizeof(name), "%s:vcpus not on a host CPU", machine);
	else
		snprintf(name, sizeof(name), "%s:%u not on a host CPU", machine, v->vcpu);
	if (!p->machines[v->machine].begun)
		err = xvt_pf_begin_machine(p, v->machine, v->since_ns);
	return err ? err
		   : xvt_pf_put_track(p, v->machine, uuid,
				      xvt_pf_track_uuid(p, TRACK_MACHINE, v->machine), name, false);
}

static int put_time(struct xvt_pf *p, const struct xvt_pf_vcpu *v, const char *name, uint64_t begin,
		    uint64_t end)
{
	const uint64_t uuid = xvt_pf_track_uuid(p, TRACK_VCPU, v->track);
	int err;

	if (begin >= end)
		return 0;
	err = need_track(p, v, uuid);
	if (!err)
		err = xvt_pf_put_slice_end(p, v->machine, uuid, begin, TYPE_SLICE_BEGIN, name);
	return err ? err : xvt_pf_put_slice_end(p, v->machine, uuid, end, TYPE_SLICE_END, name);
}

/* What it did from since_ns on, until it was woken. */
static const char *first_of(const struct xvt_pf_vcpu *v, bool came)
{
	if (!v->sleeps)
		return "waits for a CPU";
	if (!v->early)
		return "sleeps";
	return came ? "waits for a CPU" : "sleeps or waits for a CPU";
}

/* Up to when it is known that it was on no CPU. */
static uint64_t known_to(const struct xvt_pf *p, const struct xvt_pf_vcpu *v, uint64_t ns)
{
	const struct xvtrace_point from = { .ns = v->since_ns }, to = { .ns = ns };
	const struct xvtrace_hole *hole =
		p->holes && v->off ? xvtrace_hole_between(p->holes, p->host, NULL, &from, &to)
				   : NULL;

	return hole && hole->begin_ns < ns ? hole->begin_ns : ns;
}

/* It was on no CPU up to to_ns. came: it has one then. */
static int end_time(struct xvt_pf *p, struct xvt_pf_vcpu *v, uint64_t to_ns, bool came)
{
	const uint64_t ns = known_to(p, v, to_ns);
	const bool woken = v->sleeps && v->woken_ns && v->woken_ns < ns;
	const uint64_t first_to = woken ? v->woken_ns : ns;
	int err = 0;

	if (v->off)
		err = put_time(p, v, first_of(v, came && ns == to_ns), v->since_ns, first_to);
	if (!err && v->off && woken)
		err = put_time(p, v, "waits for a CPU", first_to, ns);
	v->off = false;
	v->early = false;
	return err;
}

int xvt_pf_vcpu_switch(struct xvt_pf *p, uint32_t host, uint64_t ns, int32_t prev, uint64_t state,
		       int32_t next)
{
	struct xvt_pf_vcpu *v;
	int err = 0;

	if (!p->vcpus_known)
		err = find_threads(p, host);
	p->vcpus_known = true;
	v = vcpu_of(p, next);
	if (v && !err)
		err = end_time(p, v, ns, true);
	v = vcpu_of(p, prev);
	if (v) {
		v->off = true;
		/* Bits of TASK_REPORT; beyond them Linux says that it was preempted. */
		v->sleeps = state & 0xff;
		v->since_ns = ns;
		v->woken_ns = 0;
	}
	return err;
}

void xvt_pf_vcpu_waking(struct xvt_pf *p, uint64_t ns, int32_t pid)
{
	struct xvt_pf_vcpu *v = vcpu_of(p, pid);

	if (!v || (v->off && v->woken_ns))
		return;
	v->early = !v->off;
	if (v->off)
		v->woken_ns = ns;
}

int xvt_pf_vcpus_until(struct xvt_pf *p, uint64_t ns)
{
	int err = 0;

	for (size_t i = 0; i < p->vcpu_count && !err; i++)
		err = end_time(p, &p->vcpus[i], ns, false);
	return err;
}
