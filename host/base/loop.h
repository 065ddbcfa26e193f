/* SPDX-License-Identifier: GPL-2.0 */
/*
 * loop.h - the event loop: region reads, file writes, descriptors that become ready, and time-outs.
 * A caller queues an operation and gets a call of its `done` when it has completed. io_uring does
 * the work (loop_uring.c); where it is refused, epoll and a few threads do (loop_epoll.c).
 */
#ifndef XVT_LOOP_H
#define XVT_LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

struct xvt_loop;

/* An operation. Its owner keeps the memory until `done` has run. `res` of `done`: bytes or poll
 * events, or -errno. */
struct xvt_op {
	void (*done)(struct xvt_op *op, int res);
	/* `done` may run inside xvt_loop_run_only(): it changes nothing of other modules */
	bool any_time;
	/* set by the loop from queueing until `done` runs: the memory must not be freed */
	bool held;
	/* private to the loop */
	struct xvt_op *later;
	int res;
	int fd;
	uint32_t len; /* of a poll: the events */
	bool writes;
	void *buf;
	uint64_t off;
};

/* An environment variable: "epoll" leaves io_uring out, "io_uring" forbids epoll. */
#define XVT_LOOP_ENV	   "XVTRACE_LOOP"
/* The error of an io_uring that was left out by that variable. */
#define XVT_LOOP_NOT_ASKED (-EOPNOTSUPP)

/*
 * Uses io_uring, or epoll where io_uring is refused. Returns 0 or -errno; xvt_loop_why() has the
 * text for it.
 */
int xvt_loop_new(struct xvt_loop **out);
/* Drops what is queued, and waits for reads and writes that are under way. */
void xvt_loop_free(struct xvt_loop *loop);
/*
 * Ends the threads that the loop has of its own, when they have made the reads and writes that are
 * queued. The next one starts them again, as threads of what the process is then.
 */
void xvt_loop_end_threads(struct xvt_loop *loop);
/*
 * Returns 0 if the loop uses io_uring; else the -errno with which it was refused, for
 * xvt_loop_why().
 */
int xvt_loop_uring_err(const struct xvt_loop *loop);

#define XVT_LOOP_NO_SYSCTL (-1)

/*
 * Returns the sysctl kernel.io_uring_disabled: 0, 1 or 2; XVT_LOOP_NO_SYSCTL if it cannot be read.
 */
int xvt_loop_sysctl(void);

/* The strings are valid until the next call of strerror(). */
struct xvt_loop_why {
	const char *why;
	const char *fix; /* advice for the user; printed after a semicolon */
};

/* Explains `err`, the -errno of io_uring, for that value of the sysctl. */
struct xvt_loop_why xvt_loop_why(int err, int sysctl);

/*
 * Registers an area of memory, beside those registered before, that reads and writes use often, so
 * that the kernel keeps it pinned. Returns 0, or -errno (-ENOMEM: the limit of locked memory,
 * -EMFILE: too many areas). Without it operations on the area only take longer.
 */
int xvt_loop_register(struct xvt_loop *loop, const struct iovec *area);
/* Takes back a registration, before the memory is freed. No operation on it may be under way. */
void xvt_loop_unregister(struct xvt_loop *loop, const struct iovec *area);

/* Queue an operation; the next run submits it. Return 0 or -errno. */
int xvt_loop_read(struct xvt_loop *loop, struct xvt_op *op, int fd, void *buf, uint32_t len,
		  uint64_t off);
int xvt_loop_write(struct xvt_loop *loop, struct xvt_op *op, int fd, const void *buf, uint32_t len,
		   uint64_t off);
/* One-shot: op->done runs when fd becomes ready for `events` (POLLIN and the like). */
int xvt_loop_poll(struct xvt_loop *loop, struct xvt_op *op, int fd, uint32_t events);
/* `done` runs soon, with -ECANCELED or as if there was no cancel. Nothing, if op is not held. */
int xvt_loop_cancel(struct xvt_loop *loop, struct xvt_op *op);

/*
 * Submits the queued operations, waits until one completes or timeout_ns passed (0: does not wait),
 * and runs the `done` calls of all that completed. Returns the number of completions, or -errno.
 */
int xvt_loop_run(struct xvt_loop *loop, uint64_t timeout_ns);

/* Cancels an operation and runs the loop until it is not held. Returns false if the loop fails: the
 * memory must not be freed then, because the kernel may still use it. */
static inline bool xvt_loop_release(struct xvt_loop *loop, struct xvt_op *op)
{
	xvt_loop_cancel(loop, op);
	while (op->held)
		if (xvt_loop_run(loop, 1000000000u) < 0)
			return false;
	return true;
}

/*
 * Like xvt_loop_run(), but runs only the `done` calls equal to `done`, and those of operations with
 * any_time. This call is for a caller that waits in the middle of its work, where other calls must
 * not run. A later call makes the deferred ones: xvt_loop_run(), or this function with their
 * `done`.
 */
int xvt_loop_run_only(struct xvt_loop *loop, uint64_t timeout_ns,
		      void (*done)(struct xvt_op *op, int res));

#endif /* XVT_LOOP_H */
