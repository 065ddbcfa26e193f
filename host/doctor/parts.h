/* SPDX-License-Identifier: GPL-2.0 */
/* parts.h - what a micro-VM is made of, for microvm.c and for the tests that control each of its
 * instructions. */
#ifndef XVT_DOCTOR_PARTS_H
#define XVT_DOCTOR_PARTS_H

#include "doctor/microvm.h"

struct kvm_run;

struct xvt_microvm {
	int kvm_fd, vm_fd, vcpu_fd;
	struct kvm_run *run;
	size_t run_size;
	uint8_t *ram;
	uint8_t *region;
	uint64_t region_size;
	bool stepping; /* set by the caller that has switched the debugger's single step on */
	bool settled;  /* run->s.regs are the current registers */
	char why[128];
};

/* Set the text of xvt_microvm_why(). Returns -EIO. */
int xvt_microvm_died(struct xvt_microvm *vm, const char *how, uint64_t value);

#endif /* XVT_DOCTOR_PARTS_H */
