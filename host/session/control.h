/* SPDX-License-Identifier: GPL-2.0 */
/*
 * control.h - the socket that serves requests to a recorder. A client sends one line of JSON and
 * gets lines of JSON; then the recorder closes:
 *
 *   {"version":1,"do":"status"}
 *
 * The recorder (control/serve.c) defines the requests; these files handle sockets only. The
 * socket's mode, 0600 at first, says which users may connect. Only root and the recorder's user may
 * change something.
 */
#ifndef XVT_CONTROL_H
#define XVT_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/server.h"

#define XVT_CONTROL_CLIENTS 16u /* at a time */
/* Of them, users who may not change anything have at most: */
#define XVT_CONTROL_GUESTS  (XVT_CONTROL_CLIENTS / 2)

/*
 * Listen at `path`; NULL: at a name of the recorder's own in xvt_control_dir(), where the sockets
 * of killed recorders are removed. A request is a line, the pieces of an answer are whole lines.
 * Returns 0, or -errno with the reason in `why`.
 */
int xvt_control_open(struct xvt_server **out, struct xvt_loop *loop, const char *path,
		     const struct xvt_server_ops *ops, void *arg, struct xvt_error *why);

/*
 * Directory of the recorders' sockets: $XVTRACE_RUN_DIR; /run/xvtrace for root;
 * $XDG_RUNTIME_DIR/xvtrace. Returns false if there is no such directory.
 */
bool xvt_control_dir(char *dir, size_t size);
/* Returns true if `name` is the name of a recorder's socket. */
bool xvt_control_is_name(const char *name);

/* Takes a line of an answer, without its newline and ended by a zero byte. Returns 0; or -errno,
 * which ends the answer. */
typedef int (*xvt_control_line_fn)(void *arg, const char *line, size_t len);

/*
 * The client's side: send a request and wait for the whole answer, at most timeout_ms for each
 * part. Returns 0, or -errno with the reason in `why` (-ECONNREFUSED: the recorder has died;
 * -EPERM: its user is neither the caller's nor root).
 */
int xvt_control_ask(const char *path, const char *request, int timeout_ms, xvt_control_line_fn line,
		    void *arg, struct xvt_error *why);

#endif /* XVT_CONTROL_H */
