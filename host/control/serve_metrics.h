/* SPDX-License-Identifier: GPL-2.0 */
/* serve_metrics.h - a recorder's own metrics as text, in pieces, for one client. */
#ifndef XVT_SERVE_METRICS_H
#define XVT_SERVE_METRICS_H

#include <stdbool.h>

#include "control/serve.h"

enum xvt_metrics_step {
	XVT_METRICS_NOT_YET, /* ask again */
	XVT_METRICS_PIECE,   /* *text has some whole lines, until the next call */
	XVT_METRICS_END,
	XVT_METRICS_FAILED, /* out of memory */
};

/* Makes `at` the begin of the metrics: at->more is set. Returns false without memory. */
bool xvt_serve_metrics_begin(struct xvt_server_at *at);
/* The next step. The status of all machines is taken first, which takes many steps. */
enum xvt_metrics_step xvt_serve_metrics(const struct xvt_serve *s, struct xvt_server_at *at,
					const char **text);

#endif /* XVT_SERVE_METRICS_H */
