/* SPDX-License-Identifier: GPL-2.0 */
/* path_perfetto.h - a path as tracks for Perfetto. */
#ifndef XVT_CLI_PATH_PERFETTO_H
#define XVT_CLI_PATH_PERFETTO_H

#include "export/export.h"
#include "path/path.h"

/* Returns 0 or -errno; closing `o` reports its errors. */
int xvt_path_perfetto(struct xvt_path *p, struct xvt_export *x, struct xvt_out *o);

#endif /* XVT_CLI_PATH_PERFETTO_H */
