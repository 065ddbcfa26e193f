// SPDX-License-Identifier: GPL-2.0
/*
 * writer.c - the code under test: the real writer, or, when the include path says so, a mutant
 * of it. Nothing else is compiled again for a mutant.
 */
#include "hook.h"
#include "xvt_region.h"
#undef memcpy
#undef memset

#include "world.h"

/* Part of the world, because it is part of what a schedule begins with. */
#define writer (*(struct xvt_writer *)world.private)
XVT_ASSERT(sizeof(struct xvt_writer) <= sizeof(world.private), "room in the world");

const bool writer_xadd = XVT_RING_BACKEND == XVT_BACKEND_XADD;
const char *const writer_backend = XVT_RING_BACKEND == XVT_BACKEND_XADD ? "xadd" : "cas";

static void kick(void *arg)
{
	(void)arg; /* need_wake is never set */
}

void writer_init(const struct xvt_geometry *geometry, uint64_t start)
{
	struct xvt_geometry g = *geometry;

	/* The world is the region, its first ring the only one. */
	g.ctl_off = offsetof(struct world, ctl);
	g.align = (uint32_t)(offsetof(struct world, host) - offsetof(struct world, ctl));
	g.data_off = offsetof(struct world, data);
	xvt_writer_init(&writer, &world, &g, 0);
	writer.clock = world_clock;
	writer.kick = kick;
	world.ctl.commit = start;
	world.ctl.resv = xvt_resv_word(XVT_RING_BACKEND, g.subbuf_shift, start);
	world.ctl.backend = XVT_RING_BACKEND;
}

uint64_t writer_position(void)
{
	return xvt_writer_pos(&writer, world.ctl.resv);
}

void writer_wreck(void)
{
	world.ctl.resv = ((world.ctl.resv - 1) & ~writer.resv_mask) + writer.subbuf_size -
			 world_config->wreck;
}

bool writer_crossed(void)
{
	return writer.crossed;
}

void writer_event(struct event *ev)
{
	uint32_t len = world_config->payload[ev->depth];
	uint64_t payload[WORLD_PAYLOAD_MAX / 8];
	struct xvt_slot slot;
	int err = xvt_reserve(&writer, XVT_ID_USER + ev->number, len, &slot);

	ev->exit = world.clock;
	ev->exit_span = (uint8_t)world.span;
	ev->exit_epoch = world.host.epoch;
	if (err) {
		ev->state = EV_LOST;
		oracle_lost(ev, err);
		return;
	}
	ev->state = EV_RESERVED;
	ev->pos = slot.pos;
	ev->end = slot.end;
	oracle_reserved(ev);
	world_payload(ev, payload);
	memcpy(slot.payload, payload, len);
	if (world_payload_point(ev)) {
		ev->state = EV_DISCARDING;
		xvt_discard(&writer, &slot);
		ev->state = EV_DISCARDED;
		world.discarded++;
		return;
	}
	ev->state = EV_COMMITTING;
	xvt_commit(&writer, &slot);
	ev->state = EV_DONE;
}
