/* SPDX-License-Identifier: GPL-2.0 */
/*
 * loop.h - the one event loop: region reads, file writes, descriptors that become ready, and
 * time. loop_uring.c is the only file that knows io_uring; everything else hands in an
 * operation and gets a call when it is done.
 */
#ifndef XVT_LOOP_H
#define XVT_LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

struct xvt_loop;

/* Lives in its owner until `done` ran. res: bytes or poll events, or -errno. */
struct xvt_op {
	void (*done)(struct xvt_op *op, int res);
	bool any_time;	      /* `done` may run in the middle of anything: it only looks */
	struct xvt_op *later; /* the loop's own */
	int res;
};

/* Returns 0 or -errno; xvt_loop_why() has the text for it. */
int xvt_loop_new(struct xvt_loop **out);
void xvt_loop_free(struct xvt_loop *loop);

#define XVT_LOOP_NO_SYSCTL (-1)

/* kernel.io_uring_disabled: 0, 1 or 2, or XVT_LOOP_NO_SYSCTL where it cannot be read. */
int xvt_loop_sysctl(void);

/* Strings live until strerror() is called again. */
struct xvt_loop_why {
	const char *why;
	const char *fix; /* what the user can do, for after a semicolon */
};

/* Why xvt_loop_new() gave `err`, -errno, where the sysctl has that value. */
struct xvt_loop_why xvt_loop_why(int err, int sysctl);

/* Memory that reads and writes will use often; lets the kernel keep it pinned. Optional: a
 * refusal (locked-memory limit) costs speed only. */
void xvt_loop_register(struct xvt_loop *loop, const struct iovec *areas, unsigned int count);

/* Queue an operation; it is submitted with the next run. Returns 0 or -errno. */
int xvt_loop_read(struct xvt_loop *loop, struct xvt_op *op, int fd, void *buf, uint32_t len,
		  uint64_t off);
int xvt_loop_write(struct xvt_loop *loop, struct xvt_op *op, int fd, const void *buf, uint32_t len,
		   uint64_t off);
/* Once: op->done when fd becomes readable (POLLIN and the like). */
int xvt_loop_poll(struct xvt_loop *loop, struct xvt_op *op, int fd, uint32_t events);
int xvt_loop_cancel(struct xvt_loop *loop, struct xvt_op *op);

/*
 * Submit what is queued, wait until something completes or timeout_ns passed (0: do not
 * wait), run the `done` calls of all that completed. Returns how many, or -errno.
 */
int xvt_loop_run(struct xvt_loop *loop, uint64_t timeout_ns);

/*
 * The same, but only those that `done` is called for, and those of any_time: who must wait in the
 * middle of something lets nobody else in. The others' calls come with the next xvt_loop_run().
 */
int xvt_loop_run_only(struct xvt_loop *loop, uint64_t timeout_ns,
		      void (*done)(struct xvt_op *op, int res));

#endif /* XVT_LOOP_H */
