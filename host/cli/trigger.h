/* SPDX-License-Identifier: GPL-2.0 */
/*
 * trigger.h - conditions that are looked for in one snapshot after the other. `event GLOB [FILTER]`
 * holds for an event that no earlier snapshot had; GLOB is [MACHINE:][SYSTEM:]EVENT.
 */
#ifndef XVT_TRIGGER_H
#define XVT_TRIGGER_H

#include "cli/opt.h"

struct xvt_trigger;

/* What a snapshot has that is new. */
struct xvt_trigger_look {
	uint64_t events;   /* for which a condition holds */
	uint64_t first_ns; /* host time of the first of them */
	char first[192];   /* its machine, event and text, for people */
};

/* from_ns: events before this host time do not count. Returns 0; or -ENOMEM or -EINVAL after an
 * error message. */
int xvt_trigger_new(struct xvt_trigger **out, const struct xvt_opt_list *conditions,
		    uint64_t from_ns);
void xvt_trigger_free(struct xvt_trigger *t);

/*
 * Look at the trace in the file `fd`. A process of its own reads it, in a sandbox, because guests
 * wrote what is in it. Returns 0, or -errno after an error message: nothing was seen then.
 */
int xvt_trigger_look(struct xvt_trigger *t, int fd, struct xvt_trigger_look *look);

#endif /* XVT_TRIGGER_H */
