// SPDX-License-Identifier: GPL-2.0
/* test_answers.c - a recorder's answer to a client: whole, cut off or refused; and sums over it. */
#define _GNU_SOURCE
#include "suites.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/socket.h"
#include "control/answers.h"
#include "said.h"

static struct xvt_answers all;
static char folder[256], path[300];

static void setup(void)
{
	said_setup();
	memset(&all, 0, sizeof(all));
	snprintf(folder, sizeof(folder), "%s", scratch_path("run"));
	mkdir(folder, 0700);
	setenv("XVTRACE_RUN_DIR", folder, 1);
}

static void teardown(void)
{
	xvt_answers_forget(&all);
	while (wait(NULL) > 0)
		;
	unsetenv("XVTRACE_RUN_DIR");
}

/* A recorder that answers one client with this text, and ends. */
static void recorder(const char *name, const char *text)
{
	struct xvt_listener listener;
	char byte;
	struct xvt_error why;
	int sock;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	unlink(path);
	ck_assert_msg(!xvt_socket_listen(&listener, path, 0600, &why), "%s", why.text);
	if (!fork()) {
		struct pollfd client = { .fd = listener.fd, .events = POLLIN };

		poll(&client, 1, -1);
		sock = accept(listener.fd, NULL, NULL);
		while (read(sock, &byte, 1) == 1 && byte != '\n')
			;
		(void)!write(sock, text, strlen(text));
		_exit(0);
	}
	close(listener.fd);
}

#define HEAD	 "{\"format\":\"xvtrace-status/1\",\"pid\":7}\n"
#define GUEST(n) "{\"name\":\"" n "\",\"rings\":[]}\n"
#define END	 "{\"end\":true}\n"

START_TEST(a_whole_answer_has_lines)
{
	recorder("one", HEAD GUEST("g1") "{\"rings\":[]}\n" GUEST("host") END);
	ck_assert_int_eq(xvt_answers_gather(&all, path), 0);
	ck_assert_uint_eq(all.n, 1);
	ck_assert_uint_eq(all.v[0].n, 4);
	ck_assert_uint_eq(xvt_answer_number(all.v[0].lines[0], "pid"), 7);
	ck_assert_uint_eq(xvt_answer_number(all.v[0].lines[0], "none"), 0);
	ck_assert_str_eq(xvt_answer_text(all.v[0].lines[1], "name"), "g1");
	ck_assert_str_eq(xvt_answer_text(all.v[0].lines[2], "name"), "?");
	/* The first machine takes two lines. */
	ck_assert_uint_eq(xvt_answer_vm_end(&all.v[0], 1), 3);
	ck_assert_uint_eq(xvt_answer_vm_end(&all.v[0], 3), 4);
	ck_assert_str_eq(said(), "");
}
END_TEST

static const struct {
	const char *text, *words;
	int err;
} cut[] = {
	{ "", "it ended in the middle of its answer", -EPIPE },
	{ HEAD, "it ended in the middle of its answer", -EBADMSG },
	{ HEAD GUEST("g1"), "it ended in the middle of its answer", -EBADMSG },
	{ END, "it ended in the middle of its answer", -EPIPE },
	{ HEAD "{\"name\":\n" END, "", -EBADMSG },
	{ "{\"error\":\"no, \\u001b[1mnever\"}\n", "no, ?[1mnever", -EPROTO },
	{ HEAD "{\"error\":\"out of memory\"}\n", "out of memory", -EPROTO },
};

START_TEST(another_answer_is_none)
{
	recorder("cut", cut[_i].text);
	ck_assert_int_eq(xvt_answers_gather(&all, path), cut[_i].err);
	ck_assert_uint_eq(all.n, 0);
	ck_assert_msg(strstr(all.why, cut[_i].words) != NULL, "%s", all.why);
	said_has(path);
}
END_TEST

START_TEST(a_recorder_that_is_named_must_be_there)
{
	struct xvt_listener listener;
	struct xvt_error why;

	snprintf(path, sizeof(path), "%s/none", folder);
	ck_assert_int_eq(xvt_answers_gather(&all, path), -ENOENT);
	ck_assert(xvt_answers_ended(-ENOENT) && !xvt_answers_ended(-EACCES));
	/* One that was killed leaves its socket. */
	ck_assert_int_eq(xvt_socket_listen(&listener, path, 0600, &why), 0);
	close(listener.fd);
	said();
	all.quiet = true;
	ck_assert_int_eq(xvt_answers_gather(&all, path), -ECONNREFUSED);
	ck_assert_ptr_nonnull(strstr(all.why, "the recorder that listened there has died"));
	ck_assert_str_eq(said(), "");
}
END_TEST

START_TEST(all_recorders_of_a_user_are_asked)
{
	struct xvt_listener listener;
	struct xvt_error why;

	ck_assert_int_eq(xvt_answers_gather(&all, NULL), -ENOENT);
	said_has("no recorder of yours is at work");
	/* A dead one is no error, and another file no recorder. */
	snprintf(path, sizeof(path), "%s/record-1", folder);
	ck_assert_int_eq(xvt_socket_listen(&listener, path, 0600, &why), 0);
	close(listener.fd);
	snprintf(path, sizeof(path), "%s/record-x", folder);
	fclose(fopen(path, "w"));
	recorder("record-10", HEAD GUEST("ten") END);
	recorder("record-9", HEAD GUEST("nine") END);
	ck_assert_int_eq(xvt_answers_gather(&all, NULL), 0);
	ck_assert_uint_eq(all.n, 2);
	ck_assert_str_eq(xvt_answer_text(all.v[0].lines[1], "name"), "nine");
	ck_assert_str_eq(xvt_answer_text(all.v[1].lines[1], "name"), "ten");
	ck_assert_str_eq(said(), "");
	xvt_answers_forget(&all);
	/* An answer that makes no sense is an error, and those of others stay. */
	recorder("record-3", "{\"error\":\"no\"}\n");
	recorder("record-4", HEAD END);
	ck_assert_int_eq(xvt_answers_gather(&all, NULL), -EPROTO);
	ck_assert_uint_eq(all.n, 1);
	said_has("record-3: no");
	snprintf(path, sizeof(path), "%s/record-x", folder);
	unlink(path);
}
END_TEST

/* ------------------------------------------------------------------ sums */

static struct xvt_answer answer;

static void line(const char *text)
{
	struct xvt_error why;

	answer.lines = realloc(answer.lines, (answer.n + 1) * sizeof(*answer.lines));
	answer.lines[answer.n] = xvt_json_parse(text, strlen(text), &why);
	ck_assert_msg(answer.lines[answer.n] != NULL, "%s: %s", text, why.text);
	answer.n++;
}

static void forget_lines(void)
{
	while (answer.n)
		xvt_json_forget(answer.lines[--answer.n]);
	free(answer.lines);
	answer.lines = NULL;
}

START_TEST(rings_are_added_up)
{
	struct xvt_answer_sums sums;

	line("{\"pid\":7}");
	line("{\"name\":\"g1\",\"rings\":["
	     "{\"events\":3,\"attempted\":5,\"lost\":1,\"discarded\":1,\"phase\":\"live\","
	     "\"lag_ns\":4,\"size_bytes\":200,\"undrained_bytes\":50,"
	     "\"clock\":{\"source\":\"kvm\",\"bound_ns_max\":300}},"
	     "{\"events\":4,\"phase\":\"unused\",\"lag_ns\":2,\"size_bytes\":0,"
	     "\"undrained_bytes\":9,\"clock\":{\"source\":\"none\",\"bound_ns_max\":900}}]}");
	line("{\"rings\":[{\"events\":10,\"events_s\":2,\"phase\":\"live\",\"size_bytes\":3,"
	     "\"undrained_bytes\":2,"
	     "\"clock\":{\"source\":\"kvm\",\"bound_ns_max\":9223372036854775807}}]}");
	line("{\"name\":\"host\",\"kind\":\"host\",\"rings\":[{\"events\":1000}]}");
	sums = xvt_answer_sum(&answer, 1, 3);
	ck_assert_uint_eq(sums.events, 17);
	ck_assert_uint_eq(sums.attempted, 5);
	ck_assert_uint_eq(sums.lost + sums.discarded, 2);
	ck_assert_uint_eq(sums.events_s, 2);
	ck_assert_uint_eq(sums.rings, 3);
	ck_assert_uint_eq(sums.live, 2);
	ck_assert_uint_eq(sums.lag_ns, 4);
	ck_assert_uint_eq(sums.clocks, 1);
	ck_assert_uint_eq(sums.bound_ns, 300);
	ck_assert_uint_eq(sums.full_percent, 66);
	ck_assert_uint_eq(xvt_answer_sum(&answer, 0, 4).events, 1017);
	ck_assert(xvt_answer_has_host(&answer));
	forget_lines();
}
END_TEST

START_TEST(a_host_is_a_kind)
{
	line("{\"pid\":7,\"kind\":\"host\"}");
	line("{\"name\":\"host\",\"kind\":\"linux\"}");
	ck_assert(!xvt_answer_has_host(&answer));
	forget_lines();
}
END_TEST

static void flight_recorder_is(const char *text, const char *expected)
{
	static struct xvt_out o;

	o = (struct xvt_out){ .fd = -1 };
	line(text);
	xvt_answer_flight_recorder(answer.lines[0], &o);
	o.buf[o.used] = '\0';
	ck_assert_str_eq(o.buf, expected);
	forget_lines();
}

START_TEST(a_flight_recorder_in_words)
{
	flight_recorder_is("{\"armed\":2,\"rings\":2}", "flight recorder, 2 of 2 rings armed");
	flight_recorder_is("{\"armed\":0,\"rings\":2,\"why\":\"it is\\u0007 small\"}",
			   "flight recorder, 0 of 2 rings armed: it is\\x07 small");
}
END_TEST

Suite *answers_suite(void)
{
	Suite *s = suite_create("answers");
	TCase *t = tcase_create("answers");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, a_whole_answer_has_lines);
	tcase_add_loop_test(t, another_answer_is_none, 0, sizeof(cut) / sizeof(cut[0]));
	tcase_add_test(t, a_recorder_that_is_named_must_be_there);
	tcase_add_test(t, all_recorders_of_a_user_are_asked);
	tcase_add_test(t, rings_are_added_up);
	tcase_add_test(t, a_host_is_a_kind);
	tcase_add_test(t, a_flight_recorder_in_words);
	suite_add_tcase(s, t);
	return s;
}
