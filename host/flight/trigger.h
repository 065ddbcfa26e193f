/* SPDX-License-Identifier: GPL-2.0 */
/*
 * trigger.h - conditions on events, which are looked for in one trace after the other, or in one
 * that grows: `event GLOB [FILTER]` (flight/condition.h) holds for an event that no earlier look
 * has seen.
 */
#ifndef XVT_TRIGGER_H
#define XVT_TRIGGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "flight/condition.h"
#include "xvt_abi.h"

#define XVT_TRIGGER_CONDITIONS 16u

struct xvt_trigger;

/* New events of a trace. */
struct xvt_trigger_look {
	uint64_t events;	    /* for which a condition holds */
	uint64_t first_ns;	    /* host time of the first of them */
	char machine[XVT_NAME_LEN]; /* of the first one, */
	char first[192];	    /* and its machine, event and text, for people */
	uint64_t last_ns;	    /* of all events of the trace */
	/* About a condition whose filter no event like its glob allows, because none has such a
	 * field; "": none. Once for each condition. */
	char note[800];
	bool ended; /* the trace will not grow */
};

/*
 * Takes those of `n` conditions that are about events, XVT_TRIGGER_CONDITIONS at most. `conditions`
 * must outlive it. from_ns: events before this host time do not count. Returns 0 or -ENOMEM.
 */
int xvt_trigger_new(struct xvt_trigger **out, const struct xvt_condition *conditions, size_t n,
		    uint64_t from_ns);
void xvt_trigger_free(struct xvt_trigger *t);

/*
 * Look at the trace in `path`, from this host time on. A process of its own reads it, in a sandbox,
 * because guests wrote what is in it. That process is a child of the caller. All processes that
 * were forked after xvt_trigger_new() share the results of earlier looks. Returns 0, or -errno with
 * the reason in `why`: nothing was seen then.
 */
int xvt_trigger_look(struct xvt_trigger *t, const char *path, uint64_t from_ns,
		     struct xvt_trigger_look *look, struct xvt_error *why);

#endif /* XVT_TRIGGER_H */
