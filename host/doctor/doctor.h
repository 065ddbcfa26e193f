/* SPDX-License-Identifier: GPL-2.0 */
/* doctor.h - examine this host: which problems xvtrace has here, and how to fix each. */
#ifndef XVT_DOCTOR_H
#define XVT_DOCTOR_H

#include "doctor/cost.h"

#define XVT_PROBLEMS_MAX 24

struct xvt_problem {
	char what[256];
	char fix[256]; /* a command line, or another instruction */
	bool blocks;   /* prevents any recording */
};

struct xvt_doctor {
	bool kvm_present;  /* /dev/kvm exists, with or without permission to use it */
	bool kvm_hardware; /* KVM uses the CPU's virtualization, not emulation by software */
	bool io_uring;
	bool sandbox; /* for the commands that read traces */
	/* What a recorder of this user gets beside it: rights/isolate.h. */
	bool empty_root, namespaces, own_user;
	bool tsc_invariant;
	char qemu[32];	  /* version; "": not installed */
	char libvirt[32]; /* version; "": not installed */
	struct xvt_cost cost;
	bool cost_known;
	struct xvt_problem problems[XVT_PROBLEMS_MAX];
	unsigned int nr_problems;
};

/* Examine the host. Takes about a second; changes nothing. */
void xvt_doctor_examine(struct xvt_doctor *d);

#endif /* XVT_DOCTOR_H */
