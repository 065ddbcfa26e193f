// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * test_ring.c - geometry and record headers as pure functions, wrap included.
 */
#include "ut.h"

static const struct xvt_geometry g = {
	.ring_size = 4096,
	.subbuf_size = 1024,
	.subbuf_count = 4,
	.subbuf_shift = 10,
	.ring_shift = 12,
	.align = 4096,
	.ctl_stride = 8192,
	.ctl_off = 0x10000,
	.data_off = 0x40000,
};

START_TEST(time_extends_to_the_next_value_with_the_same_low_bits)
{
	static const struct {
		uint64_t prev, lo, want;
		uint32_t bits;
	} row[] = {
		{ 0x12345678, 0x5678, 0x12345678, 16 },
		{ 0x12345678, 0x7777, 0x12347777, 16 },
		{ 0x12347777, 0x0000, 0x12350000, 16 },
		{ 0x12347777, 0x7776, 0x12357776, 16 },
		{ 0xffffffff, 0, 0x100000000, 32 },
		{ 0xffffffff, 0xdead0000ffffffff, 0xffffffff, 32 },
		{ UINT64_MAX - 2, 0, 0, 8 },
		{ UINT64_MAX - 2, 0xff, UINT64_MAX, 8 },
		{ 9, 1, 9, 3 },
	};

	ck_assert_uint_eq(xvt_time_extend(row[_i].prev, row[_i].lo, row[_i].bits), row[_i].want);
}
END_TEST

START_TEST(positions_are_ordered_across_the_wrap)
{
	ck_assert(xvt_pos_before(UINT64_MAX - 7, 0));
	ck_assert(!xvt_pos_before(0, UINT64_MAX - 7));
	ck_assert(xvt_pos_before(UINT64_MAX - 7, 8));
	ck_assert(!xvt_pos_before(8, 8));
	ck_assert(xvt_pos_before(1, 2));
}
END_TEST

START_TEST(borders_are_found_across_the_wrap)
{
	uint64_t last = 0ull - 1024;

	ck_assert_uint_eq(xvt_pos_trunc(&g, UINT64_MAX - 7), last);
	ck_assert_uint_eq(xvt_pos_roundup(&g, UINT64_MAX - 7), 0);
	ck_assert_uint_eq(xvt_pos_roundup(&g, last), last);
	ck_assert_uint_eq(xvt_pos_roundup(&g, 0), 0);
	ck_assert_uint_eq(xvt_pos_next_subbuf(&g, last), 0);
	ck_assert_uint_eq(xvt_pos_next_subbuf(&g, last + 1023), 0);
	ck_assert_uint_eq(xvt_pos_next_subbuf(&g, 0), 1024);
	ck_assert_uint_eq(xvt_pos_off(&g, UINT64_MAX - 7), 4088);
	ck_assert_uint_eq(xvt_pos_off(&g, 4096), 0);
}
END_TEST

START_TEST(resv_of_either_backend_is_a_position)
{
	static const uint64_t pos[] = { 0,	   8,		1016,	  1024,
					4096 + 72, 0ull - 1024, 0ull - 8, (1ull << 59) - 8 };
	static const uint64_t beyond[] = { 1024, 1032, 2 * 1024, 16 * 1024 - 8 };
	uint32_t i, k;

	for (i = 0; i < 8; i++) {
		uint64_t word = xvt_resv_word(XVT_BACKEND_XADD, 10, pos[i]);

		ck_assert_uint_eq(xvt_resv_word(XVT_BACKEND_CAS, 10, pos[i]), pos[i]);
		ck_assert_uint_eq(xvt_resv_pos(XVT_BACKEND_CAS, 10, pos[i]), pos[i]);
		ck_assert_uint_eq(xvt_resv_pos(XVT_BACKEND_XADD, 10, word), pos[i]);
		ck_assert_uint_eq(xvt_resv_offset(10, word), pos[i] & 1023);
		/* Closed, however far: the border. */
		for (k = 0; k < 4; k++)
			ck_assert_uint_eq(xvt_resv_pos(XVT_BACKEND_XADD, 10,
						       word - (pos[i] & 1023) + beyond[k]),
					  xvt_pos_next_subbuf(&g, pos[i]));
	}
}
END_TEST

START_TEST(control_and_data_of_rings_do_not_overlap)
{
	ck_assert_uint_eq(xvt_ctl_off(&g, 2), 0x14000);
	ck_assert_uint_eq(xvt_ring_host_off(&g, 2), 0x15000);
	ck_assert_uint_eq(xvt_data_off(&g, 2), 0x42000);
	ck_assert_uint_eq(xvt_data_off(&g, XVT_RING_COUNT_MAX - 1), 0x40000 + 65535ull * 4096);
}
END_TEST

START_TEST(header_keeps_each_field_apart)
{
	static const uint64_t pos[] = { 0, 4096, 8192, 12288, 16384, UINT64_MAX - 7 };
	static const uint64_t lap[] = { 0, 1, 2, 3, 0, 3 };
	uint32_t i;

	for (i = 0; i < 6; i++) {
		uint64_t h = xvt_header(12, pos[i], XVT_H_ID_MASK, XVT_LEN8_MAX * 8, UINT64_MAX, 0);

		ck_assert_uint_eq(h >> XVT_H_LAP_SHIFT, lap[i]);
		ck_assert_uint_eq(xvt_header_id(h), XVT_H_ID_MASK);
		ck_assert_uint_eq(xvt_header_len(h), XVT_LEN8_MAX * 8);
		ck_assert_uint_eq((uint32_t)h, UINT32_MAX);
		ck_assert(!(h & (XVT_H_DONE | XVT_H_FULL | XVT_H_SAME)));
		h = xvt_header(12, pos[i], 0, 0, 0, XVT_H_DONE | XVT_H_FULL | XVT_H_SAME);
		ck_assert_uint_eq(xvt_header_id(h), 0);
		ck_assert_uint_eq(xvt_header_len(h), 0);
		ck_assert_uint_eq(h << 2, (XVT_H_DONE | XVT_H_FULL | XVT_H_SAME) << 2);
	}
}
END_TEST

Suite *suite_ring(void)
{
	Suite *s = suite_create("ring");
	TCase *tc = tcase_create("pure");

	tcase_add_loop_test(tc, time_extends_to_the_next_value_with_the_same_low_bits, 0, 9);
	tcase_add_test(tc, positions_are_ordered_across_the_wrap);
	tcase_add_test(tc, borders_are_found_across_the_wrap);
	tcase_add_test(tc, resv_of_either_backend_is_a_position);
	tcase_add_test(tc, control_and_data_of_rings_do_not_overlap);
	tcase_add_test(tc, header_keeps_each_field_apart);
	suite_add_tcase(s, tc);
	return s;
}
