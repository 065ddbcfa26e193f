// SPDX-License-Identifier: GPL-2.0
/*
 * heap.c - what malloc has given to a recorder, for a test that looks at it from outside. The pages
 * of the process tell less: holes that fit nothing are in them as well.
 *
 *   HEAP_TALLY=FILE LD_PRELOAD=.../heap.so PROGRAM
 *
 * FILE is two words of 8 bytes: the bytes that were given and have not come back, first in pieces
 * of a pool (host/base/pool.h), which one knows by their sizes, then all others.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/pool.h"

/* The C library's own, by the names under which it has them for programs that replace malloc. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *mem, size_t size);
void *__libc_memalign(size_t align, size_t size);
void __libc_free(void *mem);

struct tally {
	int64_t pieces;
	int64_t others;
};

static struct tally before; /* until there is a file */
static struct tally *tally = &before;

/* The C library rounds up, by less than four words where the memory is of its heap. */
static bool is_piece(size_t size)
{
	size_t whole = XVT_POOL_SMALLEST;
	unsigned int c;

	for (c = 0; c < XVT_POOL_CLASSES; c++, whole *= 2) {
		if (size - (whole + XVT_POOL_HEAD) < 4 * sizeof(void *))
			return true;
	}
	return false;
}

static void count(size_t size, int64_t sign)
{
	int64_t *which = is_piece(size) ? &tally->pieces : &tally->others;

	__atomic_fetch_add(which, sign * (int64_t)size, __ATOMIC_RELAXED);
}

static void *given(void *mem)
{
	count(malloc_usable_size(mem), 1);
	return mem;
}

void *malloc(size_t size)
{
	return given(__libc_malloc(size));
}

void *calloc(size_t n, size_t size)
{
	return given(__libc_calloc(n, size));
}

void *realloc(void *mem, size_t size)
{
	const size_t had = malloc_usable_size(mem);
	void *grown = __libc_realloc(mem, size);

	if (grown || !size)
		count(had, -1);
	return given(grown);
}

void *aligned_alloc(size_t align, size_t size)
{
	return given(__libc_memalign(align, size));
}

int posix_memalign(void **mem, size_t align, size_t size)
{
	*mem = aligned_alloc(align, size);
	return *mem ? 0 : ENOMEM;
}

void free(void *mem)
{
	count(malloc_usable_size(mem), -1);
	__libc_free(mem);
}

__attribute__((constructor)) static void open_tally(void)
{
	const char *path = getenv("HEAP_TALLY");
	int fd = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
	struct tally *shared;

	if (fd < 0)
		return;
	shared = ftruncate(fd, sizeof(*shared))
			 ? MAP_FAILED
			 : mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (shared == MAP_FAILED)
		return;
	*shared = before;
	tally = shared;
}
