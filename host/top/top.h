/* SPDX-License-Identifier: GPL-2.0 */
/*
 * top.h - what `xvtrace top` shows. The machines of all recorders with their rates, which are
 * differences of two answers of a recorder by its own times.
 */
#ifndef XVT_TOP_H
#define XVT_TOP_H

#include "control/answers.h"

#define XVT_TOP_SAMPLES 64u /* the counters change once a second: a minute of them */

/* The columns with numbers, in the order in which they are shown. */
enum xvt_top_column {
	XVT_TOP_EVENTS_S,
	XVT_TOP_LOST_S,
	XVT_TOP_LAG,
	XVT_TOP_BOUND,
	XVT_TOP_EVENTS, /* from here on behind the last minute, as the width allows */
	XVT_TOP_LOST,
	XVT_TOP_DISCARDED,
	XVT_TOP_FULL,
	XVT_TOP_RINGS,
	XVT_TOP_COLUMNS, /* as a key to sort by: the name */
};

struct xvt_top_sample {
	uint64_t from_ns;
	uint64_t to_ns;
	uint64_t events;
};

struct xvt_top_machine {
	uint64_t id; /* the same in all answers, not 0 */
	char *name;
	const struct xvt_json_value *line; /* the first one in the newest answer */
	struct xvt_answer_sums sums;
	uint64_t v[XVT_TOP_COLUMNS];
	uint64_t counted_ns; /* the host time of the sums; 0: they have none */
	struct xvt_top_sample samples[XVT_TOP_SAMPLES];
	size_t nr_samples; /* ever */
	size_t order;	   /* in the answer */
};

struct xvt_top_recorder {
	uint64_t pid;
	uint64_t started_ns;
	const struct xvt_answer *answer;
	struct xvt_answer_sums sums; /* their rates are those of the machines */
	uint64_t bytes;
	uint64_t now_ns;
	uint64_t bytes_s;
	struct xvt_top_machine *machines;
	size_t n, room;
};

struct xvt_top {
	struct xvt_answers answers; /* the newest */
	struct xvt_top_recorder *recorders;
	size_t n, room;
	size_t sort; /* enum xvt_top_column */
	bool reverse;
	bool utf8; /* the output takes it */
};

/* Asks again, see xvt_answers_gather(). Returns 0, -ENOMEM, or the last -errno of a recorder that
 * could not be asked: answers.n tells whether there are others. */
int xvt_top_refresh(struct xvt_top *t, const char *control);
void xvt_top_sort(struct xvt_top *t);
void xvt_top_forget(struct xvt_top *t);

/* Returns enum xvt_top_column, or -1: no column has that name. */
int xvt_top_column(const char *name);
const char *xvt_top_column_name(size_t column);

enum xvt_top_kind {
	XVT_TOP_LINE_RECORDER,
	XVT_TOP_LINE_HEAD, /* of the columns */
	XVT_TOP_LINE_MACHINE,
	XVT_TOP_LINE_RING,
	XVT_TOP_LINE_NOTE,
};

/* Takes a line of text, without an end of line. machine: NULL, or whose line it is. */
typedef void (*xvt_top_line_fn)(void *arg, enum xvt_top_kind kind,
				const struct xvt_top_machine *machine, const char *text,
				size_t len);

/* All lines, one after the other. The texts of guests are escaped. */
void xvt_top_show(const struct xvt_top *t, xvt_top_line_fn line, void *arg);
/* The same of the rings of one machine of `r`. */
void xvt_top_show_rings(const struct xvt_top_recorder *r, const struct xvt_top_machine *m,
			xvt_top_line_fn line, void *arg);

#endif /* XVT_TOP_H */
