// SPDX-License-Identifier: GPL-2.0
/*
 * machine_state.c - the only place that changes the state of a machine's recording.
 * machine_state.h has the table.
 */
#include "session/machine_state.h"

#include <errno.h>

#include "session/parts.h"

#define TO(state) (1u << XVT_STATE_##state)

static const struct {
	const char *name;
	const char *shown;
	enum xvt_vm_phase phase;
	enum xvt_halt_step step;
	unsigned int next;
} states[XVT_STATES] = {
	[XVT_STATE_WAITING] = { "waiting", "waiting", XVT_VM_WAITING, XVT_HALT_NONE,
				TO(RECORDED) | TO(STOPPED) | TO(GONE) },
	[XVT_STATE_RECORDED] = { "recorded", "attached", XVT_VM_ATTACHED, XVT_HALT_NONE,
				 TO(SWITCHED_OFF) | TO(GONE) },
	[XVT_STATE_SWITCHED_OFF] = { "switched off", "stopping", XVT_VM_ATTACHED, XVT_HALT_OFF,
				     TO(CLOSED) | TO(LOST) },
	[XVT_STATE_CLOSED] = { "closed", "stopping", XVT_VM_ATTACHED, XVT_HALT_CLOSED,
			       TO(WRITTEN) | TO(LOST) },
	[XVT_STATE_WRITTEN] = { "written", "stopping", XVT_VM_ATTACHED, XVT_HALT_WRITTEN,
				TO(STOPPED) | TO(LOST) },
	[XVT_STATE_LOST] = { "lost", "stopped", XVT_VM_GONE, XVT_HALT_OFF, TO(STOPPED) },
	[XVT_STATE_STOPPED] = { "stopped", "stopped", XVT_VM_GONE, XVT_HALT_DONE, TO(GONE) },
	[XVT_STATE_GONE] = { "gone", "gone", XVT_VM_GONE, XVT_HALT_NONE, TO(STOPPED) },
};

enum xvt_vm_state xvt_vm_state(const struct xvt_vm *vm)
{
	enum xvt_vm_state i = XVT_STATE_WAITING;

	while (i < XVT_STATE_GONE &&
	       (states[i].phase != vm->phase || states[i].step != vm->halt.step))
		i++;
	return i;
}

const char *xvt_vm_state_shown(enum xvt_vm_state state)
{
	return states[state].shown;
}

int xvt_vm_set_state(struct xvt_vm *vm, enum xvt_vm_state to)
{
	const enum xvt_vm_state from = xvt_vm_state(vm);

	if (!(states[from].next & 1u << to)) {
		xvt_session_note(vm->session, 2, vm, UINT32_MAX,
				 "error in xvtrace: state %s cannot follow %s; it stays %s",
				 states[to].name, states[from].name, states[from].name);
		return -EINVAL;
	}
	vm->phase = states[to].phase;
	vm->halt.step = states[to].step;
	return 0;
}
