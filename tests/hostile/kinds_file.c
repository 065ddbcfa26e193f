// SPDX-License-Identifier: GPL-2.0
/*
 * kinds_file.c - what the owner of a region's file can do to a recorder, and no guest can: shrink
 * it, take it away, put another one there.
 */
#define _GNU_SOURCE
#include "guest.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

static void write_one(struct hostile *h, struct ring *r, uint64_t *s)
{
	(void)h;
	honest(r, s);
}

/* Away at once and back at once, so that some programs that map it never notice. */
static void shrink(struct hostile *h, uint64_t *s)
{
	uint64_t to = next(s) % 4 ? next(s) % h->size : 0;

	if (truncate(h->path, (off_t)to) || truncate(h->path, (off_t)h->size))
		xvt_store(&h->stop, 1);
}

static void grow(struct hostile *h, uint64_t *s)
{
	if (truncate(h->path, (off_t)(h->size + next(s) % (1ull << 40))))
		xvt_store(&h->stop, 1);
}

static void punch(struct hostile *h, uint64_t *s)
{
	int fd = open(h->path, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return;
	fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
		  (off_t)(next(s) % h->size & ~4095ull), (off_t)(next(s) % h->size));
	close(fd);
}

static int make_other(struct hostile *h, const char *path, bool format)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), err = -1;

	if (fd < 0)
		return -1;
	if (!ftruncate(fd, (off_t)h->size)) {
		pthread_mutex_lock(&h->lock);
		if (format)
			leave(h);
		err = format ? join(h, fd, true) : 0;
		pthread_mutex_unlock(&h->lock);
	}
	if (err) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Another region under the same name, again and again: QEMU that is started anew, said to be. */
static void replace(struct hostile *h, uint64_t *s)
{
	char path[4096];
	int fd;

	(void)s;
	snprintf(path, sizeof(path), "%s.new", h->path);
	fd = make_other(h, path, true);
	if (fd < 0 || rename(path, h->path))
		xvt_store(&h->stop, 1);
	if (fd >= 0)
		close(fd);
}

/* And one that cannot be had, because it is locked; or is no region. */
static void replace_locked(struct hostile *h, uint64_t *s)
{
	static int held = -1;
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s.new", h->path);
	fd = make_other(h, path, false);
	if (fd < 0)
		return;
	if (next(s) % 2)
		flock(fd, LOCK_EX | LOCK_NB);
	else if (write(fd, "no region", 9) < 9)
		xvt_store(&h->stop, 1);
	if (rename(path, h->path))
		xvt_store(&h->stop, 1);
	if (held >= 0)
		close(held);
	held = fd;
}

static void remove_file(struct hostile *h, uint64_t *s)
{
	(void)s;
	unlink(h->path);
}

static void locks(struct hostile *h, uint64_t *s)
{
	struct flock all = { .l_type = next(s) % 2 ? F_WRLCK : F_UNLCK };
	int fd = open(h->path, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return;
	fcntl(fd, F_OFD_SETLK, &all);
	flock(fd, LOCK_EX | LOCK_NB);
	close(fd);
}

const struct kind file_kinds[] = {
	{ .name = "file-shrinks",
	  .text = "the file shrinks and grows back at once",
	  .flags = KIND_FILE,
	  .ring = write_one,
	  .region = shrink,
	  .rest_us = 5000 },
	{ .name = "file-grows",
	  .text = "the file gets any length above its own",
	  .flags = KIND_FILE,
	  .ring = write_one,
	  .region = grow,
	  .rest_us = 5000 },
	{ .name = "file-holes",
	  .text = "parts of the file become zeros",
	  .flags = KIND_FILE,
	  .ring = write_one,
	  .region = punch,
	  .rest_us = 50000 },
	{ .name = "file-replaced",
	  .text = "another region under its name each 0.2 s",
	  .flags = KIND_FILE,
	  .ring = write_one,
	  .region = replace,
	  .rest_us = 200000 },
	{ .name = "file-locked",
	  .text = "another file under its name each 0.2 s, locked or no region",
	  .flags = KIND_FILE,
	  .ring = write_one,
	  .region = replace_locked,
	  .rest_us = 200000 },
	{ .name = "file-removed",
	  .text = "the file is deleted",
	  .flags = KIND_FILE,
	  .ring = write_one,
	  .region = remove_file },
	{ .name = "locks",
	  .text = "locks on the file, taken and given back",
	  .flags = KIND_FILE,
	  .ring = write_one,
	  .region = locks },
	{ 0 },
};
