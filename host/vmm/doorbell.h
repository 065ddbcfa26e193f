/* SPDX-License-Identifier: GPL-2.0 */
/*
 * doorbell.h - a doorbell that a guest can ring. The recorder is a peer of an ivshmem server
 * (`xvtrace region serve`, or QEMU's own), as is the QEMU of the guest's ivshmem-doorbell device.
 * The guest writes the recorder's peer number to its device, and an eventfd of the recorder becomes
 * readable.
 *
 * Neither the server nor the guest is trusted. Either can ring for nothing, or not ring: a recorder
 * that sleeps until the bell rings also needs a timeout.
 */
#ifndef XVT_DOORBELL_H
#define XVT_DOORBELL_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct xvt_doorbell;
struct xvt_loop;

/* Receives a line for the user: the server has ended, or sent an invalid message. Called from
 * xvt_loop_run(). */
typedef void (*xvt_doorbell_note)(void *arg, const char *text);

/*
 * Connect. region_fd: the file that the server has to serve. Returns 0, or -errno with the reason
 * in `why`. A later failure is a note. After the server has ended the bell stays open, since a peer
 * that has its eventfd can still ring it; an invalid message closes the bell.
 */
int xvt_doorbell_open(struct xvt_doorbell **out, struct xvt_loop *loop, const char *path,
		      int region_fd, xvt_doorbell_note note, void *arg, struct xvt_error *why);

/* Runs the loop until its operations have ended: not to be called from a callback of the loop. */
void xvt_doorbell_close(struct xvt_doorbell *d);

/* Returns whether the bell is open. *target: the value that a guest writes to ring it, which is
 * peer << 16 | vector. */
bool xvt_doorbell_ready(const struct xvt_doorbell *d, uint32_t *target);

/* Returns the number of rings since the last call. Never waits. */
uint64_t xvt_doorbell_take(struct xvt_doorbell *d);

/* Let the next ring end xvt_loop_run(), once; so does an earlier ring that was not taken yet. */
void xvt_doorbell_arm(struct xvt_doorbell *d);

#endif /* XVT_DOORBELL_H */
