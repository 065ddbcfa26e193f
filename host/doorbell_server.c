// SPDX-License-Identifier: GPL-2.0
/*
 * doorbell_server.c - see doorbell_server.h. Peers never send anything; one that does, or that
 * does not read what it is told, is dropped.
 */
#define _GNU_SOURCE
#include "doorbell_server.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "doorbell_wire.h"
#include "loop.h"
#include "socket.h"

struct peer {
	struct xvt_doorbell_server *server;
	struct xvt_op on_data;
	bool armed;   /* the loop holds the operation */
	bool dropped; /* due to go: told to the others once nobody is in the middle of telling */
	int sock;     /* -1: a free place */
	int64_t number;
	int bell[XVT_SERVER_VECTORS];
};

struct xvt_doorbell_server {
	struct xvt_loop *loop;
	struct xvt_op on_peer;
	bool armed;
	struct xvt_listener listener;
	int region_fd;
	unsigned int vectors;
	int64_t next_number; /* those that went are not used again soon: somebody may ring them */
	struct peer peer[XVT_SERVER_PEERS];
};

static void tell(struct peer *to, int64_t number, int fd)
{
	if (to->sock >= 0 && !to->dropped && xvt_wire_send(to->sock, number, fd))
		to->dropped = true;
}

static void tell_bells(struct peer *to, const struct peer *of)
{
	unsigned int i;

	for (i = 0; i < of->server->vectors; i++)
		tell(to, of->number, of->bell[i]);
}

static void free_place(struct peer *p)
{
	unsigned int i;

	if (p->armed)
		xvt_loop_cancel(p->server->loop, &p->on_data);
	if (p->sock >= 0)
		close(p->sock);
	for (i = 0; i < XVT_SERVER_VECTORS; i++) {
		if (p->bell[i] >= 0)
			close(p->bell[i]);
		p->bell[i] = -1;
	}
	p->sock = -1;
	p->dropped = false;
}

/* Telling the others may show that more of them are to go. */
static void drop_peers(struct xvt_doorbell_server *s)
{
	unsigned int i, k;

	for (i = 0; i < XVT_SERVER_PEERS; i++) {
		struct peer *p = &s->peer[i];

		if (p->sock < 0 || !p->dropped)
			continue;
		free_place(p);
		for (k = 0; k < XVT_SERVER_PEERS; k++)
			tell(&s->peer[k], p->number, -1);
		i = (unsigned int)-1;
	}
}

/* Peers have nothing to say: they have gone, or are none. */
static void on_data(struct xvt_op *op, int res)
{
	struct peer *p = (struct peer *)((char *)op - offsetof(struct peer, on_data));

	p->armed = false;
	if (p->sock < 0 || res == -ECANCELED)
		return;
	p->dropped = true;
	drop_peers(p->server);
}

static bool number_in_use(const struct xvt_doorbell_server *s, int64_t number)
{
	unsigned int i;

	for (i = 0; i < XVT_SERVER_PEERS; i++) {
		if (s->peer[i].sock >= 0 && s->peer[i].number == number)
			return true;
	}
	return false;
}

static int64_t new_number(struct xvt_doorbell_server *s)
{
	int64_t number;

	do {
		number = s->next_number;
		s->next_number = (s->next_number + 1) % (XVT_WIRE_PEER_MAX + 1);
	} while (number_in_use(s, number));
	return number;
}

/* In the order in which QEMU's own server does, and its device wants it. */
static void greet(struct xvt_doorbell_server *s, struct peer *p)
{
	unsigned int i;

	tell(p, XVT_WIRE_VERSION, -1);
	tell(p, p->number, -1);
	tell(p, XVT_WIRE_MEMORY, s->region_fd);
	for (i = 0; i < XVT_SERVER_PEERS; i++) {
		struct peer *other = &s->peer[i];

		if (other == p || other->sock < 0 || other->dropped)
			continue;
		tell_bells(other, p);
		tell_bells(p, other);
	}
	tell_bells(p, p);
}

static struct peer *free_peer(struct xvt_doorbell_server *s)
{
	unsigned int i;

	for (i = 0; i < XVT_SERVER_PEERS; i++) {
		if (s->peer[i].sock < 0 && !s->peer[i].armed)
			return &s->peer[i];
	}
	return NULL;
}

static bool make_bells(struct peer *p)
{
	unsigned int i;

	for (i = 0; i < p->server->vectors; i++) {
		p->bell[i] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		if (p->bell[i] < 0)
			return false;
	}
	return true;
}

/* Who finds no place, or no descriptors, sees its connection closed. */
static void add_peer(struct xvt_doorbell_server *s, int sock)
{
	struct peer *p = free_peer(s);

	if (!p) {
		close(sock);
		return;
	}
	p->number = new_number(s);
	p->sock = sock;
	if (!make_bells(p) || xvt_loop_poll(s->loop, &p->on_data, sock, POLLIN)) {
		free_place(p);
		return;
	}
	p->armed = true;
	greet(s, p);
	drop_peers(s);
}

static void arm(struct xvt_doorbell_server *s)
{
	s->armed = !xvt_loop_poll(s->loop, &s->on_peer, s->listener.fd, POLLIN);
}

static void on_peer(struct xvt_op *op, int res)
{
	struct xvt_doorbell_server *s =
		(struct xvt_doorbell_server *)((char *)op -
					       offsetof(struct xvt_doorbell_server, on_peer));
	int sock;

	s->armed = false;
	if (s->listener.fd < 0 || res == -ECANCELED)
		return;
	sock = xvt_socket_accept(&s->listener);
	if (sock >= 0)
		add_peer(s, sock);
	if (sock >= 0 || sock == -EAGAIN)
		arm(s);
}

int xvt_doorbell_server_open(struct xvt_doorbell_server **out, struct xvt_loop *loop,
			     const char *path, int region_fd, unsigned int vectors, char *why,
			     size_t why_size)
{
	struct xvt_doorbell_server *s = calloc(1, sizeof(*s));
	unsigned int i;
	int err;

	if (!s) {
		snprintf(why, why_size, "%s", strerror(ENOMEM));
		return -ENOMEM;
	}
	s->loop = loop;
	s->region_fd = region_fd;
	s->vectors = vectors;
	s->on_peer.done = on_peer;
	for (i = 0; i < XVT_SERVER_PEERS; i++) {
		s->peer[i] = (struct peer){ .server = s, .on_data.done = on_data, .sock = -1 };
		memset(s->peer[i].bell, 0xff, sizeof(s->peer[i].bell)); /* -1: none */
	}
	err = xvt_socket_listen(&s->listener, path, 0, why, why_size);
	if (err)
		goto err_free;
	arm(s);
	if (!s->armed) {
		err = -EAGAIN;
		snprintf(why, why_size, "cannot wait for peers");
		xvt_socket_unlisten(&s->listener);
		goto err_free;
	}
	*out = s;
	return 0;

err_free:
	free(s);
	return err;
}

static bool held(const struct xvt_doorbell_server *s)
{
	bool any = s->armed;
	unsigned int i;

	for (i = 0; i < XVT_SERVER_PEERS; i++)
		any |= s->peer[i].armed;
	return any;
}

void xvt_doorbell_server_close(struct xvt_doorbell_server *s)
{
	unsigned int i;

	if (s->armed)
		xvt_loop_cancel(s->loop, &s->on_peer);
	xvt_socket_unlisten(&s->listener);
	for (i = 0; i < XVT_SERVER_PEERS; i++)
		free_place(&s->peer[i]);
	while (held(s)) {
		if (xvt_loop_run(s->loop, 1000000000u) < 0)
			return; /* the loop may still write to s: better lost than reused */
	}
	free(s);
}
