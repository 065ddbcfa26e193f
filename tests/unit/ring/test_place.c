// SPDX-License-Identifier: GPL-2.0
/*
 * test_place.c - the statements that go into a record's place, and what the order of its ring does
 * to it: moves a choice, and proves nothing.
 */
#include "suites.h"

#include <stdlib.h>

#include "engine.h"

#define MS    1000000ull
/* What a segment of 100 ms may be off its line here. */
#define SLACK (XVT_STAMP_SLACK_NS + xvt_clock_wander(100 * MS))
#define US    1000ull

static struct engine e;
static struct xvt_ring *r;

static void setup(void)
{
	engine_init(&e, 1, XVT_ENABLE_STOP);
	r = e.rings[0];
	engine_node(&e, 0, MS);
	engine_node(&e, 0, 100 * MS);
}

static void teardown(void)
{
	engine_fini(&e);
}

/* The machine stands still, and its clock with it: 120 ms is 20 ms before that host time. */
static void stood_still_until(uint64_t ns)
{
	engine_at(&e, 0, 120 * MS, ns);
	engine_at(&e, 0, 220 * MS, ns + 100 * MS);
	ck_assert_uint_eq(xvt_clock_map_last(&r->clock.map)->epoch, 1);
}

/* What was written since the last call was so seen. */
static void seen(uint64_t floor_ns, uint64_t ceiling_ns)
{
	engine_drain(&e, 0);
	r->drain.tail->floor_ns = floor_ns;
	r->drain.tail->ceiling_ns = ceiling_ns;
}

static void ck_event(size_t i, uint64_t ns, uint32_t flags)
{
	ck_assert_uint_lt(i, e.nr_out);
	ck_assert_uint_eq(e.out[i].ns, ns);
	ck_assert_uint_eq(e.out[i].flags & (XVT_EVENT_F_CLOCK | XVT_EVENT_F_UNCONFIRMED), flags);
}

static void ck_beside(size_t i, uint64_t lo_ns, uint64_t hi_ns)
{
	ck_assert(e.written[i].beside);
	ck_assert_uint_eq(e.written[i].lo_ns, lo_ns);
	ck_assert_uint_eq(e.written[i].hi_ns, hi_ns);
}

/* Whether the ring's next record has a time yet. */
static bool is_placed(void)
{
	return xvt_ring_peek(r) && r->head.placed;
}

/* Both may be from when the ring was last idle on, whatever time the first one was given. */
START_TEST(a_choice_proves_nothing_of_the_next_record)
{
	engine_at(&e, 0, 1200 * MS, 200 * MS);
	engine_at(&e, 0, 1300 * MS, 300 * MS);
	engine_write(&e, 0, 140 * MS);
	engine_write(&e, 0, 141 * MS);
	seen(110 * MS, 160 * MS);
	engine_end(&e);
	ck_event(0, 140 * MS, 0);
	ck_beside(0, 110 * MS, 160 * MS);
	ck_event(1, 141 * MS, 0);
	ck_beside(1, 110 * MS, 160 * MS);
}
END_TEST

/* The first one cannot be on the old line, and the second one can. */
START_TEST(the_order_moves_a_choice_and_no_limit)
{
	stood_still_until(620 * MS);
	engine_write(&e, 0, 110 * MS);
	seen(112 * MS, 700 * MS);
	engine_write(&e, 0, 116 * MS);
	seen(115 * MS, 700 * MS);
	engine_end(&e);
	ck_event(0, 610 * MS, 0);
	ck_beside(0, 112 * MS, 620 * MS);
	ck_event(1, 610 * MS, 0);
	ck_beside(1, 115 * MS, 620 * MS);
}
END_TEST

/* Copied before the time that the record before it has: one of both is wrong, and this is flagged.
 */
START_TEST(what_the_order_moves_out_of_its_set_is_flagged)
{
	stood_still_until(620 * MS);
	engine_write(&e, 0, 110 * MS);
	seen(112 * MS, 700 * MS);
	engine_write(&e, 0, 116 * MS);
	seen(115 * MS, 200 * MS);
	engine_end(&e);
	ck_event(0, 610 * MS, 0);
	ck_event(1, 610 * MS, XVT_EVENT_F_CLOCK);
}
END_TEST

/* A record with a wrong stamp, and one a microsecond before what that was clamped to. */
START_TEST(what_the_order_moves_is_by_no_line)
{
	engine_write(&e, 0, 40 * MS);
	engine_write(&e, 0, 90 * MS - US);
	seen(90 * MS, 95 * MS);
	engine_end(&e);
	ck_event(0, 90 * MS, XVT_EVENT_F_CLOCK);
	ck_event(1, 90 * MS, 0);
	ck_assert(e.written[1].beside);
	ck_assert_uint_le(e.written[1].lo_ns, 90 * MS - US);
}
END_TEST

/* Times go on where nothing moves them. */
START_TEST(the_order_moves_no_record_back)
{
	engine_write(&e, 0, 40 * MS);
	engine_write(&e, 0, 50 * MS);
	seen(10 * MS, 95 * MS);
	engine_end(&e);
	ck_event(0, 40 * MS, 0);
	ck_event(1, 50 * MS, 0);
	ck_assert(!e.written[0].beside && !e.written[1].beside);
}
END_TEST

/* The host sets a new number between 250 and 300 ms. */
START_TEST(the_epoch_word_is_a_limit_on_each_side)
{
	struct xvt_slot slot;

	stood_still_until(620 * MS);
	e.now = 105 * MS;
	ck_assert_int_eq(xvt_reserve(&e.writers[0], XVT_ID_U64, 8, &slot), 0);
	*(uint64_t *)slot.payload = 1;
	xvt_ring_bump_epoch(r);
	r->words.bumps[0].before_ns = 250 * MS;
	r->words.bumps[0].after_ns = 300 * MS;
	xvt_commit(&e.writers[0], &slot);
	engine_write(&e, 0, 106 * MS);
	seen(101 * MS, 700 * MS);
	engine_end(&e);
	ck_event(0, 105 * MS, 0);
	ck_beside(0, 101 * MS, 300 * MS);
	ck_event(1, 606 * MS, 0);
	ck_beside(1, 250 * MS, 620 * MS);
}
END_TEST

/* As long as a measurement may come, what was copied after the newest one waits for it. */
START_TEST(a_record_waits_for_a_measurement_after_its_copy)
{
	engine_write(&e, 0, 90 * MS);
	seen(50 * MS, 110 * MS);
	ck_assert(!is_placed());
	if (!_i) {
		engine_node(&e, 0, 120 * MS);
		ck_assert(is_placed() && !r->head.written.beside);
	} else {
		/* None will. */
		r->guest.quiet = true;
		ck_assert(is_placed() && r->head.written.beside);
		ck_assert_uint_eq(r->head.written.hi_ns, 110 * MS);
	}
	ck_assert_uint_eq(r->head.ns, 90 * MS);
	engine_end(&e);
}
END_TEST

/* Before the first node and behind the last one: U, unless it is bounded within a second. */
START_TEST(a_time_that_nothing_bounds_is_a_guess)
{
	static const struct {
		uint64_t guest, floor_ns, ceiling_ns, lo_ns, hi_ns;
		uint32_t flags;
	} cases[] = {
		{ MS / 2, 0, 150 * MS, 0, MS, XVT_EVENT_F_UNCONFIRMED },
		{ MS / 2, 10, 150 * MS, 10, 150 * MS, 0 },
		{ 110 * MS, 0, 150 * MS, 100 * MS, 150 * MS, 0 },
		{ 110 * MS, 105 * MS, UINT64_MAX, 105 * MS, UINT64_MAX, XVT_EVENT_F_UNCONFIRMED },
		{ 110 * MS, 105 * MS, 1100 * MS, 105 * MS, 1100 * MS, 0 },
		{ 110 * MS, 105 * MS, 1200 * MS, 105 * MS, 1200 * MS, XVT_EVENT_F_UNCONFIRMED },
	};

	engine_write(&e, 0, cases[_i].guest);
	seen(cases[_i].floor_ns, cases[_i].ceiling_ns);
	engine_end(&e);
	ck_event(0, cases[_i].guest, cases[_i].flags);
	ck_beside(0, cases[_i].lo_ns, cases[_i].hi_ns);
}
END_TEST

/* What is sure to be on one side of a border, or between two nodes but for a clock that was set
 * back later, may be as far off as a guess. */
START_TEST(a_time_that_is_off_by_more_than_a_second_is_a_guess)
{
	const bool wide = _i % 2;
	const uint64_t most = 1000 * MS - XVT_STAMP_SLACK_NS + wide;
	const uint32_t flags = wide ? XVT_EVENT_F_UNCONFIRMED : 0;

	if (_i < 2) {
		engine_write(&e, 0, 50 * MS);
		seen(50 * MS - US, 50 * MS + most);
		engine_end(&e);
		ck_event(0, 50 * MS, flags);
		ck_beside(0, 50 * MS - US, 50 * MS + most);
		return;
	}
	engine_at(&e, 0, 120 * MS, 3000 * MS);
	engine_at(&e, 0, 220 * MS, 3100 * MS);
	engine_write(&e, 0, 110 * MS);
	seen(2990 * MS - most, 3050 * MS);
	engine_end(&e);
	ck_event(0, 2990 * MS, flags);
	ck_beside(0, 2990 * MS - most, 3000 * MS);
}
END_TEST

/* The clock lost most of a second between two nodes, or more than one. No run is on such a line. */
START_TEST(a_time_on_a_line_that_is_off_by_more_than_a_second_is_a_guess)
{
	const bool wide = _i;

	engine_at(&e, 0, 200100 * MS, (wide ? 201200 : 201000) * MS);
	ck_assert_uint_eq(xvt_clock_map_last(&r->clock.map)->epoch, 0);
	engine_node(&e, 0, 201300 * MS);
	engine_write(&e, 0, 100000 * MS);
	engine_write(&e, 0, 100100 * MS);
	seen(100000 * MS, 101000 * MS);
	engine_end(&e);
	for (size_t i = 0; i < 2; i++) {
		ck_assert_uint_eq(e.out[i].flags, wide ? XVT_EVENT_F_UNCONFIRMED : 0);
		if (wide)
			ck_beside(i, 100000 * MS, 101000 * MS);
		else
			ck_assert(!e.written[i].beside);
	}
}
END_TEST

/* The ring's clock was taken for another one until 60 ms. */
START_TEST(what_was_written_before_the_rate_was_known_is_a_guess)
{
	r->clock.trusted_ns = 60 * MS;
	engine_write(&e, 0, 59 * MS);
	engine_write(&e, 0, 61 * MS);
	seen(10 * MS, 90 * MS);
	engine_end(&e);
	ck_event(0, 59 * MS, XVT_EVENT_F_UNCONFIRMED);
	ck_event(1, 61 * MS, 0);
}
END_TEST

/* What segments by a false rate leave of what the drain saw bounds nothing. Nor does the order in
 * the ring make a time by them a true one. */
START_TEST(a_guess_by_a_false_rate_has_what_the_drain_saw)
{
	r->clock.trusted_ns = 140 * MS;
	if (_i)
		r->head.last_ns = 145 * MS;
	engine_write(&e, 0, 110 * MS);
	seen(80 * MS, 150 * MS);
	engine_end(&e);
	ck_event(0, _i ? 145 * MS : 110 * MS, XVT_EVENT_F_UNCONFIRMED);
	ck_beside(0, 80 * MS, 150 * MS);
}
END_TEST

/* It is measured, and no gap has shown a rate. */
START_TEST(without_a_rate_the_drain_alone_bounds_a_time)
{
	r->clock.rate_open = true;
	r->clock.map.measured.source = _i ? XVT_SOURCE_KVM : XVT_SOURCE_HANDSHAKE;
	engine_write(&e, 0, 50 * MS);
	seen(60 * MS, 80 * MS);
	engine_end(&e);
	ck_event(0, 60 * MS, _i ? XVT_EVENT_F_CLOCK : 0);
	ck_beside(0, 60 * MS, 80 * MS);
}
END_TEST

/* What status tells holds for records beside a border, too. */
START_TEST(the_bound_that_is_told_holds_beside_a_border)
{
	stood_still_until(620 * MS);
	engine_write(&e, 0, 116 * MS);
	seen(115 * MS, 600 * MS);
	engine_end(&e);
	ck_event(0, 116 * MS, 0);
	ck_beside(0, 115 * MS, 600 * MS);
	ck_assert_uint_eq(xvt_clock_map_bound_ns(&r->clock.map), 484 * MS + XVT_STAMP_SLACK_NS);
}
END_TEST

/* Its time is by its line, and what its look says is what the drain saw: that can be held against
 * the line. */
START_TEST(the_look_of_a_record_on_its_line_is_not_by_the_line)
{
	engine_write(&e, 0, 50 * MS);
	seen(30 * MS, 80 * MS);
	engine_end(&e);
	ck_event(0, 50 * MS, 0);
	ck_assert(!e.written[0].beside);
	ck_assert_uint_eq(e.written[0].lo_ns, 30 * MS);
	ck_assert_uint_eq(e.written[0].hi_ns, 80 * MS);
}
END_TEST

/* A formula that says that nothing has changed, of a guest that does not answer: it is believed
 * within what the drain saw, and only there. */
START_TEST(a_formula_is_held_against_the_drain)
{
	static const struct {
		uint64_t floor_ns, ceiling_ns;
		uint32_t source;
	} cases[] = {
		{ 105 * MS, 115 * MS, XVT_SOURCE_KVM },
		{ 110 * MS + US, 115 * MS, XVT_SOURCE_KVM },
		{ 112 * MS, 115 * MS, XVT_SOURCE_DRAIN },
		{ 105 * MS, 107 * MS, XVT_SOURCE_DRAIN },
	};
	const struct xvt_clock_node *n;

	r->clock.exact_holds = true;
	r->clock.exact_used = XVT_SOURCE_KVM;
	r->clock.exact = (struct xvt_clock_formula){ .ratio = 1ull << 32, .frac = 32 };
	r->guest.quiet = true;
	engine_write(&e, 0, 110 * MS);
	seen(cases[_i].floor_ns, cases[_i].ceiling_ns);
	ck_assert(is_placed());
	n = xvt_clock_map_last(&r->clock.map);
	ck_assert_uint_eq(n->guest, 110 * MS);
	ck_assert_uint_eq(n->source, cases[_i].source);
	engine_end(&e);
}
END_TEST

/* A record copied after the VMM reported a stop, of a guest that was not measured since: its clock
 * may have stood still before it was written. */
START_TEST(no_node_is_made_of_what_may_lie_after_a_stop)
{
	engine_write(&e, 0, 110 * MS);
	seen(105 * MS, 115 * MS);
	r->guest.quiet = true;
	xvt_clock_map_stopped(&r->clock.map, _i ? 114 * MS : 116 * MS);
	ck_assert_int_eq(is_placed(), !_i);
	engine_end(&e);
}
END_TEST

/* From far below to far above: the bound of the node is what was not seen. */
START_TEST(the_bound_of_a_drain_node_is_the_distance_to_its_far_end)
{
	engine_write(&e, 0, 110 * MS);
	seen(_i ? 102 * MS : 109 * MS, _i ? 111 * MS : 118 * MS);
	r->guest.quiet = true;
	ck_assert(is_placed());
	ck_assert_uint_eq(xvt_clock_map_last(&r->clock.map)->source, XVT_SOURCE_DRAIN);
	ck_assert_uint_eq(xvt_clock_map_last(&r->clock.map)->bound_ns, 8 * MS);
	engine_end(&e);
}
END_TEST

/* ------------------------------------------------------------ the drain */

/* The host clock is 1 ns a tick here, and pieces keep what the look itself has proven. */
static uint64_t floor_of_next(uint64_t guest, uint64_t proof)
{
	engine_write(&e, 0, guest);
	engine_drain(&e, proof);
	return r->drain.tail->floor_ns;
}

/* A ring that was idle in a look: what comes later is not older than that look's proof. */
START_TEST(an_idle_look_is_the_floor_of_what_comes_after_it)
{
	ck_assert_uint_eq(floor_of_next(10 * MS, 11 * MS), 0);
	ck_assert_uint_eq(floor_of_next(20 * MS, 21 * MS), 11 * MS);
	ck_assert_uint_eq(floor_of_next(30 * MS, 31 * MS), 21 * MS);
	/* A look without a proof says nothing, and takes nothing back. */
	ck_assert_uint_eq(floor_of_next(40 * MS, 0), 31 * MS);
	ck_assert_uint_eq(floor_of_next(50 * MS, 51 * MS), 31 * MS);
	engine_end(&e);
}
END_TEST

/* A writer inside an event has read its clock, and an event of an interrupt within it is there. */
START_TEST(a_look_into_an_event_is_no_floor)
{
	struct xvt_slot slot;

	engine_write(&e, 0, 10 * MS);
	engine_drain(&e, 11 * MS);
	e.now = 12 * MS;
	if (_i == 0) { /* reserved */
		ck_assert_int_eq(xvt_reserve(&e.writers[0], XVT_ID_U64, 8, &slot), 0);
		*(uint64_t *)slot.payload = 1;
		engine_drain(&e, 20 * MS);
		xvt_commit(&e.writers[0], &slot);
	} else if (_i == 1) { /* nothing yet but nest */
		xvt_store(&r->ctl->nest, 1u);
		engine_drain(&e, 20 * MS);
		xvt_store(&r->ctl->nest, 0u);
	}
	ck_assert_uint_eq(floor_of_next(21 * MS, 22 * MS), 11 * MS);
	engine_end(&e);
}
END_TEST

/* More than fits into the memory: the rest was there before the look. */
START_TEST(a_look_that_did_not_take_all_is_no_floor)
{
	engine_write(&e, 0, 10 * MS);
	engine_drain(&e, 11 * MS);
	e.pool.budget = e.pool.used;
	engine_write(&e, 0, 12 * MS);
	engine_drain(&e, 20 * MS);
	e.pool.budget = 64u << 20;
	engine_drain(&e, 30 * MS);
	ck_assert_uint_eq(r->drain.tail->floor_ns, 11 * MS);
	ck_assert_uint_eq(floor_of_next(31 * MS, 32 * MS), 30 * MS);
	engine_end(&e);
}
END_TEST

/* Memory that went back holds records of before its last idle look. */
START_TEST(memory_that_went_back_has_no_floor)
{
	engine_write(&e, 0, 10 * MS);
	engine_drain(&e, 11 * MS);
	engine_write(&e, 0, 20 * MS);
	engine_drain(&e, 21 * MS);
	ck_assert_uint_eq(r->drain.tail->floor_ns, 11 * MS);
	xvt_store(&r->ctl->attempted, xvt_load(&r->ctl->attempted) - 1);
	engine_drain(&e, 31 * MS);
	ck_assert(r->drain.went_back);
	ck_assert_uint_eq(floor_of_next(32 * MS, 33 * MS), 0);
	engine_end(&e);
}
END_TEST

/* ------------------------------------------------------------ runs */

/* Behind a guess the rest of its piece is placed one by one, with the flag of each. */
START_TEST(a_guess_begins_no_run)
{
	r->clock.trusted_ns = 45 * MS;
	engine_write(&e, 0, 30 * MS);
	engine_write(&e, 0, 40 * MS);
	engine_write(&e, 0, 50 * MS);
	engine_write(&e, 0, 60 * MS);
	seen(10 * MS, 90 * MS);
	engine_end(&e);
	ck_event(0, 30 * MS, XVT_EVENT_F_UNCONFIRMED);
	ck_event(1, 40 * MS, XVT_EVENT_F_UNCONFIRMED);
	ck_event(2, 50 * MS, 0);
	ck_event(3, 60 * MS, 0);
}
END_TEST

/* Each record behind the last node has a set of its own: what is proven of the first one of a piece
 * says nothing of the second. */
START_TEST(what_no_segment_bounds_is_in_no_run)
{
	engine_write(&e, 0, 110 * MS);
	engine_write(&e, 0, 120 * MS);
	engine_write(&e, 0, 130 * MS);
	seen(105 * MS, 150 * MS);
	engine_end(&e);
	for (size_t i = 0; i < 3; i++) {
		ck_event(i, (110 + i * 10) * MS, 0);
		ck_beside(i, 105 * MS, 150 * MS);
	}
}
END_TEST

/* The later one of two that may be of a border before their segment may be later than the other. */
START_TEST(what_may_be_of_a_border_is_in_no_run)
{
	engine_at(&e, 0, 20 * MS, 200 * MS);
	engine_at(&e, 0, 120 * MS, 300 * MS);
	engine_at(&e, 0, 220 * MS, 400 * MS);
	engine_write(&e, 0, 90 * MS);
	seen(50 * MS, 95 * MS);
	engine_write(&e, 0, 30 * MS);
	engine_write(&e, 0, 40 * MS);
	seen(150 * MS, 390 * MS);
	engine_end(&e);
	ck_event(1, 210 * MS, 0);
	ck_beside(1, 150 * MS, 210 * MS + SLACK);
	ck_event(2, 220 * MS, 0);
	ck_beside(2, 150 * MS, 220 * MS + SLACK);
}
END_TEST

/* The window of a run: off its line by as much as that may be, and no more. */
START_TEST(a_run_is_held_against_its_look)
{
	static const uint64_t guest[] = { 40, 50, 60 };
	const bool late = _i % 2;
	const uint64_t by = _i / 2 ? SLACK - 1 : SLACK + 1;

	for (size_t i = 0; i < 3; i++)
		engine_write(&e, 0, guest[i] * MS);
	seen(late ? 10 * MS : 40 * MS + by, late ? 60 * MS - by : 90 * MS);
	engine_end(&e);
	ck_assert_uint_eq(e.nr_out, 3);
	/* The first one and the last one are what may contradict the look. */
	ck_assert_uint_eq(!!(e.out[0].flags & XVT_EVENT_F_CLOCK), !late && !(_i / 2));
	ck_assert_uint_eq(e.out[1].flags, 0);
	ck_assert_uint_eq(!!(e.out[2].flags & XVT_EVENT_F_CLOCK), late && !(_i / 2));
}
END_TEST

Suite *ring_place_suite(void)
{
	Suite *s = suite_create("ring_place");
	TCase *t = tcase_create("place"), *drain = tcase_create("drain"),
	      *run = tcase_create("run");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, a_choice_proves_nothing_of_the_next_record);
	tcase_add_test(t, the_order_moves_a_choice_and_no_limit);
	tcase_add_test(t, what_the_order_moves_out_of_its_set_is_flagged);
	tcase_add_test(t, what_the_order_moves_is_by_no_line);
	tcase_add_test(t, the_order_moves_no_record_back);
	tcase_add_test(t, the_epoch_word_is_a_limit_on_each_side);
	tcase_add_loop_test(t, a_record_waits_for_a_measurement_after_its_copy, 0, 2);
	tcase_add_loop_test(t, a_time_that_nothing_bounds_is_a_guess, 0, 6);
	tcase_add_loop_test(t, a_time_that_is_off_by_more_than_a_second_is_a_guess, 0, 4);
	tcase_add_loop_test(t, a_time_on_a_line_that_is_off_by_more_than_a_second_is_a_guess, 0, 2);
	tcase_add_loop_test(t, a_guess_by_a_false_rate_has_what_the_drain_saw, 0, 2);
	tcase_add_loop_test(t, without_a_rate_the_drain_alone_bounds_a_time, 0, 2);
	tcase_add_test(t, what_was_written_before_the_rate_was_known_is_a_guess);
	tcase_add_test(t, the_bound_that_is_told_holds_beside_a_border);
	tcase_add_test(t, the_look_of_a_record_on_its_line_is_not_by_the_line);
	tcase_add_loop_test(t, a_formula_is_held_against_the_drain, 0, 4);
	tcase_add_loop_test(t, no_node_is_made_of_what_may_lie_after_a_stop, 0, 2);
	tcase_add_loop_test(t, the_bound_of_a_drain_node_is_the_distance_to_its_far_end, 0, 2);
	suite_add_tcase(s, t);
	tcase_add_checked_fixture(drain, setup, teardown);
	tcase_add_test(drain, an_idle_look_is_the_floor_of_what_comes_after_it);
	tcase_add_loop_test(drain, a_look_into_an_event_is_no_floor, 0, 2);
	tcase_add_test(drain, a_look_that_did_not_take_all_is_no_floor);
	tcase_add_test(drain, memory_that_went_back_has_no_floor);
	suite_add_tcase(s, drain);
	tcase_add_checked_fixture(run, setup, teardown);
	tcase_add_test(run, a_guess_begins_no_run);
	tcase_add_test(run, what_no_segment_bounds_is_in_no_run);
	tcase_add_test(run, what_may_be_of_a_border_is_in_no_run);
	tcase_add_loop_test(run, a_run_is_held_against_its_look, 0, 4);
	suite_add_tcase(s, run);
	return s;
}
