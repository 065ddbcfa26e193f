// SPDX-License-Identifier: GPL-2.0
/* test_clock_rate.c - which rate a clock is taken to have, whatever its first measurements saw. */
#include "suites.h"

#include "clock/rate.h"

#define MS   1000000ull
#define HOST 2600000000ull

/* A clock that is measured: where it stands, and how it goes on. */
struct clock {
	struct xvt_clock_rate rate;
	uint64_t ns;
	uint64_t guest;
	uint64_t hz;
	uint64_t bound_ns;
	bool narrow; /* its measurements have exchanges near each other */
};

static void begin(struct clock *c, uint64_t hz, uint64_t host_hz, uint64_t claim_hz)
{
	*c = (struct clock){ .ns = 1000 * MS, .guest = 1ull << 40, .hz = hz, .bound_ns = 100 };
	xvt_clock_rate_init(&c->rate, host_hz, claim_hz);
}

/* Runs on for a while, of which it stands still for a part. Returns whether the rate changed. */
static bool run_told(struct clock *c, uint64_t ms, uint64_t stop_ms, bool told)
{
	const struct xvt_clock_node n = { .source = XVT_SOURCE_HANDSHAKE,
					  .guest = c->guest += (ms - stop_ms) * (c->hz / 1000),
					  .host_ns = c->ns += ms * MS,
					  .bound_ns = c->bound_ns };

	/* 32 exchanges of 0.3 us. */
	const struct xvt_rate_gap within = { c->narrow ? c->hz / 100000 : 0, 10000, 600 };

	return xvt_clock_rate_add(&c->rate, &n, &within, told);
}

static bool run(struct clock *c, uint64_t ms, uint64_t stop_ms)
{
	return run_told(c, ms, stop_ms, false);
}

static bool about(uint64_t a, uint64_t b)
{
	return (a > b ? a - b : b - a) <= b / 500000;
}

START_TEST(an_expected_rate_is_confirmed_by_one_gap)
{
	struct clock c;

	begin(&c, HOST, HOST, 0);
	ck_assert(!run(&c, 100, 0) && !c.rate.hz);
	ck_assert(run(&c, 100, 0));
	ck_assert_uint_eq(c.rate.hz, HOST);
	begin(&c, 1000000000, HOST, 1000000000);
	run(&c, 100, 0);
	ck_assert(run(&c, 100, 0));
	ck_assert_uint_eq(c.rate.hz, 1000000000);
	/* A guest that calibrated its counter by an emulated timer claims nonsense. */
	begin(&c, HOST, HOST, HOST / 3);
	run(&c, 100, 0);
	ck_assert(run(&c, 100, 0));
	ck_assert_uint_eq(c.rate.hz, HOST);
}
END_TEST

/* A stop at each place among the first measurements; what is told of it is no gap at all. */
START_TEST(a_stop_is_no_rate)
{
	const uint64_t stop = (uint64_t)_i % 12;
	const bool told = _i >= 12;
	struct clock c;
	uint64_t i;

	begin(&c, _i % 2 ? HOST : 1500000000, HOST, 0);
	for (i = 0; i < 12; i++) {
		run_told(&c, i == stop ? 400 : 100, i == stop ? 300 : 0, told && i == stop);
		/* At most one gap's time after the stop it is right. */
		if (i > stop + 2 || i + 1 < stop)
			ck_assert(!c.rate.hz || about(c.rate.hz, c.hz));
	}
	ck_assert(about(c.rate.hz, c.hz));
}
END_TEST

START_TEST(two_gaps_that_agree_replace_a_wrong_rate)
{
	struct clock c;

	begin(&c, HOST, 0, 0);
	run(&c, 100, 0);
	run(&c, 400, 200); /* half of the rate, twice: as good as true */
	ck_assert(run(&c, 400, 200));
	ck_assert(about(c.rate.hz, HOST / 2));
	ck_assert(!run(&c, 100, 0));
	ck_assert(run(&c, 100, 0));
	ck_assert(about(c.rate.hz, HOST));
}
END_TEST

/* A recorder without CPU measures seldom, and each gap has the same stops. */
START_TEST(equal_stops_in_all_gaps_are_no_rate)
{
	struct clock c;
	int i;

	begin(&c, HOST, HOST, 0);
	c.narrow = true;
	for (i = 0; i < 10; i++)
		run(&c, 100, 0);
	for (i = 0; i < 20; i++) {
		ck_assert(!run(&c, 600, 180));
		ck_assert_uint_eq(c.rate.hz, HOST);
	}
	/* Nor at the begin. */
	begin(&c, HOST, 0, 0);
	c.narrow = true;
	for (i = 0; i < 20; i++)
		run(&c, 600, 180);
	ck_assert_uint_eq(c.rate.hz, 0);
	run(&c, 100, 0);
	run(&c, 100, 0);
	ck_assert(about(c.rate.hz, HOST));
}
END_TEST

/*
 * A clock that is set back by as much in each gap, while the recorder has so little CPU that its
 * measurements show no rate. Before, they did.
 */
START_TEST(what_measurements_have_shown_stays)
{
	const bool of_hosts_kind = _i;
	struct clock c;
	int i;

	begin(&c, HOST, of_hosts_kind ? HOST : 0, of_hosts_kind ? 0 : HOST);
	c.narrow = true;
	for (i = 0; i < 3; i++)
		run(&c, 100, 0);
	c.narrow = false;
	for (; i < 40; i++) {
		ck_assert(!run(&c, 600, 90));
		ck_assert_uint_eq(c.rate.hz, HOST);
	}
	/* It has another rate from here on, and nothing but a measurement can show that. */
	c.hz = HOST / 2;
	for (i = 0; i < 10; i++)
		ck_assert(!run(&c, 100, 0));
	c.narrow = true;
	for (i = 0; i < 4; i++)
		run(&c, 100, 0);
	ck_assert(about(c.rate.hz, HOST / 2));
}
END_TEST

/* The same from the begin. */
START_TEST(what_measurements_show_replaces_what_gaps_did)
{
	const bool of_hosts_kind = _i;
	struct clock c;
	int i;

	begin(&c, HOST, of_hosts_kind ? HOST : 0, of_hosts_kind ? 0 : HOST);
	for (i = 0; i < 20; i++)
		run(&c, 600, 90);
	ck_assert(about(c.rate.hz, HOST / 100 * 85));
	c.narrow = true;
	ck_assert(!run(&c, 600, 90));
	ck_assert_uint_ge(c.rate.doubt_ppb, 170000000);
	ck_assert(run(&c, 600, 90));
	ck_assert_uint_eq(c.rate.hz, HOST);
	/* The measurement says no more of a claim than this. */
	ck_assert_uint_ge(c.rate.doubt_ppb, of_hosts_kind ? 0 : 1000000000 / 64);
	ck_assert_uint_lt(c.rate.doubt_ppb, 100000000);
	c.narrow = false;
	for (i = 0; i < 20; i++)
		ck_assert(!run(&c, 600, 90));
}
END_TEST

/* One that ticks at the host's rate and is set forward all the time has not that rate. */
START_TEST(a_saw_tooth_keeps_the_rate_of_its_gaps)
{
	struct clock c;
	int i;

	begin(&c, HOST / 10 * 11, HOST, HOST / 10 * 11);
	for (i = 0; i < 4; i++)
		run(&c, 100, 0);
	ck_assert_uint_eq(c.rate.hz, HOST / 10 * 11);
	for (i = 0; i < 10; i++) {
		const struct xvt_rate_gap within = { HOST / 100000, 10000, 600 };
		const struct xvt_clock_node n = { .source = XVT_SOURCE_HANDSHAKE,
						  .guest = c.guest += c.hz / 10,
						  .host_ns = c.ns += 100 * MS,
						  .bound_ns = 100 };

		ck_assert(!xvt_clock_rate_add(&c.rate, &n, &within, false));
	}
	ck_assert_uint_eq(c.rate.hz, HOST / 10 * 11);
}
END_TEST

/* Two stops of one length, with a gap between them that says that the rate is right. */
START_TEST(two_gaps_agree_only_in_a_row)
{
	struct clock c;

	begin(&c, HOST, 0, 0);
	run(&c, 100, 0);
	run(&c, 100, 0);
	run(&c, 100, 0);
	run(&c, 400, 200);
	run(&c, 100, 0);
	ck_assert(!run(&c, 400, 200));
	ck_assert(about(c.rate.hz, HOST));
}
END_TEST

/* Else two stops of one length, each of them reported, would be a rate. */
START_TEST(what_is_reported_is_no_gap)
{
	struct clock c;

	begin(&c, 1500000000, 0, 0);
	run(&c, 100, 0);
	ck_assert(!run_told(&c, 400, 200, true));
	ck_assert(!run_told(&c, 400, 200, true));
	ck_assert(!run_told(&c, 400, 200, true));
	ck_assert_uint_eq(c.rate.hz, 0);
	run(&c, 100, 0);
	ck_assert(run(&c, 100, 0));
	ck_assert(about(c.rate.hz, c.hz));
}
END_TEST

/* A counter of the host's kind has its rate, whatever a gap of some milliseconds says of it. */
START_TEST(the_rate_of_the_host_is_used_as_it_is)
{
	struct clock c;

	begin(&c, HOST / 1000 * 1010, HOST, 0);
	for (int i = 0; i < 12; i++)
		run(&c, 100, 0);
	ck_assert_uint_eq(c.rate.hz, HOST);
	ck_assert_uint_eq(c.rate.doubt_ppb, 0);
}
END_TEST

/* 1 ms of 100 in three of eight gaps, or in five: most gaps may be wrong, and in one direction. */
START_TEST(how_well_a_rate_is_known)
{
	const int stops = _i ? 5 : 3;
	struct clock c;

	begin(&c, 1500000000, 0, 0);
	run(&c, 100, 0);
	run(&c, 100, 0);
	run(&c, 100, 0);
	ck_assert(about(c.rate.hz, c.hz));
	/* Two gaps may have had a stop each. */
	ck_assert_uint_ge(c.rate.doubt_ppb, 1000000000 / 64);
	for (int i = 0; i < 8; i++)
		run(&c, 100, 0);
	ck_assert_uint_lt(c.rate.doubt_ppb, 10000);
	for (int i = 0; i < 40; i++) {
		run(&c, 100, i % 8 < stops);
		ck_assert(about(c.rate.hz, c.hz));
		/* A quarter of the gaps on each side is left out. */
		if (i >= 8)
			ck_assert_uint_ge(c.rate.doubt_ppb, 9900000);
	}
}
END_TEST

/* A gap of 100 ms near a claim of 1.5 GHz: 1 % of it may have been a stop. */
START_TEST(a_rate_by_one_gap_is_known_as_well_as_a_measurement_says)
{
	struct clock c;

	begin(&c, 1500000000, 0, 1500000000);
	run(&c, 100, 0);
	ck_assert(run(&c, 100, 1));
	ck_assert(!about(c.rate.hz, c.hz));
	ck_assert_uint_eq(c.rate.doubt_ppb, 1000000000); /* not at all */
	/* A second gap agrees with that, and both may have had a stop. */
	run(&c, 100, 1);
	ck_assert_uint_ge(c.rate.doubt_ppb, 1000000000 / 64);
	ck_assert_uint_lt(c.rate.doubt_ppb, 1000000000 / 32);

	begin(&c, 1500000000, 0, 1500000000);
	c.narrow = true;
	run(&c, 100, 0);
	ck_assert(run(&c, 100, 1));
	/* The exchanges of 10 us are known to 0.6 us. */
	ck_assert_uint_ge(c.rate.doubt_ppb, 60000000);
	ck_assert_uint_lt(c.rate.doubt_ppb, 100000000);
}
END_TEST

/* A counter of the host's kind, of whose gaps each had a stop of the same part. */
START_TEST(the_rate_of_the_host_stays_possible_until_a_measurement)
{
	struct clock c;

	begin(&c, HOST, HOST, 0);
	run(&c, 100, 0);
	run(&c, 100, 50);
	ck_assert(run(&c, 100, 50));
	ck_assert(about(c.rate.hz, HOST / 2));
	for (int i = 0; i < 20; i++) {
		ck_assert_uint_ge(c.rate.doubt_ppb, 999000000);
		ck_assert(c.rate.open);
		run(&c, 100, 50);
	}
	/* One shows that the clock itself has that rate. */
	c.hz = HOST / 2;
	c.narrow = true;
	run(&c, 100, 0);
	ck_assert_uint_lt(c.rate.doubt_ppb, 1000000000 / 32);
	ck_assert(!c.rate.open);
	/* Of another kind of counter that is no rate in particular. */
	begin(&c, HOST, 0, 0);
	run(&c, 100, 0);
	run(&c, 100, 50);
	ck_assert(run(&c, 100, 50));
	ck_assert_uint_lt(c.rate.doubt_ppb, 1000000000 / 32);
	ck_assert(!c.rate.open);
}
END_TEST

/* A clock of its own that is set back by as much in each of its gaps; and one whose claim is off by
 * less than a measurement shows. */
START_TEST(the_rate_that_is_claimed_stays_possible_until_a_measurement)
{
	struct clock c;

	begin(&c, 1000000000, 0, 1000000000);
	run(&c, 100, 0);
	run(&c, 100, 10);
	ck_assert(run(&c, 100, 10));
	ck_assert(about(c.rate.hz, 900000000));
	for (int i = 0; i < 20; i++) {
		ck_assert_uint_ge(c.rate.doubt_ppb, 111000000);
		ck_assert(c.rate.open);
		run(&c, 100, 10);
	}
	begin(&c, 980000000, 0, 1000000000);
	run(&c, 1000, 0);
	run(&c, 1000, 0);
	ck_assert(run(&c, 1000, 0));
	ck_assert_uint_ge(c.rate.doubt_ppb, 20000000);
	run(&c, 1000, 0);
	ck_assert_uint_ge(c.rate.doubt_ppb, 20000000);
	ck_assert(c.rate.open);
	run(&c, 1000, 0);
	ck_assert_uint_lt(c.rate.doubt_ppb, 20000000);
	ck_assert(!c.rate.open);
}
END_TEST

/* Two gaps that agree are not enough against a rate that is expected and was seen. */
START_TEST(an_expected_rate_needs_four_gaps_against_it)
{
	struct clock c;
	int i;

	begin(&c, 1000000000, 0, 1000000000);
	run(&c, 100, 0);
	ck_assert(run(&c, 100, 0));
	for (i = 0; i < 3; i++)
		ck_assert(!run(&c, 100, 15));
	ck_assert(run(&c, 100, 15));
	ck_assert(about(c.rate.hz, 850000000));
	ck_assert_uint_ge(c.rate.doubt_ppb, 176000000);
}
END_TEST

/* The claim counts within a burst, but not against the host's own rate. */
START_TEST(how_far_a_claim_is_off)
{
	struct xvt_clock_rate r;

	xvt_clock_rate_init(&r, 0, 1000000000);
	ck_assert_uint_eq(xvt_clock_rate_off_claim_ppb(&r, 1000000000), 0);
	ck_assert_uint_eq(xvt_clock_rate_off_claim_ppb(&r, 800000000), 200000000);
	xvt_clock_rate_init(&r, HOST, HOST / 2);
	ck_assert_uint_eq(xvt_clock_rate_off_claim_ppb(&r, HOST), 0);
	xvt_clock_rate_init(&r, 0, 0);
	ck_assert_uint_eq(xvt_clock_rate_off_claim_ppb(&r, 800000000), 0);
}
END_TEST

/* 46.5 MHz are claimed, and 45.1 are right. */
START_TEST(a_claim_is_a_hint)
{
	struct clock c;
	int i;

	begin(&c, 45100000, 0, 46500000);
	for (i = 0; i < 4; i++)
		run(&c, 100, 0);
	ck_assert(about(c.rate.hz, 45100000));
}
END_TEST

/* A claim that is 1 % too small, and a stop that makes up for it: a long gap is no proof of it. */
START_TEST(a_stop_that_fits_a_false_claim_confirms_nothing)
{
	struct clock c;

	begin(&c, 2000000000, HOST, 1980000000);
	run(&c, 1000, 0);
	ck_assert(!run(&c, 1000, 10) && !c.rate.hz);
	ck_assert(run(&c, 1000, 0));
	ck_assert(about(c.rate.hz, 2000000000));
	ck_assert_uint_ge(c.rate.doubt_ppb, 1000000000 / 100);
	/* A claim that is true is confirmed by the second gap, and is then as good as ever. */
	begin(&c, 2000000000, HOST, 2000000000);
	run(&c, 1000, 0);
	ck_assert(!run(&c, 1000, 0) && !c.rate.hz);
	ck_assert(run(&c, 1000, 0));
	ck_assert_uint_eq(c.rate.hz, 2000000000);
	ck_assert_uint_le(c.rate.doubt_ppb, 1000);
	/* The host's rate needs no claim. */
	begin(&c, HOST, HOST, 0);
	run(&c, 1000, 0);
	ck_assert(run(&c, 1000, 0));
}
END_TEST

START_TEST(small_stops_do_not_drag_a_right_rate_away)
{
	struct clock c;
	int i;

	begin(&c, 1000000000, 0, 1000000000);
	for (i = 0; i < 60; i++)
		run(&c, 100, i % 5 == 3);
	ck_assert_uint_eq(c.rate.hz, 1000000000);
	/* One that runs 200 ppm faster from here on is followed. */
	c.hz = 1000200000;
	for (i = 0; i < 20; i++)
		run(&c, 100, 0);
	ck_assert(about(c.rate.hz, c.hz));
}
END_TEST

START_TEST(wide_measurements_need_a_longer_gap)
{
	struct clock c;
	int i;

	begin(&c, HOST, HOST, 0);
	c.bound_ns = 5 * MS;
	for (i = 0; i < 10; i++)
		ck_assert(!run(&c, 100, 0));
	for (; i < 12; i++)
		run(&c, 100, 0);
	ck_assert_uint_eq(c.rate.hz, HOST);
}
END_TEST

/* A clock that is set back, or answers nonsense, gives no rate and breaks nothing. */
START_TEST(nonsense_is_no_gap)
{
	struct xvt_clock_node n = { .source = XVT_SOURCE_HANDSHAKE, .guest = 1ull << 60 };
	const struct xvt_rate_gap none = { 0 };
	struct xvt_clock_rate r;
	int i;

	xvt_clock_rate_init(&r, HOST, 1);
	for (i = 0; i < 20; i++) {
		n.guest = i % 2 ? 1 : UINT64_MAX - (uint64_t)i;
		n.host_ns += (uint64_t)i * MS;
		n.bound_ns = i % 3 ? 0 : UINT64_MAX;
		xvt_clock_rate_add(&r, &n, &none, false);
	}
	ck_assert(!r.hz);
}
END_TEST

Suite *clock_rate_suite(void)
{
	Suite *s = suite_create("clock_rate");
	TCase *t = tcase_create("rate");

	tcase_add_test(t, an_expected_rate_is_confirmed_by_one_gap);
	tcase_add_loop_test(t, a_stop_is_no_rate, 0, 24);
	tcase_add_test(t, two_gaps_that_agree_replace_a_wrong_rate);
	tcase_add_test(t, equal_stops_in_all_gaps_are_no_rate);
	tcase_add_loop_test(t, what_measurements_have_shown_stays, 0, 2);
	tcase_add_loop_test(t, what_measurements_show_replaces_what_gaps_did, 0, 2);
	tcase_add_test(t, a_saw_tooth_keeps_the_rate_of_its_gaps);
	tcase_add_test(t, two_gaps_agree_only_in_a_row);
	tcase_add_test(t, what_is_reported_is_no_gap);
	tcase_add_test(t, the_rate_of_the_host_is_used_as_it_is);
	tcase_add_loop_test(t, how_well_a_rate_is_known, 0, 2);
	tcase_add_test(t, a_rate_by_one_gap_is_known_as_well_as_a_measurement_says);
	tcase_add_test(t, the_rate_of_the_host_stays_possible_until_a_measurement);
	tcase_add_test(t, the_rate_that_is_claimed_stays_possible_until_a_measurement);
	tcase_add_test(t, an_expected_rate_needs_four_gaps_against_it);
	tcase_add_test(t, how_far_a_claim_is_off);
	tcase_add_test(t, a_claim_is_a_hint);
	tcase_add_test(t, a_stop_that_fits_a_false_claim_confirms_nothing);
	tcase_add_test(t, small_stops_do_not_drag_a_right_rate_away);
	tcase_add_test(t, wide_measurements_need_a_longer_gap);
	tcase_add_test(t, nonsense_is_no_gap);
	suite_add_tcase(s, t);
	return s;
}
