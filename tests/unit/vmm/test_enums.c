// SPDX-License-Identifier: GPL-2.0
/* test_enums.c - constants of the kernel's BTF, in formats. */
#define _GNU_SOURCE
#include "suites.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "synth.h"
#include "vmm/enums.h"

#define INFO(kind, members) ((uint32_t)(kind) << 24 | (members))
#define SIGNED		    (1u << 31)

static uint32_t words[256];
static size_t nr_words;
static char names[512];
static uint32_t names_len, base_len;

static uint32_t name(const char *text)
{
	const uint32_t at = names_len;

	memcpy(names + at, text, strlen(text) + 1);
	names_len += (uint32_t)strlen(text) + 1;
	return base_len + at;
}

static void put(uint32_t word)
{
	words[nr_words++] = word;
}

static void type(uint32_t info, uint32_t size)
{
	put(0);
	put(info);
	put(size);
}

static void begin(uint32_t base)
{
	nr_words = 0;
	base_len = base;
	names_len = 0;
	name("");
}

/* Write what was put, without the last `cut` bytes. */
static void save(const char *dir, const char *file, size_t cut)
{
	const uint32_t len = (uint32_t)(4 * nr_words);
	const uint32_t header[] = { 0xeb9f | 1 << 16, 24, 0, len, len, names_len };
	char path[512], bytes[4096];
	size_t size = sizeof(header) + len + names_len;
	FILE *f;

	memcpy(bytes, header, sizeof(header));
	memcpy(bytes + sizeof(header), words, len);
	memcpy(bytes + sizeof(header) + len, names, names_len);
	snprintf(path, sizeof(path), "%s/%s", dir, file);
	f = fopen(path, "w");
	ck_assert_ptr_nonnull(f);
	ck_assert_uint_eq(fwrite(bytes, 1, size - cut, f), size - cut);
	fclose(f);
}

static void put_kernel(void)
{
	begin(0);
	type(INFO(1, 0), 4); /* a number */
	put(32);
	type(INFO(4, 2), 16); /* a structure with two members */
	for (int i = 0; i < 6; i++)
		put(0x06000001);
	type(INFO(6, 3), 4);
	put(name("I_SYNC")), put(2);
	put(name("I_HIGH")), put(0xffffffff);
	put(name("TWICE")), put(1);
	type(INFO(6, 2) | SIGNED, 4);
	put(name("LOST")), put(0xfffffffe);
	put(name("SAME")), put(7);
	type(INFO(19, 1), 8);
	put(name("WIDE")), put(1), put(2);
	type(INFO(6, 2), 4);
	put(name("TWICE")), put(9);
	put(name("SAME")), put(7);
}

static const char *dir_of(const char *which)
{
	const char *dir = scratch_path(which);

	mkdir(dir, 0700);
	return dir;
}

static const struct {
	const char *from;
	const char *to; /* NULL: as it is */
} texts[] = {
	{ "\"%s\", __print_flags(REC->s, \"|\", { I_SYNC, \"I_SYNC\" }, { 1 << SAME, \"S\" })",
	  "\"%s\", __print_flags(REC->s, \"|\", { 2, \"I_SYNC\" }, { 1 << 7, \"S\" })" },
	{ "\"%d\", REC->a == LOST ? I_HIGH : WIDE",
	  "\"%d\", REC->a == (-2) ? 4294967295 : 8589934593" },
	{ "\"%d I_SYNC \\\" I_SYNC\", (I_SYNC)", "\"%d I_SYNC \\\" I_SYNC\", (2)" },
	{ "\"%x\", OF_MODULE | I_SYNC", "\"%x\", 3 | 2" },
	/* Fields, functions, and what has several values or none. */
	{ "\"%d %s\", REC->I_SYNC, __get_str(I_SYNC)", NULL },
	{ "\"%d\", I_SYNC(REC->a)", NULL },
	{ "\"%d\", TWICE | NONE | I_SYNCED | XI_SYNC", NULL },
	{ "\"I_SYNC", NULL },
};

START_TEST(constants_become_numbers)
{
	const char *dir = dir_of("btf");
	struct xvt_enums *e;
	char from[512], to[512], *text;
	size_t size;

	put_kernel();
	save(dir, "vmlinux", 0);
	begin(names_len);
	type(INFO(6, 2), 4);
	put(name("OF_MODULE")), put(3);
	put(1), put(2); /* I_SYNC, of the kernel's names */
	save(dir, "module", 0);
	e = xvt_enums_new(dir);
	snprintf(from, sizeof(from), "name: I_SYNC\n\nprint fmt: %s\n", texts[_i].from);
	text = xvt_enums_resolve(e, from, &size);
	if (texts[_i].to) {
		snprintf(to, sizeof(to), "name: I_SYNC\n\nprint fmt: %s\n", texts[_i].to);
		ck_assert_ptr_nonnull(text);
		ck_assert_str_eq(text, to);
		ck_assert_uint_eq(size, strlen(to));
	} else {
		ck_assert_ptr_null(text);
	}
	free(text);
	xvt_enums_free(e);
}
END_TEST

/* Whatever is cut off a file, what is read lies in it. */
START_TEST(files_that_end_early_are_read_inside)
{
	const char *dir = dir_of("btf-cut");
	size_t size, whole;

	put_kernel();
	whole = 24 + 4 * nr_words + names_len;
	for (size_t cut = 0; cut <= whole; cut++) {
		struct xvt_enums *e = xvt_enums_new(dir);
		char *text;

		save(dir, "vmlinux", cut);
		text = xvt_enums_resolve(e, "\nprint fmt: \"%d\", SAME", &size);
		ck_assert_int_eq(text != NULL, cut == 0);
		free(text);
		xvt_enums_free(e);
	}
	/* Members that would lie behind the types. */
	for (size_t i = 0; i < nr_words; i++) {
		struct xvt_enums *e = xvt_enums_new(dir);
		const uint32_t was = words[i];

		words[i] = 0xffffffff;
		save(dir, "vmlinux", 0);
		free(xvt_enums_resolve(e, "\nprint fmt: \"%d\", SAME", &size));
		words[i] = was;
		xvt_enums_free(e);
	}
}
END_TEST

START_TEST(a_kernel_without_btf_has_no_constants)
{
	struct xvt_enums *e = xvt_enums_new(scratch_path("no-such-btf"));
	size_t size;

	ck_assert_ptr_null(xvt_enums_resolve(e, "\nprint fmt: \"%d\", SAME", &size));
	ck_assert_ptr_null(xvt_enums_resolve(e, "no print format", &size));
	xvt_enums_free(e);
}
END_TEST

Suite *enums_suite(void)
{
	Suite *s = suite_create("enums");
	TCase *t = tcase_create("enums");

	tcase_add_loop_test(t, constants_become_numbers, 0, sizeof(texts) / sizeof(texts[0]));
	tcase_add_test(t, files_that_end_early_are_read_inside);
	tcase_add_test(t, a_kernel_without_btf_has_no_constants);
	suite_add_tcase(s, t);
	return s;
}
