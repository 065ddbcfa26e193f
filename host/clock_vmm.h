/* SPDX-License-Identifier: GPL-2.0 */
/*
 * clock_vmm.h - a vCPU's formula as its VMM left it in the region (shared/xvt_vmm_clock.h).
 * open()'s argument is the struct xvt_host_region, which must outlive the source; -ENODEV: no
 * VMM has written one yet.
 */
#ifndef XVT_CLOCK_VMM_H
#define XVT_CLOCK_VMM_H

#include "clock_exact.h"

extern const struct xvt_clock_exact_ops xvt_clock_vmm;

#endif /* XVT_CLOCK_VMM_H */
