// SPDX-License-Identifier: GPL-2.0
/* own_attach.c - begins a ring that the recorder writes: see own.h. */
#include "session/own.h"

void xvt_own_ring_attach(struct xvt_session *s, struct xvt_vm *vm, uint32_t index, uint32_t cpu,
			 struct xvt_own_ring *own)
{
	struct xvt_ring *r = vm->rings[index];

	xvt_vm_init_ring(s, vm, index);
	r->clock.map.host_hz = 0; /* the host's clock: nothing sets it forward */
	xvt_own_ring_init(r, cpu, own);
	r->ctl->state = XVT_RING_ONLINE;
	xvt_ring_attach(r);
	xvt_session_list_ring(s, r);
}
