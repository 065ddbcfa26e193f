// SPDX-License-Identifier: GPL-2.0
/* test_nodes.c - what a reader adds to the bounds of segments: where a clock that was set back may
 * have had values of the time beside a segment, and what a later measurement confirms. */
#include "suites.h"

#include "trace/nodes.h"

#define MS   1000000ull
#define MANY 12u

/* Every 100 ms from 1 s on, within 10 ns. */
static struct xvt_clock_node nodes[MANY];

static void setup(void)
{
	for (uint32_t i = 0; i < MANY; i++)
		nodes[i] = (struct xvt_clock_node){ .source = XVT_SOURCE_HANDSHAKE,
						    .flags = i ? 0 : XVT_NODE_F_FIRST,
						    .guest = i * 100 * MS,
						    .host_ns = (1000 + i * 100) * MS,
						    .bound_ns = 5,
						    .segment_bound_ns = 10 };
}

static void settle(void)
{
	ck_assert_int_eq(xvt_nodes_settle(nodes, MANY), 0);
}

/* What was added to the segment that ends at this node, and whether it is flagged for that. */
static void ck_more(uint32_t i, uint64_t more)
{
	ck_assert_uint_eq(nodes[i].segment_bound_ns, 10 + more);
	ck_assert_uint_eq(!!(nodes[i].flags & XVT_NODE_BESIDE_BACK), more > 0);
}

START_TEST(nothing_is_added_to_a_clock_that_only_went_forward)
{
	settle();
	for (uint32_t i = 0; i < MANY; i++)
		ck_more(i, 0);
}
END_TEST

/* Set back by up to 150 ms between 1.4 and 1.5 s: it has values of 1.25 s on once more, and those
 * of up to 1.65 s already. */
START_TEST(what_a_clock_that_was_set_back_reaches)
{
	nodes[5].flags |= _i ? XVT_NODE_F_CHANGED : XVT_NODE_F_BACK;
	nodes[5].segment_bound_ns = 150 * MS;
	settle();
	ck_more(2, 0);
	ck_more(3, 150 * MS); /* from 1.2 to 1.3 s */
	ck_more(4, 150 * MS);
	ck_assert_uint_eq(nodes[5].segment_bound_ns, 150 * MS);
	ck_more(6, 150 * MS);
	ck_more(7, 150 * MS); /* from 1.6 to 1.7 s */
	ck_more(8, 0);
	/* A change that was reported happened, whatever a line through other nodes says. */
	for (uint32_t i = 1; i < MANY; i++)
		ck_assert_uint_eq(!!(nodes[i].flags & XVT_NODE_NEAR),
				  _i && (i == 3 || i == 4 || i == 6 || i == 7));
}
END_TEST

/* The one that reaches further, or adds more, is not forgotten for the nearer one. */
START_TEST(of_two_the_larger_addition_counts)
{
	nodes[4].flags |= XVT_NODE_F_BACK;
	nodes[4].segment_bound_ns = 250 * MS;
	nodes[5].flags |= XVT_NODE_F_BACK;
	nodes[5].segment_bound_ns = 20 * MS;
	settle();
	ck_more(1, 250 * MS); /* from 1.0 to 1.1 s: 1.3 s less 250 ms is within it */
	ck_more(3, 250 * MS);
	ck_assert_uint_eq(nodes[4].segment_bound_ns, 270 * MS);
	ck_assert_uint_eq(nodes[5].segment_bound_ns, 270 * MS);
	ck_more(6, 250 * MS);
	ck_more(7, 250 * MS); /* 1.4 s and 250 ms more */
	ck_more(8, 0);
}
END_TEST

/* The first node of an epoch has no segment. */
START_TEST(a_border_gives_to_the_segments_beside_it_and_gets_nothing)
{
	for (uint32_t i = 5; i < MANY; i++)
		nodes[i].epoch = 1;
	nodes[5].flags |= XVT_NODE_F_FIRST | XVT_NODE_F_BACK;
	nodes[5].segment_bound_ns = 40 * MS;
	nodes[4].flags |= XVT_NODE_F_BACK;
	nodes[4].segment_bound_ns = 30 * MS;
	settle();
	ck_more(3, 40 * MS); /* 30 of its own neighbour, and 40 of the border */
	ck_assert_uint_eq(nodes[4].segment_bound_ns, 70 * MS);
	ck_assert_uint_eq(nodes[5].segment_bound_ns, 40 * MS);
	ck_more(6, 40 * MS);
	ck_more(7, 0);
	/* Reported. */
	ck_assert(nodes[4].flags & XVT_NODE_NEAR && nodes[6].flags & XVT_NODE_NEAR);
}
END_TEST

/* Wide ones of the drain at 3 to 5, of one epoch or of two; a measurement confirms those of its
 * own. */
START_TEST(a_measurement_confirms_what_the_drain_saw_in_its_epoch)
{
	const bool same = _i == 0, flagged = _i < 2;

	for (uint32_t i = 0; i < MANY; i++)
		nodes[i].epoch = i >= (same ? 0u : 4u);
	for (uint32_t i = 3; i < 6; i++) {
		nodes[i].source = XVT_SOURCE_DRAIN;
		nodes[i].segment_bound_ns = 5 * MS;
	}
	nodes[6].flags |= flagged ? XVT_NODE_F_SINCE : 0;
	nodes[6].segment_bound_ns = 7000;
	settle();
	ck_assert_uint_eq(nodes[3].segment_bound_ns, same ? 7000 : 5 * MS);
	ck_assert_uint_eq(nodes[4].segment_bound_ns, flagged ? 7000 : 5 * MS);
	ck_assert_uint_eq(nodes[5].segment_bound_ns, flagged ? 7000 : 5 * MS);
	ck_assert_uint_eq(nodes[6].segment_bound_ns, 7000);
	ck_more(2, 0);
}
END_TEST

Suite *nodes_suite(void)
{
	Suite *s = suite_create("nodes");
	TCase *t = tcase_create("settle");

	tcase_add_checked_fixture(t, setup, NULL);
	tcase_add_test(t, nothing_is_added_to_a_clock_that_only_went_forward);
	tcase_add_loop_test(t, what_a_clock_that_was_set_back_reaches, 0, 2);
	tcase_add_test(t, of_two_the_larger_addition_counts);
	tcase_add_test(t, a_border_gives_to_the_segments_beside_it_and_gets_nothing);
	tcase_add_loop_test(t, a_measurement_confirms_what_the_drain_saw_in_its_epoch, 0, 3);
	suite_add_tcase(s, t);
	return s;
}
