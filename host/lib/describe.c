// SPDX-License-Identifier: GPL-2.0
/* describe.c - what a machine says of itself: formats, symbols, names of tasks; see xvtrace.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/parts.h"

const char *xvtrace_type_format(struct xvtrace_reader *r, const struct xvtrace_type *type)
{
	const struct xvt_lib_type *of = (const struct xvt_lib_type *)type;

	free(r->shown.format);
	r->shown.format = xvt_class_format(&of->reader->ds, of->c);
	return r->shown.format;
}

/* What the machine of a trace says. NULL: the trace has no such machine, or the reader has not
 * begun. */
static struct xvt_decoder *decoder_of(const struct xvtrace_reader *r, unsigned int machine)
{
	return r->ds.vm && machine < r->ds.count - 1 ? r->ds.vm[machine] : NULL;
}

/*
 * Of several traces, more than one may have a machine. Finds the newest before *from (at first
 * SIZE_MAX) that does. Returns NULL if there are no more.
 */
static struct xvt_decoder *decoder_before(const struct xvtrace_reader *r, unsigned int machine,
					  size_t *from)
{
	if (!r->several.members) {
		struct xvt_decoder *d = *from ? decoder_of(r, machine) : NULL;

		*from = 0;
		return d;
	}
	for (size_t i = *from < r->several.count ? *from : r->several.count; i--;) {
		const struct xvtrace_reader *m = r->several.members[i];

		for (uint32_t vm = 0; vm < m->trace->machine_count; vm++) {
			if (m->trace->in_whole[vm] != machine || !decoder_of(m, vm))
				continue;
			*from = i;
			return decoder_of(m, vm);
		}
	}
	return NULL;
}

int xvtrace_reader_symbols(struct xvtrace_reader *r, unsigned int machine,
			   enum xvtrace_symbols what, size_t number, const char **text, size_t *len)
{
	const uint32_t type = what == XVTRACE_KSYMS ? XVT_META_KSYMS : XVT_META_PRINTK_FORMATS;
	struct xvt_decoder *d;
	int err = -ENOENT;

	/* All pieces are of one trace: the newest that has the first one. */
	for (size_t at = SIZE_MAX; err == -ENOENT && (d = decoder_before(r, machine, &at));) {
		err = xvt_symbols_piece(d, type, 0, text, len);
		if (!err && number)
			return xvt_symbols_piece(d, type, number, text, len);
	}
	return err;
}

/* Bits of *at that are the place in one trace; those above it are the number of the trace. */
#define TASK_BITS 48u

int xvtrace_reader_type(struct xvtrace_reader *r, unsigned int machine, size_t *at,
			const struct xvtrace_type **type)
{
	const size_t place = ((size_t)1 << TASK_BITS) - 1;
	int err = xvt_reader_begin(r);
	size_t from = SIZE_MAX, n = 0;
	struct xvt_decoder *d;

	*type = NULL;
	for (; !err && (d = decoder_before(r, machine, &from)); n++) {
		size_t in = *at & place;
		struct xvt_event_class *c;
		struct xvt_lib_type *t;

		if (n != *at >> TASK_BITS)
			continue;
		c = xvt_format_next(d, &in);
		*at = c ? n << TASK_BITS | in : (n + 1) << TASK_BITS;
		if (!c)
			continue;
		t = c->user ? c->user
			    : xvt_lib_type_new(r->several.members ? r->several.members[from] : r,
					       c);
		*type = t ? &t->pub : NULL;
		return t ? 1 : -ENOMEM;
	}
	return err;
}

/* Returns whether a newer trace has named the task. */
static bool is_newer_named(const struct xvtrace_reader *r, unsigned int machine, size_t n,
			   int32_t pid)
{
	struct xvt_decoder *d;

	for (size_t at = SIZE_MAX; n && (d = decoder_before(r, machine, &at)); n--)
		if (xvt_comm(d, pid))
			return true;
	return false;
}

int xvtrace_reader_task(const struct xvtrace_reader *r, unsigned int machine, size_t *at, int *pid,
			const char **comm)
{
	const size_t place = ((size_t)1 << TASK_BITS) - 1;
	struct xvt_decoder *d;
	size_t from = SIZE_MAX, n = 0;

	for (; (d = decoder_before(r, machine, &from)); n++) {
		size_t in = *at & place;
		int32_t number;

		if (n != *at >> TASK_BITS)
			continue;
		while (xvt_comm_next(d, &in, &number, comm)) {
			*at = n << TASK_BITS | in;
			*pid = number;
			if (!is_newer_named(r, machine, n, number))
				return 1;
		}
		*at = (n + 1) << TASK_BITS;
	}
	return 0;
}

const struct xvtrace_task *xvtrace_reader_task_of(struct xvtrace_reader *r, unsigned int machine,
						  int pid)
{
	struct xvt_decoder *d;

	for (size_t from = SIZE_MAX; (d = decoder_before(r, machine, &from));) {
		r->shown.task.pid = pid;
		r->shown.task.comm = xvt_comm_since(d, pid, &r->shown.task.since_ns);
		if (r->shown.task.comm)
			return &r->shown.task;
	}
	return NULL;
}

int xvtrace_reader_process(const struct xvtrace_reader *r, unsigned int machine, int tid,
			   bool *kernel)
{
	struct xvt_decoder *d;
	int process = 0;

	*kernel = false;
	for (size_t at = SIZE_MAX; !process && (d = decoder_before(r, machine, &at));)
		process = xvt_process(d, tid, kernel);
	return process;
}

const char *xvtrace_reader_kernel(const struct xvtrace_reader *r, unsigned int machine)
{
	const char *text = NULL;
	struct xvt_decoder *d;

	for (size_t at = SIZE_MAX; !text && (d = decoder_before(r, machine, &at));)
		text = xvt_kernel_text(d);
	return text;
}

/* The guest of that recorded name. */
static const struct xvtrace_machine *guest_of(const struct xvtrace *trace, const char *name,
					      size_t len, bool *more)
{
	const struct xvtrace_machine *found = NULL;

	for (uint32_t i = 0; i < trace->machine_count; i++) {
		const struct xvt_lib_machine *m = &trace->machines[i];

		if (!m->known || m->pub.host || strlen(m->name) != len ||
		    memcmp(m->name, name, len) != 0)
			continue;
		*more = found;
		if (!found)
			found = xvt_lib_machine(trace, i);
	}
	return found;
}

/* The guest of that name: of the host's trace, or of the one other trace that has it. */
static const struct xvtrace_machine *machine_named(const struct xvtrace *trace, const char *name,
						   size_t len)
{
	bool more = false;
	const struct xvtrace_machine *m = guest_of(trace, name, len, &more);

	if (m || !trace->whole)
		return m;
	m = guest_of(trace->whole, name, len, &more);
	return more ? NULL : m;
}

/* Take a name of the recorder's apart: MACHINE:vcpuN, or MACHINE:vcpus of a thread that runs all.
 */
static bool read_vcpu(const struct xvtrace *trace, const char *name, struct xvtrace_vcpu *vcpu)
{
	const char *colon = strrchr(name, ':'), *at;
	uint64_t number = 0;

	if (!colon || strncmp(colon, ":vcpu", 5) != 0 || !colon[5])
		return false;
	for (at = colon + 5; *at >= '0' && *at <= '9' && number < XVTRACE_ALL_VCPUS; at++)
		number = number * 10 + (uint64_t)(*at - '0');
	if (strcmp(colon, ":vcpus") == 0)
		number = XVTRACE_ALL_VCPUS;
	else if (*at || number >= XVTRACE_ALL_VCPUS)
		return false;
	vcpu->vcpu = (unsigned int)number;
	vcpu->machine = machine_named(trace, name, (size_t)(colon - name));
	return vcpu->machine;
}

int xvtrace_reader_vcpu(const struct xvtrace_reader *r, unsigned int machine, size_t *at,
			struct xvtrace_vcpu *vcpu)
{
	const size_t place = ((size_t)1 << TASK_BITS) - 1;
	size_t from = SIZE_MAX, n = 0;
	struct xvt_decoder *d;

	for (; (d = decoder_before(r, machine, &from)); n++) {
		const struct xvtrace *trace =
			r->several.members ? r->several.members[from]->trace : r->trace;
		size_t in = *at & place;
		const char *name;
		int32_t tid;

		if (n != *at >> TASK_BITS)
			continue;
		while (xvt_thread_next(d, &in, &tid, &name)) {
			*at = n << TASK_BITS | in;
			if (!read_vcpu(trace, name, vcpu))
				continue;
			vcpu->tid = tid;
			return 1;
		}
		*at = (n + 1) << TASK_BITS;
	}
	return 0;
}

int xvtrace_reader_thread(const struct xvtrace_reader *r, unsigned int machine, int tid,
			  struct xvtrace_vcpu *vcpu)
{
	struct xvt_decoder *d;

	for (size_t from = SIZE_MAX; (d = decoder_before(r, machine, &from));) {
		const struct xvtrace *trace =
			r->several.members ? r->several.members[from]->trace : r->trace;
		const char *name = xvt_thread(d, tid);

		if (!name || !read_vcpu(trace, name, vcpu))
			continue;
		vcpu->tid = tid;
		return 1;
	}
	return 0;
}

const char *xvtrace_role_name(unsigned int role)
{
	static const char *const names[] = {
		[XVTRACE_ROLE_NONE] = "none",	    [XVTRACE_ROLE_VCPU] = "vcpu",
		[XVTRACE_ROLE_ALL_VCPUS] = "vcpus", [XVTRACE_ROLE_MAIN] = "main",
		[XVTRACE_ROLE_IO] = "io",	    [XVTRACE_ROLE_VHOST] = "vhost",
		[XVTRACE_ROLE_WORKER] = "worker",   [XVTRACE_ROLE_OTHER] = "other",
	};

	return role < sizeof(names) / sizeof(names[0]) ? names[role] : NULL;
}

/* The roles of the file are those of the library, number for number. */
static void take_role(const struct xvtrace *trace, const struct xvt_thread_role_at *from,
		      struct xvtrace_thread *to)
{
	*to = (struct xvtrace_thread){ .tid = from->tid,
				       .tgid = from->tgid,
				       .from_ns = from->since_ns };
	/* One that this library does not know, or of a machine that is not there. */
	if (from->role == XVT_ROLE_NONE || from->vm >= trace->machine_count ||
	    !trace->machines[from->vm].known)
		return;
	to->role =
		xvtrace_role_name(from->role) ? (enum xvtrace_role)from->role : XVTRACE_ROLE_OTHER;
	to->machine = xvt_lib_machine(trace, from->vm);
	if (to->role == XVTRACE_ROLE_VCPU)
		to->vcpu = from->vcpu;
	else if (to->role == XVTRACE_ROLE_ALL_VCPUS)
		to->vcpu = XVTRACE_ALL_VCPUS;
}

int xvtrace_reader_role(struct xvtrace_reader *r, unsigned int machine, int tid, uint64_t ns,
			struct xvtrace_thread *thread)
{
	struct xvt_thread_role_at role;
	struct xvt_decoder *d;
	bool found = false;

	for (size_t from = SIZE_MAX; (d = decoder_before(r, machine, &from));) {
		const struct xvtrace *trace =
			r->several.members ? r->several.members[from]->trace : r->trace;

		/* Of several traces the one with the newest statement. */
		if (!xvt_thread_role_at(d, tid, ns, &role) ||
		    (found && role.since_ns <= thread->from_ns))
			continue;
		take_role(trace, &role, thread);
		found = true;
	}
	return found;
}

int xvtrace_reader_role_next(struct xvtrace_reader *r, unsigned int machine, size_t *at,
			     struct xvtrace_thread *thread)
{
	const size_t place = ((size_t)1 << TASK_BITS) - 1;
	struct xvt_thread_role_at role;
	size_t from = SIZE_MAX, n = 0;
	struct xvt_decoder *d;

	for (; (d = decoder_before(r, machine, &from)); n++) {
		const struct xvtrace *trace =
			r->several.members ? r->several.members[from]->trace : r->trace;
		size_t in = *at & place;

		if (n != *at >> TASK_BITS)
			continue;
		if (xvt_thread_role_next(d, &in, &role)) {
			*at = n << TASK_BITS | in;
			take_role(trace, &role, thread);
			return 1;
		}
		*at = (n + 1) << TASK_BITS;
	}
	return 0;
}
