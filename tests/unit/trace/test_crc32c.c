// SPDX-License-Identifier: GPL-2.0
/* test_crc32c.c - known values (RFC 3720), and that the tables and the CPU agree. */
#include "suites.h"

#include <stdlib.h>
#include <string.h>

#include "trace/crc32c.h"

START_TEST(known_values)
{
	uint8_t bytes[32] = { 0 };

	ck_assert_uint_eq(xvt_crc32c(0, "123456789", 9), 0xe3069283);
	ck_assert_uint_eq(xvt_crc32c(0, bytes, 32), 0x8a9136aa);
	memset(bytes, 0xff, 32);
	ck_assert_uint_eq(xvt_crc32c(0, bytes, 32), 0x62a8ab43);
	for (int i = 0; i < 32; i++)
		bytes[i] = (uint8_t)i;
	ck_assert_uint_eq(xvt_crc32c(0, bytes, 32), 0x46dd794e);
	ck_assert_uint_eq(xvt_crc32c_table(0, bytes, 32), 0x46dd794e);
	ck_assert_uint_eq(xvt_crc32c(0, "", 0), 0);
}
END_TEST

START_TEST(tables_and_cpu_agree_at_every_length_and_split)
{
	uint8_t bytes[300];

	srand(1);
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)rand();
	for (size_t off = 0; off < 9; off++)
		for (size_t len = 0; off + len <= sizeof(bytes); len++) {
			uint32_t whole = xvt_crc32c(0, bytes + off, len);
			size_t cut = len / 3;

			ck_assert_uint_eq(whole, xvt_crc32c_table(0, bytes + off, len));
			ck_assert_uint_eq(whole, xvt_crc32c(xvt_crc32c(0, bytes + off, cut),
							    bytes + off + cut, len - cut));
		}
}
END_TEST

/* Long ones go in three blocks side by side. */
START_TEST(tables_and_cpu_agree_on_long_ones)
{
	static uint8_t bytes[20000];

	srand(2);
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)rand();
	for (size_t len = 3 * 1024 - 9; len < sizeof(bytes); len += 509)
		ck_assert_uint_eq(xvt_crc32c(77, bytes + len % 8, len - 8),
				  xvt_crc32c_table(77, bytes + len % 8, len - 8));
}
END_TEST

Suite *crc32c_suite(void)
{
	Suite *s = suite_create("crc32c");
	TCase *t = tcase_create("crc32c");

	tcase_add_test(t, known_values);
	tcase_add_test(t, tables_and_cpu_agree_at_every_length_and_split);
	tcase_add_test(t, tables_and_cpu_agree_on_long_ones);
	suite_add_tcase(s, t);
	return s;
}
