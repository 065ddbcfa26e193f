// SPDX-License-Identifier: GPL-2.0
/*
 * file_set.c - see file_set.h. When a file is full, the next one is opened first. Then the writer
 * ends the old one, and next() makes the new one the present file. Writes to the old file are left
 * to the loop, and a later call closes that file, so no call waits for the disk. Two files at most
 * are open at a time.
 */
#define _GNU_SOURCE
#include "trace/file_set.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/lock.h"
#include "base/output.h"
#include "trace/set_name.h"

#define FOLDER_MODE 0700 /* as its files: for their user only */
#define NUMBER_MAX  UINT32_MAX
#define TRIES	    16u /* of numbers that others take meanwhile */

struct xvt_file_set {
	struct xvt_sink base;
	struct xvt_loop *loop;
	char *folder; /* NULL: one file */
	int folder_fd;
	char *path; /* of the present file */
	uint32_t number;
	bool patient;
	struct xvt_file_sink *now;
	struct xvt_file_sink *before; /* ended, and not closed yet; or NULL */
	struct xvt_file_sink *then;   /* prepared; or NULL */
	char *then_path;
	uint32_t then_number;
	uint64_t bytes;	       /* of all files */
	uint64_t now_begin;    /* of them, before the present file */
	uint64_t before_begin; /* of them, before that file */
	uint64_t waited_ns;    /* for files that are closed */
	int err;	       /* of the close of a file */
	struct xvt_file_keep keep;
	uint64_t removed;
};

/* Finds the largest number in the folder, 0 if it has none. Returns 0 or -errno. */
static int find_newest(const char *folder, uint32_t *newest)
{
	DIR *dir = opendir(folder);
	struct dirent *e;

	*newest = 0;
	if (!dir)
		return -errno;
	while ((e = readdir(dir))) {
		const uint32_t number = xvt_set_number(e->d_name);

		*newest = number > *newest ? number : *newest;
	}
	closedir(dir);
	return 0;
}

/* Makes the folder if there is none, and locks it. Returns 0 or -errno. */
static int open_folder(struct xvt_file_set *set)
{
	int err;

	set->folder_fd = xvt_output_folder(set->folder, FOLDER_MODE, NULL);
	if (set->folder_fd < 0)
		return set->folder_fd;
	err = xvt_lock_take(set->folder_fd, XVT_LOCK_START_MS);
	if (err)
		return err;
	/* A recorder that was killed may have left it. */
	unlinkat(set->folder_fd, XVT_SET_COPY, 0);
	return find_newest(set->folder, &set->number);
}

/* Bytes go to one of the files. */
static void before(void *arg)
{
	const struct xvt_file_set *set = arg;

	if (set->base.before)
		set->base.before(set->base.before_arg);
}

/* Opens a file. Returns 0 or -errno. */
static int open_sink(struct xvt_file_set *set, struct xvt_file_sink **fs, const char *path)
{
	struct xvt_sink *base;
	int err = xvt_file_sink_new(fs, set->loop, path, set->folder != NULL);

	if (err)
		return err;
	base = xvt_file_sink_base(*fs);
	base->before = before;
	base->before_arg = set;
	xvt_file_sink_expect(*fs, set->keep.next_bytes);
	if (set->patient)
		xvt_file_sink_patient(*fs);
	return 0;
}

/* Opens the file of a number, which must be new. Returns 0 or -errno. */
static int open_number(struct xvt_file_set *set, uint32_t number)
{
	int err;

	set->then_number = number;
	if (asprintf(&set->then_path, "%s/" XVT_SET_NAME, set->folder, set->then_number) < 0) {
		set->then_path = NULL;
		return -ENOMEM;
	}
	err = open_sink(set, &set->then, set->then_path);
	if (err) {
		free(set->then_path);
		set->then_path = NULL;
	}
	return err;
}

/* Opens the file behind `number`. Returns 0 or -errno. */
static int open_next(struct xvt_file_set *set)
{
	uint32_t number = set->number, tries = 0;
	int err;

	do {
		if (number == NUMBER_MAX)
			return -EOVERFLOW;
		err = open_number(set, ++number);
	} while (err == -EEXIST && ++tries < TRIES);
	return err;
}

static void take_next(struct xvt_file_set *set)
{
	free(set->path);
	set->path = set->then_path;
	set->number = set->then_number;
	set->now = set->then;
	set->now_begin = set->bytes;
	set->then = NULL;
	set->then_path = NULL;
}

/* ------------------------------------------------------------------ the sink */

static struct xvt_file_set *set_of(const struct xvt_sink *sink)
{
	return (struct xvt_file_set *)sink;
}

static int close_before(struct xvt_file_set *set)
{
	const struct xvt_sink *base = xvt_file_sink_base(set->before);
	int err;

	set->waited_ns += base->waited_ns(base);
	err = xvt_file_sink_close(set->before);
	set->before = NULL;
	set->err = set->err ? set->err : err;
	return err;
}

/* Closes the file before, once it is written; where its disk was full, tries again. */
static void tend(struct xvt_file_set *set)
{
	struct xvt_sink *base;

	if (!set->before)
		return;
	base = xvt_file_sink_base(set->before);
	if (!xvt_file_sink_would_wait(set->before))
		xvt_file_sink_push(set->before);
	if (base->full(base))
		base->hold(base);
	if (xvt_file_sink_idle(set->before))
		close_before(set);
}

static int set_write(struct xvt_sink *sink, const void *bytes, size_t len)
{
	struct xvt_file_set *set = set_of(sink);
	struct xvt_sink *base = xvt_file_sink_base(set->now);

	set->bytes += len;
	return set->err ? set->err : base->write(base, bytes, len);
}

static uint8_t *set_room(struct xvt_sink *sink, size_t len)
{
	struct xvt_sink *base = xvt_file_sink_base(set_of(sink)->now);

	return base->room(base, len);
}

static uint64_t set_written(const struct xvt_sink *sink)
{
	const struct xvt_file_set *set = set_of(sink);
	const struct xvt_sink *base = xvt_file_sink_base(set->now);
	uint64_t written;

	if (set->before) {
		const struct xvt_sink *before = xvt_file_sink_base(set->before);

		written = set->before_begin + before->written(before);
		if (written < set->now_begin)
			return written;
	}
	return set->now_begin + base->written(base);
}

static int set_settle(struct xvt_sink *sink)
{
	struct xvt_file_set *set = set_of(sink);
	struct xvt_sink *base = xvt_file_sink_base(set->now);
	int err = set->before ? close_before(set) : 0, more = base->settle(base);

	return err ? err : more;
}

static uint64_t set_waited_ns(const struct xvt_sink *sink)
{
	const struct xvt_file_set *set = set_of(sink);
	const struct xvt_sink *base = xvt_file_sink_base(set->now);
	uint64_t ns = set->waited_ns + base->waited_ns(base);

	if (set->before) {
		base = xvt_file_sink_base(set->before);
		ns += base->waited_ns(base);
	}
	return ns;
}

static bool set_hold(struct xvt_sink *sink)
{
	struct xvt_file_set *set = set_of(sink);
	struct xvt_sink *base = xvt_file_sink_base(set->now);

	tend(set);
	return base->hold(base);
}

static bool set_full(const struct xvt_sink *sink)
{
	const struct xvt_sink *base = xvt_file_sink_base(set_of(sink)->now);

	return base->full(base);
}

static int set_space(const struct xvt_sink *sink, uint64_t *left, uint64_t *whole)
{
	const struct xvt_sink *base = xvt_file_sink_base(set_of(sink)->now);

	return base->space(base, left, whole);
}

static int set_prepare(struct xvt_sink *sink)
{
	struct xvt_file_set *set = set_of(sink);

	tend(set);
	if (set->before || xvt_file_sink_would_wait(set->now))
		return -EAGAIN;
	if (set->then)
		return 0;
	set->removed += xvt_file_keep(set->folder, set->number, &set->keep);
	return open_next(set);
}

static void set_next(struct xvt_sink *sink)
{
	struct xvt_file_set *set = set_of(sink);

	set->before = set->now;
	set->before_begin = set->now_begin;
	take_next(set);
	tend(set);
}

/* ------------------------------------------------------------------ begin and end */

static void free_set(struct xvt_file_set *set)
{
	if (set->folder_fd >= 0)
		close(set->folder_fd);
	free(set->folder);
	free(set->path);
	free(set);
}

static int open_first(struct xvt_file_set *set, const char *path)
{
	int err;

	if (!xvt_set_is_folder(path)) {
		set->path = strdup(path);
		return set->path ? open_sink(set, &set->now, path) : -ENOMEM;
	}
	set->folder = strdup(path);
	if (!set->folder)
		return -ENOMEM;
	for (size_t len = strlen(path); len > 1 && path[len - 1] == '/'; len--)
		set->folder[len - 1] = '\0';
	err = open_folder(set);
	if (!err)
		err = open_next(set);
	if (err)
		return err;
	take_next(set);
	set->base.prepare = set_prepare;
	set->base.next = set_next;
	return 0;
}

int xvt_file_set_new(struct xvt_file_set **out, struct xvt_loop *loop, const char *path)
{
	struct xvt_file_set *set = calloc(1, sizeof(*set));
	int err;

	if (!set)
		return -ENOMEM;
	set->loop = loop;
	set->folder_fd = -1;
	err = open_first(set, path);
	if (err) {
		free_set(set);
		return err;
	}
	set->base.write = set_write;
	set->base.room = set_room;
	set->base.written = set_written;
	set->base.settle = set_settle;
	set->base.waited_ns = set_waited_ns;
	set->base.hold = set_hold;
	set->base.full = set_full;
	set->base.space = set_space;
	*out = set;
	return 0;
}

const char *xvt_file_set_why(int err)
{
	if (err == -EBUSY)
		return "another recorder writes into this folder; give each a folder of its own";
	if (err == -EOVERFLOW)
		return "its files have used all numbers; give another folder";
	return xvt_file_sink_why(err);
}

struct xvt_sink *xvt_file_set_base(struct xvt_file_set *set)
{
	return &set->base;
}

const char *xvt_file_set_path(const struct xvt_file_set *set)
{
	return set->path;
}

uint32_t xvt_file_set_at(const struct xvt_file_set *set)
{
	return set->number;
}

uint32_t xvt_file_set_oldest_open(const struct xvt_file_set *set)
{
	return set->before ? set->number - 1 : set->number;
}

void xvt_file_set_keep(struct xvt_file_set *set, const struct xvt_file_keep *keep)
{
	set->keep = *keep;
	xvt_file_sink_expect(set->now, keep->next_bytes);
	xvt_file_set_make_room(set, keep);
}

void xvt_file_set_make_room(struct xvt_file_set *set, const struct xvt_file_keep *keep)
{
	if (set->folder)
		set->removed += xvt_file_keep(set->folder, set->number, keep);
}

uint64_t xvt_file_set_removed(const struct xvt_file_set *set)
{
	return set->removed;
}

void xvt_file_set_patient(struct xvt_file_set *set)
{
	set->patient = true;
	xvt_file_sink_patient(set->now);
}

int xvt_file_set_push(struct xvt_file_set *set)
{
	tend(set);
	return set->err ? set->err : xvt_file_sink_push(set->now);
}

bool xvt_file_set_would_wait(const struct xvt_file_set *set)
{
	return xvt_file_sink_would_wait(set->now);
}

void xvt_file_set_discard(struct xvt_file_set *set)
{
	xvt_file_sink_discard(set->now);
}

int xvt_file_set_close(struct xvt_file_set *set)
{
	int err = set->before ? close_before(set) : 0, more;

	if (set->then) { /* prepared, and not used */
		xvt_file_sink_discard(set->then);
		xvt_file_sink_close(set->then);
		free(set->then_path);
	}
	more = xvt_file_sink_close(set->now);
	err = set->err ? set->err : err ? err : more;
	free_set(set);
	return err;
}
