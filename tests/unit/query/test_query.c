// SPDX-License-Identifier: GPL-2.0
/*
 * test_query.c - what query/ leaves to the reader changes no answer: each query is asked twice, the
 * second time without. And tables of a trace whose names are meant to hurt.
 */
#define _GNU_SOURCE
#include "suites.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/made_trace.h"
#include "query/query.h"
#include "story.h"

static char *text;
static size_t text_len;
static FILE *stream;
static struct xvt_query *query;
static volatile int stop;

static int begin(void *arg, const char *const *names, size_t count)
{
	(void)arg;
	for (size_t i = 0; i < count; i++)
		fprintf(stream, "%s%s", i ? "|" : "", names[i]);
	fputc('\n', stream);
	return 0;
}

static int row(void *arg, const struct xvt_query_value *values, size_t count)
{
	(void)arg;
	for (size_t i = 0; i < count; i++) {
		const struct xvt_query_value *v = &values[i];

		if (i)
			fputc('|', stream);
		if (v->kind == XVT_QUERY_INTEGER)
			fprintf(stream, "%lld", (long long)v->i);
		else if (v->kind == XVT_QUERY_TEXT)
			fwrite(v->bytes, 1, v->len, stream);
	}
	fputc('\n', stream);
	return 0;
}

static int end(void *arg)
{
	(void)arg;
	return 0;
}

static const struct xvt_query_rows rows = { .begin = begin, .row = row, .end = end };

static int open_query(bool scan)
{
	const struct xvt_query_options o = { .stop = &stop,
					     .scan = scan,
					     .memory_bytes = 256u << 20 };
	struct xvtrace_error error;
	struct xvt_error why;

	xvt_query_free(query);
	query = NULL;
	if (xvt_query_load(&why))
		return -ENOPKG;
	ck_assert_int_eq(xvt_query_new(&query, trace, &o, &error), 0);
	return 0;
}

/* The rows as lines, the columns' names first; to be freed. */
static char *ask(const char *sql)
{
	struct xvtrace_error error;
	int err;

	text = NULL;
	stream = open_memstream(&text, &text_len);
	err = xvt_query_run(query, sql, &rows, &error);
	fclose(stream);
	ck_assert_msg(!err, "%s: %d %s", sql, err, error.text);
	return text;
}

static void is(const char *sql, const char *lines)
{
	char *got = ask(sql);

	ck_assert_msg(strcmp(strchr(got, '\n') + 1, lines) == 0, "%s: %s", sql, got);
	free(got);
}

static void teardown(void)
{
	xvt_query_free(query);
	query = NULL;
	made_teardown();
}

/* -- with and without ------------------------------------------------------------------- */

static unsigned int seed;

static unsigned int pick(unsigned int below)
{
	seed = seed * 1103515245u + 12345u;
	return (seed >> 12) % below;
}

static const struct {
	const char *table;
	const char *columns[8];
} tables[] = {
	{ "events", { "ts", "vm", "ring", "on_cpu", "task_pid", "name", "system" } },
	{ "numbers", { "ts", "vm", "ring", "a", "b", "c", "h" } },
	{ "texts", { "ts", "vm", "on_cpu", "comm", "one", "two", "task_pid" } },
	{ "sched_switch",
	  { "ts", "ring", "prev_pid", "prev_comm", "next_pid", "next_prio", "vm" } },
	{ "print", { "ts", "buf", "ip", "vm", "ring", "task_pid", "xflags" } },
	{ "clock_nodes", { "ts", "vm", "ring", "bound_ns", "epoch", "source", "guest_clock" } },
};

static void put_value(FILE *f, const char *column)
{
	static const char *const texts[] = { "'g1'",   "'g2'",	  "'texts'",
					     "'sh'",   "'plain'", "'test'",
					     "'bash'", "''",	  "'xvt-ping send 10'",
					     "'G1'" };
	static const char *const numbers[] = { "0",
					       "1",
					       "3",
					       "100",
					       "300",
					       "-1",
					       "2.0",
					       "'300'",
					       "NULL",
					       "127",
					       "0.5",
					       "-9223372036854775808",
					       "9223372036854775807",
					       "1e300" };

	if (strcmp(column, "ts") == 0)
		fprintf(f, "%llu%s", (unsigned long long)made.events[pick(made.count)].host_ns,
			pick(8) ? "" : ".5");
	else if (pick(2))
		fputs(texts[pick(sizeof(texts) / sizeof(texts[0]))], f);
	else
		fputs(numbers[pick(sizeof(numbers) / sizeof(numbers[0]))], f);
}

static void put_condition(FILE *f, const char *column)
{
	static const char *const ops[] = { "=", "=", "=", "<", "<=", ">", ">=", "IS", "!=" };

	if (!pick(6)) {
		fprintf(f, "%s BETWEEN ", column);
		put_value(f, column);
		fputs(" AND ", f);
	} else if (!pick(6)) {
		fprintf(f, "%s IN (", column);
		put_value(f, column);
		fputs(", ", f);
		put_value(f, column);
		fputs(") AND 1 = ", f);
		fputc('1', f);
		return;
	} else {
		fprintf(f, "%s %s ", column, ops[pick(sizeof(ops) / sizeof(ops[0]))]);
	}
	put_value(f, column);
	if (!pick(8))
		fputs(" COLLATE NOCASE", f);
}

/* What chance may miss. */
static const char *const traps[] = {
	"SELECT count(*) FROM texts WHERE comm = 'SH' COLLATE NOCASE",
	"SELECT count(*) FROM events WHERE vm = 'G1' COLLATE NOCASE",
	"SELECT count(*) FROM texts WHERE comm COLLATE NOCASE = 'SH'",
	"SELECT count(*) FROM clock_nodes WHERE source = 'HANDSHAKE' COLLATE NOCASE",
	"SELECT count(*) FROM events WHERE vm = 'nosuch'",
	"SELECT count(*) FROM events WHERE vm = 'g1' AND vm = 'g2'",
	"SELECT count(*) FROM events WHERE vm = 'g2' AND ring = 0",
	"SELECT count(*) FROM events WHERE ring = 1 AND on_cpu = 3",
	"SELECT count(*) FROM events WHERE ring IN (0, 2) AND on_cpu = 1",
	"SELECT count(*) FROM events WHERE name = 'te*ts'",
	"SELECT count(*) FROM events WHERE name = 'test'",
	"SELECT count(*) FROM events WHERE name = 'texts' OR ring = 2",
	"SELECT count(*) FROM events WHERE name IN ('texts', 'numbers')",
	"SELECT count(*) FROM sched_switch WHERE prev_pid = '200'",
	"SELECT count(*) FROM sched_switch WHERE prev_pid > '100' AND prev_pid < 200.5",
	"SELECT count(*) FROM numbers WHERE a > -1.5 AND a <= 126.5",
	"SELECT count(*) FROM numbers WHERE h < 0 OR h = -1",
	"SELECT count(*) FROM numbers WHERE a = NULL OR b = 113",
	"SELECT count(*) FROM numbers WHERE a > b",
	"SELECT count(*) FROM clock_nodes WHERE epoch = 1.0 AND source = 'handshake'",
	"SELECT count(*) FROM clock_nodes WHERE ts > 6005000000 AND ts <= 6010000000",
	"SELECT count(*) FROM machines WHERE vm > 'g1'",
	"SELECT count(*) FROM rings WHERE cpu = '3'",
};

#define TRAPS (sizeof(traps) / sizeof(traps[0]))

static void make_sql(char *sql, size_t size)
{
	const size_t t = pick(sizeof(tables) / sizeof(tables[0]));
	FILE *f = fmemopen(sql, size, "w");
	const unsigned int n = 1 + pick(3);

	fputs("SELECT ", f);
	for (unsigned int i = 0; i < 7; i++)
		fprintf(f, "%s%s", i ? ", " : "", tables[t].columns[i]);
	fprintf(f, " FROM %s WHERE ", tables[t].table);
	for (unsigned int i = 0; i < n; i++) {
		if (i)
			fputs(pick(5) ? " AND " : " OR ", f);
		put_condition(f, tables[t].columns[pick(7)]);
	}
	fputs(" ORDER BY ts, ring", f);
	fclose(f);
}

/* Both sides read bounds and names of tasks: those depend on what was read, and are not compared.
 */
START_TEST(test_pushdown)
{
	static char sql[400][512];
	char *with[400], *without;
	size_t some = 0;

	seed = 7;
	if (open_query(false))
		return;
	for (size_t i = 0; i < 400; i++) {
		if (i < TRAPS)
			snprintf(sql[i], sizeof(sql[i]), "%s", traps[i]);
		else
			make_sql(sql[i], sizeof(sql[i]));
		with[i] = ask(sql[i]);
	}
	open_query(true);
	for (size_t i = 0; i < 400; i++) {
		without = ask(sql[i]);
		ck_assert_msg(strcmp(with[i], without) == 0, "%s:\n%.400s\n--\n%.400s", sql[i],
			      with[i], without);
		some += strchr(without, '\n')[1] != '\0';
		free(with[i]);
		free(without);
	}
	ck_assert_uint_ge(some, 100);
}
END_TEST

/* A join looks rows up, and goes on in the reader that it has. */
START_TEST(test_joins)
{
	static const char *const sql[] = {
		"SELECT count(*), sum(n.bound_ns) FROM rings r JOIN clock_nodes n ON n.ring = "
		"r.ring",
		"SELECT count(*) FROM clock_nodes a JOIN clock_nodes b ON a.ts = b.ts AND a.ring < "
		"b.ring",
		"SELECT n.ts, count(*) FROM (SELECT ts FROM clock_nodes WHERE ring = 0 ORDER BY ts "
		"LIMIT "
		"20) n JOIN texts t ON t.ts BETWEEN n.ts AND n.ts + 300000 GROUP BY 1 ORDER BY 1",
		"SELECT n.ts, (SELECT min(ts) FROM sched_switch s WHERE s.ts >= n.ts AND s.vm = "
		"'g1') "
		"FROM clock_nodes n ORDER BY 1, 2",
		"SELECT a.ts FROM texts a JOIN numbers b ON b.ts > a.ts AND b.ts < a.ts + 100000 "
		"WHERE "
		"b.vm = 'g1' ORDER BY 1",
	};
	char *with[5], *without;

	if (open_query(false))
		return;
	for (size_t i = 0; i < 5; i++)
		with[i] = ask(sql[i]);
	open_query(true);
	for (size_t i = 0; i < 5; i++) {
		without = ask(sql[i]);
		ck_assert_msg(strcmp(with[i], without) == 0, "%s:\n%s\n--\n%s", sql[i], with[i],
			      without);
		ck_assert_msg(strpbrk(strchr(without, '\n'), "123456789") != NULL, "%s", sql[i]);
		free(with[i]);
		free(without);
	}
}
END_TEST

/* Two records of one event are one, also where a range of time begins between them. */
START_TEST(test_twice)
{
	char sql[200];

	xvtrace_close(trace);
	trace = NULL;
	story_make("guest g1 1 2000\n"
		   "10 g1:0 switch swapper-0 R a-10\n"
		   "10.1 g1:0 xswitch swapper-0 R a-10\n"
		   "20 g1:0 xswitch a-10 R b-11\n"
		   "20.2 g1:0 switch a-10 R b-11\n"
		   "30 g1:0 switch b-11 R a-10\n",
		   made_path());
	open_trace(0);
	if (open_query(false))
		return;
	is("SELECT count(*) FROM sched_switch", "3\n");
	is("SELECT count(*) FROM events", "3\n");
	for (unsigned int ns = 1000009900; ns <= 1000030000; ns += 50) {
		const unsigned int n = (ns <= 1000010000) + (ns <= 1000020000) + (ns <= 1000030000);
		char expected[8];

		snprintf(sql, sizeof(sql), "SELECT count(*) FROM sched_switch WHERE ts >= %u", ns);
		snprintf(expected, sizeof(expected), "%u\n", n);
		is(sql, expected);
	}
	is("SELECT DISTINCT system FROM sched_switch", "sched\n");
}
END_TEST

/* -- names ------------------------------------------------------------------------------ */

static bool is_letter(uint8_t c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

/* Replaces a word of all formats by another one of its length. */
static void rename_word(const char *from, const char *to)
{
	const size_t len = strlen(from);
	struct xvt_chunk_hdr h;

	ck_assert_uint_eq(len, strlen(to));
	for (size_t at = 0; at + sizeof(h) <= sink.len; at += sizeof(h) + (h.len + 7) / 8 * 8) {
		uint8_t *p = sink.bytes + at + sizeof(h);

		memcpy(&h, sink.bytes + at, sizeof(h));
		if (h.type != XVT_CHUNK_META || !memmem(p, h.len, "format:", 7))
			continue;
		for (size_t i = 1; i + len < h.len; i++)
			if (!memcmp(p + i, from, len) && !is_letter(p[i - 1]) &&
			    !is_letter(p[i + len]))
				memcpy(p + i, to, len);
		synth_sign_chunk(sink.bytes + at);
	}
}

START_TEST(test_names)
{
	static const char *const words[][2] = {
		{ "numbers", "between" }, { "texts", "rings" }, { "names", "RINGS" },
		{ "lists", "order" },	  { "empty", "index" }, { "one", "Two" },
		{ "comm", "task" },	  { "a", "x" },		{ "b", "X" },
		{ "fixed", "group" },	  { "__two", "limit" }, { "c", "_" },
	};

	if (open_query(false))
		return;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		rename_word(words[i][0], words[i][1]);
	synth_sink_save(&sink, made_path());
	xvt_query_free(query);
	query = NULL;
	open_trace(0);
	open_query(false);
	is("SELECT DISTINCT table_name FROM event_types ORDER BY 1",
	   "between\nevent_RINGS\nindex\norder\nprint\nprobe\nsched_switch\n");
	is("SELECT count(*) FROM rings", "3\n");
	is("SELECT name FROM pragma_table_info('between') LIMIT 3 OFFSET 9", "x\nX_2\n_\n");
	is("SELECT name FROM pragma_table_info('event_rings') LIMIT 3 OFFSET 9",
	   "event\nstring\nstruct\n");
	is("SELECT group_concat(name) FROM pragma_table_info('event_rings') WHERE name LIKE "
	   "'%t%o%' "
	   "OR name LIKE '%task'",
	   "task,arg_task,Two,two_2\n");
	is("SELECT count(*) = (SELECT count(*) FROM events WHERE name IN ('rings', 'RINGS')) FROM "
	   "event_rings",
	   "1\n");
	is("SELECT sum(\"group\" IS NOT NULL) = count(*), count(*) > 0 FROM \"order\"", "1|1\n");
	is("SELECT count(*) = count(\"limit\") + (SELECT count(*) FROM event_rings WHERE \"limit\" "
	   "IS "
	   "NULL) FROM event_rings",
	   "1\n");
	is("SELECT count(*) > 0 FROM \"index\"", "1\n");
}
END_TEST

/* -- limits ----------------------------------------------------------------------------- */

START_TEST(test_stop)
{
	struct xvtrace_error error;
	char *got;

	if (open_query(false))
		return;
	stop = 1;
	stream = open_memstream(&text, &text_len);
	/* No row comes back to SQLite, so only the reader can see it. */
	ck_assert_int_eq(
		xvt_query_run(query, "SELECT * FROM numbers WHERE a = 12345", &rows, &error),
		-ETIMEDOUT);
	ck_assert_int_eq(xvt_query_run(query, "SELECT * FROM losses", &rows, &error), -ETIMEDOUT);
	fclose(stream);
	free(text);
	stop = 0;
	got = ask("SELECT count(*) FROM losses");
	free(got);
}
END_TEST

START_TEST(test_memory)
{
	const struct xvt_query_options o = { .stop = &stop, .memory_bytes = 1u << 20 };
	struct xvtrace_error error;
	struct xvt_error why;
	int err;

	if (xvt_query_load(&why))
		return;
	ck_assert_int_eq(xvt_query_new(&query, trace, &o, &error), 0);
	stream = open_memstream(&text, &text_len);
	err = xvt_query_run(
		query,
		"CREATE TABLE t AS WITH RECURSIVE a(n) AS (SELECT 1 UNION ALL SELECT n + 1 "
		"FROM a LIMIT 100000) SELECT n, printf('%100d', n) FROM a",
		&rows, &error);
	fclose(stream);
	free(text);
	ck_assert_int_eq(err, -ENOMEM);
}
END_TEST

Suite *query_suite(void)
{
	Suite *s = suite_create("query");
	TCase *c = tcase_create("query");

	tcase_add_checked_fixture(c, made_setup, teardown);
	tcase_set_timeout(c, 120);
	tcase_add_test(c, test_pushdown);
	tcase_add_test(c, test_joins);
	tcase_add_test(c, test_twice);
	tcase_add_test(c, test_names);
	tcase_add_test(c, test_stop);
	tcase_add_test(c, test_memory);
	suite_add_tcase(s, c);
	return s;
}
