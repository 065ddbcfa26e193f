// SPDX-License-Identifier: GPL-2.0
/*
 * test_clock_seen.c - a clock of which nothing is known but when its events were seen. The guest is
 * made here, so the host time of each stamp is known: a node must hold it, unless its event was
 * held between stamp and commit.
 */
#include "suites.h"

#include <string.h>

#include "clock/seen.h"

#define HZ 1000000000ull /* of both clocks */
#define US 1000ull
#define MS 1000000ull

static struct xvt_host_clock hc;
static struct xvt_clock_source *src;
static struct xvt_clock_measure m;
static uint64_t guest_hz, doubt_ppb, offset;
static bool rate_open;

static void setup(void)
{
	const struct xvt_clock_target t = { .host_clock = &hc,
					    .guest_hz = &guest_hz,
					    .rate_open = &rate_open,
					    .rate_doubt_ppb = &doubt_ppb,
					    .ring = 3 };

	ck_assert_int_eq(xvt_host_clock_init(&hc), 0);
	hc.hz = HZ;
	hc.count = 0;
	hc.base_clock = hc.base_ns = 0;
	hc.mult = 1;
	hc.shift = 0;
	guest_hz = HZ;
	doubt_ppb = 0;
	offset = 1000 * MS;
	rate_open = false;
	ck_assert_int_eq(xvt_clock_seen.open(&src, &t), 0);
}

static void teardown(void)
{
	xvt_clock_seen.close(src);
	xvt_host_clock_fini(&hc);
}

/* An event that was stamped at host time `at`, and seen between two looks. */
static void event(uint64_t at, uint64_t lo, uint64_t hi)
{
	xvt_clock_seen_event(src, at - offset, lo, hi);
}

static void measure(void)
{
	xvt_clock_seen.start(src);
	ck_assert_int_eq(xvt_clock_seen.poll(src, &m), 1);
	ck_assert_uint_eq(m.node.source, XVT_SOURCE_SEEN);
	ck_assert_uint_eq(m.node.ring, 3);
	ck_assert_uint_eq(m.nr_samples, 1);
	ck_assert_uint_eq(m.samples[0].guest, m.node.guest);
	ck_assert_uint_le(m.node.host_ns + m.node.bound_ns, m.samples[0].host_clock_hi + 4);
	ck_assert_uint_ge(m.node.host_ns + 4, m.samples[0].host_clock_lo + m.node.bound_ns);
}

static bool holds(uint64_t at)
{
	return m.node.host_ns - m.node.bound_ns <= at && at <= m.node.host_ns + m.node.bound_ns;
}

START_TEST(a_node_lies_between_two_looks)
{
	xvt_clock_seen.start(src);
	ck_assert_int_eq(xvt_clock_seen.poll(src, &m), 0); /* no event came */
	ck_assert(!xvt_clock_seen.busy(src));
	rate_open = true;
	event(2000 * MS, 1999 * MS, 2001 * MS);
	measure();
	ck_assert(holds(2000 * MS));
	ck_assert_uint_le(m.node.bound_ns, MS + 4);
	ck_assert_int_eq(xvt_clock_seen.poll(src, &m), 0);
	measure(); /* nobody knows whether the node was taken */
	ck_assert(holds(2000 * MS));
	/* A rate that is open says nothing of the next one. */
	event(3000 * MS, 2990 * MS, 3010 * MS);
	measure();
	ck_assert_uint_ge(m.node.bound_ns, 10 * MS);
}
END_TEST

START_TEST(the_event_that_was_seen_soonest_says_most)
{
	event(2000 * MS, 1999 * MS, 2000 * MS + 5 * US);
	event(2005 * MS, 2004 * MS, 2009 * MS);
	event(2040 * MS, 2030 * MS, 2044 * MS);
	measure();
	ck_assert(holds(2040 * MS));
	ck_assert_uint_le(m.node.host_ns + m.node.bound_ns, 2040 * MS + 10 * US);
	ck_assert_uint_ge(m.node.host_ns - m.node.bound_ns, 2038 * MS);
}
END_TEST

/* Its vCPU was held for 30 ms: only later events in a row that are as old change the line. */
START_TEST(an_event_that_was_held_moves_no_line)
{
	event(2000 * MS, 1999 * MS, 2000 * MS + 5 * US);
	measure();
	event(2040 * MS, 2070 * MS, 2071 * MS);
	for (int i = 0; i < 5; i++)
		measure();
	ck_assert(holds(2040 * MS));
	ck_assert_uint_le(m.node.bound_ns, MS);
	event(2100 * MS, 2100 * MS - 50 * US, 2100 * MS + 20 * US);
	measure();
	ck_assert(holds(2100 * MS));
}
END_TEST

START_TEST(a_clock_that_lost_time_is_believed_at_last)
{
	event(2000 * MS, 1999 * MS, 2000 * MS + 5 * US);
	measure();
	offset += 30 * MS; /* it stood still */
	for (uint64_t at = 2100 * MS; at < 2400 * MS; at += 100 * MS) {
		event(at, at - 50 * US, at + 20 * US);
		measure();
	}
	ck_assert(holds(2300 * MS));
	ck_assert_uint_le(m.node.bound_ns, MS);
}
END_TEST

/* It was seen before the line lets it be: that is a proof. */
START_TEST(a_clock_that_gained_time_is_believed_at_once)
{
	event(2000 * MS, 1999 * MS, 2000 * MS + 5 * US);
	measure();
	offset -= 30 * MS;
	event(2100 * MS, 2099 * MS, 2101 * MS);
	measure();
	ck_assert(holds(2100 * MS));
	/* One that went back, too. */
	offset += 500 * MS;
	event(2200 * MS, 2199 * MS, 2201 * MS);
	measure();
	ck_assert(holds(2200 * MS));
}
END_TEST

/* Over a long time the doubt of the rate leaves nothing of what an old event says. */
START_TEST(a_rate_that_is_doubted_widens_what_is_old)
{
	doubt_ppb = 1000000;
	event(2000 * MS, 1999 * MS, 2000 * MS + 5 * US);
	event(12000 * MS, 11995 * MS, 12004 * MS);
	measure();
	ck_assert(holds(12000 * MS));
	ck_assert_uint_ge(m.node.bound_ns, 4 * MS);
}
END_TEST

Suite *clock_seen_suite(void)
{
	Suite *suite = suite_create("clock_seen");
	TCase *tc = tcase_create("seen");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, a_node_lies_between_two_looks);
	tcase_add_test(tc, the_event_that_was_seen_soonest_says_most);
	tcase_add_test(tc, an_event_that_was_held_moves_no_line);
	tcase_add_test(tc, a_clock_that_lost_time_is_believed_at_last);
	tcase_add_test(tc, a_clock_that_gained_time_is_believed_at_once);
	tcase_add_test(tc, a_rate_that_is_doubted_widens_what_is_old);
	suite_add_tcase(suite, tc);
	return suite;
}
