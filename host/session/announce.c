// SPDX-License-Identifier: GPL-2.0
/* announce.c - what the trace says of machines and rings: VM, RING and first NODE chunks. */
#include "session/parts.h"

#include <string.h>

void xvt_vm_announce(struct xvt_session *s, struct xvt_vm *vm)
{
	struct xvt_vm_info info = {
		.vm = vm->id,
		.kind = xvt_vm_is_host(vm) ? XVT_VM_HOST : XVT_VM_GUEST,
		.clock_hz = vm->clocks.guest_hz,
	};

	memcpy(info.uuid, vm->uuid, sizeof(info.uuid));
	/* Of a region that no guest has formatted, no word counts. */
	if (vm->rings) {
		info.region_kind = vm->passive ? XVT_REGION_FTRACE : vm->region.hdr.kind;
		info.generation = vm->region.hdr.generation;
		memcpy(info.boot_uuid, vm->region.hdr.boot_uuid, sizeof(info.boot_uuid));
	}
	vm->files.announced = true;
	memcpy(info.name, vm->name, sizeof(info.name));
	info.name[sizeof(info.name) - 1] = 0;
	xvt_trace_put(s->trace, XVT_CHUNK_VM, &info, sizeof(info), NULL, 0);
}

static void put_ring(struct xvt_session *s, struct xvt_ring *r, const struct xvt_ring_info *info)
{
	r->session.reported_info = *info;
	r->session.reported_info_clock = xvt_clock_read();
	r->session.info_waits = false;
	xvt_trace_put(s->trace, XVT_CHUNK_RING, info, sizeof(*info), NULL, 0);
	r->session.announced = true;
}

/* Returns true if the chunk must be written at once. The recorder's own fields change seldom, and
 * later chunks may need them. The guest may change its fields as often as it likes. */
static bool is_urgent(const struct xvt_ring *r, const struct xvt_ring_info *info)
{
	const struct xvt_ring_info *reported = &r->session.reported_info;

	return !r->session.announced || info->start_ns != reported->start_ns ||
	       info->clock_hz != reported->clock_hz ||
	       info->clock_traits != reported->clock_traits ||
	       info->clock_step != reported->clock_step;
}

void xvt_ring_announce(struct xvt_session *s, struct xvt_ring *r)
{
	struct xvt_ring_info info = {
		.ring = r->id,
		.vm = r->vm,
		.index = r->index,
		.type = xvt_load(&r->ctl->type),
		.cpu = xvt_load(&r->ctl->cpu),
		.hw_id = xvt_load(&r->ctl->hw_id),
		.pid = xvt_load(&r->ctl->pid),
		.tid = xvt_load(&r->ctl->tid),
		.clock_id = xvt_load(&r->ctl->clock_id),
		.mode = r->mode,
		.subbuf_size = r->region->g.subbuf_size,
		.subbuf_count = r->region->g.subbuf_count,
		.start_ns = r->start_ns,
		.before = is_snapshot(s) ? 0 : xvt_ring_events_before(r),
		.clock_hz = r->clock.map.hz,
		.clock_traits = r->clock.map.clock_traits,
		.clock_step = r->clock.map.clock_step,
	};

	r->session.info_waits = false;
	if (r->session.announced && !memcmp(&info, &r->session.reported_info, sizeof(info)))
		return;
	if (is_urgent(r, &info) ||
	    since(xvt_clock_read(), r->session.reported_info_clock) >= ticks(s, SECOND_NS)) {
		put_ring(s, r, &info);
		return;
	}
	r->session.next_info = info;
	r->session.info_waits = s->infos_wait = true;
}

void xvt_ring_announce_again(struct xvt_session *s, struct xvt_ring *r)
{
	struct xvt_ring_info info = r->session.reported_info;

	info.before = xvt_ring_events_before(r);
	put_ring(s, r, &info);
}

void xvt_ring_place_by(struct xvt_session *s, struct xvt_ring *r, struct xvt_clock_node *node)
{
	xvt_ring_announce(s, r);
	xvt_clock_map_add(&r->clock.map, node);
	r->clock.map.closed = true;
	r->account.stats.source = node->source;
	xvt_trace_put(s->trace, XVT_CHUNK_NODE, node, sizeof(*node), NULL, 0);
}

void xvt_session_announce_late(struct xvt_session *s, bool final)
{
	const uint64_t now = xvt_clock_read();
	size_t i;

	if (!s->infos_wait)
		return;
	s->infos_wait = false;
	for (i = 0; i < s->nr_rings; i++) {
		struct xvt_ring *r = s->rings[i];

		if (r->session.info_waits &&
		    (final || since(now, r->session.reported_info_clock) >= ticks(s, SECOND_NS)))
			put_ring(s, r, &r->session.next_info);
		s->infos_wait |= r->session.info_waits;
	}
}
