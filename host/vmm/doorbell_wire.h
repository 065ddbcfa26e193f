/* SPDX-License-Identifier: GPL-2.0 */
/*
 * doorbell_wire.h - the messages from an ivshmem server to its peers: a number of 64 bits,
 * little-endian, with or without a file descriptor. Only the server sends. The server sends in this
 * order:
 *
 *   0: the version of the protocol
 *   the number of the receiving peer
 *   -1 with the descriptor of the shared memory
 *   then in any order and at any time
 *     a peer's number with an eventfd: a doorbell of that peer, one message for each vector; the
 *       receiving peer's own number comes with its own doorbells, to which the others write
 *     a peer's number without a descriptor: that peer has disconnected
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

/* The part of a message that has been received. Initially { .fd = -1 }. */
struct xvt_wire {
	size_t got;
	int fd; /* descriptor of this message, or -1 */
	uint8_t bytes[8];
};

/* Send one message; `fd` may be -1. Returns 0, or -errno (-EAGAIN: the peer's buffer is full). */
int xvt_wire_send(int sock, int64_t number, int fd);

/*
 * Receive without waiting. Returns 1: a whole message, whose descriptor *fd the caller owns; 0: no
 * whole message yet; -EPIPE: the other side has closed; -EPROTO: more than one descriptor came with
 * a message; or another -errno. No other descriptors than *fd and w->fd stay open in any case.
 */
int xvt_wire_receive(int sock, struct xvt_wire *w, int64_t *number, int *fd);

#endif /* XVT_DOORBELL_WIRE_H */
