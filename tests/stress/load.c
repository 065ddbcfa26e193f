// SPDX-License-Identifier: GPL-2.0 OR MIT
/* load.c - see load.h. */
#define _GNU_SOURCE
#include "load.h"

#include <sched.h>

/* Every so many task events hold inner ones, up to so many: a kill then often finds some done
 * whose outer is not. */
#define INNER_EVERY 4
#define INNER_MAX   8

static uint64_t next_number(struct load *l, uint32_t stream)
{
	/* One writer a stream, and each interrupt has a stream of its own. */
	uint64_t number = xvt_load(&l->truth->begun[stream]) + 1;

	xvt_store(&l->truth->begun[stream], number);
	return number;
}

/* False when the event was refused. */
static bool event(struct load *l, uint32_t stream, uint32_t inner)
{
	uint64_t number = next_number(l, stream), payload[STRESS_LEN_MAX / 8];
	uint32_t len = stress_payload(payload, stream, number);
	uint64_t *refused = &l->truth->refused[stream];
	struct xvt_slot slot;

	if (xvt_reserve(&l->w, XVT_ID_U64, len, &slot)) {
		if (!stress_is_discard(number))
			xvt_store(refused, xvt_load(refused) + 1);
		return false;
	}
	while (inner--)
		load_event(l, STRESS_INNER);
	memcpy(slot.payload, payload, len);
	if (stress_is_discard(number))
		xvt_discard(&l->w, &slot);
	else
		xvt_commit(&l->w, &slot);
	return true;
}

void load_event(struct load *l, uint32_t stream)
{
	event(l, stream, 0);
}

void load_run(struct load *l, uint64_t last)
{
	uint64_t number;

	while ((number = xvt_load(&l->truth->begun[STRESS_TASK])) < last) {
		uint32_t inner = number % INNER_EVERY ? 0 : 1 + (number / INNER_EVERY) % INNER_MAX;

		/* Full: let the reader have the CPU, if it is ours. */
		if (!event(l, STRESS_TASK, inner))
			sched_yield();
	}
}

void load_pin(unsigned int index)
{
	static cpu_set_t all; /* as this program was started */
	cpu_set_t one;
	int cpu, left;

	if (!CPU_COUNT(&all) && sched_getaffinity(0, sizeof(all), &all))
		return;
	left = (int)(index % (unsigned int)CPU_COUNT(&all));
	for (cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &all) || left--)
			continue;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		sched_setaffinity(0, sizeof(one), &one);
		return;
	}
}
