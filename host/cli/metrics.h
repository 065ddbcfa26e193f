/* SPDX-License-Identifier: GPL-2.0 */
/* metrics.h - the recorders' state as metrics. */
#ifndef XVT_METRICS_H
#define XVT_METRICS_H

#include "cli/answers.h"
#include "base/out.h"

/* Writes the text format of Prometheus, version 0.0.4. Returns o->err. */
int xvt_metrics_write(const struct xvt_answers *all, struct xvt_out *o);

#endif /* XVT_METRICS_H */
