// SPDX-License-Identifier: GPL-2.0
/* test_verify_looks.c - what the drain saw of events is held against their times. */
#include "suites.h"

#include <stdlib.h>
#include <string.h>

#include "judged.h"
#include "trace/write.h"
#include "view/looks.h"

#define MS 1000000ull

static struct judged judged;

/* What a recorder leaves. */
enum left {
	WHOLE,
	KILLED,		   /* no END */
	KILLED_AFTER_LOOKS /* the looks at all events are in the file */
};

/* The counters of ring 0 that a file has besides; 0: none. */
static uint64_t told_bound_ns;
static uint32_t last_node_flags;

/* Two segments of 60 ns; one event, and one look at it. `judged` becomes what verify finds. */
static void verify_event(uint64_t ns, uint32_t event_flags, const struct xvt_clock_look *look,
			 enum left left, uint64_t *checked)
{
	const struct xvt_clock_node nodes[] = {
		{ 0, 0, 1, 1, 1000 * MS, 1000 * MS, 60, 60 },
		{ 0, 0, 1, 0, 1100 * MS, 1100 * MS, 60, 60 },
		{ 0, 1, 1, 1, 2000 * MS, 5000 * MS, 60, 60 },
		{ 0, 1, 1, 0, 2100 * MS, 5100 * MS, 60, 60 },
		{ 0, 1, 1, last_node_flags, 2200 * MS, 5200 * MS, 60, 60 },
	};
	const struct xvt_ring_stats st = {
		.source = 1, .epochs = 2, .attempted = 1, .events = 1, .bound_ns_max = told_bound_ns
	};
	const struct xvt_vm_info vm = { .name = "g1", .clock_hz = 1000000000 };
	const struct xvt_ring_info ring = { .clock_id = XVT_CLOCK_TSC };
	const struct xvt_event_hdr h = { ns, 1050 * MS, event_flags, XVT_ID_FIRST_EVENT, 0 };
	struct xvt_trace_writer *w;

	judged_begin(&judged);
	w = judged.w;
	ck_assert_int_eq(xvt_trace_put(w, XVT_CHUNK_VM, &vm, sizeof(vm), NULL, 0), 0);
	ck_assert_int_eq(xvt_trace_put(w, XVT_CHUNK_RING, &ring, sizeof(ring), NULL, 0), 0);
	ck_assert_int_eq(xvt_trace_put(w, XVT_CHUNK_NODE, nodes, sizeof(nodes), NULL, 0), 0);
	if (left != KILLED_AFTER_LOOKS)
		ck_assert_int_eq(xvt_trace_put(w, XVT_CHUNK_LOOKS, look, sizeof(*look), NULL, 0),
				 0);
	ck_assert_int_eq(xvt_trace_event(w, &h, NULL), 0);
	if (left == KILLED_AFTER_LOOKS)
		ck_assert_int_eq(xvt_trace_put(w, XVT_CHUNK_LOOKS, look, sizeof(*look), NULL, 0),
				 0);
	if (told_bound_ns)
		ck_assert_int_eq(xvt_trace_put(w, XVT_CHUNK_STATS, &st, sizeof(st), NULL, 0), 0);
	judged_end(&judged);
	if (left != WHOLE)
		judged.sink.len = synth_find_chunk(&judged.sink, XVT_CHUNK_INDEX, 0);
	judged_verify(&judged, "looks.xvt");
	*checked = judged.result.looks_checked;
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
		  { 0, 2, 1050 * MS, 1050 * MS, 1060 * MS, 1062 * MS },
		  false },
		/* Beside all segments: its time is within the look, to the nanosecond. */
		{ 2000 * MS, 0, { 0, 1, 2000 * MS, 2000 * MS, 1900 * MS, 2000 * MS }, false },
		{ 2000 * MS, 0, { 0, 1, 2000 * MS, 2000 * MS, 1900 * MS, 2000 * MS - 1 }, true },
		/* A guess there has a bound that reaches into the look. */
		{ 2000 * MS,
		  XVT_EVENT_F_UNCONFIRMED,
		  { 0, 3, 2000 * MS, 2000 * MS, 2100 * MS, 2200 * MS },
		  false },
		/* No look at all. */
		{ 1050 * MS, 0, { 0, 0, 1050 * MS, 1049 * MS, 1049 * MS, 1051 * MS }, true },
		{ 1050 * MS, 0, { 0, 1, 1050 * MS, 1051 * MS, 1052 * MS, 1051 * MS }, true },
	};
	uint64_t checked;

	verify_event(cases[_i].ns, cases[_i].flags, &cases[_i].look, WHOLE, &checked);
	ck_assert_msg((strstr(judged.lines, "by the looks at its ring") ||
		       strstr(judged.lines, "is none")) == cases[_i].wrong,
		      "%s", judged.lines);
	if (_i != 4 && _i < 8)
		ck_assert_uint_eq(checked, 1);
}
END_TEST

/* An event beside all segments has its time by a look, which a killed recorder did not write. */
START_TEST(a_killed_recorder_did_not_write_its_last_looks)
{
	const struct xvt_clock_look other = { 0, 1, 3000 * MS, 3000 * MS, 2900 * MS, 3000 * MS };
	uint64_t checked;

	verify_event(2000 * MS, 0, &other, _i, &checked);
	ck_assert_msg(!strstr(judged.lines, "by the clock nodes") == (_i == KILLED), "%s",
		      judged.lines);
	/* What a segment gives is checked in every file. */
	verify_event(1050 * MS, 0, &other, _i, &checked);
	ck_assert_msg(!strstr(judged.lines, "by the clock nodes"), "%s", judged.lines);
}
END_TEST

/* The greatest bound that is told is no less than what a reader finds. */
START_TEST(the_greatest_bound_is_that_of_the_file)
{
	static const struct {
		uint64_t ns;
		uint32_t flags; /* of the event */
		struct xvt_clock_look look;
		uint32_t node_flags;
		uint64_t least_ns;
	} cases[] = {
		{ 1050 * MS, 0, { 0, 0, 1050 * MS, 1050 * MS, 1049 * MS, 1051 * MS }, 0, 60 },
		{ 2000 * MS,
		  0,
		  { 0, 1, 2000 * MS, 2000 * MS, 1900 * MS, 2050 * MS },
		  0,
		  100 * MS + XVT_STAMP_SLACK_NS },
		{ 2000 * MS,
		  0,
		  { 0, 1, 2000 * MS, 2000 * MS, 1990 * MS, 2050 * MS },
		  0,
		  50 * MS + XVT_STAMP_SLACK_NS },
		/* Guesses have a bound of their own. */
		{ 2000 * MS,
		  XVT_EVENT_F_UNCONFIRMED,
		  { 0, 3, 2000 * MS, 2000 * MS, 1900 * MS, 2050 * MS },
		  0,
		  60 },
		/* A clock that went back adds to the segment before. */
		{ 1050 * MS,
		  0,
		  { 0, 0, 1050 * MS, 1050 * MS, 1049 * MS, 1051 * MS },
		  XVT_NODE_F_BACK,
		  120 },
	};
	uint64_t checked;

	last_node_flags = cases[_i].node_flags;
	for (uint64_t off = 0; off <= 1; off++) {
		told_bound_ns = cases[_i].least_ns - off;
		verify_event(cases[_i].ns, cases[_i].flags, &cases[_i].look, WHOLE, &checked);
		ck_assert_msg(!strstr(judged.lines, "the counters say a bound") == !off, "%s",
			      judged.lines);
	}
}
END_TEST

/* A file with a sample between two nodes that were 20 ms further apart than the clock went by, told
 * of as a clock of such a rate; `hz` is what is known of it later. */
static void verify_sample(uint64_t sample_ns, uint64_t hz)
{
	const struct xvt_clock_node before[] = {
		{ 0, 0, 1, 1, 1000 * MS, 1000 * MS, 60, 60 },
		{ 0, 0, 1, 0, 1080 * MS, 1100 * MS, 60, 60 },
	};
	const struct xvt_clock_node after = { 0, 0, 1, 0, 1180 * MS, 1200 * MS, 60, 20 * MS };
	const struct xvt_clock_sample sample = { .guest = 1040 * MS,
						 .host_clock_lo = sample_ns,
						 .host_clock_hi = sample_ns + 1000,
						 .source = 1 };
	const struct xvt_vm_info vm = { .name = "g1", .clock_hz = hz };
	struct xvt_ring_info ring = { .clock_id = XVT_CLOCK_TSC, .clock_hz = 800000000 };
	struct xvt_trace_writer *w;

	judged_begin(&judged);
	w = judged.w;
	ck_assert_int_eq(xvt_trace_put(w, XVT_CHUNK_VM, &vm, sizeof(vm), NULL, 0), 0);
	ck_assert_int_eq(xvt_trace_put(w, XVT_CHUNK_RING, &ring, sizeof(ring), NULL, 0), 0);
	ck_assert_int_eq(xvt_trace_put(w, XVT_CHUNK_SAMPLES, &sample, sizeof(sample), NULL, 0), 0);
	ck_assert_int_eq(xvt_trace_put(w, XVT_CHUNK_NODE, before, sizeof(before), NULL, 0), 0);
	ring.clock_hz = hz;
	ck_assert_int_eq(xvt_trace_put(w, XVT_CHUNK_RING, &ring, sizeof(ring), NULL, 0), 0);
	ck_assert_int_eq(xvt_trace_put(w, XVT_CHUNK_NODE, &after, sizeof(after), NULL, 0), 0);
	judged_end(&judged);
	judged_verify(&judged, "rates.xvt");
}

/* The machine stood still for 20 ms in each gap. Until that is known, a segment is of the rate that
 * the gaps show. Its samples are then as far beside it as the clock gained by the right rate. */
START_TEST(a_sample_is_held_against_the_rate_that_is_known_later)
{
	static const struct {
		uint64_t sample_ns, hz;
		bool wrong;
	} cases[] = {
		{ 1040 * MS, 1000000000, false },
		{ 1040 * MS, 800000000, true }, /* nobody took the rate back */
		{ 1029 * MS, 1000000000, true },
		{ 1050 * MS, 800000000, false },
	};

	verify_sample(cases[_i].sample_ns, cases[_i].hz);
	ck_assert_msg(!!strstr(judged.lines, "but the map says") == cases[_i].wrong, "%s",
		      judged.lines);
}
END_TEST

#define SETBACKS 100u
#define US	 1000ull
#define GHZ	 1000000000ull

struct setbacks {
	uint64_t first_hz; /* what the recorder took for the rate of the first half */
	uint64_t hz;
	uint64_t bound_ns;
	const char *said; /* NULL: no violation */
};

/*
 * A node of a clock that is set back by 6 ms of each 40. By 0.85 GHz it is limited by two
 * exchanges: the second one ends 50 us after it, and the rate has a slack of 30 us.
 */
static void put_setback(struct xvt_trace_writer *w, uint64_t i, const struct setbacks *c)
{
	const uint64_t guest = 1000 * MS + i * 34 * MS, ns = 1000 * MS + i * 40 * MS;
	const bool by_two = c->first_hz != c->hz && i < SETBACKS / 2;
	const struct xvt_clock_sample s[] = {
		{ 0, 0, 1, 0, guest, ns - 100 * US, ns + (by_two ? 400 : 80) * US },
		{ 0, 0, 1, 0, guest + 765 * US, ns + 800 * US, ns + 950 * US },
	};
	const struct xvt_clock_node n = {
		0, 0, 1, i ? 0 : XVT_NODE_F_FIRST, guest, ns - 10 * US, 91 * US, c->bound_ns
	};

	ck_assert_int_eq(xvt_trace_put(w, XVT_CHUNK_SAMPLES, s,
				       (uint32_t)(by_two ? 2 : 1) * sizeof(s[0]), NULL, 0),
			 0);
	ck_assert_int_eq(xvt_trace_put(w, XVT_CHUNK_NODE, &n, sizeof(n), NULL, 0), 0);
}

/* A clock that is set back all the time, in one epoch: each node is held by the rate it was made
 * with, and the rate by what the bounds have. */
START_TEST(setbacks_are_no_lie)
{
	static const struct setbacks cases[] = {
		{ GHZ, GHZ, 6 * MS, NULL },
		{ GHZ / 100 * 85, GHZ, 6 * MS, NULL },
		{ GHZ, GHZ, 100 * US, "Hz, but its nodes show another rate" },
		{ GHZ, 2 * GHZ, 6 * MS, "2000000000 Hz, but its nodes show another rate" },
		{ GHZ / 100 * 120, GHZ, 6 * MS, "its bound is" },
	};
	const struct setbacks *c = &cases[_i];
	const struct xvt_vm_info vm = { .name = "g1", .clock_hz = c->hz };
	struct xvt_ring_info ring = { .clock_id = XVT_CLOCK_CALLER, .clock_hz = c->first_hz };
	struct xvt_trace_writer *w;

	judged_begin(&judged);
	w = judged.w;
	ck_assert_int_eq(xvt_trace_put(w, XVT_CHUNK_VM, &vm, sizeof(vm), NULL, 0), 0);
	for (uint64_t i = 0; i < SETBACKS; i++) {
		ring.clock_hz = i < SETBACKS / 2 ? c->first_hz : c->hz;
		if (i % (SETBACKS / 2) == 0)
			ck_assert_int_eq(
				xvt_trace_put(w, XVT_CHUNK_RING, &ring, sizeof(ring), NULL, 0), 0);
		put_setback(w, i, c);
	}
	judged_end(&judged);
	judged_verify(&judged, "setbacks.xvt");
	if (c->said)
		ck_assert_msg(!!strstr(judged.lines, c->said), "%s", judged.lines);
	else
		ck_assert_msg(!strstr(judged.lines, "violation: "), "%s", judged.lines);
}
END_TEST

Suite *verify_looks_suite(void)
{
	Suite *s = suite_create("verify_looks");
	TCase *t = tcase_create("verify_looks");

	tcase_add_loop_test(t, verify_holds_times_against_looks, 0, 10);
	tcase_add_loop_test(t, the_greatest_bound_is_that_of_the_file, 0, 5);
	tcase_add_loop_test(t, a_sample_is_held_against_the_rate_that_is_known_later, 0, 4);
	tcase_add_loop_test(t, setbacks_are_no_lie, 0, 5);
	tcase_add_loop_test(t, a_killed_recorder_did_not_write_its_last_looks, WHOLE,
			    KILLED_AFTER_LOOKS + 1);
	suite_add_tcase(s, t);
	return s;
}
