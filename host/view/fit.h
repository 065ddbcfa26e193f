/* SPDX-License-Identifier: GPL-2.0 */
/*
 * fit.h - limits that all samples of an epoch together prove for every moment in it.
 *
 * A sample says: the guest's clock was x at some moment between the host's lo and hi. Between
 * samples the limits depend on the behaviour of the clock, which is not known. So there are several
 * explanations. A sample that contradicts an explanation refutes it. Proven is the union of the
 * limits that the remaining explanations allow:
 *
 *   line   any constant rate. The lines that cross every sample's interval form a
 *          region between the lower convex hull of the upper ends and the upper one of the
 *          lower ends, closed by its steepest and its flattest line. (Duda, Harrus, Haddad,
 *          Bernard: Estimating Global Time in Distributed Systems, ICDCS 1987; Sirdey, Maurice:
 *          A linear programming approach to highly precise clock synchronization, 2008. LTTng
 *          synchronises its traces that way.)
 *   gain   the host's rate, except at moments at which the guest's clock gains, as QEMU emulates
 *          a TSC for several vCPUs. host - guest only falls, so the upper limit of each earlier
 *          sample and the lower limit of each later sample hold.
 *   step   the host's rate, except for one step, in either direction, between any two samples. It
 *          is refuted for a pair of samples where the samples before contradict each other, or
 *          those after. It only widens the limits of the other explanations and proves nothing
 *          alone, since a clock with many steps can have any value.
 *
 * All values are ticks of the host's and of the guest's counter, counted from an origin nearby.
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

struct xvt_fit_point {
	int64_t x;
	int64_t y;
};

/* The line through two points with a.x < b.x. */
struct xvt_fit_line {
	struct xvt_fit_point a;
	struct xvt_fit_point b;
};

struct xvt_clock_fit {
	bool line; /* no sample contradicts `line` */
	bool gain; /* no sample contradicts `gain`; neither: nothing is proven */
	bool step; /* consider `step` as well, if `line` or `gain` holds */
	struct xvt_fit_sample *samples; /* by x, no two equal */
	size_t count;
	struct xvt_fit_point *above; /* lower hull of the upper ends */
	struct xvt_fit_point *below; /* upper hull of the lower ends */
	size_t above_count;
	size_t below_count;
	struct xvt_fit_line flattest;
	struct xvt_fit_line steepest;
	int64_t *most;		    /* [i]: least hi - x of samples 0 to i */
	int64_t *least;		    /* [i]: greatest lo - x of the samples from i on */
	struct xvt_fit_span *until; /* [i]: host - x, if it is constant in samples 0 to i */
	struct xvt_fit_span *from;  /* [i]: host - x, if it is constant from sample i on */
	size_t step_first;	    /* first sample after which the step may have been */
	size_t step_last;	    /* last sample after which the step may have been */
};

/*
 * samples: in any order; sorted in place. host_rate: the guest's clock counts at the host's rate,
 * so consider `gain` and `step`. Returns 0 (also if no explanation holds) or -ENOMEM.
 */
int xvt_clock_fit_init(struct xvt_clock_fit *f, struct xvt_fit_sample *samples, size_t count,
		       bool host_rate);
void xvt_clock_fit_fini(struct xvt_clock_fit *f);

static inline bool xvt_clock_fit_any(const struct xvt_clock_fit *f)
{
	return f->line || f->gain;
}

/*
 * Get the proven limits at x0 and x1, where no sample lies between. The limits of each x between
 * them lie within the straight lines from *at0 to *at1.
 */
void xvt_clock_fit_between(const struct xvt_clock_fit *f, int64_t x0, int64_t x1,
			   struct xvt_fit_span *at0, struct xvt_fit_span *at1);

/* Returns the likeliest host's clock at x: on a straight line, if `line` holds. */
int64_t xvt_clock_fit_middle(const struct xvt_clock_fit *f, int64_t x);

#endif /* XVT_CLOCK_FIT_H */
