// SPDX-License-Identifier: GPL-2.0
/*
 * test_order.c - pieces and the order over them: what is written comes back, event by event, by a
 * model that keeps each event as a whole; and no byte of ORDER or RAW does more harm than its own.
 */
#include "suites.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compress.h"
#include "trace/crc32c.h"
#include "synth.h"
#include "trace/read.h"
#include "trace/cursor.h"
#include "xvt_ring.h"

typedef unsigned __int128 u128;

#define ROUNDS	  300
#define HOSTILE	  400
#define RINGS	  48u
#define RECORDS	  192u /* of a ring that wait */
#define PIECE_MAX (1u << 20)
#define CLOCK_HZ  2500000000ull

/* An event as it must be read. */
struct want {
	struct xvt_event_hdr hdr;
	uint32_t payload; /* where it is in `bytes` */
};

/* A record that is in a piece and waits for its turn. */
struct record {
	struct xvt_raw_place place;
	uint64_t clock;
	uint16_t id;
	uint16_t len;
	uint32_t payload;
};

struct ring {
	uint64_t clock;
	uint64_t pos;
	uint32_t ts_bits;
	uint32_t stretch;
	bool skipped; /* the record before the next one was left out */
	struct record wait[RECORDS];
	uint32_t count;
	uint32_t at;
	struct xvt_clock_segment line; /* of the newest one in the main lane; run == 0: none */
	uint32_t flags;
	struct { /* of the newest one written */
		uint64_t gathering;
		uint32_t source;
		uint32_t stretch;
		uint32_t flags;
		struct xvt_clock_segment line;
		uint64_t ns; /* without a line */
	} newest;
};

static struct {
	struct xvt_trace_writer *w;
	struct ring rings[RINGS];
	uint32_t nr_rings;
	uint32_t longest; /* payload, in words, but for some that are as long as can be */
	uint64_t ns;	  /* of the main lane */
	uint64_t late_ns; /* a different one for each late event */
	struct want *main;
	size_t nr_main, main_room;
	struct want *late;
	size_t nr_late, late_room;
	uint8_t *bytes; /* of payloads */
	size_t used;
	size_t room;
} m;

static struct synth_sink sink;
static uint64_t seed;

/* ck_assert() writes to its parent whenever it is passed, which is often here. */
#define must(what)                           \
	do {                                 \
		if (!(what))                 \
			ck_abort_msg(#what); \
	} while (0)

static uint64_t any(void)
{
	uint64_t z = seed += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

static uint64_t below(uint64_t n)
{
	return any() % n;
}

/* Of any magnitude. */
static uint64_t any_bits(uint32_t most)
{
	return any() >> (64 - 1 - below(most));
}

/* ------------------------------------------------------------------ the model */

static void *more(void *array, size_t *room, size_t count, size_t size)
{
	if (count < *room)
		return array;
	*room = 2 * count + 1024;
	array = realloc(array, *room * size);
	must(array);
	return array;
}

static uint32_t keep_bytes(const void *bytes, size_t len)
{
	uint32_t at = (uint32_t)m.used;

	if (m.used + len > m.room) {
		m.room = 2 * (m.used + len) + 4096;
		m.bytes = realloc(m.bytes, m.room);
		must(m.bytes);
	}
	if (len)
		memcpy(m.bytes + m.used, bytes, len);
	m.used += len;
	return at;
}

static void expect(const struct xvt_event_hdr *hdr, uint32_t payload)
{
	const struct want want = { *hdr, payload };

	if (hdr->ring_flags & XVT_EVENT_F_LATE) {
		m.late = more(m.late, &m.late_room, m.nr_late, sizeof(*m.late));
		m.late[m.nr_late++] = want;
	} else {
		m.main = more(m.main, &m.main_room, m.nr_main, sizeof(*m.main));
		m.main[m.nr_main++] = want;
	}
}

static void begin(bool zstd)
{
	static const struct xvt_file_info info = { .uuid = { 7, 7, 7 }, .mult = 1 };
	uint32_t i;

	synth_sink_init(&sink);
	memset(m.rings, 0, sizeof(m.rings));
	m.nr_main = m.nr_late = m.used = 0;
	m.ns = 1000000;
	m.late_ns = 1;
	m.longest = 40;
	must(!xvt_trace_writer_new(&m.w, &sink.sink, &info));
	if (zstd)
		must(!xvt_trace_compress(m.w, 1));
	m.nr_rings = 1 + (uint32_t)below(RINGS);
	for (i = 0; i < m.nr_rings; i++) {
		m.rings[i].clock = any_bits(64);
		m.rings[i].ts_bits = below(3) ? 32 : 3 + (uint32_t)below(30);
	}
}

static void end(void)
{
	synth_sink_fini(&sink);
}

/* ------------------------------------------------------------------ pieces */

static uint64_t header(uint64_t ts, uint32_t len8, uint32_t id, uint64_t flags)
{
	return (uint32_t)ts | (uint64_t)len8 << XVT_H_LEN8_SHIFT | (uint64_t)id << XVT_H_ID_SHIFT |
	       flags | below(4) << XVT_H_LAP_SHIFT;
}

/* A record at to[0], behind the ring's clock. Returns how many it has. */
static uint32_t make_record(struct ring *r, uint64_t *to, bool counts)
{
	const uint32_t kind = (uint32_t)below(8), head = kind == 1 ? 2 : 1;
	const uint32_t len8 =
		m.longest < 8 || below(400) ? head + (uint32_t)below(m.longest) : XVT_LEN8_MAX;
	uint64_t flags = XVT_H_DONE;
	uint32_t i, id = XVT_ID_CLOCK_SYNC + (uint32_t)below(XVT_H_ID_MASK - XVT_ID_CLOCK_SYNC);

	if (!counts && below(2))
		id = XVT_ID_DISCARDED;
	else if (!counts)
		flags = 0;
	if (kind == 0) {
		flags |= XVT_H_SAME;
	} else if (head == 2) {
		flags |= XVT_H_FULL;
		r->clock = below(4) ? r->clock + any_bits(48) : any_bits(64);
		to[1] = any() << 32 | r->clock >> 32;
	} else {
		r->clock += any_bits(r->ts_bits);
	}
	/* What a short stamp has above its bits does not count, nor any stamp of the same time. */
	to[0] = header(flags & XVT_H_FULL ? r->clock
		       : flags & XVT_H_SAME
			       ? any()
			       : (r->clock & ((1ull << r->ts_bits) - 1)) | any() << r->ts_bits,
		       len8, id, flags);
	for (i = head; i < len8; i++)
		to[i] = any();
	return len8;
}

/* A piece of some records, `least` of which and more are events to come. */
static void put_piece(uint32_t ring, uint32_t least)
{
	static uint64_t words[PIECE_MAX / 8];
	struct ring *r = &m.rings[ring];
	uint32_t most = least + (uint32_t)below(RECORDS - least), n = (uint32_t)below(9), i;
	struct xvt_raw_piece p = { .ring = ring, .pos = r->pos };
	uint64_t chunk;
	uint32_t at;

	for (i = 0; i < n; i++)
		words[i] = any();
	r->count = r->at = 0;
	while (r->count < most && n < PIECE_MAX / 8 - XVT_LEN8_MAX) {
		const bool counts = below(8);
		uint32_t len, head;

		if (!below(16))
			words[n++] = 0;
		len = make_record(r, words + n, counts);
		head = words[n] & XVT_H_FULL ? 2 : 1;
		if (counts) {
			r->wait[r->count++] = (struct record){
				.place = { .at = 8 * n,
					   .ts_bits = (uint16_t)r->ts_bits,
					   .ts = r->clock },
				.clock = r->clock,
				.id = (uint16_t)xvt_header_id(words[n]),
				.len = (uint16_t)(8 * (len - head)),
				.payload = keep_bytes(words + n + head, 8 * (len - head)),
			};
		}
		n += len;
	}
	p.len = 8 * n;
	r->pos += p.len;
	r->skipped = true;
	must(!xvt_trace_piece(m.w, &p, words, &chunk, &at));
	for (i = 0; i < r->count; i++) {
		r->wait[i].place.chunk = chunk;
		r->wait[i].place.at += at;
	}
}

/* ------------------------------------------------------------------ events */

static uint64_t ns_on(const struct xvt_clock_segment *s, uint64_t clock)
{
	return s->host_ns + (uint64_t)((u128)(clock - s->guest) * s->rise / s->run);
}

/* A line through that time at that clock value, between its ends or beyond them. */
static struct xvt_clock_segment any_line(uint64_t clock, uint64_t ns)
{
	struct xvt_clock_segment s = { .guest = clock - any_bits(below(2) ? 40 : 64) };

	do {
		s.run = below(3) ? any_bits(63) : CLOCK_HZ;
	} while (!s.run || s.run >> 63);
	s.rise = below(3) ? any_bits(64) : 1000000000;
	s.host_ns = ns - ns_on(&s, clock);
	return s;
}

/* Does it go on from the ring's event before it, on its line? */
static bool goes_on(const struct ring *r, uint64_t clock)
{
	const uint64_t ns = r->line.run ? ns_on(&r->line, clock) : r->line.host_ns;

	return below(32) && ns >= m.ns && ns < m.ns + (1ull << 50);
}

/* Gives it a line, or none (run == 0), and the time that it has there. */
static uint64_t time_of(struct ring *r, uint64_t clock, bool late, struct xvt_clock_segment *line)
{
	const struct xvt_clock_segment none = { .host_ns = late ? m.late_ns : m.ns + below(1000) };

	if (!late && goes_on(r, clock))
		*line = r->line;
	else
		*line = below(4) ? any_line(clock, none.host_ns) : none;
	if (!late)
		r->line = *line;
	return line->run ? ns_on(line, clock) : line->host_ns;
}

static uint32_t any_flags(void)
{
	return (uint32_t)below(16) << 21;
}

static void note_written(const struct xvt_event_hdr *h, uint32_t payload)
{
	if (h->ring_flags & XVT_EVENT_F_LATE)
		m.late_ns += 2 + below(1 << 16);
	else
		m.ns = h->host_ns;
	expect(h, payload);
}

/* The place of the record at `at`, or of one before it with what lies between. */
static struct xvt_raw_place place_of(struct ring *r)
{
	uint32_t back = below(4) ? 0 : (uint32_t)below(r->at + 1);
	struct xvt_raw_place place = r->wait[r->at - back].place;

	place.skip = (uint16_t)back;
	return place;
}

/* Returns whether a record belongs to the source of the ring's newest one. */
static bool of_newest(const struct ring *r, const struct xvt_order *o, uint32_t stretch,
		      const struct xvt_event_hdr *h, const struct xvt_clock_segment *line)
{
	const struct xvt_clock_segment *l = &r->newest.line;

	if (r->newest.gathering != o->gathering || r->newest.stretch != stretch ||
	    r->newest.flags != h->ring_flags)
		return false;
	if (!line)
		return !l->run && r->newest.ns == h->host_ns;
	return l->guest == line->guest && l->run == line->run && l->host_ns == line->host_ns &&
	       l->rise == line->rise;
}

/* Write a record whose piece is in the trace. Records of one stretch lie one behind the other. */
static void write_record(struct ring *r, const struct xvt_event_hdr *h,
			 const struct xvt_raw_place *place, uint32_t stretch,
			 const struct xvt_clock_segment *line)
{
	struct xvt_order *o = xvt_trace_lane(m.w, xvt_trace_lane_of(h->ring_flags));

	must(o && !xvt_order_reserve(o, 1));
	if (!of_newest(r, o, stretch, h, line)) {
		must(!xvt_order_source(o, h->ring_flags, place, line, h->host_ns,
				       &r->newest.source));
		r->newest.gathering = o->gathering;
		r->newest.stretch = stretch;
		r->newest.flags = h->ring_flags;
		r->newest.line = line ? *line : (struct xvt_clock_segment){ 0 };
		r->newest.ns = h->host_ns;
	}
	xvt_order_time(o, h->host_ns);
	xvt_order_next(o, r->newest.source);
	o->sources[r->newest.source].count++;
}

static void put_record(uint32_t ring)
{
	struct ring *r = &m.rings[ring];
	const struct record *rec = &r->wait[r->at];
	const bool late = !below(64);
	struct xvt_event_hdr h = { .guest_clock = rec->clock, .id = rec->id, .len = rec->len };
	struct xvt_clock_segment line;
	struct xvt_raw_place place;

	if (r->skipped)
		r->stretch++;
	r->skipped = false;
	if (!below(50))
		r->flags = any_flags();
	place = place_of(r);
	h.ring_flags = ring | r->flags | (late ? XVT_EVENT_F_LATE : 0);
	h.host_ns = time_of(r, rec->clock, late, &line);
	write_record(r, &h, &place, r->stretch, line.run ? &line : NULL);
	note_written(&h, rec->payload);
	r->at++;
}

static void put_own(void)
{
	static uint8_t bytes[UINT16_MAX];
	struct xvt_event_hdr h = { .guest_clock = any(),
				   .ring_flags = (uint32_t)below(m.nr_rings) | any_flags(),
				   .id = (uint16_t)below(UINT16_MAX),
				   .len = (uint16_t)any_bits(below(16) ? 10 : 16) };
	uint32_t i;

	for (i = 0; i < h.len; i++)
		bytes[i] = (uint8_t)any();
	if (!below(8))
		h.ring_flags |= XVT_EVENT_F_LATE;
	h.host_ns = h.ring_flags & XVT_EVENT_F_LATE ? m.late_ns : m.ns;
	must(!xvt_trace_event(m.w, &h, bytes));
	note_written(&h, keep_bytes(bytes, h.len));
}

/* One ring's turn: `turn` records of it. */
static void take_turn(uint32_t ring, uint64_t turn)
{
	struct ring *r = &m.rings[ring];

	if (r->at == r->count)
		put_piece(ring, 1);
	for (; turn && r->at < r->count; turn--) {
		if (below(100))
			put_record(ring);
		else { /* no event of this trace */
			r->at++;
			r->skipped = true;
		}
	}
}

/* Some hundred events of all kinds. */
static void write_any(void)
{
	const uint64_t turn = 1 + any_bits(10), own = below(3) ? 50 : 3;
	const size_t most = 200 + below(1800);

	while (m.nr_main + m.nr_late < most) {
		if (below(own))
			take_turn((uint32_t)below(m.nr_rings), 1 + below(turn));
		else
			put_own();
		if (!below(200))
			must(!xvt_trace_flush(m.w));
	}
	must(!xvt_trace_writer_finish(m.w));
}

/* ------------------------------------------------------------------ reading */

static int by_time(const void *pa, const void *pb)
{
	const struct want *a = pa, *b = pb;

	return a->hdr.host_ns < b->hdr.host_ns ? -1 : a->hdr.host_ns > b->hdr.host_ns;
}

static struct xvt_trace *open_sink(void)
{
	const char *path = scratch_path("order.xvt");
	struct xvt_trace *t;
	struct xvt_error why;

	synth_sink_save(&sink, path);
	ck_assert_msg(!xvt_trace_open(&t, path, &why), "%s", why.text);
	return t;
}

static void check_same(const struct xvt_event *ev, const struct want *want)
{
	must(ev->hdr->host_ns == want->hdr.host_ns);
	must(ev->hdr->guest_clock == want->hdr.guest_clock);
	must(ev->hdr->ring_flags == want->hdr.ring_flags);
	must(ev->hdr->id == want->hdr.id);
	must(ev->hdr->len == want->hdr.len);
	must(!memcmp(ev->payload, m.bytes + want->payload, want->hdr.len));
}

/* Ways in which ORDER says something, as often as they were seen. */
struct ways {
	unsigned int runs;
	unsigned int numbers;
	unsigned int skips;
};

static void count_ways(struct xvt_trace *t, struct ways *seen)
{
	struct xvt_chunk_buf b = { 0 };
	struct xvt_order_source s;
	struct xvt_order_hdr h;
	const uint8_t *at;
	size_t i;

	for (i = 0; i < t->chunk_count; i++) {
		if (t->chunks[i].type != XVT_CHUNK_ORDER)
			continue;
		must(!xvt_trace_load(t, i, &b));
		memcpy(&h, b.payload, sizeof(h));
		seen->runs += h.nr_sources && h.nr_runs;
		seen->numbers += h.nr_sources && !h.nr_runs;
		at = b.payload + sizeof(h) + h.own_len + h.nr_raws * sizeof(uint64_t) +
		     h.nr_lines * sizeof(struct xvt_order_line);
		for (uint32_t k = 0; k < h.nr_sources; k++) {
			memcpy(&s, at + k * sizeof(s), sizeof(s));
			seen->skips += s.skip > 0;
		}
	}
	xvt_chunk_buf_free(&b);
}

static void read_back(struct ways *seen)
{
	struct xvt_trace *t = open_sink();
	size_t nr_main = 0, nr_late = 0;
	uint64_t ns = 0;
	struct xvt_cursor c;
	struct xvt_event ev;

	if (m.nr_late)
		qsort(m.late, m.nr_late, sizeof(*m.late), by_time);
	if (seed & 1) /* all but one RAW chunk are given up at once */
		t->raw_budget = 4096;
	must(!xvt_cursor_init(&c, t, 0, UINT64_MAX));
	while (xvt_cursor_next(&c, &ev) > 0) {
		must(ev.hdr->host_ns >= ns);
		ns = ev.hdr->host_ns;
		if (ev.hdr->ring_flags & XVT_EVENT_F_LATE) {
			must(nr_late < m.nr_late);
			check_same(&ev, &m.late[nr_late++]);
		} else {
			must(nr_main < m.nr_main);
			check_same(&ev, &m.main[nr_main++]);
		}
	}
	must(nr_main == m.nr_main);
	must(nr_late == m.nr_late);
	must(t->end.events == m.nr_main);
	must(t->end.late == m.nr_late);
	must(t->damage_count == 0);
	xvt_cursor_fini(&c);
	count_ways(t, seen);
	xvt_trace_close(t);
}

static bool has_zstd(void)
{
	struct xvt_packer *p;

	if (xvt_packer_new(&p, 1))
		return false;
	xvt_packer_free(p);
	return true;
}

START_TEST(what_was_written_is_read)
{
	struct ways seen = { 0 };
	const bool zstd = has_zstd();

	for (unsigned int i = 0; i < ROUNDS; i++) {
		seed = i;
		begin(zstd && i % 3 == 0);
		write_any();
		read_back(&seen);
		end();
	}
	ck_assert_uint_gt(seen.runs, ROUNDS / 10);
	ck_assert_uint_gt(seen.numbers, ROUNDS / 10);
	ck_assert_uint_gt(seen.skips, ROUNDS);
}
END_TEST

/* So many sources that a number has that many bits. */
START_TEST(numbers_have_any_width)
{
	const uint32_t sources = _i ? (1u << (_i - 1)) + 1 : 1;
	struct xvt_order_hdr h;
	struct xvt_chunk_buf b = { 0 };
	struct ways seen = { 0 };
	struct xvt_trace *t;
	size_t i;

	seed = (uint64_t)_i;
	begin(false);
	m.nr_rings = 1;
	m.longest = 4;
	while (m.nr_main < sources) {
		struct ring *r = &m.rings[0];
		struct xvt_raw_place place;
		struct xvt_event_hdr ev;

		if (r->at == r->count)
			put_piece(0, RECORDS - 1);
		place = r->wait[r->at].place;
		ev = (struct xvt_event_hdr){ .host_ns = 5,
					     .guest_clock = r->wait[r->at].clock,
					     .id = r->wait[r->at].id,
					     .len = r->wait[r->at].len };
		write_record(r, &ev, &place, (uint32_t)m.nr_main, NULL);
		expect(&ev, r->wait[r->at++].payload);
	}
	ck_assert_int_eq(xvt_trace_writer_finish(m.w), 0);
	read_back(&seen);
	t = open_sink();
	for (i = 0; t->chunks[i].type != XVT_CHUNK_ORDER; i++)
		;
	ck_assert_int_eq(xvt_trace_load(t, i, &b), 0);
	memcpy(&h, b.payload, sizeof(h));
	ck_assert_uint_eq(h.nr_sources, sources);
	ck_assert_uint_eq(h.width, (unsigned int)_i);
	xvt_chunk_buf_free(&b);
	xvt_trace_close(t);
	end();
}
END_TEST

/* ------------------------------------------------------------------ lies */

static void sign(struct xvt_chunk_hdr *h)
{
	h->crc = 0;
	h->crc = xvt_crc32c(0, h, sizeof(*h) + h->len);
}

/* The nth chunk of that type. NULL: there is none. */
static struct xvt_chunk_hdr *chunk(uint16_t type, unsigned int nth)
{
	for (size_t at = 0; at < sink.len;) {
		struct xvt_chunk_hdr *h = (struct xvt_chunk_hdr *)(sink.bytes + at);

		if (h->type == type && !nth--)
			return h;
		at += sizeof(*h) + ((h->len + 7) & ~7u);
	}
	return NULL;
}

/* Returns events. All of it ends: the time-out says so. */
static size_t read_all(size_t *damage)
{
	struct xvt_trace *t = open_sink();
	struct xvt_cursor c;
	struct xvt_event ev;
	uint32_t sum = 0;
	size_t n = 0;

	ck_assert_int_eq(xvt_cursor_init(&c, t, 0, UINT64_MAX), 0);
	for (; xvt_cursor_next(&c, &ev) > 0; n++)
		sum = xvt_crc32c(sum, ev.payload, ev.hdr->len); /* all of it can be read */
	xvt_cursor_fini(&c);
	if (damage)
		*damage = t->damage_count;
	xvt_trace_close(t);
	return n;
}

static void flip(struct xvt_chunk_hdr *h)
{
	uint8_t *payload = (uint8_t *)(h + 1);

	for (uint64_t n = 1 + any_bits(5); n; n--) {
		/* More often where the tables begin. */
		uint32_t at = (uint32_t)below(below(2) && h->len > 96 ? 96 : h->len);

		payload[at] = below(2) ? payload[at] ^ (uint8_t)(1u << below(8)) : (uint8_t)any();
	}
	sign(h);
}

START_TEST(no_byte_of_it_does_harm)
{
	static const uint16_t types[] = { XVT_CHUNK_ORDER, XVT_CHUNK_ORDER, XVT_CHUNK_ORDER,
					  XVT_CHUNK_LATE, XVT_CHUNK_RAW };

	for (unsigned int i = 0; i < HOSTILE; i++) {
		seed = 1000000 + i;
		begin(false);
		write_any();
		for (uint64_t n = 1 + below(4); n; n--) {
			struct xvt_chunk_hdr *h = chunk(types[below(5)], (unsigned int)below(4));

			if (h && h->len)
				flip(h);
		}
		read_all(NULL);
		end();
	}
}
END_TEST

/* Two ORDER chunks of one ring each, with a RAW chunk each. Returns events in each. */
static uint32_t write_two(void)
{
	uint32_t each = 0;

	seed = 99;
	begin(false);
	m.nr_rings = 2;
	for (uint32_t i = 0; i < 2; i++) {
		struct ring *r = &m.rings[i];

		put_piece(i, 20);
		/* All that count. */
		while (r->at < 20) {
			const struct record *rec = &r->wait[r->at++];
			struct xvt_event_hdr h = { .host_ns = m.ns + i,
						   .guest_clock = rec->clock,
						   .ring_flags = i,
						   .id = rec->id,
						   .len = rec->len };

			write_record(r, &h, &rec->place, 0, NULL);
			expect(&h, rec->payload);
		}
		each = r->at;
		ck_assert_int_eq(xvt_trace_flush(m.w), 0);
	}
	ck_assert_int_eq(xvt_trace_writer_finish(m.w), 0);
	ck_assert_uint_eq(each, 20);
	return each;
}

static struct xvt_order_hdr *order_of(struct xvt_chunk_hdr *h)
{
	return (struct xvt_order_hdr *)(h + 1);
}

static uint64_t *raws_of(struct xvt_chunk_hdr *h)
{
	return (uint64_t *)((uint8_t *)(order_of(h) + 1) + order_of(h)->own_len);
}

static struct xvt_order_line *lines_of(struct xvt_chunk_hdr *h)
{
	return (struct xvt_order_line *)(raws_of(h) + order_of(h)->nr_raws);
}

static struct xvt_order_source *sources_of(struct xvt_chunk_hdr *h)
{
	return (struct xvt_order_source *)(lines_of(h) + order_of(h)->nr_lines);
}

/* Each makes the first ORDER chunk wrong; what of its events is still read. */
static size_t a_raw_that_is_missing(struct xvt_chunk_hdr *h)
{
	raws_of(h)[0] += 1000;
	return 0;
}

static size_t a_raw_that_is_none(struct xvt_chunk_hdr *h)
{
	raws_of(h)[0] = 0;
	return 0;
}

static size_t a_raw_beyond_the_table(struct xvt_chunk_hdr *h)
{
	sources_of(h)[0].raw = order_of(h)->nr_raws;
	return 0;
}

static size_t a_line_beyond_the_table(struct xvt_chunk_hdr *h)
{
	sources_of(h)[0].line = order_of(h)->nr_lines;
	return 0;
}

static size_t a_line_too_long(struct xvt_chunk_hdr *h)
{
	lines_of(h)[0].run = 1ull << 63;
	return 0;
}

static size_t more_sources_than_fit(struct xvt_chunk_hdr *h)
{
	order_of(h)->nr_sources = 1u << 19;
	return 0;
}

static size_t too_many_sources(struct xvt_chunk_hdr *h)
{
	order_of(h)->nr_sources = UINT32_MAX;
	return 0;
}

static size_t more_lines_than_fit(struct xvt_chunk_hdr *h)
{
	order_of(h)->nr_lines = 1u << 19;
	return 0;
}

static size_t too_many_lines(struct xvt_chunk_hdr *h)
{
	order_of(h)->nr_lines = UINT32_MAX;
	return 0;
}

static size_t more_raws_than_fit(struct xvt_chunk_hdr *h)
{
	order_of(h)->nr_raws = UINT32_MAX;
	return 0;
}

static size_t more_own_than_fit(struct xvt_chunk_hdr *h)
{
	order_of(h)->own_len = h->len & ~7u;
	return 0;
}

static size_t too_wide(struct xvt_chunk_hdr *h)
{
	order_of(h)->width = 33;
	return 0;
}

static size_t a_sequence_too_long(struct xvt_chunk_hdr *h)
{
	order_of(h)->width = 32;
	order_of(h)->count = 1u << 20;
	return 0;
}

static size_t stamps_without_bits(struct xvt_chunk_hdr *h)
{
	sources_of(h)[0].ts_bits = 0;
	return 0;
}

static size_t stamps_too_wide(struct xvt_chunk_hdr *h)
{
	sources_of(h)[0].ts_bits = 33;
	return 0;
}

static size_t a_place_between_words(struct xvt_chunk_hdr *h)
{
	sources_of(h)[0].at++;
	return 0;
}

static size_t a_place_behind_the_piece(struct xvt_chunk_hdr *h)
{
	sources_of(h)[0].at = 0xfffffff8;
	return 0;
}

static size_t fewer_records_than_events(struct xvt_chunk_hdr *h)
{
	sources_of(h)[0].count = 12;
	return 12;
}

/* All that count are read, and then there is no more. */
static size_t more_events_than_records(struct xvt_chunk_hdr *h)
{
	ck_assert_uint_eq(order_of(h)->width, 0);
	order_of(h)->count = sources_of(h)[0].count = m.rings[0].count + 3;
	return m.rings[0].count;
}

static size_t many_more_events_than_records(struct xvt_chunk_hdr *h)
{
	order_of(h)->count = sources_of(h)[0].count = 1u << 20;
	return 0;
}

static const struct {
	const char *name;
	size_t (*make)(struct xvt_chunk_hdr *order);
} lies[] = {
	{ "a RAW chunk that is missing", a_raw_that_is_missing },
	{ "a RAW chunk that is another one", a_raw_that_is_none },
	{ "a RAW chunk beyond the table", a_raw_beyond_the_table },
	{ "a line beyond the table", a_line_beyond_the_table },
	{ "a line too long", a_line_too_long },
	{ "more sources than fit", more_sources_than_fit },
	{ "too many sources", too_many_sources },
	{ "more lines than fit", more_lines_than_fit },
	{ "too many lines", too_many_lines },
	{ "more RAW chunks than fit", more_raws_than_fit },
	{ "more own events than fit", more_own_than_fit },
	{ "numbers too wide", too_wide },
	{ "a sequence too long", a_sequence_too_long },
	{ "stamps without bits", stamps_without_bits },
	{ "stamps too wide", stamps_too_wide },
	{ "a place between words", a_place_between_words },
	{ "a place behind the chunk", a_place_behind_the_piece },
	{ "fewer records than events", fewer_records_than_events },
	{ "more events than records", more_events_than_records },
	{ "many more events than records", many_more_events_than_records },
};

#define LIES ((int)(sizeof(lies) / sizeof(lies[0])))

START_TEST(a_lie_costs_its_own_chunk)
{
	const uint32_t each = write_two();
	struct xvt_chunk_hdr *h = chunk(XVT_CHUNK_ORDER, 0);
	size_t damage, left = lies[_i].make(h), n;

	sign(h);
	n = read_all(&damage);
	ck_assert_msg(n == left + each, "%s: %zu events", lies[_i].name, n);
	ck_assert_uint_eq(damage, 1);
	end();
}
END_TEST

/* What cannot be read of a RAW chunk is told once, and counted. */
START_TEST(a_bad_piece_costs_its_own_events)
{
	const uint32_t each = write_two();
	struct xvt_events_iter it = { 0 };
	struct xvt_chunk_buf b = { 0 };
	struct xvt_trace_raws *raws = malloc(sizeof(*raws));
	struct xvt_trace *t;
	struct xvt_event ev;
	size_t damage;

	ck_assert_ptr_nonnull(raws);
	*(uint8_t *)(chunk(XVT_CHUNK_RAW, 0) + 1) ^= 1;
	ck_assert_uint_eq(read_all(&damage), each);
	ck_assert_uint_eq(damage, 1);

	t = open_sink();
	xvt_trace_raws_init(raws, t);
	for (size_t i = 0; i < t->chunk_count; i++) {
		if (t->chunks[i].type != XVT_CHUNK_ORDER)
			continue;
		ck_assert_int_eq(xvt_trace_load(t, i, &b), 0);
		ck_assert_int_eq(xvt_events_begin(&it, &raws->base, &b, i), 0);
		while (xvt_events_next(&it, &ev) > 0)
			ck_assert_uint_eq(xvt_event_ring(&ev), 1);
		ck_assert_uint_eq(it.missing, each);
	}
	ck_assert_uint_eq(t->damage_count, 1);
	xvt_events_end(&it);
	xvt_chunk_buf_free(&b);
	xvt_trace_raws_fini(raws);
	free(raws);
	xvt_trace_close(t);
	end();
}
END_TEST

/* Chunks of any length, of which a few are in use at a time and others come and go. */
#define CHUNKS 400u
#define IN_USE 4u

/* Those that are in use stay in memory, whatever the lengths of those that are loaded beside. */
START_TEST(raw_chunks_in_use_are_loaded_once)
{
	static uint8_t bytes[40 * 256];
	struct xvt_trace_raws *raws = malloc(sizeof(*raws));
	uint64_t offset[CHUNKS], spent;
	const struct xvt_raw *raw;
	struct xvt_trace *t;
	uint32_t i, k, at;

	ck_assert_ptr_nonnull(raws);
	begin(false);
	for (i = 0; i < CHUNKS; i++) {
		const struct xvt_raw_piece p = { 0, 256 + 256 * (uint32_t)below(39), 0 };

		must(!xvt_trace_piece(m.w, &p, bytes, &offset[i], &at));
		must(!xvt_trace_flush(m.w));
	}
	xvt_trace_writer_free(m.w);
	t = open_sink();
	xvt_trace_raws_init(raws, t);
	t->raw_budget = 128 * sizeof(bytes);
	for (i = 0; i < CHUNKS; i++) {
		ck_assert_int_eq(raws->base.get(&raws->base, offset[i], 0, &raw), 0);
		spent = raws->spent;
		for (k = 0; k < IN_USE && k <= i; k++)
			ck_assert_int_eq(raws->base.get(&raws->base, offset[k], 0, &raw), 0);
		ck_assert_msg(raws->spent == spent, "chunk %u pushed out one in use", i);
	}
	xvt_trace_raws_fini(raws);
	free(raws);
	xvt_trace_close(t);
	end();
}
END_TEST

/* ------------------------------------------------------------------ the frozen one */

#define FROZEN	      "tests/abi/trace-v2.xvt"
#define FROZEN_EVENTS 1175u
#define FROZEN_SUM    0xaa7a507du

/* Two machines of a ring each: all that a trace can have of RAW, ORDER and LATE. */
static void freeze(const char *path)
{
	static const char *const names[] = { "g1", "g2" };

	seed = 3;
	begin(false);
	m.nr_rings = 2;
	m.longest = 4;
	for (uint32_t i = 0; i < 2; i++) {
		struct xvt_vm_info vm = { .vm = i, .clock_hz = CLOCK_HZ };
		const struct xvt_ring_info ring = { .ring = i, .vm = i, .cpu = i };

		strcpy(vm.name, names[i]);
		must(!xvt_trace_put(m.w, XVT_CHUNK_VM, &vm, sizeof(vm), NULL, 0));
		must(!xvt_trace_put(m.w, XVT_CHUNK_RING, &ring, sizeof(ring), NULL, 0));
	}
	write_any();
	synth_sink_save(&sink, path);
	end();
}

/* Each event with all of its fields, in order. */
START_TEST(a_frozen_trace_of_this_format_is_read)
{
	const char *path = getenv("XVT_WRITE_ABI");
	unsigned int seen[XVT_CHUNK_RAW + 1] = { 0 };
	struct xvt_trace *t;
	struct xvt_cursor c;
	struct xvt_event ev;
	uint32_t sum = 0;
	size_t n = 0, own = 0;
	struct xvt_error why;

	if (path)
		freeze(path);
	ck_assert_msg(!xvt_trace_open(&t, path ? path : FROZEN, &why), "%s", why.text);
	for (size_t i = 0; i < t->chunk_count; i++)
		seen[t->chunks[i].type]++;
	ck_assert(seen[XVT_CHUNK_RAW] && seen[XVT_CHUNK_ORDER] && seen[XVT_CHUNK_LATE]);
	ck_assert_str_eq(xvt_vm_name(t, 0), "g1");
	ck_assert_str_eq(xvt_vm_name(t, 1), "g2");
	ck_assert_int_eq(xvt_cursor_init(&c, t, 0, UINT64_MAX), 0);
	for (; xvt_cursor_next(&c, &ev) > 0; n++) {
		sum = xvt_crc32c(sum, ev.hdr, sizeof(*ev.hdr));
		sum = xvt_crc32c(sum, ev.payload, ev.hdr->len);
		own += ev.hdr->len % 8 != 0;
	}
	ck_assert_uint_gt(own, 0);
	ck_assert_uint_eq(t->damage_count, 0);
	xvt_cursor_fini(&c);
	xvt_trace_close(t);
	if (path)
		printf("%s: %zu events, sum 0x%x\n", path, n, sum);
	ck_assert_uint_eq(n, FROZEN_EVENTS);
	ck_assert_uint_eq(sum, FROZEN_SUM);
}
END_TEST

Suite *order_suite(void)
{
	Suite *s = suite_create("order");
	TCase *t = tcase_create("order");

	tcase_add_test(t, what_was_written_is_read);
	tcase_add_loop_test(t, numbers_have_any_width, 0, 21);
	tcase_add_test(t, no_byte_of_it_does_harm);
	tcase_add_loop_test(t, a_lie_costs_its_own_chunk, 0, LIES);
	tcase_add_test(t, a_bad_piece_costs_its_own_events);
	tcase_add_test(t, raw_chunks_in_use_are_loaded_once);
	tcase_add_test(t, a_frozen_trace_of_this_format_is_read);
	suite_add_tcase(s, t);
	return s;
}
