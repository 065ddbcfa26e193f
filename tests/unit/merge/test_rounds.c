// SPDX-License-Identifier: GPL-2.0
/*
 * test_rounds.c - perf's rounds and our bounds over the same copied records: where a writer takes
 * longer than a pass, theirs emits the past after the present, and ours does not.
 */
#include "history.h"
#include "rounds.h"
#include "suites.h"

#include <inttypes.h>
#include <stdio.h>

#define MS 1000000ull

/* One pass over all rings by both. The host measures both clocks, and has a proof. */
static void pass(struct engine *e, struct rounds *o, uint64_t now)
{
	uint32_t i;

	for (i = 0; i < e->nr_rings; i++)
		engine_node(e, i, now);
	engine_drain(e, now);
	rounds_copy(o, e);
	rounds_finished(o);
	engine_merge(e);
}

static void begin(struct engine *e, struct rounds *o)
{
	engine_init(e, 2, XVT_ENABLE_STOP);
	rounds_init(o, e);
}

static void end(struct engine *e, struct rounds *o)
{
	engine_drain(e, 0);
	rounds_copy(o, e);
	rounds_final(o);
	engine_end(e);
	ck_assert_uint_eq(o->nr_out, e->nr_out);
}

static void fini(struct engine *e, struct rounds *o)
{
	rounds_fini(o);
	engine_fini(e);
}

/* So that it is perf's rule that is compared, and not a bad copy of it: its own example. */
START_TEST(rounds_are_right_when_writers_publish_within_a_pass)
{
	struct engine e;
	struct rounds o;

	begin(&e, &o);
	engine_write(&e, 0, 1);
	engine_write(&e, 1, 2);
	engine_write(&e, 0, 3);
	pass(&e, &o, 4);
	ck_assert_uint_eq(o.nr_out, 0);
	engine_write(&e, 1, 4);
	engine_write(&e, 0, 6);
	engine_write(&e, 1, 7);
	pass(&e, &o, 8);
	ck_assert_uint_eq(o.nr_out, 3); /* up to 3, the newest of the first pass */
	pass(&e, &o, 9);
	ck_assert_uint_eq(o.nr_out, 6);
	end(&e, &o);
	ck_assert(rounds_in_order(&o));
	ck_assert_uint_eq(o.unordered, 0);
	ck_assert(engine_in_order(&e));
	fini(&e, &o);
}
END_TEST

struct sleeper {
	struct engine *e;
	struct rounds *o;
	uint64_t stamp;
};

/* Ring 1's writer has read its clock. Before it goes on, ring 0 writes, and two passes end. */
static void meanwhile(struct engine *e, struct rounds *o)
{
	engine_write(e, 0, 10);
	pass(e, o, 11);
	engine_write(e, 0, 20);
	pass(e, o, 21);
}

static uint64_t sleepy_clock(void *arg)
{
	struct sleeper *s = arg;

	if (s->e->writers[1].clock_arg == s) {
		s->e->writers[1].clock_arg = NULL; /* once */
		meanwhile(s->e, s->o);
	}
	return s->stamp;
}

/* The smallest case: two rings, two passes, and the one record that everybody sees too late. */
START_TEST(a_writer_that_sleeps_for_two_passes_breaks_rounds_and_not_bounds)
{
	struct sleeper s;
	struct engine e;
	struct rounds o;

	begin(&e, &o);
	engine_node(&e, 0, 1);
	engine_node(&e, 1, 1);
	s = (struct sleeper){ .e = &e, .o = &o, .stamp = 5 };
	if (_i == 0) {
		/* Between its clock read and its reservation: only nest shows it. */
		e.writers[1].clock = sleepy_clock;
		e.writers[1].clock_arg = &s;
		engine_write(&e, 1, 5);
	} else {
		/* Between its reservation and its commit. */
		uint64_t number = ++e.numbers[1];
		struct xvt_slot slot;

		e.now = 5;
		ck_assert_int_eq(xvt_reserve(&e.writers[1], XVT_ID_U64, sizeof(number), &slot), 0);
		meanwhile(&e, &o);
		memcpy(slot.payload, &number, sizeof(number));
		xvt_commit(&e.writers[1], &slot);
	}
	ck_assert_uint_eq(o.nr_out, 1); /* 10 is out, */
	ck_assert_uint_eq(e.nr_out, 0); /* here it waits: ring 1 was never proven idle */
	pass(&e, &o, 31);
	pass(&e, &o, 41);
	end(&e, &o);
	ck_assert(!rounds_in_order(&o)); /* 10, 5, 20 */
	ck_assert_uint_eq(o.unordered, 1);
	ck_assert_uint_eq(o.out[1].ns, 5);
	ck_assert(engine_in_order(&e)); /* 5, 10, 20 */
	ck_assert_uint_eq(e.out[0].ns, 5);
	ck_assert_uint_eq(e.out[0].flags, 0);
	ck_assert_uint_eq(e.merge.late, 0);
	fini(&e, &o);
}
END_TEST

/*
 * A machine is paused inside an event for 3 s, and the others go on. Rounds deliver 300 passes of
 * events that are newer, and know nothing. We hold them until the ring is set aside, as the VMM
 * tells of the stop; then the one record is flagged, counted, and nothing else is late.
 */
START_TEST(a_paused_machine_breaks_rounds_silently)
{
	struct xvt_slot slot;
	struct engine e;
	struct rounds o;
	uint64_t now;

	begin(&e, &o);
	engine_node(&e, 0, 1);
	engine_node(&e, 1, 1);
	e.now = 5 * MS;
	ck_assert_int_eq(xvt_reserve(&e.writers[1], XVT_ID_U64, 8, &slot), 0);
	for (now = 10 * MS; now < 3000 * MS; now += 10 * MS) {
		engine_write(&e, 0, now);
		pass(&e, &o, now + MS);
		if (now == 500 * MS)
			ck_assert_uint_eq(e.nr_out, 0);
		if (now == 1000 * MS && _i)
			xvt_ring_set_phase(e.rings[1], XVT_PHASE_ASIDE);
	}
	*(uint64_t *)slot.payload = 1;
	xvt_commit(&e.writers[1], &slot);
	phase_anew(e.rings[1], XVT_PHASE_LIVE);
	pass(&e, &o, now + MS);
	pass(&e, &o, now + 11 * MS);
	end(&e, &o);
	ck_assert(!rounds_in_order(&o));
	ck_assert(engine_in_order(&e)); /* the main lane */
	ck_assert_uint_eq(e.merge.late, (uint64_t)_i);
	ck_assert_uint_eq(e.out[0].ns, _i ? 10 * MS : 5 * MS);
	fini(&e, &o);
}
END_TEST

/* ------------------------------------------------------------ the same at random */

struct comparison {
	struct rounds rounds;
	bool begun;
};

static void compare(void *arg, struct engine *e, bool whole)
{
	struct comparison *c = arg;

	if (!c->begun)
		rounds_init(&c->rounds, e);
	c->begun = true;
	rounds_copy(&c->rounds, e);
	if (whole)
		rounds_finished(&c->rounds);
}

/* Over random histories under random schedules whose passes look at all rings at once. */
START_TEST(rounds_are_wrong_in_histories_where_bounds_are_right)
{
	uint64_t seed, unordered = 0, wrong = 0;

	for (seed = 0; seed < 300; seed++) {
		struct schedule s = schedule_make(seed);
		struct comparison c = { 0 };
		struct history h;
		struct played p;

		s.more = 256;
		s.tight = 0;
		history_make(&h, seed);
		history_play(&h, &s, &p, compare, &c);
		rounds_final(&c.rounds);
		unordered += c.rounds.unordered;
		wrong += !rounds_in_order(&c.rounds);
		ck_assert_uint_eq(p.late, 0);
		rounds_fini(&c.rounds);
		played_free(&p);
		history_free(&h);
	}
	printf("rounds: %" PRIu64 " of 300 schedules out of order, %" PRIu64
	       " events; bounds: none\n",
	       wrong, unordered);
	ck_assert_uint_gt(wrong, 30);
}
END_TEST

Suite *rounds_suite(void)
{
	Suite *s = suite_create("rounds");
	TCase *tc = tcase_create("rounds");

	tcase_add_test(tc, rounds_are_right_when_writers_publish_within_a_pass);
	tcase_add_loop_test(tc, a_writer_that_sleeps_for_two_passes_breaks_rounds_and_not_bounds, 0,
			    2);
	tcase_add_loop_test(tc, a_paused_machine_breaks_rounds_silently, 0, 2);
	tcase_add_test(tc, rounds_are_wrong_in_histories_where_bounds_are_right);
	suite_add_tcase(s, tc);
	return s;
}
