// SPDX-License-Identifier: GPL-2.0
/*
 * test_read_limits.c - what host/decode/limits.h bounds: each limit met from both sides, and the
 * mark that says that something was cut.
 */
#include "suites.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "select/select.h"
#include "decode/limits.h"
#include "synth.h"

#define COMMON                                                                         \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"         \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"         \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n" \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
#define FIELD_A "\tfield:u64 a;\toffset:8;\tsize:8;\tsigned:0;\n"

static const char *path;
static struct synth_sink sink;
static struct xvt_trace_writer *w;
static char text[200000];

static void begin(void)
{
	static const struct xvt_file_info file = { .mult = 1 };
	static char name[256];

	snprintf(name, sizeof(name), "%s", scratch_path("limits.xvt"));
	path = name;
	synth_sink_init(&sink);
	ck_assert_int_eq(xvt_trace_writer_new(&w, &sink.sink, &file), 0);
	for (uint32_t vm = 0; vm < 2; vm++) {
		struct xvt_vm_info info = { .vm = vm };
		struct xvt_ring_info ring = { .ring = vm, .vm = vm };

		snprintf(info.name, sizeof(info.name), "g%u", vm);
		ck_assert_int_eq(xvt_trace_put(w, XVT_CHUNK_VM, &info, sizeof(info), NULL, 0), 0);
		ck_assert_int_eq(xvt_trace_put(w, XVT_CHUNK_RING, &ring, sizeof(ring), NULL, 0), 0);
	}
}

static void put_meta(uint32_t vm, uint32_t type, uint32_t id, uint32_t generation, const void *p,
		     size_t len)
{
	struct xvt_meta_info info = { vm, type, id, generation };

	ck_assert_int_eq(xvt_trace_put(w, XVT_CHUNK_META, &info, sizeof(info), p, len), 0);
}

static void put_format(uint32_t vm, uint32_t generation, const char *name, const char *fields,
		       const char *print_fmt)
{
	static char whole[sizeof(text) + 20000];
	int n = snprintf(whole, sizeof(whole),
			 "sys%c%s%cname: %s\nID: 77\nformat:\n" COMMON "%s\nprint fmt: %s\n", 0,
			 name, 0, name, fields, print_fmt);

	put_meta(vm, XVT_META_FORMAT, 77, generation, whole, (size_t)n);
}

static void put_event(uint32_t ring, uint16_t id, const void *p, size_t len)
{
	static uint64_t ns = 1000000000;
	struct xvt_event_hdr h = {
		.host_ns = ns++, .ring_flags = ring, .id = id, .len = (uint16_t)len
	};

	ck_assert_int_eq(xvt_trace_event(w, &h, p), 0);
}

static void put_record(uint32_t ring, uint64_t a)
{
	struct {
		uint16_t type;
		uint16_t common;
		int32_t pid;
		uint64_t a;
	} r = { 77, 0, 5, a };

	put_event(ring, XVT_ID_FTRACE, &r, sizeof(r));
}

static void end(void)
{
	ck_assert_int_eq(xvt_trace_writer_finish(w), 0);
	synth_sink_save(&sink, path);
	synth_sink_fini(&sink);
}

/* What an export says of a machine (NULL: of all). Returns what was left out. */
static uint64_t export(int (*to)(struct xvt_export *x, struct xvt_out *o), const char *vm,
		       char *said, size_t room)
{
	struct xvt_select select = { .quiet = true };
	static struct xvt_out out;
	struct xvt_export x = { 0 };
	uint64_t left_out;
	size_t n;
	FILE *f;

	if (vm)
		select.vm.v[select.vm.n++] = vm;
	ck_assert_int_eq(xvt_select_open(&select, path, &x), 0);
	ck_assert_int_eq(xvt_out_open(&out, scratch_path("limits.txt")), 0);
	ck_assert_int_eq(to(&x, &out), 0);
	ck_assert_int_eq(xvt_out_close(&out), 0);
	left_out = xvtrace_reader_left_out(x.reader);
	ck_assert_int_eq(xvt_select_close(&select, &x, false), 0);
	f = fopen(scratch_path("limits.txt"), "r");
	ck_assert_ptr_nonnull(f);
	n = fread(said, 1, room - 1, f);
	said[n] = '\0';
	fclose(f);
	return left_out;
}

/* Texts of a record, of `len` bytes of `fill`: cut or whole, each on its line. */
START_TEST(a_long_text_is_cut_and_marked)
{
	static const char *const fills[] = { "x", "\x01", "\xc3\xa4", "\"" };
	const char *fill = fills[_i % 4];
	bool more = _i >= 4;
	size_t escaped = _i % 4 == 1 ? 4 : strlen(fill);
	size_t n = (XVT_LIMIT_TEXT - 1) / escaped + more, len = n * strlen(fill);
	static char said[100000];

	for (size_t i = 0; i < len; i++)
		text[i] = fill[i % strlen(fill)];
	begin();
	put_event(0, XVT_ID_TEXT, text, len);
	put_event(1, XVT_ID_TEXT, "next", 4);
	end();
	export(xvt_export_text, NULL, said, sizeof(said));
	ck_assert_ptr_nonnull(strstr(said, "\n1.00000000"));
	ck_assert_ptr_nonnull(strstr(said, "g1:0 ......... text: next\n"));
	*strchr(said, '\n') = '\0';
	if (more) {
		ck_assert_str_eq(said + strlen(said) - 8, "...[cut]");
		ck_assert_uint_le(strlen(strstr(said, "text: ")), XVT_LIMIT_TEXT + 14);
		ck_assert_uint_gt(strlen(said), XVT_LIMIT_TEXT - 8);
	} else {
		ck_assert_ptr_null(strstr(said, "[cut]"));
		ck_assert_uint_eq(strlen(strstr(said, "text: ") + 6), n * escaped);
	}
}
END_TEST

START_TEST(json_that_is_cut_is_json)
{
	static uint8_t bytes[60000];
	static char said[200000];
	size_t lines = 0;
	char *line, *save;

	begin();
	memset(bytes, '"', sizeof(bytes));
	put_event(0, XVT_ID_TEXT, bytes, sizeof(bytes));
	memset(bytes, 'x', sizeof(bytes));
	put_event(0, XVT_ID_TEXT, bytes, sizeof(bytes));
	memset(bytes, 0xff, sizeof(bytes));
	put_event(0, XVT_ID_TEXT, bytes, sizeof(bytes));
	put_event(0, XVT_ID_U64, bytes, sizeof(bytes));
	put_event(0, XVT_ID_USER, bytes, sizeof(bytes));
	put_event(0, XVT_ID_TEXT, "short", 5);
	end();
	export(xvt_export_jsonl, NULL, said, sizeof(said));
	for (line = strtok_r(said, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		json_t *j = json_loads(line, JSON_DECODE_INT_AS_REAL, NULL), *fields;

		ck_assert_msg(j, "%.200s", line);
		ck_assert(json_is_true(json_object_get(j, "cut")) == (lines < 5));
		fields = json_object_get(j, "fields");
		ck_assert_uint_eq(json_object_size(fields), 1);
		ck_assert_uint_lt(strlen(line), XVT_LIMIT_TEXT + 300);
		if (lines < 5)
			ck_assert_uint_gt(strlen(line), XVT_LIMIT_TEXT / 8);
		json_decref(j);
		lines++;
	}
	ck_assert_uint_eq(lines, 6);
}
END_TEST

/* As many additions, so a tree of twice as many nodes and one. */
static const char *sums(size_t n)
{
	size_t used = (size_t)sprintf(text, "\"%%llu\", (REC->a");

	/* Balanced: a chain would meet the limit of depth first. */
	for (size_t i = 0; i < n; i++)
		used += (size_t)sprintf(text + used, "%s",
					i % 30 == 29 ? ") + (REC->a" : "+REC->a");
	sprintf(text + used, ")");
	return text;
}

START_TEST(an_expression_of_many_nodes_shows_the_fields)
{
	static char said[4096];
	size_t n = (XVT_LIMIT_NODES_EVENT - 1) / 2 + (size_t)_i;

	begin();
	put_format(0, 1, "ev", FIELD_A, sums(n));
	put_record(0, 3);
	end();
	export(xvt_export_text, NULL, said, sizeof(said));
	snprintf(text, sizeof(text), _i ? "ev: a=3\n" : "ev: %zu\n", 3 * (n + 1));
	ck_assert_msg(strstr(said, text), "%s wanted %s", said, text);
}
END_TEST

START_TEST(many_names_show_the_fields)
{
	static char said[4096];
	size_t n = XVT_LIMIT_NAMES_EVENT + (size_t)_i, used;

	used = (size_t)sprintf(text, "\"%%s\", __print_symbolic(REC->a");
	for (size_t i = 0; i < n; i++)
		used += (size_t)sprintf(text + used, ", { %zu, \"n%zu\" }", i, i);
	sprintf(text + used, ")");
	begin();
	put_format(0, 1, "ev", FIELD_A, text);
	put_record(0, 1000);
	end();
	export(xvt_export_text, NULL, said, sizeof(said));
	ck_assert_msg(strstr(said, _i ? "ev: a=1000\n" : "ev: n1000\n"), "%s", said);
}
END_TEST

START_TEST(joined_literals_are_one)
{
	static char said[4096];
	size_t used = 0;

	for (int i = 0; i < 200; i++)
		used += (size_t)sprintf(text + used, "\"%c\"  ", 'a' + i % 26);
	sprintf(text + used, "\"%%s\", \"x\" \"y\"");
	begin();
	put_format(0, 1, "ev", FIELD_A, text);
	put_record(0, 3);
	end();
	export(xvt_export_text, NULL, said, sizeof(said));
	ck_assert_ptr_nonnull(strstr(said, "ev: abcdefghijklm"));
	ck_assert_ptr_nonnull(strstr(said, "opqrxy\n"));
}
END_TEST

#define LIES_AT_8(name) "\tfield:char " name "[8];\toffset:8;\tsize:8;\tsigned:0;\n"

/* A record that is shown many times over is none of the format's. */
START_TEST(fields_that_lie_upon_each_other_are_refused)
{
	static const char *const fields[] = {
		LIES_AT_8("a") LIES_AT_8("b") LIES_AT_8("c") LIES_AT_8("d") LIES_AT_8("e")
			LIES_AT_8("f") LIES_AT_8("g") LIES_AT_8("h") LIES_AT_8("i"),
		"\tfield:char a[];\toffset:8;\tsize:0;\tsigned:0;\n"
		"\tfield:char b[];\toffset:8;\tsize:0;\tsigned:0;\n",
		"\tfield:__data_loc char[] a;\toffset:8;\tsize:4;\tsigned:0;\n"
		"\tfield:__data_loc char[] b;\toffset:12;\tsize:4;\tsigned:0;\n",
	};
	static char said[4096];

	begin();
	put_format(0, 1, "ev", fields[_i], "\"x\"");
	put_record(0, 0x0010000000100000ull); /* both have all 16 bytes */
	end();
	export(xvt_export_text, NULL, said, sizeof(said));
	ck_assert_msg(strstr(said, _i < 2 ? " type77: " : " ev: [unfit] "), "%s", said);
}
END_TEST

/* Each record by what its boot said; what it did not say, by an older boot. */
START_TEST(generations_are_found_in_any_number)
{
	static char said[400000];
	char name[32], *at = said;

	begin();
	for (uint32_t g = 1; g <= 3000; g++) {
		snprintf(name, sizeof(name), "g%u_", g);
		if (g % 3)
			put_format(0, g, name, FIELD_A, "\"x\"");
		else
			put_meta(0, XVT_META_KSYMS, 0, g, "0 T x\n", 6);
		put_record(0, g);
	}
	end();
	export(xvt_export_text, NULL, said, sizeof(said));
	for (uint32_t g = 1; g <= 3000; g++) {
		snprintf(name, sizeof(name), " g%u_: x\n", g % 3 ? g : g - 1);
		at = strstr(at, name);
		ck_assert_msg(at, "%s", name);
	}
}
END_TEST

/* The same text again takes nothing; other texts as much as there is for the machine. */
START_TEST(one_machine_takes_nothing_from_the_others)
{
	static char said[4096];
	uint64_t left_out;
	char fmt[64];

	begin();
	put_format(1, 1, "ev", FIELD_A, "\"honest %llu\", REC->a");
	for (uint32_t g = 1; g <= 2000; g++)
		put_format(0, g, "ev", FIELD_A, "\"same\"");
	put_record(0, 1);
	put_record(1, 2);
	end();
	ck_assert_uint_eq(export(xvt_export_text, NULL, said, sizeof(said)), 0);
	ck_assert_ptr_nonnull(strstr(said, "g0:0 ......... ev: same\n"));
	begin();
	for (uint32_t i = 0; i < 5000; i++)
		put_meta(0, XVT_META_COMM, i << 16, 1, "task", 4);
	for (uint32_t g = 1; g <= 5; g++) {
		snprintf(fmt, sizeof(fmt), "\"%u\"", g);
		memset(text, 'x', XVT_LIMIT_FORMAT_BYTES);
		memcpy(text, fmt, strlen(fmt));
		text[XVT_LIMIT_FORMAT_BYTES] = '\0';
		put_format(0, g, "ev", FIELD_A, text); /* too long */
	}
	put_format(1, 1, "ev", FIELD_A, "\"honest %llu\", REC->a");
	put_record(0, 1);
	put_record(1, 2);
	end();
	left_out = export(xvt_export_text, NULL, said, sizeof(said));
	ck_assert_uint_eq(left_out, 5);
	ck_assert_ptr_nonnull(strstr(said, "g0:0 ......... type77: "));
	ck_assert_ptr_nonnull(strstr(said, "g1:1 ......... ev: honest 2\n")
				      ?: strstr(said, "g1:0 "));
	/* Of one machine, only its own is looked at. */
	ck_assert_uint_eq(export(xvt_export_text, "g1", said, sizeof(said)), 0);
	ck_assert_ptr_nonnull(strstr(said, "ev: honest 2\n"));
	ck_assert_ptr_null(strstr(said, "g0"));
}
END_TEST

/* A kernel that boots again has its functions elsewhere. */
START_TEST(symbols_are_those_of_the_boot)
{
	static char said[4096];

	begin();
	put_format(0, 1, "ev", FIELD_A, "\"%pS\", REC->a");
	put_meta(0, XVT_META_KSYMS, 0, 1, "1000 T one\n3000 T two\n", 22);
	put_record(0, 0x1008);
	put_format(0, 2, "ev", FIELD_A, "\"%ps\", REC->a");
	put_meta(0, XVT_META_KSYMS, 0, 2, "800 T three\n", 12);
	put_meta(0, XVT_META_KSYMS, 0, 2, "1004 T four\n", 12);
	put_record(0, 0x1008);
	put_record(0, 0x1000);
	end();
	export(xvt_export_text, NULL, said, sizeof(said));
	ck_assert_ptr_nonnull(strstr(said, "ev: one+0x8\n"));
	ck_assert_ptr_nonnull(strstr(said, "ev: four\n"));
	ck_assert_ptr_nonnull(strstr(said, "ev: three\n"));
}
END_TEST

/* A symbol that has a size ends there: what lies behind it may have a symbol that is not known. */
START_TEST(symbols_end_where_they_say)
{
	static char said[4096];

	begin();
	put_format(0, 1, "ev", FIELD_A, "\"%pS\", REC->a");
	put_meta(0, XVT_META_KSYMS, 0, 1, "1000 t one 20\n3000 t two x\n", 27);
	put_meta(0, XVT_META_KSYMS, 0, 1, "5000 t [20] ffffffffffffffff\n", 29);
	put_record(0, 0x101f);
	put_record(0, 0x1020);
	put_record(0, 0x3100);
	put_record(0, 0x5100);
	end();
	export(xvt_export_text, NULL, said, sizeof(said));
	ck_assert_ptr_nonnull(strstr(said, "ev: one+0x1f\n"));
	ck_assert_ptr_nonnull(strstr(said, "ev: 0x1020\n"));
	ck_assert_ptr_nonnull(strstr(said, "ev: two+0x100\n"));
	ck_assert_ptr_nonnull(strstr(said, "ev: [20]+0x100\n"));
	export(xvt_export_jsonl, NULL, said, sizeof(said));
	ck_assert_ptr_nonnull(strstr(said, "\"fields\":{\"a\":4127},\"text\":\"one+0x1f\"}\n"));
}
END_TEST

/* Beyond so many combinations of empty texts, they share a class; all events are there. */
START_TEST(ctf_classes_are_bounded)
{
	char fields[2048], command[512], line[512];
	const struct xvt_select select = { .quiet = true };
	struct xvt_export x = { 0 };
	size_t n = 0, classes = 0;
	FILE *f;

	begin();
	for (int i = 0; i < 8; i++)
		n += (size_t)sprintf(fields + n,
				     "\tfield:char t%d[1];\toffset:%d;\tsize:1;\tsigned:0;\n", i,
				     8 + i);
	put_format(0, 1, "ev", fields, "\"x\"");
	for (uint64_t k = 0; k < 256; k++) {
		uint64_t a = 0;

		for (int i = 0; i < 8; i++)
			a |= (k >> i & 1 ? (uint64_t)'x' : 0) << 8 * i;
		put_record(0, a);
	}
	end();
	ck_assert_int_eq(xvt_select_open(&select, path, &x), 0);
	ck_assert_int_eq(xvt_export_ctf(&x, scratch_path("limits-ctf")), 0);
	ck_assert_int_eq(xvt_select_close(&select, &x, false), 0);
	snprintf(command, sizeof(command), "%s/g0/kernel/metadata", scratch_path("limits-ctf"));
	f = fopen(command, "r");
	ck_assert_ptr_nonnull(f);
	while (fgets(line, sizeof(line), f))
		classes += !strncmp(line, "event {", 7);
	fclose(f);
	ck_assert_uint_eq(classes, XVT_CTF_VARIANTS_MAX);
	if (system("babeltrace2 --version >/dev/null 2>&1"))
		return;
	snprintf(command, sizeof(command), "babeltrace2 %s", scratch_path("limits-ctf"));
	f = popen(command, "r");
	ck_assert_ptr_nonnull(f);
	for (n = 0; fgets(line, sizeof(line), f); n++)
		for (int i = 0; i < 8; i++) {
			char want[32];

			/* An empty text is empty or a blank, never another event's. */
			snprintf(want, sizeof(want), "t%d = \"x\"", i);
			ck_assert_msg(!strstr(line, want) == !(n >> i & 1), "%zu: %s", n, line);
		}
	ck_assert_int_eq(pclose(f), 0);
	ck_assert_uint_eq(n, 256);
}
END_TEST

Suite *read_limits_suite(void)
{
	Suite *s = suite_create("read_limits");
	TCase *t = tcase_create("read_limits");

	tcase_set_timeout(t, 60);
	tcase_add_loop_test(t, a_long_text_is_cut_and_marked, 0, 8);
	tcase_add_test(t, json_that_is_cut_is_json);
	tcase_add_loop_test(t, an_expression_of_many_nodes_shows_the_fields, 0, 2);
	tcase_add_loop_test(t, many_names_show_the_fields, 0, 2);
	tcase_add_test(t, joined_literals_are_one);
	tcase_add_loop_test(t, fields_that_lie_upon_each_other_are_refused, 0, 3);
	tcase_add_test(t, generations_are_found_in_any_number);
	tcase_add_test(t, one_machine_takes_nothing_from_the_others);
	tcase_add_test(t, symbols_are_those_of_the_boot);
	tcase_add_test(t, symbols_end_where_they_say);
	tcase_add_test(t, ctf_classes_are_bounded);
	suite_add_tcase(s, t);
	return s;
}
