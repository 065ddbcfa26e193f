// SPDX-License-Identifier: GPL-2.0
/*
 * xvt-bad-trace.c - writes traces that are whole, with right checksums, and meant to hurt readers:
 * to see that reading stays within bounds.
 *   xvt-bad-trace PLAN MIB FILE.xvt [zstd]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/write.h"

static void must(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "xvt-bad-trace: %s\n", what);
	exit(1);
}

struct plan {
	struct xvt_sink sink;
	FILE *file;
	uint64_t written;
	uint64_t most; /* bytes that the trace is to have, about */
	struct xvt_trace_writer *w;
	uint64_t ns;
};

static int sink_write(struct xvt_sink *sink, const void *bytes, size_t len)
{
	struct plan *p = (struct plan *)sink;

	p->written += len;
	return fwrite(bytes, 1, len, p->file) == len ? 0 : -1;
}

static bool room(const struct plan *p)
{
	return p->written < p->most;
}

/* -- chunks ------------------------------------------------------------------------- */

static void put(struct plan *p, uint16_t type, const void *head, size_t head_len, const void *body,
		size_t body_len)
{
	must(!xvt_trace_put(p->w, type, head, head_len, body, body_len), "chunk");
}

static void put_vm(struct plan *p, uint32_t vm, const char *name)
{
	struct xvt_vm_info info = { .vm = vm, .clock_hz = 1000000000 };

	memcpy(info.name, name, strnlen(name, sizeof(info.name)));
	put(p, XVT_CHUNK_VM, &info, sizeof(info), NULL, 0);
}

static void put_ring(struct plan *p, uint32_t ring, uint32_t vm)
{
	struct xvt_ring_info info = { .ring = ring, .vm = vm, .cpu = ring, .index = ring };

	put(p, XVT_CHUNK_RING, &info, sizeof(info), NULL, 0);
}

static void put_event(struct plan *p, uint32_t ring, uint16_t id, const void *payload, size_t len)
{
	struct xvt_event_hdr h = { .host_ns = p->ns,
				   .guest_clock = p->ns,
				   .ring_flags = ring,
				   .id = id,
				   .len = (uint16_t)len };

	p->ns++;
	must(!xvt_trace_event(p->w, &h, payload), "event");
}

/* -- plans -------------------------------------------------------------------------- */

/* Names and notes that end lines, drive terminals and turn text around. */
static void plan_text(struct plan *p)
{
	static const char bad[] = "a\nb\x1b[2Jc\xc2\x9b"
				  "d\xe2\x80\xae"
				  "e\x9b"
				  "f";
	struct xvt_note note = { .vm = UINT32_MAX, .ring = UINT32_MAX, .level = 1 };

	put_vm(p, 0, bad);
	put_vm(p, 1, "honest");
	put_ring(p, 0, 0);
	put_ring(p, 1, 1);
	put(p, XVT_CHUNK_NOTE, &note, sizeof(note), bad, sizeof(bad) - 1);
	put_event(p, 0, XVT_ID_TEXT, bad, sizeof(bad) - 1);
	put_event(p, 1, XVT_ID_TEXT, bad, sizeof(bad) - 1);
}

/* -- plans: formats ----------------------------------------------------------------- */

#define COMMON                                                                         \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"         \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"         \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n" \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
#define FIELD_A "\tfield:u64 a;\toffset:8;\tsize:8;\tsigned:0;\n"

struct record {
	uint16_t type;
	uint8_t flags;
	uint8_t preempt_count;
	int32_t pid;
	uint64_t a;
};

static char text[256 << 10]; /* of a format */

static void put_meta(struct plan *p, uint32_t vm, uint32_t type, uint32_t id, uint32_t generation,
		     const void *body, size_t len)
{
	struct xvt_meta_info info = { vm, type, id, generation };

	put(p, XVT_CHUNK_META, &info, sizeof(info), body, len);
}

/* "sys:ev" of this type, these fields and this print fmt. */
static void put_format(struct plan *p, uint32_t vm, unsigned int type, uint32_t generation,
		       const char *fields, const char *print_fmt)
{
	static char whole[sizeof(text) + 8192];
	int n = snprintf(whole, sizeof(whole),
			 "sys%cev%cname: ev\nID: %u\nformat:\n" COMMON "%s\nprint fmt: %s\n", 0, 0,
			 type, fields, print_fmt);

	must(n > 0 && (size_t)n < sizeof(whole), "format");
	put_meta(p, vm, XVT_META_FORMAT, type, generation, whole, (size_t)n);
}

/* text = head, then `part` as often as it fits, then tail */
static const char *repeat(const char *head, const char *part, size_t most, const char *tail)
{
	size_t n = (size_t)sprintf(text, "%s", head), len = strlen(part);

	for (; n + len < most; n += len)
		memcpy(text + n, part, len);
	strcpy(text + n, tail);
	return text;
}

static void put_guests(struct plan *p)
{
	put_vm(p, 0, "hostile");
	put_vm(p, 1, "honest");
	put_ring(p, 0, 0);
	put_ring(p, 1, 1);
	put_format(p, 1, 77, 1, FIELD_A, "\"a=%llu\", REC->a");
}

static void put_record(struct plan *p, uint32_t ring, uint16_t type, uint64_t a)
{
	struct record r = { .type = type, .pid = 5, .a = a };

	put_event(p, ring, XVT_ID_FTRACE, &r, sizeof(r));
}

/* A format of these names, which may be any bytes. */
static void put_named(struct plan *p, unsigned int type, const char *system, const char *event,
		      const char *field)
{
	char whole[4096];
	int n = snprintf(whole, sizeof(whole),
			 "%s%c%s%cname: %s\nID: %u\nformat:\n" COMMON
			 "\tfield:u64 %s;\toffset:8;\tsize:8;\tsigned:0;\n\n"
			 "print fmt: \"%%pS\", REC->%s\n",
			 system, 0, event, 0, event, type, field, field);

	must(n > 0 && (size_t)n < sizeof(whole), "format");
	put_meta(p, 0, XVT_META_FORMAT, type, 1, whole, (size_t)n);
}

/* Names of machines, tasks, systems, events, fields and symbols that lead out of a folder, end
 * texts and lines, or are long. */
static void plan_names(struct plan *p)
{
	static const char *const names[] = {
		"../../out", "/tmp/xvt-out", "a\"b\\c", "a\nb\tc",
		"a; } }; b", "\x1b[2J\x9b",  "",	".",
	};
	static const char ksyms[] = "800 T tick_sched_timer\n1000 T ../../sym\"\\\n"
				    "2000 T a\x1b[2Jb\n3000 T ";
	const size_t count = sizeof(names) / sizeof(names[0]);
	char symbols[1024];

	for (uint32_t i = 0; i < count; i++) {
		put_vm(p, i, names[i]);
		put_ring(p, i, i);
		put_meta(p, 0, XVT_META_COMM, 100 + i, 1, names[i], strlen(names[i]));
		put_named(p, 200 + i, names[i], "event", "a");
		put_named(p, 300 + i, "system", names[i], "a");
		put_named(p, 400 + i, "system", "field", names[i]);
	}
	put_named(p, 500, repeat("", "s", 300, ""), "event", "a");
	put_named(p, 501, "system", repeat("", "e", 300, ""), "a");
	put_named(p, 502, "system", "long", repeat("", "f", 300, ""));
	put_meta(p, 0, XVT_META_COMM, 5, 1, text, 300);
	put_meta(p, 0, XVT_META_KSYMS, 0, 1, symbols,
		 (size_t)snprintf(symbols, sizeof(symbols), "%s%.300s\n", ksyms, text));
	for (uint32_t i = 0; i < count; i++) {
		for (uint16_t type = 200; type < 500; type = (uint16_t)(type + 100))
			put_record(p, 0, (uint16_t)(type + i), 0x1000 * (1 + i % 3));
		put_event(p, i, XVT_ID_TEXT, names[i], strlen(names[i]));
	}
	for (uint16_t type = 500; type < 503; type++)
		put_record(p, 0, type, 0x3000);
	put_named(p, 503, "timer", "hrtimer_expire_entry", "function");
	put_record(p, 0, 503, 0x800);
	put_named(p, 504, "system", "text", "xvt_text");
	put_record(p, 0, 504, 0x800);
}

static void fill_records(struct plan *p)
{
	put_record(p, 1, 77, 5);
	while (room(p))
		put_record(p, 0, 77, 3);
}

/* Each a text of its own. */
static void plan_generations(struct plan *p)
{
	put_guests(p);
	for (uint32_t g = 1; room(p); g++) {
		char fmt[64];

		snprintf(fmt, sizeof(fmt), "\"%u %%llu\", REC->a", g);
		put_format(p, 0, 77, g, FIELD_A, fmt);
		put_record(p, g % 16 ? 0 : 1, 77, g);
	}
}

/* The record never fits, so each format that there is might be tried. */
static void plan_misfits(struct plan *p)
{
	put_guests(p);
	for (uint32_t g = 1; p->written < p->most / 2; g++) {
		char fields[128];

		snprintf(fields, sizeof(fields),
			 "\tfield:u64 a%u;\toffset:80;\tsize:8;\tsigned:0;\n", g);
		put_format(p, 0, 77, g, fields, "\"x\"");
	}
	fill_records(p);
}

static void plan_symbol(struct plan *p)
{
	put_guests(p);
	put_format(p, 0, 77, 1, FIELD_A,
		   repeat("\"%s\", __print_symbolic(REC->a, { 3, \"", "symbol", 60000, "\" })"));
	fill_records(p);
}

static void plan_flags(struct plan *p)
{
	put_guests(p);
	put_format(p, 0, 77, 1, FIELD_A,
		   repeat("\"%s\", __print_flags(REC->a, \"|\", { 8, \"x\" }", ", { 8, \"x\" }",
			  60000, ")"));
	fill_records(p);
}

static void plan_expression(struct plan *p)
{
	put_guests(p);
	put_format(p, 0, 77, 1, FIELD_A, repeat("\"%d\", REC->a", "+(REC->a)", 8000, ""));
	fill_records(p);
}

static void plan_literals(struct plan *p)
{
	put_guests(p);
	put_format(p, 0, 77, 1, FIELD_A, repeat("", "\"%s\" ", 50000, ", \"a\""));
	fill_records(p);
}

/* Escapes are the longest. */
static void plan_escapes(struct plan *p)
{
	put_guests(p);
	put_format(p, 0, 77, 1, FIELD_A, repeat("\"", "\x01", 60000, "\""));
	fill_records(p);
}

/* Many fields of one byte, and a format for each record. */
static void plan_fields(struct plan *p)
{
	static char fields[64 << 10];

	put_guests(p);
	for (unsigned int type = 100; room(p) && type < 65000; type++) {
		size_t n = 0;

		for (int i = 0; i < 120; i++)
			n += (size_t)sprintf(
				fields + n,
				"\tfield:u8 a_name_that_others_begin_with_as_well_%u_%d;"
				"\toffset:%d;\tsize:1;\tsigned:0;\n",
				type, i, 8 + i % 8);
		put_format(p, 0, type, 1, fields, "\"%d\", no_such_thing");
		put_record(p, 0, (uint16_t)type, type);
	}
}

static void plan_types(struct plan *p)
{
	put_guests(p);
	while (room(p)) {
		put_record(p, 0, (uint16_t)(100 + p->ns % 65000), 1);
		put_event(p, 0, (uint16_t)(XVT_ID_USER + p->ns % 64000), "x", 1);
	}
}

/* All in one place of a table that takes the low bits. */
static void plan_pids(struct plan *p)
{
	put_guests(p);
	for (uint32_t i = 0; room(p); i++)
		put_meta(p, 0, XVT_META_COMM, i << 20, 1, "task", 4);
}

static void plan_symbols(struct plan *p)
{
	static char lines[1 << 20];
	uint64_t addr = 0;

	put_guests(p);
	put_format(p, 0, 77, 1, FIELD_A, "\"%pS %ps\", REC->a, REC->a");
	for (uint32_t g = 1; p->written < p->most / 2; g++) {
		size_t n = 0;

		while (n < sizeof(lines) - 64)
			n += (size_t)sprintf(lines + n, "%llx T a\n", (unsigned long long)++addr);
		put_meta(p, 0, XVT_META_KSYMS, 0, g / 4, lines, n);
		put_record(p, 0, 77, addr);
	}
	fill_records(p);
}

/* Another combination of empty texts in each. */
static void plan_empty_texts(struct plan *p)
{
	static char fields[8192];
	struct {
		uint16_t type;
		uint8_t flags;
		uint8_t preempt_count;
		int32_t pid;
		char v[40];
	} r = { .type = 77 };
	size_t n = 0;

	for (int i = 0; i < 40; i++)
		n += (size_t)sprintf(fields + n,
				     "\tfield:char t%d[1];\toffset:%d;\tsize:1;\tsigned:0;\n", i,
				     8 + i);
	put_vm(p, 0, "hostile");
	put_ring(p, 0, 0);
	put_format(p, 0, 77, 1, fields, "\"x\"");
	for (uint64_t k = 0; room(p); k++) {
		for (int i = 0; i < 40; i++)
			r.v[i] = k >> i & 1 ? 'x' : 0;
		put_event(p, 0, XVT_ID_FTRACE, &r, sizeof(r));
	}
}

/* All dynamic fields are the whole record. */
static void plan_overlap(struct plan *p)
{
	static char fields[32 << 10];
	static uint32_t r[16000] = { 77 };
	size_t n = 0;

	for (int i = 0; i < 120; i++) {
		n += (size_t)sprintf(fields + n,
				     "\tfield:__data_loc char[] t%d;\toffset:%d;\tsize:4;"
				     "\tsigned:0;\n",
				     i, 8 + 4 * i);
		r[2 + i] = 63000u << 16 | 1000;
	}
	memset(r + 200, 'x', sizeof(r) - 800);
	put_vm(p, 0, "hostile");
	put_ring(p, 0, 0);
	put_format(p, 0, 77, 1, fields, "\"%s\", __get_str(t0)");
	while (room(p))
		put_event(p, 0, XVT_ID_FTRACE, r, sizeof(r));
}

/* -- plans: the file ---------------------------------------------------------------- */

static void plan_texts(struct plan *p)
{
	static uint8_t bytes[65000];

	memset(bytes, 1, sizeof(bytes));
	put_guests(p);
	for (uint32_t i = 0; room(p); i++)
		put_event(p, 0,
			  i % 3	  ? XVT_ID_TEXT
			  : i % 2 ? XVT_ID_USER
				  : XVT_ID_U64,
			  bytes, sizeof(bytes));
}

static void plan_machines(struct plan *p)
{
	char name[64];

	for (uint32_t i = 0; i < 4096 && room(p); i++) {
		snprintf(name, sizeof(name), "machine%u", i);
		put_vm(p, i, name);
		put_ring(p, i, i);
	}
	for (uint32_t i = 0; room(p); i++) {
		char fmt[64];

		snprintf(fmt, sizeof(fmt), "\"%u %%llu\", REC->a", i);
		put_format(p, i % 4096, 77 + i / 4096 % 60000, 1, FIELD_A, fmt);
		put_record(p, i % 4096, (uint16_t)(77 + i / 4096 % 60000), i);
	}
}

static void plan_rings(struct plan *p)
{
	put_vm(p, 0, "hostile");
	for (uint32_t i = 0; room(p) && i <= XVT_EVENT_RING_MASK; i++) {
		put_ring(p, i, 0);
		put_event(p, i, XVT_ID_TEXT, "x", 1);
	}
}

static void plan_chunks(struct plan *p)
{
	put_guests(p);
	while (room(p))
		put(p, 999, NULL, 0, NULL, 0);
}

static void plan_timebases(struct plan *p)
{
	static struct xvt_timebase v[4096];
	uint64_t clock = 1;

	put_guests(p);
	while (room(p)) {
		for (size_t i = 0; i < 4096; i++, clock++)
			v[i] = (struct xvt_timebase){ .base_clock = clock,
						      .base_ns = clock,
						      .mult = 1 };
		put(p, XVT_CHUNK_TIMEBASE, v, sizeof(v), NULL, 0);
	}
}

/* A clock that never holds: each node begins an epoch. */
static void plan_nodes(struct plan *p)
{
	static struct xvt_clock_node v[4096];
	uint32_t epoch = 0;

	put_guests(p);
	put_record(p, 0, 77, 1);
	while (room(p)) {
		for (size_t i = 0; i < 4096; i++, epoch++, p->ns++)
			v[i] = (struct xvt_clock_node){ .epoch = epoch,
							.source = 1,
							.flags = XVT_NODE_F_FIRST,
							.guest = p->ns,
							.host_ns = p->ns };
		put(p, XVT_CHUNK_NODE, v, sizeof(v), NULL, 0);
		put_record(p, 0, 77, epoch);
	}
}

static void plan_samples(struct plan *p)
{
	static struct xvt_clock_sample v[4096];

	put_guests(p);
	put_record(p, 0, 77, 1);
	while (room(p)) {
		for (size_t i = 0; i < 4096; i++, p->ns++)
			v[i] = (struct xvt_clock_sample){ .source = 1,
							  .guest = p->ns * 7 % 1000003,
							  .host_clock_lo = p->ns,
							  .host_clock_hi = p->ns + 5 };
		put(p, XVT_CHUNK_SAMPLES, v, sizeof(v), NULL, 0);
	}
	put_record(p, 0, 77, 1);
}

static void plan_marks(struct plan *p)
{
	static struct xvt_mark_seen v[4096];

	put_guests(p);
	while (room(p)) {
		for (size_t i = 0; i < 4096; i++)
			v[i] = (struct xvt_mark_seen){ .number = i % 7, .host_clock_after = 5 };
		put(p, XVT_CHUNK_MARKS, v, sizeof(v), NULL, 0);
		put_record(p, 0, 77, 1);
	}
}

static void plan_runs(struct plan *p)
{
	static struct xvt_run_span v[4096];

	put_guests(p);
	while (room(p)) {
		for (size_t i = 0; i < 4096; i++, p->ns += 2)
			v[i] = (struct xvt_run_span){ .vcpu = (uint32_t)i % 3,
						      .enter_clock = 4000000000 - p->ns,
						      .exit_clock = 4000000001 - p->ns };
		put(p, XVT_CHUNK_RUNS, v, sizeof(v), NULL, 0);
		put_record(p, 0, 77, 1);
	}
}

static void plan_notes(struct plan *p)
{
	struct xvt_note note = { .vm = 0, .ring = UINT32_MAX, .level = 2 };

	put_guests(p);
	while (room(p))
		put(p, XVT_CHUNK_NOTE, &note, sizeof(note), "x", 1);
}

/* The late lane, the last first. */
static void plan_late(struct plan *p)
{
	uint64_t ns = p->ns + (1ull << 40);

	put_guests(p);
	while (room(p)) {
		struct xvt_event_hdr h = {
			.host_ns = ns--, .ring_flags = XVT_EVENT_F_LATE, .id = XVT_ID_TEXT, .len = 1
		};

		must(!xvt_trace_event(p->w, &h, "x"), "event");
	}
}

/* Requests and answers that find no partner. */
static void plan_pings(struct plan *p)
{
	put_guests(p);
	for (uint32_t i = 0; room(p); i++) {
		char said[64];
		int n = snprintf(said, sizeof(said), "xvt-p%cng %s %u", i % 2 ? 'i' : 'o',
				 i % 4 < 2 ? "send" : "recv", i / 8);

		put_event(p, i & 1, XVT_ID_TEXT, said, (size_t)n);
	}
}

/* -- plans: RAW and ORDER ----------------------------------------------------------- */

/* A RAW chunk of one piece: so many words of zeros, then so many records of one word. Returns its
 * sequence number. */
static uint64_t put_raw(struct plan *p, size_t words, size_t records)
{
	static uint64_t piece[8 << 20];
	const struct xvt_raw_piece head = { .len = (uint32_t)(8 * (words + records)) };
	uint64_t seq;

	must(words + records <= sizeof(piece) / sizeof(piece[0]) - 4, "piece");
	memset(piece, 0, 8 * words);
	for (size_t i = words; i < words + records; i++)
		piece[i] = 1ull << XVT_H_LEN8_SHIFT | (uint64_t)XVT_ID_U64 << XVT_H_ID_SHIFT |
			   XVT_H_DONE | XVT_H_SAME;
	must(!xvt_trace_flush(p->w), "flush");
	seq = xvt_trace_next_seq(p->w);
	put(p, XVT_CHUNK_RAW, &head, sizeof(head), piece, head.len);
	return seq;
}

/* Where the sources' records begin in their RAW chunks. */
static uint32_t records_at = sizeof(struct xvt_raw_piece);

/* An ORDER chunk of a source of each of these RAW chunks, of `count` events of ring 0 each, in
 * turn. */
static void put_order(struct plan *p, const uint64_t *raws, uint32_t sources, uint32_t count)
{
	static uint8_t bytes[48 << 20];
	const struct xvt_order_line line = { .host_ns = p->ns };
	struct xvt_order_hdr h = { .first_ns = p->ns,
				   .last_ns = p->ns,
				   .count = sources * count,
				   .nr_raws = sources,
				   .nr_lines = 1,
				   .nr_sources = sources,
				   .width = sources > 1 ? 32 : 0 };
	uint8_t *at = bytes;

	memcpy(at, &h, sizeof(h));
	at += sizeof(h);
	memcpy(at, raws, sources * sizeof(*raws));
	at += sources * sizeof(*raws);
	memcpy(at, &line, sizeof(line));
	at += sizeof(line);
	for (uint32_t i = 0; i < sources; i++, at += sizeof(struct xvt_order_source)) {
		const struct xvt_order_source s = {
			.count = count, .raw = i, .at = records_at, .ts_bits = 32
		};

		memcpy(at, &s, sizeof(s));
	}
	for (uint32_t i = 0; sources > 1 && i < sources * count; i++, at += sizeof(i)) {
		const uint32_t number = i % sources;

		memcpy(at, &number, sizeof(number));
	}
	memset(at, 0, 16);
	at += 16 - (sources * count * (sources > 1) % 2) * 4;
	at += (size_t) - (at - bytes) & 7;
	put(p, XVT_CHUNK_ORDER, bytes, (size_t)(at - bytes), NULL, 0);
}

#define MANY 600u /* more than are held */

/* Many short chunks of which each names other RAW chunks, and none of them is held any more. */
static void plan_reload(struct plan *p)
{
	static uint64_t raws[MANY];
	uint32_t n = 0, i;

	put_guests(p);
	for (; n < MANY && p->written < p->most / 2; n++)
		raws[n] = put_raw(p, 0, n % 2 ? 4 : 65536);
	for (i = 0; room(p); i = (i + 7) % n)
		put_order(p, &raws[i], 1, 1);
}

/* In turn, so that one load for each event would be needed. */
static void plan_in_turn(struct plan *p)
{
	static uint64_t raws[MANY];
	uint32_t n = 0;

	put_guests(p);
	for (; n < MANY && p->written < p->most / 2; n++)
		raws[n] = put_raw(p, 0, 4096);
	while (room(p))
		put_order(p, raws, n, 4);
}

/* All of them the same records. */
static void plan_again(struct plan *p)
{
	uint64_t raw;

	put_guests(p);
	raw = put_raw(p, 0, 65536);
	while (room(p))
		put_order(p, &raw, 1, 60000);
}

/* Zeros are passed over before each event. */
static void plan_zeros(struct plan *p)
{
	uint64_t raw;

	put_guests(p);
	raw = put_raw(p, p->most > 1 << 26 ? 7 << 20 : 100000, 1);
	while (room(p))
		put_order(p, &raw, 1, 1);
}

/* Events of a chunk that is not there take no space at all. */
static void plan_nowhere(struct plan *p)
{
	const uint64_t raw = UINT64_MAX;

	put_guests(p);
	while (room(p))
		put_order(p, &raw, 1, XVT_ORDER_COUNT_MAX);
}

/* Tables as large as can be. */
static void plan_sources(struct plan *p)
{
	static uint64_t raws[300000];
	uint64_t raw;

	put_guests(p);
	raw = put_raw(p, 0, 4);
	for (size_t i = 0; i < 300000; i++)
		raws[i] = raw;
	while (room(p))
		put_order(p, raws, 300000, 1);
}

/* A record behind pieces without a byte, which a reader that looks for its piece walks over. */
static void plan_pieces(struct plan *p)
{
	static uint64_t words[6 << 20];
	const size_t n = p->most > 1 << 26 ? 5 << 20 : 64 << 10; /* words of the empty pieces */
	const struct xvt_raw_piece last = { .len = 8 };
	uint64_t raw;

	put_guests(p);
	memcpy(words + n, &last, sizeof(last));
	words[n + 2] = 1ull << XVT_H_LEN8_SHIFT | (uint64_t)XVT_ID_U64 << XVT_H_ID_SHIFT |
		       XVT_H_DONE | XVT_H_SAME;
	must(!xvt_trace_flush(p->w), "flush");
	raw = xvt_trace_next_seq(p->w);
	put(p, XVT_CHUNK_RAW, words, 8 * (n + 3), NULL, 0);
	records_at = (uint32_t)(8 * (n + 2));
	while (room(p))
		put_order(p, &raw, 1, 1);
}

static const struct {
	const char *name;
	void (*make)(struct plan *p);
} plans[] = {
	{ "text", plan_text },
	{ "names", plan_names },
	{ "generations", plan_generations },
	{ "misfits", plan_misfits },
	{ "symbol", plan_symbol },
	{ "flags", plan_flags },
	{ "expression", plan_expression },
	{ "literals", plan_literals },
	{ "escapes", plan_escapes },
	{ "fields", plan_fields },
	{ "types", plan_types },
	{ "pids", plan_pids },
	{ "symbols", plan_symbols },
	{ "empty-texts", plan_empty_texts },
	{ "overlap", plan_overlap },
	{ "texts", plan_texts },
	{ "machines", plan_machines },
	{ "rings", plan_rings },
	{ "chunks", plan_chunks },
	{ "timebases", plan_timebases },
	{ "nodes", plan_nodes },
	{ "samples", plan_samples },
	{ "marks", plan_marks },
	{ "runs", plan_runs },
	{ "notes", plan_notes },
	{ "late", plan_late },
	{ "pings", plan_pings },
	{ "reload", plan_reload },
	{ "in-turn", plan_in_turn },
	{ "again", plan_again },
	{ "zeros", plan_zeros },
	{ "nowhere", plan_nowhere },
	{ "sources", plan_sources },
	{ "pieces", plan_pieces },
};

#define PLANS (sizeof(plans) / sizeof(plans[0]))

static void make(struct plan *p, const char *name)
{
	for (size_t i = 0; i < PLANS; i++) {
		if (strcmp(plans[i].name, name) != 0)
			continue;
		plans[i].make(p);
		return;
	}
	must(false, "no such plan");
}

int main(int argc, char **argv)
{
	static const struct xvt_file_info info = {
		.uuid = { 0xba, 0xd, 1, 2, 3, 4, 5, 0x45, 6,
			  0x87 }, /* the same bytes at each run */
		.mult = 1,
		.host_clock_id = XVT_CLOCK_TSC,
	};
	struct plan p = { .sink.write = sink_write, .ns = 1000000000 };

	if (argc < 4) {
		fprintf(stderr, "usage: xvt-bad-trace PLAN MIB FILE.xvt [zstd]\nplans:");
		for (size_t i = 0; i < PLANS; i++)
			fprintf(stderr, " %s", plans[i].name);
		fprintf(stderr, "\n");
		return 2;
	}
	p.most = strtoull(argv[2], NULL, 0) << 20;
	p.file = fopen(argv[3], "wb");
	must(p.file, argv[3]);
	must(!xvt_trace_writer_new(&p.w, &p.sink, &info), "FILE");
	must(argc < 5 || !xvt_trace_compress(p.w, 3), "zstd");
	make(&p, argv[1]);
	must(!xvt_trace_writer_finish(p.w), "END");
	must(!fclose(p.file), argv[3]);
	return 0;
}
