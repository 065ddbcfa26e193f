// SPDX-License-Identifier: GPL-2.0
/* test_repack.c - a compressed copy of a trace: the same chunks in the same order, and their
 * offsets those of the copy; of what is no whole trace there is none. */
#include "suites.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "faults.h"
#include "synth.h"
#include "trace/cursor.h"
#include "trace/format.h"
#include "trace/read.h"
#include "trace/repack.h"

static struct synth_sink sink;
static const char *plain, *packed;

#define PIECES	400u
#define RECORDS 20u
#define EVENTS	(PIECES * (RECORDS + 2))

/* More chunks than one INDEX is of, of all lanes. */
static void make_trace(struct xvt_trace_writer *w)
{
	static const struct xvt_vm_info vm = { .name = "g" };
	static const struct xvt_note note = { .level = 0 };
	static char meta[5000] = { 0 };
	uint64_t ns = 1000;

	ck_assert_int_eq(xvt_trace_put(w, XVT_CHUNK_VM, &vm, sizeof(vm), NULL, 0), 0);
	for (uint32_t i = 0; i < 2; i++) {
		const struct xvt_ring_info ring = { .ring = i, .cpu = i };

		ck_assert_int_eq(xvt_trace_put(w, XVT_CHUNK_RING, &ring, sizeof(ring), NULL, 0), 0);
	}
	ck_assert_int_eq(xvt_trace_put(w, XVT_CHUNK_META, meta, sizeof(meta), NULL, 0), 0);
	for (uint32_t i = 0; i < PIECES; i++, ns += 100) {
		struct xvt_event_hdr h = { .host_ns = ns, .id = XVT_ID_U64, .len = 8 };
		const uint64_t number = i;

		synth_put_records(w, i % 2, ns, RECORDS,
				  i % 8 < 5 ? XVT_LANE_MAIN : XVT_LANE_LOOSE);
		h.host_ns = h.guest_clock = ns + 50;
		ck_assert_int_eq(xvt_trace_event(w, &h, &number), 0);
		h.ring_flags = 1 | XVT_EVENT_F_LATE;
		ck_assert_int_eq(xvt_trace_event(w, &h, &number), 0);
		if (i % 2)
			ck_assert_int_eq(xvt_trace_put(w, XVT_CHUNK_NOTE, &note, sizeof(note),
						       "text", i % 5),
					 0);
	}
}

static void setup(void)
{
	static const struct xvt_file_info info = { .mult = 1, .uuid = { 1, 2, 3 } };
	struct xvt_trace_writer *w;

	synth_sink_init(&sink);
	ck_assert_int_eq(xvt_trace_writer_new(&w, &sink.sink, &info), 0);
	make_trace(w);
	ck_assert_int_eq(xvt_trace_writer_finish(w), 0);
	plain = scratch_path("plain.xvt");
	packed = scratch_path("packed.xvt");
}

static void teardown(void)
{
	synth_sink_fini(&sink);
}

static int repack_from(const char *path)
{
	int from = open(path, O_RDONLY), to = open(packed, O_RDWR | O_CREAT | O_TRUNC, 0600), err;

	ck_assert_int_ge(from, 0);
	ck_assert_int_ge(to, 0);
	err = xvt_repack(from, to, 3);
	close(from);
	close(to);
	return err;
}

static int repack(void)
{
	synth_sink_save(&sink, plain);
	return repack_from(plain);
}

static struct xvt_trace *open_trace(const char *path, bool indexed)
{
	struct xvt_trace *t;
	struct xvt_error why;
	int err = indexed ? xvt_trace_open_indexed(&t, path, &why) : xvt_trace_open(&t, path, &why);

	ck_assert_int_eq(err, 0);
	ck_assert_uint_eq(t->damage_count, 0);
	return t;
}

/* The chunk that begins at an offset of a trace. */
static size_t leads_to(const struct xvt_trace *t, const uint8_t *at)
{
	uint64_t offset;
	size_t chunk;

	memcpy(&offset, at, sizeof(offset));
	chunk = xvt_trace_chunk_at(t, offset);
	ck_assert_uint_lt(chunk, t->chunk_count);
	return chunk;
}

/* Offsets in a chunk lead to the same chunks in both. Makes them equal. */
static void same_offset(const struct xvt_trace *a, uint8_t *x, const struct xvt_trace *b,
			uint8_t *y)
{
	ck_assert_uint_eq(leads_to(a, x), leads_to(b, y));
	memcpy(y, x, sizeof(uint64_t));
}

static void same_offsets(const struct xvt_trace *a, struct xvt_chunk_buf *x,
			 const struct xvt_trace *b, struct xvt_chunk_buf *y, uint16_t type)
{
	size_t at;

	if (type == XVT_CHUNK_END) {
		at = offsetof(struct xvt_end, index_offset);
		same_offset(a, x->payload + at, b, y->payload + at);
	} else if (type == XVT_CHUNK_INDEX) {
		for (at = 0; at < x->len; at += sizeof(struct xvt_index_entry))
			same_offset(a, x->payload + at, b, y->payload + at);
	}
}

static void same_events(struct xvt_trace *a, struct xvt_trace *b)
{
	struct xvt_cursor ca, cb;
	struct xvt_event ea, eb;
	size_t n = 0;

	ck_assert_int_eq(xvt_cursor_init(&ca, a, 0, UINT64_MAX), 0);
	ck_assert_int_eq(xvt_cursor_init(&cb, b, 0, UINT64_MAX), 0);
	for (; xvt_cursor_next(&ca, &ea) > 0; n++) {
		ck_assert_int_eq(xvt_cursor_next(&cb, &eb), 1);
		ck_assert(!memcmp(ea.hdr, eb.hdr, sizeof(*ea.hdr)));
		ck_assert(!memcmp(ea.payload, eb.payload, ea.hdr->len));
	}
	ck_assert_int_eq(xvt_cursor_next(&cb, &eb), 0);
	ck_assert_uint_eq(n, EVENTS);
	xvt_cursor_fini(&ca);
	xvt_cursor_fini(&cb);
}

static void same_traces(bool indexed)
{
	struct xvt_trace *a = open_trace(plain, false), *b = open_trace(packed, indexed);
	size_t i;

	ck_assert(!memcmp(&a->info, &b->info, sizeof(a->info)));
	ck_assert(a->ended && b->ended && b->indexed == indexed);
	ck_assert_uint_eq(a->chunk_count, b->chunk_count);
	ck_assert_uint_lt(b->size, a->size);
	for (i = 0; i < a->chunk_count; i++) {
		struct xvt_chunk_buf x = { 0 }, y = { 0 };

		ck_assert_uint_eq(a->chunks[i].type, b->chunks[i].type);
		ck_assert_uint_eq(a->chunks[i].seq, b->chunks[i].seq);
		ck_assert_int_eq(xvt_trace_load(a, i, &x), 0);
		ck_assert_int_eq(xvt_trace_load(b, i, &y), 0);
		ck_assert_uint_eq(x.len, y.len);
		same_offsets(a, &x, b, &y, a->chunks[i].type);
		ck_assert(!memcmp(x.payload, y.payload, x.len));
		xvt_chunk_buf_free(&x);
		xvt_chunk_buf_free(&y);
	}
	same_events(a, b);
	ck_assert_uint_eq(a->damage_count + b->damage_count, 0);
	xvt_trace_close(a);
	xvt_trace_close(b);
}

START_TEST(a_copy_has_the_same_chunks)
{
	int err = repack();

	if (err == -ENOTSUP)
		return; /* built without zstd */
	ck_assert_int_eq(err, 0);
	same_traces(_i);
}
END_TEST

START_TEST(a_copy_is_not_copied_again)
{
	if (repack() == -ENOTSUP)
		return;
	ck_assert_int_eq(rename(packed, plain), 0);
	ck_assert_int_eq(repack_from(plain), -EALREADY);
}
END_TEST

START_TEST(a_damaged_trace_has_no_copy)
{
	const size_t len = sink.len;
	size_t at;

	if (repack() == -ENOTSUP)
		return;
	for (at = 5; at < len; at += len / 64) {
		sink.bytes[at] ^= 4;
		/* What no checksum covers is padding, which is zero in the copy. */
		if (!repack())
			same_traces(false);
		sink.bytes[at] ^= 4;
	}
	for (at = 8; at < len; at += len / 64) {
		sink.len = len - at;
		ck_assert_int_eq(repack(), -EBADMSG);
	}
	sink.len = len;
	ck_assert_int_eq(repack(), 0);
	sink.bytes[synth_find_chunk(&sink, XVT_CHUNK_RAW, 0) + sizeof(struct xvt_chunk_hdr) + 3] ^=
		1;
	ck_assert_int_eq(repack(), -EBADMSG);
}
END_TEST

START_TEST(a_chunk_of_a_newer_format_may_have_offsets)
{
	const size_t at = synth_find_chunk(&sink, XVT_CHUNK_NOTE, 0);

	if (repack() == -ENOTSUP)
		return;
	sink.bytes[at + offsetof(struct xvt_chunk_hdr, type)] = XVT_CHUNK_LAST + 1;
	synth_sign_chunk(sink.bytes + at);
	ck_assert_int_eq(repack(), -EBADMSG);
}
END_TEST

START_TEST(a_number_that_is_no_raw_chunks_is_not_copied)
{
	const size_t at = synth_find_chunk(&sink, XVT_CHUNK_ORDER, 0),
		     raws = sizeof(struct xvt_chunk_hdr);
	const struct xvt_chunk_hdr *raw =
		(const void *)(sink.bytes + synth_find_chunk(&sink, XVT_CHUNK_RAW, 0));
	const uint64_t order = ((const struct xvt_chunk_hdr *)(sink.bytes + at))->seq,
		       wrong[] = { 0, raw->seq - 1, order, order + 1, UINT64_MAX };
	struct xvt_order_hdr h;
	size_t i;

	if (repack() == -ENOTSUP)
		return;
	memcpy(&h, sink.bytes + at + raws, sizeof(h));
	ck_assert_uint_gt(h.nr_raws, 0);
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		memcpy(sink.bytes + at + raws + sizeof(h) + h.own_len, &wrong[i], sizeof(wrong[i]));
		synth_sign_chunk(sink.bytes + at);
		ck_assert_int_eq(repack(), -EBADMSG);
	}
	h.own_len = UINT32_MAX - 7;
	memcpy(sink.bytes + at + raws, &h, sizeof(h));
	synth_sign_chunk(sink.bytes + at);
	ck_assert_int_eq(repack(), -EBADMSG);
}
END_TEST

/* With O_APPEND, pwrite() writes behind what is there, wherever it is told to. */
START_TEST(a_copy_that_reads_differently_is_none)
{
	int from, to;

	if (repack() == -ENOTSUP)
		return;
	from = open(plain, O_RDONLY);
	to = open(packed, O_RDWR | O_TRUNC | O_APPEND);
	ck_assert_int_eq(write(to, "something", 8), 8);
	ck_assert_int_eq(xvt_repack(from, to, 3), -EBADMSG);
	ck_assert_int_eq(ftruncate(to, 0), 0);
	ck_assert_int_eq(xvt_repack(from, to, 3), 0);
	close(from);
	close(to);
}
END_TEST

START_TEST(without_memory_there_is_no_copy)
{
	size_t before = 0;
	int round;

	if (repack() == -ENOTSUP)
		return;
	for (round = 0; round < 20; round++) {
		/* What Check keeps of each assertion is less than any buffer. */
		before = round == 1 ? memory_in_use() : before;
		for (faults.memory_max = 64; faults.memory_max < 4096; faults.memory_max *= 2)
			ck_assert_int_eq(repack_from(plain), -ENOMEM);
		faults.memory_max = 0;
		ck_assert_int_eq(repack_from(plain), 0);
	}
	ck_assert_uint_lt(memory_in_use(), before + 4096);
}
END_TEST

Suite *repack_suite(void)
{
	Suite *s = suite_create("repack");
	TCase *t = tcase_create("copy");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 60);
	tcase_add_loop_test(t, a_copy_has_the_same_chunks, 0, 2);
	tcase_add_test(t, a_copy_is_not_copied_again);
	tcase_add_test(t, a_damaged_trace_has_no_copy);
	tcase_add_test(t, a_chunk_of_a_newer_format_may_have_offsets);
	tcase_add_test(t, a_number_that_is_no_raw_chunks_is_not_copied);
	tcase_add_test(t, a_copy_that_reads_differently_is_none);
	tcase_add_test(t, without_memory_there_is_no_copy);
	suite_add_tcase(s, t);
	return s;
}
