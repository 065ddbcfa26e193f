// SPDX-License-Identifier: GPL-2.0
/*
 * test_machine_state.c - the states of a machine: which transitions are allowed, that another one
 * leaves the state as it is and is reported, and that the test programs abort on it.
 */
#include "suites.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "recording.h"

/* Without the abort of tests/unit/phase.c. */
int __real_xvt_vm_set_state(struct xvt_vm *vm, enum xvt_vm_state to);

static struct recording rec;
static char noted[256];
static uint32_t noted_level;

static void on_note(void *arg, uint32_t level, const char *name, const char *text)
{
	(void)arg;
	(void)name;
	noted_level = level;
	snprintf(noted, sizeof(noted), "%s", text);
}

static void setup(void)
{
	const struct xvt_session_options opt = { .note = on_note,
						 .mode = XVT_ENABLE_STOP,
						 .stall_timeout_ns = 1000000,
						 .memory_bytes = 1 << 20 };

	recording_begin(&rec, 1, &opt);
	noted[0] = 0;
}

static void teardown(void)
{
	recording_end(&rec);
}

/* Ways to each state, as the drawing in machine_state.h has them. */
static const struct {
	enum xvt_vm_state by[5];
	unsigned int count;
	const char *shown;
} ways[XVT_STATES] = {
#define BY(...) { __VA_ARGS__ }, sizeof((enum xvt_vm_state[]){ __VA_ARGS__ }) / sizeof(int)
	[XVT_STATE_WAITING] = { { 0 }, 0, "waiting" },
	[XVT_STATE_RECORDED] = { BY(XVT_STATE_RECORDED), "attached" },
	[XVT_STATE_SWITCHED_OFF] = { BY(XVT_STATE_RECORDED, XVT_STATE_SWITCHED_OFF), "stopping" },
	[XVT_STATE_CLOSED] = { BY(XVT_STATE_RECORDED, XVT_STATE_SWITCHED_OFF, XVT_STATE_CLOSED),
			       "stopping" },
	[XVT_STATE_WRITTEN] = { BY(XVT_STATE_RECORDED, XVT_STATE_SWITCHED_OFF, XVT_STATE_CLOSED,
				   XVT_STATE_WRITTEN),
				"stopping" },
	[XVT_STATE_LOST] = { BY(XVT_STATE_RECORDED, XVT_STATE_SWITCHED_OFF, XVT_STATE_LOST),
			     "stopped" },
	[XVT_STATE_STOPPED] = { BY(XVT_STATE_STOPPED), "stopped" },
	[XVT_STATE_GONE] = { BY(XVT_STATE_GONE), "gone" },
#undef BY
};

START_TEST(the_table_is_the_drawing_in_machine_state_h)
{
	/* a row: from; a column: to. Waiting, Recorded, switched Off, Closed, Written, Lost,
	 * Stopped, Gone: W R O C W L S G */
	static const char *const allowed[XVT_STATES] = { "01000011", "00100001", "00010100",
							 "00001100", "00000110", "00000010",
							 "00000001", "00000010" };
	unsigned int from, to, i;

	for (from = 0; from < XVT_STATES; from++) {
		for (to = 0; to < XVT_STATES; to++) {
			struct xvt_vm vm = { .session = rec.s };
			const bool may = allowed[from][to] == '1';

			for (i = 0; i < ways[from].count; i++)
				xvt_vm_set_state(&vm, ways[from].by[i]);
			ck_assert_int_eq(xvt_vm_state(&vm), from);
			ck_assert_str_eq(xvt_vm_state_shown(xvt_vm_state(&vm)), ways[from].shown);
			ck_assert_int_eq(__real_xvt_vm_set_state(&vm, to), may ? 0 : -EINVAL);
			ck_assert_int_eq(xvt_vm_state(&vm), may ? to : from);
		}
	}
}
END_TEST

START_TEST(a_refused_transition_is_reported_and_the_machine_keeps_its_state)
{
	ck_assert_int_eq(xvt_vm_state(rec.vm), XVT_STATE_RECORDED);
	ck_assert_int_eq(__real_xvt_vm_set_state(rec.vm, XVT_STATE_WRITTEN), -EINVAL);
	ck_assert_uint_eq(noted_level, 2);
	ck_assert_str_eq(noted, "error in xvtrace: state written cannot follow recorded; it stays "
				"recorded");
	ck_assert_int_eq(xvt_vm_state(rec.vm), XVT_STATE_RECORDED);
}
END_TEST

/* A stop by request goes through all its states in order. The file of a machine that is truncated
 * meanwhile ends the stop; the reason that users see is their request. */
START_TEST(a_stop_survives_the_loss_of_the_region)
{
	uint64_t sleep_ns;

	xvt_session_vm_stop(rec.vm, 7);
	ck_assert_int_eq(xvt_vm_state(rec.vm), XVT_STATE_SWITCHED_OFF);
	ck_assert_int_eq(xvt_session_vm_stopping(rec.vm), -EAGAIN);
	xvt_vm_gone(rec.s, rec.vm, "the region's file was truncated");
	ck_assert_int_eq(xvt_vm_state(rec.vm), XVT_STATE_LOST);
	ck_assert(xvt_session_vm_is_stopped(rec.vm));
	ck_assert_int_eq(xvt_session_vm_stopping(rec.vm), -EAGAIN);
	rec.s->passes.next_clock = 0;
	ck_assert_int_eq(xvt_session_pass(rec.s, &sleep_ns), 0);
	ck_assert_int_eq(xvt_vm_state(rec.vm), XVT_STATE_STOPPED);
	ck_assert_int_eq(xvt_session_vm_stopping(rec.vm), 0);
	ck_assert_str_eq(rec.vm->why, "by request of uid 7");
}
END_TEST

START_TEST(a_test_program_aborts_on_a_transition_that_is_not_allowed)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		close(STDERR_FILENO);
		xvt_vm_set_state(rec.vm, XVT_STATE_WAITING);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFSIGNALED(status));
	ck_assert_int_eq(WTERMSIG(status), SIGABRT);
}
END_TEST

Suite *machine_state_suite(void)
{
	Suite *suite = suite_create("machine_state");
	TCase *tc = tcase_create("states");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, the_table_is_the_drawing_in_machine_state_h);
	tcase_add_test(tc, a_refused_transition_is_reported_and_the_machine_keeps_its_state);
	tcase_add_test(tc, a_stop_survives_the_loss_of_the_region);
	tcase_add_test(tc, a_test_program_aborts_on_a_transition_that_is_not_allowed);
	suite_add_tcase(suite, tc);
	return suite;
}
