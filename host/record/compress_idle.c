// SPDX-License-Identifier: GPL-2.0
/*
 * compress_idle.c - see compress_idle.h. The recorder alone removes files of the set, links them
 * into snapshots and gives a copy the name of its file, between two passes. A copy replaces only
 * the file that was read; else the copy is dropped.
 */
#include "record/compress_idle.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/child.h"
#include "base/container.h"
#include "base/log.h"
#include "options/opt.h"
#include "record/compressor.h"
#include "trace/set.h"
#include "trace/set_name.h"

#define ASK_NS	 100000000u    /* between two looks for an answer */
#define AGAIN_NS 5000000000ull /* until there may be space again */

struct xvt_compress_idle {
	struct xvt_recording *rec;
	const char *folder;
	struct xvt_compressor *process;
	uint32_t next;		/* the files before this one were looked at */
	uint32_t busy;		/* the file that is compressed; 0: none */
	uint32_t made_room;	/* the last file for which old ones were removed */
	struct xvt_timer timer; /* a recorder that sleeps is not woken up for it */
	struct xvt_compress_idle_sums sums;
};

static void wait_until(struct xvt_compress_idle *c, uint64_t ns)
{
	xvt_timer_arm(&c->timer, ns, XVT_TIMER_NEVER);
}

static void on_time(struct xvt_timer *timer, uint64_t now_ns);

int xvt_compress_idle_new(struct xvt_compress_idle **out, struct xvt_recording *rec,
			  const char *folder, unsigned int level)
{
	struct xvt_compress_idle *c = calloc(1, sizeof(*c));
	int err;

	if (!c)
		return -ENOMEM;
	c->rec = rec;
	c->folder = folder;
	c->next = 1;
	err = xvt_compressor_new(&c->process, folder, level);
	if (err) {
		free(c);
	} else {
		xvt_recording_needs_helper(rec, xvt_compressor_helper(c->process));
		xvt_timer_add(&rec->after_pass, &c->timer, on_time);
		wait_until(c, 0);
		*out = c;
	}
	return err;
}

static bool path_of_copy(const struct xvt_compress_idle *c, char path[PATH_MAX])
{
	return (size_t)snprintf(path, PATH_MAX, "%s/" XVT_SET_COPY, c->folder) < PATH_MAX;
}

static void remove_copy(const struct xvt_compress_idle *c)
{
	char copy[PATH_MAX];

	if (path_of_copy(c, copy))
		unlink(copy);
}

/* Ends the process, and with it what it has in hand. */
static void end_process(struct xvt_compress_idle *c)
{
	xvt_compressor_free(c->process);
	c->process = NULL;
	if (c->busy)
		remove_copy(c);
	c->busy = 0;
}

void xvt_compress_idle_free(struct xvt_compress_idle *c)
{
	if (!c)
		return;
	xvt_timer_remove(&c->timer);
	end_process(c);
	free(c);
}

static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_ino == b->st_ino && a->st_dev == b->st_dev && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* Gives the copy the name of its file. The file may have been removed, or be in a snapshot. */
static int replace(struct xvt_compress_idle *c, const struct xvt_compressed *done)
{
	char path[PATH_MAX], copy[PATH_MAX];
	struct stat st;

	if (!xvt_set_path(c->folder, c->busy, path, sizeof(path)) || !path_of_copy(c, copy))
		return -ENAMETOOLONG;
	if (lstat(path, &st))
		return -errno;
	if (!is_same(&st, &done->st) || st.st_nlink != 1)
		return -EMLINK;
	if (rename(copy, path))
		return -errno;
	c->sums.files++;
	c->sums.before += (uint64_t)st.st_size;
	c->sums.after += done->bytes;
	return 0;
}

static void warn(const struct xvt_compress_idle *c, int err)
{
	char name[XVT_SET_NAME_MAX];

	snprintf(name, sizeof(name), XVT_SET_NAME, c->busy);
	xvt_recording_end_line(c->rec);
	if (err == -ECHILD)
		xvt_warn("--compress idle",
			 "%s stays as it is: the process that read it was killed", name);
	else if (err == -ETIMEDOUT)
		xvt_warn("--compress idle",
			 "%s stays as it is: the process that read it did nothing for %u s, since "
			 "it was stopped or a disk does not answer, and was killed",
			 name, XVT_CHILD_STILL_MS / 1000);
	else
		xvt_warn("--compress idle", "%s stays as it is: %s", name, strerror(-err));
}

/* These are no fault: the file is compressed, of a recorder that was killed, in a snapshot, gone.
 */
static bool is_usual(int err)
{
	return err == -EALREADY || err == -EFBIG || err == -EBADMSG || err == -EMLINK ||
	       err == -EPERM || err == -ENOENT;
}

/* Returns true if the next file may begin at once. */
static bool take_answer(struct xvt_compress_idle *c, const struct xvt_compressed *done,
			uint64_t now_ns)
{
	int err = done->err;
	bool full;

	if (!err) {
		err = replace(c, done);
		if (err)
			remove_copy(c);
	}
	full = err == -ENOSPC || err == -EDQUOT;
	if (full)
		wait_until(c, now_ns + AGAIN_NS);
	else
		c->next = c->busy + 1;
	if (err && !full && !is_usual(err))
		warn(c, err);
	c->busy = 0;
	return !full;
}

/* Returns the next finished file to look at; 0: there is none. */
static uint32_t find_next(struct xvt_compress_idle *c)
{
	const uint32_t open = xvt_file_set_oldest_open(c->rec->sink);
	struct xvt_set_list list;
	uint32_t found = 0;
	size_t i;

	if (c->next >= open || xvt_set_list(c->folder, &list))
		return 0;
	for (i = 0; i < list.count && !found && list.numbers[i] < open; i++) {
		if (list.numbers[i] >= c->next)
			found = list.numbers[i];
	}
	xvt_set_list_free(&list);
	c->next = found ? found : open;
	return found;
}

/* Returns whether a copy of the file is within the limits of the set. */
static bool has_room(const struct xvt_compress_idle *c, uint32_t number)
{
	char path[PATH_MAX];
	struct stat st;

	return xvt_set_path(c->folder, number, path, sizeof(path)) && !lstat(path, &st) &&
	       xvt_file_keep_has_room(c->folder, xvt_file_set_at(c->rec->sink), &c->rec->keep,
				      (uint64_t)st.st_size);
}

/*
 * Returns whether a copy of the file fits. A file that became larger than was expected when the
 * recorder went on to the next one may take its copy's room: for each file the oldest ones are
 * removed once, earlier than before the next file, if the set is of limited size.
 */
static bool make_room(struct xvt_compress_idle *c, uint32_t number)
{
	if (has_room(c, number))
		return true;
	if (!c->rec->keep.bytes || c->made_room == number)
		return false;
	c->made_room = number;
	xvt_file_set_keep(c->rec->sink, &c->rec->keep);
	return has_room(c, number);
}

static void begin_next(struct xvt_compress_idle *c, uint64_t now_ns)
{
	const uint32_t number = find_next(c);

	if (!number)
		return;
	if (!make_room(c, number))
		wait_until(c, now_ns + AGAIN_NS);
	else if (!xvt_compressor_ask(c->process, number)) /* else it has died */
		c->busy = number;
}

static void on_time(struct xvt_timer *timer, uint64_t now_ns)
{
	struct xvt_compress_idle *c = container_of(timer, struct xvt_compress_idle, timer);
	struct xvt_compressed done;

	wait_until(c, now_ns + ASK_NS);
	if (!c->busy) {
		begin_next(c, now_ns);
		return;
	}
	if (!xvt_compressor_answer(c->process, &done) && take_answer(c, &done, now_ns))
		begin_next(c, now_ns);
}

struct xvt_compress_idle_sums xvt_compress_idle_sums(const struct xvt_compress_idle *c)
{
	return c->sums;
}
