/* SPDX-License-Identifier: GPL-2.0 */
/*
 * vmm.h - a vCPU's formula from its region (shared/xvt_vmm_clock.h). A VMM or the guest wrote it;
 * the region does not show which, so it is trusted like the guest's data. open()'s argument is the
 * struct xvt_host_region, which must outlive the source; -ENODEV: the region has no formula yet.
 */
#ifndef XVT_CLOCK_VMM_H
#define XVT_CLOCK_VMM_H

#include "clock/exact.h"

extern const struct xvt_clock_exact_ops xvt_clock_vmm;

#endif /* XVT_CLOCK_VMM_H */
