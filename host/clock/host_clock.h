/* SPDX-License-Identifier: GPL-2.0 */
/*
 * host_clock.h - the host's own clock: from its counter to nanoseconds of CLOCK_MONOTONIC.
 *
 * A rate measured once is wrong by what the measurement was uncertain, and by what NTP does to
 * CLOCK_MONOTONIC later. So the map is a list of straight lines (struct xvt_timebase). About once
 * a second the newest line is compared with CLOCK_MONOTONIC, and about every ten seconds, or when
 * it was found off, a new one begins at a knee a little in the future. A line begins on the one
 * before it, so the map is continuous and never goes back; and no line changes once it is there,
 * so a clock value gives the same time whenever it is asked for. An error is not corrected by a
 * step but by a line that is steeper or flatter by at most 500 ppm for a fixed short time; then
 * one with the measured rate follows, so that a recorder that is stopped for hours steers nowhere.
 *
 * Bounds, not averages: a reading of CLOCK_MONOTONIC between two readings of the counter proves an
 * interval. Rate and error move only as far as an interval proves them wrong; a reading that was
 * interrupted is a wide interval, proves nothing, and does nothing.
 *
 * NTP changes the rate of CLOCK_MONOTONIC by at most 500 ppm, and that is followed. Tick
 * adjustments (chrony: up to 83,333 ppm) are not: every duration would be wrong by so much, and
 * every guest's clock would seem to jump. CLOCK_MONOTONIC_RAW, which nobody adjusts, shows them.
 * While they last the map goes on with the counter, and apart_ns says how far it is ahead. So does
 * it for an error that would take long to steer back, because the recorder did not look for hours.
 *
 * A wall clock that was set begins a line as well, so that the file tells it within a second.
 *
 * A host that sleeps stops CLOCK_MONOTONIC, but its counter may run on. The map cannot go back:
 * from then on it is ahead of CLOCK_MONOTONIC by the sleep (apart_ns), as CLOCK_BOOTTIME is.
 *
 * One thread; nothing here locks.
 */
#ifndef XVT_CLOCK_HOST_H
#define XVT_CLOCK_HOST_H

#include "trace/lines.h"

/* A knee lies this far after its measurement, so nothing beyond it was converted before. */
#define XVT_TIMEBASE_LEAD_NS	   1000000u
/* An error is steered back within this time, by at most this much. */
#define XVT_TIMEBASE_STEER_NS	   800000000u
#define XVT_TIMEBASE_STEER_PPM	   500u
/* What CLOCK_MONOTONIC differs from CLOCK_MONOTONIC_RAW by more than this is kept apart, */
#define XVT_TIMEBASE_SLEW_PPM	   600u
/* and so is an error above this. */
#define XVT_TIMEBASE_STEER_MOST_NS 5000000u
/* Lines kept in memory, half a day of them; older clock values lie on the oldest line kept. */
#define XVT_TIMEBASE_LINES_MAX	   8192u

/* What the clock is made of; a test brings its own. */
struct xvt_host_clock_parts {
	uint64_t (*clock)(void *arg);	       /* the counter, an ordered read */
	uint64_t (*ns)(void *arg, int clk_id); /* clock_gettime() in ns */
	void (*sleep)(void *arg, uint64_t ns);
	void *arg;
};

/* CLOCK_MONOTONIC was `ns` at some moment between the counter's `lo` and `hi`. */
struct xvt_clock_pair {
	uint64_t lo;
	uint64_t hi;
	uint64_t ns;
	uint64_t realtime_off; /* CLOCK_REALTIME, _BOOTTIME, _MONOTONIC_RAW less CLOCK_MONOTONIC */
	uint64_t boottime_off;
	uint64_t raw_off;
	uint64_t realtime_width; /* they are known that well */
	uint64_t boottime_width;
	uint64_t raw_width;
};

/*
 * The first line lies in the fields themselves, as the FILE chunk has it:
 * host_ns = base_ns + ((clock - base_clock) * mult >> shift), in 128 bits.
 */
struct xvt_host_clock {
	uint32_t clock_id;
	uint32_t mult;
	uint32_t shift;
	uint64_t hz; /* nominal: measured at the start, never changed */
	uint64_t base_clock;
	uint64_t base_ns; /* CLOCK_MONOTONIC */
	uint64_t realtime_ns;
	uint64_t boottime_ns;
	uint64_t wall_error_ns;
	/* The lines after it, by base_clock. */
	struct xvt_timebase *lines;
	size_t count;
	size_t room;
	bool dropped; /* older ones than lines[0] are forgotten */
	/* What the next measurement is compared with. */
	struct xvt_host_clock_parts parts;
	struct xvt_clock_pair last;  /* at the last look */
	struct xvt_clock_pair since; /* when the newest line was made: the rate is from there */
	uint64_t rate;		     /* ns a tick, times 2^XVT_RATE_SHIFT */
	int64_t apart_ns;
	bool slewing; /* CLOCK_MONOTONIC was, faster than is followed, at the last look */
	uint64_t period_ns;
	uint64_t next_look_clock;
	uint64_t next_line_clock;
};

#define XVT_RATE_SHIFT 40

/* Measure the clock's rate against CLOCK_MONOTONIC; takes about 50 ms. Returns 0 or -errno. */
int xvt_host_clock_init(struct xvt_host_clock *hc);
/* The same with other parts; a part that is NULL is the real one. */
int xvt_host_clock_init_parts(struct xvt_host_clock *hc, const struct xvt_host_clock_parts *parts);
/* Only for a clock that was tended. */
void xvt_host_clock_fini(struct xvt_host_clock *hc);

/*
 * Follow CLOCK_MONOTONIC; to be called about once a second with the counter's value now. Costs
 * nothing when it is too early, else about 2 us. Returns how many lines were begun (0, 1 or 2):
 * the last ones of hc->lines, to be recorded before anything that is converted by them. Or
 *   -ESTALE  the counter went back (the host slept and it was reset): no time after this fits
 *            to one before. Said at every call until the end
 *   -ENOMEM  the map goes on as it is, nothing is lost
 */
int xvt_host_clock_tend(struct xvt_host_clock *hc, uint64_t now);

/*
 * At the end of a recording: a last line, so that what lies before it is known as well as the rest.
 * Returns as xvt_host_clock_tend(); 0 as well if a line has just been begun.
 */
int xvt_host_clock_end(struct xvt_host_clock *hc);

/*
 * Any clock value, old ones and those before the first line too (but none further in the future
 * than XVT_TIMEBASE_LEAD_NS, if the answer is to stay). Saturates at 0 and UINT64_MAX.
 */
uint64_t xvt_host_clock_ns(const struct xvt_host_clock *hc, uint64_t clock);

/* The line on which that value lies. Its shift is never above XVT_RATE_SHIFT. */
struct xvt_timebase xvt_host_clock_line(const struct xvt_host_clock *hc, uint64_t clock);

/*
 * How far the map from from_ns to to_ns, which may have knees, is at most off the straight line
 * between its ends. 0 if no line begins in between.
 */
uint64_t xvt_host_clock_bend_ns(const struct xvt_host_clock *hc, uint64_t from_ns, uint64_t to_ns);

/* Ticks of the host's clock in that many nanoseconds, at its nominal rate. */
uint64_t xvt_host_clock_ticks(const struct xvt_host_clock *hc, uint64_t ns);

#endif /* XVT_CLOCK_HOST_H */
