/* SPDX-License-Identifier: GPL-2.0 */
/*
 * fit.h - limits that the samples of an epoch prove for every moment in it, and a smooth line
 * through all of them.
 *
 * A sample says: the guest's clock was x at some moment between the host's lo and hi. Between
 * samples the limits depend on how the clock behaves, which no sample shows. A promise is made of
 * every clock: between two neighbouring samples, what it gained on its nominal rate only grows, or
 * only shrinks, but for a wander (trace/lines.h). Then its offset (host - x) there lies between the
 * least and the largest that either sample allows. That holds for a constant rate, for a clock that
 * creeps, for one that stood still or was set forward; each further restriction (one rate for a
 * whole epoch, gains only) is a conclusion from samples that other clocks would have given as well,
 * and proves nothing.
 *
 * Where three gaps side by side (two, if there are no more) show that the rate changes from one to
 * the next, the limits are wider by that change: a clock that wobbles may have gained and lost
 * within a gap.
 *
 * All values are ticks of the host's counter, counted from an origin nearby; x is the guest's clock
 * at its nominal rate.
 */
#ifndef XVT_CLOCK_FIT_H
#define XVT_CLOCK_FIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All values must lie between -XVT_FIT_MAX and XVT_FIT_MAX, so that products fit into 128 bits. */
#define XVT_FIT_MAX (INT64_C(1) << 60)

struct xvt_fit_sample {
	int64_t x;
	int64_t lo;
	int64_t hi;
};

/* Limits of the host's clock; INT64_MIN and INT64_MAX: unknown. */
struct xvt_fit_span {
	int64_t lo;
	int64_t hi;
};

struct xvt_clock_fit {
	bool any;			/* there are limits: at least two samples, none invalid */
	bool straight;			/* a straight line crosses all samples */
	struct xvt_fit_sample *samples; /* by x, no two equal; lo and hi less x: offsets */
	size_t count;
	int64_t *path;	/* offset at each sample: a line of few bends that crosses all of them */
	int64_t *extra; /* [i]: what widens the limits between samples i and i + 1 */
};

/* Knowledge of the clock besides its samples. */
struct xvt_fit_clock {
	/* Two samples that were taken within that time are of one measurement, within which the
	 * rate is off by at most 1/30. */
	int64_t burst;
	/*
	 * The clock may tick at the host's rate, and be set forward now and then to keep up with a
	 * nominal rate that is faster by forward / unit. Then it is behind by up to all that it
	 * gains in a gap. 0: it has a rate of its own.
	 */
	int64_t forward;
	int64_t unit;
	/* The clock counts the host's ticks. Another one may be set forward and back all the time,
	 * and its gaps show how far. */
	bool host_ticks;
	/* By how much values of the clock differ, if it steps. */
	int64_t step;
	/* How far the nominal rate may be off, in 1e-9. */
	int64_t doubt_ppb;
};

/* samples: in any order; sorted in place. Returns 0 (also if nothing is proven) or -ENOMEM. */
int xvt_clock_fit_init(struct xvt_clock_fit *f, struct xvt_fit_sample *samples, size_t count,
		       const struct xvt_fit_clock *clock);
void xvt_clock_fit_fini(struct xvt_clock_fit *f);

/*
 * Get the proven limits at x0 and x1, where no sample lies between. The limits of each x between
 * them lie within the straight lines from *at0 to *at1.
 */
void xvt_clock_fit_between(const struct xvt_clock_fit *f, int64_t x0, int64_t x1,
			   struct xvt_fit_span *at0, struct xvt_fit_span *at1);

/* Returns the likeliest host's clock at x. */
int64_t xvt_clock_fit_middle(const struct xvt_clock_fit *f, int64_t x);

#endif /* XVT_CLOCK_FIT_H */
