// SPDX-License-Identifier: GPL-2.0
/*
 * test_counting.c - statistics that several threads count, each in a part of the trace, are those
 * that one reader counts: of sound traces and damaged ones, and where the events at the border of
 * two parts depend on each other.
 */
#include "suites.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "counted.h"
#include "lib/counting.h"
#include "synth.h"
#include "xvt_ring.h"

#define ROUNDS	    40
#define RINGS	    5u
#define CHUNKS	    40u
#define CHUNK_LEAST 4u /* events */
#define MS	    1000000ull
#define T0	    (1000 * MS)
#define PART_LEAST  16u /* events */

static const unsigned int counts[] = { 2, 3, 7 };
#define COUNTS (sizeof(counts) / sizeof(counts[0]))

static uint64_t seed;

static uint64_t below(uint64_t n)
{
	uint64_t z = seed += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return (z ^ z >> 31) % n;
}

static bool one_in(uint64_t n)
{
	return below(n) == 0;
}

/* -- comparing ------------------------------------------------------------------------ */

struct outcome {
	unsigned int joined; /* the parts were what was given */
	unsigned int again;  /* one reader had to read after them */
};

static struct xvtrace *opened(const char *path)
{
	struct xvtrace_error error;
	struct xvtrace *trace;

	ck_assert_msg(!xvtrace_open(&trace, path, 0, &error), "%s", error.text);
	return trace;
}

/* Count the trace alone and in parts. */
static struct outcome compare(const char *path, unsigned int flags)
{
	struct outcome o = { 0 };
	struct xvtrace *trace = opened(path);
	struct counted one = counted_by(trace, flags, 1, PART_LEAST), by;

	xvtrace_close(trace);
	ck_assert(one.alone && !one.calls);
	for (size_t i = 0; i < COUNTS; i++) {
		trace = opened(path);
		by = counted_by(trace, flags, counts[i], PART_LEAST);
		xvtrace_close(trace);
		ck_assert_msg(!strcmp(one.text, by.text), "seed %llu, %u parts:\n%s\nnot:\n%s",
			      (unsigned long long)seed, counts[i], by.text, one.text);
		ck_assert_uint_le(by.calls, counts[i]);
		o.joined += !by.alone;
		o.again += by.alone && by.calls;
		free(by.text);
	}
	free(one.text);
	return o;
}

static struct outcome compare_sink(const struct synth_sink *sink, unsigned int flags)
{
	synth_sink_save(sink, scratch_path("counting.xvt"));
	return compare(scratch_path("counting.xvt"), flags);
}

/* -- the traces of the other tests ---------------------------------------------------- */

static const unsigned int kinds[] = {
	0,
	SYNTH_NO_END,
	SYNTH_NO_FORMATS,
	SYNTH_MARKS | SYNTH_RUNS,
	SYNTH_SEEN,
	SYNTH_SEEN | SYNTH_CONFIRMED,
	SYNTH_PAIRS,
	SYNTH_DROPS,
	SYNTH_DROPS | SYNTH_OLD_LOSSES | SYNTH_NO_END,
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static void make(struct synth_sink *sink, size_t events, unsigned int kind)
{
	struct synth made;

	synth_sink_init(sink);
	synth_make(&made, &sink->sink, events, kind);
	synth_fini(&made);
}

START_TEST(parts_count_what_one_reader_counts)
{
	struct synth_sink sink;
	struct outcome o;

	make(&sink, 3000, kinds[_i]);
	o = compare_sink(&sink, 0);
	ck_assert_uint_eq(o.joined, COUNTS);
	o = compare_sink(&sink, XVTRACE_RECLOCK);
	/* Some of its lanes begin a part with events that contradict their clock. */
	ck_assert_uint_gt(o.joined, 0);
	synth_sink_fini(&sink);
}
END_TEST

START_TEST(damage_is_found_as_by_one_reader)
{
	struct synth_sink sink;
	unsigned int again = 0;

	seed = (uint64_t)_i << 32;
	for (int round = 0; round < ROUNDS / 4; round++) {
		make(&sink, 1000, kinds[below(KINDS)]);
		for (uint64_t n = 1 + below(3); n; n--)
			sink.bytes[200 + below(sink.len - 200)] ^= (uint8_t)(1 + below(255));
		if (one_in(3))
			sink.len -= below(sink.len / 2);
		again += compare_sink(&sink, one_in(2) ? XVTRACE_RECLOCK : 0).again;
		synth_sink_fini(&sink);
	}
	ck_assert_uint_gt(again, 0);
}
END_TEST

/* -- traces in which events depend on those before them ------------------------------- */

struct made_ring {
	uint64_t moved_ns; /* how late the recorded map is at its middle */
	bool beside;	   /* many of its events contradict its clock */
};

static void put_node(struct xvt_trace_writer *w, uint32_t ring, uint64_t guest, uint64_t host_ns,
		     bool first)
{
	const struct xvt_clock_node n = { .ring = ring,
					  .source = XVT_SOURCE_HANDSHAKE,
					  .flags = first ? XVT_NODE_F_FIRST : 0,
					  .guest = T0 + guest,
					  .host_ns = T0 + host_ns,
					  .segment_bound_ns = 1000 + below(9 * MS) };
	const struct xvt_clock_sample s = { .ring = ring,
					    .source = XVT_SOURCE_HANDSHAKE,
					    .guest = T0 + guest,
					    .host_clock_lo = T0 + guest,
					    .host_clock_hi = T0 + guest + 100 };

	xvt_trace_put(w, XVT_CHUNK_NODE, &n, sizeof(n), NULL, 0);
	xvt_trace_put(w, XVT_CHUNK_SAMPLES, &s, sizeof(s), NULL, 0);
}

static void begin(struct xvt_trace_writer *w, struct made_ring *rings)
{
	for (uint32_t vm = 0; vm < 2; vm++) {
		const struct xvt_vm_info info = { .vm = vm,
						  .name = { 'g', (char)('1' + vm) },
						  .clock_hz = 1000000000 };

		xvt_trace_put(w, XVT_CHUNK_VM, &info, sizeof(info), NULL, 0);
	}
	for (uint32_t i = 0; i < RINGS; i++) {
		const struct xvt_ring_info ring = { .ring = i,
						    .vm = i % 2,
						    .cpu = i,
						    .clock_id = XVT_CLOCK_TSC,
						    .clock_hz = 1000000000 };

		rings[i] = (struct made_ring){ one_in(3) ? 0 : below(5 * MS), one_in(4) };
		xvt_trace_put(w, XVT_CHUNK_RING, &ring, sizeof(ring), NULL, 0);
		put_node(w, i, 0, 0, true);
		put_node(w, i, 500 * MS, 500 * MS + rings[i].moved_ns, false);
		put_node(w, i, 1000 * MS, 1000 * MS, false);
	}
}

static void put_note(struct xvt_trace_writer *w, uint32_t kind, uint64_t at)
{
	const struct {
		struct xvt_note note;
		struct xvt_note_state state;
	} n = { { .host_ns = T0 + at,
		  .kind = kind,
		  .vm = (uint32_t)below(2),
		  .ring = UINT32_MAX,
		  .level = (uint32_t)below(3) },
		{ .at_ns = T0 + at, .since_ns = one_in(2) ? T0 + at - 5 : 0 } };

	xvt_trace_put(w, XVT_CHUNK_NOTE, &n.note, sizeof(n.note), &n.state, sizeof(n.state));
}

/* An event of ring i at a guest's time. some: of the flags that change where it is counted. */
static void put_event(struct xvt_trace_writer *w, const struct made_ring *rings, uint32_t i,
		      uint64_t at, bool some)
{
	const uint64_t way = at < 500 * MS ? at : 1000 * MS - at;
	struct xvt_event_hdr h = {
		.host_ns = T0 + at + (uint64_t)((__int128)rings[i].moved_ns * way / (500 * MS)),
		.guest_clock = T0 + at,
		.ring_flags = i,
		.id = XVT_ID_USER,
	};

	if (rings[i].beside && below(10) < 8)
		h.ring_flags |= XVT_EVENT_F_CLOCK;
	if (some && one_in(8))
		h.ring_flags |= one_in(2) ? XVT_EVENT_F_LATE : XVT_EVENT_F_UNCONFIRMED;
	if (some && one_in(16))
		h.ring_flags |= one_in(2) ? XVT_EVENT_F_BACKLOG : XVT_EVENT_F_RECOVERED;
	/* The earliest of its ring so far. */
	if (some && one_in(60)) {
		h.host_ns = T0 - at;
		h.ring_flags |= XVT_EVENT_F_LATE;
	}
	/* Before the event that is before it. */
	if (some && one_in(20))
		h.host_ns -= below(MS);
	if (some && one_in(40))
		h.ring_flags = (h.ring_flags & ~XVT_EVENT_RING_MASK) | (RINGS + 3);
	ck_assert_int_eq(xvt_trace_event(w, &h, NULL), 0);
}

/* some: as above. Chunks have their events in about the order of time. */
static void make_dependent(struct synth_sink *sink, bool some)
{
	const struct xvt_file_info info = { .host_clock_id = XVT_CLOCK_TSC, .mult = 1 };
	struct made_ring rings[RINGS];
	struct xvt_trace_writer *w;
	uint64_t at = 1;

	synth_sink_init(sink);
	ck_assert_int_eq(xvt_trace_writer_new(&w, &sink->sink, &info), 0);
	begin(w, rings);
	for (unsigned int chunk = 0; chunk < CHUNKS; chunk++) {
		for (uint64_t n = CHUNK_LEAST + below(40); n; n--) {
			at += below(500 * 1000);
			put_event(w, rings, (uint32_t)below(RINGS), at, some);
		}
		ck_assert_int_eq(xvt_trace_flush(w), 0);
		if (some && one_in(4))
			put_note(w, one_in(2) ? XVT_NOTE_PAUSED : XVT_NOTE_RUNS, at);
		if (some && one_in(2)) {
			synth_put_records(w, (uint32_t)below(RINGS), T0 + at - below(50 * MS),
					  1 + (uint32_t)below(SYNTH_RECORDS_MAX),
					  (enum xvt_lane)below(XVT_LANES));
			ck_assert_int_eq(xvt_trace_flush(w), 0);
		}
	}
	ck_assert_int_eq(xvt_trace_writer_finish(w), 0);
}

START_TEST(events_that_depend_on_those_before_are_counted_as_by_one_reader)
{
	struct outcome all = { 0 };
	struct synth_sink sink;

	for (int round = 0; round < ROUNDS; round++) {
		struct outcome o;

		seed = ((uint64_t)_i << 32) + (uint64_t)round * 1000003;
		make_dependent(&sink, _i % 2);
		o = compare_sink(&sink, XVTRACE_RECLOCK);
		all.joined += o.joined;
		all.again += o.again;
		o = compare_sink(&sink, 0);
		ck_assert_uint_eq(o.joined, COUNTS); /* no event depends on another one */
		synth_sink_fini(&sink);
	}
	/* Both ways are gone: events that contradict their clock move with the one before them. */
	ck_assert_uint_gt(all.joined, 0);
	ck_assert_uint_gt(all.again, 0);
}
END_TEST

/* -- a folder ------------------------------------------------------------------------- */

/* Files of recordings that do not go on from each other: the order begins anew in each. */
START_TEST(a_folder_is_counted_as_by_one_reader)
{
	struct synth_sink sink;
	struct outcome all = { 0 };
	char path[512];

	snprintf(path, sizeof(path), "%s", scratch_path("folder"));
	ck_assert(!mkdir(path, 0700));
	for (int round = 0; round < ROUNDS / 4; round++) {
		struct outcome o;

		seed = ((uint64_t)_i << 32) + (uint64_t)round * 1000003;
		for (int file = 1; file <= 3; file++) {
			make_dependent(&sink, true);
			snprintf(path, sizeof(path), "%s/%08d.xvt", scratch_path("folder"), file);
			synth_sink_save(&sink, path);
			synth_sink_fini(&sink);
		}
		o = compare(scratch_path("folder"), 0);
		all.joined += o.joined;
		all.joined += compare(scratch_path("folder"), XVTRACE_RECLOCK).joined;
	}
	ck_assert_uint_gt(all.joined, 0);
	for (int file = 1; file <= 3; file++) {
		snprintf(path, sizeof(path), "%s/%08d.xvt", scratch_path("folder"), file);
		unlink(path);
	}
	ck_assert(!rmdir(scratch_path("folder")));
}
END_TEST

/* -- small and large ------------------------------------------------------------------ */

START_TEST(a_small_trace_has_no_parts)
{
	static const unsigned int calls[] = { 0, 2, 5 };
	struct synth_sink sink;
	struct xvtrace *trace;
	struct counted c;

	make(&sink, 1000, 0);
	synth_sink_save(&sink, scratch_path("counting.xvt"));
	for (int i = 0; i < 3; i++) {
		trace = opened(scratch_path("counting.xvt"));
		c = counted_by(trace, 0, 7, i ? 400u / (unsigned int)i : 600);
		ck_assert_uint_eq(c.calls, calls[i]);
		ck_assert(c.alone == !i);
		xvtrace_close(trace);
		free(c.text);
	}
	synth_sink_fini(&sink);
}
END_TEST

/* -- errors --------------------------------------------------------------------------- */

struct broken {
	int fd;	     /* of the trace */
	int without; /* one that cannot be read */
	int with;
	bool for_ever;
};

/* The parts cannot read the trace. */
static void run_broken(void *run_arg, unsigned int calls, void (*call)(void *arg, unsigned int i),
		       void *arg)
{
	struct broken *b = run_arg;

	ck_assert_int_eq(dup2(b->without, b->fd), b->fd);
	for (unsigned int i = 0; i < calls; i++)
		call(arg, i);
	if (!b->for_ever)
		ck_assert_int_eq(dup2(b->with, b->fd), b->fd);
}

START_TEST(an_error_of_a_part_is_that_of_one_reader)
{
	const uint64_t before = xvt_counting_part_events;
	struct synth_sink sink;
	struct xvtrace_stat *s;
	struct xvtrace *trace;
	struct broken b;
	struct xvtrace_threads threads = { .count = 3, .run = run_broken, .run_arg = &b };

	make(&sink, 1000, 0);
	synth_sink_save(&sink, scratch_path("counting.xvt"));
	synth_sink_fini(&sink);
	trace = opened(scratch_path("counting.xvt"));
	xvt_counting_part_events = PART_LEAST;
	b = (struct broken){ .fd = trace->t->fd,
			     .without = open("/dev/null", O_WRONLY),
			     .with = dup(trace->t->fd) };
	ck_assert_int_eq(xvtrace_stat_new_by(&s, trace, 0, &threads), 0);
	ck_assert_uint_gt(s->counts.events, 900);
	xvtrace_stat_free(s);
	b.for_ever = true;
	ck_assert_int_eq(xvtrace_stat_new_by(&s, trace, 0, &threads), -EBADF);
	ck_assert_uint_eq(xvtrace_damage_count(trace), 0);
	xvtrace_close(trace);
	xvt_counting_part_events = before;
	close(b.without);
	close(b.with);
}
END_TEST

/* -- limits of one reader -------------------------------------------------------------- */

/* Two readers of a trace of two RAW chunks, of 1,000 bytes each. */
static void two_readers(struct xvt_trace *t, struct xvt_trace_raws *a, struct xvt_trace_raws *b,
			uint32_t seen[2][2])
{
	*t = (struct xvt_trace){ .chunk_count = 2, .size = 4000 };
	xvt_trace_raws_init(a, t);
	xvt_trace_raws_init(b, t);
	a->seen = seen[0];
	b->seen = seen[1];
	a->seen_chunks = b->seen_chunks = 2;
}

START_TEST(readers_that_share_a_chunk_have_its_records_once)
{
	static struct xvt_trace_raws a, b;
	const struct xvt_trace_raws *const parts[] = { &a, &b };
	const uint32_t len = XVT_RAWS_SEEN + 1000 * XVT_RAWS_LEN;
	uint32_t seen[2][2] = { { len, 0 }, { 0, len } };
	static struct xvt_trace t;

	two_readers(&t, &a, &b, seen);
	a.named = a.nameable = b.named = b.nameable = 2000;
	ck_assert(xvt_trace_raws_fit_in_one(parts, 2));
	/* The second one names records of the first one's chunk, all of which are named. */
	seen[1][0] = len;
	b.nameable += 2000;
	ck_assert(!xvt_trace_raws_fit_in_one(parts, 2));
	a.named -= 2000;
	ck_assert(xvt_trace_raws_fit_in_one(parts, 2));
	a.spent = b.spent = a.budget / 4;
	ck_assert(xvt_trace_raws_fit_in_one(parts, 2));
	b.spent++;
	ck_assert(!xvt_trace_raws_fit_in_one(parts, 2));
}
END_TEST

/* Each chunk of events names all records of the only RAW chunk, together more than there may be. */
static void make_named_again(struct synth_sink *sink)
{
	enum {
		RECORDS = 20,
		NAMED = 7
	}; /* records have 24 bytes, a name 8, and twice is allowed */
	const struct xvt_file_info info = { .host_clock_id = XVT_CLOCK_TSC, .mult = 1 };
	const struct xvt_raw_piece piece = { .ring = 0, .len = RECORDS * 3 * sizeof(uint64_t) };
	const struct xvt_clock_segment line = {
		.guest = T0, .host_ns = T0, .rise = 1ull << 40, .run = 1ull << 40
	};
	struct xvt_raw_place place = { .ts_bits = 32, .ts = T0 };
	uint64_t words[RECORDS * 3] = { 0 };
	struct made_ring rings[RINGS];
	struct xvt_trace_writer *w;

	for (uint64_t i = 0; i < RECORDS; i++) {
		words[3 * i] = (T0 + i) | 3ull << XVT_H_LEN8_SHIFT |
			       (uint64_t)XVT_ID_U64 << XVT_H_ID_SHIFT | XVT_H_DONE | XVT_H_FULL;
		words[3 * i + 2] = i;
	}
	synth_sink_init(sink);
	ck_assert_int_eq(xvt_trace_writer_new(&w, &sink->sink, &info), 0);
	begin(w, rings);
	ck_assert_int_eq(xvt_trace_piece(w, &piece, words, &place.chunk, &place.at), 0);
	for (int n = 0; n < NAMED; n++) {
		struct xvt_order *o = xvt_trace_lane(w, XVT_LANE_MAIN);
		uint32_t source;

		ck_assert(o && !xvt_order_reserve(o, RECORDS));
		xvt_order_time(o, T0);
		ck_assert_int_eq(xvt_order_source(o, 0, &place, &line, T0, &source), 0);
		for (int i = 0; i < RECORDS; i++)
			xvt_order_next(o, source);
		o->sources[source].count += RECORDS;
		xvt_order_time(o, T0 + RECORDS - 1);
		ck_assert_int_eq(xvt_trace_flush(w), 0);
	}
	ck_assert_int_eq(xvt_trace_writer_finish(w), 0);
}

START_TEST(parts_that_together_go_beyond_a_limit_are_not_given)
{
	struct synth_sink sink;
	struct xvtrace *trace;
	struct counted c;

	make_named_again(&sink);
	ck_assert_uint_eq(compare_sink(&sink, 0).again, COUNTS);
	trace = opened(scratch_path("counting.xvt"));
	c = counted_by(trace, 0, 1, PART_LEAST);
	ck_assert_ptr_nonnull(strstr(c.text, "more events than records"));
	xvtrace_close(trace);
	free(c.text);
	synth_sink_fini(&sink);
}
END_TEST

START_TEST(decoders_that_leave_out_nothing_may_do_so_together)
{
	struct xvt_decoders a, b;
	const struct xvt_decoders *const parts[] = { &a, &b };
	struct xvt_trace *t;
	struct synth_sink sink;
	struct xvt_error why;

	make(&sink, 100, 0);
	synth_sink_save(&sink, scratch_path("counting.xvt"));
	synth_sink_fini(&sink);
	ck_assert_int_eq(xvt_trace_open(&t, scratch_path("counting.xvt"), &why), 0);
	ck_assert_int_eq(xvt_decoders_new(&a, t), 0);
	ck_assert_int_eq(xvt_decoders_new(&b, t), 0);
	ck_assert(xvt_decoders_fit_in_one(parts, 2));
	/* A machine may take so many bytes, and each of the two has made less than that. */
	a.bytes = a.read_bytes + a.machine_bytes / 2;
	b.bytes = b.read_bytes + b.machine_bytes / 4;
	ck_assert(xvt_decoders_fit_in_one(parts, 2));
	b.bytes = b.read_bytes + b.machine_bytes / 2 + 1;
	ck_assert(!xvt_decoders_fit_in_one(parts, 2));
	b.bytes = b.read_bytes;
	b.left_out++;
	ck_assert(!xvt_decoders_fit_in_one(parts, 2));
	xvt_decoders_fini(&a);
	xvt_decoders_fini(&b);
	xvt_trace_close(t);
}
END_TEST

Suite *counting_suite(void)
{
	Suite *s = suite_create("counting");
	TCase *t = tcase_create("counting");

	tcase_set_timeout(t, 60);
	tcase_add_loop_test(t, parts_count_what_one_reader_counts, 0, (int)KINDS);
	tcase_add_loop_test(t, damage_is_found_as_by_one_reader, 0, 4);
	tcase_add_loop_test(t, events_that_depend_on_those_before_are_counted_as_by_one_reader, 0,
			    4);
	tcase_add_loop_test(t, a_folder_is_counted_as_by_one_reader, 0, 4);
	tcase_add_test(t, a_small_trace_has_no_parts);
	tcase_add_test(t, an_error_of_a_part_is_that_of_one_reader);
	tcase_add_test(t, parts_that_together_go_beyond_a_limit_are_not_given);
	tcase_add_test(t, decoders_that_leave_out_nothing_may_do_so_together);
	tcase_add_test(t, readers_that_share_a_chunk_have_its_records_once);
	suite_add_tcase(s, t);
	return s;
}
