// SPDX-License-Identifier: GPL-2.0
/*
 * perfetto_symbols.c - names of functions; see perfetto_parts.h. Messages of events hold addresses,
 * and Perfetto looks for their names in the interned data of the same sequence.
 */
#include "export/perfetto_parts.h"

#include <errno.h>
#include <stdlib.h>

#define TOLD_MAX (1u << 13) /* of a ring */

static uint64_t *find(struct xvt_pf_ring *r, uint64_t address)
{
	uint64_t at = (address * 0x9e3779b97f4a7c15ull) >> 32;

	while (r->told[at & (r->told_room - 1)] && r->told[at & (r->told_room - 1)] != address)
		at++;
	return &r->told[at & (r->told_room - 1)];
}

static int more_room(struct xvt_pf_ring *r)
{
	uint64_t *old = r->told;
	uint32_t room = r->told_room;

	r->told_room = room ? 2 * room : 64;
	r->told = calloc(r->told_room, sizeof(*r->told));
	if (!r->told) {
		r->told = old;
		r->told_room = room;
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < room; i++)
		if (old[i])
			*find(r, old[i]) = old[i];
	free(old);
	return 0;
}

static int put_symbol(struct xvt_pf *p, struct xvt_pf_ring *r, uint64_t address, const char *name)
{
	struct xvt_proto *b = &p->packet;
	size_t len = strlen(name), at, item;

	if (xvt_pf_begin_ring_packet(p, r, xvt_proto_text_room(len) + 4 * XVT_PROTO_NUMBER))
		return -ENOMEM;
	at = xvt_proto_open(b, TRACE_PACKET_INTERNED_DATA);
	item = xvt_proto_open(b, INTERNED_DATA_KERNEL_SYMBOLS);
	xvt_proto_u64(b, INTERNED_STRING_IID, address);
	xvt_proto_string(b, INTERNED_STRING_STR, name, len);
	xvt_proto_close(b, item);
	xvt_proto_close(b, at);
	xvt_pf_end_packet(p, 0);
	return 0;
}

int xvt_pf_symbol(struct xvt_pf *p, struct xvt_pf_ring *r, const struct xvtrace_event *ev,
		  uint64_t address)
{
	const char *name;
	uint64_t *told;

	if (!address)
		return 0;
	if (2 * r->told_count >= r->told_room && r->told_count < TOLD_MAX && more_room(r))
		return -ENOMEM;
	told = find(r, address);
	if (*told || r->told_count == TOLD_MAX)
		return 0;
	*told = address;
	r->told_count++;
	name = xvtrace_event_symbol(ev, address);
	return name ? put_symbol(p, r, address, name) : 0;
}
