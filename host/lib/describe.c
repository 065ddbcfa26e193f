// SPDX-License-Identifier: GPL-2.0
/* describe.c - what a machine says of itself: formats, symbols, names of tasks; see xvtrace.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/parts.h"

const char *xvtrace_type_format(struct xvtrace_reader *r, const struct xvtrace_type *type)
{
	free(r->format);
	r->format = xvt_class_format(&r->ds, ((const struct xvt_lib_type *)type)->c);
	return r->format;
}

/* NULL: the trace has no such machine, or the reader has not begun. */
static struct xvt_decoder *decoder_of(const struct xvtrace_reader *r, unsigned int machine)
{
	return r->ds.vm && machine < r->ds.count - 1 ? r->ds.vm[machine] : NULL;
}

int xvtrace_reader_symbols(struct xvtrace_reader *r, unsigned int machine,
			   enum xvtrace_symbols what, size_t number, const char **text, size_t *len)
{
	const uint32_t type = what == XVTRACE_KSYMS ? XVT_META_KSYMS : XVT_META_PRINTK_FORMATS;
	struct xvt_decoder *d = decoder_of(r, machine);

	return d ? xvt_symbols_piece(d, type, number, text, len) : -ENOENT;
}

int xvtrace_reader_task(const struct xvtrace_reader *r, unsigned int machine, size_t *at, int *pid,
			const char **comm)
{
	const struct xvt_decoder *d = decoder_of(r, machine);
	int32_t number;

	if (!d || !xvt_comm_next(d, at, &number, comm))
		return 0;
	*pid = number;
	return 1;
}

int xvtrace_reader_process(const struct xvtrace_reader *r, unsigned int machine, int tid,
			   bool *kernel)
{
	const struct xvt_decoder *d = decoder_of(r, machine);

	*kernel = false;
	return d ? xvt_process(d, tid, kernel) : 0;
}

const char *xvtrace_reader_kernel(const struct xvtrace_reader *r, unsigned int machine)
{
	const struct xvt_decoder *d = decoder_of(r, machine);

	return d ? xvt_kernel_text(d) : NULL;
}

/* Take a name of the recorder's apart: MACHINE:vcpuN, or MACHINE:vcpus of a thread that runs all.
 */
static bool read_vcpu(const struct xvtrace *trace, const char *name, struct xvtrace_vcpu *vcpu)
{
	const char *colon = strrchr(name, ':');
	char end;

	if (!colon)
		return false;
	if (strcmp(colon, ":vcpus") == 0)
		vcpu->vcpu = XVTRACE_ALL_VCPUS;
	else if (sscanf(colon, ":vcpu%u%c", &vcpu->vcpu, &end) != 1 ||
		 vcpu->vcpu == XVTRACE_ALL_VCPUS)
		return false;
	for (uint32_t i = 0; i < trace->machine_count; i++) {
		const struct xvt_lib_machine *m = &trace->machines[i];

		if (!m->known || m->pub.host || strlen(m->name) != (size_t)(colon - name) ||
		    memcmp(m->name, name, (size_t)(colon - name)) != 0)
			continue;
		vcpu->machine = &m->pub;
		return true;
	}
	return false;
}

int xvtrace_reader_vcpu(const struct xvtrace_reader *r, unsigned int machine, size_t *at,
			struct xvtrace_vcpu *vcpu)
{
	const struct xvt_decoder *d = decoder_of(r, machine);
	const char *name;
	int32_t tid;

	while (d && xvt_thread_next(d, at, &tid, &name)) {
		if (!read_vcpu(r->trace, name, vcpu))
			continue;
		vcpu->tid = tid;
		return 1;
	}
	return 0;
}
