// SPDX-License-Identifier: GPL-2.0
/* test_opt.c - option tables: what is accepted, what is refused, and where arguments end up. */
#include "suites.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "faults.h"
#include "options/opt.h"

struct options {
	bool verbose;
	bool all;
	const char *output;
	struct xvt_opt_list events;
	uint64_t count;
	uint64_t size;
	uint64_t duration_ns;
	uint64_t most;
	unsigned int when;
	uint64_t live;
};

static const struct xvt_opt table[] = {
	XVT_OPT(struct options, verbose, "verbose", 'v', XVT_OPT_BOOL, NULL, ""),
	XVT_OPT(struct options, all, "all", 'a', XVT_OPT_BOOL, NULL, ""),
	XVT_OPT(struct options, output, "output", 'o', XVT_OPT_STRING, "FILE", ""),
	XVT_OPT(struct options, events, "event", 'e', XVT_OPT_LIST, "EVENT", ""),
	XVT_OPT(struct options, count, "count", 'n', XVT_OPT_U64, "N", ""),
	XVT_OPT(struct options, size, "size", 0, XVT_OPT_SIZE, "S", ""),
	XVT_OPT(struct options, duration_ns, "duration", 0, XVT_OPT_TIME, "SEC", ""),
	XVT_OPT(struct options, most, "most", 0, XVT_OPT_COUNT, "N", "", .usual = "4", .most = 60),
	XVT_OPT(struct options, when, "when", 0, XVT_OPT_CHOICE, "now|later|no", "",
		.usual = "later", .in_file = "no"),
	XVT_OPT(struct options, live, "live", 0, XVT_OPT_SIZE, "SIZE", "", .least = 1 << 20,
		.flags = XVT_OPT_LIVE),
	XVT_OPT_END,
};

static const struct xvt_command command = {
	.name = "try", .args = "FILE", .brief = "x", .opts = table
};

/* Parse a line of words; the words stay valid until the next call. */
static int parse(const char *line, struct options *o, char ***argv_out, int *argc_out, int *rest)
{
	static char words[512];
	static char *argv[64];
	int argc = 0;

	memset(o, 0, sizeof(*o));
	snprintf(words, sizeof(words), "try %s", line);
	for (char *w = strtok(words, " "); w; w = strtok(NULL, " "))
		argv[argc++] = w;
	argv[argc] = NULL;
	*argv_out = argv;
	*argc_out = argc;
	return xvt_opt_parse(&command, argc, argv, o, rest);
}

START_TEST(options_and_arguments_may_mix)
{
	struct options o;
	char **argv;
	int argc, rest, at;

	at = parse("one -v --output=x two -e a --event b -n7 -vv three", &o, &argv, &argc, &rest);
	ck_assert_int_eq(argc - at, 3);
	ck_assert_str_eq(argv[at], "one");
	ck_assert_str_eq(argv[at + 1], "two");
	ck_assert_str_eq(argv[at + 2], "three");
	ck_assert_int_eq(rest, argc);
	ck_assert(o.verbose && !o.all);
	ck_assert_str_eq(o.output, "x");
	ck_assert_uint_eq(o.events.n, 2);
	ck_assert_str_eq(o.events.v[1], "b");
	ck_assert_uint_eq(o.count, 7);
}
END_TEST

START_TEST(dashes_end_options)
{
	struct options o;
	char **argv;
	int argc, rest, at;

	at = parse("one -v -- ls -l --all", &o, &argv, &argc, &rest);
	ck_assert(o.verbose && !o.all);
	ck_assert_int_eq(argc - rest, 3);
	ck_assert_str_eq(argv[rest], "ls");
	ck_assert_str_eq(argv[rest + 2], "--all");
	ck_assert_int_eq(rest - at, 1);
	ck_assert_str_eq(argv[at], "one");
}
END_TEST

START_TEST(a_single_dash_is_an_argument)
{
	struct options o;
	char **argv;
	int argc, rest, at;

	at = parse("- -va", &o, &argv, &argc, &rest);
	ck_assert_int_eq(argc - at, 1);
	ck_assert_str_eq(argv[at], "-");
	ck_assert(o.verbose && o.all);
}
END_TEST

static const struct {
	const char *line;
	uint64_t size;
	uint64_t ns;
	uint64_t count;
} numbers[] = {
	{ "--size 4096", 4096, 0, 0 },
	{ "--size 64K", 65536, 0, 0 },
	{ "--size=16M", 16 << 20, 0, 0 },
	{ "--size 2GiB", 2ull << 30, 0, 0 },
	{ "--size 0x1000", 4096, 0, 0 },
	{ "--duration 2", 0, 2000000000, 0 },
	{ "--duration 0.5", 0, 500000000, 0 },
	{ "--duration 1.000000001", 0, 1000000001, 0 },
	{ "--duration 0.25", 0, 250000000, 0 },
	{ "--duration 1.123456789", 0, 1123456789, 0 },
	{ "--duration 0.0000000009", 0, 0, 0 },
	{ "--count 18446744073709551615", 0, 0, UINT64_MAX },
};

START_TEST(numbers_are_exact)
{
	struct options o;
	char **argv;
	int argc, at = parse(numbers[_i].line, &o, &argv, &argc, NULL);

	ck_assert_int_eq(at, argc);
	ck_assert_uint_eq(o.size, numbers[_i].size);
	ck_assert_uint_eq(o.duration_ns, numbers[_i].ns);
	ck_assert_uint_eq(o.count, numbers[_i].count);
}
END_TEST

static const char *const refused[] = {
	"--nothing",
	"-x",
	"-vx",
	"--output",
	"-o",
	"--verbose=yes",
	"--count -1",
	"--count 1x",
	"--count x",
	"--size 1T",
	"--size 1KK",
	"--size -1",
	"--size 17179869184G",
	"--duration 1.",
	"--duration .5",
	"--duration 1e3",
	"--duration -1",
	"--duration 99999999999",
	"--count 18446744073709551616",
	"--duration 0x10",
	"--duration 0x10.5",
	"--duration 1.5x",
	"--duration +1",
	"--size 4096 --size 4096",
	"--output a -o b",
	"-oa -vob",
	"-n 1 -n 2",
	"--duration 1 --duration=2",
	"--most 0",
	"--most 0x0",
	"--most 61",
	"--live 1023K",
	"--live 1",
	"--when",
	"--when nowhere",
	"--when n",
	"--when now|later",
	"--when=",
};

START_TEST(bad_options_are_refused)
{
	struct options o;
	char **argv;
	int argc;

	ck_assert_int_eq(parse(refused[_i], &o, &argv, &argc, NULL), -1);
}
END_TEST

START_TEST(help_is_no_error)
{
	struct options o;
	char **argv;
	int argc;

	ck_assert_ptr_nonnull(freopen("/dev/null", "w", stdout));
	ck_assert_int_eq(parse("--help", &o, &argv, &argc, NULL), -2);
}
END_TEST

START_TEST(rows_have_defaults)
{
	struct options o;
	char **argv;
	int argc;

	ck_assert_int_ge(parse("x", &o, &argv, &argc, NULL), 0);
	ck_assert_uint_eq(o.most, 4);
	ck_assert_uint_eq(o.when, 1);
	ck_assert_uint_eq(o.live, 0);
	ck_assert_int_ge(parse("--when now --most 60 --live 0 x", &o, &argv, &argc, NULL), 0);
	ck_assert_uint_eq(o.when, 0);
	ck_assert_uint_eq(o.most, 60);
	ck_assert_int_ge(parse("--when no --live 1M", &o, &argv, &argc, NULL), 0);
	ck_assert_uint_eq(o.when, 2);
	ck_assert_uint_eq(o.live, 1 << 20);
	xvt_opt_set_defaults(table, &o, true);
	ck_assert_uint_eq(o.when, 2);
	ck_assert_uint_eq(o.most, 4);
}
END_TEST

START_TEST(a_reload_takes_live_rows)
{
	const struct options fresh = { .live = 5, .most = 7, .when = 2, .verbose = true };
	struct options o = { .live = 1, .most = 2 };

	xvt_opt_take_live(table, &o, &fresh);
	ck_assert_uint_eq(o.live, 5);
	ck_assert_uint_eq(o.most, 2);
	ck_assert_uint_eq(o.when, 0);
	ck_assert(!o.verbose);
}
END_TEST

START_TEST(rows_say_whether_they_are_set)
{
	struct options o = { .output = "x", .when = 1 };
	const char *set = "";

	for (const struct xvt_opt *row = table; row->name; row++) {
		const bool is = strcmp(row->name, "output") == 0 || strcmp(row->name, "when") == 0;

		set = row->name;
		ck_assert_msg(xvt_opt_is_set(row, &o) == is, "%s", set);
	}
	o.events.n = 1;
	ck_assert(xvt_opt_is_set(&table[3], &o));
}
END_TEST

/* Where the values of a file are cannot be noted. */
START_TEST(no_memory_is_no_wrong_option)
{
	static char text[] = "output = x\nevent = a\n";
	struct xvt_opt_file file;
	struct options o = { 0 };

	int err;

	faults.memory_max = 1;
	err = xvt_opt_read_text(table, "conf", text, &o, &file);
	faults.memory_max = 0;
	ck_assert_int_eq(err, XVT_OPT_NO_MEMORY);
	xvt_opt_file_free(&file);
	ck_assert_int_eq(xvt_opt_exit_status(XVT_OPT_NO_MEMORY), XVT_EXIT_FAIL);
	ck_assert_int_eq(xvt_opt_exit_status(XVT_OPT_WRONG), XVT_EXIT_USAGE);
	ck_assert_int_eq(xvt_opt_exit_status(XVT_OPT_SHOWN), XVT_EXIT_OK);
}
END_TEST

START_TEST(a_list_has_an_end)
{
	static char *argv[2 * XVT_OPT_LIST_MAX + 4];
	static struct options o;
	int argc = 0;

	argv[argc++] = "try";
	for (int i = 0; i <= XVT_OPT_LIST_MAX; i++) {
		argv[argc++] = "-e";
		argv[argc++] = "x";
	}
	ck_assert_int_eq(xvt_opt_parse(&command, argc, argv, &o, NULL), -1);
	memset(&o, 0, sizeof(o));
	ck_assert_int_ge(xvt_opt_parse(&command, argc - 2, argv, &o, NULL), 0);
	ck_assert_uint_eq(o.events.n, XVT_OPT_LIST_MAX);
}
END_TEST

/* What is refused is told on stderr: not the test's own output. */
static void quiet(void)
{
	ck_assert_ptr_nonnull(freopen("/dev/null", "w", stderr));
}

static const struct {
	const char *text;
	int err;
	uint64_t ns;
} spans[] = {
	{ "5ms", 0, 5000000 },		{ "1.5s", 0, 1500000000 },
	{ "250us", 0, 250000 },		{ "7ns", 0, 7 },
	{ "0.0005ms", 0, 500 },		{ "1.9ns", 0, 1 },
	{ "5", 0, 5000000000 },		{ "2min", 0, 120000000000 },
	{ "0.5h", 0, 1800000000000 },	{ "5125000h", -ERANGE, 0 },
	{ "ms", -EINVAL, 0 },		{ "5 ms", -EINVAL, 0 },
	{ "-5ms", -EINVAL, 0 },		{ "5m", -EINVAL, 0 },
	{ "1.ms", -EINVAL, 0 },		{ "1..2ms", -EINVAL, 0 },
	{ "5msx", -EINVAL, 0 },		{ "", -EINVAL, 0 },
	{ "18446744074s", -ERANGE, 0 }, { "00000000000000000000000000000000001ms", -ERANGE, 0 },
};

START_TEST(spans_have_units)
{
	uint64_t ns = 0;

	ck_assert_int_eq(xvt_parse_span(spans[_i].text, &ns), spans[_i].err);
	if (!spans[_i].err)
		ck_assert_uint_eq(ns, spans[_i].ns);
}
END_TEST

Suite *opt_suite(void)
{
	Suite *s = suite_create("opt");
	TCase *t = tcase_create("opt");

	tcase_add_loop_test(t, spans_have_units, 0, sizeof(spans) / sizeof(spans[0]));
	tcase_add_checked_fixture(t, quiet, NULL);
	tcase_add_test(t, options_and_arguments_may_mix);
	tcase_add_test(t, dashes_end_options);
	tcase_add_test(t, a_single_dash_is_an_argument);
	tcase_add_loop_test(t, numbers_are_exact, 0, sizeof(numbers) / sizeof(numbers[0]));
	tcase_add_loop_test(t, bad_options_are_refused, 0, sizeof(refused) / sizeof(refused[0]));
	tcase_add_test(t, help_is_no_error);
	tcase_add_test(t, rows_have_defaults);
	tcase_add_test(t, a_reload_takes_live_rows);
	tcase_add_test(t, rows_say_whether_they_are_set);
	tcase_add_test(t, no_memory_is_no_wrong_option);
	tcase_add_test(t, a_list_has_an_end);
	suite_add_tcase(s, t);
	return s;
}
