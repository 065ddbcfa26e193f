/* SPDX-License-Identifier: GPL-2.0 */
/*
 * pool.h - the memory that drained but not yet written records may take. A machine has a budget of
 * its own, which nobody else can use up, and a part in what is there for all: when both are used up
 * its rings are not drained, they fill, and the guest drops and counts; other machines go on.
 */
#ifndef XVT_POOL_H
#define XVT_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Pieces are of 512 bytes .. 64 MiB, and a header each. */
#define XVT_POOL_CLASSES  18
#define XVT_POOL_SMALLEST 512u
#define XVT_POOL_HEAD	  256u

struct xvt_run;

#define XVT_POOL_SPARES 2u

struct xvt_pool {
	uint64_t budget;
	uint64_t turn;		 /* may still be handed out in this pass */
	uint64_t used;		 /* handed out */
	uint64_t kept;		 /* free lists */
	uint64_t counted;	 /* memory of the rings that is no piece, see xvt_pool_count() */
	uint64_t most;		 /* highest `used` ever */
	bool full;		 /* the budget has refused somebody; who looks takes it back */
	struct xvt_pool *common; /* where it takes what its budget does not allow; NULL: nowhere */
	uint32_t borrowed[XVT_POOL_CLASSES]; /* pieces of it, */
	uint64_t debt;			     /* and bytes */
	void *free[XVT_POOL_CLASSES];
	/* Counted memory that its users keep for the next time, by size: lists of their own. */
	void *spare[XVT_POOL_SPARES];
	uint32_t nr_spare[XVT_POOL_SPARES];
	void (*trim_spare)(struct xvt_pool *p); /* frees all of it; NULL: there is none yet */
};

void xvt_pool_init(struct xvt_pool *p, uint64_t budget);
void xvt_pool_fini(struct xvt_pool *p);

/* Free pieces and what is spare are kept no longer; those that are out may still come back. */
void xvt_pool_trim(struct xvt_pool *p);

/* The budget is another one from now on. What is out above it comes back in time. */
void xvt_pool_resize(struct xvt_pool *p, uint64_t budget);

/*
 * NULL when the budget does not allow it, or there is no memory. With `lend` also of the common
 * pool, but nobody borrows more than what he leaves there for the others: who comes later gets half
 * of the rest, whoever keeps what he has for ever. From: Choudhury and Hahne, "Dynamic queue length
 * thresholds for shared-memory packet switches", 1998.
 */
void *xvt_pool_get(struct xvt_pool *p, size_t size, bool lend);
/* The most that it can have. */
uint64_t xvt_pool_most(const struct xvt_pool *p);
/* A pass begins: at most that much in it. */
void xvt_pool_turn(struct xvt_pool *p, uint64_t bytes);
/* Although the budget is used up: for the one piece of a ring without which nothing moves on. All
 * that is out so is half of the budget at most, but 1 MiB at least and 16 MiB at most; or one
 * piece. NULL beyond that. */
void *xvt_pool_get_over(struct xvt_pool *p, size_t size);
void xvt_pool_put(struct xvt_pool *p, void *mem, size_t size);
/*
 * Memory of the machine's rings that is no piece of the pool takes a part of its budget: `bytes` of
 * it are counted. May be refused where there is another way: beyond a quarter of the budget, or
 * when the budget is used up. With `needed` it is always counted. Half of the budget stays for
 * pieces, so that the rings are drained, however much is counted.
 */
bool xvt_pool_count(struct xvt_pool *p, uint64_t bytes, bool needed);
/* So many bytes that were counted are free again. */
void xvt_pool_uncount(struct xvt_pool *p, uint64_t bytes);
/* Pieces that are out, what was borrowed, and what is counted; in bytes. */
uint64_t xvt_pool_used(const struct xvt_pool *p);
/* Has the budget refused somebody since the last call? */
bool xvt_pool_was_full(struct xvt_pool *p);

#endif /* XVT_POOL_H */
