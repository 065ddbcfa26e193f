// SPDX-License-Identifier: GPL-2.0
/* fit.c - see fit.h. Pure arithmetic; all products in 128 bits. */
#include "view/fit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/lines.h"

typedef __int128 s128;

#define WOBBLES_LEAST                                                                          \
	3	      /* gaps that differ, of a clock that is set forward or back all the time \
		       */
#define GAPS_LEAST 8  /* that show how far a clock is set forward */
#define RATE_PART  30 /* within a burst the guest's rate is off by at most 1/30 */

static int by_x(const void *pa, const void *pb)
{
	const struct xvt_fit_sample *a = pa, *b = pb;

	return a->x < b->x ? -1 : a->x > b->x;
}

static bool sane(const struct xvt_fit_sample *s)
{
	return s->lo <= s->hi && s->x > -XVT_FIT_MAX && s->x < XVT_FIT_MAX &&
	       s->lo > -XVT_FIT_MAX && s->hi < XVT_FIT_MAX;
}

/* Sort by x, merge samples of one x, and make offsets of lo and hi. Returns false if a sample is
 * invalid or two of one x contradict each other. */
static bool tidy(struct xvt_clock_fit *f)
{
	struct xvt_fit_sample *s = f->samples;
	size_t n = 0;

	qsort(s, f->count, sizeof(*s), by_x);
	for (size_t i = 0; i < f->count; i++) {
		if (!sane(&s[i]))
			return false;
		s[i].lo -= s[i].x;
		s[i].hi -= s[i].x;
		if (!n || s[n - 1].x != s[i].x) {
			s[n++] = s[i];
			continue;
		}
		if (s[i].lo > s[n - 1].lo)
			s[n - 1].lo = s[i].lo;
		if (s[i].hi < s[n - 1].hi)
			s[n - 1].hi = s[i].hi;
		if (s[n - 1].lo > s[n - 1].hi)
			return false;
	}
	f->count = n;
	return true;
}

/* Two samples of one measurement limit each other. If they contradict each other, the clock did
 * more within the burst than its rate may be off: each stands for itself then. */
static void limit_each_other(struct xvt_fit_sample *a, struct xvt_fit_sample *b, int64_t burst)
{
	const int64_t slack = (b->x - a->x) / RATE_PART + 1;
	struct xvt_fit_sample c = *a, d = *b;

	if ((b->hi + b->x > a->hi + a->x ? b->hi + b->x : a->hi + a->x) -
		    (b->lo + b->x < a->lo + a->x ? b->lo + b->x : a->lo + a->x) >
	    burst)
		return;
	c.lo = b->lo - slack > c.lo ? b->lo - slack : c.lo;
	c.hi = b->hi + slack < c.hi ? b->hi + slack : c.hi;
	d.lo = a->lo - slack > d.lo ? a->lo - slack : d.lo;
	d.hi = a->hi + slack < d.hi ? a->hi + slack : d.hi;
	if (c.lo > c.hi || d.lo > d.hi)
		return;
	*a = c;
	*b = d;
}

static int64_t larger(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* -- how the rate changes ----------------------------------------------------------- */

/* Keeps a value where differences of two do not overflow. */
static int64_t clipped(s128 v)
{
	return v > XVT_FIT_MAX ? XVT_FIT_MAX : v < -XVT_FIT_MAX ? -XVT_FIT_MAX : (int64_t)v;
}

/* The clock's gain from sample i to i + 1: limits, and as a share of another distance. */
static struct xvt_fit_span gained(const struct xvt_clock_fit *f, size_t i, int64_t distance)
{
	const struct xvt_fit_sample *a = &f->samples[i], *b = a + 1;
	const s128 dx = b->x - a->x;

	return (struct xvt_fit_span){ clipped((s128)(b->lo - a->hi) * distance / dx - 1),
				      clipped((s128)(b->hi - a->lo) * distance / dx + 1) };
}

/* How far apart two gains are for certain, and at most. */
struct change {
	int64_t least;
	int64_t most;
};

/* How far apart the gains of two gaps are, over the length of the first. */
static struct change change_between(const struct xvt_clock_fit *f, size_t gap, size_t other)
{
	const int64_t distance = f->samples[gap + 1].x - f->samples[gap].x;
	const int64_t beside = f->samples[other + 1].x - f->samples[other].x;
	struct xvt_fit_span a, b;

	/* A gap within a burst says nothing of the rate outside of it. */
	if (beside < distance / 16)
		return (struct change){ 0, XVT_FIT_MAX };
	a = gained(f, gap, distance);
	b = gained(f, other, distance);
	return (struct change){ larger(larger(a.lo - b.hi, b.lo - a.hi), 0),
				larger(a.hi - b.lo, b.hi - a.lo) };
}

static int64_t change(const struct xvt_clock_fit *f, size_t gap, size_t other)
{
	return change_between(f, gap, other).least;
}

static int64_t smaller(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* A gap with a step does not make its neighbours wide: both gaps on a side must differ. */
static int64_t change_beside(const struct xvt_clock_fit *f, size_t gap, bool before)
{
	if (before ? gap < 2 : gap + 3 >= f->count)
		return 0;
	return smaller(change(f, gap, before ? gap - 1 : gap + 1),
		       change(f, gap, before ? gap - 2 : gap + 2));
}

/* In an epoch of two or three gaps there may be no two on a side. Then what is there has to do. */
static int64_t change_of_few(const struct xvt_clock_fit *f, size_t gap)
{
	if (gap >= 2 || gap + 3 < f->count || f->count < 3)
		return 0;
	if (!gap)
		return change(f, 0, 1);
	return gap + 2 < f->count ? smaller(change(f, gap, gap - 1), change(f, gap, gap + 1))
				  : change(f, gap, gap - 1);
}

/* -- the path ----------------------------------------------------------------------- */

/* Slopes from a point, as rise over run: what crosses all samples so far. */
struct cone {
	bool open; /* no sample limits it yet */
	int64_t lo, lo_run;
	int64_t hi, hi_run;
};

static bool steeper(int64_t rise, int64_t run, int64_t than_rise, int64_t than_run)
{
	return (s128)rise * than_run > (s128)than_rise * run;
}

/* Limits the cone to what crosses one more sample. Returns false if nothing is left. */
static bool narrow(struct cone *c, int64_t lo, int64_t hi, int64_t run)
{
	struct cone n = *c;

	if (c->open || steeper(lo, run, c->lo, c->lo_run)) {
		n.lo = lo;
		n.lo_run = run;
	}
	if (c->open || steeper(c->hi, c->hi_run, hi, run)) {
		n.hi = hi;
		n.hi_run = run;
	}
	n.open = false;
	if (steeper(n.lo, n.lo_run, n.hi, n.hi_run))
		return false;
	*c = n;
	return true;
}

/* The middle of the cone at that distance from its point. */
static int64_t middle_of(const struct cone *c, int64_t run)
{
	return (int64_t)(((s128)c->lo * run / c->lo_run + (s128)c->hi * run / c->hi_run) / 2);
}

static int64_t distance(const struct xvt_clock_fit *f, size_t a, size_t b)
{
	const int64_t d = f->samples[b].x - f->samples[a].x;

	return d < 0 ? -d : d;
}

/*
 * Draws the path from sample `from` to the first or the last one: straight as far as one line
 * crosses the samples, and then on from that line's end. Returns whether it never bends.
 */
static bool draw(struct xvt_clock_fit *f, size_t from, bool forward)
{
	const size_t steps = forward ? f->count - 1 - from : from;
	struct cone c = { .open = true };
	size_t start = from, begin = 0, i = 1, at, k;
	bool straight = true;

	while (i <= steps) {
		at = forward ? from + i : from - i;
		if (narrow(&c, f->samples[at].lo - f->path[start],
			   f->samples[at].hi - f->path[start], distance(f, start, at))) {
			for (k = begin + 1; i == steps && k <= steps; k++) {
				at = forward ? from + k : from - k;
				f->path[at] =
					f->path[start] + middle_of(&c, distance(f, start, at));
			}
			i++;
			continue;
		}
		straight = false;
		for (k = begin + 1; k < i; k++) {
			at = forward ? from + k : from - k;
			f->path[at] = f->path[start] + middle_of(&c, distance(f, start, at));
		}
		begin = i - 1;
		start = forward ? from + begin : from - begin;
		c.open = true;
	}
	return straight;
}

static size_t tightest(const struct xvt_clock_fit *f)
{
	size_t best = 0;

	for (size_t i = 1; i < f->count; i++)
		if (f->samples[i].hi - f->samples[i].lo < f->samples[best].hi - f->samples[best].lo)
			best = i;
	return best;
}

static void make_path(struct xvt_clock_fit *f)
{
	const size_t from = tightest(f);
	bool before;

	f->path[from] = f->samples[from].lo + (f->samples[from].hi - f->samples[from].lo) / 2;
	before = draw(f, from, false);
	f->straight = draw(f, from, true) && before;
}

/* -- together ----------------------------------------------------------------------- */

static int64_t change_of(const struct xvt_clock_fit *f, size_t i)
{
	return larger(larger(change_beside(f, i, true), change_beside(f, i, false)),
		      change_of_few(f, i));
}

/* The most by which a gap's gain differs from that of both beside it; one with a step does not make
 * its neighbours differ. */
static int64_t most_of(const struct xvt_clock_fit *f, size_t i)
{
	if (i >= 2)
		return smaller(change_between(f, i, i - 1).most, change_between(f, i, i - 2).most);
	if (i + 3 < f->count)
		return smaller(change_between(f, i, i + 1).most, change_between(f, i, i + 2).most);
	return XVT_FIT_MAX;
}

/* The gain that the gaps show of a clock that is set forward or back all the time. */
struct wobble {
	int64_t least; /* three times the largest one for certain; 0: most gaps show none */
	int64_t most;  /* three times the second largest one, as it may have been stopped once */
};

static struct wobble wobble_of(const struct xvt_clock_fit *f)
{
	const size_t gaps = f->count - 1;
	int64_t least = 0, largest = 0, second = 0;
	size_t i, wobbled = 0;

	for (i = 0; i < gaps; i++) {
		const int64_t change = change_of(f, i), most = most_of(f, i);

		wobbled += change > 0;
		least = larger(least, change);
		second = larger(second, smaller(most, largest));
		largest = larger(largest, most);
	}
	return (struct wobble){
		.least = wobbled >= WOBBLES_LEAST && wobbled * 2 > gaps ? clipped(3 * (s128)least)
									: 0,
		.most = gaps >= GAPS_LEAST ? clipped(3 * (s128)second) : XVT_FIT_MAX,
	};
}

/* The gain of a clock that is set forward, from sample i to i + 1, at most. */
static int64_t set_forward(const struct xvt_clock_fit *f, size_t i, const struct xvt_fit_clock *c)
{
	const struct xvt_fit_sample *a = &f->samples[i], *b = a + 1;
	s128 gain;

	if (!c->forward)
		return 0;
	gain = (s128)(b->x - a->x) * c->forward / c->unit - (b->lo - a->hi);
	return gain > 0 ? clipped(gain) : 0;
}

/* The term that widens the limits between samples i and i + 1. */
static int64_t extra_of(const struct xvt_clock_fit *f, size_t i, const struct xvt_fit_clock *c,
			const struct wobble *w)
{
	const s128 distance = f->samples[i + 1].x - f->samples[i].x;
	const int64_t change = larger(change_of(f, i), w->least);

	return clipped((s128)larger(change, smaller(set_forward(f, i, c), w->most)) + c->step +
		       distance * c->doubt_ppb / 1000000000 + xvt_clock_wander((uint64_t)distance));
}

int xvt_clock_fit_init(struct xvt_clock_fit *f, struct xvt_fit_sample *samples, size_t count,
		       const struct xvt_fit_clock *clock)
{
	struct wobble w = { 0, XVT_FIT_MAX };

	memset(f, 0, sizeof(*f));
	f->samples = samples;
	f->count = count;
	if (!tidy(f) || f->count < 2)
		return 0;
	f->path = malloc(f->count * sizeof(*f->path));
	f->extra = malloc(f->count * sizeof(*f->extra));
	if (!f->path || !f->extra) {
		xvt_clock_fit_fini(f);
		return -ENOMEM;
	}
	for (size_t i = 0; i + 1 < f->count; i++)
		limit_each_other(&f->samples[i], &f->samples[i + 1], clock->burst);
	for (size_t i = f->count - 1; i-- > 0;)
		limit_each_other(&f->samples[i], &f->samples[i + 1], clock->burst);
	if (!clock->host_ticks)
		w = wobble_of(f);
	for (size_t i = 0; i + 1 < f->count; i++)
		f->extra[i] = extra_of(f, i, clock, &w);
	make_path(f);
	f->any = true;
	return 0;
}

void xvt_clock_fit_fini(struct xvt_clock_fit *f)
{
	free(f->path);
	free(f->extra);
	memset(f, 0, sizeof(*f));
}

/* Number of samples below x; `with`: also one at x. */
static size_t samples_until(const struct xvt_clock_fit *f, int64_t x, bool with)
{
	size_t lo = 0, hi = f->count;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (f->samples[mid].x < x || (with && f->samples[mid].x == x))
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static int64_t limited(s128 v)
{
	return v >= XVT_FIT_MAX ? INT64_MAX : v <= -XVT_FIT_MAX ? INT64_MIN : (int64_t)v;
}

void xvt_clock_fit_between(const struct xvt_clock_fit *f, int64_t x0, int64_t x1,
			   struct xvt_fit_span *at0, struct xvt_fit_span *at1)
{
	const size_t before = f->any ? samples_until(f, x0, true) : 0;
	const struct xvt_fit_sample *a, *b;
	int64_t lo, hi, extra;

	*at0 = *at1 = (struct xvt_fit_span){ INT64_MIN, INT64_MAX };
	if (!before || before == f->count || f->samples[before].x < x1)
		return;
	b = &f->samples[before];
	a = b - 1;
	extra = f->extra[before - 1];
	lo = (a->lo < b->lo ? a->lo : b->lo) - extra;
	hi = (a->hi > b->hi ? a->hi : b->hi) + extra;
	*at0 = (struct xvt_fit_span){ limited((s128)x0 + lo), limited((s128)x0 + hi) };
	*at1 = (struct xvt_fit_span){ limited((s128)x1 + lo), limited((s128)x1 + hi) };
}

/* Beyond the samples the offset of the outermost sample continues. */
int64_t xvt_clock_fit_middle(const struct xvt_clock_fit *f, int64_t x)
{
	const size_t n = samples_until(f, x, true);
	const struct xvt_fit_sample *a;

	if (!n || n == f->count)
		return limited((s128)x + f->path[n ? n - 1 : 0]);
	a = &f->samples[n - 1];
	return limited((s128)x + f->path[n - 1] +
		       (s128)(f->path[n] - f->path[n - 1]) * (x - a->x) / (a[1].x - a->x));
}
