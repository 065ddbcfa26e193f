// SPDX-License-Identifier: GPL-2.0
/*
 * pool.c - size classes, recycled, under one budget. A class holds a power of two and a header: so
 * a sub-buffer with its struct xvt_piece does not take twice its size, and the pieces of many rings
 * do not all begin in the same cache set.
 *
 * The budget counts what malloc() hands out. Freed pieces can leave holes in malloc's heap that are
 * too small for pieces of another size, so the process takes a few per cent more.
 */
#include "base/pool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define OVER_LEAST (1u << 20)
#define OVER_MOST  (16u << 20)

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

int xvt_arena_init(struct xvt_arena *a, size_t size)
{
	void *base = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memset(a, 0, sizeof(*a));
	if (base == MAP_FAILED)
		return -ENOMEM;
	a->base = base;
	a->size = size;
	return 0;
}

void xvt_arena_fini(struct xvt_arena *a)
{
	if (a->base && !a->in_use)
		munmap(a->base, a->size);
	a->base = NULL;
	a->size = 0;
}

static void *new_piece(const struct xvt_pool *p, unsigned int c)
{
	struct xvt_arena *a = p->arena;
	void *mem;

	if (a && a->free[c]) {
		mem = a->free[c];
		a->free[c] = *(void **)mem;
		return mem;
	}
	if (a && a->size - a->used >= size_of(c)) {
		mem = a->base + a->used;
		a->used += size_of(c);
		return mem;
	}
	return malloc(size_of(c));
}

static void free_piece(const struct xvt_pool *p, unsigned int c, void *mem)
{
	struct xvt_arena *a = p->arena;

	if (a && (uintptr_t)mem - (uintptr_t)a->base < a->size) {
		*(void **)mem = a->free[c];
		a->free[c] = mem;
		return;
	}
	free(mem);
}

void xvt_pool_init(struct xvt_pool *p, uint64_t budget)
{
	memset(p, 0, sizeof(*p));
	p->budget = budget;
	p->pass_left = p->pass_bytes = UINT64_MAX;
}

void xvt_pool_turn(struct xvt_pool *p, uint64_t bytes)
{
	p->pass_left = p->pass_bytes = bytes;
}

uint64_t xvt_pool_turned(const struct xvt_pool *p)
{
	return p->pass_bytes - p->pass_left;
}

void xvt_pool_trim(struct xvt_pool *p)
{
	unsigned int c;

	for (c = 0; c < XVT_POOL_CLASSES; c++) {
		while (p->free[c]) {
			void *next = *(void **)p->free[c];

			free_piece(p, c, p->free[c]);
			p->free[c] = next;
		}
	}
	p->kept = 0;
	if (p->trim_spare)
		p->trim_spare(p);
}

void xvt_pool_fini(struct xvt_pool *p)
{
	xvt_pool_trim(p);
}

/* Counted bytes, limited to the half of the budget that they may take from the pieces. */
static uint64_t counted(const struct xvt_pool *p)
{
	return p->counted < p->budget / 2 ? p->counted : p->budget / 2;
}

/* Bytes of the budget in use: pieces handed out, and counted memory. */
static uint64_t taken(const struct xvt_pool *p)
{
	return p->used + counted(p);
}

/* Frees pieces of other sizes, so that the process does not grow past the budget. */
static void give_back(struct xvt_pool *p, uint64_t need)
{
	unsigned int c;

	for (c = XVT_POOL_CLASSES; c-- > 0 && taken(p) + p->kept + need > p->budget;) {
		while (p->free[c] && taken(p) + p->kept + need > p->budget) {
			void *mem = p->free[c];

			p->free[c] = *(void **)mem;
			p->kept -= size_of(c);
			free_piece(p, c, mem);
		}
	}
}

void xvt_pool_resize(struct xvt_pool *p, uint64_t budget)
{
	p->budget = budget;
	give_back(p, 0);
}

uint64_t xvt_pool_most(const struct xvt_pool *p)
{
	return p->budget + (p->common ? p->common->budget / 2 : 0);
}

static void *take_own(struct xvt_pool *p, unsigned int c)
{
	const uint64_t whole = size_of(c);
	void *mem;

	if (taken(p) + whole > p->budget)
		return NULL;
	mem = p->free[c];
	if (mem) {
		p->free[c] = *(void **)mem;
		p->kept -= whole;
	} else {
		give_back(p, whole);
		mem = new_piece(p, c);
		if (!mem)
			return NULL;
	}
	p->used += whole;
	if (p->used > p->most)
		p->most = p->used;
	return mem;
}

/* Takes a piece from the common pool. Only the number of borrowed pieces of a class is kept,
 * because all pieces of a class are alike. */
static void *borrow(struct xvt_pool *p, unsigned int c)
{
	struct xvt_pool *from = p->common;
	uint64_t borrowed = p->borrowed_bytes;
	void *mem = NULL;

	if (p->lent && p->lent->shared)
		borrowed = p->lent->bytes;
	if (borrowed + from->used + 2 * size_of(c) <= from->budget)
		mem = take_own(from, c);
	if (!mem)
		return NULL;
	p->borrowed[c]++;
	p->borrowed_bytes += size_of(c);
	if (p->lent)
		p->lent->bytes += size_of(c);
	return mem;
}

void *xvt_pool_get(struct xvt_pool *p, size_t size, bool lend)
{
	const unsigned int c = class_of(size);
	void *mem;

	if (c >= XVT_POOL_CLASSES || size_of(c) > p->pass_left)
		return NULL;
	mem = take_own(p, c);
	if (!mem && lend && p->common)
		mem = borrow(p, c);
	if (mem)
		p->pass_left -= size_of(c);
	else
		p->full = true;
	return mem;
}

/* Limits pieces beyond the budget. The guest decides how large pieces are and how many rings want
 * one, so the excess is bounded; the first piece is always allowed. */
static bool over_allowed(const struct xvt_pool *p, size_t size)
{
	const uint64_t over = taken(p) > p->budget ? taken(p) - p->budget : 0;
	const uint64_t half = p->budget / 2;
	const uint64_t most = half < OVER_LEAST ? OVER_LEAST : half > OVER_MOST ? OVER_MOST : half;

	return !over || over + size_of(class_of(size)) <= most;
}

void *xvt_pool_get_over(struct xvt_pool *p, size_t size)
{
	uint64_t budget, pass_left;
	void *mem;

	if (!over_allowed(p, size)) {
		p->full = true;
		return NULL;
	}
	budget = p->budget;
	pass_left = p->pass_left;
	p->budget = UINT64_MAX / 2; /* sums do not wrap */
	p->pass_left = UINT64_MAX;
	mem = xvt_pool_get(p, size, false);
	p->budget = budget;
	p->pass_left = pass_left;
	return mem;
}

void xvt_pool_put(struct xvt_pool *p, void *mem, size_t size)
{
	unsigned int c = class_of(size);
	uint64_t whole = size_of(c);

	if (p->borrowed[c]) { /* borrowed pieces go back first: other pools may need them */
		p->borrowed[c]--;
		p->borrowed_bytes -= whole;
		if (p->lent)
			p->lent->bytes -= whole;
		xvt_pool_put(p->common, mem, size_of(c));
	} else {
		*(void **)mem = p->free[c];
		p->free[c] = mem;
		p->used -= whole;
		p->kept += whole;
	}
}

bool xvt_pool_was_full(struct xvt_pool *p)
{
	const bool full = p->full;

	p->full = false;
	return full;
}

bool xvt_pool_count(struct xvt_pool *p, uint64_t bytes, bool needed)
{
	const bool ok =
		needed || (p->counted + bytes <= p->budget / 4 && taken(p) + bytes <= p->budget);

	if (ok) {
		p->counted += bytes;
		give_back(p, 0);
	}
	return ok;
}

void xvt_pool_uncount(struct xvt_pool *p, uint64_t bytes)
{
	p->counted -= bytes;
}

uint64_t xvt_pool_used(const struct xvt_pool *p)
{
	return p->used + p->borrowed_bytes + p->counted;
}
