// SPDX-License-Identifier: GPL-2.0
/*
 * test_snapshot.c - snapshots of real rings in real memory: what is in them, to the nanosecond;
 * what writers do to one while it is copied; that it changes nothing.
 */
#include "engine.h"
#include "recording.h"
#include "xvt_writer.h"
#include "session/parts.h"
#include "suites.h"

#include <stdlib.h>

#define T	1000000ull /* of the cut */
#define EARLIER 1000u

/* As the session does it, just before T. */
static void cut_all(struct engine *e)
{
	uint32_t i;

	for (i = 0; i < e->nr_rings; i++) {
		engine_node(e, i, EARLIER);
		xvt_ring_snapshot_begin(e->rings[i], 0, 0);
	}
	e->merge.limit_ns = T;
}

static void look_all(struct engine *e, uint64_t proof)
{
	uint32_t i;

	for (i = 0; i < e->nr_rings; i++)
		xvt_drain_look(e->rings[i], e->loop, proof);
}

static void copy_all(struct engine *e)
{
	uint32_t i;

	for (i = 0; i < e->nr_rings; i++) {
		while (e->rings[i]->drain.reads)
			ck_assert_int_ge(xvt_loop_run(e->loop, 1000000000u), 0);
	}
}

static void take_all(struct engine *e)
{
	uint32_t i;

	for (i = 0; i < e->nr_rings; i++)
		xvt_drain_take(e->rings[i], false);
}

/* Is the cut whole? By the session's own rule. */
static bool whole(struct engine *e)
{
	struct xvt_session s = { .rings = e->rings,
				 .nr_rings = e->nr_rings,
				 .clock = e->clock,
				 .snapshot.ns = T,
				 .snapshot.clock = T,
				 .opt = { .stall_timeout_ns = 1000 } };

	xvt_session_snapshot_copying(&s);
	return xvt_session_snapshot_over(&s, T);
}

static void finish(struct engine *e)
{
	uint32_t i;

	for (i = 0; i < e->nr_rings; i++)
		e->rings[i]->clock.map.closed = true;
	engine_merge(e);
}

static void account(struct engine *e, uint32_t ring)
{
	struct xvt_ring *r = e->rings[ring];
	const struct xvt_ring_stats *s = &r->account.stats;
	struct xvt_lost lost;
	uint64_t sum;
	int i;

	xvt_ring_tail_loss(r, &lost);
	xvt_ring_account(r, true);
	sum = s->events + s->discarded + s->overwritten + s->in_flight;
	for (i = 0; i < XVT_LOST_CAUSES; i++)
		sum += s->lost[i];
	ck_assert_uint_eq(s->attempted, sum);
}

START_TEST(the_cut_is_exact_on_all_rings)
{
	struct engine e;
	uint32_t i;
	size_t k;

	engine_init(&e, 3, XVT_ENABLE_OVERWRITE);
	for (i = 0; i < 3; i++) {
		engine_write(&e, i, T - 1);
		engine_write(&e, i, T);
	}
	cut_all(&e);
	for (i = 0; i < 3; i++)
		engine_write(&e, i, T + 1);
	engine_drain(&e, 0);
	ck_assert(!whole(&e)); /* no clock tells yet that the third ones are later */
	for (i = 0; i < 3; i++)
		engine_node(&e, i, T + 10);
	engine_merge(&e);
	ck_assert(whole(&e));
	finish(&e);
	ck_assert_uint_eq(e.nr_out, 6);
	for (k = 0; k < e.nr_out; k++)
		ck_assert_uint_le(e.out[k].ns, T);
	ck_assert(engine_in_order(&e));
	for (i = 0; i < 3; i++) {
		account(&e, i);
		ck_assert_uint_eq(e.rings[i]->account.stats.attempted, 2);
	}
	engine_fini(&e);
}
END_TEST

START_TEST(an_event_that_is_inside_its_writer_at_the_cut_is_waited_for)
{
	struct xvt_slot slot;
	struct engine e;

	engine_init(&e, 2, XVT_ENABLE_OVERWRITE);
	engine_write(&e, 0, T - 5);
	engine_write(&e, 1, T - 4);
	e.now = T - 3;
	ck_assert_int_eq(xvt_reserve(&e.writers[0], XVT_ID_U64, 8, &slot), 0);
	memset(slot.payload, 0, 8);
	cut_all(&e);
	engine_node(&e, 0, T + 10);
	engine_node(&e, 1, T + 10);
	engine_drain(&e, T + 1);
	engine_merge(&e);
	ck_assert(!whole(&e));
	xvt_commit(&e.writers[0], &slot);
	engine_drain(&e, T + 20);
	engine_merge(&e);
	ck_assert(whole(&e));
	finish(&e);
	ck_assert_uint_eq(e.nr_out, 3);
	engine_fini(&e);
}
END_TEST

START_TEST(a_ring_at_rest_is_whole_once_that_is_proven_of_after_the_cut)
{
	struct engine e;

	engine_init(&e, 1, XVT_ENABLE_OVERWRITE);
	engine_write(&e, 0, T - 5);
	cut_all(&e);
	engine_node(&e, 0, T + 10);
	engine_drain(&e, T - 1);
	engine_merge(&e);
	ck_assert(!whole(&e)); /* at rest at T - 1: something of T may still come */
	engine_drain(&e, T + 1);
	ck_assert(whole(&e));
	engine_merge(&e);
	finish(&e);
	ck_assert_uint_eq(e.nr_out, 1);
	engine_fini(&e);
}
END_TEST

START_TEST(a_ring_that_stays_inside_an_event_gives_what_it_has_published)
{
	struct xvt_slot slot;
	struct engine e;

	engine_init(&e, 2, XVT_ENABLE_OVERWRITE);
	engine_write(&e, 0, T - 5);
	e.now = T - 3;
	ck_assert_int_eq(xvt_reserve(&e.writers[0], XVT_ID_U64, 8, &slot), 0);
	engine_write(&e, 1, T - 4);
	cut_all(&e);
	engine_node(&e, 1, T + 10);
	engine_drain(&e, T + 1);
	engine_merge(&e);
	ck_assert(!whole(&e));
	finish(&e); /* the stall time-out is over */
	ck_assert_uint_eq(e.nr_out, 2);
	ck_assert(e.out[0].flags & XVT_EVENT_F_UNCONFIRMED || e.written[0].beside);
	account(&e, 0);
	ck_assert_uint_eq(e.rings[0]->account.stats.in_flight, 1);
	ck_assert_uint_eq(e.rings[0]->account.stats.attempted, 2);
	account(&e, 1);
	ck_assert_uint_eq(e.rings[1]->account.stats.in_flight, 0);
	engine_fini(&e);
}
END_TEST

/* Until the ring's writer has opened so many sub-buffers more. */
static void write_subbufs(struct engine *e, uint32_t ring, uint32_t n, uint64_t *time)
{
	const struct xvt_geometry *g = &e->region.g;
	uint64_t end = xvt_pos_next_subbuf(g, xvt_load(&e->writers[ring].ctl->resv)) +
		       (n - 1) * g->subbuf_size;

	while (!xvt_pos_before(end, xvt_load(&e->writers[ring].ctl->resv)))
		ck_assert_int_eq(engine_write(e, ring, ++*time), 0);
}

static uint64_t counted(const struct engine *e)
{
	uint64_t n = 0;
	size_t i;

	for (i = 0; i < e->nr_out; i++)
		n += e->out[i].id != XVT_ID_LOST;
	return n;
}

/*
 * The writer comes round while the ring is copied: by `early` sub-buffers before the first look, by
 * `lead` before its bytes are read, by `lag` after that. What was there at the cut is in, or
 * counted as overwritten; each event in what is left is the right one.
 */
static void overtake(uint32_t early, uint32_t lead, uint32_t lag)
{
	uint64_t time = T - 10000, first, last, expect, held, end = T + 1;
	struct engine e;
	size_t k;

	engine_init(&e, 1, XVT_ENABLE_OVERWRITE);
	write_subbufs(&e, 0, 9, &time);
	cut_all(&e);
	last = e.numbers[0];
	held = e.rings[0]->snapshot.look.attempted - e.rings[0]->snapshot.base_attempted;
	first = last - held + 1;
	if (early)
		write_subbufs(&e, 0, early, &end);
	look_all(&e, 0);
	if (lead)
		write_subbufs(&e, 0, lead, &end);
	copy_all(&e);
	if (lag)
		write_subbufs(&e, 0, lag, &end);
	take_all(&e);
	/* At once: a writer that goes on would not let it be read again. */
	ck_assert(early + lead + lag > 2 || e.rings[0]->drain.first);
	whole(&e);
	engine_drain(&e, 0);
	engine_node(&e, 0, end + 10);
	engine_drain(&e, end + 20);
	engine_merge(&e);
	ck_assert(whole(&e));
	finish(&e);
	account(&e, 0);
	ck_assert_uint_eq(e.rings[0]->account.stats.attempted, held);
	ck_assert_uint_eq(e.rings[0]->account.stats.events, counted(&e));
	ck_assert_uint_eq(e.rings[0]->account.stats.overwritten, held - counted(&e));
	if (counted(&e)) /* and the trace says where */
		ck_assert_uint_eq(e.rings[0]->snapshot.reported.overwritten, held - counted(&e));
	/* The newest ones are there, in a row. */
	expect = last + 1 - counted(&e);
	ck_assert_uint_ge(expect, first);
	for (k = 0; k < e.nr_out; k++) {
		if (e.out[k].id != XVT_ID_LOST)
			ck_assert_uint_eq(e.out[k].number, expect++);
	}
	/* The sub-buffer that was being written, and two more, are not enough to lose all. */
	if (early == 1 && !lead && !lag) /* one of four is gone, and no more */
		ck_assert_uint_lt(held - counted(&e), held / 2);
	lead += early;
	if (lead + lag == 0)
		ck_assert_uint_eq(counted(&e), held);
	else if (lead + lag < 3)
		ck_assert(counted(&e) > 0 && counted(&e) < held);
	else if (lead + lag > 4)
		ck_assert_uint_eq(counted(&e), 0);
	engine_fini(&e);
}

START_TEST(what_is_overtaken_while_it_is_copied_is_counted_and_the_rest_is_in)
{
	uint32_t n;

	for (n = 0; n < 6 * 6 * 6; n++)
		overtake(n / 36, n / 6 % 6, n % 6);
}
END_TEST

#define EVERY  10000000ull /* ns between two events */
#define EVENTS 200u
#define CUT    (1000 * EVERY)
#define DOUBT  4 /* events: the most that the clock may be off */

/* Writes EVENTS events up to the cut, and takes those from from_ns on, in the newest `most` bytes.
 * Returns how many that are. */
static size_t take_some(struct engine *e, uint64_t from_ns, bool clock, uint64_t most)
{
	struct xvt_clock_node node = { .guest = 0, .host_ns = 0 };
	struct xvt_ring *r;
	uint32_t i;

	engine_init(e, 1, XVT_ENABLE_OVERWRITE);
	r = e->rings[0];
	if (clock)
		engine_node(e, 0, CUT - (EVENTS + 1) * EVERY);
	for (i = 0; i < EVENTS; i++)
		engine_write(e, 0, CUT - (EVENTS - i) * EVERY);
	ck_assert(xvt_ring_snapshot_begin(r, from_ns, most));
	e->merge.limit_ns = CUT;
	if (!clock)
		ck_assert_int_eq(xvt_clock_map_add(&r->clock.map, &node), 0);
	engine_drain(e, 0);
	engine_drain(e, 0);
	finish(e);
	account(e, 0);
	ck_assert_uint_eq(r->account.stats.attempted, e->nr_out);
	return e->nr_out;
}

static size_t take_from(struct engine *e, uint64_t from_ns, bool clock)
{
	return take_some(e, from_ns, clock, 0);
}

/* The newest events are those that count, and what is left out is not lost. */
START_TEST(of_too_much_the_newest_is_taken)
{
	static const uint64_t most[] = { 1, 1024, 2048, 1 << 20 };
	const uint64_t subbuf = 1024, event = 16;
	struct engine e;
	size_t all, some;

	all = take_from(&e, 0, true);
	engine_fini(&e);
	some = take_some(&e, 0, true, most[_i]);
	ck_assert_uint_ge(some, 1);
	ck_assert_uint_eq(e.out[some - 1].ns, CUT - EVERY);
	if (most[_i] > all * 2 * event) {
		ck_assert_uint_eq(some, all);
	} else {
		ck_assert_uint_le(some * event, most[_i] > subbuf ? most[_i] : subbuf);
		ck_assert_uint_lt(some, all);
	}
	engine_fini(&e);
}
END_TEST

START_TEST(what_is_older_than_wanted_is_left_out)
{
	const uint64_t from_ns = CUT - EVENTS / 4 * EVERY;
	size_t all, some, i, older = 0;
	struct engine e;

	all = take_from(&e, 0, true);
	engine_fini(&e);
	some = take_from(&e, from_ns, true);
	for (i = 0; i < some; i++)
		older += e.out[i].ns < from_ns;
	/* From the sub-buffer on that has that moment; an event takes 16 bytes. */
	ck_assert_uint_gt(older, 0);
	ck_assert_uint_le(older, 1024 / 16 + DOUBT);
	ck_assert_uint_eq(some - older, EVENTS / 4);
	ck_assert_uint_lt(some, all);
	engine_fini(&e);
	/* Of the future: the newest sub-buffer. Of before all: nothing is left out. */
	ck_assert_uint_le(take_from(&e, 2 * CUT, true), 1024 / 16);
	engine_fini(&e);
	ck_assert_uint_eq(take_from(&e, 1, true), all);
	engine_fini(&e);
	/* Without a clock nothing is. */
	ck_assert_uint_eq(take_from(&e, from_ns, false), all);
	engine_fini(&e);
}
END_TEST

START_TEST(nothing_in_the_region_is_changed)
{
	struct xvt_ring_host before, *host;
	struct engine e;

	engine_init(&e, 1, XVT_ENABLE_OVERWRITE);
	host = e.rings[0]->host;
	engine_write(&e, 0, T - 5);
	before = *host;
	cut_all(&e);
	engine_drain(&e, T + 1);
	engine_node(&e, 0, T + 10);
	engine_drain(&e, T + 20);
	engine_merge(&e);
	finish(&e);
	account(&e, 0);
	ck_assert_uint_eq(e.nr_out, 1);
	ck_assert_mem_eq(host, &before, sizeof(before));
	ck_assert_uint_eq(host->enable, XVT_ENABLE_OVERWRITE);
	engine_fini(&e);
}
END_TEST

START_TEST(without_a_clock_nothing_after_the_look_before_the_cut_is_taken)
{
	struct xvt_clock_node node = { .guest = 0, .host_ns = 0 };
	struct xvt_slot slot;
	struct xvt_ring *r;
	struct engine e;

	engine_init(&e, 1, XVT_ENABLE_OVERWRITE);
	r = e.rings[0];
	engine_write(&e, 0, T - 5);
	engine_write(&e, 0, T + 1); /* as its ticks say; but it was there before */
	e.now = T + 2;
	ck_assert_int_eq(xvt_reserve(&e.writers[0], XVT_ID_U64, 8, &slot), 0);
	ck_assert(xvt_ring_snapshot_begin(r, 0, 0));
	r->snapshot.look_clock = T - 1;
	r->snapshot.frozen = true;
	e.merge.limit_ns = T;
	ck_assert_int_eq(xvt_clock_map_add(&r->clock.map, &node), 0);
	r->clock.map.closed = true;
	xvt_commit(&e.writers[0], &slot);
	engine_write(&e, 0, T + 3);
	engine_drain(&e, 0);
	engine_drain(&e, 0);
	engine_merge(&e);
	ck_assert_uint_eq(e.nr_out, 2);
	ck_assert_uint_le(e.out[1].ns, T);
	account(&e, 0);
	ck_assert_uint_eq(r->account.stats.in_flight, 1); /* when it was looked at */
	ck_assert_uint_eq(r->account.stats.attempted, 3);
	engine_fini(&e);
}
END_TEST

#define MS 1000000ull

/*
 * A clock is set back by a second, then the ring is found, measured and copied. Values of before
 * lie between the measurements, but what was there when the ring was found is older than all of
 * them. The last event came later.
 */
START_TEST(what_was_there_before_the_first_measurement_is_older)
{
	const uint64_t found = 100 * MS;
	struct engine e;
	struct xvt_ring *r;
	size_t i;

	engine_init(&e, 1, XVT_ENABLE_OVERWRITE);
	r = e.rings[0];
	engine_write(&e, 0, 1200 * MS);
	engine_write(&e, 0, 1300 * MS);
	xvt_ring_attach(r);
	r->drain.found_clock = found;
	engine_node(&e, 0, 1000 * MS);
	engine_write(&e, 0, 1900 * MS);
	engine_node(&e, 0, 2000 * MS);
	xvt_ring_snapshot_begin(r, 0, 0);
	e.merge.limit_ns = 3000 * MS;
	engine_drain(&e, 0);
	finish(&e);
	ck_assert_uint_eq(e.nr_out, 3);
	for (i = 0; i < 2; i++) {
		ck_assert_uint_le(e.out[i].ns, found);
		ck_assert_uint_ne(e.out[i].flags & (XVT_EVENT_F_CLOCK | XVT_EVENT_F_UNCONFIRMED),
				  0);
	}
	ck_assert_uint_eq(e.out[2].ns, 1900 * MS);
	ck_assert_uint_eq(e.out[2].flags, 0);
	engine_fini(&e);
}
END_TEST

START_TEST(losses_and_discards_are_those_of_the_window)
{
	static const uint8_t much[4096];
	uint64_t time = 10000;
	struct xvt_slot slot;
	struct engine e;

	engine_init(&e, 1, XVT_ENABLE_OVERWRITE);
	ck_assert_int_eq(xvt_write(&e.writers[0], XVT_ID_U64, much, sizeof(much)), -ENOSPC);
	write_subbufs(&e, 0, 8, &time); /* that one was before the window */
	ck_assert_int_eq(xvt_write(&e.writers[0], XVT_ID_U64, much, sizeof(much)), -ENOSPC);
	write_subbufs(&e, 0, 1, &time); /* told by a header */
	ck_assert_int_eq(xvt_write(&e.writers[0], XVT_ID_U64, much, sizeof(much)), -ENOSPC);
	ck_assert_int_eq(xvt_reserve(&e.writers[0], XVT_ID_U64, 8, &slot), 0);
	xvt_discard(&e.writers[0], &slot);
	cut_all(&e); /* reported by the counters alone */
	engine_drain(&e, T + 1);
	engine_node(&e, 0, T + 10);
	engine_drain(&e, T + 20);
	engine_merge(&e);
	finish(&e);
	account(&e, 0);
	ck_assert_uint_eq(e.rings[0]->account.stats.lost[XVT_LOST_BIG], 2);
	ck_assert_uint_eq(e.rings[0]->account.stats.discarded, 1);
	ck_assert_uint_eq(e.rings[0]->account.stats.overwritten, 0);
	ck_assert_uint_eq(e.rings[0]->account.stats.attempted, counted(&e) + 3);
	engine_fini(&e);
}
END_TEST

/* How far a snapshot's session is from having a clock when it may wait no longer. */
enum measured { NOTHING, ONE_NODE, NO_TIME };

/* In overwrite mode, as a flight recorder's guest. */
static void write_ten(struct recording *rec, uint32_t ring)
{
	struct xvt_writer w;

	xvt_writer_init(&w, rec->map, &rec->g, ring);
	xvt_store(&w.host->enable, (uint32_t)XVT_ENABLE_OVERWRITE);
	for (uint64_t n = 0; n < 10; n++)
		ck_assert_int_eq(xvt_write(&w, XVT_ID_U64, &n, sizeof(n)), 0);
}

/*
 * The only ring is one that cannot be measured, since its machine is paused or dead, or was
 * measured once, so that its rate is not known. All that it held is taken, with the one node.
 */
START_TEST(a_ring_that_alone_cannot_be_measured_is_taken_whole)
{
	const uint64_t most = 100;
	struct xvt_session_options opt = { .kind = XVT_SESSION_SNAPSHOT,
					   .memory_bytes = 8 << 20,
					   .stall_timeout_ns = _i == NO_TIME ? 0 : 60 * SECOND_NS };
	struct xvt_clock_node node = { .source = XVT_SOURCE_HANDSHAKE };
	struct recording rec;
	struct xvt_ring *r;
	uint64_t n, sleep_ns;

	recording_begin(&rec, 1, &opt);
	r = rec.vm->rings[0];
	write_ten(&rec, 0);
	if (_i == ONE_NODE) {
		node.guest = xvt_clock_read();
		node.host_ns = xvt_host_clock_ns(&rec.s->clock, node.guest);
		node.ring = r->id;
		ck_assert_int_eq(xvt_clock_map_add(&r->clock.map, &node), 0);
	}
	rec.s->start_clock -= ticks(rec.s, opt.stall_timeout_ns);
	for (n = 0; n < most && !rec.s->snapshot.done; n++)
		ck_assert_int_eq(xvt_session_pass(rec.s, &sleep_ns), 0);
	ck_assert_uint_lt(n, most);
	ck_assert(r->snapshot.frozen);
	ck_assert_int_eq(xvt_session_end(rec.s), 0);
	ck_assert_uint_eq(r->clock.map.count, 1);
	ck_assert_uint_eq(r->account.stats.events, 10);
	ck_assert_uint_eq(r->account.stats.unconfirmed, 10);
	ck_assert_uint_eq(r->account.stats.attempted, 10);
	xvt_session_free(rec.s);
	rec.s = NULL;
	recording_end(&rec);
}
END_TEST

/* Of a ring that cannot be measured: another one of its machine, or what a recorder left. */
enum placed_by { OTHER_RING, REGION };

static void leave_hint(struct xvt_ring *r)
{
	r->words.hint_seq = 2;
	xvt_store(&r->host->hint_guest, 1000);
	xvt_store(&r->host->hint_host_ns, 2000);
	xvt_store(&r->host->hint_bound_ns, 5);
	xvt_store(&r->host->hint_hz, 1000000000);
}

static void measure_alone(struct xvt_ring *r)
{
	struct xvt_clock_node node = {
		.ring = r->id, .source = XVT_SOURCE_HANDSHAKE, .guest = 1000, .host_ns = 2000
	};

	ck_assert_int_eq(xvt_clock_map_add(&r->clock.map, &node), 0);
	ck_assert_int_eq(xvt_ring_set_phase(r, XVT_PHASE_LIVE), 0);
}

/* It gives a line, and the trace says that it proves nothing of this ring's clock. */
START_TEST(what_is_taken_from_elsewhere_is_no_measurement)
{
	struct xvt_session_options opt = { .kind = XVT_SESSION_SNAPSHOT, .memory_bytes = 8 << 20 };
	struct recording rec;
	struct xvt_ring *r;
	uint64_t n, sleep_ns;

	recording_begin(&rec, 2, &opt);
	r = rec.vm->rings[1];
	write_ten(&rec, 1);
	if (_i == OTHER_RING)
		measure_alone(rec.vm->rings[0]);
	else
		leave_hint(r);
	for (n = 0; n < 100 && !rec.s->snapshot.ns; n++)
		ck_assert_int_eq(xvt_session_pass(rec.s, &sleep_ns), 0);
	ck_assert(r->snapshot.frozen);
	ck_assert_uint_eq(r->clock.map.count, 1);
	ck_assert_uint_eq(r->clock.map.nodes[0].host_ns, 2000);
	ck_assert_uint_eq(r->clock.map.nodes[0].flags, XVT_NODE_F_FIRST | XVT_NODE_F_TAKEN);
	xvt_session_free(rec.s);
	rec.s = NULL;
	recording_end(&rec);
}
END_TEST

Suite *snapshot_suite(void)
{
	Suite *s = suite_create("snapshot");
	TCase *t = tcase_create("cut");

	tcase_add_test(t, the_cut_is_exact_on_all_rings);
	tcase_add_test(t, an_event_that_is_inside_its_writer_at_the_cut_is_waited_for);
	tcase_add_test(t, a_ring_at_rest_is_whole_once_that_is_proven_of_after_the_cut);
	tcase_add_test(t, a_ring_that_stays_inside_an_event_gives_what_it_has_published);
	tcase_add_test(t, what_is_overtaken_while_it_is_copied_is_counted_and_the_rest_is_in);
	tcase_add_test(t, what_is_older_than_wanted_is_left_out);
	tcase_add_loop_test(t, of_too_much_the_newest_is_taken, 0, 4);
	tcase_add_test(t, nothing_in_the_region_is_changed);
	tcase_add_test(t, without_a_clock_nothing_after_the_look_before_the_cut_is_taken);
	tcase_add_test(t, what_was_there_before_the_first_measurement_is_older);
	tcase_add_test(t, losses_and_discards_are_those_of_the_window);
	tcase_add_loop_test(t, a_ring_that_alone_cannot_be_measured_is_taken_whole, NOTHING,
			    NO_TIME + 1);
	tcase_add_loop_test(t, what_is_taken_from_elsewhere_is_no_measurement, OTHER_RING,
			    REGION + 1);
	suite_add_tcase(s, t);
	return s;
}
