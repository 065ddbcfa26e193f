// SPDX-License-Identifier: GPL-2.0
/*
 * test_armed.c - machines that are kept armed: which ones, when their rings are armed, and what
 * their counters say of losses, standstills and crashes. The clock is the test's own.
 */
#define _GNU_SOURCE
#include "suites.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/json.h"
#include "base/time.h"
#include "flight/armed.h"
#include "flight/flight_job.h"
#include "region_file.h"
#include "said.h"

#define RINGS 3u

static struct xvt_armed *armed;
static struct region_file region;
static uint64_t now_ns;
static struct xvt_error why;

static void begin(const char *pattern, bool follow)
{
	static struct xvt_opt_list patterns;

	patterns = (struct xvt_opt_list){ .v = { pattern, "db-1" }, .n = 2 };
	ck_assert_int_eq(xvt_armed_new(&armed, &patterns, follow), 0);
}

static void setup(void)
{
	said_setup();
	now_ns = 1000 * SECOND_NS;
	region_file_make(&region, "armed");
	region_file_format(&region, RINGS);
}

static void teardown(void)
{
	xvt_armed_free(armed);
	armed = NULL;
	region_file_end(&region);
}

static int take(const char *name, const char *path)
{
	return xvt_armed_takes(armed, name, path, NULL, 0, &why);
}

/* Some time later, the next pass looks at all machines. */
static void pass_after(uint64_t ns)
{
	now_ns += ns;
	xvt_armed_pass(armed, now_ns);
}

static uint32_t enabled(uint32_t ring)
{
	return xvt_load(&region_file_host(&region, ring)->enable);
}

static void set_attempted(uint32_t ring, uint64_t n)
{
	xvt_store_release(&region_file_ctl(&region, ring)->attempted, n);
}

static struct xvt_vm_changes changes(void)
{
	struct xvt_vm_changes c;

	xvt_armed_changes(armed, 0, now_ns, &c);
	return c;
}

/* ------------------------------------------------------------------ which machines */

START_TEST(names_decide)
{
	begin("web-*", true);
	ck_assert(!xvt_armed_has_new(armed));
	ck_assert_int_eq(take("other", "/none/other"), 0);
	ck_assert(!xvt_armed_has_new(armed));
	ck_assert_int_eq(take("web-1", "/none/1"), 1);
	ck_assert(xvt_armed_has_new(armed));
	ck_assert_int_eq(take("db-1", "/none/db"), 1);
	/* Its file is found again and again. */
	ck_assert_int_eq(take("web-1", "/none/1"), 1);
	ck_assert_uint_eq(xvt_armed_count(armed), 2);
	ck_assert(xvt_armed_has(armed, "/none/db") && !xvt_armed_has(armed, "/none/other"));
	ck_assert(xvt_armed_has_name(armed, "web-1") && !xvt_armed_has_name(armed, "web-2"));
	ck_assert_uint_eq(xvt_armed_ready(armed), 0);
	ck_assert_uint_eq(xvt_armed_at(armed, 0)->rings_most, XVT_RINGS_USUAL);
}
END_TEST

START_TEST(two_of_a_name_are_one_too_many)
{
	begin("web*", true);
	ck_assert_int_eq(take("web 1", "/none/1"), 1);
	ck_assert_int_eq(take("web_1", "/none/2"), -EEXIST);
	ck_assert_str_eq(why.text, "another flight recorder is called web_1, too");
	ck_assert_uint_eq(xvt_armed_count(armed), 1);
}
END_TEST

START_TEST(there_is_a_limit)
{
	char name[32], path[32];

	begin("*", true);
	for (unsigned int i = 0; i < XVT_ARMED_MOST; i++) {
		snprintf(name, sizeof(name), "m%u", i);
		snprintf(path, sizeof(path), "/none/%u", i);
		ck_assert_int_eq(take(name, path), 1);
	}
	ck_assert_int_eq(take("more", "/none/more"), -ENOSPC);
	ck_assert_ptr_nonnull(strstr(why.text, "256 flight recorders are kept armed"));
	/* A pass is bounded: the rest has its turn in the passes that follow. */
	pass_after(SECOND_NS);
	ck_assert_ptr_nonnull(strstr(xvt_armed_at(armed, 0)->why, "not looked at yet"));
	ck_assert_uint_eq(xvt_armed_count(armed), XVT_ARMED_MOST - 64);
	for (unsigned int i = 0; i < 4; i++)
		pass_after(0);
	ck_assert_uint_eq(xvt_armed_count(armed), 0);
}
END_TEST

START_TEST(without_flight_recorders_all_are_recorded)
{
	ck_assert_int_eq(take("web-1", "/none/1"), 0);
	ck_assert(!xvt_armed_has(NULL, "/none/1") && !xvt_armed_has_name(NULL, "web-1"));
	ck_assert_uint_eq(xvt_armed_count(NULL) + xvt_armed_ready(NULL), 0);
	xvt_armed_pass(NULL, now_ns);
	xvt_armed_unlisten(NULL);
}
END_TEST

START_TEST(a_domain_of_a_known_file_is_to_be_listened_to)
{
	const struct xvt_armed_vmm_how how = { .qmp = &(struct xvt_opt_list){ .n = 0 } };
	const uint8_t uuid[2][16] = { { 1 }, { 2 } };
	const struct xvt_keeper *keeper;

	begin("web-*", true);
	keeper = xvt_armed_keeper(armed);
	ck_assert_int_eq(keeper->takes(keeper->arg, "web-1", "/none/1", NULL, 4, &why), 1);
	ck_assert(keeper->has(keeper->arg, "/none/1") && keeper->has_name(keeper->arg, "web-1"));
	xvt_armed_listen(armed, &how, now_ns);
	ck_assert(!xvt_armed_has_new(armed));
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(keeper->takes(keeper->arg, "web-1", "/none/1", uuid[i], 4, &why),
				 1);
		ck_assert(xvt_armed_has_new(armed));
		ck_assert_mem_eq(xvt_armed_at(armed, 0)->uuid, uuid[i], 16);
	}
}
END_TEST

/* ------------------------------------------------------------------ looks */

START_TEST(rings_are_armed_once_a_second)
{
	const struct xvt_armed_machine *m;

	begin("web-*", true);
	ck_assert_int_eq(take("web-1", region.path), 1);
	m = xvt_armed_at(armed, 0);
	pass_after(0);
	for (uint32_t i = 0; i < RINGS; i++)
		ck_assert_uint_eq(enabled(i), XVT_ENABLE_OVERWRITE);
	said_has("web-1: warning: 3 of its 3 rings were not in overwrite mode");
	ck_assert_uint_eq(m->rings, RINGS);
	ck_assert_uint_eq(m->armed, RINGS);
	ck_assert_str_eq(m->why, "");
	ck_assert_uint_eq(xvt_armed_ready(armed), 1);
	/* Another command switches one off. */
	xvt_store_release(&region_file_host(&region, 1)->enable, (uint32_t)XVT_ENABLE_OFF);
	pass_after(SECOND_NS - 1);
	ck_assert_uint_eq(enabled(1), XVT_ENABLE_OFF);
	pass_after(1);
	ck_assert_uint_eq(enabled(1), XVT_ENABLE_OVERWRITE);
	/* A guest cannot fill the log. */
	ck_assert_str_eq(said(), "");
	xvt_store_release(&region_file_host(&region, 2)->enable, (uint32_t)XVT_ENABLE_STOP);
	pass_after(59 * SECOND_NS);
	ck_assert_uint_eq(enabled(2), XVT_ENABLE_OVERWRITE);
	said_has("1 of its 3 rings were not in overwrite mode");
}
END_TEST

START_TEST(rings_beyond_the_limit_stay_as_they_are)
{
	begin("web-*", true);
	ck_assert_int_eq(xvt_armed_takes(armed, "web-1", region.path, NULL, 2, &why), 1);
	pass_after(0);
	ck_assert_uint_eq(enabled(1), XVT_ENABLE_OVERWRITE);
	ck_assert_uint_eq(enabled(2), XVT_ENABLE_OFF);
	ck_assert_uint_eq(xvt_armed_at(armed, 0)->rings, 2);
}
END_TEST

START_TEST(a_region_at_work_is_armed_later)
{
	begin("web-*", true);
	ck_assert_int_eq(flock(region.fd, LOCK_EX | LOCK_NB), 0);
	ck_assert_int_eq(take("web-1", region.path), 1);
	pass_after(0);
	ck_assert_uint_eq(enabled(0), XVT_ENABLE_OFF);
	ck_assert_ptr_nonnull(strstr(xvt_armed_at(armed, 0)->why, "another xvtrace is at work"));
	ck_assert_uint_eq(xvt_armed_ready(armed), 0);
	said_has("not armed: another xvtrace is at work");
	ck_assert_int_eq(flock(region.fd, LOCK_UN), 0);
	pass_after(SECOND_NS);
	ck_assert_uint_eq(enabled(0), XVT_ENABLE_OVERWRITE);
	ck_assert_uint_eq(xvt_armed_ready(armed), 1);
	/* Nothing is to be changed any more: the claim of another is no reason. */
	ck_assert_int_eq(flock(region.fd, LOCK_EX | LOCK_NB), 0);
	pass_after(SECOND_NS);
	ck_assert_uint_eq(xvt_armed_ready(armed), 1);
}
END_TEST

START_TEST(a_file_without_a_guest_is_no_error)
{
	struct region_file blank;
	const struct xvt_armed_machine *m;

	region_file_make(&blank, "blank");
	begin("web-*", true);
	ck_assert_int_eq(take("web-1", blank.path), 1);
	m = xvt_armed_at(armed, 0);
	pass_after(0);
	ck_assert_ptr_nonnull(strstr(m->why, "its guest has not formatted its region"));
	region_file_format(&blank, 1);
	region_file_hdr(&blank)->ring_count = 9999;
	pass_after(SECOND_NS);
	ck_assert_str_ne(m->why, "");
	ck_assert_uint_eq(m->rings, 0);
	region_file_format(&blank, 1);
	pass_after(SECOND_NS);
	ck_assert_str_eq(m->why, "");
	region_file_end(&blank);
	/* Its guest has gone. */
	pass_after(SECOND_NS);
	ck_assert_uint_eq(xvt_armed_count(armed), 0);
}
END_TEST

START_TEST(a_named_machine_is_waited_for)
{
	begin("web-*", false);
	ck_assert_int_eq(take("web-1", "/none/1"), 1);
	pass_after(0);
	pass_after(SECOND_NS);
	ck_assert_uint_eq(xvt_armed_count(armed), 1);
	said_has("not armed: ");
}
END_TEST

START_TEST(a_look_may_change_nothing)
{
	begin("*", false);
	xvt_armed_look_only(armed);
	xvt_armed_look_each(armed, SECOND_NS / 4);
	ck_assert_int_eq(take("web-1", region.path), 1);
	pass_after(0);
	ck_assert_uint_eq(enabled(0), XVT_ENABLE_OFF);
	ck_assert_uint_eq(xvt_armed_at(armed, 0)->rings, RINGS);
	ck_assert_str_eq(said(), "");
	set_attempted(0, 7);
	pass_after(SECOND_NS / 4);
	ck_assert(xvt_armed_is_fresh(armed, 0, now_ns));
}
END_TEST

/* ------------------------------------------------------------------ what has happened */

static void begin_watched(void)
{
	begin("web-*", true);
	ck_assert_int_eq(take("web-1", region.path), 1);
	pass_after(0);
	said();
}

START_TEST(losses_are_told_once)
{
	region_file_ctl(&region, 0)->lost[0] = 5;
	begin_watched();
	/* What was lost before it was watched is not news. */
	ck_assert_uint_eq(changes().lost, 0);
	region_file_ctl(&region, 0)->lost[0] = 7;
	region_file_ctl(&region, 2)->lost[XVT_LOST_CAUSES - 1] = 3;
	pass_after(SECOND_NS);
	pass_after(SECOND_NS);
	ck_assert_uint_eq(changes().lost, 5);
	ck_assert_uint_eq(changes().lost, 0);
	/* Its guest boots again. */
	region_file_ctl(&region, 0)->lost[0] = 1;
	pass_after(SECOND_NS);
	ck_assert_uint_eq(changes().lost, 0);
}
END_TEST

START_TEST(a_standstill_begins_with_the_last_event)
{
	struct xvt_vm_changes c;

	begin_watched();
	/* It had no event since it is watched, so it does not stand still. */
	pass_after(10 * SECOND_NS);
	ck_assert_uint_eq(changes().still_ns, 0);
	set_attempted(0, 1);
	pass_after(SECOND_NS);
	pass_after(3 * SECOND_NS);
	c = changes();
	ck_assert_uint_eq(c.still_ns, 3 * SECOND_NS);
	ck_assert_uint_eq(c.was_still_ns, 0);
	now_ns += SECOND_NS;
	c = changes();
	ck_assert_uint_eq(c.still_ns, 4 * SECOND_NS);
	ck_assert_uint_eq(c.was_still_ns, 3 * SECOND_NS);
	/* A guest that boots again counts from 0. */
	set_attempted(0, 0);
	pass_after(SECOND_NS);
	ck_assert_uint_eq(changes().still_ns, 0);
}
END_TEST

START_TEST(a_panic_is_told_once_for_each_boot)
{
	struct xvt_region_hdr *h = region_file_hdr(&region);

	h->panics = 4;
	begin_watched();
	ck_assert(!changes().crashed);
	h->panics = 5;
	pass_after(SECOND_NS);
	ck_assert(changes().crashed);
	ck_assert(!changes().crashed);
	/* More words of the same boot are no more crashes. */
	h->panics = 6;
	pass_after(SECOND_NS);
	ck_assert(!changes().crashed);
	h->generation++;
	h->panics = 7;
	pass_after(SECOND_NS);
	ck_assert(changes().crashed);
	/* The region is formatted anew. */
	h->generation++;
	h->panics = 0;
	pass_after(SECOND_NS);
	ck_assert(!changes().crashed);
}
END_TEST

START_TEST(a_machine_is_fresh_for_a_second)
{
	begin_watched();
	ck_assert(!xvt_armed_is_fresh(armed, 0, now_ns));
	set_attempted(1, 3);
	pass_after(SECOND_NS);
	ck_assert(xvt_armed_is_fresh(armed, 0, now_ns));
	ck_assert(xvt_armed_is_fresh(armed, 0, now_ns + SECOND_NS - 1));
	ck_assert(!xvt_armed_is_fresh(armed, 0, now_ns + SECOND_NS));
	set_attempted(1, 2);
	pass_after(2 * SECOND_NS);
	ck_assert(xvt_armed_is_fresh(armed, 0, now_ns));
}
END_TEST

START_TEST(rings_with_events_hold_bytes)
{
	uint64_t rings, bytes;

	begin_watched();
	ck_assert_uint_eq(xvt_armed_held(armed, &rings), 0);
	set_attempted(0, 1);
	set_attempted(2, 1);
	pass_after(SECOND_NS);
	bytes = xvt_armed_held(armed, &rings);
	ck_assert_uint_eq(rings, 2);
	ck_assert_uint_eq(bytes, 2 * region.g.ring_size);
	/* Those of a machine that is not armed are not read. */
	ck_assert_int_eq(take("web-2", "/none/2"), 1);
	ck_assert_uint_eq(xvt_armed_held(armed, &rings), bytes);
	ck_assert_uint_eq(rings, 2);
}
END_TEST

/* ------------------------------------------------------------------ other patterns */

static bool may_all(void *arg, const char *path)
{
	ck_assert_ptr_eq(arg, &armed);
	return strcmp(path, "/none/2") != 0;
}

START_TEST(machines_that_match_no_more_are_released)
{
	const struct xvt_opt_list other = { .v = { "web-3" }, .n = 1 };
	struct xvt_armed_machine m, none;

	begin("web-*", true);
	ck_assert_int_eq(take("web-1", "/none/1"), 1);
	ck_assert_int_eq(take("web-2", "/none/2"), 1);
	ck_assert_int_eq(take("web-3", "/none/3"), 1);
	ck_assert(!xvt_armed_release(armed, may_all, &armed, &m));
	ck_assert_int_eq(xvt_armed_use(armed, &other), 0);
	ck_assert(xvt_armed_release(armed, may_all, &armed, &m));
	ck_assert_str_eq(m.path, "/none/1");
	ck_assert_ptr_null(m.vmm);
	/* One may not be, and one matches. */
	ck_assert(!xvt_armed_release(armed, may_all, &armed, &none));
	ck_assert_uint_eq(xvt_armed_count(armed), 2);
	xvt_armed_take_back(armed, &m);
	ck_assert(xvt_armed_has(armed, "/none/1"));
	ck_assert_uint_eq(xvt_armed_count(armed), 3);
}
END_TEST

START_TEST(a_round_goes_on_when_one_is_released)
{
	const struct xvt_opt_list other = { .v = { "web-9" }, .n = 1 };
	struct xvt_armed_machine m;

	begin("web-*", true);
	ck_assert_int_eq(take("web-1", "/none/1"), 1);
	ck_assert_int_eq(take("web-9", region.path), 1);
	ck_assert_int_eq(xvt_armed_use(armed, &other), 0);
	xvt_armed_look_only(armed);
	pass_after(0);
	/* web-1 has been forgotten, as its file is not there, and web-9 was looked at. */
	ck_assert_uint_eq(xvt_armed_count(armed), 1);
	ck_assert_uint_eq(xvt_armed_at(armed, 0)->rings, RINGS);
	ck_assert_int_eq(xvt_armed_use(armed, &(struct xvt_opt_list){ .n = 0 }), 0);
	ck_assert(xvt_armed_release(armed, may_all, &armed, &m));
	xvt_armed_take_back(armed, &m);
	set_attempted(0, 5);
	pass_after(SECOND_NS);
	ck_assert(xvt_armed_is_fresh(armed, 0, now_ns));
}
END_TEST

/* ------------------------------------------------------------------ status and jobs */

START_TEST(the_status_says_why)
{
	struct xvt_json *doc = xvt_json_new();
	size_t len;
	char *line;

	begin_watched();
	ck_assert_int_eq(take("web-2", "/none/2"), 1);
	xvt_armed_status(armed, doc);
	line = xvt_json_line(doc, &len);
	ck_assert_ptr_nonnull(strstr(line, "\"name\":\"web-1\""));
	ck_assert_ptr_nonnull(strstr(line, "\"rings\":3,\"armed\":3"));
	ck_assert_ptr_nonnull(strstr(line, "\"why\":\"it was not looked at yet\""));
	ck_assert_ptr_nonnull(strstr(line, "\"flight_kept\":2,\"flight_armed\":1"));
	free(line);
}
END_TEST

static bool not_the_first(void *arg, size_t machine)
{
	++*(int *)arg;
	return machine != 0;
}

START_TEST(a_job_has_the_machines_that_are_armed)
{
	struct xvt_flight_job *job = xvt_flight_job_new();
	struct region_file second;
	int asked = 0;

	ck_assert_ptr_nonnull(job);
	region_file_make(&second, "second");
	region_file_format(&second, 2);
	begin("web-*", true);
	ck_assert_int_eq(take("web-1", region.path), 1);
	ck_assert_int_eq(xvt_armed_takes(armed, "web-2", second.path, NULL, 9, &why), 1);
	pass_after(0);
	ck_assert_int_eq(take("web-3", "/none/3"), 1);
	ck_assert_uint_eq(xvt_flight_job_list(job, armed, NULL, NULL), 1);
	ck_assert_uint_eq(job->n, 2);
	ck_assert_str_eq(job->v[0].name, "web-1");
	ck_assert_str_eq(job->v[1].path, second.path);
	ck_assert_uint_eq(job->v[1].rings, 9);
	/* Those that are not wanted are not left out. */
	ck_assert_uint_eq(xvt_flight_job_list(job, armed, not_the_first, &asked), 1);
	ck_assert_int_eq(asked, 3);
	ck_assert_uint_eq(job->n, 1);
	ck_assert_str_eq(job->v[0].name, "web-2");
	xvt_flight_job_free(job);
	region_file_end(&second);
}
END_TEST

START_TEST(each_ring_has_a_share_of_a_bounded_trace)
{
	struct xvt_flight_job *job = xvt_flight_job_new();
	uint64_t held, rings;

	ck_assert_ptr_nonnull(job);
	begin_watched();
	for (uint32_t i = 0; i < RINGS; i++)
		set_attempted(i, 1);
	pass_after(SECOND_NS);
	held = xvt_armed_held(armed, &rings);
	ck_assert_uint_eq(rings, RINGS);
	xvt_flight_job_bound(job, armed, 0);
	ck_assert_uint_eq(job->ring_bytes, 0);
	/* All fits: 256 KiB for the rest of the trace, and four bytes for each of a ring. */
	xvt_flight_job_bound(job, armed, (256 << 10) + 4 * held);
	ck_assert_uint_eq(job->ring_bytes, 0);
	xvt_flight_job_bound(job, armed, (256 << 10) + 4 * held - 4);
	ck_assert_uint_eq(job->ring_bytes, (held - 1) / RINGS);
	ck_assert_uint_eq(job->most_bytes, (256 << 10) + 4 * held - 4);
	/* However small the share, it is one: 0 would be all of a ring. */
	xvt_flight_job_bound(job, armed, 1);
	ck_assert_uint_eq(job->ring_bytes, 1);
	xvt_flight_job_bound(job, armed, (256 << 10) + 4 * 2);
	ck_assert_uint_eq(job->ring_bytes, 1);
	xvt_flight_job_free(job);
}
END_TEST

Suite *armed_suite(void)
{
	Suite *s = suite_create("armed");
	TCase *t = tcase_create("armed");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, names_decide);
	tcase_add_test(t, two_of_a_name_are_one_too_many);
	tcase_add_test(t, there_is_a_limit);
	tcase_add_test(t, without_flight_recorders_all_are_recorded);
	tcase_add_test(t, a_domain_of_a_known_file_is_to_be_listened_to);
	tcase_add_test(t, rings_are_armed_once_a_second);
	tcase_add_test(t, rings_beyond_the_limit_stay_as_they_are);
	tcase_add_test(t, a_region_at_work_is_armed_later);
	tcase_add_test(t, a_file_without_a_guest_is_no_error);
	tcase_add_test(t, a_named_machine_is_waited_for);
	tcase_add_test(t, a_look_may_change_nothing);
	tcase_add_test(t, losses_are_told_once);
	tcase_add_test(t, a_standstill_begins_with_the_last_event);
	tcase_add_test(t, a_panic_is_told_once_for_each_boot);
	tcase_add_test(t, a_machine_is_fresh_for_a_second);
	tcase_add_test(t, rings_with_events_hold_bytes);
	tcase_add_test(t, machines_that_match_no_more_are_released);
	tcase_add_test(t, a_round_goes_on_when_one_is_released);
	tcase_add_test(t, the_status_says_why);
	tcase_add_test(t, a_job_has_the_machines_that_are_armed);
	tcase_add_test(t, each_ring_has_a_share_of_a_bounded_trace);
	suite_add_tcase(s, t);
	return s;
}
