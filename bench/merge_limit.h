/* SPDX-License-Identifier: GPL-2.0 */
/*
 * merge_limit.h - what merging costs if it is nothing but merging: sorted arrays of 24-byte records
 * in memory, a tree of packed keys, the records copied into a small ring. No clocks, no checks, no
 * file. What the engine reaches is given as a part of this, measured in the same run.
 */
#ifndef XVT_BENCH_MERGE_LIMIT_H
#define XVT_BENCH_MERGE_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

/* Records a second from `sources` (a power of two) arrays: the best of a few runs. bursts: 1 to 63
 * in a row from one, merged with galloping; else each drawn at random. 0: no memory. */
double merge_limit(uint32_t sources, bool bursts, uint64_t records);

/* Bytes copied a second: 64 MiB after 64 MiB, cold; or 256 KiB again and again. */
double memcpy_limit(bool hot);

#endif /* XVT_BENCH_MERGE_LIMIT_H */
