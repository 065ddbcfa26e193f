// SPDX-License-Identifier: GPL-2.0
/*
 * test_export.c - the same events as text, as JSON and as CTF, each compared field by field
 * with what the synthetic trace put in. CTF is read by babeltrace2, JSON by jansson.
 */
#define _GNU_SOURCE
#include "suites.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <jansson.h>

#include "select/select.h"
#include "decode/decode.h"
#include "trace/cursor.h"
#include "synth.h"

#define EVENTS 1500

static struct synth_sink sink;
static struct synth made;
static const struct xvt_select plain = { .quiet = true };
static struct xvt_export x;
static struct xvt_out out;

static void setup(void)
{
	const char *path = scratch_path("export.xvt");

	synth_sink_init(&sink);
	synth_make(&made, &sink.sink, EVENTS, 0);
	synth_sink_save(&sink, path);
	x = (struct xvt_export){ .system = true, .raw = true };
	ck_assert_int_eq(xvt_select_open(&plain, path, &x), 0);
}

static void teardown(void)
{
	ck_assert_int_eq(xvt_select_close(&plain, &x, false), 0);
	synth_fini(&made);
	synth_sink_fini(&sink);
}

/* A growing text, for what is expected. */
struct text {
	char buf[8192];
	size_t len;
};

__attribute__((format(printf, 2, 3))) static void say(struct text *t, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	t->len += (size_t)vsnprintf(t->buf + t->len, sizeof(t->buf) - t->len, format, args);
	va_end(args);
	ck_assert_uint_lt(t->len, sizeof(t->buf));
}

static void say_quoted(struct text *t, const char *s, const char *escape_format)
{
	say(t, "\"");
	for (; *s; s++) {
		if (*s == '\n')
			say(t, "\\n");
		else if (*s == '\t')
			say(t, "\\t");
		else if (*s == '"' || *s == '\\')
			say(t, "\\%c", *s);
		else if (*s == '\x1b')
			say(t, "%s", escape_format);
		else
			say(t, "%c", *s);
	}
	say(t, "\"");
}

static void say_element(struct text *t, const struct synth_field *f, uint32_t i)
{
	if (f->kind == SYNTH_INTS)
		say(t, "%" PRId64, (int64_t)f->list[i]);
	else
		say(t, "%" PRIu64, f->list[i]);
}

/* xvtrace report --raw --system */
static void expect_report(struct text *t, const struct synth_event *e)
{
	t->len = 0;
	say(t, "%s:%s: ", e->system, e->name);
	for (uint32_t i = 0; i < e->field_count; i++) {
		const struct synth_field *f = &e->fields[i];

		say(t, "%s%s=", i ? " " : "", f->name);
		if (f->kind == SYNTH_INT) {
			say(t, "%" PRId64, f->i);
		} else if (f->kind == SYNTH_UINT) {
			say(t, "%" PRIu64, f->u);
		} else if (f->kind == SYNTH_TEXT) {
			say_quoted(t, f->text, "\\u001b");
		} else {
			say(t, "[");
			for (uint32_t k = 0; k < f->count; k++) {
				say(t, "%s", k ? "," : "");
				say_element(t, f, k);
			}
			say(t, "]");
		}
	}
}

/* LTTng's names in sched_switch; others keep theirs. A priority counts from 100 there. */
static const char *lttng_name(const struct synth_event *e, const struct synth_field *f,
			      int64_t *value)
{
	*value = f->i;
	if (strcmp(e->name, "sched_switch") != 0)
		return f->name;
	if (strstr(f->name, "_prio"))
		*value -= 100;
	return strcmp(f->name, "prev_pid") == 0	  ? "prev_tid"
	       : strcmp(f->name, "next_pid") == 0 ? "next_tid"
						  : f->name;
}

/* The text by report that a print ends with, since it has an address: control characters are
 * escaped there, so the backslash is what babeltrace2 escapes. An empty one is a blank. */
static void say_print(struct text *t, const char *s)
{
	say(t, ", xvt_text = \"%s", *s ? "" : " ");
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			say(t, "\\%c", *s);
		else if (*s == '\n' || *s == '\t')
			say(t, "\\\\%c", *s == '\n' ? 'n' : 't');
		else if ((uint8_t)*s < ' ')
			say(t, "\\\\x%02x", *s);
		else
			say(t, "%c", *s);
	}
	say(t, "\"");
}

/* babeltrace2 --clock-cycles --no-delta */
static void expect_babeltrace(struct text *t, const struct synth_event *e)
{
	const bool lttng = strcmp(e->name, "sched_switch") == 0;

	t->len = 0;
	say(t,
	    "[%020" PRIu64 "] %s %s%s%s: { cpu_id = %u }, { tid = %d, common_flags = %u, "
	    "common_preempt_count = %u, xvt_flags = %u }, { ",
	    e->host_ns, e->vm, lttng ? "" : e->system, lttng ? "" : ":", e->name, e->cpu,
	    e->ftrace ? e->pid : -1, e->common_flags, e->preempt_count, e->flags >> 20);
	for (uint32_t i = 0; i < e->field_count; i++) {
		const struct synth_field *f = &e->fields[i];
		int64_t value;
		const char *name = lttng_name(e, f, &value);

		say(t, "%s", i ? ", " : "");
		if (f->has_length)
			say(t, "_%s_length = %u, ", f->name, f->count);
		say(t, "%s = ", name);
		if (f->kind == SYNTH_INT) {
			say(t, "%" PRId64, value);
		} else if (f->kind == SYNTH_UINT) {
			say(t, "%" PRIu64, f->u);
		} else if (f->kind == SYNTH_TEXT) {
			say_quoted(t, f->text, "\\e");
		} else {
			say(t, "[");
			for (uint32_t k = 0; k < f->count; k++) {
				say(t, "%s [%u] = ", k ? "," : "", k);
				say_element(t, f, k);
			}
			say(t, " ]");
		}
	}
	if (strcmp(e->system, "ftrace") == 0 && strcmp(e->name, "print") == 0)
		say_print(t, e->fields[e->field_count - 1].text);
	say(t, "%s}", e->field_count ? " " : "");
}

static void letters(const struct synth_event *e, char *to)
{
	static const struct {
		uint32_t flag;
		char letter;
	} all[5] = {
		{ XVT_EVENT_F_LATE, 'L' },	  { XVT_EVENT_F_BACKLOG, 'B' },
		{ XVT_EVENT_F_UNCONFIRMED, 'U' }, { XVT_EVENT_F_RECOVERED, 'R' },
		{ XVT_EVENT_F_CLOCK, 'C' },
	};

	for (int i = 0; i < 5; i++)
		to[i] = e->flags & all[i].flag ? all[i].letter : '.';
	to[5] = '\0';
}

static void export_to(const char *name, int (*export_fn)(struct xvt_export *x, struct xvt_out *o))
{
	ck_assert_int_eq(xvt_out_open(&out, scratch_path(name)), 0);
	ck_assert_int_eq(export_fn(&x, &out), 0);
	ck_assert_int_eq(xvt_out_close(&out), 0);
}

static bool next_line(FILE *f, char **line, size_t *room)
{
	ssize_t n = getline(line, room, f);

	if (n > 0 && (*line)[n - 1] == '\n')
		(*line)[n - 1] = '\0';
	return n > 0;
}

/* The wall clock was set at the knee. */
static uint64_t shown_ns(const struct synth_event *e, bool wall)
{
	if (!wall)
		return e->host_ns;
	if (e->host_ns < SYNTH_KNEE_NS)
		return SYNTH_WALL_NS + (e->host_ns - SYNTH_WALL_BASE_NS);
	return SYNTH_KNEE_WALL_NS + (e->host_ns - SYNTH_KNEE_NS);
}

/* "12.000000345", or of the wall clock "2023-11-14T22:13:21.123460113", in local time. */
static size_t put_shown(char *to, size_t size, const struct synth_event *e, bool wall)
{
	const uint64_t ns = shown_ns(e, wall);
	const time_t seconds = (time_t)(ns / 1000000000);
	size_t len;

	if (wall)
		len = strftime(to, size, "%Y-%m-%dT%H:%M:%S", localtime(&seconds));
	else
		len = (size_t)snprintf(to, size, "%" PRIu64, ns / 1000000000);
	return len + (size_t)snprintf(to + len, size - len, ".%09" PRIu64, ns % 1000000000);
}

/* Once by CLOCK_MONOTONIC, once by the wall clock. */
START_TEST(report_shows_every_field)
{
	char *line = NULL, flags[6];
	size_t room = 0, n = 0, losses = 0;
	struct text want;
	FILE *f;

	x.wall = _i;
	export_to("report.txt", xvt_export_text);
	f = fopen(scratch_path("report.txt"), "r");
	ck_assert_ptr_nonnull(f);
	while (next_line(f, &line, &room)) {
		const struct synth_event *e = &made.events[n];
		char head[128];
		size_t len;

		if (strstr(line, " LOST ")) {
			ck_assert_ptr_nonnull(strstr(line, "g1:0 LOST full=12 wrap=0 big=0 nest=0 "
							   "retry=0 overwritten=3"));
			losses++;
			continue;
		}
		ck_assert_uint_lt(n, made.count);
		letters(e, flags);
		len = put_shown(head, sizeof(head), e, _i);
		len += (size_t)snprintf(head + len, sizeof(head) - len, " %s:%u %s", e->vm, e->cpu,
					flags);
		ck_assert_msg(!strncmp(line, head, len), "line %zu: %s\nwanted %s", n, line, head);
		expect_report(&want, e);
		/* Four letters of context lie between. */
		ck_assert_str_eq(line + len + 5, want.buf);
		n++;
	}
	ck_assert_uint_eq(n, made.count);
	ck_assert_uint_eq(losses, 1);
	fclose(f);
	free(line);
}
END_TEST

/* Its own drops too, which older recorders did not record. */
START_TEST(report_shows_what_the_recorder_dropped)
{
	static const unsigned int flags[] = { SYNTH_DROPS, SYNTH_OLD_LOSSES };
	static const char *const want[] = { "overwritten=3 dropped=4", "overwritten=3" };
	char *line = NULL, *lost = NULL;
	size_t room = 0;
	FILE *f;

	teardown();
	synth_sink_init(&sink);
	synth_make(&made, &sink.sink, EVENTS, flags[_i]);
	synth_sink_save(&sink, scratch_path("drops.xvt"));
	x = (struct xvt_export){ 0 };
	ck_assert_int_eq(xvt_select_open(&plain, scratch_path("drops.xvt"), &x), 0);
	export_to("drops.txt", xvt_export_text);
	f = fopen(scratch_path("drops.txt"), "r");
	ck_assert_ptr_nonnull(f);
	while (!lost && next_line(f, &line, &room))
		lost = strstr(line, "g1:0 LOST full=12 wrap=0 big=0 nest=0 retry=0 ");
	ck_assert_ptr_nonnull(lost);
	ck_assert_str_eq(strstr(lost, "overwritten"), want[_i]);
	fclose(f);
	free(line);
}
END_TEST

/* Returns whether the file has that text. */
static bool has_text(const char *path, const char *text)
{
	static char bytes[1 << 20];
	FILE *f = fopen(path, "r");
	size_t len;

	ck_assert_ptr_nonnull(f);
	len = fread(bytes, 1, sizeof(bytes), f);
	fclose(f);
	return memmem(bytes, len, text, strlen(text));
}

/* A loss that a guest's kernel did not count is no exact number in any format. 1: it did. */
START_TEST(losses_that_were_not_counted_are_marked)
{
	const struct {
		const char *file, *text;
		int (*how)(struct xvt_export *x, struct xvt_out *o);
	} files[] = {
		{ "least.txt", "g1:0 LOST at least ", xvt_export_text },
		{ "least.jsonl", ",\"lost_at_least\":true}", xvt_export_jsonl },
		{ "least.pftrace", "events_are", xvt_export_perfetto },
	};
	static const struct xvt_select all = { .quiet = true, .all = true };
	char path[4096];

	teardown();
	synth_sink_init(&sink);
	synth_make(&made, &sink.sink, EVENTS, _i ? 0 : SYNTH_FTRACE);
	synth_sink_save(&sink, scratch_path("least.xvt"));
	for (size_t i = 0; i < 3; i++) {
		x = (struct xvt_export){ 0 };
		ck_assert_int_eq(xvt_select_open(&all, scratch_path("least.xvt"), &x), 0);
		export_to(files[i].file, files[i].how);
		ck_assert_msg(has_text(scratch_path(files[i].file), files[i].text) == !_i, "%s",
			      files[i].file);
		ck_assert_int_eq(xvt_select_close(&all, &x, false), 0);
	}
	x = (struct xvt_export){ 0 };
	ck_assert_int_eq(xvt_select_open(&plain, scratch_path("least.xvt"), &x), 0);
	snprintf(path, sizeof(path), "%s", scratch_path(_i ? "least1.ctf" : "least.ctf"));
	ck_assert_int_eq(xvt_export_ctf(&x, path), 0);
	strcat(path, "/g1/kernel/metadata");
	ck_assert_int_eq(has_text(path, "events_discarded_are = \"at least\""), !_i);
}
END_TEST

/* Exact where jansson has an integer; else as exact as a real number is. */
static void compare_number(const char *name, json_t *j, bool is_signed, uint64_t want)
{
	double real = is_signed ? (double)(int64_t)want : (double)want;

	ck_assert_msg(json_is_number(j), "%s is no number", name);
	if (json_is_integer(j))
		ck_assert_msg((uint64_t)json_integer_value(j) == want, "%s", name);
	else
		ck_assert_msg(json_real_value(j) == real, "%s", name);
}

static void compare_json(const struct synth_field *f, json_t *j)
{
	json_t *item;
	size_t i;

	ck_assert_msg(j, "no field %s", f->name);
	if (f->kind == SYNTH_INT) {
		compare_number(f->name, j, true, (uint64_t)f->i);
	} else if (f->kind == SYNTH_UINT) {
		compare_number(f->name, j, false, f->u);
	} else if (f->kind == SYNTH_TEXT) {
		ck_assert_str_eq(json_string_value(j), f->text);
	} else {
		ck_assert_uint_eq(json_array_size(j), f->count);
		json_array_foreach(j, i, item)
			compare_number(f->name, item, f->kind == SYNTH_INTS, f->list[i]);
	}
}

/* jansson refuses integers above 2^63; as real numbers they are close enough to compare. */
static json_t *load_line(const char *line)
{
	json_error_t error;
	json_t *j = json_loads(line, JSON_REJECT_DUPLICATES, &error);

	if (!j)
		j = json_loads(line, JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL, &error);
	ck_assert_msg(j, "%s: %s", error.text, line);
	return j;
}

START_TEST(jsonl_shows_every_field)
{
	size_t room = 0, n = 0, exact = 0;
	char *line = NULL;
	FILE *f;

	export_to("events.jsonl", xvt_export_jsonl);
	f = fopen(scratch_path("events.jsonl"), "r");
	ck_assert_ptr_nonnull(f);
	while (next_line(f, &line, &room)) {
		const struct synth_event *e = &made.events[n];
		json_t *j = load_line(line), *fields = json_object_get(j, "fields");

		ck_assert_uint_lt(n, made.count);
		ck_assert_str_eq(json_string_value(json_object_get(j, "vm")), e->vm);
		ck_assert_str_eq(json_string_value(json_object_get(j, "event")), e->name);
		ck_assert_str_eq(json_string_value(json_object_get(j, "system")), e->system);
		ck_assert_uint_eq(json_object_size(fields), e->field_count);
		compare_number("ts_ns", json_object_get(j, "ts_ns"), false, e->host_ns);
		exact += json_is_integer(json_object_get(j, "ts_ns"));
		for (uint32_t i = 0; i < e->field_count; i++)
			compare_json(&e->fields[i], json_object_get(fields, e->fields[i].name));
		json_decref(j);
		n++;
	}
	ck_assert_uint_eq(n, made.count);
	ck_assert_uint_gt(exact, n / 3);
	fclose(f);
	free(line);
}
END_TEST

static bool have_babeltrace(void)
{
	return system("babeltrace2 --version >/dev/null 2>&1") == 0;
}

START_TEST(ctf_shows_every_field_to_babeltrace2)
{
	const char *errors = scratch_path("bt.err");
	char *line = NULL, command[1024];
	size_t room = 0, n = 0;
	struct text want;
	FILE *f;

	if (!have_babeltrace()) {
		printf("skip - CTF: babeltrace2 is not installed\n");
		return;
	}
	ck_assert_int_eq(xvt_export_ctf(&x, scratch_path("ctf")), 0);
	snprintf(command, sizeof(command), "babeltrace2 --clock-cycles --no-delta %s 2>%s",
		 scratch_path("ctf"), errors);
	f = popen(command, "r");
	ck_assert_ptr_nonnull(f);
	while (next_line(f, &line, &room)) {
		ck_assert_uint_lt(n, made.count);
		expect_babeltrace(&want, &made.events[n]);
		ck_assert_str_eq(line, want.buf);
		n++;
	}
	ck_assert_int_eq(pclose(f), 0);
	ck_assert_uint_eq(n, made.count);
	/* One loss was recorded, and babeltrace2 tells that: exactly so many, and nothing else. */
	f = fopen(errors, "r");
	ck_assert_ptr_nonnull(f);
	ck_assert(next_line(f, &line, &room));
	ck_assert_msg(strstr(line, "Tracer discarded 15 events between"), "%s", line);
	ck_assert_msg(!next_line(f, &line, &room), "%s", line);
	fclose(f);
	free(line);
}
END_TEST

/* Ends the reading at its `most`th record. */
static unsigned int watched, most;
static const volatile int always = 1;

static bool watch(void *arg, uint64_t ns)
{
	(void)arg;
	(void)ns;
	return ++watched <= most;
}

/* The events that babeltrace2 finds in a CTF trace; each is compared. */
static size_t ctf_events(const char *dir)
{
	char *line = NULL, command[1024];
	struct text want;
	size_t room = 0, n = 0;
	FILE *f;

	snprintf(command, sizeof(command), "babeltrace2 --clock-cycles --no-delta %s 2>%s", dir,
		 scratch_path("bt.err"));
	f = popen(command, "r");
	ck_assert_ptr_nonnull(f);
	for (; next_line(f, &line, &room); n++) {
		ck_assert_uint_lt(n, made.count);
		expect_babeltrace(&want, &made.events[n]);
		ck_assert_str_eq(line, want.buf);
	}
	ck_assert_int_eq(pclose(f), 0);
	free(line);
	return n;
}

static void open_again(void)
{
	xvt_select_close(&plain, &x, true);
	x = (struct xvt_export){ .raw = true };
	ck_assert_int_eq(xvt_select_open(&plain, scratch_path("export.xvt"), &x), 0);
	watched = 0;
	ck_assert_int_eq(xvtrace_reader_watch(x.reader, &always, watch, NULL), 0);
}

START_TEST(an_export_that_is_ended_early_is_whole_up_to_there)
{
	const struct xvtrace_event *ev;
	char *line = NULL, dir[32];
	size_t room = 0, n = 0, want = 0;
	json_t *json;
	FILE *f;

	most = (unsigned int)_i;
	open_again();
	while (xvt_export_next(&x, &ev))
		want += ev->kind == XVTRACE_EVENT;
	ck_assert_uint_le(want, most);
	open_again();
	if (have_babeltrace()) {
		snprintf(dir, sizeof(dir), "ctf-cut-%d", _i);
		ck_assert_int_eq(xvt_export_ctf(&x, scratch_path(dir)), 0);
		ck_assert_uint_eq(want ? ctf_events(scratch_path(dir)) : 0, want);
	}
	open_again();
	ck_assert_int_eq(xvt_out_open(&out, scratch_path("cut.jsonl")), 0);
	ck_assert_int_eq(xvt_export_jsonl(&x, &out), 0);
	ck_assert_int_eq(xvt_out_close(&out), 0);
	f = fopen(scratch_path("cut.jsonl"), "r");
	ck_assert_ptr_nonnull(f);
	for (; next_line(f, &line, &room); n++) {
		json = json_loads(line, JSON_DECODE_INT_AS_REAL, NULL);
		ck_assert_ptr_nonnull(json);
		json_decref(json);
	}
	ck_assert_uint_eq(n, want);
	fclose(f);
	free(line);
}
END_TEST

/* A trace of plain numbers: time gaps around what 27 and 32 bits hold, and 80 classes. */
static void make_gaps(const char *path, uint64_t *ns, size_t count)
{
	static const struct xvt_file_info info = { .mult = 1u << 30, .shift = 30 };
	static const struct xvt_vm_info vm = { .name = "a b/../c", .clock_hz = 1000000000 };
	static const struct xvt_ring_info ring = { .cpu = 7, .type = XVT_RING_THREAD };
	static const uint64_t gaps[] = { 0,
					 1,
					 (1u << 27) - 1,
					 1u << 27,
					 (1u << 27) + 1,
					 1ull << 32,
					 (1ull << 32) + 5,
					 (1ull << 40) + 1,
					 0,
					 3 };
	struct xvt_trace_writer *w;
	struct synth_sink s;
	uint64_t now = 7;

	synth_sink_init(&s);
	ck_assert_int_eq(xvt_trace_writer_new(&w, &s.sink, &info), 0);
	ck_assert_int_eq(xvt_trace_put(w, XVT_CHUNK_VM, &vm, sizeof(vm), NULL, 0), 0);
	ck_assert_int_eq(xvt_trace_put(w, XVT_CHUNK_RING, &ring, sizeof(ring), NULL, 0), 0);
	for (size_t i = 0; i < count; i++) {
		uint64_t payload[64] = { i };
		struct xvt_event_hdr h = { .id = (uint16_t)(XVT_ID_USER + i * 7 % 80), .len = 512 };

		now += gaps[i % 10];
		ns[i] = h.host_ns = now;
		ck_assert_int_eq(xvt_trace_event(w, &h, payload), 0);
	}
	ck_assert_int_eq(xvt_trace_writer_finish(w), 0);
	synth_sink_save(&s, path);
	synth_sink_fini(&s);
}

START_TEST(ctf_times_survive_gaps_and_many_classes)
{
	static uint64_t ns[1000];
	const char *path = scratch_path("gaps.xvt");
	char *line = NULL, command[1024], want[128];
	struct xvt_export gaps = { 0 };
	size_t room = 0, n = 0;
	FILE *f;

	if (!have_babeltrace())
		return;
	make_gaps(path, ns, 1000);
	ck_assert_int_eq(xvt_select_open(&plain, path, &gaps), 0);
	ck_assert_int_eq(xvt_export_ctf(&gaps, scratch_path("ctf2")), 0);
	xvt_select_close(&plain, &gaps, false);
	snprintf(command, sizeof(command), "babeltrace2 --clock-cycles --no-delta %s 2>&1",
		 scratch_path("ctf2"));
	f = popen(command, "r");
	ck_assert_ptr_nonnull(f);
	while (next_line(f, &line, &room)) {
		ck_assert_uint_lt(n, 1000);
		snprintf(want, sizeof(want),
			 "[%020" PRIu64 "] a_b/../c xvt:user%zu: { cpu_id = 7 }", ns[n],
			 1024 + n * 7 % 80);
		ck_assert_msg(!strncmp(line, want, strlen(want)), "%.150s\nwanted %s", line, want);
		n++;
	}
	ck_assert_int_eq(pclose(f), 0);
	ck_assert_uint_eq(n, 1000);
	free(line);
}
END_TEST

/* Number of events and losses of a choice. */
static size_t chosen(const struct xvt_select *select)
{
	const struct xvtrace_event *ev;
	struct xvt_export some = { 0 };
	size_t n = 0;

	ck_assert_int_eq(xvt_select_open(select, scratch_path("export.xvt"), &some), 0);
	while (xvt_export_next(&some, &ev) > 0)
		n++;
	ck_assert_int_eq(xvt_select_close(select, &some, false), 0);
	return n;
}

START_TEST(events_are_chosen_by_vm_event_and_limit)
{
	struct xvt_select select = { .quiet = true,
				     .vm = { { "g2" }, 1 },
				     .event = { { "test:n*" }, 1 } };
	size_t want = 0;

	for (size_t i = 0; i < made.count; i++)
		want += !strcmp(made.events[i].vm, "g2") &&
			!strcmp(made.events[i].system, "test") && made.events[i].name[0] == 'n';
	ck_assert_uint_gt(want, 10);
	ck_assert_uint_eq(chosen(&select), want);
	select.limit = 7;
	ck_assert_uint_eq(chosen(&select), 7);
}
END_TEST

START_TEST(names_of_tasks_are_learned_from_switches)
{
	struct xvt_decoders ds;
	struct xvt_cursor c;
	struct xvt_trace *t;
	struct xvt_event ev;
	struct xvt_error why;

	ck_assert_int_eq(xvt_trace_open(&t, scratch_path("export.xvt"), &why), 0);
	ck_assert_int_eq(xvt_decoders_new(&ds, t), 0);
	ck_assert_int_eq(xvt_cursor_init(&c, t, 0, UINT64_MAX), 0);
	while (xvt_cursor_next(&c, &ev) > 0)
		ck_assert_ptr_nonnull(xvt_classify(xvt_decoder_of(&ds, &ev), &ev));
	ck_assert_str_eq(xvt_comm(ds.vm[0], 0), "<idle>");
	ck_assert_str_eq(xvt_comm(ds.vm[0], 100), "bash");
	ck_assert_str_eq(xvt_comm(ds.vm[0], 200), "kworker/0:1");
	ck_assert_str_eq(xvt_comm(ds.vm[0], 400), "from-meta");
	ck_assert_ptr_null(xvt_comm(ds.vm[0], 12345));
	xvt_cursor_fini(&c);
	xvt_decoders_fini(&ds);
	xvt_trace_close(t);
}
END_TEST

START_TEST(symbols_are_found)
{
	struct xvt_decoders ds;
	struct xvt_trace *t;
	const char *module;
	uint64_t base = 0;
	struct xvt_error why;

	ck_assert_int_eq(xvt_trace_open(&t, scratch_path("export.xvt"), &why), 0);
	ck_assert_int_eq(xvt_decoders_new(&ds, t), 0);
	ck_assert_str_eq(xvt_ksym(ds.vm[0], 0, 0xffffffff81000803, &base, &module), "helper");
	ck_assert_uint_eq(base, 0xffffffff81000800);
	ck_assert_str_eq(xvt_ksym(ds.vm[0], 0, 0xffffffff810007ff, &base, &module), "_text");
	ck_assert_ptr_null(xvt_ksym(ds.vm[0], 0, 0xffffffff80ffffff, &base, &module));
	ck_assert_ptr_null(xvt_ksym(ds.vm[0], 0, 5, &base, &module));
	xvt_decoders_fini(&ds);
	xvt_trace_close(t);
}
END_TEST

Suite *export_suite(void)
{
	Suite *s = suite_create("export");
	TCase *t = tcase_create("export");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 60);
	tcase_add_loop_test(t, report_shows_every_field, 0, 2);
	tcase_add_test(t, jsonl_shows_every_field);
	tcase_add_test(t, ctf_shows_every_field_to_babeltrace2);
	tcase_add_test(t, ctf_times_survive_gaps_and_many_classes);
	for (int at = 0; at < EVENTS; at = at * 3 + 1)
		tcase_add_loop_test(t, an_export_that_is_ended_early_is_whole_up_to_there, at,
				    at + 1);
	tcase_add_loop_test(t, report_shows_what_the_recorder_dropped, 0, 2);
	tcase_add_loop_test(t, losses_that_were_not_counted_are_marked, 0, 2);
	tcase_add_test(t, events_are_chosen_by_vm_event_and_limit);
	tcase_add_test(t, names_of_tasks_are_learned_from_switches);
	tcase_add_test(t, symbols_are_found);
	suite_add_tcase(s, t);
	return s;
}
