/* SPDX-License-Identifier: GPL-2.0 */
/* machines.h - the machines that a command line names: -r NAME=REGION and -d DOMAIN. */
#ifndef XVT_MACHINES_H
#define XVT_MACHINES_H

#include "base/opt.h"
#include "session/session.h"

/*
 * Add them to a session: the regions first, then the domains, each in its order. libvirt_uri may
 * be NULL. Returns an exit status, and has said what was wrong.
 */
int xvt_machines_add(struct xvt_session *s, const struct xvt_opt_list *regions,
		     const struct xvt_opt_list *domains, const char *libvirt_uri);

/*
 * --trust-guest-clock: use what the regions of these machines say of their clocks. Returns an exit
 * status, and has said which name is none of the session's.
 */
int xvt_machines_trust(struct xvt_session *s, const struct xvt_opt_list *names);

#define XVT_TRUST_HELP                                                                             \
	"believe what this machine's region says of its clocks, which the guest can write; again " \
	"for each"

/* What to do about a region that cannot be used, for `err` of xvt_host_region_check(): "; ...", or
 * "". */
const char *xvt_region_hint(int err);

#endif /* XVT_MACHINES_H */
