// SPDX-License-Identifier: GPL-2.0
/* control_ask.c - the client's side of control.h. */
#define _GNU_SOURCE
#include "session/control.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/socket.h"

/* Longer than any valid line: 64 rings take some tens of KiB. */
#define LINE_MAX_BYTES (64u << 20)

struct asking {
	int sock;
	int timeout_ms;
	xvt_control_line_fn line;
	void *arg;
	char *bytes;
	size_t len;
	size_t searched; /* bytes of it without a newline */
	size_t room;
};

static int wait_until(const struct asking *a, short events)
{
	struct pollfd p = { .fd = a->sock, .events = events };
	int n = poll(&p, 1, a->timeout_ms);

	return n > 0 ? 0 : n ? -errno : -ETIMEDOUT;
}

static int send_all(const struct asking *a, const char *text)
{
	size_t len = strlen(text), at = 0;

	while (at < len) {
		ssize_t n = send(a->sock, text + at, len - at, MSG_NOSIGNAL);
		int err = n < 0 ? -errno : 0;

		if (err == -EAGAIN)
			err = wait_until(a, POLLOUT);
		if (err)
			return err;
		at += n > 0 ? (size_t)n : 0;
	}
	return 0;
}

static int make_room(struct asking *a)
{
	size_t room = a->room ? a->room * 2 : 64u << 10;
	char *bytes;

	if (a->len < a->room)
		return 0;
	if (room > LINE_MAX_BYTES)
		return -EMSGSIZE;
	bytes = realloc(a->bytes, room);
	if (!bytes)
		return -ENOMEM;
	a->bytes = bytes;
	a->room = room;
	return 0;
}

/* Pass on all whole lines received. */
static int take_lines(struct asking *a)
{
	char *from = a->bytes, *const all = a->bytes + a->len, *at = a->bytes + a->searched, *end;
	int err = 0;

	while (!err && (end = memchr(at, '\n', (size_t)(all - at)))) {
		*end = 0;
		err = a->line(a->arg, from, (size_t)(end - from));
		from = at = end + 1;
	}
	a->len = (size_t)(all - from);
	a->searched = a->len;
	memmove(a->bytes, from, a->len);
	return err;
}

/* Returns 1: more may follow; 0: the answer is complete; or -errno. */
static int receive(struct asking *a)
{
	int err = make_room(a);
	ssize_t n;

	if (err)
		return err;
	n = recv(a->sock, a->bytes + a->len, a->room - a->len, 0);
	if (n < 0)
		err = errno == EAGAIN ? wait_until(a, POLLIN) : -errno;
	if (n <= 0)
		return n ? (err ? err : 1) : a->len ? -EPIPE : 0;
	a->len += (size_t)n;
	err = take_lines(a);
	return err ? err : 1;
}

/* Returns true if the peer's user may speak for a recorder: the answer is shown to the user. */
static bool is_trusted(int sock)
{
	const uid_t uid = xvt_socket_peer(sock);

	return uid == 0 || uid == geteuid() || geteuid() == 0;
}

int xvt_control_ask(const char *path, const char *request, int timeout_ms, xvt_control_line_fn line,
		    void *arg, struct xvt_error *why)
{
	struct asking a = { .timeout_ms = timeout_ms, .line = line, .arg = arg };
	int more = 1, err;

	a.sock = xvt_socket_connect(path, why);
	if (a.sock < 0)
		return a.sock;
	err = is_trusted(a.sock) ? send_all(&a, request) : -EPERM;
	if (!err)
		err = send_all(&a, "\n");
	while (!err && more) {
		more = receive(&a);
		err = more < 0 ? more : 0;
	}
	close(a.sock);
	free(a.bytes);
	if (err)
		xvt_fail(why, 0, "%s",
			 err == -ETIMEDOUT ? "it does not answer"
			 : err == -EPERM   ? "its socket belongs to neither you nor root"
					   : strerror(-err));
	return err;
}
