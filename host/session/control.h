/* SPDX-License-Identifier: GPL-2.0 */
/*
 * control.h - the socket that serves requests to a recorder. A client sends one line of JSON and
 * gets lines of JSON; then the recorder closes:
 *
 *   {"version":1,"do":"status"}
 *
 * The recorder (cli/serve.c) defines the requests; these files handle sockets only. The socket's
 * mode, 0600 at first, says which users may connect. Only root and the recorder's user may change
 * something.
 *
 * Clients take a bounded part of the recorder's time: XVT_CONTROL_CLIENTS of them at a time, each
 * with one read, or one piece of its answer, in a run of the loop; and one new change in a pass.
 */
#ifndef XVT_CONTROL_H
#define XVT_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct xvt_loop;
struct xvt_control;

#define XVT_CONTROL_REQUEST_MAX 4096u /* bytes of a line that a client sends */
#define XVT_CONTROL_CLIENTS	16u   /* at a time */
/* Of them, users who may not change anything have at most: */
#define XVT_CONTROL_GUESTS	(XVT_CONTROL_CLIENTS / 2)
#define XVT_CONTROL_LATER	SIZE_MAX

/* How far an answer is: zeros for its first piece, then what the functions below store. */
struct xvt_control_at {
	uint64_t cursor;
	void *more;		    /* what the answer needs besides */
	void (*forget)(void *more); /* called with it when the client has gone; NULL: nothing */
};

struct xvt_control_ops {
	/*
	 * Returns the next piece of the answer to a line: malloc()ed bytes, whole lines, or none
	 * yet; NULL: the answer is complete, or with XVT_CONTROL_LATER in *len: the line is for
	 * `act`. A piece is requested when the previous one is sent, so an answer of any length
	 * needs room for one piece only.
	 * The function must not take long, because the recorder waits for it. It is called whenever
	 * the loop waits, also in the middle of other work (xvt_op.any_time), so it must not change
	 * anything.
	 */
	char *(*answer)(void *arg, const char *line, struct xvt_control_at *at, size_t *len);
	/*
	 * Carries out a line. Called by xvt_control_serve() only, so it may change anything.
	 * permitted: the client is root or the recorder's user. Returns as `answer`, which is asked
	 * for the following pieces; NULL: the change takes time, and the next xvt_control_serve()
	 * calls again. The function has set at->cursor to another value than 0 then.
	 */
	char *(*act)(void *arg, const char *line, bool permitted, struct xvt_control_at *at,
		     size_t *len);
};

/*
 * Listen at `path`; NULL: at a name of the recorder's own in xvt_control_dir(), where the sockets
 * of killed recorders are removed. Returns 0, or -errno with the reason in `why`.
 */
int xvt_control_open(struct xvt_control **out, struct xvt_loop *loop, const char *path,
		     const struct xvt_control_ops *ops, void *arg, char *why, size_t why_size);
/* Between two passes: carry out what clients want changed. NULL: no effect. */
void xvt_control_serve(struct xvt_control *c);
/* About once a second: listen again after a temporary failure. NULL: no effect. */
void xvt_control_tend(struct xvt_control *c);
const char *xvt_control_path(const struct xvt_control *c);
/* Remove the socket and free the object. Runs the loop until it no longer uses it.
 * NULL: no effect. */
void xvt_control_close(struct xvt_control *c);

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
		    void *arg, char *why, size_t why_size);

#endif /* XVT_CONTROL_H */
