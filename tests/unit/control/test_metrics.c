// SPDX-License-Identifier: GPL-2.0
/* test_metrics.c - lines of status answers as metrics: sums over rings, units and labels. */
#include "suites.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/metrics.h"

static struct xvt_metrics *metrics;
static char *text; /* all pieces */
static unsigned int pieces;

static void setup(void)
{
	metrics = xvt_metrics_new();
	ck_assert_ptr_nonnull(metrics);
}

static void teardown(void)
{
	xvt_metrics_free(metrics);
	free(text);
	text = NULL;
}

static int add(const char *line)
{
	struct xvt_error why = { "" };
	struct xvt_json_value *v = xvt_json_parse(line, strlen(line), &why);
	int err;

	ck_assert_msg(v != NULL, "%s: %s", line, why.text);
	err = xvt_metrics_add(metrics, v);
	xvt_json_forget(v);
	return err;
}

static void must_add(const char *line)
{
	ck_assert_int_eq(add(line), 0);
}

static void write_all(void)
{
	static struct xvt_out o;
	struct xvt_metrics_at at = { 0 };
	size_t len = 0;

	o.fd = -1;
	pieces = 0;
	for (;;) {
		o.used = 0;
		if (!xvt_metrics_piece(metrics, &at, &o))
			break;
		text = realloc(text, len + o.used + 1);
		ck_assert_ptr_nonnull(text);
		memcpy(text + len, o.buf, o.used);
		len += o.used;
		text[len] = '\0';
		pieces++;
	}
	ck_assert_uint_eq(o.used, 0);
}

static unsigned int count(const char *words)
{
	const char *at = text;
	unsigned int n = 0;

	while ((at = strstr(at, words))) {
		at += strlen(words);
		n++;
	}
	return n;
}

static void has(const char *line)
{
	ck_assert_msg(count(line) == 1, "%u times '%s'", count(line), line);
}

#define RECORDER "{\"pid\":7,\"output\":\"t.xvt\",\"cwd\":\"/data\",\"mode\":\"stop\""

START_TEST(a_recorder_comes_first)
{
	ck_assert_int_eq(add("{\"name\":\"g1\"}"), -EBADMSG);
	must_add(RECORDER "}");
	must_add("{\"name\":\"g1\"}");
}
END_TEST

START_TEST(times_are_seconds)
{
	must_add(RECORDER ",\"now_ns\":5000000007,\"started_ns\":3000000000,"
			  "\"disk_waited_ns\":1500000000,\"bytes\":9223372036854775807}");
	write_all();
	has("\nxvtrace_recorder_uptime_seconds{recorder=\"7\"} 2.000000007\n");
	has("\nxvtrace_recorder_disk_wait_seconds_total{recorder=\"7\"} 1.500000000\n");
	has("\nxvtrace_recorder_trace_bytes_total{recorder=\"7\"} 9223372036854775807\n");
	has("# TYPE xvtrace_recorder_uptime_seconds gauge\n");
	has("# TYPE xvtrace_recorder_disk_wait_seconds_total counter\n");
}
END_TEST

START_TEST(flags_are_0_or_1)
{
	must_add(RECORDER ",\"joined\":true,\"disk_full\":false}");
	must_add("{\"name\":\"g1\",\"phase\":\"attached\",\"stopped\":true}");
	must_add("{\"name\":\"g2\",\"phase\":\"gone\"}");
	write_all();
	has("xvtrace_recorder_joined{recorder=\"7\"} 1\n");
	has("xvtrace_recorder_disk_full{recorder=\"7\"} 0\n");
	has("xvtrace_machine_up{recorder=\"7\",machine=\"g1\"} 1\n");
	has("xvtrace_machine_up{recorder=\"7\",machine=\"g2\"} 0\n");
	has("xvtrace_machine_stopped{recorder=\"7\",machine=\"g1\"} 1\n");
	has("xvtrace_machine_stopped{recorder=\"7\",machine=\"g2\"} 0\n");
}
END_TEST

START_TEST(paths_are_absolute)
{
	must_add(RECORDER "}");
	must_add("{\"pid\":8,\"output\":\"/x/t.xvt\",\"cwd\":\"/data\",\"mode\":\"overwrite\"}");
	write_all();
	has("xvtrace_recorder_info{recorder=\"7\",output=\"/data/t.xvt\",mode=\"stop\"} 1\n");
	has("xvtrace_recorder_info{recorder=\"8\",output=\"/x/t.xvt\",mode=\"overwrite\"} 1\n");
	/* A family is one block. */
	ck_assert_uint_eq(count("# TYPE xvtrace_recorder_info gauge\n"), 1);
}
END_TEST

START_TEST(rings_are_added_up)
{
	must_add(RECORDER "}");
	must_add("{\"name\":\"g1\",\"rings\":["
		 "{\"events\":3,\"lost\":1,\"lag_ns\":5,\"size_bytes\":10},"
		 "{\"events\":4,\"lost\":0,\"lag_ns\":9,\"size_bytes\":10}]}");
	/* More rings of the same machine, on a line of its own. */
	must_add("{\"rings\":[{\"events\":100,\"lost\":2,\"lag_ns\":7,\"size_bytes\":10}]}");
	must_add("{\"name\":\"g2\",\"rings\":[{\"events\":1}]}");
	write_all();
	has("xvtrace_machine_events_total{recorder=\"7\",machine=\"g1\"} 107\n");
	has("xvtrace_machine_lost_events_total{recorder=\"7\",machine=\"g1\"} 3\n");
	has("xvtrace_machine_lag_seconds{recorder=\"7\",machine=\"g1\"} 0.000000009\n");
	has("xvtrace_machine_ring_size_bytes{recorder=\"7\",machine=\"g1\"} 30\n");
	has("xvtrace_machine_events_total{recorder=\"7\",machine=\"g2\"} 1\n");
}
END_TEST

START_TEST(a_clock_without_a_bound_is_no_sample)
{
	must_add(RECORDER "}");
	must_add("{\"name\":\"g1\",\"rings\":["
		 "{\"clock\":{\"source\":\"kvm\",\"bound_ns_max\":300}},"
		 "{\"clock\":{\"source\":\"none\",\"bound_ns_max\":900}},"
		 "{\"clock\":{\"source\":\"kvm\",\"bound_ns_max\":9223372036854775807}},"
		 "{\"clock\":{\"source\":\"kvm\",\"bound_ns_max\":200}}]}");
	must_add("{\"name\":\"g2\",\"rings\":[{\"clock\":{\"source\":\"none\"}}]}");
	write_all();
	has("xvtrace_machine_clock_bound_seconds{recorder=\"7\",machine=\"g1\"} 0.000000300\n");
	ck_assert_uint_eq(count("xvtrace_machine_clock_bound_seconds{"), 1);
}
END_TEST

/* A guest chooses neither, but a file's name or a domain's may have any letters. */
START_TEST(labels_are_one_word)
{
	must_add("{\"pid\":7,\"output\":\"/a\\\"} 1\\nx{y=\\\"\",\"mode\":\"stop\"}");
	must_add("{\"name\":\"a\\\\b\\u001b[2J\"}");
	write_all();
	has("output=\"/a\\\"} 1\\\\nx{y=\\\"\",mode=");
	ck_assert_uint_eq(count("\033"), 0);
	has("xvtrace_machine_up{recorder=\"7\",machine=\"a\\\\b");
	ck_assert_ptr_null(strstr(text, "\nx{y"));
}
END_TEST

START_TEST(many_machines_take_several_pieces)
{
	char line[64], sample[96];
	unsigned int few;

	must_add(RECORDER "}");
	for (unsigned int i = 0; i < 100; i++) {
		snprintf(line, sizeof(line), "{\"name\":\"m%u\",\"phase\":\"attached\"}", i);
		must_add(line);
	}
	write_all();
	few = pieces;
	ck_assert_uint_eq(count("xvtrace_machine_up{"), 100);
	/* One more, of another recorder. */
	must_add("{\"pid\":8,\"output\":\"/x\",\"mode\":\"stop\"}");
	must_add("{\"name\":\"m100\",\"phase\":\"attached\"}");
	free(text);
	text = NULL;
	write_all();
	ck_assert_uint_gt(pieces, few);
	for (unsigned int i = 0; i < 101; i++) {
		snprintf(sample, sizeof(sample),
			 "xvtrace_machine_up{recorder=\"%u\",machine=\"m%u\"}", i < 100 ? 7 : 8, i);
		has(sample);
	}
	ck_assert_uint_eq(count("# TYPE xvtrace_machine_up gauge\n"), 1);
}
END_TEST

START_TEST(without_recorders_there_are_heads)
{
	write_all();
	has("# HELP xvtrace_machine_up 1: its rings are recorded");
	ck_assert_ptr_null(strchr(text, '{'));
}
END_TEST

Suite *metrics_suite(void)
{
	Suite *s = suite_create("metrics");
	TCase *t = tcase_create("metrics");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, a_recorder_comes_first);
	tcase_add_test(t, times_are_seconds);
	tcase_add_test(t, flags_are_0_or_1);
	tcase_add_test(t, paths_are_absolute);
	tcase_add_test(t, rings_are_added_up);
	tcase_add_test(t, a_clock_without_a_bound_is_no_sample);
	tcase_add_test(t, labels_are_one_word);
	tcase_add_test(t, many_machines_take_several_pieces);
	tcase_add_test(t, without_recorders_there_are_heads);
	suite_add_tcase(s, t);
	return s;
}
