/* SPDX-License-Identifier: GPL-2.0 */
/*
 * qmp.h - listen to a QEMU by its QMP socket (-qmp unix:PATH,server=on,wait=off). The only
 * commands sent are qmp_capabilities and query-status.
 *
 * QEMU serves one client at a time on a socket, so ours needs one of its own. Migration: QEMU
 * sends the event MIGRATION only where somebody has switched that capability on, which changes
 * the machine's state, so we do not. Instead its status is asked for after each event, and while
 * that is "finish-migrate": it ends as "postmigrate" or in RESUME. On the receiving side the
 * status was "inmigrate" before RESUME. A machine that was paused already when it is moved gives
 * no event: it stays STOPPED until its QEMU ends.
 *
 * A migration within this host ends at another QEMU's socket: xvt_qmp_listen_all() listens to
 * all that are named as to one machine.
 *
 * From: QEMU, docs/interop/qmp-spec.txt and qapi/run-state.json.
 */
#ifndef XVT_VMM_QMP_H
#define XVT_VMM_QMP_H

#include "vmm/vmm.h"

/*
 * Connect. Reports the state that the machine is in as soon as QEMU has told it, and then each
 * change. Returns 0; or -errno with the reason in `why` (-ENOENT, -ECONNREFUSED: nobody listens
 * there; -EBUSY: others wait for the socket already; -ENAMETOOLONG). What goes wrong later is a
 * report XVT_VMM_GONE: -ETIMEDOUT no greeting, which is how a socket that serves another client
 * looks; -EPROTO, -EMSGSIZE what came is no QMP; -EPIPE QEMU left without saying so.
 */
int xvt_qmp_listen(struct xvt_vmm **out, struct xvt_loop *loop, const char *path, xvt_vmm_fn fn,
		   void *arg, char *why, size_t why_size);

/*
 * The same, of a machine that may move between the `n` QEMUs of these sockets: what the one says
 * counts in which it runs. A pause then lasts from STOP there to RESUME here, and
 * XVT_VMM_MIGRATED_AWAY is reported only when no other could be heard. Whoever does not listen, yet
 * or any more, is looked for, ever more seldom but at least every two seconds; nothing is said of
 * it. Returns 0 when at least one listens; else as above, of the first.
 */
int xvt_qmp_listen_all(struct xvt_vmm **out, struct xvt_loop *loop, const char *const paths[],
		       size_t n, xvt_vmm_fn fn, void *arg, char *why, size_t why_size);

/* How long it may take from connecting to the first answer. Tests shorten it. */
extern unsigned int xvt_qmp_greeting_ms;

#endif /* XVT_VMM_QMP_H */
