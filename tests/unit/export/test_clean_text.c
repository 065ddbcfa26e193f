// SPDX-License-Identifier: GPL-2.0
/*
 * test_clean_text.c - text of a guest in every place of a format, a record and the metadata that
 * can hold one, with bytes that end lines, drive terminals or turn text around: what report,
 * JSON and CTF show of it is one line an event, of characters that only stand there.
 */
#include "suites.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "select/select.h"
#include "synth.h"

#define COMMON                                                                         \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"         \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"         \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n" \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

static const char *const nasty[] = {
	"\n",
	"\r",
	"\x1b[2J",
	"\b\a\v\f",
	"\x7f",
	"\xc2\x9b"
	"2J",			    /* C1 */
	"\x9b"			    /* the same, raw */
	"2J",			    /* */
	"\xe2\x80\xae",		    /* right to left override */
	"\xe2\x81\xa6\xe2\x80\x8f", /* isolate, mark */
	"\xd8\x9c",
	"\xe2\x80\xa8\xe2\x80\xa9", /* ends of a line and a paragraph */
	"\xef\xbb\xbf\xef\xbf\xb9",
	"\nforged 1.000000000 honest:0 ..... sched_switch: ",
};

#define NASTY (sizeof(nasty) / sizeof(nasty[0]))

/* Formats with one @ where the text goes. The record is the same for all of them. */
static const struct {
	const char *system;
	const char *name;
	const char *fields;
	const char *print_fmt;
} places[] = {
	{ "s@s", "ev", "", "\"x\"" },
	{ "sys", "e@v", "", "\"x\"" },
	{ "sys", "ev", "\tfield:int a@b;\toffset:8;\tsize:4;\tsigned:1;\n", "\"x\"" },
	{ "sys", "ev", "\tfield:int@ ab;\toffset:8;\tsize:4;\tsigned:1;\n", "\"x\"" },
	{ "sys", "ev", "", "\"a@b %d c@d\", 1" },
	{ "sys", "ev", "", "\"%s\", \"a@b\"" },
	{ "sys", "ev", "", "\"%-20s|%.9s\", \"a@b\", \"a@b\"" },
	{ "sys", "ev", "", "\"%s\", __print_flags(7, \"@\", { 1, \"A\" }, { 2, \"B\" })" },
	{ "sys", "ev", "", "\"%s\", __print_flags(3, \"|\", { 1, \"A@\" }, { 2, \"B@\" })" },
	{ "sys", "ev", "", "\"%s\", __print_symbolic(3, { 3, \"A@\" })" },
	{ "sys", "ev", "", "\"%s\", 1 ? \"a@b\" : \"c\"" },
	{ "sys", "ev", "", "\"%s %s %.20s\", __get_str(dyn), REC->fix, REC->fix" },
	{ "sys", "ev", "", "\"%c%c%c%c%c\", REC->fix[0], REC->fix[1], REC->fix[2], 10, 27" },
	{ "sys", "ev", "", "\"%c\", '@'" },
	{ "sys", "ev", "", "\"%s\", REC->printk" },
	{ "sys", "ev", "", "\"%ps %pS\", REC->sym, REC->sym" },
	{ "sys", "ev", "", "nothing that is followed @" },
	{ "ftrace", "print", "\tfield:char buf[];\toffset:24;\tsize:0;\tsigned:0;\n", "\"x@\"" },
};

#define PLACES (sizeof(places) / sizeof(places[0]))
#define OWN    3 /* records that have no format: text, and two in pairs of task names */

static const char more_fields[] =
	"\tfield:u64 printk;\toffset:8;\tsize:8;\tsigned:0;\n"
	"\tfield:u64 sym;\toffset:16;\tsize:8;\tsigned:0;\n"
	"\tfield:char fix[80];\toffset:24;\tsize:80;\tsigned:0;\n"
	"\tfield:__data_loc char[] dyn;\toffset:104;\tsize:4;\tsigned:0;\n";

struct record {
	uint16_t type;
	uint8_t flags, preempt_count;
	int32_t pid;
	uint64_t printk;
	uint64_t sym;
	char fix[80];
	uint32_t dyn;
	char dyn_text[80];
};

/* `text` with the nasty bytes at each @. */
static void fill(char *to, size_t room, const char *text, const char *with)
{
	size_t n = 0;

	for (; *text; text++)
		n += (size_t)snprintf(to + n, room - n, "%s",
				      *text == '@' ? with : (char[]){ *text, 0 });
	ck_assert_uint_lt(n, room);
}

static void put_meta(struct xvt_trace_writer *w, uint32_t type, uint32_t id, const void *p,
		     size_t len)
{
	struct xvt_meta_info info = { .type = type, .id = id, .generation = 1 };

	ck_assert_int_eq(xvt_trace_put(w, XVT_CHUNK_META, &info, sizeof(info), p, len), 0);
}

static void put_format(struct xvt_trace_writer *w, size_t i, const char *with)
{
	char text[8192], filled[16384];
	int head = snprintf(text, sizeof(text), "%s^%s^name: %s\nID: %zu\nformat:\n" COMMON,
			    places[i].system, places[i].name, places[i].name, 100 + i);

	snprintf(text + head, sizeof(text) - (size_t)head, "%s%s\nprint fmt: %s\n",
		 places[i].fields, more_fields, places[i].print_fmt);
	fill(filled, sizeof(filled), text, with);
	head = (int)strlen(filled);
	*strchr(filled, '^') = '\0';
	*strchr(filled + strlen(filled) + 1, '^') = '\0';
	put_meta(w, XVT_META_FORMAT, 0, filled, (size_t)head);
}

static void put_event(struct xvt_trace_writer *w, uint16_t id, const void *p, size_t len)
{
	static uint64_t ns = 1000000000;
	struct xvt_event_hdr h = { .host_ns = ns++, .id = id, .len = (uint16_t)len };

	ck_assert_int_eq(xvt_trace_event(w, &h, p), 0);
}

static void make_trace(const char *path, const char *with)
{
	static const struct xvt_file_info file = { .mult = 1, .uuid = { 4, 5 } };
	static const struct xvt_ring_info ring = { .cpu = 0 };
	struct xvt_vm_info vm = { .vm = 0 };
	struct record rec = { .pid = 77, .printk = 0x1000, .sym = 0x2000 };
	struct xvt_trace_writer *w;
	struct synth_sink sink;
	char text[512];

	synth_sink_init(&sink);
	snprintf(vm.name, sizeof(vm.name), "g%s", with);
	ck_assert_int_eq(xvt_trace_writer_new(&w, &sink.sink, &file), 0);
	ck_assert_int_eq(xvt_trace_put(w, XVT_CHUNK_VM, &vm, sizeof(vm), NULL, 0), 0);
	ck_assert_int_eq(xvt_trace_put(w, XVT_CHUNK_RING, &ring, sizeof(ring), NULL, 0), 0);
	put_meta(w, XVT_META_COMM, 77, with, strlen(with));
	snprintf(text, sizeof(text), "0x1000 : \"a%s%%s b\"\n", with);
	put_meta(w, XVT_META_PRINTK_FORMATS, 0, text, strlen(text));
	snprintf(text, sizeof(text), "2000 T a%sb\n", with);
	put_meta(w, XVT_META_KSYMS, 0, text, strlen(text));
	rec.dyn = offsetof(struct record, dyn_text) | (uint32_t)sizeof(rec.dyn_text) << 16;
	snprintf(rec.fix, sizeof(rec.fix), "%s fix", with);
	snprintf(rec.dyn_text, sizeof(rec.dyn_text), "%s dyn", with);
	for (size_t i = 0; i < PLACES; i++) {
		put_format(w, i, with);
		rec.type = (uint16_t)(100 + i);
		put_event(w, XVT_ID_FTRACE, &rec, sizeof(rec));
	}
	put_event(w, XVT_ID_TEXT, with, strlen(with));
	rec.type = 999; /* no format */
	put_event(w, XVT_ID_FTRACE, &rec, sizeof(rec));
	put_event(w, XVT_ID_USER + 7, &rec, sizeof(rec));
	ck_assert_int_eq(xvt_trace_writer_finish(w), 0);
	synth_sink_save(&sink, path);
	synth_sink_fini(&sink);
}

static bool unsafe(uint32_t c)
{
	static const uint32_t ranges[][2] = {
		{ 0, 0x1f },	    { 0x7f, 0x9f },	{ 0x61c, 0x61c },   { 0x200e, 0x200f },
		{ 0x2028, 0x202e }, { 0x2066, 0x2069 }, { 0xfeff, 0xfeff }, { 0xfff9, 0xfffb },
	};

	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
		if (c >= ranges[i][0] && c <= ranges[i][1])
			return true;
	return false;
}

/* Lines of a file, all of them clean UTF-8. `also`: control characters that are meant to be there.
 */
static size_t clean_lines(FILE *f, const char *what, const char *with, const char *also)
{
	size_t lines = 0;
	int c;

	while ((c = getc(f)) != EOF) {
		uint32_t code = (uint32_t)c;
		int more = c >= 0xf0 ? 3 : c >= 0xe0 ? 2 : c >= 0xc0 ? 1 : 0;

		ck_assert_msg(c < 0x80 || more, "%s: a byte that is no UTF-8", what);
		if (more)
			code &= 0x3fu >> more;
		for (; more; more--) {
			c = getc(f);
			ck_assert_msg((c & 0xc0) == 0x80, "%s: broken UTF-8", what);
			code = code << 6 | (c & 0x3f);
		}
		if (code == '\n') {
			lines++;
			continue;
		}
		ck_assert_msg(!unsafe(code) || (code < 0x80 && strchr(also, (int)code)),
			      "%s has U+%04X, of text that begins with %02x", what, code,
			      (uint8_t)with[0]);
	}
	return lines;
}

static size_t lines_of(int (*export_to)(struct xvt_export *x, struct xvt_out *o), const char *path,
		       const char *with, bool raw)
{
	struct xvt_export x = { .system = true, .task = true, .raw = raw };
	static const struct xvt_select select;
	static struct xvt_out out;
	size_t lines;
	FILE *f;

	ck_assert_int_eq(xvt_select_open(&select, path, &x), 0);
	ck_assert_int_eq(xvt_out_open(&out, scratch_path("clean.txt")), 0);
	ck_assert_int_eq(export_to(&x, &out), 0);
	ck_assert_int_eq(xvt_out_close(&out), 0);
	ck_assert_int_eq(xvt_select_close(&select, &x, false), 0);
	f = fopen(scratch_path("clean.txt"), "r");
	ck_assert_ptr_nonnull(f);
	lines = clean_lines(f, export_to == xvt_export_text ? "report" : "jsonl", with, "");
	fclose(f);
	return lines;
}

START_TEST(report_and_jsonl_are_clean)
{
	char path[256];

	snprintf(path, sizeof(path), "%s", scratch_path("clean.xvt"));
	make_trace(path, nasty[_i]);
	ck_assert_uint_eq(lines_of(xvt_export_text, path, nasty[_i], false), PLACES + OWN);
	ck_assert_uint_eq(lines_of(xvt_export_text, path, nasty[_i], true), PLACES + OWN);
	ck_assert_uint_eq(lines_of(xvt_export_jsonl, path, nasty[_i], false), PLACES + OWN);
}
END_TEST

/* Its metadata, and what babeltrace2 shows of its events. */
START_TEST(ctf_is_clean)
{
	const char *path = scratch_path("clean.xvt"), *dir;
	static const struct xvt_select select;
	char name[32], command[1024];
	struct xvt_export x = { 0 };
	FILE *f;

	snprintf(name, sizeof(name), "clean-ctf-%d", _i);
	dir = scratch_path(name);
	make_trace(path, nasty[_i]);
	ck_assert_int_eq(xvt_select_open(&select, path, &x), 0);
	ck_assert_int_eq(xvt_export_ctf(&x, dir), 0);
	snprintf(command, sizeof(command), "%s/%s/kernel/metadata", dir,
		 xvtrace_machine(x.trace, 0)->name);
	ck_assert_int_eq(xvt_select_close(&select, &x, false), 0);
	f = fopen(command, "r");
	ck_assert_msg(f, "%s", command);
	clean_lines(f, "CTF's metadata", nasty[_i], "\t");
	fclose(f);
	if (system("babeltrace2 --version >/dev/null 2>&1"))
		return;
	snprintf(command, sizeof(command), "babeltrace2 %s", dir);
	f = popen(command, "r");
	ck_assert_ptr_nonnull(f);
	ck_assert_uint_eq(clean_lines(f, "babeltrace2", nasty[_i], ""), PLACES + OWN);
	ck_assert_int_eq(pclose(f), 0);
}
END_TEST

/* What goes through printf(). */
START_TEST(cleaned_strings_are_what_a_report_shows)
{
	static struct xvt_out out;
	char text[256], some[8];

	out.fd = -1;
	out.used = 0;
	xvt_out_text(&out, nasty[_i], strlen(nasty[_i]));
	ck_assert_uint_eq(xvt_text_clean(text, sizeof(text), nasty[_i], strlen(nasty[_i])),
			  strlen(nasty[_i]));
	ck_assert_uint_eq(strlen(text), out.used);
	ck_assert(!memcmp(text, out.buf, out.used));
	/* Cut between two characters, and it says where. */
	ck_assert_uint_eq(xvt_text_clean(some, 8, "ab\xe2\x80\xae-", 6), 2);
	ck_assert_str_eq(some, "ab");
	ck_assert_uint_eq(xvt_text_clean(some, 8, "a\xe2\x80\xae-", 5), 4);
	ck_assert_str_eq(some, "a\\u202e");
}
END_TEST

Suite *clean_text_suite(void)
{
	Suite *s = suite_create("clean_text");
	TCase *t = tcase_create("clean_text");

	tcase_set_timeout(t, 60);
	tcase_add_loop_test(t, report_and_jsonl_are_clean, 0, NASTY);
	tcase_add_loop_test(t, ctf_is_clean, 0, NASTY);
	tcase_add_loop_test(t, cleaned_strings_are_what_a_report_shows, 0, NASTY);
	suite_add_tcase(s, t);
	return s;
}
