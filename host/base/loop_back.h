/* SPDX-License-Identifier: GPL-2.0 */
/* loop_back.h - private to base/loop*.c: what loop.c needs of io_uring or of epoll. */
#ifndef XVT_LOOP_BACK_H
#define XVT_LOOP_BACK_H

#include "base/loop.h"

/* Operations, linked by `later`. */
struct xvt_op_list {
	struct xvt_op *first;
	struct xvt_op *last;
};

struct xvt_loop_back {
	void (*free)(struct xvt_loop *loop);
	void (*end_threads)(struct xvt_loop *loop); /* NULL: it has none */
	/* These are as the functions of loop.h. */
	int (*add_area)(struct xvt_loop *loop, const struct iovec *area);
	void (*remove_area)(struct xvt_loop *loop, const struct iovec *area);
	int (*queue_io)(struct xvt_loop *loop, struct xvt_op *op, bool writes, int fd, void *buf,
			uint32_t len, uint64_t off);
	int (*queue_poll)(struct xvt_loop *loop, struct xvt_op *op, int fd, uint32_t events);
	int (*cancel)(struct xvt_loop *loop, struct xvt_op *op);
	/*
	 * Submits what is queued, and waits until a completion can be taken or timeout_ns passed
	 * (0: does not wait). Returns 0 or -errno; a signal is no error.
	 */
	int (*wait)(struct xvt_loop *loop, uint64_t timeout_ns);
	/* Takes a completion. Returns false if there is none. *op is NULL for one without a call.
	 */
	bool (*take)(struct xvt_loop *loop, struct xvt_op **op, int *res);
};

/* The first member of each back end's own structure. */
struct xvt_loop {
	const struct xvt_loop_back *back;
	int uring_err;		     /* the -errno with which io_uring was refused, or 0 */
	struct xvt_op_list deferred; /* completed, their calls were not wanted yet */
};

/* Return 0 or -errno. *out has its `back`, and the rest is 0. */
int xvt_loop_new_uring(struct xvt_loop **out);
int xvt_loop_new_epoll(struct xvt_loop **out);

static inline void xvt_op_list_add(struct xvt_op_list *list, struct xvt_op *op)
{
	op->later = NULL;
	if (list->first)
		list->last->later = op;
	else
		list->first = op;
	list->last = op;
}

/* Returns the first operation, or NULL. */
static inline struct xvt_op *xvt_op_list_take(struct xvt_op_list *list)
{
	struct xvt_op *op = list->first;

	if (op)
		list->first = op->later;
	return op;
}

#endif /* XVT_LOOP_BACK_H */
