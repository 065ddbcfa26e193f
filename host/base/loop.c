// SPDX-License-Identifier: GPL-2.0
/* loop.c - chooses io_uring or epoll, and makes the calls of completed operations. */
#define _GNU_SOURCE
#include "base/loop.h"
#include "base/loop_back.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* True where epoll does what io_uring is refused for. Too many open files would stop both. */
static bool epoll_helps(int err)
{
	return err == -EPERM || err == -ENOSYS || err == -EACCES || err == -ENOMEM ||
	       err == -EINVAL;
}

int xvt_loop_new(struct xvt_loop **out)
{
	const char *asked = getenv(XVT_LOOP_ENV);
	int err, uring_err = XVT_LOOP_NOT_ASKED;

	if (!asked || strcmp(asked, "epoll") != 0) {
		uring_err = xvt_loop_new_uring(out);
		if (!uring_err || !epoll_helps(uring_err) ||
		    (asked && strcmp(asked, "io_uring") == 0))
			return uring_err;
	}
	err = xvt_loop_new_epoll(out);
	if (!err)
		(*out)->uring_err = uring_err;
	return err;
}

void xvt_loop_free(struct xvt_loop *loop)
{
	if (loop)
		loop->back->free(loop);
}

void xvt_loop_end_threads(struct xvt_loop *loop)
{
	if (loop->back->end_threads)
		loop->back->end_threads(loop);
}

int xvt_loop_uring_err(const struct xvt_loop *loop)
{
	return loop->uring_err;
}

int xvt_loop_register(struct xvt_loop *loop, const struct iovec *area)
{
	return loop->back->add_area(loop, area);
}

void xvt_loop_unregister(struct xvt_loop *loop, const struct iovec *area)
{
	loop->back->remove_area(loop, area);
}

static int queued(struct xvt_op *op, int err)
{
	if (!err)
		op->held = true;
	return err;
}

int xvt_loop_read(struct xvt_loop *loop, struct xvt_op *op, int fd, void *buf, uint32_t len,
		  uint64_t off)
{
	return queued(op, loop->back->queue_io(loop, op, false, fd, buf, len, off));
}

int xvt_loop_write(struct xvt_loop *loop, struct xvt_op *op, int fd, const void *buf, uint32_t len,
		   uint64_t off)
{
	return queued(op, loop->back->queue_io(loop, op, true, fd, (void *)buf, len, off));
}

int xvt_loop_poll(struct xvt_loop *loop, struct xvt_op *op, int fd, uint32_t events)
{
	return queued(op, loop->back->queue_poll(loop, op, fd, events));
}

int xvt_loop_cancel(struct xvt_loop *loop, struct xvt_op *op)
{
	return op->held ? loop->back->cancel(loop, op) : 0;
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
	xvt_op_list_add(&loop->deferred, op);
}

/* Makes the deferred calls that are wanted. Another wait may have deferred just what this one waits
 * for. Returns their number. */
static int run_deferred(struct xvt_loop *loop, void (*done)(struct xvt_op *op, int res))
{
	struct xvt_op_list unwanted = { 0 };
	struct xvt_op *op;
	int ran = 0;

	while ((op = xvt_op_list_take(&loop->deferred))) {
		if (is_wanted(op, done)) {
			ran++;
			finish(op, op->res);
		} else {
			xvt_op_list_add(&unwanted, op);
		}
	}
	loop->deferred = unwanted;
	return ran;
}

int xvt_loop_run_only(struct xvt_loop *loop, uint64_t timeout_ns,
		      void (*done)(struct xvt_op *op, int res))
{
	int ran = run_deferred(loop, done), res;
	int err = loop->back->wait(loop, ran ? 0 : timeout_ns);
	struct xvt_op *op;

	if (err)
		return err;
	while (loop->back->take(loop, &op, &res)) {
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
