/* SPDX-License-Identifier: GPL-2.0 */
/*
 * machine_state.h - the states of a machine's recording. machine_state.c alone changes a state.
 *
 *   state         the recorder                                           next
 *   WAITING       waits for a guest to format the region                 RECORDED STOPPED GONE
 *   RECORDED      reads the rings                                        SWITCHED_OFF GONE
 *   SWITCHED_OFF  was asked to stop: reads until the rings are finished  CLOSED LOST
 *   CLOSED        reads no ring; copied records go out in their order    WRITTEN LOST
 *   WRITTEN       has all of it in the trace, on its way into the file   STOPPED LOST
 *   LOST          lost the region while it was being stopped             STOPPED
 *   STOPPED       reads nothing until a user starts the machine again    GONE
 *   GONE          reads nothing: no region, no writer, or a successor    STOPPED
 *
 * A machine that is started again is another one, NAME.2; the one that was stopped is gone. A pause
 * of the vCPUs is no state of the recording: a machine may be paused in each of them.
 */
#ifndef XVT_SESSION_MACHINE_STATE_H
#define XVT_SESSION_MACHINE_STATE_H

struct xvt_vm;

enum xvt_vm_state {
	XVT_STATE_WAITING,
	XVT_STATE_RECORDED,
	XVT_STATE_SWITCHED_OFF,
	XVT_STATE_CLOSED,
	XVT_STATE_WRITTEN,
	XVT_STATE_LOST,
	XVT_STATE_STOPPED,
	XVT_STATE_GONE,
	XVT_STATES,
};

/* The use of the region, in a state. */
enum xvt_vm_phase {
	XVT_VM_WAITING, /* the region is not formatted: the guest is still booting */
	XVT_VM_ATTACHED,
	XVT_VM_GONE, /* the region is unusable from here on; vm->why says why */
};

/* The step of a stop by request (halt.c), in a state. */
enum xvt_halt_step {
	XVT_HALT_NONE,
	XVT_HALT_OFF,
	XVT_HALT_CLOSED,
	XVT_HALT_WRITTEN,
	XVT_HALT_DONE,
};

enum xvt_vm_state xvt_vm_state(const struct xvt_vm *vm);
/* The state's word in the status of a recorder. */
const char *xvt_vm_state_shown(enum xvt_vm_state state);
/* Change the machine's state, and with it vm->phase and vm->halt.step. Returns 0, or -EINVAL for a
 * state that is not next in the table: the machine keeps its state, and an error note says so. */
int xvt_vm_set_state(struct xvt_vm *vm, enum xvt_vm_state to);

#endif /* XVT_SESSION_MACHINE_STATE_H */
