// SPDX-License-Identifier: GPL-2.0
/* control.c - the recorder's side of control.h. The client's side is control_ask.c. */
#define _GNU_SOURCE
#include "session/control.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/loop.h"
#include "base/socket.h"

struct client {
	struct xvt_op op; /* first */
	struct xvt_control *control;
	int sock; /* -1: free */
	uint64_t came;
	bool permitted; /* it may change something */
	size_t got;	/* bytes of its line */
	bool asked;	/* the line is whole */
	bool acts;	/* the line waits for xvt_control_serve() */
	char line[XVT_CONTROL_REQUEST_MAX + 1];
	struct xvt_control_at at; /* in its answer */
	char *out;		  /* piece of the answer being sent */
	size_t len;
	size_t sent; /* bytes of it sent */
};

struct xvt_control {
	struct xvt_op op; /* first */
	struct xvt_loop *loop;
	const struct xvt_control_ops *ops;
	void *arg;
	struct xvt_listener listener;
	uint64_t came; /* clients so far */
	struct client client[XVT_CONTROL_CLIENTS];
};

bool xvt_control_dir(char *dir, size_t size)
{
	const char *given = getenv("XVTRACE_RUN_DIR"), *own = getenv("XDG_RUNTIME_DIR");

	if (given && *given)
		return (size_t)snprintf(dir, size, "%s", given) < size;
	if (!geteuid())
		return (size_t)snprintf(dir, size, "/run/xvtrace") < size;
	return own && *own && (size_t)snprintf(dir, size, "%s/xvtrace", own) < size;
}

static void let_go(struct client *c)
{
	xvt_loop_cancel(c->control->loop, &c->op);
	if (c->sock >= 0)
		close(c->sock);
	c->sock = -1;
	free(c->out);
	c->out = NULL;
	if (c->at.forget)
		c->at.forget(c->at.more);
	c->at = (struct xvt_control_at){ 0 };
}

static void wait_for(struct client *c, uint32_t events)
{
	if (xvt_loop_poll(c->control->loop, &c->op, c->sock, events))
		let_go(c);
}

/* Send as much as the socket takes now, at most one piece: other clients wait as well. */
static void send_some(struct client *c)
{
	ssize_t n;

	if (c->sent == c->len) {
		free(c->out);
		c->sent = c->len = 0;
		c->out = c->control->ops->answer(c->control->arg, c->line, &c->at, &c->len);
		c->acts = !c->out && c->len == XVT_CONTROL_LATER;
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
	wait_for(c, POLLOUT);
}

static void read_line(struct client *c)
{
	ssize_t n = recv(c->sock, c->line + c->got, XVT_CONTROL_REQUEST_MAX - c->got, MSG_DONTWAIT);
	char *end;

	if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
		wait_for(c, POLLIN);
		return;
	}
	if (n <= 0) { /* closed, or the line is longer than any valid one */
		let_go(c);
		return;
	}
	end = memchr(c->line + c->got, '\n', (size_t)n);
	c->got += (size_t)n;
	if (end) {
		*end = 0;
		c->asked = true;
		send_some(c);
	} else {
		wait_for(c, POLLIN);
	}
}

static void on_client(struct xvt_op *op, int res)
{
	struct client *c = (struct client *)op;

	if (c->sock < 0 || c->acts || res == -ECANCELED)
		return;
	if (c->asked)
		send_some(c);
	else
		read_line(c);
}

/* Returns true if `a` is to be dropped before `b`: clients that may not change anything first, and
 * the oldest of them, as it does not read its answer. */
static bool goes_before(const struct client *a, const struct client *b)
{
	return a->permitted == b->permitted ? a->came < b->came : b->permitted;
}

/* Returns a free client, or NULL. If all are used, one is dropped; it is free when the loop has
 * completed its poll. */
static struct client *place(struct xvt_control *control)
{
	struct client *first = NULL;
	bool soon = false;
	unsigned int i;

	for (i = 0; i < XVT_CONTROL_CLIENTS; i++) {
		struct client *c = &control->client[i];

		if (c->sock < 0 && !c->op.held)
			return c;
		soon |= c->sock < 0;
		if (c->sock >= 0 && (!first || goes_before(c, first)))
			first = c;
	}
	if (!soon)
		let_go(first);
	return NULL;
}

/* One more client that may not change anything: drop the oldest of them if there are too many. */
static void limit_guests(struct xvt_control *control)
{
	struct client *oldest = NULL;
	unsigned int i, n = 0;

	for (i = 0; i < XVT_CONTROL_CLIENTS; i++) {
		struct client *c = &control->client[i];

		if (c->sock < 0 || c->permitted)
			continue;
		n++;
		if (!oldest || c->came < oldest->came)
			oldest = c;
	}
	if (n >= XVT_CONTROL_GUESTS)
		let_go(oldest);
}

static void add_client(struct xvt_control *control, struct client *c, int sock)
{
	const uid_t uid = xvt_socket_peer(sock);

	c->permitted = uid == 0 || uid == geteuid();
	if (!c->permitted)
		limit_guests(control);
	c->sock = sock;
	c->came = control->came++;
	c->got = c->sent = c->len = 0;
	c->asked = c->acts = false;
	wait_for(c, POLLIN);
}

/* Carry out the client's line, or go on with that. */
static void act(struct client *c)
{
	c->out = c->control->ops->act(c->control->arg, c->line, c->permitted, &c->at, &c->len);
	if (!c->out)
		return;
	c->acts = false;
	c->sent = 0;
	wait_for(c, POLLOUT);
}

void xvt_control_serve(struct xvt_control *control)
{
	struct client *next = NULL; /* of those that are not begun, the one that came first */
	unsigned int i;

	for (i = 0; control && i < XVT_CONTROL_CLIENTS; i++) {
		struct client *c = &control->client[i];

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

static void arm(struct xvt_control *control)
{
	xvt_loop_poll(control->loop, &control->op, control->listener.fd, POLLIN);
}

static void on_connect(struct xvt_op *op, int res)
{
	struct xvt_control *control = (struct xvt_control *)op;
	struct client *c;
	int sock = -EAGAIN;

	if (control->listener.fd < 0 || res == -ECANCELED)
		return;
	c = place(control);
	if (c)
		sock = xvt_socket_accept(&control->listener);
	if (sock >= 0)
		add_client(control, c, sock);
	if (sock >= 0 || sock == -EAGAIN)
		arm(control);
}

/* --- where it listens --- */

bool xvt_control_is_name(const char *name)
{
	const char *digits = name + strlen("record-");

	return !strncmp(name, "record-", strlen("record-")) && *digits &&
	       !digits[strspn(digits, "0123456789")];
}

static int own_path(char *path, size_t size, char *why, size_t why_size)
{
	char dir[2048];

	if (!xvt_control_dir(dir, sizeof(dir))) {
		snprintf(why, why_size, "no XDG_RUNTIME_DIR");
		return -ENOENT;
	}
	if (mkdir(dir, 0755) && errno != EEXIST) {
		snprintf(why, why_size, "%s: %s", dir, strerror(errno));
		return -errno;
	}
	/* Remove the sockets of killed recorders. */
	xvt_socket_tidy(dir, xvt_control_is_name);
	snprintf(path, size, "%s/record-%d", dir, (int)getpid());
	return 0;
}

int xvt_control_open(struct xvt_control **out, struct xvt_loop *loop, const char *path,
		     const struct xvt_control_ops *ops, void *arg, char *why, size_t why_size)
{
	struct xvt_control *control;
	char own[4096];
	unsigned int i;
	int err = path ? 0 : own_path(own, sizeof(own), why, why_size);

	if (err)
		return err;
	control = calloc(1, sizeof(*control));
	if (!control) {
		snprintf(why, why_size, "%s", strerror(ENOMEM));
		return -ENOMEM;
	}
	control->op.done = on_connect;
	control->op.any_time = true;
	control->loop = loop;
	control->ops = ops;
	control->arg = arg;
	for (i = 0; i < XVT_CONTROL_CLIENTS; i++)
		control->client[i] = (struct client){
			.op = { .done = on_client, .any_time = true },
			.control = control,
			.sock = -1,
		};
	err = xvt_socket_listen(&control->listener, path ? path : own, 0600, why, why_size);
	if (err) {
		free(control);
		return err;
	}
	arm(control);
	*out = control;
	return 0;
}

void xvt_control_tend(struct xvt_control *control)
{
	if (control && !control->op.held)
		arm(control);
}

const char *xvt_control_path(const struct xvt_control *control)
{
	return control->listener.path;
}

void xvt_control_close(struct xvt_control *control)
{
	bool released;
	unsigned int i;

	if (!control)
		return;
	xvt_socket_unlisten(&control->listener);
	for (i = 0; i < XVT_CONTROL_CLIENTS; i++)
		let_go(&control->client[i]);
	released = xvt_loop_release(control->loop, &control->op);
	for (i = 0; i < XVT_CONTROL_CLIENTS; i++)
		released = released && xvt_loop_release(control->loop, &control->client[i].op);
	if (released)
		free(control);
}
