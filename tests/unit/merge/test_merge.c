// SPDX-License-Identifier: GPL-2.0
/*
 * test_merge.c - the order of the output, on real rings in real memory: seed 001's table of
 * rounds, watermarks, late events, gaps and generations.
 */
#include "engine.h"
#include "suites.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define MS 1000000ull

/*
 * Seed 001: what two CPUs hold in three passes and what may be flushed. "Flush below 4 after
 * the second pass, below 7 after the third": perf may do so because it assumes that a writer
 * publishes within a pass. We may because each ring was measured and proven idle at that time;
 * on the seed's own example both allow the same.
 */
START_TEST(seed_001_flushes_below_4_after_the_second_pass_and_below_7_after_the_third)
{
	struct engine e;

	engine_init(&e, 2, XVT_ENABLE_STOP);
	engine_write(&e, 0, 1);
	engine_write(&e, 1, 2);
	engine_write(&e, 0, 3); /* in the seed's pass n + 1, but written in time order */
	engine_write(&e, 1, 4);
	engine_drain(&e, 0);
	engine_merge(&e);
	ck_assert_uint_eq(e.nr_out, 0); /* after the first pass nothing is proven */

	engine_node(&e, 0, 1);
	engine_node(&e, 1, 1);
	engine_node(&e, 0, 4);
	engine_node(&e, 1, 4);
	engine_drain(&e, 4);
	engine_merge(&e);
	ck_assert_uint_eq(e.nr_out, 3); /* 1, 2, 3: below 4, and not 4 itself */
	ck_assert_uint_eq(e.out[2].ns, 3);

	engine_write(&e, 0, 4);
	engine_write(&e, 1, 5);
	engine_write(&e, 0, 6);
	engine_write(&e, 1, 7);
	engine_write(&e, 0, 7);
	engine_write(&e, 1, 8);
	engine_write(&e, 1, 9);
	engine_node(&e, 0, 7);
	engine_node(&e, 1, 7);
	engine_drain(&e, 7);
	engine_copied_by(&e, 7);
	engine_merge(&e);
	ck_assert_uint_eq(engine_count_below(&e, 7), 7);	/* 1 2 3 4 4 5 6 */
	ck_assert_uint_eq(engine_count_below(&e, 8), e.nr_out); /* and nothing above 7 */
	ck_assert(engine_in_order(&e));

	engine_end(&e);
	ck_assert_uint_eq(e.nr_out, 11);
	ck_assert(engine_in_order(&e));
	engine_fini(&e);
}
END_TEST

START_TEST(an_idle_ring_lets_the_others_pass_only_up_to_its_proof)
{
	struct engine e;

	engine_init(&e, 2, XVT_ENABLE_STOP);
	engine_node(&e, 0, 1);
	engine_node(&e, 1, 1);
	engine_write(&e, 0, 10);
	engine_write(&e, 0, 20);
	engine_node(&e, 0, 30);
	engine_drain(&e, 0);
	engine_merge(&e);
	ck_assert_uint_eq(e.nr_out, 0); /* ring 1 could still hold something of time 5 */
	engine_node(&e, 1, 15);
	engine_drain(&e, 14);
	engine_merge(&e);
	ck_assert_uint_eq(e.nr_out, 0); /* the proof is older than the node */
	engine_drain(&e, 15);
	engine_merge(&e);
	ck_assert_uint_eq(e.nr_out, 1);
	ck_assert_uint_eq(e.out[0].ns, 10);
	engine_end(&e);
	engine_fini(&e);
}
END_TEST

/* The watermark model's finding: nest == 0 proves nothing while commit is behind resv. */
START_TEST(nest_0_with_commit_behind_resv_is_no_proof)
{
	struct xvt_slot outer;
	struct engine e;

	engine_init(&e, 2, XVT_ENABLE_STOP);
	engine_node(&e, 0, 1);
	engine_node(&e, 1, 1);
	/* Ring 1 reserves at 5 and is looked at in the window between its publication and its
	 * last check, where nest reads 0 although a record is not below commit. */
	e.now = 5;
	ck_assert_int_eq(xvt_reserve(&e.writers[1], XVT_ID_U64, 8, &outer), 0);
	xvt_store(&e.writers[1].ctl->nest, 0);
	engine_write(&e, 0, 10);
	engine_node(&e, 0, 20);
	engine_node(&e, 1, 20);
	engine_drain(&e, 20);
	engine_merge(&e);
	ck_assert_uint_eq(e.nr_out, 0);
	xvt_store(&e.writers[1].ctl->nest, 1);
	*(uint64_t *)outer.payload = 1;
	xvt_commit(&e.writers[1], &outer);
	engine_drain(&e, 20);
	engine_merge(&e);
	ck_assert_uint_eq(e.nr_out, 2);
	ck_assert_uint_eq(e.out[0].ns, 5);
	ck_assert_uint_eq(e.out[0].flags, 0);
	engine_end(&e);
	ck_assert(engine_in_order(&e));
	engine_fini(&e);
}
END_TEST

START_TEST(a_ring_set_aside_holds_none_back_and_returns_in_the_late_lane)
{
	struct xvt_slot slot;
	struct engine e;

	engine_init(&e, 2, XVT_ENABLE_STOP);
	engine_node(&e, 0, 1);
	engine_node(&e, 1, 1);
	e.now = 5 * MS;
	ck_assert_int_eq(xvt_reserve(&e.writers[1], XVT_ID_U64, 8, &slot), 0);
	*(uint64_t *)slot.payload = 1;
	engine_write(&e, 0, 10 * MS);
	engine_node(&e, 0, 200 * MS);
	engine_node(&e, 1, 200 * MS);
	engine_drain(&e, 200 * MS);
	engine_merge(&e);
	ck_assert_uint_eq(e.nr_out, 0);
	xvt_ring_set_phase(e.rings[1], XVT_PHASE_ASIDE);
	engine_drain(&e, 200 * MS);
	engine_merge(&e);
	ck_assert_uint_eq(e.nr_out, 1);
	xvt_commit(&e.writers[1], &slot);
	engine_drain(&e, 200 * MS);
	engine_merge(&e);
	ck_assert_uint_eq(e.nr_out, 2);
	ck_assert_uint_eq(e.out[1].ns, 5 * MS); /* at its true time, flagged, counted */
	ck_assert(e.out[1].flags & XVT_EVENT_F_LATE);
	ck_assert_uint_eq(e.merge.late, 1);
	ck_assert(engine_in_order(&e));
	engine_fini(&e);
}
END_TEST

/* The records of one time are in the order of their rings: one of an earlier ring is too late. */
/* In the main lane, and beside it. */
START_TEST(a_window_that_was_not_emitted_waits_as_a_whole)
{
	struct engine e;
	uint64_t i;

	engine_init(&e, 2, XVT_ENABLE_STOP);
	e.rings[0]->guest.loose = _i == 1;
	engine_node(&e, 0, 1);
	engine_node(&e, 1, 1);
	for (i = 0; i < 10; i++)
		engine_write(&e, 0, (2 + i) * MS);
	engine_node(&e, 0, 200 * MS);
	engine_node(&e, 1, 200 * MS);
	engine_drain(&e, 200 * MS);
	e.no_memory = true;
	ck_assert_int_eq(xvt_merge_pass(&e.merge, e.rings, e.nr_rings), -ENOMEM);
	ck_assert_uint_eq(e.nr_out, 0);
	engine_merge(&e);
	ck_assert_uint_eq(e.nr_out, 10);
	ck_assert(engine_in_order(&e));
	ck_assert_uint_eq(e.merge.loose, _i == 1 ? 10 : 0);
	engine_fini(&e);
}
END_TEST

START_TEST(at_the_newest_time_only_a_ring_before_its_ring_is_late)
{
	const uint32_t aside = (uint32_t)_i, goes_on = !aside;
	struct xvt_slot slot;
	struct engine e;

	engine_init(&e, 2, XVT_ENABLE_STOP);
	engine_node(&e, 0, 1);
	engine_node(&e, 1, 1);
	e.now = 10 * MS;
	ck_assert_int_eq(xvt_reserve(&e.writers[aside], XVT_ID_U64, 8, &slot), 0);
	*(uint64_t *)slot.payload = 1;
	engine_write(&e, goes_on, 10 * MS);
	engine_node(&e, 0, 200 * MS);
	engine_node(&e, 1, 200 * MS);
	xvt_ring_set_phase(e.rings[aside], XVT_PHASE_ASIDE);
	e.merge.limit_ns = 10 * MS; /* no watermark beyond it */
	engine_drain(&e, 200 * MS);
	engine_merge(&e);
	ck_assert_uint_eq(e.nr_out, 1);
	e.merge.watermark = 0;
	xvt_commit(&e.writers[aside], &slot);
	engine_drain(&e, 200 * MS);
	engine_merge(&e);
	ck_assert_uint_eq(e.nr_out, 2);
	ck_assert_uint_eq(e.out[1].ns, 10 * MS);
	ck_assert_uint_eq(!!(e.out[1].flags & XVT_EVENT_F_LATE), aside == 0);
	engine_fini(&e);
}
END_TEST

/* The writer came round into the sub-buffer that the host is in the middle of, and began again. */
START_TEST(a_lap_before_a_new_generation_is_skipped)
{
	struct engine e;
	uint64_t t = 10, from;
	uint32_t k;

	engine_init(&e, 1, XVT_ENABLE_OVERWRITE);
	engine_node(&e, 0, 1);
	while ((e.writers[0].ctl->commit & 1023) < 700)
		engine_write(&e, 0, t++);
	engine_drain(&e, 0);
	from = e.rings[0]->drain.read_pos;
	while (e.writers[0].ctl->commit - (from & ~1023ull) <= e.region.g.ring_size + 200)
		engine_write(&e, 0, t++);
	xvt_ring_new_generation(e.writers[0].ctl, &e.region.g, e.writers[0].ctl->generation + 1,
				XVT_CLOCK_CALLER);
	engine_bind(&e, 0);
	for (k = 0; k < 3; k++) {
		engine_write(&e, 0, t++);
		engine_drain(&e, 0);
	}
	ck_assert_uint_eq(e.rings[0]->drain.generation, e.writers[0].ctl->generation);
	ck_assert_uint_eq(e.rings[0]->drain.read_pos, e.writers[0].ctl->commit);
	engine_fini(&e);
}
END_TEST

START_TEST(equal_times_are_ordered_by_machine_and_ring)
{
	struct engine e;
	uint32_t i;

	engine_init(&e, 3, XVT_ENABLE_STOP);
	for (i = 3; i-- > 0;) {
		engine_node(&e, i, 1);
		engine_write(&e, i, 7);
		engine_write(&e, i, 7);
	}
	engine_end(&e);
	ck_assert_uint_eq(e.nr_out, 6);
	for (i = 0; i < 6; i++)
		ck_assert_uint_eq(e.out[i].ring, i / 2);
	engine_fini(&e);
}
END_TEST

START_TEST(a_mark_takes_its_place_and_is_not_counted)
{
	struct engine e;
	uint32_t i;

	engine_init(&e, 1, XVT_ENABLE_STOP);
	engine_node(&e, 0, 1);
	engine_write(&e, 0, 10);
	e.now = 20;
	e.rings[0]->host->mark_seq = 4711;
	xvt_writer_mark(&e.writers[0]);
	engine_write(&e, 0, 30);
	engine_drain(&e, 0);
	/* The next one finds the ring full: it is not there, and is not missed. */
	for (i = 0; engine_write(&e, 0, 40 + i) == 0; i++)
		;
	e.rings[0]->host->mark_seq = 4712;
	xvt_writer_mark(&e.writers[0]);
	ck_assert_uint_eq(e.writers[0].ctl->mark_ack, 4712);
	engine_end(&e);
	ck_assert_uint_eq(e.nr_out, 3 + i);
	ck_assert_uint_eq(e.out[1].id, XVT_ID_MARK);
	ck_assert_uint_eq(e.out[1].ns, 20);
	ck_assert_uint_eq(e.out[1].number, 4711);
	xvt_ring_account(e.rings[0], true);
	ck_assert_uint_eq(e.rings[0]->account.stats.events, 2 + i);
	ck_assert_uint_eq(e.rings[0]->account.stats.attempted, 3 + i);
	ck_assert_uint_eq(e.rings[0]->account.stats.lost[XVT_LOST_FULL], 1);
	ck_assert_uint_eq(e.rings[0]->account.stats.in_flight, 0);
	ck_assert_uint_eq(e.rings[0]->account.stats.bad_bytes, 0);
	engine_fini(&e);
}
END_TEST

START_TEST(a_full_ring_tells_its_gap_between_the_right_two_numbers)
{
	uint64_t attempted = 0, lost = 0, before = 0, after = 0, told = 0;
	struct engine e;
	size_t i;

	engine_init(&e, 1, XVT_ENABLE_STOP);
	engine_node(&e, 0, 1);
	while (!lost) {
		attempted++;
		lost += engine_write(&e, 0, 1 + attempted) != 0;
	}
	for (i = 0; i < 9; i++, attempted++)
		lost += engine_write(&e, 0, 1 + attempted) != 0;
	ck_assert_uint_eq(lost, 10);
	engine_drain(&e, 0);
	for (i = 0; i < 5; i++, attempted++)
		ck_assert_int_eq(engine_write(&e, 0, 1 + attempted), 0);
	engine_end(&e);
	for (i = 0; i < e.nr_out; i++) {
		if (e.out[i].id != XVT_ID_LOST)
			continue;
		before = e.out[i - 1].number;
		after = e.out[i + 1].number;
		told += e.out[i].lost.lost[XVT_LOST_FULL];
	}
	ck_assert_uint_eq(told, lost);
	ck_assert_uint_eq(after - before - 1, lost);
	xvt_ring_account(e.rings[0], true);
	ck_assert_uint_eq(e.rings[0]->account.stats.attempted, attempted);
	ck_assert_uint_eq(e.rings[0]->account.stats.events + lost, attempted);
	ck_assert_uint_eq(e.rings[0]->account.stats.in_flight, 0);
	engine_fini(&e);
}
END_TEST

START_TEST(an_overtaken_reader_goes_on_without_duplicates_and_the_counts_add_up)
{
	uint64_t attempted, last = 0;
	struct engine e;
	bool gap = false;
	size_t i;

	engine_init(&e, 1, XVT_ENABLE_OVERWRITE);
	engine_node(&e, 0, 1);
	for (attempted = 1; attempted <= 20; attempted++)
		engine_write(&e, 0, 1 + attempted);
	engine_drain(&e, 0);
	for (; attempted <= 2000; attempted++)
		ck_assert_int_eq(engine_write(&e, 0, 1 + attempted), 0);
	engine_end(&e);
	for (i = 0; i < e.nr_out; i++) {
		if (e.out[i].id == XVT_ID_LOST) {
			gap = true;
			ck_assert_uint_eq(e.out[i].lost.overwritten,
					  e.out[i + 1].number - e.out[i - 1].number - 1);
			continue;
		}
		ck_assert_uint_gt(e.out[i].number, last);
		last = e.out[i].number;
	}
	ck_assert(gap);
	ck_assert_uint_eq(last, 2000);
	xvt_ring_account(e.rings[0], true);
	ck_assert_uint_eq(e.rings[0]->account.stats.attempted, 2000);
	ck_assert_uint_eq(e.rings[0]->account.stats.events + e.rings[0]->account.stats.overwritten,
			  2000);
	ck_assert_uint_gt(e.rings[0]->account.stats.overwritten, 0);
	engine_fini(&e);
}
END_TEST

START_TEST(undrained_records_of_an_older_generation_are_delivered_first)
{
	static const uint8_t uuid[16];
	struct xvt_layout layout = { .clock_id = XVT_CLOCK_CALLER };
	struct xvt_slot dead;
	struct engine e;
	uint64_t i;

	engine_init(&e, 1, XVT_ENABLE_STOP);
	engine_node(&e, 0, 1);
	for (i = 1; i <= 10; i++)
		engine_write(&e, 0, 1 + i);
	/* The guest dies inside event 11, which an interrupt's event 12 had interrupted. */
	e.now = 12;
	ck_assert_int_eq(xvt_reserve(&e.writers[0], XVT_ID_U64, 8, &dead), 0);
	e.numbers[0]++;
	engine_write(&e, 0, 13);
	xvt_region_new_generation(e.region.map, &e.region.g, &layout, uuid);
	engine_bind(&e, 0);
	for (i = 0; i < 5; i++)
		engine_write(&e, 0, 20 + i);
	engine_end(&e);
	ck_assert_uint_eq(e.nr_out, 16);
	for (i = 0; i < 10; i++)
		ck_assert_uint_eq(e.out[i].number, i + 1);
	ck_assert_uint_eq(e.out[10].number, 12); /* finished, never published */
	ck_assert(e.out[10].flags & XVT_EVENT_F_RECOVERED);
	ck_assert_uint_eq(e.out[11].number, 13);
	ck_assert_uint_eq(e.rings[0]->decode.unfinished, 1);
	xvt_ring_account(e.rings[0], true);
	ck_assert_uint_eq(e.rings[0]->account.stats.in_flight, 1);
	engine_fini(&e);
}
END_TEST

START_TEST(an_unreadable_sub_buffer_costs_itself_only)
{
	struct xvt_subbuf_hdr *h;
	struct engine e;
	uint64_t i, told = 0;

	engine_init(&e, 1, XVT_ENABLE_STOP);
	engine_node(&e, 0, 1);
	for (i = 1; i <= 130; i++)
		ck_assert_int_eq(engine_write(&e, 0, 1 + i), 0);
	h = (void *)(e.writers[0].data + 1024);
	h->magic ^= 1;
	engine_end(&e);
	for (i = 0; i < e.nr_out; i++) {
		if (e.out[i].id == XVT_ID_LOST)
			told += e.out[i].lost.bad_bytes;
	}
	ck_assert_uint_eq(told, 1024);
	ck_assert_uint_eq(e.out[0].number, 1);
	ck_assert_uint_eq(e.out[e.nr_out - 1].number, 130);
	ck_assert_uint_eq(e.rings[0]->account.stats.bad_bytes, 1024);
	engine_fini(&e);
}
END_TEST

/* A position that no ring can have stops that ring only. */
START_TEST(nonsense_control_words_stop_one_ring_and_say_which_word)
{
	struct engine e;

	engine_init(&e, 2, XVT_ENABLE_STOP);
	engine_node(&e, 0, 1);
	engine_node(&e, 1, 1);
	engine_write(&e, 0, 5);
	engine_write(&e, 1, 6);
	xvt_store(&e.writers[0].ctl->commit, 1ull << 40);
	engine_end(&e);
	ck_assert_int_eq(e.rings[0]->phase, XVT_PHASE_BROKEN);
	ck_assert_ptr_nonnull(strstr(e.rings[0]->fault.text, "commit"));
	ck_assert_uint_eq(e.nr_out, 1);
	ck_assert_uint_eq(e.out[0].ring, 1);
	engine_fini(&e);
}
END_TEST

#define POSITION(name)	   #name, offsetof(struct xvt_ring_ctl, name)
#define GEN_POSITION(name) "gen." #name, offsetof(struct xvt_ring_ctl, gen[1].name)

/* Words that are positions, each off by a little from what the format allows. */
static const struct {
	const char *field;
	size_t off;
	uint64_t more;
} unaligned[] = {
	{ POSITION(commit), 4 },
	{ POSITION(commit), 1 },
	{ POSITION(resv), 4 },
	{ POSITION(resv), 7 },
	{ GEN_POSITION(prev_commit), 4 },
	{ GEN_POSITION(prev_commit), 1 },
	{ GEN_POSITION(prev_resv), 4 },
	{ GEN_POSITION(prev_resv), 7 },
	{ GEN_POSITION(start), 8 },
	{ GEN_POSITION(start), 1 },
};

START_TEST(each_position_that_is_not_aligned_stops_its_ring_by_name)
{
	char want[64];
	struct xvt_ring_ctl *c;
	struct engine e;
	uint64_t *at;

	engine_init(&e, 2, XVT_ENABLE_STOP);
	engine_node(&e, 0, 1);
	engine_node(&e, 1, 1);
	engine_write(&e, 0, 5);
	engine_write(&e, 0, 6);
	engine_write(&e, 1, 7);
	c = e.writers[0].ctl;
	xvt_ring_new_generation(c, &e.region.g, 1, XVT_CLOCK_CALLER);
	at = (uint64_t *)((uint8_t *)c + unaligned[_i].off);
	xvt_store(at, *at + unaligned[_i].more);
	engine_end(&e);
	ck_assert_int_eq(e.rings[0]->phase, XVT_PHASE_BROKEN);
	snprintf(want, sizeof(want), "%s = %" PRIu64 " ", unaligned[_i].field, xvt_load(at));
	ck_assert_msg(strstr(e.rings[0]->fault.text, want) != NULL, "%s", e.rings[0]->fault.text);
	ck_assert_uint_eq(e.out[e.nr_out - 1].ring, 1);
	engine_fini(&e);
}
END_TEST

START_TEST(memory_stays_inside_its_budget_and_the_guest_counts_what_it_drops)
{
	uint64_t i, kept = 0, dropped = 0;
	struct engine e;

	engine_init(&e, 1, XVT_ENABLE_STOP);
	engine_node(&e, 0, 1);
	e.pool.budget = 16384;
	for (i = 1; i <= 5000; i++) {
		if (engine_write(&e, 0, 1 + i))
			dropped++;
		else
			kept++;
		if (i % 20 == 0)
			engine_drain(&e, 0);
		ck_assert_uint_le(e.pool.used + e.pool.kept, 16384);
	}
	ck_assert_uint_gt(dropped, 0);
	ck_assert_uint_eq(e.writers[0].ctl->lost[XVT_LOST_FULL], dropped);
	e.pool.budget = 64u << 20;
	engine_end(&e);
	ck_assert_uint_eq(engine_count_below(&e, UINT64_MAX), kept);
	engine_fini(&e);
}
END_TEST

/* The guest's word says where a generation begins; the host must not walk there. */
START_TEST(a_generation_that_begins_far_away_costs_no_time)
{
	struct xvt_ring_ctl *c;
	struct engine e;

	engine_init(&e, 2, XVT_ENABLE_STOP);
	engine_node(&e, 0, 1);
	engine_node(&e, 1, 1);
	engine_write(&e, 0, 5);
	engine_write(&e, 1, 6);
	engine_drain(&e, 0);
	c = e.writers[0].ctl;
	c->gen[1] = (struct xvt_ring_gen){ .start = 1ull << 62,
					   .prev_commit = 1ull << 62,
					   .prev_resv = 1ull << 62,
					   .generation = c->generation + 1 };
	ck_assert_uint_eq(c->generation, 0);
	c->resv = c->commit = 1ull << 62;
	xvt_store_release(&c->generation, 1);
	engine_end(&e); /* cleared up to there, 1 KiB at a time, it would take for ever */
	ck_assert_uint_eq(e.nr_out, 2);
	engine_fini(&e);
}
END_TEST

/* No ring's claim about the future makes the others' present late. */
START_TEST(what_claims_to_be_later_than_now_waits)
{
	struct engine e;

	engine_init(&e, 2, XVT_ENABLE_STOP);
	engine_node(&e, 0, 1);
	engine_node(&e, 1, 1);
	engine_write(&e, 0, 1000);
	engine_node(&e, 0, 2000);
	xvt_ring_set_phase(e.rings[1], XVT_PHASE_DONE); /* holds no other ring back */
	e.merge.limit_ns = 50;
	engine_drain(&e, 0);
	engine_merge(&e);
	ck_assert_uint_eq(e.nr_out, 0);
	xvt_ring_set_phase(e.rings[1], XVT_PHASE_LIVE);
	engine_write(&e, 1, 20);
	engine_node(&e, 1, 40);
	engine_drain(&e, 40);
	engine_merge(&e);
	ck_assert_uint_eq(e.nr_out, 1);
	ck_assert_uint_eq(e.out[0].ring, 1);
	ck_assert_uint_eq(e.out[0].flags, 0);
	e.merge.limit_ns = UINT64_MAX;
	engine_end(&e);
	ck_assert_uint_eq(e.nr_out, 2);
	ck_assert(engine_in_order(&e));
	engine_fini(&e);
}
END_TEST

/* Placed in one go or one by one: what was seen and when the ring joined holds for each record. */
START_TEST(a_record_in_a_run_is_judged_as_if_it_came_alone)
{
	struct engine e;
	size_t i;

	engine_init(&e, 1, XVT_ENABLE_STOP);
	engine_node(&e, 0, 1);
	e.rings[0]->start_ns = 12 * MS;
	for (i = 1; i <= 9; i++)
		engine_write(&e, 0, i * 3 * MS);
	engine_node(&e, 0, 100 * MS);
	engine_drain(&e, 0);
	e.rings[0]->drain.first->ceiling_ns = 23 * MS; /* and yet 24 and 27 are in it */
	engine_merge(&e);
	engine_end(&e);
	ck_assert_uint_eq(e.nr_out, 9);
	for (i = 0; i < 9; i++) {
		ck_assert_uint_eq(!!(e.out[i].flags & XVT_EVENT_F_BACKLOG), i < 3);
		ck_assert_uint_eq(!!(e.out[i].flags & XVT_EVENT_F_CLOCK), i > 6);
		ck_assert_uint_eq(e.out[i].ns, i > 6 ? 23 * MS : (i + 1) * 3 * MS);
	}
	engine_fini(&e);
}
END_TEST

/* A stamp before the one before it: an epoch begins, or the stamp is wrong. The clock says. */
START_TEST(a_stamp_that_goes_back_waits_for_the_clock_and_no_longer)
{
	struct engine e;

	engine_init(&e, 1, XVT_ENABLE_STOP);
	engine_node(&e, 0, 1);
	engine_write(&e, 0, 20);
	engine_write(&e, 0, 10);
	engine_write(&e, 0, 30);
	engine_node(&e, 0, 40);
	engine_drain(&e, 0);
	engine_merge(&e);
	ck_assert_uint_eq(e.nr_out, 1);
	engine_node(&e, 0, 50);
	e.rings[0]->clock.node_before_clock =
		xvt_clock_read(); /* node 40 came after the records did */
	engine_merge(&e);
	ck_assert_uint_eq(e.nr_out, 3);
	ck_assert(e.out[1].flags & XVT_EVENT_F_CLOCK);
	ck_assert(!(e.out[2].flags & XVT_EVENT_F_CLOCK));
	ck_assert(engine_in_order(&e));
	engine_fini(&e);
}
END_TEST

/* Else ring 0, which others wait for, could never be read again: all would stand still. */
START_TEST(a_ring_that_holds_nothing_is_read_although_memory_is_used_up)
{
	struct engine e;

	engine_init(&e, 2, XVT_ENABLE_STOP);
	engine_node(&e, 0, 1);
	engine_node(&e, 1, 1);
	e.pool.budget = 512 + 256; /* of one piece */
	engine_write(&e, 1, 10);
	engine_drain(&e, 0);
	ck_assert_uint_eq(e.pool.used, 512 + 256);
	engine_write(&e, 0, 5);
	engine_node(&e, 0, 20);
	engine_node(&e, 1, 20);
	engine_drain(&e, 20);
	engine_merge(&e);
	ck_assert_uint_eq(e.nr_out, 2);
	ck_assert(engine_in_order(&e));
	engine_fini(&e);
}
END_TEST

/*
 * A guest stands still for 3 s, its clock too, with a writer inside an event and one record
 * written after it. What tells them apart is the epoch word that was set meanwhile.
 */
START_TEST(a_record_in_flight_over_a_pause_is_placed_by_the_epoch_that_it_read)
{
	struct xvt_slot slot;
	struct engine e;

	engine_init(&e, 1, XVT_ENABLE_STOP);
	engine_node(&e, 0, 1);
	engine_node(&e, 0, 100 * MS);
	e.now = 105 * MS;
	ck_assert_int_eq(xvt_reserve(&e.writers[0], XVT_ID_U64, 8, &slot), 0);
	*(uint64_t *)slot.payload = 1;
	xvt_ring_bump_epoch(e.rings[0]);
	e.rings[0]->words.bumps[0].before_ns = 500 * MS;
	e.rings[0]->words.bumps[0].after_ns = 501 * MS;
	xvt_commit(&e.writers[0], &slot);
	engine_write(&e, 0, 106 * MS);
	engine_drain(&e, 0);
	e.rings[0]->drain.first->ceiling_ns = 1020 * MS;
	engine_at(&e, 0, 110 * MS, 1010 * MS);
	engine_at(&e, 0, 120 * MS, 1020 * MS);
	engine_merge(&e);
	ck_assert_uint_eq(e.nr_out, 2);
	ck_assert_uint_eq(e.out[0].ns, 105 * MS);
	ck_assert_uint_eq(e.out[1].ns, 1006 * MS);
	ck_assert_uint_eq(e.out[0].flags | e.out[1].flags, 0);
	engine_end(&e);
	engine_fini(&e);
}
END_TEST

/* No guest answers any more, or only so widely that nothing comes of it: what waits was seen by the
 * drain, and that is a sample as well. */
START_TEST(what_waits_when_a_guest_falls_silent_is_its_own_witness)
{
	const struct xvt_clock_node *n;
	struct engine e;

	engine_init(&e, 2, XVT_ENABLE_STOP);
	engine_node(&e, 0, 1);
	engine_node(&e, 0, 100 * MS);
	engine_node(&e, 1, 1);
	engine_node(&e, 1, 100 * MS);
	engine_write(&e, 0, 110 * MS);
	engine_write(&e, 0, 120 * MS);
	engine_write(&e, 1, 115 * MS);
	engine_node(&e, 1, 200 * MS);
	engine_drain(&e, 200 * MS);
	e.rings[0]->drain.first->ceiling_ns = 125 * MS;
	engine_merge(&e);
	ck_assert_uint_eq(e.nr_out, 0);
	e.rings[0]->guest.quiet = !_i;
	e.rings[0]->guest.wide = _i;
	engine_merge(&e);
	ck_assert_uint_eq(e.nr_out, 3); /* and ring 1 went on as well, in order */
	ck_assert(engine_in_order(&e));
	ck_assert_uint_eq(e.out[1].ns, 115 * MS);
	ck_assert_uint_eq(e.out[2].ns, 120 * MS);
	ck_assert_uint_eq(e.out[0].flags | e.out[2].flags, 0);
	ck_assert(e.rings[0]->clock.inferred_new);
	n = xvt_clock_map_last(&e.rings[0]->clock.map);
	ck_assert_uint_eq(n->source, XVT_SOURCE_DRAIN);
	ck_assert_uint_eq(n->guest, 120 * MS);
	ck_assert_uint_eq(n->bound_ns, 20 * MS); /* between the node before and the look */
	engine_end(&e);
	engine_fini(&e);
}
END_TEST

/* A record that the drain saw at another time than its clock says is no evidence. */
START_TEST(a_witness_that_contradicts_the_line_is_not_heard)
{
	struct engine e;

	engine_init(&e, 1, XVT_ENABLE_STOP);
	engine_node(&e, 0, 1);
	engine_node(&e, 0, 100 * MS);
	engine_write(&e, 0, 110 * MS);
	engine_drain(&e, 0);
	e.rings[0]->guest.quiet = true;
	e.rings[0]->drain.first->floor_ns = 3000 * MS;
	e.rings[0]->drain.first->ceiling_ns = 3010 * MS;
	engine_merge(&e);
	ck_assert_uint_eq(e.nr_out, 0);
	ck_assert(!e.rings[0]->clock.inferred_new);
	engine_at(&e, 0, 120 * MS, 3015 * MS); /* it had stood still, and answers now */
	engine_merge(&e);
	ck_assert_uint_eq(e.nr_out, 1);
	ck_assert_uint_eq(e.out[0].ns, 3005 * MS);
	ck_assert_uint_eq(e.out[0].flags, 0);
	engine_end(&e);
	engine_fini(&e);
}
END_TEST

/* Refused in each pass while its ring goes on: what was looked at once is not looked at again. */
START_TEST(the_search_for_a_witness_goes_on_where_it_ended)
{
	struct engine e;
	struct xvt_ring *r;
	uint64_t n = 0;

	engine_init(&e, 1, XVT_ENABLE_STOP);
	r = e.rings[0];
	engine_node(&e, 0, 1);
	engine_node(&e, 0, 100 * MS);
	r->guest.quiet = true;
	for (int pass = 0; pass < 100; pass++) {
		/* A sub-buffer holds less than fifty of them, and has a header. */
		for (int i = 0; i < 10; i++)
			ck_assert_int_eq(engine_write(&e, 0, 110 * MS + ++n), 0);
		engine_drain(&e, 0);
		r->drain.tail->floor_ns = 3000 * MS;
		r->drain.tail->ceiling_ns = 3010 * MS;
		engine_merge(&e);
		ck_assert_uint_eq(e.nr_out, 0);
		ck_assert_uint_eq(r->scan.newest.ts, 110 * MS + n);
		ck_assert_ptr_eq(r->scan.found, r->drain.tail);
		ck_assert_uint_lt(r->scan.looked_at, n + n / 10 + 10);
	}
	/* Of another epoch: no further, and that stays so. */
	xvt_ring_bump_epoch(r);
	engine_write(&e, 0, 111 * MS);
	for (int pass = 0; pass < 10; pass++) {
		engine_write(&e, 0, 112 * MS);
		engine_drain(&e, 0);
		engine_merge(&e);
	}
	ck_assert_uint_eq(r->scan.newest.ts, 110 * MS + n);
	ck_assert_uint_lt(r->scan.looked_at, n + n / 10 + 12);
	engine_at(&e, 0, 120 * MS, 3015 * MS);
	engine_end(&e);
	ck_assert_uint_eq(e.nr_out, n + 11);
	ck_assert(engine_in_order(&e));
	engine_fini(&e);
}
END_TEST

/* Stopped for 15 ms, which in peace would pass for creep: its records wait for a measurement. */
START_TEST(a_witness_of_a_disturbed_machine_is_granted_no_creep)
{
	struct engine e;

	engine_init(&e, 1, XVT_ENABLE_STOP);
	engine_node(&e, 0, 1);
	engine_node(&e, 0, 100 * MS);
	engine_write(&e, 0, 110 * MS);
	engine_drain(&e, 0);
	e.rings[0]->clock.map.suspect = true;
	e.rings[0]->guest.quiet = true;
	e.rings[0]->drain.first->floor_ns = 124 * MS;
	e.rings[0]->drain.first->ceiling_ns = 128 * MS;
	engine_merge(&e);
	ck_assert_uint_eq(e.nr_out, 0);
	ck_assert(!e.rings[0]->clock.inferred_new);
	engine_at(&e, 0, 120 * MS, 135 * MS);
	engine_merge(&e);
	ck_assert_uint_eq(e.nr_out, 1);
	ck_assert_uint_eq(e.out[0].ns, 125 * MS);
	ck_assert_uint_eq(e.out[0].flags, 0);
	ck_assert_uint_eq(xvt_clock_map_last(&e.rings[0]->clock.map)->epoch, 1);
	engine_end(&e);
	engine_fini(&e);
}
END_TEST

/*
 * Stopped for a migration at 105 ms, for 200 ms, without a look for as long: the record that
 * came after it could lie on the old line, for all that was seen. Another that was copied before
 * could not have come later, and is evidence of itself.
 */
START_TEST(what_may_come_after_a_stop_waits_for_a_measurement)
{
	struct engine e;

	engine_init(&e, 1, XVT_ENABLE_STOP);
	engine_node(&e, 0, 1);
	engine_node(&e, 0, 100 * MS);
	engine_write(&e, 0, 104 * MS);
	engine_drain(&e, 0);
	xvt_ring_paused(e.rings[0]);
	ck_assert(e.rings[0]->clock.map.suspect);
	e.rings[0]->words.bumps[0].before_ns = 105 * MS;
	e.rings[0]->words.bumps[0].after_ns = 105 * MS;
	e.rings[0]->clock.map.stop_ns = 106 * MS;
	e.rings[0]->drain.first->ceiling_ns = 106 * MS;
	e.rings[0]->guest.quiet = true;
	engine_merge(&e);
	ck_assert_uint_eq(e.nr_out, 1);
	ck_assert_uint_eq(e.out[0].ns, 104 * MS);
	e.rings[0]->clock.inferred_new = false;
	engine_write(&e, 0, 110 * MS);
	engine_drain(&e, 0);
	e.rings[0]->drain.first->ceiling_ns = 320 * MS;
	engine_merge(&e);
	ck_assert_uint_eq(e.nr_out, 1);
	ck_assert(!e.rings[0]->clock.inferred_new);
	engine_at(&e, 0, 130 * MS, 330 * MS);
	engine_merge(&e);
	ck_assert_uint_eq(e.nr_out, 2);
	ck_assert_uint_eq(e.out[1].ns, 310 * MS);
	ck_assert_uint_eq(e.out[1].flags, 0); /* on the old line it would lie within the stop */
	engine_end(&e);
	engine_fini(&e);
}
END_TEST

/*
 * The same without a report of the stop, and without a look between 100 and 320 ms: that is room
 * for a pause. It is no evidence until nothing better can come; when it is measured that there was
 * a pause, the side of it on which this one was written is unknown: its bound has both.
 */
START_TEST(a_wide_witness_is_heard_only_before_its_ring_is_set_aside)
{
	struct engine e;
	int late;

	for (late = 0; late < 2; late++) {
		engine_init(&e, 1, XVT_ENABLE_STOP);
		engine_node(&e, 0, 1);
		engine_node(&e, 0, 100 * MS);
		engine_write(&e, 0, 110 * MS);
		engine_drain(&e, 0);
		e.rings[0]->drain.first->floor_ns = 100 * MS;
		e.rings[0]->drain.first->ceiling_ns = 320 * MS;
		e.rings[0]->guest.quiet = true;
		e.rings[0]->guest.patience_over = late;
		engine_merge(&e);
		ck_assert_uint_eq(e.nr_out, late);
		ck_assert_int_eq(e.rings[0]->clock.inferred_new, late);
		if (!late) {
			engine_at(&e, 0, 130 * MS, 330 * MS); /* it had stood still for 200 ms */
			engine_merge(&e);
			ck_assert_uint_eq(e.nr_out, 1);
			ck_assert_uint_eq(e.out[0].flags, 0);
			ck_assert(e.written[0].beside && e.written[0].lo_ns <= 110 * MS &&
				  e.written[0].hi_ns >= 310 * MS);
		}
		engine_end(&e);
		engine_fini(&e);
	}
}
END_TEST

/* Silent but idle: the others go on, and what it writes afterwards is not late. */
START_TEST(a_silent_idle_ring_holds_none_back_and_is_not_late)
{
	struct engine e;

	engine_init(&e, 2, XVT_ENABLE_STOP);
	engine_node(&e, 0, 1);
	engine_node(&e, 1, 1);
	engine_node(&e, 0, 100 * MS);
	engine_node(&e, 1, 100 * MS);
	engine_write(&e, 1, 150 * MS);
	engine_node(&e, 1, 5000 * MS);
	engine_drain(&e, 5000 * MS);
	engine_merge(&e);
	ck_assert_uint_eq(e.nr_out, 1);
	ck_assert_uint_gt(e.merge.watermark, 4900 * MS);
	engine_write(&e, 0, 5001 * MS);
	engine_node(&e, 0, 5100 * MS);
	engine_drain(&e, 0);
	engine_merge(&e);
	engine_end(&e);
	ck_assert_uint_eq(e.nr_out, 2);
	ck_assert_uint_eq(e.out[1].flags, 0);
	ck_assert_uint_eq(e.merge.late, 0);
	engine_fini(&e);
}
END_TEST

/* A ROUND promised it to the readers of the file, whatever was emitted until then. */
START_TEST(what_lies_below_a_watermark_is_late_although_nothing_was_emitted_after_it)
{
	struct engine e;

	engine_init(&e, 1, XVT_ENABLE_STOP);
	engine_node(&e, 0, 1);
	engine_write(&e, 0, 10);
	engine_node(&e, 0, 20);
	e.merge.watermark = 15;
	engine_end(&e);
	ck_assert_uint_eq(e.nr_out, 1);
	ck_assert(e.out[0].flags & XVT_EVENT_F_LATE);
	engine_fini(&e);
}
END_TEST

/* The loose lane has nothing below a watermark, also while another ring holds the rest back. */
START_TEST(what_a_loose_ring_has_below_a_watermark_is_late)
{
	struct engine e;

	engine_init(&e, 2, XVT_ENABLE_STOP);
	engine_node(&e, 0, 1);
	engine_write(&e, 0, 10);
	engine_write(&e, 0, 17);
	engine_node(&e, 0, 20);
	engine_write(&e, 1, 5); /* without a clock it is not placed */
	e.rings[0]->guest.loose = true;
	e.merge.watermark = 15;
	engine_drain(&e, 0);
	engine_merge(&e);
	ck_assert_uint_eq(e.nr_out, 2);
	ck_assert(e.out[0].flags & XVT_EVENT_F_LATE);
	ck_assert(!e.out[0].loose);
	ck_assert(!(e.out[1].flags & XVT_EVENT_F_LATE));
	ck_assert(e.out[1].loose);
	ck_assert_uint_eq(e.merge.late, 1);
	engine_fini(&e);
}
END_TEST

/* ------------------------------------------------------------ a past that comes back */

#define REGION_BYTES (256u << 10)

/* The region as it is now. */
static uint8_t *copy_of(const struct engine *e)
{
	uint8_t *copy = malloc(REGION_BYTES);

	ck_assert_ptr_nonnull(copy);
	memcpy(copy, e->region.map, REGION_BYTES);
	return copy;
}

/* Ten events, drained, at rest. Returns the machine's memory as a snapshot takes it. */
static uint8_t *snapshot(struct engine *e, bool still)
{
	uint8_t *copy;
	int i;

	engine_init(e, 1, XVT_ENABLE_STOP);
	engine_node(e, 0, 1);
	for (i = 0; i < 10; i++)
		ck_assert_int_eq(engine_write(e, 0, (uint64_t)(10 + i) * MS), 0);
	e->rings[0]->guest.still = still;
	engine_drain(e, 100 * MS);
	ck_assert(e->rings[0]->drain.idle);
	copy = copy_of(e);
	e->rings[0]->guest.still = false;
	/* And then five more, which the snapshot knows nothing of. */
	for (i = 0; i < 5; i++)
		ck_assert_int_eq(engine_write(e, 0, (uint64_t)(110 + i) * MS), 0);
	engine_drain(e, 200 * MS);
	return copy;
}

/* It is restored: the guest goes on from its tenth event, and writes seven. */
static void restore(struct engine *e, uint8_t *copy, uint64_t time)
{
	int i;

	memcpy(e->region.map, copy, REGION_BYTES);
	free(copy);
	e->numbers[0] = 10;
	for (i = 0; i < 7; i++)
		ck_assert_int_eq(engine_write(e, 0, time + (uint64_t)i * MS), 0);
}

static void check_sums(struct engine *e, uint64_t attempted, uint64_t events, uint64_t overwritten)
{
	struct xvt_ring_stats *st = &e->rings[0]->account.stats;

	xvt_ring_account(e->rings[0], true);
	ck_assert_uint_eq(st->attempted, attempted);
	ck_assert_uint_eq(st->events, events);
	ck_assert_uint_eq(st->overwritten, overwritten);
	ck_assert_uint_eq(st->in_flight, 0);
}

START_TEST(a_snapshot_taken_at_rest_goes_on_without_loss_or_duplicate)
{
	uint64_t want[22], n = 0, told = 0, i;
	struct engine e;
	uint8_t *copy = snapshot(&e, true);

	restore(&e, copy, 20 * MS); /* its clock went back, too */
	ck_assert(xvt_drain_resync(e.rings[0]));
	engine_at(&e, 0, 30 * MS, 300 * MS);
	engine_drain(&e, 300 * MS);
	engine_end(&e);
	for (i = 0; i < 22; i++)
		want[i] = i < 15 ? i + 1 : i - 4; /* 1 to 15, then the other past's 11 to 17 */
	for (i = 0; i < e.nr_out; i++) {
		if (e.out[i].id == XVT_ID_LOST) {
			/* Between the two pasts, also inside a sub-buffer. */
			ck_assert_uint_eq(n, e.out[i].lost.rolled_back ? 15 : n);
			told += e.out[i].lost.rolled_back;
			continue;
		}
		ck_assert_uint_lt(n, 22);
		ck_assert_uint_eq(e.out[i].number, want[n]);
		n++;
	}
	ck_assert_uint_eq(n, 22);
	ck_assert_uint_eq(told, 1);
	ck_assert(engine_in_order(&e));
	check_sums(&e, 22, 22, 0);
	/* What the next recorder finds makes sense to it. */
	xvt_ring_stage_account(e.rings[0], true);
	xvt_ring_commit_account(e.rings[0]);
	ck_assert_uint_eq(xvt_load(&e.rings[0]->host->acc_delivered), 17);
	engine_fini(&e);
}
END_TEST

/* The recorder is killed: another one attaches to the ring as it was left. */
static void next_recorder(struct engine *e)
{
	struct xvt_ring *old = e->rings[0], *r = calloc(1, sizeof(*r));

	xvt_ring_set_phase(r, XVT_PHASE_LIVE);
	r->region = old->region;
	r->ctl = old->ctl;
	r->host = old->host;
	r->pool = old->pool;
	r->by_read = old->by_read;
	r->host_clock = old->host_clock;
	r->mode = old->mode;
	r->decode.unaccounted_before = true;
	xvt_clock_map_init(&r->clock.map, 1000000000);
	xvt_ring_attach(r);
	xvt_ring_fini(old);
	free(old);
	e->rings[0] = r;
	e->nr_out = 0;
	xvt_merge_fini(&e->merge);
	xvt_merge_init(&e->merge, &engine_ops, e);
	engine_at(e, 0, 0, 0);
}

static void write_numbers(struct engine *e, uint64_t from, uint64_t to)
{
	uint64_t i;

	for (i = from; i <= to; i++)
		ck_assert_int_eq(engine_write(e, 0, i * MS), 0);
}

/* All of it comes out: the numbers from `first` to `last`, and before them so many are told lost.
 */
static void expect_rest(struct engine *e, uint64_t first, uint64_t last, uint64_t told)
{
	size_t i = 0;

	engine_at(e, 0, 10000 * MS, 10000 * MS);
	engine_drain(e, 10000 * MS);
	engine_end(e);
	if (told) {
		ck_assert_uint_eq(e->out[0].id, XVT_ID_LOST);
		ck_assert_uint_eq(e->out[0].lost.overwritten, told);
		ck_assert_uint_eq(e->out[0].lost.bad_bytes, 0);
		i++;
	}
	ck_assert_uint_eq(e->nr_out - i, last - first + 1);
	for (; i < e->nr_out; i++)
		ck_assert_uint_eq(e->out[i].number, first++);
	ck_assert_uint_eq(e->rings[0]->account.stats.bad_bytes, 0);
	check_sums(e, e->nr_out - !!told + told, e->nr_out - !!told, told);
}

START_TEST(what_a_dead_recorder_had_copied_is_still_in_the_ring)
{
	struct engine e;

	engine_init(&e, 1, XVT_ENABLE_STOP);
	write_numbers(&e, 1, 20);
	engine_drain(&e, 0);
	write_numbers(&e, 21, 25);
	next_recorder(&e);
	write_numbers(&e, 26, 30);
	expect_rest(&e, 1, 30, 0);
	engine_fini(&e);
}
END_TEST

START_TEST(what_a_dead_recorder_had_taken_is_counted_and_not_delivered_again)
{
	struct engine e;

	engine_init(&e, 1, XVT_ENABLE_STOP);
	write_numbers(&e, 1, 20);
	engine_drain(&e, 0);
	xvt_drain_release(e.rings[0], true);
	write_numbers(&e, 21, 25);
	next_recorder(&e);
	write_numbers(&e, 26, 30);
	expect_rest(&e, 21, 30, 20);
	engine_fini(&e);
}
END_TEST

/* Ten of twenty are in order: the other ten wait for a node. */
START_TEST(what_waits_in_a_dead_recorder_is_still_in_the_ring)
{
	struct engine e;

	engine_init(&e, 1, XVT_ENABLE_STOP);
	engine_at(&e, 0, 0, 0);
	write_numbers(&e, 1, 20);
	engine_at(&e, 0, 10 * MS + 1, 10 * MS + 1);
	engine_drain(&e, 0);
	engine_copied_by(&e, 10 * MS + 1);
	engine_merge(&e);
	ck_assert_uint_eq(e.nr_out, 10);
	xvt_drain_release(e.rings[0], false);
	next_recorder(&e);
	expect_rest(&e, 11, 20, 10);
	engine_fini(&e);
}
END_TEST

/* With four sub-buffers of 1 KiB, none but the one that is being filled is held. */
START_TEST(a_ring_is_free_but_for_what_may_be_held)
{
	struct engine e;
	const struct xvt_ring *r;

	engine_init(&e, 1, XVT_ENABLE_STOP);
	r = e.rings[0];
	while (r->ctl->commit < 2500)
		ck_assert_int_eq(engine_write(&e, 0, (e.numbers[0] + 1) * MS), 0);
	engine_drain(&e, 0);
	ck_assert_uint_eq(xvt_load(&r->host->cons), 2048);
	next_recorder(&e);
	/* 60 of 16 bytes are in a sub-buffer */
	expect_rest(&e, 121, e.numbers[0], 120);
	engine_fini(&e);
}
END_TEST

/* Of what was in the ring before the recorder began, half a ring may be held: here all. */
START_TEST(what_a_recorder_finds_at_its_start_may_be_held_longer)
{
	struct engine e;
	struct xvt_ring *r;

	engine_init(&e, 1, XVT_ENABLE_STOP);
	while (e.rings[0]->ctl->commit < 1800)
		ck_assert_int_eq(engine_write(&e, 0, (e.numbers[0] + 1) * MS), 0);
	next_recorder(&e);
	r = e.rings[0];
	engine_drain(&e, 0);
	ck_assert_uint_eq(xvt_load(&r->host->cons), 0);
	next_recorder(&e);
	r = e.rings[0];
	engine_drain(&e, 0);
	/* What comes now is held as always. */
	while (r->ctl->commit < 3600)
		ck_assert_int_eq(engine_write(&e, 0, (e.numbers[0] + 1) * MS), 0);
	xvt_drain_release(r, true);
	engine_drain(&e, 0);
	ck_assert_uint_eq(xvt_load(&r->host->cons), 3072);
	engine_fini(&e);
}
END_TEST

/* What was in the file, the region knows; in the file, not only emitted. */
START_TEST(what_a_dead_recorder_had_written_is_no_gap)
{
	struct engine e;

	engine_init(&e, 1, XVT_ENABLE_STOP);
	engine_at(&e, 0, 0, 0);
	write_numbers(&e, 1, 20);
	engine_at(&e, 0, 20 * MS + 1, 20 * MS + 1);
	engine_drain(&e, 0);
	engine_merge(&e);
	ck_assert_uint_eq(e.nr_out, 20);
	xvt_ring_account(e.rings[0], false);
	xvt_ring_stage_account(e.rings[0], false);
	xvt_drain_release(e.rings[0], false);
	if (_i) {
		xvt_ring_commit_account(e.rings[0]);
		write_numbers(&e, 21, 23);
		engine_drain(&e, 0);
		xvt_drain_release(e.rings[0], true);
	}
	next_recorder(&e);
	write_numbers(&e, _i ? 24 : 21, 30);
	expect_rest(&e, _i ? 24 : 21, 30, _i ? 3 : 20);
	engine_fini(&e);
}
END_TEST

/* Between clearing what it had taken and telling so, at each sub-buffer. */
START_TEST(a_recorder_that_died_while_it_cleared_leaves_no_nonsense)
{
	struct xvt_ring *r;
	struct engine e;
	uint64_t cons, cleared = 0, i;
	const uint8_t *data;

	engine_init(&e, 1, XVT_ENABLE_STOP);
	data = e.region.map + xvt_data_off(&e.region.g, 0);
	write_numbers(&e, 1, 10);
	engine_drain(&e, 0);
	xvt_drain_release(e.rings[0], true);
	cons = xvt_load(&e.rings[0]->host->cons);
	r = e.rings[0];
	while (r->ctl->commit < 3000)
		ck_assert_int_eq(engine_write(&e, 0, (e.numbers[0] + 1) * MS), 0);
	while (cleared < (uint64_t)_i) { /* as clear_taken() begins each */
		uint8_t *subbuf = r->region->map + xvt_data_off(&r->region->g, 0) + cleared * 1024;

		memset(subbuf, 0, _i == 2 ? 8 : 1024);
		cleared++;
	}
	ck_assert_uint_eq(xvt_load(&r->host->cons), cons);
	next_recorder(&e);
	while (cleared--) /* what was left of them is not there either, for salvage to find */
		for (i = 0; i < 1024; i++)
			ck_assert_uint_eq(data[cleared * 1024 + i], 0);
	cleared = (uint64_t)_i;
	/* 60 of 16 bytes are in a sub-buffer; ten were taken before. */
	expect_rest(&e, cleared ? cleared * 60 + 1 : 11, e.numbers[0], cleared ? cleared * 60 : 10);
	engine_fini(&e);
}
END_TEST

/* A writer may have written between the last look and the snapshot: what lies there may be old
 * or new, and where the clock went back, too, its stamps do not tell. So none of it is delivered,
 * and all of it is counted. */
START_TEST(a_snapshot_taken_in_flight_gives_nothing_twice_and_counts_what_it_leaves_out)
{
	struct engine e;
	uint8_t *copy = snapshot(&e, false);

	restore(&e, copy, 20 * MS);
	ck_assert(xvt_drain_resync(e.rings[0]));
	engine_write(&e, 0, 30 * MS);
	engine_at(&e, 0, 40 * MS, 300 * MS);
	engine_drain(&e, 300 * MS);
	engine_end(&e);
	ck_assert_uint_eq(e.out[e.nr_out - 1].number, 18);
	ck_assert_uint_eq(engine_count_below(&e, UINT64_MAX), 16);
	check_sums(&e, 23, 16, 7);
	engine_fini(&e);
}
END_TEST

/* What is younger than all that was delivered is new, wherever it lies. */
START_TEST(after_a_snapshot_taken_in_flight_a_younger_stamp_is_proof)
{
	struct engine e;
	uint8_t *copy = snapshot(&e, false);

	restore(&e, copy, 210 * MS);
	ck_assert(xvt_drain_resync(e.rings[0]));
	engine_node(&e, 0, 300 * MS);
	engine_drain(&e, 300 * MS);
	engine_end(&e);
	ck_assert_uint_eq(engine_count_below(&e, UINT64_MAX), 22);
	check_sums(&e, 22, 22, 0);
	engine_fini(&e);
}
END_TEST

/* Pages of the region, as a live migration writes them back while the guest runs on. */
static void write_back(struct engine *e, const uint8_t *copy, const void *at, size_t len)
{
	size_t off = (size_t)((const uint8_t *)at - e->region.map);

	memcpy(e->region.map + off, copy + off, len);
}

/* Every number from 1 to `last` once, in order. */
static void check_numbers(const struct engine *e, uint64_t last)
{
	uint64_t next = 1;
	size_t i;

	for (i = 0; i < e->nr_out; i++) {
		if (e->out[i].id == XVT_ID_LOST)
			continue;
		ck_assert_uint_eq(e->out[i].number, next);
		next++;
	}
	ck_assert_uint_eq(next, last + 1);
}

/* One more event, and the end: `all` events in the trace, each number once, nothing missing. */
static void end_with_one_more(struct engine *e, uint64_t all)
{
	engine_write(e, 0, 250 * MS);
	engine_node(e, 0, 300 * MS);
	engine_drain(e, 300 * MS);
	engine_end(e);
	check_numbers(e, all);
	check_sums(e, all, all, 0);
	engine_fini(e);
}

/* The host's nonce is not among the pages, so only the ring's own words tell. They are not broken:
 * the guest goes on where they are now, over what was delivered. */
START_TEST(a_ring_whose_words_went_back_alone_goes_on_without_a_duplicate)
{
	struct engine e;
	uint8_t *copy = snapshot(&e, false);
	struct xvt_ring *r = e.rings[0];
	int i;

	write_back(&e, copy, r->ctl, sizeof(*r->ctl));
	free(copy);
	for (i = 0; i < 3; i++)
		ck_assert_int_eq(engine_write(&e, 0, (uint64_t)(210 + i) * MS), 0);
	engine_drain(&e, 220 * MS);
	ck_assert(r->drain.went_back);
	ck_assert_int_eq(r->phase, XVT_PHASE_LIVE);
	ck_assert(!r->drain.idle);
	engine_drain(&e, 230 * MS);
	ck_assert(!r->drain.went_back);
	ck_assert_uint_eq(r->account.roll_backs, 1);
	end_with_one_more(&e, 19);
}
END_TEST

/* While the machine is on its way, older pages come before newer ones: they prove nothing. */
START_TEST(a_ring_that_went_back_while_it_stood_still_is_idle_when_it_runs)
{
	struct engine e;
	uint8_t *copy = snapshot(&e, false), *newer;
	struct xvt_ring *r = e.rings[0];

	ck_assert_int_eq(engine_write(&e, 0, 205 * MS), 0);
	newer = copy_of(&e);
	r->guest.still = true;
	write_back(&e, copy, r->ctl, sizeof(*r->ctl));
	engine_drain(&e, 210 * MS);
	engine_drain(&e, 220 * MS);
	ck_assert(!r->drain.went_back);
	ck_assert(!r->drain.idle);
	write_back(&e, newer, r->ctl, sizeof(*r->ctl));
	engine_drain(&e, 230 * MS);
	ck_assert(!r->drain.idle);
	r->guest.still = false;
	engine_drain(&e, 240 * MS);
	ck_assert(r->drain.idle);
	engine_end(&e);
	free(copy);
	free(newer);
	engine_fini(&e);
}
END_TEST

/* It had gone on for so long when we looked that no word is smaller; its bytes are others. */
START_TEST(a_ring_that_went_back_and_overtook_us_is_noticed)
{
	struct engine e;
	uint8_t *copy = snapshot(&e, false);
	struct xvt_ring *r = e.rings[0];
	int i;

	write_back(&e, copy, r->ctl, sizeof(*r->ctl));
	free(copy);
	for (i = 0; i < 8; i++)
		ck_assert_int_eq(engine_write(&e, 0, (uint64_t)(210 + i) * MS), 0);
	engine_drain(&e, 220 * MS);
	ck_assert(r->drain.went_back);
	engine_drain(&e, 230 * MS);
	engine_node(&e, 0, 300 * MS);
	engine_end(&e);
	check_numbers(&e, 23);
	check_sums(&e, 23, 23, 0);
	engine_fini(&e);
}
END_TEST

/* A newer copy follows the older one: what both of them had was delivered in another life. */
START_TEST(a_ring_that_goes_back_and_forth_gives_nothing_twice)
{
	struct engine e;
	uint8_t *copy = snapshot(&e, false), *newer;
	struct xvt_ring *r = e.rings[0];

	newer = copy_of(&e);
	write_back(&e, copy, r->ctl, sizeof(*r->ctl));
	free(copy);
	engine_drain(&e, 220 * MS);
	engine_drain(&e, 230 * MS);
	ck_assert_uint_eq(r->account.roll_backs, 1);
	write_back(&e, newer, r->ctl, sizeof(*r->ctl));
	free(newer);
	engine_drain(&e, 240 * MS);
	end_with_one_more(&e, 16);
}
END_TEST

/* New ones had been written over a part of what the newer copy brings back behind them: what is
 * left of it has low bits only, which seem to be of the future beside theirs. */
START_TEST(old_bytes_behind_new_ones_are_not_of_the_future)
{
	struct engine e;
	uint8_t *copy = snapshot(&e, false), *newer;
	struct xvt_ring *r = e.rings[0];

	newer = copy_of(&e);
	write_back(&e, copy, r->ctl, sizeof(*r->ctl));
	free(copy);
	engine_write(&e, 0, 210 * MS);
	engine_write(&e, 0, 211 * MS);
	engine_drain(&e, 220 * MS);
	engine_drain(&e, 230 * MS);
	ck_assert_uint_eq(r->account.roll_backs, 1);
	write_back(&e, newer, r->ctl, sizeof(*r->ctl));
	free(newer);
	engine_drain(&e, 240 * MS);
	r->drain.tail->ceiling_ns = 240 * MS;
	end_with_one_more(&e, 18);
}
END_TEST

/* Twice, before anything was decoded: each piece knows the past that it belongs to. */
START_TEST(a_ring_that_goes_back_twice_while_all_of_it_waits_gives_nothing_twice)
{
	struct engine e;
	uint8_t *copy = snapshot(&e, false);
	struct xvt_ring *r = e.rings[0];
	int turn, i;

	for (turn = 0; turn < 2; turn++) {
		write_back(&e, copy, r->ctl, sizeof(*r->ctl));
		engine_drain(&e, 0);
		for (i = 0; i < 3; i++)
			engine_write(&e, 0, (uint64_t)(210 + 10 * turn + i) * MS);
		engine_drain(&e, 0);
	}
	free(copy);
	engine_node(&e, 0, 300 * MS);
	engine_end(&e);
	ck_assert_uint_eq(r->account.roll_backs, 2);
	check_numbers(&e, 21);
	check_sums(&e, 21, 21, 0);
	engine_fini(&e);
}
END_TEST

/* Bytes that were not delivered yet, and are gone: counted, and what follows is there. */
START_TEST(data_that_went_back_alone_is_counted)
{
	struct engine e;
	uint8_t *copy = snapshot(&e, false);
	struct xvt_ring *r = e.rings[0];
	int i;

	for (i = 0; i < 5; i++)
		engine_write(&e, 0, (uint64_t)(210 + i) * MS);
	write_back(&e, copy, e.region.map + xvt_data_off(&e.region.g, 0), 4096);
	free(copy);
	engine_drain(&e, 220 * MS);
	ck_assert(r->drain.went_back);
	engine_drain(&e, 230 * MS);
	engine_node(&e, 0, 240 * MS);
	engine_merge(&e);
	engine_write(&e, 0, 250 * MS);
	engine_node(&e, 0, 300 * MS);
	engine_drain(&e, 300 * MS);
	engine_end(&e);
	ck_assert_uint_eq(e.out[e.nr_out - 1].number, 21);
	ck_assert_uint_eq(engine_count_below(&e, UINT64_MAX), 16);
	check_sums(&e, 21, 16, 5);
	engine_fini(&e);
}
END_TEST

/* A guest that does so for ever hurts itself: nothing is delivered twice, nothing piles up. */
START_TEST(a_ring_that_goes_back_for_ever_costs_a_turn_each_and_no_memory)
{
	struct engine e;
	uint8_t *copy = snapshot(&e, false), *newer;
	struct xvt_ring *r = e.rings[0];
	size_t used;
	int i;

	newer = copy_of(&e);
	engine_node(&e, 0, 300 * MS);
	engine_merge(&e);
	ck_assert_uint_eq(engine_count_below(&e, UINT64_MAX), 15);
	used = e.pool.used;
	for (i = 0; i < 1000; i++) {
		write_back(&e, i % 2 ? newer : copy, r->ctl, sizeof(*r->ctl));
		engine_drain(&e, 0);
		engine_drain(&e, 0);
		engine_merge(&e);
		ck_assert_uint_le(e.pool.used, used + 4096);
	}
	free(copy);
	free(newer);
	ck_assert_int_eq(r->phase, XVT_PHASE_LIVE);
	ck_assert_uint_eq(r->account.roll_backs, 500);
	engine_end(&e);
	check_numbers(&e, 15);
	engine_fini(&e);
}
END_TEST

/* A migration writes back what it copied of the host's page; the guest's own words went on. */
START_TEST(words_of_the_host_that_go_back_cost_no_event)
{
	struct xvt_ring_host *h;
	struct engine e;
	uint8_t *copy = snapshot(&e, false);
	size_t at;

	h = e.rings[0]->host;
	e.rings[0]->words.enable = XVT_ENABLE_STOP;
	at = (size_t)((uint8_t *)h - e.region.map);
	memcpy(h, copy + at, sizeof(*h));
	free(copy);
	xvt_store(&h->enable, XVT_ENABLE_OFF);
	e.numbers[0] = 15;
	ck_assert(!xvt_drain_resync(e.rings[0]));
	engine_drain(&e, 0);
	ck_assert_uint_eq(xvt_load(&h->enable), XVT_ENABLE_STOP);
	engine_write(&e, 0, 210 * MS);
	engine_node(&e, 0, 300 * MS);
	engine_drain(&e, 300 * MS);
	engine_end(&e);
	ck_assert_uint_eq(engine_count_below(&e, UINT64_MAX), 16);
	check_sums(&e, 16, 16, 0);
	engine_fini(&e);
}
END_TEST

/* Memory that went back in the middle of a pass breaks no ring: its words are of two pasts. */
START_TEST(a_past_that_comes_back_during_a_pass_is_no_fault_of_the_ring)
{
	struct engine e;
	uint8_t *copy = snapshot(&e, true);
	struct xvt_ring *r = e.rings[0];

	restore(&e, copy, 210 * MS);
	/* Further than a ring holds, which no honest ring ever is. */
	xvt_store(&r->ctl->attempted, (uint64_t)100);
	xvt_store(&r->ctl->commit, (uint64_t)64 << 20);
	xvt_store(&r->ctl->resv, (uint64_t)64 << 20);
	r->drain.read_pos =
		xvt_pos_trunc(&e.region.g, r->drain.read_pos); /* nothing before it to compare */
	xvt_drain_look(r, e.loop, 0);
	ck_assert(r->drain.bad_words);
	xvt_drain_take(r, true);
	ck_assert_int_eq(r->phase, XVT_PHASE_LIVE);
	ck_assert(!r->fault.is_new);
	ck_assert_uint_eq(r->drain.last.attempted, 15);
	engine_fini(&e);
}
END_TEST

/* A read of the file comes short; the mapping gives zeros, and zeros are no records. */
START_TEST(what_a_file_that_shrinks_takes_along_is_not_taken_for_records)
{
	struct engine e;
	struct xvt_ring *r;
	uint32_t i;

	engine_init(&e, 1, XVT_ENABLE_STOP);
	r = e.rings[0];
	engine_node(&e, 0, 0);
	for (i = 0; i < 40; i++)
		ck_assert_int_eq(engine_write(&e, 0, 100 * MS + i), 0);
	ck_assert_int_eq(ftruncate(e.region.fd, (off_t)(xvt_data_off(&e.region.g, 0) & ~4095ull)),
			 0);
	xvt_drain_look(r, e.loop, 200 * MS);
	ck_assert_int_eq(xvt_drain_wait(r, e.loop), 0);
	ck_assert_ptr_nonnull(r->drain.first);
	xvt_drain_take(r, false);
	ck_assert(xvt_host_region_gone(&e.region));
	ck_assert_ptr_null(r->drain.first);
	ck_assert_uint_eq(r->drain.read_pos, 0);
	ck_assert_uint_eq(r->account.stats.bad_bytes, 0);
	engine_fini(&e);
}
END_TEST

/*
 * A pass ends at the present as it was when it began; clocks that were measured since let bounds
 * lie behind it. What comes between the two is in no file yet, so no watermark may be above it.
 */
START_TEST(no_watermark_lies_beyond_the_present_that_a_pass_ended_at)
{
	struct engine e;

	engine_init(&e, 2, XVT_ENABLE_STOP);
	engine_node(&e, 0, 1);
	engine_node(&e, 1, 1);
	engine_write(&e, 0, 10);
	engine_write(&e, 1, 11);
	engine_write(&e, 1, 52); /* after the present of the pass, before the node */
	engine_node(&e, 0, 60);
	engine_node(&e, 1, 60);
	engine_write(&e, 0, 70); /* behind the node, before the look */
	engine_drain(&e, 9);
	engine_copied_by(&e, 60);
	e.merge.limit_ns = 50;
	engine_merge(&e);
	ck_assert_uint_eq(e.merge.watermark, 51);
	engine_node(&e, 0, 80);
	engine_node(&e, 1, 80);
	engine_drain(&e, 80);
	e.merge.limit_ns = 90;
	engine_merge(&e);
	ck_assert_uint_eq(e.merge.late, 0);
	ck_assert_uint_eq(e.nr_out, 4);
	engine_fini(&e);
}
END_TEST

static void by_read(void)
{
	engine_by_read = true;
}

/* From the mapping, and by reads of the file: all of it is the same. */
static TCase *all_tests(const char *name)
{
	TCase *tc = tcase_create(name);

	tcase_set_timeout(tc, 120); /* for a hang, not for a slow machine */

	tcase_add_test(tc,
		       seed_001_flushes_below_4_after_the_second_pass_and_below_7_after_the_third);
	tcase_add_test(tc, a_lap_before_a_new_generation_is_skipped);
	tcase_add_test(tc, an_idle_ring_lets_the_others_pass_only_up_to_its_proof);
	tcase_add_test(tc, nest_0_with_commit_behind_resv_is_no_proof);
	tcase_add_test(tc, a_ring_set_aside_holds_none_back_and_returns_in_the_late_lane);
	tcase_add_test(tc, equal_times_are_ordered_by_machine_and_ring);
	tcase_add_test(tc, a_mark_takes_its_place_and_is_not_counted);
	tcase_add_test(tc, a_full_ring_tells_its_gap_between_the_right_two_numbers);
	tcase_add_test(tc, an_overtaken_reader_goes_on_without_duplicates_and_the_counts_add_up);
	tcase_add_test(tc, undrained_records_of_an_older_generation_are_delivered_first);
	tcase_add_test(tc, an_unreadable_sub_buffer_costs_itself_only);
	tcase_add_test(tc, nonsense_control_words_stop_one_ring_and_say_which_word);
	tcase_add_test(tc, memory_stays_inside_its_budget_and_the_guest_counts_what_it_drops);
	tcase_add_test(tc, a_generation_that_begins_far_away_costs_no_time);
	tcase_add_loop_test(tc, each_position_that_is_not_aligned_stops_its_ring_by_name, 0,
			    sizeof(unaligned) / sizeof(unaligned[0]));
	tcase_add_test(tc, what_claims_to_be_later_than_now_waits);
	tcase_add_test(tc, no_watermark_lies_beyond_the_present_that_a_pass_ended_at);
	tcase_add_test(tc, a_record_in_a_run_is_judged_as_if_it_came_alone);
	tcase_add_test(tc, a_stamp_that_goes_back_waits_for_the_clock_and_no_longer);
	tcase_add_test(tc, a_ring_that_holds_nothing_is_read_although_memory_is_used_up);
	tcase_add_test(tc, a_record_in_flight_over_a_pause_is_placed_by_the_epoch_that_it_read);
	tcase_add_loop_test(tc, what_waits_when_a_guest_falls_silent_is_its_own_witness, 0, 2);
	tcase_add_test(tc, a_witness_that_contradicts_the_line_is_not_heard);
	tcase_add_test(tc, the_search_for_a_witness_goes_on_where_it_ended);
	tcase_add_test(tc, a_witness_of_a_disturbed_machine_is_granted_no_creep);
	tcase_add_test(tc, what_may_come_after_a_stop_waits_for_a_measurement);
	tcase_add_test(tc, a_wide_witness_is_heard_only_before_its_ring_is_set_aside);
	tcase_add_test(tc, a_silent_idle_ring_holds_none_back_and_is_not_late);
	tcase_add_test(tc,
		       what_lies_below_a_watermark_is_late_although_nothing_was_emitted_after_it);
	tcase_add_test(tc, what_a_loose_ring_has_below_a_watermark_is_late);
	tcase_add_test(tc, a_snapshot_taken_at_rest_goes_on_without_loss_or_duplicate);
	tcase_add_test(
		tc, a_snapshot_taken_in_flight_gives_nothing_twice_and_counts_what_it_leaves_out);
	tcase_add_test(tc, what_a_dead_recorder_had_copied_is_still_in_the_ring);
	tcase_add_test(tc, what_a_dead_recorder_had_taken_is_counted_and_not_delivered_again);
	tcase_add_test(tc, what_waits_in_a_dead_recorder_is_still_in_the_ring);
	tcase_add_test(tc, a_ring_is_free_but_for_what_may_be_held);
	tcase_add_test(tc, what_a_recorder_finds_at_its_start_may_be_held_longer);
	tcase_add_loop_test(tc, what_a_dead_recorder_had_written_is_no_gap, 0, 2);
	tcase_add_loop_test(tc, a_recorder_that_died_while_it_cleared_leaves_no_nonsense, 0, 3);
	tcase_add_test(tc, after_a_snapshot_taken_in_flight_a_younger_stamp_is_proof);
	tcase_add_test(tc, a_ring_whose_words_went_back_alone_goes_on_without_a_duplicate);
	tcase_add_test(tc, a_ring_that_went_back_while_it_stood_still_is_idle_when_it_runs);
	tcase_add_test(tc, a_ring_that_went_back_and_overtook_us_is_noticed);
	tcase_add_test(tc, a_ring_that_goes_back_and_forth_gives_nothing_twice);
	tcase_add_test(tc, old_bytes_behind_new_ones_are_not_of_the_future);
	tcase_add_test(tc, a_ring_that_goes_back_twice_while_all_of_it_waits_gives_nothing_twice);
	tcase_add_test(tc, data_that_went_back_alone_is_counted);
	tcase_add_test(tc, a_ring_that_goes_back_for_ever_costs_a_turn_each_and_no_memory);
	tcase_add_test(tc, words_of_the_host_that_go_back_cost_no_event);
	tcase_add_test(tc, a_past_that_comes_back_during_a_pass_is_no_fault_of_the_ring);
	tcase_add_test(tc, what_a_file_that_shrinks_takes_along_is_not_taken_for_records);
	tcase_add_loop_test(tc, a_window_that_was_not_emitted_waits_as_a_whole, 0, 2);
	tcase_add_loop_test(tc, at_the_newest_time_only_a_ring_before_its_ring_is_late, 0, 2);
	return tc;
}

Suite *merge_suite(void)
{
	Suite *s = suite_create("merge");
	TCase *tc = all_tests("merge-by-read");

	tcase_add_checked_fixture(tc, by_read, NULL);
	suite_add_tcase(s, all_tests("merge"));
	suite_add_tcase(s, tc);
	return s;
}
