/* SPDX-License-Identifier: GPL-2.0 */
/*
 * limits.h - resource limits that a process sets itself, beside its seccomp filter. They hold
 * without libseccomp, too, but not where the sandbox is switched off, nor in a build with
 * sanitizers. A limit that cannot be set stays as it is.
 */
#ifndef XVT_LIMITS_H
#define XVT_LIMITS_H

#include <stdint.h>

/* No core file, and no program of the kernel that gets one: it would hold data of the guests. */
void xvt_limit_core(void);

/* At most as many open files as now are allowed; the process can allow itself no more. */
void xvt_limit_files(void);

/* No further file can be opened. */
void xvt_limit_files_to_open(void);

/* At most `bytes` more of private memory that can be written. Shared mappings do not count. */
void xvt_limit_memory(uint64_t bytes);

#endif /* XVT_LIMITS_H */
