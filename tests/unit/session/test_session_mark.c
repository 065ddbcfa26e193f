// SPDX-License-Identifier: GPL-2.0
/*
 * test_session_mark.c - marks from the host's question to the trace: what the host saw goes into
 * it when the writer has done its part, and only then.
 */
#define _GNU_SOURCE
#include "suites.h"

#include <pthread.h>

#include "recording.h"
#include "xvt_writer.h"
#include "trace/cursor.h"

static struct recording rec;
static struct xvt_session *s;
static struct xvt_ring *r;
static struct xvt_writer w;

static void setup(void)
{
	struct xvt_session_options opt = { .mode = XVT_ENABLE_STOP,
					   .memory_bytes = 8 << 20,
					   .join_timeout_ns = 60 * SECOND_NS,
					   .stall_timeout_ns = 60 * SECOND_NS };

	recording_begin(&rec, 1, &opt);
	xvt_writer_init(&w, rec.map, &rec.g, 0);
	s = rec.s;
	r = s->rings[0];
	xvt_ring_set_phase(r, XVT_PHASE_LIVE);
}

static void teardown(void)
{
	phase_anew(r, XVT_PHASE_DONE); /* no guest answers */
	recording_end(&rec);
}

/* All that MARKS chunks hold so far. */
static size_t marks(struct xvt_mark_seen *out, size_t max)
{
	const struct xvt_chunk_hdr *h;
	size_t at = 0, n = 0;

	while ((h = recording_chunk(&rec, &at))) {
		const struct xvt_mark_seen *m = (const struct xvt_mark_seen *)(h + 1);

		for (uint32_t i = 0; h->type == XVT_CHUNK_MARKS && i < h->len / sizeof(*m); i++) {
			ck_assert_uint_lt(n, max);
			out[n++] = m[i];
		}
	}
	return n;
}

START_TEST(one_that_is_written_later_is_seen_then)
{
	uint64_t begin = xvt_clock_read(), asked, written;
	struct xvt_mark_seen m[4];

	xvt_session_mark(r);
	asked = xvt_clock_read_ordered();
	ck_assert_uint_eq(xvt_load(&r->host->mark_seq), r->mark.last.number);
	xvt_session_mark_look(r);
	xvt_session_put_marks(s);
	ck_assert_uint_eq(marks(m, 4), 0);
	written = xvt_clock_read_ordered();
	xvt_writer_mark(&w);
	xvt_session_mark_look(r);
	xvt_session_put_marks(s);
	xvt_session_put_marks(s);
	ck_assert_uint_eq(marks(m, 4), 1);
	ck_assert_uint_eq(m[0].ring, r->id);
	ck_assert_uint_eq(m[0].number, w.ctl->mark_ack);
	ck_assert_uint_ge(m[0].host_clock_before, begin);
	ck_assert_uint_le(m[0].host_clock_before, asked);
	ck_assert_uint_ge(m[0].host_clock_after, written);
	ck_assert_uint_le(m[0].host_clock_after, xvt_clock_read_ordered());
}
END_TEST

START_TEST(one_a_second)
{
	struct xvt_mark_seen m[4];
	uint64_t first;

	xvt_session_mark(r);
	first = r->mark.last.number;
	xvt_writer_mark(&w);
	xvt_session_put_marks(s); /* looks, too */
	ck_assert_uint_eq(marks(m, 4), 1);
	r->mark.next_clock = xvt_clock_read() + ticks(s, 3600 * SECOND_NS);
	xvt_session_mark(r);
	ck_assert_uint_eq(r->mark.last.number, first);
	r->mark.next_clock = 0;
	xvt_session_mark(r);
	ck_assert_uint_ne(r->mark.last.number, first);
	ck_assert_uint_gt(r->mark.next_clock, xvt_clock_read());
}
END_TEST

START_TEST(another_number_is_no_acknowledgement)
{
	struct xvt_mark_seen m[4];

	xvt_session_mark(r);
	xvt_store(&r->ctl->mark_ack, r->mark.last.number - 1);
	xvt_session_put_marks(s);
	xvt_store(&r->ctl->mark_ack, r->mark.last.number + 1);
	xvt_session_put_marks(s);
	ck_assert_uint_eq(marks(m, 4), 0);
	/* The one that comes next is not taken for the one that was never written. */
	r->mark.next_clock = 0;
	xvt_session_mark(r);
	xvt_session_put_marks(s);
	ck_assert_uint_eq(marks(m, 4), 1);
	ck_assert_uint_eq(m[0].number, r->mark.last.number);
}
END_TEST

START_TEST(a_ring_that_takes_no_part_is_not_asked)
{
	static const enum xvt_ring_phase phases[] = { XVT_PHASE_NEW, XVT_PHASE_ASIDE,
						      XVT_PHASE_DONE, XVT_PHASE_BROKEN };

	for (size_t i = 0; i < sizeof(phases) / sizeof(phases[0]); i++) {
		phase_anew(r, phases[i]);
		xvt_session_mark(r);
	}
	ck_assert_uint_eq(xvt_load(&r->host->mark_seq), 0);
}
END_TEST

/* -- with a guest that runs ------------------------------------------------------------ */

#define OFFSET 123456789ull

static uint32_t stop;

static uint64_t guest_clock(void *arg)
{
	(void)arg;
	return xvt_clock_read_ordered() - OFFSET;
}

static void *guest(void *arg)
{
	uint64_t n = 0;

	(void)arg;
	while (!xvt_load(&stop)) {
		xvt_writer_answer(&w);
		xvt_writer_mark(&w);
		if (n++ % 4096 == 0)
			xvt_write(&w, XVT_ID_U64, &n, sizeof(n));
		xvt_relax();
	}
	return NULL;
}

/* Is there a whole mark in the trace: a record, and what was seen of it? */
static bool has_mark(void)
{
	struct xvt_mark_seen m[64];

	return marks(m, 64) != 0;
}

START_TEST(the_whole_way_of_a_running_guest)
{
	struct xvt_mark_seen m[64];
	struct xvt_trace *trace;
	struct xvt_cursor c;
	struct xvt_event ev;
	uint64_t sleep_ns, t, node;
	pthread_t thread;
	size_t n;

	phase_anew(r, XVT_PHASE_NEW);
	w.clock = guest_clock;
	stop = 0;
	xvt_store(&w.ctl->state, XVT_RING_ONLINE);
	ck_assert_int_eq(pthread_create(&thread, NULL, guest, NULL), 0);
	/* The case's time-out ends it if no mark comes. */
	while (!has_mark()) {
		ck_assert_int_eq(xvt_session_pass(s, &sleep_ns), 0);
		ck_assert_int_ge(xvt_loop_run(rec.loop, sleep_ns), 0);
	}
	/* And a clock node after it, so that its record is confirmed and goes out. */
	node = xvt_clock_read();
	while (earlier(r->clock.last_node_clock, node) ||
	       (r->drain.first && earlier(r->drain.first->ceiling_clock, node))) {
		ck_assert_int_eq(xvt_session_pass(s, &sleep_ns), 0);
		ck_assert_int_ge(xvt_loop_run(rec.loop, sleep_ns), 0);
	}
	ck_assert_int_eq(xvt_trace_flush(s->trace), 0);
	xvt_store(&stop, 1);
	pthread_join(thread, NULL);
	n = marks(m, 64);
	t = 0;
	trace = recording_open(&rec);
	ck_assert_int_eq(xvt_cursor_init(&c, trace, 0, UINT64_MAX), 0);
	while (xvt_cursor_next(&c, &ev) > 0) {
		const struct xvt_event_hdr *e = ev.hdr;
		struct xvt_mark mark;

		if (e->id != XVT_ID_MARK)
			continue;
		ck_assert_uint_eq(e->len, sizeof(mark));
		memcpy(&mark, ev.payload, sizeof(mark));
		ck_assert_uint_ge(e->guest_clock, mark.clock);
		for (size_t i = 0; i < n; i++) {
			if (m[i].number != mark.number)
				continue;
			ck_assert_uint_ge(e->guest_clock + OFFSET, m[i].host_clock_before);
			ck_assert_uint_le(e->guest_clock + OFFSET, m[i].host_clock_after);
			t++;
		}
	}
	ck_assert_uint_ge(t, 1);
	ck_assert_uint_eq(trace->damage_count, 0);
	xvt_cursor_fini(&c);
	xvt_trace_close(trace);
}

END_TEST

Suite *session_mark_suite(void)
{
	Suite *suite = suite_create("session_mark");
	TCase *t = tcase_create("all");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, one_that_is_written_later_is_seen_then);
	tcase_add_test(t, one_a_second);
	tcase_add_test(t, another_number_is_no_acknowledgement);
	tcase_add_test(t, a_ring_that_takes_no_part_is_not_asked);
	tcase_add_test(t, the_whole_way_of_a_running_guest);
	suite_add_tcase(suite, t);
	return suite;
}
