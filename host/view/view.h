/* SPDX-License-Identifier: GPL-2.0 */
/*
 * view.h - the events of a trace, decoded, filtered and in order of time: the common part of report
 * and all exports.
 */
#ifndef XVT_VIEW_H
#define XVT_VIEW_H

#include "decode/decode.h"
#include "base/opt.h"
#include "view/reclock.h"
#include "trace/cursor.h"

/* Options of a view. The lists and texts are as given on the command line. */
struct xvt_view_opts {
	struct xvt_opt_list vm;	   /* names; none: all machines */
	struct xvt_opt_list event; /* globs on EVENT or SYSTEM:EVENT; none: all events */
	const char *from; /* SEC[.NS], by the wall clock if `wall`; +SEC: from the trace's start */
	const char *to;	  /* the same */
	uint64_t limit;
	bool all; /* also the rings' own records */
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

struct xvt_glob; /* one --event with its matches */

struct xvt_view {
	struct xvt_view_opts opts;
	struct xvt_trace *t;
	struct xvt_decoders ds;
	struct xvt_cursor cursor;
	struct xvt_reclock *reclock; /* with opts.reclock, used instead of the cursor */
	bool *vms;		     /* by VM number: show it; NULL: show all */
	struct xvt_glob *globs;
	uint64_t from_ns; /* range by the wall clock, with opts.wall; else 0 */
	uint64_t to_ns;	  /* else UINT64_MAX */
	uint64_t given;	  /* number of records returned: events and the rings' own */
	uint64_t shown;	  /* number of events returned */
	bool read_all;	  /* the trace was read to the end of the range */
};

/* Returns XVT_EXIT_OK, or another exit status after an error message. */
int xvt_view_open(struct xvt_view *v, const char *path, const struct xvt_view_opts *opts);

/* Returns 1 and sets *ev, its class and its decoder; 0: no more events; or -errno. */
int xvt_view_next(struct xvt_view *v, struct xvt_event *ev, struct xvt_event_class **c,
		  struct xvt_decoder **d);

/*
 * Close the view. Prints warnings about damage, missing parts and filters without a match. Returns
 * the exit status: XVT_EXIT_FAIL after damage, or when the filters left nothing to show.
 */
int xvt_view_close(struct xvt_view *v);

/*
 * Returns whether the event matches `glob`, EVENT or SYSTEM:EVENT. The module's own probes are in
 * the system "xvt"; they also match under the system of the kernel's event that they replace.
 */
bool xvt_event_is_like(const char *glob, const char *system, const char *name);

#endif /* XVT_VIEW_H */
