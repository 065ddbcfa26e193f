// SPDX-License-Identifier: GPL-2.0
/* faults.c - see faults.h. */
#define _GNU_SOURCE
#include "faults.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/compress.h"
#include "base/loop.h"

#define WAITING_MAX 64u

struct faults faults;

int __real_xvt_loop_write(struct xvt_loop *loop, struct xvt_op *op, int fd, const void *buf,
			  uint32_t len, uint64_t off);
int __wrap_xvt_loop_write(struct xvt_loop *loop, struct xvt_op *op, int fd, const void *buf,
			  uint32_t len, uint64_t off);
int __real_xvt_loop_read(struct xvt_loop *loop, struct xvt_op *op, int fd, void *buf, uint32_t len,
			 uint64_t off);
int __wrap_xvt_loop_read(struct xvt_loop *loop, struct xvt_op *op, int fd, void *buf, uint32_t len,
			 uint64_t off);
int __real_xvt_loop_run(struct xvt_loop *loop, uint64_t timeout_ns);
int __wrap_xvt_loop_run(struct xvt_loop *loop, uint64_t timeout_ns);
int __real_xvt_loop_run_only(struct xvt_loop *loop, uint64_t timeout_ns,
			     void (*done)(struct xvt_op *op, int res));
int __wrap_xvt_loop_run_only(struct xvt_loop *loop, uint64_t timeout_ns,
			     void (*done)(struct xvt_op *op, int res));
void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_realloc(void *old, size_t size);
int __real_fallocate(int fd, int mode, off_t off, off_t len);
int __wrap_fallocate(int fd, int mode, off_t off, off_t len);
int __real_xvt_packer_new(struct xvt_packer **out, unsigned int level);
int __wrap_xvt_packer_new(struct xvt_packer **out, unsigned int level);

/* --- a disk that takes its time --- */

static struct waiting {
	struct xvt_op *op;
	const void *buf;
	uint64_t off;
	uint32_t len;
	int fd;
	bool refused;
} waiting[WAITING_MAX];
static unsigned int nr_waiting;

int __wrap_xvt_loop_write(struct xvt_loop *loop, struct xvt_op *op, int fd, const void *buf,
			  uint32_t len, uint64_t off)
{
	if (!faults.any_order && !faults.space)
		return __real_xvt_loop_write(loop, op, fd, buf, len, off);
	ck_assert_uint_lt(nr_waiting, WAITING_MAX);
	waiting[nr_waiting++] = (struct waiting){
		.op = op,
		.buf = buf,
		.off = off,
		.len = len,
		.fd = fd,
		.refused = faults.refuse_direct && fcntl(fd, F_GETFL) & O_DIRECT,
	};
	return 0;
}

bool faults_waiting(void)
{
	return nr_waiting;
}

/* As a disk does that has so much space: a part of it may still fit. */
static int write_some(const struct waiting *w)
{
	const off_t off = (off_t)w->off, left = faults.space - off;
	size_t len = w->len;
	ssize_t n;

	if (w->refused)
		return -EINVAL;
	if (faults.space && left <= 0)
		return -ENOSPC;
	if (faults.space && (off_t)len > left)
		len = (size_t)left;
	n = pwrite(w->fd, w->buf, len, off);
	return n < 0 ? -errno : (int)n;
}

static void end_one(void)
{
	unsigned int i = (unsigned int)rand() % nr_waiting;
	struct waiting w = waiting[i];
	int res = write_some(&w);

	waiting[i] = waiting[--nr_waiting];
	w.op->done(w.op, res);
}

int __wrap_fallocate(int fd, int mode, off_t off, off_t len)
{
	errno = faults.no_fallocate ? EOPNOTSUPP : ENOSPC;
	if (faults.no_fallocate || (faults.space && off + len > faults.space))
		return -1;
	return __real_fallocate(fd, mode, off, len);
}

int __wrap_xvt_loop_run(struct xvt_loop *loop, uint64_t timeout_ns)
{
	if (faults.at_loop)
		faults.at_loop();
	if (faults.loop_err)
		return faults.loop_err;
	if (!nr_waiting)
		return __real_xvt_loop_run(loop, timeout_ns);
	end_one();
	return 1;
}

int __wrap_xvt_loop_run_only(struct xvt_loop *loop, uint64_t timeout_ns,
			     void (*done)(struct xvt_op *op, int res))
{
	if (faults.loop_err)
		return faults.loop_err;
	if (!nr_waiting)
		return __real_xvt_loop_run_only(loop, timeout_ns, done);
	end_one();
	return 1;
}

/* --- a file that cannot be read --- */

int __wrap_xvt_loop_read(struct xvt_loop *loop, struct xvt_op *op, int fd, void *buf, uint32_t len,
			 uint64_t off)
{
	faults.reads++;
	return __real_xvt_loop_read(loop, op, faults.read_fails ? -1 : fd, buf,
				    faults.read_short ? len / 2 : len, off);
}

/* --- memory that is short --- */

static bool too_much(size_t size)
{
	return faults.memory_max && size > faults.memory_max;
}

void *__wrap_malloc(size_t size)
{
	return too_much(size) ? NULL : __real_malloc(size);
}

void *__wrap_realloc(void *old, size_t size)
{
	return too_much(size) ? NULL : __real_realloc(old, size);
}

size_t memory_in_use(void)
{
	struct mallinfo2 m = mallinfo2();

	return m.uordblks + m.hblkhd;
}

int __wrap_xvt_packer_new(struct xvt_packer **out, unsigned int level)
{
	*out = NULL;
	return faults.packer_err ? faults.packer_err : __real_xvt_packer_new(out, level);
}
