/* SPDX-License-Identifier: GPL-2.0 */
/* judged.h - a trace that a test makes, and what verify says of it. */
#ifndef JUDGED_H
#define JUDGED_H

#include "synth.h"
#include "view/verify.h"

struct judged {
	struct synth_sink sink;
	struct xvt_trace_writer *w; /* for the test, until judged_end() */
	char lines[4096];	    /* what verify says, each with a line feed */
	struct xvt_verify_result result;
};

/* An empty trace of a host whose TSC counts ns. */
void judged_begin(struct judged *j);
/* The trace is whole; its bytes are in j->sink until judged_verify(). */
void judged_end(struct judged *j);
/* `name` is that of a scratch file. */
void judged_verify(struct judged *j, const char *name);

#endif /* JUDGED_H */
