/* SPDX-License-Identifier: GPL-2.0 */
/* snapshot_when.h - `xvtrace snapshot --when`: wait until a condition holds, and keep that
 * snapshot. */
#ifndef XVT_SNAPSHOT_WHEN_H
#define XVT_SNAPSHOT_WHEN_H

#include "options/opt.h"

#define XVT_SNAPSHOT_FILES_MOST	 1000000u
#define XVT_SNAPSHOT_MINUTE_MOST 60u

struct xvt_armed;

/* A snapshot that was taken. */
struct xvt_taken {
	struct xvt_armed *watched; /* given: gets its machines; NULL: none */
	uint64_t moment_ns;	   /* the last moment that it holds, host ns */
	size_t machines;
	bool stopped; /* a signal ended it: it is not whole */
};

struct xvt_snapshot_when {
	const char *output;
	const struct xvt_opt_list *conditions;
	uint64_t after_ns;   /* from the event to the moment of the snapshot */
	uint64_t files;	     /* after so many the command ends; 1: `output` is its name */
	uint64_t per_minute; /* files at most */
	const struct xvt_opt_list *qmp; /* NAME=SOCKET, for crashes */
	const char *libvirt_uri;	/* the same; NULL: libvirt's default */
	bool quiet;
	/* Takes a snapshot into a file. since_ns: of events from this host time on, and from before
	 * it as the user wants; 0: from its own moment on. Returns an exit status, after an error
	 * message. */
	int (*take)(void *arg, const char *output, uint64_t since_ns, struct xvt_taken *taken);
	void *arg;
};

/* Returns an exit status, after an error message. */
int xvt_snapshot_when(const struct xvt_snapshot_when *when);

#endif /* XVT_SNAPSHOT_WHEN_H */
