/* SPDX-License-Identifier: GPL-2.0 */
/* machines.h - the machines of a command line: -r NAME=REGION and -d DOMAIN. */
#ifndef XVT_MACHINES_H
#define XVT_MACHINES_H

#include "base/opt.h"
#include "session/session.h"

/*
 * Add the machines to a session: first the regions, then the domains, each in the order given.
 * libvirt_uri: NULL for libvirt's default. Returns an exit status, after an error message.
 */
int xvt_machines_add(struct xvt_session *s, const struct xvt_opt_list *regions,
		     const struct xvt_opt_list *domains, const char *libvirt_uri);

/*
 * --trust-guest-clock: use the clock data that the guests wrote to the regions of these machines.
 * Returns an exit status, after an error message for a name that is not in the session.
 */
int xvt_machines_trust(struct xvt_session *s, const struct xvt_opt_list *names);

#define XVT_TRUST_HELP                                                                             \
	"believe what this machine's region says of its clocks, which the guest can write; again " \
	"for each"

/* Advice on a region that cannot be used, for `err` of xvt_host_region_check(): "; ...", or "". */
const char *xvt_region_hint(int err);

#endif /* XVT_MACHINES_H */
