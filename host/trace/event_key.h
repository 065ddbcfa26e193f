/* SPDX-License-Identifier: GPL-2.0 */
/* event_key.h - the order of events: by time, then VM, then ring, then the ring's own clock, then
 * the file. No two events of a file are equal. */
#ifndef XVT_EVENT_KEY_H
#define XVT_EVENT_KEY_H

#include "trace/read.h"

struct xvt_event_key {
	uint64_t host_ns;
	uint64_t place; /* VM and ring */
	uint64_t guest_clock;
	uint64_t chunk_seq;
	uint32_t number; /* in its chunk */
};

static inline struct xvt_event_key xvt_event_key_of(const struct xvt_trace *t,
						    const struct xvt_event *ev, uint32_t number)
{
	uint32_t ring = xvt_event_ring(ev);

	return (struct xvt_event_key){
		.host_ns = ev->hdr->host_ns,
		.place = (uint64_t)xvt_ring_vm(t, ring) << 32 | ring,
		.guest_clock = ev->hdr->guest_clock,
		.chunk_seq = ev->chunk_seq,
		.number = number,
	};
}

/* Returns less than 0, 0 or more than 0. */
static inline int xvt_event_key_compare(const struct xvt_event_key *a,
					const struct xvt_event_key *b)
{
	if (a->host_ns != b->host_ns)
		return a->host_ns < b->host_ns ? -1 : 1;
	if (a->place != b->place)
		return a->place < b->place ? -1 : 1;
	if (a->guest_clock != b->guest_clock)
		return a->guest_clock < b->guest_clock ? -1 : 1;
	if (a->chunk_seq != b->chunk_seq)
		return a->chunk_seq < b->chunk_seq ? -1 : 1;
	return a->number < b->number ? -1 : a->number > b->number;
}

#endif /* XVT_EVENT_KEY_H */
