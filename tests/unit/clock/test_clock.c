// SPDX-License-Identifier: GPL-2.0
/*
 * test_clock.c - the map from guest clock to host time, and the handshake against a guest
 * that this test plays in a second thread with a clock of its own.
 */
#define _GNU_SOURCE
#include "base/u64.h"
#include "clock/formula.h"
#include "clock/source.h"
#include "suites.h"
#include "must_hold.h"
#include "xvt_region.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define MS     1000000ull
/* Of a clock between two nodes that are 100 ms apart. */
#define WANDER xvt_clock_wander(100 * MS)

static struct xvt_clock_node node(uint64_t guest, uint64_t host_ns, uint64_t bound_ns)
{
	return (struct xvt_clock_node){ .guest = guest, .host_ns = host_ns, .bound_ns = bound_ns };
}

static void add(struct xvt_clock_map *m, uint64_t guest, uint64_t host_ns, uint64_t bound_ns)
{
	struct xvt_clock_node n = node(guest, host_ns, bound_ns);

	ck_assert_int_eq(xvt_clock_map_add(m, &n), 0);
}

static enum xvt_map_result place_seen(struct xvt_clock_map *m, uint64_t guest,
				      const struct xvt_clock_evidence *e, uint64_t *ns)
{
	struct xvt_clock_placed p;
	enum xvt_map_result result = xvt_clock_map_place(m, guest, e, &p);

	*ns = p.host_ns;
	return result;
}

/* With no evidence but the clocks. */
static enum xvt_map_result place(struct xvt_clock_map *m, uint64_t guest, uint64_t *ns)
{
	static const struct xvt_clock_evidence none = { 0, UINT64_MAX, 0 };

	return place_seen(m, guest, &none, ns);
}

START_TEST(a_record_waits_until_a_later_node_confirms_it)
{
	struct xvt_clock_map m;
	uint64_t ns;

	xvt_clock_map_init(&m, 1000000000);
	ck_assert_int_eq(place(&m, 5, &ns), XVT_MAP_WAIT);
	add(&m, 1000, 5000, 10);
	ck_assert_int_eq(place(&m, 1000, &ns), XVT_MAP_OK);
	ck_assert_uint_eq(ns, 5000);
	ck_assert_int_eq(place(&m, 1500, &ns), XVT_MAP_WAIT);
	add(&m, 2000, 6000, 10);
	ck_assert_int_eq(place(&m, 1500, &ns), XVT_MAP_OK);
	ck_assert_uint_eq(ns, 5500);
	m.closed = true;
	ck_assert_int_eq(place(&m, 2500, &ns), XVT_MAP_GUESS);
	ck_assert_uint_eq(ns, 6500);
	xvt_clock_map_fini(&m);
}
END_TEST

START_TEST(a_creeping_clock_is_followed_and_the_bound_covers_what_it_crept)
{
	struct xvt_clock_map m;
	uint64_t ns;

	xvt_clock_map_init(&m, 1000000000);
	add(&m, 0, 1000000, 300);
	/* 100 ms later the guest is 2 ms ahead of where its rate would put it. */
	add(&m, 102000000, 101000000, 200);
	ck_assert_uint_eq(xvt_clock_map_last(&m)->flags, 0);
	ck_assert_uint_eq(xvt_clock_map_last(&m)->segment_bound_ns,
			  2000000 + 300 + WANDER + XVT_STAMP_SLACK_NS);
	ck_assert_uint_eq(m.bound_ns_max, 2000300 + WANDER + XVT_STAMP_SLACK_NS);
	ck_assert_int_eq(place(&m, 51000000, &ns), XVT_MAP_OK);
	ck_assert_uint_eq(ns, 51000000);
	xvt_clock_map_fini(&m);
}
END_TEST

/* Two per cent beside the host's rate, which the recorder takes for it; measured over 100 ms. */
START_TEST(what_lies_far_before_the_first_node_is_placed_by_the_nodes_own_rate)
{
	static const struct {
		uint64_t hz; /* of the guest's clock */
		uint32_t source;
		uint64_t want_hz;
	} cases[] = {
		{ 1020000000, XVT_SOURCE_HANDSHAKE, 1020000000 },
		{ 980000000, XVT_SOURCE_HANDSHAKE, 980000000 },
		{ 1001000000, XVT_SOURCE_HANDSHAKE, 1000000000 }, /* it may have crept */
		{ 1001000000, XVT_SOURCE_KVM, 1001000000 },
		{ 1000000000, XVT_SOURCE_KVM, 1000000000 },
	};
	const uint64_t hz = cases[_i].hz, guest = hz * 10;
	struct xvt_clock_node n = {
		.source = cases[_i].source, .guest = guest, .host_ns = 10000 * MS, .bound_ns = 3
	};
	struct xvt_clock_map m;
	uint64_t ns;

	xvt_clock_map_init(&m, 1000000000);
	ck_assert_uint_eq(xvt_clock_map_own_hz(&m), 1000000000);
	ck_assert_int_eq(xvt_clock_map_add(&m, &n), 0);
	ck_assert_uint_eq(xvt_clock_map_own_hz(&m), 1000000000);
	n.guest += hz / 10;
	n.host_ns += 100 * MS;
	ck_assert_int_eq(xvt_clock_map_add(&m, &n), 0);
	m.hz = xvt_clock_map_own_hz(&m);
	ck_assert_uint_eq(m.hz, cases[_i].want_hz);
	/* Five seconds before. */
	ck_assert_int_eq(place(&m, guest - 5 * hz, &ns), XVT_MAP_GUESS);
	ck_assert_uint_le(ns > 5000 * MS ? ns - 5000 * MS : 5000 * MS - ns,
			  m.hz == hz ? 1000 : xvt_clock_creep_ns(5000 * MS));
	xvt_clock_map_fini(&m);
}
END_TEST

/*
 * KVM cannot scale this TSC, so it ticks as the host's does and is set forward at exits: the nodes
 * lie on a line that the clock itself is off by all that it is behind.
 */
START_TEST(a_clock_that_is_set_forward_is_off_its_line_by_what_it_gains)
{
	struct xvt_clock_map m;

	xvt_clock_map_init(&m, 1100000000);
	m.host_hz = 1000000000;
	add(&m, 0, 1000 * MS, 300);
	add(&m, 110 * MS, 1100 * MS, 200);
	ck_assert_uint_eq(xvt_clock_map_last(&m)->flags, 0);
	ck_assert_uint_eq(xvt_clock_map_last(&m)->segment_bound_ns,
			  10 * MS + 300 + WANDER + XVT_STAMP_SLACK_NS);
	xvt_clock_map_fini(&m);
	/* A slower one has a rate of its own: no hypervisor sets a clock back all the time. */
	xvt_clock_map_init(&m, 900000000);
	m.host_hz = 1000000000;
	add(&m, 0, 1000 * MS, 300);
	add(&m, 90 * MS, 1100 * MS, 200);
	ck_assert_uint_eq(xvt_clock_map_last(&m)->segment_bound_ns,
			  300 + WANDER + XVT_STAMP_SLACK_NS);
	xvt_clock_map_fini(&m);
}
END_TEST

#define SAW_NS	  (37 * MS) /* a step each */
#define SAW_NODES 40

/* A clock of base / 10 ticks per ten ns that is set forward by a tenth each SAW_NS. */
static uint64_t saw(uint64_t host_ns, uint64_t tenths)
{
	return host_ns / 10 * tenths + host_ns / SAW_NS * (SAW_NS / 100 * tenths);
}

/* The most that the saw is off the straight line through both nodes. */
static uint64_t off_line(const struct xvt_clock_node *a, const struct xvt_clock_node *b,
			 uint64_t tenths)
{
	uint64_t most = 0;

	for (uint64_t t = a->host_ns; t < b->host_ns; t += MS / 2) {
		const uint64_t line = xvt_clock_line(a, b, saw(t, tenths));

		most = line > t && line - t > most   ? line - t
		       : t > line && t - line > most ? t - line
						     : most;
	}
	return most;
}

/*
 * Another counter that is set forward all the time: of the host's ticks, where the gain on the host
 * bounds it from the first gap on, and of its own, where the gaps have to show it first; and of the
 * host's, measured so badly that the gaps show nothing for certain.
 */
START_TEST(a_saw_of_another_counter_is_in_its_bounds)
{
	const uint64_t tenths = _i == 1 ? 7 : 10, shown = _i == 1 ? 5 : 1;
	const uint64_t bound_ns = _i == 2 ? MS : 200;
	struct xvt_clock_map m;

	xvt_clock_map_init(&m, 100000000 * tenths * 11 / 10);
	m.host_hz = 1000000000;
	for (uint64_t i = 0; i < SAW_NODES; i++) {
		const uint64_t ns = 1000 * MS + i * 100 * MS + i * i * i * 977 % 89 * MS;
		const struct xvt_clock_node last =
			i ? *xvt_clock_map_last(&m) : (struct xvt_clock_node){ 0 };

		add(&m, saw(ns, tenths), ns, bound_ns);
		if (i < shown)
			continue;
		ck_assert_uint_eq(xvt_clock_map_last(&m)->epoch, 0);
		ck_assert_uint_ge(xvt_clock_map_last(&m)->segment_bound_ns,
				  off_line(&last, xvt_clock_map_last(&m), tenths));
	}
	xvt_clock_map_fini(&m);
}
END_TEST

/* The same, but faster by itself: once its gaps have shown that, it has a usual bound, and a stop
 * in one gap does not change that of the others. */
START_TEST(a_faster_clock_of_its_own_is_not_set_forward)
{
	struct xvt_clock_map m;

	xvt_clock_map_init(&m, 1100000000);
	m.host_hz = 1000000000;
	for (uint64_t i = 0; i < 30; i++) {
		const uint64_t stopped = i > 15 ? 6 * MS : 0;

		add(&m, i * 110 * MS, 1000 * MS + i * 100 * MS + stopped, 200);
		if (i > 10 && i != 16)
			ck_assert_uint_le(xvt_clock_map_last(&m)->segment_bound_ns,
					  3000 + WANDER + XVT_STAMP_SLACK_NS);
	}
	xvt_clock_map_fini(&m);
}
END_TEST

/* Moved by 3 ms and back between two nodes on one line; the second pair by 15 ms. */
START_TEST(reported_changes_are_in_the_bound_or_end_the_epoch)
{
	const struct xvt_clock_evidence after = { 1305 * MS, 1315 * MS, 0 };
	struct xvt_clock_map m;
	uint64_t ns;

	xvt_clock_map_init(&m, 1000000000);
	add(&m, 0, 1000 * MS, 10);
	xvt_clock_map_reported(&m, 1030 * MS, 3 * MS);
	xvt_clock_map_reported(&m, 1060 * MS, 3 * MS);
	add(&m, 100 * MS, 1100 * MS, 10);
	ck_assert_uint_eq(xvt_clock_map_last(&m)->flags, XVT_NODE_F_CHANGED);
	ck_assert_uint_eq(xvt_clock_map_last(&m)->segment_bound_ns,
			  6 * MS + 10 + WANDER + XVT_STAMP_SLACK_NS);
	add(&m, 200 * MS, 1200 * MS, 10);
	ck_assert_uint_eq(xvt_clock_map_last(&m)->segment_bound_ns,
			  10 + WANDER + XVT_STAMP_SLACK_NS);
	xvt_clock_map_reported(&m, 1230 * MS, 15 * MS);
	xvt_clock_map_reported(&m, 1260 * MS, 15 * MS);
	add(&m, 300 * MS, 1300 * MS, 10);
	ck_assert_uint_eq(xvt_clock_map_last(&m)->epoch, 1);
	ck_assert_uint_eq(xvt_clock_map_last(&m)->flags, XVT_NODE_F_FIRST | XVT_NODE_F_CHANGED);
	ck_assert_int_eq(place(&m, 150 * MS, &ns), XVT_MAP_OK);
	ck_assert_int_eq(place(&m, 245 * MS, &ns), XVT_MAP_GUESS);
	add(&m, 400 * MS, 1400 * MS, 10);
	ck_assert_int_eq(place_seen(&m, 310 * MS, &after, &ns), XVT_MAP_OK);
	xvt_clock_map_fini(&m);
}
END_TEST

/* The moment of a change within a node's own interval is unknown: it is in both segments. */
START_TEST(a_change_beside_a_node_is_in_the_bounds_on_both_sides)
{
	struct xvt_clock_map m;

	xvt_clock_map_init(&m, 1000000000);
	add(&m, 0, 1000 * MS, 10);
	for (int i = 0; i < 2 * XVT_CLOCK_REPORTS; i++)
		xvt_clock_map_reported(&m, 1100 * MS + 5, 1000);
	add(&m, 100 * MS, 1100 * MS, 10);
	ck_assert_uint_eq(xvt_clock_map_last(&m)->segment_bound_ns,
			  2000 * XVT_CLOCK_REPORTS + 10 + WANDER + XVT_STAMP_SLACK_NS);
	add(&m, 200 * MS, 1200 * MS, 10);
	ck_assert_uint_eq(xvt_clock_map_last(&m)->segment_bound_ns,
			  2000 * XVT_CLOCK_REPORTS + 10 + WANDER + XVT_STAMP_SLACK_NS);
	add(&m, 300 * MS, 1300 * MS, 10);
	ck_assert_uint_eq(xvt_clock_map_last(&m)->segment_bound_ns,
			  10 + WANDER + XVT_STAMP_SLACK_NS);
	xvt_clock_map_fini(&m);
}
END_TEST

/* Stopped twice while the vCPU slept: nothing was written in the epoch between. */
START_TEST(a_record_behind_two_borders_finds_its_epoch)
{
	static const struct xvt_clock_evidence e = { 8300 * MS, 8310 * MS, 0 };
	struct xvt_clock_map m;
	uint64_t ns;

	xvt_clock_map_init(&m, 1000000000);
	add(&m, 1000 * MS, 5000 * MS, 10);
	add(&m, 6000 * MS, 8000 * MS, 10);  /* stood still for 3 s, and went forward */
	add(&m, 11300 * MS, 8290 * MS, 10); /* went forward by 5 s */
	add(&m, 11330 * MS, 8320 * MS, 10);
	ck_assert_int_eq(place(&m, 999 * MS, &ns), XVT_MAP_GUESS); /* before the first node */
	ck_assert_int_eq(place_seen(&m, 11315 * MS, &e, &ns), XVT_MAP_OK);
	ck_assert_uint_eq(ns, 8305 * MS);
	xvt_clock_map_fini(&m);
}
END_TEST

/* Whether a second stop is known by then must not decide where a record lies: that depends on when
 * it is looked at. */
START_TEST(a_later_stop_does_not_hide_an_earlier_one)
{
	static const struct xvt_clock_evidence e = { 200 * MS, 1000 * MS, 0 };
	struct xvt_clock_map m;
	uint64_t ns;
	int stops;

	for (stops = 1; stops <= 1 + XVT_STOPS_BEFORE; stops++) {
		xvt_clock_map_init(&m, 1000000000);
		add(&m, 100 * MS, 100 * MS, 0);
		xvt_clock_map_stopped(&m, 101 * MS); /* for 100 ms */
		add(&m, 300 * MS, 400 * MS, 0);
		for (int i = 1; i < stops; i++)
			xvt_clock_map_stopped(&m, (uint64_t)(1000 + i) * MS);
		ck_assert_int_eq(place_seen(&m, 250 * MS, &e, &ns), XVT_MAP_OK);
		ck_assert_uint_eq(ns, 350 * MS); /* the old line says 250, which is possible */
		xvt_clock_map_fini(&m);
	}
}
END_TEST

/* The machine stood still from 100 to 150 ms, and its clock with it: a record's side of that is
 * proven by the VMM's stamps, but for what is close to them, and where the clock did something
 * else. */
START_TEST(a_pause_with_stamps_proves_a_records_side)
{
	static const struct {
		uint64_t run_ns;
		uint64_t guest;
		uint64_t want_ns;
		enum xvt_map_result want;
	} cases[] = {
		{ 0, 80 * MS, 80 * MS, XVT_MAP_GUESS }, /* without the second stamp */
		{ 150 * MS, 80 * MS, 80 * MS, XVT_MAP_OK },
		{ 150 * MS, 20 * MS, 20 * MS, XVT_MAP_OK },
		{ 150 * MS, 120 * MS, 170 * MS, XVT_MAP_OK },
		{ 150 * MS, 98 * MS, 98 * MS, XVT_MAP_GUESS },
		{ 130 * MS, 80 * MS, 80 * MS, XVT_MAP_GUESS }, /* it lost more than that */
		{ 180 * MS, 80 * MS, 80 * MS, XVT_MAP_GUESS }, /* or less */
	};
	struct xvt_clock_evidence e = { 0, 300 * MS, 0 };
	struct xvt_clock_map m;
	uint64_t ns;

	xvt_clock_map_init(&m, 1000000000);
	add(&m, 0, 0, 0);
	add(&m, 10 * MS, 10 * MS, 0);
	add(&m, 150 * MS, 200 * MS, 0);
	add(&m, 160 * MS, 210 * MS, 0);
	ck_assert_uint_eq(xvt_clock_map_last(&m)->epoch, 1);
	xvt_clock_map_stopped(&m, 165 * MS); /* when the recorder heard of it */
	if (cases[_i].run_ns)
		xvt_clock_map_paused(&m, 100 * MS, cases[_i].run_ns);
	ck_assert_int_eq(place_seen(&m, cases[_i].guest, &e, &ns), cases[_i].want);
	ck_assert_uint_eq(ns, cases[_i].want_ns);
	xvt_clock_map_fini(&m);
}
END_TEST

/* By one formula the line through two nodes is the clock, at whatever rate. */
START_TEST(two_nodes_of_one_exact_source_tell_of_no_creep)
{
	static const uint32_t sources[][2] = { { XVT_SOURCE_KVM, XVT_SOURCE_KVM },
					       { XVT_SOURCE_VMM, XVT_SOURCE_VMM },
					       { XVT_SOURCE_GUEST, XVT_SOURCE_GUEST },
					       { XVT_SOURCE_KVM, XVT_SOURCE_GUEST },
					       { XVT_SOURCE_HANDSHAKE, XVT_SOURCE_KVM },
					       { XVT_SOURCE_HANDSHAKE, XVT_SOURCE_HANDSHAKE } };
	struct xvt_clock_node a = node(0, 1000000, 3), b = node(100 * MS, 102 * MS, 3);
	struct xvt_clock_map m;

	xvt_clock_map_init(&m, 1000000000);
	a.source = sources[_i][0];
	b.source = sources[_i][1];
	ck_assert_int_eq(xvt_clock_map_add(&m, &a), 0);
	ck_assert_int_eq(xvt_clock_map_add(&m, &b), 0);
	ck_assert_uint_eq(b.segment_bound_ns,
			  3 + (_i < 3 ? 0 : MS + xvt_clock_wander(101 * MS)) + XVT_STAMP_SLACK_NS);
	xvt_clock_map_fini(&m);
}
END_TEST

START_TEST(a_jump_begins_an_epoch_and_nothing_is_interpolated_across)
{
	struct xvt_clock_map m;
	uint64_t ns;

	xvt_clock_map_init(&m, 1000000000);
	add(&m, 0, 1000, 10);
	add(&m, 100, 1100, 10);
	add(&m, 200, 3000001200, 10); /* the guest stood still for 3 s */
	ck_assert_uint_eq(xvt_clock_map_last(&m)->epoch, 1);
	ck_assert_uint_eq(xvt_clock_map_last(&m)->flags, XVT_NODE_F_FIRST);
	ck_assert_uint_eq(m.bound_ns_max, 10 + XVT_STAMP_SLACK_NS);
	ck_assert_int_eq(place(&m, 50, &ns), XVT_MAP_OK);
	ck_assert_uint_eq(ns, 1050);
	ck_assert_int_eq(place(&m, 150, &ns), XVT_MAP_GUESS);
	ck_assert_uint_eq(ns, 1150); /* with the old epoch's rate, not half way */
	ck_assert_int_eq(place(&m, 200, &ns), XVT_MAP_OK);
	ck_assert_uint_eq(ns, 3000001200);
	xvt_clock_map_fini(&m);
}
END_TEST

START_TEST(a_clock_that_went_back_enters_the_next_epoch_only_when_told)
{
	static const struct xvt_clock_evidence early = { 0, 11500000, 0 };
	struct xvt_clock_map m;
	uint64_t ns;

	xvt_clock_map_init(&m, 1000000000);
	add(&m, 1000000, 10000000, 10);
	add(&m, 2000000, 11000000, 10);
	ck_assert(!xvt_clock_map_next_epoch(&m));
	add(&m, 500, 12000000, 10); /* reset to zero */
	/* Copied before the reset: the same value 1.5 ms after it is another one. */
	ck_assert_int_eq(place_seen(&m, 1500000, &early, &ns), XVT_MAP_OK);
	ck_assert_uint_eq(ns, 10500000);
	ck_assert(xvt_clock_map_next_epoch(&m));
	ck_assert_int_eq(place(&m, 400, &ns), XVT_MAP_OK);
	ck_assert_uint_eq(ns, 12000000 - 100);
	xvt_clock_map_fini(&m);
}
END_TEST

/*
 * Nodes (0 ns, 100 ms) of the old epoch; then a pause of 3 s in which the guest's clock stood
 * still, or a jump of it, and the new epoch's first node. Whatever lies between the two could be
 * on either side; what the drain saw decides.
 */
START_TEST(the_evidence_decides_on_which_side_of_a_border_a_value_lies)
{
	static const struct {
		uint64_t first_guest, first_ns; /* of the new epoch */
		uint64_t at, floor_ns, ceiling_ns, want_ns;
		enum xvt_map_result want;
	} cases[] = {
		/* Stood still: copied before the pause, written after it, unknown to the host. */
		{ 120 * MS, 3120 * MS, 110 * MS, 0, 115 * MS, 110 * MS, XVT_MAP_OK },
		{ 120 * MS, 3120 * MS, 110 * MS, 3000 * MS, 3200 * MS, 3110 * MS, XVT_MAP_OK },
		{ 120 * MS, 3120 * MS, 110 * MS, 0, 3200 * MS, 110 * MS, XVT_MAP_GUESS },
		/* Beyond both: a clock that went forward has passed the border. */
		{ 120 * MS, 3120 * MS, 130 * MS, 0, 3200 * MS, 3130 * MS, XVT_MAP_WAIT },
		{ 120 * MS, 3120 * MS, 90 * MS, 0, 3200 * MS, 90 * MS, XVT_MAP_OK },
		/* Jumped ahead by 1 s between the two nodes. */
		{ 1200 * MS, 200 * MS, 110 * MS, 100 * MS, 120 * MS, 110 * MS, XVT_MAP_OK },
		{ 1200 * MS, 200 * MS, 1190 * MS, 180 * MS, 195 * MS, 190 * MS, XVT_MAP_OK },
		/* Rolled back by 60 ms, and the ring had been silent, so it was not seen to go
		   back. */
		{ 50 * MS, 210 * MS, 95 * MS, 240 * MS, 260 * MS, 255 * MS, XVT_MAP_WAIT },
		{ 50 * MS, 210 * MS, 95 * MS, 90 * MS, 96 * MS, 95 * MS, XVT_MAP_OK },
		/* Reset to 0: an old value, copied long ago. */
		{ 10 * MS, 5000 * MS, 104 * MS, 100 * MS, 105 * MS, 104 * MS, XVT_MAP_OK },
		/* By no line: the clock jumped more than once. */
		{ 120 * MS, 3120 * MS, 110 * MS, 1000 * MS, 1001 * MS, 1000 * MS, XVT_MAP_GUESS },
		/* Copied before the old epoch's value was there. */
		{ 120 * MS, 3120 * MS, 90 * MS, 10 * MS, 20 * MS, 20 * MS, XVT_MAP_DOUBT },
	};
	const size_t i = (size_t)_i;
	const struct xvt_clock_evidence e = { cases[i].floor_ns, cases[i].ceiling_ns, 0 };
	struct xvt_clock_placed p;
	struct xvt_clock_map m;

	ck_assert_uint_lt(i, sizeof(cases) / sizeof(cases[0]));
	xvt_clock_map_init(&m, 1000000000);
	add(&m, 0, 0, 1000);
	add(&m, 100 * MS, 100 * MS, 1000);
	add(&m, cases[i].first_guest, cases[i].first_ns, 1000);
	ck_assert_uint_eq(xvt_clock_map_last(&m)->epoch, 1);
	ck_assert_int_eq(xvt_clock_map_place(&m, cases[i].at, &e, &p), cases[i].want);
	ck_assert_uint_eq(p.host_ns, cases[i].want_ns);
	/* The set covers all that is possible, but does not blunt the next decision. */
	if (cases[i].want == XVT_MAP_GUESS)
		ck_assert(p.lo_ns <= e.floor_ns + 100 * MS && p.hi_ns >= e.ceiling_ns - 80 * MS);
	ck_assert_uint_lt(m.slack_ns, MS);
	xvt_clock_map_fini(&m);
}
END_TEST

/*
 * Between two nodes of different epochs the clock may have jumped any number of times. So the drain
 * alone bounds a record there, with the moments of the two nodes, whatever a line says.
 */
START_TEST(only_statements_bound_a_record_between_two_epochs)
{
	static const struct {
		uint64_t floor_ns, ceiling_ns, lo_ns, hi_ns;
	} cases[] = {
		{ 130 * MS, 160 * MS, 130 * MS, 160 * MS },
		{ 40 * MS, 160 * MS, 100 * MS - 1000, 160 * MS },  /* after the old epoch's node */
		{ 130 * MS, 260 * MS, 130 * MS, 200 * MS + 1000 }, /* before the new one's */
	};
	const struct xvt_clock_evidence e = { cases[_i].floor_ns, cases[_i].ceiling_ns, 0 };
	struct xvt_clock_placed p;
	struct xvt_clock_map m;

	xvt_clock_map_init(&m, 1000000000);
	add(&m, 0, 0, 1000);
	add(&m, 100 * MS, 100 * MS, 1000);
	add(&m, 1200 * MS, 200 * MS, 1000);
	add(&m, 1300 * MS, 300 * MS, 1000);
	ck_assert_int_ne(xvt_clock_map_place(&m, 140 * MS, &e, &p), XVT_MAP_WAIT);
	ck_assert(!p.on_line);
	ck_assert_uint_eq(p.lo_ns, cases[_i].lo_ns);
	ck_assert_uint_eq(p.hi_ns, cases[_i].hi_ns);
	ck_assert(p.host_ns >= p.lo_ns && p.host_ns <= p.hi_ns);
	xvt_clock_map_fini(&m);
}
END_TEST

/* A record that was copied after the newest measurement waits for the next one: the clock may have
 * been set back since then, and have old values again. */
START_TEST(a_value_between_nodes_waits_for_a_measurement_after_its_copy)
{
	struct xvt_clock_evidence e = { 60 * MS, 110 * MS, 110 * MS };
	struct xvt_clock_placed p;
	struct xvt_clock_map m;

	xvt_clock_map_init(&m, 1000000000);
	add(&m, 0, 0, 1000);
	add(&m, 100 * MS, 100 * MS, 1000);
	ck_assert_int_eq(xvt_clock_map_place(&m, 90 * MS, &e, &p), XVT_MAP_WAIT);
	/* None will come: then it may be of any time until it was copied. */
	e.confirm_ns = 0;
	ck_assert_int_eq(xvt_clock_map_place(&m, 90 * MS, &e, &p), XVT_MAP_OK);
	ck_assert(!p.on_line && p.lo_ns <= 90 * MS && p.hi_ns == 110 * MS);
	e.confirm_ns = 110 * MS;
	add(&m, 120 * MS, 120 * MS, 1000);
	ck_assert_int_eq(xvt_clock_map_place(&m, 90 * MS, &e, &p), XVT_MAP_OK);
	ck_assert(p.on_line && p.host_ns == 90 * MS);
	xvt_clock_map_fini(&m);
}
END_TEST

/* A pause of 10 ms looks like creep, unless the pause is reported. */
START_TEST(a_disturbed_machine_is_granted_no_creep)
{
	struct xvt_clock_map m;

	xvt_clock_map_init(&m, 1000000000);
	add(&m, 0, 0, 1000);
	add(&m, 90 * MS, 100 * MS, 1000);
	ck_assert_uint_eq(xvt_clock_map_last(&m)->epoch, 0);
	m.suspect = true;
	add(&m, 180 * MS, 200 * MS, 1000);
	ck_assert_uint_eq(xvt_clock_map_last(&m)->epoch, 1);
	ck_assert(!m.suspect);
	xvt_clock_map_fini(&m);
}
END_TEST

/* Stopped at 150 ms, for 15 ms; the burst that ends after it was all before it, or may have been.
 */
START_TEST(what_was_measured_before_a_stop_settles_nothing)
{
	struct xvt_clock_map m;

	xvt_clock_map_init(&m, 1000000000);
	add(&m, 100 * MS, 100 * MS, 1000);
	m.suspect = true;
	m.suspect_ns = 150 * MS;
	add(&m, 149 * MS, 149 * MS, 1000);
	ck_assert(m.suspect);
	add(&m, 150 * MS + 900, 150 * MS + 900, 1000);
	ck_assert(m.suspect);
	add(&m, 180 * MS, 195 * MS, 1000);
	ck_assert_uint_eq(xvt_clock_map_last(&m)->epoch, 1);
	ck_assert(!m.suspect);
	xvt_clock_map_fini(&m);
}
END_TEST

/* The host's clock is steered: between two nodes its map has a knee, which their line cuts off. */
START_TEST(a_knee_of_the_host_clock_between_two_nodes_is_in_the_bound)
{
	struct xvt_timebase steep = { .base_clock = 150 * MS,
				      .base_ns = 150 * MS,
				      .mult = (1u << 30) / 10000 * 10004,
				      .shift = 30 };
	struct xvt_host_clock hc = { .mult = 1u << 30, .shift = 30, .lines = &steep, .count = 1 };
	struct xvt_clock_map m;

	xvt_clock_map_init(&m, 1000000000);
	m.host_clock = &hc;
	add(&m, 0, 0, 10);
	add(&m, 100 * MS, 100 * MS, 10);
	ck_assert_uint_eq(m.slack_ns, 10 + WANDER + XVT_STAMP_SLACK_NS);
	/* 400 ppm for the second half of it */
	add(&m, 200 * MS, 200 * MS, 10);
	ck_assert_uint_gt(m.slack_ns, 19000);
	ck_assert_uint_lt(m.slack_ns, 20900 + XVT_STAMP_SLACK_NS);
	ck_assert_uint_eq(xvt_host_clock_bend_ns(&hc, 150 * MS, 900 * MS), 0);
	xvt_clock_map_fini(&m);
}
END_TEST

/*
 * Nodes (0, 0) and the last one at (105 ms, 105 ms), with its bound; then a burst that was begun
 * before that ends. Is it of an older moment, and dropped, or did the guest's clock move since?
 */
START_TEST(what_was_measured_before_the_last_node_is_dropped_and_no_jump)
{
	enum { SAME = 0, DROPPED = -EALREADY, EPOCH = 1 };
	static const struct {
		uint32_t source;
		uint64_t last_bound_ns, guest, host_ns, bound_ns;
		int want;
	} cases[] = {
		/* Beside what the drain saw, which is wide. */
		{ XVT_SOURCE_DRAIN, 4 * MS, 103 * MS, 103 * MS, 200, DROPPED },
		{ XVT_SOURCE_DRAIN, 4 * MS, 105 * MS, 105 * MS, 200, DROPPED },
		{ XVT_SOURCE_DRAIN, 4 * MS, 103 * MS, 108 * MS, 200, DROPPED },
		{ XVT_SOURCE_DRAIN, 4 * MS, 107 * MS, 102 * MS, 200, DROPPED },
		{ XVT_SOURCE_DRAIN, 4 * MS, 106 * MS, 106 * MS, 200, SAME },
		/* Its own moment may lie a little after the last one's, too. */
		{ XVT_SOURCE_KVM, 3, 103 * MS, 103 * MS, 200, DROPPED },
		{ XVT_SOURCE_KVM, 3, 105 * MS - 500, 105 * MS + 400, 1000, DROPPED },
		{ XVT_SOURCE_HANDSHAKE, 1000, 105 * MS + 500, 105 * MS - 400, 1000, DROPPED },
		{ XVT_SOURCE_HANDSHAKE, 1000, 105 * MS + 500, 105 * MS + 400, 1000, SAME },
		/* Older by both clocks: what it says of the time before is not asked any more. */
		{ XVT_SOURCE_DRAIN, 4 * MS, 50 * MS, 103 * MS, 200, DROPPED },
		{ XVT_SOURCE_KVM, 3, 50 * MS, 105 * MS - 1, 200, DROPPED },
		/* A guest's clock that went back did so later on the host's. */
		{ XVT_SOURCE_DRAIN, 4 * MS, 50 * MS, 110 * MS, 200, EPOCH },
		{ XVT_SOURCE_DRAIN, 4 * MS, 50 * MS, 108 * MS, 200, EPOCH },
		{ XVT_SOURCE_DRAIN, 4 * MS, 104 * MS, 110 * MS, 200, EPOCH },
		{ XVT_SOURCE_KVM, 3, 103 * MS, 106 * MS, 200, EPOCH },
		{ XVT_SOURCE_HANDSHAKE, 1000, 103 * MS, 106 * MS, 1000, EPOCH },
		/* One that jumped ahead of the host's. */
		{ XVT_SOURCE_DRAIN, 4 * MS, 1105 * MS, 104 * MS, 200, EPOCH },
		{ XVT_SOURCE_HANDSHAKE, 1000, 1105 * MS, 106 * MS, 1000, EPOCH },
	};
	const size_t i = (size_t)_i;
	struct xvt_clock_node last = node(105 * MS, 105 * MS, cases[i].last_bound_ns);
	struct xvt_clock_node next = node(cases[i].guest, cases[i].host_ns, cases[i].bound_ns);
	struct xvt_clock_map m;
	int got;

	ck_assert_uint_lt(i, sizeof(cases) / sizeof(cases[0]));
	xvt_clock_map_init(&m, 1000000000);
	add(&m, 0, 0, 1000);
	last.source = cases[i].source;
	next.source = XVT_SOURCE_HANDSHAKE;
	ck_assert_int_eq(xvt_clock_map_add(&m, &last), 0);
	m.suspect = m.moved = cases[i].want == DROPPED;
	got = xvt_clock_map_add(&m, &next);
	ck_assert_int_eq(got, cases[i].want == DROPPED ? -EALREADY : 0);
	ck_assert_uint_eq(m.count, got ? 2 : 3);
	ck_assert_uint_eq(xvt_clock_map_last(&m)->epoch, cases[i].want == EPOCH);
	/* What is dropped settles nothing. */
	ck_assert(m.suspect == !!got);
	ck_assert(m.moved == !!got);
	xvt_clock_map_fini(&m);
}
END_TEST

/* Its node is wide: whether the clock jumped is seen from the last one that was measured. */
START_TEST(no_jump_hides_behind_what_the_drain_saw)
{
	struct xvt_clock_node seen = node(105 * MS, 105 * MS, 30 * MS);
	struct xvt_clock_map m;

	xvt_clock_map_init(&m, 1000000000);
	add(&m, 0, 0, 1000);
	add(&m, 100 * MS, 100 * MS, 1000);
	m.suspect = true;
	seen.source = XVT_SOURCE_DRAIN;
	ck_assert_int_eq(xvt_clock_map_add(&m, &seen), 0);
	ck_assert_uint_eq(xvt_clock_map_last(&m)->epoch, 0);
	add(&m, 110 * MS, 135 * MS, 1000); /* it had stood still for 25 ms */
	ck_assert_uint_eq(xvt_clock_map_last(&m)->epoch, 1);
	xvt_clock_map_fini(&m);
}
END_TEST

/* A stop that is longer than the time between two looks, and a jump forward behind it: the drain's
 * node shows neither. An event between them is off by more than the node's bound. */
START_TEST(the_drain_does_not_see_what_jumps_back_before_its_look)
{
	struct xvt_clock_node seen = node(2000 * MS, 2000 * MS, 30 * MS);
	struct xvt_clock_map m;

	xvt_clock_map_init(&m, 1000000000);
	add(&m, 1000 * MS, 1000 * MS, 1000);
	seen.source = XVT_SOURCE_DRAIN;
	ck_assert_int_eq(xvt_clock_map_add(&m, &seen), 0);
	ck_assert_uint_ge(xvt_clock_map_last(&m)->segment_bound_ns, 60 * MS);
	/* One that is as narrow as a creep has its creep. */
	seen = node(2100 * MS, 2100 * MS, 10 * MS);
	seen.source = XVT_SOURCE_DRAIN;
	ck_assert_int_eq(xvt_clock_map_add(&m, &seen), 0);
	ck_assert_uint_le(xvt_clock_map_last(&m)->segment_bound_ns, 31 * MS);
	xvt_clock_map_fini(&m);
}
END_TEST

/* Where the clock went to only a measurement tells: an epoch that began with what the drain saw
 * would be wrong by all that it did not see. */
START_TEST(what_the_drain_saw_begins_no_epoch)
{
	struct xvt_clock_node seen = node(110 * MS, 125 * MS, 30 * MS);
	struct xvt_clock_map m;

	xvt_clock_map_init(&m, 1000000000);
	add(&m, 0, 0, 1000);
	add(&m, 100 * MS, 100 * MS, 1000);
	seen.source = XVT_SOURCE_DRAIN;
	m.suspect = true;
	ck_assert_int_eq(xvt_clock_map_add(&m, &seen), -EDOM);
	ck_assert(m.suspect);
	ck_assert_uint_eq(m.count, 2);
	add(&m, 112 * MS, 127 * MS, 1000);
	ck_assert_uint_eq(xvt_clock_map_last(&m)->epoch, 1);
	xvt_clock_map_fini(&m);
}
END_TEST

/* Copied at 108 ms at the latest, because the clock had crept ahead; measured a moment later. */
START_TEST(a_measurement_within_the_bound_of_a_witness_is_no_jump)
{
	struct xvt_clock_node seen = node(110 * MS, 108 * MS, 4 * MS);
	struct xvt_clock_node next = node(111 * MS, 107 * MS, 200);
	struct xvt_clock_map m;

	xvt_clock_map_init(&m, 1000000000);
	add(&m, 100 * MS, 100 * MS, 1000);
	seen.source = XVT_SOURCE_DRAIN;
	ck_assert_int_eq(xvt_clock_map_add(&m, &seen), 0);
	ck_assert_int_eq(xvt_clock_map_add(&m, &next), -EALREADY);
	add(&m, 113 * MS, 109 * MS, 200);
	ck_assert_uint_eq(xvt_clock_map_last(&m)->epoch, 0);
	xvt_clock_map_fini(&m);
}
END_TEST

/* What the map may be wrong by decides on which side of a border a record lies, and how far behind
 * now an idle ring holds the others back: not by what the drain did not see. */
START_TEST(the_width_of_a_witness_is_no_error_of_the_map)
{
	struct xvt_clock_node seen = node(105 * MS, 105 * MS, 300 * MS);
	struct xvt_clock_map m;

	xvt_clock_map_init(&m, 1000000000);
	add(&m, 100 * MS, 100 * MS, 1000);
	seen.source = XVT_SOURCE_DRAIN;
	ck_assert_int_eq(xvt_clock_map_add(&m, &seen), 0);
	add(&m, 400 * MS, 401 * MS, 2000);
	ck_assert_uint_eq(xvt_clock_map_last(&m)->epoch, 0);
	ck_assert_uint_eq(m.slack_ns, MS + 2000 + 3 * WANDER + XVT_STAMP_SLACK_NS);
	xvt_clock_map_fini(&m);
}
END_TEST

/*
 * A node at (100 ms, 100 ms), two of the drain's that are wide, and one at 400 ms by the guest's
 * clock. What is told of all between them: what was not seen, or what is known at the end?
 */
START_TEST(what_the_drain_saw_is_told_as_wide_until_a_measurement_confirms_it)
{
	static const struct {
		uint32_t source;
		uint64_t seen_ns, seen_bound_ns; /* at 200 ms */
		uint64_t host_ns, bound_ns;	 /* at the end */
		uint64_t want_ns;		 /* 0: it stays as wide as it was */
		uint32_t flags, epoch;
	} cases[] = {
		/* Of one formula: only how far the drain's nodes lie off its line. */
		{ XVT_SOURCE_KVM, 200 * MS, 50 * MS, 400 * MS, 3, 3, XVT_NODE_F_SINCE, 0 },
		{ XVT_SOURCE_KVM, 200 * MS - 700, 50 * MS, 400 * MS, 3, 703, XVT_NODE_F_SINCE, 0 },
		{ XVT_SOURCE_KVM, 200 * MS, 50 * MS, 400 * MS + 900, 3, 903, XVT_NODE_F_SINCE, 0 },
		/* Measured: and what the clock may have crept and wandered. */
		{ XVT_SOURCE_HANDSHAKE, 200 * MS, 50 * MS, 400 * MS, 200, 350, XVT_NODE_F_SINCE,
		  0 },
		{ XVT_SOURCE_HANDSHAKE, 201 * MS, 50 * MS, 402 * MS, 200, 5 * MS + 351,
		  XVT_NODE_F_SINCE, 0 },
		/* It is proven that the clock was 14 ms or more off the line through both. */
		{ XVT_SOURCE_HANDSHAKE, 215 * MS, MS, 400 * MS, 200, 0, 0, 0 },
		{ XVT_SOURCE_HANDSHAKE, 215 * MS, 15 * MS, 400 * MS, 200, 15 * MS + 350,
		  XVT_NODE_F_SINCE, 0 },
		/* Nothing confirms the old epoch any more. */
		{ XVT_SOURCE_KVM, 200 * MS, 50 * MS, 3000 * MS, 3, 0, XVT_NODE_F_FIRST, 1 },
	};
	const size_t i = (size_t)_i;
	struct xvt_clock_node first = node(100 * MS, 100 * MS, 3);
	struct xvt_clock_node seen[2] = { node(150 * MS, 150 * MS, 300 * MS),
					  node(200 * MS, cases[i].seen_ns,
					       cases[i].seen_bound_ns) };
	struct xvt_clock_node last = node(400 * MS, cases[i].host_ns, cases[i].bound_ns);
	struct xvt_clock_map m;

	ck_assert_uint_lt(i, sizeof(cases) / sizeof(cases[0]));
	xvt_clock_map_init(&m, 1000000000);
	first.source = last.source = cases[i].source;
	ck_assert_int_eq(xvt_clock_map_add(&m, &first), 0);
	for (int k = 0; k < 2; k++) {
		seen[k].source = XVT_SOURCE_DRAIN;
		ck_assert_int_eq(xvt_clock_map_add(&m, &seen[k]), 0);
		ck_assert_uint_eq(seen[k].flags, 0);
		ck_assert_uint_ge(seen[k].segment_bound_ns, seen[k].bound_ns);
	}
	ck_assert_uint_ge(xvt_clock_map_bound_ns(&m), 300 * MS);
	ck_assert_int_eq(xvt_clock_map_add(&m, &last), 0);
	ck_assert_uint_eq(last.flags, cases[i].flags);
	ck_assert_uint_eq(last.epoch, cases[i].epoch);
	if (cases[i].want_ns) {
		ck_assert_uint_eq(last.segment_bound_ns, cases[i].want_ns + XVT_STAMP_SLACK_NS);
		ck_assert_uint_eq(xvt_clock_map_bound_ns(&m), last.segment_bound_ns);
	} else {
		ck_assert_uint_ge(xvt_clock_map_bound_ns(&m), 300 * MS);
	}
	/* The next has nothing more to confirm. */
	last = node(500 * MS, cases[i].host_ns + 100 * MS, 3);
	last.source = cases[i].source;
	ck_assert_int_eq(xvt_clock_map_add(&m, &last), 0);
	ck_assert_uint_eq(last.flags, 0);
	xvt_clock_map_fini(&m);
}
END_TEST

/* Each node says of its segment whether another rate was open; a formula leaves none. */
START_TEST(a_node_says_that_an_expected_rate_is_open)
{
	const uint32_t source = _i ? XVT_SOURCE_KVM : XVT_SOURCE_HANDSHAKE;
	struct xvt_clock_map m;

	xvt_clock_map_init(&m, 1000000000);
	for (uint64_t k = 1; k < 6; k++) {
		struct xvt_clock_node n = node(k * 100 * MS, k * 100 * MS, 3);

		n.source = source;
		m.hz_open = k == 1 || k == 3;
		ck_assert_int_eq(xvt_clock_map_add(&m, &n), 0);
		ck_assert_uint_eq(n.flags, k == 1	   ? XVT_NODE_F_FIRST
					   : k == 3 && !_i ? XVT_NODE_F_OPEN
							   : 0);
	}
	xvt_clock_map_fini(&m);
}
END_TEST

START_TEST(the_line_is_exact_next_to_2_to_the_63_and_for_slow_and_fast_clocks)
{
	static const struct {
		uint64_t g0, h0, g1, h1, at, want;
	} cases[] = {
		{ 0, 0, 10, 10, 5, 5 },
		{ 1ull << 63, 1ull << 63, (1ull << 63) + 3000000000u, (1ull << 63) + 1000000000u,
		  (1ull << 63) + 1500000000u, (1ull << 63) + 500000000u },
		{ UINT64_MAX - 4000, 1, UINT64_MAX - 1000, 1001, UINT64_MAX - 2500, 501 },
		{ 7, 1ull << 62, 8, (1ull << 62) + 1000000007u, 7, 1ull << 62 },
		{ 0, 100, 3, 101, 2, 100 },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct xvt_clock_node a = node(cases[i].g0, cases[i].h0, 0);
		struct xvt_clock_node b = node(cases[i].g1, cases[i].h1, 0);

		ck_assert_uint_eq(xvt_clock_line(&a, &b, cases[i].at), cases[i].want);
	}
}
END_TEST

START_TEST(the_host_clock_agrees_with_itself_ten_years_from_its_base)
{
	struct xvt_host_clock hc = { .mult = 1654375000u, .shift = 32, .hz = 2596124000u };
	uint64_t ten_years = 2596124000ull * 86400 * 3653;
	uint64_t want = (uint64_t)((unsigned __int128)ten_years * 1654375000u >> 32);

	hc.base_clock = 1000;
	hc.base_ns = 5;
	ck_assert_uint_eq(xvt_host_clock_ns(&hc, 1000), 5);
	ck_assert_uint_eq(xvt_host_clock_ns(&hc, 1000 + ten_years), 5 + want);
	hc.base_ns = 1000000;
	ck_assert_uint_lt(xvt_host_clock_ns(&hc, 0), 1000000); /* and before its base */
}
END_TEST

/* ------------------------------------------------------------ handshake */

/* A guest in a second thread, and the handshake with it. */
struct guest {
	struct xvt_writer w;
	struct xvt_ring_ctl ctl;
	struct xvt_ring_host host;
	uint32_t stop;
	pthread_t thread;
	struct xvt_host_clock hc;
	uint64_t rate_doubt_ppb;
	struct xvt_clock_rate rate; /* of which only the claim is read */
	uint32_t exchanges;
	struct xvt_clock_source *source;
};

static void *guest_answers(void *arg)
{
	struct guest *g = arg;

	while (!__atomic_load_n(&g->stop, __ATOMIC_RELAXED)) {
		xvt_writer_answer(&g->w);
		xvt_relax();
	}
	return NULL;
}

static struct guest *guest_begin(uint64_t (*clock)(void *arg), void *clock_arg)
{
	struct guest *g = aligned_alloc(64, (sizeof(*g) + 63) / 64 * 64);
	struct xvt_clock_target t = { 0 };

	ck_assert_ptr_nonnull(g);
	memset(g, 0, sizeof(*g));
	g->w.ctl = &g->ctl;
	g->w.host = &g->host;
	g->w.clock = clock;
	g->w.clock_arg = clock_arg;
	ck_assert_int_eq(xvt_host_clock_init(&g->hc), 0);
	ck_assert_int_eq(pthread_create(&g->thread, NULL, guest_answers, g), 0);
	t = (struct xvt_clock_target){
		.ctl = &g->ctl,
		.host = &g->host,
		.host_clock = &g->hc,
		.guest_hz = &g->hc.hz,
		.rate_doubt_ppb = &g->rate_doubt_ppb,
		.rate = &g->rate,
		.exchanges = &g->exchanges,
		.ring = 3,
	};
	ck_assert_int_eq(xvt_clock_handshake.open(&g->source, &t), 0);
	return g;
}

static void guest_end(struct guest *g)
{
	__atomic_store_n(&g->stop, 1, __ATOMIC_RELAXED);
	pthread_join(g->thread, NULL);
	xvt_clock_handshake.close(g->source);
	free(g);
}

static void guest_measure(struct guest *g, struct xvt_clock_measure *m)
{
	xvt_clock_handshake.start(g->source);
	while (xvt_clock_handshake.poll(g->source, m) != 1)
		; /* the test case's time-out ends it if no answer comes */
}

/* The node's guest clock was really read at that value of the host's. */
static void ck_true(const struct guest *g, const struct xvt_clock_measure *m, uint64_t host_clock)
{
	uint64_t truth = xvt_host_clock_ns(&g->hc, host_clock);
	uint64_t error =
		truth > m->node.host_ns ? truth - m->node.host_ns : m->node.host_ns - truth;

	ck_assert_uint_le(error, m->node.bound_ns);
}

static uint64_t offset_clock(void *arg)
{
	return xvt_clock_read_ordered() - *(uint64_t *)arg;
}

START_TEST(the_handshake_finds_the_true_offset_within_its_bound)
{
	static const uint64_t offsets[] = { 0, 123456789, 1ull << 40, (uint64_t)-5000000000ll };
	uint64_t offset = offsets[_i];
	struct guest *g = guest_begin(offset_clock, &offset);
	struct xvt_clock_measure m;
	unsigned int k;

	for (k = 0; k < 20; k++) {
		uint64_t before = xvt_clock_read_ordered();

		guest_measure(g, &m);
		ck_true(g, &m, m.node.guest + offset);
		ck_assert_uint_eq(m.node.ring, 3);
		ck_assert_uint_ge(m.nr_samples, 1);
		ck_assert_uint_ge(m.host_clock_lo, before);
		ck_assert_uint_le(m.host_clock_lo, m.samples[0].host_clock_lo);
	}
	guest_end(g);
}
END_TEST

/* Its rate is not what it is taken for, by as much as is not noticed before it is measured. */
static uint64_t scaled_clock(void *arg)
{
	uint64_t guest = 0;

	xvt_formula_guest(arg, xvt_clock_read_ordered(), &guest);
	return guest;
}

START_TEST(the_handshake_bounds_hold_for_a_guest_of_another_rate)
{
	static const double rates[] = { 1.0, 1.0 + 1 / 33.0, 1.0 - 1 / 33.0, 1.0001 };
	struct xvt_clock_formula f = { .offset = -1234567, .frac = 48 };
	struct xvt_clock_measure m;
	struct guest *g;
	unsigned int k;

	f.ratio = (uint64_t)(rates[_i] * (double)(1ull << 48));
	g = guest_begin(scaled_clock, &f);
	for (k = 0; k < 400; k++) {
		uint64_t clock;

		guest_measure(g, &m);
		ck_assert_int_eq(xvt_formula_host(&f, m.node.guest, &clock), 0);
		ck_true(g, &m, clock);
	}
	guest_end(g);
}
END_TEST

/*
 * A guest that takes long for an answer. It reads its clock in the middle of the first one, and at
 * an end of the second one. That end limits the first one's moment, and by a wrong rate it excludes
 * the truth.
 */
struct slow_guest {
	struct xvt_clock_formula f;
	unsigned int answers;
	bool at_end; /* else at the begin */
};

static void wait_us(uint64_t us)
{
	const uint64_t begin = xvt_clock_read();

	while (xvt_clock_read() - begin < us * 2500)
		xvt_relax();
}

static uint64_t slow_clock(void *arg)
{
	struct slow_guest *g = arg;
	const bool first = g->answers++ % 2 == 0;
	const uint64_t before_us = first ? 10 : g->at_end ? 30 : 0;
	uint64_t guest;

	wait_us(before_us);
	guest = scaled_clock(&g->f);
	wait_us((first ? 20 : 30) - before_us);
	return guest;
}

START_TEST(the_handshake_bounds_hold_within_the_doubt_of_the_rate)
{
	struct slow_guest slow = { .f = { .offset = -1234567, .frac = 48 }, .at_end = _i % 2 == 0 };
	struct xvt_clock_measure m;
	struct guest *g;
	unsigned int k;

	slow.f.ratio = (uint64_t)((_i % 2 ? 0.8 : 1.2) * (double)(1ull << 48));
	g = guest_begin(slow_clock, &slow);
	g->exchanges = 2;
	if (_i < 2)
		g->rate_doubt_ppb = 200000000;
	else
		xvt_clock_rate_init(&g->rate, 0, g->hc.hz / 10 * (_i % 2 ? 8 : 12));
	for (k = 0; k < 50; k++) {
		uint64_t clock;

		guest_measure(g, &m);
		ck_assert_int_eq(xvt_formula_host(&slow.f, m.node.guest, &clock), 0);
		ck_true(g, &m, clock);
	}
	guest_end(g);
}
END_TEST

START_TEST(an_answer_with_an_old_number_is_no_answer)
{
	struct xvt_ring_ctl ctl = { .answer_seq = 77, .answer_clock = 1 };
	struct xvt_ring_host host = { 0 };
	struct xvt_host_clock hc;
	struct xvt_clock_source *source;
	struct xvt_clock_measure m;

	ck_assert_int_eq(xvt_host_clock_init(&hc), 0);
	{
		struct xvt_clock_target t = {
			.ctl = &ctl, .host = &host, .host_clock = &hc, .guest_hz = &hc.hz
		};

		ck_assert_int_eq(xvt_clock_handshake.open(&source, &t), 0);
	}
	xvt_clock_handshake.start(source);
	ck_assert_int_eq(xvt_clock_handshake.poll(source, &m), 0);
	ctl.answer_seq = host.request_seq - 1;
	ck_assert_int_eq(xvt_clock_handshake.poll(source, &m), 0);
	ck_assert(xvt_clock_handshake.busy(source));
	xvt_clock_handshake.close(source);
}
END_TEST

/* A busy host is kept from looking for longer than its patience. If it asked anew each time, the
 * guest would answer every question, and no answer would be taken. */
START_TEST(an_answer_between_two_looks_is_taken)
{
	struct xvt_ring_ctl ctl = { 0 };
	struct xvt_ring_host host = { 0 };
	struct xvt_host_clock hc = { .mult = 1, .hz = 1000 }; /* its patience is over at once */
	struct xvt_clock_source *source;
	struct xvt_clock_measure m;
	struct xvt_clock_target t = {
		.ctl = &ctl, .host = &host, .host_clock = &hc, .guest_hz = &hc.hz
	};
	uint64_t asked;

	ck_assert_int_eq(xvt_clock_handshake.open(&source, &t), 0);
	xvt_clock_handshake.start(source);
	asked = host.request_seq;
	while (xvt_clock_handshake.busy(source))
		;
	xvt_clock_handshake.start(source); /* no answer: asked again */
	ck_assert_uint_ne(host.request_seq, asked);
	asked = host.request_seq;
	ctl.answer_clock = 5;
	ctl.answer_seq = asked;
	while (xvt_clock_handshake.busy(source))
		;
	xvt_clock_handshake.start(source);
	ck_assert_uint_eq(host.request_seq, asked);
	/* It was taken: the next question follows, or (if we were kept from looking once more) this
	 * was all of the burst. */
	if (xvt_clock_handshake.poll(source, &m) != 1) {
		ck_assert_uint_ne(host.request_seq, asked);
		ck_assert_uint_lt(host.request_more, 31);
	}
	ck_assert_int_eq(xvt_clock_handshake.poll(source, &m), 0);
	xvt_clock_handshake.close(source);
}
END_TEST

/* A guest that gets little CPU time looks into its mailbox more seldom than the host is patient.
 * Each of its answers is a measurement; if each burst began at nothing, there would never be one.
 */
START_TEST(answers_that_come_seldom_are_not_forgotten)
{
	struct xvt_ring_ctl ctl = { 0 };
	struct xvt_ring_host host = { 0 };
	struct xvt_host_clock hc;
	struct xvt_clock_source *source;
	struct xvt_clock_measure m;
	struct xvt_clock_target t = {
		.ctl = &ctl, .host = &host, .host_clock = &hc, .guest_hz = &hc.hz
	};
	uint64_t k, before, asked = 0;

	ck_assert_int_eq(xvt_host_clock_init(&hc), 0);
	ck_assert_int_eq(xvt_clock_handshake.open(&source, &t), 0);
	before = xvt_clock_read_ordered();
	xvt_clock_handshake.start(source);
	for (k = 1; k <= 3; k++) {
		int got;

		while (xvt_clock_handshake.busy(source))
			;
		asked = host.request_seq;
		ctl.answer_clock = k;
		__atomic_store_n(&ctl.answer_seq, asked, __ATOMIC_RELEASE);
		xvt_clock_handshake.start(source);
		got = xvt_clock_handshake.poll(source, &m);
		/* The next answer does not come in time. Where we were kept from running it was all
		 * of the burst already. */
		if (!got) {
			while (xvt_clock_handshake.busy(source))
				;
			xvt_clock_handshake.start(source);
			got = xvt_clock_handshake.poll(source, &m);
		}
		ck_assert_int_eq(got, 1);
		ck_assert_uint_eq(m.node.guest, k);
		ck_assert_uint_eq(m.nr_samples, 1);
		ck_assert_uint_ge(m.host_clock_lo, before);
		/* Nothing of it is in the next one. */
		before = m.host_clock_hi;
		xvt_clock_handshake.start(source);
	}
	ck_assert_int_eq(xvt_clock_handshake.poll(source, &m), 0);
	xvt_clock_handshake.close(source);
}
END_TEST

/* The guest's part in a burst, played by the thread that measures. */
struct burst {
	struct xvt_ring_ctl ctl;
	struct xvt_ring_host host;
	struct xvt_host_clock hc;
	uint32_t exchanges;
	bool rate_open;
	struct xvt_clock_source *source;
};

static void burst_begin(struct burst *b, uint32_t exchanges)
{
	struct xvt_clock_target t = { .ctl = &b->ctl,
				      .host = &b->host,
				      .host_clock = &b->hc,
				      .guest_hz = &b->hc.hz,
				      .exchanges = &b->exchanges,
				      .rate_open = &b->rate_open };

	memset(b, 0, sizeof(*b));
	b->exchanges = exchanges;
	ck_assert_int_eq(xvt_host_clock_init(&b->hc), 0);
	ck_assert_int_eq(xvt_clock_handshake.open(&b->source, &t), 0);
	xvt_clock_handshake.start(b->source);
}

/* The answer comes after so many ns. Returns whether the burst is over. */
static bool burst_answer(struct burst *b, uint64_t ns, uint64_t guest, struct xvt_clock_measure *m)
{
	const uint64_t begin = xvt_clock_read();

	while (xvt_clock_read() - begin < xvt_host_clock_ticks(&b->hc, ns))
		;
	b->ctl.answer_clock = guest;
	__atomic_store_n(&b->ctl.answer_seq, b->host.request_seq, __ATOMIC_RELEASE);
	return xvt_clock_handshake.poll(b->source, m) == 1;
}

/*
 * What the samples prove of the node's moment: each of them, as far as its guest clock was away, at
 * a rate that is off by 1/30 at most.
 */
static void ck_proven_by_samples(const struct burst *b, const struct xvt_clock_measure *m)
{
	uint64_t lo = 0, hi = UINT64_MAX, lo_ns, hi_ns;

	for (unsigned int i = 0; i < m->nr_samples; i++) {
		const struct xvt_clock_sample *s = &m->samples[i];
		const int64_t shift = (int64_t)(m->node.guest - s->guest);
		const uint64_t slack = (uint64_t)(shift < 0 ? -shift : shift) / 30 + 1;
		const uint64_t lo_i = s->host_clock_lo + (uint64_t)shift - slack,
			       hi_i = s->host_clock_hi + (uint64_t)shift + slack;

		lo = lo_i > lo ? lo_i : lo;
		hi = hi_i < hi ? hi_i : hi;
	}
	lo_ns = xvt_host_clock_ns(&b->hc, lo);
	hi_ns = xvt_host_clock_ns(&b->hc, hi);
	ck_assert_uint_ge(m->node.host_ns + 10, lo_ns + (hi_ns - lo_ns) / 2);
	ck_assert_uint_le(m->node.host_ns, lo_ns + (hi_ns - lo_ns) / 2 + 10);
	ck_assert_uint_ge(m->node.bound_ns + 10, (hi_ns - lo_ns) / 2);
	ck_assert_uint_le(m->node.bound_ns, (hi_ns - lo_ns) / 2 + 10);
}

/*
 * Two exchanges of 200 us or so: the second one's clock value is by so much further than the first
 * one's, of `shift_us`. If they agree, both limit the node. (Where the thread is kept from running
 * they may be far apart, and one of them counts.)
 */
START_TEST(a_node_is_what_its_samples_prove)
{
	static const int64_t shift_us[] = { 0, 100, 200, 290, 330, -100, 700 };
	unsigned int both = 0;

	for (int i = 0; i < 200; i++) {
		const int64_t shift = shift_us[i % 7];
		struct xvt_clock_measure m;
		struct burst b;

		burst_begin(&b, 2);
		if (!burst_answer(&b, i % 2 ? 160000 : 220000, 1ull << 40, &m))
			ck_assert(burst_answer(
				&b, 200000,
				(1ull << 40) + (uint64_t)(shift * (int64_t)b.hc.hz / 1000000), &m));
		ck_proven_by_samples(&b, &m);
		both += m.nr_samples == 2;
		xvt_clock_handshake.close(b.source);
	}
	printf("%u of 200 bursts had two exchanges that counted\n", both);
}
END_TEST

/* 3 ms of which the guest's clock says that almost nothing passed: a machine that stood still shows
 * that in neither of two wide exchanges. So they do not limit each other. */
START_TEST(exchanges_that_are_far_apart_do_not_limit_each_other)
{
	struct xvt_clock_measure m;
	struct burst b;
	uint64_t width;

	for (int i = 0; i < 10; i++) {
		burst_begin(&b, 2);
		/* Where the thread is kept from running, one exchange may be all. */
		if (!burst_answer(&b, _i ? 3000000 : 300000, 1ull << 40, &m))
			ck_assert(burst_answer(&b, _i ? 300000 : 3000000,
					       (1ull << 40) + xvt_host_clock_ticks(&b.hc, 200000),
					       &m));
		ck_assert_uint_eq(m.nr_samples, 1);
		ck_assert_uint_eq(m.node.guest, m.samples[0].guest);
		width = xvt_host_clock_ns(&b.hc, m.samples[0].host_clock_hi) -
			xvt_host_clock_ns(&b.hc, m.samples[0].host_clock_lo);
		ck_assert_uint_ge(m.node.bound_ns, width / 2);
		ck_assert_uint_le(m.node.bound_ns, width / 2 + 2);
		xvt_clock_handshake.close(b.source);
	}
}
END_TEST

/* The clock counts at half of what its guest claims, and no rate is known yet. */
START_TEST(without_a_rate_the_tightest_exchange_counts)
{
	struct xvt_clock_measure m;
	struct burst b;

	for (int i = 0; i < 10; i++) {
		burst_begin(&b, 2);
		b.rate_open = true;
		if (!burst_answer(&b, 200000, 1ull << 40, &m))
			ck_assert(burst_answer(&b, 200000, (1ull << 40) + b.hc.hz / 10000, &m));
		ck_assert_uint_eq(m.nr_samples, 1);
		ck_assert_uint_eq(m.node.guest, m.samples[0].guest);
		xvt_clock_handshake.close(b.source);
	}
}
END_TEST

/* A hostile guest: each answer is 170 years from the one before it. The node is of the time of the
 * burst all the same. */
START_TEST(no_answers_carry_a_node_out_of_its_burst)
{
	const uint64_t far = (1ull << 62) / 10 * 12, guest = 1ull << 63;

	for (int i = 0; i < 50; i++) {
		uint64_t begin = xvt_clock_read(), end;
		struct xvt_clock_measure m;
		struct burst b;
		bool over;

		burst_begin(&b, 3);
		over = burst_answer(&b, 200000, _i ? guest + far : guest - far, &m);
		over = over || burst_answer(&b, 0, guest, &m);
		over = over || burst_answer(&b, 200000, _i ? guest - far : guest + far, &m);
		ck_assert(over);
		end = xvt_clock_read_ordered();
		ck_assert_uint_ge(m.node.host_ns, xvt_host_clock_ns(&b.hc, begin));
		ck_assert_uint_le(m.node.host_ns, xvt_host_clock_ns(&b.hc, end));
		ck_assert_uint_le(m.node.bound_ns,
				  xvt_host_clock_ns(&b.hc, end) - xvt_host_clock_ns(&b.hc, begin));
		xvt_clock_handshake.close(b.source);
	}
}
END_TEST

/* What all answers have in common is a step that the clock's own cannot exceed. Four that differ
 * from the one before them show it. */
START_TEST(the_step_of_a_clock_is_what_its_answers_have_in_common)
{
	static const struct {
		uint64_t guest;
		uint32_t most;
		bool known;
	} answers[] = {
		{ 1ull << 40, 0, false },
		{ (1ull << 40) + 1200000, 1200000, false },
		{ (1ull << 40) + 1200000, 1200000, false },
		{ (1ull << 40) + 1800000, 600000, false },
		{ (1ull << 40) + 2700000, 300000, false },
		{ (1ull << 40) + 3600000, 300000, true },
		{ (1ull << 40) + 3600007, 1, true },
		{ (1ull << 40) + 3900007, 1, true },
	};
	struct xvt_clock_measure m;
	unsigned int bursts = 0;
	struct burst b;

	burst_begin(&b, 2);
	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		if (!burst_answer(&b, 0, answers[i].guest, &m))
			continue;
		bursts++;
		ck_assert_uint_eq(m.clock_step_most, answers[i].most);
		ck_assert_uint_eq(m.clock_step_known, answers[i].known);
		/* Such a step may lie between the answers, or just beside them. */
		if (m.within.ticks)
			ck_assert_uint_ge(m.within.doubt_ns,
					  xvt_ticks_ns(answers[i].most, b.hc.hz));
		xvt_clock_handshake.start(b.source);
	}
	ck_assert_uint_ge(bursts, sizeof(answers) / sizeof(answers[0]) / 2);
	xvt_clock_handshake.close(b.source);
}
END_TEST

struct present {
	struct xvt_ring_ctl ctl;
	struct xvt_ring_host host;
	uint32_t stop;
};

static void *answer_all(void *arg)
{
	struct present *p = arg;

	while (!__atomic_load_n(&p->stop, __ATOMIC_ACQUIRE)) {
		uint64_t seq = __atomic_load_n(&p->host.request_seq, __ATOMIC_ACQUIRE);

		__atomic_store_n(&p->ctl.answer_clock, xvt_clock_read(), __ATOMIC_RELAXED);
		__atomic_store_n(&p->ctl.answer_seq, seq, __ATOMIC_RELEASE);
	}
	return NULL;
}

/* An answer that is older than a guest stays is no reason to wait for the next one, even if that
 * would come: one question, and one word says when there is something to do. */
START_TEST(a_ring_that_answered_long_ago_is_asked_but_not_awaited)
{
	struct present p = { 0 };
	struct xvt_host_clock hc;
	uint64_t looked = xvt_clock_read(), asked, begin; /* it is never looked again */
	struct xvt_clock_source *source;
	struct xvt_clock_measure m;
	struct xvt_clock_wait wait;
	struct xvt_clock_target t = { .ctl = &p.ctl,
				      .host = &p.host,
				      .host_clock = &hc,
				      .guest_hz = &hc.hz,
				      .looked = &looked };
	pthread_t thread;

	ck_assert_int_eq(xvt_host_clock_init(&hc), 0);
	ck_assert_int_eq(xvt_clock_handshake.open(&source, &t), 0);
	xvt_clock_handshake.start(source);
	begin = xvt_clock_read();
	asked = p.host.request_seq;
	ck_assert_int_eq(pthread_create(&thread, NULL, answer_all, &p), 0);
	while (__atomic_load_n(&p.ctl.answer_seq, __ATOMIC_ACQUIRE) != asked ||
	       xvt_clock_read() - begin < xvt_host_clock_ticks(&hc, 1000000))
		;
	ck_assert_int_eq(xvt_clock_handshake.poll(source, &m), 0);
	ck_assert_uint_eq(p.host.request_seq, asked + 1);
	ck_assert(xvt_clock_handshake.waits(source, &wait));
	ck_assert_ptr_eq(wait.word, &p.ctl.answer_seq);
	ck_assert_uint_eq(wait.value, asked + 1);
	__atomic_store_n(&p.stop, 1, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	xvt_clock_handshake.close(source);
}
END_TEST

/* A guest on the thread's CPU: it answers while the thread naps there. */
struct beside {
	struct guest *g;
	unsigned int answer_every; /* nap with an answer: 1, 2, ...; 0: none */
	bool can_leave, helps;
	unsigned int naps;
	unsigned int answered; /* naps in a row, since the last leave() */
	unsigned int leaves;
	unsigned int left[2]; /* by `helped` */
	uint32_t elsewhere;   /* it answers at any time now */
};

static void beside_nap(void *arg)
{
	struct beside *b = arg;

	b->naps++;
	if (b->elsewhere) /* its thread answers */
		return;
	if (b->answer_every && b->naps % b->answer_every == 0 && xvt_writer_answer(&b->g->w) >= 0)
		b->answered++;
	else
		b->answered = 0;
}

static bool beside_leave(void *arg)
{
	struct beside *b = arg;

	b->leaves++;
	ck_assert(b->answered >= 2 || b->elsewhere);
	if (b->can_leave)
		b->answered = 0;
	__atomic_store_n(&b->elsewhere, b->can_leave && b->helps, __ATOMIC_RELEASE);
	return b->can_leave;
}

static void beside_left(void *arg, bool helped)
{
	struct beside *b = arg;

	b->left[helped]++;
}

static void *beside_answers(void *arg)
{
	struct beside *b = arg;

	while (!__atomic_load_n(&b->g->stop, __ATOMIC_RELAXED)) {
		if (__atomic_load_n(&b->elsewhere, __ATOMIC_ACQUIRE))
			xvt_writer_answer(&b->g->w);
		xvt_relax();
	}
	return NULL;
}

/* Bursts until the condition holds. The guest is back on the thread's CPU before each, and answers
 * the first request at its tick. */
#define MEASURE_UNTIL(condition)                                     \
	do {                                                         \
		struct xvt_clock_measure m;                          \
		__atomic_store_n(&b.elsewhere, 0, __ATOMIC_RELEASE); \
		xvt_clock_handshake.start(b.g->source);              \
		xvt_writer_answer(&b.g->w);                          \
		xvt_clock_handshake.poll(b.g->source, &m);           \
	} while (!(condition)) /* or the case's time-out ends it */

static const struct xvt_clock_way beside_way = { .nap = beside_nap,
						 .leave = beside_leave,
						 .left = beside_left };

/* Without the guest's thread: what happens does not depend on the scheduler. */
static void beside_begin(struct beside *b, struct xvt_clock_way *way)
{
	struct guest *g = aligned_alloc(64, (sizeof(*g) + 63) / 64 * 64);
	struct xvt_clock_target t;

	ck_assert_ptr_nonnull(g);
	memset(g, 0, sizeof(*g));
	g->w.ctl = &g->ctl;
	g->w.host = &g->host;
	b->g = g;
	*way = beside_way;
	way->arg = b;
	ck_assert_int_eq(xvt_host_clock_init(&g->hc), 0);
	t = (struct xvt_clock_target){ .ctl = &g->ctl,
				       .host = &g->host,
				       .host_clock = &g->hc,
				       .guest_hz = &g->hc.hz,
				       .way = way };
	ck_assert_int_eq(xvt_clock_handshake.open(&g->source, &t), 0);
}

static void beside_end(struct beside *b)
{
	xvt_clock_handshake.close(b->g->source);
	free(b->g);
}

START_TEST(a_guest_that_answers_only_in_naps_needs_this_cpu)
{
	struct beside b = { .answer_every = 1 };
	struct xvt_clock_way way;

	beside_begin(&b, &way);
	MEASURE_UNTIL(b.leaves >= 3); /* there is no other CPU */
	ck_assert_uint_eq(b.left[0] + b.left[1], 0);
	b.can_leave = true; /* but that does not help: it goes on as before */
	MEASURE_UNTIL(b.left[0] >= 3);
	ck_assert_uint_eq(b.left[1], 0);
	beside_end(&b);
}
END_TEST

START_TEST(a_move_to_another_cpu_that_helps)
{
	struct beside b = { .answer_every = 1, .can_leave = true, .helps = true };
	struct xvt_clock_way way;

	beside_begin(&b, &way);
	ck_assert_int_eq(pthread_create(&b.g->thread, NULL, beside_answers, &b), 0);
	MEASURE_UNTIL(b.left[true]);
	ck_assert_uint_ge(b.naps, 2);
	__atomic_store_n(&b.g->stop, 1, __ATOMIC_RELAXED);
	pthread_join(b.g->thread, NULL);
	beside_end(&b);
}
END_TEST

/* Gone from its mailbox, or kept from it by something else, even if a nap ends just after that. */
START_TEST(a_guest_that_does_not_answer_in_naps_needs_no_cpu)
{
	struct beside b = { .answer_every = _i ? 2 : 0, .can_leave = true };
	struct xvt_clock_way way;
	unsigned int before = 0;

	beside_begin(&b, &way);
	for (int i = 0; i < 100; i++) {
		MEASURE_UNTIL(true);
		ck_assert_uint_le(b.naps - before, _i ? 2 : 1); /* one for a request */
		before = b.naps;
	}
	ck_assert_uint_gt(b.naps, 0);
	ck_assert_uint_eq(b.leaves, 0);
	beside_end(&b);
}
END_TEST

static uint64_t any_u64(void)
{
	return (uint64_t)rand() << 42 ^ (uint64_t)rand() << 21 ^ (uint64_t)rand();
}

/* The line without its division gives what the division gives, whatever the slope. */
START_TEST(segment_is_the_line_to_the_last_nanosecond)
{
	static const uint64_t sizes[] = { 1,	      2,	  3,	      1000,
					  1ull << 31, 3000000007, 1ull << 40, 1ull << 62 };
	const unsigned int n = sizeof(sizes) / sizeof(sizes[0]);
	unsigned int i, k;

	srand(5);
	for (i = 0; i < n * n * 20; i++) {
		struct xvt_clock_map m;
		struct xvt_clock_segment seg = { 0 };
		struct xvt_clock_node a = { .guest = any_u64() >> 2, .host_ns = any_u64() >> 2 };
		struct xvt_clock_node b = a;

		b.guest += 1 + any_u64() % sizes[i % n];
		b.host_ns += 1 + any_u64() % sizes[i / n % n];
		xvt_clock_map_init(&m, 1000000000);
		m.nodes = (struct xvt_clock_node[]){ a, b };
		m.nodes[0].flags = XVT_NODE_F_FIRST;
		m.count = 2;
		m.changes = 2;
		must_hold(xvt_clock_map_segment(&m, a.guest, &seg));
		for (k = 0; k < 50; k++) {
			uint64_t g = k == 0   ? a.guest
				     : k == 1 ? b.guest
					      : a.guest + any_u64() % (b.guest - a.guest + 1);

			must_hold(xvt_clock_segment_ns(&seg, g) == xvt_clock_line(&a, &b, g));
		}
		must_hold(!xvt_clock_map_segment(&m, b.guest + 1, &seg));
	}
}
END_TEST

/*
 * A record that was placed waits for other rings, while later ones are placed. If it goes into the
 * next file of a set, that needs the segment on which it lies.
 */
START_TEST(the_segment_of_a_record_that_waits_stays)
{
	const uint64_t waits_ns = 1000 * MS + 50 * MS + 7;
	struct xvt_clock_segment seg = { 0 };
	struct xvt_clock_map m;
	uint64_t i;

	xvt_clock_map_init(&m, 1000000000);
	m.waits_ns = _i ? waits_ns : 0;
	for (i = 0; i < 300; i++) {
		add(&m, 1000 * MS + i * MS, 1000 * MS + i * MS, 10);
		ck_assert(!i || xvt_clock_map_segment(&m, 1000 * MS + i * MS - 5, &seg));
	}
	if (_i) {
		ck_assert_uint_le(m.nodes[0].host_ns, waits_ns);
		/* It is gone; what is not needed goes, too. */
		m.waits_ns = 0;
		add(&m, 1400 * MS, 1400 * MS, 10);
	}
	ck_assert_uint_gt(m.nodes[0].host_ns, waits_ns);
	ck_assert_uint_lt(m.count, 70);
	ck_assert_uint_eq(m.nodes[m.at].host_ns, 1298 * MS);
	/* It cannot fill the memory. */
	m.waits_ns = 1;
	for (i = 0; i < 20000; i++)
		add(&m, 2000 * MS + i * MS, 2000 * MS + i * MS, 10);
	ck_assert_uint_lt(m.count, 10000);
	xvt_clock_map_fini(&m);
}
END_TEST

/*
 * Where nothing was measured, values of a second are on one line, which gives each the time that
 * the map gives it, to the nanosecond. Line and map are for values that a reader has, too.
 */
START_TEST(before_the_first_node_there_is_a_line)
{
	static const uint64_t rates[] = { 1000000000, 2893437512, 999999937, 19200000, 3 };
	const uint64_t hz = rates[_i], guest = 100 * hz + 77, host_ns = 3000 * MS * 100 + 13;
	const struct xvt_clock_evidence e = { 0, UINT64_MAX, 0 };
	struct xvt_clock_segment first = { 0 }, seg = { 0 };
	struct xvt_clock_placed p;
	struct xvt_clock_map m;
	uint64_t back;

	xvt_clock_map_init(&m, hz);
	add(&m, guest, host_ns, 10);
	m.closed = true;
	for (back = 20 * hz; back; back -= back / 64 + 1) {
		ck_assert_int_eq(xvt_clock_map_place(&m, guest - back, &e, &p), XVT_MAP_GUESS);
		ck_assert(xvt_clock_map_unmeasured(&m, guest - back));
		ck_assert(xvt_clock_map_beyond(&m, guest - back, p.host_ns, &seg));
		ck_assert_uint_eq(xvt_clock_segment_ns(&seg, guest - back), p.host_ns);
		ck_assert_uint_eq(seg.guest_end, guest - 1);
		if (!first.run)
			first = seg;
		/* The line of an earlier second is as good. */
		ck_assert_uint_eq(xvt_clock_segment_ns(&first, guest - back), p.host_ns);
		ck_assert(!xvt_clock_map_beyond(&m, guest - back, p.host_ns + 1, &seg));
	}
	ck_assert(!xvt_clock_map_unmeasured(&m, guest));
	/* It would begin before the clock's first tick. */
	ck_assert_int_eq(xvt_clock_map_place(&m, 0, &e, &p), XVT_MAP_GUESS);
	ck_assert(!xvt_clock_map_beyond(&m, 0, p.host_ns, &seg));
	xvt_clock_map_fini(&m);
}
END_TEST

/* A second epoch may be the one of such a value; one node of another ring measures nothing. */
START_TEST(what_is_measured_is_no_such_guess)
{
	struct xvt_clock_map m;
	struct xvt_clock_node taken = {
		.source = 1, .guest = 1000 * MS, .host_ns = 1000 * MS, .flags = XVT_NODE_F_TAKEN
	};

	xvt_clock_map_init(&m, 1000000000);
	ck_assert(!xvt_clock_map_unmeasured(&m, 1));
	add(&m, 1000 * MS, 1000 * MS, 10);
	ck_assert(xvt_clock_map_unmeasured(&m, 999 * MS));
	ck_assert(!xvt_clock_map_unmeasured(&m, 1001 * MS));
	add(&m, 1000, 9000 * MS, 10);
	ck_assert_uint_eq(xvt_clock_map_last(&m)->epoch, 1);
	ck_assert(!xvt_clock_map_unmeasured(&m, 999 * MS));
	xvt_clock_map_fini(&m);
	xvt_clock_map_init(&m, 1000000000);
	ck_assert_int_eq(xvt_clock_map_add(&m, &taken), 0);
	ck_assert(xvt_clock_map_unmeasured(&m, 999 * MS));
	ck_assert(xvt_clock_map_unmeasured(&m, 1001 * MS));
	xvt_clock_map_fini(&m);
}
END_TEST

/* A later epoch makes one think again, and so does a line that is no more the newest. */
START_TEST(segment_is_for_what_is_beyond_doubt)
{
	struct xvt_clock_segment seg = { 0 };
	struct xvt_clock_map m;

	xvt_clock_map_init(&m, 1000000000);
	ck_assert(!xvt_clock_map_segment(&m, 0, &seg));
	add(&m, 1000, 1000, 10);
	ck_assert(!xvt_clock_map_segment(&m, 1000, &seg));
	add(&m, 2000, 2000, 10);
	ck_assert(xvt_clock_map_segment(&m, 1500, &seg));
	ck_assert(!xvt_clock_map_segment(&m, 999, &seg));
	add(&m, 3000, 3100, 10);
	ck_assert(xvt_clock_map_segment(&m, 2500, &seg));
	ck_assert_uint_eq(xvt_clock_segment_ns(&seg, 2500), 2550);
	add(&m, 1000000000, 9000000000, 10); /* an epoch */
	ck_assert_uint_eq(xvt_clock_map_last(&m)->epoch, 1);
	ck_assert(!xvt_clock_map_segment(&m, 2600, &seg));
	xvt_clock_map_fini(&m);
}
END_TEST

Suite *clock_suite(void)
{
	Suite *s = suite_create("clock");
	TCase *tc = tcase_create("map");

	tcase_add_test(tc, segment_is_the_line_to_the_last_nanosecond);
	tcase_add_loop_test(tc, the_segment_of_a_record_that_waits_stays, 0, 2);
	tcase_add_test(tc, segment_is_for_what_is_beyond_doubt);
	tcase_add_loop_test(tc, before_the_first_node_there_is_a_line, 0, 5);
	tcase_add_test(tc, what_is_measured_is_no_such_guess);
	tcase_add_test(tc, a_record_waits_until_a_later_node_confirms_it);
	tcase_add_test(tc, a_creeping_clock_is_followed_and_the_bound_covers_what_it_crept);
	tcase_add_loop_test(tc, what_lies_far_before_the_first_node_is_placed_by_the_nodes_own_rate,
			    0, 5);
	tcase_add_test(tc, a_clock_that_is_set_forward_is_off_its_line_by_what_it_gains);
	tcase_add_loop_test(tc, a_saw_of_another_counter_is_in_its_bounds, 0, 3);
	tcase_add_test(tc, a_faster_clock_of_its_own_is_not_set_forward);
	tcase_add_test(tc, reported_changes_are_in_the_bound_or_end_the_epoch);
	tcase_add_test(tc, a_change_beside_a_node_is_in_the_bounds_on_both_sides);
	tcase_add_test(tc, a_record_behind_two_borders_finds_its_epoch);
	tcase_add_test(tc, a_later_stop_does_not_hide_an_earlier_one);
	tcase_add_loop_test(tc, a_pause_with_stamps_proves_a_records_side, 0, 7);
	tcase_add_loop_test(tc, two_nodes_of_one_exact_source_tell_of_no_creep, 0, 6);
	tcase_add_test(tc, a_jump_begins_an_epoch_and_nothing_is_interpolated_across);
	tcase_add_test(tc, a_clock_that_went_back_enters_the_next_epoch_only_when_told);
	tcase_add_loop_test(tc, the_evidence_decides_on_which_side_of_a_border_a_value_lies, 0, 12);
	tcase_add_loop_test(tc, only_statements_bound_a_record_between_two_epochs, 0, 3);
	tcase_add_test(tc, a_value_between_nodes_waits_for_a_measurement_after_its_copy);
	tcase_add_test(tc, a_disturbed_machine_is_granted_no_creep);
	tcase_add_test(tc, what_was_measured_before_a_stop_settles_nothing);
	tcase_add_test(tc, a_knee_of_the_host_clock_between_two_nodes_is_in_the_bound);
	tcase_add_loop_test(tc, what_was_measured_before_the_last_node_is_dropped_and_no_jump, 0,
			    18);
	tcase_add_test(tc, no_jump_hides_behind_what_the_drain_saw);
	tcase_add_test(tc, the_drain_does_not_see_what_jumps_back_before_its_look);
	tcase_add_test(tc, what_the_drain_saw_begins_no_epoch);
	tcase_add_test(tc, a_measurement_within_the_bound_of_a_witness_is_no_jump);
	tcase_add_test(tc, the_width_of_a_witness_is_no_error_of_the_map);
	tcase_add_loop_test(tc, what_the_drain_saw_is_told_as_wide_until_a_measurement_confirms_it,
			    0, 8);
	tcase_add_loop_test(tc, a_node_says_that_an_expected_rate_is_open, 0, 2);
	tcase_add_test(tc, the_line_is_exact_next_to_2_to_the_63_and_for_slow_and_fast_clocks);
	tcase_add_test(tc, the_host_clock_agrees_with_itself_ten_years_from_its_base);
	suite_add_tcase(s, tc);
	tc = tcase_create("measure");
	tcase_add_test(tc, a_node_is_what_its_samples_prove);
	tcase_add_test(tc, without_a_rate_the_tightest_exchange_counts);
	tcase_add_loop_test(tc, exchanges_that_are_far_apart_do_not_limit_each_other, 0, 2);
	tcase_add_loop_test(tc, no_answers_carry_a_node_out_of_its_burst, 0, 2);
	tcase_add_test(tc, the_step_of_a_clock_is_what_its_answers_have_in_common);
	suite_add_tcase(s, tc);
	tc = tcase_create("handshake");
	tcase_set_timeout(tc, 120);
	tcase_add_loop_test(tc, the_handshake_finds_the_true_offset_within_its_bound, 0, 4);
	tcase_add_loop_test(tc, the_handshake_bounds_hold_for_a_guest_of_another_rate, 0, 4);
	tcase_add_loop_test(tc, the_handshake_bounds_hold_within_the_doubt_of_the_rate, 0, 4);
	tcase_add_test(tc, an_answer_with_an_old_number_is_no_answer);
	tcase_add_test(tc, an_answer_between_two_looks_is_taken);
	tcase_add_test(tc, a_guest_that_answers_only_in_naps_needs_this_cpu);
	tcase_add_test(tc, a_move_to_another_cpu_that_helps);
	tcase_add_loop_test(tc, a_guest_that_does_not_answer_in_naps_needs_no_cpu, 0, 2);
	tcase_add_test(tc, answers_that_come_seldom_are_not_forgotten);
	tcase_add_test(tc, a_ring_that_answered_long_ago_is_asked_but_not_awaited);
	suite_add_tcase(s, tc);
	return s;
}
