/* SPDX-License-Identifier: GPL-2.0 */
/*
 * rate.h - the rate of a ring's clock, from gaps between its measurements. Pure arithmetic.
 *
 * A gap in which the machine stood still, or its clock was moved, gives a wrong rate and nothing in
 * it shows that. Therefore no single gap decides: it may confirm what is expected (the host's rate,
 * or the rate that the guest claims), and otherwise a second one has to agree. The rate is never
 * final: two gaps in a row that agree with each other and not with it replace it; four, if many
 * have confirmed it. A clock that is stopped or set back all the time loses as much in each gap, so
 * gaps that agree are no proof; a gap within one measurement, in which no stop can be, is one. No
 * rate is taken that such a gap excludes. A rate that such gaps have shown stays until one of them
 * excludes it. An expected rate that two of them show replaces what they exclude. The rest is in
 * the doubt: a stop in a gap that decided alone, and the rates that were expected.
 */
#ifndef XVT_CLOCK_RATE_H
#define XVT_CLOCK_RATE_H

#include "trace/format.h"

/* The clock counted `ticks` in host_ns, give or take doubt_ns. */
struct xvt_rate_gap {
	uint64_t ticks;
	uint64_t host_ns;
	uint64_t doubt_ns;
};

#define XVT_RATE_GAPS 8

struct xvt_clock_rate {
	uint64_t hz;	    /* 0: not known yet */
	uint64_t doubt_ppb; /* how far hz may be off, if it was measured */
	bool open;	    /* it is by an expected rate that nothing excludes */
	uint64_t host_hz;   /* rate of the host's counter; 0: the clock is of another kind */
	uint64_t claim_hz;  /* by the guest; 0: unknown */
	/* private to rate.c */
	uint64_t settled_ppb;	    /* the doubt, once the host's rate is out of the question */
	struct xvt_clock_node from; /* begin of the next gap; source 0: none */
	struct xvt_rate_gap other;  /* the last gap, if it did not agree with hz */
	unsigned int others;	    /* gaps in a row that agree with it */
	unsigned int confirmed;	    /* gaps that agreed with hz */
	struct xvt_rate_gap shown;  /* within a measurement; the narrowest that agreed with hz */
	unsigned int against;	    /* measurements that showed an expected rate, and not hz */
	unsigned int tries;	    /* gaps that did not decide */
	unsigned int nr_kept;
	struct xvt_rate_gap kept[XVT_RATE_GAPS]; /* the newest that agree with hz */
};

/* host_hz, claim_hz: rates that are expected; 0: none. */
void xvt_clock_rate_init(struct xvt_clock_rate *r, uint64_t host_hz, uint64_t claim_hz);

/*
 * A measurement. within: a gap inside of it, so short that no stop is in it; ticks 0: there is
 * none. broken: the machine is known to have stopped, or its clock to have been changed, since the
 * one before. Returns true if `hz` has changed.
 */
bool xvt_clock_rate_add(struct xvt_clock_rate *r, const struct xvt_clock_node *node,
			const struct xvt_rate_gap *within, bool broken);

/*
 * By how much, in ppb, a time is longer or shorter at the claimed rate than at `hz`. A clock that
 * is set back or forward all the time has an average rate over its gaps, and between two steps it
 * may well have the rate that the guest claims. 0 where `hz` is the host's: a guest of the host's
 * kind may claim anything.
 */
uint64_t xvt_clock_rate_off_claim_ppb(const struct xvt_clock_rate *r, uint64_t hz);

#endif /* XVT_CLOCK_RATE_H */
