// SPDX-License-Identifier: GPL-2.0
/* cpu.c - see cpu.h. */
#define _GNU_SOURCE
#include "base/cpu.h"

#include <sched.h>
#include <string.h>

bool xvt_cpu_leave(struct xvt_cpu_away *c)
{
	unsigned long rest[sizeof(c->before) / sizeof(c->before[0])];
	const int here = sched_getcpu();

	if (!c->away && sched_getaffinity(0, sizeof(c->before), (cpu_set_t *)c->before))
		return false;
	memcpy(rest, c->before, sizeof(rest));
	if (here < 0 || here >= XVT_CPUS_MAX)
		return false;
	CPU_CLR_S((size_t)here, sizeof(rest), (cpu_set_t *)rest);
	if (!CPU_COUNT_S(sizeof(rest), (cpu_set_t *)rest) ||
	    sched_setaffinity(0, sizeof(rest), (cpu_set_t *)rest))
		return false;
	c->away = true;
	return true;
}

void xvt_cpu_back(struct xvt_cpu_away *c)
{
	if (c->away)
		sched_setaffinity(0, sizeof(c->before), (cpu_set_t *)c->before);
	c->away = false;
}
