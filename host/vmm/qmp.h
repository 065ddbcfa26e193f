/* SPDX-License-Identifier: GPL-2.0 */
/*
 * qmp.h - listen to a QEMU by its QMP socket (-qmp unix:PATH,server=on,wait=off). The only
 * commands sent are qmp_capabilities, query-status and, on request, query-cpus-fast.
 *
 * QEMU serves one client at a time on a socket, so xvtrace needs a socket of its own.
 *
 * Migration: QEMU sends the event MIGRATION only after a client has switched that capability on,
 * which changes the machine's state, so xvtrace does not. Instead query-status is sent after each
 * event, and repeated while the status is "finish-migrate"; the migration ends with the status
 * "postmigrate" or with RESUME. On the receiving side the status is "inmigrate" before RESUME. A
 * machine that is already paused when its migration begins causes no event: it stays STOPPED
 * until its QEMU ends.
 *
 * A migration within this host continues in another QEMU with another socket:
 * xvt_qmp_listen_all() treats several sockets as one machine.
 *
 * From: QEMU, docs/interop/qmp-spec.txt and qapi/run-state.json.
 */
#ifndef XVT_VMM_QMP_H
#define XVT_VMM_QMP_H

#include <stdbool.h>

#include "base/error.h"
#include "vmm/vmm.h"

/*
 * Connect. Reports the machine's state as soon as QEMU has answered, then each change. Returns 0,
 * or -errno with the reason in `why` (-ENOENT, -ECONNREFUSED: no QEMU listens at the path; -EBUSY:
 * other clients wait for the socket already; -ENAMETOOLONG). A later failure is a report
 * XVT_VMM_GONE with err -ETIMEDOUT: no greeting, as from a socket that serves another client;
 * -EPROTO, -EMSGSIZE: the bytes received are not QMP; -EPIPE: QEMU closed without a SHUTDOWN event.
 */
int xvt_qmp_listen(struct xvt_vmm **out, struct xvt_loop *loop, const char *path, xvt_vmm_fn fn,
		   void *arg, struct xvt_error *why);

/*
 * As xvt_qmp_listen(), for a machine that may move between the `n` QEMUs of these sockets. The
 * reports of the QEMU in which the machine runs are passed on. The pause of a migration lasts from
 * STOP in one QEMU to RESUME in another, and XVT_VMM_MIGRATED_AWAY is reported only if no other
 * QEMU is connected. A socket without a listener is retried at growing intervals of at most two
 * seconds, without a report. Returns 0 if at least one QEMU listens, else the first socket's error.
 */
int xvt_qmp_listen_all(struct xvt_vmm **out, struct xvt_loop *loop, const char *const paths[],
		       size_t n, xvt_vmm_fn fn, void *arg, struct xvt_error *why);

/* Whether listeners that connect from now on ask QEMU, once a connection, for the threads of its
 * vCPUs (XVT_VMM_VCPU, one report each). */
extern bool xvt_qmp_asks_vcpus;

/* Time limit in ms from connect to the answer to qmp_capabilities. Tests shorten it. */
extern unsigned int xvt_qmp_greeting_ms;

#endif /* XVT_VMM_QMP_H */
