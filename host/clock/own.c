// SPDX-License-Identifier: GPL-2.0
/*
 * own.c - the clock source of a ring whose stamps are the host's own counter: a node is one reading
 * of that counter. Nothing is asked of a writer.
 */
#include "clock/source.h"

#include <errno.h>
#include <stdlib.h>

#include "clock/exact.h"

struct xvt_clock_source {
	struct xvt_clock_target target;
	bool started;
};

static int own_open(struct xvt_clock_source **out, const struct xvt_clock_target *target)
{
	struct xvt_clock_source *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->target = *target;
	*out = s;
	return 0;
}

static void own_start(struct xvt_clock_source *s)
{
	s->started = true;
}

static int own_poll(struct xvt_clock_source *s, struct xvt_clock_measure *m)
{
	const struct xvt_host_clock *clock = s->target.host_clock;
	uint64_t now;

	if (!s->started)
		return 0;
	s->started = false;
	now = xvt_clock_read_ordered();
	*m = (struct xvt_clock_measure){
		.node = { .ring = s->target.ring,
			  .source = XVT_SOURCE_HOST,
			  .guest = now,
			  .host_ns = xvt_host_clock_ns(clock, now),
			  .bound_ns = xvt_exact_bound_ns(clock) },
		.host_clock_lo = now,
		.host_clock_hi = now,
	};
	return 1;
}

static bool own_busy(const struct xvt_clock_source *s)
{
	return s->started;
}

static void own_close(struct xvt_clock_source *s)
{
	free(s);
}

const struct xvt_clock_source_ops xvt_clock_own = {
	.name = "host",
	.id = XVT_SOURCE_HOST,
	.open = own_open,
	.start = own_start,
	.poll = own_poll,
	.busy = own_busy,
	.close = own_close,
};
