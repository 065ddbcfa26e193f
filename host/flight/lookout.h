/* SPDX-License-Identifier: GPL-2.0 */
/*
 * lookout.h - a recorder's process that looks for events (flight/trigger.h): in the files that the
 * recorder writes, or in files that it makes for a look. The process begins before the recorder
 * gives up its rights, and has one child for each look, in a sandbox. No pass waits for a look, and
 * another process decodes what guests wrote.
 */
#ifndef XVT_LOOKOUT_H
#define XVT_LOOKOUT_H

#include <limits.h>
#include <sys/types.h>

#include "base/error.h"
#include "flight/trigger.h"
#include "rights/helper.h"

struct xvt_lookout;

/* An answer: what the look found, or why it failed. */
struct xvt_lookout_answer {
	int err; /* 0, or -errno */
	struct xvt_error why;
	uint64_t cpu_ns; /* that it took */
	struct xvt_trigger_look look;
};

/* How the process gets the file of a look. Both functions are called in the process. */
struct xvt_lookout_source {
	uint64_t capabilities; /* that it keeps */
	/* Makes the file and stores its path. sock: of the process, no business of a child. Returns
	 * 0, or -errno with the reason in `why`. NULL: the file that was asked for is there. */
	int (*begin)(void *arg, int sock, char path[PATH_MAX], struct xvt_error *why);
	void (*end)(void *arg); /* after a look */
	void *arg;
};

/* NULL as source: the files are there, and may belong to another user. does: of its messages.
 * Returns 0 or -errno. */
int xvt_lookout_new(struct xvt_lookout **out, struct xvt_trigger *trigger,
		    const struct xvt_lookout_source *source, const char *does);
/* For xvt_recording_needs_helper(). */
struct xvt_helper *xvt_lookout_helper(struct xvt_lookout *l);
/* Ends the process. NULL: no effect. */
void xvt_lookout_free(struct xvt_lookout *l);

/* Have it look at a file. Returns 0; -EBUSY: it has not answered yet; -EPIPE: it has died. */
int xvt_lookout_ask(struct xvt_lookout *l, const char *path, uint64_t from_ns);
/* Returns 0 with the answer; -EAGAIN: there is none yet, or nothing was asked; -EPIPE. */
int xvt_lookout_answer(struct xvt_lookout *l, struct xvt_lookout_answer *answer);

/* Returns whether it is at work. NULL: false. */
bool xvt_lookout_is_busy(const struct xvt_lookout *l);

#endif /* XVT_LOOKOUT_H */
