// SPDX-License-Identifier: GPL-2.0
/*
 * left.c - frees machines that have left, when the files to come are without them (rotate.c). The
 * sums of the recording keep their counters. A recorder whose machines come and go for months
 * takes the memory of those that are there, and of those that left during the present file.
 */
#include "session/parts.h"

#include <stdlib.h>
#include <string.h>

/* The newest machine of the same path. */
static const struct xvt_vm *newest_of(const struct xvt_vm *vm)
{
	while (vm->chain.next)
		vm = vm->chain.next;
	return vm;
}

static bool is_measured(const struct xvt_vm *vm)
{
	uint32_t i;

	for (i = 0; vm->rings && i < vm->region.g.ring_count; i++) {
		if (vm->rings[i] && vm->rings[i]->measure.asked)
			return true;
	}
	return false;
}

/*
 * Returns true if nothing refers to the machine any more. The first machine of a path has the
 * listener and the account of space of those that came after it, so it goes with the last one; then
 * a file of that path that comes later is a machine that joins (record/follow.c).
 */
static bool may_be_freed(const struct xvt_session *s, const struct xvt_vm *vm)
{
	const struct xvt_vm *newest = newest_of(vm);
	size_t i;

	if (!vm->files.left_out || is_measured(vm))
		return false;
	/* A machine that is stopped by request waits for its start. */
	if (!newest->files.left_out || xvt_vm_stop_wanted(newest))
		return vm != newest && vm->chain.space_of != vm->id && !vm->vmm.listener;
	for (i = 0; i < s->nr_vms; i++) {
		const struct xvt_vm *other = s->vms[i];

		if (newest_of(other) == newest && (!other->files.left_out || is_measured(other)))
			return false;
	}
	return newest->chain.deleted;
}

/* The machine before it at its path is followed by the one after it. */
static void unlink_vm(struct xvt_session *s, const struct xvt_vm *vm)
{
	size_t i;

	for (i = 0; i < s->nr_vms; i++) {
		if (s->vms[i]->chain.next == vm)
			s->vms[i]->chain.next = vm->chain.next;
	}
}

/* Take the rings of freed machines out of the session's lists, and free them. */
static void free_rings(struct xvt_session *s)
{
	size_t i, kept = 0;

	for (i = 0; i < s->nr_rings; i++) {
		struct xvt_ring *r = s->rings[i];

		if (xvt_vm_of_ring(r)->files.freed) {
			xvt_ring_add_sums(r, &s->left);
			xvt_pool_uncount(r->pool, sizeof(*r));
			xvt_ring_fini(r);
			free(r);
			continue;
		}
		r->session.slot = (uint32_t)kept;
		xvt_session_move_slot(s, kept, i);
		s->rings[kept++] = r;
	}
	s->nr_rings = kept;
	s->scan.nr_active = 0; /* the next pass lists them anew */
	for (i = 0; i < s->nr_vms; i++)
		s->vms[i]->scan.first_active = s->vms[i]->scan.nr_active = 0;
}

static void free_vms(struct xvt_session *s)
{
	size_t i, kept = 0;

	for (i = 0; i < s->nr_vms; i++) {
		struct xvt_vm *vm = s->vms[i];

		if (vm->files.freed) {
			s->left.machines++;
			s->table.nr_places -= vm->rings ? vm->region.g.ring_count : 0;
			xvt_vm_free(vm);
		} else {
			s->vms[kept++] = vm;
		}
	}
	s->nr_vms = kept;
}

void xvt_session_free_left(struct xvt_session *s)
{
	size_t i, n = 0;

	/* A search for VMMs knows the machines by their places in the list. */
	if (!s->opt.follow || s->sources.kernel_searches)
		return;
	for (i = 0; i < s->nr_vms; i++) {
		s->vms[i]->files.freed = may_be_freed(s, s->vms[i]);
		n += s->vms[i]->files.freed;
	}
	if (!n)
		return;
	/* This runs the loop, so the session must still be whole. */
	for (i = 0; i < s->nr_vms; i++) {
		if (s->vms[i]->files.freed)
			xvt_session_vm_stop_listening(s, s->vms[i]);
	}
	for (i = 0; i < s->nr_vms; i++) {
		if (s->vms[i]->files.freed)
			unlink_vm(s, s->vms[i]);
	}
	free_rings(s);
	free_vms(s);
}
