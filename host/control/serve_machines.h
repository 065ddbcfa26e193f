/* SPDX-License-Identifier: GPL-2.0 */
/* serve_machines.h - the requests that are about machines (serve.h). */
#ifndef XVT_SERVE_MACHINES_H
#define XVT_SERVE_MACHINES_H

#include "base/error.h"
#include "control/serve.h"

struct xvt_json;
struct xvt_json_value;

/* Returns whether a value is an array of names, or patterns, of machines. */
bool xvt_machine_names_ok(const struct xvt_json_value *machines);

/*
 * Carry out the request in a valid `line`, for user `uid`; at->more keeps which machines it is
 * about. Return 0; -EAGAIN: to be called again; or -errno with the reason in `why`: nothing is
 * changed, or `why` says what is.
 */
int xvt_serve_stop(struct xvt_serve *s, const char *line, uid_t uid, struct xvt_server_at *at,
		   struct xvt_error *why);
int xvt_serve_start(struct xvt_serve *s, const char *line, uid_t uid, struct xvt_server_at *at,
		    struct xvt_error *why);
int xvt_serve_events(struct xvt_serve *s, const char *line, uid_t uid, struct xvt_server_at *at,
		     struct xvt_error *why);
/* Add the names of these machines to the answer. */
void xvt_serve_machines(const struct xvt_server_at *at, struct xvt_json *doc);

#endif /* XVT_SERVE_MACHINES_H */
