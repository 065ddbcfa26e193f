// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * test_writer.c - the writer by itself: formats, borders, wraps, losses, modes.
 */
#include "ut_nest.h"
#include "xvt_clock_pair.h"

static struct ut_ring ring;
static struct ut_nest nest;
static struct ut_recs recs;
static const struct ut_rec *e[UT_RECS_MAX];

#define BEFORE_WRAP(subbufs, size) (0ull - (uint64_t)(subbufs) * (size))

static void start(const struct ut_conf *conf)
{
	ut_ring_init(&ring, conf);
}

static void setup(void)
{
	start(&(struct ut_conf){ 0 });
}

static void teardown(void)
{
	ut_ring_fini(&ring);
}

static uint32_t drain(void)
{
	recs.count = 0;
	ut_drain(&ring, &recs);
	return ut_events(&recs, e, UT_RECS_MAX);
}

static uint64_t word_at(uint64_t pos)
{
	uint64_t w;

	memcpy(&w, ring.w.data + xvt_pos_off(&ring.g, pos), 8);
	return w;
}

START_TEST(example_of_seed_002_has_its_raw_words_and_times)
{
	static const struct {
		uint64_t ts;
		uint64_t low;
		bool full;
	} row[] = {
		{ 0x12345678, 0x5678, false },
		{ 0x12347777, 0x7777, false },
		{ 0x12350000, 0x0000, false },	  /* overflows 16 bits once: the reader sees it */
		{ 0x12370000, 0x12370000, true }, /* twice: it could not */
	};
	struct xvt_subbuf_hdr h;
	uint32_t i;

	start(&(struct ut_conf){ .ts_bits = 16 });
	for (i = 0; i < 4; i++)
		ck_assert_int_eq(ut_write_at(&ring, row[i].ts, i, 8), 0);
	memcpy(&h, ring.w.data, sizeof(h));
	ck_assert_uint_eq(h.ts_base, 0x12345678);
	ck_assert_uint_eq(drain(), 4);
	for (i = 0; i < 4; i++) {
		uint64_t low = e[i]->raw & (row[i].full ? 0xffffffff : 0xffff);

		ck_assert_uint_eq(low, row[i].low);
		ck_assert_int_eq(e[i]->full, row[i].full);
		ck_assert_uint_eq(e[i]->ts, row[i].ts);
		ck_assert_uint_eq(e[i]->number, i);
	}
	ck_assert_uint_eq(word_at(e[3]->pos + 8), 1ull << 32); /* epoch 1, upper half 0 */
	teardown();
}
END_TEST

START_TEST(full_stamp_begins_at_a_gap_of_two_to_the_ts_bits)
{
	uint64_t gap = 1ull << (_i ? _i : 32), t = 5000;

	start(&(struct ut_conf){ .ts_bits = (uint32_t)_i });
	ck_assert_int_eq(ut_write_at(&ring, t, 0, 8), 0);
	ck_assert_int_eq(ut_write_at(&ring, t += gap - 1, 1, 8), 0);
	ck_assert_int_eq(ut_write_at(&ring, t += gap, 2, 8), 0);
	ck_assert_int_eq(ut_write_at(&ring, t += 0, 3, 8), 0);
	ck_assert_int_eq(ut_write_at(&ring, t += 1ull << 63, 4, 8), 0);
	ck_assert_uint_eq(drain(), 5);
	ck_assert(!e[1]->full && e[2]->full && !e[3]->full && e[4]->full);
	ck_assert_uint_eq(e[1]->ts, 5000 + gap - 1);
	ck_assert_uint_eq(e[2]->ts, 5000 + 2 * gap - 1);
	ck_assert_uint_eq(e[3]->ts, e[2]->ts);
	ck_assert_uint_eq(e[4]->ts, e[3]->ts + (1ull << 63));
	teardown();
}
END_TEST

START_TEST(clock_that_goes_back_is_kept_raw)
{
	ck_assert_int_eq(ut_write_at(&ring, 1ull << 40, 0, 8), 0);
	ck_assert_int_eq(ut_write_at(&ring, (1ull << 40) - 1, 1, 8), 0);
	ck_assert_int_eq(ut_write_at(&ring, 7, 2, 8), 0);
	ck_assert_uint_eq(drain(), 3);
	ck_assert(e[1]->full && e[2]->full);
	ck_assert_uint_eq(e[1]->ts, (1ull << 40) - 1);
	ck_assert_uint_eq(e[2]->ts, 7);
}
END_TEST

START_TEST(new_epoch_forces_one_full_stamp)
{
	ck_assert_int_eq(ut_write_at(&ring, 5000, 0, 8), 0);
	ring.w.host->epoch = 0x89abcdef; /* 32 bits, none of them lost */
	ck_assert_int_eq(ut_write_at(&ring, 5001, 1, 8), 0);
	ck_assert_int_eq(ut_write_at(&ring, 5002, 2, 8), 0);
	ck_assert_uint_eq(drain(), 3);
	ck_assert(e[1]->full && !e[2]->full);
	ck_assert_uint_eq(e[0]->epoch, 1);
	ck_assert_uint_eq(e[1]->epoch, 0x89abcdef);
	ck_assert_uint_eq(e[2]->epoch, 0x89abcdef);
	ck_assert_uint_eq(e[2]->ts, 5002);
}
END_TEST

START_TEST(subbuf_header_carries_a_new_epoch)
{
	ck_assert_int_eq(ut_write_at(&ring, 5000, 0, 800), 0);
	ring.w.host->epoch = 2;
	ck_assert_int_eq(ut_write_at(&ring, 6000, 1, 800), 0);
	ck_assert_int_eq(ut_write_at(&ring, 6001, 2, 8), 0);
	ck_assert_uint_eq(drain(), 3);
	ck_assert(!e[1]->full && !e[2]->full);
	ck_assert_uint_eq(e[1]->epoch, 2);
	ck_assert_uint_eq(e[2]->epoch, 2);
}
END_TEST

static void change_epoch(struct ut_nest *n, enum ut_label label)
{
	if (label == UT_CLOCK && n->ring->w.host->epoch == 1) {
		n->ring->w.host->epoch = 2;
		n->ring->clock = 20; /* far behind */
	}
}

START_TEST(epoch_that_changes_around_the_clock_read_makes_it_read_again)
{
	ck_assert_int_eq(ut_write_at(&ring, 5000, 99, 8), 0);
	ut_nest_init(&nest, &ring);
	nest.hook = change_epoch;
	ck_assert_int_eq(ut_event(&nest, 8, false), 0);
	ck_assert_uint_eq(drain(), 2);
	ck_assert_uint_eq(e[1]->epoch, 2);
	ck_assert_uint_eq(e[1]->ts, 21);
	ck_assert_uint_eq(ring.w.ctl->retries, 1);
}
END_TEST

START_TEST(distrusted_clock_forces_one_full_stamp)
{
	ck_assert_int_eq(ut_write_at(&ring, 5000, 0, 8), 0);
	xvt_writer_distrust(&ring.w);
	ck_assert_int_eq(ut_write_at(&ring, 5001, 1, 8), 0);
	ck_assert_int_eq(ut_write_at(&ring, 5002, 2, 8), 0);
	ck_assert_uint_eq(drain(), 3);
	ck_assert(e[1]->full && !e[2]->full);
}
END_TEST

START_TEST(events_survive_the_wrap_of_positions_in_stop_mode)
{
	uint32_t i, k, n, expect = 0;

	start(&(struct ut_conf){ .start = BEFORE_WRAP(2, 1024) });
	for (i = 0; i < 300; i++) { /* 300 * 208 bytes = 15 rings */
		ck_assert_int_eq(ut_write_at(&ring, 5000 + i, i, 200), 0);
		if (i % 3)
			continue;
		n = drain();
		for (k = 0; k < n; k++, expect++) {
			ck_assert_uint_eq(e[k]->number, expect);
			ck_assert_uint_eq(e[k]->ts, 5000 + expect);
			ck_assert_uint_eq(e[k]->raw >> 62, e[k]->pos >> ring.g.ring_shift & 3);
		}
	}
	ck_assert_uint_eq(expect, 298);
	ck_assert(ut_resv(&ring) < 1ull << 20); /* it did wrap */
	ck_assert_uint_eq(ut_lost(&ring), 0);
	teardown();
}
END_TEST

START_TEST(overwrite_mode_keeps_the_newest_across_the_wrap)
{
	uint32_t i, n, first;
	uint64_t oldest;

	start(&(struct ut_conf){ .start = BEFORE_WRAP(2, 1024), .enable = XVT_ENABLE_OVERWRITE });
	for (i = 0; i < 100; i++)
		ck_assert_int_eq(ut_write_at(&ring, 5000 + i, i, 200), 0);
	ck_assert_uint_eq(ut_lost(&ring), 0);
	ck_assert(ut_resv(&ring) < 1ull << 20);
	/* It was not cleared, so the oldest whole sub-buffer is N - 1 before the open one. */
	oldest = xvt_pos_trunc(&ring.g, ring.w.ctl->commit - 8) - 3 * 1024;
	xvt_reader_init(&ring.reader, &ring.g, oldest);
	recs.count = 0;
	ut_peek(&ring, &ring.reader, ring.w.ctl->commit, &recs);
	n = ut_events(&recs, e, UT_RECS_MAX);
	ck_assert_uint_ge(n, 3 * 4 + 1); /* 4 of 208 bytes in each */
	first = 100 - n;
	for (i = 0; i < n; i++) {
		ck_assert_uint_eq(e[i]->number, first + i);
		ck_assert_uint_eq(e[i]->ts, 5000 + first + i);
	}
	ck_assert_uint_eq(recs.rec[0].subbuf.flags, XVT_SUBBUF_F_OVERWRITE);
	/* The attempt that opened it is counted in it. */
	ck_assert_uint_eq(recs.rec[0].subbuf.attempted, first + 1);
	teardown();
}
END_TEST

START_TEST(full_ring_closes_at_a_border_and_pins_the_loss_there)
{
	uint64_t base = _i ? BEFORE_WRAP(2, 1024) : 0;
	const struct ut_rec *before = NULL, *after = NULL;
	uint32_t i, n, lost = 0;

	start(&(struct ut_conf){ .start = base });
	for (i = 0; i < 20; i++) {
		int err = ut_write_at(&ring, 5000 + i, i, 250);

		ck_assert(!err || err == -ENOSPC);
		lost += err != 0;
	}
	/* 3 of 264 bytes in each of 4 sub-buffers. */
	ck_assert_uint_eq(lost, 8);
	ck_assert_uint_eq(ring.w.ctl->lost[XVT_LOST_FULL], 8);
	ck_assert_uint_eq(ut_resv(&ring), base + ring.g.ring_size);
	ck_assert_uint_eq(ring.w.ctl->commit, base + ring.g.ring_size);
	n = drain();
	ck_assert_uint_eq(n, 12);
	/* Small enough for what was left of the last sub-buffer, but the loss closed it. */
	ck_assert_int_eq(ut_write_at(&ring, 6000, 100, 8), 0);
	ut_drain(&ring, &recs);
	for (i = 0; i < recs.count; i++) {
		if (recs.rec[i].kind != XVT_REC_SUBBUF)
			continue;
		before = after;
		after = &recs.rec[i];
	}
	ck_assert_uint_eq(after->pos, base + ring.g.ring_size);
	ck_assert_uint_eq(after->subbuf.lost[XVT_LOST_FULL] - before->subbuf.lost[XVT_LOST_FULL],
			  8);
	ck_assert_uint_eq(after->subbuf.attempted, 21);
	teardown();
}
END_TEST

START_TEST(one_subbuf_taken_by_the_host_makes_room_for_one)
{
	uint32_t i;

	for (i = 0; i < 20; i++)
		ut_write_at(&ring, 5000 + i, i, 800);
	ck_assert_uint_eq(ring.w.ctl->lost[XVT_LOST_FULL], 16);
	ring.w.host->cons = 1023; /* not a whole one */
	ck_assert_int_eq(ut_write_at(&ring, 6000, 0, 8), -ENOSPC);
	ring.w.host->cons = 1024;
	ck_assert_int_eq(ut_write_at(&ring, 6001, 0, 800), 0);
	ck_assert_int_eq(ut_write_at(&ring, 6002, 0, 800), -ENOSPC);
}
END_TEST

START_TEST(cons_that_no_host_can_have_written_counts_as_full)
{
	static const int64_t wrong[] = { 8, 1024, 1ll << 40, INT64_MIN, -4096 - 1024 };

	start(&(struct ut_conf){ .start = BEFORE_WRAP(1, 1024) });
	ck_assert_int_eq(ut_write_at(&ring, 5000, 0, 800), 0);
	ring.w.host->cons = ut_resv(&ring) + (uint64_t)wrong[_i];
	ck_assert_int_eq(ut_write_at(&ring, 5001, 1, 800), -ENOSPC);
	ck_assert_uint_eq(ring.w.ctl->lost[XVT_LOST_FULL], 1);
	ring.w.host->cons = BEFORE_WRAP(1, 1024);
	ck_assert_int_eq(ut_write_at(&ring, 5002, 2, 800), 0);
	teardown();
}
END_TEST

static void switch_off_before_crossing(struct ut_nest *n, enum ut_label label)
{
	if (label == UT_CLOCK)
		n->ring->w.host->enable = XVT_ENABLE_OFF;
}

START_TEST(full_ring_that_is_switched_off_meanwhile_is_not_overrun)
{
	uint32_t i;

	for (i = 0; i < 4; i++)
		ck_assert_int_eq(ut_write_at(&ring, 900 + i, i, 800), 0);
	ut_nest_init(&nest, &ring);
	nest.hook = switch_off_before_crossing;
	ck_assert_int_eq(ut_event(&nest, 800, false), -ENOSPC);
	ck_assert_uint_eq(ring.w.ctl->lost[XVT_LOST_FULL], 1);
	ck_assert_uint_eq(drain(), 4);
	ck_assert_uint_eq(e[0]->number, 0);
}
END_TEST

static void fill_the_ring(struct ut_nest *n, enum ut_label label)
{
	uint32_t i;

	if (label != UT_PAYLOAD || n->depth > 1)
		return;
	for (i = 0; i < 10; i++)
		ut_event(n, 800, false);
}

START_TEST(unfinished_record_is_never_overwritten)
{
	static const uint32_t modes[] = { XVT_ENABLE_STOP, XVT_ENABLE_OVERWRITE };
	static const enum xvt_loss cause[] = { XVT_LOST_WRAP, XVT_LOST_WRAP };
	uint32_t i;

	start(&(struct ut_conf){ .enable = modes[_i], .start = BEFORE_WRAP(2, 1024) });
	ut_nest_init(&nest, &ring);
	nest.hook = fill_the_ring;
	ck_assert_int_eq(ut_event(&nest, 800, false), 0);
	ck_assert_uint_eq(ring.w.ctl->lost[cause[_i]], 7);
	ck_assert_uint_eq(ut_lost(&ring), 7);
	ck_assert_uint_eq(drain(), 4);
	for (i = 0; i < 4; i++) {
		ck_assert_uint_eq(e[i]->number, i);
		ck_assert_uint_eq(e[i]->ts, nest.ev[i].ts);
	}
	teardown();
}
END_TEST

START_TEST(record_exactly_as_large_as_a_subbuf_fits)
{
	uint32_t i, len = ring.w.max_record - 8;

	ck_assert_uint_eq(len, 1024 - 64 - 8);
	for (i = 0; i < 3; i++)
		ck_assert_int_eq(ut_write_at(&ring, 5000 + ((uint64_t)i << 40), i, len), 0);
	ck_assert_uint_eq(ut_resv(&ring), 3 * 1024);
	ck_assert_uint_eq(drain(), 3);
	for (i = 0; i < 3; i++)
		ck_assert_uint_eq(e[i]->len, len);
}
END_TEST

START_TEST(record_that_fits_no_subbuf_is_counted_as_big)
{
	struct xvt_slot slot;

	ck_assert_int_eq(ut_write_at(&ring, 5000, 0, ring.w.max_record - 7), -ENOSPC);
	ck_assert_int_eq(xvt_reserve(&ring.w, XVT_ID_U64, UINT32_MAX, &slot), -ENOSPC);
	ck_assert_uint_eq(ring.w.ctl->lost[XVT_LOST_BIG], 2);
	ck_assert_uint_eq(ring.w.ctl->attempted, 2);
	ck_assert_uint_eq(ut_resv(&ring), 0);
	ck_assert_uint_eq(ring.w.ctl->nest, 0);
}
END_TEST

START_TEST(record_of_the_longest_length_takes_a_full_stamp_too)
{
	static uint8_t payload[XVT_LEN8_MAX * 8];
	uint32_t len;

	start(&(struct ut_conf){ .subbuf_size = 65536 });
	len = ring.w.max_record - 8;
	ck_assert_uint_eq(len, (XVT_LEN8_MAX - 2) * 8);
	ck_assert_int_eq(ut_write_at(&ring, 5000, 0, 8), 0);
	ring.clock += 1ull << 40;
	ck_assert_int_eq(xvt_write(&ring.w, XVT_ID_U64, payload, len), 0);
	ck_assert_int_eq(xvt_write(&ring.w, XVT_ID_U64, payload, len + 1), -ENOSPC);
	ck_assert_uint_eq(drain(), 2);
	ck_assert(e[1]->full);
	ck_assert_uint_eq(e[1]->len, len);
	ck_assert_uint_eq(e[1]->raw >> XVT_H_LEN8_SHIFT & XVT_H_LEN8_MASK, XVT_LEN8_MAX);
	teardown();
}
END_TEST

START_TEST(rest_of_the_last_word_reads_as_zero)
{
	uint32_t len;

	/* In overwrite mode nothing is cleared, so what a lap before left would show. */
	start(&(struct ut_conf){ .enable = XVT_ENABLE_OVERWRITE });
	memset(ring.w.data, 0xff, ring.g.ring_size);
	for (len = 1; len <= 8; len++)
		ck_assert_int_eq(xvt_write(&ring.w, XVT_ID_U64, "\1\1\1\1\1\1\1\1", len), 0);
	ck_assert_uint_eq(drain(), 8);
	for (len = 1; len <= 8; len++)
		ck_assert_uint_eq(e[len - 1]->number, 0x0101010101010101ull >> (64 - 8 * len));
	teardown();
}
END_TEST

START_TEST(nesting_deeper_than_the_limit_is_counted)
{
	struct xvt_slot slot[XVT_MAXNEST];
	struct xvt_slot one_more;
	uint32_t i;

	for (i = 0; i < XVT_MAXNEST; i++)
		ck_assert_int_eq(xvt_reserve(&ring.w, XVT_ID_U64, 8, &slot[i]), 0);
	ck_assert_int_eq(xvt_reserve(&ring.w, XVT_ID_U64, 8, &one_more), -ENOSPC);
	ck_assert_uint_eq(ring.w.ctl->lost[XVT_LOST_NEST], 1);
	ck_assert_uint_eq(ring.w.ctl->commit, 0);
	while (i--)
		xvt_commit(&ring.w, &slot[i]);
	ck_assert_uint_eq(drain(), XVT_MAXNEST);
	ck_assert_uint_eq(ring.w.ctl->nest, 0);
}
END_TEST

static void always_interrupt(struct ut_nest *n, enum ut_label label)
{
	if (label == UT_C && n->depth == 1)
		ck_assert_int_eq(ut_event(n, 8, false), 0);
}

START_TEST(endless_interruption_before_the_position_moves)
{
	start(&(struct ut_conf){ .subbuf_count = 8 });
	ck_assert_int_eq(ut_write_at(&ring, 900, 0, 8), 0); /* the first opens a sub-buffer */
	ut_nest_init(&nest, &ring);
	nest.hook = always_interrupt;
	if (XVT_RING_BACKEND == XVT_BACKEND_XADD) {
		/* An addition cannot fail: the event has the place after its interrupter. */
		ck_assert_int_eq(ut_event(&nest, 8, false), 0);
		ck_assert_uint_eq(ring.w.ctl->retries, 0);
		ck_assert_uint_eq(drain(), 3);
		ck_assert(!(e[2]->raw & XVT_H_SAME));
		ck_assert_uint_eq(e[2]->ts, nest.ev[0].ts);
	} else {
		ck_assert_int_eq(ut_event(&nest, 8, false), -ENOSPC);
		ck_assert_uint_eq(ring.w.ctl->lost[XVT_LOST_RETRY], 1);
		ck_assert_uint_eq(ring.w.ctl->retries, XVT_MAXRETRY + 1);
		ck_assert_uint_eq(drain(), XVT_MAXRETRY + 2);
	}
	teardown();
}
END_TEST

/* A word of ctl->resv that no ring has, as another party that may write the region can leave it. */
START_TEST(wrong_position_costs_events_and_not_memory)
{
	static const uint32_t len[] = { 0, 3, 8, 47, 48, 49, 56, 64, 200, 900 };
	const uint8_t *data = ring.w.data;
	uint32_t i, reserved = 0;
	int64_t off;

	for (off = -3000; off < 3000; off++)
		for (i = 0; i < sizeof(len) / sizeof(len[0]); i++) {
			struct xvt_ring_ctl *c = ring.w.ctl;
			struct xvt_slot slot;

			ut_ring_reset(&ring, 0, XVT_ENABLE_STOP);
			ck_assert_int_eq(ut_write_at(&ring, 5000, 0, 8), 0); /* remembers */
			c->resv += (uint64_t)off;
			if (xvt_reserve(&ring.w, XVT_ID_U64, len[i], &slot))
				continue;
			reserved++;
			ut_assert(((uintptr_t)slot.rec & 7) == 0);
			ut_assert((uint8_t *)slot.rec >= data);
			ut_assert((uint8_t *)slot.payload + (len[i] + 7) / 8 * 8 <=
				  data + ring.g.ring_size);
		}
	ck_assert_uint_gt(reserved, 1000);
}
END_TEST

/* The byte behind a ring is another's: here, of the heap behind the region, in a copy of its own.
 */
static void check_behind(uint64_t left, uint32_t len, uint32_t enable)
{
	const uint64_t size = ring.g.region_size;
	struct xvt_slot slot;
	uint8_t *base = aligned_alloc(XVT_ALIGN_MIN, size + XVT_ALIGN_MIN);
	struct xvt_writer *w = &ring.w, was = *w;
	uint32_t i;

	memset(base + size, 0x5a, XVT_ALIGN_MIN);
	ut_ring_reset(&ring, 3ull * w->subbuf_size, enable); /* the last sub-buffer */
	memcpy(base, ring.base, size);
	xvt_writer_init(w, base, &ring.g, 0);
	w->clock = ut_clock;
	w->clock_arg = &ring;
	ck_assert_int_eq(ut_write_at(&ring, 5000, 0, 8), 0); /* remembers */
	w->ctl->resv =
		xvt_resv_word(XVT_RING_BACKEND, w->subbuf_shift, 4ull * w->subbuf_size - left);
	for (i = 0; i < 3; i++)
		if (!xvt_reserve(w, XVT_ID_U64, len, &slot)) {
			ut_assert(((uintptr_t)slot.rec & 7) == 0);
			memset(slot.payload, 0xff, (len + 7) & ~7u);
			if (i == 1)
				xvt_discard(w, &slot);
			else
				xvt_commit(w, &slot);
		}
	for (i = 0; i < XVT_ALIGN_MIN; i++)
		ut_assert(base[size + i] == 0x5a);
	*w = was;
	free(base);
}

START_TEST(wrong_position_stores_nothing_behind_the_ring)
{
	static const uint32_t len[] = { 0, 8, 20, 56, 64, 900 };
	uint64_t left;
	uint32_t i;

	for (left = 1; left < 200; left++)
		for (i = 0; i < sizeof(len) / sizeof(len[0]); i++) {
			check_behind(left, len[i], XVT_ENABLE_STOP);
			check_behind(left, len[i], XVT_ENABLE_OVERWRITE);
		}
}
END_TEST

static uint64_t wrong_nest_and_position(void *arg)
{
	struct xvt_writer *w = &ring.w;
	const uint64_t resv = w->ctl->resv;
	const uint8_t payload[200] = { 0 };
	uint32_t *left = arg;

	if (*left) {
		*left = 0;
		w->ctl->nest = 0;
		while (xvt_resv_pos(XVT_RING_BACKEND, w->subbuf_shift, w->ctl->resv) <
		       5ull * w->subbuf_size) /* where the ring has begun again */
			ck_assert_int_eq(xvt_write(w, XVT_ID_U64, payload, 200), 0);
		ck_assert_int_eq(xvt_write(w, XVT_ID_U64, payload, 200), 0);
		w->ctl->resv = resv;
	}
	return ut_clock(&ring);
}

/* The same while an event is under way: what nests takes itself for an outermost event. */
START_TEST(wrong_nest_costs_events_and_not_memory)
{
	const uint64_t lo = (uint64_t)(uintptr_t)ring.w.data;
	const uint64_t hi = lo + ring.g.ring_size;
	struct xvt_slot slot;
	uint32_t left = 1;

	ut_ring_reset(&ring, 0, XVT_ENABLE_OVERWRITE);
	ck_assert_int_eq(ut_write_at(&ring, 5000, 0, 8), 0); /* remembers */
	ring.w.clock = wrong_nest_and_position;
	ring.w.clock_arg = &left;
	ck_assert_int_eq(xvt_reserve(&ring.w, XVT_ID_U64, 64, &slot), 0);
	ck_assert_uint_eq(left, 0);
	ck_assert_uint_ge((uint64_t)(uintptr_t)slot.rec, lo);
	ck_assert_uint_le((uint64_t)(uintptr_t)slot.payload + 64, hi);
	ck_assert_uint_eq((uint64_t)(uintptr_t)slot.rec - lo, sizeof(struct xvt_subbuf_hdr) + 16);
}
END_TEST

/* A host's state that no host writes: the one that a fresh writer remembers. */
START_TEST(wrong_state_costs_events_and_not_memory)
{
	const uint64_t lo = (uint64_t)(uintptr_t)ring.w.data;
	struct xvt_slot slot;
	uint32_t len;
	int64_t off;

	for (len = 0; len < 100; len += 3)
		for (off = -400; off < 400; off += 4) {
			ut_ring_reset(&ring, 0, XVT_ENABLE_STOP);
			xvt_writer_init(&ring.w, ring.base, &ring.g, 0);
			ring.w.clock = ut_clock;
			ring.w.clock_arg = &ring;
			ring.w.host->enable = ~0u;
			ring.w.host->epoch = ~0u;
			ring.w.ctl->resv = (uint64_t)(off & ~7) + (off & 4 ? lo : 0);
			if (xvt_reserve(&ring.w, XVT_ID_U64, len, &slot))
				continue;
			ut_assert((uint64_t)(uintptr_t)slot.rec >= lo);
			ut_assert((uint64_t)(uintptr_t)slot.payload + (len + 7) / 8 * 8 <=
				  lo + ring.g.ring_size);
		}
}
END_TEST

static void always_jump(struct ut_nest *n, enum ut_label label)
{
	if (label == UT_CLOCK)
		n->ring->w.host->epoch++;
}

START_TEST(epoch_that_never_holds_gives_up_and_is_counted)
{
	ut_nest_init(&nest, &ring);
	nest.hook = always_jump;
	ck_assert_int_eq(ut_event(&nest, 8, false), -ENOSPC);
	ck_assert_uint_eq(ring.w.ctl->lost[XVT_LOST_RETRY], 1);
	ck_assert_uint_eq(ring.w.ctl->retries, XVT_MAXRETRY + 1);
	ck_assert_uint_eq(ring.w.ctl->nest, 0);
	ck_assert_uint_eq(drain(), 0);
}
END_TEST

static bool interrupted;

static void interrupt_clock(struct ut_nest *n, enum ut_label label)
{
	if (label == UT_CLOCK && n->depth == 1 && !interrupted) {
		interrupted = true;
		ut_event(n, 8, false);
	}
}

START_TEST(event_without_proof_of_its_time_says_so)
{
	/* Interrupted between clock and [B]. The second one has room for a full stamp anyway. */
	ck_assert_int_eq(ut_write_at(&ring, 900, 99, 8), 0);
	ut_nest_init(&nest, &ring);
	nest.hook = interrupt_clock;
	interrupted = false;
	ck_assert_int_eq(ut_event(&nest, 8, false), 0);
	interrupted = false;
	xvt_writer_distrust(&ring.w);
	ck_assert_int_eq(ut_event(&nest, 9, false), 0);
	ck_assert_uint_eq(drain(), 5);
	ck_assert(e[2]->number == 0 && e[4]->number == 2);
	if (XVT_RING_BACKEND == XVT_BACKEND_XADD) {
		ck_assert(e[2]->raw & XVT_H_SAME);
		ck_assert_uint_eq(e[2]->ts, e[1]->ts); /* 2b */
		ck_assert(e[4]->full);		       /* 2a */
	} else {
		ck_assert_uint_eq(e[2]->ts, nest.ev[0].ts);
	}
	ck_assert_uint_eq(e[4]->ts, nest.ev[2].ts);
}
END_TEST

static void two_interrupts(struct ut_nest *n, enum ut_label label)
{
	if (n->depth != 1)
		return;
	if (label == UT_CLOCK && n->reads < 4)
		ut_event(n, 8, false);
}

START_TEST(event_with_room_for_a_stamp_that_it_may_not_use_says_so)
{
	/* Interrupted around both clock reads: not the last any more when it has a time. */
	ck_assert_int_eq(ut_write_at(&ring, 900, 99, 8), 0);
	xvt_writer_distrust(&ring.w);
	ut_nest_init(&nest, &ring);
	nest.hook = two_interrupts;
	ck_assert_int_eq(ut_event(&nest, 8, false), 0);
	ck_assert_uint_eq(drain(), 4);
	if (XVT_RING_BACKEND == XVT_BACKEND_XADD) {
		ck_assert_uint_eq(e[2]->number, 0);
		ck_assert((e[2]->raw & (XVT_H_SAME | XVT_H_FULL)) == (XVT_H_SAME | XVT_H_FULL));
		ck_assert_uint_eq(e[2]->len, 8);
		ck_assert_uint_eq(e[2]->ts, e[1]->ts);
	} else {
		ck_assert_uint_eq(e[3]->ts, nest.ev[0].ts);
	}
	ck_assert_uint_ge(e[3]->ts, e[2]->ts);
}
END_TEST

static uint32_t steps;

/* The first interrupts the second, both between [B] and [C], and fills the sub-buffer. */
static void fill_the_subbuf(struct ut_nest *n, enum ut_label label)
{
	if (label == UT_C && steps < 3) {
		steps++;
		ut_event(n, steps == 3 ? 800 : 200, false);
	}
}

START_TEST(records_that_step_over_the_border_together_close_it_once)
{
	const struct ut_rec *r = &recs.rec[0];
	uint32_t i, k, pads = 0;

	ck_assert_int_eq(ut_write_at(&ring, 900, 99, 8), 0);
	ut_nest_init(&nest, &ring);
	nest.hook = fill_the_subbuf;
	steps = 0;
	ck_assert_int_eq(ut_event(&nest, 200, false), 0);
	ck_assert_uint_eq(steps, 3);
	ck_assert_uint_eq(drain(), 5);
	for (i = 0; i < 5; i++)
		if (e[i]->number != 99)
			ck_assert(ut_time_is_right(&nest, &nest.ev[e[i]->number], e[i]));
	/* All three that did not fit came behind the border, and the rest before it is padding. */
	for (i = 0; i < recs.count; i++)
		if (recs.rec[i].kind == XVT_REC_RECORD && recs.rec[i].pos < 1024)
			r = &recs.rec[i];
	ck_assert_uint_eq(r->number, 3);
	for (k = (uint32_t)r->pos + 808; k < 1024; k += 8)
		pads += word_at(k) != 0;
	ck_assert_uint_le(pads, 1);
	teardown();
	start(&(struct ut_conf){ 0 });
}
END_TEST

static void interrupt_each_recheck(struct ut_nest *n, enum ut_label label)
{
	/* One event finds nest == 0 and publishes itself, but resv has moved again. */
	if (label == UT_RECHECK && n->depth == 1 && n->count < 3 * XVT_MAXRETRY)
		ut_event(n, 8, false);
}

START_TEST(ring_still_publishes_after_endless_interruption_of_the_last_check)
{
	start(&(struct ut_conf){ .subbuf_count = 8 });
	ut_nest_init(&nest, &ring);
	nest.hook = interrupt_each_recheck;
	ck_assert_int_eq(ut_event(&nest, 8, false), 0);
	nest.hook = NULL;
	/* However the loop ended: no event is open, so the next event publishes everything. */
	ck_assert_uint_eq(ring.w.ctl->nest, 0);
	ck_assert_int_eq(ut_event(&nest, 8, false), 0);
	ck_assert_uint_eq(ring.w.ctl->commit, ut_resv(&ring));
	ck_assert_uint_eq(drain(), nest.count);
	teardown();
}
END_TEST

START_TEST(discarded_last_record_gives_its_space_back)
{
	struct xvt_slot slot;
	uint64_t at;

	ck_assert_int_eq(ut_write_at(&ring, 5000, 0, 8), 0);
	at = ut_resv(&ring);
	ring.clock = 5100;
	ck_assert_int_eq(xvt_reserve(&ring.w, XVT_ID_U64, 24, &slot), 0);
	memset(slot.payload, 0xff, 24);
	xvt_discard(&ring.w, &slot);
	ck_assert_uint_eq(ut_resv(&ring), at);
	ck_assert_uint_eq(ring.w.ctl->commit, at);
	ck_assert_uint_eq(word_at(at) | word_at(at + 8) | word_at(at + 24), 0);
	ck_assert_int_eq(ut_write_at(&ring, 5050, 1, 8), 0); /* before the discarded one's time */
	ck_assert_uint_eq(drain(), 2);
	ck_assert_uint_eq(e[1]->ts, 5050);
	ck_assert_uint_eq(e[1]->pos, at);
	ck_assert_uint_eq(ring.w.ctl->discarded, 1);
	ck_assert_uint_eq(ring.w.ctl->attempted, 3);
}
END_TEST

START_TEST(discarded_record_below_another_keeps_its_time)
{
	struct xvt_slot outer, inner;
	uint32_t i;

	start(&(struct ut_conf){ .ts_bits = 8 });
	ck_assert_int_eq(ut_write_at(&ring, 5000, 0, 8), 0);
	ring.clock = 5000 + 200 * (_i + 1); /* _i: not full, full */
	ck_assert_int_eq(xvt_reserve(&ring.w, XVT_ID_U64, 24, &outer), 0);
	/* Only the record before it makes this one's 8 bits right. */
	ring.clock += 200;
	ck_assert_int_eq(xvt_reserve(&ring.w, XVT_ID_U64, 8, &inner), 0);
	memset(inner.payload, 0, 8);
	xvt_commit(&ring.w, &inner);
	xvt_discard(&ring.w, &outer);
	ck_assert_uint_eq(drain(), 2);
	ck_assert_uint_eq(e[1]->ts, 5000 + 200 * (_i + 1) + 202);
	for (i = 0; i < recs.count; i++)
		if (recs.rec[i].kind == XVT_REC_DISCARDED)
			break;
	ck_assert_uint_lt(i, recs.count);
	ck_assert_uint_eq(recs.rec[i].id, XVT_ID_DISCARDED);
	ck_assert_uint_eq(recs.rec[i].ts, 5000 + 200 * (_i + 1) + 1);
	ck_assert_uint_eq(ring.w.ctl->discarded, 1);
	teardown();
}
END_TEST

START_TEST(empty_record_in_the_last_word_of_the_region_can_be_discarded)
{
	struct xvt_slot slot;
	uint64_t last = ring.g.ring_size - 8;
	uint32_t i;

	for (i = 0; i < 3; i++)
		ck_assert_int_eq(ut_write_at(&ring, 5000 + i, i, ring.w.max_record - 8), 0);
	ck_assert_int_eq(ut_write_at(&ring, 5003, 3, ring.w.max_record - 16), 0);
	ck_assert_uint_eq(ut_resv(&ring), last);
	ck_assert_int_eq(xvt_reserve(&ring.w, XVT_ID_U64, 0, &slot), 0);
	ck_assert_uint_eq(slot.pos, last);
	xvt_discard(&ring.w, &slot); /* under ASan: and touches nothing behind */
	ck_assert_uint_eq(ut_resv(&ring), last);
	ck_assert_uint_eq(drain(), 4);
}
END_TEST

START_TEST(recording_switched_off_leaves_no_trace)
{
	ring.w.host->enable = XVT_ENABLE_OFF;
	ck_assert_int_eq(ut_write_at(&ring, 5000, 0, 8), -EAGAIN);
	ck_assert_uint_eq(ring.w.ctl->attempted, 0);
	ck_assert_uint_eq(ut_resv(&ring), 0);
	ck_assert_uint_eq(ring.w.ctl->nest, 0);
}
END_TEST

static void switch_off(struct ut_nest *n, enum ut_label label)
{
	uint32_t *points = n->arg;

	(void)label;
	if (++*points == 3) /* after nest is stored */
		n->ring->w.host->enable = XVT_ENABLE_OFF;
}

START_TEST(recording_switched_off_during_entry_leaves_no_trace)
{
	uint32_t points = 0;

	ut_nest_init(&nest, &ring);
	nest.hook = switch_off;
	nest.arg = &points;
	ck_assert_int_eq(ut_event(&nest, 8, false), -EAGAIN);
	ck_assert_uint_eq(ring.w.ctl->attempted, 0);
	ck_assert_uint_eq(ut_resv(&ring), 0);
	ck_assert_uint_eq(ring.w.ctl->nest, 0);
}
END_TEST

START_TEST(own_records_of_the_ring_are_not_counted)
{
	struct xvt_clock_sync sync = { .clock = 5000, .reason = XVT_SYNC_ATTACH };
	struct xvt_slot slot;

	ck_assert_int_eq(xvt_write(&ring.w, XVT_ID_CLOCK_SYNC, &sync, sizeof(sync)), 0);
	ck_assert_int_eq(xvt_reserve(&ring.w, XVT_ID_CLOCK_SYNC, sizeof(sync), &slot), 0);
	xvt_discard(&ring.w, &slot);
	ck_assert_int_eq(xvt_reserve(&ring.w, XVT_ID_CLOCK_SYNC, 1u << 20, &slot), -ENOSPC);
	ck_assert_uint_eq(ring.w.ctl->attempted, 0);
	ck_assert_uint_eq(ring.w.ctl->discarded, 0);
	ck_assert_uint_eq(ut_lost(&ring), 0);
	ck_assert_uint_eq(drain(), 1);
	ck_assert_uint_eq(e[0]->id, XVT_ID_CLOCK_SYNC);
	ck_assert_uint_eq(e[0]->len, sizeof(sync));
}
END_TEST

START_TEST(a_clock_pair_is_what_the_hypervisor_said)
{
	struct xvt_kvm_pair pair = { .sec = 1700000000, .nsec = 999999999, .tsc = 4242 };
	struct xvt_clock_sync sync;

	ring.w.host->epoch = 7;
	ck_assert_int_eq(xvt_clock_pair_put(&ring.w, &pair, 2500000000), 0);
	ck_assert_uint_eq(drain(), 1);
	ck_assert_uint_eq(e[0]->id, XVT_ID_CLOCK_SYNC);
	ck_assert_uint_eq(e[0]->len, sizeof(sync));
	memcpy(&sync, ring.w.data + e[0]->pos + (e[0]->full ? 16 : 8), sizeof(sync));
	ck_assert_uint_eq(sync.reason, XVT_SYNC_PAIR);
	ck_assert_uint_eq(sync.clock, 4242);
	ck_assert_uint_eq(sync.realtime_ns, 1700000000999999999);
	ck_assert_uint_eq(sync.hz, 2500000000);
	ck_assert_uint_eq(sync.monotonic_ns, 0);
	ck_assert_uint_eq(sync.epoch, 7);
	ck_assert_uint_eq(ring.w.ctl->attempted, 0);
}
END_TEST

START_TEST(a_clock_pair_of_no_time_is_not_written)
{
	static const struct xvt_kvm_pair bad[] = {
		{ .sec = -1 },
		{ .nsec = -1 },
		{ .nsec = 1000000000 },
		{ .sec = INT64_MAX },
		{ .sec = XVT_PAIR_SEC_MAX + 1 },
	};

	ck_assert_int_eq(xvt_clock_pair_put(&ring.w, &bad[_i], 1), -EINVAL);
	ck_assert_uint_eq(drain(), 0);
}
END_TEST

START_TEST(sleeping_host_is_kicked_once_a_subbuf)
{
	uint32_t i, subbufs = 0;

	ring.w.kick = ut_kick;
	for (i = 0; i < 40; i++) {
		ck_assert_int_eq(ut_write_at(&ring, 5000 + i, i, 200), 0);
		subbufs = (uint32_t)(ut_resv(&ring) + 1023) / 1024;
		if (i == 10)
			ck_assert_uint_eq(ring.kicks, 0);
		ring.w.host->need_wake = i >= 10;
		drain();
	}
	/* 4 of 208 bytes each; events 0 to 10 were in sub-buffers 0 to 2. */
	ck_assert_uint_eq(subbufs, 10);
	ck_assert_uint_eq(ring.kicks, 7);
}
END_TEST

static void cross_once(struct ut_nest *n, enum ut_label label)
{
	if (label == UT_PAYLOAD && n->depth == 1)
		ut_event(n, 800, false);
}

START_TEST(sleeping_host_is_kicked_when_a_nested_event_crosses)
{
	ck_assert_int_eq(ut_write_at(&ring, 5000, 0, 8), 0);
	ring.w.kick = ut_kick;
	ring.w.host->need_wake = 1;
	ut_nest_init(&nest, &ring);
	nest.hook = cross_once;
	ck_assert_int_eq(ut_event(&nest, 400, false), 0); /* itself in the old sub-buffer */
	ck_assert_uint_gt(ring.w.ctl->commit, 1024);
	ck_assert_uint_eq(ring.kicks, 1);
}
END_TEST

START_TEST(open_clock_request_is_answered_once)
{
	ring.clock = 7000;
	ck_assert_int_eq(xvt_writer_answer(&ring.w), -EAGAIN);
	ring.w.host->request_more = 3;
	ring.w.host->request_seq = 1;
	ck_assert_int_eq(xvt_writer_answer(&ring.w), 3);
	ck_assert_uint_eq(ring.w.ctl->answer_clock, 7001);
	ck_assert_uint_eq(ring.w.ctl->answer_seq, 1);
	ck_assert_int_eq(xvt_writer_answer(&ring.w), -EAGAIN);
}
END_TEST

START_TEST(mark_is_written_once_for_each_request)
{
	ring.clock = 7000;
	xvt_writer_mark(&ring.w);
	ck_assert_uint_eq(drain(), 0);
	ring.w.host->mark_seq = 41;
	xvt_writer_mark(&ring.w);
	xvt_writer_mark(&ring.w);
	ck_assert_uint_eq(ring.w.ctl->mark_ack, 41);
	ck_assert_uint_eq(drain(), 1);
	ck_assert_uint_eq(e[0]->id, XVT_ID_MARK);
	ck_assert_uint_eq(e[0]->len, sizeof(struct xvt_mark));
	ck_assert_uint_eq(e[0]->number, 41);
	ck_assert_uint_eq(e[0]->ts, 7002); /* after the ordered read */
	/* Any other number is a new request, also a smaller one. */
	ring.w.host->mark_seq = 7;
	xvt_writer_mark(&ring.w);
	ck_assert_uint_eq(ring.w.ctl->mark_ack, 7);
	ck_assert_uint_eq(drain(), 1);
	ck_assert_uint_eq(ring.w.ctl->attempted, 0);
}
END_TEST

START_TEST(mark_that_is_lost_is_acknowledged_and_not_counted)
{
	uint32_t i;

	ring.w.host->mark_seq = 1;
	ring.w.host->enable = XVT_ENABLE_OFF;
	xvt_writer_mark(&ring.w);
	ck_assert_uint_eq(ring.w.ctl->mark_ack, 1);
	ring.w.host->enable = XVT_ENABLE_STOP;
	for (i = 0; ut_write_at(&ring, 5000 + i, i, 200) == 0; i++)
		;
	ck_assert_uint_eq(ut_lost(&ring), 1);
	/* What was full stays full: nothing was taken. */
	ring.w.host->mark_seq = 2;
	xvt_writer_mark(&ring.w);
	ck_assert_uint_eq(ring.w.ctl->mark_ack, 2);
	ck_assert_uint_eq(ut_lost(&ring), 1);
	ck_assert_uint_eq(ring.w.ctl->attempted, i + 1);
	ck_assert_uint_eq(drain(), i);
}
END_TEST

static void mark_in_between(struct ut_nest *n, unsigned int point)
{
	(void)n;
	if (point)
		return;
	ring.w.host->mark_seq = 5;
	xvt_writer_mark(&ring.w);
}

START_TEST(mark_that_interrupts_an_event_is_written_too)
{
	struct ut_nest nest;

	ut_nest_init(&nest, &ring);
	nest.hook = mark_in_between;
	ck_assert_int_eq(ut_event(&nest, 8, false), 0);
	ck_assert_uint_eq(ring.w.ctl->mark_ack, 5);
	ck_assert_uint_eq(drain(), 2);
	ck_assert_uint_eq((e[0]->id == XVT_ID_MARK) + (e[1]->id == XVT_ID_MARK), 1);
	ck_assert_uint_eq(ring.w.ctl->attempted, 1);
}
END_TEST

/*
 * Random sizes, discards, jumps of time and moments of draining, against an independent
 * count. The gaps in the delivered numbers between two sub-buffers must be what the headers
 * say was lost between them.
 */
START_TEST(counters_agree_with_an_independent_count)
{
	uint64_t seed = (uint64_t)_i + 1, attempts = 0, discards = 0, losses = 0, delivered = 0;
	uint64_t next = 0, lost_here = 0, head_lost = 0;
	static uint64_t truth[20000];
	static uint8_t fate[20001]; /* 0 delivered or not yet, 1 discarded, 2 lost */
	uint32_t i, k;

	start(&(struct ut_conf){ .start = BEFORE_WRAP(3, 1024), .ts_bits = 12 });
	memset(fate, 0, sizeof(fate));
	for (i = 0; i < 20000; i++) {
		uint64_t r = ut_random(&seed);
		uint32_t len = 8 + (uint32_t)(r >> 8) % (r & 1 ? 900 : 60);
		struct xvt_slot slot;
		int err;

		ring.clock += r >> 20 & (r & 6 ? 0xff : 0xfffff);
		err = xvt_reserve(&ring.w, XVT_ID_U64, len, &slot);
		attempts++;
		truth[i] = ring.clock;
		fate[i] = err ? 2 : (r >> 50) % 8 == 0;
		losses += err != 0;
		discards += fate[i] == 1;
		if (fate[i] == 1) {
			xvt_discard(&ring.w, &slot);
		} else if (!err) {
			uint64_t word = i;

			memcpy(slot.payload, &word, 8);
			xvt_commit(&ring.w, &slot);
		}
		if ((r >> 40) % 16 && i != 19999)
			continue;
		recs.count = 0;
		ut_drain(&ring, &recs);
		for (k = 0; k < recs.count; k++) {
			const struct ut_rec *rec = &recs.rec[k];

			if (rec->kind == XVT_REC_SUBBUF) {
				/* Everything lost lies before this header. */
				for (; fate[next]; next++)
					lost_here += fate[next] == 2;
				head_lost = rec->subbuf.lost[XVT_LOST_FULL];
				ut_assert(head_lost == lost_here);
			} else if (rec->kind == XVT_REC_RECORD) {
				for (; fate[next]; next++)
					ut_assert(fate[next] == 1);
				ut_assert(rec->number == next);
				ut_assert(rec->ts == truth[next]);
				next++;
				delivered++;
			}
		}
	}
	ck_assert_uint_gt(losses, 100);
	ck_assert_uint_gt(discards, 1000);
	ck_assert_uint_eq(ring.w.ctl->attempted, attempts);
	ck_assert_uint_eq(ring.w.ctl->discarded, discards);
	ck_assert_uint_eq(ut_lost(&ring), losses);
	ck_assert_uint_eq(attempts, delivered + discards + losses);
	teardown();
}
END_TEST

Suite *suite_writer(void)
{
	Suite *s = suite_create("writer");
	TCase *tc = tcase_create("default-ring");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, clock_that_goes_back_is_kept_raw);
	tcase_add_test(tc, new_epoch_forces_one_full_stamp);
	tcase_add_test(tc, subbuf_header_carries_a_new_epoch);
	tcase_add_test(tc, epoch_that_changes_around_the_clock_read_makes_it_read_again);
	tcase_add_test(tc, distrusted_clock_forces_one_full_stamp);
	tcase_add_test(tc, one_subbuf_taken_by_the_host_makes_room_for_one);
	tcase_add_test(tc, record_exactly_as_large_as_a_subbuf_fits);
	tcase_add_test(tc, record_that_fits_no_subbuf_is_counted_as_big);
	tcase_add_test(tc, nesting_deeper_than_the_limit_is_counted);
	tcase_add_test(tc, discarded_last_record_gives_its_space_back);
	tcase_add_test(tc, empty_record_in_the_last_word_of_the_region_can_be_discarded);
	tcase_add_test(tc, recording_switched_off_leaves_no_trace);
	tcase_add_test(tc, recording_switched_off_during_entry_leaves_no_trace);
	tcase_add_test(tc, full_ring_that_is_switched_off_meanwhile_is_not_overrun);
	tcase_add_test(tc, own_records_of_the_ring_are_not_counted);
	tcase_add_test(tc, a_clock_pair_is_what_the_hypervisor_said);
	tcase_add_loop_test(tc, a_clock_pair_of_no_time_is_not_written, 0, 5);
	tcase_add_test(tc, epoch_that_never_holds_gives_up_and_is_counted);
	tcase_add_test(tc, wrong_position_costs_events_and_not_memory);
	tcase_add_test(tc, wrong_position_stores_nothing_behind_the_ring);
	tcase_add_test(tc, wrong_nest_costs_events_and_not_memory);
	tcase_add_test(tc, wrong_state_costs_events_and_not_memory);
	tcase_add_test(tc, event_without_proof_of_its_time_says_so);
	tcase_add_test(tc, event_with_room_for_a_stamp_that_it_may_not_use_says_so);
	tcase_add_test(tc, records_that_step_over_the_border_together_close_it_once);
	tcase_add_test(tc, sleeping_host_is_kicked_once_a_subbuf);
	tcase_add_test(tc, sleeping_host_is_kicked_when_a_nested_event_crosses);
	tcase_add_test(tc, open_clock_request_is_answered_once);
	tcase_add_test(tc, mark_is_written_once_for_each_request);
	tcase_add_test(tc, mark_that_is_lost_is_acknowledged_and_not_counted);
	tcase_add_test(tc, mark_that_interrupts_an_event_is_written_too);
	suite_add_tcase(s, tc);

	tc = tcase_create("own-ring");
	tcase_add_test(tc, example_of_seed_002_has_its_raw_words_and_times);
	tcase_add_loop_test(tc, full_stamp_begins_at_a_gap_of_two_to_the_ts_bits, 3, 33);
	tcase_add_test(tc, events_survive_the_wrap_of_positions_in_stop_mode);
	tcase_add_test(tc, overwrite_mode_keeps_the_newest_across_the_wrap);
	tcase_add_loop_test(tc, full_ring_closes_at_a_border_and_pins_the_loss_there, 0, 2);
	tcase_add_loop_test(tc, cons_that_no_host_can_have_written_counts_as_full, 0, 5);
	tcase_add_loop_test(tc, unfinished_record_is_never_overwritten, 0, 2);
	tcase_add_test(tc, record_of_the_longest_length_takes_a_full_stamp_too);
	tcase_add_test(tc, rest_of_the_last_word_reads_as_zero);
	tcase_add_test(tc, endless_interruption_before_the_position_moves);
	tcase_add_test(tc, ring_still_publishes_after_endless_interruption_of_the_last_check);
	tcase_add_loop_test(tc, discarded_record_below_another_keeps_its_time, 0, 2);
	tcase_add_loop_test(tc, counters_agree_with_an_independent_count, 0, 4);
	suite_add_tcase(s, tc);
	return s;
}
