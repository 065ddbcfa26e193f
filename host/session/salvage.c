// SPDX-License-Identifier: GPL-2.0
/*
 * salvage.c - reads everything in a region whose guest is gone, except for what an earlier trace
 * holds. The region is mapped privately, so it does not change. Records past commit are included
 * and flagged: their header and time were written before the payload, DONE after it.
 */
#include "base/lock.h"
#include "session/parts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The claim is here, as its wait looks at /proc/locks, and later no file can be opened any more. */
static int open_region(struct xvt_vm *vm, struct xvt_salvaged *sum, struct xvt_error *why)
{
	int err = xvt_host_region_open(&vm->region, vm->path, false);

	if (err)
		return xvt_fail(why, err, "%s", xvt_host_region_open_why(err));
	sum->at_work = xvt_host_region_claim(&vm->region, XVT_LOCK_START_MS) != 0;
	err = xvt_host_region_check(&vm->region);
	if (err)
		xvt_fault_text(&vm->region.fault, why->text, sizeof(why->text));
	return err ? err : xvt_relayed_refused(&vm->region, why);
}

/* A recorder that ends in order clears its id. */
static void look_for_recorder(const struct xvt_vm *vm, struct xvt_salvaged *sum)
{
	const uint64_t id = xvt_load(&xvt_host_region_page(&vm->region)->attach_id);

	if (id != XVT_ATTACH_LOOKS && !sum->at_work)
		sum->died = id;
}

/* Place all records of the ring, unconfirmed, by the last clock node that a recorder left in the
 * region. Without one, the guest's own ticks are the only time. */
static void place(struct xvt_session *s, struct xvt_ring *r)
{
	struct xvt_clock_node node;
	uint64_t hz;

	if (xvt_ring_hint(r, &node, &hz))
		r->clock.map.hz = hz;
	else
		node = (struct xvt_clock_node){ .ring = r->id, .source = XVT_SOURCE_NONE };
	xvt_ring_place_by(s, r, &node);
}

static void attach(struct xvt_session *s, struct xvt_vm *vm, bool died)
{
	uint32_t i;

	for (i = 0; i < vm->region.g.ring_count; i++) {
		struct xvt_ring *r = vm->rings[i];

		if (!r)
			continue;
		xvt_vm_init_ring(s, vm, i);
		xvt_ring_set_phase(r, XVT_PHASE_LIVE);
		r->salvage = r->by_read = true;
		r->decode.unaccounted_before = died;
		r->mode = xvt_load(&r->host->enable) == XVT_ENABLE_OVERWRITE ? XVT_ENABLE_OVERWRITE
									     : XVT_ENABLE_STOP;
		xvt_ring_attach(r);
		if (r->drain.last.resv) {
			xvt_session_list_ring(s, r);
			place(s, r);
		} else { /* an empty region */
			vm->rings[i] = NULL;
			free(r);
		}
	}
}

static int read_rings(struct xvt_session *s)
{
	int64_t moved;
	size_t i;

	for (i = 0; i < s->nr_rings; i++)
		xvt_drain_look(s->rings[i], s->loop, 0);
	for (i = 0; i < s->nr_rings; i++) {
		while (s->rings[i]->drain.reads) {
			int err = xvt_loop_run(s->loop, SECOND_NS);

			if (err < 0)
				return err;
		}
		xvt_drain_take(s->rings[i], false);
	}
	moved = xvt_session_merge(s, s->rings, s->nr_rings);
	return moved < 0 ? (int)moved : 0;
}

static void count(struct xvt_session *s, struct xvt_salvaged *sum)
{
	size_t i;

	sum->rings = s->nr_rings;
	for (i = 0; i < s->nr_rings; i++) {
		const struct xvt_ring *r = s->rings[i];

		if (r->fault.is_new)
			xvt_session_note(s, 1, s->vms[0], r->id, "ring %u: %s", r->index,
					 r->fault.text);
		sum->events += r->account.stats.events;
		sum->recovered += r->account.stats.recovered;
		sum->unfinished += r->decode.unfinished;
	}
}

int xvt_session_salvage(struct xvt_session *s, const char *path, const char *name,
			void (*opened)(void), struct xvt_salvaged *sum, struct xvt_error *why)
{
	struct xvt_vm *vm = xvt_vm_new(s, name ? name : "guest", path);
	int err = -ENOMEM;

	memset(sum, 0, sizeof(*sum));
	if (vm)
		err = open_region(vm, sum, why);
	if (err) {
		if (vm)
			xvt_vm_free(vm);
		else
			xvt_fail(why, 0, "%s", strerror(-err));
		return err;
	}
	opened();
	if (!name && vm->region.hdr.vm_name[0])
		snprintf(vm->name, sizeof(vm->name), "%.*s", XVT_NAME_LEN - 1,
			 vm->region.hdr.vm_name);
	xvt_vm_add(s, vm);
	err = xvt_vm_make_rings(s, vm);
	if (!err) {
		xvt_vm_announce(s, vm);
		xvt_vm_read_all_metadata(s, vm);
		look_for_recorder(vm, sum);
		attach(s, vm, sum->died);
		err = read_rings(s);
		count(s, sum);
	}
	if (err)
		xvt_fail(why, 0, "%s", strerror(-err));
	return err;
}
