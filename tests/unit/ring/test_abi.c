// SPDX-License-Identifier: GPL-2.0
/*
 * test_abi.c - the frozen image of each published layout must stay readable. The test itself made
 * them: CK_RUN_SUITE=abi XVT_WRITE_ABI=tests/abi/vN.bin build/tests/host-check
 */
#define _GNU_SOURCE
#include "engine.h"
#include "suites.h"
#include "xvt_clock_page.h"

#include <stdio.h>
#include <stdlib.h>

static const char *const frozen[] = { "tests/abi/v1.bin", "tests/abi/v1.1.bin" };
#define FROZEN_SIZE 24576u
#define EVENTS	    30u

static uint64_t frozen_time;

static uint64_t frozen_clock(void *arg)
{
	(void)arg;
	return frozen_time;
}

/* One tick a ns, but for one half of that from 500 on. */
static const struct xvt_clock_page frozen_page = {
	.flags = XVT_CLOCK_F_VALID | XVT_CLOCK_F_ACTIVE,
	.session = 77,
	.epoch = 3,
	.node_clock = 100,
	.node_ns = 1000100,
	.bound_ns = 40,
	.drift = 1ull << (XVT_CLOCK_SHIFT - 2),
	.active_ns = 9000,
	.active_since_ns = 1000200,
	.nr_lines = 2,
	.line = { { 0, 1000000, 1ull << XVT_CLOCK_SHIFT },
		  { 500, 1000500, 1ull << (XVT_CLOCK_SHIFT - 1) } },
};

static void check_page(struct xvt_host_region *r)
{
	const struct xvt_clock_page *page = &xvt_host_ring_host(r, 0)->clock_page;
	struct xvt_clock_now now;

	ck_assert_int_eq(xvt_clock_page_at(page, 700, &now), 0);
	ck_assert_uint_eq(now.host_ns, 1000600);
	ck_assert_uint_eq(now.bound_ns, 40 + 500 / 4);
	ck_assert_uint_eq(now.active_ns, 9400);
	ck_assert(now.session == 77 && now.epoch == 3 && now.flags == frozen_page.flags);
}

/* 30 events, 1000 ticks apart, the last 5 after a jump of the clock and of the epoch; event 10
 * discarded with its space given back, event 20 discarded too late. */
static void write_image(const char *path)
{
	struct xvt_layout layout = { .region_size = FROZEN_SIZE,
				     .ring_count = 1,
				     .subbuf_size = 1024,
				     .meta_size = 4096,
				     .clock_id = XVT_CLOCK_CALLER,
				     .clock_hz = 1000000000,
				     .kind = XVT_KIND_USER,
				     .enable = XVT_ENABLE_STOP,
				     .vm_name = "frozen" };
	uint8_t *region = aligned_alloc(4096, FROZEN_SIZE);
	struct xvt_geometry g;
	struct xvt_writer w;
	uint64_t i;
	FILE *f;

	memset(region, 0, FROZEN_SIZE);
	ck_assert_int_eq(xvt_region_format(region, &layout, &g), 0);
	xvt_meta_append(region, &g, XVT_META_TEXT, 0, "frozen", 6, NULL, 0);
	xvt_writer_init(&w, region, &g, 0);
	w.clock = frozen_clock;
	w.ctl->type = XVT_RING_THREAD;
	frozen_time = 0x123456780000;
	for (i = 1; i <= EVENTS; i++) {
		struct xvt_slot slot;

		frozen_time += 1000;
		if (i == EVENTS - 4) {
			frozen_time += 1ull << 33;
			w.host->epoch++;
		}
		ck_assert_int_eq(xvt_reserve(&w, XVT_ID_U64, 8, &slot), 0);
		*(uint64_t *)slot.payload = i;
		if (i == 20)
			ck_assert_int_eq(xvt_write(&w, XVT_ID_U64, &(uint64_t){ 1020 }, 8), 0);
		if (i == 10 || i == 20)
			xvt_discard(&w, &slot);
		else
			xvt_commit(&w, &slot);
	}
	xvt_clock_page_write(&w.host->clock_page, &(uint64_t){ 0 }, &frozen_page);
	f = fopen(path, "wb");
	ck_assert_ptr_nonnull(f);
	ck_assert_uint_eq(fwrite(region, 1, FROZEN_SIZE, f), FROZEN_SIZE);
	ck_assert_int_eq(fclose(f), 0);
	free(region);
}

START_TEST(frozen_image_reads_as_it_was_written)
{
	uint64_t time = 0x123456780000, want = 0, seen = 0, discarded = 0;
	const struct xvt_ring_ctl *c;
	struct xvt_host_region r;
	struct xvt_ring_words s;
	struct xvt_reader reader;
	struct xvt_record rec;
	int err;

	if (getenv("XVT_WRITE_ABI"))
		write_image(getenv("XVT_WRITE_ABI"));
	ck_assert_int_eq(xvt_host_region_open(&r, frozen[_i], false), 0);
	ck_assert_int_eq(xvt_host_region_check(&r), 0);
	ck_assert_str_eq(r.hdr.vm_name, "frozen");
	ck_assert_int_eq(xvt_has_clock_pages(&r.hdr), _i >= 1);
	if (xvt_has_clock_pages(&r.hdr))
		check_page(&r);
	/* Words of an older host: a writer that reads them rings no doorbell. */
	ck_assert_uint_eq(xvt_host_region_page(&r)->doorbell, 0);
	ck_assert_uint_eq(xvt_host_ring_host(&r, 0)->need_wake, 0);
	c = xvt_host_ring_ctl(&r, 0);
	xvt_ring_words(c, &r.g, &s);
	ck_assert_uint_eq(s.attempted, EVENTS + 1);
	ck_assert_uint_eq(s.discarded, 2);
	xvt_reader_init(&reader, &r.g, 0);
	while (reader.pos != s.commit) {
		uint64_t end = xvt_pos_next_subbuf(&r.g, reader.pos);

		if (xvt_pos_before(s.commit, end))
			end = s.commit;
		xvt_reader_feed(&reader,
				r.map + xvt_data_off(&r.g, 0) + xvt_pos_off(&r.g, reader.pos),
				end - reader.pos);
		while ((err = xvt_reader_next(&reader, &rec)) == 1) {
			uint64_t number;

			discarded += rec.kind == XVT_REC_DISCARDED;
			if (rec.kind != XVT_REC_RECORD)
				continue;
			memcpy(&number, rec.payload, sizeof(number));
			if (number == 1020) {
				ck_assert_uint_eq(rec.ts, time + 1000 * 20);
				continue;
			}
			want++;
			if (want == 10 || want == 20)
				want++;
			ck_assert_uint_eq(number, want);
			ck_assert_uint_eq(rec.ts, time + 1000 * want +
							  (want > EVENTS - 5 ? 1ull << 33 : 0));
			ck_assert_uint_eq(rec.epoch, want > EVENTS - 5);
			seen++;
		}
		ck_assert_int_eq(err, 0);
	}
	ck_assert_uint_eq(seen, EVENTS - 2);
	ck_assert_uint_eq(discarded, 1);
	xvt_host_region_close(&r);
}
END_TEST

Suite *abi_suite(void)
{
	Suite *s = suite_create("abi");
	TCase *tc = tcase_create("frozen");

	tcase_add_loop_test(tc, frozen_image_reads_as_it_was_written, 0,
			    sizeof(frozen) / sizeof(frozen[0]));
	suite_add_tcase(s, tc);
	return s;
}
