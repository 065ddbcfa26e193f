// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * test_region.c - layouts, formatting, generations, metadata.
 */
#include "ut.h"

static struct ut_ring ring;

static void setup(void)
{
	ut_ring_init(&ring, &(struct ut_conf){ 0 });
}

static void teardown(void)
{
	ut_ring_fini(&ring);
}

START_TEST(planned_layout_is_accepted_by_the_check)
{
	static const uint32_t rings[] = { 1, 2, 3, 4, 17, 64, 255 };
	static const uint32_t aligns[] = { 0, 4096, 16384, 65536 };
	uint32_t a, r;
	uint64_t size;

	for (a = 0; a < 4; a++)
		for (r = 0; r < 7; r++)
			for (size = 65536; size <= 64ull << 20; size += size / 16 * 5 & ~4095ull) {
				struct xvt_layout l = { .region_size = size,
							.ring_count = rings[r],
							.align = aligns[a] };
				struct xvt_region_hdr h = { .magic = XVT_MAGIC };
				struct xvt_geometry g, again;
				struct xvt_fault f;
				int err = xvt_region_plan(&l, &g);

				if (size < xvt_region_min_size(rings[r], aligns[a])) {
					ut_assert(err == -ENOSPC);
					continue;
				}
				ut_assert(!err);
				h.oldest = XVT_OLDEST;
				h.hdr_size = sizeof(h);
				memcpy(&h.region_size, &g.region_size, 8);
				h.host_off = g.host_off;
				h.meta_off = g.meta_off;
				h.meta_size = g.meta_size;
				h.ctl_off = g.ctl_off;
				h.data_off = g.data_off;
				h.align = g.align;
				h.ctl_stride = g.ctl_stride;
				h.ring_count = g.ring_count;
				h.subbuf_size = g.subbuf_size;
				h.subbuf_count = g.subbuf_count;
				h.ts_bits = g.ts_bits;
				ut_assert(!xvt_check_header(&h, size, &again, &f));
				ut_assert(!memcmp(&g, &again, sizeof(g)));
			}
}
END_TEST

START_TEST(smallest_region_is_the_smallest)
{
	uint32_t rings;

	for (rings = 1; rings < 40; rings++) {
		struct xvt_layout l = { .ring_count = rings };
		struct xvt_geometry g;

		l.region_size = xvt_region_min_size(rings, 0);
		ck_assert_int_eq(xvt_region_plan(&l, &g), 0);
		l.region_size -= 4096;
		ck_assert_int_eq(xvt_region_plan(&l, &g), -ENOSPC);
	}
}
END_TEST

START_TEST(impossible_layout_is_refused)
{
	static const struct {
		struct xvt_layout l;
		int err;
	} row[] = {
		{ { .region_size = 1 << 20, .ring_count = 0 }, -EINVAL },
		{ { .region_size = 1 << 20, .ring_count = XVT_RING_COUNT_MAX + 1 }, -EINVAL },
		{ { .region_size = (1 << 20) + 8, .ring_count = 1 }, -EINVAL },
		{ { .region_size = 1 << 20, .ring_count = 1, .align = 2048 }, -EINVAL },
		{ { .region_size = 1 << 20, .ring_count = 1, .align = 131072 }, -EINVAL },
		{ { .region_size = 1 << 20, .ring_count = 1, .align = 12288 }, -EINVAL },
		{ { .region_size = 1 << 20, .ring_count = 1, .subbuf_size = 512 }, -EINVAL },
		{ { .region_size = 1 << 20, .ring_count = 1, .subbuf_size = 3072 }, -EINVAL },
		{ { .region_size = 1 << 20, .ring_count = 1, .subbuf_size = 1 << 25 }, -EINVAL },
		{ { .region_size = 1 << 20, .ring_count = 1, .subbuf_size = 1 << 18 }, -ENOSPC },
		{ { .region_size = 1 << 20, .ring_count = 1, .meta_size = 1 << 20 }, -ENOSPC },
		{ { .region_size = 1 << 20, .ring_count = 200 }, -ENOSPC },
		{ { .region_size = 0, .ring_count = 1 }, -ENOSPC },
		{ { .region_size = 1 << 20, .ring_count = 1, .meta_size = UINT64_MAX }, -ENOSPC },
		{ { .region_size = 1 << 20, .ring_count = 1, .meta_size = 0ull - 8192 }, -ENOSPC },
		{ { .region_size = 1 << 20, .ring_count = 1, .ts_bits = 33 }, -EINVAL },
		{ { .region_size = 1 << 20, .ring_count = 1, .ts_bits = 2 }, -EINVAL },
	};
	struct xvt_geometry g;

	ck_assert_int_eq(xvt_region_plan(&row[_i].l, &g), row[_i].err);
}
END_TEST

START_TEST(formatted_region_is_blank_and_complete)
{
	struct xvt_layout l = { .region_size = 1 << 20,
				.ring_count = 3,
				.enable = XVT_ENABLE_OVERWRITE,
				.clock_id = XVT_CLOCK_TSC,
				.clock_hz = 5,
				.vm_name = "a name that is much longer than the sixty-four bytes "
					   "that a region has for it" };
	uint8_t *base = aligned_alloc(4096, l.region_size);
	const struct xvt_region_hdr *h = (void *)base;
	struct xvt_geometry g;
	uint32_t i;

	memset(base, 0xff, l.region_size);
	ck_assert_int_eq(xvt_region_format(base, &l, &g), 0);
	ck_assert_uint_eq(h->magic, XVT_MAGIC);
	ck_assert_uint_eq(h->kind, XVT_KIND_BLANK);
	ck_assert_uint_eq(h->generation, 0);
	ck_assert_uint_eq(h->request_ack, 0);
	ck_assert_uint_eq(h->clock_hz, 5);
	ck_assert_uint_eq(strlen(h->vm_name), XVT_NAME_LEN - 1);
	ck_assert_uint_eq(((struct xvt_host_page *)(base + g.host_off))->nonce, 0);
	ck_assert_uint_eq(((struct xvt_meta_hdr *)(base + g.meta_off))->committed, 0);
	for (i = 0; i < 3; i++) {
		const struct xvt_ring_ctl *c = (void *)(base + xvt_ctl_off(&g, i));
		const struct xvt_ring_host *rh = (void *)(base + xvt_ring_host_off(&g, i));

		ck_assert_uint_eq(c->magic, XVT_RING_MAGIC);
		ck_assert_uint_eq(c->cpu, i);
		ck_assert_uint_eq(c->state, XVT_RING_IDLE);
		ck_assert_uint_eq(c->subbuf_size, g.subbuf_size);
		ck_assert_uint_eq(c->resv | c->commit | c->attempted | c->nest, 0);
		ck_assert_uint_eq(rh->enable, XVT_ENABLE_OVERWRITE);
		ck_assert_uint_eq(rh->cons | rh->epoch | rh->need_wake, 0);
	}
	free(base);
}
END_TEST

START_TEST(formatting_again_leaves_nothing_that_salvage_takes_for_new)
{
	struct ut_recs *recs = calloc(1, sizeof(*recs));
	struct xvt_layout l = { .region_size = ring.g.region_size,
				.ring_count = 1,
				.subbuf_size = 1024,
				.meta_size = 4096,
				.enable = XVT_ENABLE_STOP };
	uint32_t i;

	for (i = 0; i < 8; i++)
		ut_write_at(&ring, 5000 + i, i, 8);
	ck_assert_int_eq(xvt_region_format(ring.base, &l, &ring.g), 0);
	/* A new writer reserved the same space and died before it stored a header. */
	ut_set_resv(&ring, 200);
	xvt_reader_init(&ring.reader, &ring.g, 0);
	ut_salvage(&ring, ring.reader, 200, recs);
	ck_assert_uint_eq(recs->count, 0);
	free(recs);
}
END_TEST

START_TEST(new_generation_starts_at_the_next_border_and_keeps_the_counters)
{
	static const uint64_t starts[] = { 0, 0ull - 1024 };
	static const uint8_t uuid[16] = { 9, 8, 7 };
	struct xvt_layout l = { .kind = XVT_KIND_LINUX, .clock_id = XVT_CLOCK_TSC, .vm_name = "v" };
	struct xvt_ring_ctl *c = ring.w.ctl;
	struct xvt_region_hdr *h = (void *)ring.base;
	uint32_t gen;

	ut_ring_reset(&ring, starts[_i], XVT_ENABLE_STOP);
	for (gen = 1; gen < 7; gen++) {
		uint64_t resv;

		ring.w.host->cons = ut_resv(&ring) & ~1023ull;
		ck_assert_int_eq(ut_write_at(&ring, 5000 + gen, gen, 8), 0);
		resv = ut_resv(&ring);
		h->displaced = h->ringless = h->host_events = h->claim = gen;
		ck_assert_uint_eq(xvt_region_new_generation(ring.base, &ring.g, &l, uuid), gen);
		ck_assert_uint_eq(h->generation, gen);
		ck_assert_uint_eq(h->kind, XVT_KIND_LINUX);
		/* What was said of the generation before is not said of this one. */
		ck_assert_uint_eq(h->displaced | h->ringless | h->host_events | h->claim, 0);
		ck_assert_int_eq(memcmp(h->boot_uuid, uuid, 16), 0);
		ck_assert_uint_eq(c->generation, gen);
		ck_assert_uint_eq(ut_resv(&ring), xvt_pos_roundup(&ring.g, resv));
		ck_assert_uint_eq(c->commit, ut_resv(&ring));
		ck_assert_uint_eq(c->attempted, gen);
		ck_assert_uint_eq(c->gen[gen % XVT_GEN_SLOTS].generation, gen);
		ck_assert_uint_eq(c->gen[gen % XVT_GEN_SLOTS].prev_resv, resv);
		ck_assert_uint_eq(c->gen[gen % XVT_GEN_SLOTS].start, ut_resv(&ring));
		xvt_writer_init(&ring.w, ring.base, &ring.g, 0);
		ring.w.clock = ut_clock;
		ring.w.clock_arg = &ring;
		ck_assert_uint_eq(ring.w.generation, gen);
	}
}
END_TEST

/* A writer that was built with the other back-end leaves the ring to us. */
START_TEST(region_is_in_use_while_another_boot_has_a_ring_online)
{
	static const uint8_t boot[16] = { 1 }, other[16] = { 2 };
	struct xvt_layout l = { .kind = XVT_KIND_LINUX };
	struct xvt_region_hdr *h = (void *)ring.base;
	const uint64_t size = ring.g.region_size;
	struct xvt_ring_ctl *last =
		(void *)(ring.base + xvt_ctl_off(&ring.g, ring.g.ring_count - 1));

	xvt_region_new_generation(ring.base, &ring.g, &l, boot);
	ck_assert(!xvt_region_in_use(ring.base, size, other));
	last->state = XVT_RING_ONLINE;
	ck_assert(xvt_region_in_use(ring.base, size, other));
	ck_assert(!xvt_region_in_use(ring.base, size, boot));
	ck_assert(!xvt_region_in_use(ring.base, size / 2, other)); /* no region of ours */
	last->state = XVT_RING_OFFLINE;
	ck_assert(!xvt_region_in_use(ring.base, size, other));
	last->state = XVT_RING_ONLINE;
	h->magic = 0;
	ck_assert(!xvt_region_in_use(ring.base, size, other));
}
END_TEST

/* Whatever changes a claim refuses the machine that asks. */
START_TEST(claim_stands_until_another_machine_speaks)
{
	static const uint8_t boot[16] = { 1 };
	struct xvt_layout l = { .kind = XVT_KIND_LINUX };
	struct xvt_region_hdr *h = (void *)ring.base;
	uint32_t claim, second;

	ck_assert(!xvt_claim_answer(h)); /* none asks */
	ck_assert_uint_eq(xvt_claim_put(h, 0), 2);
	ck_assert_uint_eq(xvt_claim_put(h, 1), 2);
	claim = xvt_claim_put(h, 0x12345679);
	ck_assert_uint_eq(claim, 0x12345678);
	ck_assert(xvt_claim_stands(h, claim));
	ck_assert(xvt_claim_answer(h));
	ck_assert(!xvt_claim_stands(h, claim));
	ck_assert(!xvt_claim_answer(h)); /* once */
	claim = xvt_claim_put(h, 10);
	second = xvt_claim_put(h, 20);
	ck_assert(!xvt_claim_stands(h, claim) && xvt_claim_stands(h, second));
	xvt_region_new_generation(ring.base, &ring.g, &l, boot);
	ck_assert(!xvt_claim_stands(h, second));
}
END_TEST

START_TEST(new_generation_reads_what_the_other_backend_left)
{
	const uint32_t other =
		XVT_RING_BACKEND == XVT_BACKEND_CAS ? XVT_BACKEND_XADD : XVT_BACKEND_CAS;
	static const uint64_t offsets[] = { 0, 72, 1016, 1024, 1032, 5000 };
	struct xvt_layout l = { .kind = XVT_KIND_USER, .clock_id = XVT_CLOCK_CALLER };
	static const uint8_t uuid[16] = { 1 };
	struct xvt_ring_ctl *c = ring.w.ctl;
	uint64_t base = 0ull - 1024, resv = base + (offsets[_i] < 1024 ? offsets[_i] : 1024);
	struct ut_recs *recs = calloc(1, sizeof(*recs));
	struct xvt_ring_words s;

	ut_ring_reset(&ring, base, XVT_ENABLE_STOP);
	c->backend = other;
	/* Beyond 1024: closed. Only the xadd back-end leaves such words. */
	c->resv = xvt_resv_word(other, 10, base) +
		  (other == XVT_BACKEND_CAS ? resv - base : offsets[_i]);
	c->commit = resv;
	xvt_ring_words(c, &ring.g, &s);
	ck_assert_uint_eq(s.resv, resv);
	xvt_region_new_generation(ring.base, &ring.g, &l, uuid);
	ck_assert_uint_eq(c->backend, XVT_RING_BACKEND);
	ck_assert_uint_eq(c->gen[1].prev_resv, resv);
	ck_assert_uint_eq(c->gen[1].start, xvt_pos_roundup(&ring.g, resv));
	xvt_ring_words(c, &ring.g, &s);
	ck_assert_uint_eq(s.resv, c->gen[1].start);
	ck_assert_uint_eq(s.commit, s.resv);
	ck_assert_uint_eq(s.nest, 0);
	ck_assert_int_eq(ut_write_at(&ring, 5000, 7, 8), 0);
	xvt_reader_init(&ring.reader, &ring.g, c->gen[1].start);
	ut_drain(&ring, recs);
	ck_assert_uint_eq(recs->rec[recs->count - 1].number, 7);
	free(recs);
}
END_TEST

START_TEST(ring_whose_writer_died_changing_the_backend_is_never_idle)
{
	struct xvt_ring_ctl *c = ring.w.ctl;
	struct xvt_ring_words s;

	ut_write_at(&ring, 5000, 7, 8);
	c->backend = XVT_BACKEND_NONE;
	c->resv = 0x123456789abcdef0;
	xvt_ring_words(c, &ring.g, &s);
	ck_assert_uint_eq(s.resv, c->commit);
	ck_assert_uint_ne(s.nest, 0);
	xvt_ring_new_generation(c, &ring.g, 9, XVT_CLOCK_CALLER);
	ck_assert_uint_eq(c->gen[9 % XVT_GEN_SLOTS].prev_resv, 64 + 16);
	ck_assert_uint_eq(c->commit, 1024);
	xvt_ring_words(c, &ring.g, &s);
	ck_assert_uint_eq(s.resv, 1024);
	ck_assert_uint_eq(s.nest, 0);
}
END_TEST

static uint64_t tlv_count(uint32_t *last_len)
{
	const struct xvt_meta_hdr *h = (void *)(ring.base + ring.g.meta_off);
	uint64_t at = 0, n = 0;

	while (at < h->committed) {
		struct xvt_meta_tlv tlv;
		struct xvt_fault f;
		int64_t len;

		memcpy(&tlv, (const uint8_t *)(h + 1) + at, sizeof(tlv));
		len = xvt_check_tlv(&tlv, h->committed - at, &f);
		ck_assert_int_gt(len, 0);
		*last_len = tlv.len;
		at += (uint64_t)len;
		n++;
	}
	ck_assert_uint_eq(at, h->committed);
	return n;
}

START_TEST(metadata_is_appended_until_it_is_full)
{
	struct xvt_meta_hdr *h = (void *)(ring.base + ring.g.meta_off);
	const uint8_t *first = (const uint8_t *)(h + 1);
	static const uint8_t big[8192];
	uint64_t n = 0;
	uint32_t len;
	int err;

	ck_assert_int_eq(xvt_meta_append(ring.base, &ring.g, XVT_META_FORMAT, 7, "ab", 3, "cd", 2),
			 0);
	ck_assert_int_eq(memcmp(first + 16, "ab\0cd\0\0\0", 8), 0);
	ck_assert_uint_eq(((const struct xvt_meta_tlv *)first)->id, 7);
	ck_assert_uint_eq(tlv_count(&len), 1);
	ck_assert_uint_eq(len, 5);
	while (!(err = xvt_meta_append(ring.base, &ring.g, XVT_META_COMM, 1, NULL, 0, "xyz", 3)))
		n++;
	ck_assert_int_eq(err, -ENOSPC);
	ck_assert_uint_eq(h->refused, 1);
	ck_assert_uint_eq(tlv_count(&len), n + 1);
	ck_assert_uint_le(h->committed, ring.g.meta_size - sizeof(*h));
	ck_assert_uint_gt(h->committed + 24, ring.g.meta_size - sizeof(*h));
	/* Lengths that wrap in 32 bits do not pass. */
	ck_assert_int_eq(xvt_meta_append(ring.base, &ring.g, XVT_META_TEXT, 1, big, UINT32_MAX, big,
					 UINT32_MAX),
			 -ENOSPC);
	ck_assert_uint_eq(h->refused, 2);
	/* An end between two words, as somebody else may write it. */
	h->committed = 4;
	ck_assert_int_eq(xvt_meta_append(ring.base, &ring.g, XVT_META_COMM, 1, NULL, 0, "x", 1),
			 -ENOSPC);
}
END_TEST

START_TEST(writer_is_bound_to_its_own_ring)
{
	struct xvt_layout l = { .region_size = 1 << 20,
				.ring_count = 4,
				.enable = XVT_ENABLE_STOP };
	uint8_t *base = aligned_alloc(4096, l.region_size), *before;
	struct xvt_geometry g;
	struct xvt_writer w;
	uint64_t i, off;

	memset(base, 0, l.region_size);
	ck_assert_int_eq(xvt_region_format(base, &l, &g), 0);
	xvt_writer_init(&w, base, &g, 2);
	before = malloc(l.region_size);
	memcpy(before, base, l.region_size);
	for (i = 0; i < g.ring_size / 16; i++)
		xvt_write(&w, XVT_ID_U64, &i, 8);
	ck_assert_uint_gt(w.ctl->lost[XVT_LOST_FULL], 0);
	for (off = 0; off < l.region_size; off++) {
		if (off >= xvt_ctl_off(&g, 2) && off < xvt_ring_host_off(&g, 2))
			continue;
		if (off >= xvt_data_off(&g, 2) && off < xvt_data_off(&g, 3))
			continue;
		ut_assert(base[off] == before[off]);
	}
	free(before);
	free(base);
}
END_TEST

Suite *suite_region(void)
{
	Suite *s = suite_create("region");
	TCase *tc = tcase_create("layout");

	tcase_add_test(tc, planned_layout_is_accepted_by_the_check);
	tcase_add_test(tc, smallest_region_is_the_smallest);
	tcase_add_loop_test(tc, impossible_layout_is_refused, 0, 17);
	tcase_add_test(tc, formatted_region_is_blank_and_complete);
	tcase_add_test(tc, writer_is_bound_to_its_own_ring);
	suite_add_tcase(s, tc);

	tc = tcase_create("life");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, formatting_again_leaves_nothing_that_salvage_takes_for_new);
	tcase_add_loop_test(tc, new_generation_starts_at_the_next_border_and_keeps_the_counters, 0,
			    2);
	tcase_add_test(tc, region_is_in_use_while_another_boot_has_a_ring_online);
	tcase_add_test(tc, claim_stands_until_another_machine_speaks);
	tcase_add_loop_test(tc, new_generation_reads_what_the_other_backend_left, 0, 6);
	tcase_add_test(tc, ring_whose_writer_died_changing_the_backend_is_never_idle);
	tcase_add_test(tc, metadata_is_appended_until_it_is_full);
	suite_add_tcase(s, tc);
	return s;
}
