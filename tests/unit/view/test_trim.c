// SPDX-License-Identifier: GPL-2.0
/*
 * test_trim.c - what a part of a trace has besides its events: counts, pauses, notes, run spans,
 * the place of metadata, a name of its own. tests/cli/t_trim.sh has the events.
 */
#include "suites.h"

#include <stdio.h>
#include <string.h>

#include "synth.h"
#include "trace/note.h"
#include "view/trim.h"

#define ALL	UINT64_MAX
#define WALL_NS 1000000000000ull /* when host_ns is 0 */

static struct synth_sink sink;
static struct xvt_trace_writer *w;
static struct xvt_trace *whole, *part;
static uint64_t told_lost; /* what the command prints */

static void put(uint16_t type, const void *bytes, size_t len)
{
	ck_assert_int_eq(xvt_trace_put(w, type, bytes, len, NULL, 0), 0);
}

static void put_event(uint32_t ring, uint64_t ns)
{
	const struct xvt_event_hdr h = {
		.host_ns = ns, .ring_flags = ring, .id = XVT_ID_U64, .len = 8
	};

	ck_assert_int_eq(xvt_trace_event(w, &h, &ns), 0);
}

static void put_lost(uint32_t ring, uint64_t ns, const struct xvt_lost *lost)
{
	const struct xvt_event_hdr h = {
		.host_ns = ns, .ring_flags = ring, .id = XVT_ID_LOST, .len = sizeof(*lost)
	};

	ck_assert_int_eq(xvt_trace_event(w, &h, lost), 0);
}

static void put_format(uint32_t vm, uint32_t id)
{
	const struct xvt_meta_info meta = { .vm = vm, .type = XVT_META_FORMAT, .id = id };

	ck_assert_int_eq(xvt_trace_put(w, XVT_CHUNK_META, &meta, sizeof(meta), "a\0b\0text", 8), 0);
}

static void put_state(uint32_t vm, enum xvt_note_kind kind, uint64_t ns, uint64_t since_ns)
{
	const struct {
		struct xvt_note note;
		struct xvt_note_state state;
	} n = { .note = { .vm = vm, .ring = UINT32_MAX, .kind = kind, .host_ns = ns },
		.state = { .at_ns = ns, .since_ns = since_ns } };

	put(XVT_CHUNK_NOTE, &n, sizeof(n));
}

static void put_text(uint32_t vm, uint32_t level, uint64_t ns, const char *text)
{
	const struct xvt_note n = { .vm = vm, .ring = UINT32_MAX, .level = level, .host_ns = ns };

	ck_assert_int_eq(xvt_trace_put(w, XVT_CHUNK_NOTE, &n, sizeof(n), text, strlen(text)), 0);
}

/* Two machines, of one ring each. */
static void setup(void)
{
	const struct xvt_file_info info = { .minor = XVT_FILE_MINOR_OPEN - 1,
					    .uuid = { 1 },
					    .mult = 1u << 30,
					    .shift = 30,
					    .set_number = 3,
					    .set = { 2 },
					    .realtime_ns = WALL_NS };

	synth_sink_init(&sink);
	ck_assert_int_eq(xvt_trace_writer_new(&w, &sink.sink, &info), 0);
	for (uint32_t i = 0; i < 2; i++) {
		const struct xvt_vm_info vm = { .vm = i, .name = { 'g', '0' + (char)i } };
		const struct xvt_ring_info ring = { .ring = i, .vm = i };

		put(XVT_CHUNK_VM, &vm, sizeof(vm));
		put(XVT_CHUNK_RING, &ring, sizeof(ring));
	}
}

/* What the recorder says at its end. */
static void put_stats(uint64_t paused_ns)
{
	for (uint32_t i = 0; i < 2; i++) {
		const struct xvt_ring_stats s = { .ring = i, .paused_ns = paused_ns };

		put(XVT_CHUNK_STATS, &s, sizeof(s));
	}
}

static void save(const char *path)
{
	synth_sink_save(&sink, path);
	synth_sink_fini(&sink);
}

/* Ends the trace, and makes a part of it. */
static void trim(struct xvt_trim how)
{
	const char *from = scratch_path("whole.xvt"), *to;
	struct xvt_trim_part *p;
	struct xvt_error why;

	how.to_ns = how.to_ns ? how.to_ns : ALL;
	how.wall_to_ns = how.wall_to_ns ? how.wall_to_ns : ALL;
	ck_assert_int_eq(xvt_trace_writer_finish(w), 0);
	save(from);
	ck_assert_int_eq(xvt_trace_open(&whole, from, &why), 0);
	ck_assert_int_eq(xvt_trim_new(&p, &how, whole), 0);
	synth_sink_init(&sink);
	ck_assert_int_eq(xvt_trim_write(p, &sink.sink), 0);
	told_lost = xvt_trim_lost(p);
	xvt_trim_free(p);
	to = scratch_path("part.xvt");
	save(to);
	ck_assert_msg(!xvt_trace_open(&part, to, &why), "%s", why.text);
}

static void teardown(void)
{
	xvt_trace_close(part);
	xvt_trace_close(whole);
}

static struct xvt_ring_stats stats_of(uint32_t ring)
{
	struct xvt_chunk_buf b = { 0 };
	struct xvt_ring_stats s, found = { .ring = UINT32_MAX };

	for (size_t i = 0; xvt_trace_next(part, 1u << XVT_CHUNK_STATS, &i, &b) > 0; i++)
		if (xvt_stats_get(&b, &s) && s.ring == ring)
			found = s;
	xvt_chunk_buf_free(&b);
	ck_assert_uint_eq(found.ring, ring);
	return found;
}

START_TEST(losses_are_counted_by_their_cause)
{
	struct xvt_ring_stats s;

	put_event(0, 1000);
	put_lost(0, 1100,
		 &(struct xvt_lost){ .lost = { 1, 2 }, .overwritten = 10, .dropped = 100 });
	put_lost(0, 1200, &(struct xvt_lost){ .dropped = 1000, .bad_bytes = 5 });
	put_event(0, 1300);
	put_lost(0, 1400, &(struct xvt_lost){ .dropped = 10000 });
	put_stats(0);
	trim((struct xvt_trim){ .to_ns = 1300 });
	s = stats_of(0);
	ck_assert_uint_eq(s.events, 2);
	ck_assert_uint_eq(s.lost[0], 1);
	ck_assert_uint_eq(s.lost[1], 2);
	ck_assert_uint_eq(s.overwritten, 10);
	ck_assert_uint_eq(s.dropped, 1100);
	ck_assert_uint_eq(s.bad_bytes, 5);
	ck_assert_uint_eq(s.attempted, 2 + 3 + 10 + 1100);
	ck_assert_uint_eq(told_lost, 3 + 10 + 1100);
}
END_TEST

START_TEST(run_spans_are_of_the_parts_machines)
{
	const struct xvt_run_span spans[] = {
		{ .vm = 0, .enter_clock = 1 },
		{ .vm = 1, .enter_clock = 2 },
		{ .vm = 1, .flags = XVT_RUN_F_LOST, .enter_clock = 3 },
		{ .vm = 7, .enter_clock = 4 },
		{ .vm = 0, .enter_clock = 5 }
	};
	const bool machines[] = { true, false };
	struct xvt_chunk_buf b = { 0 };
	struct xvt_run_span span;
	uint64_t seen = 0;

	put_event(0, 1000);
	put_event(1, 1000);
	put(XVT_CHUNK_RUNS, spans, sizeof(spans));
	trim((struct xvt_trim){ .machines = machines });
	for (size_t i = 0; xvt_trace_next(part, 1u << XVT_CHUNK_RUNS, &i, &b) > 0; i++)
		for (uint32_t at = 0; xvt_chunk_take(&b, &at, &span, sizeof(span));)
			seen = seen * 10 + span.enter_clock;
	xvt_chunk_buf_free(&b);
	ck_assert_uint_eq(seen, 135); /* what was lost may have been anybody's */
}
END_TEST

/* Three pauses: before and in the range, in it, in and behind it; the last one has no end. */
static void put_pauses(void)
{
	put_event(1, 900);
	put_state(0, XVT_NOTE_PAUSED, 500, 0);
	put_state(0, XVT_NOTE_RUNS, 1500, 500);
	put_event(0, 1600);
	put_state(0, XVT_NOTE_PAUSED, 2000, 0);
	put_state(0, XVT_NOTE_RUNS, 2007, 2000);
	put_state(1, XVT_NOTE_PAUSED, 2000, 0);
	put_state(1, XVT_NOTE_ENDED, 2900, 0);
	put_event(0, 2500);
	put_state(0, XVT_NOTE_PAUSED, 2600, 0);
	put_event(1, 4000);
	put_stats(123456);
}

START_TEST(a_pause_ends_with_the_range)
{
	put_pauses();
	if (!_i)
		trim((struct xvt_trim){ .from_ns = 1200, .to_ns = 2800 });
	else
		trim((struct xvt_trim){ .wall_from_ns = WALL_NS + 1200,
					.wall_to_ns = WALL_NS + 2800 });
	ck_assert_uint_eq(stats_of(0).paused_ns, 300 + 7 + 200);
}
END_TEST

START_TEST(a_pause_without_an_end_lasts_to_the_traces)
{
	put_pauses();
	trim((struct xvt_trim){ .from_ns = 800 });
	ck_assert_uint_eq(stats_of(0).paused_ns, 700 + 7 + 1400);
	ck_assert_uint_eq(stats_of(1).paused_ns, 900);
}
END_TEST

START_TEST(all_of_a_trace_has_its_pauses)
{
	put_pauses();
	trim((struct xvt_trim){ 0 });
	ck_assert_uint_eq(stats_of(0).paused_ns, 123456);
}
END_TEST

/* The texts of the part's notes, but of the one that says that it is one. */
static const char *texts(void)
{
	static char all[256];
	struct xvt_chunk_buf b = { 0 };
	struct xvt_note_parts p;
	size_t used = 0;

	all[0] = 0;
	for (size_t i = 0; xvt_trace_next(part, 1u << XVT_CHUNK_NOTE, &i, &b) > 0; i++)
		if (xvt_note_get(&b, &p) && p.len && strncmp((const char *)p.text, "trimmed", 7))
			used += (size_t)snprintf(all + used, sizeof(all) - used, "%.*s ",
						 (int)p.len, (const char *)p.text);
	xvt_chunk_buf_free(&b);
	return all;
}

START_TEST(warnings_of_any_time_are_in_the_part)
{
	const bool machines[] = { true, false };

	put_event(0, 1000);
	put_text(0, 0, 10, "early");
	put_text(0, 1, 20, "early-warning");
	put_text(UINT32_MAX, 2, 30, "early-error");
	put_text(0, 0, 1000, "within");
	put_text(1, 1, 1000, "other");
	put_text(0, 1, 5000, "late-warning");
	put_text(UINT32_MAX, 0, 5000, "late");
	put_event(0, 6000);
	trim((struct xvt_trim){ .from_ns = 900, .to_ns = 1100, .machines = machines });
	ck_assert_str_eq(texts(), "early-warning early-error within late-warning ");
}
END_TEST

/* A format holds from its place among the events on. */
START_TEST(metadata_keeps_its_place_among_the_events)
{
	const bool machines[] = { true, false };
	const uint32_t types = 1u << XVT_CHUNK_META | 1u << XVT_CHUNK_ORDER;
	struct xvt_chunk_buf b = { 0 };
	struct xvt_meta_info meta;
	char order[32] = "";

	put_format(0, 1);
	put_event(0, 1000);
	put_format(0, 2);
	put_format(1, 3);
	put_event(0, 2000);
	put_event(0, 2001);
	put_format(0, 4);
	put_event(0, 3000);
	put_event(0, 9000);
	put_format(0, 5);
	trim((struct xvt_trim){ .from_ns = 1000, .to_ns = 8000, .machines = machines });
	for (size_t i = 0; xvt_trace_next(part, types, &i, &b) > 0; i++) {
		uint32_t at = 0;

		if (part->chunks[i].type == XVT_CHUNK_ORDER)
			strcat(order, "e");
		else if (xvt_chunk_take(&b, &at, &meta, sizeof(meta)))
			order[strlen(order)] = '0' + (char)meta.id;
	}
	xvt_chunk_buf_free(&b);
	ck_assert_str_eq(order, "1e2e4e5");
}
END_TEST

START_TEST(a_part_has_a_name_of_its_own)
{
	static const uint8_t none[16];

	put_event(0, 1000);
	trim((struct xvt_trim){ 0 });
	ck_assert(memcmp(whole->info.uuid, part->info.uuid, 16));
	ck_assert(memcmp(none, part->info.uuid, 16));
	ck_assert_uint_eq(whole->info.set_number, 3);
	ck_assert_uint_eq(part->info.set_number, 0);
	ck_assert(!memcmp(none, part->info.set, 16));
	ck_assert(part->info.compat & XVT_FILE_C_TRIMMED);
	/* Its nodes say no more than those of the whole do. */
	ck_assert_uint_eq(part->info.minor, XVT_FILE_MINOR_OPEN - 1);
}
END_TEST

Suite *trim_suite(void)
{
	Suite *s = suite_create("trim");
	TCase *t = tcase_create("part");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, losses_are_counted_by_their_cause);
	tcase_add_test(t, run_spans_are_of_the_parts_machines);
	tcase_add_loop_test(t, a_pause_ends_with_the_range, 0, 2);
	tcase_add_test(t, a_pause_without_an_end_lasts_to_the_traces);
	tcase_add_test(t, all_of_a_trace_has_its_pauses);
	tcase_add_test(t, warnings_of_any_time_are_in_the_part);
	tcase_add_test(t, metadata_keeps_its_place_among_the_events);
	tcase_add_test(t, a_part_has_a_name_of_its_own);
	suite_add_tcase(s, t);
	return s;
}
