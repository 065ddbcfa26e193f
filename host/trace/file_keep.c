// SPDX-License-Identifier: GPL-2.0
/* file_keep.c - see file_keep.h. */
#include "trace/file_keep.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "base/time.h"
#include "base/u64.h"
#include "base/user.h"
#include "trace/file_sink.h"
#include "trace/file_snapshot.h"
#include "trace/format.h"
#include "trace/set.h"
#include "trace/set_name.h"

#define BLOCK 512u /* of st_blocks */

/* A file of the folder. */
struct file {
	char path[PATH_MAX];
	struct stat st;
};

static bool find(struct file *f, const char *folder, uint32_t number)
{
	return xvt_set_path(folder, number, f->path, sizeof(f->path)) && !lstat(f->path, &f->st) &&
	       S_ISREG(f->st.st_mode);
}

/* Returns true if a recorder of this user wrote it; one that is killed may leave it empty. */
static bool is_own(const struct file *f)
{
	uint32_t magic = 0;
	ssize_t n;
	int fd;

	if (f->st.st_uid != xvt_user())
		return false;
	fd = open(f->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return false;
	n = pread(fd, &magic, sizeof(magic), 0);
	close(fd);
	return n == 0 || (n == sizeof(magic) && magic == XVT_CHUNK_MAGIC);
}

/* Bytes of the disk: one that is written has more than its size, one with holes has less. */
static uint64_t bytes_of(const struct file *f)
{
	return xvt_u64_larger((uint64_t)f->st.st_size, (uint64_t)f->st.st_blocks * BLOCK);
}

static uint64_t size_of_files(const char *folder, const struct xvt_set_list *list)
{
	uint64_t bytes = 0;
	struct file f;
	size_t i;

	for (i = 0; i < list->count; i++)
		bytes += find(&f, folder, list->numbers[i]) ? bytes_of(&f) : 0;
	return bytes;
}

/* Returns the bytes of the files and of the snapshots; UINT64_MAX if they cannot be listed. */
static uint64_t size_of_all(const char *folder)
{
	struct xvt_set_list list;
	uint64_t bytes;

	if (xvt_set_list(folder, &list))
		return UINT64_MAX;
	bytes = size_of_files(folder, &list) + xvt_file_snapshot_bytes(folder);
	xvt_set_list_free(&list);
	return bytes;
}

static bool is_old(const struct file *f, uint64_t ns)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec > f->st.st_mtim.tv_sec &&
	       (uint64_t)(now.tv_sec - f->st.st_mtim.tv_sec) > ns / SECOND_NS;
}

/* Returns whether the file system has less than free_bytes beside `bytes`. */
static bool lacks_space(const char *folder, const struct xvt_file_keep *keep, uint64_t bytes)
{
	struct statvfs st;

	return !statvfs(folder, &st) &&
	       (uint64_t)st.f_bavail * st.f_frsize < keep->free_bytes + bytes;
}

/* `next`: of the next file, and of a copy */
static bool is_too_much(const char *folder, const struct xvt_file_keep *keep, const struct file *f,
			uint64_t bytes, uint64_t next)
{
	return (keep->bytes && bytes + next > keep->bytes) || (keep->ns && is_old(f, keep->ns)) ||
	       (keep->free_bytes && lacks_space(folder, keep, next));
}

/* Returns whether the snapshots have too much: of what only they have, half of the set is kept at
 * most, and no more than the file that is written and the next one leave. */
static bool has_too_many(const char *folder, const struct xvt_file_keep *keep, uint64_t next)
{
	const uint64_t all = size_of_all(folder);

	return keep->bytes && all != UINT64_MAX &&
	       (xvt_file_snapshot_bytes(folder) > keep->bytes / 2 || all + next > keep->bytes);
}

/* Snapshots go last where the disk lacks space. The newest one, too, whose size a guest chooses,
 * has no more than its part of the set. */
static void drop_snapshots(const char *folder, const struct xvt_file_keep *keep, uint64_t next)
{
	while ((has_too_many(folder, keep, next) ||
		(keep->free_bytes && lacks_space(folder, keep, next))) &&
	       xvt_file_snapshot_drop(folder))
		;
	while (has_too_many(folder, keep, next) && xvt_file_snapshot_trim(folder))
		;
}

/* Returns the bytes that the next file and a copy may take: one pass may write more than a file is
 * to have, as it did with the file `now`. */
static uint64_t next_of_all(const char *folder, const struct xvt_set_list *list, uint32_t now,
			    const struct xvt_file_keep *keep)
{
	uint64_t next = keep->next_bytes, copy = 0;
	struct file f;
	size_t i;

	for (i = 0; i < list->count; i++) {
		if (!find(&f, folder, list->numbers[i]))
			continue;
		copy = xvt_u64_larger(copy, (uint64_t)f.st.st_size);
		if (keep->next_bytes && list->numbers[i] == now)
			next = xvt_u64_larger(next, (uint64_t)f.st.st_size);
	}
	return next + xvt_file_sink_reserve(next) + (keep->copies ? xvt_u64_larger(next, copy) : 0);
}

uint32_t xvt_file_keep(const char *folder, uint32_t from, const struct xvt_file_keep *keep)
{
	struct xvt_set_list list;
	uint32_t removed = 0;
	uint64_t bytes, next;
	struct file f;
	size_t i;

	if ((!keep->bytes && !keep->ns && !keep->free_bytes) || xvt_set_list(folder, &list))
		return 0;
	bytes = size_of_files(folder, &list) + xvt_file_snapshot_bytes(folder);
	next = next_of_all(folder, &list, from, keep);
	for (i = 0; i < list.count && list.numbers[i] < from; i++) {
		if (!find(&f, folder, list.numbers[i]) || !is_own(&f))
			continue;
		if (!is_too_much(folder, keep, &f, bytes, next) || unlink(f.path))
			break;
		if (f.st.st_nlink == 1) /* else a snapshot keeps it */
			bytes -= bytes_of(&f);
		removed++;
	}
	xvt_set_list_free(&list);
	drop_snapshots(folder, keep, next);
	return removed;
}

bool xvt_file_keep_has_room(const char *folder, uint32_t now, const struct xvt_file_keep *keep,
			    uint64_t bytes)
{
	const uint64_t all = size_of_all(folder);
	uint64_t more = 0;
	struct file f;

	if (all == UINT64_MAX)
		return false;
	if (find(&f, folder, now) && bytes_of(&f) < keep->next_bytes)
		more = keep->next_bytes - bytes_of(&f);
	return (!keep->bytes || all + more + bytes <= keep->bytes) &&
	       !lacks_space(folder, keep, more + bytes);
}
