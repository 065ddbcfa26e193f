/* SPDX-License-Identifier: GPL-2.0 */
/* serve_status.h - a recorder's own status, line by line. */
#ifndef XVT_SERVE_STATUS_H
#define XVT_SERVE_STATUS_H

#include "control/serve.h"

#define XVT_SERVE_COMPLETE UINT64_MAX /* a cursor: nothing follows */

/* The next line of a status: of the recorder, of its machines, and the end, which sets the cursor
 * to XVT_SERVE_COMPLETE. */
struct xvt_json *xvt_serve_status(const struct xvt_serve *s, struct xvt_server_at *at);

#endif /* XVT_SERVE_STATUS_H */
