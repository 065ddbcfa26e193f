// SPDX-License-Identifier: GPL-2.0
/* test_outcome.c - the last lines of a recorder, by what it has recorded. */
#include "suites.h"

#include <stdio.h>
#include <string.h>

#include "record/outcome.h"
#include "said.h"
#include "session/parts.h"
#include "set_recording.h"

static struct xvt_outcome o;

static void setup(void)
{
	said_setup();
	memset(&o, 0, sizeof(o));
}

static void says(const char *output, bool logs, const char *expected)
{
	xvt_outcome_say(&o, output, logs);
	ck_assert_str_eq(said(), expected);
}

START_TEST(one_file)
{
	o.events = 1234;
	o.machines = 1;
	o.bytes = 2048;
	o.ran_ns = 2500000000ull;
	says("t.xvt", false,
	     "t.xvt: 2.0 kB, 1,234 events of 1 machine in 2.5 s, lost 0\n"
	     "next: xvtrace summary t.xvt\n");
	/* The log of a service gets no advice. */
	says("t.xvt", true,
	     "xvtrace: note: t.xvt: 2.0 kB, 1,234 events of 1 machine in 2.5 s, lost 0\n");
}
END_TEST

START_TEST(machines_and_the_host)
{
	o.events = 1;
	o.lost = 1000;
	o.machines = 2;
	o.host = true;
	o.least = true;
	snprintf(o.states, sizeof(o.states), "; g1 ended");
	xvt_outcome_say(&o, "t.xvt", true);
	said_has("1 events of 2 machines and the host in 0.0 s, lost at least 1,000; g1 ended\n");
}
END_TEST

START_TEST(files_of_a_set)
{
	o.first_file = o.last_file = 7;
	xvt_outcome_say(&o, "d/", true);
	said_has("d/: 00000007.xvt, ");
	o.last_file = 9;
	o.snapshots = 1;
	xvt_outcome_say(&o, "d/", true);
	said_has("d/: 3 files, 00000007.xvt to 00000009.xvt, ");
	o.snapshots = 2;
	xvt_outcome_say(&o, "d/", true);
	said_has("; 2 snapshots in snapshots/\n");
}
END_TEST

static const struct {
	const char *output, *word;
} words[] = {
	{ "/a/b-1_2.xvt", "/a/b-1_2.xvt" },
	{ "a b.xvt", "'a b.xvt'" },
	{ "it's", "'it'\\''s'" },
	{ "-o", "'-o'" },
	{ "$(x)", "'$(x)'" },
	{ "a;b", "'a;b'" },
	{ "*", "'*'" },
};

START_TEST(the_output_is_a_word_of_a_shell)
{
	char line[128];

	snprintf(line, sizeof(line), "next: xvtrace verify --notes %s\n", words[_i].word);
	xvt_outcome_say(&o, words[_i].output, false);
	said_has(line);
}
END_TEST

START_TEST(what_is_wrong_follows)
{
	o.nr_wrong = 2;
	snprintf(o.wrong[0], sizeof(o.wrong[0]), "first");
	snprintf(o.wrong[1], sizeof(o.wrong[1]), "second");
	o.events = 1;
	xvt_outcome_say(&o, "t", false);
	said_has("\nfirst\nsecond\nnext: xvtrace summary t\n");
}
END_TEST

/* ------------------------------------------------------------------ of a recording */

static struct set_recording r;

static struct xvt_vm *guest(void)
{
	return xvt_session_find(r.rec.session, "g1");
}

static void setup_recording(void)
{
	setup();
	set_recording_begin(&r, "outcome", true);
	set_recording_pass(&r);
	said();
}

static void teardown_recording(void)
{
	set_recording_end(&r);
}

START_TEST(a_machine_that_gave_none_is_told)
{
	ck_assert(!xvt_outcome_take(&o, r.rec.session, r.rec.sink, true, false));
	said_has("g1: warning: no event of it came: ");
	ck_assert_uint_eq(o.machines, 0);
	ck_assert_uint_eq(o.last_file, 1);
	/* A quiet recorder names only those that are an error. */
	ck_assert(!xvt_outcome_take(&o, r.rec.session, r.rec.sink, true, true));
	ck_assert_str_eq(said(), "");
	xvt_session_vm_expect(guest());
	ck_assert(!xvt_outcome_take(&o, r.rec.session, r.rec.sink, false, false));
	said_has("g1: warning: no event of it came: ");
	ck_assert(!xvt_outcome_take(&o, r.rec.session, r.rec.sink, false, true));
	ck_assert_str_eq(said(), "");
	ck_assert(xvt_outcome_take(&o, r.rec.session, r.rec.sink, true, true));
	said_has("g1: no event of it came: ");
	ck_assert_uint_eq(o.nr_wrong, 0);
}
END_TEST

START_TEST(states_are_added)
{
	const struct xvt_vmm_report paused = { .event = XVT_VMM_GONE, .why = "destroyed" };

	xvt_session_vmm_report(guest(), &paused);
	set_recording_pass(&r);
	xvt_outcome_take(&o, r.rec.session, r.rec.sink, false, true);
	ck_assert_msg(strstr(o.states, "; g1 ") && strstr(o.states, "(destroyed)"), "%s", o.states);
}
END_TEST

Suite *outcome_suite(void)
{
	Suite *s = suite_create("outcome");
	TCase *t = tcase_create("lines"), *of = tcase_create("recording");

	tcase_add_checked_fixture(t, setup, NULL);
	tcase_add_test(t, one_file);
	tcase_add_test(t, machines_and_the_host);
	tcase_add_test(t, files_of_a_set);
	tcase_add_loop_test(t, the_output_is_a_word_of_a_shell, 0,
			    sizeof(words) / sizeof(words[0]));
	tcase_add_test(t, what_is_wrong_follows);
	suite_add_tcase(s, t);
	tcase_add_checked_fixture(of, setup_recording, teardown_recording);
	tcase_add_test(of, a_machine_that_gave_none_is_told);
	tcase_add_test(of, states_are_added);
	suite_add_tcase(s, of);
	return s;
}
