// SPDX-License-Identifier: GPL-2.0
/* trace.c - an open trace: its machines, rings and damage; see xvtrace.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/machine_name.h"
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
		m->pub.name = m->pub.recorded_name = m->name;
		if (i == t->vm_count)
			break; /* of rings whose machine has a number that no machine has */

		m->known = t->vms[i].known;
		m->pub.host = t->vms[i].info.kind == XVT_VM_HOST;
		m->pub.ftrace = t->vms[i].info.region_kind == XVT_REGION_FTRACE;
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
		r->pub.hw_id = t->rings[i].info.hw_id;
		r->pub.thread = t->rings[i].info.type == XVT_RING_THREAD;
	}
	return 0;
}

int xvt_lib_tables(struct xvtrace *trace)
{
	int err = copy_machines(trace);

	return err ? err : copy_rings(trace);
}

static int open_one(struct xvtrace **out, const char *path, unsigned int flags,
		    struct xvt_error *why)
{
	struct xvtrace *trace = calloc(1, sizeof(*trace));
	int err = -ENOMEM;

	*out = NULL;
	xvt_fail(why, err, "%s", strerror(-err));
	if (!trace)
		return err;
	trace->growing = flags & XVTRACE_GROWING;
	trace->part = flags & (XVTRACE_PART | XVTRACE_GROWING);
	if (trace->growing)
		err = xvt_trace_open_growing(&trace->t, path, why);
	else
		err = xvt_set_open(&trace->t, path, trace->part, why);
	if (!err)
		err = xvt_lib_tables(trace);
	if (!err && !trace->growing)
		err = xvt_named_new(&trace->named, trace->t);
	if (err) {
		xvtrace_close(trace);
		return err;
	}
	*out = trace;
	return 0;
}

int xvtrace_grow(struct xvtrace *trace)
{
	int got = trace->growing ? xvt_trace_grow(trace->t) : -EINVAL, err;

	if (got <= 0)
		return got;
	free(trace->machines);
	free(trace->rings);
	trace->machines = NULL;
	trace->rings = NULL;
	trace->machine_count = trace->ring_count = 0;
	err = xvt_lib_tables(trace);
	return err ? err : got;
}

/* -- several -------------------------------------------------------------------------- */

/* The name of several traces in messages: "a.xvt and b.xvt", "a.xvt and 4 more". */
static void name_whole(struct xvtrace *whole, const char *const *paths, size_t count)
{
	if (count == 2)
		snprintf(whole->path, sizeof(whole->path), "%.200s and %.200s", paths[0], paths[1]);
	else
		snprintf(whole->path, sizeof(whole->path), "%.200s and %zu more", paths[0],
			 count - 1);
}

/* Both texts have one size. Returns `err`. */
static int tell(struct xvtrace_error *error, int err, const struct xvt_error *why)
{
	if (err && error)
		memcpy(error->text, why->text, sizeof(error->text));
	return err;
}

int xvtrace_open(struct xvtrace **out, const char *path, unsigned int flags,
		 struct xvtrace_error *error)
{
	struct xvt_error why;

	return tell(error, open_one(out, path, flags, &why), &why);
}

/* Open one more, and compare it with the others. The text of an error begins with its path. */
static int add_member(struct xvtrace *whole, const char *path, unsigned int flags,
		      struct xvt_error *why)
{
	struct xvt_error its;
	struct xvtrace *of;
	int err = open_one(&of, path, flags, &its);

	if (!err)
		whole->members[whole->member_count++] = of;
	for (size_t i = 0; !err && i + 1 < whole->member_count; i++)
		if (!xvt_several_fit(whole->members[i]->t, of->t, &its))
			err = -EINVAL;
	if (err)
		xvt_fail(why, 0, "%.200s: %.300s", path, its.text);
	return err;
}

static int open_several(struct xvtrace **out, const char *const *paths, size_t count,
			unsigned int flags, struct xvt_error *why)
{
	struct xvtrace *whole;
	int err = 0;

	if (count == 1)
		return open_one(out, paths[0], flags, why);
	*out = NULL;
	xvt_fail(why, 0, "%s", strerror(count ? ENOMEM : EINVAL));
	if (!count || flags & XVTRACE_GROWING)
		return -EINVAL;
	whole = calloc(1, sizeof(*whole));
	if (!whole)
		return -ENOMEM;
	whole->part = flags & XVTRACE_PART;
	name_whole(whole, paths, count);
	whole->members = calloc(count, sizeof(struct xvtrace *));
	if (!whole->members)
		err = -ENOMEM;
	for (size_t i = 0; i < count && !err; i++)
		err = add_member(whole, paths[i], flags, why);
	if (!err)
		err = xvt_several_number(whole);
	if (err) {
		xvtrace_close(whole);
		return err;
	}
	*out = whole;
	return 0;
}

int xvtrace_open_several(struct xvtrace **out, const char *const *paths, size_t count,
			 unsigned int flags, struct xvtrace_error *error)
{
	struct xvt_error why;

	return tell(error, open_several(out, paths, count, flags, &why), &why);
}

void xvtrace_close(struct xvtrace *trace)
{
	if (!trace)
		return;
	for (size_t i = 0; i < trace->member_count; i++)
		xvtrace_close(trace->members[i]);
	free(trace->members);
	free(trace->in_whole);
	free(trace->machines);
	free(trace->rings);
	if (!trace->named_is_lent)
		xvt_named_free(trace->named);
	if (trace->t)
		xvt_trace_close(trace->t);
	free(trace);
}

static void add_info(struct xvtrace_info *to, const struct xvtrace_info *of)
{
	if (of->last_ns && (!to->last_ns || of->first_ns < to->first_ns))
		to->first_ns = of->first_ns;
	if (of->last_ns > to->last_ns)
		to->last_ns = of->last_ns;
	if (of->begin_ns < to->begin_ns) {
		to->begin_ns = of->begin_ns;
		to->begin_wall_ns = of->begin_wall_ns;
	}
	to->size += of->size;
	to->tail += of->tail;
	to->unordered += of->unordered;
	to->ended &= of->ended;
	to->clock_lines += of->clock_lines;
	if (of->clock_error_ns_max > to->clock_error_ns_max)
		to->clock_error_ns_max = of->clock_error_ns_max;
}

static const struct xvtrace_info *info_of_several(struct xvtrace *trace)
{
	struct xvtrace_info *i = &trace->info;

	*i = *xvtrace_info(trace->members[0]);
	for (size_t m = 1; m < trace->member_count; m++)
		add_info(i, xvtrace_info(trace->members[m]));
	i->path = trace->path;
	i->machines = trace->machine_count;
	i->rings = trace->ring_count;
	i->traces = trace->member_count;
	return i;
}

const struct xvtrace_info *xvtrace_info(struct xvtrace *trace)
{
	const struct xvt_trace *t = trace->t;
	struct xvtrace_info *i = &trace->info;

	if (trace->members)
		return info_of_several(trace);
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
	i->traces = 1;
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
	const struct xvtrace *of = trace;

	if (trace->members)
		of = xvt_several_of_ring(trace, number);
	return of ? xvt_lib_ring(of, number - of->first_ring) : NULL;
}

/* The last of several that had begun. */
static const struct xvtrace *begun_at(const struct xvtrace *trace, uint64_t ns)
{
	const struct xvtrace *last = trace->members[0];

	for (size_t i = 1; i < trace->member_count; i++) {
		const struct xvtrace *of = trace->members[i];
		const bool begun = of->t->info.base_ns <= ns;

		if (last->t->info.base_ns > ns
			    ? of->t->info.base_ns < last->t->info.base_ns
			    : begun && of->t->info.base_ns > last->t->info.base_ns)
			last = of;
	}
	return last;
}

uint64_t xvtrace_wall_ns(const struct xvtrace *trace, uint64_t ns)
{
	if (trace->members)
		trace = begun_at(trace, ns);
	return xvt_trace_wall_ns(trace->t, ns);
}

size_t xvtrace_damage_count(const struct xvtrace *trace)
{
	size_t sum = 0;

	for (size_t i = 0; i < trace->member_count; i++)
		sum += trace->members[i]->t->damage_count;
	return trace->members ? sum : trace->t->damage_count;
}

/* The member that has a place of damage, whose number is in it from there on. */
static const struct xvtrace *damaged(const struct xvtrace *trace, size_t *number)
{
	size_t i;

	for (i = 0; i + 1 < trace->member_count; i++) {
		const size_t count = trace->members[i]->t->damage_count;

		if (*number < count)
			break;
		*number -= count;
	}
	return trace->members[i];
}

int xvtrace_damage(const struct xvtrace *trace, size_t number, struct xvtrace_damage *damage)
{
	const struct xvtrace *of = trace->members ? damaged(trace, &number) : trace;
	const struct xvt_trace *t = of->t;

	if (number >= t->damage_count || number >= XVT_DAMAGE_MAX)
		return -ENOENT;
	damage->offset = t->damage[number].offset;
	damage->len = t->damage[number].len;
	damage->why = t->damage[number].why;
	damage->file = t->damage[number].file;
	if (!damage->file && trace->members)
		damage->file = t->path;
	return 0;
}

int xvtrace_check(struct xvtrace *trace)
{
	int err = trace->part ? -EINVAL : 0;

	for (size_t i = 0; i < trace->member_count && !err; i++)
		err = xvt_trace_check_rest(trace->members[i]->t);
	return err || trace->members ? err : xvt_trace_check_rest(trace->t);
}

/* -- names that a trace does not have -------------------------------------------------- */

int xvtrace_names(const struct xvtrace *trace, unsigned int machine, struct xvtrace_names *names)
{
	struct xvtrace_names none = { 0 };

	memset(names, 0, sizeof(*names));
	if (!trace->members)
		return xvt_named_get(trace->named, machine, names);
	for (size_t i = 0; i < trace->member_count; i++) {
		const struct xvtrace *m = trace->members[i];

		for (uint32_t vm = 0; vm < m->machine_count; vm++) {
			if (m->in_whole[vm] != machine)
				continue;
			if (xvt_named_get(m->named, vm, names))
				return 1;
			if (names->why)
				none = *names;
		}
	}
	*names = none;
	return 0;
}

/* Returns as xvtrace_claim_kernel(), of one trace. */
static int claim(struct xvtrace *of, const char *machine, const char *kernel,
		 struct xvtrace_error *error)
{
	struct xvt_error why;
	int err = -ENOENT;

	for (uint32_t vm = 0; vm < of->machine_count; vm++) {
		const struct xvtrace_machine *m = xvt_lib_machine(of, vm);

		if (!of->machines[vm].known || (!xvt_machine_same(m->name, machine) &&
						!xvt_machine_same(m->recorded_name, machine)))
			continue;
		err = tell(error, xvt_named_claim(of->named, vm, kernel, &why), &why);
		if (err)
			return err;
	}
	return err;
}

int xvtrace_claim_kernel(struct xvtrace *trace, const char *machine, const char *kernel,
			 struct xvtrace_error *error)
{
	struct xvtrace_error unused;
	bool any = false;
	int err = 0;

	error = error ? error : &unused;
	snprintf(error->text, sizeof(error->text), "the trace has no such machine");
	if (!trace->members)
		return claim(trace, machine, kernel, error);
	for (size_t i = 0; i < trace->member_count; i++) {
		err = claim(trace->members[i], machine, kernel, error);
		if (err && err != -ENOENT && err != -EEXIST)
			return err;
		any |= !err;
	}
	return any ? 0 : err;
}
