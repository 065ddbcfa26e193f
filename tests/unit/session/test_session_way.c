// SPDX-License-Identifier: GPL-2.0
/*
 * test_session_way.c - a recorder leaves the CPU that a guest needs for its answer: when, for how
 * long, and never where it has but one.
 */
#define _GNU_SOURCE
#include "suites.h"

#include <pthread.h>
#include <sched.h>

#include "recording.h"
#include "xvt_writer.h"

static struct recording rec;
static struct xvt_session *s;
static struct xvt_ring *r;
static struct xvt_writer w;
static cpu_set_t before;

static void setup(void)
{
	struct xvt_session_options opt = { .mode = XVT_ENABLE_STOP,
					   .memory_bytes = 8 << 20,
					   .join_timeout_ns = 60 * SECOND_NS,
					   .stall_timeout_ns = 60 * SECOND_NS };

	ck_assert_int_eq(sched_getaffinity(0, sizeof(before), &before), 0);
	recording_begin(&rec, 1, &opt);
	xvt_writer_init(&w, rec.map, &rec.g, 0);
	s = rec.s;
	r = s->rings[0];
	xvt_ring_set_phase(r, XVT_PHASE_LIVE);
}

static void teardown(void)
{
	phase_anew(r, XVT_PHASE_DONE); /* no guest answers */
	recording_end(&rec);
	ck_assert_int_eq(sched_setaffinity(0, sizeof(before), &before), 0);
}

static cpu_set_t allowed(void)
{
	cpu_set_t now;

	ck_assert_int_eq(sched_getaffinity(0, sizeof(now), &now), 0);
	return now;
}

static bool leave(void)
{
	return s->way.ops.leave(s->way.ops.arg);
}

static void left(bool helped)
{
	s->way.ops.left(s->way.ops.arg, helped);
}

/* True if the thread may run where it could at the start of the test. */
static bool is_back(void)
{
	const cpu_set_t now = allowed();

	return CPU_EQUAL(&now, &before);
}

static void one_cpu(void)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET((size_t)sched_getcpu(), &one);
	ck_assert_int_eq(sched_setaffinity(0, sizeof(one), &one), 0);
	before = one;
}

START_TEST(a_move_ends_with_the_pass)
{
	const int cpus = CPU_COUNT(&before);
	uint64_t ns;
	cpu_set_t now;

	if (cpus < 2)
		return; /* the next test is for this */
	ck_assert(leave());
	now = allowed();
	ck_assert_int_eq(CPU_COUNT(&now), cpus - 1);
	ck_assert_int_eq(xvt_session_pass(s, &ns), 0);
	ck_assert(is_back());
	/* In a doze it keeps off the CPU on which it was woken up. */
	s->way.next_clock = 0;
	ck_assert(leave());
	s->wake.bells = 1;
	s->wake.dozing = true;
	xvt_session_way_end_pass(s);
	ck_assert(!is_back());
	s->wake.dozing = false;
	xvt_session_way_end_pass(s);
	ck_assert(is_back());
	s->wake.bells = 0;
}
END_TEST

START_TEST(an_only_cpu_is_kept)
{
	cpu_set_t first = before;
	uint64_t ns;

	one_cpu();
	ck_assert(!leave());
	ck_assert(is_back());
	ck_assert_int_eq(xvt_session_pass(s, &ns), 0);
	ck_assert(is_back());
	before = first;
}
END_TEST

START_TEST(moves_are_limited_and_become_rarer_where_they_do_not_help)
{
	const uint64_t least = s->way.gap_ns, begin = xvt_clock_read();
	unsigned int i;

	leave();
	ck_assert_uint_ge(s->way.next_clock, begin + ticks(s, least));
	s->way.next_clock = begin + ticks(s, 3600 * SECOND_NS);
	ck_assert(!leave());
	ck_assert_uint_eq(s->way.next_clock, begin + ticks(s, 3600 * SECOND_NS));
	for (i = 0; i < 40; i++) {
		const uint64_t gap = s->way.gap_ns, now = xvt_clock_read();

		left(false);
		ck_assert(s->way.gap_ns == 2 * gap || s->way.gap_ns == SECOND_NS);
		ck_assert_uint_ge(s->way.next_clock, now + ticks(s, s->way.gap_ns));
	}
	ck_assert_uint_eq(s->way.gap_ns, SECOND_NS);
	left(true);
	ck_assert_uint_eq(s->way.gap_ns, least);
}
END_TEST

static uint32_t stop;

static void *guest(void *arg)
{
	(void)arg;
	while (!xvt_load(&stop)) {
		xvt_writer_answer(&w);
		xvt_relax();
	}
	return NULL;
}

/* Both have one CPU between them: whenever the recorder runs, the guest does not. */
START_TEST(a_guest_on_its_cpu_is_noticed)
{
	const cpu_set_t first = before;
	uint64_t sleep_ns;
	pthread_t thread;

	one_cpu();
	phase_anew(r, XVT_PHASE_NEW);
	stop = 0;
	xvt_store(&w.ctl->state, XVT_RING_ONLINE);
	ck_assert_int_eq(pthread_create(&thread, NULL, guest, NULL), 0);
	/* It looks for another CPU, in vain. The case's time-out ends it if it does not. */
	while (!s->way.next_clock) {
		ck_assert_int_eq(xvt_session_pass(s, &sleep_ns), 0);
		ck_assert_int_ge(xvt_loop_run(rec.loop, sleep_ns), 0);
	}
	ck_assert(is_back());
	xvt_store(&stop, 1);
	pthread_join(thread, NULL);
	before = first;
}
END_TEST

Suite *session_way_suite(void)
{
	Suite *suite = suite_create("session_way");
	TCase *tc = tcase_create("all");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, a_move_ends_with_the_pass);
	tcase_add_test(tc, an_only_cpu_is_kept);
	tcase_add_test(tc, moves_are_limited_and_become_rarer_where_they_do_not_help);
	tcase_add_test(tc, a_guest_on_its_cpu_is_noticed);
	suite_add_tcase(suite, tc);
	return suite;
}
