/* SPDX-License-Identifier: GPL-2.0 */
/*
 * pool.h - the memory that drained but not yet written records may take. One budget for
 * all rings of a machine: when it is used up they are not drained, they fill, and the guest
 * drops and counts; other machines go on.
 */
#ifndef XVT_POOL_H
#define XVT_POOL_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

/* Pieces are of 512 bytes .. 64 MiB, and a header each. */
#define XVT_POOL_CLASSES  18
#define XVT_POOL_SMALLEST 512u
#define XVT_POOL_HEAD	  256u

/* Pieces of one machine come and go on several threads; the budget of a pass is its drain's. */
struct xvt_pool {
	pthread_mutex_t lock;
	uint64_t budget;
	uint64_t turn; /* may still be handed out in this pass */
	uint64_t used; /* handed out */
	uint64_t kept; /* free lists */
	uint64_t most; /* highest `used` ever */
	void *free[XVT_POOL_CLASSES];
};

void xvt_pool_init(struct xvt_pool *p, uint64_t budget);
void xvt_pool_fini(struct xvt_pool *p);
/* Free pieces are kept no longer; those that are out may still come back. */
void xvt_pool_trim(struct xvt_pool *p);

/* NULL when the budget does not allow it, or there is no memory. */
void *xvt_pool_get(struct xvt_pool *p, size_t size);
/* A pass begins: at most that much in it. */
void xvt_pool_turn(struct xvt_pool *p, uint64_t bytes);
/* Although the budget is used up: for the one piece without which nothing moves on. */
void *xvt_pool_get_over(struct xvt_pool *p, size_t size);
void xvt_pool_put(struct xvt_pool *p, void *mem, size_t size);

#endif /* XVT_POOL_H */
