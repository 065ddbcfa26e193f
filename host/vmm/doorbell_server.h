/* SPDX-License-Identifier: GPL-2.0 */
/*
 * doorbell_server.h - an ivshmem server (see doorbell_wire.h): sends a region's file to the QEMU
 * of a guest and to recorders, and to each of these peers the doorbells of the others. The server
 * must outlive its peers: a QEMU connects only once, at its start, and recorders come and go.
 */
#ifndef XVT_DOORBELL_SERVER_H
#define XVT_DOORBELL_SERVER_H

#include "base/error.h"

#include <stddef.h>

/* A full server closes a new connection and keeps its peers. */
#define XVT_SERVER_PEERS   16u
#define XVT_SERVER_VECTORS 8u

struct xvt_doorbell_server;
struct xvt_loop;

/*
 * Serve the file `region_fd` (stays the caller's) at a new socket, to every process that may
 * connect to it; each peer has `vectors` doorbells. A peer that reads slowly is kept and is sent
 * the state of the moment when it reads: it may miss a peer that came and went meanwhile. Returns
 * 0, or -errno with the reason in `why` (-EADDRINUSE: a server listens there).
 */
int xvt_doorbell_server_open(struct xvt_doorbell_server **out, struct xvt_loop *loop,
			     const char *path, int region_fd, unsigned int vectors,
			     struct xvt_error *why);

/* Removes the socket. Runs the loop: not to be called from a callback of the loop. */
void xvt_doorbell_server_close(struct xvt_doorbell_server *s);

#endif /* XVT_DOORBELL_SERVER_H */
