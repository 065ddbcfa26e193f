/* SPDX-License-Identifier: GPL-2.0 */
/* threads.h - the threads of a command that reads whole traces. */
#ifndef XVT_CLI_THREADS_H
#define XVT_CLI_THREADS_H

#include <stddef.h>
#include <stdint.h>

#include "base/workers.h"
#include "lib/xvtrace.h"
#include "options/opt.h"

#define XVT_THREADS_OPT(struct_, field)                                                  \
	XVT_OPT(struct_, field, "threads", 0, XVT_OPT_COUNT, "N",                        \
		"read a large trace by N threads; default: one for each CPU, at most 8", \
		.most = XVT_WORKERS_MOST)

/*
 * Start threads for the traces at these paths, before xvt_confine(). wanted: their number with the
 * caller's; 0: the usual one. Traces that are small get none, and nor does a caller to which the
 * system gives none: then threads->count is 1. Returns what xvt_workers_end() takes.
 */
struct xvt_workers *xvt_threads_start(struct xvtrace_threads *threads, uint64_t wanted,
				      const char *const *paths, size_t count);

/* Have one of them fetch events for a reader: see xvtrace_reader_ahead(). NULL: there are none. */
void xvt_threads_background(struct xvtrace_background *background, struct xvt_workers *w);

#endif /* XVT_CLI_THREADS_H */
