/* SPDX-License-Identifier: GPL-2.0 */
/*
 * pool.h - the memory for records that are drained and not yet written. Each machine has a budget
 * of its own, and may borrow from a common pool. When both are used up, the machine's rings are not
 * drained: they fill, and the guest drops records and counts them. Other machines are not affected.
 */
#ifndef XVT_POOL_H
#define XVT_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A piece has 512 bytes .. 64 MiB, and a header. */
#define XVT_POOL_CLASSES  18
#define XVT_POOL_SMALLEST 512u
#define XVT_POOL_HEAD	  256u

struct xvt_run;

/* An area of memory from which pools take pieces before they ask malloc(), so that it can be
 * registered for I/O as a whole. A piece that was used once keeps its size. */
struct xvt_arena {
	uint8_t *base;
	size_t size;
	size_t used;
	void *free[XVT_POOL_CLASSES];
	bool in_use; /* by reads that nothing waits for any more: it stays mapped */
};

/* Maps `size` bytes, a multiple of the page size. Returns 0 or -ENOMEM. */
int xvt_arena_init(struct xvt_arena *a, size_t size);
/* Frees all of it, but for one that stays in use; no pool may hold a piece of it. */
void xvt_arena_fini(struct xvt_arena *a);

#define XVT_POOL_SPARES 2u

/* Sum that several pools of one user have borrowed from a common pool. */
struct xvt_pool_lent {
	uint64_t bytes;
	bool shared; /* other users may borrow, too: together they get no more than one pool may */
};

struct xvt_pool {
	uint64_t budget;
	uint64_t pass_left;	    /* bytes that may still be handed out in this pass */
	uint64_t pass_bytes;	    /* and at its begin */
	uint64_t used;		    /* bytes handed out */
	uint64_t kept;		    /* bytes in the free lists */
	uint64_t counted;	    /* bytes of the rings' other memory, see xvt_pool_count() */
	uint64_t most;		    /* the highest value of `used` */
	bool full;		    /* a request was refused; xvt_pool_was_full() resets it */
	struct xvt_arena *arena;    /* where pieces are taken from first; NULL: malloc() alone */
	struct xvt_pool *common;    /* pool to borrow from when the budget is used up; NULL: none */
	struct xvt_pool_lent *lent; /* the count of its user; NULL: none */
	uint32_t borrowed[XVT_POOL_CLASSES]; /* borrowed pieces of each class */
	uint64_t borrowed_bytes;
	void *free[XVT_POOL_CLASSES];
	/* Free lists of counted memory that its users keep for reuse, by size. */
	void *spare[XVT_POOL_SPARES];
	uint32_t nr_spare[XVT_POOL_SPARES];
	void (*trim_spare)(struct xvt_pool *p); /* frees the spare lists; NULL: they are empty */
};

void xvt_pool_init(struct xvt_pool *p, uint64_t budget);
void xvt_pool_fini(struct xvt_pool *p);

/* Frees the free pieces and the spare lists. Pieces that are handed out may still be put back. */
void xvt_pool_trim(struct xvt_pool *p);

/* Sets the budget. Pieces handed out beyond it stay out until they are put back. */
void xvt_pool_resize(struct xvt_pool *p, uint64_t budget);

/*
 * Returns a piece of at least `size` bytes, or NULL when the budget does not allow it or memory is
 * short. With `lend` the piece may come from the common pool: a pool borrows at most as much as
 * stays free there. A pool that comes later therefore gets half of the rest, even if the others
 * never return theirs. From: Choudhury and Hahne, "Dynamic queue length thresholds for
 * shared-memory packet switches", 1998.
 */
void *xvt_pool_get(struct xvt_pool *p, size_t size, bool lend);
/* The most bytes that a pool can have: its budget, and half of the common pool's. */
uint64_t xvt_pool_most(const struct xvt_pool *p);
/* Begins a pass, in which xvt_pool_get() hands out at most `bytes`. */
void xvt_pool_turn(struct xvt_pool *p, uint64_t bytes);
/* Returns how many it has handed out of these since; 0 before the first pass. */
uint64_t xvt_pool_turned(const struct xvt_pool *p);
/*
 * Like xvt_pool_get(), beyond the budget: for the one piece that a ring needs to make progress. The
 * pool exceeds its budget by at most half of it, at least 1 MiB and at most 16 MiB, or by one
 * piece. Returns NULL beyond that.
 */
void *xvt_pool_get_over(struct xvt_pool *p, size_t size);
void xvt_pool_put(struct xvt_pool *p, void *mem, size_t size);
/*
 * Counts `bytes` of memory of the machine's rings that is not a piece of the pool against the
 * budget. Returns false beyond a quarter of the budget, or when the budget is used up; the caller
 * then does without the memory. With `needed` the bytes are always counted. Counted memory takes at
 * most half of the budget from the pieces, so that the rings are always drained.
 */
bool xvt_pool_count(struct xvt_pool *p, uint64_t bytes, bool needed);
/* Takes back `bytes` that were counted and are free again. */
void xvt_pool_uncount(struct xvt_pool *p, uint64_t bytes);
/* Bytes of pieces handed out, borrowed bytes and counted bytes. */
uint64_t xvt_pool_used(const struct xvt_pool *p);
/* Returns whether a request was refused since the last call. */
bool xvt_pool_was_full(struct xvt_pool *p);

#endif /* XVT_POOL_H */
