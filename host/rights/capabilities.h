/* SPDX-License-Identifier: GPL-2.0 */
/* capabilities.h - a process of root gives up the capabilities that it does not need. */
#ifndef XVT_CAPABILITIES_H
#define XVT_CAPABILITIES_H

#include <stdbool.h>
#include <stdint.h>

/* Returns whether the calling thread may use all these: a bit for each. */
bool xvt_capabilities_have(uint64_t wanted);

/* Has it use those that it may: a change of its user takes that away. Returns 0 or -errno. */
int xvt_capabilities_raise(void);

/*
 * Keeps those capabilities of the calling thread whose bit (1 << CAP_...) is in `keep`, and gives
 * up the others: to be called before there are threads. The bounding set stays, so that a program
 * that root runs from this process has all of root's again, as before; no_new_privs ends that.
 * Returns 0 or -errno.
 */
int xvt_capabilities_keep(uint64_t keep);

#endif /* XVT_CAPABILITIES_H */
