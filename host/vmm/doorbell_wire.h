/* SPDX-License-Identifier: GPL-2.0 */
/*
 * doorbell_wire.h - one message between an ivshmem server and a peer of it: a number of 64 bits,
 * little-endian, and with it perhaps a file descriptor. The server sends, the peer never does:
 *
 *   0 (the version); the peer's own number; -1 with the shared memory; then, in any order and at
 *   any time, the number of a peer with one of its doorbells, an eventfd, once for each of its
 *   vectors; the number of a peer without a descriptor when that one has gone. One's own number
 *   with a descriptor is one's own doorbell: what the others write to.
 *
 * From: QEMU, docs/specs/ivshmem-spec.txt, "Interrupt infrastructure".
 */
#ifndef XVT_DOORBELL_WIRE_H
#define XVT_DOORBELL_WIRE_H

#include <stddef.h>
#include <stdint.h>

#define XVT_WIRE_VERSION  0
#define XVT_WIRE_MEMORY	  (-1)
#define XVT_WIRE_PEER_MAX 65535

/* The part of a message that has come. Begins as { .fd = -1 }. */
struct xvt_wire {
	size_t got;
	int fd; /* that came with it, or -1 */
	uint8_t bytes[8];
};

/* `fd` may be -1. Returns 0, or -errno (-EAGAIN: the peer reads nothing). */
int xvt_wire_send(int sock, int64_t number, int fd);

/*
 * Returns 1: a whole message, its descriptor the caller's; 0: none yet; -EPIPE: the other side has
 * closed; -EPROTO: more than one descriptor came with a message, which no server does; or another
 * -errno. Whatever is returned, no descriptor is left over but the ones in *fd and in `w`.
 */
int xvt_wire_receive(int sock, struct xvt_wire *w, int64_t *number, int *fd);

#endif /* XVT_DOORBELL_WIRE_H */
