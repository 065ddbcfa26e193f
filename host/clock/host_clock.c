// SPDX-License-Identifier: GPL-2.0
/*
 * host_clock.c - see host_clock.h. Integers only, products in 128 bits: ten years of a 5 GHz
 * counter are 61 bits, and times a 32-bit mult 93.
 */
#define _GNU_SOURCE
#include "clock/host_clock.h"

#include <stdlib.h>
#include <time.h>

#include "base/time.h"
#include "base/vec.h"

typedef unsigned __int128 u128;
typedef __int128 s128;

#define CALIBRATE_NS  50000000ull
#define PAIRS	      16	   /* tries for a tight pair */
#define LOOK_NS	      SECOND_NS	   /* between two comparisons */
#define PERIOD_MIN_NS SECOND_NS	   /* between two lines: doubles from here ... */
#define PERIOD_MAX_NS 10000000000u /* ... to here, while the error is small */
#define OFF_NS	      1000	   /* an error above this is not small */
#define CALIBRATIONS  5		   /* tries for an undisturbed one */
/* undisturbed: its length is at least this many times the width of its pairs */
#define CALIBRATED    10000
#define USUAL_PPM     100      /* NTP's usual rate change of a sound clock */
#define SLEEP_MIN_NS  1000000  /* less is the noise of reading three clocks */
#define JUMP_NS	      10000000 /* plus a quarter of the interval: no slew is this fast */

/* ------------------------------------------------------------------ reading */

static uint64_t real_clock(void *arg)
{
	(void)arg;
	return xvt_clock_read_ordered();
}

static uint64_t real_ns(void *arg, int clk_id)
{
	struct timespec ts;

	(void)arg;
	clock_gettime(clk_id, &ts);
	return xvt_timespec_ns(&ts);
}

static void real_sleep(void *arg, uint64_t ns)
{
	struct timespec ts = { .tv_nsec = (long)ns };

	(void)arg;
	nanosleep(&ts, NULL);
}

static uint64_t read_clock(const struct xvt_host_clock *hc)
{
	return hc->parts.clock(hc->parts.arg);
}

static uint64_t read_ns(const struct xvt_host_clock *hc, int clk_id)
{
	return hc->parts.ns(hc->parts.arg, clk_id);
}

/*
 * Offset of another clock to CLOCK_MONOTONIC, exact to half of *width: the tightest of four tries.
 */
static uint64_t offset_of(const struct xvt_host_clock *hc, int clk_id, uint64_t *width)
{
	uint64_t offset = 0;

	*width = UINT64_MAX;
	for (int i = 0; i < 4; i++) {
		uint64_t before = read_ns(hc, CLOCK_MONOTONIC);
		uint64_t other = read_ns(hc, clk_id);
		uint64_t took = read_ns(hc, CLOCK_MONOTONIC) - before;

		if (took < *width) {
			*width = took;
			offset = other - (before + took / 2);
		}
	}
	return offset;
}

/* The tightest of several pairs: an interruption only makes one wider. */
static void read_pair(const struct xvt_host_clock *hc, struct xvt_clock_pair *p)
{
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < PAIRS; i++) {
		uint64_t lo = read_clock(hc);
		uint64_t ns = read_ns(hc, CLOCK_MONOTONIC);
		uint64_t hi = read_clock(hc);

		if (hi - lo < best) {
			best = hi - lo;
			p->lo = lo;
			p->hi = hi + 1; /* the counter shows a tick until its end */
			p->ns = ns;
		}
	}
	p->realtime_off = offset_of(hc, CLOCK_REALTIME, &p->realtime_width);
	p->boottime_off = offset_of(hc, CLOCK_BOOTTIME, &p->boottime_width);
	p->raw_off = offset_of(hc, CLOCK_MONOTONIC_RAW, &p->raw_width);
}

static uint64_t magnitude(int64_t v)
{
	return v < 0 ? -(uint64_t)v : (uint64_t)v;
}

/*
 * Error bound of a pair's CLOCK_REALTIME minus CLOCK_MONOTONIC, ns; each reading is rounded down.
 */
static uint64_t realtime_error(const struct xvt_clock_pair *p)
{
	return p->realtime_width / 2 + 2;
}

static uint64_t middle(const struct xvt_clock_pair *p)
{
	return p->lo + (p->hi - p->lo) / 2;
}

/* ------------------------------------------------------------------ lines */

/* The largest mult that fits gives the finest slope: 2^-31 of it, 5 ns in ten seconds, for a
 * counter below 512 GHz. shift is never above XVT_RATE_SHIFT, which is precise enough. */
static void set_slope(uint32_t *mult, uint32_t *shift, uint64_t rate)
{
	*shift = XVT_RATE_SHIFT;
	while (rate >> 32) {
		rate >>= 1;
		--*shift;
	}
	*mult = (uint32_t)rate;
}

/* The line in hc->lines on which a clock value lies; NULL: it lies on the first line. */
static const struct xvt_timebase *later_line(const struct xvt_host_clock *hc, uint64_t clock)
{
	size_t n;

	if (!hc->count)
		return NULL;
	/* Nearly always the value is recent. */
	if (clock >= hc->lines[hc->count - 1].base_clock)
		return &hc->lines[hc->count - 1];
	n = XVT_COUNT_TO(hc->lines, hc->count, base_clock, clock);
	if (n)
		return &hc->lines[n - 1];
	return hc->dropped ? &hc->lines[0] : NULL;
}

struct xvt_timebase xvt_host_clock_line(const struct xvt_host_clock *hc, uint64_t clock)
{
	const struct xvt_timebase *line = later_line(hc, clock);

	if (line)
		return *line;
	return (struct xvt_timebase){
		.base_clock = hc->base_clock,
		.base_ns = hc->base_ns,
		.mult = hc->mult,
		.shift = hc->shift,
		.realtime_ns = hc->realtime_ns,
		.boottime_ns = hc->boottime_ns,
		.wall_error_ns = hc->wall_error_ns,
	};
}

uint64_t xvt_host_clock_ns(const struct xvt_host_clock *hc, uint64_t clock)
{
	struct xvt_timebase line = xvt_host_clock_line(hc, clock);

	return xvt_timebase_ns(&line, clock);
}

uint64_t xvt_host_clock_bend_ns(const struct xvt_host_clock *hc, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t bend = 0, until = to_ns;
	uint32_t mult = hc->mult, shift = hc->shift;
	size_t i, first = hc->count;

	while (first && hc->lines[first - 1].base_ns > from_ns)
		first--;
	if (first) {
		mult = hc->lines[first - 1].mult;
		shift = hc->lines[first - 1].shift;
	}
	/* For each piece, the difference between its length on the line at from_ns and its own. */
	for (i = hc->count; i-- > first;) {
		const struct xvt_timebase *line = &hc->lines[i];
		uint64_t ns, straight;

		if (line->base_ns >= until)
			continue;
		ns = until - line->base_ns;
		straight = (uint64_t)(((u128)ns << line->shift) / line->mult * mult >> shift);
		bend += ns > straight ? ns - straight : straight - ns;
		until = line->base_ns;
	}
	return bend;
}

uint64_t xvt_host_clock_ticks(const struct xvt_host_clock *hc, uint64_t ns)
{
	return (uint64_t)((u128)ns * hc->hz / SECOND_NS);
}

/* ------------------------------------------------------------------ the first line */

static uint64_t rate_of(uint64_t ns, uint64_t ticks)
{
	return (uint64_t)(((u128)ns << XVT_RATE_SHIFT) / ticks);
}

/* Half of the joint uncertainty of two readings of raw_off, ns. */
static uint64_t raw_slack(const struct xvt_clock_pair *a, const struct xvt_clock_pair *b)
{
	return a->raw_width / 2 + b->raw_width / 2 + 2;
}

/* Time from a to b by CLOCK_MONOTONIC_RAW, ns. */
static uint64_t raw_ns(const struct xvt_clock_pair *a, const struct xvt_clock_pair *b)
{
	return b->ns - a->ns + (b->raw_off - a->raw_off);
}

/* True if CLOCK_MONOTONIC was slewed between the two pairs, faster than is followed. */
static bool was_slewed(const struct xvt_clock_pair *a, const struct xvt_clock_pair *b)
{
	uint64_t by = magnitude((int64_t)(b->raw_off - a->raw_off));

	return by > (u128)raw_ns(a, b) * XVT_TIMEBASE_SLEW_PPM / 1000000 + raw_slack(a, b);
}

/*
 * Reads two pairs, CALIBRATE_NS apart, for the first rate; again if an interruption made one wide.
 */
static void calibrate(struct xvt_host_clock *hc, struct xvt_clock_pair *first)
{
	for (int i = 0; i < CALIBRATIONS; i++) {
		uint64_t wide;

		read_pair(hc, first);
		hc->parts.sleep(hc->parts.arg, CALIBRATE_NS);
		read_pair(hc, &hc->last);
		wide = (first->hi - first->lo) + (hc->last.hi - hc->last.lo);
		if (wide < (hc->last.lo - first->hi) / CALIBRATED)
			return;
	}
}

int xvt_host_clock_init_parts(struct xvt_host_clock *hc, const struct xvt_host_clock_parts *parts)
{
	struct xvt_clock_pair first;
	uint64_t passed;

	memset(hc, 0, sizeof(*hc));
	hc->parts = *parts;
	hc->parts.clock = parts->clock ? parts->clock : real_clock;
	hc->parts.ns = parts->ns ? parts->ns : real_ns;
	hc->parts.sleep = parts->sleep ? parts->sleep : real_sleep;
	hc->clock_id = XVT_CLOCK_NATIVE;
	calibrate(hc, &first);
	hc->base_clock = middle(&hc->last);
	hc->base_ns = hc->last.ns;
	if (hc->base_clock <= middle(&first) || hc->base_ns <= first.ns)
		return -EINVAL;
	hc->slewing = was_slewed(&first, &hc->last);
	passed = hc->slewing ? raw_ns(&first, &hc->last) : hc->base_ns - first.ns;
	hc->rate = rate_of(passed, hc->base_clock - middle(&first));
	if (!hc->rate)
		return -EINVAL;
	set_slope(&hc->mult, &hc->shift, hc->rate);
	hc->hz = (uint64_t)((u128)(hc->base_clock - middle(&first)) * SECOND_NS / passed);
	hc->realtime_ns = hc->base_ns + hc->last.realtime_off;
	hc->boottime_ns = hc->base_ns + hc->last.boottime_off;
	hc->wall_error_ns = realtime_error(&hc->last);
	hc->since = hc->last;
	hc->period_ns = PERIOD_MIN_NS;
	hc->next_look_clock = hc->base_clock + xvt_host_clock_ticks(hc, LOOK_NS);
	hc->next_line_clock = hc->base_clock + xvt_host_clock_ticks(hc, PERIOD_MIN_NS);
	return 0;
}

int xvt_host_clock_init(struct xvt_host_clock *hc)
{
	static const struct xvt_host_clock_parts real;

	return xvt_host_clock_init_parts(hc, &real);
}

void xvt_host_clock_fini(struct xvt_host_clock *hc)
{
	free(hc->lines);
	hc->lines = NULL;
	hc->count = hc->room = 0;
}

/* ------------------------------------------------------------------ following */

static uint64_t ticks_ns(const struct xvt_host_clock *hc, uint64_t ticks)
{
	return (uint64_t)((u128)ticks * hc->rate >> XVT_RATE_SHIFT);
}

/*
 * True if the two clocks came apart by more than a rate error can cause. CLOCK_MONOTONIC stands
 * still while the host sleeps, and CLOCK_BOOTTIME shows that it slept. The length is taken from the
 * counter, because the kernel may know it only by a clock of whole seconds. Without a sleep the
 * clocks jump only if the machine's clocks were exchanged (a host that is itself a guest). Both
 * cases must be proven, because an interrupted reading is not a sleep. CLOCK_MONOTONIC_RAW proves a
 * fast slew; *slewed_ns is its size.
 */
static bool came_apart(struct xvt_host_clock *hc, const struct xvt_clock_pair *p,
		       uint64_t *slewed_ns)
{
	const struct xvt_clock_pair *last = &hc->last;
	uint64_t passed = p->ns - last->ns;
	uint64_t counted = ticks_ns(hc, middle(p) - middle(last));
	uint64_t slack = ticks_ns(hc, (p->hi - p->lo) / 2 + (last->hi - last->lo) / 2);
	uint64_t boot_slack = p->boottime_width / 2 + last->boottime_width / 2;
	int64_t apart = (int64_t)(counted - passed);
	int64_t slept = (int64_t)(p->boottime_off - last->boottime_off - boot_slack);
	bool by_sleep = slept > SLEEP_MIN_NS && apart - (int64_t)slack > slept / 2;

	hc->slewing = was_slewed(last, p);
	if (!by_sleep && !hc->slewing && magnitude(apart) < counted / 4 + slack + JUMP_NS)
		return false;
	hc->apart_ns += apart;
	*slewed_ns = hc->slewing ? magnitude(apart) : 0;
	return true;
}

/*
 * True if the wall clock was set since the newest line; only that moves it against CLOCK_MONOTONIC.
 */
static bool wall_was_set(const struct xvt_host_clock *hc, const struct xvt_clock_pair *p)
{
	int64_t moved = (int64_t)(p->realtime_off - hc->since.realtime_off);

	return magnitude(moved) > realtime_error(p) + realtime_error(&hc->since);
}

static void limit_rate(struct xvt_host_clock *hc, const struct xvt_clock_pair *p, uint64_t least_ns,
		       uint64_t most_ns)
{
	uint64_t lowest = rate_of(least_ns, p->hi - hc->since.lo);
	uint64_t highest = rate_of(most_ns, p->lo - hc->since.hi);

	if (hc->rate < lowest)
		hc->rate = lowest;
	if (hc->rate > highest)
		hc->rate = highest;
}

/* Moves the rate only as far as the pairs of the newest line and now prove it wrong, so that NTP is
 * followed and noise is not. A pair's nanosecond is rounded: one more each way. */
static void follow_rate(struct xvt_host_clock *hc, const struct xvt_clock_pair *p)
{
	uint64_t ns = p->ns - hc->since.ns;

	limit_rate(hc, p, ns - 1, ns + 1);
}

/* Follows CLOCK_MONOTONIC_RAW after a slew: CLOCK_MONOTONIC since the newest line does not show its
 * usual rate, which is near that of CLOCK_MONOTONIC_RAW. */
static void follow_raw(struct xvt_host_clock *hc, const struct xvt_clock_pair *p)
{
	uint64_t ns = raw_ns(&hc->since, p);
	uint64_t slack = raw_slack(&hc->since, p) + (uint64_t)((u128)ns * USUAL_PPM / 1000000);

	limit_rate(hc, p, ns > slack ? ns - slack : 1, ns + slack);
}

/* Bounds how far the map is ahead of its target at a pair: between *lo and *hi, ns. */
static void error_at(const struct xvt_host_clock *hc, const struct xvt_clock_pair *p, int64_t *lo,
		     int64_t *hi)
{
	uint64_t should = p->ns + (uint64_t)hc->apart_ns;

	/* Both are rounded down: the true values are less than 1 ns larger. */
	*lo = (int64_t)(xvt_host_clock_ns(hc, p->lo) - should) - 1;
	*hi = (int64_t)(xvt_host_clock_ns(hc, p->hi) - should) + 1;
}

/* True if steering the error back would take too long. */
static bool too_far(int64_t error_lo, int64_t error_hi)
{
	return error_lo > (int64_t)XVT_TIMEBASE_STEER_MOST_NS ||
	       error_hi < -(int64_t)XVT_TIMEBASE_STEER_MOST_NS;
}

/* Moves the error into apart_ns instead of steering it back. Returns its size, ns. */
static uint64_t give_up(struct xvt_host_clock *hc, int64_t *error_lo, int64_t *error_hi)
{
	int64_t error = *error_lo + (*error_hi - *error_lo) / 2;

	hc->apart_ns += error;
	*error_lo -= error;
	*error_hi -= error;
	return magnitude(error);
}

/* Makes room for two more lines; drops the older half when there are too many. */
static int make_room(struct xvt_host_clock *hc)
{
	size_t half = hc->count / 2;

	if (hc->count + 2 > XVT_TIMEBASE_LINES_MAX) {
		memmove(hc->lines, hc->lines + half, (hc->count - half) * sizeof(*hc->lines));
		hc->count -= half;
		hc->dropped = true;
	}
	return xvt_grow(&hc->lines, &hc->room, hc->count + 2, sizeof(*hc->lines));
}

/* Adds a line from `knee` on; it begins at the map's present value there. */
static void begin_line(struct xvt_host_clock *hc, const struct xvt_clock_pair *p, uint64_t knee,
		       uint64_t rate, uint64_t error_ns)
{
	struct xvt_timebase *line = &hc->lines[hc->count];
	uint64_t monotonic = p->ns + ticks_ns(hc, knee - middle(p));

	memset(line, 0, sizeof(*line));
	line->base_clock = knee;
	line->base_ns = xvt_host_clock_ns(hc, knee);
	set_slope(&line->mult, &line->shift, rate);
	line->realtime_ns = monotonic + p->realtime_off;
	line->boottime_ns = monotonic + p->boottime_off;
	line->apart_ns = hc->apart_ns;
	line->error_ns = error_ns;
	line->wall_error_ns =
		realtime_error(p) + magnitude((int64_t)(line->base_ns - monotonic) - hc->apart_ns);
	hc->count++;
}

/* The proven error, limited to what may be steered back at once, ns. */
static int64_t steerable(int64_t error_lo, int64_t error_hi)
{
	int64_t most = (int64_t)XVT_TIMEBASE_STEER_NS / 1000000 * XVT_TIMEBASE_STEER_PPM;
	int64_t error = error_lo > 0 ? error_lo : error_hi < 0 ? error_hi : 0;

	if (error > most)
		return most;
	return error < -most ? -most : error;
}

static int begin_lines(struct xvt_host_clock *hc, const struct xvt_clock_pair *p, int64_t error_lo,
		       int64_t error_hi, uint64_t slewed_ns)
{
	/* Read again: an interruption of any length may have followed the pair. */
	uint64_t knee = read_clock(hc) + xvt_host_clock_ticks(hc, XVT_TIMEBASE_LEAD_NS);
	uint64_t steer_ticks = xvt_host_clock_ticks(hc, XVT_TIMEBASE_STEER_NS);
	uint64_t under = magnitude(error_lo), over = magnitude(error_hi);
	uint64_t error_ns = (under > over ? under : over) + slewed_ns;
	int64_t steer = steerable(error_lo, error_hi);
	uint64_t steer_rate = rate_of(magnitude(steer), steer_ticks);
	int err = make_room(hc);

	if (err)
		return err;
	if (steer) {
		begin_line(hc, p, knee, steer > 0 ? hc->rate - steer_rate : hc->rate + steer_rate,
			   error_ns);
		knee += steer_ticks;
	}
	begin_line(hc, p, knee, hc->rate, error_ns);
	hc->since = *p;
	return steer ? 2 : 1;
}

int xvt_host_clock_follow(struct xvt_host_clock *hc, uint64_t now)
{
	struct xvt_clock_pair p;
	int64_t error_lo, error_hi;
	uint64_t slewed_ns = 0, rate = hc->rate;
	bool apart, off;

	if (now < hc->next_look_clock && now >= hc->last.lo)
		return 0;
	read_pair(hc, &p);
	if (p.lo <= hc->last.hi || p.ns <= hc->last.ns)
		return -ESTALE;
	/* A line must have begun before the next one is made, so that they are in order. */
	if (hc->count && p.lo <= hc->lines[hc->count - 1].base_clock)
		return 0;
	hc->next_look_clock = p.hi + xvt_host_clock_ticks(hc, LOOK_NS);
	apart = came_apart(hc, &p, &slewed_ns);
	if (!apart)
		follow_rate(hc, &p);
	error_at(hc, &p, &error_lo, &error_hi);
	if (!apart && too_far(error_lo, error_hi)) {
		apart = true;
		hc->rate = rate;
		slewed_ns = give_up(hc, &error_lo, &error_hi);
	}
	if (slewed_ns)
		follow_raw(hc, &p);
	hc->last = p;
	off = error_lo > OFF_NS || error_hi < -OFF_NS;
	if (!apart && !off && !wall_was_set(hc, &p) && p.hi < hc->next_line_clock)
		return 0;
	hc->period_ns = off ? PERIOD_MIN_NS : hc->period_ns * 2;
	if (hc->period_ns > PERIOD_MAX_NS)
		hc->period_ns = PERIOD_MAX_NS;
	hc->next_line_clock = p.hi + xvt_host_clock_ticks(hc, hc->period_ns);
	return begin_lines(hc, &p, error_lo, error_hi, slewed_ns);
}

int xvt_host_clock_end(struct xvt_host_clock *hc)
{
	hc->next_look_clock = hc->next_line_clock = 0;
	return xvt_host_clock_follow(hc, read_clock(hc));
}
