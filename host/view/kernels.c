// SPDX-License-Identifier: GPL-2.0
/* kernels.c - see kernels.h. */
#include "view/kernels.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/set.h"

/* A machine: in one file, and in all files before it. */
struct machine {
	bool there, said; /* the file has it; and says which kernel it had */
	bool any;	  /* a file before has it */
	struct xvt_meta_kernel of;
};

/* Two kernels as one: the least that both say. */
static struct xvt_meta_kernel both(const struct xvt_meta_kernel *a, const struct xvt_meta_kernel *b)
{
	const bool has_a = a->build_id[0], has_b = b->build_id[0];
	struct xvt_meta_kernel m = { .flags = a->flags & b->flags };

	if (a->state == XVT_KERNEL_MIXED || b->state == XVT_KERNEL_MIXED ||
	    (has_a && has_b && memcmp(a->build_id, b->build_id, sizeof(a->build_id)) != 0)) {
		m.state = XVT_KERNEL_MIXED;
	} else if (has_a && has_b) {
		m.state = a->state == b->state ? a->state : (uint32_t)XVT_KERNEL_UNPROVEN;
		memcpy(m.build_id, a->build_id, sizeof(m.build_id));
	}
	return m;
}

/* The file of `v` ends. sum: of those before it, and with it then. */
static void end_file(struct machine *v, struct xvt_meta_kernel *sum, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		struct machine *m = &v[i];

		if (!m->there)
			continue;
		if (!m->said)
			m->of = (struct xvt_meta_kernel){ 0 };
		sum[i] = m->any ? both(&sum[i], &m->of) : m->of;
		m->any = true;
		m->there = m->said = false;
	}
}

static void take_kernel(struct machine *m, const uint8_t *payload, size_t len)
{
	struct xvt_meta_kernel k;

	if (len < sizeof(k))
		return;
	memcpy(&k, payload, sizeof(k));
	if (k.state != XVT_KERNEL_PROVEN && k.state != XVT_KERNEL_UNPROVEN)
		memset(k.build_id, 0, sizeof(k.build_id));
	m->of = k;
	m->said = true;
}

static void take_chunk(struct machine *v, uint32_t count, uint16_t type,
		       const struct xvt_chunk_buf *b)
{
	struct xvt_meta_info meta;
	struct xvt_vm_info vm;

	if (type == XVT_CHUNK_VM && b->len >= sizeof(vm)) {
		memcpy(&vm, b->payload, sizeof(vm));
		if (vm.vm < count)
			v[vm.vm].there = true;
	} else if (type == XVT_CHUNK_META && b->len >= sizeof(meta)) {
		memcpy(&meta, b->payload, sizeof(meta));
		if (meta.type == XVT_META_KERNEL && meta.vm < count)
			take_kernel(&v[meta.vm], b->payload + sizeof(meta), b->len - sizeof(meta));
	}
}

int xvt_kernels_sum(struct xvt_trace *t, struct xvt_meta_kernel **of)
{
	struct xvt_meta_kernel *sum = calloc((size_t)t->vm_count + 1, sizeof(*sum));
	struct machine *v = calloc((size_t)t->vm_count + 1, sizeof(*v));
	struct xvt_chunk_buf b = { 0 };
	size_t file = 0;
	int err = sum && v ? 0 : -ENOMEM;

	for (size_t i = 0; i < t->chunk_count && !err; i++) {
		const uint16_t type = t->chunks[i].type;

		if (type != XVT_CHUNK_VM && type != XVT_CHUNK_META)
			continue;
		if (xvt_set_part(t, i) != file)
			end_file(v, sum, t->vm_count);
		file = xvt_set_part(t, i);
		err = xvt_trace_load(t, i, &b);
		if (!err)
			take_chunk(v, t->vm_count, type, &b);
		err = err == -EBADMSG ? 0 : err;
	}
	if (!err)
		end_file(v, sum, t->vm_count);
	xvt_chunk_buf_free(&b);
	free(v);
	if (err) {
		free(sum);
		sum = NULL;
	}
	*of = sum;
	return err;
}
