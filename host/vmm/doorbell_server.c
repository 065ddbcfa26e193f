// SPDX-License-Identifier: GPL-2.0
/*
 * doorbell_server.c - see doorbell_server.h. Peers send nothing; a peer that does is dropped.
 *
 * A peer that often connects and disconnects cannot make the server drop another peer, since no
 * messages are queued for a slow reader. Instead the server keeps a fixed amount of state: which
 * messages each peer has been sent. The server sends the missing ones when there is room. A peer
 * that came and went in the meantime is not mentioned.
 */
#define _GNU_SOURCE
#include "vmm/doorbell_server.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/container.h"
#include "vmm/doorbell_wire.h"
#include "base/loop.h"
#include "base/socket.h"

#define NONE	    (-1)

/*
 * Unread messages of one peer: some 40. The kernel limits the descriptors that a user has in unread
 * messages (RLIMIT_NOFILE), so peers that do not read must not take all of them.
 */
#define SEND_BUFFER 16384

/* Which messages a peer has been sent about the peer at one place of the table. */
struct known {
	int64_t number;	    /* number that was sent; NONE: none, or its end was sent too */
	unsigned int bells; /* number of its doorbells that were sent */
};

struct peer {
	struct xvt_doorbell_server *server;
	struct xvt_op on_data;
	struct xvt_op on_room;
	bool no_room; /* the last message did not fit */
	bool dropped; /* the connection has ended; serve_peers() frees the place */
	int sock;     /* -1: a free place */
	int64_t number;
	unsigned int greeted; /* number of messages of the greeting that were sent */
	struct known known[XVT_SERVER_PEERS];
	int bell[XVT_SERVER_VECTORS];
};

struct xvt_doorbell_server {
	struct xvt_loop *loop;
	struct xvt_op on_peer;
	struct xvt_listener listener;
	int region_fd;
	unsigned int vectors;
	int64_t next_number; /* counts up, since peers may still ring an old number for a while */
	struct peer peer[XVT_SERVER_PEERS];
};

/*
 * Returns true when the message was sent. Without room in the socket's buffer, on_room() sends the
 * message as soon as there is room. If the kernel refuses for another reason (too many descriptors
 * in unread messages), the next serve_peers() sends it.
 */
static bool send_message(struct peer *to, int64_t number, int fd)
{
	int err = xvt_wire_send(to->sock, number, fd);

	to->no_room = err == -EAGAIN;
	if (err == -EPIPE || err == -ECONNRESET)
		to->dropped = true;
	return !err;
}

/* Send the version, the peer's number and the memory, in the order that QEMU's device requires.
 * Returns true when all have been sent. */
static bool greet(struct peer *to)
{
	const struct {
		int64_t number;
		int fd;
	} message[] = {
		{ XVT_WIRE_VERSION, -1 },
		{ to->number, -1 },
		{ XVT_WIRE_MEMORY, to->server->region_fd },
	};

	while (to->greeted < sizeof(message) / sizeof(message[0])) {
		if (!send_message(to, message[to->greeted].number, message[to->greeted].fd)) {
			/* Refused for another reason: drop the new peer, not an established one. */
			to->dropped |= !to->no_room;
			return false;
		}
		to->greeted++;
	}
	return true;
}

/* Send the current state of the peer at `place`. Returns true when all has been sent. */
static bool send_place(struct peer *to, unsigned int place)
{
	const struct peer *of = &to->server->peer[place];
	const bool there = of->sock >= 0 && !of->dropped;
	struct known *k = &to->known[place];

	if (k->number != NONE && (!there || k->number != of->number)) {
		if (!send_message(to, k->number, -1))
			return false;
		k->number = NONE;
	}
	if (!there)
		return true;
	if (k->number == NONE)
		k->bells = 0;
	for (; k->bells < of->server->vectors; k->bells++) {
		if (!send_message(to, of->number, of->bell[k->bells]))
			return false;
		k->number = of->number;
	}
	return true;
}

/* Send all that is missing, the peer's own doorbells last. Returns true when all has been sent. */
static bool send_all(struct peer *to)
{
	unsigned int i, own = (unsigned int)(to - to->server->peer);

	if (!greet(to))
		return false;
	for (i = 0; i < XVT_SERVER_PEERS; i++) {
		if (i != own && !send_place(to, i))
			return false;
	}
	return send_place(to, own);
}

static void free_place(struct peer *p)
{
	unsigned int i;

	xvt_loop_cancel(p->server->loop, &p->on_data);
	xvt_loop_cancel(p->server->loop, &p->on_room);
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

static void wait_for_room(struct peer *p)
{
	if (p->no_room && !p->on_room.held)
		xvt_loop_poll(p->server->loop, &p->on_room, p->sock, POLLOUT);
}

/* Send all peers their missing messages. Sending may find ended connections, about which the other
 * peers need a message: repeat until there are none. */
static void serve_peers(struct xvt_doorbell_server *s)
{
	unsigned int i;
	bool again;

	do {
		again = false;
		for (i = 0; i < XVT_SERVER_PEERS; i++) {
			struct peer *p = &s->peer[i];

			if (p->sock >= 0 && !p->dropped && !send_all(p) && !p->dropped)
				wait_for_room(p);
		}
		for (i = 0; i < XVT_SERVER_PEERS; i++) {
			struct peer *p = &s->peer[i];

			if (p->sock < 0 || !p->dropped)
				continue;
			free_place(p);
			again = true;
		}
	} while (again);
}

static void on_room(struct xvt_op *op, int res)
{
	struct peer *p = container_of(op, struct peer, on_room);

	if (p->sock >= 0 && res != -ECANCELED)
		serve_peers(p->server);
}

/* Peers send nothing: input means that the peer has disconnected, or is no ivshmem peer. */
static void on_data(struct xvt_op *op, int res)
{
	struct peer *p = container_of(op, struct peer, on_data);

	if (p->sock < 0 || res == -ECANCELED)
		return;
	p->dropped = true;
	serve_peers(p->server);
}

/* Used by a peer, or by one that has gone while some peer has not been sent that yet. */
static bool number_in_use(const struct xvt_doorbell_server *s, int64_t number)
{
	unsigned int i, k;

	for (i = 0; i < XVT_SERVER_PEERS; i++) {
		const struct peer *p = &s->peer[i];

		if (p->sock < 0)
			continue;
		if (p->number == number)
			return true;
		for (k = 0; k < XVT_SERVER_PEERS; k++) {
			if (p->known[k].number == number)
				return true;
		}
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

static struct peer *free_peer(struct xvt_doorbell_server *s)
{
	unsigned int i;

	for (i = 0; i < XVT_SERVER_PEERS; i++) {
		if (s->peer[i].sock < 0 && !s->peer[i].on_data.held && !s->peer[i].on_room.held)
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

/* Add a peer. Without a free place, or descriptors for its doorbells, its connection is closed. */
static void add_peer(struct xvt_doorbell_server *s, int sock)
{
	const int size = SEND_BUFFER;
	struct peer *p = free_peer(s);
	unsigned int i;

	if (!p) {
		close(sock);
		return;
	}
	p->number = new_number(s);
	p->sock = sock;
	p->greeted = 0;
	setsockopt(sock, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	for (i = 0; i < XVT_SERVER_PEERS; i++)
		p->known[i] = (struct known){ .number = NONE };
	if (!make_bells(p) || xvt_loop_poll(s->loop, &p->on_data, sock, POLLIN)) {
		free_place(p);
		return;
	}
	serve_peers(s);
}

static int arm(struct xvt_doorbell_server *s)
{
	return xvt_loop_poll(s->loop, &s->on_peer, s->listener.fd, POLLIN);
}

static void on_peer(struct xvt_op *op, int res)
{
	struct xvt_doorbell_server *s = container_of(op, struct xvt_doorbell_server, on_peer);
	int sock;

	if (s->listener.fd < 0 || res == -ECANCELED)
		return;
	sock = xvt_socket_accept(&s->listener);
	if (sock >= 0)
		add_peer(s, sock);
	if (sock >= 0 || sock == -EAGAIN)
		arm(s);
}

int xvt_doorbell_server_open(struct xvt_doorbell_server **out, struct xvt_loop *loop,
			     const char *path, int region_fd, unsigned int vectors,
			     struct xvt_error *why)
{
	struct xvt_doorbell_server *s = calloc(1, sizeof(*s));
	unsigned int i;
	int err;

	if (!s)
		return xvt_fail(why, -ENOMEM, "%s", strerror(ENOMEM));
	s->loop = loop;
	s->region_fd = region_fd;
	s->vectors = vectors;
	s->on_peer.done = on_peer;
	for (i = 0; i < XVT_SERVER_PEERS; i++) {
		s->peer[i] = (struct peer){
			.server = s,
			.on_data.done = on_data,
			.on_room.done = on_room,
			.sock = -1,
		};
		memset(s->peer[i].bell, 0xff, sizeof(s->peer[i].bell)); /* -1: none */
	}
	err = xvt_socket_listen(&s->listener, path, 0, why);
	if (err)
		goto err_free;
	err = arm(s);
	if (err) {
		xvt_fail(why, 0, "cannot wait for peers");
		xvt_socket_unlisten(&s->listener);
		goto err_free;
	}
	*out = s;
	return 0;

err_free:
	free(s);
	return err;
}

void xvt_doorbell_server_close(struct xvt_doorbell_server *s)
{
	unsigned int i;

	bool released;

	xvt_socket_unlisten(&s->listener);
	for (i = 0; i < XVT_SERVER_PEERS; i++)
		free_place(&s->peer[i]);
	released = xvt_loop_release(s->loop, &s->on_peer);
	for (i = 0; i < XVT_SERVER_PEERS; i++)
		released = released && xvt_loop_release(s->loop, &s->peer[i].on_data) &&
			   xvt_loop_release(s->loop, &s->peer[i].on_room);
	if (released)
		free(s);
}
