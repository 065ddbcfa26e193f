/* SPDX-License-Identifier: GPL-2.0 */
/*
 * view.h - a trace as somebody wants to see it: opened, decoded, filtered, in order of time.
 * What report and all exports have in common.
 */
#ifndef XVT_VIEW_H
#define XVT_VIEW_H

#include "decode/decode.h"
#include "base/opt.h"
#include "view/reclock.h"

/* Options of a view; the first lines are options of the command line as they stand. */
struct xvt_view_opts {
	struct xvt_opt_list vm;	   /* names; none: all machines */
	struct xvt_opt_list event; /* globs on EVENT or SYSTEM:EVENT; none: all events */
	const char *from; /* SEC[.NS], by the wall clock if `wall`; +SEC from the trace's start */
	const char *to;
	uint64_t limit;
	bool all; /* also the ring's own records */
	bool system;
	bool task;
	bool raw;
	bool wall;
	bool reclock;
	bool quiet;
};

#define XVT_VIEW_OPTS(struct_, field_)                                                         \
	XVT_OPT(struct_, field_.vm, "vm", 0, XVT_OPT_LIST, "VM",                               \
		"only this machine's events; again for each"),                                 \
		XVT_OPT(struct_, field_.event, "event", 'e', XVT_OPT_LIST, "GLOB",             \
			"only events like this, as EVENT or SYSTEM:EVENT; again for each"),    \
		XVT_OPT(struct_, field_.from, "from", 0, XVT_OPT_STRING, "T",                  \
			"begin at T: seconds as printed, or +seconds from the trace's start"), \
		XVT_OPT(struct_, field_.to, "to", 0, XVT_OPT_STRING, "T", "end at T"),         \
		XVT_OPT(struct_, field_.limit, "limit", 'n', XVT_OPT_COUNT, "N",               \
			"no more than N events"),                                              \
		XVT_OPT(struct_, field_.all, "all", 0, XVT_OPT_BOOL, NULL,                     \
			"also what the rings say about themselves"),                           \
		XVT_OPT(struct_, field_.reclock, "reclock", 0, XVT_OPT_BOOL, NULL,             \
			"place all events again, by all clock samples of the trace together"), \
		XVT_OPT(struct_, field_.quiet, "quiet", 'q', XVT_OPT_BOOL, NULL,               \
			"no warnings about an incomplete trace")

struct xvt_glob; /* one --event, and what it has matched */

struct xvt_view {
	struct xvt_view_opts opts;
	struct xvt_trace *t;
	struct xvt_decoders ds;
	struct xvt_cursor cursor;
	struct xvt_reclock *reclock; /* instead of the cursor, if asked for */
	bool *vms;		     /* wanted, by number; NULL: all */
	struct xvt_glob *globs;
	uint64_t from_ns; /* of the wall clock, if opts.wall */
	uint64_t to_ns;
	uint64_t given; /* events, and what the rings say about themselves */
	uint64_t shown; /* events */
	bool read_all;	/* to the end of what was asked for */
};

/* Returns XVT_EXIT_OK, or another exit status after saying why. */
int xvt_view_open(struct xvt_view *v, const char *path, const struct xvt_view_opts *opts);

/* 1: ev, its class and its decoder are filled. 0: no more. Else -errno. */
int xvt_view_next(struct xvt_view *v, struct xvt_event *ev, struct xvt_event_class **c,
		  struct xvt_decoder **d);

/*
 * Says what was damaged or missing, and what a filter asked for that was not found; returns the
 * exit status that follows: XVT_EXIT_FAIL for damage, and where a filter left nothing to show.
 */
int xvt_view_close(struct xvt_view *v);

/*
 * Is this event like `glob`, EVENT or SYSTEM:EVENT? The module's own probes are in the system
 * "xvt"; they are also found under the system of the kernel's event whose place they take.
 */
bool xvt_event_is_like(const char *glob, const char *system, const char *name);

#endif /* XVT_VIEW_H */
