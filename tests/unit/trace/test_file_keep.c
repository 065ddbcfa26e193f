// SPDX-License-Identifier: GPL-2.0
/* test_file_keep.c - which files of a set are removed, and whether a copy of one fits beside them.
 */
#define _GNU_SOURCE
#include "suites.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/file_keep.h"
#include "trace/format.h"
#include "trace/set.h"
#include "trace/set_name.h"

#define MIB	(1ull << 20)
#define RESERVE (MIB / 2) /* of a file of a MiB */

static const char *folder;

static void resize(uint32_t number, uint64_t bytes)
{
	const uint32_t magic = XVT_CHUNK_MAGIC;
	char path[4096];
	int fd;

	ck_assert(xvt_set_path(folder, number, path, sizeof(path)));
	fd = open(path, O_RDWR | O_CREAT, 0600);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(ftruncate(fd, (off_t)bytes), 0);
	ck_assert_int_eq(pwrite(fd, &magic, sizeof(magic), 0), sizeof(magic));
	ck_assert_int_eq(close(fd), 0);
}

static void remove_file(uint32_t number)
{
	char path[4096];

	ck_assert(xvt_set_path(folder, number, path, sizeof(path)));
	unlink(path);
}

/* Files 1 to 6 of a MiB each; the newest one is written. */
static void setup(void)
{
	static char path[4096];
	uint32_t i;

	snprintf(path, sizeof(path), "%s", scratch_path("keep"));
	folder = path;
	mkdir(folder, 0700);
	for (i = 1; i <= 7; i++)
		remove_file(i);
	for (i = 1; i <= 6; i++)
		resize(i, MIB);
}

static size_t count(void)
{
	struct xvt_set_list list;
	size_t n;

	ck_assert_int_eq(xvt_set_list(folder, &list), 0);
	n = list.count;
	xvt_set_list_free(&list);
	return n;
}

START_TEST(room_is_kept_for_a_copy_of_the_largest_file)
{
	struct xvt_file_keep keep = { .bytes = 7 * MIB + RESERVE, .next_bytes = MIB };

	ck_assert_uint_eq(xvt_file_keep(folder, 6, &keep), 0);
	keep.copies = true;
	ck_assert_uint_eq(xvt_file_keep(folder, 6, &keep), 1);
	resize(4, 2 * MIB);
	ck_assert_uint_eq(xvt_file_keep(folder, 6, &keep), 2);
	ck_assert_uint_eq(count(), 3);
}
END_TEST

START_TEST(space_that_a_file_has_beyond_its_size_counts)
{
	const struct xvt_file_keep keep = { .bytes = 7 * MIB + RESERVE, .next_bytes = MIB };
	char path[4096];
	int fd;

	ck_assert(xvt_set_path(folder, 6, path, sizeof(path)));
	fd = open(path, O_RDWR);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, 3 * MIB), 0);
	ck_assert_int_eq(close(fd), 0);
	ck_assert_uint_eq(xvt_file_keep(folder, 6, &keep), 2);
}
END_TEST

START_TEST(a_file_that_became_larger_has_a_next_one_of_its_size)
{
	const struct xvt_file_keep keep = { .bytes = 7 * MIB + RESERVE, .next_bytes = MIB };

	resize(6, 2 * MIB);
	ck_assert_uint_eq(xvt_file_keep(folder, 6, &keep), 2);
}
END_TEST

START_TEST(a_copy_fits_beside_the_file_that_grows)
{
	struct xvt_file_keep keep = { .bytes = 8 * MIB, .next_bytes = MIB };

	ck_assert(xvt_file_keep_has_room(folder, 6, &keep, 2 * MIB));
	ck_assert(!xvt_file_keep_has_room(folder, 6, &keep, 2 * MIB + 1));
	resize(6, MIB / 4);
	ck_assert(xvt_file_keep_has_room(folder, 6, &keep, 2 * MIB));
	ck_assert(!xvt_file_keep_has_room(folder, 6, &keep, 2 * MIB + 1));
}
END_TEST

START_TEST(a_copy_leaves_free_what_is_to_stay_free)
{
	struct xvt_file_keep keep = { .next_bytes = MIB };

	ck_assert(xvt_file_keep_has_room(folder, 6, &keep, 1));
	ck_assert(!xvt_file_keep_has_room(folder, 6, &keep, 1ull << 60));
	keep.free_bytes = 1ull << 60;
	ck_assert(!xvt_file_keep_has_room(folder, 6, &keep, 1));
}
END_TEST

START_TEST(a_copy_fits_at_any_time_after_files_were_removed)
{
	struct xvt_file_keep keep = { .bytes = 5 * MIB + RESERVE,
				      .next_bytes = MIB,
				      .copies = true };

	xvt_file_keep(folder, 6, &keep);
	resize(7, 0);
	ck_assert(xvt_file_keep_has_room(folder, 7, &keep, MIB));
	resize(7, MIB);
	ck_assert(xvt_file_keep_has_room(folder, 7, &keep, MIB));
	ck_assert_uint_eq(count(), 4);
}
END_TEST

Suite *file_keep_suite(void)
{
	Suite *s = suite_create("file_keep");
	TCase *t = tcase_create("copies");

	tcase_add_checked_fixture(t, setup, NULL);
	tcase_add_test(t, room_is_kept_for_a_copy_of_the_largest_file);
	tcase_add_test(t, space_that_a_file_has_beyond_its_size_counts);
	tcase_add_test(t, a_file_that_became_larger_has_a_next_one_of_its_size);
	tcase_add_test(t, a_copy_fits_beside_the_file_that_grows);
	tcase_add_test(t, a_copy_leaves_free_what_is_to_stay_free);
	tcase_add_test(t, a_copy_fits_at_any_time_after_files_were_removed);
	suite_add_tcase(s, t);
	return s;
}
