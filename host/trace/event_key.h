/* SPDX-License-Identifier: GPL-2.0 */
/*
 * event_key.h - the order of events: by time, then VM, then ring. Events of one ring and one time
 * keep the order in which they were written: those of the main and the loose lane as they are in
 * the file, then those of the late lane. The guest's clock has no part in it, because it may go
 * back. No two events of a file are equal.
 *
 * That is the order in the ring. A recorder emits a ring's records in that order, and their times
 * never decrease. The ORDER and LOOSE chunks have them in that order (trace/write.c). A record goes
 * to the late lane when it lies below a time that the merge has passed, and that time only
 * increases: behind it no record of its time and ring goes to another lane.
 */
#ifndef XVT_EVENT_KEY_H
#define XVT_EVENT_KEY_H

#include "trace/read.h"

struct xvt_event_key {
	uint64_t host_ns;
	uint64_t place; /* VM and ring */
	bool late;
	uint64_t chunk_seq;
	uint32_t number; /* in its chunk */
};

/* `late`: the event is in a LATE chunk. `number`: its place in the chunk. A caller that gets the
 * ring's events of a chunk one after the other may give any number. */
static inline struct xvt_event_key
xvt_event_key_of(const struct xvt_trace *t, const struct xvt_event *ev, bool late, uint32_t number)
{
	uint32_t ring = xvt_event_ring(ev);

	return (struct xvt_event_key){
		.host_ns = ev->hdr->host_ns,
		.place = (uint64_t)xvt_ring_vm(t, ring) << 32 | ring,
		.late = late,
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
	if (a->late != b->late)
		return a->late ? 1 : -1;
	if (a->chunk_seq != b->chunk_seq)
		return a->chunk_seq < b->chunk_seq ? -1 : 1;
	return a->number < b->number ? -1 : a->number > b->number;
}

#endif /* XVT_EVENT_KEY_H */
