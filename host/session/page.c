// SPDX-License-Identifier: GPL-2.0
/*
 * page.c - the clock pages of a recording: opened when a ring's clock source opens, updated at
 * every pause, closed with the ring. (Nodes: take_node() in clocks.c.)
 */
#include "session/parts.h"

#include <errno.h>

/* A region older than version 1.1 has no place for a page; the file works all the same. */
static struct xvt_clock_page *page_in_region(const struct xvt_ring *r)
{
	return xvt_has_clock_pages(&r->region->hdr) ? &r->mail_host->clock_page : NULL;
}

void xvt_session_page_open(struct xvt_session *s, struct xvt_ring *r)
{
	const char *dir = s->opt.clock_page_dir;
	struct xvt_vm *vm = xvt_vm_of_ring(r);
	int err;

	xvt_clock_pages_init(&r->measure.pages, page_in_region(r), &s->clock, s->attach_id, NULL,
			     NULL);
	if (vm->vmm.paused)
		xvt_clock_pages_pause(&r->measure.pages, vm->vmm.paused_at_ns);
	if (!dir)
		return;
	err = xvt_clock_pages_share(&r->measure.pages, dir, vm->name, r->index,
				    xvt_load(&r->ctl->hw_id));
	if (err)
		xvt_session_note(s, 2, vm, r->id, "no clock page %s/%s.%u: %s", dir, vm->name,
				 r->index,
				 err == -EBUSY	 ? "another recorder writes it"
				 : err == -EPERM ? "another user owns the file"
						 : strerror(-err));
}

static void apply_event(struct xvt_clock_pages *c, enum xvt_vmm_event event, uint64_t at_ns)
{
	switch (event) {
	case XVT_VMM_STOPPED:
	case XVT_VMM_MIGRATED_AWAY: /* a later state is not visible here */
	case XVT_VMM_GONE:
		xvt_clock_pages_pause(c, at_ns);
		break;
	case XVT_VMM_RUNNING:
		xvt_clock_pages_resume(c, at_ns);
		break;
	case XVT_VMM_RESET:
	case XVT_VMM_WOKEN:
	case XVT_VMM_ARRIVED:
		xvt_clock_pages_doubt(c);
		break;
	case XVT_VMM_VCPU:
	case XVT_VMM_SUSPENDED:
	case XVT_VMM_PANICKED:
	case XVT_VMM_SHUTTING_DOWN:
	case XVT_VMM_RENAMED:
		break;
	}
}

void xvt_session_page_event(struct xvt_vm *vm, enum xvt_vmm_event event, uint64_t at_ns)
{
	uint32_t i;

	for (i = 0; vm->phase == XVT_VM_ATTACHED && i < vm->region.g.ring_count; i++) {
		if (vm->rings[i])
			apply_event(&vm->rings[i]->measure.pages, event, at_ns);
	}
}
