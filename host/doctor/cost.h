/* SPDX-License-Identifier: GPL-2.0 */
/*
 * cost.h - what an event costs on this machine, and how well a guest's clock can be known:
 * measured, with the real writer, in a micro-VM if there is KVM, else in this process.
 */
#ifndef XVT_COST_MEASURE_H
#define XVT_COST_MEASURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct xvt_cost {
	bool in_vm;		/* at user level of a micro-VM; else in this process */
	int vm_err;		/* why not in a micro-VM: -errno */
	char vm_why[128];	/* the same in words, for what is no plain errno */
	uint64_t tsc_hz;	/* of the host's clock, measured against CLOCK_MONOTONIC */
	double clock_ns;	/* clock read and a 16-byte store: the least any event can cost */
	double event_ns;	/* event of 16 bytes, hot, overwrite mode */
	bool has_bound;		/* a handshake came about */
	uint64_t bound_ns;	/* of its best node */
	bool offset_known;	/* the VMM says what the guest's clock is ahead */
	bool offset_refuted;	/* ... and the handshake proves that it is not so */
	uint64_t true_error_ns; /* the node against the truth, when that is known */
	int64_t offset_ticks;
};

/*
 * Measure; takes about a second, up to four on a busy machine. A micro-VM that hangs is given up
 * after 20 s. Returns 0 or -errno: not even the process could be measured.
 */
int xvt_cost_measure(struct xvt_cost *cost);

#endif /* XVT_COST_MEASURE_H */
