/* SPDX-License-Identifier: GPL-2.0 */
/*
 * sound.h - checks whether the host's counter is fit for times. A sound counter runs at one rate,
 * also while a CPU sleeps, and alike on all CPUs. The CPU promises the first two. The kernel
 * watches all three, and removes a faulty TSC from the list of its clock sources. `xvtrace doctor`
 * and every recording report the result.
 */
#ifndef XVT_CLOCK_SOUND_H
#define XVT_CLOCK_SOUND_H

#include <stdbool.h>

enum xvt_clock_fault {
	XVT_CLOCK_SOUND = 0,
	XVT_CLOCK_VARIES = 1,	/* the rate may change, or the counter may stop */
	XVT_CLOCK_UNSTABLE = 2, /* the kernel found it wrong, or was told not to use it */
	XVT_CLOCK_UNUSED = 3,	/* the kernel could use it and keeps time by another source */
};

struct xvt_clock_soundness {
	bool invariant; /* as the CPU reports */
	enum xvt_clock_fault fault;
	char what[256]; /* description; "" if it is sound */
	char fix[256];
};

/* `root`: the directory that contains proc and sys; NULL: the host's own. Files that cannot be read
 * there are not a fault. */
void xvt_clock_soundness(struct xvt_clock_soundness *s, const char *root);

#endif /* XVT_CLOCK_SOUND_H */
