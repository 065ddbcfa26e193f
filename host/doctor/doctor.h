/* SPDX-License-Identifier: GPL-2.0 */
/* doctor.h - looks at this host and says what is wrong for xvtrace, and how to mend it. */
#ifndef XVT_DOCTOR_H
#define XVT_DOCTOR_H

#include "doctor/cost.h"

#define XVT_PROBLEMS_MAX 24

struct xvt_problem {
	char what[256];
	char fix[256]; /* a command line, or what to do */
	bool blocks;   /* nothing can be recorded before it is mended */
};

struct xvt_doctor {
	bool kvm_present;  /* /dev/kvm is there, whether we may use it or not */
	bool kvm_hardware; /* ... and is not emulated by software */
	bool io_uring;
	bool tsc_invariant;
	char qemu[32];	  /* version, "" = not there */
	char libvirt[32]; /* likewise */
	struct xvt_cost cost;
	bool cost_known;
	struct xvt_problem problems[XVT_PROBLEMS_MAX];
	unsigned int nr_problems;
};

/* Look at everything. Takes about a second; changes nothing. */
void xvt_doctor_examine(struct xvt_doctor *d);

#endif /* XVT_DOCTOR_H */
