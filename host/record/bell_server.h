/* SPDX-License-Identifier: GPL-2.0 */
/*
 * bell_server.h - the process that serves the region of `attach --doorbell`: `xvtrace region serve`
 * in a session of its own. The server listens at REGION.doorbell, so no other file names it.
 */
#ifndef XVT_BELL_SERVER_H
#define XVT_BELL_SERVER_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define XVT_BELL_SERVER_PATH   4096
#define XVT_BELL_SERVER_SUFFIX ".doorbell"

/* Write the path of the socket of a region's server: with that suffix. */
void xvt_bell_server_socket(const char *region, char path[XVT_BELL_SERVER_PATH]);

/*
 * Find the ivshmem server of a machine: the socket `named` by its VMM; or, where that is "", the
 * one of `attach --doorbell`, if it belongs to root, to this process's user or, of a domain, to the
 * owner of the region. The owner of another machine's region proves nothing, since all users may
 * make files in its folder, and a server can hold its clients up. Returns false if there is none.
 */
bool xvt_bell_server_find(const char *named, const char *region, bool domain,
			  char path[XVT_BELL_SERVER_PATH]);

/*
 * Make the file of a region of `size` bytes, and start its server. `user` is the owner of the file
 * and may connect to the socket; (uid_t)-1: this process's user. Returns 0 once the server listens,
 * or -errno with the reason in `why`; then nothing is left of it.
 */
int xvt_bell_server_start(const char *region, uint64_t size, uid_t user, struct xvt_error *why);

/* Returns whether a process listens at the socket. */
bool xvt_bell_server_runs(const char *region);

/*
 * End the server and wait until it has ended, then remove its socket. Returns 0, also if there is
 * none; or -errno with the reason in `why` (-EBUSY: another program listens at the socket).
 */
int xvt_bell_server_stop(const char *region, struct xvt_error *why);

#endif /* XVT_BELL_SERVER_H */
