/* SPDX-License-Identifier: GPL-2.0 */
/* host_events.h - the events of the host's kernel on a command line: -H and --host. */
#ifndef XVT_HOST_EVENTS_H
#define XVT_HOST_EVENTS_H

#include "options/opt.h"
#include "session/session.h"

#define XVT_HOST_PRESETS      "sched|vcpu|irq|kvm|block|all-vcpus"
#define XVT_HOST_BUFFER_USUAL (1u << 20)
#define XVT_HOST_BUFFER_MOST  (1u << 30) /* of each CPU: the kernel allocates it at once */

struct xvt_host_event_options {
	struct xvt_opt_list events;  /* SYSTEM:EVENT with wildcards */
	struct xvt_opt_list presets; /* of XVT_HOST_PRESETS */
	bool all_threads;
	uint64_t buffer_bytes; /* the usual ones: none were asked for */
};

/* Check the options. Returns false after an error message. */
bool xvt_host_events_ok(const struct xvt_host_event_options *o);

/* Add the host to the session if it is asked for. Without the right to trace it, warns, and the
 * other machines are recorded. Returns an exit status, after an error message. */
int xvt_host_events_add(struct xvt_session *s, const struct xvt_host_event_options *o);

#endif /* XVT_HOST_EVENTS_H */
