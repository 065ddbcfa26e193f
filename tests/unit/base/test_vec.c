// SPDX-License-Identifier: GPL-2.0
/* test_vec.c - arrays that grow, and searches in sorted ones. */
#include "suites.h"

#include <errno.h>
#include <stdlib.h>

#include "base/vec.h"

struct element {
	uint32_t other;
	uint64_t key;
};

START_TEST(an_array_keeps_its_elements_as_it_grows)
{
	struct element *v = NULL;
	size_t room = 0, changes = 0;

	for (size_t i = 0; i < 1000; i++) {
		const size_t before = room;

		ck_assert_int_eq(xvt_grow(&v, &room, i + 1, sizeof(*v)), 0);
		ck_assert_uint_gt(room, i);
		changes += room != before;
		v[i] = (struct element){ .key = i };
	}
	for (size_t i = 0; i < 1000; i++)
		ck_assert_uint_eq(v[i].key, i);
	ck_assert_uint_le(changes, 11); /* it doubles */
	free(v);
}
END_TEST

START_TEST(a_need_beyond_twice_the_room_is_met)
{
	uint16_t *v = NULL;
	size_t room = 0;

	ck_assert_int_eq(xvt_grow(&v, &room, 3, sizeof(*v)), 0);
	ck_assert_int_eq(xvt_grow(&v, &room, 100, sizeof(*v)), 0);
	ck_assert_uint_ge(room, 100);
	v[99] = 1;
	free(v);
}
END_TEST

START_TEST(new_room_can_be_zeros)
{
	uint16_t *v = NULL;
	size_t room = 0;

	for (size_t need = 1; need < 200; need += 7) {
		const size_t before = room;

		ck_assert_int_eq(xvt_grow_zeroed(&v, &room, need, sizeof(*v)), 0);
		for (size_t i = 0; i < room; i++)
			ck_assert_uint_eq(v[i], i < before ? i + 1 : 0);
		for (size_t i = before; i < room; i++)
			v[i] = (uint16_t)(i + 1);
	}
	free(v);
}
END_TEST

START_TEST(sizes_that_wrap_are_refused)
{
	struct element *v = NULL, *before;
	size_t room = 0;

	ck_assert_int_eq(xvt_grow(&v, &room, 4, sizeof(*v)), 0);
	before = v;
	ck_assert_int_eq(xvt_grow(&v, &room, SIZE_MAX / sizeof(*v) + 1, sizeof(*v)), -ENOMEM);
	ck_assert_int_eq(xvt_grow(&v, &room, SIZE_MAX, sizeof(*v)), -ENOMEM);
	ck_assert_ptr_eq(v, before);
	ck_assert_uint_eq(room, 4);
	room = SIZE_MAX - 1; /* its double wraps */
	ck_assert_int_eq(xvt_grow(&v, &room, SIZE_MAX, sizeof(*v)), -ENOMEM);
	free(v);
}
END_TEST

START_TEST(elements_up_to_a_limit_are_counted)
{
	struct element v[40] = { 0 };

	ck_assert_uint_eq(XVT_COUNT_TO(v, 0, key, UINT64_MAX), 0);
	for (size_t n = 1; n <= 40; n++) {
		v[n - 1] = (struct element){ .other = UINT32_MAX, .key = 10 * (n / 2) };
		for (uint64_t limit = 0; limit <= 210; limit++) {
			size_t want = 0;

			while (want < n && v[want].key <= limit)
				want++;
			ck_assert_uint_eq(XVT_COUNT_TO(v, n, key, limit), want);
		}
	}
}
END_TEST

Suite *vec_suite(void)
{
	Suite *s = suite_create("vec");
	TCase *t = tcase_create("vec");

	tcase_add_test(t, an_array_keeps_its_elements_as_it_grows);
	tcase_add_test(t, a_need_beyond_twice_the_room_is_met);
	tcase_add_test(t, new_room_can_be_zeros);
	tcase_add_test(t, sizes_that_wrap_are_refused);
	tcase_add_test(t, elements_up_to_a_limit_are_counted);
	suite_add_tcase(s, t);
	return s;
}
