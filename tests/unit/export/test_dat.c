// SPDX-License-Identifier: GPL-2.0
/*
 * test_dat.c - trace.dat where a trace is unusual: long gaps of time, long events, two formats of
 * one number, losses, odd names. `trace-cmd report` reads the files. That all events and fields are
 * right is in tests/cli/t_dat.sh. At the end, with the same parts: LTTng's names in CTF.
 */
#define _GNU_SOURCE /* strsep() */
#include "suites.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "select/select.h"
#include "synth.h"

static struct synth_sink sink;
static struct xvt_trace_writer *w;
static struct xvt_export x;
static const struct xvt_select plain = { .quiet = true };

static void setup(void)
{
	static const struct xvt_file_info info = { .mult = 1u << 30, .shift = 30 };

	synth_sink_init(&sink);
	ck_assert_int_eq(xvt_trace_writer_new(&w, &sink.sink, &info), 0);
}

static void teardown(void)
{
	synth_sink_fini(&sink);
}

static void put(uint16_t type, const void *head, size_t len, const void *body, size_t body_len)
{
	ck_assert_int_eq(xvt_trace_put(w, type, head, len, body, body_len), 0);
}

static void put_machine(uint32_t vm, const char *name, uint32_t kind)
{
	struct xvt_vm_info info = { .vm = vm, .kind = kind, .clock_hz = 1000000000 };

	snprintf(info.name, sizeof(info.name), "%s", name);
	put(XVT_CHUNK_VM, &info, sizeof(info), NULL, 0);
}

/* A guest of which its kernel's own ring was read. */
static void put_stock_vm(uint32_t vm, const char *name)
{
	struct xvt_vm_info info = { .vm = vm,
				    .kind = XVT_VM_GUEST,
				    .region_kind = XVT_REGION_FTRACE,
				    .clock_hz = 1000000000 };

	snprintf(info.name, sizeof(info.name), "%s", name);
	put(XVT_CHUNK_VM, &info, sizeof(info), NULL, 0);
}

static void put_vm(uint32_t vm, const char *name)
{
	put_machine(vm, name, XVT_VM_GUEST);
}

static void put_ring(uint32_t ring, uint32_t vm, uint32_t cpu, uint32_t type)
{
	const struct xvt_ring_info info = { .ring = ring, .vm = vm, .cpu = cpu, .type = type };

	put(XVT_CHUNK_RING, &info, sizeof(info), NULL, 0);
}

static void put_meta(uint32_t vm, uint32_t type, uint32_t boot, const char *text, size_t len)
{
	const struct xvt_meta_info info = { .vm = vm, .type = type, .generation = boot };

	put(XVT_CHUNK_META, &info, sizeof(info), text, len);
}

#define COMMON                                                                         \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"         \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"         \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n" \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

/* A format with one field of 8 bytes. */
static void put_format(uint32_t vm, uint32_t boot, const char *system, const char *name,
		       unsigned int id, const char *field, const char *print)
{
	char text[1024];
	int n = snprintf(text, sizeof(text),
			 "%s%c%s%cname: %s\nID: %u\nformat:\n" COMMON
			 "\tfield:u64 %s;\toffset:8;\tsize:8;\tsigned:0;\n\nprint fmt: %s\n",
			 system, 0, name, 0, name, id, field, print);

	put_meta(vm, XVT_META_FORMAT, boot, text, (size_t)n);
}

/* A format with fields of 8 bytes, and a record of it with the values 1, 2, ... */
static void put_numbers(const char *system, const char *name, unsigned int id, const char *fields)
{
	uint64_t record[9] = { id | 77ull << 32, 101, 102, 103, 104, 105, 106, 107, 108 };
	const struct xvt_event_hdr h = {
		.host_ns = id, .guest_clock = id, .id = XVT_ID_FTRACE, .len = sizeof(record)
	};
	char text[2048], names[256], *next = names, *field;
	int n = snprintf(text, sizeof(text), "%s%c%s%cname: %s\nID: %u\nformat:\n" COMMON, system,
			 0, name, 0, name, id);
	unsigned int offset = 8;

	snprintf(names, sizeof(names), "%s", fields);
	for (; (field = strsep(&next, " ")); offset += 8)
		n += snprintf(text + n, sizeof(text) - (size_t)n,
			      "\tfield:s64 %s;\toffset:%u;\tsize:8;\tsigned:1;\n", field, offset);
	n += snprintf(text + n, sizeof(text) - (size_t)n, "\nprint fmt: \"\"\n");
	put_meta(0, XVT_META_FORMAT, 1, text, (size_t)n);
	ck_assert_int_eq(xvt_trace_event(w, &h, record), 0);
}

static void put_event(uint32_t ring, uint16_t id, uint64_t ns, const void *payload, size_t len)
{
	const struct xvt_event_hdr h = {
		.host_ns = ns, .guest_clock = ns, .ring_flags = ring, .id = id, .len = (uint16_t)len
	};

	ck_assert_int_eq(xvt_trace_event(w, &h, payload), 0);
}

static void put_ftrace(uint32_t ring, uint64_t ns, uint16_t type, uint64_t value)
{
	struct {
		uint16_t type;
		uint8_t flags, depth;
		int32_t pid;
		uint64_t value;
	} record = { .type = type, .pid = 77, .value = value };

	put_event(ring, XVT_ID_FTRACE, ns, &record, sizeof(record));
}

static void put_lost(uint32_t ring, uint64_t ns, uint64_t lost)
{
	const struct xvt_lost record = { .overwritten = lost };

	put_event(ring, XVT_ID_LOST, ns, &record, sizeof(record));
}

/* Write what was put into a folder. Returns what the export returns. */
static int export_by(int (*export_to)(struct xvt_export *x, const char *dir))
{
	const char *path = scratch_path("dat.xvt");
	char command[1024];
	int err;

	snprintf(command, sizeof(command), "rm -rf '%s'", scratch_path("dat"));
	ck_assert_int_eq(system(command), 0);
	ck_assert_int_eq(xvt_trace_writer_finish(w), 0);
	synth_sink_save(&sink, path);
	x = (struct xvt_export){ 0 };
	ck_assert_int_eq(xvt_select_open(&plain, path, &x), 0);
	err = export_to(&x, scratch_path("dat"));
	xvt_select_close(&plain, &x, err);
	return err;
}

static int export(void)
{
	return export_by(xvt_export_dat);
}

static const char *output_of(const char *command)
{
	static char text[65536];
	FILE *f = popen(command, "r");
	size_t len;

	ck_assert_ptr_nonnull(f);
	len = fread(text, 1, sizeof(text) - 1, f);
	text[len] = '\0';
	pclose(f);
	return text;
}

/* The file's options by trace-cmd. */
static const char *dump(const char *name)
{
	char command[1024];

	snprintf(command, sizeof(command), "trace-cmd dump --options -i '%s/%s' 2>&1",
		 scratch_path("dat"), name);
	return output_of(command);
}

/* What trace-cmd says of a file, without what it says of files and CPUs. */
static const char *report(const char *options, const char *name)
{
	char command[1024];

	snprintf(command, sizeof(command),
		 "trace-cmd report -t %s -i '%s/%s' 2>&1 | grep -av '^cpus=\\|is empty$'", options,
		 scratch_path("dat"), name);
	return output_of(command);
}

static bool no_trace_cmd(void)
{
	const bool none = system("command -v trace-cmd >/dev/null 2>&1") != 0;

	if (none)
		printf("skip - trace.dat: trace-cmd is not installed\n");
	return none;
}

static void expect(const char *got, const char *want)
{
	char plain_text[8192];
	size_t n = 0;

	/* Blanks are trace-cmd's own. */
	for (const char *p = got; *p && n < sizeof(plain_text) - 1; p++)
		if (*p != ' ' || (n && plain_text[n - 1] != ' ' && plain_text[n - 1] != '\n'))
			plain_text[n++] = *p;
	plain_text[n] = '\0';
	ck_assert_str_eq(plain_text, want);
}

START_TEST(times_survive_gaps)
{
	static const uint64_t gaps[] = { 0,
					 1,
					 (1u << 27) - 1,
					 1u << 27,
					 (1u << 27) + 1,
					 1ull << 32,
					 (1ull << 40) + 1,
					 (1ull << 59) - 1,
					 1ull << 59,
					 (1ull << 60) + 3 };
	char want[4096];
	uint64_t now = 7;
	size_t len = 0;

	if (no_trace_cmd())
		return;
	put_vm(0, "g");
	put_ring(0, 0, 0, XVT_RING_VCPU);
	put_format(0, 1, "test", "one", 5, "v", "\"v=%llu\", REC->v");
	for (size_t i = 0; i < 30; i++) {
		now += i < 20 ? gaps[i % 10] : gaps[i % 5];
		put_ftrace(0, now, 5, i);
		len += (size_t)snprintf(want + len, sizeof(want) - len,
					"<...>-77 [000] %" PRIu64 ".%09" PRIu64 ": one: v=%zu\n",
					now / 1000000000, now % 1000000000, i);
	}
	ck_assert_int_eq(export(), 0);
	expect(report("", "g.dat"), want);
}
END_TEST

/* The second boot has another format for the number, and the same format with another number. */
START_TEST(each_boot_keeps_its_formats)
{
	if (no_trace_cmd())
		return;
	put_vm(0, "g");
	put_ring(0, 0, 0, XVT_RING_VCPU);
	put_format(0, 1, "test", "one", 5, "a", "\"a=%llu\", REC->a");
	put_format(0, 1, "test", "two", 6, "b", "\"b=%llu\", REC->b");
	put_ftrace(0, 1000, 5, 1);
	put_ftrace(0, 2000, 6, 2);
	put_format(0, 2, "test", "two", 5, "b", "\"b=%llu\", REC->b");
	put_format(0, 2, "test", "one", 40000, "c", "\"c=%llu\", REC->c");
	put_ftrace(0, 3000, 5, 3);
	put_ftrace(0, 4000, 40000, 4);
	ck_assert_int_eq(export(), 0);
	expect(report("", "g.dat"), "<...>-77 [000] 0.000001000: one: a=1\n"
				    "<...>-77 [000] 0.000002000: two: b=2\n"
				    "<...>-77 [000] 0.000003000: two: b=3\n"
				    "<...>-77 [000] 0.000004000: one: c=4\n");
}
END_TEST

START_TEST(symbols_are_of_the_last_boot_and_checked)
{
	static const char first[] = "ffffffff81000000 T old_name\n";
	static const char last[] = "ffffffff81000000 T new_name\nno symbol\n"
				   "ffffffff81000800 t in_mod\t[mod]\n"
				   "ffffffff81000900 t es\x1b[31mc\nffffffff81000a00 t cut";

	if (no_trace_cmd())
		return;
	put_vm(0, "g");
	put_ring(0, 0, 0, XVT_RING_VCPU);
	put_meta(0, XVT_META_KSYMS, 1, first, sizeof(first) - 1);
	put_meta(0, XVT_META_KSYMS, 2, last, sizeof(last) - 1);
	put_format(0, 2, "test", "one", 5, "f", "\"%ps\", (void *)REC->f");
	put_ftrace(0, 1000, 5, 0xffffffff81000000);
	put_ftrace(0, 2000, 5, 0xffffffff81000800);
	ck_assert_int_eq(export(), 0);
	expect(report("", "g.dat"), "<...>-77 [000] 0.000001000: one: new_name\n"
				    "<...>-77 [000] 0.000002000: one: in_mod\n");
	expect(report("-f", "g.dat"), "ffffffff81000000 new_name\nffffffff81000800 in_mod [mod]\n");
}
END_TEST

/* trace-cmd knows "some", and no "at least". */
START_TEST(losses_that_were_not_counted_have_no_number)
{
	if (no_trace_cmd())
		return;
	put_stock_vm(0, "g");
	put_ring(0, 0, 0, XVT_RING_VCPU);
	put_format(0, 1, "test", "one", 5, "v", "\"v=%llu\", REC->v");
	put_ftrace(0, 1000, 5, 1);
	put_lost(0, 1500, 5);
	put_ftrace(0, 2000, 5, 2);
	put_lost(0, 2500, 0);
	put_ftrace(0, 3000, 5, 3);
	ck_assert_int_eq(export(), 0);
	expect(report("", "g.dat"), "<...>-77 [000] 0.000001000: one: v=1\n"
				    "CPU:0 [EVENTS DROPPED]\n"
				    "<...>-77 [000] 0.000002000: one: v=2\n"
				    "CPU:0 [EVENTS DROPPED]\n"
				    "<...>-77 [000] 0.000003000: one: v=3\n");
}
END_TEST

START_TEST(losses_are_at_their_places)
{
	if (no_trace_cmd())
		return;
	put_vm(0, "g");
	put_ring(0, 0, 0, XVT_RING_VCPU);
	put_ring(1, 0, 1, XVT_RING_VCPU);
	put_format(0, 1, "test", "one", 5, "v", "\"v=%llu\", REC->v");
	put_lost(0, 900, 4);
	put_ftrace(0, 1000, 5, 1);
	put_ftrace(0, 1001, 5, 2);
	put_lost(0, 1500, 5);
	put_lost(0, 1600, 6);
	put_ftrace(1, 1700, 5, 3);
	put_ftrace(0, 2000, 5, 4);
	put_lost(1, 3000, UINT64_MAX - 2);
	put_ftrace(1, 4000, 5, 5);
	put_lost(0, 5000, 9);
	ck_assert_int_eq(export(), 0);
	expect(report("", "g.dat"), "CPU:0 [4 EVENTS DROPPED]\n"
				    "<...>-77 [000] 0.000001000: one: v=1\n"
				    "<...>-77 [000] 0.000001001: one: v=2\n"
				    "<...>-77 [001] 0.000001700: one: v=3\n"
				    "CPU:0 [11 EVENTS DROPPED]\n"
				    "<...>-77 [000] 0.000002000: one: v=4\n"
				    "CPU:1 [2147483647 EVENTS DROPPED]\n"
				    "<...>-77 [001] 0.000004000: one: v=5\n");
	/* What was lost behind the last event is in the counts alone. */
	ck_assert_ptr_nonnull(
		strstr(report("--stat", "g.dat"), "CPU: 0\nentries: 0\noverrun: 24\n"));
}
END_TEST

/* A page holds 4080 bytes; longer events are cut, and said to be. */
START_TEST(long_events_are_cut)
{
	static uint8_t text[60000];
	const char *got;

	if (no_trace_cmd())
		return;
	memset(text, 'x', sizeof(text));
	put_vm(0, "g");
	put_ring(0, 0, 0, XVT_RING_VCPU);
	put_format(0, 1, "test", "one", 5, "v", "\"v=%llu\", REC->v");
	for (size_t len = 3900; len < 4200; len += 50)
		put_event(0, XVT_ID_TEXT, len, text, len);
	put_event(0, XVT_ID_TEXT, 5000, text, sizeof(text));
	memcpy(text, &(uint16_t){ 5 }, 2);
	put_event(0, XVT_ID_FTRACE, 6000, text, 5000);
	put_ftrace(0, 7000, 5, 7);
	ck_assert_int_eq(export(), 0);
	ck_assert_uint_eq(x.cut, 4); /* 4100 and 4150 bytes, and these two */
	got = report("-R", "g.dat");
	ck_assert_ptr_nonnull(strstr(got, " 0.000005000: text: "));
	ck_assert_ptr_nonnull(strstr(got, " 0.000006000: other: "));
	ck_assert_ptr_nonnull(strstr(got, "system=test event=one data=ARRAY[05, 00, 78,"));
	ck_assert_ptr_nonnull(strstr(got, " 0.000007000: one: "));
}
END_TEST

/* trace-cmd would end by a signal. */
START_TEST(no_format_divides_by_a_field)
{
	static const char *const bad[] = { "\"%llu\", 8 / REC->v", "\"%llu\", 8 % REC->v",
					   "\"%llu\", 8 / (4 - 4)", "\"%llu\", 8 / 1 * 0 / 00",
					   "\"%s\", 8 /REC->v ? \"/ 2\" : \"\"" };

	if (no_trace_cmd())
		return;
	put_vm(0, "g");
	put_ring(0, 0, 0, XVT_RING_VCPU);
	for (unsigned int i = 0; i < 5; i++) {
		put_format(0, 1, "test", "bad", 10 + i, "v", bad[i]);
		put_ftrace(0, 1000 + i, (uint16_t)(10 + i), 0);
	}
	put_format(0, 1, "test", "good", 20, "v", "\"%llu / %llu\", REC->v / 1000, REC->v % 7");
	put_ftrace(0, 2000, 20, 65000);
	ck_assert_int_eq(export(), 0);
	expect(report("", "g.dat"), "<...>-77 [000] 0.000001000: bad: v=0\n"
				    "<...>-77 [000] 0.000001001: bad: v=0\n"
				    "<...>-77 [000] 0.000001002: bad: v=0\n"
				    "<...>-77 [000] 0.000001003: bad: v=0\n"
				    "<...>-77 [000] 0.000001004: bad: v=0\n"
				    "<...>-77 [000] 0.000002000: good: 65 / 5\n");
}
END_TEST

static size_t count_files(const char *path)
{
	DIR *d = opendir(path);
	struct dirent *e;
	size_t n = 0;

	ck_assert_ptr_nonnull(d);
	while ((e = readdir(d)))
		n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
	closedir(d);
	return n;
}

START_TEST(files_stay_in_the_folder)
{
	static const char *const names[] = { "..", "a/../../b", "same", "same", "x\ny" };

	if (no_trace_cmd())
		return;
	for (uint32_t i = 0; i < 5; i++) {
		put_vm(i, names[i]);
		put_ring(i, i, 0, XVT_RING_VCPU);
		put_event(i, XVT_ID_TEXT, 1000 + i, "hi", 2);
	}
	ck_assert_int_eq(export(), 0);
	ck_assert_uint_eq(count_files(scratch_path("dat")), 5);
	expect(report("", "_..dat"), "unknown-2147483647 [000] 0.000001000: text: text=hi\n");
	expect(report("", "a_.._.._b.dat"),
	       "unknown-2147483647 [000] 0.000001001: text: text=hi\n");
	expect(report("", "same.dat"), "unknown-2147483647 [000] 0.000001002: text: text=hi\n");
	expect(report("", "same-3.dat"), "unknown-2147483647 [000] 0.000001003: text: text=hi\n");
}
END_TEST

/* Rings of one vCPU share its CPU; those of threads, and of impossible CPUs, get one each. */
START_TEST(rings_become_cpus)
{
	if (no_trace_cmd())
		return;
	put_vm(0, "g");
	put_ring(0, 0, 2, XVT_RING_VCPU);
	put_ring(1, 0, 2, XVT_RING_VCPU);
	put_ring(2, 0, 123456, XVT_RING_THREAD);
	put_ring(3, 0, 4000000000u, XVT_RING_VCPU);
	for (uint32_t i = 0; i < 8; i++)
		put_event(i % 4, XVT_ID_U64, 1000 + i, &(uint64_t){ i }, 8);
	put_event(9, XVT_ID_U64, 2000, &(uint64_t){ 9 }, 8);
	ck_assert_int_eq(export(), 0);
	expect(report("", "g.dat"), "unknown-2147483647 [002] 0.000001000: u64: values=0\n"
				    "unknown-2147483647 [002] 0.000001001: u64: values=1\n"
				    "unknown-2147483647 [003] 0.000001002: u64: values=2\n"
				    "unknown-2147483647 [004] 0.000001003: u64: values=3\n"
				    "unknown-2147483647 [002] 0.000001004: u64: values=4\n"
				    "unknown-2147483647 [002] 0.000001005: u64: values=5\n"
				    "unknown-2147483647 [003] 0.000001006: u64: values=6\n"
				    "unknown-2147483647 [004] 0.000001007: u64: values=7\n");
	expect(report("", "unknown.dat"), "unknown-2147483647 [000] 0.000002000: u64: values=9\n");
}
END_TEST

static void put_thread(uint32_t type, uint32_t tid, const char *name)
{
	const struct xvt_meta_info info = { .vm = 0, .type = type, .id = tid, .generation = 1 };

	put(XVT_CHUNK_META, &info, sizeof(info), name, strlen(name));
}

/* trace-cmd's "Guest" lines: name, CPUs, and the thread of each. A name that is a guest's only by a
 * comm is not the recorder's. */
START_TEST(the_host_names_the_threads_of_its_guests)
{
	const char *got;

	if (no_trace_cmd())
		return;
	put_machine(0, "host", XVT_VM_HOST);
	put_vm(1, "g1");
	put_vm(2, "g2");
	put_vm(3, "no-events");
	for (uint32_t i = 0; i < 3; i++) {
		put_ring(i, i, 0, XVT_RING_VCPU);
		put_event(i, XVT_ID_U64, 1000 + i, &(uint64_t){ i }, 8);
	}
	put_thread(XVT_META_THREAD, 501, "g1:vcpu0");
	put_thread(XVT_META_THREAD, 502, "g1:vcpu2");
	put_thread(XVT_META_THREAD, 503, "g1:worker");
	put_thread(XVT_META_THREAD, 504, "g2:vcpu0x");
	put_thread(XVT_META_THREAD, 505, "no-events:vcpu0");
	put_thread(XVT_META_COMM, 506, "g2:vcpu0");
	ck_assert_int_eq(export(), 0);
	got = dump("host.dat");
	ck_assert_msg(strstr(got, "[Option GUEST, 39 bytes]\n"), "%s", got);
	ck_assert_msg(!strstr(strstr(got, "GUEST") + 1, "GUEST"), "%s", got);
	ck_assert_msg(strstr(got, "g1 [Guest name]"), "%s", got);
	/* Readers refuse a list without vCPU 1. */
	ck_assert_msg(strstr(got, "\n  0 501 [guest cpu, host pid]\n"
				  "  1 -1 [guest cpu, host pid]\n"
				  "  2 502 [guest cpu, host pid]\n"),
		      "%s", got);
	ck_assert_ptr_null(strstr(dump("g1.dat"), "GUEST"));
}
END_TEST

/* One thread for all vCPUs, and numbers of vCPUs that no machine has. */
START_TEST(one_thread_runs_all_vcpus)
{
	const char *got;

	if (no_trace_cmd())
		return;
	put_machine(0, "host", XVT_VM_HOST);
	put_vm(1, "a-machine-with-a-long-name-of-50-bytes-and-no-more");
	put_ring(0, 0, 0, XVT_RING_VCPU);
	put_ring(1, 1, 0, XVT_RING_VCPU);
	put_ring(2, 1, 3, XVT_RING_VCPU);
	for (uint32_t i = 0; i < 3; i++)
		put_event(i, XVT_ID_U64, 1000 + i, &(uint64_t){ i }, 8);
	put_thread(XVT_META_THREAD, 601,
		   "a-machine-with-a-long-name-of-50-bytes-and-no-more:vcpus");
	put_thread(XVT_META_THREAD, 602,
		   "a-machine-with-a-long-name-of-50-bytes-and-no-more:vcpu1");
	put_thread(XVT_META_THREAD, 603,
		   "a-machine-with-a-long-name-of-50-bytes-and-no-more:vcpu4294967295");
	put_thread(XVT_META_THREAD, 604,
		   "a-machine-with-a-long-name-of-50-bytes-and-no-more:vcpu8192");
	ck_assert_int_eq(export(), 0);
	got = dump("host.dat");
	ck_assert_msg(
		strstr(got, "a-machine-with-a-long-name-of-50-bytes-and-no-more [Guest name]\n"),
		"%s", got);
	ck_assert_msg(strstr(got, "\n4 [Guest CPUs]\n"
				  "  0 601 [guest cpu, host pid]\n"
				  "  1 602 [guest cpu, host pid]\n"
				  "  2 601 [guest cpu, host pid]\n"
				  "  3 601 [guest cpu, host pid]\n"),
		      "%s", got);
}
END_TEST

/* A type has LTTng's name if it has the fields, and no other field that would be called the same.
 */
START_TEST(ctf_has_lttngs_names)
{
	static char text[16384];
	char command[1024];
	FILE *f;

	if (system("command -v babeltrace2 >/dev/null 2>&1") != 0) {
		printf("skip - LTTng's names: babeltrace2 is not installed\n");
		return;
	}
	put_vm(0, "g");
	put_ring(0, 0, 0, XVT_RING_VCPU);
	put_numbers("sched", "sched_wakeup", 1, "pid prio target_cpu");
	put_numbers("sched", "sched_wakeup", 2, "pid target_cpu");
	put_numbers("sched", "sched_wakeup", 3, "pid prio tid");
	put_numbers("sched", "sched_process_fork", 4, "parent_pid child_pid");
	put_numbers("sched", "sched_process_fork", 5, "parent_pid child_pid child_tid");
	put_numbers("xvt", "irq_handler_exit", 6, "irq ret");
	put_numbers("other", "irq_handler_exit", 7, "irq ret");
	put_numbers("timer", "hrtimer_cancel", 8, "hrtimer");
	put_numbers("syscalls", "sys_enter_openat", 9, "dfd");
	put_numbers("syscalls", "sys_exit_openat", 10, "ret");
	put_numbers("syscalls", "sys_exit_openat", 11, "other");
	ck_assert_int_eq(export_by(xvt_export_ctf), 0);
	snprintf(command, sizeof(command),
		 "babeltrace2 --no-delta %s 2>&1 | sed -E 's/.* g //; s/: .* \\}, / /'",
		 scratch_path("dat"));
	f = popen(command, "r");
	ck_assert_ptr_nonnull(f);
	text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
	pclose(f);
	ck_assert_str_eq(text, "sched_wakeup { tid = 101, prio = 2, target_cpu = 103 }\n"
			       "sched:sched_wakeup { pid = 101, target_cpu = 102 }\n"
			       "sched:sched_wakeup { pid = 101, prio = 102, tid = 103 }\n"
			       "sched_process_fork { parent_pid = 101, parent_tid = 101, "
			       "child_pid = 102, child_tid = 102 }\n"
			       "sched:sched_process_fork { parent_pid = 101, child_pid = 102, "
			       "child_tid = 103 }\n"
			       "irq_handler_exit { irq = 101, ret = 102 }\n"
			       "other:irq_handler_exit { irq = 101, ret = 102 }\n"
			       "timer_hrtimer_cancel { hrtimer = 101 }\n"
			       "syscall_entry_openat { dfd = 101 }\n"
			       "syscall_exit_openat { ret = 101 }\n"
			       "syscalls:sys_exit_openat { other = 101 }\n");
}
END_TEST

Suite *dat_suite(void)
{
	Suite *s = suite_create("dat");
	TCase *t = tcase_create("dat");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 60);
	tcase_add_test(t, times_survive_gaps);
	tcase_add_test(t, each_boot_keeps_its_formats);
	tcase_add_test(t, symbols_are_of_the_last_boot_and_checked);
	tcase_add_test(t, losses_are_at_their_places);
	tcase_add_test(t, losses_that_were_not_counted_have_no_number);
	tcase_add_test(t, long_events_are_cut);
	tcase_add_test(t, no_format_divides_by_a_field);
	tcase_add_test(t, files_stay_in_the_folder);
	tcase_add_test(t, rings_become_cpus);
	tcase_add_test(t, the_host_names_the_threads_of_its_guests);
	tcase_add_test(t, one_thread_runs_all_vcpus);
	tcase_add_test(t, ctf_has_lttngs_names);
	suite_add_tcase(s, t);
	return s;
}
