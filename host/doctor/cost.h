/* SPDX-License-Identifier: GPL-2.0 */
/*
 * cost.h - measure the cost of an event and the error bound of a guest's clock on this machine,
 * with the real writer: in a micro-VM if there is KVM, else in this process.
 */
#ifndef XVT_COST_MEASURE_H
#define XVT_COST_MEASURE_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct xvt_cost {
	bool in_vm;		 /* measured at user level of a micro-VM; else in this process */
	int vm_err;		 /* error of the micro-VM: 0 or -errno */
	struct xvt_error vm_why; /* text for it, where the errno does not say enough */
	uint64_t tsc_hz;	 /* rate of the host's clock, measured against CLOCK_MONOTONIC */
	double clock_ns;	 /* clock read and a 16-byte store: lower limit for any event */
	double event_ns;	 /* event of 16 bytes, hot, overwrite mode */
	bool has_bound;		 /* a handshake succeeded */
	uint64_t bound_ns;	 /* error bound of its best node */
	bool offset_known;	 /* offset_ticks is set */
	bool offset_refuted;	 /* the handshake proves that offset_ticks is wrong */
	uint64_t true_error_ns;	 /* distance of the best node from the clock by offset_ticks */
	int64_t offset_ticks; /* guest's clock - host's clock, as KVM reports it; 0 in a process */
};

/*
 * Measure. Takes about a second, up to four on a busy machine. A micro-VM that hangs is killed
 * after 20 s. Returns 0, or -errno if the measurement in this process failed as well.
 */
int xvt_cost_measure(struct xvt_cost *cost);

#endif /* XVT_COST_MEASURE_H */
