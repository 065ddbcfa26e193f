// SPDX-License-Identifier: GPL-2.0
/*
 * perfetto_cpus.c - which rings a CPU has, and how many of its events were lost, where Perfetto
 * looks for it: as the kernel's counters at the begin and at the end; see perfetto_parts.h.
 */
#include "export/perfetto_parts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static int by_place(const void *pa, const void *pb)
{
	const struct xvtrace_ring *a = *(const struct xvtrace_ring *const *)pa;
	const struct xvtrace_ring *b = *(const struct xvtrace_ring *const *)pb;

	if (a->machine->number != b->machine->number)
		return a->machine->number < b->machine->number ? -1 : 1;
	if (a->thread != b->thread)
		return a->thread ? 1 : -1;
	if (a->cpu != b->cpu)
		return a->cpu < b->cpu ? -1 : 1;
	return a->number < b->number ? -1 : a->number > b->number;
}

static bool same_place(const struct xvtrace_ring *a, const struct xvtrace_ring *b)
{
	return a->machine->number == b->machine->number && a->thread == b->thread &&
	       a->cpu == b->cpu;
}

int xvt_pf_place_rings(struct xvt_pf *p)
{
	size_t n = 0;

	p->places = calloc((size_t)p->ring_count + 1, sizeof(*p->places));
	if (!p->places)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->ring_count; i++) {
		const struct xvtrace_ring *r = xvtrace_ring(p->x->trace, i);

		if (r && r->machine->number < p->machine_count)
			p->places[n++] = r;
	}
	qsort(p->places, n, sizeof(*p->places), by_place);
	p->place_count = n;
	for (size_t i = 0; i < n; i++) {
		const struct xvtrace_ring *r = p->places[i];
		bool twin = i && same_place(p->places[i - 1], r);

		if (twin)
			p->rings[p->places[i - 1]->number].twin = p->rings[r->number].twin = true;
		else if (!r->thread && r->cpu < XVT_PF_CPUS_MAX)
			p->machines[r->machine->number].cpus++;
	}
	return 0;
}

void xvt_pf_count_lost(struct xvt_pf_ring *r, const struct xvtrace_event *ev)
{
	const struct xvtrace_field *f = xvtrace_field_named(ev->type, "overwritten");
	struct xvtrace_value v = { .u = 0 };

	if (f)
		xvtrace_value(ev, f, &v);
	if (v.u > ev->lost)
		v.u = ev->lost;
	r->counts.overwritten += v.u;
	r->counts.dropped += ev->lost - v.u;
}

/* The counts of the CPU of the ring at *at, whose rings of earlier boots stand beside it; *at: the
 * first one of the next CPU. Returns whether one of them had events. */
static bool sum_up(const struct xvt_pf *p, size_t *at, struct xvt_pf_counts *sum)
{
	const struct xvtrace_ring *first = p->places[*at];
	bool any = false;

	*sum = (struct xvt_pf_counts){ 0 };
	for (; *at < p->place_count && same_place(first, p->places[*at]); ++*at) {
		const struct xvt_pf_ring *r = &p->rings[p->places[*at]->number];

		any |= r->known && r->ftrace;
		sum->events += r->counts.events;
		sum->overwritten += r->counts.overwritten;
		sum->dropped += r->counts.dropped;
	}
	return any;
}

static int put_cpu(struct xvt_proto *b, uint32_t cpu, const struct xvt_pf_counts *c)
{
	size_t at;

	if (xvt_proto_room(b, 8 * XVT_PROTO_NUMBER))
		return -ENOMEM;
	at = xvt_proto_open(b, FTRACE_STATS_CPU_STATS);
	xvt_proto_u64(b, FTRACE_CPU_STATS_CPU, cpu);
	xvt_proto_u64(b, FTRACE_CPU_STATS_OVERRUN, c->overwritten);
	xvt_proto_u64(b, FTRACE_CPU_STATS_DROPPED_EVENTS, c->dropped);
	xvt_proto_u64(b, FTRACE_CPU_STATS_READ_EVENTS, c->events);
	xvt_proto_close(b, at);
	return 0;
}

/* Of the machine whose rings begin at `first`; *at: the first one of the next machine. */
static int put_machine(struct xvt_pf *p, size_t first, size_t *at, bool end)
{
	static const struct xvt_pf_counts none;
	const uint32_t machine = p->places[first]->machine->number;
	struct xvt_proto *b = &p->packet;
	struct xvt_pf_counts sum;
	size_t stats;
	int err = 0;

	if (xvt_pf_begin_machine_packet(p, machine, 4 * XVT_PROTO_NUMBER))
		return -ENOMEM;
	xvt_proto_u64(b, TRACE_PACKET_TIMESTAMP, end ? p->last_ns : p->first_ns);
	stats = xvt_proto_open(b, TRACE_PACKET_FTRACE_STATS);
	xvt_proto_u64(b, FTRACE_STATS_PHASE, end ? END_OF_TRACE : START_OF_TRACE);
	for (*at = first;
	     *at < p->place_count && p->places[*at]->machine->number == machine && !err;) {
		const uint32_t cpu = p->places[*at]->cpu;

		if (sum_up(p, at, &sum))
			err = put_cpu(b, cpu, end ? &sum : &none);
	}
	if (!err)
		err = xvt_proto_room(b, XVT_PROTO_NUMBER);
	if (err)
		return err;
	xvt_proto_close(b, stats);
	xvt_pf_end_packet(p, 0);
	return 0;
}

int xvt_pf_put_stats(struct xvt_pf *p)
{
	int err = 0;

	for (size_t at = 0, next; at < p->place_count && !err; at = next) {
		const uint32_t machine = p->places[at]->machine->number;

		for (next = at;
		     next < p->place_count && p->places[next]->machine->number == machine;)
			next++;
		if (!p->machines[machine].begun || !p->machines[machine].cpus)
			continue;
		err = put_machine(p, at, &next, false);
		if (!err)
			err = put_machine(p, at, &next, true);
	}
	return err;
}
