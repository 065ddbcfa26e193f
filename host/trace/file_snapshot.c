// SPDX-License-Identifier: GPL-2.0
/* file_snapshot.c - see file_snapshot.h. */
#define _GNU_SOURCE
#include "trace/file_snapshot.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "trace/set.h"
#include "trace/set_name.h"

#define SNAPSHOTS   XVT_SNAPSHOT_FOLDER
#define FOLDER_MODE 0700 /* as its files: for their user only */
#define TIME_FORMAT "%Y%m%dT%H%M%S"
#define TIME_LEN    20u /* of such a time with milliseconds */
#define SECOND_MS   1000u
#define TRIES	    1000u

/* The folders of snapshots, the oldest first. */
struct folders {
	struct dirent **v;
	int n;
};

/* Returns true for a name that xvt_file_snapshot_new() gives. */
static int is_name(const struct dirent *e)
{
	static const char shape[] = "ddddddddTdddddd.dddZ-";
	size_t i;

	for (i = 0; shape[i]; i++) {
		const char c = e->d_name[i];

		if (shape[i] == 'd' ? !isdigit((unsigned char)c) : c != shape[i])
			return false;
	}
	return true;
}

static void list(struct folders *f, const char *folder)
{
	char path[PATH_MAX];

	*f = (struct folders){ .n = 0 };
	if ((size_t)snprintf(path, sizeof(path), "%s/" SNAPSHOTS, folder) < sizeof(path))
		f->n = scandir(path, &f->v, is_name, alphasort);
	if (f->n < 0)
		f->n = 0;
}

static void forget(struct folders *f)
{
	while (f->n > 0)
		free(f->v[--f->n]);
	free(f->v);
}

/* Stores the path of a snapshot. Returns false if it is too long. */
static bool path_of(const char *folder, const char *name, char *path, size_t size)
{
	return (size_t)snprintf(path, size, "%s/" SNAPSHOTS "/%s", folder, name) < size;
}

/* Returns true if the set still has this file. */
static bool set_has(const char *folder, uint32_t number, const struct stat *st)
{
	char path[PATH_MAX];
	struct stat of;

	return xvt_set_path(folder, number, path, sizeof(path)) && !lstat(path, &of) &&
	       of.st_ino == st->st_ino && of.st_dev == st->st_dev;
}

/* Returns the bytes of a snapshot's own trace. */
static uint64_t flight_bytes_of(const char *path)
{
	char file[PATH_MAX];
	struct stat st;

	if ((size_t)snprintf(file, sizeof(file), "%s/" XVT_SNAPSHOT_FLIGHT, path) >= sizeof(file) ||
	    lstat(file, &st) || !S_ISREG(st.st_mode))
		return 0;
	return (uint64_t)st.st_size;
}

/* Returns the bytes of a snapshot's files that the set does not have; files that several snapshots
 * have count as a part of their size in each. */
static uint64_t bytes_of(const char *folder, const char *path)
{
	struct xvt_set_list files;
	char file[PATH_MAX];
	uint64_t bytes = 0;
	struct stat st;
	size_t i;

	if (xvt_set_list(path, &files))
		return 0;
	for (i = 0; i < files.count; i++) {
		if (xvt_set_path(path, files.numbers[i], file, sizeof(file)) && !lstat(file, &st) &&
		    S_ISREG(st.st_mode) && st.st_nlink && !set_has(folder, files.numbers[i], &st))
			bytes += (uint64_t)st.st_size / st.st_nlink;
	}
	xvt_set_list_free(&files);
	return bytes;
}

/* ------------------------------------------------------------------ to make one */

/* ms: milliseconds since 1970 */
static void make_name(char *name, size_t size, const char *what, uint64_t ms)
{
	const time_t second = (time_t)(ms / SECOND_MS);
	struct tm utc;
	size_t used, i;

	gmtime_r(&second, &utc);
	used = strftime(name, size, TIME_FORMAT, &utc);
	snprintf(name + used, size - used, ".%03uZ-%.64s", (unsigned int)(ms % SECOND_MS), what);
	for (i = TIME_LEN; name[i]; i++) {
		if (!isalnum((unsigned char)name[i]) && !strchr(".-", name[i]))
			name[i] = '_';
	}
}

int xvt_file_snapshot_new(const char *folder, const char *what, char *path, size_t size)
{
	char name[XVT_SNAPSHOT_NAME_MAX];
	struct timespec now;
	uint64_t ms;
	unsigned int try;

	if (!path_of(folder, "", path, size))
		return -ENAMETOOLONG;
	if (mkdir(path, FOLDER_MODE) && errno != EEXIST)
		return -errno;
	clock_gettime(CLOCK_REALTIME, &now);
	ms = (uint64_t)now.tv_sec * SECOND_MS + (uint64_t)now.tv_nsec / 1000000;
	for (try = 0; try < TRIES; try++) {
		make_name(name, sizeof(name), what, ms + try);
		if (!path_of(folder, name, path, size))
			return -ENAMETOOLONG;
		if (!mkdir(path, FOLDER_MODE))
			return 0;
		if (errno != EEXIST)
			return -errno;
	}
	return -EEXIST;
}

int xvt_file_snapshot_add(const char *folder, uint32_t number, const char *path)
{
	char from[PATH_MAX], to[PATH_MAX];

	if (!xvt_set_path(folder, number, from, sizeof(from)) ||
	    !xvt_set_path(path, number, to, sizeof(to)))
		return -ENAMETOOLONG;
	return link(from, to) && errno != EEXIST ? -errno : 0;
}

/* ------------------------------------------------------------------ to keep some */

uint32_t xvt_file_snapshot_count(const char *folder)
{
	struct folders f;
	uint32_t n;

	list(&f, folder);
	n = (uint32_t)f.n;
	forget(&f);
	return n;
}

uint64_t xvt_file_snapshot_bytes(const char *folder)
{
	char path[PATH_MAX];
	struct folders f;
	uint64_t bytes = 0;
	int i;

	list(&f, folder);
	for (i = 0; i < f.n; i++) {
		if (path_of(folder, f.v[i]->d_name, path, sizeof(path)))
			bytes += bytes_of(folder, path) + flight_bytes_of(path);
	}
	forget(&f);
	return bytes;
}

/* Returns true if it has removed a file, or the folder. */
static bool drop(const char *path)
{
	struct xvt_set_list files = { 0 };
	char file[PATH_MAX];
	bool dropped = false;
	size_t i;

	if (!xvt_set_list(path, &files)) {
		for (i = 0; i < files.count; i++) {
			if (xvt_set_path(path, files.numbers[i], file, sizeof(file)))
				dropped |= unlink(file) == 0;
		}
		xvt_set_list_free(&files);
	}
	if ((size_t)snprintf(file, sizeof(file), "%s/" XVT_SNAPSHOT_FLIGHT, path) < sizeof(file))
		dropped |= unlink(file) == 0;
	return rmdir(path) == 0 || dropped;
}

/* The words behind the time of a snapshot's name. */
static const char *words(const struct folders *f, int i)
{
	return f->v[i]->d_name + TIME_LEN;
}

/* "-event-g1": those of g1's events. "-control": a client asked for it, so it is no machine's. */
static int count_alike(const struct folders *f, int i)
{
	int n = 0, k;

	if (!strchr(words(f, i) + 1, '-'))
		return 1;
	for (k = 0; k < f->n; k++)
		n += !strcmp(words(f, i), words(f, k));
	return n;
}

bool xvt_file_snapshot_drop(const char *folder)
{
	char path[PATH_MAX];
	struct folders f;
	int i, alike, most;
	bool dropped = false;

	list(&f, folder);
	/* The snapshots of a machine take no place of another machine's. */
	for (most = f.n; most > 0 && !dropped; most--) {
		for (i = 0; i < f.n - 1 && !dropped; i++) {
			alike = count_alike(&f, i);
			dropped = alike == most &&
				  path_of(folder, f.v[i]->d_name, path, sizeof(path)) && drop(path);
		}
	}
	forget(&f);
	return dropped;
}

bool xvt_file_snapshot_trim(const char *folder)
{
	char path[PATH_MAX], file[PATH_MAX];
	struct xvt_set_list files = { 0 };
	bool trimmed = false;
	struct folders f;

	list(&f, folder);
	if (f.n && path_of(folder, f.v[f.n - 1]->d_name, path, sizeof(path)) &&
	    !xvt_set_list(path, &files)) {
		trimmed = files.count > 1 &&
			  xvt_set_path(path, files.numbers[0], file, sizeof(file)) && !unlink(file);
		xvt_set_list_free(&files);
	}
	forget(&f);
	return trimmed;
}
