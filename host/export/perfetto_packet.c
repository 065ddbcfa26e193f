// SPDX-License-Identifier: GPL-2.0
/* perfetto_packet.c - packets and bundles of ftrace events; see perfetto_parts.h. */
#include "export/perfetto_parts.h"

#include <errno.h>
#include <stdlib.h>

uint32_t xvt_pf_machine_id(const struct xvt_pf *p, uint32_t machine)
{
	const struct xvtrace_machine *m = xvtrace_machine(p->x->trace, machine);

	return p->alone || (m && m->host) ? 0 : machine + 1;
}

const char *xvt_pf_machine_name(const struct xvt_pf *p, uint32_t machine)
{
	const struct xvtrace_machine *m = xvtrace_machine(p->x->trace, machine);

	return m ? m->name : "?";
}

int xvt_pf_begin_packet(struct xvt_pf *p, uint32_t sequence, bool *begun, uint32_t machine_id,
			size_t more)
{
	struct xvt_proto *b = &p->packet;

	b->used = 0;
	if (xvt_proto_room(b, more + 8 * XVT_PROTO_NUMBER))
		return -ENOMEM;
	xvt_proto_u64(b, TRACE_PACKET_TRUSTED_PACKET_SEQUENCE_ID, sequence);
	if (!*begun) {
		xvt_proto_u64(b, TRACE_PACKET_SEQUENCE_FLAGS, SEQ_INCREMENTAL_STATE_CLEARED);
		xvt_proto_u64(b, TRACE_PACKET_FIRST_PACKET_ON_SEQUENCE, 1);
		*begun = true;
	}
	if (machine_id)
		xvt_proto_u64(b, TRACE_PACKET_MACHINE_ID, machine_id);
	return 0;
}

int xvt_pf_begin_machine_packet(struct xvt_pf *p, uint32_t machine, size_t more)
{
	if (machine == XVT_PF_NO_MACHINE)
		return xvt_pf_begin_packet(p, p->sequence, &p->common_begun, 0, more);
	return xvt_pf_begin_packet(p, XVT_PF_SEQUENCE + 1 + p->ring_count + 1 + machine,
				   &p->machines[machine].begun, xvt_pf_machine_id(p, machine),
				   more);
}

int xvt_pf_begin_ring_packet(struct xvt_pf *p, struct xvt_pf_ring *r, size_t more)
{
	return xvt_pf_begin_packet(p, XVT_PF_SEQUENCE + 1 + (uint32_t)(r - p->rings), &r->begun,
				   xvt_pf_machine_id(p, r->machine), more);
}

void xvt_pf_end_packet(struct xvt_pf *p, size_t more_len)
{
	uint8_t head[2 * XVT_PROTO_VARINT];
	struct xvt_proto b = { .p = head };

	xvt_proto_tag(&b, TRACE_PACKET, XVT_PROTO_WIRE_BYTES);
	xvt_proto_varint(&b, p->packet.used + more_len);
	xvt_out_bytes(p->o, head, b.used);
	xvt_out_bytes(p->o, p->packet.p, p->packet.used);
}

static uint64_t column(const struct xvt_pf_ring *r, uint32_t number, size_t i)
{
	const struct xvt_pf_waking *w = &r->wakings[i];

	switch (number) {
	case COMPACT_SCHED_WAKING_TIMESTAMP:
		return w->ns - (i ? w[-1].ns : 0);
	case COMPACT_SCHED_WAKING_PID:
		return (uint64_t)(int64_t)w->pid;
	case COMPACT_SCHED_WAKING_TARGET_CPU:
		return (uint64_t)(int64_t)w->cpu;
	case COMPACT_SCHED_WAKING_PRIO:
		return (uint64_t)(int64_t)w->prio;
	case COMPACT_SCHED_WAKING_COMM_INDEX:
		return w->name;
	default:
		return w->flags;
	}
}

/* Move the ring's wake-ups into b, as a field of the bundle. Returns 0 or -ENOMEM. */
static int put_wakings(struct xvt_pf_ring *r, struct xvt_proto *b)
{
	size_t at, list;

	b->used = 0;
	if (!r->waking_count)
		return 0;
	if (xvt_proto_room(b, r->names.used + 8 * XVT_PROTO_NUMBER +
				      6 * XVT_PROTO_VARINT * r->waking_count))
		return -ENOMEM;
	at = xvt_proto_open(b, FTRACE_EVENT_BUNDLE_COMPACT_SCHED);
	xvt_proto_bytes(b, r->names.p, r->names.used);
	for (uint32_t n = COMPACT_SCHED_WAKING_TIMESTAMP; n <= COMPACT_SCHED_WAKING_COMMON_FLAGS;
	     n++) {
		list = xvt_proto_open(b, n);
		for (size_t i = 0; i < r->waking_count; i++)
			xvt_proto_varint(b, column(r, n, i));
		xvt_proto_close(b, list);
	}
	xvt_proto_close(b, at);
	r->waking_count = 0;
	r->names.used = 0;
	r->name_count = 0;
	memset(r->names_of, 0, sizeof(r->names_of));
	return 0;
}

int xvt_pf_write_bundle(struct xvt_pf *p, struct xvt_pf_ring *r)
{
	struct xvt_proto *b = &p->packet;
	uint8_t head[3 * XVT_PROTO_NUMBER];
	struct xvt_proto bundle = { .p = head };
	int err = put_wakings(r, &p->compact);

	if (!err)
		err = xvt_pf_begin_ring_packet(p, r, sizeof(head) + p->compact.used);
	if (err)
		return err;
	xvt_proto_u64(&bundle, FTRACE_EVENT_BUNDLE_CPU, r->cpu);
	if (r->lost)
		xvt_proto_u64(&bundle, FTRACE_EVENT_BUNDLE_LOST_EVENTS, 1);
	xvt_proto_tag(b, TRACE_PACKET_FTRACE_EVENTS, XVT_PROTO_WIRE_BYTES);
	xvt_proto_varint(b, bundle.used + p->compact.used + r->events.used);
	xvt_proto_bytes(b, head, bundle.used);
	xvt_proto_bytes(b, p->compact.p, p->compact.used);
	xvt_pf_end_packet(p, r->events.used);
	xvt_out_bytes(p->o, r->events.p, r->events.used);
	r->events.used = 0;
	r->lost = false;
	return 0;
}

void xvt_pf_free_bundle(struct xvt_pf_ring *r)
{
	free(r->events.p);
	free(r->names.p);
	free(r->wakings);
	r->events = r->names = (struct xvt_proto){ 0 };
	r->wakings = NULL;
	r->waking_room = 0;
}

int xvt_pf_write_bundles(struct xvt_pf *p)
{
	for (uint32_t i = 0; i <= p->ring_count; i++) {
		struct xvt_pf_ring *r = &p->rings[i];
		int err = xvt_pf_has_bundle(r) ? xvt_pf_write_bundle(p, r) : 0;

		if (err)
			return err;
		xvt_pf_free_bundle(r);
	}
	p->open_bytes = 0;
	return 0;
}
