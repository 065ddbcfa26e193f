// SPDX-License-Identifier: GPL-2.0
/*
 * test_looks.c - what the drain saw of events, as a reader finds it, and as verify holds it against
 * their times.
 */
#include "suites.h"

#include <stdlib.h>
#include <string.h>

#include "synth.h"
#include "trace/write.h"
#include "view/looks.h"
#include "view/verify.h"

#define MS 1000000ull

static void add(struct xvt_look_list *l, uint64_t first, uint64_t last, uint64_t lo, uint64_t hi)
{
	const struct xvt_clock_look k = {
		.first_ns = first, .last_ns = last, .lo_ns = lo, .hi_ns = hi
	};

	ck_assert_int_eq(xvt_look_list_add(l, &k), 0);
}

START_TEST(entries_that_hold_a_time_apply_together)
{
	struct xvt_look_list l = { 0 };
	struct xvt_look_span s;

	ck_assert(!xvt_look_list_find(&l, 5, &s));
	add(&l, 30, 40, 25, 45);
	add(&l, 10, 20, 5, 22);
	add(&l, 20, 25, 18, 28);
	ck_assert_int_eq(xvt_look_list_settle(&l), 0);
	ck_assert(!xvt_look_list_find(&l, 9, &s));
	ck_assert(!xvt_look_list_find(&l, 8, &s)); /* by what the search before found */
	ck_assert(xvt_look_list_find(&l, 10, &s) && s.lo_ns == 5 && s.hi_ns == 22);
	ck_assert(xvt_look_list_find(&l, 20, &s) && s.lo_ns == 5 && s.hi_ns == 28);
	ck_assert(xvt_look_list_find(&l, 25, &s) && s.lo_ns == 18 && s.hi_ns == 28);
	ck_assert(!xvt_look_list_find(&l, 27, &s));
	ck_assert(xvt_look_list_find(&l, 30, &s) && s.lo_ns == 25 && s.hi_ns == 45);
	ck_assert(!xvt_look_list_find(&l, 41, &s));
	ck_assert(!xvt_look_list_find(&l, UINT64_MAX, &s));
	xvt_look_list_fini(&l);
}
END_TEST

/* A long one that began before others is found behind them. */
START_TEST(an_entry_is_found_behind_shorter_ones)
{
	struct xvt_look_list l = { 0 };
	struct xvt_look_span s;
	uint64_t i;

	add(&l, 0, 1000, 1, 2000);
	for (i = 1; i < 30; i++)
		add(&l, i * 10, i * 10 + 1, i * 10, i * 10 + 5);
	ck_assert_int_eq(xvt_look_list_settle(&l), 0);
	ck_assert(xvt_look_list_find(&l, 999, &s) && s.lo_ns == 1 && s.hi_ns == 2000);
	ck_assert(xvt_look_list_find(&l, 155, &s) && s.lo_ns == 1 && s.hi_ns == 2000);
	xvt_look_list_fini(&l);
}
END_TEST

/* Of a file that has them all overlap, nothing is claimed, and no search takes long. */
START_TEST(too_many_entries_of_one_time_prove_nothing)
{
	struct xvt_look_list l = { 0 };
	struct xvt_look_span s;
	int i;

	for (i = 0; i < 100000; i++)
		add(&l, 10, 20, 5, 25);
	ck_assert_int_eq(xvt_look_list_settle(&l), 0);
	ck_assert(xvt_look_list_find(&l, 15, &s) && s.lo_ns == 0 && s.hi_ns == UINT64_MAX);
	xvt_look_list_fini(&l);
}
END_TEST

START_TEST(nonsense_is_left_out)
{
	struct xvt_look_list l = { 0 };

	add(&l, 20, 10, 5, 25);
	add(&l, 10, 20, 25, 5);
	ck_assert_uint_eq(l.count, 0);
	ck_assert_int_eq(xvt_look_list_settle(&l), 0);
	xvt_look_list_fini(&l);
}
END_TEST

START_TEST(a_bound_reaches_to_the_far_end)
{
	const struct xvt_look_span s = { 100, 200 };

	ck_assert_uint_eq(xvt_look_span_bound_ns(&s, 100), 100);
	ck_assert_uint_eq(xvt_look_span_bound_ns(&s, 130), 70);
	ck_assert_uint_eq(xvt_look_span_bound_ns(&s, 190), 90);
	ck_assert_uint_eq(xvt_look_span_bound_ns(&s, 230), 130);
	ck_assert_uint_eq(xvt_look_span_bound_ns(&s, 40), 160);
}
END_TEST

/* -- verify ------------------------------------------------------------------------- */

static char lines[4096];

static void keep_line(void *arg, const char *text)
{
	(void)arg;
	strncat(lines, text, sizeof(lines) - strlen(lines) - 2);
	strcat(lines, "\n");
}

/* Two segments of 60 ns; one event, and one look at it. Returns the number of violations. */
static uint64_t verify_event(uint64_t ns, uint32_t event_flags, const struct xvt_clock_look *look,
			     uint64_t *checked)
{
	static const struct xvt_clock_node nodes[] = {
		{ 0, 0, 1, 1, 1000 * MS, 1000 * MS, 60, 60 },
		{ 0, 0, 1, 0, 1100 * MS, 1100 * MS, 60, 60 },
		{ 0, 1, 1, 1, 2000 * MS, 5000 * MS, 60, 60 },
		{ 0, 1, 1, 0, 2100 * MS, 5100 * MS, 60, 60 },
	};
	const struct xvt_file_info info = { .host_clock_id = XVT_CLOCK_TSC, .mult = 1 };
	const struct xvt_vm_info vm = { .name = "g1", .clock_hz = 1000000000 };
	const struct xvt_ring_info ring = { .clock_id = XVT_CLOCK_TSC };
	const struct xvt_event_hdr h = { ns, 1050 * MS, event_flags, XVT_ID_FIRST_EVENT, 0 };
	const struct xvt_verify_opts opts = { .line = keep_line };
	const char *path = scratch_path("looks.xvt");
	struct xvt_verify_result result;
	struct xvt_trace_writer *w;
	struct synth_sink sink;
	struct xvt_trace *t;
	char why[256];

	lines[0] = 0;
	synth_sink_init(&sink);
	ck_assert_int_eq(xvt_trace_writer_new(&w, &sink.sink, &info), 0);
	ck_assert_int_eq(xvt_trace_put(w, XVT_CHUNK_VM, &vm, sizeof(vm), NULL, 0), 0);
	ck_assert_int_eq(xvt_trace_put(w, XVT_CHUNK_RING, &ring, sizeof(ring), NULL, 0), 0);
	ck_assert_int_eq(xvt_trace_put(w, XVT_CHUNK_NODE, nodes, sizeof(nodes), NULL, 0), 0);
	ck_assert_int_eq(xvt_trace_put(w, XVT_CHUNK_LOOKS, look, sizeof(*look), NULL, 0), 0);
	ck_assert_int_eq(xvt_trace_event(w, &h, NULL), 0);
	ck_assert_int_eq(xvt_trace_writer_finish(w), 0);
	synth_sink_save(&sink, path);
	synth_sink_fini(&sink);
	ck_assert_int_eq(xvt_trace_open(&t, path, why, sizeof(why)), 0);
	ck_assert_int_eq(xvt_verify(t, &opts, &result), 0);
	*checked = result.looks_checked;
	xvt_verify_result_fini(&result);
	xvt_trace_close(t);
	return strstr(lines, "by the looks at its ring") || strstr(lines, "is none");
}

START_TEST(verify_holds_times_against_looks)
{
	static const struct {
		uint64_t ns;
		uint32_t flags; /* of the event */
		struct xvt_clock_look look;
		bool wrong;
	} cases[] = {
		/* On its line, and seen to come when the line says. */
		{ 1050 * MS, 0, { 0, 0, 1050 * MS, 1050 * MS, 1049 * MS, 1051 * MS }, false },
		{ 1050 * MS, 0, { 0, 0, 1050 * MS, 1050 * MS, 1060 * MS, 1062 * MS }, true },
		{ 1050 * MS, 0, { 0, 0, 1050 * MS, 1050 * MS, 1010 * MS, 1012 * MS }, true },
		/* Within its bound of the look. */
		{ 1050 * MS, 0, { 0, 0, 1050 * MS, 1050 * MS, 1010 * MS, 1050 * MS - 50 }, false },
		/* A guess is not held against anything. */
		{ 1050 * MS,
		  XVT_EVENT_F_UNCONFIRMED,
		  { 0, 0, 1050 * MS, 1050 * MS, 1060 * MS, 1062 * MS },
		  false },
		/* Beside all segments: its time is within the look, to the nanosecond. */
		{ 2000 * MS, 0, { 0, 1, 2000 * MS, 2000 * MS, 1900 * MS, 2000 * MS }, false },
		{ 2000 * MS, 0, { 0, 1, 2000 * MS, 2000 * MS, 1900 * MS, 2000 * MS - 1 }, true },
		/* No look at all. */
		{ 1050 * MS, 0, { 0, 0, 1050 * MS, 1049 * MS, 1049 * MS, 1051 * MS }, true },
		{ 1050 * MS, 0, { 0, 1, 1050 * MS, 1051 * MS, 1052 * MS, 1051 * MS }, true },
	};
	uint64_t checked;

	ck_assert_msg(verify_event(cases[_i].ns, cases[_i].flags, &cases[_i].look, &checked) ==
			      cases[_i].wrong,
		      "%s", lines);
	if (_i != 4 && _i < 7)
		ck_assert_uint_eq(checked, 1);
}
END_TEST

Suite *looks_suite(void)
{
	Suite *s = suite_create("looks");
	TCase *list = tcase_create("list"), *verify = tcase_create("verify");

	tcase_add_test(list, entries_that_hold_a_time_apply_together);
	tcase_add_test(list, an_entry_is_found_behind_shorter_ones);
	tcase_add_test(list, too_many_entries_of_one_time_prove_nothing);
	tcase_add_test(list, nonsense_is_left_out);
	tcase_add_test(list, a_bound_reaches_to_the_far_end);
	tcase_add_loop_test(verify, verify_holds_times_against_looks, 0, 9);
	suite_add_tcase(s, list);
	suite_add_tcase(s, verify);
	return s;
}
