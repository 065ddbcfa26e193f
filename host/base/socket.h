/* SPDX-License-Identifier: GPL-2.0 */
/* socket.h - Unix sockets by their paths, and TCP sockets that listen. They never block. */
#ifndef XVT_SOCKET_H
#define XVT_SOCKET_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/types.h>

/* A socket that accepts connections. */
struct xvt_listener {
	int fd; /* -1: none */
	/* a reserve descriptor, closed to accept and refuse a client when none is free */
	int spare;
	char *path; /* NULL: not of a path */
	dev_t dev;  /* device and inode of `path` as created here */
	ino_t ino;
};

/* Returns a descriptor, or -errno with the reason in `why` (-ECONNREFUSED: the socket has no
 * listener; -EAGAIN: its backlog is full). */
int xvt_socket_connect(const char *path, struct xvt_error *why);

/*
 * `mode`: permissions of the socket; 0: as the umask says. A socket without a listener was left by
 * a process that was killed, and is replaced. Returns 0, or -errno with the reason in `why`
 * (-EADDRINUSE: the socket has a listener; -EEXIST: the path is not a socket).
 */
int xvt_socket_listen(struct xvt_listener *l, const char *path, mode_t mode, struct xvt_error *why);

/* The same at an address of TCP (-EADDRINUSE: another socket has it). */
int xvt_socket_listen_tcp(struct xvt_listener *l, const struct sockaddr *address, socklen_t len,
			  struct xvt_error *why);

/*
 * Returns the descriptor of the next client, or -errno. -EAGAIN: no client waits, or a client was
 * disconnected because no descriptor was free (left in the queue, it would make the socket ready
 * for ever). Other errors are permanent.
 */
int xvt_socket_accept(struct xvt_listener *l);

/* Returns the user id of the other side, or (uid_t)-1 if it is unknown. */
uid_t xvt_socket_peer(int sock);

/* Closes the socket, and removes the path if it is still the one created here. */
void xvt_socket_unlisten(struct xvt_listener *l);

/* Removes all sockets without a listener in a directory whose names `ours` accepts. */
void xvt_socket_tidy(const char *dir, bool (*ours)(const char *name));

#endif /* XVT_SOCKET_H */
