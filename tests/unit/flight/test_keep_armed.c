// SPDX-License-Identifier: GPL-2.0
/*
 * test_keep_armed.c - flight recorders beside a recording: they are armed and released by timers
 * after its passes, and not while another process reads them. The clock is the test's own.
 */
#include "suites.h"

#include "base/time.h"
#include "flight/flight.h"
#include "flight/keep_armed.h"
#include "said.h"
#include "set_recording.h"

static struct set_recording r;
static struct region_file region; /* of the machine that is kept armed */
static struct xvt_armed *armed;
static struct xvt_flight *flight;
static struct xvt_machine_options machines;
static struct xvt_opt_list qmp;
static struct xvt_keep_armed keep;
static uint64_t now_ns;
static unsigned int joins;

static void joined(void *arg, struct xvt_vm *vm)
{
	ck_assert_ptr_eq(arg, &joins);
	ck_assert_str_eq(xvt_session_vm_name(vm), "web-1");
	joins++;
}

static void setup(void)
{
	static const struct xvt_flight_options of_flight;
	static const struct xvt_opt_list patterns = { .v = { "web-*" }, .n = 1 };
	struct xvt_error why;

	said_setup();
	set_recording_begin(&r, "keep_armed", true);
	region_file_make(&region, "kept_region");
	region_file_format(&region, 2);
	ck_assert_int_eq(xvt_armed_new(&armed, &patterns, true), 0);
	ck_assert_int_eq(xvt_armed_takes(armed, "web-1", region.path, NULL, 0, &why), 1);
	ck_assert_int_eq(xvt_flight_new(&flight, &of_flight), 0);
	joins = 0;
	keep = (struct xvt_keep_armed){ .rec = &r.rec,
					.armed = armed,
					.flight = flight,
					.machines = &machines,
					.qmp = &qmp,
					.joined = joined,
					.arg = &joins };
	xvt_keep_armed_begin(&keep);
	now_ns = xvt_session_now_ns(r.rec.session);
}

static void teardown(void)
{
	xvt_flight_helper(flight)->asked = false;
	xvt_armed_unlisten(armed);
	ck_assert(xvt_flight_free(flight));
	set_recording_end(&r);
	xvt_armed_free(armed);
	region_file_end(&region);
}

static void run_after(uint64_t ns)
{
	now_ns += ns;
	xvt_timers_run(&r.rec.after_pass, now_ns);
}

static uint32_t enabled(void)
{
	return xvt_load(&region_file_host(&region, 0)->enable);
}

START_TEST(a_machine_is_armed_after_a_pass)
{
	run_after(0);
	ck_assert_uint_eq(enabled(), XVT_ENABLE_OVERWRITE);
	ck_assert(!xvt_armed_has_new(armed));
	/* A recorder that sleeps is not woken up for that. */
	ck_assert_uint_eq(xvt_timers_sleep_ns(&r.rec.after_pass, now_ns, UINT64_MAX), UINT64_MAX);
}
END_TEST

START_TEST(none_is_armed_while_they_are_read)
{
	xvt_flight_helper(flight)->asked = true;
	run_after(0);
	run_after(60 * SECOND_NS);
	ck_assert_uint_eq(enabled(), 0);
	xvt_flight_helper(flight)->asked = false;
	run_after(0);
	ck_assert_uint_eq(enabled(), XVT_ENABLE_OVERWRITE);
}
END_TEST

START_TEST(a_machine_that_matches_no_more_is_recorded_within_a_second)
{
	static const struct xvt_opt_list others = { .v = { "db-*" }, .n = 1 };

	run_after(0);
	ck_assert_int_eq(xvt_armed_use(armed, &others), 0);
	run_after(SECOND_NS - 1);
	ck_assert_uint_eq(xvt_armed_count(armed), 1);
	xvt_flight_helper(flight)->asked = true;
	run_after(1);
	ck_assert_uint_eq(xvt_armed_count(armed), 1);
	xvt_flight_helper(flight)->asked = false;
	run_after(SECOND_NS);
	ck_assert_uint_eq(xvt_armed_count(armed), 0);
	ck_assert_uint_eq(joins, 1);
	ck_assert_ptr_nonnull(xvt_session_find(r.rec.session, "web-1"));
}
END_TEST

Suite *keep_armed_suite(void)
{
	Suite *s = suite_create("keep_armed");
	TCase *t = tcase_create("keep_armed");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, a_machine_is_armed_after_a_pass);
	tcase_add_test(t, none_is_armed_while_they_are_read);
	tcase_add_test(t, a_machine_that_matches_no_more_is_recorded_within_a_second);
	suite_add_tcase(s, t);
	return s;
}
