/* SPDX-License-Identifier: GPL-2.0 */
/* machines.h - the machines of a command line: -r NAME=REGION and -d DOMAIN. */
#ifndef XVT_MACHINES_H
#define XVT_MACHINES_H

#include "cli/opt.h"
#include "session/session.h"

struct xvt_machine_options {
	struct xvt_opt_list regions;
	struct xvt_opt_list domains;
	struct xvt_opt_list trusted; /* machines whose guests' clock data are used */
	const char *libvirt_uri;     /* NULL: libvirt's default */
};

/*
 * Add the machines to a session: first the regions, then the domains, each in the order given.
 * Returns an exit status, after an error message.
 */
int xvt_machines_add(struct xvt_session *s, const struct xvt_machine_options *opt);

#define XVT_TRUST_HELP                                                                             \
	"believe what this machine's region says of its clocks, which the guest can write; again " \
	"for each"

/* Advice on a region that cannot be used, for `err` of xvt_host_region_check(): "; ...", or "". */
const char *xvt_region_hint(int err);

#endif /* XVT_MACHINES_H */
