/* SPDX-License-Identifier: GPL-2.0 */
/* vec.h - arrays that grow, and searches in sorted ones. */
#ifndef XVT_VEC_H
#define XVT_VEC_H

#include <stddef.h>
#include <stdint.h>

/*
 * Make room for `need` elements of `size` bytes. `array` is the address of the pointer to the
 * array, `room` counts the elements that have room. The array at least doubles, so that adding one
 * element after the other takes linear time. Returns 0, or -ENOMEM and has changed nothing.
 */
int xvt_grow(void *array, size_t *room, size_t need, size_t size);
/* The same; elements that have room now and had none are zeros. */
int xvt_grow_zeroed(void *array, size_t *room, size_t need, size_t size);

/*
 * Count the elements whose key is at most `limit`, in an array sorted by that key: a uint64_t,
 * `offset` bytes after the begin of each element of `size` bytes.
 */
size_t xvt_count_to(const void *array, size_t count, size_t size, size_t offset, uint64_t limit);

/* The same with a member's name: XVT_COUNT_TO(lines, n, base_ns, now). */
#define XVT_COUNT_TO(array, count, member, limit) \
	xvt_count_to(array, count, sizeof(*(array)), offsetof(__typeof__(*(array)), member), limit)

#endif /* XVT_VEC_H */
