// SPDX-License-Identifier: GPL-2.0
/*
 * test_phase.c - the transitions of a ring's phase: which are allowed, that another one leaves
 * the phase as it is and is reported, and that the test programs abort on it.
 */
#include "suites.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "recording.h"

#define PHASES 5

/* Without the abort of tests/unit/phase.c. */
int __real_xvt_ring_set_phase(struct xvt_ring *r, enum xvt_ring_phase to);

static char noted[256];
static uint32_t noted_level;

static void on_note(void *arg, uint32_t level, const char *name, const char *text)
{
	(void)arg;
	(void)name;
	noted_level = level;
	snprintf(noted, sizeof(noted), "%s", text);
}

START_TEST(the_table_is_the_drawing_in_ring_h)
{
	/* a row: from; a column: to. N L A D B */
	static const char *const allowed[PHASES] = { "01101", "00111", "01001", "01001", "00001" };
	unsigned int from, to;

	for (from = 0; from < PHASES; from++) {
		for (to = 0; to < PHASES; to++) {
			struct xvt_ring r = { .phase = from };
			const bool may = allowed[from][to] == '1';

			ck_assert_int_eq(__real_xvt_ring_set_phase(&r, to), may ? 0 : -EINVAL);
			ck_assert_int_eq(r.phase, may ? to : from);
			ck_assert_int_eq(r.fault.is_new, !may);
		}
	}
}
END_TEST

START_TEST(a_refused_transition_is_reported_and_the_recording_goes_on)
{
	const struct xvt_session_options opt = { .note = on_note,
						 .mode = XVT_ENABLE_STOP,
						 .memory_bytes = 1 << 20 };
	struct recording rec;
	struct xvt_ring *r;

	recording_begin(&rec, 1, &opt);
	r = rec.s->rings[0];
	phase_anew(r, XVT_PHASE_DONE);
	ck_assert_int_eq(__real_xvt_ring_set_phase(r, XVT_PHASE_ASIDE), -EINVAL);
	xvt_session_ring_phase(rec.s, r, xvt_clock_read());
	ck_assert_uint_eq(noted_level, 2);
	ck_assert_str_eq(noted, "ring 0 error in xvtrace: phase aside cannot follow done; it stays "
				"done");
	noted[0] = 0;
	xvt_session_ring_phase(rec.s, r, xvt_clock_read());
	ck_assert_str_eq(noted, "");
	recording_end(&rec);
}
END_TEST

/* A ring that is set aside because nothing is proven of it, and why. */
START_TEST(what_is_told_of_a_ring_that_holds_back_is_true)
{
	static const char *const why[] = {
		"its control words never settle",
		"its writer never pauses, so nobody knows up to when its events are complete",
		"its oldest record waits for a measurement of its clock",
	};
	const struct xvt_session_options opt = { .note = on_note,
						 .mode = XVT_ENABLE_STOP,
						 .stall_timeout_ns = SECOND_NS,
						 .memory_bytes = 1 << 20 };
	struct xvt_piece piece = { .ceiling_ns = 1 };
	struct recording rec;
	struct xvt_ring *r;

	recording_begin(&rec, 1, &opt);
	r = rec.s->rings[0];
	r->drain.last.attempted = 7;
	xvt_session_ring_live(rec.s, r);
	rec.s->passes.joined = true;
	rec.s->passes.grace_clock = xvt_clock_read() - ticks(rec.s, 60 * SECOND_NS);
	r->session.live_ns = 0;
	r->measure.answered = true;
	r->drain.idle = false;
	r->drain.last.attempted += _i == 1;
	r->head.have = _i == 2;
	r->drain.first = _i == 2 ? &piece : NULL;
	xvt_session_ring_phase(rec.s, r, xvt_clock_read());
	ck_assert_msg(strstr(noted, why[_i]), "%s", noted);
	ck_assert_int_eq(r->phase, XVT_PHASE_ASIDE);
	r->head.have = false;
	r->drain.first = NULL;
	recording_end(&rec);
}
END_TEST

START_TEST(a_test_program_aborts_on_it)
{
	struct xvt_ring r = { 0 };
	int status;
	pid_t pid;

	phase_anew(&r, XVT_PHASE_BROKEN);
	pid = fork();
	if (!pid) {
		close(STDERR_FILENO);
		xvt_ring_set_phase(&r, XVT_PHASE_LIVE);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFSIGNALED(status));
	ck_assert_int_eq(WTERMSIG(status), SIGABRT);
}
END_TEST

Suite *ring_phase_suite(void)
{
	Suite *s = suite_create("ring_phase");
	TCase *tc = tcase_create("phase");

	tcase_add_test(tc, the_table_is_the_drawing_in_ring_h);
	tcase_add_test(tc, a_refused_transition_is_reported_and_the_recording_goes_on);
	tcase_add_loop_test(tc, what_is_told_of_a_ring_that_holds_back_is_true, 0, 3);
	tcase_add_test(tc, a_test_program_aborts_on_it);
	suite_add_tcase(s, tc);
	return s;
}
