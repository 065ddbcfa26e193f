/* SPDX-License-Identifier: GPL-2.0 */
/* options.h - the checks of a recorder's options, and what they mean together. */
#ifndef XVT_RECORDER_OPTIONS_H
#define XVT_RECORDER_OPTIONS_H

#include "recorder/recorder.h"

struct xvt_session_options;

/* Fill in what was not given. */
void xvt_recorder_complete(struct xvt_recorder_options *opt);

/* The level of --compress idle; 0: not given. */
unsigned int xvt_recorder_idle_level(const struct xvt_recorder_options *opt);

/*
 * All checks of options that need no machine: those of a start, of a reload, and of a configuration
 * that is only to be checked. file: where the options are from; NULL: a command line. Fills in `so`
 * and the request to the guests, which has room for XVT_REQUEST_LEN. Returns an exit status, after
 * an error message.
 */
int xvt_recorder_check_options(const struct xvt_recorder *how,
			       const struct xvt_recorder_options *opt,
			       const struct xvt_opt_file *file, struct xvt_session_options *so,
			       char *request);

#endif /* XVT_RECORDER_OPTIONS_H */
