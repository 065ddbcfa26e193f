// SPDX-License-Identifier: GPL-2.0
/*
 * test_decode.c - formats into classes, records into text. The texts expected of real
 * formats are what trace-cmd prints for them.
 */
#include "suites.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decode/decode.h"
#include "decode/parts.h"
#include "decode/print.h"
#include "decode/format.h"
#include "trace/cursor.h"
#include "synth.h"

#define COMMON                                                                         \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"         \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"         \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n" \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

/* A record with a number of each size, and bytes. */
struct record {
	uint16_t type;
	uint8_t flags, preempt_count;
	int32_t pid;
	int32_t a;
	uint32_t b;
	int64_t c;
	uint8_t bytes[16];
	uint32_t loc;
	uint16_t half;
	int8_t tiny;
	uint8_t q;
	char dyn[16];
};

static const char fields[] = "\tfield:int a;\toffset:8;\tsize:4;\tsigned:1;\n"
			     "\tfield:u32 b;\toffset:12;\tsize:4;\tsigned:0;\n"
			     "\tfield:s64 c;\toffset:16;\tsize:8;\tsigned:1;\n"
			     "\tfield:u8 bytes[16];\toffset:24;\tsize:16;\tsigned:0;\n"
			     "\tfield:__data_loc char[] dyn;\toffset:40;\tsize:4;\tsigned:0;\n"
			     "\tfield:u16 half;\toffset:44;\tsize:2;\tsigned:0;\n"
			     "\tfield:s8 tiny;\toffset:46;\tsize:1;\tsigned:1;\n"
			     "\tfield:u8 q;\toffset:47;\tsize:1;\tsigned:0;\n\n";

static struct xvt_out out;
static struct xvt_decoders ds;
static struct xvt_trace empty_trace;
static struct record record;

static void setup(void)
{
	ck_assert_int_eq(xvt_decoders_new(&ds, &empty_trace), 0);
	record = (struct record){
		.type = 77,
		.a = -5,
		.b = 0xdeadbeef,
		.c = -123456789012345,
		.bytes = { 0x00, 0x1b, 0xff, 10, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 },
		.loc = 48 | 6 << 16,
		.half = 0xfffe,
		.tiny = -1,
		.q = 0,
		.dyn = "hello",
	};
}

static void teardown(void)
{
	xvt_decoders_fini(&ds);
}

static int make(struct xvt_event_class *c, const char *print_fmt)
{
	char text[8192];

	snprintf(text, sizeof(text), "name: ev\nID: 77\nformat:\n" COMMON "%sprint fmt: %s\n",
		 fields, print_fmt);
	return xvt_format_class("sys", text, c);
}

static const char *print(struct xvt_event_class *c, bool raw)
{
	struct xvt_event_hdr h = { .id = XVT_ID_FTRACE, .len = sizeof(record) };
	struct xvt_event ev = { .hdr = &h, .payload = (const uint8_t *)&record };

	out.fd = -1;
	out.used = 0;
	xvt_print_fields(&out, ds.vm[0], c, &ev, raw);
	out.buf[out.used] = '\0';
	return out.buf;
}

static const struct {
	const char *print_fmt;
	const char *text;
} prints[] = {
	{ "\"a=%d\", REC->a", "a=-5" },
	{ "\"a=%u\", REC->a", "a=4294967291" },
	{ "\"%5d|%-5d|%05d|%+d|% d\", REC->a, REC->a, REC->a, 7, 7", "   -5|-5   |-0005|+7| 7" },
	{ "\"%x %#x %X %o\", REC->b, REC->b, REC->b, 8", "deadbeef 0xdeadbeef DEADBEEF 10" },
	{ "\"%llx %lld %lu\", REC->b, REC->c, REC->c",
	  "deadbeef -123456789012345 18446620616920539271" },
	{ "\"%hd %hu %hhd %hhu\", REC->half, REC->half, REC->tiny, REC->tiny", "-2 65534 -1 255" },
	{ "\"100%% of %d\\t\\n\", 1", "100% of 1\\t" },
	{ "\"%s %s\", __get_str(dyn), \"lit\"", "hello lit" },
	{ "\"%8s|%-8s|%.2s\", __get_str(dyn), __get_str(dyn), __get_str(dyn)",
	  "   hello|hello   |he" },
	{ "\"%*d %.*s\", 4, REC->q, 3, __get_str(dyn)", "   0 hel" },
	{ "\"%c%c\", 'x', REC->bytes[3]", "x\\n" },
	{ "\"%d %d\", REC->bytes[2], REC->bytes[99]", "255 0" },
	{ "\"%s\", REC->a < 0 ? \"neg\" : \"pos\"", "neg" },
	{ "\"%s\", REC->q ? \"t\" : REC->a == -5 ? \"five\" : \"f\"", "five" },
	{ "\"%d %d %d\", REC->a / REC->q, REC->a % REC->q, REC->a / 0", "0 0 0" },
	{ "\"%d %d\", REC->a / 2, REC->a % 3", "-2 -2" },
	{ "\"%d %d\", (REC->b >> 28) & 0xf, REC->a >> 1", "13 -3" },
	{ "\"%d\", REC->a << 77", "0" },
	{ "\"%u %d\", (unsigned char)REC->a, (signed char)REC->b", "251 -17" },
	{ "\"%d %d\", !REC->q, ~REC->q", "1 -1" },
	{ "\"%s\", __print_symbolic(REC->a, { -5, \"minus\" }, { 1, \"one\" })", "minus" },
	{ "\"%s\", __print_symbolic(REC->b, { 1, \"one\" })", "0xdeadbeef" },
	{ "\"%s\", __print_flags(0x13, \"|\", { 1, \"A\" }, { 2, \"B\" }, { 4, \"C\" })",
	  "A|B|0x10" },
	{ "\"%s|\", __print_flags(REC->q, \"|\", { 0, \"none\" }, { 2, \"B\" })", "|" },
	{ "\"%6s|%-6s|\", __print_flags(3, \"|\", { 1, \"A\" }, { 2, \"B\" }), "
	  "__print_symbolic(1, { 1, \"one\" })",
	  "   A|B|one   |" },
	{ "\"%s\", __print_symbolic(REC->q, { })", "0x0" },
	{ "\"%s\", __print_hex(REC->bytes, 4)", "00 1b ff 0a" },
	{ "\"%s\", __print_hex(REC->bytes, 400000)",
	  "00 1b ff 0a 00 00 01 02 03 04 05 06 07 08 09 0a" },
	{ "\"%s\", __print_hex_str(REC->bytes, 3)", "001bff" },
	{ "\"%s\", __print_array(REC->bytes, 2, 4)", "{0xaff1b00,0x2010000}" },
	{ "\"%s\", __print_array(REC->bytes, 1000000, 8)",
	  "{0x20100000aff1b00,0xa09080706050403}" },
	{ "\"%s\", __print_array(REC->bytes, 2, 0)", "{0x0,0x1b}" },
	{ "\"%d\", __get_dynamic_array_len(dyn)", "6" },
	{ "\"%p %pS\", REC->c, REC->b", "0xffff8fb779f22087 0xdeadbeef" },
	{ "\"%pU\", REC->bytes", "001bff0a-0000-0102-0304-05060708090a" },
	{ "\"%pUl %pUB\", REC->bytes, REC->bytes",
	  "0aff1b00-0000-0201-0304-05060708090a 001BFF0A-0000-0102-0304-05060708090A" },
	{ "\"%pI6 %pi6\", REC->bytes, REC->bytes",
	  "001b:ff0a:0000:0102:0304:0506:0708:090a 001bff0a000001020304050607"
	  "08090a" },
	{ "\"%pI4 %pi4 %pI4h %20pI4|\", &REC->b, REC->bytes, REC->bytes, REC->bytes",
	  "239.190.173.222 000.027.255.010 10.255.27.0          0.27.255.10|" },
	{ "\"%pM %pMF %pm %pmR\", REC->bytes, REC->bytes, REC->bytes, REC->bytes",
	  "00:1b:ff:0a:00:00 00-1b-ff-0a-00-00 001bff0a0000 00000aff1b00" },
	{ "\"[%ph] [%3phC] [%*phN] [%*ph]\", REC->bytes, REC->bytes, REC->half, REC->bytes, 0, "
	  "REC->bytes",
	  "[00] [00:1b:ff] [001bff0a0000010203040506070809"
	  "0a] []" },
	{ "\"%*pb %20pbl %*pbl|\", 12, REC->bytes, REC->bytes, 0, REC->bytes",
	  "b00 8-9,11-12,16-19 |" },
	{ "\"%1024pbl\", REC->bytes",
	  "8-9,11-12,16-23,25,27,48,57,64-65,74,80,82,89-90,96-98,107,112,115,121,123" },
	{ "\"%pa %pad %p4cc\", &REC->c, &REC->c, __get_str(dyn)",
	  "0xffff8fb779f22087 0xffff8fb779f22087 hell little-endian (0x6c6c6568)" },
	{ "\"%px %pK %pe %pe\", REC->q, REC->q, REC->a, REC->q", "0x0 0x0 -5 0x0" },
	/* Memory that is not in the record, letters that are not known, and too few bytes. */
	{ "\"%pI4|%pI4 %d\", REC->b, REC->c, 7", "?{b=3735928559}|?{c=-123456789012345} 7" },
	{ "\"%pGg %pdABC2[%ptT] %d\", &REC->b, REC->c, REC->q, 7",
	  "?{b=3735928559} ?{c=-123456789012345}[?{q=0}] 7" },
	{ "\"%pI6c,%pISpc\", &REC->b, &REC->q", "?{b=3735928559},?{q=0}" },
	{ "\"%pISpc\", REC->bytes", "(einval)" },
	/* An argument that cannot be followed costs itself alone. */
	{ "\"%d %d %d\", REC->a, some_function(REC->tiny, REC->q, REC->tiny), REC->a",
	  "-5 ?{tiny=-1 q=0} -5" },
	{ "\"%5.3x %s\", ({ f(\"),\"); REC->a; }), __get_str(dyn)", "?{a=-5} hello" },
	{ "\"%*d\", wide(REC->a), 7", "7" },
	{ "\"%s\", other_call(dyn)", "?{dyn=\"hello\"}" },
	{ "\"%d\", UNKNOWN_ENUM", "?" },
	{ "\"%d\", REC->a.b", "?{a=-5 b=3735928559}" },
	{ "\"%d\", REC->a 5", "?{a=-5}" },
	{ "\"%d\", REC->nothing", "?" },
	{ "\"%d\", ((REC))->a", "-5" },
	{ "\"%d %d\",\n\t REC->a,\n REC->q", "-5 0" },
	{ "\"%llu.%09llu\", __print_ns_to_secs(REC->c), __print_ns_without_secs(REC->c)",
	  "18446620616.920539271" },
	{ "\"%s\", __print_dynamic_array(dyn, 2)", "{0x6568,0x6c6c,0x6f}" },
	{ "\"%s\", __get_stacktrace(bytes)", "0x20100000aff1b00 <- 0xa09080706050403" },
	/* Constants that a format leaves as names. */
	{ "\"%s,%s\", __print_symbolic(2, { IOPRIO_CLASS_RT, \"rt\" }, { IOPRIO_CLASS_BE, \"be\" "
	  "}), "
	  "__print_symbolic(8, { TCP_CLOSE, \"c\" }, { TCP_CLOSE_WAIT, \"w\" })",
	  "be,w" },
	{ "\"%s\", __print_flags(0x1005, \"|\", { FAULT_FLAG_WRITE, \"W\" }, "
	  "{ FAULT_FLAG_ALLOW_RETRY, \"R\" }, { FAULT_FLAG_VMA_LOCK, \"L\" })",
	  "W|R|L" },
	{ "\"%s %s\", __print_flags(6, \"|\", { 1 << VMSCAN_THROTTLE_ISOLATED, \"I\" }, "
	  "{ 1 << VMSCAN_THROTTLE_NOPROGRESS, \"N\" }), __print_symbolic(20, { EC_RES_BUSY, \"b\" "
	  "}, "
	  "{ EC_RES_DUP_UNAVAILABLE, \"d\" })",
	  "I|N d" },
	{ "\"%s\", __print_flags(3, \"|\", { OF_SOME_VERSION, \"N\" }, { 1 << 1, \"B\" })",
	  "B|0x1" },
	/* Where Linux's numbers are not those of printf. */
	{ "\"%#x %#X %#o %#o %.0d\", 0, 0, 0, 8, 0", "0x0 0X0 0 010 0" },
	{ "\"%08.3d|%#8x|%#08x|%-#8x|\", 7, 0, 0, 0", "00000007|     0x0|0x000000|0x0     |" },
	{ "\"%d\", REC->common_pid", "0" },
	/* Calculated once, as C would at each record. */
	{ "\"%d %s\", REC->a & (((0x1 | 0x2) + 1) << 1), 2 > 1 ? \"big\" : \"small\"", "8 big" },
	{ "\"%llx %llx\", ~0 >> 60, (unsigned long)(0 - 1) >> 60", "ffffffffffffffff f" },
	{ "\"%d %s\", 7 / (3 - 3), 1 + 2", "0 3" },
};

START_TEST(print_formats_are_followed)
{
	struct xvt_event_class c;

	ck_assert_int_eq(make(&c, prints[_i].print_fmt), 0);
	ck_assert_ptr_nonnull(c.print);
	ck_assert_str_eq(print(&c, false), prints[_i].text);
	xvt_class_free(&c);
}
END_TEST

static uint64_t spec_seed = 88172645463325252ull;

static unsigned int pick(unsigned int n)
{
	spec_seed ^= spec_seed << 13;
	spec_seed ^= spec_seed >> 7;
	spec_seed ^= spec_seed << 17;
	return (unsigned int)(spec_seed >> 20) % n;
}

/* "%-08.3" and the like; the length and the letter follow. */
static void pick_spec(char *spec, const char *letter)
{
	char *p = spec;

	*p++ = '%';
	for (int i = 0; i < 5; i++)
		if (!pick(4))
			*p++ = "-0#+ "[i];
	if (pick(2))
		p += sprintf(p, "%u", 1 + pick(30));
	if (!pick(3))
		p += sprintf(p, ".%u", pick(25));
	sprintf(p, "%s", letter);
}

/* What Linux does otherwise is among `prints`. */
static bool differs_in_linux(const char *spec, int64_t value)
{
	return strchr(spec, '.') || (strchr(spec, '#') && (!value || strchr(spec, 'o')));
}

START_TEST(numbers_are_shown_as_printf_does)
{
	static const char *const letters[] = { "lld", "lli", "llu", "llx", "llX", "llo" };
	static const int64_t values[] = { 0, 1, -1, 8, 255, -4096, INT64_MIN, INT64_MAX };
	char spec[32], print_fmt[64], want[128];

	for (int i = 0; i < 3000; i++) {
		struct xvt_event_class c;

		pick_spec(spec, letters[pick(6)]);
		snprintf(print_fmt, sizeof(print_fmt), "\"%s\", REC->c", spec);
		ck_assert_int_eq(make(&c, print_fmt), 0);
		for (size_t k = 0; k < sizeof(values) / sizeof(values[0]); k++) {
			record.c = values[k];
			if (differs_in_linux(spec, values[k]))
				continue;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
			snprintf(want, sizeof(want), spec, (long long)values[k]);
#pragma GCC diagnostic pop
			ck_assert_msg(!strcmp(print(&c, false), want), "%s: '%s' not '%s'", spec,
				      out.buf, want);
		}
		xvt_class_free(&c);
	}
}
END_TEST

/* Where the text itself cannot be followed, the fields are shown. */
static const char *const not_followed[] = {
	"\"%d %d\", REC->a", "\"%n\", REC->a", "\"%\"", "\"%",
	"\"%*\", 1",	     "\"unfinished",   "none",	"",
};

START_TEST(other_print_formats_show_the_fields)
{
	struct xvt_event_class c;

	ck_assert_int_eq(make(&c, not_followed[_i]), 0);
	ck_assert_str_eq(print(&c, false),
			 "a=-5 b=3735928559 c=-123456789012345 "
			 "bytes=[0,27,255,10,0,0,1,2,3,4,5,6,7,8,9,10] dyn=\"hello\" half=65534 "
			 "tiny=-1 q=0");
	xvt_class_free(&c);
}
END_TEST

/* One field that lies: the record must not be read outside. */
static const char *const lies[] = {
	"\tfield:int a;\toffset:-4;\tsize:4;\tsigned:1;\n",
	"\tfield:int a;\toffset:70000;\tsize:4;\tsigned:1;\n",
	"\tfield:int a;\toffset:8;\tsize:-1;\tsigned:1;\n",
	"\tfield:char a[9999999];\toffset:8;\tsize:9999999;\tsigned:1;\n",
	"\tfield:__data_loc char[] a;\toffset:8;\tsize:1;\tsigned:1;\n",
	/* not the shape of a line that Linux writes */
	"\tfield:int a;\toffset:8;\tsize:4;\tsigned:1\n",
	"\tfield:int a;\toffset:8;\tsize:4;\tsigned:1;int b\n",
	"\tfield:int a;\tsize:4;\toffset:8;\tsigned:1;\n",
	"\tfield:int a;\toffset:8;\tsize:4;\n",
	"\tfield:int a;\toffset:1234567;\tsize:4;\tsigned:1;\n",
	"\tfield:int;\toffset:8;\tsize:4;\tsigned:1;\n",
	"\tfield:int (a;\toffset:8;\tsize:4;\tsigned:1;\n",
	"\tfield:*a;\toffset:8;\tsize:4;\tsigned:1;\n",
	"\tfield:char a[4;\toffset:8;\tsize:4;\tsigned:1;\n",
	"\tfield:char a]4[;\toffset:8;\tsize:4;\tsigned:1;\n",
	"\tfield:char a[\"4\"];\toffset:8;\tsize:4;\tsigned:1;\n",
	"\tfield:char[4] a;\toffset:8;\tsize:4;\tsigned:1;\n",
	"\tfield:char a[2][2];\toffset:8;\tsize:4;\tsigned:1;\n",
	"\tfield:__data_loc char[][0] a;\toffset:8;\tsize:8;\tsigned:1;\n",
	"\tfield:__data_loc char[][3] a;\toffset:8;\tsize:8;\tsigned:1;\n",
	"\tfield:__data_loc char[][200] a;\toffset:8;\tsize:800;\tsigned:1;\n",
	"\tfield:__data_loc char[4] a;\toffset:8;\tsize:4;\tsigned:1;\n",
	"\n\tfield:int a;\toffset:8;\tsize:4;\tsigned:1;\n",
};

START_TEST(impossible_fields_are_refused)
{
	struct xvt_event_class c;
	char text[2048];

	snprintf(text, sizeof(text), "name: ev\nID: 77\nformat:\n" COMMON "%s\nprint fmt: \"x\"\n",
		 lies[_i]);
	ck_assert_int_eq(xvt_format_class("sys", text, &c), -EBADMSG);
}
END_TEST

static const struct {
	const char *line;
	enum xvt_field_kind kind;
	enum xvt_field_place place;
	uint32_t elem_size;
} declared[] = {
	{ "int a;\toffset:8;\tsize:4;\tsigned:1;", XVT_FIELD_INT, XVT_PLACE_FIXED, 0 },
	{ "const char * a;\toffset:8;\tsize:8;\tsigned:0;", XVT_FIELD_UINT, XVT_PLACE_FIXED, 0 },
	{ "void *a;\toffset:8;\tsize:8;\tsigned:0;", XVT_FIELD_UINT, XVT_PLACE_FIXED, 0 },
	{ "struct b a;\toffset:8;\tsize:12;\tsigned:1;", XVT_FIELD_UINTS, XVT_PLACE_FIXED, 1 },
	{ "char a[16];\toffset:8;\tsize:16;\tsigned:0;", XVT_FIELD_STRING, XVT_PLACE_FIXED, 1 },
	{ "char a[LEN + 1];\toffset:8;\tsize:9;\tsigned:0;", XVT_FIELD_STRING, XVT_PLACE_FIXED, 1 },
	{ "unsigned char a[6];\toffset:8;\tsize:6;\tsigned:0;", XVT_FIELD_UINTS, XVT_PLACE_FIXED,
	  1 },
	{ "s32 a[3];\toffset:8;\tsize:12;\tsigned:1;", XVT_FIELD_INTS, XVT_PLACE_FIXED, 4 },
	{ "s32 a[3];\toffset:8;\tsize:10;\tsigned:1;", XVT_FIELD_UINTS, XVT_PLACE_FIXED, 1 },
	{ "unsigned long a[N];\toffset:8;\tsize:16;\tsigned:0;", XVT_FIELD_UINTS, XVT_PLACE_FIXED,
	  8 },
	/* Lists of a probe, whose length stands nowhere. */
	{ "u32 a[];\toffset:8;\tsize:8;\tsigned:0;", XVT_FIELD_UINTS, XVT_PLACE_FIXED, 4 },
	{ "s16 a[];\toffset:8;\tsize:6;\tsigned:1;", XVT_FIELD_INTS, XVT_PLACE_FIXED, 2 },
	{ "u16 a[];\toffset:8;\tsize:6;\tsigned:0;", XVT_FIELD_UINTS, XVT_PLACE_FIXED, 2 },
	{ "u8 a[];\toffset:8;\tsize:6;\tsigned:0;", XVT_FIELD_UINTS, XVT_PLACE_FIXED, 1 },
	{ "u64 a[];\toffset:8;\tsize:24;\tsigned:0;", XVT_FIELD_UINTS, XVT_PLACE_FIXED, 8 },
	{ "int a[];\toffset:8;\tsize:8;\tsigned:1;", XVT_FIELD_INTS, XVT_PLACE_FIXED, 4 },
	{ "unsigned int a[N];\toffset:8;\tsize:8;\tsigned:0;", XVT_FIELD_UINTS, XVT_PLACE_FIXED,
	  4 },
	{ "long a[];\toffset:8;\tsize:8;\tsigned:1;", XVT_FIELD_INTS, XVT_PLACE_FIXED, 8 },
	{ "long long int a[N];\toffset:8;\tsize:16;\tsigned:1;", XVT_FIELD_INTS, XVT_PLACE_FIXED,
	  8 },
	{ "unsigned short a[N];\toffset:8;\tsize:8;\tsigned:0;", XVT_FIELD_UINTS, XVT_PLACE_FIXED,
	  2 },
	{ "__data_loc unsigned long[] a;\toffset:8;\tsize:8;\tsigned:1;", XVT_FIELD_INTS,
	  XVT_PLACE_DATA_LOC, 8 },
	{ "__data_loc int[] a;\toffset:8;\tsize:4;\tsigned:1;", XVT_FIELD_INTS, XVT_PLACE_DATA_LOC,
	  4 },
	{ "__data_loc char[] a;\toffset:8;\tsize:8;\tsigned:1;", XVT_FIELD_STRING,
	  XVT_PLACE_DATA_LOC, 1 },
	{ "unsigned long a[];\toffset:8;\tsize:0;\tsigned:0;", XVT_FIELD_UINTS, XVT_PLACE_TAIL, 8 },
	{ "char a[];\toffset:8;\tsize:0;\tsigned:0;", XVT_FIELD_STRING, XVT_PLACE_TAIL, 1 },
	{ "__data_loc char[] a;\toffset:8;\tsize:4;\tsigned:0;", XVT_FIELD_STRING,
	  XVT_PLACE_DATA_LOC, 1 },
	{ "__rel_loc char[] a;\toffset:8;\tsize:4;\tsigned:0;", XVT_FIELD_STRING, XVT_PLACE_REL_LOC,
	  1 },
	{ "__data_loc u16[] a;\toffset:8;\tsize:4;\tsigned:0;", XVT_FIELD_UINTS, XVT_PLACE_DATA_LOC,
	  2 },
	{ "__data_loc s64[] a;\toffset:8;\tsize:4;\tsigned:1;", XVT_FIELD_INTS, XVT_PLACE_DATA_LOC,
	  8 },
	{ "__data_loc struct b[] a;\toffset:8;\tsize:4;\tsigned:1;", XVT_FIELD_UINTS,
	  XVT_PLACE_DATA_LOC, 1 },
};

START_TEST(a_declaration_decides_the_kind_of_a_field)
{
	struct xvt_event_class c;
	char text[2048];

	snprintf(text, sizeof(text),
		 "name: ev\nID: 77\nformat:\n" COMMON "\tfield:%s\n\nprint fmt: \"x\"\n",
		 declared[_i].line);
	ck_assert_int_eq(xvt_format_class("sys", text, &c), 0);
	ck_assert_uint_eq(c.field_count, 1);
	ck_assert_str_eq(c.fields[0].name, "a");
	ck_assert_uint_eq(c.fields[0].kind, declared[_i].kind);
	ck_assert_uint_eq(c.fields[0].place, declared[_i].place);
	ck_assert_uint_eq(c.fields[0].elem_size, declared[_i].elem_size);
	xvt_class_free(&c);
}
END_TEST

/* Formats of the kernel's users, with one record. */
static const struct {
	const char *lines;
	const char *print_fmt;
	const char *text;
	const char *raw;
} odd[] = {
	{ "\tfield:__data_loc char[][2] s;\toffset:8;\tsize:8;\tsigned:1;\n",
	  "\"s={\\\"%s\\\",\\\"%s\\\"}\", __get_str(s[0]), __get_str(s[1])", "s={\"ab\",\"cd\"}",
	  "s[0]=\"ab\" s[1]=\"cd\"" },
	/* A text of a probe whose memory was not there. */
	{ "\tfield:u8 __probe_ip;\toffset:32;\tsize:1;\tsigned:0;\n"
	  "\tfield:__data_loc char[] s;\toffset:8;\tsize:4;\tsigned:1;\n"
	  "\tfield:__data_loc char[] none;\toffset:16;\tsize:4;\tsigned:1;\n",
	  "\"(%x) s=\\\"%s\\\" \\\"%s\\\" x=\\\"%d\\\"\", REC->__probe_ip, __get_str(s), "
	  "__get_str(none), 7",
	  "(61) s=\"ab\" (fault) x=\"7\"", "__probe_ip=97 s=\"ab\" none=\"\"" },
	{ "\tfield:u8 __probe_func;\toffset:32;\tsize:1;\tsigned:0;\n"
	  "\tfield:u8 __probe_ret_ip;\toffset:33;\tsize:1;\tsigned:0;\n",
	  "\"(%lx <- %lx) x=%x\\n\\n\", REC->__probe_func, REC->__probe_ret_ip, 10",
	  "(61 <- 62) x=a", "__probe_func=97 __probe_ret_ip=98" },
	{ "\tfield:u8 a.b;\toffset:32;\tsize:1;\tsigned:0;\n", "\"%c\", REC->a.b", "a", "a.b=97" },
	{ "\tfield:u8 x;\toffset:32;\tsize:1;\tsigned:0;\n"
	  "\tfield:u8 x;\toffset:33;\tsize:1;\tsigned:0;\n"
	  "\tfield:u8 x_2;\toffset:34;\tsize:1;\tsigned:0;\n",
	  "\"%u\", REC->x", "97", "x=97 x_2=98 x_2_2=0" },
	{ "\tfield:u16 whole;\toffset:32;\tsize:2;\tsigned:0;\n"
	  "\tfield:u8 low;\toffset:32;\tsize:1;\tsigned:0;\n",
	  "\"%x %x\", REC->whole, REC->low", "6261 61", "whole=25185 low=97" },
};

START_TEST(formats_of_probes_and_unions_are_read)
{
	struct xvt_event_class c;
	char text[2048];

	record.a = 32 | 3 << 16;
	record.b = 35 | 3 << 16;
	record.c = 40;
	memcpy((char *)&record + 32, "ab\0cd", 6);
	snprintf(text, sizeof(text), "name: ev\nID: 77\nformat:\n" COMMON "%s\nprint fmt: %s\n",
		 odd[_i].lines, odd[_i].print_fmt);
	ck_assert_int_eq(xvt_format_class("sys", text, &c), 0);
	ck_assert_str_eq(print(&c, false), odd[_i].text);
	ck_assert_str_eq(print(&c, true), odd[_i].raw);
	xvt_class_free(&c);
}
END_TEST

/* A recorder names the threads of the host that run vCPUs; QEMU calls one "ALL CPUs/TCG". */
START_TEST(a_thread_that_the_recorder_named_has_that_name_in_texts)
{
	static const char text[] =
		"name: ev\nID: 77\nformat:\n" COMMON
		"\tfield:char prev_comm[16];\toffset:32;\tsize:16;\tsigned:0;\n"
		"\tfield:pid_t prev_pid;\toffset:8;\tsize:4;\tsigned:1;\n"
		"\tfield:char comm[16];\toffset:32;\tsize:16;\tsigned:0;\n"
		"\tfield:pid_t pid;\toffset:12;\tsize:4;\tsigned:1;\n"
		"\tfield:char telecomm[16];\toffset:32;\tsize:16;\tsigned:0;\n\n"
		"print fmt: \"%s %d %s %d %s\", REC->prev_comm, REC->prev_pid, REC->comm, "
		"REC->pid, REC->telecomm\n";
	const int32_t pids[2] = { 501, 502 };
	struct xvt_event_class c;

	memcpy((char *)&record + 8, pids, sizeof(pids));
	memcpy((char *)&record + 32, "ALL CPUs/TCG", 13);
	ck_assert_int_eq(xvt_format_class("sys", text, &c), 0);
	ck_assert_str_eq(print(&c, false), "ALL CPUs/TCG 501 ALL CPUs/TCG 502 ALL CPUs/TCG");
	xvt_decoder_comm(ds.vm[0], 502, (const uint8_t *)"other", 5, 0);
	xvt_decoder_thread(ds.vm[0], 501, (const uint8_t *)"g1:vcpus", 8);
	ck_assert_str_eq(print(&c, false), "g1:vcpus 501 ALL CPUs/TCG 502 ALL CPUs/TCG");
	ck_assert_ptr_nonnull(strstr(print(&c, true), "prev_comm=\"ALL CPUs/TCG\" prev_pid=501"));
	xvt_class_free(&c);
}
END_TEST

/* The name of task 601 and since when it has it, after an event with that field. */
static void check_task(const char field[16], uint64_t ns, const char *name, uint64_t since_ns)
{
	uint64_t since;

	xvt_decoder_task(ds.vm[0], 601, (const uint8_t *)field, ns);
	ck_assert_str_eq(xvt_comm_since(ds.vm[0], 601, &since), name);
	ck_assert_uint_eq(since, since_ns);
}

START_TEST(a_task_has_the_name_of_its_newest_event)
{
	check_task("work-1\0\0\0\0\0\0\0\0\0", 10, "work-1", 10);
	check_task("work-1\0\0\0\0\0\0\0\0\0", 20, "work-1", 10);
	check_task("work-2\0\0\0\0\0\0\0\0\0", 30, "work-2", 30);
	check_task("work-2\0old-name", 40, "work-2", 30);
	xvt_decoder_comm(ds.vm[0], 601, (const uint8_t *)"work-1", 6, 50);
	check_task("work-2\0old-name", 60, "work-2", 60);
	check_task("sixteen-letters!", 70, "sixteen-letters!", 70);
	xvt_decoder_thread(ds.vm[0], 601, (const uint8_t *)"g1:vcpu0", 8);
	check_task("work-1\0\0\0\0\0\0\0\0\0", 80, "g1:vcpu0", 0);
}
END_TEST

START_TEST(a_type_that_is_not_first_is_refused)
{
	static const char text[] =
		"name: ev\nID: 77\nformat:\n"
		"\tfield:unsigned short common_type;\toffset:4;\tsize:2;\tsigned:0;\n\n"
		"\tfield:int a;\toffset:8;\tsize:4;\tsigned:1;\n\nprint fmt: \"x\"\n";
	struct xvt_event_class c;

	ck_assert_int_eq(xvt_format_class("sys", text, &c), -EBADMSG);
}
END_TEST

/* A trace with one format and these records, classified. */
struct small {
	struct synth_sink sink;
	struct xvt_trace_writer *w;
	struct xvt_trace *t;
	struct xvt_decoders ds;
	struct xvt_cursor c;
};

static void put_format(struct small *s, uint32_t generation, const char *name, const char *last)
{
	struct xvt_meta_info info = { .type = XVT_META_FORMAT, .generation = generation };
	char text[8192];
	int len = snprintf(text, sizeof(text),
			   "sys%c%s%cname: %s\nID: 77\nformat:\n" COMMON "%sprint fmt: \"x\"\n", 0,
			   name, 0, name, last);

	ck_assert_int_eq(
		xvt_trace_put(s->w, XVT_CHUNK_META, &info, sizeof(info), text, (size_t)len), 0);
}

static void small_begin(struct small *s)
{
	static const struct xvt_file_info file = { .mult = 1 };
	static const struct xvt_vm_info vm = { .name = "g" };
	static const struct xvt_ring_info ring = { .cpu = 0 };

	synth_sink_init(&s->sink);
	ck_assert_int_eq(xvt_trace_writer_new(&s->w, &s->sink.sink, &file), 0);
	ck_assert_int_eq(xvt_trace_put(s->w, XVT_CHUNK_VM, &vm, sizeof(vm), NULL, 0), 0);
	ck_assert_int_eq(xvt_trace_put(s->w, XVT_CHUNK_RING, &ring, sizeof(ring), NULL, 0), 0);
}

static void put_record(struct small *s, uint64_t ns, uint16_t len)
{
	struct xvt_event_hdr h = { .host_ns = ns, .id = XVT_ID_FTRACE, .len = len };

	ck_assert_int_eq(xvt_trace_event(s->w, &h, &record), 0);
}

static void small_open(struct small *s)
{
	struct xvt_error why;

	ck_assert_int_eq(xvt_trace_writer_finish(s->w), 0);
	synth_sink_save(&s->sink, scratch_path("small.xvt"));
	ck_assert_int_eq(xvt_trace_open(&s->t, scratch_path("small.xvt"), &why), 0);
	ck_assert_int_eq(xvt_decoders_new(&s->ds, s->t), 0);
	ck_assert_int_eq(xvt_cursor_init(&s->c, s->t, 0, UINT64_MAX), 0);
}

static const char *next_name(struct small *s)
{
	struct xvt_event_class *c;
	struct xvt_event ev;

	ck_assert_int_eq(xvt_cursor_next(&s->c, &ev), 1);
	c = xvt_classify(xvt_decoder_of(&s->ds, &ev), &ev);
	ck_assert_ptr_nonnull(c);
	return c->name;
}

static void small_end(struct small *s)
{
	xvt_cursor_fini(&s->c);
	xvt_decoders_fini(&s->ds);
	xvt_trace_close(s->t);
	synth_sink_fini(&s->sink);
}

/* The next event's name and the first 8 bytes of its text. */
static const char *next_begin(struct small *s)
{
	struct xvt_event_class *c;
	static char text[64];
	struct xvt_event ev;

	ck_assert_int_eq(xvt_cursor_next(&s->c, &ev), 1);
	c = xvt_classify(xvt_decoder_of(&s->ds, &ev), &ev);
	ck_assert_ptr_nonnull(c);
	out.fd = -1;
	out.used = 0;
	xvt_print_fields(&out, xvt_decoder_of(&s->ds, &ev), c, &ev, false);
	snprintf(text, sizeof(text), "%s: %.8s", c->name, out.buf);
	return text;
}

START_TEST(records_that_do_not_fit_their_format_keep_its_name)
{
	struct small s;

	small_begin(&s);
	put_format(&s, 1, "ev", fields);
	put_record(&s, 1, sizeof(record));
	record.loc = 0;
	put_record(&s, 2, 47); /* one byte short of the fixed fields */
	record.loc = 48 | 6 << 16;
	put_record(&s, 3, 48); /* the dynamic text lies behind the end */
	put_record(&s, 4, 53);
	put_record(&s, 5, 54); /* its last byte is the last byte */
	put_record(&s, 6, 1);
	record.loc = 0xffff | 1u << 16;
	put_record(&s, 7, sizeof(record));
	record.loc = sizeof(record) | 0xffffu << 16;
	put_record(&s, 8, sizeof(record));
	record.loc = sizeof(record); /* empty, at the very end */
	put_record(&s, 9, sizeof(record));
	small_open(&s);
	ck_assert_str_eq(next_name(&s), "ev");
	ck_assert_str_eq(next_begin(&s), "ev: [short] ");
	ck_assert_str_eq(next_begin(&s), "ev: [unfit] ");
	ck_assert_str_eq(next_begin(&s), "ev: [unfit] ");
	ck_assert_str_eq(next_name(&s), "ev");
	ck_assert_str_eq(next_name(&s), "id16");
	ck_assert_str_eq(next_begin(&s), "ev: [unfit] ");
	ck_assert_str_eq(next_begin(&s), "ev: [unfit] ");
	ck_assert_str_eq(next_name(&s), "ev");
	small_end(&s);
}
END_TEST

START_TEST(a_format_that_is_left_out_is_noted_once)
{
	struct small s;

	small_begin(&s);
	put_format(&s, 1, "bad\x1b", "\tfield:int;\toffset:8;\tsize:4;\tsigned:1;\n\n");
	put_format(&s, 2, "bad\x1b", "\tfield:long;\toffset:8;\tsize:8;\tsigned:1;\n\n");
	for (uint64_t ns = 1; ns < 4; ns++)
		put_record(&s, ns, sizeof(record));
	small_open(&s);
	ck_assert_uint_eq(s.ds.left_format_count, 0);
	for (int i = 0; i < 3; i++)
		ck_assert_str_eq(next_name(&s), "type77");
	ck_assert_uint_eq(s.ds.left_format_count, 1);
	ck_assert_str_eq(s.ds.left_formats[0].system, "sys");
	ck_assert_str_eq(s.ds.left_formats[0].event, "bad\\x1b");
	ck_assert_ptr_nonnull(strstr(s.ds.left_formats[0].why, "shape"));
	small_end(&s);
}
END_TEST

START_TEST(a_rebooted_guests_formats_are_its_own)
{
	struct small s;

	small_begin(&s);
	put_format(&s, 1, "old", fields);
	put_record(&s, 1, sizeof(record));
	put_format(&s, 2, "new", fields);
	put_record(&s, 2, sizeof(record));
	small_open(&s);
	ck_assert_str_eq(next_name(&s), "old");
	ck_assert_str_eq(next_name(&s), "new");
	small_end(&s);
}
END_TEST

static void put_since(struct small *s, uint32_t generation, uint64_t ns)
{
	struct xvt_meta_info info = { .type = XVT_META_SINCE, .generation = generation };

	ck_assert_int_eq(xvt_trace_put(s->w, XVT_CHUNK_META, &info, sizeof(info), &ns, sizeof(ns)),
			 0);
}

START_TEST(a_number_used_again_has_its_format_from_then_on)
{
	struct small s;

	small_begin(&s);
	put_format(&s, 1, "one", fields);
	put_since(&s, 1, 30);
	put_format(&s, 1, "two", fields);
	put_since(&s, 1, 50);
	put_format(&s, 1, "one", fields);
	put_since(&s, 1, 20); /* a file that lies: not before the one before it */
	put_format(&s, 1, "three", fields);
	for (uint64_t ns = 10; ns <= 49; ns += 13) /* 10 23 36 49 */
		put_record(&s, ns, sizeof(record));
	put_since(&s, 2, 70);
	put_format(&s, 2, "four", fields);
	put_record(&s, 55, sizeof(record));
	put_record(&s, 69, sizeof(record));
	put_record(&s, 70, sizeof(record));
	small_open(&s);
	ck_assert_str_eq(next_name(&s), "one");
	ck_assert_str_eq(next_name(&s), "one");
	ck_assert_str_eq(next_name(&s), "two");
	ck_assert_str_eq(next_name(&s), "two");
	ck_assert_str_eq(next_name(&s), "three");
	ck_assert_str_eq(next_name(&s), "three");
	ck_assert_str_eq(next_name(&s), "four");
	small_end(&s);
}
END_TEST

static uint64_t seed = 88172645463325252ull;

static uint64_t next_random(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

/* Deep, long and broken texts; what parses is also run. */
START_TEST(hostile_formats_do_no_harm)
{
	static const char bits[] = "()[]{}\"%*+-/<>?:,;|&~!\\.0189azREC->__print_flags";
	size_t n = sizeof(prints) / sizeof(prints[0]);

	for (int round = 0; round < 20000; round++) {
		struct xvt_event_class c;
		char fmt[1024];
		size_t len;

		snprintf(fmt, sizeof(fmt), "%s", prints[next_random() % n].print_fmt);
		len = strlen(fmt);
		for (uint64_t i = next_random() % 4; i > 0; i--)
			fmt[next_random() % len] = bits[next_random() % (sizeof(bits) - 1)];
		if (make(&c, fmt))
			continue;
		print(&c, false);
		xvt_class_free(&c);
	}
}
END_TEST

static const char *const repeated[] = {
	"(", "-",   "!",  "1+", "(int)", "1?1:", "REC->bytes[", "\"a\" ", "__print_flags(",
	"~", "1<<", "a.", "{",	"%d"
};

START_TEST(deep_formats_do_not_use_up_the_stack)
{
	const char *bit = repeated[_i];
	size_t max = 120000, len = strlen(bit), n = 0;
	struct xvt_event_class c;
	char *text = malloc(max + 4096);

	ck_assert_ptr_nonnull(text);
	n = (size_t)sprintf(text, "name: ev\nID: 77\nformat:\n" COMMON "%sprint fmt: \"%%d\", ",
			    fields);
	while (n + len < max) {
		memcpy(text + n, bit, len);
		n += len;
	}
	n += (size_t)sprintf(text + n, "1\n");
	if (!xvt_format_class("sys", text, &c)) {
		print(&c, false);
		xvt_class_free(&c);
	}
	free(text);
}
END_TEST

Suite *decode_suite(void)
{
	Suite *s = suite_create("decode");
	TCase *t = tcase_create("decode");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 60);
	tcase_add_loop_test(t, print_formats_are_followed, 0, sizeof(prints) / sizeof(prints[0]));
	tcase_add_test(t, numbers_are_shown_as_printf_does);
	tcase_add_loop_test(t, other_print_formats_show_the_fields, 0,
			    sizeof(not_followed) / sizeof(not_followed[0]));
	tcase_add_loop_test(t, impossible_fields_are_refused, 0, sizeof(lies) / sizeof(lies[0]));
	tcase_add_loop_test(t, a_declaration_decides_the_kind_of_a_field, 0,
			    sizeof(declared) / sizeof(declared[0]));
	tcase_add_loop_test(t, formats_of_probes_and_unions_are_read, 0,
			    sizeof(odd) / sizeof(odd[0]));
	tcase_add_test(t, a_task_has_the_name_of_its_newest_event);
	tcase_add_test(t, a_type_that_is_not_first_is_refused);
	tcase_add_test(t, records_that_do_not_fit_their_format_keep_its_name);
	tcase_add_test(t, a_thread_that_the_recorder_named_has_that_name_in_texts);
	tcase_add_test(t, a_format_that_is_left_out_is_noted_once);
	tcase_add_test(t, a_rebooted_guests_formats_are_its_own);
	tcase_add_test(t, a_number_used_again_has_its_format_from_then_on);
	tcase_add_test(t, hostile_formats_do_no_harm);
	tcase_add_loop_test(t, deep_formats_do_not_use_up_the_stack, 0,
			    sizeof(repeated) / sizeof(repeated[0]));
	suite_add_tcase(s, t);
	return s;
}
