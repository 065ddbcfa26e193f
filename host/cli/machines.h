/* SPDX-License-Identifier: GPL-2.0 */
/*
 * machines.h - the machines of a command line: -r and -d, each with a name or a pattern, or all
 * that this host has.
 */
#ifndef XVT_MACHINES_H
#define XVT_MACHINES_H

#include "cli/opt.h"
#include "session/session.h"

struct xvt_machine_options {
	struct xvt_opt_list regions;
	struct xvt_opt_list domains;
	struct xvt_opt_list trusted; /* machines whose guests' clock data are used */
	const char *libvirt_uri;     /* NULL: libvirt's default */
	bool all;		     /* each machine of this host that has a region */
};

/*
 * Add the machines to a session. One that is named and cannot be recorded is an error; of those
 * that a pattern or `all` found, it is left out with a warning, and it is an error if none is left.
 * A machine that was found twice is added once. Returns an exit status, after an error message.
 */
int xvt_machines_add(struct xvt_session *s, const struct xvt_machine_options *opt);

#define XVT_REGION_HELP                                                                         \
	"a machine by the path of its region, or those of a pattern (-r '/dev/shm/x*'); again " \
	"for each; its first N rings (default 256)"
#define XVT_DOMAIN_HELP                                                                  \
	"a running libvirt domain, by name, UUID or pattern, with a shmem device named " \
	"xvtrace-*; "                                                                    \
	"again for each"
#define XVT_TRUST_HELP                                                                             \
	"believe what this machine's region says of its clocks, which the guest can write; again " \
	"for each"

/* Advice on a region that cannot be used, for `err` of xvt_host_region_check(): "; ...", or "". */
const char *xvt_region_hint(int err);

#endif /* XVT_MACHINES_H */
