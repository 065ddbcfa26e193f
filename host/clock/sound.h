/* SPDX-License-Identifier: GPL-2.0 */
/*
 * sound.h - can the host's counter be what times are made of? It must run at one rate, also
 * while a CPU sleeps, and alike on all CPUs. The CPU promises the first two; the kernel watches all
 * of them, and takes a TSC that it caught from the list of its clock sources. `xvtrace doctor` and
 * every recording say so.
 */
#ifndef XVT_CLOCK_SOUND_H
#define XVT_CLOCK_SOUND_H

#include <stdbool.h>

enum xvt_clock_fault {
	XVT_CLOCK_SOUND = 0,
	XVT_CLOCK_VARIES = 1,	/* its rate may change, or it may stop */
	XVT_CLOCK_UNSTABLE = 2, /* the kernel found it wrong, or was told not to use it */
	XVT_CLOCK_UNUSED = 3,	/* the kernel could use it and keeps time by something else */
};

struct xvt_clock_soundness {
	bool invariant; /* as the CPU says */
	enum xvt_clock_fault fault;
	char what[256]; /* in words, "" if it is sound */
	char fix[256];
};

/* `root`: the folder that has proc and sys; NULL: the host's own. What cannot be read there is no
 * fault. */
void xvt_clock_soundness(struct xvt_clock_soundness *s, const char *root);

#endif /* XVT_CLOCK_SOUND_H */
