/* SPDX-License-Identifier: GPL-2.0 */
/* guest_events.h - the events of a guest's kernel, as far as the metadata in its region names them.
 */
#ifndef XVT_GUEST_EVENTS_H
#define XVT_GUEST_EVENTS_H

#include <stddef.h>
#include <stdint.h>

#define XVT_EVENT_NAME_LEN 128

struct xvt_guest_event {
	char system[XVT_EVENT_NAME_LEN];
	char event[XVT_EVENT_NAME_LEN];
};

struct xvt_guest_events {
	struct xvt_guest_event *v; /* by system, then by event; each once */
	size_t n, room;
	uint64_t left_out; /* entries that name no event, or are too many */
	char kernel[256];  /* what the guest says of its kernel; "": nothing */
};

/*
 * Read the events of the region's present generation, and change nothing of the region. *to begins
 * as zeros; the caller frees to->v. Returns 0; -EAGAIN: not formatted; -EBADMSG: damaged; else
 * -errno.
 */
int xvt_guest_events_read(const char *region, struct xvt_guest_events *to);

#endif /* XVT_GUEST_EVENTS_H */
