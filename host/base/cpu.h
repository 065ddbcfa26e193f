/* SPDX-License-Identifier: GPL-2.0 */
/* cpu.h - keeps a thread off one CPU for a while. */
#ifndef XVT_CPU_H
#define XVT_CPU_H

#include <stdbool.h>

#define XVT_CPUS_MAX 8192

/* All 0 at first. */
struct xvt_cpu_away {
	bool away;
	unsigned long before[XVT_CPUS_MAX / 8 / sizeof(unsigned long)]; /* where it may run */
};

/*
 * Moves the calling thread to another of the CPUs on which it may run, and keeps it off the present
 * one. A second call keeps it off the CPU that it runs on by then instead. Returns false, and
 * changes nothing, where there is no other CPU or the kernel refuses.
 */
bool xvt_cpu_leave(struct xvt_cpu_away *c);

/* The thread, which must be the same, may run where it could before the first xvt_cpu_leave(). */
void xvt_cpu_back(struct xvt_cpu_away *c);

#endif
