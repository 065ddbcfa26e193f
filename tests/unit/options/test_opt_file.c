// SPDX-License-Identifier: GPL-2.0
/* test_opt_file.c - options in a file: which lines are good, and which line an error names. */
#include "suites.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "options/opt.h"
#include "said.h"

struct options {
	const char *output;
	struct xvt_opt_list events;
	struct xvt_opt_list words;
	bool quiet;
	uint64_t size;
	uint64_t span_ns;
	uint64_t count;
	unsigned int mode;
};

#define O(field, name, type, metavar, ...) \
	XVT_OPT(struct options, field, name, 0, type, metavar, __VA_ARGS__)

static const struct xvt_opt table[] = {
	O(output, "output", XVT_OPT_STRING, "FILE", "where it goes (default x; y)",
	  .in_file = "/d/", .group = "The trace"),
	O(events, "event", XVT_OPT_LIST, "EVENT", "with --output DIR/; again for each"),
	O(words, "word", XVT_OPT_WORDS, "W", "of -r"),
	O(quiet, "quiet", XVT_OPT_BOOL, NULL, "says less", .in_file = "yes", .group = "The rest"),
	O(size, "size", XVT_OPT_SIZE, "SIZE", "of a file", .usual = "1M", .least = 4096,
	  .most = 1 << 30),
	O(span_ns, "span", XVT_OPT_TIME, "SEC", "of time", .usual = "1.5", .in_file = "60"),
	O(count, "count", XVT_OPT_COUNT, "N", "of them", .usual = "2"),
	O(mode, "mode", XVT_OPT_CHOICE, "stop|overwrite|none", "of rings", .usual = "stop"),
	XVT_OPT_END,
};

static struct options o;
static struct xvt_opt_file file;
static char text[4096];

static int read_text(const char *lines)
{
	memset(&o, 0, sizeof(o));
	snprintf(text, sizeof(text), "%s", lines);
	return xvt_opt_read_text(table, "conf", text, &o, &file);
}

static void forget_file(void)
{
	xvt_opt_errors_of(NULL);
	xvt_opt_file_free(&file);
}

START_TEST(lines_are_options)
{
	ck_assert_int_eq(read_text("# a comment\n\n output =  a b # c \r\nevent=x\nevent = y\n"
				   "word = a,b[,],c\nquiet = no\nsize = 64K\nspan = 5ms\n"
				   "count =\nmode = none"),
			 0);
	ck_assert_str_eq(o.output, "a b # c");
	ck_assert_uint_eq(o.events.n, 2);
	ck_assert_str_eq(o.events.v[1], "y");
	ck_assert_uint_eq(o.words.n, 3);
	ck_assert_str_eq(o.words.v[1], "b[,]");
	ck_assert(!o.quiet);
	ck_assert_uint_eq(o.size, 65536);
	ck_assert_uint_eq(o.span_ns, 5000000);
	ck_assert_uint_eq(o.count, 2);
	ck_assert_uint_eq(o.mode, 2);
}
END_TEST

START_TEST(a_file_has_defaults_of_its_own)
{
	ck_assert_int_eq(read_text(""), 0);
	ck_assert_str_eq(o.output, "/d/");
	ck_assert(o.quiet);
	ck_assert_uint_eq(o.size, 1 << 20);
	ck_assert_uint_eq(o.span_ns, 60000000000);
	ck_assert_uint_eq(o.mode, 0);
}
END_TEST

static const struct {
	const char *lines, *words;
} wrong[] = {
	{ "\nsize = 1", "conf: line 2: size 1: it is at least 4K" },
	{ "size = 2G", "conf: line 1: size 2G: it is at most 1G" },
	{ "size = 1K1", "conf: line 1: size 1K1: not a size such as" },
	{ "size = 99999999999999999999", "size 99999999999999999999: too large" },
	{ "mode = stopped", "conf: line 1: mode stopped: it is stop, overwrite or none" },
	{ "mode = s", "mode s: it is stop, overwrite or none" },
	{ "quiet = maybe", "conf: line 1: quiet maybe: not yes or no" },
	{ "quiet = yes\nquiet = yes", "conf: line 2: quiet: given twice" },
	{ "size = 1M\n#\nsize = 1M", "conf: line 3: size: given twice" },
	{ "count = 0", "count 0: not a number from 1 on" },
	{ "word = a,,b", "word: an empty word beside a comma" },
	{ "sise = 1M", "conf: line 1: sise: no such key; is it 'size'?" },
	{ "something = 1", "something: no such key" },
	{ "output", "'output' is not KEY = VALUE" },
	{ "span = soon", "span soon: not seconds such as" },
};

START_TEST(wrong_lines_are_named)
{
	const char *words;

	ck_assert_int_eq(read_text(wrong[_i].lines), XVT_OPT_WRONG);
	words = said();
	ck_assert_msg(strstr(words, wrong[_i].words), "%s: %s", wrong[_i].lines, words);
}
END_TEST

START_TEST(all_wrong_lines_are_told)
{
	const char *words;

	ck_assert_int_eq(read_text("size = 1\nmode = x\nspan = 1\nquiet = 2\n"), XVT_OPT_WRONG);
	words = said();
	ck_assert_ptr_nonnull(strstr(words, "line 1: size"));
	ck_assert_ptr_nonnull(strstr(words, "line 2: mode"));
	ck_assert_ptr_nonnull(strstr(words, "line 4: quiet"));
	ck_assert_ptr_null(strstr(words, "line 3"));
}
END_TEST

/* Two values with the same text are told apart by their number, not by where the text lies. */
START_TEST(an_error_names_the_line_of_its_value)
{
	const struct xvt_opt_value second = { "event", 1, "x", NULL };

	ck_assert_int_eq(read_text("event = x\nsize = 1M\nevent = x\nword = a,b\nword = c"), 0);
	xvt_opt_errors_of(&file);
	xvt_opt_error_of(&second, "no event of --output");
	ck_assert_str_eq(said(), "xvtrace: conf: line 3: event x: no event of output\n");
	xvt_opt_error_of(&(struct xvt_opt_value){ "event", 0, "x", "g1" }, "wrong");
	ck_assert_str_eq(said(), "xvtrace: conf: line 1: event x: wrong\n");
	xvt_opt_error_of(&(struct xvt_opt_value){ "word", 1, "b", NULL }, "wrong");
	ck_assert_str_eq(said(), "xvtrace: conf: line 4: word b: wrong\n");
	xvt_opt_error_of(&(struct xvt_opt_value){ "word", 2, "c", NULL }, "wrong");
	ck_assert_str_eq(said(), "xvtrace: conf: line 5: word c: wrong\n");
	/* Of an option as such it is the last line. */
	xvt_opt_error("event", "too many");
	ck_assert_str_eq(said(), "xvtrace: conf: line 3: event: too many\n");
	ck_assert(xvt_opt_has_line("size") && !xvt_opt_has_line("mode"));
	/* A default has no line. */
	xvt_opt_error("mode", "wrong");
	ck_assert_str_eq(said(), "xvtrace: --mode: wrong\n");
	xvt_opt_errors_of(NULL);
	xvt_opt_error_of(&second, "no event of --output");
	ck_assert_str_eq(said(), "xvtrace: x: no event of --output\n");
	ck_assert(!xvt_opt_has_line("size"));
}
END_TEST

/* What is printed is read again as the same options. */
START_TEST(printed_options_are_read_again)
{
	const char *path = scratch_path("shown.conf");
	struct xvt_opt_file again;
	static struct options b;
	char shown[2048];
	FILE *f;
	size_t len;

	ck_assert_int_eq(read_text("event = x\nevent = y\nsize = 3M\nspan = 1.25\nquiet = no\n"
				   "mode = overwrite\ncount = 7"),
			 0);
	ck_assert_ptr_nonnull(freopen(path, "w", stdout));
	xvt_opt_print(table, &o);
	ck_assert_int_eq(fflush(stdout), 0);
	f = fopen(path, "r");
	ck_assert_ptr_nonnull(f);
	len = fread(shown, 1, sizeof(shown) - 1, f);
	shown[len] = '\0';
	fclose(f);
	ck_assert_ptr_nonnull(strstr(shown, "## The trace\n# FILE: where it goes\noutput = /d/\n"));
	ck_assert_ptr_nonnull(strstr(shown, "# EVENT: with output DIR/; again for each\n"));
	ck_assert_ptr_nonnull(strstr(shown, "\n\n## The rest\n# yes|no: says less\nquiet = no\n"));
	ck_assert_ptr_nonnull(strstr(shown, "\nsize = 3M\n"));
	ck_assert_ptr_nonnull(strstr(shown, "\nspan = 1.25\n"));
	ck_assert_ptr_nonnull(strstr(shown, "\nmode = overwrite\n"));
	memset(&b, 0, sizeof(b));
	ck_assert_int_eq(xvt_opt_read_text(table, "shown", shown, &b, &again), 0);
	for (const struct xvt_opt *row = table; row->name; row++)
		ck_assert_msg(xvt_opt_same(row, &o, &b), "%s", row->name);
	b.events.n = 1;
	ck_assert(!xvt_opt_same(&table[1], &o, &b));
	b.mode = 0;
	ck_assert(!xvt_opt_same(&table[7], &o, &b));
	xvt_opt_file_free(&again);
}
END_TEST

static void write_conf(const char *path, const void *bytes, size_t len, mode_t mode)
{
	FILE *f = fopen(path, "w");

	ck_assert_ptr_nonnull(f);
	ck_assert_uint_eq(fwrite(bytes, 1, len, f), len);
	fclose(f);
	ck_assert_int_eq(chmod(path, mode), 0);
}

static const struct {
	const char *bytes;
	size_t len;
	mode_t mode;
	const char *words; /* NULL: it is read */
} files[] = {
	{ "size = 2M\n", 10, 0600, NULL },
	{ "size = 2M\n", 10, 0644, NULL },
	{ "size = 2M\n", 10, 0646, "other users may write it" },
	{ "size\0= 2M\n", 10, 0600, "it has a zero byte" },
	{ "size = 2M\033\n", 11, 0600, "it has control characters" },
};

START_TEST(only_trusted_texts_are_read)
{
	char path[4096];
	const char *words;
	int err;

	snprintf(path, sizeof(path), "%s", scratch_path("file.conf"));
	write_conf(path, files[_i].bytes, files[_i].len, files[_i].mode);
	memset(&o, 0, sizeof(o));
	err = xvt_opt_read(table, path, &o, &file);
	words = said();
	ck_assert_int_eq(err, files[_i].words ? XVT_OPT_WRONG : 0);
	ck_assert_msg(!files[_i].words || strstr(words, files[_i].words), "%s", words);
	if (!err)
		ck_assert_uint_eq(o.size, 2 << 20);
	unlink(path);
}
END_TEST

START_TEST(neither_links_nor_fifos_are_read)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s", scratch_path("link.conf"));
	ck_assert_int_eq(symlink("/dev/null", path), 0);
	ck_assert_int_eq(xvt_opt_read(table, path, &o, &file), XVT_OPT_WRONG);
	ck_assert_ptr_nonnull(strstr(said(), "it is a link"));
	unlink(path);
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	ck_assert_int_eq(xvt_opt_read(table, path, &o, &file), XVT_OPT_WRONG);
	ck_assert_ptr_nonnull(strstr(said(), "it is no regular file"));
	unlink(path);
	ck_assert_int_eq(xvt_opt_read(table, "/dev/null", &o, &file), 0);
}
END_TEST

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

Suite *opt_file_suite(void)
{
	Suite *s = suite_create("opt_file");
	TCase *t = tcase_create("opt_file");

	tcase_add_checked_fixture(t, said_setup, forget_file);
	tcase_add_test(t, lines_are_options);
	tcase_add_test(t, a_file_has_defaults_of_its_own);
	tcase_add_loop_test(t, wrong_lines_are_named, 0, COUNT(wrong));
	tcase_add_test(t, all_wrong_lines_are_told);
	tcase_add_test(t, an_error_names_the_line_of_its_value);
	tcase_add_test(t, printed_options_are_read_again);
	tcase_add_loop_test(t, only_trusted_texts_are_read, 0, COUNT(files));
	tcase_add_test(t, neither_links_nor_fifos_are_read);
	suite_add_tcase(s, t);
	return s;
}
