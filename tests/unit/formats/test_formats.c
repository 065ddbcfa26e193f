// SPDX-License-Identifier: GPL-2.0
/* test_formats.c - formats of kernels: their files, copies of what a kernel says, the cache. */
#include "suites.h"

#include <errno.h>
#include <stdio.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/apart.h"
#include "formats/cache.h"
#include "formats/import.h"
#include "rights/confine.h"
#include "rights/sandbox.h"

#define BUILD_ID "00112233445566778899aabbccddeeff01234567"
#define KERNEL	 "Linux 6.12.1-test #1 SMP Debian x86_64"

static char tar[256 << 10];
static size_t tar_len;

static void begin_tar(void)
{
	memset(tar, 0, sizeof(tar));
	tar_len = 0;
}

static void add_bytes(const char *path, const void *bytes, size_t len)
{
	char *h = tar + tar_len;
	unsigned int sum = 0;

	ck_assert_uint_le(tar_len + 2048 + len, sizeof(tar));
	snprintf(h, 100, "%s", path);
	snprintf(h + 124, 12, "%011o", (unsigned int)(len & 0xffffff));
	h[156] = '0';
	memcpy(h + 257, "ustar", 6);
	memset(h + 148, ' ', 8);
	for (size_t i = 0; i < 512; i++)
		sum += (unsigned char)h[i];
	snprintf(h + 148, 8, "%06o", sum & 0x3ffff);
	memcpy(h + 512, bytes, len);
	tar_len += 512 + (len + 511) / 512 * 512;
}

static void add_text(const char *path, const char *text)
{
	add_bytes(path, text, strlen(text));
}

static void add_event(const char *system, const char *event, unsigned int id)
{
	char path[256], text[512];

	snprintf(path, sizeof(path), "./k/events/%s/%s/format", system, event);
	snprintf(
		text, sizeof(text),
		"name: %s\nID: %u\nformat:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;"
		"\tsigned:0;\n\nprint fmt: \"\"\n",
		event, id);
	add_text(path, text);
}

static void add_notes(void)
{
	uint8_t notes[64] = { 4, 0, 0, 0, 1, 0, 0,  0, 6, 0, 0, 0, 'X', 'e', 'n', 0,   9,   0,
			      0, 0, 4, 0, 0, 0, 20, 0, 0, 0, 3, 0, 0,	0,   'G', 'N', 'U', 0 };

	for (unsigned int i = 0; i < 20; i++) {
		unsigned int byte;

		sscanf(BUILD_ID + 2 * i, "%2x", &byte);
		notes[36 + i] = (uint8_t)byte;
	}
	add_bytes("k/notes", notes, 56);
}

/* A copy of a kernel with events of its own, of a module, and of a probe. */
static void add_kernel(void)
{
	begin_tar();
	add_notes();
	add_text("k/uname", KERNEL "\n");
	add_text("k/kallsyms", "0000000000000000 T __traceiter_sched_switch\n"
			       "0000000000000000 T __traceiter_two\n"
			       "0000000000000000 t __traceiter_kvm_exit\t[kvm]\n"
			       "0000000000000000 t __traceiter_two\t[xfs]");
	add_event("sched", "sched_switch", 310);
	add_event("kvm", "kvm_exit", 2000);
	add_event("sched", "two", 311);
	add_event("kprobes", "p_do_exit_0", 2001);
	add_event("syscalls", "sys_enter_openat", 700);
	add_event("ftrace", "print", 5);
	add_text("k/events/sched/sched_switch/enable", "0\n");
}

static struct xvt_formats f;
static struct xvt_import_result result;

static int import(bool no_modules)
{
	return xvt_formats_import_tar(&f, (const uint8_t *)tar, tar_len, no_modules, &result);
}

static void check_events(const struct xvt_formats *formats, const char *expected)
{
	struct xvt_formats_event e;
	char text[512] = "";
	size_t at = 0, len = 0;

	while (xvt_formats_next(formats, &at, &e))
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%u %s:%s ", e.id, e.system,
					e.event);
	ck_assert_str_eq(text, expected);
}

START_TEST(events_of_the_kernel_itself)
{
	add_kernel();
	ck_assert_int_eq(import(false), 0);
	ck_assert_str_eq(f.build_id, BUILD_ID);
	ck_assert_str_eq(f.kernel, KERNEL);
	ck_assert_str_eq(f.release, "6.12.1-test");
	check_events(&f, "5 ftrace:print 310 sched:sched_switch 700 syscalls:sys_enter_openat ");
	ck_assert_uint_eq(result.left_out, 3);
	xvt_formats_free(&f);
}
END_TEST

START_TEST(all_events_of_a_kernel_without_modules)
{
	add_kernel();
	ck_assert_int_eq(import(true), 0);
	ck_assert_uint_eq(f.count, 6);
	ck_assert_str_eq(f.origin, "boot");
	xvt_formats_free(&f);
}
END_TEST

START_TEST(what_is_missing)
{
	begin_tar();
	add_event("sched", "sched_switch", 310);
	ck_assert_int_eq(import(false), -ENODATA);
	ck_assert_ptr_nonnull(strstr(result.why.text, "build id"));
	add_notes();
	ck_assert_int_eq(import(false), -ENODATA);
	ck_assert_ptr_nonnull(strstr(result.why.text, "uname"));
	add_text("k/uname", KERNEL);
	ck_assert_int_eq(import(false), -ENODATA);
	ck_assert_ptr_nonnull(strstr(result.why.text, "kallsyms"));
	add_text("k/kallsyms", "");
	ck_assert_int_eq(import(false), -ENODATA); /* it may be any module's */
	begin_tar();
	add_text("k/events/sched/sched_switch/format", "");
	ck_assert_int_eq(import(false), -ENODATA);
	ck_assert_ptr_nonnull(strstr(result.why.text, "empty"));
	begin_tar();
	tar_len = 512;
	ck_assert_int_eq(import(false), -EBADMSG);
}
END_TEST

START_TEST(two_events_of_one_number)
{
	add_kernel();
	add_event("syscalls", "sys_exit_openat", 310);
	ck_assert_int_eq(import(false), -EBADMSG);
	ck_assert_ptr_nonnull(strstr(result.why.text, "310"));
}
END_TEST

/* Whatever one byte of an archive is, nothing is read outside of it (with the sanitizers of
 * tests/fuzz), and an archive that is cut off is refused or has fewer events. */
START_TEST(damaged_archives)
{
	uint8_t *copy;

	add_kernel();
	for (size_t len = 0; len < tar_len; len += 131) {
		copy = malloc(len + 1);
		memcpy(copy, tar, len);
		if (!xvt_formats_import_tar(&f, copy, len, false, &result)) {
			ck_assert_uint_le(f.count, 3);
			xvt_formats_free(&f);
		}
		free(copy);
	}
}
END_TEST

START_TEST(damaged_files)
{
	struct xvt_formats again;
	const char *why;
	uint8_t *copy;

	add_kernel();
	ck_assert_int_eq(import(false), 0);
	ck_assert_int_eq(xvt_formats_parse(&again, f.bytes, f.len, &why), 0);
	check_events(&again,
		     "5 ftrace:print 310 sched:sched_switch 700 syscalls:sys_enter_openat ");
	xvt_formats_free(&again);
	for (size_t len = 0; len < f.len; len++) {
		copy = malloc(len + 1);
		memcpy(copy, f.bytes, len);
		if (!xvt_formats_parse(&again, copy, len, &why)) {
			ck_assert_uint_lt(again.count, f.count);
			xvt_formats_free(&again);
		}
		free(copy);
	}
	copy = malloc(f.len);
	for (size_t at = 0; at < f.len; at++) {
		memcpy(copy, f.bytes, f.len);
		copy[at] ^= 0x41;
		if (!xvt_formats_parse(&again, copy, f.len, &why))
			xvt_formats_free(&again);
	}
	free(copy);
	xvt_formats_free(&f);
}
END_TEST

START_TEST(a_build_id_of_notes)
{
	const uint8_t long_name[] = { 0xff, 0xff, 0xff, 0xff, 20, 0, 0, 0, 3, 0, 0, 0 };
	const uint8_t long_desc[] = { 4, 0, 0, 0, 0xff, 0xff, 0xff, 0xff,
				      3, 0, 0, 0, 'G',	'N',  'U',  0 };
	char id[XVT_BUILD_ID_TEXT];

	ck_assert(!xvt_build_id_of_notes(long_name, sizeof(long_name), id));
	ck_assert(!xvt_build_id_of_notes(long_desc, sizeof(long_desc), id));
	ck_assert(!xvt_build_id_of_notes(long_name, 0, id));
	ck_assert(xvt_build_id_is(BUILD_ID));
	ck_assert(!xvt_build_id_is("../../../etc/passwd"));
	ck_assert(!xvt_build_id_is("0011223"));
	ck_assert(!xvt_build_id_is("001122334"));
}
END_TEST

/* --- the cache --- */

static char folder[64];

static void begin_cache(void)
{
	snprintf(folder, sizeof(folder), "/tmp/xvt-formats-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	setenv("XVT_FORMATS_DIR", folder, 1);
}

static void end_cache(void)
{
	char command[128];

	unsetenv("XVT_FORMATS_DIR");
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	ck_assert_int_eq(system(command), 0);
}

static size_t kernels_of(struct xvt_formats_cache *c)
{
	struct xvt_error why = { "" };

	ck_assert_msg(!xvt_formats_cache_read(c, &why), "%s", why.text);
	return c->count;
}

static void path_of(char *path, size_t size, const char *build_id)
{
	snprintf(path, size, "%s/%s.formats", folder, build_id);
}

START_TEST(stored_found_removed)
{
	struct xvt_formats_cache c;
	struct xvt_error why = { "" };

	begin_cache();
	ck_assert_uint_eq(kernels_of(&c), 0);
	xvt_formats_cache_free(&c);
	add_kernel();
	ck_assert_int_eq(import(false), 0);
	ck_assert_msg(!xvt_formats_cache_store(&f, &why), "%s", why.text);
	ck_assert_uint_eq(kernels_of(&c), 1);
	ck_assert_ptr_nonnull(xvt_formats_cache_find(&c, "6.12.1-test", &why));
	ck_assert_ptr_nonnull(xvt_formats_cache_find(&c, BUILD_ID, &why));
	ck_assert_ptr_nonnull(xvt_formats_cache_find(&c, "00112233", &why));
	ck_assert_ptr_null(xvt_formats_cache_find(&c, "0011223", &why));
	ck_assert_ptr_null(xvt_formats_cache_find(&c, "6.12.1", &why));
	ck_assert_int_eq(xvt_formats_cache_remove(&c.v[0], &why), 0);
	xvt_formats_cache_free(&c);
	ck_assert_uint_eq(kernels_of(&c), 0);
	xvt_formats_cache_free(&c);
	xvt_formats_free(&f);
	end_cache();
}
END_TEST

/* Two builds of one release: the release alone names none of them. */
START_TEST(a_release_of_two_builds)
{
	struct xvt_formats_cache c;
	struct xvt_formats other;
	struct xvt_error why = { "" };
	const char *reason;

	begin_cache();
	add_kernel();
	ck_assert_int_eq(import(false), 0);
	ck_assert_int_eq(xvt_formats_begin(&other, "99112233", KERNEL, "import", &reason), 0);
	ck_assert_int_eq(xvt_formats_add(&other, "sched", "a", "ID: 7\n", 6, &reason), 0);
	ck_assert_int_eq(xvt_formats_cache_store(&f, &why), 0);
	ck_assert_int_eq(xvt_formats_cache_store(&other, &why), 0);
	ck_assert_uint_eq(kernels_of(&c), 2);
	ck_assert_ptr_null(xvt_formats_cache_find(&c, "6.12.1-test", &why));
	ck_assert_ptr_nonnull(strstr(why.text, BUILD_ID));
	ck_assert_ptr_nonnull(xvt_formats_cache_find(&c, "99112233", &why));
	xvt_formats_cache_free(&c);
	xvt_formats_free(&other);
	xvt_formats_free(&f);
	end_cache();
}
END_TEST

START_TEST(files_that_others_may_write)
{
	struct xvt_formats_cache c;
	struct xvt_error why = { "" };
	char path[256], other[256];

	begin_cache();
	add_kernel();
	ck_assert_int_eq(import(false), 0);
	ck_assert_int_eq(xvt_formats_cache_store(&f, &why), 0);
	path_of(path, sizeof(path), BUILD_ID);
	path_of(other, sizeof(other), "99112233");
	ck_assert_int_eq(chmod(path, 0666), 0);
	ck_assert_uint_eq(kernels_of(&c), 0);
	ck_assert_ptr_nonnull(strstr(c.left_out, "others may write it"));
	xvt_formats_cache_free(&c);
	ck_assert_int_eq(chmod(path, 0644), 0);
	ck_assert_int_eq(rename(path, other), 0); /* the name of another kernel */
	ck_assert_uint_eq(kernels_of(&c), 0);
	xvt_formats_cache_free(&c);
	ck_assert_int_eq(symlink(other, path), 0);
	ck_assert_uint_eq(kernels_of(&c), 0);
	xvt_formats_cache_free(&c);
	ck_assert_int_eq(chmod(folder, 0777), 0);
	ck_assert_int_eq(xvt_formats_cache_read(&c, &why), -EPERM);
	xvt_formats_free(&f);
	end_cache();
}
END_TEST

/* --- what a guest says, read in a process of its own --- */

static void confine(void)
{
	xvt_confine(false);
}

static int read_tar(struct xvt_formats *to, const void *arg, struct xvt_import_result *said)
{
	(void)arg;
	return xvt_formats_import_tar(to, (const uint8_t *)tar, tar_len, true, said);
}

/* A parser that the bytes have taken over. */
static int taken_over(struct xvt_formats *to, const void *how, struct xvt_import_result *said)
{
	const char *const by = how;

	if (!strcmp(by, "socket"))
		return socket(AF_INET, SOCK_STREAM, 0);
	if (!strcmp(by, "run"))
		return execl("/bin/true", "true", NULL);
	if (!strcmp(by, "die"))
		raise(SIGSEGV);
	to->bytes = calloc(1, 4096);
	to->len = 4096;
	if (!strcmp(by, "why"))
		memset(said->why.text, 'x', sizeof(said->why.text));
	return !strcmp(by, "positive") ? 1 : !strcmp(by, "why") ? -EIO : 0;
}

START_TEST(what_a_guest_says_is_read_apart)
{
	struct xvt_formats apart, here;
	struct xvt_error why;

	add_kernel();
	ck_assert_int_eq(xvt_formats_apart(&apart, confine, read_tar, NULL, &result), 0);
	ck_assert_int_eq(read_tar(&here, NULL, &result), 0);
	ck_assert_uint_eq(apart.len, here.len);
	ck_assert_mem_eq(apart.bytes, here.bytes, here.len);
	xvt_formats_free(&apart);
	xvt_formats_free(&here);
	begin_tar();
	ck_assert_int_lt(read_tar(&here, NULL, &result), 0);
	memcpy(why.text, result.why.text, sizeof(why.text));
	ck_assert_int_lt(xvt_formats_apart(&apart, confine, read_tar, NULL, &result), 0);
	ck_assert_str_ne(why.text, "");
	ck_assert_str_eq(result.why.text, why.text);
}
END_TEST

START_TEST(a_reader_that_is_taken_over)
{
	static const char *const how[] = { "die", "garbage", "positive", "why", "socket", "run" };
	struct xvt_formats apart;

	if (_i >= 4 && xvt_sandbox_check())
		return;
	ck_assert_int_lt(xvt_formats_apart(&apart, confine, taken_over, how[_i], &result), 0);
	ck_assert_uint_lt(strlen(result.why.text), sizeof(result.why.text));
	if (_i == 0 || _i >= 4)
		ck_assert_ptr_nonnull(strstr(result.why.text, "ended by a signal"));
	if (_i == 1)
		ck_assert_ptr_nonnull(strstr(result.why.text, "it is no file of formats"));
}
END_TEST

Suite *formats_suite(void)
{
	Suite *suite = suite_create("formats");
	TCase *tc = tcase_create("formats");

	tcase_add_test(tc, events_of_the_kernel_itself);
	tcase_add_test(tc, all_events_of_a_kernel_without_modules);
	tcase_add_test(tc, what_is_missing);
	tcase_add_test(tc, two_events_of_one_number);
	tcase_add_test(tc, damaged_archives);
	tcase_add_test(tc, damaged_files);
	tcase_add_test(tc, a_build_id_of_notes);
	tcase_add_test(tc, stored_found_removed);
	tcase_add_test(tc, a_release_of_two_builds);
	tcase_add_test(tc, files_that_others_may_write);
	tcase_add_test(tc, what_a_guest_says_is_read_apart);
	tcase_add_loop_test(tc, a_reader_that_is_taken_over, 0, 6);
	suite_add_tcase(suite, tc);
	return suite;
}
