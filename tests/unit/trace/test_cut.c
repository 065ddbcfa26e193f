// SPDX-License-Identifier: GPL-2.0
/*
 * test_cut.c - a file of which a part is missing, or that has more in it than was written: of every
 * chunk of every type. Only what that chunk held is lost.
 */
#include "suites.h"

#include <stdlib.h>
#include <string.h>

#include "synth.h"
#include "trace/cursor.h"
#include "trace/read.h"

#define PIECES	   24u
#define RECORDS	   5u
#define EVENTS_MAX (PIECES * (RECORDS + 2))

static struct synth_sink sink;
static const char *path;

/* An event of the whole file, and the chunks without which it is not there. */
struct want {
	uint64_t ns;
	uint64_t order;
	uint64_t raw;
};
static struct want want[EVENTS_MAX];
static size_t nr_want;

/* The chunks of the whole file. */
static struct xvt_chunk_ref chunks[200];
static size_t nr_chunks;

static void put(struct xvt_trace_writer *w, uint16_t type, const void *bytes, size_t len)
{
	ck_assert_int_eq(xvt_trace_put(w, type, bytes, len, NULL, 0), 0);
}

/* Chunks that say something beside the events: of each type there are two or more. */
static void put_others(struct xvt_trace_writer *w, uint64_t ns)
{
	const struct xvt_timebase line = { .base_clock = ns, .base_ns = ns, .mult = 1 };
	const struct xvt_clock_sample sample = { .guest = ns };
	const struct xvt_clock_node node = { .guest = ns, .host_ns = ns, .bound_ns = 10 };
	const struct xvt_clock_look look = { .first_ns = ns, .last_ns = ns, .hi_ns = ns };
	const struct xvt_mark_seen mark = { .number = ns };
	const struct xvt_subbuf_head head = { .pos = ns };
	const struct xvt_run_span span = { .enter_clock = ns, .exit_clock = ns };
	const struct xvt_round round = { .watermark_ns = ns };
	const struct xvt_ring_stats stats = { .attempted = ns };
	const struct xvt_note note = { .host_ns = ns };
	const struct xvt_meta_info meta = { .id = (uint32_t)ns };

	put(w, XVT_CHUNK_ROUND, &round, sizeof(round));
	put(w, XVT_CHUNK_TIMEBASE, &line, sizeof(line));
	put(w, XVT_CHUNK_SAMPLES, &sample, sizeof(sample));
	put(w, XVT_CHUNK_NODE, &node, sizeof(node));
	put(w, XVT_CHUNK_LOOKS, &look, sizeof(look));
	put(w, XVT_CHUNK_MARKS, &mark, sizeof(mark));
	put(w, XVT_CHUNK_HEADS, &head, sizeof(head));
	put(w, XVT_CHUNK_RUNS, &span, sizeof(span));
	put(w, XVT_CHUNK_STATS, &stats, sizeof(stats));
	put(w, XVT_CHUNK_NOTE, &note, sizeof(note));
	put(w, XVT_CHUNK_META, &meta, sizeof(meta));
	put(w, XVT_CHUNK_INDEX + 100, &meta, sizeof(meta)); /* of a newer program */
}

static void make_trace(struct xvt_trace_writer *w)
{
	static const struct xvt_vm_info vm = { .name = "g" };
	uint64_t ns = 1000;

	put(w, XVT_CHUNK_VM, &vm, sizeof(vm));
	for (uint32_t i = 0; i < 2; i++) {
		const struct xvt_ring_info ring = { .ring = i, .cpu = i };

		put(w, XVT_CHUNK_RING, &ring, sizeof(ring));
	}
	for (uint32_t i = 0; i < PIECES; i++, ns += 100) {
		struct xvt_event_hdr h = { .host_ns = ns + 50, .id = XVT_ID_U64, .len = 8 };
		const uint64_t number = i;

		synth_put_records(w, i % 2, ns, RECORDS,
				  i % 8 < 5 ? XVT_LANE_MAIN : XVT_LANE_LOOSE);
		ck_assert_int_eq(xvt_trace_event(w, &h, &number), 0);
		h.ring_flags = 1 | XVT_EVENT_F_LATE;
		h.host_ns++;
		ck_assert_int_eq(xvt_trace_event(w, &h, &number), 0);
		if (i % 3 == 2)
			ck_assert_int_eq(xvt_trace_flush(w), 0);
		if (i % 12 == 11)
			put_others(w, ns + 60);
	}
}

/* Reads events up to the end. Where it is the whole file, they are wanted. */
static size_t read_events(struct xvt_trace *t, struct want *found)
{
	struct xvt_events_origin from;
	struct xvt_cursor c;
	struct xvt_event ev;
	size_t n = 0;
	int got;

	ck_assert_int_eq(xvt_cursor_init(&c, t, 0, UINT64_MAX), 0);
	while ((got = xvt_cursor_next(&c, &ev)) > 0) {
		const bool named = c.given && xvt_events_origin(c.given, &ev, &from);

		ck_assert_uint_lt(n, EVENTS_MAX);
		found[n++] = (struct want){ ev.hdr->host_ns, ev.chunk_seq,
					    named ? from.place.chunk : UINT64_MAX };
	}
	ck_assert_int_eq(got, 0);
	xvt_cursor_fini(&c);
	return n;
}

static struct xvt_trace *open_trace(bool indexed)
{
	struct xvt_trace *t;
	struct xvt_error why;
	int err = indexed ? xvt_trace_open_indexed(&t, path, &why) : xvt_trace_open(&t, path, &why);

	ck_assert_msg(!err, "%s", why.text);
	return t;
}

static void setup(void)
{
	static const struct xvt_file_info info = { .mult = 1, .uuid = { 1, 2, 3 } };
	struct xvt_trace_writer *w;
	struct xvt_trace *t;

	path = scratch_path("cut.xvt");
	synth_sink_init(&sink);
	ck_assert_int_eq(xvt_trace_writer_new(&w, &sink.sink, &info), 0);
	make_trace(w);
	ck_assert_int_eq(xvt_trace_writer_finish(w), 0);
	synth_sink_save(&sink, path);
	t = open_trace(false);
	nr_want = read_events(t, want);
	ck_assert_uint_eq(nr_want, EVENTS_MAX);
	ck_assert_uint_eq(t->damage_count, 0);
	ck_assert_uint_lt(t->chunk_count, sizeof(chunks) / sizeof(chunks[0]));
	nr_chunks = t->chunk_count;
	memcpy(chunks, t->chunks, nr_chunks * sizeof(*chunks));
	xvt_trace_close(t);
}

static void teardown(void)
{
	synth_sink_fini(&sink);
}

static size_t whole_len(size_t chunk)
{
	return sizeof(struct xvt_chunk_hdr) + ((chunks[chunk].len + 7) & ~7u);
}

/* The file, with `len` bytes instead of `without` at `at`. */
static void save(size_t at, size_t without, const uint8_t *bytes, size_t len)
{
	struct synth_sink changed = sink;

	changed.len = sink.len - without + len;
	changed.bytes = malloc(changed.len);
	ck_assert_ptr_nonnull(changed.bytes);
	memcpy(changed.bytes, sink.bytes, at);
	if (len)
		memcpy(changed.bytes + at, bytes, len);
	memcpy(changed.bytes + at + len, sink.bytes + at + without, sink.len - at - without);
	synth_sink_save(&changed, path);
	free(changed.bytes);
}

/* Reads the file as it was saved: all is there but what needs chunk `lost`; SIZE_MAX: all is. */
static void check(size_t lost, const char *what, size_t chunk)
{
	static struct want found[EVENTS_MAX];
	const uint64_t seq = lost == SIZE_MAX ? UINT64_MAX - 1 : chunks[lost].seq;

	for (int indexed = 0; indexed < 2; indexed++) {
		struct xvt_trace *t = open_trace(indexed);
		size_t n = read_events(t, found), i, k;

		for (i = k = 0; i < nr_want; i++) {
			if (want[i].order == seq || want[i].raw == seq)
				continue;
			ck_assert_msg(k < n && found[k].ns == want[i].ns,
				      "%s chunk %zu (type %u): the event at %llu is lost", what,
				      chunk, chunks[chunk].type, (unsigned long long)want[i].ns);
			k++;
		}
		ck_assert_uint_eq(k, n);
		ck_assert_int_eq(xvt_trace_check_rest(t), 0);
		/* And that is said. */
		ck_assert_msg(t->damage_count || !t->ended, "%s chunk %zu (type %u): not a word",
			      what, chunk, chunks[chunk].type);
		xvt_trace_close(t);
	}
}

static bool is_last(size_t chunk)
{
	return chunk == nr_chunks - 1;
}

START_TEST(a_chunk_cut_out_loses_what_it_held)
{
	for (size_t i = 1; i < nr_chunks; i++) {
		save(chunks[i].offset, whole_len(i), NULL, 0);
		check(i, "cut out", i);
	}
}
END_TEST

START_TEST(bytes_before_a_chunk_lose_nothing)
{
	static const size_t len[] = { 8, 1, 3, 32, 512, 4096, 70001 };
	uint8_t *bytes = malloc(70001);

	memset(bytes, 0xa5, 70001);
	for (size_t i = 1; i < nr_chunks; i++) {
		save(chunks[i].offset, 0, bytes, len[_i]);
		check(SIZE_MAX, "bytes before", i);
	}
	free(bytes);
}
END_TEST

START_TEST(bytes_in_a_chunk_lose_what_it_held)
{
	static const uint8_t bytes[512] = { 0x58, 0x56, 0x54, 0x43 };
	static const size_t len[] = { 8, 1, 512 };

	for (size_t i = 1; i < nr_chunks; i++) {
		save(chunks[i].offset + whole_len(i) / 2, 0, bytes, len[_i]);
		check(i, "bytes in", i);
	}
}
END_TEST

START_TEST(bytes_missing_in_a_chunk_lose_what_it_held)
{
	static const size_t len[] = { 8, 1, 16 };

	for (size_t i = 1; i < nr_chunks; i++) {
		save(chunks[i].offset + whole_len(i) / 2, len[_i], NULL, 0);
		check(i, "bytes missing in", i);
	}
}
END_TEST

START_TEST(a_chunk_that_is_there_twice_loses_nothing)
{
	for (size_t i = 1; i < nr_chunks; i++) {
		if (is_last(i))
			continue;
		save(chunks[i + 1].offset, 0, sink.bytes + chunks[i].offset, whole_len(i));
		check(SIZE_MAX, "twice", i);
	}
}
END_TEST

Suite *cut_suite(void)
{
	Suite *s = suite_create("cut");
	TCase *t = tcase_create("cut");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, a_chunk_cut_out_loses_what_it_held);
	tcase_add_loop_test(t, bytes_before_a_chunk_lose_nothing, 0, 7);
	tcase_add_loop_test(t, bytes_in_a_chunk_lose_what_it_held, 0, 3);
	tcase_add_loop_test(t, bytes_missing_in_a_chunk_lose_what_it_held, 0, 3);
	tcase_add_test(t, a_chunk_that_is_there_twice_loses_nothing);
	tcase_set_timeout(t, 120);
	suite_add_tcase(s, t);
	return s;
}
