/* SPDX-License-Identifier: GPL-2.0 */
/*
 * fit.h - what all samples of an epoch prove together of every moment in it.
 *
 * A sample says: the guest's clock was x at some moment between the host's lo and hi. What lies
 * between samples is only known by how the clock behaves, and nobody may take that for granted.
 * So there are explanations, each refused as soon as one sample contradicts it, and what is
 * proven is what all that are left allow:
 *
 *   line   a constant rate, whichever. The lines that cross every sample's interval form a
 *          region between the lower convex hull of the upper ends and the upper one of the
 *          lower ends, closed by its steepest and its flattest line. (Duda, Harrus, Haddad,
 *          Bernard: Estimating Global Time in Distributed Systems, ICDCS 1987; Sirdey, Maurice:
 *          A linear programming approach to highly precise clock synchronization, 2008. LTTng
 *          synchronises its traces that way.)
 *   gain   the host's rate, but for moments at which the guest's clock gains: that is how QEMU
 *          emulates a TSC for several vCPUs. host - guest only falls, so it is at most what
 *          each sample before allows, and at least what each sample after does.
 *   step   the host's rate, but for one step, in either direction, between any two samples. Refused
 *          for those two where the samples before contradict each other, or those after. It only
 *          widens what the others allow: with many steps a clock can do anything.
 *
 * All values are ticks of the host's and of the guest's counter, counted from an origin nearby.
 */
#ifndef XVT_CLOCK_FIT_H
#define XVT_CLOCK_FIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All values must be smaller, and larger than its negative: products stay in 128 bits. */
#define XVT_FIT_MAX (INT64_C(1) << 60)

struct xvt_fit_sample {
	int64_t x;
	int64_t lo;
	int64_t hi;
};

/* Host time; INT64_MIN and INT64_MAX where nothing is known. */
struct xvt_fit_span {
	int64_t lo;
	int64_t hi;
};

struct xvt_fit_point {
	int64_t x;
	int64_t y;
};

/* Through two points with a.x < b.x. */
struct xvt_fit_line {
	struct xvt_fit_point a;
	struct xvt_fit_point b;
};

struct xvt_clock_fit {
	bool line; /* explanations that no sample contradicts; none: nothing is proven */
	bool gain;
	bool step;			/* where one of the two fits, this is considered, too */
	struct xvt_fit_sample *samples; /* by x, no two equal */
	size_t count;
	struct xvt_fit_point *above; /* hull of the upper ends, and of the lower ones */
	struct xvt_fit_point *below;
	size_t above_count;
	size_t below_count;
	struct xvt_fit_line flattest;
	struct xvt_fit_line steepest;
	int64_t *most;		    /* hi - x: the least of all samples up to here */
	int64_t *least;		    /* lo - x: the greatest of all samples from here on */
	struct xvt_fit_span *until; /* host - x, if it is one and the same until here, */
	struct xvt_fit_span *from;  /* and from here on */
	size_t step_first;	    /* where it may have been: behind one of these samples */
	size_t step_last;
};

/*
 * samples: any order; sorted in place. host_rate: the guest's clock counts as the host's does,
 * so `gain` may be an explanation. Returns 0 (also if there is none) or -ENOMEM.
 */
int xvt_clock_fit_init(struct xvt_clock_fit *f, struct xvt_fit_sample *samples, size_t count,
		       bool host_rate);
void xvt_clock_fit_fini(struct xvt_clock_fit *f);

static inline bool xvt_clock_fit_any(const struct xvt_clock_fit *f)
{
	return f->line || f->gain;
}

/*
 * What is proven of all x in [x0, x1], if no sample lies inside: at its ends; the limits between
 * are never outside the straight lines between those.
 */
void xvt_clock_fit_between(const struct xvt_clock_fit *f, int64_t x0, int64_t x1,
			   struct xvt_fit_span *at0, struct xvt_fit_span *at1);

/* The likeliest map: a straight line where there may be one. */
int64_t xvt_clock_fit_middle(const struct xvt_clock_fit *f, int64_t x);

#endif /* XVT_CLOCK_FIT_H */
