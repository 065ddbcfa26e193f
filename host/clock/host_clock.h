/* SPDX-License-Identifier: GPL-2.0 */
/*
 * host_clock.h - the host's own clock: from its counter to nanoseconds of CLOCK_MONOTONIC.
 *
 * A rate measured once is wrong by the measurement's uncertainty, and by NTP's later changes of
 * CLOCK_MONOTONIC. The map is a list of straight lines (struct xvt_timebase). About once a second
 * the newest line is compared with CLOCK_MONOTONIC. About every ten seconds, or when it was found
 * off, a new line begins at a knee a little in the future. A line begins on the one before it, so
 * the map is continuous and never goes back. No line changes after it was made, so a clock value
 * always gives the same time. An error is not corrected by a step, but by a line that is steeper or
 * flatter by at most 500 ppm for a fixed short time. A line with the measured rate follows it, so
 * that a recorder that is stopped for hours does not go on steering.
 *
 * Bounds, not averages: a reading of CLOCK_MONOTONIC between two readings of the counter proves an
 * interval. Rate and error move only as far as an interval proves them wrong. A reading that was
 * interrupted is a wide interval, proves nothing, and has no effect.
 *
 * NTP changes the rate of CLOCK_MONOTONIC by at most 500 ppm; the map follows that. The map does
 * not follow tick adjustments (chrony: up to 83,333 ppm): every duration would be wrong by as much,
 * and every guest's clock would seem to jump. CLOCK_MONOTONIC_RAW, which is never adjusted, shows
 * them. While they last the map goes on with the counter, and apart_ns holds how far it is ahead.
 * The same is done with an error that would take long to steer back, because the recorder did not
 * look for hours.
 *
 * A wall clock that was set begins a line as well, so that the file holds the change within a
 * second.
 *
 * A host that sleeps stops CLOCK_MONOTONIC, but its counter may run on. The map cannot go back:
 * from then on it is ahead of CLOCK_MONOTONIC by the sleep (apart_ns), as CLOCK_BOOTTIME is.
 *
 * For one thread; nothing here locks.
 */
#ifndef XVT_CLOCK_HOST_H
#define XVT_CLOCK_HOST_H

#include "trace/lines.h"

/* A knee lies this far after its measurement, so no later clock value was converted before. */
#define XVT_TIMEBASE_LEAD_NS	   1000000u
/* An error is steered back within this time, by at most this rate. */
#define XVT_TIMEBASE_STEER_NS	   800000000u
#define XVT_TIMEBASE_STEER_PPM	   500u
/* A larger rate difference of CLOCK_MONOTONIC to CLOCK_MONOTONIC_RAW goes into apart_ns. */
#define XVT_TIMEBASE_SLEW_PPM	   600u
/* A larger error goes into apart_ns. */
#define XVT_TIMEBASE_STEER_MOST_NS 5000000u
/* Lines kept in memory, half a day of them; older clock values lie on the oldest line kept. */
#define XVT_TIMEBASE_LINES_MAX	   8192u

/* The clocks in use; a test sets its own. */
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
	uint64_t realtime_off; /* CLOCK_REALTIME, _BOOTTIME, _MONOTONIC_RAW minus CLOCK_MONOTONIC */
	uint64_t boottime_off;
	uint64_t raw_off;
	uint64_t realtime_width; /* uncertainty of the offsets, ns */
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
	/* The later lines, by base_clock. */
	struct xvt_timebase *lines;
	size_t count;
	size_t room;
	bool dropped; /* lines older than lines[0] were dropped */
	/* State for the next measurement. */
	struct xvt_host_clock_parts parts;
	struct xvt_clock_pair last; /* at the last look */
	/* when the newest line was made; the rate is measured from there */
	struct xvt_clock_pair since;
	uint64_t rate; /* ns a tick, times 2^XVT_RATE_SHIFT */
	int64_t apart_ns;
	bool slewing; /* at the last look CLOCK_MONOTONIC was slewed faster than is followed */
	uint64_t period_ns;
	uint64_t next_look_clock;
	uint64_t next_line_clock;
};

#define XVT_RATE_SHIFT 40

/* Measures the counter's rate against CLOCK_MONOTONIC; takes about 50 ms. Returns 0 or -errno. */
int xvt_host_clock_init(struct xvt_host_clock *hc);
/* The same with other clocks; a NULL member is the real clock. */
int xvt_host_clock_init_parts(struct xvt_host_clock *hc, const struct xvt_host_clock_parts *parts);
/* Needed only after xvt_host_clock_follow(). */
void xvt_host_clock_fini(struct xvt_host_clock *hc);

/*
 * Follows CLOCK_MONOTONIC; must be called about once a second with the counter's present value.
 * Returns at once if called too early, else takes about 2 us. Returns how many lines were begun (0,
 * 1 or 2): the last ones of hc->lines, which must be recorded before any time converted by them. Or
 *   -ESTALE  the counter went back (the host slept and it was reset): later times do not continue
 *            earlier ones. Returned by every later call
 *   -ENOMEM  the map goes on unchanged, nothing is lost
 */
int xvt_host_clock_follow(struct xvt_host_clock *hc, uint64_t now);

/* Ends a recording with a last line, so that the time before it is known as well as earlier times.
 * Returns as xvt_host_clock_follow(); also 0 if a line has just been begun. */
int xvt_host_clock_end(struct xvt_host_clock *hc);

/*
 * Converts any clock value, also old ones and those before the first line. A value further in the
 * future than XVT_TIMEBASE_LEAD_NS may convert differently later. Saturates at 0 and UINT64_MAX.
 */
uint64_t xvt_host_clock_ns(const struct xvt_host_clock *hc, uint64_t clock);

/* The line on which a clock value lies. The line's shift is never above XVT_RATE_SHIFT. */
struct xvt_timebase xvt_host_clock_line(const struct xvt_host_clock *hc, uint64_t clock);

/* The most, in ns, that the map between from_ns and to_ns is off the straight line between its
 * ends; 0 if no line begins in between. */
uint64_t xvt_host_clock_bend_ns(const struct xvt_host_clock *hc, uint64_t from_ns, uint64_t to_ns);

/* Ticks of the host's counter in `ns` nanoseconds, at its nominal rate. */
uint64_t xvt_host_clock_ticks(const struct xvt_host_clock *hc, uint64_t ns);

#endif /* XVT_CLOCK_HOST_H */
