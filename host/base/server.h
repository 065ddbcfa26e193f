/* SPDX-License-Identifier: GPL-2.0 */
/*
 * server.h - clients of a listening socket, in the event loop. A client sends one request and gets
 * one answer; then the server closes.
 *
 * Clients take a bounded part of the caller's time: a limited number of them at a time, each with
 * one read, or one piece of its answer, in a run of the loop; and one new change in a pass.
 */
#ifndef XVT_SERVER_H
#define XVT_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct xvt_loop;
struct xvt_listener;
struct xvt_server;

#define XVT_SERVER_REQUEST_MAX 4096u /* bytes of a request */
#define XVT_SERVER_LATER       SIZE_MAX

/* How far an answer is: zeros for its first piece, then what the functions below store. */
struct xvt_server_at {
	uint64_t cursor;
	void *more;		    /* state of the answer besides */
	void (*forget)(void *more); /* called with it when the client has gone; NULL: nothing */
};

/* Who asks, by the credentials of its socket. */
struct xvt_server_peer {
	uid_t uid;
	bool permitted; /* the peer is root or the recorder's user */
};

struct xvt_server_ops {
	/* Returns whether a text is a whole request. NULL: a request is a line. */
	bool (*whole)(const char *text);
	/*
	 * Returns the next piece of the answer to a request (a line: without its newline):
	 * malloc()ed bytes, or none yet; NULL: the answer is complete, or with XVT_SERVER_LATER in
	 * *len: the request is for `act`. A piece is requested when the previous one is sent, so an
	 * answer of any length needs room for one piece only. The function must not take long,
	 * because the recorder waits for it. The function is called whenever the loop waits, also
	 * in the middle of other work (xvt_op.any_time), so it must not change anything.
	 */
	char *(*answer)(void *arg, const char *request, struct xvt_server_at *at, size_t *len);
	/*
	 * Carries out a request. Called by xvt_server_serve() only, so it may change anything.
	 * Returns as `answer`, which is asked for the following pieces; NULL: the change takes
	 * time, and the next xvt_server_serve() calls again. The function has set at->cursor to
	 * another value than 0 then.
	 */
	char *(*act)(void *arg, const char *request, const struct xvt_server_peer *peer,
		     struct xvt_server_at *at, size_t *len);
};

struct xvt_server_limits {
	/* At a time. One more takes the place of the oldest that has not asked, or does not read
	 * its answer; else it waits. */
	unsigned int clients;
	unsigned int guests; /* of them, users who may not change anything have at most */
	/* A client is dropped at this xvt_server_tend() since it came or since the last of its
	 * answer went; 0: at none. */
	unsigned int idle_tends;
};

/* Serves the clients of a listener, which is the server's from then on. Returns NULL without
 * memory, and the listener is closed. */
struct xvt_server *xvt_server_new(struct xvt_loop *loop, const struct xvt_listener *listener,
				  const struct xvt_server_limits *limits,
				  const struct xvt_server_ops *ops, void *arg);
const struct xvt_listener *xvt_server_listener(const struct xvt_server *server);
/* Between two passes: carry out what clients want changed. NULL: no effect. */
void xvt_server_serve(struct xvt_server *server);
/* About once a second: drop idle clients, and listen again after a temporary failure. NULL: no
 * effect. */
void xvt_server_tend(struct xvt_server *server);
/* Close the listener and free the object. Runs the loop until it no longer uses it. NULL: no
 * effect. */
void xvt_server_close(struct xvt_server *server);

#endif /* XVT_SERVER_H */
