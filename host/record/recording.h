/* SPDX-License-Identifier: GPL-2.0 */
/* recording.h - what the commands that make a trace share: begin, signals, notes and end. */
#ifndef XVT_RECORDING_H
#define XVT_RECORDING_H

#include <sys/types.h>

#include "base/loop.h"
#include "base/timer.h"
#include "record/keep_old.h"
#include "record/machines.h"
#include "record/outcome.h"
#include "rights/helper.h"
#include "session/control.h"
#include "trace/file_set.h"

#define XVT_NO_ZSTD_HELP \
	"this xvtrace was built without zstd; install libzstd-dev and build it again"

/* A process of the recorder's without which the recording is not what was asked for. */
struct xvt_recording_helper {
	pid_t *pid;		    /* of its owner; becomes 0 when it has ended by itself */
	const char *does;	    /* "opens files" */
	struct xvt_helper *watched; /* NULL: it is watched elsewhere */
};

#define XVT_RECORDING_HELPERS 6

struct xvt_recording {
	/* Set by the command. */
	const char *command;
	const char *output;
	bool quiet;
	bool logs;     /* of a service: all notes are lines of its log, also if it is quiet */
	bool patient;  /* wait while the disk is full, see xvt_file_sink_patient() */
	bool reloads;  /* SIGHUP sets `reload`, instead of `stop` */
	bool keep_old; /* move an older file at `output` to OUTPUT.old */
	bool strict;   /* a machine that was named and gives no event is an error */
	struct xvt_outcome *outcome; /* filled in by the end; NULL: nothing is said */

	struct xvt_file_keep keep; /* of the files of a folder */

	struct xvt_loop *loop;
	struct xvt_file_set *sink;
	int kept; /* of xvt_keep_old() */
	struct xvt_session *session;
	/* Work beside the session's passes, by xvt_session_now_ns(): modules put their timers here.
	 * Before a pass: work that changes what it reads. After a pass: work on its results. */
	struct xvt_timers before_pass;
	struct xvt_timers after_pass;
	/* Set by the command; NULL: none; closed by the end. */
	struct xvt_server *control;
	struct xvt_server *http;
	bool failed;	/* an error was noted, as of a machine that dropped out */
	bool line_open; /* the terminal shows a progress line without a newline */
	bool isolates;	/* it has an opener, and is isolated before its first pass */
	bool own_words; /* the command prints a line for the note that it makes */

	struct xvt_op on_signal;
	int signal_fd;
	bool reload;  /* SIGHUP came; the command clears it */
	bool stop;    /* a signal came, or the child ended */
	pid_t child;  /* set by the command; 0: none, or it has ended */
	int child_fd; /* of base/child.h */
	int child_status;
	struct xvt_recording_helper helpers[XVT_RECORDING_HELPERS];
	size_t helper_count;
	struct xvt_timer watch; /* the next check whether they stand still */
};

/* Check that an output and a machine are given. Returns an exit status, after an error message. */
int xvt_recording_options(const char *command, const char *output,
			  const struct xvt_machine_options *machines);

/*
 * Make loop, file and session, and add the machines (NULL: none). `note` of `so` is set here.
 * Returns an exit status; other than XVT_EXIT_OK: after an error message, and nothing is left to
 * end.
 */
int xvt_recording_begin(struct xvt_recording *rec, struct xvt_session_options *so,
			const struct xvt_machine_options *machines);

/* Read SIGINT, SIGTERM, SIGHUP, SIGCHLD and, with a folder, SIGUSR2 through the loop, and ignore
 * SIGPIPE and SIGXFSZ, which write() reports as errors. Returns 0 or -errno. */
int xvt_recording_watch_signals(struct xvt_recording *rec);

/*
 * The recording ends with an error when this process ends: nothing could begin it again, and going
 * on without it would be silent. pid: its owner's, which outlives the recording's last pass, and
 * waits for it only while it is not 0. does: a string that stays.
 */
void xvt_recording_needs(struct xvt_recording *rec, pid_t *pid, const char *does);

/* The same of a helper, which is also watched, once a second: a warning, and a note in the trace,
 * say that it stands still, and what that means. */
void xvt_recording_needs_helper(struct xvt_recording *rec, struct xvt_helper *helper);

/* Make the passes of a snapshot, until it is whole or a signal came. Returns 0 or -errno. */
int xvt_recording_take_snapshot(struct xvt_recording *rec);

/* End the progress line. */
void xvt_recording_end_line(struct xvt_recording *rec);

/*
 * End the session, and close everything. `status`: other than XVT_EXIT_OK, nothing was taken: the
 * regions and an older file stay as they are. `err`: -errno of the passes, or 0. Returns the exit
 * status, after an error message.
 */
int xvt_recording_end(struct xvt_recording *rec, int status, int err);

#endif /* XVT_RECORDING_H */
