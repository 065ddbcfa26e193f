// SPDX-License-Identifier: GPL-2.0
/* loop_uring.c - the loop on io_uring; the only file that includes liburing. */
#define _GNU_SOURCE
#include "base/loop_back.h"

#include <errno.h>
#include <liburing.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/time.h"

#define ENTRIES	  256
#define AREAS_MAX 16

struct uring_loop {
	struct xvt_loop base;
	struct io_uring ring;
	struct iovec areas[AREAS_MAX];
	unsigned int nr_areas;
};

static struct uring_loop *of_loop(struct xvt_loop *loop)
{
	return (struct uring_loop *)loop;
}

static const struct xvt_loop_back back;

/* liburing 2.3 has functions for these two, and does not export them. */
static long enter_register(const struct io_uring *ring, unsigned int what, const void *arg,
			   unsigned int count)
{
	return syscall(SYS_io_uring_register, ring->ring_fd, what, arg, count);
}

/*
 * Lets the ring do what the loop does and nothing else, and switches it on. A seccomp filter does
 * not see what a ring opens or connects. Returns 0 or -errno.
 */
static int restrict_ring(struct io_uring *ring)
{
	static const uint8_t ops[] = { IORING_OP_READ,	   IORING_OP_READ_FIXED,
				       IORING_OP_WRITE,	   IORING_OP_WRITE_FIXED,
				       IORING_OP_POLL_ADD, IORING_OP_ASYNC_CANCEL,
				       IORING_OP_TIMEOUT /* kernels before 5.11 wait by it */ };
	static const uint8_t registers[] = { IORING_REGISTER_BUFFERS, IORING_UNREGISTER_BUFFERS };
	struct io_uring_restriction rules[sizeof(ops) + sizeof(registers)] = { 0 };
	unsigned int n = 0;
	size_t i;

	for (i = 0; i < sizeof(ops); i++, n++) {
		rules[n].opcode = IORING_RESTRICTION_SQE_OP;
		rules[n].sqe_op = ops[i];
	}
	for (i = 0; i < sizeof(registers); i++, n++) {
		rules[n].opcode = IORING_RESTRICTION_REGISTER_OP;
		rules[n].register_op = registers[i];
	}
	if (enter_register(ring, IORING_REGISTER_RESTRICTIONS, rules, n) ||
	    enter_register(ring, IORING_REGISTER_ENABLE_RINGS, NULL, 0))
		return -errno;
	return 0;
}

/* Returns 0 or -errno; -EINVAL: a kernel before 5.10, or one that does not know these flags. */
static int make_ring(struct io_uring *ring, unsigned int flags)
{
	struct io_uring_params p = { .flags = flags | IORING_SETUP_CQSIZE | IORING_SETUP_R_DISABLED,
				     .cq_entries = 4 * ENTRIES };
	int err = io_uring_queue_init_params(ENTRIES, ring, &p);

	if (err)
		return err;
	err = restrict_ring(ring);
	if (err)
		io_uring_queue_exit(ring);
	return err;
}

int xvt_loop_new_uring(struct xvt_loop **out)
{
	struct uring_loop *loop = calloc(1, sizeof(*loop));
	int err;

	if (!loop)
		return -ENOMEM;
	/* Only one thread submits, and completions run when it asks, which saves interrupts.
	 * Kernels before 6.1 do not know these flags. */
	err = make_ring(&loop->ring, IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN);
	if (err == -EINVAL)
		err = make_ring(&loop->ring, 0);
	if (err) {
		free(loop);
		return err;
	}
	loop->base.back = &back;
	*out = &loop->base;
	return 0;
}

static void uring_free(struct xvt_loop *base)
{
	struct uring_loop *loop = of_loop(base);

	io_uring_queue_exit(&loop->ring);
	free(loop);
}

/* Replaces the registered areas. The kernel has one list of them, so it is registered anew. */
static int set_areas(struct uring_loop *loop, const struct iovec *areas, unsigned int count)
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

static int uring_add_area(struct xvt_loop *base, const struct iovec *area)
{
	struct uring_loop *loop = of_loop(base);
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

static void uring_remove_area(struct xvt_loop *base, const struct iovec *area)
{
	struct uring_loop *loop = of_loop(base);
	struct iovec areas[AREAS_MAX];
	unsigned int i, n = 0;

	for (i = 0; i < loop->nr_areas; i++) {
		if (loop->areas[i].iov_base != area->iov_base)
			areas[n++] = loop->areas[i];
	}
	if (n < loop->nr_areas)
		set_areas(loop, areas, n);
}

static int area_of(const struct uring_loop *loop, const void *buf, uint32_t len)
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

static struct io_uring_sqe *next_sqe(struct uring_loop *loop)
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
static int uring_queue_io(struct xvt_loop *base, struct xvt_op *op, bool writes, int fd, void *buf,
			  uint32_t len, uint64_t off)
{
	struct uring_loop *loop = of_loop(base);
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
	return 0;
}

static int uring_queue_poll(struct xvt_loop *base, struct xvt_op *op, int fd, uint32_t events)
{
	struct io_uring_sqe *sqe = next_sqe(of_loop(base));

	if (!sqe)
		return -EAGAIN;
	io_uring_prep_poll_add(sqe, fd, events);
	io_uring_sqe_set_data(sqe, op);
	return 0;
}

static int uring_cancel(struct xvt_loop *base, struct xvt_op *op)
{
	struct io_uring_sqe *sqe = next_sqe(of_loop(base));

	if (!sqe)
		return -EAGAIN;
	io_uring_prep_cancel(sqe, op, 0);
	io_uring_sqe_set_data(sqe, NULL);
	return 0;
}

static int uring_wait(struct xvt_loop *base, uint64_t timeout_ns)
{
	struct uring_loop *loop = of_loop(base);
	struct __kernel_timespec ts = { .tv_sec = (long long)(timeout_ns / SECOND_NS),
					.tv_nsec = (long long)(timeout_ns % SECOND_NS) };
	struct io_uring_cqe *cqe;
	int err;

	if (timeout_ns)
		err = io_uring_submit_and_wait_timeout(&loop->ring, &cqe, 1, &ts, NULL);
	else
		err = io_uring_submit_and_get_events(&loop->ring);
	if (err < 0 && err != -ETIME && err != -EINTR && err != -EAGAIN && err != -EBUSY)
		return err;
	return 0;
}

static bool uring_take(struct xvt_loop *base, struct xvt_op **op, int *res)
{
	struct uring_loop *loop = of_loop(base);
	struct io_uring_cqe *cqe;

	if (io_uring_peek_cqe(&loop->ring, &cqe))
		return false;
	*op = io_uring_cqe_get_data(cqe);
	*res = cqe->res;
	io_uring_cqe_seen(&loop->ring, cqe);
	return true;
}

static const struct xvt_loop_back back = {
	.free = uring_free,
	.add_area = uring_add_area,
	.remove_area = uring_remove_area,
	.queue_io = uring_queue_io,
	.queue_poll = uring_queue_poll,
	.cancel = uring_cancel,
	.wait = uring_wait,
	.take = uring_take,
};
