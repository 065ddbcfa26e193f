/* SPDX-License-Identifier: GPL-2.0 */
/* kernels.h - what all files of a folder say of the kernels that wrote their events. */
#ifndef XVT_KERNELS_H
#define XVT_KERNELS_H

#include "trace/read.h"

/*
 * Sum up the XVT_META_KERNEL of a trace: (*of)[vm] is true for all files where that machine is, so
 * it proves a build only if each of them proves that. Named is what all files have names of. The
 * caller frees *of. Returns 0, -ENOMEM, or what loading a chunk returned.
 */
int xvt_kernels_sum(struct xvt_trace *t, struct xvt_meta_kernel **of);

#endif /* XVT_KERNELS_H */
