/* SPDX-License-Identifier: GPL-2.0 */
/*
 * flight.h - a recorder's process that reads the flight recorders which it keeps armed
 * (flight/armed.h), into one trace for each moment. The process begins before the recorder gives up
 * its rights, and has a child for each trace, with the recorder's rules of what may be opened, in a
 * sandbox. No pass waits for a region, and another process reads what guests wrote. One trace is
 * written at a time.
 */
#ifndef XVT_FLIGHT_H
#define XVT_FLIGHT_H

#include <sys/types.h>

#include "flight/flight_job.h"
#include "rights/helper.h"

struct xvt_flight;

/* The objects that `opt` points to must outlive *out. Returns 0 or -errno. */
int xvt_flight_new(struct xvt_flight **out, const struct xvt_flight_options *opt);
/* For xvt_recording_needs_helper(). */
struct xvt_helper *xvt_flight_helper(struct xvt_flight *f);
/* Ends the process; a trace that is under way gets some seconds. NULL: no effect. Returns false
 * after an error message: that trace is not whole. */
bool xvt_flight_free(struct xvt_flight *f);

/*
 * Have it write what the machines hold, from before_ns before at_ns (host ns) on, into
 * XVT_SNAPSHOT_FLIGHT in a folder: most_bytes at most, 0: any number; what is dropped for that is
 * counted in it. *left_out: machines that are not armed, and not in it. Returns 0;
 * -ENODATA: no machine is armed; -EBUSY: the trace before is under way; -EPIPE: it has died; or
 * -errno.
 */
int xvt_flight_take(struct xvt_flight *f, const struct xvt_armed *machines, const char *folder,
		    uint64_t at_ns, uint64_t before_ns, uint64_t most_bytes, size_t *left_out);
/* Returns the number of machines that are read; 0 with *status: an exit status, or -EPIPE. */
size_t xvt_flight_under_way(struct xvt_flight *f, int *status);

/* Returns whether it is at work. */
bool xvt_flight_is_busy(const struct xvt_flight *f);

#endif /* XVT_FLIGHT_H */
