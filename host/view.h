/* SPDX-License-Identifier: GPL-2.0 */
/*
 * view.h - a trace as somebody wants to see it: opened, decoded, filtered, in order of time.
 * What report and all exports have in common.
 */
#ifndef XVT_VIEW_H
#define XVT_VIEW_H

#include "decode.h"
#include "opt.h"
#include "reclock.h"

/* Options of a view; the first lines are options of the command line as they stand. */
struct xvt_view_opts {
	const char *vm;
	const char *event; /* glob on EVENT or SYSTEM:EVENT */
	const char *from;  /* SEC[.NS], or +SEC from the start of the trace */
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

#define XVT_VIEW_OPTS(struct_, field_)                                                            \
	XVT_OPT(struct_, field_.vm, "vm", 0, XVT_OPT_STRING, "VM", "only this machine's events"), \
		XVT_OPT(struct_, field_.event, "event", 'e', XVT_OPT_STRING, "GLOB",              \
			"only events like this, as EVENT or SYSTEM:EVENT"),                       \
		XVT_OPT(struct_, field_.from, "from", 0, XVT_OPT_STRING, "T",                     \
			"begin at T: seconds, or +seconds from the start of the trace"),          \
		XVT_OPT(struct_, field_.to, "to", 0, XVT_OPT_STRING, "T", "end at T"),            \
		XVT_OPT(struct_, field_.limit, "limit", 'n', XVT_OPT_U64, "N",                    \
			"no more than N events"),                                                 \
		XVT_OPT(struct_, field_.all, "all", 0, XVT_OPT_BOOL, NULL,                        \
			"also what the rings say about themselves"),                              \
		XVT_OPT(struct_, field_.reclock, "reclock", 0, XVT_OPT_BOOL, NULL,                \
			"place all events again, by all clock samples of the trace together"),    \
		XVT_OPT(struct_, field_.quiet, "quiet", 'q', XVT_OPT_BOOL, NULL,                  \
			"no warnings about an incomplete trace")

struct xvt_view {
	struct xvt_view_opts opts;
	struct xvt_trace *t;
	struct xvt_decoders ds;
	struct xvt_cursor cursor;
	struct xvt_reclock *reclock; /* instead of the cursor, if asked for */
	uint64_t shown;
};

/* Returns XVT_EXIT_OK, or another exit status after saying why. */
int xvt_view_open(struct xvt_view *v, const char *path, const struct xvt_view_opts *opts);

/* 1: ev, its class and its decoder are filled. 0: no more. Else -errno. */
int xvt_view_next(struct xvt_view *v, struct xvt_event *ev, struct xvt_event_class **c,
		  struct xvt_decoder **d);

/* Says what was damaged or missing; returns the exit status that follows from it. */
int xvt_view_close(struct xvt_view *v);

#endif /* XVT_VIEW_H */
