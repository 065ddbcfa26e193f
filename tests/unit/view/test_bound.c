// SPDX-License-Identifier: GPL-2.0
/* test_bound.c - which bound a reader gives an event, by nodes and looks that are written here. */
#include "suites.h"

#include "synth.h"
#include "view/bound.h"

#define MS 1000000ull

/* Two epochs; the second segment of the first one is the widest. */
static const struct xvt_clock_node nodes[] = {
	{ 0, 0, XVT_SOURCE_HANDSHAKE, XVT_NODE_F_FIRST, 1000 * MS, 1000 * MS, 60, 60 },
	{ 0, 0, XVT_SOURCE_HANDSHAKE, 0, 1100 * MS, 1100 * MS, 60, 100 },
	{ 0, 0, XVT_SOURCE_HANDSHAKE, 0, 1200 * MS, 1200 * MS, 60, 9000 },
	{ 0, 0, XVT_SOURCE_HANDSHAKE, 0, 1300 * MS, 1300 * MS, 60, 200 },
	{ 0, 1, XVT_SOURCE_HANDSHAKE, XVT_NODE_F_FIRST, 2000 * MS, 5000 * MS, 60, 60 },
	{ 0, 1, XVT_SOURCE_HANDSHAKE, 0, 2100 * MS, 5100 * MS, 60, 300 },
};

static struct xvt_bounds *bounds;

static void begin(const struct xvt_clock_look *looks, size_t count)
{
	const struct xvt_file_info info = { .host_clock_id = XVT_CLOCK_TSC, .mult = 1 };
	const struct xvt_vm_info vm = { .name = "g1", .clock_hz = 1000000000 };
	const struct xvt_ring_info ring = { .clock_id = XVT_CLOCK_TSC };
	const char *path = scratch_path("bound.xvt");
	struct xvt_trace_writer *w;
	struct synth_sink sink;
	struct xvt_trace *t;
	struct xvt_error why;

	synth_sink_init(&sink);
	ck_assert_int_eq(xvt_trace_writer_new(&w, &sink.sink, &info), 0);
	ck_assert_int_eq(xvt_trace_put(w, XVT_CHUNK_VM, &vm, sizeof(vm), NULL, 0), 0);
	ck_assert_int_eq(xvt_trace_put(w, XVT_CHUNK_RING, &ring, sizeof(ring), NULL, 0), 0);
	ck_assert_int_eq(xvt_trace_put(w, XVT_CHUNK_NODE, nodes, sizeof(nodes), NULL, 0), 0);
	if (count)
		ck_assert_int_eq(
			xvt_trace_put(w, XVT_CHUNK_LOOKS, looks, count * sizeof(*looks), NULL, 0),
			0);
	ck_assert_int_eq(xvt_trace_writer_finish(w), 0);
	synth_sink_save(&sink, path);
	synth_sink_fini(&sink);
	ck_assert_int_eq(xvt_trace_open(&t, path, &why), 0);
	ck_assert_int_eq(xvt_bounds_new(&bounds, t), 0);
	xvt_trace_close(t);
}

static void teardown(void)
{
	xvt_bounds_free(bounds);
	bounds = NULL;
}

static struct xvt_event_hdr event(uint64_t guest, uint64_t ns, uint32_t flags)
{
	return (struct xvt_event_hdr){ ns, guest, flags, XVT_ID_FIRST_EVENT, 0 };
}

/* The bound of one event, and what stat counts of it by its time alone. */
static void ck_bound(uint64_t guest, uint64_t ns, uint32_t flags, uint64_t want, uint64_t by_time)
{
	const struct xvt_event_hdr h = event(guest, ns, flags);

	ck_assert_uint_eq(xvt_bound_ns(bounds, &h), want);
	ck_assert_uint_eq(xvt_bound_by_time_ns(bounds, &h), by_time);
	/* As well with the last search for a beginning. */
	ck_assert_uint_eq(xvt_bound_by_time_ns(bounds, &h), by_time);
}

START_TEST(an_event_has_the_bound_of_its_own_segment)
{
	begin(NULL, 0);
	ck_bound(1050 * MS, 1050 * MS, 0, 100, 100);
	ck_bound(1150 * MS, 1150 * MS, 0, 9000, 9000);
	ck_bound(1250 * MS, 1250 * MS, 0, 200, 200);
	ck_bound(2050 * MS, 5050 * MS, 0, 300, 300);
	/* And back. */
	ck_bound(1150 * MS, 1150 * MS, 0, 9000, 9000);
	ck_bound(1050 * MS, 1050 * MS, 0, 100, 100);
}
END_TEST

/* A clock that stood still had the value of a node on both sides of it. */
START_TEST(an_event_at_a_node_has_the_larger_bound_of_both_sides)
{
	begin(NULL, 0);
	ck_bound(1100 * MS, 1100 * MS, 0, 9000, 9000);
	ck_bound(1200 * MS, 1200 * MS, 0, 9000, 9000);
	ck_bound(1000 * MS, 1000 * MS, 0, 100, 100);
	/* The last node of an epoch has one side. (By time alone it is beside all segments.) */
	ck_bound(1300 * MS, 1300 * MS, 0, 200, XVT_NO_BOUND);
}
END_TEST

START_TEST(what_is_on_no_line_and_in_no_look_has_no_bound)
{
	begin(NULL, 0);
	/* Its clock value leads to another time: by the time alone that cannot be told. */
	ck_bound(1150 * MS, 1151 * MS, 0, XVT_NO_BOUND, 9000);
	ck_bound(1050 * MS, 1150 * MS, 0, XVT_NO_BOUND, 9000);
	/* No line leads from one epoch to the next. */
	ck_bound(1650 * MS, 3150 * MS, 0, XVT_NO_BOUND, XVT_NO_BOUND);
	ck_bound(1400 * MS, 1400 * MS, 0, XVT_NO_BOUND, XVT_NO_BOUND);
	ck_bound(900 * MS, 900 * MS, 0, XVT_NO_BOUND, XVT_NO_BOUND);
	ck_bound(2200 * MS, 5200 * MS, 0, XVT_NO_BOUND, XVT_NO_BOUND);
	/* A guess is on no line, and what contradicts its clock nowhere. */
	ck_bound(1150 * MS, 1150 * MS, XVT_EVENT_F_UNCONFIRMED, XVT_NO_BOUND, XVT_NO_BOUND);
	ck_bound(1150 * MS, 1150 * MS, XVT_EVENT_F_CLOCK, XVT_NO_BOUND, XVT_NO_BOUND);
}
END_TEST

static struct xvt_clock_look look(uint32_t flags, uint64_t first_ns, uint64_t last_ns,
				  uint64_t lo_ns, uint64_t hi_ns)
{
	return (struct xvt_clock_look){ .flags = flags,
					.first_ns = first_ns,
					.last_ns = last_ns,
					.lo_ns = lo_ns,
					.hi_ns = hi_ns };
}

START_TEST(looks_bound_what_no_segment_does)
{
	const struct xvt_clock_look looks[] = {
		look(XVT_LOOK_F_BESIDE, 1310 * MS, 1320 * MS, 1305 * MS, 1350 * MS),
		look(XVT_LOOK_F_BESIDE, 1315 * MS, 1330 * MS, 1250 * MS, 1340 * MS),
		/* Only to check the map by. */
		look(0, 1400 * MS, 1500 * MS, 1390 * MS, 1510 * MS),
	};

	begin(looks, 3);
	ck_bound(1312 * MS, 1312 * MS, 0, 38 * MS + XVT_STAMP_SLACK_NS,
		 38 * MS + XVT_STAMP_SLACK_NS);
	/* In both. */
	ck_bound(1320 * MS, 1320 * MS, 0, 70 * MS + XVT_STAMP_SLACK_NS,
		 70 * MS + XVT_STAMP_SLACK_NS);
	ck_bound(1325 * MS, 1325 * MS, 0, 75 * MS + XVT_STAMP_SLACK_NS,
		 75 * MS + XVT_STAMP_SLACK_NS);
	ck_bound(1331 * MS, 1331 * MS, 0, XVT_NO_BOUND, XVT_NO_BOUND);
	ck_bound(1450 * MS, 1450 * MS, 0, XVT_NO_BOUND, XVT_NO_BOUND);
	ck_bound(1320 * MS, 1320 * MS, XVT_EVENT_F_CLOCK, XVT_NO_BOUND, XVT_NO_BOUND);
}
END_TEST

/* A guess and an event that is none may have one time: what is known of one is not of the other. */
START_TEST(a_guess_has_looks_of_its_own)
{
	const struct xvt_clock_look looks[] = {
		look(XVT_LOOK_F_BESIDE, 1310 * MS, 1320 * MS, 1305 * MS, 1350 * MS),
		look(XVT_LOOK_F_GUESS, 1315 * MS, 1330 * MS, 1300 * MS, 1340 * MS),
		look(XVT_LOOK_F_GUESS | XVT_LOOK_F_BESIDE, 1320 * MS, 1320 * MS, 1290 * MS,
		     1325 * MS),
		look(XVT_LOOK_F_GUESS, 1350 * MS, 1360 * MS, 0, UINT64_MAX),
		look(XVT_LOOK_F_GUESS, 1360 * MS, 1370 * MS, 1355 * MS, 1375 * MS),
	};
	const uint32_t guess = XVT_EVENT_F_UNCONFIRMED;

	begin(looks, 5);
	ck_bound(1312 * MS, 1312 * MS, 0, 38 * MS + XVT_STAMP_SLACK_NS,
		 38 * MS + XVT_STAMP_SLACK_NS);
	ck_bound(1312 * MS, 1312 * MS, guess, XVT_NO_BOUND, XVT_NO_BOUND);
	ck_bound(1320 * MS, 1320 * MS, guess, 30 * MS + XVT_STAMP_SLACK_NS,
		 30 * MS + XVT_STAMP_SLACK_NS);
	ck_bound(1325 * MS, 1325 * MS, guess, 25 * MS + XVT_STAMP_SLACK_NS,
		 25 * MS + XVT_STAMP_SLACK_NS);
	ck_bound(1325 * MS, 1325 * MS, 0, XVT_NO_BOUND, XVT_NO_BOUND);
	/* Nothing is known of one of the two guesses that may be at this time. */
	ck_bound(1360 * MS, 1360 * MS, guess, XVT_NO_BOUND, XVT_NO_BOUND);
	ck_bound(1365 * MS, 1365 * MS, guess, 10 * MS + XVT_STAMP_SLACK_NS,
		 10 * MS + XVT_STAMP_SLACK_NS);
}
END_TEST

/* Its time is that of an event on the line, too: it is not known which of the two it is. */
START_TEST(with_a_line_and_a_look_the_larger_bound_counts)
{
	const struct xvt_clock_look looks[] = {
		look(XVT_LOOK_F_BESIDE, 1040 * MS, 1060 * MS, 1040 * MS, 1080 * MS),
		look(XVT_LOOK_F_BESIDE, 1150 * MS, 1150 * MS, 1150 * MS - 10, 1150 * MS + 10),
		look(XVT_LOOK_F_GUESS, 1150 * MS, 1150 * MS, 1150 * MS - 10, 1150 * MS + 10),
	};

	begin(looks, 3);
	ck_bound(1050 * MS, 1050 * MS, 0, 30 * MS + XVT_STAMP_SLACK_NS,
		 30 * MS + XVT_STAMP_SLACK_NS);
	ck_bound(1150 * MS, 1150 * MS, 0, 9000, 9000);
	ck_bound(1150 * MS, 1150 * MS, XVT_EVENT_F_UNCONFIRMED, 10 + XVT_STAMP_SLACK_NS,
		 10 + XVT_STAMP_SLACK_NS);
}
END_TEST

Suite *bound_suite(void)
{
	Suite *s = suite_create("bound");
	TCase *t = tcase_create("bound");

	tcase_add_checked_fixture(t, NULL, teardown);
	tcase_add_test(t, an_event_has_the_bound_of_its_own_segment);
	tcase_add_test(t, an_event_at_a_node_has_the_larger_bound_of_both_sides);
	tcase_add_test(t, what_is_on_no_line_and_in_no_look_has_no_bound);
	tcase_add_test(t, looks_bound_what_no_segment_does);
	tcase_add_test(t, a_guess_has_looks_of_its_own);
	tcase_add_test(t, with_a_line_and_a_look_the_larger_bound_counts);
	suite_add_tcase(s, t);
	return s;
}
