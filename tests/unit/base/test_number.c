// SPDX-License-Identifier: GPL-2.0
/* test_number.c - numbers and bytes as users write them. */
#include "suites.h"

#include "base/number.h"

#include <errno.h>

static const struct {
	const char *text;
	int err;
	uint64_t bytes;
	const char *rest; /* behind what was read */
} sizes[] = {
	{ "0", 0, 0, "" },
	{ "4096", 0, 4096, "" },
	{ "0x1000", 0, 4096, "" },
	{ "128M", 0, 128ull << 20, "" },
	{ "0x8K", 0, 8192, "" },
	{ "3k", 0, 3072, "" },
	{ "7m", 0, 7ull << 20, "" },
	{ "2G", 0, 2ull << 30, "" },
	{ "2g", 0, 2ull << 30, "" },
	{ "2GiB", 0, 2ull << 30, "iB" },
	{ "5T", 0, 5, "T" },
	{ "64,kernel=6.12", 0, 64, ",kernel=6.12" },
	{ "64K,kernel=6.12", 0, 65536, ",kernel=6.12" },
	{ "18446744073709551615", 0, UINT64_MAX, "" },
	{ "17179869183G", 0, 17179869183ull << 30, "" },
	{ "17179869184G", -ERANGE, 0, NULL },
	{ "18014398509481984K", -ERANGE, 0, NULL },
	{ "18446744073709551616", -ERANGE, 0, NULL },
	{ "", -EINVAL, 0, NULL },
	{ "K", -EINVAL, 0, NULL },
	{ "-4096", -EINVAL, 0, NULL },
	{ "+4096", -EINVAL, 0, NULL },
	{ " 4096", -EINVAL, 0, NULL },
};

START_TEST(bytes_have_a_unit_or_none)
{
	const char *end = NULL;
	uint64_t bytes = 0;

	ck_assert_int_eq(xvt_parse_bytes(sizes[_i].text, &end, &bytes), sizes[_i].err);
	if (sizes[_i].err)
		return;
	ck_assert_uint_eq(bytes, sizes[_i].bytes);
	ck_assert_str_eq(end, sizes[_i].rest);
}
END_TEST

START_TEST(a_number_has_no_unit)
{
	const char *end = NULL;
	uint64_t value = 0;

	ck_assert_int_eq(xvt_parse_u64("0x10K", &end, &value), 0);
	ck_assert_uint_eq(value, 16);
	ck_assert_str_eq(end, "K");
}
END_TEST

Suite *number_suite(void)
{
	Suite *suite = suite_create("number");
	TCase *bytes = tcase_create("bytes");

	tcase_add_loop_test(bytes, bytes_have_a_unit_or_none, 0,
			    (int)(sizeof(sizes) / sizeof(sizes[0])));
	tcase_add_test(bytes, a_number_has_no_unit);
	suite_add_tcase(suite, bytes);
	return suite;
}
