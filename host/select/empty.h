/* SPDX-License-Identifier: GPL-2.0 */
/* empty.h - a trace without events: what its notes say about the machines that gave none. */
#ifndef XVT_EMPTY_H
#define XVT_EMPTY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct xvt_trace;
struct xvtrace;

/* "g1 waited (no module yet), g2 waited (paused)" */
struct xvt_empty {
	char text[512];
	size_t used;
	uint64_t lost; /* events */
};

/* Read the notes of a trace. */
void xvt_empty_read_notes(struct xvt_empty *e, struct xvt_trace *t);
/* Print the line. is_error: the command fails for that. */
void xvt_empty_say(const struct xvt_empty *e, const char *path, bool is_error);

/* Print the line as an error if the trace has no event at all, nor a loss. Returns false if it has.
 */
bool xvt_empty_refuse(struct xvtrace *trace);

#endif /* XVT_EMPTY_H */
