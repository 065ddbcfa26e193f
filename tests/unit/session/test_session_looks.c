// SPDX-License-Identifier: GPL-2.0
/* test_session_looks.c - which looks at a ring go into the trace, and what they hold together. */
#include "suites.h"

#include <stdlib.h>

#include "recording.h"

#define RINGS 20 /* more than the looks that a new one is compared with */
#define US    1000ull
#define NS    (1000 * US) /* when it all happens */

static struct recording rec;
static struct xvt_session *s;

static void setup(void)
{
	const struct xvt_session_options opt = { .mode = XVT_ENABLE_STOP,
						 .join_timeout_ns = 60 * SECOND_NS,
						 .stall_timeout_ns = 60 * SECOND_NS,
						 .memory_bytes = 1 << 20 };

	recording_begin(&rec, RINGS, &opt);
	s = rec.s;
	s->looks.count = 0;
}

static void teardown(void)
{
	recording_end(&rec);
}

#define BESIDE	  XVT_LOOK_F_BESIDE
#define GUESS	  XVT_LOOK_F_GUESS
#define ON_A_LINE 0

/* What a look proves of one record. */
struct seen {
	uint32_t ring;
	uint32_t kind; /* XVT_LOOK_F_ */
	uint64_t ns, lo_ns, hi_ns;
	uint64_t pos; /* in its ring */
};

static struct xvt_run *make_run(const struct seen *k, uint32_t count)
{
	struct xvt_run *run = calloc(1, sizeof(*run) + count * sizeof(run->ns[0]));

	ck_assert_ptr_nonnull(run);
	run->ring = s->rings[k->ring];
	run->ring_flags = k->ring | (k->kind & GUESS ? XVT_EVENT_F_UNCONFIRMED : 0);
	run->count = run->taken = count;
	run->id = XVT_ID_FIRST_EVENT;
	run->pos = k->pos;
	run->len = 16;
	run->written = (struct xvt_written){ k->kind & BESIDE, k->lo_ns, k->hi_ns };
	run->in_parts = k->kind != ON_A_LINE;
	for (uint32_t i = 0; i < count; i++)
		run->ns[i] = k->ns + i;
	return run;
}

static void note(const struct seen *k)
{
	struct xvt_run *run = make_run(k, 1);

	xvt_session_note_look(s, run);
	free(run);
}

static void note_all(const struct seen *k, size_t count)
{
	for (size_t i = 0; i < count; i++)
		note(&k[i]);
}

static void ck_look(size_t i, uint64_t first_ns, uint64_t last_ns, uint64_t lo_ns, uint64_t hi_ns)
{
	const struct xvt_clock_look *l = &s->looks.of[i];

	ck_assert_uint_lt(i, s->looks.count);
	ck_assert_uint_eq(l->first_ns, first_ns);
	ck_assert_uint_eq(l->last_ns, last_ns);
	ck_assert_uint_eq(l->lo_ns, lo_ns);
	ck_assert_uint_eq(l->hi_ns, hi_ns);
}

/* Beside all segments nothing else bounds a record; of the others a few are enough. */
START_TEST(each_record_that_no_segment_bounds_has_a_look)
{
	for (uint64_t i = 0; i < 20; i++)
		note(&(struct seen){ 0, BESIDE, NS + i * 100 * US, NS + i * 100 * US - US,
				     NS + i * 100 * US + US, i * 16 });
	ck_assert_uint_eq(s->looks.count, 20);
	s->looks.count = 0;
	s->rings[1]->session.look_pos = 0;
	for (uint64_t i = 0; i < 1024; i++)
		note(&(struct seen){ 1, ON_A_LINE, NS + i * 100 * US, NS + i * 100 * US - US,
				     NS + i * 100 * US + US, i * 16 });
	ck_assert_uint_ge(s->looks.count, 2);
	ck_assert_uint_le(s->looks.count, 4);
}
END_TEST

START_TEST(a_look_holds_all_times_of_its_run)
{
	const struct seen k = { 0, BESIDE, NS, NS - US, NS + US, 0 };
	struct xvt_run *run = make_run(&k, 5);

	run->at =
		1; /* the first was in the merge's last window, and the last will be in the next */
	run->taken = 4;
	xvt_session_note_look(s, run);
	free(run);
	ck_assert_uint_eq(s->looks.count, 1);
	ck_look(0, NS + 1, NS + 3, NS - US, NS + US);
}
END_TEST

/* In either order; the second one reaches further on one side, or on both. */
START_TEST(two_looks_that_are_joined_hold_what_both_held)
{
	static const struct seen both[][2] = {
		{ { 0, BESIDE, NS, NS - 50 * US, NS + 50 * US, 0 },
		  { 0, BESIDE, NS + US, NS - 49 * US, NS + 51 * US, 16 } },
		{ { 0, BESIDE, NS, NS - 50 * US, NS + 50 * US, 0 },
		  { 0, BESIDE, NS + US, NS - 51 * US, NS + 49 * US, 16 } },
		{ { 0, BESIDE, NS, NS - 50 * US, NS + 50 * US, 0 },
		  { 0, BESIDE, NS + US, NS - 52 * US, NS + 52 * US, 16 } },
		{ { 0, BESIDE, NS, NS - 50 * US, NS + 50 * US, 0 },
		  { 0, BESIDE, NS + US, NS - 48 * US, NS + 48 * US, 16 } },
	};
	const struct seen *a = &both[_i / 2][_i % 2], *b = &both[_i / 2][!(_i % 2)];

	note(a);
	note(b);
	ck_assert_uint_eq(s->looks.count, 1);
	ck_look(0, NS, NS + US, a->lo_ns < b->lo_ns ? a->lo_ns : b->lo_ns,
		a->hi_ns > b->hi_ns ? a->hi_ns : b->hi_ns);
	ck_assert_uint_eq(s->looks.of[0].flags, XVT_LOOK_F_BESIDE);
	ck_assert_uint_eq(s->looks.of[0].ring, 0);
}
END_TEST

/* A reader has no more than the look that both are in, and the greatest bound covers that. */
START_TEST(the_greatest_bound_is_that_of_the_looks)
{
	struct xvt_ring *r = s->rings[0];

	note(&(struct seen){ 0, BESIDE, NS, NS - 50 * US, NS + 50 * US, 0 });
	ck_assert_uint_eq(r->clock.map.bound_ns_max, 50 * US + XVT_STAMP_SLACK_NS);
	note(&(struct seen){ 0, BESIDE, NS + US, NS - 49 * US, NS + 51 * US, 16 });
	ck_assert_uint_eq(s->looks.count, 1);
	ck_assert_uint_eq(r->clock.map.bound_ns_max, 51 * US + XVT_STAMP_SLACK_NS);
	note(&(struct seen){ 0, GUESS, NS, NS - 500 * US, NS + 50 * US, 32 });
	note(&(struct seen){ 0, BESIDE | GUESS, NS, NS - 600 * US, NS + 50 * US, 48 });
	note(&(struct seen){ 0, ON_A_LINE, NS, NS - 700 * US, NS + 50 * US, 8192 });
	ck_assert_uint_eq(r->clock.map.bound_ns_max, 51 * US + XVT_STAMP_SLACK_NS);
}
END_TEST

/* With many rings the merge puts a run out in many windows. */
START_TEST(a_run_on_its_line_has_one_look_for_all_its_parts)
{
	const struct seen k = { 0, ON_A_LINE, NS, NS - US, NS + US, 8192 };
	struct xvt_run *run = make_run(&k, 6);

	s->rings[0]->session.look_pos = 0;
	for (run->at = 0; run->at < run->count; run->at = run->taken) {
		run->taken = run->at + 2;
		xvt_session_note_look(s, run);
		/* Too many come between for a join. */
		s->rings[0]->session.look_at = UINT32_MAX;
		for (uint32_t ring = 1; ring < RINGS; ring++)
			note(&(struct seen){ ring, BESIDE, NS, NS - US, NS + US, 0 });
	}
	free(run);
	ck_assert_uint_eq(s->looks.count, RINGS);
	ck_look(0, NS, NS + 5, NS - US, NS + US);
}
END_TEST

/* What would be wide by the other one, of another ring, or no bound. */
START_TEST(looks_of_other_moments_rings_and_kinds_are_not_joined)
{
	static const struct seen apart[][2] = {
		{ { 0, BESIDE, NS, NS - 50 * US, NS + 50 * US, 0 },
		  { 0, BESIDE, NS + 100 * US, NS + 50 * US, NS + 150 * US, 16 } },
		{ { 0, BESIDE, NS, NS - 50 * US, NS + 50 * US, 0 },
		  { 0, BESIDE, NS, NS - 5 * US, NS + 5 * US,
		    16 } }, /* the narrow one would suffer */
		{ { 0, BESIDE, NS, NS - 50 * US, NS + 50 * US, 0 },
		  { 1, BESIDE, NS, NS - 50 * US, NS + 50 * US, 0 } },
		{ { 0, BESIDE, NS, NS - 50 * US, NS + 50 * US, 0 },
		  { 0, ON_A_LINE, NS, NS - 50 * US, NS + 50 * US, 8192 } },
		{ { 0, BESIDE, NS, NS - 50 * US, NS + 50 * US, 0 },
		  { 0, BESIDE | GUESS, NS, NS - 50 * US, NS + 50 * US, 16 } },
		{ { 0, GUESS, NS, NS - 50 * US, NS + 50 * US, 0 },
		  { 0, BESIDE | GUESS, NS, NS - 50 * US, NS + 50 * US, 16 } },
	};
	const struct seen *a = &apart[_i / 2][_i % 2], *b = &apart[_i / 2][!(_i % 2)];

	s->rings[0]->session.look_pos = 0;
	note(a);
	note(b);
	ck_assert_uint_eq(s->looks.count, 2);
	ck_look(0, a->ns, a->ns, a->lo_ns, a->hi_ns);
	ck_look(1, b->ns, b->ns, b->lo_ns, b->hi_ns);
	ck_assert_uint_eq(s->looks.of[0].flags, a->kind);
	ck_assert_uint_eq(s->looks.of[1].flags, b->kind);
}
END_TEST

/* Both events are within a second, and by one look for both the first one is not. */
START_TEST(looks_are_not_joined_beyond_what_an_event_without_a_flag_may_have)
{
	const uint64_t most = 1000000000 - XVT_STAMP_SLACK_NS, later = _i ? US : 0;
	const struct seen a = { 0, BESIDE, 2 * NS, 2 * NS - US, 2 * NS + most - US, 0 };
	const struct seen b = {
		0, BESIDE, 2 * NS + 2 * US, 2 * NS - US, 2 * NS + most + later, 16
	};

	note(&a);
	note(&b);
	ck_assert_uint_eq(s->looks.count, 1 + _i);
	if (_i)
		return;
	ck_look(0, a.ns, b.ns, a.lo_ns, b.hi_ns);
	s->looks.count = 0;
	note(&(struct seen){ 0, GUESS, a.ns, a.lo_ns, a.hi_ns, 0 });
	note(&(struct seen){ 0, GUESS, b.ns, b.lo_ns, b.hi_ns + US, 16 });
	ck_assert_uint_eq(s->looks.count, 1);
}
END_TEST

START_TEST(where_nothing_is_proven_there_is_no_look)
{
	static const struct seen none[] = {
		{ 0, BESIDE, NS, 0, NS + US, 0 },
		{ 0, BESIDE, NS, NS - US, UINT64_MAX, 0 },
		{ 0, BESIDE, NS, NS + US, NS - US, 0 },
	};
	const struct seen k = { 0, BESIDE, NS, NS - US, NS + US, 0 };
	struct xvt_run *run = make_run(&k, 1);

	note_all(none, sizeof(none) / sizeof(none[0]));
	run->id = XVT_ID_LOST;
	xvt_session_note_look(s, run);
	free(run);
	ck_assert_uint_eq(s->looks.count, 0);
}
END_TEST

/* A guess shares its time with its neighbours, but not what is known of them. */
START_TEST(each_guess_has_a_look_even_if_nothing_is_known)
{
	note(&(struct seen){ 0, GUESS, NS, NS - US, NS + US, 16 });
	ck_look(0, NS, NS, NS - US, NS + US);
	note(&(struct seen){ 0, GUESS, NS + 2, 0, NS + US, 32 });
	ck_look(1, NS + 2, NS + 2, 0, UINT64_MAX);
	note(&(struct seen){ 0, GUESS, NS + 3, NS - US, UINT64_MAX, 48 });
	note(&(struct seen){ 0, GUESS, NS + 4, NS + US, NS - US, 64 });
	ck_assert_uint_eq(s->looks.count, 2);
	ck_look(1, NS + 2, NS + 4, 0, UINT64_MAX);
}
END_TEST

/* In a trace without any clock all events are such guesses. */
START_TEST(guesses_of_many_rings_take_a_look_for_each_ring)
{
	static const uint32_t rounds = 20;

	for (uint32_t i = 0; i < rounds; i++) {
		for (uint32_t ring = 0; ring < RINGS; ring++)
			note(&(struct seen){ ring, GUESS, NS + i, 0, UINT64_MAX, i * 16ull });
	}
	ck_assert_uint_eq(s->looks.count, RINGS);
	for (uint32_t ring = 0; ring < RINGS; ring++) {
		ck_assert_uint_eq(s->looks.of[ring].ring, ring);
		ck_look(ring, NS, NS + rounds - 1, 0, UINT64_MAX);
	}
}
END_TEST

/* More than there is room for: they are written, and none is lost. */
START_TEST(looks_that_have_no_room_are_written)
{
	struct xvt_trace *t;
	struct xvt_chunk_buf b = { 0 };
	struct xvt_clock_look k;
	size_t n = 0, chunk = 0;

	for (uint64_t i = 0; i < 2 * XVT_LOOKS_MAX + 5; i++)
		note(&(struct seen){ 0, BESIDE, NS + i * 100 * US, NS + i * 100 * US - US,
				     NS + i * 100 * US + US, i * 16 });
	xvt_session_put_looks(s);
	ck_assert_uint_eq(s->looks.count, 0);
	ck_assert_int_eq(xvt_session_end(s), 0);
	t = recording_open(&rec);
	for (; xvt_trace_next(t, 1u << XVT_CHUNK_LOOKS, &chunk, &b) == 1; chunk++) {
		for (uint32_t at = 0; xvt_chunk_take(&b, &at, &k, sizeof(k)); n++)
			ck_assert_uint_eq(k.first_ns, NS + n * 100 * US);
	}
	ck_assert_uint_eq(n, 2 * XVT_LOOKS_MAX + 5);
	xvt_chunk_buf_free(&b);
	xvt_trace_close(t);
	xvt_session_free(s);
	rec.s = NULL;
}
END_TEST

Suite *session_looks_suite(void)
{
	Suite *suite = suite_create("session_looks");
	TCase *t = tcase_create("looks");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, each_record_that_no_segment_bounds_has_a_look);
	tcase_add_test(t, a_look_holds_all_times_of_its_run);
	tcase_add_loop_test(t, two_looks_that_are_joined_hold_what_both_held, 0, 8);
	tcase_add_test(t, the_greatest_bound_is_that_of_the_looks);
	tcase_add_loop_test(t, looks_of_other_moments_rings_and_kinds_are_not_joined, 0, 12);
	tcase_add_test(t, a_run_on_its_line_has_one_look_for_all_its_parts);
	tcase_add_loop_test(t, looks_are_not_joined_beyond_what_an_event_without_a_flag_may_have, 0,
			    2);
	tcase_add_test(t, where_nothing_is_proven_there_is_no_look);
	tcase_add_test(t, each_guess_has_a_look_even_if_nothing_is_known);
	tcase_add_test(t, guesses_of_many_rings_take_a_look_for_each_ring);
	tcase_add_test(t, looks_that_have_no_room_are_written);
	suite_add_tcase(suite, t);
	return suite;
}
