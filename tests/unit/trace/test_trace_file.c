// SPDX-License-Identifier: GPL-2.0
/*
 * test_trace_file.c - the file as bytes: what the writer makes, and that no cut, no flipped
 * bit and no random byte makes the reader do more than skip and say so.
 */
#include "suites.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trace/crc32c.h"
#include "decode/decode.h"
#include "faults.h"
#include "synth.h"
#include "trace/read.h"
#include "trace/cursor.h"

static struct synth_sink sink;
static struct synth made;

static void setup(void)
{
	synth_sink_init(&sink);
	synth_make(&made, &sink.sink, 240, SYNTH_SAME_UUID);
}

static void teardown(void)
{
	synth_fini(&made);
	synth_sink_fini(&sink);
}

static struct xvt_trace *open_by(bool indexed, const void *bytes, size_t len, int *err)
{
	/* Two in turn: a test may compare two traces. */
	static unsigned int opened;
	const char *path = scratch_path(opened++ % 2 ? "bytes.xvt" : "other.xvt");
	struct xvt_trace *t;
	struct xvt_error why = { "" };
	FILE *f = fopen(path, "wb");

	ck_assert_ptr_nonnull(f);
	ck_assert_uint_eq(fwrite(bytes, 1, len, f), len);
	ck_assert_int_eq(fclose(f), 0);
	*err = indexed ? xvt_trace_open_indexed(&t, path, &why) : xvt_trace_open(&t, path, &why);
	ck_assert_int_le(*err, 0);
	ck_assert(!*err == (t != NULL));
	/* A refusal says why, in one line. */
	ck_assert(!*err || (why.text[0] && !strchr(why.text, '\n')));
	return t;
}

static struct xvt_trace *open_bytes(const void *bytes, size_t len, int *err)
{
	return open_by(false, bytes, len, err);
}

/* Go through all of it as a report does. Returns events seen. */
static size_t read_all(struct xvt_trace *t)
{
	static struct xvt_out out;
	struct xvt_decoders ds;
	struct xvt_cursor c;
	struct xvt_event ev;
	size_t n = 0;
	int got;

	out.fd = -1;
	ck_assert_int_eq(xvt_decoders_new(&ds, t), 0);
	ck_assert_int_eq(xvt_cursor_init(&c, t, 0, UINT64_MAX), 0);
	while ((got = xvt_cursor_next(&c, &ev)) > 0) {
		struct xvt_decoder *d = xvt_decoder_of(&ds, &ev);
		struct xvt_event_class *cls = xvt_classify(d, &ev);

		ck_assert_ptr_nonnull(cls);
		out.used = 0;
		xvt_print_fields(&out, d, cls, &ev, n % 2);
		n += xvt_is_event(ev.hdr);
	}
	ck_assert_int_eq(got, 0);
	xvt_cursor_fini(&c);
	xvt_decoders_fini(&ds);
	return n;
}

START_TEST(what_was_written_is_read_in_order_of_time)
{
	struct xvt_cursor c;
	struct xvt_event ev;
	size_t n = 0;
	int err;
	struct xvt_trace *t = open_bytes(sink.bytes, sink.len, &err);

	ck_assert_int_eq(err, 0);
	ck_assert(t->ended);
	ck_assert_uint_eq(t->damage_count, 0);
	ck_assert_uint_eq(t->vm_count, 2);
	ck_assert_uint_eq(t->ring_count, 3);
	ck_assert_str_eq(xvt_vm_name(t, 1), "g2");
	ck_assert_str_eq(xvt_vm_name(t, 2), "?");
	ck_assert_int_eq(xvt_cursor_init(&c, t, 0, UINT64_MAX), 0);
	while (xvt_cursor_next(&c, &ev) > 0) {
		if (!xvt_is_event(ev.hdr))
			continue;
		ck_assert_uint_lt(n, made.count);
		ck_assert_uint_eq(ev.hdr->host_ns, made.events[n].host_ns);
		ck_assert_uint_eq(ev.hdr->ring_flags & ~XVT_EVENT_RING_MASK, made.events[n].flags);
		ck_assert_uint_eq((uintptr_t)ev.hdr % 8, 0);
		n++;
	}
	ck_assert_uint_eq(n, made.count);
	xvt_cursor_fini(&c);
	xvt_trace_close(t);
}
END_TEST

START_TEST(the_wall_clock_is_that_of_the_moment)
{
	int err;
	struct xvt_trace *t = open_bytes(sink.bytes, sink.len, &err);

	ck_assert_int_eq(err, 0);
	ck_assert_uint_eq(t->timebase_count, 3);
	ck_assert_uint_eq(xvt_trace_wall_ns(t, SYNTH_WALL_BASE_NS), SYNTH_WALL_NS);
	ck_assert_uint_eq(xvt_trace_wall_ns(t, SYNTH_WALL_BASE_NS - 7), SYNTH_WALL_NS - 7);
	/* Set forward at the knee, and not before. */
	ck_assert_uint_eq(xvt_trace_wall_ns(t, SYNTH_KNEE_NS - 1),
			  SYNTH_WALL_NS + SYNTH_KNEE_NS - 1 - SYNTH_WALL_BASE_NS);
	ck_assert_uint_eq(xvt_trace_wall_ns(t, SYNTH_KNEE_NS), SYNTH_KNEE_WALL_NS);
	ck_assert_uint_eq(xvt_trace_wall_ns(t, SYNTH_KNEE_NS + 1000000),
			  SYNTH_KNEE_WALL_NS + 1000000);
	ck_assert_uint_eq(xvt_trace_wall_ns(t, t->timebase[2].base_ns + 5),
			  t->timebase[2].realtime_ns + 5);
	xvt_trace_close(t);
}
END_TEST

START_TEST(the_sink_gets_whole_chunks_only)
{
	ck_assert_uint_eq(sink.torn, 0);
	ck_assert_uint_gt(sink.calls, 10);
}
END_TEST

START_TEST(a_time_range_gives_exactly_its_events)
{
	int err;
	struct xvt_trace *t = open_bytes(sink.bytes, sink.len, &err);

	for (size_t i = 0; i < made.count; i += 7)
		for (size_t k = i; k < made.count; k += 31) {
			struct xvt_cursor c;
			struct xvt_event ev;
			size_t n = 0;

			ck_assert_int_eq(xvt_cursor_init(&c, t, made.events[i].host_ns,
							 made.events[k].host_ns),
					 0);
			while (xvt_cursor_next(&c, &ev) > 0)
				n += xvt_is_event(ev.hdr);
			ck_assert_uint_eq(n, k - i + 1);
			xvt_cursor_fini(&c);
		}
	xvt_trace_close(t);
}
END_TEST

START_TEST(an_error_of_the_sink_ends_the_file_at_a_whole_chunk)
{
	static const struct xvt_file_info info = { .mult = 1 };
	struct xvt_event_hdr h = { .id = XVT_ID_U64, .len = 16 };
	uint64_t payload[2] = { 1, 2 };
	struct xvt_trace_writer *w;
	struct synth_sink s;
	int err = 0;

	synth_sink_init(&s);
	ck_assert_int_eq(xvt_trace_writer_new(&w, &s.sink, &info), 0);
	s.fail_after = 900000;
	for (int i = 0; i < 100000; i++) {
		err = xvt_trace_event(w, &h, payload);
		if (err)
			break;
	}
	ck_assert_int_eq(err, -ENOSPC);
	s.fail_after = SIZE_MAX; /* room again: still nothing may follow */
	ck_assert_int_eq(xvt_trace_put(w, XVT_CHUNK_NOTE, "x", 1, NULL, 0), -ENOSPC);
	ck_assert_int_eq(xvt_trace_writer_finish(w), -ENOSPC);
	ck_assert_uint_eq(s.torn, 0);
	ck_assert_uint_le(s.len, 900000);
	synth_sink_fini(&s);
}
END_TEST

/* Many callers do not look: what could not be put must not be missing from a trace that says it is
 * whole. 0: there is no memory for it; 1: it is longer than a chunk can be. */
START_TEST(a_chunk_that_cannot_be_made_ends_the_file)
{
	static const struct xvt_file_info info = { .mult = 1 };
	static const uint8_t body[1 << 20];
	const size_t len = _i ? XVT_CHUNK_LEN_MAX + 1 : sizeof(body);
	const int why = _i ? -EMSGSIZE : -ENOMEM;
	struct xvt_trace_writer *w;
	struct xvt_trace *t;
	struct synth_sink s;
	size_t whole;
	int err;

	synth_sink_init(&s);
	ck_assert_int_eq(xvt_trace_writer_new(&w, &s.sink, &info), 0);
	whole = s.len;
	faults.memory_max = sizeof(body) / 2;
	err = xvt_trace_put(w, XVT_CHUNK_META, body, 8, body, len - 8);
	faults.memory_max = 0;
	ck_assert_int_eq(err, why);
	ck_assert_int_eq(xvt_trace_error(w), why);
	ck_assert_int_eq(xvt_trace_put(w, XVT_CHUNK_NOTE, "x", 1, NULL, 0), why);
	ck_assert_int_eq(xvt_trace_writer_finish(w), why);
	ck_assert_uint_eq(s.len, whole);
	t = open_bytes(s.bytes, s.len, &err);
	ck_assert_int_eq(err, 0);
	ck_assert(!t->ended);
	xvt_trace_close(t);
	synth_sink_fini(&s);
}
END_TEST

START_TEST(the_longest_events_fit)
{
	static const struct xvt_file_info info = { .mult = 1 };
	static uint8_t payload[UINT16_MAX];
	struct xvt_event_hdr h = { .id = XVT_ID_USER, .len = UINT16_MAX };
	struct xvt_trace_writer *w;
	struct xvt_cursor c;
	struct xvt_event ev;
	struct xvt_trace *t;
	struct synth_sink s;
	int err, n = 0;

	memset(payload, 0xa5, sizeof(payload));
	synth_sink_init(&s);
	ck_assert_int_eq(xvt_trace_writer_new(&w, &s.sink, &info), 0);
	for (h.host_ns = 1; h.host_ns <= 20; h.host_ns++) {
		h.len = (uint16_t)(UINT16_MAX - h.host_ns % 9);
		ck_assert_int_eq(xvt_trace_event(w, &h, payload), 0);
	}
	ck_assert_int_eq(xvt_trace_writer_finish(w), 0);
	ck_assert_uint_eq(s.torn, 0);
	t = open_bytes(s.bytes, s.len, &err);
	ck_assert_int_eq(err, 0);
	ck_assert_int_eq(xvt_cursor_init(&c, t, 0, UINT64_MAX), 0);
	while (xvt_cursor_next(&c, &ev) > 0) {
		n++;
		ck_assert_uint_eq(ev.hdr->len, UINT16_MAX - n % 9);
		ck_assert(!memcmp(ev.payload, payload, ev.hdr->len));
	}
	ck_assert_int_eq(n, 20);
	xvt_cursor_fini(&c);
	xvt_trace_close(t);
	synth_sink_fini(&s);
}
END_TEST

/* Offsets of all chunks. */
static size_t chunk_starts(size_t *starts, size_t max)
{
	size_t n = 0;

	for (size_t at = 0; at < sink.len && n < max; n++) {
		struct xvt_chunk_hdr h;

		memcpy(&h, sink.bytes + at, sizeof(h));
		starts[n] = at;
		at += sizeof(h) + ((h.len + 7) & ~7u);
	}
	return n;
}

START_TEST(a_cut_file_reads_up_to_its_last_whole_chunk)
{
	size_t starts[256], n = chunk_starts(starts, 256), whole = 0, before = 0;

	/* Every length around the borders, and every 37th elsewhere. */
	for (size_t len = 0; len < sink.len; len++) {
		struct xvt_trace *t;
		size_t seen;
		int err;

		while (whole < n && starts[whole] <= len)
			whole++;
		if (len % 37 && len - starts[whole - 1] > 40 && sink.len - len > 8)
			continue;
		t = open_bytes(sink.bytes, len, &err);
		if (len < starts[1]) {
			ck_assert_int_eq(err, -EBADMSG);
			continue;
		}
		ck_assert_int_eq(err, 0);
		ck_assert(!t->ended);
		ck_assert_uint_eq(t->damage_count, 0);
		ck_assert_uint_eq(t->chunk_count, whole - 1);
		ck_assert_uint_eq(t->tail_offset, starts[whole - 1]);
		seen = read_all(t);
		ck_assert_uint_ge(seen, before);
		before = seen;
		xvt_trace_close(t);
	}
	ck_assert_uint_eq(before, made.count);
}
END_TEST

/* One chunk damaged: all the others are still read, and the damage is known. */
START_TEST(a_damaged_chunk_is_skipped_alone)
{
	size_t starts[256], n = chunk_starts(starts, 256);
	static const size_t offsets[] = { 0, 4, 8, 9, 10, 11, 12, 16, 24, 40, 60 };

	for (size_t i = 1; i < n; i++)
		for (size_t k = 0; k < sizeof(offsets) / sizeof(offsets[0]); k++) {
			size_t at = starts[i] + offsets[k];
			struct xvt_chunk_hdr h;
			struct xvt_trace *t;
			int err;

			memcpy(&h, sink.bytes + starts[i], sizeof(h));
			/* Padding is not covered. */
			if (at >= starts[i] + sizeof(h) + h.len)
				continue;
			sink.bytes[at] ^= 0x41;
			t = open_bytes(sink.bytes, sink.len, &err);
			sink.bytes[at] ^= 0x41;
			ck_assert_int_eq(err, 0);
			/* Load everything, so that each checksum was looked at. */
			for (size_t c = 0; c < t->chunk_count; c++) {
				struct xvt_chunk_buf b = { 0 };

				xvt_trace_load(t, c, &b);
				xvt_chunk_buf_free(&b);
			}
			read_all(t);
			/* The end itself: a file that was not cleanly ended, no more. */
			if (i + 1 == n)
				ck_assert(!t->ended);
			else
				ck_assert_msg(t->damage_count && t->ended, "chunk %zu byte %zu", i,
					      offsets[k]);
			ck_assert_uint_ge(t->chunk_count + 1, n);
			xvt_trace_close(t);
		}
}
END_TEST

static uint64_t seed = 88172645463325252ull;

static uint64_t next_random(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

START_TEST(flipped_bits_do_no_harm)
{
	uint8_t *copy = malloc(sink.len);

	ck_assert_ptr_nonnull(copy);
	for (int round = 0; round < 600; round++) {
		struct xvt_trace *t;
		int err;

		memcpy(copy, sink.bytes, sink.len);
		for (int i = round % 9; i >= 0; i--)
			copy[next_random() % sink.len] ^= (uint8_t)(1u << next_random() % 8);
		t = open_bytes(copy, sink.len, &err);
		if (t)
			read_all(t);
		xvt_trace_close(t);
	}
	free(copy);
}
END_TEST

/* Nonsense with right checksums: what a hostile file would have. */
START_TEST(lying_chunks_do_no_harm)
{
	size_t starts[256], n = chunk_starts(starts, 256);
	uint8_t *copy = malloc(sink.len);

	ck_assert_ptr_nonnull(copy);
	for (int round = 0; round < 1500; round++) {
		struct xvt_trace *t;
		int err;

		memcpy(copy, sink.bytes, sink.len);
		for (int i = round % 5; i >= 0; i--) {
			size_t at = starts[next_random() % n];
			struct xvt_chunk_hdr h;

			memcpy(&h, copy + at, sizeof(h));
			if (!h.len)
				continue;
			for (int k = 0; k < 3; k++) {
				static const uint8_t edges[] = { 0,    1,   0x7f, 0x80,
								 0xff, '%', '"',  '(' };
				uint64_t where = next_random() % h.len;

				/* Often near the start, where the lengths are. */
				if (next_random() % 2)
					where %= 64;
				copy[at + sizeof(h) + where % h.len] = edges[next_random() % 8];
			}
			h.crc = 0;
			memcpy(copy + at, &h, sizeof(h));
			h.crc = xvt_crc32c(0, copy + at, sizeof(h) + h.len);
			memcpy(copy + at, &h, sizeof(h));
		}
		t = open_bytes(copy, sink.len, &err);
		if (t)
			read_all(t);
		xvt_trace_close(t);
	}
	free(copy);
}
END_TEST

START_TEST(random_bytes_are_no_trace)
{
	uint8_t bytes[4096];

	for (int round = 0; round < 50; round++) {
		int err;

		for (size_t i = 0; i < sizeof(bytes); i++)
			bytes[i] = (uint8_t)next_random();
		if (round % 2) /* with a right beginning */
			memcpy(bytes, sink.bytes, 32);
		open_bytes(bytes, (size_t)(next_random() % sizeof(bytes)), &err);
		ck_assert_int_eq(err, -EBADMSG);
	}
}
END_TEST

START_TEST(false_headers_do_not_cost_the_square_of_their_number)
{
	size_t len = 16u << 20, first = 32 + sizeof(struct xvt_file_info);
	uint8_t *bytes = calloc(1, len);
	struct xvt_chunk_hdr h;
	struct xvt_trace *t;
	int err;

	ck_assert_ptr_nonnull(bytes);
	memcpy(bytes, sink.bytes, first);
	memcpy(&h, sink.bytes, sizeof(h));
	h.type = XVT_CHUNK_NOTE;
	/* Each says that it reaches to the end of the file: 500,000 checksums of 8 MiB. */
	for (size_t at = first; at + sizeof(h) <= len; at += sizeof(h)) {
		h.len = (uint32_t)(len - at - sizeof(h));
		memcpy(bytes + at, &h, sizeof(h));
	}
	t = open_bytes(bytes, len, &err); /* Check's time-out is the judge */
	ck_assert_int_eq(err, 0);
	xvt_trace_close(t);
	free(bytes);
}
END_TEST

static int with_file_info(void (*change)(struct xvt_file_info *info))
{
	struct xvt_chunk_hdr *h = (struct xvt_chunk_hdr *)sink.bytes;
	struct xvt_trace *t;
	int err;

	change((struct xvt_file_info *)(h + 1));
	h->crc = 0;
	h->crc = xvt_crc32c(0, sink.bytes, sizeof(*h) + h->len);
	t = open_bytes(sink.bytes, sink.len, &err);
	xvt_trace_close(t);
	return err;
}

static void newer_major(struct xvt_file_info *info)
{
	info->major = info->oldest = 3;
}

static void newer_minor(struct xvt_file_info *info)
{
	info->major = info->oldest = XVT_FILE_MAJOR;
	info->minor = 9;
	info->compat = 0xff;
}

static void unknown_feature(struct xvt_file_info *info)
{
	info->incompat = 4;
}

START_TEST(newer_versions_are_refused_only_where_they_say_so)
{
	ck_assert_int_eq(with_file_info(newer_major), -EPROTO);
	ck_assert_int_eq(with_file_info(newer_minor), 0);
	ck_assert_int_eq(with_file_info(unknown_feature), -EPROTO);
}
END_TEST

START_TEST(a_file_without_an_end_is_legal)
{
	struct synth_sink s;
	struct synth m;
	struct xvt_trace *t;
	int err;

	synth_sink_init(&s);
	synth_make(&m, &s.sink, 100, SYNTH_NO_END);
	t = open_bytes(s.bytes, s.len, &err);
	ck_assert_int_eq(err, 0);
	ck_assert(!t->ended && !t->damage_count && t->tail_offset == t->size);
	ck_assert_uint_eq(read_all(t), m.count);
	xvt_trace_close(t);
	synth_fini(&m);
	synth_sink_fini(&s);
}
END_TEST

/* -- by the index ------------------------------------------------------------------- */

/* A trace of more chunks than one INDEX is of. */
static void make_long(struct synth_sink *s, bool ended)
{
	static const struct xvt_file_info info = { .mult = 1 };
	static const struct xvt_vm_info vm = { .name = "g" };
	struct xvt_event_hdr h = { .id = XVT_ID_U64, .len = 8 };
	struct xvt_note note = { .level = 0 };
	struct xvt_trace_writer *w;

	synth_sink_init(s);
	ck_assert_int_eq(xvt_trace_writer_new(&w, &s->sink, &info), 0);
	ck_assert_int_eq(xvt_trace_put(w, XVT_CHUNK_VM, &vm, sizeof(vm), NULL, 0), 0);
	for (uint32_t i = 0; i < 2000; i++) {
		struct xvt_ring_info ring = { .ring = i / 500, .cpu = i };

		if (i % 500 == 7)
			ck_assert_int_eq(
				xvt_trace_put(w, XVT_CHUNK_RING, &ring, sizeof(ring), NULL, 0), 0);
		for (uint64_t k = 0; k < 4; k++) {
			h.host_ns = h.guest_clock = i * 10 + k;
			h.ring_flags = k == 3 ? XVT_EVENT_F_LATE : 0;
			ck_assert_int_eq(xvt_trace_event(w, &h, &k), 0);
		}
		ck_assert_int_eq(
			xvt_trace_put(w, XVT_CHUNK_NOTE, &note, sizeof(note), "text", i % 5), 0);
	}
	if (ended)
		ck_assert_int_eq(xvt_trace_writer_finish(w), 0);
	else
		ck_assert_int_eq(xvt_trace_flush(w), 0); /* w is lost, as it is with its process */
}

/* Both ways of opening have found the same. */
static void same_chunks(const struct xvt_trace *a, const struct xvt_trace *b)
{
	ck_assert_uint_eq(a->chunk_count, b->chunk_count);
	for (size_t i = 0; i < a->chunk_count; i++) {
		const struct xvt_chunk_ref *x = &a->chunks[i], *y = &b->chunks[i];

		ck_assert_uint_eq(x->offset, y->offset);
		ck_assert_uint_eq(x->seq, y->seq);
		ck_assert_uint_eq(x->type, y->type);
		ck_assert_uint_eq(x->first_ns, y->first_ns);
		ck_assert_uint_eq(x->last_ns, y->last_ns);
		ck_assert_uint_eq(x->count, y->count);
		ck_assert_uint_eq((x->len + 7) / 8, (y->len + 7) / 8);
	}
	ck_assert_uint_eq(a->ended, b->ended);
	ck_assert_uint_eq(a->first_ns, b->first_ns);
	ck_assert_uint_eq(a->last_ns, b->last_ns);
	ck_assert_uint_eq(a->tail_offset, b->tail_offset);
	ck_assert_uint_eq(a->ring_count, b->ring_count);
	ck_assert_uint_eq(a->vm_count, b->vm_count);
}

START_TEST(an_index_leads_to_the_same_chunks_with_few_reads)
{
	struct synth_sink s;
	struct xvt_trace *t, *walked;
	struct xvt_cursor c;
	struct xvt_event ev;
	uint64_t opened;
	int err, n = 0;

	make_long(&s, _i);
	walked = open_bytes(s.bytes, s.len, &err);
	ck_assert_int_eq(err, 0);
	ck_assert_uint_gt(walked->reads, 6000);
	t = open_by(true, s.bytes, s.len, &err);
	ck_assert_int_eq(err, 0);
	ck_assert(t->indexed && !walked->indexed);
	ck_assert(t->ended == (_i != 0));
	same_chunks(t, walked);
	/* About three for each INDEX, one for each of VM and RING; a killed one's tail is walked.
	 */
	ck_assert_uint_lt(t->reads, _i ? 40 : 40 + XVT_INDEX_CHUNKS);
	opened = t->reads;
	ck_assert_int_eq(xvt_cursor_init(&c, t, 10000, 10009), 0);
	while (xvt_cursor_next(&c, &ev) > 0)
		n++;
	ck_assert_int_eq(n, 4);
	ck_assert_uint_eq(t->reads - opened, 2);
	ck_assert_uint_eq(t->damage_count, 0);
	xvt_cursor_fini(&c);
	ck_assert_uint_eq(read_all(t), 8000);
	xvt_trace_close(t);
	xvt_trace_close(walked);
	synth_sink_fini(&s);
}
END_TEST

START_TEST(an_index_of_a_cut_file_leads_as_far_as_it_goes)
{
	struct synth_sink s;
	int err;

	make_long(&s, true);
	for (size_t len = 200; len < s.len; len += 20011) {
		struct xvt_trace *walked = open_bytes(s.bytes, len, &err), *t;

		t = open_by(true, s.bytes, len, &err);
		ck_assert_int_eq(!t, !walked);
		if (!t)
			continue;
		same_chunks(t, walked);
		ck_assert_uint_eq(t->damage_count, 0);
		xvt_trace_close(t);
		xvt_trace_close(walked);
	}
	synth_sink_fini(&s);
}
END_TEST

/* Whatever an index says: no event is missing, and the damage is reported. */
START_TEST(a_lying_index_hides_nothing)
{
	struct synth_sink s;
	uint8_t *copy;

	make_long(&s, true);
	copy = malloc(s.len);
	ck_assert_ptr_nonnull(copy);
	for (int round = 0; round < 140; round++) {
		size_t at = synth_find_chunk(&s, XVT_CHUNK_INDEX, round % 6);
		struct xvt_chunk_hdr h;
		struct xvt_index_entry e;
		struct xvt_trace *t;
		size_t n;
		int err;

		memcpy(copy, s.bytes, s.len);
		memcpy(&h, copy + at, sizeof(h));
		n = next_random() % (h.len / sizeof(e));
		memcpy(&e, copy + at + sizeof(h) + n * sizeof(e), sizeof(e));
		switch (round % 7) {
		case 0:
			e.offset += 8;
			break;
		case 1:
			e.type = e.type == XVT_CHUNK_ORDER ? XVT_CHUNK_NOTE : XVT_CHUNK_ORDER;
			break;
		case 2:
			e.count++;
			break;
		case 3:
			e.offset = next_random() % s.len;
			break;
		case 4:
			e.type = XVT_CHUNK_META;
			break;
		case 5:
			e.type = XVT_CHUNK_RING;
			break;
		default:
			e.last_ns++;
		}
		memcpy(copy + at + sizeof(h) + n * sizeof(e), &e, sizeof(e));
		synth_sign_chunk(copy + at);
		t = open_by(true, copy, s.len, &err);
		ck_assert_int_eq(err, 0);
		ck_assert_uint_eq(read_all(t), 8000);
		/* What it says of a NOTE is not used. */
		ck_assert(t->damage_count == 1 || e.type == XVT_CHUNK_NOTE ||
			  e.type == XVT_CHUNK_INDEX || (e.type == XVT_CHUNK_VM && round % 7 >= 2) ||
			  e.type == XVT_CHUNK_FILE || e.type == XVT_CHUNK_RING);
		ck_assert(!t->damage_count || !t->indexed);
		xvt_trace_close(t);
	}
	free(copy);
	synth_sink_fini(&s);
}
END_TEST

/* The main loop is in the middle of the file when it finds that the index is wrong. */
START_TEST(a_reader_goes_on_where_the_index_ends)
{
	struct synth_sink s;
	struct xvt_cursor c;
	struct xvt_event ev;
	struct xvt_trace *t;
	uint64_t last = 0;
	size_t n = 0, at;
	int err, got;

	make_long(&s, true);
	/* A chunk in the middle is damaged. */
	at = synth_find_chunk(&s, XVT_CHUNK_INDEX, 2);
	s.bytes[at - 200] ^= 1;
	t = open_by(true, s.bytes, s.len, &err);
	ck_assert_int_eq(err, 0);
	ck_assert(t->indexed);
	ck_assert_int_eq(xvt_cursor_init(&c, t, 0, UINT64_MAX), 0);
	while ((got = xvt_cursor_next(&c, &ev)) > 0) {
		ck_assert_uint_ge(ev.hdr->host_ns, last);
		last = ev.hdr->host_ns;
		n++;
	}
	ck_assert_int_eq(got, 0);
	ck_assert_uint_ge(n, 7990);
	ck_assert_uint_le(n, 8000);
	ck_assert_uint_eq(last, 19993);
	xvt_cursor_fini(&c);
	xvt_trace_close(t);
	synth_sink_fini(&s);
}
END_TEST

/* -- compressed --------------------------------------------------------------------- */

/* Events of both lanes and a large META, all of which become smaller. Returns the writer's answer
 * to the wish to compress. */
static int make_events(struct synth_sink *s, unsigned int level)
{
	static const struct xvt_file_info info = { .mult = 1, .uuid = { 1, 2, 3 } };
	static char meta[5000];
	struct xvt_event_hdr h = { .id = XVT_ID_U64, .len = 16 };
	struct xvt_trace_writer *w;
	int err = 0;

	synth_sink_init(s);
	ck_assert_int_eq(xvt_trace_writer_new(&w, &s->sink, &info), 0);
	if (level)
		err = xvt_trace_compress(w, level);
	memset(meta + sizeof(struct xvt_meta_info), 'm', 4000);
	ck_assert_int_eq(xvt_trace_put(w, XVT_CHUNK_META, meta, sizeof(meta), NULL, 0), 0);
	for (uint64_t i = 0; i < 15000; i++) {
		uint64_t payload[2] = { i, next_random() % 1000 };

		h.host_ns = h.guest_clock = i * 3;
		h.ring_flags = i % 7 ? 0 : XVT_EVENT_F_LATE;
		ck_assert_int_eq(xvt_trace_event(w, &h, payload), 0);
	}
	ck_assert_int_eq(xvt_trace_writer_finish(w), 0);
	return err;
}

START_TEST(a_compressed_trace_reads_as_it_was)
{
	struct synth_sink plain, packed;
	struct xvt_trace *a, *b;
	struct xvt_cursor ca, cb;
	struct xvt_event ea, eb;
	uint64_t start = seed;
	int err;

	make_events(&plain, 0);
	seed = start;
	if (make_events(&packed, 3) == -ENOTSUP)
		return; /* built without zstd */
	ck_assert_uint_eq(packed.torn, 0);
	ck_assert_uint_lt(packed.len, plain.len / 2);
	a = open_bytes(plain.bytes, plain.len, &err);
	ck_assert_int_eq(err, 0);
	b = open_by(_i, packed.bytes, packed.len, &err);
	ck_assert_int_eq(err, 0);
	ck_assert_uint_eq(a->chunk_count, b->chunk_count);
	for (size_t i = 0; i < a->chunk_count; i++) {
		struct xvt_chunk_buf x = { 0 }, y = { 0 };

		/* What the walk sees without unpacking. */
		ck_assert_uint_eq(a->chunks[i].first_ns, b->chunks[i].first_ns);
		ck_assert_uint_eq(a->chunks[i].count, b->chunks[i].count);
		ck_assert_int_eq(xvt_trace_load(a, i, &x), 0);
		ck_assert_int_eq(xvt_trace_load(b, i, &y), 0);
		ck_assert_uint_eq(x.len, y.len);
		if (a->chunks[i].type != XVT_CHUNK_INDEX && a->chunks[i].type != XVT_CHUNK_END)
			ck_assert(!memcmp(x.payload, y.payload, x.len));
		xvt_chunk_buf_free(&x);
		xvt_chunk_buf_free(&y);
	}
	ck_assert_int_eq(xvt_cursor_init(&ca, a, 3000, 40000), 0);
	ck_assert_int_eq(xvt_cursor_init(&cb, b, 3000, 40000), 0);
	while (xvt_cursor_next(&ca, &ea) > 0) {
		ck_assert_int_eq(xvt_cursor_next(&cb, &eb), 1);
		ck_assert(!memcmp(ea.hdr, eb.hdr, sizeof(*ea.hdr) + ea.hdr->len));
	}
	ck_assert_int_eq(xvt_cursor_next(&cb, &eb), 0);
	ck_assert_uint_eq(b->damage_count, 0);
	xvt_cursor_fini(&ca);
	xvt_cursor_fini(&cb);
	xvt_trace_close(a);
	xvt_trace_close(b);
	synth_sink_fini(&plain);
	synth_sink_fini(&packed);
}
END_TEST

START_TEST(lies_about_what_was_compressed_are_damage)
{
	static const uint64_t lengths[] = { 0, 1, 7, 1000, 1u << 20, (64u << 20) + 1, UINT64_MAX };
	struct synth_sink s;
	uint8_t *copy;

	if (make_events(&s, 1) == -ENOTSUP)
		return;
	copy = malloc(s.len);
	ck_assert_ptr_nonnull(copy);
	for (size_t at = 0, whole; at < s.len; at += whole) {
		struct xvt_chunk_hdr h;
		size_t rest;

		memcpy(&h, s.bytes + at, sizeof(h));
		whole = sizeof(h) + ((h.len + 7) & ~7u);
		if (h.flags != XVT_CHUNK_F_ZSTD)
			continue;
		rest = at + sizeof(h) +
		       (h.type == XVT_CHUNK_META ? 0 : sizeof(struct xvt_order_hdr));
		for (size_t i = 0; i < 14; i++) {
			struct xvt_trace *t;
			int err;

			memcpy(copy, s.bytes, s.len);
			if (i < 7)
				memcpy(copy + rest, &lengths[i], 8);
			else /* in the frame */
				copy[rest + 8 +
				     next_random() % (at + sizeof(h) + h.len - rest - 8)] ^=
					(uint8_t)(1 << i % 8);
			synth_sign_chunk(copy + at);
			t = open_bytes(copy, s.len, &err);
			ck_assert_int_eq(err, 0);
			read_all(t);
			ck_assert(t->damage_count == 1 || i >= 7);
			xvt_trace_close(t);
		}
	}
	free(copy);
	synth_sink_fini(&s);
}
END_TEST

/* -- the late lane ------------------------------------------------------------------ */

START_TEST(a_late_lane_of_any_length_needs_bounded_memory)
{
	static const struct xvt_file_info info = { .mult = 1 };
	static const size_t budgets[] = { 100, 5000, 50000, XVT_LATE_BUDGET };
	struct xvt_event_hdr h = { .id = XVT_ID_USER, .ring_flags = XVT_EVENT_F_LATE };
	static uint8_t payload[2000];
	struct xvt_trace_writer *w;
	struct synth_sink s;
	struct xvt_trace *t;
	uint64_t sums[4] = { 0 };
	int err;

	synth_sink_init(&s);
	ck_assert_int_eq(xvt_trace_writer_new(&w, &s.sink, &info), 0);
	for (uint64_t i = 0; i < 12000; i++) {
		/* No order at all, many at the same time, and some in the main lane. */
		h.ring_flags = i % 10 ? XVT_EVENT_F_LATE : 0;
		h.host_ns = i % 10 ? next_random() % 4000 : i / 3;
		h.guest_clock = next_random() % 50;
		h.len = (uint16_t)(next_random() % (i % 200 ? 60 : 2000));
		memcpy(payload, &i, sizeof(i));
		ck_assert_int_eq(xvt_trace_event(w, &h, payload), 0);
	}
	ck_assert_int_eq(xvt_trace_writer_finish(w), 0);
	t = open_bytes(s.bytes, s.len, &err);
	ck_assert_int_eq(err, 0);
	for (int i = 0; i < 4; i++) {
		struct xvt_cursor c;
		struct xvt_event ev;
		uint64_t last = 0;
		int n = 0;

		t->late_budget = budgets[i];
		ck_assert_int_eq(xvt_cursor_init(&c, t, 0, UINT64_MAX), 0);
		while (xvt_cursor_next(&c, &ev) > 0) {
			ck_assert_uint_ge(ev.hdr->host_ns, last);
			last = ev.hdr->host_ns;
			/* The same events in the same order, whatever the budget. */
			sums[i] = sums[i] * 31 + xvt_crc32c(0, ev.hdr, sizeof(h) + ev.hdr->len);
			n++;
		}
		ck_assert_int_eq(n, 12000);
		ck_assert_uint_eq(sums[i], sums[0]);
		if (i < 3)
			ck_assert_uint_le(c.late_bytes_room + c.late_room * sizeof(*c.late),
					  (1u << 17) + 256 * sizeof(*c.late) + 6 * budgets[i]);
		xvt_cursor_fini(&c);
	}
	xvt_trace_close(t);
	synth_sink_fini(&s);
}
END_TEST

Suite *trace_file_suite(void)
{
	Suite *s = suite_create("trace_file");
	TCase *t = tcase_create("trace_file");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 60);
	tcase_add_test(t, what_was_written_is_read_in_order_of_time);
	tcase_add_test(t, the_wall_clock_is_that_of_the_moment);
	tcase_add_test(t, the_sink_gets_whole_chunks_only);
	tcase_add_test(t, a_time_range_gives_exactly_its_events);
	tcase_add_test(t, an_error_of_the_sink_ends_the_file_at_a_whole_chunk);
	tcase_add_loop_test(t, a_chunk_that_cannot_be_made_ends_the_file, 0, 2);
	tcase_add_test(t, the_longest_events_fit);
	tcase_add_test(t, a_cut_file_reads_up_to_its_last_whole_chunk);
	tcase_add_test(t, a_damaged_chunk_is_skipped_alone);
	tcase_add_test(t, flipped_bits_do_no_harm);
	tcase_add_test(t, lying_chunks_do_no_harm);
	tcase_add_test(t, random_bytes_are_no_trace);
	tcase_add_loop_test(t, an_index_leads_to_the_same_chunks_with_few_reads, 0, 2);
	tcase_add_test(t, an_index_of_a_cut_file_leads_as_far_as_it_goes);
	tcase_add_test(t, a_lying_index_hides_nothing);
	tcase_add_test(t, a_reader_goes_on_where_the_index_ends);
	tcase_add_loop_test(t, a_compressed_trace_reads_as_it_was, 0, 2);
	tcase_add_test(t, lies_about_what_was_compressed_are_damage);
	tcase_add_test(t, a_late_lane_of_any_length_needs_bounded_memory);
	tcase_add_test(t, false_headers_do_not_cost_the_square_of_their_number);
	tcase_add_test(t, newer_versions_are_refused_only_where_they_say_so);
	tcase_add_test(t, a_file_without_an_end_is_legal);
	suite_add_tcase(s, t);
	return s;
}
