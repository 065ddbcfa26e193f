/* SPDX-License-Identifier: GPL-2.0 */
/*
 * verify.h - check a trace against the recorder's guarantees: checksums, order, counts, clocks,
 * cause before effect. The check computes everything again from the raw values in the file, with
 * code of its own, so that it does not share the recorder's errors.
 */
#ifndef XVT_VERIFY_H
#define XVT_VERIFY_H

#include "trace/read.h"
#include "view/exchange.h"

struct xvt_verify_opts {
	bool notes;    /* report the recorder's notes, too */
	bool complete; /* a trace that was not cleanly ended is a violation */
	/* Called with each line as it is found: a violation, a note, a count of violations that
	 * were left out. The text is printable and has no newline. */
	void (*line)(void *arg, const char *text);
	void *arg;
};

struct xvt_verify_result {
	uint64_t violations; /* all, also those that were only counted */
	uint64_t events;     /* without pseudo-events */
	uint64_t nodes;	     /* of clocks */
	uint64_t samples;    /* of clocks */
	uint64_t marks_checked;
	uint64_t looks_checked; /* events that looks at their rings were held against */
	uint64_t pairs_checked; /* clock pairs */
	uint64_t pair_off_ns_max;
	uint64_t ran;	       /* events inside run spans */
	uint64_t away_checked; /* held against the host's switches of their threads */
	uint64_t exempt;       /* flagged by the recorder: its clock contradicts the map */
	uint64_t unplaced;     /* events of rings without a node */
	struct xvt_exchanges exchanges;
};

/*
 * Checks the whole trace. *result is filled in and needs xvt_verify_result_fini(), also after an
 * error. Returns 0 (whatever was found), -ENOMEM or a read error.
 */
int xvt_verify(struct xvt_trace *t, const struct xvt_verify_opts *opts,
	       struct xvt_verify_result *result);
void xvt_verify_result_fini(struct xvt_verify_result *result);

#endif /* XVT_VERIFY_H */
