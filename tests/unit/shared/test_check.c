// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * test_check.c - the region header, the words of a ring and TLVs of a guest that lies.
 */
#include "ut.h"

static struct ut_ring ring;
static struct xvt_region_hdr good;
static uint64_t object_size;

static void setup(void)
{
	ut_ring_init(&ring, &(struct ut_conf){ 0 });
	memcpy(&good, ring.base, sizeof(good));
	object_size = good.region_size;
}

static void teardown(void)
{
	ut_ring_fini(&ring);
}

static int check(const struct xvt_region_hdr *h, struct xvt_geometry *g, struct xvt_fault *f)
{
	return xvt_check_header(h, object_size, g, f);
}

START_TEST(honest_header_gives_the_geometry_it_was_made_from)
{
	struct xvt_geometry g;
	struct xvt_fault f;

	ck_assert_int_eq(check(&good, &g, &f), 0);
	ck_assert_int_eq(memcmp(&g, &ring.g, sizeof(g)), 0);
}
END_TEST

#define FIELD(name) #name, offsetof(struct xvt_region_hdr, name), sizeof(good.name)

/* One field wrong at a time, in a region of 5 pages and 4 sub-buffers of 1024 bytes. Where two
 * fields contradict each other, the one that is blamed may be the other one. */
static const struct {
	const char *field;
	size_t off, size;
	uint64_t value;
	int err;
	const char *blamed;
} wrong[] = {
	{ FIELD(magic), 0, -EAGAIN, "magic" },
	{ FIELD(magic), XVT_MAGIC + 1, -EBADMSG, "magic" },
	{ FIELD(magic), UINT64_MAX, -EBADMSG, "magic" },
	{ FIELD(oldest), XVT_MAJOR + 1, -EPROTO, "oldest" },
	{ FIELD(oldest), 0xffff, -EPROTO, "oldest" },
	{ FIELD(hdr_size), 0, -EBADMSG, "hdr_size" },
	{ FIELD(hdr_size), sizeof(struct xvt_region_hdr) - 1, -EBADMSG, "hdr_size" },
	{ FIELD(incompat), XVT_INCOMPAT_KNOWN + 1, -EPROTO, "incompat" },
	{ FIELD(incompat), XVT_INCOMPAT_KNOWN << 1 | XVT_INCOMPAT_KNOWN, -EPROTO, "incompat" },
	{ FIELD(incompat), 1u << 31, -EPROTO, "incompat" },
	{ FIELD(region_size), 0, -ENOSPC, "region_size" },
	{ FIELD(region_size), 4096, -ENOSPC, "region_size" },
	{ FIELD(region_size), 5 * 4096 + 4095, -ENOSPC, "region_size" },
	{ FIELD(region_size), 6 * 4096 + 1, -ENOSPC, "region_size" },
	{ FIELD(region_size), UINT64_MAX, -ENOSPC, "region_size" },
	{ FIELD(host_off), 0, -ENOSPC, "host_off" },
	{ FIELD(host_off), 8, -EBADMSG, "host_off" },
	{ FIELD(host_off), 2 * 4096, -ENOSPC, "meta_off" },
	{ FIELD(host_off), 1ull << 63, -ENOSPC, "host_off" },
	{ FIELD(host_off), 0ull - 4096, -ENOSPC, "host_off" },
	{ FIELD(meta_off), 4096, -ENOSPC, "meta_off" },
	{ FIELD(meta_off), 0, -ENOSPC, "meta_off" },
	{ FIELD(meta_off), 3 * 4096, -ENOSPC, "ctl_off" },
	{ FIELD(meta_off), 2 * 4096 + 8, -EBADMSG, "meta_off" },
	{ FIELD(meta_off), 0ull - 4096, -ENOSPC, "meta_off" },
	{ FIELD(meta_size), 0, -ENOSPC, "meta_size" },
	{ FIELD(meta_size), sizeof(struct xvt_meta_hdr) - 1, -ENOSPC, "meta_size" },
	{ FIELD(meta_size), 4097, -ENOSPC, "meta_size" },
	{ FIELD(meta_size), UINT64_MAX, -ENOSPC, "meta_size" },
	{ FIELD(ctl_off), 2 * 4096, -ENOSPC, "ctl_off" },
	{ FIELD(ctl_off), 4 * 4096, -ENOSPC, "data_off" },
	{ FIELD(ctl_off), 0ull - 4096, -ENOSPC, "ctl_off" },
	{ FIELD(ctl_off), 3 * 4096 + 64, -EBADMSG, "ctl_off" },
	{ FIELD(data_off), 4 * 4096, -ENOSPC, "data_off" },
	{ FIELD(data_off), 6 * 4096, -ENOSPC, "data_off" },
	{ FIELD(data_off), 0ull - 4096, -ENOSPC, "data_off" },
	{ FIELD(data_off), 5 * 4096 + 1, -EBADMSG, "data_off" },
	{ FIELD(align), 0, -EBADMSG, "align" },
	{ FIELD(align), 2048, -EBADMSG, "align" },
	{ FIELD(align), 4097, -EBADMSG, "align" },
	{ FIELD(align), 131072, -EBADMSG, "align" },
	{ FIELD(align), 65536, -EBADMSG, "ctl_stride" },
	{ FIELD(align), 1u << 31, -EBADMSG, "align" },
	{ FIELD(ctl_stride), 0, -EBADMSG, "ctl_stride" },
	{ FIELD(ctl_stride), 4096, -EBADMSG, "ctl_stride" },
	{ FIELD(ring_count), 0, -EBADMSG, "ring_count" },
	{ FIELD(ring_count), 2, -ENOSPC, "ring_count" },
	{ FIELD(ring_count), XVT_RING_COUNT_MAX, -ENOSPC, "ring_count" },
	{ FIELD(ring_count), XVT_RING_COUNT_MAX + 1, -EBADMSG, "ring_count" },
	{ FIELD(ring_count), UINT32_MAX, -EBADMSG, "ring_count" },
	{ FIELD(subbuf_size), 0, -EBADMSG, "subbuf_size" },
	{ FIELD(subbuf_size), 512, -EBADMSG, "subbuf_size" },
	{ FIELD(subbuf_size), 1025, -EBADMSG, "subbuf_size" },
	{ FIELD(subbuf_size), 2048, -ENOSPC, "region_size" },
	{ FIELD(subbuf_size), XVT_SUBBUF_SIZE_MAX, -ENOSPC, "region_size" },
	{ FIELD(subbuf_size), XVT_SUBBUF_SIZE_MAX * 2, -EBADMSG, "subbuf_size" },
	{ FIELD(subbuf_size), 1u << 31, -EBADMSG, "subbuf_size" },
	{ FIELD(subbuf_count), 0, -EBADMSG, "subbuf_count" },
	{ FIELD(subbuf_count), 2, -EBADMSG, "subbuf_count" },
	{ FIELD(subbuf_count), 5, -EBADMSG, "subbuf_count" },
	{ FIELD(subbuf_count), 8, -ENOSPC, "region_size" },
	{ FIELD(subbuf_count), XVT_SUBBUF_COUNT_MAX, -ENOSPC, "region_size" },
	{ FIELD(subbuf_count), XVT_SUBBUF_COUNT_MAX * 2, -EBADMSG, "subbuf_count" },
	{ FIELD(ts_bits), 0, -EBADMSG, "ts_bits" },
	{ FIELD(ts_bits), 2, -EBADMSG, "ts_bits" },
	{ FIELD(ts_bits), 33, -EBADMSG, "ts_bits" },
	{ FIELD(ts_bits), UINT32_MAX, -EBADMSG, "ts_bits" },
	/* Not wrong: a reader ignores these. */
	{ FIELD(minor), 0xffff, 0, NULL },
	{ FIELD(major), 0xffff, 0, NULL },
	{ FIELD(compat), UINT32_MAX, 0, NULL },
	{ FIELD(hdr_size), 0xffff, 0, NULL },
	{ FIELD(clock_hz), UINT64_MAX, 0, NULL },
	{ FIELD(kind), UINT32_MAX, 0, NULL },
	{ FIELD(clock_id), UINT32_MAX, 0, NULL },
	{ FIELD(boot_uuid), UINT64_MAX, 0, NULL },
	{ FIELD(generation), UINT32_MAX, 0, NULL },
	{ FIELD(request_ack), UINT32_MAX, 0, NULL },
	{ FIELD(request_result), UINT32_MAX, 0, NULL },
	{ FIELD(symbols_wanted), UINT32_MAX, 0, NULL },
	{ FIELD(symbols_done), UINT32_MAX, 0, NULL },
	{ FIELD(displaced), UINT32_MAX, 0, NULL },
	{ FIELD(ringless), UINT32_MAX, 0, NULL },
	{ FIELD(panics), UINT32_MAX, 0, NULL },
	{ FIELD(claim), UINT32_MAX, 0, NULL },
	{ FIELD(host_events), UINT32_MAX, 0, NULL },
	{ FIELD(vm_name), UINT64_MAX, 0, NULL },
};

#define WRONGS (sizeof(wrong) / sizeof(wrong[0]))

/* What header h has in the field of that name; the test fails if there is none. */
static uint64_t field_value(const struct xvt_region_hdr *h, const char *name)
{
	uint64_t value = 0;
	size_t i;

	for (i = 0; i < WRONGS && strcmp(wrong[i].field, name) != 0; i++)
		;
	ck_assert_msg(i < WRONGS, "no field is called %s", name);
	ck_assert_uint_le(wrong[i].size, sizeof(value));
	memcpy(&value, (const uint8_t *)h + wrong[i].off, wrong[i].size);
	return value;
}

START_TEST(every_field_of_the_header_was_wrong_once)
{
	bool seen[sizeof(struct xvt_region_hdr)] = { false };
	size_t i;

	for (i = 0; i < WRONGS; i++)
		memset(&seen[wrong[i].off], true, wrong[i].size);
	for (i = 0; i < sizeof(seen); i++)
		ck_assert_msg(seen[i], "no row for the field at byte %zu", i);
}
END_TEST

START_TEST(header_with_one_wrong_field_is_refused_by_name)
{
	struct xvt_region_hdr h = good;
	struct xvt_geometry g, zero = { 0 };
	struct xvt_fault f;

	memcpy((uint8_t *)&h + wrong[_i].off, &wrong[_i].value,
	       wrong[_i].size < 8 ? wrong[_i].size : 8);
	ck_assert_msg(check(&h, &g, &f) == wrong[_i].err, "%s = %llx", wrong[_i].field,
		      (unsigned long long)wrong[_i].value);
	if (!wrong[_i].err)
		return;
	ck_assert_ptr_nonnull(f.field);
	ck_assert_ptr_nonnull(f.why);
	ck_assert_msg(!strcmp(f.field, wrong[_i].blamed), "%s = %llx is blamed on %s",
		      wrong[_i].field, (unsigned long long)wrong[_i].value, f.field);
	ck_assert_uint_eq(f.value, field_value(&h, f.field));
	ck_assert_int_eq(memcmp(&g, &zero, sizeof(g)), 0); /* nothing usable came out */
}
END_TEST

START_TEST(accepted_header_never_reaches_outside_the_object)
{
	uint64_t seed = 1, accepted = 0;
	uint32_t i, k;

	for (i = 0; i < 200000; i++) {
		struct xvt_region_hdr h = good;
		struct xvt_geometry g;
		struct xvt_fault f;

		/* Mostly plausible: powers of two and multiples of a page, some noise. */
		for (k = 0; k < 3; k++) {
			uint64_t r = ut_random(&seed), v = 1ull << (r >> 8) % 64;
			uint32_t which = (uint32_t)(r >> 16) % 12;

			if (r & 1)
				v = ut_random(&seed) % 16 * 1024;
			if (which < 6)
				memcpy((uint8_t *)&h + 24 + 8 * which, &v, 8);
			else
				memcpy((uint8_t *)&h + 72 + 4 * (which - 6), &v, 4);
		}
		if (check(&h, &g, &f))
			continue;
		accepted++;
		ut_assert(g.region_size <= object_size);
		ut_assert(xvt_ctl_off(&g, g.ring_count) <= g.data_off);
		ut_assert(xvt_data_off(&g, g.ring_count) <= g.region_size);
		ut_assert(g.meta_off + g.meta_size <= g.ctl_off);
		ut_assert(g.host_off + sizeof(struct xvt_host_page) <= g.meta_off);
		ut_assert(g.host_off >= sizeof(h));
		ut_assert(xvt_ring_host_off(&g, g.ring_count - 1) + sizeof(struct xvt_ring_host) <=
			  g.data_off);
		ut_assert(1ull << g.ring_shift == g.ring_size);
		ut_assert(1u << g.subbuf_shift == g.subbuf_size);
		ut_assert(g.ts_bits >= 3 && g.ts_bits <= 32);
	}
	ck_assert_uint_gt(accepted, 100);
}
END_TEST

START_TEST(words_of_impossible_positions_are_refused)
{
	/* Relative to the host's position, which is one word into sub-buffer -1. */
	static const struct {
		int64_t commit;
		int stop, overwrite;
	} row[] = {
		{ 0, 0, 0 },
		{ 8, 0, 0 },
		{ 4096 - 72, 0, 0 },
		{ 4096 - 64, -EBADMSG, 0 },
		{ 1ll << 62, -EBADMSG, 0 },
		{ -8, -EBADMSG, -EBADMSG },
		{ INT64_MIN, -EBADMSG, -EBADMSG },
		{ 4, -EBADMSG, -EBADMSG },
		{ 1, -EBADMSG, -EBADMSG },
	};
	uint64_t read_pos = 0ull - 1024 + 72;
	struct xvt_ring_words s = { .commit = read_pos + (uint64_t)row[_i].commit };
	struct xvt_fault f;

	s.resv = s.commit;
	ck_assert_int_eq(xvt_check_words(&ring.g, &s, read_pos, false, &f), row[_i].stop);
	ck_assert(!row[_i].stop || !strcmp(f.field, "commit"));
	ck_assert_int_eq(xvt_check_words(&ring.g, &s, read_pos, true, &f), row[_i].overwrite);
}
END_TEST

START_TEST(every_word_of_the_ring_is_loaded)
{
	struct xvt_ring_words s;
	struct xvt_ring_ctl *c = ring.w.ctl;

	c->nest = 1;
	c->backend = _i ? XVT_BACKEND_XADD : XVT_BACKEND_CAS;
	c->resv = xvt_resv_word(c->backend, ring.g.subbuf_shift, 2000);
	c->commit = 3;
	c->generation = 4;
	c->state = 5;
	c->attempted = 6;
	c->discarded = 7;
	c->lost[XVT_LOST_RETRY] = 8;
	xvt_ring_words(c, &ring.g, &s);
	ck_assert(s.nest == 1 && s.resv == 2000 && s.commit == 3 && s.generation == 4);
	ck_assert(s.state == 5 && s.attempted == 6 && s.discarded == 7);
	ck_assert(s.lost[XVT_LOST_RETRY] == 8);
}
END_TEST

START_TEST(tlv_longer_than_its_room_is_refused)
{
	static const struct {
		uint32_t len;
		uint64_t room;
		int64_t want;
	} row[] = {
		{ 0, 16, 16 },
		{ 0, 15, -EBADMSG },
		{ 1, 24, 24 },
		{ 1, 23, -EBADMSG },
		{ 8, 24, 24 },
		{ 9, 31, -EBADMSG },
		{ 9, 32, 32 },
		{ 0, 0, -EBADMSG },
		{ UINT32_MAX, 1ull << 32, -EBADMSG },
		{ UINT32_MAX, UINT64_MAX, 16 + (1ll << 32) },
	};
	struct xvt_meta_tlv tlv = { .len = row[_i].len };
	struct xvt_fault f;

	ck_assert_int_eq(xvt_check_tlv(&tlv, row[_i].room, &f), row[_i].want);
	ck_assert(row[_i].want > 0 || !strcmp(f.field, "tlv.len"));
}
END_TEST

Suite *suite_check(void)
{
	Suite *s = suite_create("check");
	TCase *tc = tcase_create("hostile");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, honest_header_gives_the_geometry_it_was_made_from);
	tcase_add_loop_test(tc, header_with_one_wrong_field_is_refused_by_name, 0, (int)WRONGS);
	tcase_add_test(tc, every_field_of_the_header_was_wrong_once);
	tcase_add_test(tc, accepted_header_never_reaches_outside_the_object);
	tcase_add_loop_test(tc, words_of_impossible_positions_are_refused, 0, 9);
	tcase_add_loop_test(tc, every_word_of_the_ring_is_loaded, 0, 2);
	tcase_add_loop_test(tc, tlv_longer_than_its_room_is_refused, 0, 10);
	suite_add_tcase(s, tc);
	return s;
}
