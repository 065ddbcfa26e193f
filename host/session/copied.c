// SPDX-License-Identifier: GPL-2.0
/*
 * copied.c - a region that is a copy of another one of this recording. A machine that is migrated
 * within its host, to a VMM with another file, takes the memory of its region along: with the
 * records that the recorder has taken from the old file, and with the host's words as they were
 * when their pages were copied. Each ring of the copy begins where the old one was read to its
 * end, and no event is taken from both.
 */
#include "session/parts.h"

#include <string.h>

/* Between two looks are XVT_WAIT_FORMAT_NS. */
#define PAUSE_LOOKS 20u	 /* the report that the old machine stands still comes by then */
#define REST_LOOKS  200u /* and what it left is in the file by then; a disk may be full */
/* The old machine's rings may hold each other's records back for that long before these looks
 * begin. */
#define STALLS	    2u

/* The header of `vm` was just copied and checked; that of `other` is older than its last boot. */
static bool is_same_boot(const struct xvt_vm *vm, const struct xvt_vm *other)
{
	const struct xvt_region_hdr *copy = &vm->region.hdr;
	const struct xvt_region_hdr *h = (const struct xvt_region_hdr *)other->region.map;
	size_t i;

	for (i = 0; i < sizeof(copy->boot_uuid); i++) {
		if (copy->boot_uuid[i] != xvt_load(&h->boot_uuid[i]))
			return false;
	}
	return copy->generation == xvt_load(&h->generation) &&
	       other->region.g.ring_count == vm->region.g.ring_count &&
	       other->region.g.ring_size == vm->region.g.ring_size;
}

const struct xvt_vm *xvt_vm_original(const struct xvt_session *s, const struct xvt_vm *vm)
{
	size_t i;

	if (!is_recording(s) || vm->span.found_attach_id != s->attach_id)
		return NULL;
	for (i = 0; i < s->nr_vms; i++) {
		if (s->vms[i] != vm && s->vms[i]->phase == XVT_VM_ATTACHED && !s->vms[i]->own &&
		    is_same_boot(vm, s->vms[i]))
			return s->vms[i];
	}
	return NULL;
}

/*
 * Events that the files of this recording account for, by the ring's host words, and those that
 * were lost: what was lost last is in no record yet, since the guest stands still.
 */
static uint64_t accounted(const struct xvt_ring *r)
{
	const struct xvt_ring_host *h = r->host;
	uint64_t sum = xvt_load(&h->acc_delivered) + xvt_load(&h->acc_discarded) +
		       xvt_load(&h->acc_overwritten);
	unsigned int i;

	for (i = 0; i < XVT_LOST_CAUSES; i++)
		sum += xvt_load(&r->ctl->lost[i]);
	return sum;
}

/* Returns true if all that the ring has is in the trace for good, but for events whose writers
 * stand still within them. */
static bool is_read(const struct xvt_ring *r)
{
	const struct xvt_ring_drain *d = &r->drain;
	const uint64_t commit = xvt_load_acquire(&r->ctl->commit);

	return r->phase == XVT_PHASE_BROKEN ||
	       (d->read_pos == commit && !d->first && xvt_load(&r->host->cons) == commit &&
		xvt_load(&r->ctl->attempted) - accounted(r) <= xvt_load(&r->ctl->nest));
}

static bool is_all_read(const struct xvt_vm *vm)
{
	uint32_t i;

	for (i = 0; i < vm->region.g.ring_count; i++) {
		if (vm->rings[i] && !is_read(vm->rings[i]))
			return false;
	}
	return true;
}

static uint64_t rest_looks(const struct xvt_session *s)
{
	return REST_LOOKS + STALLS * s->opt.stall_timeout_ns / XVT_WAIT_FORMAT_NS;
}

bool xvt_vm_copy_waits(struct xvt_vm *vm, const struct xvt_vm *original)
{
	if (!original || (original->vmm.vcpus_off && is_all_read(original)))
		return false;
	return vm->span.copy_looks++ <
	       (original->vmm.vcpus_off ? rest_looks(vm->session) : PAUSE_LOOKS);
}

bool xvt_vm_take_copy(struct xvt_vm *vm, const struct xvt_vm *original)
{
	uint32_t i;

	if (!original || !original->vmm.vcpus_off || !is_all_read(original))
		return false;
	for (i = 0; i < vm->region.g.ring_count; i++) {
		const struct xvt_ring_host *from = xvt_host_ring_host(&original->region, i);
		const struct xvt_ring_ctl *ctl = xvt_host_ring_ctl(&original->region, i);
		struct xvt_ring_host *to = xvt_host_ring_host(&vm->region, i);
		unsigned int k;

		/* The original's end accounts for all that was lost. */
		xvt_store(&to->acc_delivered, xvt_load(&from->acc_delivered));
		xvt_store(&to->acc_discarded, xvt_load(&from->acc_discarded));
		xvt_store(&to->acc_overwritten, xvt_load(&from->acc_overwritten));
		for (k = 0; k < XVT_LOST_CAUSES; k++)
			xvt_store(&to->acc_lost[k], xvt_load(&ctl->lost[k]));
		xvt_store_release(&to->cons, xvt_load(&from->cons));
	}
	return true;
}
