/* SPDX-License-Identifier: GPL-2.0 */
/*
 * recorder.h - the recorder of `xvtrace record` and `xvtrace daemon`: its options, and a run from
 * the first machine to the end of the trace.
 */
#ifndef XVT_RECORDER_H
#define XVT_RECORDER_H

#include "flight/snapshots.h"
#include "options/opt.h"
#include "record/host_events.h"
#include "record/machines.h"
#include "trace/file_keep.h"

struct xvt_recorder_options {
	const char *output;
	struct xvt_machine_options machines;
	struct xvt_opt_list qmp;
	struct xvt_opt_list doorbells;
	struct xvt_opt_list events;
	struct xvt_host_event_options host;
	unsigned int mode;  /* what a full ring drops: 0: new events, 1: old ones */
	unsigned int drain; /* 1: by io_uring */
	unsigned int order; /* enum xvt_order_when */
	const char *clock_page;
	uint64_t join_timeout_ns;
	uint64_t stall_timeout_ns;
	uint64_t duration_ns;
	uint64_t memory_bytes;
	uint64_t max_bytes;
	uint64_t rotate_bytes;
	uint64_t rotate_ns;
	struct xvt_file_keep keep;
	struct xvt_snapshots_options snapshots;
	const char *compress;
	bool run_spans;
	const char *control;
	const char *metrics_http;
	bool quiet;
	bool print;
};

/* One row for each member of struct xvt_recorder_options. */
extern const struct xvt_opt xvt_recorder_opts[];

struct xvt_recorder {
	const char *command; /* "record": begins messages */
	struct xvt_recorder_options opt;
	bool makes_folder; /* the caller makes a folder where there is no output */
	char **child;	   /* a command to run; the recording ends with it; NULL: none */
	const struct xvt_opt_file *file; /* where the options are from; NULL: a command line */
	/* Called at SIGHUP: fills *opt, whose texts lie in *file. Returns an exit status, after an
	 * error message; *file is to be freed in any case. NULL: SIGHUP ends the recording. */
	int (*reload)(void *arg, struct xvt_recorder_options *opt, struct xvt_opt_file *file);
	void *reload_arg;
	const char *config; /* the file that reload() reads; NULL: none */
};

/* Fill in options that were not given, and check them all as xvt_recorder_run() does before it
 * looks at a machine. Changes nothing on the host. Returns an exit status, after an error message.
 */
int xvt_recorder_check(struct xvt_recorder *recorder);

/* Record until the command ends, a signal comes or the time is up. Returns an exit status, after an
 * error message. */
int xvt_recorder_run(const struct xvt_recorder *recorder);

#endif /* XVT_RECORDER_H */
