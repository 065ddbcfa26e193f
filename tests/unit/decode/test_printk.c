// SPDX-License-Identifier: GPL-2.0
/*
 * test_printk.c - trace_printk(), trace_puts() and stacks: records as Linux 6.1 and 6.12 lay them
 * out, with the formats that these kernels have for them, as report shows them.
 */
#include "suites.h"

#include <stdio.h>
#include <string.h>

#include "select/select.h"
#include "synth.h"

#define COMMON                                                                         \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"         \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"         \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n" \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

static const struct {
	const char *name;
	const char *fields;
	const char *print_fmt;
} formats[] = {
	{ "bprint",
	  "\tfield:unsigned long ip;\toffset:8;\tsize:8;\tsigned:0;\n"
	  "\tfield:const char * fmt;\toffset:16;\tsize:8;\tsigned:0;\n"
	  "\tfield:u32 buf[];\toffset:24;\tsize:0;\tsigned:0;\n",
	  "\"%ps: %s\", (void *)REC->ip, REC->fmt" },
	{ "bputs",
	  "\tfield:unsigned long ip;\toffset:8;\tsize:8;\tsigned:0;\n"
	  "\tfield:const char * str;\toffset:16;\tsize:8;\tsigned:0;\n",
	  "\"%ps: %s\", (void *)REC->ip, REC->str" },
	/* 6.1 */
	{ "kernel_stack",
	  "\tfield:int size;\toffset:8;\tsize:4;\tsigned:1;\n"
	  "\tfield:unsigned long caller[8];\toffset:16;\tsize:64;\tsigned:0;\n",
	  "\"\\t=> %ps\\n\\t=> %ps\\n\", (void *)REC->caller[0], (void *)REC->caller[1]" },
	/* A kernel that says how many there are by no number. */
	{ "kernel_stack",
	  "\tfield:int size;\toffset:8;\tsize:4;\tsigned:1;\n"
	  "\tfield:unsigned long caller[];\toffset:16;\tsize:0;\tsigned:0;\n",
	  "\"\\t=> %ps\\n\\t=> %ps\\n\", (void *)REC->caller[0], (void *)REC->caller[1]" },
	{ "user_stack",
	  "\tfield:unsigned int tgid;\toffset:8;\tsize:4;\tsigned:0;\n"
	  "\tfield:unsigned long caller[8];\toffset:16;\tsize:64;\tsigned:0;\n",
	  "\"\\t=> %ps\\n\", (void *)REC->caller[0]" },
	/* The function tracer. */
	{ "function",
	  "\tfield:unsigned long ip;\toffset:8;\tsize:8;\tsigned:0;\n"
	  "\tfield:unsigned long parent_ip;\toffset:16;\tsize:8;\tsigned:0;\n",
	  "\" %ps <-- %ps\", (void *)REC->ip, (void *)REC->parent_ip" },
	{ "functions",
	  "\tfield:void * a;\toffset:8;\tsize:8;\tsigned:0;\n"
	  "\tfield:void * b;\toffset:16;\tsize:8;\tsigned:0;\n",
	  "\"%ps, %pS\", REC->a, REC->b" },
	/* Events that are made, of which the kernel prints another text than the format says. */
	{ "a_kprobe",
	  "\tfield:unsigned long __probe_ip;\toffset:8;\tsize:8;\tsigned:0;\n"
	  "\tfield:u64 x;\toffset:16;\tsize:8;\tsigned:0;\n",
	  "\"(%lx) x=%Lx\", REC->__probe_ip, REC->x" },
	{ "a_kretprobe",
	  "\tfield:unsigned long __probe_func;\toffset:8;\tsize:8;\tsigned:0;\n"
	  "\tfield:unsigned long __probe_ret_ip;\toffset:16;\tsize:8;\tsigned:0;\n",
	  "\"(%lx <- %lx)\", REC->__probe_func, REC->__probe_ret_ip" },
	{ "synthetic",
	  "\tfield:u64 a;\toffset:8;\tsize:8;\tsigned:0;\n"
	  "\tfield:u64 b;\toffset:16;\tsize:8;\tsigned:0;\n",
	  "\"a=%llu, b=%llu\", REC->a, REC->b" },
};

enum {
	BPRINT,
	BPUTS,
	STACK_61,
	STACK_NEW,
	USER_STACK,
	FUNCTION,
	FUNCTIONS,
	KPROBE,
	KRETPROBE,
	SYNTHETIC,
};

static const char printk_formats[] = "0xffffffff82000000 : \"plain text\\n\"\n"
				     "0xffffffff82000010 : \"i=%d u=%u x=%#x\\n\"\n"
				     "0xffffffff82000020 : \"%s|%-6s|%c|%hhd|%hd|%d\\n\"\n"
				     "0xffffffff82000030 : \"%c%llx %ld 100%% %*d %.*s\\n\"\n"
				     "0xffffffff82000040 : \"%pS %ps %px %pI4 %p end\"\n"
				     "0xffffffff82000050 : \"%s and %s\"\n"
				     "0xffffffff82000060 : \"put\\n\"\n"
				     "0xffffffff82000070 : \"%n %d\"\n";
static const char ksyms[] = "ffffffff81000000 T caller\nffffffff81000100 t inner\t[mod]\n"
			    "ffffffff81000180 t sized 40\t[other]\n"
			    "ffffffff81000200 T outer\nffffffff81001000 T end\n";

static struct {
	uint16_t type;
	uint16_t common;
	int32_t pid;
	union {
		struct {
			uint64_t ip;
			uint64_t format;
			uint8_t args[256];
		};
		struct {
			uint32_t size;
			uint32_t pad;
			uint64_t callers[32];
		};
	};
} rec;
static uint32_t used; /* of args */

static void arg(const void *p, uint32_t size)
{
	uint32_t align = size < 4 ? size : 4;

	used = (used + align - 1) & ~(align - 1);
	memcpy(rec.args + used, p, size);
	used += size;
}

static void arg_number(uint64_t v, uint32_t size)
{
	arg(&v, size);
}

static void arg_text(const char *text)
{
	memcpy(rec.args + used, text, strlen(text) + 1);
	used += (uint32_t)strlen(text) + 1;
}

static struct synth_sink sink;
static struct xvt_trace_writer *w;

static void put_meta(uint32_t type, const void *p, size_t len)
{
	struct xvt_meta_info info = { .type = type, .generation = 1 };

	ck_assert_int_eq(xvt_trace_put(w, XVT_CHUNK_META, &info, sizeof(info), p, len), 0);
}

static void begin(bool with_texts)
{
	static const struct xvt_file_info file = { .mult = 1 };
	static const struct xvt_vm_info vm = { .name = "g" };
	static const struct xvt_ring_info ring = { .cpu = 0 };
	char text[2048];

	synth_sink_init(&sink);
	ck_assert_int_eq(xvt_trace_writer_new(&w, &sink.sink, &file), 0);
	ck_assert_int_eq(xvt_trace_put(w, XVT_CHUNK_VM, &vm, sizeof(vm), NULL, 0), 0);
	ck_assert_int_eq(xvt_trace_put(w, XVT_CHUNK_RING, &ring, sizeof(ring), NULL, 0), 0);
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		int n = snprintf(text, sizeof(text),
				 "%s%c%s%cname: %s\nID: %zu\nformat:\n" COMMON
				 "%s\nprint fmt: %s\n",
				 i < FUNCTIONS ? "ftrace" : formats[i].name, 0, formats[i].name, 0,
				 formats[i].name, 4 + i, formats[i].fields, formats[i].print_fmt);

		put_meta(XVT_META_FORMAT, text, (size_t)n);
	}
	if (with_texts)
		put_meta(XVT_META_PRINTK_FORMATS, printk_formats, sizeof(printk_formats) - 1);
	put_meta(XVT_META_KSYMS, ksyms, sizeof(ksyms) - 1);
	memset(&rec, 0, sizeof(rec));
	used = 0;
}

static int (*export_to)(struct xvt_export *x, struct xvt_out *o) = xvt_export_text;

/* The event's text in a report of the only record. */
static const char *shown(uint16_t len)
{
	struct xvt_event_hdr h = { .host_ns = 1, .id = XVT_ID_FTRACE, .len = len };
	const struct xvt_select select = { .quiet = true };
	static struct xvt_out out;
	static char said[4096];
	const char *path = scratch_path("printk.xvt");
	struct xvt_export x = { 0 };
	size_t n;
	FILE *f;

	ck_assert_int_eq(xvt_trace_event(w, &h, &rec), 0);
	ck_assert_int_eq(xvt_trace_writer_finish(w), 0);
	synth_sink_save(&sink, path);
	synth_sink_fini(&sink);
	ck_assert_int_eq(xvt_select_open(&select, path, &x), 0);
	ck_assert_int_eq(xvt_out_open(&out, scratch_path("printk.txt")), 0);
	ck_assert_int_eq(export_to(&x, &out), 0);
	ck_assert_int_eq(xvt_out_close(&out), 0);
	ck_assert_int_eq(xvt_select_close(&select, &x, false), 0);
	f = fopen(scratch_path("printk.txt"), "r");
	ck_assert_ptr_nonnull(f);
	n = fread(said, 1, sizeof(said) - 1, f);
	said[n] = '\0';
	fclose(f);
	ck_assert_uint_gt(n, 29);
	return said + 26;
}

/* Of trace_printk() with what was packed; its fmt is the one of that address. */
static const char *printed(uint64_t format)
{
	rec.type = 4 + BPRINT;
	rec.ip = 0xffffffff81000108;
	rec.format = format;
	return shown((uint16_t)(24 + ((used + 3) & ~3u)));
}

START_TEST(trace_printk_is_printed)
{
	begin(true);
	ck_assert_str_eq(printed(0xffffffff82000000), "bprint: inner: plain text\n");
	begin(true);
	arg_number((uint64_t)-5, 4);
	arg_number(0xfffffffb, 4);
	arg_number(0xbeef, 4);
	ck_assert_str_eq(printed(0xffffffff82000010),
			 "bprint: inner: i=-5 u=4294967291 x=0xbeef\n");
	begin(true);
	arg_text("text");
	arg_text("b\n");
	arg_number('c', 1);
	arg_number(0xff, 1);
	arg_number(0xfffe, 2);
	arg_number(7, 4);
	ck_assert_str_eq(printed(0xffffffff82000020), "bprint: inner: text|b\\n    |c|-1|-2|7\n");
	begin(true);
	arg_number('y', 1);
	arg_number(0x123456789abcdef0, 8); /* at 4, not at 8 */
	arg_number((uint64_t)-1, 8);
	arg_number(5, 4);
	arg_number(42, 4);
	arg_number(2, 4);
	arg_text("abcdef");
	ck_assert_str_eq(printed(0xffffffff82000030),
			 "bprint: inner: y123456789abcdef0 -1 100%    42 ab\n");
	begin(true);
	arg_number(0xffffffff81000204, 8);
	arg_number(0xffffffff81000204, 8);
	arg_number(0xffff888000001000, 8);
	arg_text("10.0.0.1");
	arg_number(0x1234, 8);
	ck_assert_str_eq(printed(0xffffffff82000040),
			 "bprint: inner: outer+0x4 outer 0xffff888000001000 10.0.0.1 0x1234 end\n");
	begin(true);
	arg_number(0xffffffff81000104, 8);
	arg_number(0xffffffff81000181, 8);
	arg_number(0, 8);
	arg_text("");
	arg_number(0, 8);
	ck_assert_str_eq(printed(0xffffffff82000040),
			 "bprint: inner: inner+0x4 [mod] sized [other] 0x0  0x0 end\n");
}
END_TEST

static const struct {
	uint16_t type;
	uint64_t a, b;
	const char *text;
} kernels_own[] = {
	{ FUNCTIONS, 0xffffffff81000104, 0xffffffff81000182,
	  "functions: inner [mod], sized+0x2 [other]\n" },
	{ FUNCTIONS, 0xffffffff81000004, 0xffffffff810001c0,
	  "functions: caller, 0xffffffff810001c0\n" },
	{ FUNCTION, 0xffffffff81000104, 0xffffffff81000004, "function:  inner <-- caller\n" },
	{ KPROBE, 0xffffffff81000104, 0xab, "a_kprobe: (inner+0x4 [mod]) x=ab\n" },
	{ KPROBE, 0x7f0000001000, 0xab, "a_kprobe: (0x7f0000001000) x=ab\n" },
	{ KRETPROBE, 0xffffffff81000180, 0xffffffff81000104,
	  "a_kretprobe: (inner+0x4 [mod] <- sized)\n" },
	{ SYNTHETIC, 1, 2, "synthetic: a=1, b=2\n" },
};

START_TEST(texts_that_the_kernel_prints_by_itself_are_its)
{
	begin(true);
	rec.type = 4 + kernels_own[_i].type;
	rec.ip = kernels_own[_i].a;
	rec.format = kernels_own[_i].b;
	ck_assert_str_eq(shown(24), kernels_own[_i].text);
}
END_TEST

START_TEST(arguments_that_are_missing_are_said)
{
	begin(true);
	arg_text("one");
	ck_assert_str_eq(printed(0xffffffff82000050),
			 "bprint: inner: one and ...[the record's arguments end here]\n");
	begin(true);
	ck_assert_str_eq(printed(0xffffffff82000010),
			 "bprint: inner: i=...[the record's arguments end here]\n");
	begin(true); /* text without an end */
	memset(rec.args, 'x', 8);
	used = 8;
	ck_assert_str_eq(printed(0xffffffff82000050),
			 "bprint: inner: ...[the record's arguments end here]\n");
	begin(true); /* a conversion that there is not */
	arg_number(1, 4);
	ck_assert_str_eq(printed(0xffffffff82000070),
			 "bprint: inner: ...[the record's arguments end here]\n");
}
END_TEST

START_TEST(a_format_that_is_not_known_shows_the_bytes)
{
	begin(false);
	arg_number(0x04030201, 4);
	arg_number(5, 4);
	ck_assert_str_eq(printed(0xffffffff82000000),
			 "bprint: inner: unknown format 0xffffffff82000000 01020304 05000000\n");
}
END_TEST

START_TEST(json_has_it_in_words)
{
	export_to = xvt_export_jsonl;
	begin(true);
	arg_text("a \"quoted\"");
	arg_text("b");
	ck_assert_ptr_nonnull(strstr(printed(0xffffffff82000050),
				     "},\"text\":\"inner: a \\\"quoted\\\" and b\"}\n"));
	export_to = xvt_export_text;
}
END_TEST

START_TEST(trace_puts_is_printed)
{
	begin(true);
	rec.type = 4 + BPUTS;
	rec.ip = 0xffffffff81000000;
	rec.format = 0xffffffff82000060;
	ck_assert_str_eq(shown(24), "bputs: caller: put\n");
	begin(false);
	rec.type = 4 + BPUTS;
	rec.ip = 5;
	rec.format = 0xffffffff82000060;
	ck_assert_str_eq(shown(24), "bputs: 0x5: unknown format 0xffffffff82000060\n");
}
END_TEST

/* Fewer callers than the format says, and more. */
START_TEST(stacks_are_printed)
{
	const uint16_t type = (uint16_t)(4 + (_i % 2 ? STACK_NEW : STACK_61));
	uint32_t n = _i < 2 ? 3 : 20;

	begin(true);
	rec.type = type;
	rec.size = n;
	for (uint32_t i = 0; i < n; i++)
		rec.callers[i] = 0xffffffff81000000 + (i % 3 << 8) + 4;
	if (n == 3) {
		ck_assert_str_eq(shown((uint16_t)(16 + 8 * n)),
				 "kernel_stack: caller+0x4 <- inner+0x4 <- outer+0x4\n");
		return;
	}
	ck_assert_uint_eq(strlen(shown((uint16_t)(16 + 8 * n))),
			  strlen("kernel_stack: \n") + 7 * strlen("caller+0x4 <- ") +
				  7 * strlen("inner+0x4 <- ") + 6 * strlen("outer+0x4 <- ") - 4);
}
END_TEST

START_TEST(stacks_that_lie_are_read_inside_the_record)
{
	begin(true);
	rec.type = 4 + STACK_61;
	rec.size = 0xffffffff;
	rec.callers[0] = 0xffffffff81000000;
	rec.callers[1] = UINT64_MAX; /* an end */
	rec.callers[2] = 5;
	ck_assert_str_eq(shown(16 + 8 * 3 + 4), "kernel_stack: caller+0x0\n");
	begin(true);
	rec.type = 4 + STACK_61;
	rec.size = 3;
	ck_assert_str_eq(shown(16), "kernel_stack: \n");
	begin(true);
	rec.type = 4 + USER_STACK;
	rec.callers[0] = 0x7f0000001000;
	rec.callers[1] = 0x400123;
	ck_assert_str_eq(shown(16 + 64), "user_stack: 0x7f0000001000 <- 0x400123\n");
}
END_TEST

Suite *printk_suite(void)
{
	Suite *s = suite_create("printk");
	TCase *t = tcase_create("printk");

	tcase_add_test(t, trace_printk_is_printed);
	tcase_add_loop_test(t, texts_that_the_kernel_prints_by_itself_are_its, 0,
			    sizeof(kernels_own) / sizeof(kernels_own[0]));
	tcase_add_test(t, arguments_that_are_missing_are_said);
	tcase_add_test(t, a_format_that_is_not_known_shows_the_bytes);
	tcase_add_test(t, json_has_it_in_words);
	tcase_add_test(t, trace_puts_is_printed);
	tcase_add_loop_test(t, stacks_are_printed, 0, 4);
	tcase_add_test(t, stacks_that_lie_are_read_inside_the_record);
	suite_add_tcase(s, t);
	return s;
}
