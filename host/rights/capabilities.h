/* SPDX-License-Identifier: GPL-2.0 */
/* capabilities.h - a process of root gives up the capabilities that it does not need. */
#ifndef XVT_CAPABILITIES_H
#define XVT_CAPABILITIES_H

#include <stdint.h>

/*
 * Keeps those capabilities of the calling thread whose bit (1 << CAP_...) is in `keep`, and gives
 * up the others: to be called before there are threads. The bounding set stays, so that a program
 * that root runs from this process has all of root's again, as before; no_new_privs ends that.
 * Returns 0 or -errno.
 */
int xvt_capabilities_keep(uint64_t keep);

#endif /* XVT_CAPABILITIES_H */
