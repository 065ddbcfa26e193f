/* SPDX-License-Identifier: GPL-2.0 */
/*
 * lookout.h - a recorder's process that looks for events in the files that the recorder writes
 * (cli/trigger.h). It begins before the recorder gives up its rights, and has one process for each
 * look, in a sandbox; so no pass waits for a look, and what guests wrote is decoded elsewhere.
 */
#ifndef XVT_LOOKOUT_H
#define XVT_LOOKOUT_H

#include "cli/trigger.h"

struct xvt_lookout;

/* An answer: what the look found, or why it failed. */
struct xvt_lookout_answer {
	int err; /* 0, or -errno */
	char why[256];
	uint64_t cpu_ns; /* that it took */
	struct xvt_trigger_look look;
};

/* Ends its texts, which a guest's data may have made a process write. */
void xvt_lookout_answer_end(struct xvt_lookout_answer *answer);

/* CPU time of the processes that the caller has started and waited for. */
uint64_t xvt_lookout_cpu_ns(void);

/* Returns 0 or -errno. */
int xvt_lookout_new(struct xvt_lookout **out, struct xvt_trigger *trigger);
/* Ends the process. NULL: no effect. */
void xvt_lookout_free(struct xvt_lookout *l);

/* Have it look at a file. Returns 0; -EBUSY: it has not answered yet; -EPIPE: it has died. */
int xvt_lookout_ask(struct xvt_lookout *l, const char *path, uint64_t from_ns);
/* Returns 0 with the answer; -EAGAIN: there is none yet, or nothing was asked; -EPIPE. */
int xvt_lookout_answer(struct xvt_lookout *l, struct xvt_lookout_answer *answer);

#endif /* XVT_LOOKOUT_H */
