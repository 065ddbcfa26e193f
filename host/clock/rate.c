// SPDX-License-Identifier: GPL-2.0
/* rate.c - see rate.h. */
#include "clock/rate.h"

#include <stdlib.h>
#include <string.h>

#include "base/u64.h"
#include "clock/map.h"

#define FINE	   100u	 /* a gap's doubt is at most this part of it */
#define NEAR_PART  32u	 /* an expected rate is confirmed within this part */
#define AGREE_PART 64u	 /* two gaps agree within this part, and their doubts */
#define EXACT_PART 8192u /* a claim is used as it is within this part, and the doubt */
#define TRIES_MOST 6u	 /* then any gap decides: no rate at all is worse */
#define CONFIRMED  4u	 /* gaps after which a rate is not given up for two others */
#define SETTLED	   2u	 /* gaps, or measurements, that decide about an expected rate */
/* Where measurements are further apart, a claim alone confirms no gap. */
#define LONG_NS	   300000000u
#define BILLION	   1000000000u

void xvt_clock_rate_init(struct xvt_clock_rate *r, uint64_t host_hz, uint64_t claim_hz)
{
	memset(r, 0, sizeof(*r));
	r->host_hz = host_hz;
	r->claim_hz = xvt_clock_plausible_hz(claim_hz) ? claim_hz : 0;
}

/* -- one gap ------------------------------------------------------------------------ */

static struct xvt_rate_gap gap_between(const struct xvt_clock_node *a,
				       const struct xvt_clock_node *b)
{
	return (struct xvt_rate_gap){ .ticks = b->guest - a->guest,
				      .host_ns = b->host_ns - a->host_ns,
				      .doubt_ns = xvt_u64_sum(a->bound_ns, b->bound_ns) };
}

static uint64_t hz_of(const struct xvt_rate_gap *g)
{
	return xvt_u64_scale(g->ticks, BILLION, g->host_ns);
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

static uint64_t ppb(uint64_t part, uint64_t of)
{
	return of ? xvt_u64_scale(part, BILLION, of) : BILLION;
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

static bool is_one_expected(const struct xvt_clock_rate *r, uint64_t hz)
{
	return hz && (hz == r->host_hz || hz == r->claim_hz);
}

/*
 * True if one gap is enough for its rate. Of a claim that is false a stop may make what the gap
 * shows, and the longer the gap is the longer that stop. No measurement shows it then, so a claim
 * is confirmed by a short gap, or by two.
 */
static bool is_expected(const struct xvt_clock_rate *r, const struct xvt_rate_gap *g)
{
	return agrees(g, r->host_hz, NEAR_PART) ||
	       (g->host_ns <= LONG_NS && agrees(g, r->claim_hz, NEAR_PART));
}

/* -- within one measurement ----------------------------------------------------------- */

/* True if the clock cannot have had that rate within the measurement. */
static bool excludes(const struct xvt_rate_gap *within, uint64_t hz)
{
	return within->ticks && !agrees(within, hz, AGREE_PART);
}

/* Keeps what shows best that the clock has its rate. */
static void note_shown(struct xvt_clock_rate *r, const struct xvt_rate_gap *within)
{
	const struct xvt_rate_gap *s = &r->shown;

	if (!within->ticks || !agrees(within, r->hz, AGREE_PART))
		return;
	if (within->doubt_ns <= within->host_ns / AGREE_PART)
		r->against = 0;
	if (!s->ticks || ppb(within->doubt_ns, within->host_ns) < ppb(s->doubt_ns, s->host_ns))
		r->shown = *within;
}

/*
 * The expected rate that a measurement shows of a clock that cannot have `hz`; 0: none. A clock of
 * the host's kind that ticks at the host's rate and is faster is set forward all the time.
 */
static uint64_t shown_against(const struct xvt_clock_rate *r, const struct xvt_rate_gap *within)
{
	if (!r->hz || !excludes(within, r->hz))
		return 0;
	if (r->hz < r->host_hz && agrees(within, r->host_hz, AGREE_PART))
		return r->host_hz;
	return agrees(within, r->claim_hz, AGREE_PART) ? r->claim_hz : 0;
}

/* -- several gaps ------------------------------------------------------------------- */

/* How far `hz` may be off that gaps from `least` to `most` show; g: how well such a gap is
 * known. */
static uint64_t doubt_ppb(uint64_t hz, const struct xvt_rate_gap *least,
			  const struct xvt_rate_gap *most, const struct xvt_rate_gap *g)
{
	const uint64_t below = xvt_u64_apart(hz, hz_of(least)),
		       above = xvt_u64_apart(hz, hz_of(most));

	return xvt_u64_sum(ppb(xvt_u64_larger(below, above), hz), ppb(g->doubt_ns, g->host_ns));
}

/*
 * How far the rate of a single gap may be off. Nothing in the gap shows a stop, so it is known as
 * well as the exchanges within the measurement say, where no stop can be, and else not at all.
 */
static uint64_t by_one_ppb(uint64_t hz, const struct xvt_rate_gap *g,
			   const struct xvt_rate_gap *within)
{
	const uint64_t of_gap = doubt_ppb(hz, g, g, g);

	if (!within->ticks)
		return BILLION;
	return xvt_u64_larger(of_gap, doubt_ppb(hz, within, within, within));
}

/* Two gaps agree, and both may have had a stop. */
static uint64_t by_two_ppb(uint64_t hz, const struct xvt_rate_gap *g,
			   const struct xvt_rate_gap *other)
{
	return xvt_u64_larger(doubt_ppb(hz, g, other, g), BILLION / AGREE_PART);
}

/* True if the clock cannot have that expected rate, but for as much of a stop in each gap. A rate
 * that is near differs by less than a measurement shows: there more gaps have to do. */
static bool is_out(const struct xvt_clock_rate *r, uint64_t expected_hz)
{
	if (xvt_u64_apart(r->hz, expected_hz) <= r->hz / NEAR_PART)
		return r->confirmed >= SETTLED;
	return excludes(&r->shown, expected_hz);
}

/*
 * As much of a stop or a step in each gap, and the clock has a rate that is expected of it: the
 * host's, or the one that the guest claims.
 */
static void note_doubt(struct xvt_clock_rate *r)
{
	const uint64_t expected[] = { r->host_hz, r->claim_hz };

	r->doubt_ppb = r->settled_ppb;
	r->open = false;
	if (is_one_expected(r, r->hz))
		return;
	for (unsigned int i = 0; i < 2; i++) {
		if (expected[i] && !is_out(r, expected[i]))
			r->doubt_ppb = xvt_u64_larger(
				r->doubt_ppb, ppb(xvt_u64_apart(r->hz, expected[i]), r->hz));
	}
	r->open = r->doubt_ppb > r->settled_ppb;
}

/* Another gap agrees with the rate. */
static void confirm(struct xvt_clock_rate *r, const struct xvt_rate_gap *g)
{
	const uint64_t by_two = by_two_ppb(r->hz, g, g);

	r->other.ticks = 0;
	r->tries = 0;
	if (++r->confirmed <= SETTLED)
		r->settled_ppb = by_two < r->settled_ppb ? by_two : r->settled_ppb;
	note_doubt(r);
}

static void begin_rate(struct xvt_clock_rate *r, uint64_t hz, const struct xvt_rate_gap *within)
{
	if (hz != r->hz)
		r->shown.ticks = 0;
	r->hz = hz;
	note_shown(r, within);
	r->nr_kept = 0;
	r->other.ticks = 0;
	r->tries = r->confirmed = r->others = r->against = 0;
	note_doubt(r);
}

/* Takes the rate of a gap; `other`: one that agrees with it, NULL: there is none. */
static bool take_rate(struct xvt_clock_rate *r, const struct xvt_rate_gap *g,
		      const struct xvt_rate_gap *other, const struct xvt_rate_gap *within)
{
	const uint64_t hz = decide(r, g);
	const bool changed = hz != r->hz;

	if (hz == r->host_hz)
		r->settled_ppb = 0;
	else if (hz == r->claim_hz)
		r->settled_ppb = doubt_ppb(hz, g, other ? other : g, g);
	else
		r->settled_ppb = other ? by_two_ppb(hz, g, other) : by_one_ppb(hz, g, within);
	begin_rate(r, hz, within);
	return changed;
}

/* A measurement shows an expected rate, and not the one that gaps showed. The second one decides.
 */
static bool take_shown(struct xvt_clock_rate *r, uint64_t hz, const struct xvt_rate_gap *within)
{
	r->confirmed = 0;
	r->nr_kept = 0;
	if (++r->against < SETTLED) {
		note_doubt(r);
		return false;
	}
	r->settled_ppb = hz == r->host_hz ? 0 : by_two_ppb(hz, within, within);
	begin_rate(r, hz, within);
	return true;
}

static int by_hz(const void *pa, const void *pb)
{
	const uint64_t a = hz_of(pa), b = hz_of(pb);

	return a < b ? -1 : a > b;
}

/*
 * A rate of the clock's own is corrected if most gaps show that it is off. A few that do not may
 * have had a stop or a jump too small to be one: an average over them would not be the rate. The
 * middle half of the gaps shows how well it is known.
 */
static bool refine(struct xvt_clock_rate *r, const struct xvt_rate_gap *g)
{
	struct xvt_rate_gap sorted[XVT_RATE_GAPS];
	const struct xvt_rate_gap *median = &sorted[XVT_RATE_GAPS / 2];
	unsigned int i, off = 0;
	uint64_t hz = r->hz;
	bool changed;

	if (r->hz == r->host_hz)
		return false;
	r->kept[r->nr_kept++ % XVT_RATE_GAPS] = *g;
	if (r->nr_kept < XVT_RATE_GAPS)
		return false;
	memcpy(sorted, r->kept, sizeof(sorted));
	qsort(sorted, XVT_RATE_GAPS, sizeof(sorted[0]), by_hz);
	for (i = 0; i < XVT_RATE_GAPS; i++)
		off += off_ns(&sorted[i], hz) > sorted[i].doubt_ns;
	if (off >= XVT_RATE_GAPS * 3 / 4 && xvt_clock_plausible_hz(decide(r, median)))
		hz = decide(r, median);
	r->settled_ppb =
		doubt_ppb(hz, &sorted[XVT_RATE_GAPS / 4], &sorted[XVT_RATE_GAPS * 3 / 4], median);
	changed = hz != r->hz;
	r->hz = hz;
	if (changed)
		r->nr_kept = 0;
	note_doubt(r);
	return changed;
}

/* The gap does not agree with the rate, or there is none yet. */
static bool take_other(struct xvt_clock_rate *r, const struct xvt_rate_gap *g,
		       const struct xvt_rate_gap *within)
{
	const struct xvt_rate_gap before = r->other;
	const bool again = before.ticks && agrees(g, hz_of(&before), AGREE_PART);

	/* The clock itself ran otherwise: the machine stood still, or the clock jumped. The clock
	 * may have another rate since it showed this one, but this measurement does not show that.
	 */
	if (excludes(within, hz_of(g)) ||
	    (excludes(&r->shown, hz_of(g)) && !excludes(within, r->hz))) {
		r->other.ticks = 0;
		return false;
	}
	r->others = again ? r->others + 1 : 1;
	if (r->others >= (r->confirmed < CONFIRMED && !is_one_expected(r, r->hz) ? 2 : 4))
		return take_rate(r, g, &before, within);
	r->other = *g;
	r->tries++;
	if (!r->hz && (is_expected(r, g) || r->tries >= TRIES_MOST))
		return take_rate(r, g, NULL, within);
	return false;
}

uint64_t xvt_clock_rate_off_claim_ppb(const struct xvt_clock_rate *r, uint64_t hz)
{
	return r->claim_hz && hz != r->host_hz ? ppb(xvt_u64_apart(hz, r->claim_hz), r->claim_hz)
					       : 0;
}

bool xvt_clock_rate_add(struct xvt_clock_rate *r, const struct xvt_clock_node *node,
			const struct xvt_rate_gap *within, bool broken)
{
	const struct xvt_clock_node from = r->from;
	const uint64_t shown_hz = shown_against(r, within);
	struct xvt_rate_gap g;

	note_shown(r, within);
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
	if (shown_hz)
		return take_shown(r, shown_hz, within);
	if (!r->hz || !agrees(&g, r->hz, AGREE_PART))
		return take_other(r, &g, within);
	confirm(r, &g);
	return refine(r, &g);
}
