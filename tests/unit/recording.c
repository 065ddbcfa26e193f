// SPDX-License-Identifier: GPL-2.0
/* recording.c - see recording.h. */
#define _GNU_SOURCE
#include "recording.h"

#include <check.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "suites.h"

struct xvt_ring *recording_use(struct recording *r, uint32_t ring)
{
	ck_assert_ptr_null(r->vm->rings[ring]);
	ck_assert_int_eq(xvt_vm_make_ring(r->s, r->vm, ring, 1), 0);
	xvt_vm_init_ring(r->s, r->vm, ring);
	xvt_ring_attach(r->vm->rings[ring]);
	xvt_session_list_ring(r->s, r->vm->rings[ring]);
	return r->vm->rings[ring];
}

void recording_begin(struct recording *r, uint32_t rings, const struct xvt_session_options *opt)
{
	uint32_t i;

	recording_begin_unused(r, rings, opt);
	for (i = 0; i < rings; i++)
		recording_use(r, i);
}

void recording_begin_unused(struct recording *r, uint32_t rings,
			    const struct xvt_session_options *opt)
{
	struct xvt_layout layout = { .region_size = RECORDING_REGION_SIZE,
				     .ring_count = rings,
				     .subbuf_size = 1024,
				     .clock_id = XVT_CLOCK_NATIVE };
	const char *path = scratch_path("region");
	struct xvt_error why;
	int fd;

	memset(r, 0, sizeof(*r));
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(ftruncate(fd, RECORDING_REGION_SIZE), 0);
	r->map = mmap(NULL, RECORDING_REGION_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ck_assert_ptr_ne(r->map, MAP_FAILED);
	close(fd);
	ck_assert_int_eq(xvt_region_format(r->map, &layout, &r->g), 0);
	synth_sink_init(&r->sink);
	ck_assert_int_eq(xvt_loop_new(&r->loop), 0);
	ck_assert_int_eq(xvt_session_new(&r->s, r->loop, &r->sink.sink, opt), 0);
	ck_assert_int_eq(xvt_session_add(r->s, "g1", path, NULL, true, &why), 0);
	r->vm = xvt_session_find(r->s, "g1");
	ck_assert_ptr_nonnull(r->vm);
	ck_assert_uint_eq(r->vm->phase, XVT_VM_ATTACHED);
}

void recording_end(struct recording *r)
{
	if (r->s)
		ck_assert_int_eq(xvt_session_finish(r->s), 0);
	xvt_loop_free(r->loop);
	synth_sink_fini(&r->sink);
	munmap(r->map, RECORDING_REGION_SIZE);
}

const struct xvt_chunk_hdr *recording_chunk(const struct recording *r, size_t *at)
{
	const struct xvt_chunk_hdr *h = (const struct xvt_chunk_hdr *)(r->sink.bytes + *at);

	if (*at >= r->sink.len)
		return NULL;
	*at += sizeof(*h) + ((h->len + 7) & ~7u);
	return h;
}

struct xvt_trace *recording_open(struct recording *r)
{
	const char *path = scratch_path("recording.xvt");
	struct xvt_trace *t;
	struct xvt_error why;

	synth_sink_save(&r->sink, path);
	ck_assert_msg(!xvt_trace_open(&t, path, &why), "%s", why.text);
	return t;
}
