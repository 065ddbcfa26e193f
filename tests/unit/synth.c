// SPDX-License-Identifier: GPL-2.0
/* synth.c - see synth.h. */
#include "synth.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/crc32c.h"

#define CLOCK_HZ 2500000000ull

static void must(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "synth: %s\n", what);
	abort();
}

static int sink_write(struct xvt_sink *sink, const void *bytes, size_t len)
{
	struct synth_sink *s = (struct synth_sink *)sink;
	const struct xvt_chunk_hdr *h = bytes;

	s->calls++;
	if (len < sizeof(*h) || h->magic != XVT_CHUNK_MAGIC ||
	    len != sizeof(*h) + ((h->len + 7) & ~7u))
		s->torn++;
	if (s->len + len > s->fail_after)
		return -ENOSPC;
	while (s->len + len > s->room) {
		s->room = s->room ? s->room * 2 : 4096;
		s->bytes = realloc(s->bytes, s->room);
		must(s->bytes, "no memory");
	}
	memcpy(s->bytes + s->len, bytes, len);
	s->len += len;
	return 0;
}

void synth_sink_init(struct synth_sink *s)
{
	memset(s, 0, sizeof(*s));
	s->sink.write = sink_write;
	s->fail_after = SIZE_MAX;
}

void synth_sink_fini(struct synth_sink *s)
{
	free(s->bytes);
	s->bytes = NULL;
}

void synth_sink_save(const struct synth_sink *s, const char *path)
{
	const char *c;
	FILE *f;

	/* Not what a buffer held that no path was written to. */
	for (c = path; *c; c++)
		must(*c > ' ' && *c < 0x7f, "a path that no test means");
	must(c > path, "no path");
	f = fopen(path, "wb");
	must(f && fwrite(s->bytes, 1, s->len, f) == s->len && !fclose(f), path);
}

size_t synth_find_chunk(const struct synth_sink *s, uint16_t type, int which)
{
	struct xvt_chunk_hdr h;
	size_t at;

	for (at = 0; at + sizeof(h) <= s->len; at += sizeof(h) + (h.len + 7) / 8 * 8) {
		memcpy(&h, s->bytes + at, sizeof(h));
		if (h.type == type && !which--)
			return at;
	}
	fprintf(stderr, "synth: there is no such chunk\n");
	abort();
}

void synth_sign_chunk(uint8_t *chunk)
{
	struct xvt_chunk_hdr h;

	memcpy(&h, chunk, sizeof(h));
	h.crc = 0;
	memcpy(chunk, &h, sizeof(h));
	h.crc = xvt_crc32c(0, chunk, sizeof(h) + h.len);
	memcpy(chunk, &h, sizeof(h));
}

/* -- formats ------------------------------------------------------------------------ */

#define COMMON                                                                         \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"         \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"         \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n" \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

#define TYPE_PRINT   5
#define TYPE_SWITCH  314
#define TYPE_NUMBERS 2000
#define TYPE_TEXTS   2001
#define TYPE_LISTS   2002
#define TYPE_NAMES   2003
#define TYPE_EMPTY   2004
#define TYPE_PROBE   0xf001
#define TYPE_UNKNOWN 4711

static const struct {
	const char *system;
	const char *name;
	const char *text;
} formats[] = {
	{ "ftrace", "print",
	  "name: print\nID: 5\nformat:\n" COMMON
	  "\tfield:unsigned long ip;\toffset:8;\tsize:8;\tsigned:0;\n"
	  "\tfield:char buf[];\toffset:16;\tsize:0;\tsigned:0;\n\n"
	  "print fmt: \"%ps: %s\", (void *)REC->ip, REC->buf\n" },
	{ "sched", "sched_switch",
	  "name: sched_switch\nID: 314\nformat:\n" COMMON
	  "\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
	  "\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n"
	  "\tfield:int prev_prio;\toffset:28;\tsize:4;\tsigned:1;\n"
	  "\tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n"
	  "\tfield:char next_comm[16];\toffset:40;\tsize:16;\tsigned:0;\n"
	  "\tfield:pid_t next_pid;\toffset:56;\tsize:4;\tsigned:1;\n"
	  "\tfield:int next_prio;\toffset:60;\tsize:4;\tsigned:1;\n\n"
	  "print fmt: \"prev_comm=%s prev_pid=%d prev_prio=%d prev_state=%s%s ==> next_comm=%s "
	  "next_pid=%d next_prio=%d\", REC->prev_comm, REC->prev_pid, REC->prev_prio, "
	  "(REC->prev_state & ((((0x00000000 | 0x00000001 | 0x00000002 | 0x00000004 | 0x00000008 "
	  "| 0x00000010 | 0x00000020 | 0x00000040) + 1) << 1) - 1)) ? "
	  "__print_flags(REC->prev_state & ((((0x00000000 | 0x00000001 | 0x00000002 | 0x00000004 "
	  "| 0x00000008 | 0x00000010 | 0x00000020 | 0x00000040) + 1) << 1) - 1), \"|\", "
	  "{ 0x00000001, \"S\" }, { 0x00000002, \"D\" }, { 0x00000004, \"T\" }, "
	  "{ 0x00000008, \"t\" }, { 0x00000010, \"X\" }, { 0x00000020, \"Z\" }, "
	  "{ 0x00000040, \"P\" }, { 0x00000080, \"I\" }) : \"R\", REC->prev_state & "
	  "(((0x00000000 | 0x00000001 | 0x00000002 | 0x00000004 | 0x00000008 | 0x00000010 | "
	  "0x00000020 | 0x00000040) + 1) << 1) ? \"+\" : \"\", REC->next_comm, REC->next_pid, "
	  "REC->next_prio\n" },
	{ "test", "numbers",
	  "name: numbers\nID: 2000\nformat:\n" COMMON
	  "\tfield:s8 a;\toffset:8;\tsize:1;\tsigned:1;\n"
	  "\tfield:u8 b;\toffset:9;\tsize:1;\tsigned:0;\n"
	  "\tfield:short c;\toffset:10;\tsize:2;\tsigned:1;\n"
	  "\tfield:u16 d;\toffset:12;\tsize:2;\tsigned:0;\n"
	  "\tfield:int e;\toffset:16;\tsize:4;\tsigned:1;\n"
	  "\tfield:unsigned int f;\toffset:20;\tsize:4;\tsigned:0;\n"
	  "\tfield:s64 g;\toffset:24;\tsize:8;\tsigned:1;\n"
	  "\tfield:unsigned long h;\toffset:32;\tsize:8;\tsigned:0;\n"
	  "\tfield:void * p;\toffset:40;\tsize:8;\tsigned:0;\n"
	  "\tfield:bool q;\toffset:48;\tsize:1;\tsigned:0;\n\n"
	  "print fmt: \"a=%d b=%u c=%d d=%hu e=%08d f=%#x g=%lld h=%lu p=%p q=%s half=%d "
	  "over=%d\", "
	  "REC->a, REC->b, REC->c, REC->d, REC->e, REC->f, REC->g, REC->h, REC->p, "
	  "REC->q ? \"yes\" : \"no\", REC->e / 2, REC->e / REC->q\n" },
	{ "test", "texts",
	  "name: texts\nID: 2001\nformat:\n" COMMON
	  "\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
	  "\tfield:__data_loc char[] one;\toffset:24;\tsize:4;\tsigned:0;\n"
	  "\tfield:__rel_loc char[] two;\toffset:28;\tsize:4;\tsigned:0;\n\n"
	  "print fmt: \"comm=%-8s| one=%s two=%.4s\", REC->comm, __get_str(one), "
	  "__get_rel_str(two)\n" },
	{ "test", "lists",
	  "name: lists\nID: 2002\nformat:\n" COMMON
	  "\tfield:s32 fixed[3];\toffset:8;\tsize:12;\tsigned:1;\n"
	  "\tfield:u8 mac[6];\toffset:20;\tsize:6;\tsigned:0;\n"
	  "\tfield:u16 halves[2];\toffset:26;\tsize:4;\tsigned:0;\n"
	  "\tfield:__data_loc u32[] words;\toffset:32;\tsize:4;\tsigned:0;\n"
	  "\tfield:__data_loc s64[] longs;\toffset:36;\tsize:4;\tsigned:1;\n\n"
	  "print fmt: \"mac=%pM words=%s\", REC->mac, __print_array(__get_dynamic_array(words), "
	  "__get_dynamic_array_len(words) / 4, 4)\n" },
	{ "test", "names",
	  "name: names\nID: 2003\nformat:\n" COMMON
	  "\tfield:int event;\toffset:8;\tsize:4;\tsigned:1;\n"
	  "\tfield:int string;\toffset:12;\tsize:4;\tsigned:1;\n"
	  "\tfield:int struct;\toffset:16;\tsize:4;\tsigned:1;\n"
	  "\tfield:int align;\toffset:20;\tsize:4;\tsigned:1;\n"
	  "\tfield:int _under;\toffset:24;\tsize:4;\tsigned:1;\n"
	  "\tfield:int __two;\toffset:28;\tsize:4;\tsigned:1;\n"
	  "\tfield:int id;\toffset:32;\tsize:4;\tsigned:1;\n"
	  "\tfield:int timestamp;\toffset:36;\tsize:4;\tsigned:1;\n\n"
	  "print fmt: \"%s\", __print_symbolic(REC->event, { 0, \"zero\" }, { 1, \"one\" })\n" },
	{ "test", "empty", "name: empty\nID: 2004\nformat:\n" COMMON "\nprint fmt: \"nothing\"\n" },
	{ "xvt", "probe",
	  "name: probe\nID: 61441\nformat:\n" COMMON
	  "\tfield:unsigned int x;\toffset:8;\tsize:4;\tsigned:0;\n\n"
	  "print fmt: \"x=%u\", REC->x\n" },
};

static void put_meta(struct xvt_trace_writer *w, uint32_t vm, uint32_t type, uint32_t id,
		     const void *p, size_t len)
{
	struct xvt_meta_info info = { .vm = vm, .type = type, .id = id, .generation = 1 };

	must(!xvt_trace_put(w, XVT_CHUNK_META, &info, sizeof(info), p, len), "META");
}

static void put_formats(struct xvt_trace_writer *w, uint32_t vm)
{
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		char buf[4096];
		size_t len = (size_t)snprintf(buf, sizeof(buf), "%s%c%s%c%s", formats[i].system, 0,
					      formats[i].name, 0, formats[i].text);

		must(len < sizeof(buf), "format too long");
		put_meta(w, vm, XVT_META_FORMAT, 0, buf, len);
	}
}

/* -- clocks ------------------------------------------------------------------------- */

struct ring {
	const char *vm_name;
	uint32_t vm;
	uint32_t cpu;
	struct xvt_clock_node nodes[8];
	uint32_t count;
	struct xvt_ring_stats stats;
	uint64_t guest; /* clock of the last event */
	uint32_t epoch;
	uint64_t *times; /* of all records */
	size_t time_count;
};

static const struct xvt_file_info file_info = {
	.host_clock_id = XVT_CLOCK_TSC,
	.mult = 1717986918, /* 2.5 GHz: 0.4 ns a tick */
	.shift = 32,
	.base_clock = 1000000,
	.base_ns = SYNTH_WALL_BASE_NS,
	.realtime_ns = SYNTH_WALL_NS,
	.boottime_ns = 5000000000,
	.wall_error_ns = SYNTH_WALL_ERROR_NS,
	.host_name = "testhost",
};

/* 100 ppm faster for 4 ms, then as before; each begins where the one before it ends. */
static const struct xvt_timebase timebase[] = {
	{
		.base_clock = 2538500000,
		.base_ns = SYNTH_KNEE_NS,
		.mult = 1718158717,
		.shift = 32,
		.realtime_ns = SYNTH_KNEE_WALL_NS,
		.boottime_ns = SYNTH_KNEE_NS,
		.error_ns = SYNTH_CLOCK_ERROR_NS,
		.wall_error_ns = SYNTH_WALL_ERROR_NS,
	},
	{
		.base_clock = 2548500000,
		.base_ns = 6019000398,
		.mult = 1717986918,
		.shift = 32,
		.realtime_ns = SYNTH_KNEE_WALL_NS + 6019000398 - SYNTH_KNEE_NS,
		.boottime_ns = 6019000398,
		.error_ns = SYNTH_CLOCK_ERROR_NS - 1,
		.wall_error_ns = SYNTH_WALL_ERROR_NS,
	},
};

/* The host's counter at a time; the tests' own way back. */
static uint64_t host_clock_at(uint64_t ns)
{
	for (int i = 1; i >= 0; i--) {
		const struct xvt_timebase *l = &timebase[i];

		if (ns >= l->base_ns)
			return l->base_clock + (uint64_t)((unsigned __int128)(ns - l->base_ns) *
							  0x100000000 / l->mult);
	}
	return file_info.base_clock + (ns - file_info.base_ns) * 5 / 2;
}

static void add_node(struct ring *r, uint32_t ring, uint32_t epoch, uint64_t guest,
		     uint64_t host_ns)
{
	struct xvt_clock_node *n = &r->nodes[r->count];

	*n = (struct xvt_clock_node){
		.ring = ring,
		.epoch = epoch,
		.source = XVT_SOURCE_HANDSHAKE,
		.flags = !r->count || n[-1].epoch != epoch ? XVT_NODE_F_FIRST : 0,
		.guest = guest,
		.host_ns = host_ns,
		.bound_ns = 40,
		.segment_bound_ns = 60,
	};
	r->count++;
}

/* 20 ms each way of the middle, in two straight pieces with different slopes. */
static void make_clocks(struct ring *rings)
{
	uint64_t t = 6000000000;

	rings[0] = (struct ring){ .vm_name = "g1", .vm = 0, .cpu = 0 };
	add_node(&rings[0], 0, 0, 1000000000, t);
	add_node(&rings[0], 0, 0, 1025000000, t + 10000000);
	add_node(&rings[0], 0, 0, 1050000777, t + 20000311);
	rings[1] = (struct ring){ .vm_name = "g1", .vm = 0, .cpu = 3 };
	add_node(&rings[1], 1, 0, 900000000, t);
	add_node(&rings[1], 1, 0, 925000000, t + 10000000);
	/* The guest's clock went back here. */
	add_node(&rings[1], 1, 1, 100000000, t + 12000000);
	add_node(&rings[1], 1, 1, 125000000, t + 22000000);
	rings[2] = (struct ring){ .vm_name = "g2", .vm = 1, .cpu = 1 };
	add_node(&rings[2], 2, 0, 77000000000, t - 1000);
	add_node(&rings[2], 2, 0, 77050002400, t + 20000000);
}

static void see_clocks(struct ring *r, unsigned int flags)
{
	if (flags & SYNTH_SEEN) {
		r->nodes[1].source = XVT_SOURCE_DRAIN;
		r->nodes[1].segment_bound_ns = 5000000;
	}
	if (flags & SYNTH_WIDE) {
		r->nodes[1].segment_bound_ns = 1000000000;
		r->nodes[2].segment_bound_ns = 1000000001;
	}
	if (flags & SYNTH_CONFIRMED)
		r->nodes[2].flags |= XVT_NODE_F_SINCE;
}

/* As the format says, and once more than is needed elsewhere: this is the tests' own. */
static uint64_t place(const struct ring *r, uint64_t guest, bool *outside)
{
	const struct xvt_clock_node *a = NULL, *b = NULL;

	*outside = false;
	for (uint32_t i = 0; i < r->count; i++) {
		if (r->nodes[i].epoch != r->epoch)
			continue;
		if (r->nodes[i].guest <= guest)
			a = &r->nodes[i];
		else if (!b)
			b = &r->nodes[i];
	}
	if (a && b)
		return a->host_ns + (uint64_t)((__int128)(guest - a->guest) *
					       (__int128)(b->host_ns - a->host_ns) /
					       (__int128)(b->guest - a->guest));
	*outside = !a || a->guest != guest;
	if (a)
		return a->host_ns +
		       (uint64_t)((__int128)(guest - a->guest) * 1000000000 / CLOCK_HZ);
	return b->host_ns - (uint64_t)((__int128)(b->guest - guest) * 1000000000 / CLOCK_HZ);
}

static void put_clocks(struct xvt_trace_writer *w, const struct ring *rings)
{
	must(!xvt_trace_put(w, XVT_CHUNK_TIMEBASE, timebase, sizeof(timebase), NULL, 0),
	     "TIMEBASE");
	for (uint32_t i = 0; i < 3; i++) {
		for (uint32_t k = 0; k < rings[i].count; k++) {
			const struct xvt_clock_node *n = &rings[i].nodes[k];
			uint64_t clock = host_clock_at(n->host_ns);
			struct xvt_clock_sample s = {
				.ring = i,
				.epoch = n->epoch,
				.source = n->source,
				.guest = n->guest,
				.host_clock_lo = clock - 90,
				.host_clock_hi = clock + 90,
			};

			must(!xvt_trace_put(w, XVT_CHUNK_SAMPLES, &s, sizeof(s), NULL, 0),
			     "SAMPLES");
			must(!xvt_trace_put(w, XVT_CHUNK_NODE, n, sizeof(*n), NULL, 0), "NODE");
		}
	}
}

/* -- payloads ----------------------------------------------------------------------- */

struct payload {
	uint8_t p[2048];
	uint32_t len;
};

static uint64_t next_random(struct synth *s)
{
	s->seed ^= s->seed << 13;
	s->seed ^= s->seed >> 7;
	s->seed ^= s->seed << 17;
	return s->seed;
}

static void at(struct payload *p, uint32_t offset, const void *v, uint32_t len)
{
	if (p->len < offset + len)
		p->len = offset + len;
	memcpy(p->p + offset, v, len);
}

static struct synth_field *field(struct synth_event *e, const char *name, enum synth_kind kind)
{
	struct synth_field *f = &e->fields[e->field_count++];

	memset(f, 0, sizeof(*f));
	snprintf(f->name, sizeof(f->name), "%s", name);
	f->kind = kind;
	return f;
}

static void add_int(struct synth_event *e, struct payload *p, const char *name, uint32_t offset,
		    uint32_t size, int64_t v)
{
	at(p, offset, &v, size);
	/* As C would read those bytes back. */
	v = size == 1 ? (int8_t)v : size == 2 ? (int16_t)v : size == 4 ? (int32_t)v : v;
	field(e, name, SYNTH_INT)->i = v;
}

static void add_uint(struct synth_event *e, struct payload *p, const char *name, uint32_t offset,
		     uint32_t size, uint64_t v)
{
	at(p, offset, &v, size);
	field(e, name, SYNTH_UINT)->u = size < 8 ? v & ((1ull << 8 * size) - 1) : v;
}

static void add_text(struct synth_event *e, const char *name, const char *shown)
{
	struct synth_field *f = field(e, name, SYNTH_TEXT);

	snprintf(f->text, sizeof(f->text), "%s", shown);
}

static const struct {
	const char *bytes;
	const char *shown;
} texts[] = {
	{ "plain", "plain" },
	{ "", "" },
	{ "with \"quotes\" and \\back\\", "with \"quotes\" and \\back\\" },
	{ "two\nlines\tand a tab", "two\nlines\tand a tab" },
	{ "umlaut \xc3\xa4, euro \xe2\x82\xac, clef \xf0\x9d\x84\x9e",
	  "umlaut \xc3\xa4, euro \xe2\x82\xac, clef \xf0\x9d\x84\x9e" },
	{ "bad \xff\xc3 bytes \xe2\x82",
	  "bad \xef\xbf\xbd\xef\xbf\xbd bytes \xef\xbf\xbd\xef\xbf\xbd" },
	{ "surrogate \xed\xa0\x80!", "surrogate \xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd!" },
	{ "escape \x1b[31mred", "escape \x1b[31mred" },
	{ "{ a = 1, b = \"x\" }", "{ a = 1, b = \"x\" }" },
};

#define TEXTS (sizeof(texts) / sizeof(texts[0]))

static void add_list(struct synth *s, struct synth_event *e, struct payload *p, const char *name,
		     uint32_t offset, uint32_t size, uint32_t count, bool is_signed)
{
	struct synth_field *f = field(e, name, is_signed ? SYNTH_INTS : SYNTH_UINTS);

	f->count = count;
	for (uint32_t i = 0; i < count; i++) {
		uint64_t v = next_random(s);

		at(p, offset + i * size, &v, size);
		if (is_signed)
			f->list[i] = (uint64_t)(size == 4 ? (int32_t)v : (int64_t)v);
		else
			f->list[i] = size < 8 ? v & ((1ull << 8 * size) - 1) : v;
	}
}

/* A dynamic area behind `end`; returns the new end. */
static uint32_t put_loc(struct payload *p, uint32_t offset, uint32_t end, uint32_t bytes, bool rel)
{
	uint32_t loc = (rel ? end - offset - 4 : end) | bytes << 16;

	at(p, offset, &loc, sizeof(loc));
	return end + bytes;
}

static void add_dynamic_text(struct synth *s, struct synth_event *e, struct payload *p,
			     const char *name, uint32_t offset, uint32_t *end, bool rel)
{
	size_t t = next_random(s) % TEXTS;
	uint32_t bytes = (uint32_t)strlen(texts[t].bytes) + 1;

	/* Also without room for even the final zero. */
	if (bytes == 1 && next_random(s) % 2)
		bytes = 0;
	at(p, *end, texts[t].bytes, bytes);
	*end = put_loc(p, offset, *end, bytes, rel);
	add_text(e, name, texts[t].shown);
}

static void common(struct synth *s, struct synth_event *e, struct payload *p, uint16_t type)
{
	static const uint8_t flags[] = {
		0, 1, 4, 8, 0x10, 0x18, 0x25, 0x48, 0x40, 0x80, 0x81, 0x20
	};

	e->ftrace = true;
	e->pid = (int32_t)(next_random(s) % 5) * 100;
	e->common_flags = flags[next_random(s) % sizeof(flags)];
	e->preempt_count = (uint8_t)(next_random(s) % 4);
	at(p, 0, &type, 2);
	at(p, 2, &e->common_flags, 1);
	at(p, 3, &e->preempt_count, 1);
	at(p, 4, &e->pid, 4);
}

static int64_t edge(struct synth *s)
{
	static const int64_t edges[] = { 0,   -1,   1,	   INT64_MIN,	  INT64_MAX,
					 127, -128, 32768, -2147483648ll, 0xffffffff };
	uint64_t r = next_random(s);

	return r % 3 ? edges[r / 3 % 10] : (int64_t)next_random(s);
}

static void make_numbers(struct synth *s, struct synth_event *e, struct payload *p)
{
	common(s, e, p, TYPE_NUMBERS);
	add_int(e, p, "a", 8, 1, edge(s));
	add_uint(e, p, "b", 9, 1, (uint64_t)edge(s));
	add_int(e, p, "c", 10, 2, edge(s));
	add_uint(e, p, "d", 12, 2, (uint64_t)edge(s));
	add_int(e, p, "e", 16, 4, edge(s));
	add_uint(e, p, "f", 20, 4, (uint64_t)edge(s));
	add_int(e, p, "g", 24, 8, edge(s));
	add_uint(e, p, "h", 32, 8, (uint64_t)edge(s));
	add_uint(e, p, "p", 40, 8, 0xffff888000000000ull + next_random(s) % 100000);
	add_uint(e, p, "q", 48, 1, next_random(s) % 2);
}

static void make_texts(struct synth *s, struct synth_event *e, struct payload *p)
{
	static const char *const comms[] = { "sh", "exactly16chars!!", "", "a b" };
	const char *comm = comms[next_random(s) % 4];
	uint32_t end = 32;

	common(s, e, p, TYPE_TEXTS);
	at(p, 8, "\0garbage behind", 16);
	at(p, 8, comm, (uint32_t)(strlen(comm) < 16 ? strlen(comm) + 1 : 16));
	add_text(e, "comm", comm);
	add_dynamic_text(s, e, p, "one", 24, &end, false);
	add_dynamic_text(s, e, p, "two", 28, &end, true);
}

static void make_lists(struct synth *s, struct synth_event *e, struct payload *p)
{
	uint32_t words = (uint32_t)(next_random(s) % 5), longs = (uint32_t)(next_random(s) % 4);
	uint32_t end = 40;

	common(s, e, p, TYPE_LISTS);
	add_list(s, e, p, "fixed", 8, 4, 3, true);
	add_list(s, e, p, "mac", 20, 1, 6, false);
	add_list(s, e, p, "halves", 26, 2, 2, false);
	add_list(s, e, p, "words", end, 4, words, false);
	e->fields[e->field_count - 1].has_length = true;
	end = put_loc(p, 32, end, 4 * words, false);
	add_list(s, e, p, "longs", end, 8, longs, true);
	e->fields[e->field_count - 1].has_length = true;
	put_loc(p, 36, end, 8 * longs, false);
}

static void make_names(struct synth *s, struct synth_event *e, struct payload *p)
{
	static const char *const names[] = { "event",  "string", "struct", "align",
					     "_under", "__two",	 "id",	   "timestamp" };

	common(s, e, p, TYPE_NAMES);
	for (uint32_t i = 0; i < 8; i++)
		add_int(e, p, names[i], 8 + 4 * i, 4, edge(s));
}

static void make_switch(struct synth *s, struct synth_event *e, struct payload *p)
{
	static const char *const comms[] = { "swapper/0", "bash", "kworker/0:1", "x" };
	uint32_t a = (uint32_t)(next_random(s) % 4), b = (a + 1) % 4;

	common(s, e, p, TYPE_SWITCH);
	memset(p->p + 8, 0, 56);
	at(p, 8, comms[a], (uint32_t)strlen(comms[a]));
	add_text(e, "prev_comm", comms[a]);
	add_int(e, p, "prev_pid", 24, 4, a * 100);
	add_int(e, p, "prev_prio", 28, 4, 120);
	add_int(e, p, "prev_state", 32, 8, (int64_t)(next_random(s) % 3));
	at(p, 40, comms[b], (uint32_t)strlen(comms[b]));
	add_text(e, "next_comm", comms[b]);
	add_int(e, p, "next_pid", 56, 4, b * 100);
	add_int(e, p, "next_prio", 60, 4, 120);
}

static void make_print(struct synth *s, struct synth_event *e, struct payload *p, const char *bytes,
		       const char *shown)
{
	common(s, e, p, TYPE_PRINT);
	add_uint(e, p, "ip", 8, 8, 0xffffffff81000000ull + next_random(s) % 4096);
	at(p, 16, bytes, (uint32_t)strlen(bytes));
	at(p, p->len, "\n\0", 2); /* as the kernel adds them */
	add_text(e, "buf", shown);
}

static void make_raw(struct synth *s, struct synth_event *e, struct payload *p, uint32_t len)
{
	struct synth_field *f = field(e, "data", SYNTH_UINTS);

	while (p->len < len) {
		uint8_t byte = (uint8_t)next_random(s);

		at(p, p->len, &byte, 1);
	}
	f->count = len;
	f->has_length = true;
	for (uint32_t i = 0; i < len; i++)
		f->list[i] = p->p[i];
}

/* One event of a kind; returns its record id. */
static uint16_t make_event(struct synth *s, struct synth_event *e, struct payload *p,
			   unsigned int kind)
{
	size_t t = next_random(s) % TEXTS;

	e->system = "test";
	switch (kind) {
	case 0:
		e->name = "numbers";
		make_numbers(s, e, p);
		return XVT_ID_FTRACE;
	case 1:
		e->name = "texts";
		make_texts(s, e, p);
		return XVT_ID_FTRACE;
	case 2:
		e->name = "lists";
		make_lists(s, e, p);
		return XVT_ID_FTRACE;
	case 3:
		e->name = "names";
		make_names(s, e, p);
		return XVT_ID_FTRACE;
	case 4:
		e->name = "empty";
		common(s, e, p, TYPE_EMPTY);
		return XVT_ID_FTRACE;
	case 5:
		e->system = "sched";
		e->name = "sched_switch";
		make_switch(s, e, p);
		return XVT_ID_FTRACE;
	case 6:
		e->system = "ftrace";
		e->name = "print";
		make_print(s, e, p, texts[t].bytes, texts[t].shown);
		return XVT_ID_FTRACE;
	case 7:
		e->system = "xvt";
		e->name = "probe";
		common(s, e, p, TYPE_PROBE);
		add_uint(e, p, "x", 8, 4, (uint64_t)edge(s));
		return XVT_ID_FTRACE;
	case 8:
		e->system = "xvt";
		e->name = "type4711";
		common(s, e, p, TYPE_UNKNOWN);
		make_raw(s, e, p, 8 + (uint32_t)(next_random(s) % 20));
		return XVT_ID_FTRACE;
	case 9:
		e->system = "xvt";
		e->name = "text";
		at(p, 0, texts[t].bytes, (uint32_t)strlen(texts[t].bytes));
		at(p, p->len, "\0\0\0", (uint32_t)(next_random(s) % 4));
		add_text(e, "text", texts[t].shown);
		return XVT_ID_TEXT;
	case 10:
		e->system = "xvt";
		e->name = "u64";
		add_list(s, e, p, "values", 0, 8, (uint32_t)(next_random(s) % 4), false);
		e->fields[0].has_length = true;
		return XVT_ID_U64;
	default:
		e->system = "xvt";
		e->name = "user1030";
		make_raw(s, e, p, (uint32_t)(next_random(s) % 30));
		return XVT_ID_USER + 6;
	}
}

#define KINDS 12

/* -- the trace ---------------------------------------------------------------------- */

static struct synth_event *new_event(struct synth *s)
{
	if (s->count == s->room) {
		s->room = s->room ? s->room * 2 : 256;
		s->events = realloc(s->events, s->room * sizeof(*s->events));
		must(s->events, "no memory");
	}
	memset(&s->events[s->count], 0, sizeof(*s->events));
	return &s->events[s->count++];
}

static void write_event(struct xvt_trace_writer *w, struct ring *r, uint32_t ring, uint64_t guest,
			uint16_t id, const struct payload *p, struct synth_event *e)
{
	struct xvt_event_hdr h = { .guest_clock = guest, .id = id, .len = (uint16_t)p->len };
	struct xvt_ring_stats *st = &r->stats;
	bool outside;

	h.host_ns = place(r, guest, &outside);
	if (outside)
		e->flags |= XVT_EVENT_F_UNCONFIRMED;
	h.ring_flags = ring | e->flags;
	must(!xvt_trace_event(w, &h, p->p), "event");
	r->times = realloc(r->times, (r->time_count + 1) * sizeof(*r->times));
	must(r->times, "no memory");
	r->times[r->time_count++] = h.host_ns;
	r->guest = guest;
	if (id < XVT_ID_FIRST_EVENT)
		return;
	e->host_ns = h.host_ns;
	e->vm = r->vm_name;
	e->cpu = r->cpu;
	st->events++;
	st->attempted++;
	if (e->flags & XVT_EVENT_F_BACKLOG)
		st->backlog++;
	else if (e->flags & XVT_EVENT_F_LATE)
		st->late++;
	st->unconfirmed += !!(e->flags & XVT_EVENT_F_UNCONFIRMED);
	st->recovered += !!(e->flags & XVT_EVENT_F_RECOVERED);
	if (!st->first_ns || h.host_ns < st->first_ns)
		st->first_ns = h.host_ns;
	if (h.host_ns > st->last_ns)
		st->last_ns = h.host_ns;
	st->bound_ns_max = 60;
}

/* Guest clock of ring r at a host time; off by the rounding of the way back. */
static uint64_t guest_at(struct ring *r, uint64_t ns)
{
	const struct xvt_clock_node *n;
	uint32_t i;

	if (r->nodes[r->count - 1].epoch != r->epoch && ns >= 6012000000)
		r->epoch++;
	for (i = 0; r->nodes[i].epoch != r->epoch; i++)
		;
	n = &r->nodes[i];
	return n->guest + (uint64_t)(((__int128)ns - (__int128)n->host_ns) * 5 / 2);
}

static void own_record(struct xvt_trace_writer *w, struct ring *r, uint32_t ring, uint64_t guest,
		       uint16_t id, const void *body, uint32_t len)
{
	struct synth_event ignored = { 0 };
	struct payload p = { 0 };

	at(&p, 0, body, len);
	write_event(w, r, ring, guest, id, &p, &ignored);
}

/* What the recorder saw of its marks; each record within 400 ns each way. */
struct marks {
	struct xvt_mark_seen v[64];
	uint32_t count;
};

static void put_mark(struct xvt_trace_writer *w, struct ring *r, uint32_t ring, uint64_t guest,
		     struct marks *marks)
{
	struct xvt_mark mark = { .number = 700 + marks->count, .clock = guest - 10 };
	bool outside;
	uint64_t clock = host_clock_at(place(r, guest, &outside));

	if (marks->count == 64)
		return;
	own_record(w, r, ring, guest, XVT_ID_MARK, &mark, sizeof(mark));
	marks->v[marks->count++] =
		(struct xvt_mark_seen){ ring, 0, mark.number, clock - 1000, clock + 1000 };
}

/* As a hypervisor would tell it, 200 ns before its record. */
static void put_pair(struct xvt_trace_writer *w, struct ring *r, uint32_t ring, uint64_t guest)
{
	struct xvt_clock_sync pair = {
		.clock = guest - 500,
		.hz = CLOCK_HZ,
		.reason = XVT_SYNC_PAIR,
	};
	bool outside;
	uint64_t ns = place(r, pair.clock, &outside);

	pair.realtime_ns = ns >= SYNTH_KNEE_NS ? SYNTH_KNEE_WALL_NS + ns - SYNTH_KNEE_NS
					       : SYNTH_WALL_NS + ns - SYNTH_WALL_BASE_NS;
	own_record(w, r, ring, guest, XVT_ID_CLOCK_SYNC, &pair, sizeof(pair));
}

static int compare_times(const void *pa, const void *pb)
{
	const uint64_t *a = pa, *b = pb;

	return *a < *b ? -1 : *a > *b;
}

/* Events less than 2 us apart are in one span. */
static void put_runs(struct xvt_trace_writer *w, struct ring *r, uint32_t vcpu)
{
	struct xvt_run_span *v = calloc(r->time_count + 1, sizeof(*v));
	size_t n = 0;

	must(v, "no memory");
	qsort(r->times, r->time_count, sizeof(*r->times), compare_times);
	for (size_t i = 0; i < r->time_count; i++) {
		if (!n || r->times[i] - r->times[i - 1] > 2000)
			v[n++] = (struct xvt_run_span){ .vm = r->vm,
							.vcpu = vcpu,
							.host_cpu = 1,
							.enter_clock =
								host_clock_at(r->times[i] - 500) };
		v[n - 1].exit_clock = host_clock_at(r->times[i] + 500);
	}
	must(!xvt_trace_put(w, XVT_CHUNK_RUNS, v, n * sizeof(*v), NULL, 0), "RUNS");
	free(v);
}

static int compare(const void *pa, const void *pb)
{
	const struct synth_event *a = pa, *b = pb;

	return a->host_ns < b->host_ns ? -1 : a->host_ns > b->host_ns;
}

/* "xvt-ping send N" in g1, 60 us later received in g2; and back. */
static void put_exchange(struct synth *s, struct xvt_trace_writer *w, struct ring *rings,
			 uint64_t *ns, unsigned int number)
{
	static const struct {
		uint32_t ring;
		const char *text;
	} steps[] = {
		{ 0, "xvt-ping send" },
		{ 2, "xvt-pong recv" },
		{ 2, "xvt-pong send" },
		{ 0, "xvt-ping recv" },
	};

	for (size_t i = 0; i < 4; i++) {
		struct ring *r = &rings[steps[i].ring];
		struct synth_event *e = new_event(s);
		struct payload p = { 0 };
		char text[40];

		*ns += i % 2 ? 60000 : 1000;
		snprintf(text, sizeof(text), "%s %u", steps[i].text, number);
		e->system = "ftrace";
		e->name = "print";
		make_print(s, e, &p, text, text);
		write_event(w, r, steps[i].ring, guest_at(r, *ns), XVT_ID_FTRACE, &p, e);
	}
}

static void put_late(struct synth *s, struct xvt_trace_writer *w, struct ring *r, uint32_t ring,
		     uint64_t ns, uint32_t flags)
{
	uint64_t keep = r->guest;
	struct synth_event *e = new_event(s);
	struct payload p = { 0 };
	uint16_t id = make_event(s, e, &p, (unsigned int)(next_random(s) % KINDS));

	e->flags = XVT_EVENT_F_LATE | flags;
	write_event(w, r, ring, guest_at(r, ns), id, &p, e);
	r->guest = keep;
}

static void put_round(struct xvt_trace_writer *w, uint64_t round, uint64_t watermark_ns)
{
	struct xvt_round r = { round, watermark_ns, watermark_ns };

	must(!xvt_trace_put(w, XVT_CHUNK_ROUND, &r, sizeof(r), NULL, 0), "ROUND");
}

static void put_things(struct xvt_trace_writer *w, unsigned int flags)
{
	static const struct xvt_vm_info vms[2] = {
		{ .vm = 0,
		  .kind = XVT_VM_GUEST,
		  .generation = 1,
		  .clock_hz = CLOCK_HZ,
		  .name = "g1",
		  .uuid = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 } },
		{ .vm = 1,
		  .kind = XVT_VM_GUEST,
		  .generation = 1,
		  .clock_hz = CLOCK_HZ,
		  .name = "g2" },
	};
	static const struct xvt_ring_info rings[3] = {
		{ .ring = 0, .vm = 0, .index = 0, .type = XVT_RING_VCPU, .cpu = 0 },
		{ .ring = 1, .vm = 0, .index = 3, .type = XVT_RING_VCPU, .cpu = 3, .hw_id = 6 },
		{ .ring = 2, .vm = 1, .index = 1, .type = XVT_RING_VCPU, .cpu = 1, .hw_id = 2 },
	};
	static const char ksyms[] = "ffffffff81000000 T _text\nffffffff81000800 t helper\t[mod]\n";

	for (int i = 0; i < 2; i++) {
		struct xvt_vm_info vm = vms[i];

		vm.region_kind = flags & SYNTH_FTRACE && !i ? XVT_REGION_FTRACE : vm.region_kind;
		must(!xvt_trace_put(w, XVT_CHUNK_VM, &vm, sizeof(vm), NULL, 0), "VM");
	}
	for (int i = 0; i < 3; i++)
		must(!xvt_trace_put(w, XVT_CHUNK_RING, &rings[i], sizeof(rings[i]), NULL, 0),
		     "RING");
	for (uint32_t vm = 0; vm < 2; vm++) {
		if (!(flags & SYNTH_NO_FORMATS))
			put_formats(w, vm);
		put_meta(w, vm, XVT_META_COMM, 400, "from-meta", 9);
		put_meta(w, vm, XVT_META_KSYMS, 0, ksyms, sizeof(ksyms) - 1);
	}
	/* A chunk of an unknown type. */
	must(!xvt_trace_put(w, 999, "future", 6, NULL, 0), "999");
}

static void put_end(struct xvt_trace_writer *w, struct ring *rings, unsigned int flags)
{
	struct xvt_note note = { .vm = 0, .ring = UINT32_MAX, .level = 1, .host_ns = 1 };

	must(!xvt_trace_put(w, XVT_CHUNK_NOTE, &note, sizeof(note), "a note", 6), "NOTE");
	for (uint32_t i = 0; i < 3; i++) {
		struct xvt_ring_stats *st = &rings[i].stats;

		st->ring = i;
		st->source = XVT_SOURCE_HANDSHAKE;
		st->rejected = i == 2 ? 1u << XVT_SOURCE_KVM : 0;
		st->epochs = rings[i].nodes[rings[i].count - 1].epoch + 1;
		st->samples = rings[i].count;
		st->discarded = 2;
		st->lost[XVT_LOST_FULL] = i == 0 ? 12 : 0;
		st->overwritten = i == 0 ? 3 : 0;
		st->in_flight = i == 1;
		st->dropped = i == 0 && flags & SYNTH_DROPS ? 4 : 0;
		st->attempted += st->discarded + st->lost[XVT_LOST_FULL] + st->overwritten +
				 st->dropped + st->in_flight;
		/* A killed recorder has told some counters, not all. */
		if (!i || !(flags & SYNTH_NO_END))
			must(!xvt_trace_put(w, XVT_CHUNK_STATS, st,
					    flags & SYNTH_OLD_LOSSES ? XVT_RING_STATS_LEN_LEAST
								     : sizeof(*st),
					    NULL, 0),
			     "STATS");
	}
	if (flags & SYNTH_NO_END)
		return;
	must(!xvt_trace_writer_finish(w), "END");
}

static void make_newer(struct synth_sink *sink)
{
	struct xvt_chunk_hdr *h = (struct xvt_chunk_hdr *)sink->bytes;
	struct xvt_file_info *info = (struct xvt_file_info *)(h + 1);

	info->major = info->oldest = XVT_FILE_MAJOR + 1;
	h->crc = 0;
	h->crc = xvt_crc32c(0, h, sizeof(*h) + h->len);
}

void synth_make(struct synth *s, struct xvt_sink *sink, size_t n, unsigned int flags)
{
	const struct xvt_lost lost = { .lost = { 12 },
				       .overwritten = 3,
				       .dropped = flags & SYNTH_DROPS ? 4 : 0 };
	const uint16_t lost_len =
		flags & SYNTH_OLD_LOSSES ? XVT_LOST_LEN_LEAST : sizeof(struct xvt_lost);
	static const struct xvt_clock_sync sync = { .clock = 5, .hz = CLOCK_HZ, .reason = 1 };
	struct xvt_file_info info = file_info;
	struct xvt_trace_writer *w;
	struct ring rings[3];
	uint64_t ns = 5999990000, step = 20000000 / (n + 1);
	struct marks marks = { 0 };
	size_t i;

	memset(s, 0, sizeof(*s));
	s->seed = 88172645463325252ull;
	if (flags & SYNTH_SAME_UUID)
		memcpy(info.uuid, "0123456789abcdef", 16);
	must(!xvt_trace_writer_new(&w, sink, &info), "FILE");
	make_clocks(rings);
	see_clocks(&rings[0], flags);
	put_things(w, flags);
	put_clocks(w, rings);
	/* The first are before the first node, the last after the last one. */
	for (i = 0; i < n; i++) {
		uint32_t ring = (uint32_t)(next_random(s) % 3);
		struct ring *r = &rings[ring];
		struct synth_event *e;
		struct payload p = { 0 };
		uint64_t guest;
		uint16_t id;

		ns += step + next_random(s) % 7;
		guest = guest_at(r, ns);
		if (i == n / 3)
			own_record(w, r, ring, guest, XVT_ID_CLOCK_SYNC, &sync, sizeof(sync));
		if (flags & SYNTH_MARKS && i % 8 == 3)
			put_mark(w, r, ring, guest, &marks);
		if (flags & SYNTH_PAIRS && i % 8 == 5)
			put_pair(w, r, ring, guest);
		if (i % 50 == 10)
			put_exchange(s, w, rings, &ns, (unsigned int)i);
		if (i == n / 2)
			own_record(w, &rings[0], 0, guest_at(&rings[0], ns), XVT_ID_LOST, &lost,
				   lost_len);
		guest = guest_at(r, ns + 1);
		e = new_event(s);
		id = make_event(s, e, &p, (unsigned int)(i % KINDS));
		if (i % 17 == 5)
			e->flags |= XVT_EVENT_F_RECOVERED;
		write_event(w, r, ring, guest, id, &p, e);
		ns += 3;
		if (i % 40 == 39) {
			put_round(w, i, ns - 100);
			put_late(s, w, &rings[2], 2, ns - 3000,
				 i % 80 == 39 ? XVT_EVENT_F_BACKLOG : 0);
		}
	}
	if (marks.count)
		must(!xvt_trace_put(w, XVT_CHUNK_MARKS, marks.v, marks.count * sizeof(marks.v[0]),
				    NULL, 0),
		     "MARKS");
	for (i = 0; i < 3; i++) {
		if (flags & SYNTH_RUNS)
			put_runs(w, &rings[i], rings[i].cpu * 2);
		free(rings[i].times);
	}
	put_end(w, rings, flags);
	if (flags & SYNTH_NO_END) {
		/* The recorder is gone: its memory with it. What is written is in the sink. */
		struct synth_sink gone;

		gone = *(struct synth_sink *)sink;
		must(!xvt_trace_flush(w), "flush");
		((struct synth_sink *)sink)->fail_after = gone.len;
		xvt_trace_writer_finish(w);
		((struct synth_sink *)sink)->fail_after = SIZE_MAX;
	}
	if (flags & SYNTH_NEWER)
		make_newer((struct synth_sink *)sink);
	qsort(s->events, s->count, sizeof(*s->events), compare);
}

void synth_fini(struct synth *s)
{
	free(s->events);
	memset(s, 0, sizeof(*s));
}

#define RECORD_WORDS 3u /* header, clock, number */

void synth_put_records(struct xvt_trace_writer *w, uint32_t ring, uint64_t ns, uint32_t count,
		       enum xvt_lane lane)
{
	uint64_t words[SYNTH_RECORDS_MAX * RECORD_WORDS];
	const struct xvt_raw_piece piece = { .ring = ring,
					     .len = count * RECORD_WORDS * sizeof(words[0]) };
	const struct xvt_clock_segment line = {
		.guest = ns, .host_ns = ns, .rise = 1ull << 40, .run = 1ull << 40
	};
	struct xvt_raw_place place = { .ts_bits = 32, .ts = ns };
	struct xvt_order *o;
	uint32_t source, i;

	must(count <= SYNTH_RECORDS_MAX, "records");
	for (i = 0; i < count; i++) {
		words[i * RECORD_WORDS] = (ns + i) | (uint64_t)RECORD_WORDS << XVT_H_LEN8_SHIFT |
					  (uint64_t)XVT_ID_U64 << XVT_H_ID_SHIFT | XVT_H_DONE |
					  XVT_H_FULL;
		words[i * RECORD_WORDS + 1] = 0;
		words[i * RECORD_WORDS + 2] = i;
	}
	must(!xvt_trace_piece(w, &piece, words, &place.chunk, &place.at), "piece");
	o = xvt_trace_lane(w, lane);
	must(o && !xvt_order_reserve(o, count), "order");
	xvt_order_time(o, ns);
	must(!xvt_order_source(o, ring, &place, &line, ns, &source), "source");
	for (i = 0; i < count; i++)
		xvt_order_next(o, source);
	o->sources[source].count += count;
	xvt_order_time(o, ns + count - 1);
}
