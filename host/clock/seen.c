// SPDX-License-Identifier: GPL-2.0
/* seen.c - see seen.h. */
#include "clock/seen.h"

#include <errno.h>
#include <stdlib.h>

#include "base/u64.h"

#define HELD_MOST  3u	/* measurements in a row whose event seems to be too old */
#define SLACK_PPB  100u /* of a rate that is known, beside its doubt */
#define SLACK_TICK 2u	/* rounding */

/* Between the two host clock values the guest's clock had the value. */
struct seen {
	uint64_t guest;
	uint64_t lo;
	uint64_t hi;
};

struct xvt_clock_source {
	struct xvt_clock_target target;
	struct seen newest;
	bool fresh;	  /* the event is in no measurement yet */
	struct seen best; /* of the line: that whose later side says most. hi 0: none */
	unsigned int held;
	bool started;
};

static int seen_open(struct xvt_clock_source **out, const struct xvt_clock_target *target)
{
	struct xvt_clock_source *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->target = *target;
	*out = s;
	return 0;
}

/* What `from` says of the moment at which the guest's clock is `guest`, by its rate. Returns false
 * if that is not known, or the clock went back. */
static bool carry(const struct xvt_clock_source *s, const struct seen *from, uint64_t guest,
		  struct seen *to)
{
	const struct xvt_clock_target *t = &s->target;
	const uint64_t guest_hz = *t->guest_hz;
	unsigned __int128 ticks, slack;

	if (!from->hi || *t->rate_open || guest < from->guest || !guest_hz)
		return false;
	ticks = (unsigned __int128)(guest - from->guest) * t->host_clock->hz / guest_hz;
	slack = ticks * (*t->rate_doubt_ppb + SLACK_PPB) / 1000000000u + SLACK_TICK;
	if (ticks > INT64_MAX || slack > ticks + SLACK_TICK)
		return false;
	to->guest = guest;
	to->lo = from->lo + (uint64_t)ticks - (uint64_t)slack;
	to->hi = from->hi + (uint64_t)ticks + (uint64_t)slack;
	return true;
}

void xvt_clock_seen_event(struct xvt_clock_source *s, uint64_t guest, uint64_t host_clock_lo,
			  uint64_t host_clock_hi)
{
	struct seen best;
	const bool known = carry(s, &s->best, guest, &best);

	if (!known && !host_clock_lo)
		return;
	s->newest = (struct seen){ guest, host_clock_lo, host_clock_hi };
	s->fresh = true;
	/* An event that was seen before the line lets it be proves another line. */
	if (!known || host_clock_hi < best.lo)
		s->best = s->newest;
	else if (host_clock_hi <= best.hi)
		s->best = (struct seen){ guest, xvt_u64_larger(host_clock_lo, best.lo),
					 host_clock_hi };
}

void xvt_clock_seen_anew(struct xvt_clock_source *s)
{
	s->newest = s->best = (struct seen){ 0 };
	s->fresh = false;
	s->held = 0;
}

bool xvt_clock_seen_denies(const struct xvt_clock_source *s, uint64_t guest, uint64_t host_clock_hi,
			   uint64_t ticks)
{
	struct seen by_line;

	return carry(s, &s->best, guest, &by_line) && by_line.lo > host_clock_hi + ticks;
}

static void seen_start(struct xvt_clock_source *s)
{
	s->started = true;
}

/* The newest event's moment, by itself and by the event that says most of the line. */
static struct seen narrow(struct xvt_clock_source *s)
{
	struct seen own = s->newest, by_line;

	if (!carry(s, &s->best, own.guest, &by_line))
		return own;
	if (by_line.hi >= own.lo) {
		s->held = 0;
		own.lo = xvt_u64_larger(own.lo, by_line.lo < own.hi ? by_line.lo : own.lo);
		own.hi = by_line.hi < own.hi ? by_line.hi : own.hi;
		return own;
	}
	/* It was held between its stamp and its commit; or the clock has lost time. */
	s->held += s->fresh;
	if (s->held < HELD_MOST)
		return by_line;
	s->held = 0;
	s->best = own;
	return own;
}

static int seen_poll(struct xvt_clock_source *s, struct xvt_clock_measure *m)
{
	const struct xvt_host_clock *clock = s->target.host_clock;
	struct seen at;
	uint64_t lo_ns, hi_ns;

	if (!s->started || !s->newest.hi)
		return 0;
	s->started = false;
	/* An event is given again until another one comes: a node that is wide may be refused. */
	at = narrow(s);
	s->fresh = false;
	lo_ns = xvt_host_clock_ns(clock, at.lo);
	hi_ns = xvt_host_clock_ns(clock, at.hi);
	*m = (struct xvt_clock_measure){
		.node = { .ring = s->target.ring,
			  .source = XVT_SOURCE_SEEN,
			  .guest = at.guest,
			  .host_ns = lo_ns + (hi_ns - lo_ns) / 2,
			  .bound_ns = (hi_ns - lo_ns) / 2 + 2 },
		.samples = { { .ring = s->target.ring,
			       .source = XVT_SOURCE_SEEN,
			       .guest = at.guest,
			       /* Of an event that was held, what the line says. */
			       .host_clock_lo =
				       s->newest.lo && s->newest.lo < at.lo ? s->newest.lo : at.lo,
			       .host_clock_hi = s->newest.hi } },
		.nr_samples = 1,
		.clock_step_most = 1,
		.clock_step_known = true,
		.host_clock_lo = at.lo,
		.host_clock_hi = s->newest.hi,
	};
	return 1;
}

/* Nothing is waited for: an event comes, or none does. */
static bool seen_busy(const struct xvt_clock_source *s)
{
	(void)s;
	return false;
}

static void seen_close(struct xvt_clock_source *s)
{
	free(s);
}

const struct xvt_clock_source_ops xvt_clock_seen = {
	.name = "seen",
	.id = XVT_SOURCE_SEEN,
	.open = seen_open,
	.start = seen_start,
	.poll = seen_poll,
	.busy = seen_busy,
	.close = seen_close,
};
