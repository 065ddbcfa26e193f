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

#include "base/u64.h"
#include "trace/file_snapshot.h"
#include "trace/format.h"
#include "trace/set.h"
#include "trace/set_name.h"

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

	if (f->st.st_uid != geteuid())
		return false;
	fd = open(f->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return false;
	n = pread(fd, &magic, sizeof(magic), 0);
	close(fd);
	return n == 0 || (n == sizeof(magic) && magic == XVT_CHUNK_MAGIC);
}

static uint64_t size_of_all(const char *folder, const struct xvt_set_list *list)
{
	uint64_t bytes = xvt_file_snapshot_bytes(folder);
	struct file f;
	size_t i;

	for (i = 0; i < list->count; i++)
		bytes += find(&f, folder, list->numbers[i]) ? (uint64_t)f.st.st_size : 0;
	return bytes;
}

static bool is_old(const struct file *f, uint64_t ns)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec > f->st.st_mtim.tv_sec &&
	       (uint64_t)(now.tv_sec - f->st.st_mtim.tv_sec) > ns / 1000000000u;
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

/* What only snapshots have is half of the set at most, and goes last where the disk lacks space.
 * The newest snapshot, too, whose size a guest chooses, has no more than that. */
static void drop_snapshots(const char *folder, const struct xvt_file_keep *keep, uint64_t next)
{
	while (((keep->bytes && xvt_file_snapshot_bytes(folder) > keep->bytes / 2) ||
		(keep->free_bytes && lacks_space(folder, keep, next))) &&
	       xvt_file_snapshot_drop(folder))
		;
	while (keep->bytes && xvt_file_snapshot_bytes(folder) > keep->bytes / 2 &&
	       xvt_file_snapshot_trim(folder))
		;
}

/* Returns the bytes that the next file and a copy may take. */
static uint64_t next_of_all(const char *folder, const struct xvt_set_list *list,
			    const struct xvt_file_keep *keep)
{
	uint64_t most = keep->next_bytes;
	struct file f;
	size_t i;

	for (i = 0; keep->copies && i < list->count; i++) {
		if (find(&f, folder, list->numbers[i]))
			most = xvt_u64_larger(most, (uint64_t)f.st.st_size);
	}
	return keep->next_bytes + (keep->copies ? most : 0);
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
	bytes = size_of_all(folder, &list);
	next = next_of_all(folder, &list, keep);
	for (i = 0; i < list.count && list.numbers[i] < from; i++) {
		if (!find(&f, folder, list.numbers[i]) || !is_own(&f))
			continue;
		if (!is_too_much(folder, keep, &f, bytes, next) || unlink(f.path))
			break;
		if (f.st.st_nlink == 1) /* else a snapshot keeps it */
			bytes -= (uint64_t)f.st.st_size;
		removed++;
	}
	xvt_set_list_free(&list);
	drop_snapshots(folder, keep, next);
	return removed;
}

bool xvt_file_keep_has_room(const char *folder, uint32_t now, const struct xvt_file_keep *keep,
			    uint64_t bytes)
{
	struct xvt_set_list list;
	uint64_t all, more = 0;
	struct file f;

	if (xvt_set_list(folder, &list))
		return false;
	all = size_of_all(folder, &list);
	xvt_set_list_free(&list);
	if (find(&f, folder, now) && (uint64_t)f.st.st_size < keep->next_bytes)
		more = keep->next_bytes - (uint64_t)f.st.st_size;
	return (!keep->bytes || all + more + bytes <= keep->bytes) &&
	       !lacks_space(folder, keep, more + bytes);
}
