/* SPDX-License-Identifier: GPL-2.0 */
/* outcome.h - the last lines of a recorder: what was written, what is wrong with it, what next. */
#ifndef XVT_OUTCOME_H
#define XVT_OUTCOME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct xvt_file_set;
struct xvt_session;

#define XVT_OUTCOME_WRONG 3u /* lines of what is wrong */

struct xvt_outcome {
	uint64_t events;
	uint64_t lost;
	uint64_t bytes;
	uint64_t ran_ns;
	uint64_t removed;    /* files of a set, by its limits */
	uint32_t first_file; /* numbers in the set; 0: it is one file */
	uint32_t last_file;
	size_t machines;  /* that gave events, without the host */
	bool host;	  /* gave events */
	bool least;	  /* `lost` is a lower bound */
	size_t snapshots; /* of the set */
	char states[512]; /* "; g1 paused 2.093 s; g2 ended (guest panicked)" */
	size_t nr_wrong;
	char wrong[XVT_OUTCOME_WRONG][512];
};

/*
 * Take what the lines need, after xvt_session_end(). first_file: number of the set's first file.
 * Prints a line for each machine that gave no event. strict: for one that was named it is an error.
 * Returns whether there was such an error.
 */
bool xvt_outcome_take(struct xvt_outcome *o, const struct xvt_session *s,
		      const struct xvt_file_set *sink, bool strict, bool quiet);
/* Print the lines. logs: into the log of a service. */
void xvt_outcome_say(const struct xvt_outcome *o, const char *output, bool logs);

#endif /* XVT_OUTCOME_H */
