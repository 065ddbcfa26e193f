/* SPDX-License-Identifier: GPL-2.0 */
/*
 * named.h - private to lib/: names of events that a trace has no formats of. A recorder that reads
 * the ring of a guest's own kernel says in its file which kernel that is (XVT_META_KERNEL); its
 * formats may come into the cache of this host (formats/cache.h) later.
 */
#ifndef XVT_LIB_NAMED_H
#define XVT_LIB_NAMED_H

#include "decode/decode.h"
#include "lib/xvtrace.h"

struct xvt_named;

/*
 * Find the formats of the machines that have none in the trace. Reads the cache only if there are
 * such machines and their kernels are proven. *out is NULL if no machine is one of which the ring
 * was read. Returns 0 or -ENOMEM.
 */
int xvt_named_new(struct xvt_named **out, struct xvt_trace *t);
void xvt_named_free(struct xvt_named *n);

/* The user states which kernel a machine had. Returns 0; or -errno, with a reason. */
int xvt_named_claim(struct xvt_named *n, uint32_t vm, const char *kernel, struct xvt_error *why);

/* What is known of a machine. n: NULL for nothing. Returns whether formats of the cache name events
 * of it. */
bool xvt_named_get(const struct xvt_named *n, uint32_t vm, struct xvtrace_names *names);

/* Lend the decoders what was found. n: NULL for nothing. Returns 0 or -ENOMEM. */
int xvt_named_lend(const struct xvt_named *n, struct xvt_decoders *ds);

#endif /* XVT_LIB_NAMED_H */
