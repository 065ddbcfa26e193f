// SPDX-License-Identifier: GPL-2.0
/* trace.c - an open trace: its machines, rings and damage; see xvtrace.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/parts.h"
#include "trace/set.h"

static int copy_machines(struct xvtrace *trace)
{
	const struct xvt_trace *t = trace->t;

	trace->machines = calloc((size_t)t->vm_count + 1, sizeof(*trace->machines));
	if (!trace->machines)
		return -ENOMEM;
	trace->machine_count = t->vm_count;
	for (uint32_t i = 0; i <= t->vm_count; i++) {
		struct xvt_lib_machine *m = &trace->machines[i];

		snprintf(m->name, sizeof(m->name), "%s", xvt_vm_name(t, i));
		m->pub.number = i;
		m->pub.name = m->name;
		if (i == t->vm_count)
			break; /* of rings whose machine has a number that no machine has */

		m->known = t->vms[i].known;
		m->pub.host = t->vms[i].info.kind == XVT_VM_HOST;
		memcpy(m->pub.uuid, t->vms[i].info.uuid, sizeof(m->pub.uuid));
	}
	return 0;
}

static int copy_rings(struct xvtrace *trace)
{
	const struct xvt_trace *t = trace->t;

	trace->rings = calloc((size_t)t->ring_count + 1, sizeof(*trace->rings));
	if (!trace->rings)
		return -ENOMEM;
	trace->ring_count = t->ring_count;
	for (uint32_t i = 0; i < t->ring_count; i++) {
		struct xvt_lib_ring *r = &trace->rings[i];
		uint32_t vm = xvt_ring_vm(t, i);

		r->known = t->rings[i].known;
		r->pub.number = i;
		r->pub.machine = &trace->machines[vm < t->vm_count ? vm : t->vm_count].pub;
		r->pub.cpu = t->rings[i].info.cpu;
		r->pub.thread = t->rings[i].info.type == XVT_RING_THREAD;
	}
	return 0;
}

int xvtrace_open(struct xvtrace **out, const char *path, unsigned int flags,
		 struct xvtrace_error *error)
{
	struct xvtrace_error unused;
	struct xvtrace *trace = calloc(1, sizeof(*trace));
	char *why = error ? error->text : unused.text;
	int err;

	*out = NULL;
	snprintf(why, sizeof(unused.text), "%s", strerror(ENOMEM));
	if (!trace)
		return -ENOMEM;
	trace->part = flags & XVTRACE_PART;
	err = xvt_set_open(&trace->t, path, trace->part, why, sizeof(unused.text));
	if (!err)
		err = copy_machines(trace);
	if (!err)
		err = copy_rings(trace);
	if (err) {
		xvtrace_close(trace);
		return err;
	}
	*out = trace;
	return 0;
}

void xvtrace_close(struct xvtrace *trace)
{
	if (!trace)
		return;
	free(trace->machines);
	free(trace->rings);
	xvt_trace_close(trace->t);
	free(trace);
}

const struct xvtrace_info *xvtrace_info(struct xvtrace *trace)
{
	const struct xvt_trace *t = trace->t;
	struct xvtrace_info *i = &trace->info;

	memcpy(trace->host_name, t->info.host_name, sizeof(t->info.host_name));
	memcpy(i->uuid, t->info.uuid, sizeof(i->uuid));
	i->path = t->path;
	i->host_name = trace->host_name;
	i->first_ns = t->first_ns;
	i->last_ns = t->last_ns;
	i->begin_ns = t->info.base_ns;
	i->begin_wall_ns = t->info.realtime_ns;
	i->size = t->size;
	i->tail = t->size - t->tail_offset;
	i->unordered = xvt_trace_unordered(t);
	i->ended = t->ended;
	i->machines = trace->machine_count;
	i->rings = trace->ring_count;
	i->clock_lines = t->timebase_count;
	for (size_t k = 0; k < t->timebase_count; k++)
		if (t->timebase[k].error_ns > i->clock_error_ns_max)
			i->clock_error_ns_max = t->timebase[k].error_ns;
	return i;
}

const struct xvtrace_machine *xvtrace_machine(const struct xvtrace *trace, unsigned int number)
{
	if (number >= trace->machine_count || !trace->machines[number].known)
		return NULL;
	return &trace->machines[number].pub;
}

const struct xvtrace_ring *xvtrace_ring(const struct xvtrace *trace, unsigned int number)
{
	return xvt_lib_ring(trace, number);
}

uint64_t xvtrace_wall_ns(const struct xvtrace *trace, uint64_t ns)
{
	return xvt_trace_wall_ns(trace->t, ns);
}

size_t xvtrace_damage_count(const struct xvtrace *trace)
{
	return trace->t->damage_count;
}

int xvtrace_damage(const struct xvtrace *trace, size_t number, struct xvtrace_damage *damage)
{
	const struct xvt_trace *t = trace->t;

	if (number >= t->damage_count || number >= XVT_DAMAGE_MAX)
		return -ENOENT;
	damage->offset = t->damage[number].offset;
	damage->len = t->damage[number].len;
	damage->why = t->damage[number].why;
	damage->file = t->damage[number].file;
	return 0;
}

int xvtrace_check(struct xvtrace *trace)
{
	return trace->part ? -EINVAL : xvt_trace_check_rest(trace->t);
}
