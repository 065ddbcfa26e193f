// SPDX-License-Identifier: GPL-2.0
/*
 * loop_memory.c - loop.h without io_uring: what is queued is done at the next run, in order, by
 * pread and pwrite. A run with nothing queued is a sleep, so time goes on and a new pass of
 * the host begins. Reads are not counted as fetches, see in_data() in guest_memory.c.
 */
#include "loop_memory.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "fuzz.h"
#include "guest_memory.h"
#include "base/loop.h"

struct pending {
	struct xvt_op *op;
	bool writes;
	int fd;
	void *buf;
	uint32_t len;
	uint64_t off;
};

struct xvt_loop {
	struct pending *v;
	size_t count;
	size_t room;
};

static unsigned int slowness = 1;
static int fail_next;

void fuzz_loop_reset(unsigned int times)
{
	slowness = times;
	fail_next = 0;
}

void fuzz_loop_fail_next(int res)
{
	fail_next = res;
}

int xvt_loop_new(struct xvt_loop **out)
{
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : -ENOMEM;
}

void xvt_loop_free(struct xvt_loop *loop)
{
	if (loop)
		free(loop->v);
	free(loop);
}

void xvt_loop_end_threads(struct xvt_loop *loop)
{
	(void)loop;
}

int xvt_loop_uring_err(const struct xvt_loop *loop)
{
	(void)loop;
	return 0;
}

int xvt_loop_register(struct xvt_loop *loop, const struct iovec *area)
{
	(void)loop;
	(void)area;
	return 0;
}

void xvt_loop_unregister(struct xvt_loop *loop, const struct iovec *area)
{
	(void)loop;
	(void)area;
}

static int queue(struct xvt_loop *loop, struct pending p)
{
	if (loop->count == loop->room) {
		loop->room = loop->room ? 2 * loop->room : 64;
		loop->v = realloc(loop->v, loop->room * sizeof(*loop->v));
		if (!loop->v)
			fuzz_finding("out of memory");
	}
	loop->v[loop->count++] = p;
	return 0;
}

int xvt_loop_read(struct xvt_loop *loop, struct xvt_op *op, int fd, void *buf, uint32_t len,
		  uint64_t off)
{
	return queue(loop, (struct pending){ op, false, fd, buf, len, off });
}

int xvt_loop_write(struct xvt_loop *loop, struct xvt_op *op, int fd, const void *buf, uint32_t len,
		   uint64_t off)
{
	return queue(loop, (struct pending){ op, true, fd, (void *)buf, len, off });
}

int xvt_loop_poll(struct xvt_loop *loop, struct xvt_op *op, int fd, uint32_t events)
{
	(void)loop;
	(void)op;
	(void)fd;
	(void)events;
	return -ENOSYS;
}

int xvt_loop_cancel(struct xvt_loop *loop, struct xvt_op *op)
{
	(void)loop;
	(void)op;
	return 0;
}

/* In two halves, because a read of the kernel's is no single moment either. */
static int read_now(const struct pending *p)
{
	uint32_t half = p->len / 16 * 8;
	ssize_t first, second;

	if (fail_next < 0)
		return fail_next;
	fuzz_guest_turn();
	first = pread(p->fd, p->buf, half, (off_t)p->off);
	if (first < (ssize_t)half)
		return first < 0 ? -errno : (int)first;
	fuzz_guest_turn();
	second = pread(p->fd, (uint8_t *)p->buf + half, p->len - half, (off_t)(p->off + half));
	if (second < 0)
		return -errno;
	if (fail_next && (int)(first + second) > fail_next)
		return fail_next;
	return (int)(first + second);
}

int xvt_loop_run_only(struct xvt_loop *loop, uint64_t timeout_ns,
		      void (*done)(struct xvt_op *op, int res))
{
	(void)done;
	return xvt_loop_run(loop, timeout_ns);
}

int xvt_loop_run(struct xvt_loop *loop, uint64_t timeout_ns)
{
	struct pending *now = loop->v;
	size_t i, count = loop->count;

	if (!count) {
		fuzz_clock_advance(timeout_ns * slowness);
		fuzz_pass();
		return 0;
	}
	/* What completes may queue more. */
	*loop = (struct xvt_loop){ 0 };
	for (i = 0; i < count; i++) {
		struct pending *p = &now[i];
		ssize_t n;

		if (p->writes) {
			n = pwrite(p->fd, p->buf, p->len, (off_t)p->off);
			n = n < 0 ? -errno : n;
		} else {
			n = read_now(p);
			fail_next = 0;
		}
		p->op->done(p->op, (int)n);
	}
	free(now);
	return (int)count;
}
