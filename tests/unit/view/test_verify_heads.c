// SPDX-License-Identifier: GPL-2.0
/* test_verify_heads.c - counters in the headers of sub-buffers are held against the events between
 * them. */
#include "suites.h"

#include <string.h>

#include "judged.h"
#include "trace/write.h"
#include "xvt_ring.h"

#define RECORD	   24u /* header, full stamp, payload */
#define RUN_EVENTS 20u

static struct judged judged;

/* Writes RUN_EVENTS events of ring 0 that lie at `pos`. */
static void put_run(struct xvt_trace_writer *w, uint64_t pos)
{
	const struct xvt_raw_piece piece = { .len = RUN_EVENTS * RECORD, .pos = pos };
	const struct xvt_clock_segment line = { .rise = 1ull << 40, .run = 1ull << 40 };
	struct xvt_raw_place place = { .ts_bits = 32, .ts = pos };
	uint64_t words[RUN_EVENTS * RECORD / 8];
	uint32_t source;
	struct xvt_order *o;

	for (uint32_t i = 0; i < RUN_EVENTS; i++) {
		words[i * 3] =
			xvt_header_word(XVT_ID_U64, RECORD, pos + i, XVT_H_FULL | XVT_H_DONE);
		words[i * 3 + 1] = 0;
		words[i * 3 + 2] = i;
	}
	ck_assert_int_eq(xvt_trace_piece(w, &piece, words, &place.chunk, &place.at), 0);
	o = xvt_trace_lane(w, XVT_LANE_MAIN);
	ck_assert(o && !xvt_order_reserve(o, RUN_EVENTS));
	xvt_order_time(o, pos);
	ck_assert_int_eq(xvt_order_source(o, XVT_EVENT_F_UNCONFIRMED, &place, &line, pos, &source),
			 0);
	for (uint32_t i = 0; i < RUN_EVENTS; i++)
		xvt_order_next(o, source);
	o->sources[source].count += RUN_EVENTS;
	xvt_order_time(o, pos + RUN_EVENTS - 1);
}

#define HEADS 4u

struct trace {
	struct xvt_subbuf_head heads[HEADS]; /* every 4096 bytes, with one run behind each */
	uint32_t lost;			     /* as big, by the LOST record and the counters */
	uint32_t dropped;
};

static void put_trace(struct xvt_trace_writer *w, const struct trace *c)
{
	const uint64_t events = HEADS * RUN_EVENTS, last_ns = 4 * 4096 + RUN_EVENTS - 1;
	const struct xvt_vm_info vm = { .name = "g1", .clock_hz = 1000000000 };
	const struct xvt_ring_info ring = { .clock_id = XVT_CLOCK_TSC };
	const struct xvt_lost lost = { .lost = { [XVT_LOST_BIG] = c->lost },
				       .dropped = c->dropped };
	const struct xvt_event_hdr h = { last_ns, last_ns, 0, XVT_ID_LOST, sizeof(lost) };
	const struct xvt_ring_stats st = { .attempted = events + c->lost + c->dropped,
					   .events = events,
					   .unconfirmed = events,
					   .lost = { [XVT_LOST_BIG] = c->lost },
					   .dropped = c->dropped,
					   .first_ns = 4096,
					   .last_ns = last_ns,
					   .bound_ns_max = XVT_NO_BOUND };

	ck_assert_int_eq(xvt_trace_put(w, XVT_CHUNK_VM, &vm, sizeof(vm), NULL, 0), 0);
	ck_assert_int_eq(xvt_trace_put(w, XVT_CHUNK_RING, &ring, sizeof(ring), NULL, 0), 0);
	for (uint32_t i = 0; i < HEADS; i++)
		put_run(w, (i + 1) * 4096);
	ck_assert_int_eq(xvt_trace_event(w, &h, &lost), 0);
	ck_assert_int_eq(xvt_trace_put(w, XVT_CHUNK_HEADS, c->heads, sizeof(c->heads), NULL, 0), 0);
	ck_assert_int_eq(xvt_trace_put(w, XVT_CHUNK_STATS, &st, sizeof(st), NULL, 0), 0);
}

static void verify(const struct trace *c)
{
	judged_begin(&judged);
	put_trace(judged.w, c);
	judged_end(&judged);
	judged_verify(&judged, "heads.xvt");
}

/* attempted, discarded, lost as big; 1: the first of a row */
#define HEAD(i, n, back, big, first)                        \
	{                                                   \
		0, first, (i)*4096, n, back, { 0, 0, big }, \
	}

static const struct {
	struct trace trace;
	const char *says; /* NULL: nothing */
} cases[] = {
	{ { { HEAD(1, 1, 0, 0, 1), HEAD(2, 21, 0, 0, 0), HEAD(3, 41, 0, 0, 0),
	      HEAD(4, 61, 0, 0, 0) },
	    0,
	    0 },
	  NULL },
	/* What was given back and lost is attempted, too. */
	{ { { HEAD(1, 1, 0, 0, 1), HEAD(2, 31, 10, 0, 0), HEAD(3, 71, 10, 20, 0),
	      HEAD(4, 91, 10, 20, 0) },
	    20,
	    0 },
	  NULL },
	/* 16 were inside the writer at one header, and none at another. */
	{ { { HEAD(1, 1, 0, 0, 1), HEAD(2, 37, 0, 0, 0), HEAD(3, 41, 0, 0, 0),
	      HEAD(4, 61, 0, 0, 0) },
	    0,
	    0 },
	  NULL },
	{ { { HEAD(1, 1, 0, 0, 1), HEAD(2, 38, 0, 0, 0), HEAD(3, 58, 0, 0, 0),
	      HEAD(4, 78, 0, 0, 0) },
	    0,
	    0 },
	  "between positions 4096 and 8192 its writer counted 37 attempted, 0 lost and 0 "
	  "discarded, the file has 20 events" },
	/* Nine at each of two borders are more than were inside at once. */
	{ { { HEAD(1, 1, 0, 0, 1), HEAD(2, 21, 0, 0, 0), HEAD(3, 50, 0, 0, 0),
	      HEAD(4, 79, 0, 0, 0) },
	    0,
	    0 },
	  "between positions 4096 and 16384 its writer counted 78" },
	/* The file has more than the writer counted. */
	{ { { HEAD(1, 1, 0, 0, 1), HEAD(2, 21, 0, 0, 0), HEAD(3, 24, 0, 0, 0),
	      HEAD(4, 44, 0, 0, 0) },
	    0,
	    0 },
	  "between positions 4096 and 12288 its writer counted 23" },
	/* An interrupt lost 30 events after `attempted` was loaded. */
	{ { { HEAD(1, 1, 0, 0, 1), HEAD(2, 21, 0, 30, 0), HEAD(3, 71, 0, 30, 0),
	      HEAD(4, 91, 0, 30, 0) },
	    30,
	    0 },
	  NULL },
	/* Between two rows events are missing. */
	{ { { HEAD(1, 1, 0, 0, 1), HEAD(2, 21, 0, 0, 0), HEAD(3, 141, 0, 0, 1),
	      HEAD(4, 161, 0, 0, 0) },
	    0,
	    0 },
	  NULL },
	{ { { HEAD(1, 1, 0, 0, 1), HEAD(2, 21, 0, 0, 0), HEAD(3, 141, 0, 0, 0),
	      HEAD(4, 161, 0, 0, 0) },
	    0,
	    0 },
	  "between positions 4096 and 12288 its writer counted 140" },
	/* The recorder had no space for them. */
	{ { { HEAD(1, 1, 0, 0, 1), HEAD(2, 21, 0, 0, 0), HEAD(3, 141, 0, 0, 0),
	      HEAD(4, 161, 0, 0, 0) },
	    0,
	    100 },
	  NULL },
	{ { { HEAD(1, 1, 0, 0, 1), HEAD(2, 31, 0, 10, 0), HEAD(3, 61, 0, 20, 0),
	      HEAD(4, 81, 0, 20, 0) },
	    19,
	    0 },
	  "its writer counted 20 lost (big) between sub-buffers, its records tell of 19" },
};

START_TEST(verify_holds_events_against_the_counters_of_sub_buffers)
{
	verify(&cases[_i].trace);
	if (!cases[_i].says)
		ck_assert_str_eq(judged.lines, "");
	else
		ck_assert_msg(strstr(judged.lines, cases[_i].says) &&
				      strchr(judged.lines, '\n')[1] == 0,
			      "%s", judged.lines);
}
END_TEST

Suite *verify_heads_suite(void)
{
	Suite *s = suite_create("verify_heads");
	TCase *t = tcase_create("verify_heads");

	tcase_add_loop_test(t, verify_holds_events_against_the_counters_of_sub_buffers, 0,
			    sizeof(cases) / sizeof(cases[0]));
	suite_add_tcase(s, t);
	return s;
}
