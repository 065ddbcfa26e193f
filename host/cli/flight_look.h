/* SPDX-License-Identifier: GPL-2.0 */
/*
 * flight_look.h - a recorder's process that looks for events in machines which are kept armed
 * (cli/armed.h). It has what they hold read into memory (cli/flight_job.h) and searched
 * (cli/trigger.h), each by a child of its own in a sandbox. Nothing in the rings is consumed by
 * that. It begins before the recorder gives up its rights.
 */
#ifndef XVT_FLIGHT_LOOK_H
#define XVT_FLIGHT_LOOK_H

#include "cli/armed.h"
#include "cli/lookout.h"
#include "cli/recorder.h"

struct xvt_flight_look;

/* `opt` and `trigger` must outlive it. Returns 0 or -errno. */
int xvt_flight_look_new(struct xvt_flight_look **out, const struct xvt_recorder_options *opt,
			struct xvt_trigger *trigger);
/* Ends the process. NULL: no effect. */
void xvt_flight_look_free(struct xvt_flight_look *l);

/*
 * Have it look at those machines that `wanted` wants, at what is in their rings since this host
 * time. Until the answer comes the regions are claimed. Returns 0; -EBUSY: it has not answered yet;
 * -ENODATA: no machine is wanted; -EPIPE: it has died.
 */
int xvt_flight_look_ask(struct xvt_flight_look *l, struct xvt_armed *machines,
			bool (*wanted)(void *arg, size_t machine), void *arg, uint64_t since_ns);
/* Returns 0 with the answer; -EAGAIN: there is none yet, or nothing was asked; -EPIPE. */
int xvt_flight_look_answer(struct xvt_flight_look *l, struct xvt_lookout_answer *answer);

/* Returns whether it is at work. NULL: false. */
bool xvt_flight_look_is_busy(const struct xvt_flight_look *l);

#endif /* XVT_FLIGHT_LOOK_H */
