/* SPDX-License-Identifier: GPL-2.0 */
/* qmp_plug.h - plug an ivshmem device into a QEMU by its QMP socket, and take it out. */
#ifndef XVT_QMP_PLUG_H
#define XVT_QMP_PLUG_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Make the file `region` of `size` bytes and plug it in, at the PCI bus with that id; NULL: where
 * QEMU chooses. A call waits at most ten seconds for QEMU. Returns 0; or, with the reason in `why`,
 * -EEXIST: this QEMU has a region of these functions; -EPROTO: QEMU refuses, which changes nothing;
 * -ETIMEDOUT: no answer, as from a socket that serves another client; -EBADMSG: it is no QMP; or
 * -errno of the socket.
 */
int xvt_qmp_plug(const char *socket, const char *region, uint64_t size, const char *bus,
		 struct xvt_error *why);

/* The same with an ivshmem-doorbell device: its ivshmem server, which runs, has the region and
 * listens at the path `server`. */
int xvt_qmp_plug_doorbell(const char *socket, const char *server, const char *bus,
			  struct xvt_error *why);

/* Find the user of the process that listens at the socket. Returns 0 or -errno as xvt_qmp_plug().
 */
int xvt_qmp_user(const char *socket, uid_t *user, struct xvt_error *why);

/* Ask the guest to give the device back. Returns 0 or -errno as xvt_qmp_plug(); -ENODEV: there is
 * none; -EBUSY: it is an ivshmem-doorbell (XVT_DOORBELL_STAYS). */
int xvt_qmp_unplug(const char *socket, struct xvt_error *why);

/* Returns 1 once the guest has given the device back and QEMU has closed the region, 0 before that,
 * or -errno. */
int xvt_qmp_unplugged(const char *socket, struct xvt_error *why);

#endif /* XVT_QMP_PLUG_H */
