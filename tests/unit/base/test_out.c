// SPDX-License-Identifier: GPL-2.0
/* test_out.c - text on its way out: escapes, errors that show late, and JSON documents. */
#include "suites.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>

#include "base/json.h"

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

/* A trace that is made to fill a disk. */
START_TEST(text_beyond_the_most_is_an_error)
{
	static struct xvt_out out;
	static const char text[1000];
	unsigned int i;

	ck_assert_int_eq(xvt_out_open(&out, "/dev/null"), 0);
	out.most = 2 * XVT_OUT_ROOM;
	for (i = 0; i < 2 * XVT_OUT_ROOM / sizeof(text); i++)
		xvt_out_bytes(&out, text, sizeof(text));
	ck_assert_int_eq(out.err, 0);
	for (i = 0; i < 2 * XVT_OUT_ROOM / sizeof(text); i++)
		xvt_out_bytes(&out, text, sizeof(text));
	ck_assert_int_eq(xvt_out_close(&out), -EFBIG);
}
END_TEST

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

static void same_number(uint64_t v)
{
	char want[128];

	snprintf(want, sizeof(want), "%" PRIu64 " %" PRId64 " %" PRIx64 " %08" PRIx64, v,
		 (int64_t)v, v, v);
	xvt_out_u64(&out, v);
	xvt_out_char(&out, ' ');
	xvt_out_i64(&out, (int64_t)v);
	xvt_out_char(&out, ' ');
	xvt_out_hex(&out, v, 1);
	xvt_out_char(&out, ' ');
	xvt_out_hex(&out, v, 8);
	ck_assert_str_eq(got(), want);
	snprintf(want, sizeof(want), "%" PRIu64 ".%09" PRIu64, v / 1000000000, v % 1000000000);
	xvt_out_time(&out, v);
	ck_assert_str_eq(got(), want);
}

static const struct {
	uint64_t ns;
	const char *duration;
	const char *bound; /* rounded up */
} three_digits[] = {
	{ 0, "0 ns", "0 ns" },
	{ 999, "999 ns", "999 ns" },
	{ 1000, "1.00 us", "1.00 us" },
	{ 1001, "1.00 us", "1.01 us" },
	{ 1005, "1.01 us", "1.01 us" },
	{ 9994, "9.99 us", "10.0 us" },
	{ 9996, "10.0 us", "10.0 us" },
	{ 99949, "99.9 us", "100 us" },
	{ 999499, "999 us", "1.00 ms" },
	{ 999500, "1.00 ms", "1.00 ms" },
	{ 2005470, "2.01 ms", "2.01 ms" },
	{ 999499999, "999 ms", "1.00 s" },
	{ 16567000000, "16.6 s", "16.6 s" },
	{ 1234400000000, "1234 s", "1235 s" },
	{ INT64_MAX, "9223372037 s", "9223372037 s" },
	{ UINT64_MAX, "18446744074 s", "18446744074 s" },
};

START_TEST(durations_have_three_digits)
{
	begin();
	xvt_out_duration(&out, three_digits[_i].ns);
	ck_assert_str_eq(got(), three_digits[_i].duration);
	xvt_out_bound(&out, three_digits[_i].ns, " ");
	ck_assert_str_eq(got(), three_digits[_i].bound);
}
END_TEST

START_TEST(counts_have_commas)
{
	begin();
	xvt_out_count(&out, 0);
	xvt_out_char(&out, ' ');
	xvt_out_count(&out, 999);
	xvt_out_char(&out, ' ');
	xvt_out_count(&out, 1000);
	xvt_out_char(&out, ' ');
	xvt_out_count(&out, 12345678);
	ck_assert_str_eq(got(), "0 999 1,000 12,345,678");
}
END_TEST

START_TEST(numbers_are_those_of_printf)
{
	uint64_t random = 88172645463325252ull;

	begin();
	for (uint64_t v = 0; v < 100000; v++)
		same_number(v);
	for (uint64_t ten = 10; ten < UINT64_MAX / 10; ten *= 10)
		for (uint64_t v = ten - 3; v != ten + 3; v++)
			same_number(v);
	for (int bit = 0; bit < 64; bit++)
		for (uint64_t v = (1ull << bit) - 2; v != (1ull << bit) + 3; v++)
			same_number(v);
	for (int i = 0; i < 300000; i++) {
		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		same_number(random >> random % 64);
	}
}
END_TEST

/* Plain text is taken by steps of eight: one other byte at each place of each length. */
START_TEST(text_is_the_sum_of_its_bytes)
{
	static char sum[1024];
	char bytes[33];

	begin();
	memset(bytes, 'x', sizeof(bytes)); /* what is behind the text is plain, too */
	for (size_t len = 1; len < sizeof(bytes); len++)
		for (size_t at = 0; at < len; at++)
			for (unsigned int c = 0; c < 256; c++) {
				for (size_t i = 0; i < len; i++)
					bytes[i] = (char)(' ' + 1 + (i * 7 + len) % 94);
				bytes[at] = (char)c;
				for (size_t i = 0; i < len; i++)
					xvt_out_text(&out, bytes + i, 1);
				memcpy(sum, out.buf, out.used + 1);
				sum[out.used] = '\0';
				out.used = 0;
				xvt_out_text(&out, bytes, len);
				ck_assert_str_eq(got(), sum);
			}
}
END_TEST

/* What does not fit the buffer whole is in the file all the same, and without one, cut off. */
START_TEST(the_end_of_the_buffer_changes_nothing)
{
	const char *path = scratch_path("out.txt");
	static char bytes[2 * XVT_OUT_ROOM];
	FILE *f;

	for (size_t fill = XVT_OUT_ROOM - 40; fill <= XVT_OUT_ROOM; fill++) {
		static const char tail[] = "18446744073709551615 a text of some length \\x1b "
					   "1.000000007 ffffffffffffffff-";
		size_t n;

		memset(&out, 0, sizeof(out));
		for (int file = 0; file < 2; file++) {
			if (file)
				ck_assert_int_eq(xvt_out_open(&out, path), 0);
			else
				out.fd = -1;
			for (size_t i = 0; i < fill; i++)
				xvt_out_char(&out, 'x');
			xvt_out_u64(&out, UINT64_MAX);
			xvt_out_text(&out, " a text of some length \x1b ", 25);
			xvt_out_time(&out, 1000000007);
			xvt_out_str(&out, " ");
			xvt_out_hex(&out, UINT64_MAX, 16);
			xvt_out_char(&out, '-');
			if (!file) {
				n = XVT_OUT_ROOM - fill < sizeof(tail) - 1 ? XVT_OUT_ROOM - fill
									   : sizeof(tail) - 1;
				ck_assert_uint_eq(out.used, fill + n);
				ck_assert(!memcmp(out.buf + fill, tail, n));
			}
		}
		ck_assert_int_eq(xvt_out_close(&out), 0);
		f = fopen(path, "rb");
		ck_assert_ptr_nonnull(f);
		n = fread(bytes, 1, sizeof(bytes), f);
		fclose(f);
		ck_assert_uint_eq(n, fill + sizeof(tail) - 1);
		ck_assert(!memcmp(bytes + fill, tail, sizeof(tail) - 1));
	}
}
END_TEST

static void is_file(const char *path, const char *text)
{
	char bytes[64] = "";
	FILE *f = fopen(path, "rb");

	ck_assert_ptr_nonnull(f);
	ck_assert_uint_eq(fread(bytes, 1, sizeof(bytes) - 1, f), strlen(text));
	fclose(f);
	ck_assert_str_eq(bytes, text);
}

/* A file keeps what it holds until something is written, or it is closed. */
START_TEST(a_file_that_is_dropped_is_as_it_was)
{
	const char *path = scratch_path("dropped");

	unlink(path);
	ck_assert_int_eq(xvt_out_open(&out, path), 0);
	xvt_out_str(&out, "some");
	xvt_out_drop(&out);
	ck_assert_int_eq(access(path, F_OK), -1);
	ck_assert_int_eq(xvt_out_open(&out, path), 0);
	xvt_out_str(&out, "a longer text");
	ck_assert_int_eq(xvt_out_close(&out), 0);
	ck_assert_int_eq(xvt_out_open(&out, path), 0);
	xvt_out_str(&out, "some");
	xvt_out_drop(&out);
	is_file(path, "a longer text");
	ck_assert_int_eq(xvt_out_open(&out, path), 0);
	is_file(path, "a longer text");
	xvt_out_str(&out, "short");
	ck_assert_int_eq(xvt_out_flush(&out), 0);
	is_file(path, "short");
	ck_assert_int_eq(xvt_out_close(&out), 0);
	ck_assert_int_eq(xvt_out_open(&out, path), 0);
	ck_assert_int_eq(xvt_out_close(&out), 0);
	is_file(path, "");
	/* A part of a file is not kept. */
	unlink(path);
	ck_assert_int_eq(xvt_out_open(&out, path), 0);
	xvt_out_str(&out, "some");
	ck_assert_int_eq(xvt_out_flush(&out), 0);
	xvt_out_drop(&out);
	ck_assert_int_eq(access(path, F_OK), -1);
}
END_TEST

/* A file is removed where it was made, and only if it is still what is there. */
START_TEST(what_others_put_in_its_place_stays)
{
	char folder[PATH_MAX], moved[PATH_MAX], path[PATH_MAX + 8], other[PATH_MAX + 8];

	snprintf(folder, sizeof(folder), "%s", scratch_path("place"));
	snprintf(moved, sizeof(moved), "%s", scratch_path("moved"));
	snprintf(path, sizeof(path), "%s/out", folder);
	snprintf(other, sizeof(other), "%s/out", moved);
	ck_assert_int_eq(mkdir(folder, 0755), 0);
	ck_assert_int_eq(xvt_out_open(&out, path), 0);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(symlink("other", path), 0);
	xvt_out_drop(&out);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(xvt_out_open(&out, path), 0);
	ck_assert_int_eq(rename(folder, moved), 0);
	ck_assert_int_eq(mkdir(folder, 0755), 0);
	ck_assert_int_eq(symlink("other", path), 0);
	xvt_out_drop(&out);
	ck_assert_int_eq(access(other, F_OK), -1);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(rmdir(folder), 0);
	ck_assert_int_eq(rmdir(moved), 0);
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
	tcase_add_test(t, text_beyond_the_most_is_an_error);
	tcase_add_test(t, quoted_text_is_json);
	tcase_add_test(t, numbers_and_times);
	tcase_add_loop_test(t, durations_have_three_digits, 0,
			    sizeof(three_digits) / sizeof(three_digits[0]));
	tcase_add_test(t, counts_have_commas);
	tcase_add_test(t, numbers_are_those_of_printf);
	tcase_add_test(t, text_is_the_sum_of_its_bytes);
	tcase_add_test(t, the_end_of_the_buffer_changes_nothing);
	tcase_add_test(t, a_file_that_is_dropped_is_as_it_was);
	tcase_add_test(t, what_others_put_in_its_place_stays);
	tcase_add_test(t, a_full_disk_is_noticed);
	tcase_add_test(t, json_documents_read_back);
	suite_add_tcase(s, t);
	return s;
}
