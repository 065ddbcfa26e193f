// SPDX-License-Identifier: GPL-2.0
/* test_look_list.c - what the looks of a file say of a time: all that hold it, together. */
#include "suites.h"

#include "view/looks.h"

static struct xvt_look_list list;

static void setup(void)
{
	list = (struct xvt_look_list){ 0 };
}

static void teardown(void)
{
	xvt_look_list_fini(&list);
}

static void add(uint64_t first_ns, uint64_t last_ns, uint64_t lo_ns, uint64_t hi_ns)
{
	const struct xvt_clock_look k = {
		.first_ns = first_ns, .last_ns = last_ns, .lo_ns = lo_ns, .hi_ns = hi_ns
	};

	ck_assert_int_eq(xvt_look_list_add(&list, &k), 0);
}

static void settle(void)
{
	ck_assert_int_eq(xvt_look_list_settle(&list), 0);
}

static void ck_found(uint64_t ns, uint64_t lo_ns, uint64_t hi_ns)
{
	struct xvt_look_span span;

	ck_assert(xvt_look_list_find(&list, ns, &span));
	ck_assert_uint_eq(span.lo_ns, lo_ns);
	ck_assert_uint_eq(span.hi_ns, hi_ns);
}

static void ck_none(uint64_t ns)
{
	struct xvt_look_span span;

	ck_assert(!xvt_look_list_find(&list, ns, &span));
}

/* It is not known which of them is that of an event. */
START_TEST(all_looks_that_hold_a_time_count)
{
	add(100, 300, 90, 310);
	add(150, 250, 40, 260);
	add(200, 220, 190, 700);
	settle();
	ck_found(120, 90, 310);
	ck_found(160, 40, 310);
	ck_found(200, 40, 700);
	ck_found(220, 40, 700);
	ck_found(221, 40, 310);
	ck_found(300, 90, 310);
}
END_TEST

/* Of those that begin before a time, later ones may have ended, and an earlier one has not. */
START_TEST(a_look_is_found_behind_shorter_ones)
{
	add(500, 900, 480, 920);
	add(510, 520, 505, 525);
	add(530, 540, 525, 545);
	add(100, 400, 50, 450);
	settle();
	ck_found(700, 480, 920);
	ck_found(400, 50, 450);
	ck_none(450);
	ck_none(901);
}
END_TEST

/* A search that found none is not done again; what lies just beside it is found. */
START_TEST(what_holds_no_look_ends_where_the_next_one_begins)
{
	add(100, 200, 90, 210);
	add(300, 400, 290, 410);
	settle();
	for (int i = 0; i < 2; i++) {
		ck_none(250);
		ck_none(201);
		ck_none(299);
		ck_found(200, 90, 210);
		ck_none(250);
		ck_found(300, 290, 410);
		ck_none(99);
		ck_none(0);
		ck_found(100, 90, 210);
		ck_none(500);
		ck_none(UINT64_MAX);
		ck_found(400, 290, 410);
	}
}
END_TEST

/* So no file makes a search long, and none makes a bound that is too small. */
START_TEST(too_many_looks_of_one_time_bound_nothing)
{
	for (uint64_t i = 0; i < 200; i++)
		add(1000, 1000 + i, 900, 1300);
	settle();
	ck_found(1000, 0, UINT64_MAX);
	ck_found(1190, 900, 1300);
}
END_TEST

/* A look that ends before it begins is none. */
START_TEST(nonsense_is_left_out)
{
	add(200, 100, 90, 210);
	add(100, 200, 210, 90);
	settle();
	ck_assert_uint_eq(list.count, 0);
	ck_none(150);
}
END_TEST

START_TEST(the_bound_is_the_distance_to_the_far_end)
{
	const struct xvt_look_span s = { .lo_ns = 1000, .hi_ns = 5000 };

	ck_assert_uint_eq(xvt_look_span_bound_ns(&s, 1000), 4000);
	ck_assert_uint_eq(xvt_look_span_bound_ns(&s, 1500), 3500);
	ck_assert_uint_eq(xvt_look_span_bound_ns(&s, 4000), 3000);
	ck_assert_uint_eq(xvt_look_span_bound_ns(&s, 900), 4100);
	ck_assert_uint_eq(xvt_look_span_bound_ns(&s, 5200), 4200);
}
END_TEST

/* The distance to the host's boot says nothing of a time. */
START_TEST(a_side_that_is_not_known_is_no_bound)
{
	const struct xvt_look_span late = { .lo_ns = 0, .hi_ns = 5000 };
	const struct xvt_look_span early = { .lo_ns = 1000, .hi_ns = UINT64_MAX };

	ck_assert_uint_eq(xvt_look_span_bound_ns(&late, 4000), XVT_NO_BOUND);
	ck_assert_uint_eq(xvt_look_span_bound_ns(&early, 4000), XVT_NO_BOUND);
}
END_TEST

Suite *look_list_suite(void)
{
	Suite *s = suite_create("look_list");
	TCase *t = tcase_create("looks");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, all_looks_that_hold_a_time_count);
	tcase_add_test(t, a_look_is_found_behind_shorter_ones);
	tcase_add_test(t, what_holds_no_look_ends_where_the_next_one_begins);
	tcase_add_test(t, too_many_looks_of_one_time_bound_nothing);
	tcase_add_test(t, nonsense_is_left_out);
	tcase_add_test(t, the_bound_is_the_distance_to_the_far_end);
	tcase_add_test(t, a_side_that_is_not_known_is_no_bound);
	suite_add_tcase(s, t);
	return s;
}
