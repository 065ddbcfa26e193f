/* SPDX-License-Identifier: GPL-2.0 */
/* metrics.h - the recorders' state as metrics: the text format of Prometheus, version 0.0.4. */
#ifndef XVT_METRICS_H
#define XVT_METRICS_H

#include "base/out.h"
#include "control/answers.h"

/* Sums over the lines of status answers: a few hundred bytes for each machine. */
struct xvt_metrics;

/* Returns NULL without memory. */
struct xvt_metrics *xvt_metrics_new(void);
/* Add a line of an answer, in the order in which a recorder sends them. Returns 0, -ENOMEM, or
 * -EBADMSG: no line of a recorder came before. */
int xvt_metrics_add(struct xvt_metrics *m, const struct xvt_json_value *line);
void xvt_metrics_free(struct xvt_metrics *m);

/* A position in the text; zeros: its begin. */
struct xvt_metrics_at {
	size_t family;
	size_t machine;
};

/* Write the next piece, less than XVT_OUT_ROOM. Returns false, and writes nothing, behind the end.
 */
bool xvt_metrics_piece(const struct xvt_metrics *m, struct xvt_metrics_at *at, struct xvt_out *o);

/* Write the metrics of all answers. Returns 0, -ENOMEM or o->err. */
int xvt_metrics_write(const struct xvt_answers *all, struct xvt_out *o);

#endif /* XVT_METRICS_H */
