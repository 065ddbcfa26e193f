/* SPDX-License-Identifier: GPL-2.0 */
/*
 * flight_look.h - what a lookout (flight/lookout.h) looks at in machines which are kept armed
 * (flight/armed.h): what they hold is read into memory for each look (flight/flight_job.h). Nothing
 * in the rings is consumed by that.
 */
#ifndef XVT_FLIGHT_LOOK_H
#define XVT_FLIGHT_LOOK_H

#include "flight/flight_job.h"
#include "flight/lookout.h"

struct xvt_flight_look;

/* The objects that `opt` points to must outlive *out. Returns 0 or -ENOMEM. */
int xvt_flight_look_new(struct xvt_flight_look **out, const struct xvt_flight_options *opt);
/* After its lookout. NULL: no effect. */
void xvt_flight_look_free(struct xvt_flight_look *f);

/* For its lookout. */
struct xvt_lookout_source xvt_flight_look_source(struct xvt_flight_look *f);

/*
 * Have its lookout look at those machines that `wanted` wants, at what is in their rings since this
 * host time. Until the answer comes the regions are claimed. Returns 0; -EBUSY: it has not answered
 * yet; -ENODATA: no machine is wanted; -EPIPE: it has died.
 */
int xvt_flight_look_ask(struct xvt_flight_look *f, struct xvt_lookout *lookout,
			struct xvt_armed *machines, bool (*wanted)(void *arg, size_t machine),
			void *arg, uint64_t since_ns);

#endif /* XVT_FLIGHT_LOOK_H */
