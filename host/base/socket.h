/* SPDX-License-Identifier: GPL-2.0 */
/* socket.h - Unix sockets by their paths. They never block. */
#ifndef XVT_SOCKET_H
#define XVT_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* A socket that we listen at. */
struct xvt_listener {
	int fd;	   /* -1: none */
	int spare; /* a descriptor that is given up for a client that there is none for */
	char *path;
	dev_t dev; /* what `path` was when it was ours */
	ino_t ino;
};

/* Returns a descriptor, or -errno with the reason in `why` (-ECONNREFUSED: nobody listens there any
 * more; -EAGAIN: too many wait already). */
int xvt_socket_connect(const char *path, char *why, size_t why_size);

/*
 * `mode`: who may connect, 0: as the umask says. A socket that nobody listens at is what somebody
 * left who was killed, and is replaced. Returns 0, or -errno with the reason in `why`
 * (-EADDRINUSE: somebody listens there).
 */
int xvt_socket_listen(struct xvt_listener *l, const char *path, mode_t mode, char *why,
		      size_t why_size);

/*
 * The next client, or -errno: -EAGAIN: there is none, or none any more: where there was no
 * descriptor for it, it was sent away, or it would be there again at once and for ever. Anything
 * else will not pass.
 */
int xvt_socket_accept(struct xvt_listener *l);

/* Whose the other side is; nobody's, (uid_t)-1, if that cannot be told. */
uid_t xvt_socket_peer(int sock);

/* Removes the path as well, if it still is ours. */
void xvt_socket_unlisten(struct xvt_listener *l);

/* All sockets of that folder that nobody listens at are removed, if `ours` knows their names. */
void xvt_socket_tidy(const char *dir, bool (*ours)(const char *name));

#endif /* XVT_SOCKET_H */
