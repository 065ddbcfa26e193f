/* SPDX-License-Identifier: GPL-2.0 */
/*
 * control.h - the socket by which a recorder is asked what it does. A client sends one line of
 * JSON and gets lines of JSON, then the recorder closes:
 *
 *   {"do":"status"}
 *
 * What can be asked is the recorder's business (cli/cmd_record.c); here are sockets only. Clients
 * are of the recorder's own user, or root's.
 */
#ifndef XVT_CONTROL_H
#define XVT_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct xvt_loop;
struct xvt_control;

#define XVT_CONTROL_REQUEST_MAX 4096u /* bytes of a line that a client sends */

/*
 * The next piece of the answer to a line: malloc()ed bytes, whole lines; NULL: that was all.
 * *cursor is 0 for the first one, and then what was left in it. A piece is asked for when the one
 * before has left, so an answer of any length needs room for one piece only; whoever makes it must
 * not take long, for the recorder waits. Called whenever the loop waits, also in the middle of
 * something else (xvt_op.any_time), so it looks and changes nothing.
 */
typedef char *(*xvt_control_fn)(void *arg, const char *line, uint64_t *cursor, size_t *len);

/*
 * Listen at `path`; NULL: at a name of our own in xvt_control_dir(), where those are removed that
 * killed recorders left. Returns 0, or -errno with the reason in `why`.
 */
int xvt_control_open(struct xvt_control **out, struct xvt_loop *loop, const char *path,
		     xvt_control_fn answer, void *arg, char *why, size_t why_size);
/* About once a second: after a passing lack of something we listen again. NULL: nothing. */
void xvt_control_tend(struct xvt_control *c);
const char *xvt_control_path(const struct xvt_control *c);
/* Runs the loop until that has let go of it; removes the socket. NULL: nothing. */
void xvt_control_close(struct xvt_control *c);

/*
 * Where recorders listen: $XVTRACE_RUN_DIR; /run/xvtrace for root; $XDG_RUNTIME_DIR/xvtrace.
 * Returns false when there is no such place.
 */
bool xvt_control_dir(char *dir, size_t size);
/* Is that what a recorder's socket is called there? */
bool xvt_control_is_name(const char *name);

/* Takes a line of an answer, without its newline and ended by a zero byte. Returns 0, or -errno,
 * which ends it. */
typedef int (*xvt_control_line_fn)(void *arg, const char *line, size_t len);

/*
 * The client's side: ask, wait for the whole answer. Waits at most timeout_ms for each part of it.
 * Returns 0, or -errno with the reason in `why` (-ECONNREFUSED: whose socket it was has died;
 * -EPERM: it is neither ours nor root's).
 */
int xvt_control_ask(const char *path, const char *request, int timeout_ms, xvt_control_line_fn line,
		    void *arg, char *why, size_t why_size);

#endif /* XVT_CONTROL_H */
