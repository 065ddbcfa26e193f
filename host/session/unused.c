// SPDX-License-Identifier: GPL-2.0
/*
 * unused.c - makes rings, when a writer has used them. A region has a ring for each CPU or thread
 * that its guest may ever have, and most of these never write. Such a ring has no struct xvt_ring,
 * of 5 KB: it rests as a parked ring (park.c), which is its words in vm->parked and a NULL in
 * vm->rings. The scan (scan.c) finds it in use when one of these words has changed. Then the ring
 * is made and attached, and its words are checked, as those of a ring that was in use when the
 * machine was attached.
 */
#include "session/parts.h"

#include <errno.h>
#include <stdlib.h>

#include "base/vec.h"

/* A writer sets the state before its first event, and counts an event before it reserves. */
static bool is_unused(const struct xvt_ring_words *w)
{
	return w->state == XVT_RING_IDLE && !w->nest && !w->resv && !w->commit && !w->attempted;
}

bool xvt_vm_ring_rests_unused(struct xvt_vm *vm, uint32_t index)
{
	const struct xvt_ring_ctl *ctl = xvt_host_ring_ctl(&vm->region, index);
	struct xvt_ring_words w;

	xvt_ring_words(ctl, &vm->region.g, &w);
	if (!is_unused(&w))
		return false;
	vm->parked[index] = (struct xvt_parked){
		.ctl = ctl,
		.resv = w.resv_word,
		.commit = w.commit,
		.generation = w.generation,
		.state = w.state,
		.floor_ns = UINT64_MAX,
	};
	return true;
}

int xvt_vm_make_ring(struct xvt_session *s, struct xvt_vm *vm, uint32_t index, size_t more)
{
	const size_t need = s->nr_rings + more;
	struct xvt_ring *r;

	if (xvt_grow(&s->rings, &s->table.rings_room, need, sizeof(*s->rings)) ||
	    xvt_session_park_room(s, need) || xvt_session_clock_room(s, need))
		return -ENOMEM;
	r = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	vm->rings[index] = r;
	vm->parked[index].ctl = NULL;
	xvt_pool_count(&vm->pool, sizeof(*r), true); /* returned by left.c */
	return 0;
}

void xvt_vm_init_ring(struct xvt_session *s, struct xvt_vm *vm, uint32_t index)
{
	struct xvt_ring *r = vm->rings[index];

	r->id = vm->table.first_id + index;
	r->vm = vm->id;
	r->index = index;
	r->region = &vm->region;
	r->ctl = xvt_host_ring_ctl(&vm->region, index);
	r->host = xvt_host_ring_host(&vm->region, index);
	r->mail_ctl = r->ctl;
	r->mail_host = r->host;
	r->pool = &vm->pool;
	r->host_clock = &s->clock;
	r->types = vm->metadata.types ? vm->metadata.types->count : NULL;
	r->mode = s->opt.mode;
	r->by_read = s->opt.drain_reads;
	r->margin_most_ns = xvt_session_free_wait_ns(s);
	xvt_clock_map_init(&r->clock.map, vm->clocks.guest_hz);
	r->clock.map.host_clock = &s->clock;
	r->clock.map.pool = r->pool;
	if (vm->relay.of)
		xvt_relayed_init_ring(vm, r);
}

void xvt_session_list_ring(struct xvt_session *s, struct xvt_ring *r)
{
	r->session.slot = (uint32_t)s->nr_rings;
	xvt_session_begin_slot(s, s->nr_rings);
	s->rings[s->nr_rings++] = r;
}

/* While the machine's memory goes back to an earlier state, the words of a ring may be of two
 * states. The next scan deals with that first, and then looks at them. */
static bool goes_back(const struct xvt_vm *vm)
{
	return vm->scan.nonce &&
	       xvt_load(&xvt_host_region_page(&vm->region)->nonce) != vm->scan.nonce;
}

struct xvt_ring *xvt_vm_wake_ring(struct xvt_session *s, struct xvt_vm *vm, uint32_t index)
{
	struct xvt_ring *r;

	if (goes_back(vm) || xvt_vm_ring_rests_unused(vm, index))
		return NULL;
	if (xvt_vm_make_ring(s, vm, index, 1)) {
		vm->table.no_memory = true;
		return NULL;
	}
	r = vm->rings[index];
	xvt_vm_init_ring(s, vm, index);
	r->guest.unseen = vm->scan.unseen;
	r->guest.barred = vm->stall.barred;
	r->guest.loose = vm->loose.on;
	xvt_ring_attach(r);
	xvt_session_list_ring(s, r);
	return r;
}

void xvt_vm_wake_used(struct xvt_session *s, struct xvt_vm *vm)
{
	uint32_t i;

	for (i = 0; vm->phase == XVT_VM_ATTACHED && i < vm->region.g.ring_count; i++) {
		if (!vm->rings[i])
			xvt_vm_wake_ring(s, vm, i);
	}
}
