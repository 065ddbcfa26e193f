/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * xvt_cost.h - the two loops whose ratio says what an event costs: the same source in a
 * micro-VM at user level and in a process. Both write 16 bytes and read the CPU's counter once
 * a turn; the first does nothing else.
 */
#ifndef XVT_COST_H
#define XVT_COST_H

#include "xvt_writer.h"

/* Ticks for `count` times: clock read, 16-byte store. Uses the ring's data as memory. */
xvt_inline uint64_t xvt_cost_of_clock(struct xvt_writer *w, uint32_t count)
{
	uint64_t *words = (uint64_t *)w->data;
	uint64_t begin = xvt_clock_read_ordered();
	uint32_t i;

	for (i = 0; i < count; i++) {
		uint64_t *to = words + (i & 255) * 2;

		xvt_store(to, xvt_clock_read());
		xvt_store(to + 1, (uint64_t)i);
	}
	return xvt_clock_read_ordered() - begin;
}

/* Ticks for `count` events of 16 bytes; 0 if one could not be written. */
xvt_inline uint64_t xvt_cost_of_event(struct xvt_writer *w, uint32_t count)
{
	uint64_t begin = xvt_clock_read_ordered();
	uint32_t i;

	for (i = 0; i < count; i++) {
		struct xvt_slot slot;
		uint64_t *payload;

		if (xvt_reserve(w, XVT_ID_U64, 16, &slot))
			return 0;
		payload = slot.payload;
		payload[0] = i;
		payload[1] = begin;
		xvt_commit(w, &slot);
	}
	return xvt_clock_read_ordered() - begin;
}

#endif /* XVT_COST_H */
