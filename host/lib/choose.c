// SPDX-License-Identifier: GPL-2.0
/* choose.c - which events a reader gives; see xvtrace.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/machine_name.h"
#include "base/vec.h"
#include "lib/parts.h"

static const volatile int not_watched;

void xvt_choice_init(struct xvtrace_reader *r)
{
	r->choice.to_ns = r->choice.wall_to_ns = UINT64_MAX;
	r->watch.flag = &not_watched;
}

int xvtrace_reader_machine(struct xvtrace_reader *r, const char *name)
{
	const struct xvtrace *trace = r->trace;
	bool found = false;

	if (r->begun)
		return -EBUSY;
	for (uint32_t i = 0; i < trace->machine_count; i++) {
		const struct xvt_lib_machine *m = &trace->machines[i];

		if (!m->known ||
		    (!xvt_machine_same(m->name, name) && !xvt_machine_same(m->pub.name, name)))
			continue;
		if (!r->choice.machines)
			r->choice.machines = calloc((size_t)trace->machine_count + 1, sizeof(bool));
		if (!r->choice.machines)
			return -ENOMEM;
		found = r->choice.machines[i] = true;
	}
	return found ? 0 : -ENOENT;
}

int xvtrace_reader_cpu(struct xvtrace_reader *r, unsigned int cpu)
{
	if (r->begun)
		return -EBUSY;
	if (r->choice.cpu_count && cpu && r->choice.cpus[r->choice.cpu_count - 1].to == cpu - 1) {
		r->choice.cpus[r->choice.cpu_count - 1].to = cpu;
		return 0;
	}
	if (xvt_grow(&r->choice.cpus, &r->choice.cpu_room, r->choice.cpu_count + 1,
		     sizeof(*r->choice.cpus)))
		return -ENOMEM;
	r->choice.cpus[r->choice.cpu_count++] = (struct xvt_cpus){ cpu, cpu };
	return 0;
}

int xvtrace_reader_pid(struct xvtrace_reader *r, int pid)
{
	if (r->begun)
		return -EBUSY;
	if (xvt_grow(&r->choice.pids, &r->choice.pid_room, r->choice.pid_count + 1,
		     sizeof(*r->choice.pids)))
		return -ENOMEM;
	r->choice.pids[r->choice.pid_count++] = pid;
	r->choice.by_event = true;
	return 0;
}

int xvtrace_reader_comm(struct xvtrace_reader *r, const char *glob)
{
	if (r->begun)
		return -EBUSY;
	if (!r->choice.comms)
		r->choice.comms = calloc(1, sizeof(*r->choice.comms));
	r->choice.by_event = true;
	return r->choice.comms ? xvt_glob_add(&r->choice.comms->globs, glob, false) : -ENOMEM;
}

int xvtrace_reader_event(struct xvtrace_reader *r, const char *glob)
{
	const bool leaves_out = glob[0] == '!';

	return r->begun ? -EBUSY : xvt_glob_add(&r->choice.globs, glob + leaves_out, leaves_out);
}

int xvtrace_reader_filter(struct xvtrace_reader *r, const char *filter, struct xvtrace_error *error)
{
	struct xvtrace_error unused;
	struct xvt_filter *f;
	int err;

	error = error ? error : &unused;
	error->text[0] = '\0';
	if (r->begun)
		return -EBUSY;
	err = xvt_filter_new(&f, filter, error);
	if (err)
		return err;
	xvt_filter_free(r->choice.filter);
	r->choice.filter = f;
	r->choice.by_event = true;
	return 0;
}

int xvtrace_check_filter(const char *filter, struct xvtrace_error *error)
{
	struct xvtrace_error unused;
	struct xvt_filter *f;
	int err;

	error = error ? error : &unused;
	error->text[0] = '\0';
	err = xvt_filter_new(&f, filter, error);
	if (!err)
		xvt_filter_free(f);
	return err;
}

int xvtrace_reader_from(struct xvtrace_reader *r, uint64_t ns, enum xvtrace_clock clock)
{
	if (r->begun)
		return -EBUSY;
	*(clock == XVTRACE_WALL ? &r->choice.wall_from_ns : &r->choice.from_ns) = ns;
	return 0;
}

int xvtrace_reader_to(struct xvtrace_reader *r, uint64_t ns, enum xvtrace_clock clock)
{
	if (r->begun)
		return -EBUSY;
	*(clock == XVTRACE_WALL ? &r->choice.wall_to_ns : &r->choice.to_ns) = ns;
	return 0;
}

int xvtrace_reader_limit(struct xvtrace_reader *r, uint64_t events)
{
	if (r->begun)
		return -EBUSY;
	r->choice.limit = events;
	return 0;
}

int xvtrace_reader_flags(struct xvtrace_reader *r, unsigned int flags)
{
	if (r->begun)
		return -EBUSY;
	if (flags & ~(XVTRACE_ALL | XVTRACE_RECLOCK | XVTRACE_BOUND | XVTRACE_STATES |
		      XVTRACE_GAPS | XVTRACE_COUNTS))
		return -EINVAL;
	r->choice.flags = flags;
	return 0;
}

int xvtrace_reader_watch(struct xvtrace_reader *r, const volatile int *flag,
			 bool (*watch)(void *arg, uint64_t ns), void *arg)
{
	if (r->begun)
		return -EBUSY;
	r->watch.flag = flag;
	r->watch.call = watch;
	r->watch.arg = arg;
	return 0;
}

static int copy_array(void *to, const void *of, size_t count, size_t size)
{
	void **at = to;

	if (!of)
		return 0;
	*at = malloc(count * size + 1);
	if (*at && count)
		memcpy(*at, of, count * size);
	return *at ? 0 : -ENOMEM;
}

int xvt_choice_copy(struct xvtrace_reader *to, const struct xvtrace_reader *r)
{
	int err = 0;

	to->choice.flags = r->choice.flags;
	to->choice.wall_from_ns = r->choice.wall_from_ns;
	to->choice.wall_to_ns = r->choice.wall_to_ns;
	to->choice.by_event = r->choice.by_event;
	to->choice.cpu_count = r->choice.cpu_count;
	to->choice.pid_count = r->choice.pid_count;
	if (copy_array(&to->choice.machines, r->choice.machines,
		       (size_t)r->trace->machine_count + 1, sizeof(*r->choice.machines)) ||
	    copy_array(&to->choice.cpus, r->choice.cpus, r->choice.cpu_count,
		       sizeof(*r->choice.cpus)) ||
	    copy_array(&to->choice.pids, r->choice.pids, r->choice.pid_count,
		       sizeof(*r->choice.pids)))
		return -ENOMEM;
	for (const struct xvt_glob *g = r->choice.globs; g && !err; g = g->next)
		err = xvt_glob_add(&to->choice.globs, g->text, g->leaves_out);
	if (!err && r->choice.filter)
		err = xvtrace_reader_filter(to, xvt_filter_text(r->choice.filter), NULL);
	return err;
}

void xvt_choice_free(struct xvt_reader_choice *c)
{
	xvt_globs_free(c->globs);
	if (c->comms)
		xvt_globs_free(c->comms->globs);
	free(c->comms);
	xvt_filter_free(c->filter);
	free(c->machines);
	free(c->cpus);
	free(c->pids);
}
