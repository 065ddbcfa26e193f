// SPDX-License-Identifier: GPL-2.0
/*
 * sink.c - a few buffers in turn: one is filled while others are being written. Backs up
 * (waits in the loop) when all are under way, so memory is bounded; the rings then fill and
 * the guests drop and count.
 */
#define _GNU_SOURCE
#include "sink.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BUFFERS	    8
#define BUFFER_SIZE (512u << 10)

struct buffer {
	struct xvt_op op;
	struct xvt_file_sink *fs;
	uint8_t *bytes;
	uint32_t len;  /* filled */
	uint32_t done; /* written */
	uint64_t off;
	bool busy;
};

struct xvt_file_sink {
	struct xvt_sink base;
	struct xvt_loop *loop;
	int fd;
	int err;
	uint64_t good; /* lowest offset that is not known to be written, once err is set */
	uint64_t off;  /* where the next buffer goes */
	unsigned int current;
	uint8_t *area;
	struct buffer buffers[BUFFERS];
};

static void written(struct xvt_op *op, int res)
{
	struct buffer *b = (struct buffer *)op;
	struct xvt_file_sink *fs = b->fs;

	if (res == -EINTR || res == -EAGAIN)
		res = 0;
	else if (res == 0)
		res = -EIO;
	if (res > 0) {
		b->done += (uint32_t)res;
		res = 0;
	}
	if (res == 0 && b->done < b->len)
		res = xvt_loop_write(fs->loop, &b->op, fs->fd, b->bytes + b->done, b->len - b->done,
				     b->off + b->done);
	else
		b->busy = false;
	if (res < 0) {
		b->busy = false;
		if (!fs->err)
			fs->err = res;
		if (b->off + b->done < fs->good)
			fs->good = b->off + b->done;
	}
}

int xvt_file_sink_push(struct xvt_file_sink *fs)
{
	struct buffer *b = &fs->buffers[fs->current];
	int err;

	if (!b->len || b->busy || fs->err)
		return fs->err;
	b->off = fs->off;
	b->done = 0;
	b->busy = true;
	fs->off += b->len;
	err = xvt_loop_write(fs->loop, &b->op, fs->fd, b->bytes, b->len, b->off);
	if (err) {
		b->busy = false;
		fs->err = err;
		return err;
	}
	fs->current = (fs->current + 1) % BUFFERS;
	b = &fs->buffers[fs->current];
	while (b->busy) {
		err = xvt_loop_run(fs->loop, 1000000000u);
		if (err < 0) {
			fs->err = err;
			return err;
		}
	}
	b->len = 0;
	return fs->err;
}

static int sink_write(struct xvt_sink *sink, const void *bytes, size_t len)
{
	struct xvt_file_sink *fs = (struct xvt_file_sink *)sink;
	const uint8_t *from = bytes;

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

int xvt_file_sink_new(struct xvt_file_sink **out, struct xvt_loop *loop, const char *path)
{
	struct xvt_file_sink *fs = calloc(1, sizeof(*fs));
	struct iovec area;
	unsigned int i;
	int err;

	if (!fs)
		return -ENOMEM;
	fs->area = aligned_alloc(4096, (size_t)BUFFERS * BUFFER_SIZE);
	if (!fs->area) {
		free(fs);
		return -ENOMEM;
	}
	fs->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fs->fd < 0) {
		err = -errno;
		free(fs->area);
		free(fs);
		return err;
	}
	area.iov_base = fs->area;
	area.iov_len = (size_t)BUFFERS * BUFFER_SIZE;
	xvt_loop_register(loop, &area, 1);
	fs->base.write = sink_write;
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

struct xvt_sink *xvt_file_sink_base(struct xvt_file_sink *fs)
{
	return &fs->base;
}

int xvt_file_sink_close(struct xvt_file_sink *fs)
{
	unsigned int i;
	int err;

	xvt_file_sink_push(fs);
	for (i = 0; i < BUFFERS; i++) {
		while (fs->buffers[i].busy) {
			if (xvt_loop_run(fs->loop, 1000000000u) < 0)
				break;
		}
	}
	err = fs->err;
	if (err && fs->good != UINT64_MAX && ftruncate(fs->fd, (off_t)fs->good) && !err)
		err = -errno;
	if (close(fs->fd) && !err)
		err = -errno;
	free(fs->area);
	free(fs);
	return err;
}
