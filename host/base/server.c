// SPDX-License-Identifier: GPL-2.0
/* server.c - see server.h. */
#define _GNU_SOURCE
#include "base/server.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/loop.h"
#include "base/socket.h"
#include "base/user.h"

#define STALLED_TENDS 2u /* without progress */

struct client {
	struct xvt_op op; /* first */
	struct xvt_server *server;
	int sock; /* -1: free */
	uint64_t came;
	struct xvt_server_peer peer;
	size_t got;	    /* bytes of its request */
	bool asked;	    /* the request is whole */
	bool acts;	    /* the request waits for xvt_server_serve() */
	unsigned int tends; /* without progress */
	char request[XVT_SERVER_REQUEST_MAX + 1];
	struct xvt_server_at at; /* in its answer */
	char *out;		 /* piece of the answer being sent */
	size_t len;
	size_t sent; /* bytes of it sent */
};

struct xvt_server {
	struct xvt_op op; /* first */
	struct xvt_loop *loop;
	const struct xvt_server_ops *ops;
	void *arg;
	struct xvt_server_limits limits;
	struct xvt_listener listener;
	uint64_t came; /* clients so far */
	struct client client[];
};

static void arm(struct xvt_server *server)
{
	if (!server->op.held && server->listener.fd >= 0)
		xvt_loop_poll(server->loop, &server->op, server->listener.fd, POLLIN);
}

static void let_go(struct client *c)
{
	xvt_loop_cancel(c->server->loop, &c->op);
	if (c->sock >= 0)
		close(c->sock);
	c->sock = -1;
	free(c->out);
	c->out = NULL;
	if (c->at.forget)
		c->at.forget(c->at.more);
	c->at = (struct xvt_server_at){ 0 };
	arm(c->server); /* another one may wait for its place */
}

static void wait_for(struct client *c, uint32_t events)
{
	if (xvt_loop_poll(c->server->loop, &c->op, c->sock, events))
		let_go(c);
}

/* Send as much as the socket takes now, at most one piece: other clients wait as well. */
static void send_some(struct client *c)
{
	ssize_t n;

	if (c->sent == c->len) {
		free(c->out);
		c->sent = c->len = 0;
		c->out = c->server->ops->answer(c->server->arg, c->request, &c->at, &c->len);
		c->acts = !c->out && c->len == XVT_SERVER_LATER;
		if (c->acts)
			c->len = 0;
		else if (!c->out)
			let_go(c);
		if (!c->out)
			return;
	}
	n = send(c->sock, c->out + c->sent, c->len - c->sent, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (n < 0 && errno != EAGAIN && errno != EINTR) {
		let_go(c);
		return;
	}
	c->sent += n > 0 ? (size_t)n : 0;
	if (n >= 0)
		c->tends = 0;
	wait_for(c, POLLOUT);
}

/* Returns whether the request is whole, and ends it. `n`: the bytes of it that came last. */
static bool is_whole(struct client *c, size_t n)
{
	char *end;

	if (c->server->ops->whole) {
		c->request[c->got] = 0;
		return c->server->ops->whole(c->request);
	}
	end = memchr(c->request + c->got - n, '\n', n);
	if (end)
		*end = 0;
	return end;
}

static void read_request(struct client *c)
{
	ssize_t n =
		recv(c->sock, c->request + c->got, XVT_SERVER_REQUEST_MAX - c->got, MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
		wait_for(c, POLLIN);
		return;
	}
	if (n <= 0) { /* closed, or the request is longer than any valid one */
		let_go(c);
		return;
	}
	c->got += (size_t)n;
	c->asked = is_whole(c, (size_t)n);
	if (c->asked)
		send_some(c);
	else
		wait_for(c, POLLIN);
}

static void on_client(struct xvt_op *op, int res)
{
	struct client *c = (struct client *)op;

	if (c->sock < 0 || c->acts || res == -ECANCELED)
		return;
	if (c->asked)
		send_some(c);
	else
		read_request(c);
}

/* Another client may have its place: it has not asked, or does not read its answer. One that is
 * being answered keeps it, else who asks without end would have all others dropped. */
static bool may_go(const struct client *c)
{
	return c->sock >= 0 && (!c->asked || c->tends >= STALLED_TENDS);
}

/* Returns true if `a` is to be dropped before `b`: clients that may not change anything first, and
 * the oldest of them. */
static bool goes_before(const struct client *a, const struct client *b)
{
	return a->peer.permitted == b->peer.permitted ? a->came < b->came : b->peer.permitted;
}

/* Returns a free client, or NULL. If all are used, one is dropped that may go; it is free when the
 * loop has completed its poll. If none may, newcomers wait in the listener. */
static struct client *place(struct xvt_server *server, bool *full)
{
	struct client *first = NULL;
	bool soon = false;
	unsigned int i;

	for (i = 0; i < server->limits.clients; i++) {
		struct client *c = &server->client[i];

		if (c->sock < 0 && !c->op.held)
			return c;
		soon |= c->sock < 0;
		if (may_go(c) && (!first || goes_before(c, first)))
			first = c;
	}
	if (!soon && first)
		let_go(first);
	*full = !soon && !first;
	return NULL;
}

/* One more client that may not change anything: drop the oldest of them that may go, if there are
 * too many. Returns false if none may. */
static bool limit_guests(struct xvt_server *server)
{
	struct client *oldest = NULL;
	unsigned int i, n = 0;

	for (i = 0; i < server->limits.clients; i++) {
		struct client *c = &server->client[i];

		if (c->sock < 0 || c->peer.permitted)
			continue;
		n++;
		if (may_go(c) && (!oldest || c->came < oldest->came))
			oldest = c;
	}
	if (n < server->limits.guests)
		return true;
	if (oldest)
		let_go(oldest);
	return oldest;
}

static void add_client(struct xvt_server *server, struct client *c, int sock)
{
	const uid_t uid = xvt_socket_peer(sock);

	c->peer = (struct xvt_server_peer){ uid, uid == 0 || uid == xvt_user() };
	if (!c->peer.permitted && !limit_guests(server)) {
		close(sock);
		return;
	}
	c->sock = sock;
	c->came = server->came++;
	c->got = c->sent = c->len = 0;
	c->tends = 0;
	c->asked = c->acts = false;
	wait_for(c, POLLIN);
}

/* Carry out the client's request, or go on with that. */
static void act(struct client *c)
{
	c->out = c->server->ops->act(c->server->arg, c->request, &c->peer, &c->at, &c->len);
	if (!c->out)
		return;
	c->acts = false;
	c->sent = 0;
	wait_for(c, POLLOUT);
}

void xvt_server_serve(struct xvt_server *server)
{
	struct client *next = NULL; /* of those that are not begun, the one that came first */
	unsigned int i;

	for (i = 0; server && i < server->limits.clients; i++) {
		struct client *c = &server->client[i];

		if (c->sock < 0 || !c->acts)
			continue;
		if (c->at.cursor)
			act(c);
		else if (!next || c->came < next->came)
			next = c;
	}
	if (next)
		act(next);
}

static void on_connect(struct xvt_op *op, int res)
{
	struct xvt_server *server = (struct xvt_server *)op;
	struct client *c;
	int sock = -EAGAIN;
	bool full = false;

	if (server->listener.fd < 0 || res == -ECANCELED)
		return;
	c = place(server, &full);
	if (c)
		sock = xvt_socket_accept(&server->listener);
	if (sock >= 0)
		add_client(server, c, sock);
	if (!full && (sock >= 0 || sock == -EAGAIN))
		arm(server);
}

void xvt_server_tend(struct xvt_server *server)
{
	unsigned int i;

	if (!server)
		return;
	for (i = 0; i < server->limits.clients; i++) {
		struct client *c = &server->client[i];

		if (c->sock >= 0 && !c->acts)
			c->tends++;
		if (c->sock >= 0 && server->limits.idle_tends &&
		    c->tends >= server->limits.idle_tends)
			let_go(c);
	}
	arm(server);
}

struct xvt_server *xvt_server_new(struct xvt_loop *loop, const struct xvt_listener *listener,
				  const struct xvt_server_limits *limits,
				  const struct xvt_server_ops *ops, void *arg)
{
	struct xvt_server *server =
		calloc(1, sizeof(*server) + limits->clients * sizeof(server->client[0]));
	struct xvt_listener lost = *listener;
	unsigned int i;

	if (!server) {
		xvt_socket_unlisten(&lost);
		return NULL;
	}
	server->op.done = on_connect;
	server->op.any_time = true;
	server->loop = loop;
	server->ops = ops;
	server->arg = arg;
	server->limits = *limits;
	server->listener = *listener;
	for (i = 0; i < limits->clients; i++)
		server->client[i] = (struct client){
			.op = { .done = on_client, .any_time = true },
			.server = server,
			.sock = -1,
		};
	arm(server);
	return server;
}

const struct xvt_listener *xvt_server_listener(const struct xvt_server *server)
{
	return &server->listener;
}

void xvt_server_close(struct xvt_server *server)
{
	bool released;
	unsigned int i;

	if (!server)
		return;
	xvt_socket_unlisten(&server->listener);
	for (i = 0; i < server->limits.clients; i++)
		let_go(&server->client[i]);
	released = xvt_loop_release(server->loop, &server->op);
	for (i = 0; i < server->limits.clients; i++)
		released = released && xvt_loop_release(server->loop, &server->client[i].op);
	if (released)
		free(server);
}
