// SPDX-License-Identifier: GPL-2.0
/* phase.c - linked with --wrap=xvt_ring_set_phase and --wrap=xvt_vm_set_state: no test passes over
 * a transition that is not allowed. */
#include "phase.h"

#include <stdio.h>
#include <stdlib.h>

#include "session/parts.h"

int __real_xvt_ring_set_phase(struct xvt_ring *r, enum xvt_ring_phase to);
int __wrap_xvt_ring_set_phase(struct xvt_ring *r, enum xvt_ring_phase to);
int __wrap_xvt_ring_set_phase(struct xvt_ring *r, enum xvt_ring_phase to)
{
	int err = __real_xvt_ring_set_phase(r, to);

	if (err) {
		fprintf(stderr, "ring %u: %s\n", r->id, r->fault.text);
		abort();
	}
	return err;
}

int __real_xvt_vm_set_state(struct xvt_vm *vm, enum xvt_vm_state to);
int __wrap_xvt_vm_set_state(struct xvt_vm *vm, enum xvt_vm_state to);
int __wrap_xvt_vm_set_state(struct xvt_vm *vm, enum xvt_vm_state to)
{
	const enum xvt_vm_state from = xvt_vm_state(vm);
	int err = __real_xvt_vm_set_state(vm, to);

	if (err) {
		fprintf(stderr, "machine %s: state %u cannot follow %u\n", vm->name, to, from);
		abort();
	}
	return err;
}
