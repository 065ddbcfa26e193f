/* SPDX-License-Identifier: GPL-2.0 */
/*
 * clock_vmm.h - a vCPU's formula as its region has it (shared/xvt_vmm_clock.h). A VMM wrote it
 * there, or the guest did: nothing tells the two apart, so it is the guest's word.
 * open()'s argument is the struct xvt_host_region, which must outlive the source; -ENODEV: the
 * region has none yet.
 */
#ifndef XVT_CLOCK_VMM_H
#define XVT_CLOCK_VMM_H

#include "clock/exact.h"

extern const struct xvt_clock_exact_ops xvt_clock_vmm;

#endif /* XVT_CLOCK_VMM_H */
