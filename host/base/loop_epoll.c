// SPDX-License-Identifier: GPL-2.0
/*
 * loop_epoll.c - the loop where io_uring is refused: polls by epoll, reads and writes by a few
 * threads, so that a slow disk does not keep the recorder from its rings.
 *
 * An operation is in one list at a time: that of its descriptor while it polls, `queued` until a
 * thread takes it, `finished` when the thread has done it, `ready` until a wait ends, and `given`
 * until its call is made. The threads use only `queued` and `finished`, under the lock.
 */
#define _GNU_SOURCE
#include "base/loop_back.h"
#include "base/time.h"
#include "base/vec.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

/* The file sink has up to six writes under way; a disk gains nothing from more at once. */
#define THREADS 4
#define EVENTS	64

/* EPOLLIN and its like have the values of POLLIN and its like. */
#define ALWAYS	((uint32_t)(POLLERR | POLLHUP))

struct epoll_loop {
	struct xvt_loop base;
	int epoll_fd;
	int finished_fd;	   /* eventfd, readable while `finished` may have operations */
	struct xvt_op_list *polls; /* by descriptor */
	size_t nr_polls;
	struct xvt_op_list ready;
	struct xvt_op_list
		given; /* what the calls of `given` complete at once waits for the next wait */
	unsigned int nr_threads;
	pthread_t thread[THREADS];
	pthread_mutex_t lock; /* for what follows */
	pthread_cond_t work;
	struct xvt_op_list queued, finished;
	bool ends;  /* the threads end */
	bool rests; /* ... when nothing is queued */
};

static struct epoll_loop *of_loop(struct xvt_loop *loop)
{
	return (struct epoll_loop *)loop;
}

/* Takes `op` out of the list. Returns false if it is not there. */
static bool take_out(struct xvt_op_list *list, const struct xvt_op *op)
{
	struct xvt_op_list others = { 0 };
	struct xvt_op *at;
	bool found = false;

	while ((at = xvt_op_list_take(list))) {
		if (at == op)
			found = true;
		else
			xvt_op_list_add(&others, at);
	}
	*list = others;
	return found;
}

static void complete(struct epoll_loop *loop, struct xvt_op *op, int res)
{
	op->res = res;
	xvt_op_list_add(&loop->ready, op);
}

/* ------------------------------------------------------------------ reads and writes */

/* A pipe has no offsets. */
static int transfer(const struct xvt_op *op)
{
	ssize_t n = op->writes ? pwrite(op->fd, op->buf, op->len, (off_t)op->off)
			       : pread(op->fd, op->buf, op->len, (off_t)op->off);

	if (n < 0 && errno == ESPIPE)
		n = op->writes ? write(op->fd, op->buf, op->len) : read(op->fd, op->buf, op->len);
	return n < 0 ? -errno : (int)n;
}

static void *transfers(void *arg)
{
	struct epoll_loop *loop = arg;

	pthread_mutex_lock(&loop->lock);
	while (!loop->ends) {
		struct xvt_op *op = xvt_op_list_take(&loop->queued);

		if (!op && loop->rests)
			break;
		if (!op) {
			pthread_cond_wait(&loop->work, &loop->lock);
			continue;
		}
		pthread_mutex_unlock(&loop->lock);
		op->res = transfer(op);
		pthread_mutex_lock(&loop->lock);
		/* The write can only fail when 2^64 - 2 of these have not been read. */
		if (!loop->finished.first)
			eventfd_write(loop->finished_fd, 1);
		xvt_op_list_add(&loop->finished, op);
	}
	pthread_mutex_unlock(&loop->lock);
	return NULL;
}

/* Starts the threads, without signals. A single thread is enough. Returns 0 or -errno. */
static int start_threads(struct epoll_loop *loop)
{
	sigset_t all, before;
	int err = 0;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	while (!err && loop->nr_threads < THREADS) {
		err = pthread_create(&loop->thread[loop->nr_threads], NULL, transfers, loop);
		if (!err)
			loop->nr_threads++;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return loop->nr_threads ? 0 : -err;
}

static int epoll_queue_io(struct xvt_loop *base, struct xvt_op *op, bool writes, int fd, void *buf,
			  uint32_t len, uint64_t off)
{
	struct epoll_loop *loop = of_loop(base);
	int err = loop->nr_threads ? 0 : start_threads(loop);

	if (err)
		return err;
	op->writes = writes;
	op->fd = fd;
	op->buf = buf;
	op->len = len;
	op->off = off;
	pthread_mutex_lock(&loop->lock);
	xvt_op_list_add(&loop->queued, op);
	pthread_cond_signal(&loop->work);
	pthread_mutex_unlock(&loop->lock);
	return 0;
}

static void take_finished(struct epoll_loop *loop)
{
	struct xvt_op *op;

	if (!loop->nr_threads)
		return;
	pthread_mutex_lock(&loop->lock);
	while ((op = xvt_op_list_take(&loop->finished)))
		xvt_op_list_add(&loop->ready, op);
	pthread_mutex_unlock(&loop->lock);
}

/* ------------------------------------------------------------------ polls */

/* Makes epoll report the descriptor once, for all that poll it. Returns 0 or -errno. */
static int arm(struct epoll_loop *loop, int fd)
{
	struct epoll_event event = { .events = EPOLLONESHOT, .data.fd = fd };
	const struct xvt_op *op;

	for (op = loop->polls[fd].first; op; op = op->later)
		event.events |= op->len;
	if (epoll_ctl(loop->epoll_fd, EPOLL_CTL_MOD, fd, &event) == 0)
		return 0;
	/* close() has removed a descriptor of the same number. */
	if (errno == ENOENT && epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0)
		return 0;
	return -errno;
}

/* Takes `op` out of its descriptor's list. Returns false if it is not there. */
static bool forget_poll(struct epoll_loop *loop, struct xvt_op *op)
{
	if (op->fd < 0 || (size_t)op->fd >= loop->nr_polls || !take_out(&loop->polls[op->fd], op))
		return false;
	if (loop->polls[op->fd].first)
		arm(loop, op->fd);
	else
		epoll_ctl(loop->epoll_fd, EPOLL_CTL_DEL, op->fd, NULL);
	return true;
}

static int epoll_queue_poll(struct xvt_loop *base, struct xvt_op *op, int fd, uint32_t events)
{
	struct epoll_loop *loop = of_loop(base);
	int err = fd < 0 ? -EBADF : 0;

	op->fd = fd;
	op->len = events;
	if (!err &&
	    xvt_grow_zeroed(&loop->polls, &loop->nr_polls, (size_t)fd + 1, sizeof(*loop->polls)))
		return -ENOMEM;
	if (!err) {
		xvt_op_list_add(&loop->polls[fd], op);
		err = arm(loop, fd);
	}
	if (!err)
		return 0;
	if (fd >= 0)
		take_out(&loop->polls[fd], op);
	/* A regular file cannot be polled: it is always ready. Other errors are results. */
	complete(loop, op, err == -EPERM ? (int)(events & (POLLIN | POLLOUT)) : err);
	return 0;
}

/* `fd` has become ready for `events`. Those that poll it for others go on. */
static void fd_ready(struct epoll_loop *loop, int fd, uint32_t events)
{
	struct xvt_op_list *polls = &loop->polls[fd], others = { 0 };
	struct xvt_op *op;

	while ((op = xvt_op_list_take(polls))) {
		if (events & (op->len | ALWAYS))
			complete(loop, op, (int)(events & (op->len | ALWAYS)));
		else
			xvt_op_list_add(&others, op);
	}
	*polls = others;
	if (others.first)
		arm(loop, fd);
}

/* ------------------------------------------------------------------ the loop */

static int epoll_cancel(struct xvt_loop *base, struct xvt_op *op)
{
	struct epoll_loop *loop = of_loop(base);
	bool found = forget_poll(loop, op);

	if (!found) {
		pthread_mutex_lock(&loop->lock);
		found = take_out(&loop->queued, op);
		pthread_mutex_unlock(&loop->lock);
	}
	if (found)
		complete(loop, op, -ECANCELED);
	return 0;
}

static int epoll_wait_for(struct xvt_loop *base, uint64_t timeout_ns)
{
	struct epoll_loop *loop = of_loop(base);
	struct pollfd any = { .fd = loop->epoll_fd, .events = POLLIN };
	const struct timespec t = xvt_timespec(timeout_ns);
	struct epoll_event events[EVENTS];
	struct xvt_op *op;
	eventfd_t count;
	int i, n;

	take_finished(loop);
	/* epoll_wait() waits in milliseconds, and old seccomp profiles forbid epoll_pwait2(). */
	if (timeout_ns && !loop->ready.first && ppoll(&any, 1, &t, NULL) < 0)
		return errno == EINTR ? 0 : -errno;
	n = epoll_wait(loop->epoll_fd, events, EVENTS, 0);
	if (n < 0)
		return errno == EINTR ? 0 : -errno;
	for (i = 0; i < n; i++) {
		if (events[i].data.fd != loop->finished_fd)
			fd_ready(loop, events[i].data.fd, events[i].events);
		else if (eventfd_read(loop->finished_fd, &count) == 0)
			take_finished(loop);
	}
	while ((op = xvt_op_list_take(&loop->ready)))
		xvt_op_list_add(&loop->given, op);
	return 0;
}

static bool epoll_take(struct xvt_loop *base, struct xvt_op **op, int *res)
{
	*op = xvt_op_list_take(&of_loop(base)->given);
	if (!*op)
		return false;
	*res = (*op)->res;
	return true;
}

/* The threads copy from and to pages as they are. */
static int epoll_add_area(struct xvt_loop *loop, const struct iovec *area)
{
	(void)loop;
	(void)area;
	return 0;
}

static void epoll_remove_area(struct xvt_loop *loop, const struct iovec *area)
{
	(void)loop;
	(void)area;
}

/* flag: what has them end. */
static void join_threads(struct epoll_loop *loop, bool *flag)
{
	unsigned int i;

	pthread_mutex_lock(&loop->lock);
	*flag = true;
	pthread_cond_broadcast(&loop->work);
	pthread_mutex_unlock(&loop->lock);
	for (i = 0; i < loop->nr_threads; i++)
		pthread_join(loop->thread[i], NULL);
}

static void epoll_end_threads(struct xvt_loop *base)
{
	struct epoll_loop *loop = of_loop(base);

	join_threads(loop, &loop->rests);
	take_finished(loop);
	loop->rests = false;
	loop->nr_threads = 0;
}

static void epoll_free(struct xvt_loop *base)
{
	struct epoll_loop *loop = of_loop(base);

	join_threads(loop, &loop->ends);
	pthread_cond_destroy(&loop->work);
	pthread_mutex_destroy(&loop->lock);
	close(loop->finished_fd);
	close(loop->epoll_fd);
	free(loop->polls);
	free(loop);
}

static const struct xvt_loop_back back = {
	.free = epoll_free,
	.end_threads = epoll_end_threads,
	.add_area = epoll_add_area,
	.remove_area = epoll_remove_area,
	.queue_io = epoll_queue_io,
	.queue_poll = epoll_queue_poll,
	.cancel = epoll_cancel,
	.wait = epoll_wait_for,
	.take = epoll_take,
};

/* Makes the two descriptors. Returns 0 or -errno. */
static int open_both(struct epoll_loop *loop)
{
	struct epoll_event event = { .events = EPOLLIN };
	int err = 0;

	loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (loop->epoll_fd < 0)
		return -errno;
	loop->finished_fd = event.data.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (loop->finished_fd < 0)
		err = -errno;
	else if (epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, loop->finished_fd, &event))
		err = -errno;
	if (err) {
		if (loop->finished_fd >= 0)
			close(loop->finished_fd);
		close(loop->epoll_fd);
	}
	return err;
}

int xvt_loop_new_epoll(struct xvt_loop **out)
{
	struct epoll_loop *loop = calloc(1, sizeof(*loop));
	int err = loop ? open_both(loop) : -ENOMEM;

	if (err) {
		free(loop);
		return err;
	}
	loop->base.back = &back;
	pthread_mutex_init(&loop->lock, NULL);
	pthread_cond_init(&loop->work, NULL);
	*out = &loop->base;
	return 0;
}
