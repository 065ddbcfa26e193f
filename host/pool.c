// SPDX-License-Identifier: GPL-2.0
/*
 * pool.c - classes of sizes, recycled, under one budget. A class holds a power of two and a
 * header: a sub-buffer with what we note of it does not take twice its size, and the pieces of many
 * rings do not all begin in the same set of the cache.
 *
 * The budget is of what malloc hands out. Pieces that are given back for others of another size can
 * leave holes in its heap that are too small for those, so the process takes a few per cent more.
 */
#include "pool.h"

#include <stdlib.h>
#include <string.h>

static size_t size_of(unsigned int c)
{
	return ((size_t)XVT_POOL_SMALLEST << c) + XVT_POOL_HEAD;
}

static unsigned int class_of(size_t size)
{
	unsigned int c = 0;

	while (size_of(c) < size)
		c++;
	return c;
}

void xvt_pool_init(struct xvt_pool *p, uint64_t budget)
{
	memset(p, 0, sizeof(*p));
	pthread_mutex_init(&p->lock, NULL);
	p->budget = budget;
	p->turn = UINT64_MAX;
}

void xvt_pool_turn(struct xvt_pool *p, uint64_t bytes)
{
	p->turn = bytes;
}

void xvt_pool_trim(struct xvt_pool *p)
{
	unsigned int c;

	pthread_mutex_lock(&p->lock);
	for (c = 0; c < XVT_POOL_CLASSES; c++) {
		while (p->free[c]) {
			void *next = *(void **)p->free[c];

			free(p->free[c]);
			p->free[c] = next;
		}
	}
	p->kept = 0;
	pthread_mutex_unlock(&p->lock);
}

void xvt_pool_fini(struct xvt_pool *p)
{
	xvt_pool_trim(p);
	pthread_mutex_destroy(&p->lock);
}

/* Free pieces of other sizes must not make the process grow past its budget. */
static void give_back(struct xvt_pool *p, uint64_t need)
{
	unsigned int c;

	for (c = XVT_POOL_CLASSES; c-- > 0 && p->used + p->kept + need > p->budget;) {
		while (p->free[c] && p->used + p->kept + need > p->budget) {
			void *mem = p->free[c];

			p->free[c] = *(void **)mem;
			p->kept -= size_of(c);
			free(mem);
		}
	}
}

static void *get(struct xvt_pool *p, size_t size)
{
	unsigned int c = class_of(size);
	uint64_t whole = size_of(c);
	void *mem;

	if (c >= XVT_POOL_CLASSES || p->used + whole > p->budget || whole > p->turn)
		return NULL;
	mem = p->free[c];
	if (mem) {
		p->free[c] = *(void **)mem;
		p->kept -= whole;
	} else {
		give_back(p, whole);
		mem = malloc(whole);
		if (!mem)
			return NULL;
	}
	p->used += whole;
	p->turn -= whole;
	if (p->used > p->most)
		p->most = p->used;
	return mem;
}

void *xvt_pool_get(struct xvt_pool *p, size_t size)
{
	void *mem;

	pthread_mutex_lock(&p->lock);
	mem = get(p, size);
	pthread_mutex_unlock(&p->lock);
	return mem;
}

void *xvt_pool_get_over(struct xvt_pool *p, size_t size)
{
	uint64_t budget, turn;
	void *mem;

	pthread_mutex_lock(&p->lock);
	budget = p->budget;
	turn = p->turn;
	p->budget = UINT64_MAX / 2; /* sums do not wrap */
	p->turn = UINT64_MAX;
	mem = get(p, size);
	p->budget = budget;
	p->turn = turn;
	pthread_mutex_unlock(&p->lock);
	return mem;
}

void xvt_pool_put(struct xvt_pool *p, void *mem, size_t size)
{
	unsigned int c = class_of(size);
	uint64_t whole = size_of(c);

	pthread_mutex_lock(&p->lock);
	*(void **)mem = p->free[c];
	p->free[c] = mem;
	p->used -= whole;
	p->kept += whole;
	pthread_mutex_unlock(&p->lock);
}
