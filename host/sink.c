// SPDX-License-Identifier: GPL-2.0
/*
 * sink.c - a few buffers in turn: one is filled while others are being written. Backs up
 * (waits in the loop) when all are under way, so memory is bounded; the rings then fill and
 * the guests drop and count.
 *
 * Where the file system allows it, the buffers go to the disk without a copy in the page cache:
 * that copy costs more than drain and merge together, and a trace is read later, if at all. Then
 * only whole blocks can be written. A buffer that leaves before it is full is padded with zeros,
 * and its last block is written again with what follows; at the end the file is cut.
 */
#define _GNU_SOURCE
#include "sink.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define BUFFERS	    6
#define BUFFER_SIZE (1u << 20)
#define BLOCK	    4096u /* no disk asks for more */
#define WAIT_NS	    1000000000u

struct buffer {
	struct xvt_op op;
	struct xvt_file_sink *fs;
	uint8_t *bytes;
	uint32_t len;	  /* filled */
	uint32_t carried; /* the first of them are in the file already */
	uint32_t whole;	  /* to be written: len, and zeros up to the end of a block */
	uint32_t done;	  /* written */
	uint64_t off;
	bool busy;
	bool direct; /* on its way past the page cache */
};

struct xvt_file_sink {
	struct xvt_sink base;
	struct xvt_loop *loop;
	int fd;
	int err;
	bool direct;
	bool padded;	 /* zeros have been written behind the end */
	bool one_by_one; /* it has no offsets: what is written first comes first */
	bool begun;	 /* what the file held before is gone */
	bool discarded;
	char *made;    /* its path, if it was not there before */
	uint64_t good; /* lowest offset that is not known to be written, once err is set */
	uint64_t waited_ns;
	uint64_t since_ns; /* waiting now, 0: not */
	unsigned int current;
	uint8_t *room; /* somebody builds the next bytes there */
	uint8_t *area;
	struct buffer buffers[BUFFERS];
};

static int submit(struct buffer *b)
{
	b->direct = b->fs->direct;
	return xvt_loop_write(b->fs->loop, &b->op, b->fs->fd, b->bytes + b->done,
			      b->whole - b->done, b->off + b->done);
}

/* Some file systems open a file so, and refuse to write it so: each of those that are on their
 * way. Returns whether it may be tried again. */
static bool give_up_direct(struct xvt_file_sink *fs)
{
	int flags = fcntl(fs->fd, F_GETFL);

	fs->direct = false;
	return flags >= 0 && fcntl(fs->fd, F_SETFL, flags & ~O_DIRECT) == 0;
}

static void failed(struct buffer *b, int err)
{
	struct xvt_file_sink *fs = b->fs;
	uint64_t good;

	b->busy = false;
	if (!fs->err)
		fs->err = err;
	/* What was carried over is in the file, although all of this write may have failed. */
	good = b->off + (b->done > b->carried ? b->done : b->carried);
	if (good < fs->good)
		fs->good = good;
}

static void written(struct xvt_op *op, int res)
{
	struct buffer *b = (struct buffer *)op;

	if (res == -EINTR || res == -EAGAIN ||
	    (res == -EINVAL && b->direct && give_up_direct(b->fs)))
		res = 0;
	else if (res == 0)
		res = -EIO;
	if (res > 0) {
		b->done += (uint32_t)res;
		if (b->done < b->whole && b->fs->direct)
			b->done &= ~(BLOCK - 1);
		res = 0;
	}
	if (res == 0 && b->done < b->whole)
		res = submit(b);
	else
		b->busy = false;
	if (res < 0)
		failed(b, res);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/*
 * In the middle of whatever our caller does. Nobody else is called meanwhile but who only looks:
 * who learns something of a machine may write a note, into a buffer that is on its way, and change
 * rings that a crew works on.
 */
static int wait_for(struct buffer *b)
{
	struct xvt_file_sink *fs = b->fs;
	int n = 0;

	if (!b->busy)
		return fs->err;
	fs->since_ns = now_ns();
	while (b->busy && n >= 0)
		n = xvt_loop_run_only(fs->loop, WAIT_NS, written);
	if (n < 0 && !fs->err)
		fs->err = n;
	fs->waited_ns += now_ns() - fs->since_ns;
	fs->since_ns = 0;
	return fs->err;
}

/* The block that b's end lies in is written again with what follows it. Also where direct I/O was
 * given up meanwhile: b's zeros may still be on their way. */
static void carry_on(const struct buffer *b, struct buffer *next)
{
	uint32_t tail = b->whole > b->len ? b->len & (BLOCK - 1) : 0;

	next->off = b->off + b->len - tail;
	next->len = tail;
	next->carried = tail;
	memcpy(next->bytes, b->bytes + b->len - tail, tail);
}

/* Two writes of one block must not pass each other, nor any two into a pipe. */
static bool waits_for(const struct xvt_file_sink *fs, const struct buffer *b,
		      const struct buffer *before)
{
	return (b->carried || fs->one_by_one) && before->busy;
}

bool xvt_file_sink_would_wait(const struct xvt_file_sink *fs)
{
	return waits_for(fs, &fs->buffers[fs->current],
			 &fs->buffers[(fs->current + BUFFERS - 1) % BUFFERS]) ||
	       fs->buffers[(fs->current + 1) % BUFFERS].busy;
}

/* Only now: whoever fails before he has anything to write leaves the file as it was. */
static int begin(struct xvt_file_sink *fs)
{
	struct stat st;

	if (fs->begun)
		return 0;
	fs->begun = true;
	if (fstat(fs->fd, &st) || (S_ISREG(st.st_mode) && ftruncate(fs->fd, 0)))
		fs->err = -errno;
	return fs->err;
}

int xvt_file_sink_push(struct xvt_file_sink *fs)
{
	struct buffer *b = &fs->buffers[fs->current];
	struct buffer *before = &fs->buffers[(fs->current + BUFFERS - 1) % BUFFERS];
	struct buffer *next = &fs->buffers[(fs->current + 1) % BUFFERS];
	int err;

	if (b->len == b->carried || fs->room || fs->err)
		return fs->err;
	if (begin(fs) || (waits_for(fs, b, before) && wait_for(before)))
		return fs->err;
	b->done = 0;
	b->whole = b->len;
	if (fs->direct) {
		b->whole = (b->len + BLOCK - 1) & ~(BLOCK - 1);
		memset(b->bytes + b->len, 0, b->whole - b->len);
		fs->padded |= b->whole > b->len;
	}
	b->busy = true;
	err = submit(b);
	if (err) {
		failed(b, err);
		return err;
	}
	if (wait_for(next))
		return fs->err;
	carry_on(b, next);
	fs->current = (fs->current + 1) % BUFFERS;
	return fs->err;
}

static int sink_write(struct xvt_sink *sink, const void *bytes, size_t len)
{
	struct xvt_file_sink *fs = (struct xvt_file_sink *)sink;
	const uint8_t *from = bytes;

	if (from == fs->room && !fs->err) {
		fs->buffers[fs->current].len += (uint32_t)len;
		len = 0;
	}
	fs->room = NULL;
	while (len && !fs->err) {
		struct buffer *b = &fs->buffers[fs->current];
		size_t part = BUFFER_SIZE - b->len;

		if (part > len)
			part = len;
		memcpy(b->bytes + b->len, from, part);
		b->len += (uint32_t)part;
		from += part;
		len -= part;
		if (b->len == BUFFER_SIZE)
			xvt_file_sink_push(fs);
	}
	return fs->err;
}

static uint8_t *sink_room(struct xvt_sink *sink, size_t len)
{
	struct xvt_file_sink *fs = (struct xvt_file_sink *)sink;
	struct buffer *b = &fs->buffers[fs->current];

	/* After an error the current one may be under way. */
	if (fs->err || (BUFFER_SIZE - b->len < len && xvt_file_sink_push(fs)))
		return NULL;
	b = &fs->buffers[fs->current];
	fs->room = BUFFER_SIZE - b->len < len ? NULL : b->bytes + b->len;
	return fs->room;
}

static uint64_t sink_written(const struct xvt_sink *sink)
{
	const struct xvt_file_sink *fs = (const struct xvt_file_sink *)sink;
	const struct buffer *b = &fs->buffers[fs->current];
	uint64_t end = b->off + b->carried;
	unsigned int i;

	/* They end in any order; what lies before the first that has not is there. */
	for (i = 0; i < BUFFERS; i++) {
		b = &fs->buffers[i];
		if (b->busy && b->off + b->done < end)
			end = b->off + b->done;
	}
	return fs->err && fs->good < end ? fs->good : end;
}

static bool any_busy(const struct xvt_file_sink *fs)
{
	bool busy = false;
	unsigned int i;

	for (i = 0; i < BUFFERS; i++)
		busy |= fs->buffers[i].busy;
	return busy;
}

static int sink_settle(struct xvt_sink *sink)
{
	struct xvt_file_sink *fs = (struct xvt_file_sink *)sink;
	int n = 0;

	xvt_file_sink_push(fs);
	while (any_busy(fs) && n >= 0)
		n = xvt_loop_run(fs->loop, WAIT_NS);
	if (n < 0 && !fs->err)
		fs->err = n;
	return fs->err;
}

static uint64_t sink_waited_ns(const struct xvt_sink *sink)
{
	const struct xvt_file_sink *fs = (const struct xvt_file_sink *)sink;

	return fs->waited_ns + (fs->since_ns ? now_ns() - fs->since_ns : 0);
}

static bool has_offsets(int fd)
{
	return lseek(fd, 0, SEEK_CUR) >= 0;
}

/* Pipes know O_DIRECT, too, and mean something else by it. */
static bool try_direct(int fd)
{
	struct stat st;
	int flags = fcntl(fd, F_GETFL);

	return flags >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	       fcntl(fd, F_SETFL, flags | O_DIRECT) == 0;
}

/* As O_CREAT does it, but for what it held, and with a note of whether it was there. */
static int open_file(struct xvt_file_sink *fs, const char *path)
{
	fs->fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fs->fd < 0 && errno == ENOENT) {
		fs->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
		if (fs->fd >= 0)
			fs->made = strdup(path);
		else if (errno == EEXIST) /* a link to nothing, or somebody was faster */
			fs->fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	}
	return fs->fd < 0 ? -errno : 0;
}

int xvt_file_sink_new(struct xvt_file_sink **out, struct xvt_loop *loop, const char *path)
{
	struct xvt_file_sink *fs = calloc(1, sizeof(*fs));
	struct iovec area;
	unsigned int i;
	int err;

	if (!fs)
		return -ENOMEM;
	fs->area = aligned_alloc(BLOCK, (size_t)BUFFERS * BUFFER_SIZE);
	if (!fs->area) {
		free(fs);
		return -ENOMEM;
	}
	err = open_file(fs, path);
	if (err) {
		free(fs->area);
		free(fs);
		return err;
	}
	fs->direct = try_direct(fs->fd);
	fs->one_by_one = !has_offsets(fs->fd);
	area.iov_base = fs->area;
	area.iov_len = (size_t)BUFFERS * BUFFER_SIZE;
	xvt_loop_register(loop, &area, 1);
	fs->base.write = sink_write;
	fs->base.room = sink_room;
	fs->base.written = sink_written;
	fs->base.settle = sink_settle;
	fs->base.waited_ns = sink_waited_ns;
	fs->loop = loop;
	fs->good = UINT64_MAX;
	for (i = 0; i < BUFFERS; i++) {
		fs->buffers[i].op.done = written;
		fs->buffers[i].fs = fs;
		fs->buffers[i].bytes = fs->area + (size_t)i * BUFFER_SIZE;
	}
	*out = fs;
	return 0;
}

const char *xvt_file_sink_why(int err)
{
	return err == -ENOENT ? "the folder does not exist; make it first" : strerror(-err);
}

struct xvt_sink *xvt_file_sink_base(struct xvt_file_sink *fs)
{
	return &fs->base;
}

/* Without the zeros of the last block; after an error, without what did not get there. */
static uint64_t true_end(const struct xvt_file_sink *fs)
{
	const struct buffer *b = &fs->buffers[fs->current];
	uint64_t end = b->off + b->len;

	return fs->err && fs->good < end ? fs->good : end;
}

void xvt_file_sink_discard(struct xvt_file_sink *fs)
{
	fs->discarded = true;
	fs->err = fs->err ? fs->err : -ECANCELED;
}

int xvt_file_sink_close(struct xvt_file_sink *fs)
{
	int err = sink_settle(&fs->base);

	/* The loop has failed. The kernel may still read these buffers and write the file, and a
	 * later run of the loop may call us: they stay, as long as the process. */
	if (any_busy(fs))
		return err;
	if (!fs->discarded && begin(fs) && !err)
		err = fs->err;
	if (fs->discarded && fs->made)
		unlink(fs->made);
	if ((err ? fs->good != UINT64_MAX : fs->padded) && ftruncate(fs->fd, (off_t)true_end(fs)) &&
	    !err)
		err = -errno;
	if (close(fs->fd) && !err)
		err = -errno;
	free(fs->made);
	free(fs->area);
	free(fs);
	return err;
}
