// SPDX-License-Identifier: GPL-2.0
/* test_exchange.c - pairs of send and receipt. */
#include "suites.h"

#include <stdio.h>
#include <string.h>

#include "view/exchange.h"

static unsigned int bad_count;
static uint64_t bad_number;

static void bad(void *arg, const struct xvt_exchange *x)
{
	(void)arg;
	bad_count++;
	bad_number = x->number;
}

static void add_within(struct xvt_exchanges *e, const char *what, unsigned int number, uint32_t vm,
		       uint64_t ns, uint64_t bound_ns)
{
	char text[64];

	snprintf(text, sizeof(text), "xvt-%s %u", what, number);
	ck_assert_int_eq(xvt_exchange_add(e, text, strlen(text), vm, ns, bound_ns), 0);
}

static void add(struct xvt_exchanges *e, const char *what, unsigned int number, uint32_t vm,
		uint64_t ns)
{
	add_within(e, what, number, vm, ns, 0);
}

START_TEST(right_order_is_fine_and_measured)
{
	struct xvt_exchanges e = { 0 };

	bad_count = 0;
	for (unsigned int i = 0; i < 5; i++) {
		add(&e, "ping send", i, 0, 1000 * i + 100);
		add(&e, "pong recv", i, 1, 1000 * i + 100 + 10 * i);
		add(&e, "pong send", i, 1, 1000 * i + 500);
		add(&e, "ping recv", i, 0, 1000 * i + 507);
	}
	/* Number 0 took no time: that is not after. */
	xvt_exchanges_check(&e, bad, NULL);
	ck_assert_uint_eq(bad_count, 1);
	ck_assert_uint_eq(bad_number, 0);
	ck_assert_uint_eq(xvt_exchanges_pairs(&e), 10);
	ck_assert_uint_eq(e.way_count, 2);
	ck_assert_uint_eq(xvt_transit_median_ns(&e.ways[0]), 20);
	ck_assert_uint_eq(xvt_transit_median_ns(&e.ways[1]), 7);
	xvt_exchanges_fini(&e);
}
END_TEST

START_TEST(names_of_the_message_work_like_names_of_the_program)
{
	struct xvt_exchanges e = { 0 };

	bad_count = 0;
	add(&e, "ping send", 1, 0, 100);
	add(&e, "ping recv", 1, 1, 90);
	add(&e, "pong send", 1, 1, 200);
	add(&e, "pong recv", 1, 0, 300);
	xvt_exchanges_check(&e, bad, NULL);
	ck_assert_uint_eq(bad_count, 1);
	ck_assert_uint_eq(xvt_exchanges_pairs(&e), 2);
	xvt_exchanges_fini(&e);
}
END_TEST

START_TEST(a_time_that_is_a_guess_proves_nothing)
{
	struct xvt_exchanges e = { 0 };

	bad_count = 0;
	add_within(&e, "ping send", 7, 0, 100, _i == 0 ? XVT_EXCHANGE_GUESS : 3);
	add_within(&e, "ping recv", 7, 1, 90, _i == 1 ? XVT_EXCHANGE_GUESS : 3);
	xvt_exchanges_check(&e, bad, NULL);
	ck_assert_uint_eq(bad_count, _i == 2);
	ck_assert_uint_eq(e.guesses, _i != 2);
	ck_assert_uint_eq(xvt_exchanges_pairs(&e), _i == 2);
	xvt_exchanges_fini(&e);
}
END_TEST

/* Sent at 100 and received at 90: two clocks within 5 each may both be right about that. */
START_TEST(what_lies_within_the_bounds_of_both_clocks_contradicts_neither)
{
	static const struct {
		uint64_t sent_within;
		uint64_t received_within;
		bool bad;
	} cases[] = { { 0, 0, true },	{ 5, 5, true },	  { 10, 0, true },	{ 5, 6, false },
		      { 11, 0, false }, { 0, 11, false }, { 1000, 1000, false } };
	struct xvt_exchanges e = { 0 };

	bad_count = 0;
	add_within(&e, "ping send", 7, 0, 100, cases[_i].sent_within);
	add_within(&e, "ping recv", 7, 1, 90, cases[_i].received_within);
	xvt_exchanges_check(&e, bad, NULL);
	ck_assert_uint_eq(bad_count, cases[_i].bad);
	ck_assert_uint_eq(e.undecided, !cases[_i].bad);
	ck_assert_uint_eq(e.undecided_ns_most, cases[_i].bad ? 0 : 10);
	ck_assert_uint_eq(xvt_exchanges_pairs(&e), 1);
	xvt_exchanges_fini(&e);
}
END_TEST

START_TEST(lost_marks_and_other_texts_do_no_harm)
{
	struct xvt_exchanges e = { 0 };

	bad_count = 0;
	add(&e, "ping send", 1, 0, 100);
	add(&e, "pong recv", 2, 1, 90);
	add(&e, "ping send", 3, 0, 100);
	add(&e, "ping recv", 3, 0, 50); /* its own machine's answer */
	add(&e, "peng send", 4, 0, 100);
	ck_assert_int_eq(xvt_exchange_add(&e, "xvt-ping send ", 14, 0, 1, 0), 0);
	ck_assert_int_eq(xvt_exchange_add(&e, "xvt-ping send x", 15, 0, 1, 0), 0);
	ck_assert_int_eq(xvt_exchange_add(&e, "", 0, 0, 1, 0), 0);
	xvt_exchanges_check(&e, bad, NULL);
	ck_assert_uint_eq(bad_count, 0);
	ck_assert_uint_eq(xvt_exchanges_pairs(&e), 0);
	xvt_exchanges_fini(&e);
}
END_TEST

START_TEST(a_number_used_again_pairs_in_order_of_time)
{
	struct xvt_exchanges e = { 0 };

	bad_count = 0;
	for (unsigned int run = 0; run < 3; run++) {
		add(&e, "ping send", 7, 0, 1000 * run);
		add(&e, "pong recv", 7, 1, 1000 * run + 5);
		add(&e, "pong send", 7, 1, 1000 * run + 6);
		add(&e, "ping recv", 7, 0, 1000 * run + (run == 2 ? 4 : 9));
	}
	xvt_exchanges_check(&e, bad, NULL);
	ck_assert_uint_eq(bad_count, 1);
	ck_assert_uint_eq(xvt_exchanges_pairs(&e), 6);
	xvt_exchanges_fini(&e);
}
END_TEST

Suite *exchange_suite(void)
{
	Suite *s = suite_create("exchange");
	TCase *t = tcase_create("exchange");

	tcase_add_test(t, right_order_is_fine_and_measured);
	tcase_add_test(t, names_of_the_message_work_like_names_of_the_program);
	tcase_add_loop_test(t, a_time_that_is_a_guess_proves_nothing, 0, 3);
	tcase_add_loop_test(t, what_lies_within_the_bounds_of_both_clocks_contradicts_neither, 0,
			    7);
	tcase_add_test(t, lost_marks_and_other_texts_do_no_harm);
	tcase_add_test(t, a_number_used_again_pairs_in_order_of_time);
	suite_add_tcase(s, t);
	return s;
}
