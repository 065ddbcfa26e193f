// SPDX-License-Identifier: GPL-2.0
/* rate.c - see rate.h. */
#include "clock/rate.h"

#include <string.h>

#include "base/u64.h"
#include "clock/map.h"

#define FINE	   100u	 /* a gap's doubt is at most this part of it */
#define NEAR_PART  32u	 /* an expected rate is confirmed within this part */
#define AGREE_PART 64u	 /* two gaps agree within this part, and their doubts */
#define EXACT_PART 8192u /* a claim is used as it is within this part, and the doubt */
#define TRIES_MOST 6u	 /* then any gap decides: no rate at all is worse */

void xvt_clock_rate_init(struct xvt_clock_rate *r, uint64_t host_hz, uint64_t claim_hz)
{
	memset(r, 0, sizeof(*r));
	r->host_hz = host_hz;
	r->claim_hz = xvt_clock_plausible_hz(claim_hz) ? claim_hz : 0;
}

static struct xvt_rate_gap gap_between(const struct xvt_clock_node *a,
				       const struct xvt_clock_node *b)
{
	return (struct xvt_rate_gap){ .ticks = b->guest - a->guest,
				      .host_ns = b->host_ns - a->host_ns,
				      .doubt_ns = xvt_u64_sum(a->bound_ns, b->bound_ns) };
}

static uint64_t hz_of(const struct xvt_rate_gap *g)
{
	return xvt_u64_scale(g->ticks, 1000000000u, g->host_ns);
}

/* How far the gap's length is from what that rate makes of its ticks, ns. */
static uint64_t off_ns(const struct xvt_rate_gap *g, uint64_t hz)
{
	return xvt_u64_apart(xvt_ticks_ns(g->ticks, hz), g->host_ns);
}

static bool agrees(const struct xvt_rate_gap *g, uint64_t hz, unsigned int part)
{
	return hz && off_ns(g, hz) <= xvt_u64_sum(g->doubt_ns, g->host_ns / part);
}

/* The rate that the gap shows: an expected one, if it may be that. A claim is only a hint: one that
 * is a little off would be an error of every segment. */
static uint64_t decide(const struct xvt_clock_rate *r, const struct xvt_rate_gap *g)
{
	if (agrees(g, r->host_hz, NEAR_PART))
		return r->host_hz;
	if (agrees(g, r->claim_hz, EXACT_PART))
		return r->claim_hz;
	return hz_of(g);
}

static bool is_expected(const struct xvt_clock_rate *r, const struct xvt_rate_gap *g)
{
	return agrees(g, r->host_hz, NEAR_PART) || agrees(g, r->claim_hz, NEAR_PART);
}

static bool set(struct xvt_clock_rate *r, uint64_t hz)
{
	const bool changed = hz != r->hz;

	r->hz = hz;
	r->nr_kept = 0;
	r->other.ticks = 0;
	r->tries = 0;
	return changed;
}

static bool is_off(const struct xvt_rate_gap *g, uint64_t hz)
{
	return off_ns(g, hz) > g->doubt_ns;
}

/* The gap with the median rate of those that are kept. */
static const struct xvt_rate_gap *median(const struct xvt_clock_rate *r)
{
	const struct xvt_rate_gap *best = &r->kept[0];
	size_t i, k, below, least = XVT_RATE_GAPS;

	for (i = 0; i < XVT_RATE_GAPS; i++) {
		for (k = below = 0; k < XVT_RATE_GAPS; k++)
			below += hz_of(&r->kept[k]) < hz_of(&r->kept[i]);
		if (below <= XVT_RATE_GAPS / 2 && XVT_RATE_GAPS / 2 - below < least) {
			least = XVT_RATE_GAPS / 2 - below;
			best = &r->kept[i];
		}
	}
	return best;
}

/*
 * A rate of the clock's own is corrected if most gaps show that it is off. A few that do not may
 * have had a stop or a jump too small to be one: an average over them would not be the rate.
 */
static bool refine(struct xvt_clock_rate *r, const struct xvt_rate_gap *g)
{
	unsigned int i, off = 0;
	uint64_t hz;

	if (r->hz == r->host_hz)
		return false;
	r->kept[r->nr_kept++ % XVT_RATE_GAPS] = *g;
	if (r->nr_kept < XVT_RATE_GAPS)
		return false;
	for (i = 0; i < XVT_RATE_GAPS; i++)
		off += is_off(&r->kept[i], r->hz);
	if (off < XVT_RATE_GAPS * 3 / 4)
		return false;
	hz = decide(r, median(r));
	r->nr_kept = 0;
	if (hz == r->hz || !xvt_clock_plausible_hz(hz))
		return false;
	r->hz = hz;
	return true;
}

/* The gap does not agree with the rate, or there is none yet. */
static bool take_other(struct xvt_clock_rate *r, const struct xvt_rate_gap *g)
{
	const struct xvt_rate_gap before = r->other;
	const bool agree = before.ticks && agrees(g, hz_of(&before), AGREE_PART);

	r->other = *g;
	r->tries++;
	if (!r->hz && (is_expected(r, g) || r->tries >= TRIES_MOST))
		return true;
	return agree;
}

bool xvt_clock_rate_add(struct xvt_clock_rate *r, const struct xvt_clock_node *node, bool broken)
{
	const struct xvt_clock_node from = r->from;
	struct xvt_rate_gap g;

	if (!from.source || broken || node->guest <= from.guest || node->host_ns <= from.host_ns) {
		r->from = *node;
		return false;
	}
	g = gap_between(&from, node);
	/* Wide measurements need a longer gap: it goes on. */
	if (g.doubt_ns > g.host_ns / FINE)
		return false;
	r->from = *node;
	if (!xvt_clock_plausible_hz(hz_of(&g)))
		return false;
	if (r->hz && agrees(&g, r->hz, AGREE_PART)) {
		r->other.ticks = 0;
		r->tries = 0;
		return refine(r, &g);
	}
	return take_other(r, &g) && set(r, decide(r, &g));
}
