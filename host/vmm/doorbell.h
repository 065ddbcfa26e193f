/* SPDX-License-Identifier: GPL-2.0 */
/*
 * doorbell.h - a bell that a guest can ring: we are a peer of an ivshmem server
 * (`xvtrace region serve`, or QEMU's own), as is the QEMU of the guest's ivshmem-doorbell device.
 * The guest writes our number to its device, and an eventfd of ours becomes readable.
 *
 * Neither the server nor the guest is trusted. What they can do is to ring for nothing, or not to
 * ring: who sleeps until the bell rings must be able to do without.
 */
#ifndef XVT_DOORBELL_H
#define XVT_DOORBELL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct xvt_doorbell;
struct xvt_loop;

/* A line for a person: the server has gone, or talks nonsense. From xvt_loop_run(). */
typedef void (*xvt_doorbell_note)(void *arg, const char *text);

/*
 * Connect. region_fd: the file that the server has to serve. Returns 0; or -errno with the reason
 * in `why`. What goes wrong later is a note: a server that has ended leaves the bell as it is, for
 * whoever knows it already can still ring it; one that talks nonsense ends it.
 */
int xvt_doorbell_open(struct xvt_doorbell **out, struct xvt_loop *loop, const char *path,
		      int region_fd, xvt_doorbell_note note, void *arg, char *why, size_t why_size);

/* Runs the loop until its operations have ended, so not from a callback of the loop. */
void xvt_doorbell_close(struct xvt_doorbell *d);

/* Is there a bell? Then *target is what a guest writes to ring it: peer << 16 | vector. */
bool xvt_doorbell_ready(const struct xvt_doorbell *d, uint32_t *target);

/* How often has it been rung since the last call? Never waits. */
uint64_t xvt_doorbell_take(struct xvt_doorbell *d);

/* Once: a ring ends xvt_loop_run(), also one that came before and was not taken. */
void xvt_doorbell_arm(struct xvt_doorbell *d);

#endif /* XVT_DOORBELL_H */
