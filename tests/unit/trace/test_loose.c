// SPDX-License-Identifier: GPL-2.0
/*
 * test_loose.c - events in LOOSE chunks, in ORDER chunks and in LATE chunks come back in one order,
 * that of a sort of all of them; and no byte of a LOOSE chunk does more harm than its own.
 */
#include "suites.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "synth.h"
#include "trace/crc32c.h"
#include "trace/cursor.h"
#include "trace/read.h"
#include "view/reorder.h"
#include "xvt_ring.h"

#define ROUNDS	300
#define HOSTILE 300
#define RINGS	6u
#define EVENTS	3000u
#define WORDS	3u /* of a record: header, upper half of its stamp, payload */
#define RECORDS 40u
#define ZERO_NS 1000000u

struct event {
	uint64_t ns;
	uint64_t clock;
	uint64_t number;
	uint32_t ring;
	uint32_t flags;
	bool own;
	bool late;
};

static struct {
	struct xvt_trace_writer *w;
	struct event events[EVENTS]; /* in the order in which they were made */
	struct event *sorted[EVENTS];
	uint32_t count;
	uint32_t nr_rings;
	uint32_t queue[RINGS][EVENTS]; /* events of each ring; written up to `at` */
	uint32_t end[RINGS];
	uint32_t at[RINGS];
	uint64_t main_ns;
	uint64_t loose; /* events in LOOSE chunks */
} m;

static struct synth_sink sink;
static uint64_t seed;

static uint64_t below(uint64_t n)
{
	uint64_t z = seed += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return (z ^ z >> 31) % n;
}

/* ------------------------------------------------------------------ writing */

/* Rings of two machines, which change places: the order by machine is not that by ring. */
static uint32_t vm_of(uint32_t ring)
{
	return 1 - ring % 2;
}

static void put_rings(void)
{
	for (uint32_t i = 0; i < 2; i++) {
		const struct xvt_vm_info vm = { .vm = i, .name = { 'g', (char)('1' + i) } };

		ck_assert_int_eq(xvt_trace_put(m.w, XVT_CHUNK_VM, &vm, sizeof(vm), NULL, 0), 0);
	}
	for (uint32_t i = 0; i < m.nr_rings; i++) {
		const struct xvt_ring_info ring = { .ring = i, .vm = vm_of(i), .cpu = i };

		ck_assert_int_eq(xvt_trace_put(m.w, XVT_CHUNK_RING, &ring, sizeof(ring), NULL, 0),
				 0);
	}
}

/*
 * Now and then a ring's clock is set back by more than the time that passes until its next events:
 * those have the time of the events before, a smaller clock value and another flag.
 */
static void set_back(uint64_t *clock, uint32_t *flags)
{
	if (below(40))
		return;
	*clock -= below(20);
	*flags ^= XVT_EVENT_F_CLOCK;
}

static void make_events(void)
{
	uint64_t ns = ZERO_NS, clocks[RINGS];
	uint32_t flags[RINGS] = { 0 };

	m.count = 1 + (uint32_t)below(EVENTS);
	memset(m.at, 0, sizeof(m.at));
	memset(m.end, 0, sizeof(m.end));
	for (uint32_t i = 0; i < RINGS; i++)
		clocks[i] = 1000000000ull * (i + 1);
	for (uint32_t i = 0; i < m.count; i++) {
		struct event *ev = &m.events[i];
		const struct event *last = i ? ev - 1 : NULL;
		const bool again = last && last->late && !below(2);
		const uint32_t ring = again ? last->ring : (uint32_t)below(m.nr_rings);

		/* Behind a late event nothing of its ring and time is in another lane. */
		if (!again)
			ns += (last && last->late) + below(3);
		set_back(&clocks[ring], &flags[ring]);
		*ev = (struct event){ .ns = ns,
				      .clock = ns + clocks[ring],
				      .number = i,
				      .ring = ring,
				      .flags = flags[ring],
				      .own = !below(50),
				      .late = again || !below(100) };
		m.sorted[i] = ev;
		if (!ev->late)
			m.queue[ev->ring][m.end[ev->ring]++] = i;
	}
}

static void put_own(const struct event *ev, enum xvt_lane lane)
{
	const struct xvt_event_hdr h = { .host_ns = ev->ns,
					 .guest_clock = ev->clock,
					 .ring_flags = ev->ring | ev->flags |
						       (ev->late ? XVT_EVENT_F_LATE : 0),
					 .id = XVT_ID_U64,
					 .len = sizeof(ev->number) };

	ck_assert_int_eq(xvt_trace_lane_event(m.w, lane, &h, &ev->number), 0);
}

/* True if the two are of one source: its records lie on one line and have the same flags. */
static bool goes_on(const struct event *a, const struct event *b)
{
	return !b->own && b->flags == a->flags && b->clock - a->clock == b->ns - a->ns;
}

/* n records of a ring as one piece and one source. */
static void put_records(const uint32_t *numbers, uint32_t n, enum xvt_lane lane)
{
	static uint64_t words[RECORDS * WORDS];
	const struct event *first = &m.events[numbers[0]], *last = &m.events[numbers[n - 1]];
	const struct xvt_raw_piece piece = { .ring = first->ring, .len = n * WORDS * 8 };
	const struct xvt_clock_segment line = {
		.guest = first->clock, .host_ns = first->ns, .rise = 1ull << 40, .run = 1ull << 40
	};
	struct xvt_raw_place place = { .ts_bits = 32, .ts = first->clock };
	struct xvt_order *o;
	uint32_t source, i;

	for (i = 0; i < n; i++) {
		const struct event *ev = &m.events[numbers[i]];
		const uint64_t clock = ev->clock;

		words[i * WORDS] = (uint32_t)clock | (uint64_t)WORDS << XVT_H_LEN8_SHIFT |
				   (uint64_t)XVT_ID_U64 << XVT_H_ID_SHIFT | XVT_H_DONE | XVT_H_FULL;
		words[i * WORDS + 1] = clock >> 32;
		words[i * WORDS + 2] = ev->number;
	}
	ck_assert_int_eq(xvt_trace_piece(m.w, &piece, words, &place.chunk, &place.at), 0);
	o = xvt_trace_lane(m.w, lane);
	ck_assert_ptr_nonnull(o);
	ck_assert_int_eq(xvt_order_reserve(o, n), 0);
	xvt_order_time(o, first->ns);
	ck_assert_int_eq(
		xvt_order_source(o, first->ring | first->flags, &place, &line, first->ns, &source),
		0);
	for (i = 0; i < n; i++)
		xvt_order_next(o, source);
	o->sources[source].count += n;
	xvt_order_time(o, last->ns);
}

/* Writes a part of what the ring has. */
static void put_part(uint32_t ring, enum xvt_lane lane, uint32_t most)
{
	uint32_t *at = &m.at[ring], n = 0;
	const uint32_t *numbers = &m.queue[ring][*at];

	if (*at == m.end[ring] || !most)
		return;
	if (m.events[numbers[0]].own) {
		put_own(&m.events[numbers[0]], lane);
		n = 1;
	} else {
		for (n = 1; n < RECORDS && n < most && *at + n < m.end[ring] &&
			    goes_on(&m.events[numbers[n - 1]], &m.events[numbers[n]]);)
			n++;
		put_records(numbers, n, lane);
	}
	*at += n;
	m.loose += lane == XVT_LANE_LOOSE ? n : 0;
}

static int by_key(const void *pa, const void *pb)
{
	const struct event *a = *(const struct event *const *)pa,
			   *b = *(const struct event *const *)pb;

	if (a->ns != b->ns)
		return a->ns < b->ns ? -1 : 1;
	if (vm_of(a->ring) != vm_of(b->ring))
		return vm_of(a->ring) < vm_of(b->ring) ? -1 : 1;
	if (a->ring != b->ring)
		return a->ring < b->ring ? -1 : 1;
	return a->number < b->number ? -1 : a->number > b->number;
}

/* Some of the events that no other lane has are in the main lane, one by one in order, as long as
 * no ring has earlier ones that are not written. */
static void put_main(uint32_t most)
{
	for (uint32_t i = 0; i < m.count && most; i++) {
		const struct event *ev = m.sorted[i];
		const uint32_t ring = ev->ring;

		if (ev->late || ev->number < m.queue[ring][m.at[ring]] || m.at[ring] == m.end[ring])
			continue;
		if (ev->ns < m.main_ns)
			return;
		m.main_ns = ev->ns;
		put_part(ring, XVT_LANE_MAIN, 1);
		most--;
	}
}

static void write_trace(bool zstd)
{
	static const struct xvt_file_info info = { .uuid = { 7, 7, 7 }, .mult = 1 };
	uint32_t left;

	synth_sink_init(&sink);
	m.main_ns = m.loose = 0;
	m.nr_rings = 1 + (uint32_t)below(RINGS);
	ck_assert_int_eq(xvt_trace_writer_new(&m.w, &sink.sink, &info), 0);
	if (zstd)
		ck_assert_int_eq(xvt_trace_compress(m.w, 1), 0);
	put_rings();
	make_events();
	qsort(m.sorted, m.count, sizeof(m.sorted[0]), by_key);
	for (uint32_t i = 0; i < m.count; i++) {
		if (m.events[i].late)
			put_own(&m.events[i], XVT_LANE_LATE);
	}
	do {
		if (!below(6))
			put_main((uint32_t)below(60));
		else
			put_part((uint32_t)below(m.nr_rings), XVT_LANE_LOOSE, RECORDS);
		if (!below(20))
			ck_assert_int_eq(xvt_trace_flush(m.w), 0);
		left = 0;
		for (uint32_t i = 0; i < m.nr_rings; i++)
			left += m.end[i] - m.at[i];
	} while (left);
	ck_assert_int_eq(xvt_trace_writer_finish(m.w), 0);
}

/* ------------------------------------------------------------------ reading */

static struct xvt_trace *open_file(const struct synth_sink *from, const char *path, bool indexed)
{
	struct xvt_trace *t;
	struct xvt_error why;

	synth_sink_save(from, path);
	ck_assert_msg(!(indexed ? xvt_trace_open_indexed : xvt_trace_open)(&t, path, &why), "%s",
		      why.text);
	return t;
}

static struct xvt_trace *open_sink(bool indexed)
{
	return open_file(&sink, scratch_path("loose.xvt"), indexed);
}

static uint64_t number_of(const struct xvt_event *ev)
{
	uint64_t number;

	ck_assert_uint_eq(ev->hdr->len, sizeof(number));
	memcpy(&number, ev->payload, sizeof(number));
	return number;
}

static void check_range(struct xvt_trace *t, uint64_t from_ns, uint64_t to_ns)
{
	struct xvt_cursor c;
	struct xvt_event ev;
	uint32_t i;

	ck_assert_int_eq(xvt_cursor_init(&c, t, from_ns, to_ns), 0);
	for (i = 0; i < m.count; i++) {
		const struct event *want = m.sorted[i];

		if (want->ns < from_ns || want->ns > to_ns)
			continue;
		if (xvt_cursor_next(&c, &ev) != 1 || number_of(&ev) != want->number ||
		    ev.hdr->host_ns != want->ns || ev.hdr->guest_clock != want->clock ||
		    xvt_event_ring(&ev) != want->ring)
			ck_abort_msg("event %u of %u: %lu at %lu ns", i, m.count,
				     (unsigned long)want->number, (unsigned long)want->ns);
	}
	ck_assert_int_eq(xvt_cursor_next(&c, &ev), 0);
	ck_assert_uint_eq(c.loose.held, 0);
	xvt_cursor_fini(&c);
	ck_assert_uint_eq(t->damage_count, 0);
}

/* Written again with the rings merged, the trace has the same events. */
static void check_reordered(void)
{
	struct xvt_trace *t = open_sink(false), *to;
	struct synth_sink copy;

	synth_sink_init(&copy);
	if (below(2))
		t->raw_budget = 4096; /* not all RAW chunks that are named can be held */
	ck_assert_int_eq(xvt_reorder(t, &copy.sink), 0);
	to = open_file(&copy, scratch_path("reordered.xvt"), false);
	ck_assert(!xvt_is_loose(to));
	check_range(to, 0, UINT64_MAX);
	ck_assert_uint_eq(to->end.events, t->end.events);
	ck_assert_uint_eq(to->end.late, t->end.late);
	xvt_trace_close(to);
	xvt_trace_close(t);
	synth_sink_fini(&copy);
}

START_TEST(all_lanes_come_back_in_one_order)
{
	uint64_t loose = 0, all = 0;

	for (seed = 1; seed <= ROUNDS; seed++) {
		const uint64_t keep = seed;
		struct xvt_trace *t;

		write_trace(seed % 8 == 0);
		t = open_sink(below(2));
		check_range(t, 0, UINT64_MAX);
		for (int i = 0; i < 4; i++) {
			const uint64_t from = ZERO_NS + below(m.count + 1);

			check_range(t, from, from + below(m.count + 1));
		}
		ck_assert_uint_eq(t->end.events + t->end.late, m.count);
		xvt_trace_close(t);
		check_reordered();
		synth_sink_fini(&sink);
		loose += m.loose;
		all += m.count;
		seed = keep;
	}
	ck_assert_uint_gt(loose, all / 2);
}
END_TEST

/* Changes a byte, with a checksum that fits, as a hostile file has it. */
static void change_byte(const struct xvt_chunk_ref *ref)
{
	struct xvt_chunk_hdr *h = (struct xvt_chunk_hdr *)(sink.bytes + ref->offset);

	((uint8_t *)(h + 1))[below(ref->len)] = (uint8_t)below(256);
	h->crc = 0;
	h->crc = xvt_crc32c(0, h, sizeof(*h) + h->len);
}

START_TEST(a_hostile_chunk_harms_itself_alone)
{
	for (seed = 1; seed <= HOSTILE; seed++) {
		const uint64_t keep = seed;
		struct synth_sink copy;
		struct xvt_trace *t;
		struct xvt_cursor c;
		struct xvt_event ev;
		uint64_t events = 0;
		int got;

		write_trace(false);
		t = open_sink(false);
		for (size_t i = 0; i < t->chunk_count; i++) {
			const struct xvt_chunk_ref *ref = &t->chunks[i];

			if (ref->type == XVT_CHUNK_LOOSE && !below(2))
				change_byte(ref);
		}
		xvt_trace_close(t);
		t = open_sink(below(2));
		got = xvt_cursor_init(&c, t, 0, UINT64_MAX);
		while (!got && (got = xvt_cursor_next(&c, &ev)) > 0) {
			events++;
			got = 0;
		}
		ck_assert_int_eq(got, 0);
		ck_assert_uint_le(events, 2 * (uint64_t)m.count);
		xvt_cursor_fini(&c);
		xvt_trace_close(t);
		t = open_sink(false);
		synth_sink_init(&copy);
		got = xvt_reorder(t, &copy.sink);
		ck_assert(!got || got == -EBADMSG);
		ck_assert_int_eq(!got, !t->damage_count);
		xvt_trace_close(t);
		synth_sink_fini(&copy);
		synth_sink_fini(&sink);
		seed = keep;
	}
}
END_TEST

Suite *loose_suite(void)
{
	Suite *suite = suite_create("loose");
	TCase *tc = tcase_create("loose");

	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, all_lanes_come_back_in_one_order);
	tcase_add_test(tc, a_hostile_chunk_harms_itself_alone);
	suite_add_tcase(suite, tc);
	return suite;
}
