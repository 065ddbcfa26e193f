/* SPDX-License-Identifier: GPL-2.0 */
/* loop_memory.h - how the fuzz targets steer the loop that stands in for io_uring. */
#ifndef XVT_FUZZ_LOOP_MEMORY_H
#define XVT_FUZZ_LOOP_MEMORY_H

#include <stdint.h>

/* Sleeping takes that many times as long as was asked for: a busy machine. */
void fuzz_loop_reset(unsigned int slowness);
/* The next read: -errno, or at most that many bytes. */
void fuzz_loop_fail_next(int res);

#endif /* XVT_FUZZ_LOOP_MEMORY_H */
