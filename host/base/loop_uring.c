// SPDX-License-Identifier: GPL-2.0
/* loop_uring.c - the only file that includes liburing. */
#define _GNU_SOURCE
#include "base/loop.h"

#include <errno.h>
#include <liburing.h>
#include <stdlib.h>
#include <string.h>

#define ENTRIES	  256
#define AREAS_MAX 16

struct xvt_loop {
	struct io_uring ring;
	struct iovec areas[AREAS_MAX];
	unsigned int nr_areas;
	struct xvt_op *first_later; /* list of completed operations whose `done` was deferred */
	struct xvt_op *last_later;
};

int xvt_loop_new(struct xvt_loop **out)
{
	struct io_uring_params p = { .flags = IORING_SETUP_CQSIZE, .cq_entries = 4 * ENTRIES };
	struct xvt_loop *loop = calloc(1, sizeof(*loop));
	int err;

	if (!loop)
		return -ENOMEM;
	/* Only one thread submits, and completions run when it asks, which saves interrupts.
	 * Kernels before 6.1 do not know these flags. */
	p.flags |= IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN;
	err = io_uring_queue_init_params(ENTRIES, &loop->ring, &p);
	if (err == -EINVAL) {
		p = (struct io_uring_params){ .flags = IORING_SETUP_CQSIZE,
					      .cq_entries = 4 * ENTRIES };
		err = io_uring_queue_init_params(ENTRIES, &loop->ring, &p);
	}
	if (err) {
		free(loop);
		return err;
	}
	*out = loop;
	return 0;
}

void xvt_loop_free(struct xvt_loop *loop)
{
	if (!loop)
		return;
	io_uring_queue_exit(&loop->ring);
	free(loop);
}

/* Replaces the registered areas. The kernel has one list of them, so it is registered anew. */
static int set_areas(struct xvt_loop *loop, const struct iovec *areas, unsigned int count)
{
	int err = 0;

	if (loop->nr_areas)
		io_uring_unregister_buffers(&loop->ring);
	loop->nr_areas = 0;
	if (count)
		err = io_uring_register_buffers(&loop->ring, areas, count);
	if (err)
		return err;
	memmove(loop->areas, areas, count * sizeof(areas[0]));
	loop->nr_areas = count;
	return 0;
}

int xvt_loop_register(struct xvt_loop *loop, const struct iovec *area)
{
	struct iovec areas[AREAS_MAX];
	const unsigned int before = loop->nr_areas;
	int err;

	if (before == AREAS_MAX)
		return -EMFILE;
	memcpy(areas, loop->areas, before * sizeof(areas[0]));
	areas[before] = *area;
	err = set_areas(loop, areas, before + 1);
	if (err)
		set_areas(loop, areas, before);
	return err;
}

void xvt_loop_unregister(struct xvt_loop *loop, const struct iovec *area)
{
	struct iovec areas[AREAS_MAX];
	unsigned int i, n = 0;

	for (i = 0; i < loop->nr_areas; i++) {
		if (loop->areas[i].iov_base != area->iov_base)
			areas[n++] = loop->areas[i];
	}
	if (n < loop->nr_areas)
		set_areas(loop, areas, n);
}

static int area_of(const struct xvt_loop *loop, const void *buf, uint32_t len)
{
	uintptr_t at = (uintptr_t)buf;
	unsigned int i;

	for (i = 0; i < loop->nr_areas; i++) {
		uintptr_t base = (uintptr_t)loop->areas[i].iov_base;

		if (at >= base && at - base <= loop->areas[i].iov_len &&
		    len <= loop->areas[i].iov_len - (at - base))
			return (int)i;
	}
	return -1;
}

static struct io_uring_sqe *next_sqe(struct xvt_loop *loop)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&loop->ring);

	if (!sqe) {
		/* The submission queue is full: submitting empties it. */
		io_uring_submit(&loop->ring);
		sqe = io_uring_get_sqe(&loop->ring);
	}
	return sqe;
}

/* Uses the registered buffer when `buf` lies in one. */
static int queue_io(struct xvt_loop *loop, struct xvt_op *op, bool writes, int fd, void *buf,
		    uint32_t len, uint64_t off)
{
	struct io_uring_sqe *sqe = next_sqe(loop);
	int area = area_of(loop, buf, len);

	if (!sqe)
		return -EAGAIN;
	if (writes && area >= 0)
		io_uring_prep_write_fixed(sqe, fd, buf, len, off, area);
	else if (writes)
		io_uring_prep_write(sqe, fd, buf, len, off);
	else if (area >= 0)
		io_uring_prep_read_fixed(sqe, fd, buf, len, off, area);
	else
		io_uring_prep_read(sqe, fd, buf, len, off);
	io_uring_sqe_set_data(sqe, op);
	op->held = true;
	return 0;
}

int xvt_loop_read(struct xvt_loop *loop, struct xvt_op *op, int fd, void *buf, uint32_t len,
		  uint64_t off)
{
	return queue_io(loop, op, false, fd, buf, len, off);
}

int xvt_loop_write(struct xvt_loop *loop, struct xvt_op *op, int fd, const void *buf, uint32_t len,
		   uint64_t off)
{
	return queue_io(loop, op, true, fd, (void *)buf, len, off);
}

int xvt_loop_poll(struct xvt_loop *loop, struct xvt_op *op, int fd, uint32_t events)
{
	struct io_uring_sqe *sqe = next_sqe(loop);

	if (!sqe)
		return -EAGAIN;
	io_uring_prep_poll_add(sqe, fd, events);
	io_uring_sqe_set_data(sqe, op);
	op->held = true;
	return 0;
}

int xvt_loop_cancel(struct xvt_loop *loop, struct xvt_op *op)
{
	struct io_uring_sqe *sqe = op->held ? next_sqe(loop) : NULL;

	if (!op->held)
		return 0;
	if (!sqe)
		return -EAGAIN;
	io_uring_prep_cancel(sqe, op, 0);
	io_uring_sqe_set_data(sqe, NULL);
	return 0;
}

static void finish(struct xvt_op *op, int res)
{
	op->held = false;
	op->done(op, res);
}

/* True if a caller that waits for `done` may have this operation's call made. */
static bool is_wanted(const struct xvt_op *op, void (*done)(struct xvt_op *op, int res))
{
	return !done || op->done == done || op->any_time;
}

static void defer(struct xvt_loop *loop, struct xvt_op *op, int res)
{
	op->res = res;
	op->later = NULL;
	if (loop->first_later)
		loop->last_later->later = op;
	else
		loop->first_later = op;
	loop->last_later = op;
}

/* Makes the deferred calls that are wanted. Another wait may have deferred just what this one waits
 * for. Returns their number. */
static int run_deferred(struct xvt_loop *loop, void (*done)(struct xvt_op *op, int res))
{
	struct xvt_op *first = NULL, **end = &first, *last = NULL;
	int ran = 0;

	while (loop->first_later) {
		struct xvt_op *op = loop->first_later;

		loop->first_later = op->later;
		if (is_wanted(op, done)) {
			ran++;
			finish(op, op->res);
			continue;
		}
		op->later = NULL;
		*end = last = op;
		end = &op->later;
	}
	loop->first_later = first;
	loop->last_later = last;
	return ran;
}

int xvt_loop_run_only(struct xvt_loop *loop, uint64_t timeout_ns,
		      void (*done)(struct xvt_op *op, int res))
{
	struct __kernel_timespec ts = { .tv_sec = (long long)(timeout_ns / 1000000000u),
					.tv_nsec = (long long)(timeout_ns % 1000000000u) };
	struct io_uring_cqe *cqe;
	int ran = run_deferred(loop, done), err;

	if (timeout_ns && !ran)
		err = io_uring_submit_and_wait_timeout(&loop->ring, &cqe, 1, &ts, NULL);
	else
		err = io_uring_submit_and_get_events(&loop->ring);
	if (err < 0 && err != -ETIME && err != -EINTR && err != -EAGAIN && err != -EBUSY)
		return err;
	while (io_uring_peek_cqe(&loop->ring, &cqe) == 0) {
		struct xvt_op *op = io_uring_cqe_get_data(cqe);
		int res = cqe->res;

		io_uring_cqe_seen(&loop->ring, cqe);
		ran++;
		if (op && !is_wanted(op, done))
			defer(loop, op, res);
		else if (op)
			finish(op, res);
	}
	return ran;
}

int xvt_loop_run(struct xvt_loop *loop, uint64_t timeout_ns)
{
	return xvt_loop_run_only(loop, timeout_ns, NULL);
}
