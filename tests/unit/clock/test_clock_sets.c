// SPDX-License-Identifier: GPL-2.0
/*
 * test_clock_sets.c - what a map knows of a record: the bound of each segment, and where none alone
 * gives the time, the whole set of times that the statements leave.
 */
#include "suites.h"

#include <string.h>

#include "clock/map.h"

#define MS     1000000ull
/* Measuring error of a node here, the bound of a border, and that of a segment of 100 ms in which a
 * clock keeps its rate. */
#define ERR    1000ull
#define ONE    (ERR + XVT_STAMP_SLACK_NS)
#define STEADY (ONE + xvt_clock_wander(100 * MS))

static struct xvt_clock_map m;

static void setup(void)
{
	xvt_clock_map_init(&m, 1000000000);
}

static void teardown(void)
{
	xvt_clock_map_fini(&m);
}

/* Returns the bound of the segment that ends there. */
static uint64_t add_of(uint32_t source, uint64_t guest, uint64_t host_ns, uint64_t bound_ns)
{
	struct xvt_clock_node n = {
		.source = source, .guest = guest, .host_ns = host_ns, .bound_ns = bound_ns
	};

	ck_assert_int_eq(xvt_clock_map_add(&m, &n), 0);
	return n.segment_bound_ns;
}

static uint64_t add(uint64_t guest, uint64_t host_ns)
{
	return add_of(XVT_SOURCE_HANDSHAKE, guest, host_ns, ERR);
}

static uint32_t last_flags(void)
{
	return xvt_clock_map_last(&m)->flags;
}

/* ------------------------------------------------------------ segments */

START_TEST(an_error_of_the_rate_is_in_the_bound_of_all_but_formulas)
{
	m.hz_doubt_ppb = 1000000;
	add(0, 1000 * MS);
	ck_assert_uint_eq(add(100 * MS, 1100 * MS), STEADY + MS / 10);
	ck_assert_uint_eq(add(300 * MS, 1300 * MS), ONE + 2 * (STEADY - ONE) + MS / 5);
	add_of(XVT_SOURCE_KVM, 400 * MS, 1400 * MS, 3);
	ck_assert_uint_eq(add_of(XVT_SOURCE_KVM, 500 * MS, 1500 * MS, 3), 3 + XVT_STAMP_SLACK_NS);
}
END_TEST

/* What it gains in each of four gaps of 100 ms, and what the last bound is beyond that gain. */
START_TEST(a_rate_that_changes_is_in_the_bound)
{
	static const struct {
		int64_t gains[4];
		uint64_t more;
	} cases[] = {
		{ { 100000, 100000, 100000, 100000 }, 0 },
		/* It stood still for as long as it had gained: both nodes look right. */
		{ { 100000, 100000, 100000, 0 }, 100000 - 4 * ERR },
		{ { 100000, 100000, 100000, -100000 }, 200000 - 4 * ERR },
		{ { -100000, -100000, -100000, 0 }, 100000 - 4 * ERR },
		/* One gap with a step says nothing of the next one, on whichever side it is. */
		{ { 0, 0, 100000, 0 }, 0 },
		{ { 0, 100000, 0, 0 }, 0 },
		/* By no more than measuring errors. */
		{ { 3900, 3900, 3900, 0 }, 0 },
	};
	uint64_t guest = 0, ns = 1000 * MS, bound = 0;
	int64_t gain = 0;

	add(guest, ns);
	for (int i = 0; i < 4; i++) {
		gain = cases[_i].gains[i];
		guest += 100 * MS + (uint64_t)gain;
		bound = add(guest, ns += 100 * MS);
	}
	ck_assert_uint_eq(bound, STEADY + (uint64_t)(gain < 0 ? -gain : gain) + cases[_i].more);
}
END_TEST

/* The further two nodes are apart, the further it may have gone out and come back. */
START_TEST(a_steady_clock_may_have_wandered_between_two_nodes)
{
	add(0, 1000 * MS);
	ck_assert_uint_eq(add(100 * MS, 1100 * MS), ONE + 50);
	ck_assert_uint_eq(add(2100 * MS, 3100 * MS), ONE + 1000);
	add_of(XVT_SOURCE_KVM, 2200 * MS, 3200 * MS, 3);
	ck_assert_uint_eq(add_of(XVT_SOURCE_KVM, 4200 * MS, 5200 * MS, 3), 3 + XVT_STAMP_SLACK_NS);
}
END_TEST

/* A gap that is too short, or of another epoch, is no rate. */
START_TEST(a_short_gap_says_nothing_of_the_rate)
{
	add(0, 1000 * MS);
	add(5 * MS + 100000, 1005 * MS);
	add(10 * MS + 200000, 1010 * MS);
	ck_assert_uint_eq(add(110 * MS + 200000, 1110 * MS), STEADY);
	add(MS, 1210 * MS); /* reset */
	add(101 * MS, 1310 * MS);
	ck_assert_uint_eq(add(201 * MS, 1410 * MS), STEADY);
}
END_TEST

/* The clock stood still, or was set back: what follows has values of before, beside the segment. */
START_TEST(a_segment_in_which_a_clock_lost_time_is_flagged)
{
	add(0, 1000 * MS);
	add(100 * MS - 2 * ERR, 1100 * MS); /* within both errors */
	ck_assert_uint_eq(last_flags(), 0);
	add(199 * MS, 1200 * MS);
	ck_assert_uint_eq(last_flags(), XVT_NODE_F_BACK);
	add(300 * MS, 1300 * MS);
	ck_assert_uint_eq(last_flags(), 0);
	/* At a border it stood still with its machine, unless something says that it was set. */
	add(200 * MS, 1400 * MS);
	ck_assert_uint_eq(last_flags(), XVT_NODE_F_FIRST);
	xvt_clock_map_reported(&m, 1450 * MS, 100 * MS);
	add(199 * MS, 1500 * MS);
	ck_assert_uint_eq(last_flags(), XVT_NODE_F_FIRST | XVT_NODE_F_BACK);
	xvt_clock_map_reported(&m, 1550 * MS, 50 * MS);
	add(249 * MS, 1600 * MS); /* ahead all the same */
	ck_assert_uint_eq(last_flags(), XVT_NODE_F_FIRST | XVT_NODE_F_BACK);
	/* By a formula it may run slowly. */
	add_of(XVT_SOURCE_KVM, 350 * MS, 1700 * MS, 3);
	add_of(XVT_SOURCE_KVM, 449 * MS, 1800 * MS, 3);
	ck_assert_uint_eq(last_flags(), 0);
}
END_TEST

/* The size of a reported change, and what the border has for it: a record may have been placed
 * before the change was known. */
START_TEST(a_border_with_a_reported_change_has_its_size_as_bound)
{
	static const uint64_t sizes[][2] = {
		{ 30 * MS, 30 * MS },
		{ 3000 * MS, 2 * XVT_CREEP_NS_MAX },
		{ 0, 0 },
	};

	add(5000 * MS, 1000 * MS);
	if (sizes[_i][0])
		xvt_clock_map_reported(&m, 1050 * MS, sizes[_i][0]);
	ck_assert_uint_eq(add(1000 * MS, 1100 * MS), ONE + sizes[_i][1]);
	ck_assert(last_flags() & XVT_NODE_F_FIRST);
}
END_TEST

/* While a trace is recorded its bound is that of the segments as a reader settles them. */
START_TEST(the_bound_of_a_map_is_what_a_reader_settles)
{
	static const struct {
		uint64_t guest, host_ns;
	} at[] = {
		{ 0, 1000 * MS },	 { 100 * MS, 1100 * MS }, { 103 * MS, 1103 * MS },
		{ 200 * MS, 1204 * MS }, /* lost 4 ms */
		{ 202 * MS, 1206 * MS }, { 203 * MS, 1207 * MS }, { 303 * MS, 1307 * MS + MS / 2 },
	};
	struct xvt_clock_node nodes[sizeof(at) / sizeof(at[0])];
	uint64_t most;

	for (size_t n = 1; n <= sizeof(at) / sizeof(at[0]); n++) {
		add(at[n - 1].guest, at[n - 1].host_ns);
		memcpy(nodes, m.nodes, n * sizeof(nodes[0]));
		ck_assert_int_eq(xvt_nodes_settle(nodes, n), 0);
		most = 0;
		for (size_t i = 0; i < n; i++)
			most = most > nodes[i].segment_bound_ns ? most : nodes[i].segment_bound_ns;
		ck_assert_uint_eq(xvt_clock_map_bound_ns(&m), most);
	}
	ck_assert_uint_gt(most, 4 * MS + 4 * MS / 8);
}
END_TEST

/* ------------------------------------------------------------ records */

static enum xvt_map_result place(uint64_t guest, uint64_t floor_ns, uint64_t ceiling_ns,
				 struct xvt_clock_placed *p)
{
	const struct xvt_clock_evidence e = { floor_ns, ceiling_ns, 0 };

	return xvt_clock_map_place(&m, guest, &e, p);
}

/* By the line alone; the set is what the segment's bound leaves. */
static void ck_on_line(uint64_t guest, uint64_t floor_ns, uint64_t ceiling_ns, uint64_t ns,
		       uint64_t bound_ns)
{
	struct xvt_clock_placed p;

	ck_assert_int_eq(place(guest, floor_ns, ceiling_ns, &p), XVT_MAP_OK);
	ck_assert(p.on_line);
	ck_assert_uint_eq(p.host_ns, ns);
	ck_assert_uint_eq(p.lo_ns, ns - bound_ns > floor_ns ? ns - bound_ns : floor_ns);
	ck_assert_uint_eq(p.hi_ns, ns + bound_ns < ceiling_ns ? ns + bound_ns : ceiling_ns);
}

/* Not by a line: exactly that set, and a time inside of it. */
static void ck_set(uint64_t guest, uint64_t floor_ns, uint64_t ceiling_ns, uint64_t lo_ns,
		   uint64_t hi_ns)
{
	struct xvt_clock_placed p;

	ck_assert_int_ne(place(guest, floor_ns, ceiling_ns, &p), XVT_MAP_WAIT);
	ck_assert(!p.on_line);
	ck_assert_uint_eq(p.lo_ns, lo_ns);
	ck_assert_uint_eq(p.hi_ns, hi_ns);
	ck_assert_uint_ge(p.host_ns, lo_ns);
	ck_assert_uint_le(p.host_ns, hi_ns);
}

/* The second of three segments is wider, because it crept there. */
START_TEST(a_record_has_the_bound_of_its_own_segment)
{
	/* By 2 ms, which the gap before did not show, in 102 ms. */
	const uint64_t crept = STEADY + 1 + 4 * MS - 2 * ERR - 2 * ERR * 102 / 100;

	add(0, 1000 * MS);
	add(100 * MS, 1100 * MS);
	add(200 * MS, 1202 * MS);
	add(300 * MS, 1302 * MS);
	ck_on_line(50 * MS, 900 * MS, 1300 * MS, 1050 * MS, STEADY);
	/* Where it stood still it had one value on both sides of a node. */
	ck_on_line(100 * MS, 900 * MS, 1300 * MS, 1100 * MS, crept);
	ck_on_line(150 * MS, 900 * MS, 1300 * MS, 1151 * MS, crept);
	ck_on_line(200 * MS, 900 * MS, 1300 * MS, 1202 * MS, crept);
}
END_TEST

/* Its answers had one value all the time: a record of that value may be as old as that. */
START_TEST(a_value_that_may_have_lasted_is_before_its_node)
{
	struct xvt_clock_placed p;

	m.step_open = _i;
	add(100 * MS, 1100 * MS);
	m.closed = true;
	ck_assert_int_eq(place(100 * MS, 900 * MS, 1100 * MS, &p), _i ? XVT_MAP_GUESS : XVT_MAP_OK);
	ck_assert_uint_eq(p.lo_ns, _i ? 900 * MS : 1100 * MS - ONE);
	ck_assert_uint_eq(p.hi_ns, 1100 * MS);
}
END_TEST

/* Epochs from 1000 and 1200 ms on; the second one has the lower values. */
static void a_clock_that_was_reset(void)
{
	add(500 * MS, 1000 * MS);
	add(600 * MS, 1100 * MS);
	add(20 * MS, 1200 * MS);
	add(120 * MS, 1300 * MS);
	add(220 * MS, 1400 * MS);
	ck_assert_uint_eq(xvt_clock_map_last(&m)->epoch, 1);
}

/* A value of the new epoch, from a ring that was last proven idle in the border: the clock may have
 * had that value there, before the node that begins the epoch. */
START_TEST(a_record_may_be_of_the_border_before_its_segment)
{
	a_clock_that_was_reset();
	ck_assert(xvt_clock_map_next_epoch(&m));
	ck_set(70 * MS, 1150 * MS, 1390 * MS, 1150 * MS, 1250 * MS + STEADY);
	ck_set(70 * MS, 1200 * MS + ERR, 1390 * MS, 1200 * MS + ERR, 1250 * MS + STEADY);
	ck_on_line(70 * MS, 1200 * MS + ERR + 1, 1390 * MS, 1250 * MS, STEADY);
	/* And of a later segment. */
	ck_set(170 * MS, 1150 * MS, 1390 * MS, 1150 * MS, 1350 * MS + STEADY);
	ck_on_line(170 * MS, 1210 * MS, 1390 * MS, 1350 * MS, STEADY);
	/* Where the drain says nothing, the line is all that there is. */
	ck_on_line(170 * MS, 0, 1390 * MS, 1350 * MS, STEADY);
}
END_TEST

/* No clock is set before the first measurement of all: there is no border. */
START_TEST(before_the_first_epoch_there_is_no_border)
{
	add(500 * MS, 1000 * MS);
	add(600 * MS, 1100 * MS);
	add(700 * MS, 1200 * MS);
	ck_on_line(550 * MS, 900 * MS, 1190 * MS, 1050 * MS, STEADY);
	ck_on_line(650 * MS, 900 * MS, 1190 * MS, 1150 * MS, STEADY);
}
END_TEST

/* A value of the old epoch, copied in the border: before that it is by its line. */
START_TEST(a_record_may_be_of_the_border_behind_its_segment)
{
	a_clock_that_was_reset();
	ck_on_line(590 * MS, 1050 * MS, 1100 * MS - ERR - 1, 1090 * MS, STEADY);
	ck_set(590 * MS, 1050 * MS, 1150 * MS, 1090 * MS - STEADY, 1150 * MS);
	ck_set(590 * MS, 1050 * MS, 1100 * MS - ERR, 1090 * MS - STEADY, 1100 * MS - ERR);
	/* Not of the next epoch, which has not come so far by then; but of any behind that. */
	ck_set(590 * MS, 1050 * MS, 1250 * MS, 1090 * MS - STEADY, 1200 * MS + ERR);
}
END_TEST

/* The same, and its copy was made after the epoch's newest measurement. */
START_TEST(a_record_may_be_of_an_epoch_that_is_not_measured_yet)
{
	a_clock_that_was_reset();
	ck_set(590 * MS, 1050 * MS, 1450 * MS, 1090 * MS - STEADY, 1450 * MS);
	add(20 * MS, 1500 * MS);
	add(120 * MS, 1600 * MS);
	ck_set(590 * MS, 1050 * MS, 1450 * MS, 1090 * MS - STEADY, 1450 * MS);
	/* Copied before the second border: only until then. */
	ck_set(590 * MS, 1050 * MS, 1390 * MS, 1090 * MS - STEADY, 1200 * MS + ERR);
}
END_TEST

/* A value that both epochs have: either segment, or the border. */
START_TEST(a_record_may_be_of_both_segments_beside_a_border)
{
	add(500 * MS, 1000 * MS);
	add(600 * MS, 1100 * MS);
	add(520 * MS, 1200 * MS);
	add(620 * MS, 1300 * MS);
	add(720 * MS, 1400 * MS);
	ck_set(550 * MS, 1020 * MS, 1350 * MS, 1050 * MS - STEADY, 1230 * MS + STEADY);
	ck_set(550 * MS, 1060 * MS, 1350 * MS, 1100 * MS - ERR, 1230 * MS + STEADY);
	ck_set(550 * MS, 1020 * MS, 1210 * MS, 1050 * MS - STEADY, 1200 * MS + ERR);
}
END_TEST

/* A formula holds until the next epoch, and what that has is not known. */
START_TEST(a_record_may_be_of_any_later_epoch)
{
	const uint32_t source = XVT_SOURCE_KVM;

	add(500 * MS, 1000 * MS);
	add(600 * MS, 1100 * MS);
	add_of(source, 520 * MS, 1200 * MS, ERR);
	add_of(source, 620 * MS, 1300 * MS, ERR);
	ck_set(550 * MS, 1020 * MS, 1350 * MS, 1050 * MS - STEADY, 1230 * MS + ONE);
	add_of(source, 510 * MS, 1400 * MS, ERR);
	add_of(source, 610 * MS, 1500 * MS, ERR);
	ck_set(550 * MS, 1020 * MS, 1350 * MS, 1050 * MS - STEADY, 1350 * MS);
}
END_TEST

/* 100 ms are reported, by which it was set back, and it is ahead of the old epoch all the same: no
 * value says on which side of the border it was. */
START_TEST(a_clock_that_was_set_back_at_a_border_passed_it_more_than_once)
{
	const enum xvt_map_result want = _i ? XVT_MAP_GUESS : XVT_MAP_OK;
	struct xvt_clock_placed p;

	add(100 * MS, 1000 * MS);
	add(200 * MS, 1100 * MS);
	if (_i)
		xvt_clock_map_reported(&m, 1150 * MS, 100 * MS);
	add(249 * MS, 1300 * MS);
	add(349 * MS, 1400 * MS);
	ck_assert_int_eq(place(190 * MS, 1050 * MS, 1350 * MS, &p), want);
	ck_assert_int_eq(place(260 * MS, 1050 * MS, 1390 * MS, &p), want);
}
END_TEST

/* A segment that is so wide that it reaches over the border, and a look behind that. */
START_TEST(a_wide_segment_is_no_line_where_the_next_epoch_has_the_value)
{
	add(0, 1000 * MS);
	xvt_clock_map_reported(&m, 1050 * MS, 15 * MS);
	ck_assert_uint_eq(add(100 * MS, 1100 * MS), STEADY + 15 * MS);
	add(50 * MS, 1105 * MS);
	add(150 * MS, 1205 * MS);
	add(250 * MS, 1305 * MS);
	/* The old line's time is outside of the look by less than it may be off, so it is kept. */
	ck_set(95 * MS, 1107 * MS, 1200 * MS, 1095 * MS, 1150 * MS + STEADY);
}
END_TEST

/* What was copied after the newest measurement waits for the next one, beside a border as well. */
START_TEST(a_record_beside_a_border_waits_for_a_measurement_after_its_copy)
{
	struct xvt_clock_evidence e = { 1050 * MS, 1420 * MS, 1420 * MS };
	struct xvt_clock_placed p;

	a_clock_that_was_reset();
	ck_assert_int_eq(xvt_clock_map_place(&m, 590 * MS, &e, &p), XVT_MAP_WAIT);
	add(320 * MS, 1500 * MS);
	ck_assert_int_ne(xvt_clock_map_place(&m, 590 * MS, &e, &p), XVT_MAP_WAIT);
	ck_assert_uint_eq(p.hi_ns, 1200 * MS + ERR);
}
END_TEST

/* The value of a node was read within its measuring error. */
START_TEST(measuring_errors_of_nodes_are_in_the_sets_beside_them)
{
	add(500 * MS, 1000 * MS);
	add(600 * MS, 1100 * MS);
	/* Before the first node. */
	ck_set(450 * MS, 900 * MS, 1090 * MS, 900 * MS, 1000 * MS + ERR);
	m.closed = true;
	/* Behind the last one, where nothing will follow. */
	ck_set(650 * MS, 1050 * MS, 1300 * MS, 1100 * MS - ERR, 1300 * MS);
	ck_set(650 * MS, 1120 * MS, 1300 * MS, 1120 * MS, 1300 * MS);
}
END_TEST

/* Another ring of the machine was measured so. This one's clock may be anywhere. */
START_TEST(a_node_that_was_taken_from_elsewhere_proves_nothing)
{
	struct xvt_clock_node n = { .source = XVT_SOURCE_HANDSHAKE,
				    .flags = XVT_NODE_F_TAKEN | XVT_NODE_F_CHANGED,
				    .guest = 500 * MS,
				    .host_ns = 1000 * MS,
				    .bound_ns = ERR };
	struct xvt_clock_placed p;

	ck_assert_int_eq(xvt_clock_map_add(&m, &n), 0);
	ck_assert_uint_eq(n.flags, XVT_NODE_F_FIRST | XVT_NODE_F_TAKEN);
	m.closed = true;
	/* On either side of it, at its own value, and against what its line says. */
	ck_set(450 * MS, 900 * MS, 1090 * MS, 900 * MS, 1090 * MS);
	ck_set(500 * MS, 900 * MS, 1090 * MS, 900 * MS, 1090 * MS);
	ck_set(650 * MS, 900 * MS, 1300 * MS, 900 * MS, 1300 * MS);
	ck_set(650 * MS, 900 * MS, 950 * MS, 900 * MS, 950 * MS);
	ck_assert_int_eq(place(650 * MS, 900 * MS, 1300 * MS, &p), XVT_MAP_GUESS);
	ck_assert_uint_eq(p.host_ns, 1150 * MS);
}
END_TEST

/* Its line says another time than the drain: the choice is within what the drain saw. */
START_TEST(a_choice_is_inside_the_set)
{
	struct xvt_clock_placed p;

	a_clock_that_was_reset();
	ck_assert_int_ne(place(650 * MS, 1110 * MS, 1120 * MS, &p), XVT_MAP_WAIT);
	ck_assert_uint_ge(p.host_ns, 1110 * MS);
	ck_assert_uint_le(p.host_ns, 1120 * MS);
	ck_assert_uint_eq(p.lo_ns, 1110 * MS);
	ck_assert_uint_eq(p.hi_ns, 1120 * MS);
}
END_TEST

START_TEST(the_bound_of_a_set_is_the_distance_to_its_far_end)
{
	ck_assert_uint_eq(xvt_clock_placed_bound_ns(&(struct xvt_clock_placed){
				  .host_ns = 120, .lo_ns = 100, .hi_ns = 200 }),
			  80);
	ck_assert_uint_eq(xvt_clock_placed_bound_ns(&(struct xvt_clock_placed){
				  .host_ns = 190, .lo_ns = 100, .hi_ns = 200 }),
			  90);
}
END_TEST

Suite *clock_sets_suite(void)
{
	Suite *s = suite_create("clock_sets");
	TCase *segments = tcase_create("segments"), *records = tcase_create("records");

	tcase_add_checked_fixture(segments, setup, teardown);
	tcase_add_test(segments, an_error_of_the_rate_is_in_the_bound_of_all_but_formulas);
	tcase_add_loop_test(segments, a_rate_that_changes_is_in_the_bound, 0, 7);
	tcase_add_test(segments, a_steady_clock_may_have_wandered_between_two_nodes);
	tcase_add_test(segments, a_short_gap_says_nothing_of_the_rate);
	tcase_add_test(segments, a_segment_in_which_a_clock_lost_time_is_flagged);
	tcase_add_loop_test(segments, a_border_with_a_reported_change_has_its_size_as_bound, 0, 3);
	tcase_add_test(segments, the_bound_of_a_map_is_what_a_reader_settles);
	suite_add_tcase(s, segments);
	tcase_add_checked_fixture(records, setup, teardown);
	tcase_add_test(records, a_record_has_the_bound_of_its_own_segment);
	tcase_add_loop_test(records, a_value_that_may_have_lasted_is_before_its_node, 0, 2);
	tcase_add_test(records, a_record_may_be_of_the_border_before_its_segment);
	tcase_add_test(records, before_the_first_epoch_there_is_no_border);
	tcase_add_test(records, a_record_may_be_of_the_border_behind_its_segment);
	tcase_add_test(records, a_record_may_be_of_an_epoch_that_is_not_measured_yet);
	tcase_add_test(records, a_record_may_be_of_both_segments_beside_a_border);
	tcase_add_test(records, a_record_may_be_of_any_later_epoch);
	tcase_add_loop_test(records, a_clock_that_was_set_back_at_a_border_passed_it_more_than_once,
			    0, 2);
	tcase_add_test(records, a_wide_segment_is_no_line_where_the_next_epoch_has_the_value);
	tcase_add_test(records, a_record_beside_a_border_waits_for_a_measurement_after_its_copy);
	tcase_add_test(records, measuring_errors_of_nodes_are_in_the_sets_beside_them);
	tcase_add_test(records, a_node_that_was_taken_from_elsewhere_proves_nothing);
	tcase_add_test(records, a_choice_is_inside_the_set);
	tcase_add_test(records, the_bound_of_a_set_is_the_distance_to_its_far_end);
	suite_add_tcase(s, records);
	return s;
}
