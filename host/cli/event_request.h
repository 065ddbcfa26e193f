/* SPDX-License-Identifier: GPL-2.0 */
/* event_request.h - asks a guest to switch events on. */
#ifndef XVT_EVENT_REQUEST_H
#define XVT_EVENT_REQUEST_H

#include <stddef.h>
#include <stdint.h>

/*
 * Send a request to the guest of a region that no recorder has, and wait timeout_ns at most: for
 * its answers, and for its owner's consent where the guest does not know that yet. Prints what the
 * guest has switched on. Returns an exit status, after an error message for each event that is not
 * on.
 */
int xvt_event_request_send(const char *name, const char *region, const char *request,
			   uint64_t timeout_ns);

#endif /* XVT_EVENT_REQUEST_H */
