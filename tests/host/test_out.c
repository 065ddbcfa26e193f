// SPDX-License-Identifier: GPL-2.0
/* test_out.c - text on its way out: escapes, errors that show late, and JSON documents. */
#include "suites.h"

#include <errno.h>
#include <string.h>

#include <jansson.h>

#include "out_json.h"

static struct xvt_out out;

static void begin(void)
{
	memset(&out, 0, sizeof(out));
	out.fd = -1;
}

static const char *got(void)
{
	out.buf[out.used < XVT_OUT_ROOM ? out.used : XVT_OUT_ROOM - 1] = '\0';
	out.used = 0;
	return out.buf;
}

static const struct {
	const char *bytes;
	size_t len;
	const char *people;
	const char *quoted;
} texts[] = {
	{ "plain", 5, "plain", "\"plain\"" },
	{ "", 0, "", "\"\"" },
	{ "a\nb\tc", 5, "a\\nb\\tc", "\"a\\nb\\tc\"" },
	{ "\x1b[2J", 4, "\\x1b[2J", "\"\\u001b[2J\"" },
	{ "q\"\\", 3, "q\"\\", "\"q\\\"\\\\\"" },
	{ "a\0b", 3,
	  "a\xef\xbf\xbd"
	  "b",
	  "\"a\xef\xbf\xbd"
	  "b\"" },
	{ "\xc3\xa4", 2, "\xc3\xa4", "\"\xc3\xa4\"" },
	{ "\xc3", 1, "\xef\xbf\xbd", "\"\xef\xbf\xbd\"" },
	{ "\xc0\xaf", 2, "\xef\xbf\xbd\xef\xbf\xbd", "\"\xef\xbf\xbd\xef\xbf\xbd\"" },
	{ "\xf4\x90\x80\x80", 4, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd",
	  "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"" },
	{ "\xef\xbf\xbd", 3, "\xef\xbf\xbd", "\"\xef\xbf\xbd\"" },
	{ "\xc2\x9b"
	  "31m",
	  5, "\\x9b31m", "\"\\u009b31m\"" },
	{ "\x7f", 1, "\\x7f", "\"\\u007f\"" },
};

START_TEST(untrusted_text_is_made_harmless)
{
	begin();
	xvt_out_text(&out, texts[_i].bytes, texts[_i].len);
	ck_assert_str_eq(got(), texts[_i].people);
	xvt_out_quoted(&out, texts[_i].bytes, texts[_i].len);
	ck_assert_str_eq(got(), texts[_i].quoted);
}
END_TEST

START_TEST(quoted_text_is_json)
{
	char bytes[3];

	begin();
	for (unsigned int a = 0; a < 256; a++)
		for (unsigned int b = 0; b < 256; b++) {
			json_t *j;

			bytes[0] = (char)a;
			bytes[1] = (char)b;
			bytes[2] = 'x';
			xvt_out_quoted(&out, bytes, 3);
			j = json_loadb(out.buf, out.used, JSON_DECODE_ANY, NULL);
			ck_assert_msg(j, "bytes %u %u", a, b);
			json_decref(j);
			out.used = 0;
		}
}
END_TEST

START_TEST(numbers_and_times)
{
	begin();
	xvt_out_u64(&out, UINT64_MAX);
	ck_assert_str_eq(got(), "18446744073709551615");
	xvt_out_i64(&out, INT64_MIN);
	ck_assert_str_eq(got(), "-9223372036854775808");
	xvt_out_u64(&out, 0);
	ck_assert_str_eq(got(), "0");
	xvt_out_time(&out, 1000000007);
	ck_assert_str_eq(got(), "1.000000007");
	xvt_out_time(&out, 999999999);
	ck_assert_str_eq(got(), "0.999999999");
}
END_TEST

START_TEST(a_full_disk_is_noticed)
{
	ck_assert_int_eq(xvt_out_open(&out, "/dev/full"), 0);
	xvt_out_str(&out, "x");
	ck_assert_int_eq(out.err, 0);
	ck_assert_int_eq(xvt_out_close(&out), -ENOSPC);
	ck_assert_int_eq(xvt_out_open(&out, "/dev/full"), 0);
	for (int i = 0; i < 100000; i++)
		xvt_out_str(&out, "xxxxxxxx");
	ck_assert_int_eq(out.err, -ENOSPC);
	ck_assert_int_eq(xvt_out_close(&out), -ENOSPC);
}
END_TEST

START_TEST(json_documents_read_back)
{
	struct xvt_json *doc = xvt_json_new(), *list;
	json_t *j;

	begin();
	xvt_json_add_u64(doc, "most", UINT64_MAX);
	xvt_json_add_text(doc, "bad",
			  "a\xff"
			  "b");
	list = xvt_json_add_array(doc, "list");
	for (int i = 0; i < 3; i++)
		xvt_json_add_u64(xvt_json_add_object(list, NULL), "i", (uint64_t)i);
	xvt_json_add_bool(doc, "yes", true);
	xvt_json_add_real(doc, "half", 0.5);
	ck_assert_int_eq(xvt_json_write(doc, &out), 0);
	j = json_loadb(out.buf, out.used, JSON_REJECT_DUPLICATES, NULL);
	ck_assert_ptr_nonnull(j);
	ck_assert_int_eq(json_integer_value(json_object_get(j, "most")), INT64_MAX);
	ck_assert_str_eq(json_string_value(json_object_get(j, "bad")), "a\xef\xbf\xbd"
								       "b");
	ck_assert_uint_eq(json_array_size(json_object_get(j, "list")), 3);
	ck_assert(json_is_true(json_object_get(j, "yes")));
	json_decref(j);
}
END_TEST

Suite *out_suite(void)
{
	Suite *s = suite_create("out");
	TCase *t = tcase_create("out");

	tcase_add_loop_test(t, untrusted_text_is_made_harmless, 0,
			    sizeof(texts) / sizeof(texts[0]));
	tcase_add_test(t, quoted_text_is_json);
	tcase_add_test(t, numbers_and_times);
	tcase_add_test(t, a_full_disk_is_noticed);
	tcase_add_test(t, json_documents_read_back);
	suite_add_tcase(s, t);
	return s;
}
