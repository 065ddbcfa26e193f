// SPDX-License-Identifier: GPL-2.0
/*
 * test_requests.c - what a recorder answers to requests, piece by piece as its server asks: of a
 * set with one machine, whose passes are the test's own.
 */
#define _GNU_SOURCE
#include "suites.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "control/serve.h"
#include "control/serve_status.h"
#include "flight/armed.h"
#include "flight/snapshots.h"
#include "rights/isolate.h"
#include "said.h"
#include "set_recording.h"

static struct set_recording r;
static struct xvt_serve serve;
static struct xvt_machine_options machines;
static struct xvt_snapshots_options snapshot_options;
static struct xvt_server_at at;
static const struct xvt_server_peer owner = { .uid = 1234, .permitted = true };
static unsigned int joins;
static bool reload_ok;

static void joined(void *arg, struct xvt_vm *vm)
{
	ck_assert_ptr_eq(arg, &serve);
	ck_assert_ptr_nonnull(vm);
	joins++;
}

static bool reload(void *arg)
{
	ck_assert_ptr_eq(arg, &serve);
	return reload_ok;
}

static void begin(bool folder)
{
	const struct xvt_opt_list patterns = { .v = { "kept*" }, .n = 1 };

	said_setup();
	set_recording_begin(&r, "requests", folder);
	memset(&machines, 0, sizeof(machines));
	serve = (struct xvt_serve){ .rec = &r.rec,
				    .output = r.folder,
				    .machines = &machines,
				    .joined = joined,
				    .arg = &serve };
	snapshot_options = (struct xvt_snapshots_options){ .per_minute = 1, .most = 4 };
	joins = 0;
	ck_assert_int_eq(xvt_armed_new(&serve.armed, &patterns, true), 0);
	if (folder)
		ck_assert_int_eq(
			xvt_snapshots_new(&serve.snapshots, &r.rec, r.folder, &snapshot_options),
			0);
}

static void setup(void)
{
	begin(true);
}

static void setup_one_file(void)
{
	begin(false);
}

static void forget(void)
{
	if (at.forget)
		at.forget(at.more);
	memset(&at, 0, sizeof(at));
}

static void teardown(void)
{
	forget();
	xvt_snapshots_free(serve.snapshots);
	xvt_armed_free(serve.armed);
	set_recording_end(&r);
}

/* The next piece, without a request that is for act(): "" where there is none yet, NULL at the end.
 */
static const char *piece(const char *request)
{
	static char *kept;
	size_t len = 0;

	free(kept);
	kept = xvt_serve_ops.answer(&serve, request, &at, &len);
	ck_assert(kept || len != XVT_SERVER_LATER);
	if (kept)
		kept = realloc(kept, len + 1);
	if (kept)
		kept[len] = '\0';
	return kept;
}

/* What act() answers now; NULL: it takes time. */
static const char *act(const char *request)
{
	static char *kept;
	size_t len = 0;

	free(kept);
	kept = xvt_serve_ops.act(&serve, request, &owner, &at, &len);
	if (!kept) {
		ck_assert_uint_ne(at.cursor, 0);
		return NULL;
	}
	kept = realloc(kept, len + 1);
	ck_assert_ptr_nonnull(kept);
	kept[len] = '\0';
	/* That is all. */
	ck_assert_ptr_null(piece(request));
	forget();
	return kept;
}

static void answer_has(const char *answer, const char *words)
{
	ck_assert_msg(answer && strstr(answer, words), "'%s' has no '%s'",
		      answer ? answer : "nothing", words);
}

static void refuses(const char *request, const char *words)
{
	const char *answer = act(request);

	answer_has(answer, "{\"format\":\"xvtrace-control/1\",\"error\":\"");
	answer_has(answer, words);
}

/* ------------------------------------------------------------------ what changes nothing */

START_TEST(a_status_has_the_recorder_and_its_machines)
{
	const char *line = piece("{\"do\":\"status\"}");
	struct xvt_error why;
	char path[300];

	answer_has(line, "\"format\":\"xvtrace-status/1\"");
	snprintf(path, sizeof(path), "\"output\":\"%s\"", r.folder);
	answer_has(line, path);
	answer_has(line, "/00000001.xvt\"");
	answer_has(line, "\"snapshots\":0");
	ck_assert_ptr_null(strstr(line, "flight_recorders"));
	ck_assert_ptr_null(strstr(line, "metrics_http"));
	ck_assert_ptr_null(strstr(line, "no_sandbox"));
	ck_assert_ptr_null(strstr(line, "no_empty_root"));
	ck_assert_ptr_null(strstr(line, "no_namespaces"));
	ck_assert_ptr_null(strstr(line, "no_own_user"));
	line = piece("");
	answer_has(line, "\"name\":\"g1\"");
	answer_has(piece(""), "{\"end\":true}\n");
	ck_assert_uint_eq(at.cursor, XVT_SERVE_COMPLETE);
	ck_assert_ptr_null(piece(""));
	forget();
	/* What is not usual is said. */
	serve.no_sandbox = true;
	serve.lacks = XVT_NO_WALL;
	snprintf(serve.metrics_http, sizeof(serve.metrics_http), "127.0.0.1:1");
	ck_assert_int_eq(xvt_armed_takes(serve.armed, "kept", "/none/kept", NULL, 0, &why), 1);
	line = piece("{\"do\":\"status\"}");
	answer_has(line, "\"no_sandbox\":true");
	answer_has(line, "\"no_empty_root\":true");
	answer_has(line, "\"no_namespaces\":true");
	answer_has(line, "\"no_own_user\":true");
	answer_has(line, "\"metrics_http\":\"127.0.0.1:1\"");
	answer_has(line, "\"flight_recorders\":[{\"name\":\"kept\"");
}
END_TEST

START_TEST(metrics_come_in_pieces)
{
	const char *text;
	unsigned int lines = 0, waits = 0, up = 0;

	for (text = piece("{\"do\":\"metrics\"}"); text && at.cursor != XVT_SERVE_COMPLETE;
	     text = piece("{\"do\":\"metrics\"}")) {
		waits += !*text;
		lines += !strncmp(text, "{\"metrics\":\"", 12);
		up += strstr(text, "xvtrace_machine_up{") && strstr(text, "machine=\\\"g1\\\"");
	}
	answer_has(text, "{\"end\":true}\n");
	ck_assert_uint_eq(waits, 4); /* to begin, recorder, machine and end */
	ck_assert_uint_gt(lines, 20);
	ck_assert_uint_eq(up, 1);
	ck_assert_ptr_null(piece(""));
}
END_TEST

START_TEST(another_request_is_refused)
{
	answer_has(piece("{\"do\":\"halt\"}"), "\"error\":\"this recorder does not know");
	ck_assert_ptr_null(piece(""));
	forget();
	answer_has(piece("hello"), "\"error\":");
}
END_TEST

static const char *const changes[] = {
	"{\"do\":\"rotate\"}",
	"{\"do\":\"reload\"}",
	"{\"do\":\"snapshot\"}",
	"{\"do\":\"stop\",\"machines\":[\"g1\"]}",
	"{\"do\":\"start\",\"machines\":[\"g1\"]}",
	"{\"do\":\"events\",\"machines\":[\"g1\"],\"events\":[\"irq\"]}",
};

START_TEST(a_change_waits_for_its_time)
{
	const struct xvt_server_peer guest = { .uid = 1, .permitted = false };
	size_t len = 0;
	char *answer;

	ck_assert_ptr_null(xvt_serve_ops.answer(&serve, changes[_i], &at, &len));
	ck_assert_uint_eq(len, XVT_SERVER_LATER);
	ck_assert_uint_eq(at.cursor, 0);
	answer = xvt_serve_ops.act(&serve, changes[_i], &guest, &at, &len);
	ck_assert_ptr_nonnull(answer);
	ck_assert_ptr_nonnull(memmem(answer, len, "only root and the recorder's user", 33));
	free(answer);
	ck_assert(!xvt_session_vm_is_stopped(xvt_session_find(r.rec.session, "g1")));
	ck_assert_int_eq(xvt_session_rotation(r.rec.session), 0);
}
END_TEST

/* ------------------------------------------------------------------ files */

START_TEST(the_next_file_is_named)
{
	ck_assert_ptr_null(act("{\"do\":\"rotate\"}"));
	ck_assert_ptr_null(act("{\"do\":\"rotate\"}"));
	set_recording_until(&r, 2);
	answer_has(act("{\"do\":\"rotate\"}"), "/00000002.xvt\",\"end\":true}\n");
	/* One more is one more. */
	ck_assert_ptr_null(act("{\"do\":\"rotate\"}"));
	set_recording_until(&r, 3);
	answer_has(act("{\"do\":\"rotate\"}"), "\"done\":\"rotate\",\"file\":\"");
}
END_TEST

START_TEST(one_file_has_no_next_one)
{
	refuses("{\"do\":\"rotate\"}", "this recorder writes one file, which has no next one");
	refuses("{\"do\":\"snapshot\"}", "this recorder writes one file, which has no snapshots");
}
END_TEST

START_TEST(a_snapshot_is_answered_when_it_is_whole)
{
	uint64_t now_ns = xvt_session_now_ns(r.rec.session);

	xvt_timers_run(&r.rec.after_pass, now_ns);
	ck_assert_ptr_null(act("{\"do\":\"snapshot\"}"));
	ck_assert_uint_eq(at.cursor, 2);
	ck_assert_ptr_null(act("{\"do\":\"snapshot\"}"));
	now_ns += 3600 * SECOND_NS;
	xvt_timers_run(&r.rec.after_pass, now_ns);
	set_recording_until(&r, 2);
	xvt_timers_run(&r.rec.after_pass, now_ns);
	answer_has(act("{\"do\":\"snapshot\"}"), "\"done\":\"snapshot\",\"folder\":\"");
}
END_TEST

START_TEST(a_second_snapshot_waits_for_the_first)
{
	uint64_t now_ns = xvt_session_now_ns(r.rec.session);
	struct xvt_server_at first;

	xvt_timers_run(&r.rec.after_pass, now_ns);
	ck_assert_ptr_null(act("{\"do\":\"snapshot\"}"));
	first = at;
	memset(&at, 0, sizeof(at));
	ck_assert_ptr_null(act("{\"do\":\"snapshot\"}"));
	ck_assert_uint_eq(at.cursor, 1);
	now_ns += 3600 * SECOND_NS;
	xvt_timers_run(&r.rec.after_pass, now_ns);
	xvt_timers_run(&r.rec.after_pass, now_ns + 61 * SECOND_NS);
	ck_assert_ptr_null(act("{\"do\":\"snapshot\"}"));
	ck_assert_uint_eq(at.cursor, 3);
	at = first;
	/* The newest one is another; that the first failed is known no more. */
	answer_has(act("{\"do\":\"snapshot\"}"), "snapshot");
}
END_TEST

START_TEST(a_configuration_is_read_again)
{
	refuses("{\"do\":\"reload\"}", "no configuration to read again");
	serve.reload = reload;
	reload_ok = false;
	refuses("{\"do\":\"reload\"}", "the configuration has errors");
	reload_ok = true;
	ck_assert_str_eq(act("{\"do\":\"reload\"}"),
			 "{\"format\":\"xvtrace-control/1\",\"done\":\"reload\",\"end\":true}\n");
}
END_TEST

/* ------------------------------------------------------------------ machines */

#define STOP(m)	 "{\"do\":\"stop\",\"machines\":[\"" m "\"]}"
#define START(m) "{\"do\":\"start\",\"machines\":[\"" m "\"]}"

/* Has the request carried out, with passes between the calls. */
static const char *act_through(const char *request)
{
	const char *answer;

	while (!(answer = act(request)))
		set_recording_pass(&r);
	return answer;
}

START_TEST(a_machine_is_stopped_and_started)
{
	ck_assert_ptr_null(act(STOP("g*")));
	ck_assert(xvt_session_vm_is_stopped(xvt_session_find(r.rec.session, "g1")));
	/* Until that is done it cannot be started. */
	forget();
	refuses(START("g1"), "g1: it is being stopped; start it when that is done");
	refuses(STOP("g1"), "g1: it is stopped already");
	while (xvt_session_vm_stopping(xvt_session_find(r.rec.session, "g1")))
		set_recording_pass(&r);
	answer_has(act_through(START("g1")), "\"done\":\"start\",\"machines\":[\"g1.2\"]");
	refuses(START("g1"), "g1: it is not stopped");
	answer_has(act_through(STOP("g1")), "\"done\":\"stop\",\"machines\":[\"g1.2\"]");
	/* Its file is not there any more. */
	ck_assert_int_eq(unlink(r.region.path), 0);
	answer_has(act_through(START("g1")), "\"machines\":[],\"absent\":[\"g1.2\"]");
}
END_TEST

START_TEST(a_machine_is_stopped_once)
{
	answer_has(act_through("{\"do\":\"stop\",\"machines\":[\"g1\",\"g*\"]}"),
		   "\"machines\":[\"g1\"]");
	refuses("{\"do\":\"stop\",\"machines\":[\"g1\",\"g*\"]}", "g1: it is stopped already");
}
END_TEST

START_TEST(names_must_be_of_machines)
{
	struct xvt_error why;

	ck_assert_int_eq(xvt_armed_takes(serve.armed, "kept", "/none/kept", NULL, 0, &why), 1);
	refuses(STOP("web"), "web: no machine of this recorder has that name");
	refuses(START("web"), "web: no machine of this recorder has that name");
	refuses(STOP("kept"), "kept: it is a flight recorder");
	refuses(START("kept"), "kept: it is a flight recorder");
	/* Of several, the first that is wrong stops none. */
	refuses("{\"do\":\"stop\",\"machines\":[\"g1\",\"web\"]}", "web: no machine");
	ck_assert(!xvt_session_vm_is_stopped(xvt_session_find(r.rec.session, "g1")));
}
END_TEST

START_TEST(a_machine_of_the_options_is_found)
{
	struct region_file other;
	char arg[300];

	region_file_make(&other, "xvtrace-late");
	region_file_format(&other, 1);
	snprintf(arg, sizeof(arg), "%s/xvtrace-*", scratch());
	machines.regions.v[machines.regions.n++] = arg;
	answer_has(act_through(START("late")), "\"done\":\"start\",\"machines\":[\"late\"]");
	ck_assert_uint_eq(joins, 1);
	ck_assert_ptr_nonnull(xvt_session_find(r.rec.session, "late"));
	refuses(START("late"), "late: it is not stopped");
	/* A file that is none of a region says why. */
	region_file_end(&other);
	snprintf(arg, sizeof(arg), "bad=%s", scratch_path("bad-region"));
	fclose(fopen(scratch_path("bad-region"), "w"));
	refuses(START("bad"), "bad-region: ");
	unlink(scratch_path("bad-region"));
	ck_assert_uint_eq(joins, 1);
}
END_TEST

#define EVENTS(e) "{\"do\":\"events\",\"machines\":[\"g1\"],\"events\":[" e "]}"

START_TEST(guests_are_asked_for_events)
{
	char many[4096] = "{\"do\":\"events\",\"machines\":[\"g1\"],\"events\":[\"a\"";

	refuses("{\"do\":\"events\",\"machines\":[\"g1\"]}", "events needs \\\"events\\\":");
	refuses(EVENTS("\"irq\\nx\""), "an event is SYSTEM:EVENT or SYSTEM");
	refuses(EVENTS("\":\""), "an event is SYSTEM:EVENT or SYSTEM");
	refuses(EVENTS("\"irq:\""), "an event is SYSTEM:EVENT or SYSTEM");
	refuses(EVENTS("\":x\""), "an event is SYSTEM:EVENT or SYSTEM");
	while (strlen(many) < XVT_REQUEST_LEN * 2 && strlen(many) + 200 < sizeof(many))
		strcat(many, ",\"system_of_a_long_name:and_event\"");
	strcat(many, "]}");
	refuses(many, "all have room for");
	refuses("{\"do\":\"events\",\"machines\":[\"web\"],\"events\":[\"irq\"]}",
		"web: no machine");
	/* There is no guest that answers. */
	for (unsigned int i = 0; i < 3; i++) {
		ck_assert_ptr_null(act(EVENTS("\"irq\",\"sched:*\"")));
		set_recording_pass(&r);
	}
}
END_TEST

Suite *requests_suite(void)
{
	Suite *s = suite_create("requests");
	TCase *t = tcase_create("set"), *one = tcase_create("file");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, a_status_has_the_recorder_and_its_machines);
	tcase_add_test(t, metrics_come_in_pieces);
	tcase_add_test(t, another_request_is_refused);
	tcase_add_loop_test(t, a_change_waits_for_its_time, 0,
			    sizeof(changes) / sizeof(changes[0]));
	tcase_add_test(t, the_next_file_is_named);
	tcase_add_test(t, a_snapshot_is_answered_when_it_is_whole);
	tcase_add_test(t, a_second_snapshot_waits_for_the_first);
	tcase_add_test(t, a_configuration_is_read_again);
	tcase_add_test(t, a_machine_is_stopped_and_started);
	tcase_add_test(t, a_machine_is_stopped_once);
	tcase_add_test(t, names_must_be_of_machines);
	tcase_add_test(t, a_machine_of_the_options_is_found);
	tcase_add_test(t, guests_are_asked_for_events);
	suite_add_tcase(s, t);
	tcase_add_checked_fixture(one, setup_one_file, teardown);
	tcase_add_test(one, one_file_has_no_next_one);
	suite_add_tcase(s, one);
	return s;
}
